#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    structgen_fuzz::tool_format(data);
});
