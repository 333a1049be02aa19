//! Whether there is a device.

/// Whether there is a device; where tests may not be skipped there must be.
pub fn is_there() -> bool {
    let found = !deltaray::opencl::devices().expect("drivers say what they have").is_empty();
    if !found {
        let text = "no OpenCL driver is installed: `scripts/install-tools` installs PoCL";
        assert!(std::env::var("DELTARAY_TOOLS").as_deref() != Ok("required"), "{text}");
        println!("skipped: {text}");
    }
    found
}
