"""A subscriber with paho-mqtt and a lasting session: prints each message, and ends at t/end.

usage: paho_subscriber.py HOST PORT VERSION first|again    (VERSION: 3.1, 3.1.1 or 5)

Prints topic and length of each message, and at last how often it connected.
"""

import sys
import threading

import paho.mqtt.client as mqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

HOST, PORT, VERSION, PHASE = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
PROTOCOL = {"3.1": mqtt.MQTTv31, "3.1.1": mqtt.MQTTv311, "5": mqtt.MQTTv5}[VERSION]
DEADLINE = 60
FILTERS = [("kept/large", 2), ("kept/small", 2), ("t/#", 2)]

ended = threading.Event()
connects = 0


def on_connect(client, data, flags, reason, properties):
    global connects
    connects += 1
    if PHASE == "first" and connects == 1:
        client.subscribe(FILTERS)


def on_message(client, data, message):
    print(message.topic, len(message.payload), flush=True)
    if message.topic == "t/end":
        ended.set()


session = {}
if PROTOCOL == mqtt.MQTTv5:
    properties = Properties(PacketTypes.CONNECT)
    properties.SessionExpiryInterval = 600
    properties.TopicAliasMaximum = 10
    client = mqtt.Client(
        mqtt.CallbackAPIVersion.VERSION2, client_id="subscriber", protocol=PROTOCOL
    )
    session = {"clean_start": False, "properties": properties}
else:
    client = mqtt.Client(
        mqtt.CallbackAPIVersion.VERSION2,
        client_id="subscriber",
        protocol=PROTOCOL,
        clean_session=False,
    )
client.on_connect = on_connect
client.on_message = on_message
client.reconnect_delay_set(min_delay=1, max_delay=1)
client.connect(HOST, PORT, **session)
client.loop_start()
if not ended.wait(DEADLINE):
    sys.exit(f"no t/end within {DEADLINE} seconds; {connects} connects")
client.disconnect()
client.loop_stop()
print("connects", connects)
