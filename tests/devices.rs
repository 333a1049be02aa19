//! What programs do on devices, through OpenCL: where there is none, these tests say that they are skipped, and where none may
//! be skipped they fail.
#![cfg(feature = "opencl")]

#[path = "devices/loops.rs"]
mod loops;
#[path = "devices/nests.rs"]
mod nests;
#[path = "devices/products.rs"]
mod products;
#[path = "devices/runs.rs"]
mod runs;
#[path = "devices/scans.rs"]
mod scans;
#[path = "devices/sorts.rs"]
mod sorts;

/// Whether there is a device.
fn is_there() -> bool {
    let found = !deltaray::opencl::devices().expect("drivers say what they have").is_empty();
    if !found {
        let text = "no OpenCL driver is installed: `scripts/install-tools` installs PoCL";
        assert!(std::env::var("DELTARAY_TOOLS").as_deref() != Ok("required"), "{text}");
        println!("skipped: {text}");
    }
    found
}
