"""A client with paho-mqtt in TLS: prints what a subscriber and publisher in one observed.

usage: paho_tls.py HOST PORT VERSION SIZE CA [CERT KEY]    (VERSION: 3.1, 3.1.1 or 5)

Publishes messages of SIZE octets between small ones, and ends when the last small one has come back.
"""

import json
import sys
import threading

import paho.mqtt.client as mqtt

HOST, PORT, VERSION, SIZE, CA = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), sys.argv[5]
CERT, KEY = sys.argv[6:8] if len(sys.argv) > 6 else (None, None)
PROTOCOL = {"3.1": mqtt.MQTTv31, "3.1.1": mqtt.MQTTv311, "5": mqtt.MQTTv5}[VERSION]
DEADLINE = 30

subscribed, ended = threading.Event(), threading.Event()
observed = {"connects": 0, "disconnects": 0, "reasons": [], "messages": []}


def on_connect(client, data, flags, reason, properties):
    observed["connects"] += 1
    if reason.is_failure:
        observed["refused"] = reason.getName()
        subscribed.set()
    else:
        client.subscribe("t/#", 2)


def on_disconnect(client, data, flags, reason, properties):
    observed["disconnects"] += 1


def on_message(client, data, message):
    observed["messages"].append([message.topic, len(message.payload)])
    if message.topic == "t/end":
        ended.set()


def on_publish(client, data, mid, reason, properties):
    observed["reasons"].append(reason.value)


client = mqtt.Client(
    mqtt.CallbackAPIVersion.VERSION2,
    client_id="paho-tls",
    protocol=PROTOCOL,
    reconnect_on_failure=False,
)
client.on_connect = on_connect
client.on_disconnect = on_disconnect
client.on_message = on_message
client.on_publish = on_publish
client.on_subscribe = lambda *_: subscribed.set()
client.tls_set(ca_certs=CA, certfile=CERT, keyfile=KEY)
client.connect(HOST, PORT)
client.loop_start()
if not subscribed.wait(DEADLINE):
    sys.exit(f"no SUBACK within {DEADLINE} seconds: {observed}")
if "refused" in observed:
    sys.exit(f"refused: {observed['refused']}")
for number in range(20):
    for qos, size in ((0, 10), (1, SIZE), (2, 1000 * number), (2, SIZE)):
        client.publish(f"t/{number}/{qos}/{size}", b"x" * size, qos).wait_for_publish(DEADLINE)
client.publish("t/end", b"", 2).wait_for_publish(DEADLINE)
if not ended.wait(DEADLINE):
    sys.exit(f"no t/end within {DEADLINE} seconds: {observed}")
observed["disconnects-before-the-end"] = observed["disconnects"]
client.disconnect()
client.loop_stop()
observed["messages"].sort()
print(json.dumps(observed))
