// Sends or receives with amqplib as it is told, and prints what it observed.
//
// usage: amqplib_amqp091.js send|receive|get|idle HOST PORT PLAN    (PLAN: JSON, see tests/real_amqp091/plan.rs)

const amqp = require('amqplib');

const [what, host, port, text] = process.argv.slice(2);
const plan = JSON.parse(text);
const observed = { closed: null, channels: plan.channels.map(() => null) };

function body(number, size) {
    const name = Buffer.from(String(number).padStart(8, '0'));
    return Buffer.concat([name, Buffer.alloc(size - 8, number % 251)]);
}

function numberOf(octets) {
    const number = Number(octets.subarray(0, 8).toString());
    if (octets.subarray(8).some((octet) => octet !== number % 251)) {
        throw new Error(`a broken body of ${number}`);
    }
    return number;
}

function reason(error) {
    return [error.code || null, error.message];
}

// Publishes on one channel, without waiting for one outcome before the next publish.
async function sendOn(connection, number, barrier) {
    const its = plan.channels[number];
    const seen = { outcomes: Array(its.sizes.length + 1).fill(null), returned: [], error: null };
    observed.channels[number] = seen;
    const confirms = its.mode === 'confirm';
    const channel = await (confirms ? connection.createConfirmChannel() : connection.createChannel());
    const closed = new Promise((resolve) => {
        channel.on('error', (error) => { seen.error = reason(error); });
        channel.on('close', resolve);
    });
    channel.on('return', (message) => {
        const { replyCode, replyText } = message.fields;
        seen.returned.push([Number(message.properties.messageId), replyCode, replyText]);
    });
    await channel.assertQueue(its.queue, { durable: true });
    const publish = (at, size) => new Promise((resolve) => {
        const options = { messageId: String(at), mandatory: its.mandatory };
        const settle = (error) => {
            if (seen.outcomes[at] !== null) {
                seen.outcomes[at] = 'twice';
            } else if (!error) {
                seen.outcomes[at] = 'ack';
            } else if (error.message === 'message nacked') {
                seen.outcomes[at] = 'nack';
            }
            resolve();
        };
        if (confirms) {
            channel.publish('', its.queue, body(at, size), options, settle);
        } else {
            channel.publish('', its.queue, body(at, size), options);
            resolve();
        }
    });
    // Whatever was returned has been when this is answered.
    const flush = () => channel.checkQueue(its.queue).catch(() => {});
    await Promise.race([closed, Promise.all(its.sizes.map((size, at) => publish(at, size)))]);
    await Promise.race([closed, flush()]);
    await barrier();
    if (seen.error === null && plan.failing < plan.channels.length) {
        await publish(its.sizes.length, plan.last);
        await flush();
    }
}

async function send(connection) {
    let waiting = plan.channels.length;
    let open;
    const all = new Promise((resolve) => { open = resolve; });
    const barrier = () => {
        waiting -= 1;
        if (waiting === 0) {
            open();
        }
        return all;
    };
    await Promise.all(plan.channels.map((_, number) => sendOn(connection, number, barrier)));
}

async function receive(connection) {
    for (const [number, its] of plan.channels.entries()) {
        const received = [];
        observed.channels[number] = { received, error: null };
        const channel = await connection.createChannel();
        await channel.prefetch(plan.prefetch);
        await new Promise((resolve) => {
            channel.consume(its.queue, (message) => {
                const at = numberOf(message.content);
                received.push([at, message.content.length]);
                if (!its.no_ack) {
                    channel.ack(message, at % 3 === 0);
                }
                if (at === its.until) {
                    resolve();
                }
            }, { noAck: its.no_ack });
        });
        await channel.close();
    }
}

async function get(connection) {
    for (const [number, its] of plan.channels.entries()) {
        const received = [];
        observed.channels[number] = { received, error: null };
        const channel = await connection.createChannel();
        for (;;) {
            const message = await channel.get(its.queue, { noAck: its.no_ack });
            if (!message) {
                received.push('empty');
                continue;
            }
            const at = numberOf(message.content);
            received.push([at, message.content.length]);
            if (!its.no_ack) {
                channel.ack(message);
            }
            if (at === its.until) {
                break;
            }
        }
        await channel.close();
    }
}

async function main() {
    let connection;
    try {
        connection = await amqp.connect(
            { hostname: host, port: Number(port), username: 'guest', password: 'guest', heartbeat: plan.heartbeat },
            { clientProperties: { connection_name: 'amqplib' } },
        );
    } catch (error) {
        observed.closed = reason(error);
        return;
    }
    const ended = new Promise((resolve) => {
        connection.on('error', (error) => { observed.closed = reason(error); });
        connection.on('close', (error) => {
            if (error && observed.closed === null) {
                observed.closed = reason(error);
            }
            resolve('ended');
        });
    });
    if (what === 'idle') {
        console.log('open');
        await ended;
        return;
    }
    const done = { send, receive, get }[what](connection);
    if (await Promise.race([ended, done]) !== 'ended') {
        await connection.close();
    }
}

main().then(() => {
    console.log(JSON.stringify(observed));
    process.exit(0);
}, (error) => {
    console.error(error, JSON.stringify(observed));
    process.exit(1);
});
