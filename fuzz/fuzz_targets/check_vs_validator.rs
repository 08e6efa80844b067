#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    structgen_fuzz::check_vs_validator(data);
});
