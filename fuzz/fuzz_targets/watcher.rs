#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| timewarp_fuzz::watcher(bytes));
