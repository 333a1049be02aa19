//! Programs on devices, through OpenCL. Without a device these tests say that they are skipped, or fail where none may be
//! skipped.
#![cfg(feature = "opencl")]

#[path = "devices/errors.rs"]
mod errors;
#[path = "devices/loops.rs"]
mod loops;
#[path = "devices/matrices.rs"]
mod matrices;
#[path = "devices/nests.rs"]
mod nests;
#[path = "devices/presence.rs"]
mod presence;
#[path = "devices/products.rs"]
mod products;
#[path = "devices/prologues.rs"]
mod prologues;
#[path = "devices/runs.rs"]
mod runs;
#[path = "devices/scans.rs"]
mod scans;
#[path = "devices/sorts.rs"]
mod sorts;
#[path = "devices/vectors.rs"]
mod vectors;
#[path = "devices/windows.rs"]
mod windows;

use deltaray::opencl::OpenCl;
use presence::is_there;

/// The device that is chosen first, whose kernels are passed few arrays.
fn of_few_arrays() -> OpenCl {
    let mut device = OpenCl::default().device().expect("a device is there");
    device.parameters = device.parameters.min(1024);
    OpenCl::on(&device)
}
