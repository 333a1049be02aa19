//! Gradients when a crate is compiled: functions for build scripts.
//!
//! A crate whose build script stages a function, differentiates it and writes its source has the gradient as plain Rust over
//! slices, and nothing of this library. In `Cargo.toml` the library is listed under `[build-dependencies]` only; the crate
//! `examples/aot` is an example.
//!
//! ```no_run
//! // build.rs
//! use deltaray::prelude::*;
//!
//! fn loss<A: Algebra>((w, x, y): &(Vector<A, f64>, Matrix<A, f64>, Vector<A, f64>)) -> Scalar<A, f64> {
//!     (x.dot(w) - y).powi(2).mean()
//! }
//!
//! fn main() -> deltaray::Result<()> {
//!     let gradient = stage(loss, (&zeros(3), &zeros((100, 3)), &zeros(100)))?.value_and_grad()?;
//!     deltaray::build::rust("loss_grad", &gradient)
//! }
//! ```
//!
//! and in the crate
//!
//! ```ignore
//! include!(concat!(env!("OUT_DIR"), "/loss_grad.rs"));
//! ```

use crate::error::{Error, Result};
use crate::export::{Program, RustOptions};
use std::path::{Path, PathBuf};

/// Writes a program as source of Rust to `name.rs` in the folder that Cargo provides for build scripts; the function is called
/// `name`. See [`RustOptions`] for the content of the file.
///
/// # Errors
///
/// As [`export::rust`](crate::export::rust), when no build script is running, and when the file can't be written.
pub fn rust(name: &str, program: impl Into<Program>) -> Result<()> {
    rust_with(name, program, RustOptions::default())
}

/// As [`rust`], with options.
///
/// # Errors
///
/// As [`rust`].
pub fn rust_with(name: &str, program: impl Into<Program>, options: RustOptions) -> Result<()> {
    let folder = std::env::var_os("OUT_DIR").map(PathBuf::from).ok_or_else(|| Error::File {
        path: format!("{name}.rs"),
        problem: "there is no folder to write to: the variable OUT_DIR, which Cargo sets for build scripts, is not set"
            .into(),
    })?;
    let source = options.export(program.into().with_name(name))?;
    write(&folder.join(format!("{name}.rs")), &source)
}

/// Writes a file, if it has another content.
fn write(path: &Path, text: &str) -> Result<()> {
    if std::fs::read(path).is_ok_and(|found| found == text.as_bytes()) {
        return Ok(());
    }
    let failed = |error: std::io::Error| Error::File { path: path.display().to_string(), problem: error.to_string() };
    std::fs::write(path, text).map_err(failed)
}
