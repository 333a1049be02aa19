//! Samples of tests that take long.

/// The number in `DELTARAY_SAMPLE`, which `scripts/test` takes from the commit: where tests take long, it selects some of them.
pub fn sample() -> Option<usize> {
    let number = std::env::var("DELTARAY_SAMPLE").ok()?;
    Some(number.parse().unwrap_or_else(|_| panic!("DELTARAY_SAMPLE is a number, not {number}")))
}
