"""Sends or receives with qpid-proton as it is told, and prints what it observed.

usage: proton_amqp.py send|receive HOST PORT PLAN    (PLAN: JSON, see tests/real_amqp10/plan.rs)
"""

import json
import sys
import threading

from proton import Delivery, Endpoint, Link, Message
from proton.handlers import MessagingHandler
from proton.reactor import AtLeastOnce, AtMostOnce, Container

WHAT, HOST, PORT, PLAN = sys.argv[1], sys.argv[2], sys.argv[3], json.loads(sys.argv[4])
DEADLINE = 25


def message(number, size):
    """A whole message of so many octets: one data section that begins with its number."""
    head = b"\x00Su"
    body = size - (5 if size <= 260 else 8)
    length = b"\xa0" + bytes([body]) if size <= 260 else b"\xb0" + body.to_bytes(4, "big")
    return head + length + b"%08d" % number + bytes([number % 251]) * (body - 8)


def condition(it):
    return [it.name, it.description, it.info] if it else None


class Client(MessagingHandler):
    """What both have in common: one connection, and how it ended."""

    def __init__(self):
        super().__init__(prefetch=0, auto_accept=False, auto_settle=True)
        self.observed = {"connects": 0, "closed": None, "links": []}
        self.is_done = False

    def on_start(self, event):
        self.connection = event.container.connect(
            f"{HOST}:{PORT}",
            reconnect=False,
            heartbeat=PLAN.get("heartbeat"),
            max_frame_size=PLAN["frame"],
            allowed_mechs="ANONYMOUS",
        )
        self.open_links(event.container)

    def on_connection_opened(self, event):
        self.observed["connects"] += 1

    def on_connection_error(self, event):
        self.observed["closed"] = condition(event.connection.remote_condition)
        self.is_done = True

    def on_disconnected(self, event):
        # A close with amqp:connection:forced is nothing else to proton.
        if not self.is_done:
            self.observed["closed"] = condition(event.connection.remote_condition)
            self.is_done = True
            event.container.stop()

    def on_link_error(self, event):
        observed = self.observed["links"][int(event.link.name)]
        observed["error"] = condition(event.link.remote_condition)
        event.link.close()
        self.look()

    def on_transport_error(self, event):
        if not self.is_done:
            self.observed["broken"] = str(event.transport.condition)
            self.connection.close()

    def on_session_error(self, event):
        self.observed["session"] = condition(event.session.remote_condition)
        self.connection.close()

    def finish(self):
        if not self.is_done:
            self.is_done = True
            self.connection.close()


class Send(Client):
    """Sends what the plan has for each link, then one last message on each that is alive."""

    def open_links(self, container):
        self.next, self.waits, self.has_said_last = {}, {}, False
        for number, plan in enumerate(PLAN["links"]):
            options = AtMostOnce() if plan["settled"] else AtLeastOnce()
            link = container.create_sender(
                self.connection, plan["address"], name=str(number), options=options
            )
            link.plan, link.number, link.at, link.deliveries = plan["sizes"], number, 0, {}
            self.observed["links"].append({"outcomes": [], "error": None})
            self.next[number] = link

    def on_link_opened(self, event):
        observed = self.observed["links"][int(event.link.name)]
        observed["max-message-size"] = event.link.remote_max_message_size

    def on_sendable(self, event):
        link = event.sender
        link = self.next[link.number]
        while link.credit and link.at < len(link.plan) and not link.state & Endpoint.REMOTE_CLOSED:
            delivery = link.delivery(str(link.at))
            link.stream(message(link.at, link.plan[link.at]))
            link.advance()
            observed = self.observed["links"][link.number]
            if link.snd_settle_mode == Link.SND_SETTLED:
                delivery.settle()
                observed["outcomes"].append("settled")
            else:
                observed["outcomes"].append(None)
            link.at += 1
        self.look()

    def on_settled(self, event):
        delivery = event.delivery
        link = self.next[event.link.number]
        outcome = {
            Delivery.ACCEPTED: "accepted",
            Delivery.RELEASED: "released",
            Delivery.MODIFIED: "modified",
        }.get(delivery.remote_state)
        if delivery.remote_state == Delivery.REJECTED:
            outcome = ["rejected"] + condition(delivery.remote.condition)[:2]
        self.observed["links"][link.number]["outcomes"][int(delivery.tag)] = outcome
        self.look()

    def look(self):
        """Goes on to the last message, or to the end, once there is nothing to wait for."""
        alive = [it for it in self.next.values() if not self.observed["links"][it.number]["error"]]
        for link in alive:
            outcomes = self.observed["links"][link.number]["outcomes"]
            if link.at < len(link.plan) or None in outcomes:
                return
        # Where the plan says that links fail, those that do not wait for those that do.
        if PLAN["failing"] > len(self.next) - len(alive):
            return
        if self.has_said_last:
            self.finish()
            return
        self.has_said_last = True
        for link in alive:
            link.plan = link.plan + [PLAN["last"]]
        for link in alive:
            self.on_sendable(type("Again", (), {"sender": link}))


class Receive(Client):
    """Receives until the message with the number that is the last one."""

    def open_links(self, container):
        for number, plan in enumerate(PLAN["links"]):
            options = AtMostOnce() if plan["settled"] else AtLeastOnce()
            link = container.create_receiver(
                self.connection, plan["address"], name=str(number), options=options
            )
            link.flow(PLAN["credit"])
            self.observed["links"].append({"received": [], "error": None})
        self.open = len(PLAN["links"])

    def on_message(self, event):
        body = bytes(event.message.body)
        number = int(body[:8])
        if body[8:] != bytes([number % 251]) * (len(body) - 8):
            sys.exit(f"message {number} is not what was sent")
        link = int(event.link.name)
        self.observed["links"][link]["received"].append([number, len(body)])
        if not event.delivery.settled:
            event.delivery.update(Delivery.ACCEPTED)
            event.delivery.settle()
        if number == PLAN["links"][link]["until"]:
            event.link.close()
            self.open -= 1
            if not self.open:
                self.finish()
        else:
            event.link.flow(1)

    def look(self):
        self.open -= 1
        if not self.open:
            self.finish()


client = {"send": Send, "receive": Receive}[WHAT]()


def give_up():
    print(f"not done in {DEADLINE} seconds: {json.dumps(client.observed, default=str)}", file=sys.stderr)
    sys.stderr.flush()
    import os

    os._exit(1)


timer = threading.Timer(DEADLINE, give_up)
timer.daemon = True
timer.start()
Container(client).run()
if not client.is_done:
    sys.exit(f"ended early: {client.observed}")
print(json.dumps(client.observed, default=str))
