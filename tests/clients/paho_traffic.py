"""Compliant traffic of paho-mqtt: prints what a subscriber and the publisher observed.

usage: paho_traffic.py HOST PORT VERSION    (VERSION: 3.1, 3.1.1 or 5)
"""

import json
import queue
import sys
import threading

import paho.mqtt.client as mqtt

HOST, PORT, VERSION = sys.argv[1], int(sys.argv[2]), sys.argv[3]
PROTOCOL = {"3.1": mqtt.MQTTv31, "3.1.1": mqtt.MQTTv311, "5": mqtt.MQTTv5}[VERSION]
DEADLINE = 30


class Client:
    """A client whose events can be waited for."""

    def __init__(self, name, will=None):
        self.messages = queue.Queue()
        self.connected = threading.Event()
        self.subscribed = threading.Event()
        self.disconnects = 0
        self.session_present = None
        self.reasons = []
        self.paho = mqtt.Client(
            mqtt.CallbackAPIVersion.VERSION2,
            client_id=name,
            protocol=PROTOCOL,
            reconnect_on_failure=False,
        )
        self.paho.on_connect = self.on_connect
        self.paho.on_disconnect = self.on_disconnect
        self.paho.on_subscribe = lambda *_: self.subscribed.set()
        self.paho.on_message = lambda client, data, message: self.messages.put(message)
        self.paho.on_publish = self.on_publish
        if will:
            self.paho.will_set("t/will", will, qos=1)
        self.paho.connect(HOST, PORT)
        self.paho.loop_start()
        await_(self.connected, "CONNACK")

    def on_connect(self, client, data, flags, reason, properties):
        self.session_present = flags.session_present
        self.reasons.append(str(reason))
        self.connected.set()

    def on_disconnect(self, client, data, flags, reason, properties):
        self.disconnects += 1

    def on_publish(self, client, data, mid, reason, properties):
        self.reasons.append(str(reason))

    def subscribe(self, topic, qos):
        self.subscribed.clear()
        self.paho.subscribe(topic, qos)
        await_(self.subscribed, "SUBACK")

    def take(self, count):
        """The next messages, sorted, since topics of different QoS may overtake each other."""
        taken = [self.messages.get(timeout=DEADLINE) for _ in range(count)]
        return sorted(
            [m.topic, m.qos, m.retain, len(m.payload), m.payload[:16].hex()] for m in taken
        )

    def stop(self):
        self.paho.disconnect()
        self.paho.loop_stop()


def await_(event, what):
    if not event.wait(DEADLINE):
        sys.exit(f"no {what} within {DEADLINE} seconds")


subscriber = Client("subscriber")
subscriber.subscribe("t/#", 2)
publisher = Client("publisher")
sent = 0
for qos in (0, 1, 2):
    for size in (0, 1, 127, 128, 5000, 30000):
        publisher.paho.publish(
            f"t/{qos}/{size}", bytes([65 + qos]) * size, qos
        ).wait_for_publish(DEADLINE)
        sent += 1
publisher.paho.publish("t/kept", b"kept", 1, retain=True).wait_for_publish(DEADLINE)
sent += 1
observed = {"live": subscriber.take(sent)}

late = Client("late")
late.subscribe("t/+", 1)
observed["retained"] = late.take(1)

doomed = Client("doomed", will=b"gone")
doomed.paho.socket().shutdown(2)
observed["will"] = subscriber.take(1)
doomed.paho.loop_stop()

subscriber.paho.unsubscribe("t/#")
subscriber.subscribe("u/#", 1)
publisher.paho.publish("t/ignored", b"x", 1).wait_for_publish(DEADLINE)
publisher.paho.publish("u/1", b"y", 1).wait_for_publish(DEADLINE)
observed["after-unsubscribe"] = subscriber.take(1)
publisher.paho.publish("t/kept", b"", 1, retain=True).wait_for_publish(DEADLINE)

observed["reasons"] = publisher.reasons
observed["session-present"] = subscriber.session_present
observed["disconnects"] = [subscriber.disconnects, publisher.disconnects, late.disconnects]
for client in (subscriber, publisher, late):
    client.stop()
print(json.dumps(observed))
