// Sends to a queue with rhea in TLS and receives it back, and prints what it observed.
//
// usage: rhea_tls.js HOST PORT QUEUE SIZES CA [CERT KEY]    (SIZES: JSON)

const fs = require('fs');
const rhea = require('rhea');

const [host, port, queue, text, ca, cert, key] = process.argv.slice(2);
const sizes = JSON.parse(text);
const DEADLINE = 25_000;

const observed = { outcomes: sizes.map(() => null), received: [] };
const ids = new Map();
let at = 0;
let isDone = false;

function fail(where, error) {
    console.error(`${where}: ${error}: ${JSON.stringify(observed)}`);
    process.exit(1);
}

const container = rhea.create_container({ id: 'rhea-tls' });
const connection = container.connect({
    host,
    port: Number(port),
    transport: 'tls',
    servername: 'localhost',
    ca: fs.readFileSync(ca),
    cert: cert && fs.readFileSync(cert),
    key: key && fs.readFileSync(key),
    username: 'guest',
    password: 'guest',
    max_frame_size: 4096,
    reconnect: false,
});

connection.on('disconnected', (context) => {
    if (!isDone) {
        fail('disconnected', context.error);
    }
});
container.on('error', (error) => { fail('error', error); });

const sender = connection.open_sender({ target: { address: queue } });
sender.on('sendable', () => {
    while (sender.sendable() && at < sizes.length) {
        const body = rhea.message.data_section(Buffer.alloc(sizes[at], at));
        ids.set(sender.send({ body }).id, at);
        at += 1;
    }
});
sender.on('accepted', (context) => settle(context.delivery, 'accepted'));
sender.on('rejected', (context) => {
    settle(context.delivery, context.delivery.remote_state.error.condition);
});

function settle(delivery, outcome) {
    observed.outcomes[ids.get(delivery.id)] = outcome;
    if (!observed.outcomes.includes(null)) {
        receive(observed.outcomes.filter((it) => it === 'accepted').length);
    }
}

function receive(count) {
    const receiver = connection.open_receiver({ source: { address: queue }, credit_window: 0 });
    receiver.on('receiver_open', () => receiver.add_credit(count));
    receiver.on('message', (context) => {
        observed.received.push(context.message.body.content.length);
        if (observed.received.length === count) {
            setImmediate(() => {
                isDone = true;
                connection.close();
            });
        }
    });
}

setTimeout(() => fail('deadline', `not done in ${DEADLINE} ms`), DEADLINE).unref();
process.on('exit', (code) => {
    if (code === 0 && isDone) {
        console.log(JSON.stringify(observed));
    }
});
