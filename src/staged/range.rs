//! Between which numbers the elements of integer terms are, as far as that is plain.

use crate::operation::Unary;
use crate::simplify::bounds::binary_interval;
use crate::structural::hull;
use crate::term::Op;
use crate::trace::StagedArray;
use crate::trace::session::source;

/// How far index arithmetic is looked through.
const DEPTH: usize = 12;

/// The range of an array about which nothing is known.
const UNKNOWN: (i64, i64) = (i64::MIN, i64::MAX);

/// The least and the greatest element; unknown ones are those of the type.
pub(super) fn range(array: &StagedArray) -> (i64, i64) {
    of(array, DEPTH)
}

fn of(array: &StagedArray, depth: usize) -> (i64, i64) {
    if depth == 0 || !array.ty().dtype.is_integer() {
        return UNKNOWN;
    }
    let args = &array.0.args;
    let operand = |at: usize| of(&args[at], depth - 1);
    match &array.0.op {
        Op::Constant(value) => {
            let value = value.only().and_then(|value| value.to_integer());
            value.map_or(UNKNOWN, |value| (value, value))
        }
        &Op::Iota(n) if n > 0 => (0, n as i64 - 1),
        Op::Parameter(_) => source(array).map_or(UNKNOWN, |source| of(&source, depth - 1)),
        Op::View(map) if map.is_inside() => operand(0),
        // An element outside is 0.
        Op::View(_) => hull(operand(0), (0, 0)),
        Op::Reshape(_) | Op::Alias | Op::Mark => operand(0),
        Op::Select => hull(operand(1), operand(2)),
        Op::Unary(Unary::Neg) => {
            let (low, high) = operand(0);
            if low > i64::MIN && high < i64::MAX { (-high, -low) } else { UNKNOWN }
        }
        &Op::Binary(op) => {
            let [a, b] = [operand(0), operand(1)].map(|(low, high)| (low.into(), high.into()));
            binary_interval(op, a, b, array.ty().dtype)
        }
        _ => UNKNOWN,
    }
}
