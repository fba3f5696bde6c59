#![no_main]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| entries::mqtt_gate(octets));
