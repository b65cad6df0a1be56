#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = timewarp_fuzz::reftable(bytes);
});
