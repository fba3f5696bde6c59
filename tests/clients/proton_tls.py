"""Sends to a queue with qpid-proton in TLS and receives it back, and prints what it observed.

usage: proton_tls.py HOST PORT QUEUE MECHANISM SIZES CA [CERT KEY]    (SIZES: JSON)
"""

import json
import sys

from proton import Message, SSLDomain
from proton.handlers import MessagingHandler
from proton.reactor import Container

HOST, PORT, QUEUE, MECHANISM = sys.argv[1:5]
SIZES, CA = json.loads(sys.argv[5]), sys.argv[6]
CERT, KEY = sys.argv[7:9] if len(sys.argv) > 7 else (None, None)
DEADLINE = 25


class Client(MessagingHandler):
    """Sends one message of each size, and once each has its outcome receives those accepted."""

    def __init__(self):
        super().__init__(prefetch=0)
        self.observed = {"outcomes": {}, "received": []}
        self.at = 0
        self.is_done = False

    def on_start(self, event):
        domain = SSLDomain(SSLDomain.MODE_CLIENT)
        domain.set_trusted_ca_db(CA)
        domain.set_peer_authentication(SSLDomain.VERIFY_PEER_NAME, CA)
        if CERT:
            domain.set_credentials(CERT, KEY, None)
        self.connection = event.container.connect(
            f"amqps://{HOST}:{PORT}",
            reconnect=False,
            ssl_domain=domain,
            allowed_mechs=MECHANISM,
            max_frame_size=4096,
        )
        self.sender = event.container.create_sender(self.connection, QUEUE)
        self.deadline = event.container.schedule(DEADLINE, self)

    def on_timer_task(self, event):
        if not self.is_done:
            sys.exit(f"not done in {DEADLINE} seconds: {self.observed}")

    def on_transport_error(self, event):
        sys.exit(f"transport: {event.transport.condition}")

    def on_sendable(self, event):
        while self.at < len(SIZES) and event.sender.credit:
            body = bytes([self.at]) * SIZES[self.at]
            delivery = event.sender.send(Message(body=body, inferred=True))
            self.observed["outcomes"][delivery.tag] = None
            self.at += 1

    def settle(self, event, outcome):
        self.observed["outcomes"][event.delivery.tag] = outcome
        outcomes = list(self.observed["outcomes"].values())
        if len(outcomes) == len(SIZES) and None not in outcomes:
            self.accepted = outcomes.count("accepted")
            receiver = event.container.create_receiver(self.connection, QUEUE)
            receiver.flow(self.accepted)

    def on_accepted(self, event):
        self.settle(event, "accepted")

    def on_rejected(self, event):
        self.settle(event, event.delivery.remote.condition.name)

    def on_message(self, event):
        self.observed["received"].append(len(event.message.body))
        if len(self.observed["received"]) == self.accepted:
            self.is_done = True
            self.connection.close()
            self.deadline.cancel()

    def on_connection_closed(self, event):
        self.is_done = True

    def on_disconnected(self, event):
        if not self.is_done:
            sys.exit(f"disconnected: {self.observed}")


client = Client()
Container(client).run()
client.observed["outcomes"] = list(client.observed["outcomes"].values())
print(json.dumps(client.observed), flush=True)
