//! Programs as source in languages with loops: Rust, C, and OpenCL C: files around the output of [`source`](crate::source).

mod c_file;
mod c_interface;
mod casadi;
mod file_names;
mod opencl_file;
mod rust_file;
mod words;

pub use c_file::{COptions, CSource};
pub use casadi::CasadiOptions;
pub use opencl_file::{OpenClOptions, OpenClSource, opencl};
pub use rust_file::RustOptions;

use super::Program;
use crate::error::{Error, Result};
use crate::kernel::{self, Procedure};
use crate::prepare::prepared;
use crate::shape::{DType, Type};
use crate::simplify::TableLimits;
use crate::term::Body;

/// A program as source of Rust: a function over slices, which needs no crate and allocates nothing. See [`RustOptions`].
///
/// # Errors
///
/// When the program has an operation that the language can't express; the error names it.
pub fn rust(program: impl Into<Program>) -> Result<String> {
    RustOptions::default().export(program)
}

/// A program as source of C99: a function with CasADi's calling convention, in one `.c` and one `.h` file.
///
/// # Errors
///
/// When the program has an operation that the language can't express; the error names it.
pub fn c(program: impl Into<Program>) -> Result<CSource> {
    COptions::default().export(program)
}

/// All arrays and all memory of a function have fewer bytes than this, so that sums of sizes fit the integers of C.
const MOST_BYTES: u128 = 1 << 59;

/// Checks that the arrays of a program, and the memory that it takes, can be counted.
fn check_sizes(body: &Body, scratch: impl Iterator<Item = (DType, usize)>, target: &'static str) -> Result<()> {
    let types = (0..body.arity()).map(|at| body.parameter_type(at)).chain(body.result_types());
    let arrays = types.map(Type::exact_bytes);
    let memory = scratch.map(|(dtype, count)| count as u128 * dtype.bytes() as u128);
    let bytes = arrays.chain(memory).fold(0, u128::saturating_add);
    if bytes < MOST_BYTES {
        return Ok(());
    }
    let problem = format!("arrays and memory of {bytes} bytes");
    Err(Error::Export { target, operation: "export".into(), problem })
}

/// The number of an array's elements, for the comments of a file.
fn counted(ty: &Type) -> String {
    match ty.size() {
        1 => "1 element".into(),
        count => format!("{count} elements"),
    }
}

/// The program as loop nests.
fn lowered(body: &Body, target: &'static str, lower: fn(&Body) -> Procedure) -> Result<Procedure> {
    prepared(body, TableLimits::TEXT, lower).map_err(|problem| Error::Export {
        target,
        operation: "export".into(),
        problem: format!("an ill-formed program: {problem}"),
    })
}

/// Loop nests in blocks of rows, but where blocks write to one array as several results, which functions can not.
fn blocked(body: &Body) -> Procedure {
    let procedure = kernel::lower_in_place(body);
    if kernel::writes_apart(&procedure) { kernel::lower_in_place_unblocked(body) } else { procedure }
}
