"""An oversized message of paho-mqtt and a small one after it: prints what the publisher observed.

usage: paho_oversize.py HOST PORT VERSION QOS SIZE    (VERSION: 3.1, 3.1.1 or 5)
"""

import json
import sys
import threading

import paho.mqtt.client as mqtt

HOST, PORT, VERSION = sys.argv[1], int(sys.argv[2]), sys.argv[3]
QOS, SIZE = int(sys.argv[4]), int(sys.argv[5])
PROTOCOL = {"3.1": mqtt.MQTTv31, "3.1.1": mqtt.MQTTv311, "5": mqtt.MQTTv5}[VERSION]
DEADLINE = 30

connected = threading.Event()
observed = {"connects": 0, "disconnects": 0}
outcomes = {}
ended = threading.Condition()


def on_connect(client, data, flags, reason, properties):
    observed["connects"] += 1
    connected.set()


def on_disconnect(client, data, flags, reason, properties):
    observed["disconnects"] += 1


def on_publish(client, data, mid, reason, properties):
    with ended:
        text = getattr(properties, "ReasonString", "") if properties else ""
        outcomes[mid] = [reason.value, reason.getName(), text]
        ended.notify_all()


def publish(topic, size, qos):
    """Publishes and waits until the publisher has been told the outcome."""
    mid = client.publish(topic, b"x" * size, qos).mid
    with ended:
        if not ended.wait_for(lambda: mid in outcomes, DEADLINE):
            sys.exit(f"no outcome of {topic} within {DEADLINE} seconds: {observed}")
    return outcomes[mid]


client = mqtt.Client(
    mqtt.CallbackAPIVersion.VERSION2, client_id="paho-oversize", protocol=PROTOCOL
)
client.on_connect = on_connect
client.on_disconnect = on_disconnect
client.on_publish = on_publish
client.reconnect_delay_set(min_delay=1, max_delay=1)
client.connect(HOST, PORT)
client.loop_start()
if not connected.wait(DEADLINE):
    sys.exit("no CONNACK")
observed["before"] = publish("t/before", 10, QOS)
observed["large"] = publish("t/large", SIZE, QOS)
observed["after"] = publish("t/after", 10, QOS)
observed["last"] = publish("t/last", 10, 1)
observed["disconnects-before-the-end"] = observed["disconnects"]
client.disconnect()
client.loop_stop()
print(json.dumps(observed))
