"""Sends or receives with pika as it is told, and prints what it observed.

usage: pika_amqp091.py send|receive|get|idle HOST PORT PLAN    (PLAN: JSON, see tests/real_amqp091/plan.rs)
"""

import json
import sys

import pika

what, host, port, text = sys.argv[1:]
plan = json.loads(text)
observed = {"closed": None, "channels": [None] * len(plan["channels"])}
parameters = pika.ConnectionParameters(
    host,
    int(port),
    credentials=pika.PlainCredentials("guest", "guest"),
    client_properties={"connection_name": "pika"},
    heartbeat=plan["heartbeat"],
)


def body(number, size):
    return b"%08d" % number + bytes([number % 251]) * (size - 8)


def reason(error):
    return [error.reply_code, error.reply_text]


class Sender:
    """Publishes on one channel, without waiting for one outcome before the next publish."""

    def __init__(self, client, number):
        self.client, self.plan = client, plan["channels"][number]
        sizes = self.plan["sizes"]
        self.observed = {"outcomes": [None] * (len(sizes) + 1), "returned": [], "error": None}
        observed["channels"][number] = self.observed
        self.numbers, self.settled, self.is_done, self.tx = [], 0, False, False
        client.connection.channel(on_open_callback=self.opened)

    def opened(self, channel):
        self.channel = channel
        channel.add_on_close_callback(self.closed)
        channel.add_on_return_callback(self.returned)
        channel.queue_declare(self.plan["queue"], durable=True, callback=self.declared)

    def declared(self, _):
        if self.plan["mode"] == "confirm":
            self.channel.confirm_delivery(self.confirmed, callback=self.send_all)
        elif self.plan["mode"] == "tx":
            self.channel.tx_select(self.send_all)
        else:
            self.send_all(None)

    def send_all(self, _):
        for number, size in enumerate(self.plan["sizes"]):
            self.publish(number, size)
        if not self.plan["sizes"]:
            self.client.settled()
        elif self.plan["mode"] == "tx":
            self.channel.tx_commit(lambda _: self.commit())
        elif self.plan["mode"] == "plain":
            # Whatever was returned has been by then.
            self.channel.queue_declare(
                self.plan["queue"], passive=True, callback=lambda _: self.settle_all()
            )

    def commit(self):
        self.observed["outcomes"][: len(self.plan["sizes"])] = ["committed"] * len(self.plan["sizes"])
        self.client.settled()

    def settle_all(self):
        self.client.settled()

    def publish(self, number, size):
        self.numbers.append(number)
        properties = pika.BasicProperties(message_id=str(number))
        mandatory = self.plan["mandatory"]
        self.channel.basic_publish("", self.plan["queue"], body(number, size), properties, mandatory)

    def confirmed(self, frame):
        method = frame.method
        last = method.delivery_tag - 1
        first = last
        if method.multiple:
            first = 0
        outcome = "ack" if isinstance(method, pika.spec.Basic.Ack) else "nack"
        for at in range(first, last + 1):
            number = self.numbers[at]
            if self.observed["outcomes"][number] is None:
                self.observed["outcomes"][number] = outcome
                self.settled += 1
            elif at == last:
                self.observed["outcomes"][number] = "twice"
        if self.settled == len(self.plan["sizes"]) and not self.is_done:
            self.is_done = True
            self.client.settled()
        elif self.settled == len(self.plan["sizes"]) + 1:
            self.client.ended()

    def returned(self, _, method, properties, octets):
        assert octets == b"", octets[:20]
        what = [int(properties.message_id), method.reply_code, method.reply_text]
        self.observed["returned"].append(what)

    def closed(self, _, error):
        if isinstance(error, pika.exceptions.ChannelClosedByBroker):
            self.observed["error"] = reason(error)
            self.client.failed()

    def send_last(self):
        """Publishes one more, unless the channel has failed."""
        if self.observed["error"] is not None:
            return
        self.publish(len(self.plan["sizes"]), plan["last"])
        if self.plan["mode"] == "confirm":
            return
        if self.plan["mode"] == "tx":
            self.channel.tx_commit(lambda _: self.client.ended())
        else:
            self.channel.queue_declare(
                self.plan["queue"], passive=True, callback=lambda _: self.client.ended()
            )


class Client:
    def __init__(self):
        self.count = len(plan["channels"])
        self.done = 0
        self.connection = pika.SelectConnection(
            parameters,
            on_open_callback=self.opened,
            on_open_error_callback=self.ended_with,
            on_close_callback=self.ended_with,
        )

    def opened(self, _):
        if what == "idle":
            print("open", flush=True)
            return
        self.senders = [Sender(self, number) for number in range(self.count)]

    def settled(self):
        """A channel has all outcomes, or has failed as it was to."""
        self.done += 1
        if self.done == self.count and plan["failing"] < self.count:
            self.done = sum(sender.observed["error"] is not None for sender in self.senders)
            for sender in self.senders:
                sender.send_last()

    failed = settled

    def ended(self):
        self.done += 1
        if self.done == self.count:
            self.connection.close()

    def ended_with(self, _, error):
        if isinstance(error, pika.exceptions.ConnectionClosedByBroker):
            observed["closed"] = reason(error)
        elif not isinstance(error, pika.exceptions.ConnectionClosedByClient):
            observed["closed"] = [None, repr(error)]
        self.connection.ioloop.stop()


def number_of(octets):
    number = int(octets[:8])
    assert octets[8:] == bytes([number % 251]) * (len(octets) - 8), number
    return number


def receive():
    connection = pika.BlockingConnection(parameters)
    for at, its in enumerate(plan["channels"]):
        channel = connection.channel()
        channel.basic_qos(prefetch_count=plan["prefetch"])
        received = []
        observed["channels"][at] = {"received": received, "error": None}
        for method, _, octets in channel.consume(its["queue"], auto_ack=its["no_ack"]):
            number = number_of(octets)
            received.append([number, len(octets)])
            if not its["no_ack"]:
                channel.basic_ack(method.delivery_tag, multiple=number % 3 == 0)
            if number == its["until"]:
                break
        channel.cancel()
    connection.close()


def get():
    connection = pika.BlockingConnection(parameters)
    for at, its in enumerate(plan["channels"]):
        channel = connection.channel()
        received = []
        observed["channels"][at] = {"received": received, "error": None}
        while not received or received[-1] == "empty" or received[-1][0] != its["until"]:
            method, _, octets = channel.basic_get(its["queue"], auto_ack=its["no_ack"])
            if method is None:
                received.append("empty")
                continue
            received.append([number_of(octets), len(octets)])
            if not its["no_ack"]:
                channel.basic_ack(method.delivery_tag)
    connection.close()


if what == "receive":
    try:
        receive()
    except pika.exceptions.ConnectionClosedByBroker as error:
        observed["closed"] = reason(error)
elif what == "get":
    get()
else:
    Client().connection.ioloop.start()
print(json.dumps(observed))
