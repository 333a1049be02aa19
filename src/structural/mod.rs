//! Facts about operations without sub-programs, for all passes. Each operation has a file, or a row of the elementwise table.
//!
//! An operation's file states its name and how it is printed and read again, its shape rule, its cost, the bounds of its
//! elements, and its form inside of a `build`, for every element at once. Its meaning on plain arrays is in
//! [`crate::evaluate`], its derivative in [`crate::dual`], dependence in [`crate::sparse`].

mod accumulate;
mod arg_reduce;
mod arg_sort;
mod cast;
mod concatenate;
mod contract;
mod elementwise;
mod gather;
mod identity;
mod iota;
mod loops;
mod matrix;
mod reduce;
mod reshape;
mod scatter;
mod scatter_set;
mod select;
mod shapes;
mod sparse;
mod view;

pub(crate) use loops::{sparse_written_out, written_out};
#[cfg(feature = "opencl")]
pub(crate) use loops::{sweeps, written_as_systems};

use crate::shape::{Axes, DType, Shape, Type};
use crate::term::{Cost, Op};
use std::borrow::Cow;

/// The least and the largest of some whole numbers.
pub(crate) type Interval = (i64, i64);

/// The smallest interval that has both.
pub(crate) fn hull(a: Interval, b: Interval) -> Interval {
    (a.0.min(b.0), a.1.max(b.1))
}

/// The last position of an axis, or as far as can be counted.
pub(crate) fn last(extent: usize) -> i64 {
    i64::try_from(extent.saturating_sub(1)).unwrap_or(i64::MAX)
}

/// The facts about an operation that passes ask for.
pub(crate) trait Structural {
    /// The name in printed programs and messages.
    fn name(&self) -> Cow<'static, str>;

    /// The attributes as printed after the name: axes, a shape, an element type.
    fn attributes(&self) -> String {
        String::new()
    }

    /// The type of the result, given those of the operands.
    ///
    /// # Errors
    ///
    /// A sentence that says which operands do not fit.
    fn output(&self, operands: &[&Type]) -> Result<Type, String>;

    /// The cost of one run.
    fn cost(&self, operands: &[&Type], result: &Type) -> Cost;

    /// Between which numbers integers of the result are, given operands and between which their elements are; `None` where that
    /// is not known, or asked elsewhere.
    fn interval(&self, _operands: &[(&Type, Interval)]) -> Option<Interval> {
        None
    }

    /// The operation that does this for every element of a batch, whose axes, of these extents, come first in all operands; `None`
    /// where that is no single operation.
    fn batched(&self, batch: &[usize]) -> Option<Op>;

    /// Whether a read of some elements may be computed of reads of the operands.
    fn admits_reads(&self) -> bool {
        true
    }
}

impl<X> Op<X> {
    /// Asks an operation without a sub-program; `None` where it has one, or is a parameter, a constant or an output.
    pub(crate) fn ask<R>(&self, question: impl FnOnce(&dyn Structural) -> R) -> Option<R> {
        Some(match self {
            Op::Iota(n) => question(&iota::Iota(*n)),
            Op::Unary(op) => question(op),
            Op::Binary(op) => question(op),
            Op::Compare(op) => question(op),
            Op::Select => question(&select::Select),
            Op::Cast(dtype) => question(&cast::Cast(*dtype)),
            Op::View(map) => question(&view::View(map)),
            Op::Accumulate(map) => question(&accumulate::Accumulate(map)),
            Op::Reshape(shape) => question(&reshape::Reshape(shape)),
            Op::Concatenate(axis) => question(&concatenate::Concatenate(*axis)),
            Op::Gather => question(&gather::Gather),
            Op::Scatter(extents) => question(&scatter::Scatter(extents)),
            Op::ScatterSet => question(&scatter_set::ScatterSet),
            Op::Reduce(reduction, axes) => question(&reduce::Reduce(*reduction, axes)),
            Op::ArgReduce(extreme, axis) => question(&arg_reduce::ArgReduce(*extreme, *axis)),
            Op::ArgSort(order, axis) => question(&arg_sort::ArgSort(*order, *axis)),
            Op::Contract(spec) => question(spec),
            Op::Matrix(op) => question(op),
            Op::Sparse(op) => question(op),
            Op::Alias => question(&identity::Identity("alias")),
            Op::Mark => question(&identity::Identity("mark")),
            Op::Parameter(_)
            | Op::Constant(_)
            | Op::Scan(_)
            | Op::Branch(_)
            | Op::Sweeps(_)
            | Op::Custom(_)
            | Op::Output(_)
            | Op::Extra(_) => return None,
        })
    }
}

/// The source of the attributes that are printed after an operation's name.
pub(crate) trait Attributes {
    type Problem;
    /// `[0]`
    fn axis(&mut self) -> Result<usize, Self::Problem>;
    /// `[0, 1]`
    fn axes(&mut self) -> Result<Axes, Self::Problem>;
    /// `[2, 3]`
    fn shape(&mut self) -> Result<Shape, Self::Problem>;
    /// `f64`
    fn dtype(&mut self) -> Result<DType, Self::Problem>;
}

/// The operation of one operand for a word, with the attributes after it; `None` for another word.
pub(crate) fn read<X, A: Attributes>(word: &str, attributes: &mut A) -> Option<Result<Op<X>, A::Problem>> {
    let readers = [arg_reduce::read, arg_sort::read, cast::read, identity::read, reduce::read, reshape::read];
    readers.into_iter().find_map(|read| read(word, attributes))
}
