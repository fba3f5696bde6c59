"""Sends or receives with aio-pika as it is told, and prints what it observed.

usage: aio_pika_amqp091.py send|receive|get|idle HOST PORT PLAN    (PLAN: JSON, see tests/real_amqp091/plan.rs)
"""

import asyncio
import json
import sys

import aio_pika
import aiormq

what, host, port, text = sys.argv[1:]
plan = json.loads(text)
observed = {"closed": None, "channels": [None] * len(plan["channels"])}


def body(number, size):
    return b"%08d" % number + bytes([number % 251]) * (size - 8)


def number_of(octets):
    number = int(octets[:8])
    assert octets[8:] == bytes([number % 251]) * (len(octets) - 8), number
    return number


def reason(error):
    """What the library keeps of reply code and text."""
    return [None, f"{error!r} {getattr(error, 'args', '')}"]


async def send_on(connection, number, barrier):
    its = plan["channels"][number]
    sizes = its["sizes"]
    seen = {"outcomes": [None] * (len(sizes) + 1), "returned": [], "error": None}
    observed["channels"][number] = seen
    channel = await connection.channel(
        publisher_confirms=its["mode"] == "confirm", on_return_raises=its["mode"] == "confirm"
    )
    closed = asyncio.get_running_loop().create_future()
    is_done = False

    def on_close(_, error):
        # An orderly end is told in the same way, when all has been sent.
        if error is not None and not is_done:
            seen["error"] = reason(error)
        if not closed.done():
            closed.set_result(None)

    channel.close_callbacks.add(on_close)

    def on_return(message, *_):
        properties = message.header.properties
        frame = message.delivery
        what = [int(properties.message_id), frame.reply_code, frame.reply_text]
        seen["returned"].append(what)

    under = await channel.get_underlay_channel()
    await channel.declare_queue(its["queue"], durable=True)
    under.on_return_callbacks.add(on_return)

    async def publish(at, size):
        message = aio_pika.Message(body(at, size), message_id=str(at))
        try:
            await channel.default_exchange.publish(
                message, its["queue"], mandatory=its["mandatory"], timeout=25
            )
            seen["outcomes"][at] = "ack" if its["mode"] == "confirm" else None
        except aiormq.exceptions.PublishError as error:
            frame = error.frame
            seen["returned"].append([at, frame.reply_code, frame.reply_text])
            seen["outcomes"][at] = "nack"
        except aiormq.exceptions.DeliveryError:
            seen["outcomes"][at] = "nack"
        except aiormq.exceptions.AMQPError as error:
            seen["error"] = seen["error"] or reason(error)
        except Exception as error:
            seen["error"] = seen["error"] or [repr(error)]

    await asyncio.gather(*(publish(at, size) for at, size in enumerate(sizes)))
    if seen["error"] is None and its["mode"] != "confirm":
        # Whatever was returned has been by then.
        try:
            await channel.declare_queue(its["queue"], passive=True)
        except Exception as error:
            seen["error"] = reason(error)
    if seen["error"] is not None:
        await closed
    await barrier.wait()
    if seen["error"] is None and plan["failing"] < len(plan["channels"]):
        await publish(len(sizes), plan["last"])
        if its["mode"] != "confirm":
            await channel.declare_queue(its["queue"], passive=True)
    is_done = True


async def send(connection):
    barrier = asyncio.Barrier(len(plan["channels"]))
    tasks = [send_on(connection, number, barrier) for number in range(len(plan["channels"]))]
    await asyncio.gather(*tasks)


async def receive(connection):
    for number, its in enumerate(plan["channels"]):
        channel = await connection.channel()
        await channel.set_qos(prefetch_count=plan["prefetch"])
        queue = await channel.get_queue(its["queue"], ensure=False)
        received = []
        observed["channels"][number] = {"received": received, "error": None}
        async with queue.iterator(no_ack=its["no_ack"]) as messages:
            async for message in messages:
                at = number_of(message.body)
                received.append([at, len(message.body)])
                if not its["no_ack"]:
                    await message.ack()
                if at == its["until"]:
                    break


async def get(connection):
    for number, its in enumerate(plan["channels"]):
        channel = await connection.channel()
        queue = await channel.get_queue(its["queue"], ensure=False)
        received = []
        observed["channels"][number] = {"received": received, "error": None}
        while not received or received[-1] == "empty" or received[-1][0] != its["until"]:
            message = await queue.get(no_ack=its["no_ack"], fail=False)
            if message is None:
                received.append("empty")
                continue
            received.append([number_of(message.body), len(message.body)])
            if not its["no_ack"]:
                await message.ack()


async def main():
    url = f"amqp://guest:guest@{host}:{port}/?heartbeat={plan['heartbeat']}&name=aio-pika"
    try:
        connection = await aio_pika.connect(url)
    except Exception as error:
        observed["closed"] = reason(error)
        return
    ended = asyncio.get_running_loop().create_future()

    def on_close(_, error):
        if error is not None and not isinstance(error, asyncio.CancelledError):
            observed["closed"] = reason(error)
        if not ended.done():
            ended.set_result(None)

    connection.close_callbacks.add(on_close)
    if what == "idle":
        print("open", flush=True)
        await ended
        return
    run = {"send": send, "receive": receive, "get": get}[what]
    task = asyncio.ensure_future(run(connection))
    await asyncio.wait([task, ended], return_when=asyncio.FIRST_COMPLETED)
    if ended.done() and not task.done():
        task.cancel()
        return
    await task
    await connection.close()
    observed["closed"] = None


asyncio.run(main())
print(json.dumps(observed))
