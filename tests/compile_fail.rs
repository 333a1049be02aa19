//! Mistakes, and the compiler's messages about them: each message names the fix.
//!
//! The messages are those of the compiler that the crate is built with; after a change they are written by
//! `TRYBUILD=overwrite cargo test --test compile_fail`, and read before they are kept.

#[test]
fn messages_name_the_fix() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}

#[cfg(feature = "opencl")]
#[test]
fn messages_of_devices_name_the_fix() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/opencl/*.rs");
}
