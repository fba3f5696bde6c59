"""Sends or receives pre-settled messages with qpid-proton, and prints what it observed.

usage: proton_presettled.py send HOST PORT QUEUE COUNT METRICS
       proton_presettled.py receive HOST PORT QUEUE CREDIT
       proton_presettled.py last HOST PORT QUEUE

send: COUNT messages as fast as it gets credit, and is done when METRICS (a URL) says of all of them
what became of them. receive: CREDIT at a time, up to the one that last sends.
"""

import json
import os
import sys
import threading
import urllib.request

from proton import Delivery, Message
from proton.handlers import MessagingHandler
from proton.reactor import AtLeastOnce, AtMostOnce, Container

WHAT, HOST, PORT, QUEUE = sys.argv[1:5]
DEADLINE = 110
LAST = "last"


def body(number):
    """Mostly small ones, and now and then one that needs several frames."""
    size = 9_000 if number % 100 == 7 else 40 + number % 90
    return b"%08d" % number + bytes([number % 251]) * size


class Client(MessagingHandler):
    def __init__(self):
        super().__init__(prefetch=0, auto_accept=False, auto_settle=True)
        self.observed = {}
        self.is_done = False

    def on_start(self, event):
        self.container = event.container
        self.connection = event.container.connect(
            f"{HOST}:{PORT}", reconnect=False, max_frame_size=4096, allowed_mechs="ANONYMOUS"
        )
        self.open_link()

    def on_transport_error(self, event):
        give_up(f"transport: {event.transport.condition}")

    def on_link_error(self, event):
        give_up(f"link: {event.link.remote_condition}")

    def on_session_error(self, event):
        give_up(f"session: {event.session.remote_condition}")

    def on_connection_error(self, event):
        give_up(f"connection: {event.connection.remote_condition}")

    def finish(self):
        self.is_done = True
        self.connection.close()


class Send(Client):
    def open_link(self):
        self.count, self.sent, self.most_credit = int(sys.argv[5]), 0, 0
        self.container.create_sender(self.connection, QUEUE, options=AtMostOnce())

    def on_sendable(self, event):
        link = event.sender
        self.most_credit = max(self.most_credit, link.credit)
        while link.credit and self.sent < self.count:
            # Without a header and with one, annotations, and properties.
            message = Message(body=body(self.sent), inferred=True)
            if self.sent % 3 == 1:
                message.durable, message.id = True, self.sent
            if self.sent % 3 == 2:
                message.annotations = {"x-opt-number": self.sent}
            link.send(message)
            self.sent += 1
        if self.sent == self.count and not self.is_done:
            self.look(event)

    def on_timer_task(self, event):
        self.look(event)

    def look(self, event):
        if self.is_done:
            return
        with urllib.request.urlopen(sys.argv[6]) as answer:
            lines = answer.read().decode().splitlines()
        counts = [line.split() for line in lines if line.startswith("sizegate_presettled_")]
        if sum(int(count) for name, count in counts if name.endswith("ed_total")) == self.count:
            self.observed = {"sent": self.sent, "credit": self.most_credit}
            self.finish()
        else:
            event.container.schedule(0.05, self)


class Last(Client):
    def open_link(self):
        self.container.create_sender(self.connection, QUEUE, options=AtLeastOnce())

    def on_sendable(self, event):
        if not self.observed:
            self.observed = {"sent": 1}
            event.sender.send(Message(subject=LAST, body=b"last", inferred=True))

    def on_accepted(self, event):
        self.finish()


class Receive(Client):
    def open_link(self):
        self.numbers = set()
        self.observed = {"received": 0, "settled": 0, "wrong": 0}
        self.link = self.container.create_receiver(self.connection, QUEUE)
        self.link.flow(int(sys.argv[5]))

    def on_link_opened(self, event):
        print("ready", flush=True)

    def on_message(self, event):
        message, delivery = event.message, event.delivery
        if not delivery.settled:
            delivery.update(Delivery.ACCEPTED)
            delivery.settle()
        if message.subject == LAST:
            self.finish()
            return
        octets = bytes(message.body)
        number = int(octets[:8])
        is_right = (
            octets == body(number)
            and number not in self.numbers
            and "x-opt-sizegate-presettled" not in (message.annotations or {})
            and (number % 3 != 2 or message.annotations["x-opt-number"] == number)
        )
        self.numbers.add(number)
        self.observed["received"] += 1
        self.observed["settled"] += int(delivery.settled)
        self.observed["wrong"] += int(not is_right)
        self.link.flow(1)


client = {"send": Send, "receive": Receive, "last": Last}[WHAT]()


def give_up(why):
    print(f"{why}: {client.observed}", file=sys.stderr)
    sys.stderr.flush()
    os._exit(1)


timer = threading.Timer(DEADLINE, give_up, [f"not done in {DEADLINE} seconds"])
timer.daemon = True
timer.start()
Container(client).run()
if not client.is_done:
    sys.exit(f"ended early: {client.observed}")
print(json.dumps(client.observed))
