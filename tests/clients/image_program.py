"""The program as it runs in its image: who it is, what it may, and how it finds its broker.

usage: image_program.py COMMAND...    (as root; COMMAND starts the program and takes its flags)

The file system that it sees has to name the broker in-hosts.test in /etc/hosts, and 127.153.0.1 as
the name server in /etc/resolv.conf. Stands in for both: a name server that knows in-dns.test, and a
broker that takes a connection under either name.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.request

DEADLINE = 30
NAMES = ["in-hosts.test", "in-dns.test"]
# CONNECT of MQTT 3.1.1 with the client id "image", and the CONNACK that accepts it.
CONNECT = bytes.fromhex("10 11 0004 4d515454 04 02 003c 0005 696d616765")
CONNACK = bytes.fromhex("20 02 00 00")


def serve_names(server):
    """Answers every question for the A record of in-dns.test with 127.0.0.1."""
    while True:
        query, peer = server.recvfrom(512)
        end = query.index(0, 12) + 1
        question, kind = query[12 : end + 4], query[end : end + 2]
        known = query[12:end] == b"\6in-dns\4test\0"
        # A pointer to the name in the question, A, IN, a second, four octets.
        answer = bytes.fromhex("c00c 0001 0001 00000001 0004 7f000001")
        answers = [answer] if known and kind == b"\0\1" else []
        # A response, recursion available; no error, or no such name. One question.
        flags = b"\x81\x80" if known else b"\x81\x83"
        counts = bytes([0, 1, 0, len(answers), 0, 0, 0, 0])
        server.sendto(query[:2] + flags + counts + question + b"".join(answers), peer)


def receive(stream, octets):
    """Reads as many octets as that."""
    received = b""
    while len(received) < octets:
        part = stream.recv(octets - len(received))
        assert part, f"the end of the connection after {received.hex(' ')}"
        received += part
    return received


def passes(address, broker):
    """A client says CONNECT, the broker gets it, and the client gets the broker's answer."""
    with socket.create_connection(address, DEADLINE) as client:
        client.sendall(CONNECT)
        upstream, _ = broker.accept()
        with upstream:
            upstream.settimeout(DEADLINE)
            assert receive(upstream, len(CONNECT)) == CONNECT
            upstream.sendall(CONNACK)
            assert receive(client, len(CONNACK)) == CONNACK


def get(address, path):
    with urllib.request.urlopen(f"http://{address}{path}", timeout=DEADLINE) as answer:
        return answer.read().decode()


names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
names.bind(("127.153.0.1", 53))
threading.Thread(target=serve_names, args=[names], daemon=True).start()
broker = socket.create_server(("127.0.0.1", 0))
broker.settimeout(DEADLINE)
port = broker.getsockname()[1]

flags = ["--admin", "127.0.0.1:0", "--log-format", "json", "--drain-timeout", "0s"]
for name in NAMES:
    flags += ["--listen", "127.0.0.1:0", "--upstream", f"{name}:{port}"]
program = subprocess.Popen(sys.argv[1:] + flags, stderr=subprocess.PIPE, text=True)
# Whatever happens, it does not outlive this.
timer = threading.Timer(DEADLINE * 2, program.kill)
timer.daemon = True
timer.start()
try:
    started = json.loads(program.stderr.readline())
    assert started["message"] == "listening", started

    status = dict(line.split(":\t", 1) for line in open(f"/proc/{program.pid}/status"))
    for ids in ["Uid", "Gid"]:
        assert status[ids].split() == ["65532"] * 4, status[ids]
    assert status["Groups"].split() == [], status["Groups"]
    for capabilities in ["CapPrm", "CapEff", "CapInh", "CapAmb"]:
        assert int(status[capabilities], 16) == 0, f"{capabilities}: {status[capabilities]}"
    mounts = [line.split() for line in open(f"/proc/{program.pid}/mountinfo")]
    assert any(mount[4] == "/" and "ro" in mount[5].split(",") for mount in mounts), mounts
    try:
        os.close(os.open(f"/proc/{program.pid}/root/new", os.O_CREAT | os.O_WRONLY))
        sys.exit("its root can be written")
    except OSError as error:
        print("its root:", error.strerror)

    for name, listen in zip(NAMES, started["listen"].split(",")):
        host, _, port = listen.rpartition(":")
        passes((host, int(port)), broker)
        print("its broker is found:", name)
    assert get(started["admin"], "/readyz") == "ready"
    assert "\nsizegate_upstream_up 1\n" in get(started["admin"], "/metrics")

    program.send_signal(signal.SIGTERM)
    code = program.wait(DEADLINE)
    assert code == 0, f"it ended with {code}"
finally:
    program.kill()
