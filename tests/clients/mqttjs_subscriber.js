// A subscriber with MQTT.js and a lasting session: prints each message, and ends at t/end.
//
// usage: node mqttjs_subscriber.js MODULES HOST PORT VERSION first|again    (VERSION: 3, 4 or 5)
//
// Prints topic and length of each message, and at last how often it connected.

const [modules, host, port, version, phase] = process.argv.slice(2);
const mqtt = require(`${modules}/mqtt`);

const options = {
  host,
  port: Number(port),
  clientId: "subscriber",
  clean: false,
  protocolVersion: Number(version),
  protocolId: version === "3" ? "MQIsdp" : "MQTT",
  reconnectPeriod: 500,
  resubscribe: false,
};
if (version === "5") {
  options.properties = { sessionExpiryInterval: 600, topicAliasMaximum: 10 };
}
let connects = 0;
const client = mqtt.connect(options);
client.on("connect", () => {
  connects += 1;
  if (phase === "first" && connects === 1) {
    client.subscribe({ "kept/large": { qos: 2 }, "kept/small": { qos: 2 }, "t/#": { qos: 2 } });
  }
});
client.on("error", (error) => console.error(String(error)));
client.on("message", (topic, payload) => {
  console.log(topic, payload.length);
  if (topic === "t/end") {
    // What is to be acknowledged is, before it says goodbye.
    setImmediate(() => client.end(false, {}, () => console.log("connects", connects)));
  }
});
setTimeout(() => {
  console.error(`no t/end; ${connects} connects`);
  process.exit(1);
}, 60000).unref();
