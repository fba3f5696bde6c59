#![no_main]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| entries::amqp10(octets));
