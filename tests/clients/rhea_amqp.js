// Sends or receives with rhea as it is told, and prints what it observed.
//
// usage: rhea_amqp.js send|receive HOST PORT PLAN    (PLAN: JSON, see tests/real_amqp10/plan.rs)

const rhea = require('rhea');

const [what, host, port, text] = process.argv.slice(2);
const plan = JSON.parse(text);
const DEADLINE = 25_000;

const observed = { connects: 0, closed: null, links: [] };
let isDone = false;

// A whole message of so many octets: one data section that begins with its number.
function message(number, size) {
    const body = size - (size <= 260 ? 5 : 8);
    const length = Buffer.alloc(size <= 260 ? 2 : 5);
    if (size <= 260) {
        length.writeUInt8(0xa0, 0);
        length.writeUInt8(body, 1);
    } else {
        length.writeUInt8(0xb0, 0);
        length.writeUInt32BE(body, 1);
    }
    const head = Buffer.from([0x00, 0x53, 0x75]);
    const name = Buffer.from(String(number).padStart(8, '0'));
    return Buffer.concat([head, length, name, Buffer.alloc(body - 8, number % 251)]);
}

function condition(it) {
    return it ? [it.condition, it.description, it.info || null] : null;
}

const container = rhea.create_container({ id: 'rhea' });
const connection = container.connect({
    host,
    port: Number(port),
    username: 'guest',
    password: 'guest',
    max_frame_size: plan.frame,
    reconnect: false,
});

connection.on('connection_open', () => { observed.connects += 1; });
connection.on('connection_error', (context) => {
    observed.closed = condition(context.connection.error);
});
connection.on('connection_close', () => { isDone = true; });
connection.on('session_error', (context) => { fail('session', JSON.stringify(context.session.error)); });
connection.on('disconnected', (context) => {
    if (!isDone) {
        fail('disconnected', context.error);
    }
});
connection.on('protocol_error', (error) => { fail('protocol error', error); });
container.on('error', (error) => { fail('error', error); });

function fail(where, error) {
    console.error(`${where}: ${error}: ${JSON.stringify(observed)}`);
    process.exit(1);
}

function finish() {
    if (!isDone) {
        isDone = true;
        connection.close();
    }
}

function send() {
    const links = plan.links.map((its, number) => {
        observed.links.push({ outcomes: [], error: null });
        const sender = connection.open_sender({
            name: String(number),
            target: { address: its.address },
            snd_settle_mode: its.settled ? 1 : 0,
        });
        const link = { sender, sizes: its.sizes, settled: its.settled, at: 0, deliveries: new Map() };
        link.observed = observed.links[number];
        sender.on('sender_open', () => {
            link.observed['max-message-size'] = Number(sender.remote.attach.max_message_size || 0);
        });
        sender.on('sendable', () => push(link));
        sender.on('accepted', (context) => outcome(link, context.delivery, 'accepted'));
        sender.on('released', (context) => outcome(link, context.delivery, 'released'));
        sender.on('modified', (context) => outcome(link, context.delivery, 'modified'));
        sender.on('rejected', (context) => {
            const error = condition(context.delivery.remote_state.error);
            outcome(link, context.delivery, ['rejected', error[0], error[1]]);
        });
        sender.on('sender_error', () => {
            link.observed.error = condition(sender.error);
            look();
        });
        return link;
    });
    let hasSaidLast = false;

    function push(link) {
        while (link.sender.sendable() && link.at < link.sizes.length && !link.observed.error) {
            const delivery = link.sender.send(message(link.at, link.sizes[link.at]), String(link.at), 0);
            link.deliveries.set(delivery.id, link.at);
            link.observed.outcomes.push(link.settled ? 'settled' : null);
            link.at += 1;
        }
        look();
    }

    function outcome(link, delivery, what) {
        link.observed.outcomes[link.deliveries.get(delivery.id)] = what;
        look();
    }

    // Goes on to the last message, or to the end, once there is nothing to wait for.
    function look() {
        const alive = links.filter((link) => !link.observed.error);
        const waits = (link) => link.at < link.sizes.length || link.observed.outcomes.includes(null);
        // Where the plan says that links fail, those that do not wait for those that do.
        if (alive.some(waits) || plan.failing > links.length - alive.length) {
            return;
        }
        if (hasSaidLast) {
            finish();
            return;
        }
        hasSaidLast = true;
        alive.forEach((link) => { link.sizes = link.sizes.concat([plan.last]); });
        alive.forEach(push);
    }
}

function receive() {
    let open = plan.links.length;
    plan.links.forEach((its, number) => {
        const link = { received: [], error: null };
        observed.links.push(link);
        const receiver = connection.open_receiver({
            name: String(number),
            source: { address: its.address },
            snd_settle_mode: its.settled ? 1 : 0,
            credit_window: 0,
            autoaccept: !its.settled,
        });
        const ends = () => {
            open -= 1;
            if (!open) {
                finish();
            }
        };
        receiver.on('receiver_error', () => {
            link.error = condition(receiver.error);
            ends();
        });
        receiver.on('message', (context) => {
            const body = context.message.body.content;
            const id = Number(body.subarray(0, 8).toString());
            if (!body.subarray(8).every((octet) => octet === id % 251)) {
                fail('receive', `message ${id} is not what was sent`);
            }
            link.received.push([id, body.length]);
            if (id === its.until) {
                // After the disposition of this message, which rhea writes when this returns.
                setImmediate(() => {
                    receiver.close();
                    ends();
                });
            } else {
                receiver.add_credit(1);
            }
        });
        // Before the broker's begin has come, rhea would say a wrong next-incoming-id in its flow.
        receiver.on('receiver_open', () => receiver.add_credit(plan.credit));
    });
}

({ send, receive })[what]();
setTimeout(() => fail('deadline', `not done in ${DEADLINE} ms`), DEADLINE).unref();
process.on('exit', (code) => {
    if (code === 0 && isDone) {
        console.log(JSON.stringify(observed));
    }
});
