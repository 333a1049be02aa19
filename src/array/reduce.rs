//! Reductions over axes.

use crate::array::memory::{self, OutOfMemory};
use crate::array::scalar::ElementType;
use crate::array::{Array, Data, larger, smaller};
use crate::operation::{Extreme, Reduction};
use crate::shape::{DType, Shape, Value, size};

/// Number of partial results with which a contiguous stretch is reduced, so that it vectorises.
const LANES: usize = 8;

/// Combines a contiguous stretch in a fixed order: every eighth element together, then those results.
fn fold<T: ElementType>(elements: &[T], start: T, f: impl Fn(T, T) -> T) -> T {
    let (chunks, rest) = elements.as_chunks::<LANES>();
    let mut result = start;
    if let Some((first, others)) = chunks.split_first() {
        let mut lanes = *first;
        for chunk in others {
            for (lane, &x) in lanes.iter_mut().zip(chunk) {
                *lane = f(*lane, x);
            }
        }
        result = lanes.into_iter().fold(result, &f);
    }
    rest.iter().fold(result, |result, &x| f(result, x))
}

/// The sum of a contiguous stretch.
pub(crate) fn sum_of<T: ElementType>(elements: &[T]) -> T {
    fold(elements, T::ZERO, T::plus)
}

/// Combines along the middle one of three axes.
fn fold_middle<T: ElementType>(
    a: &[T],
    [outer, middle, inner]: [usize; 3],
    start: T,
    f: impl Fn(T, T) -> T,
) -> Result<Vec<T>, OutOfMemory> {
    if inner == 1 {
        let lines = (0..outer).map(|at| fold(&a[at * middle..(at + 1) * middle], start, &f));
        return memory::collected(&[outer], lines);
    }
    let mut out = memory::filled(&[outer, inner], start)?;
    for at in 0..outer {
        let out = &mut out[at * inner..(at + 1) * inner];
        for line in a[at * middle * inner..(at + 1) * middle * inner].chunks_exact(inner) {
            out.iter_mut().zip(line).for_each(|(out, &x)| *out = f(*out, x));
        }
    }
    Ok(out)
}

/// The value of a reduction of nothing.
pub(crate) fn neutral<T: ElementType>(op: Reduction) -> T {
    match op {
        Reduction::Sum => T::ZERO,
        Reduction::Max => T::LOWEST,
        Reduction::Min => T::HIGHEST,
    }
}

/// The value of a reduction of nothing, for an element type.
pub(crate) fn neutral_value(op: Reduction, dtype: DType) -> Value {
    fn of<T: ElementType>(op: Reduction) -> Value {
        T::wrap(Data::Uniform(Shape::new(), neutral::<T>(op))).element(0)
    }
    match dtype {
        DType::F32 => of::<f32>(op),
        DType::F64 => of::<f64>(op),
        DType::I32 => of::<i32>(op),
        DType::I64 => of::<i64>(op),
        DType::Bool => of::<bool>(op),
    }
}

/// Reduces over ascending axes. The sum of n equal floats is computed as a product with n.
pub(crate) fn reduce<T: ElementType>(op: Reduction, a: Data<T>, axes: &[usize]) -> Result<Array, OutOfMemory> {
    if axes.is_empty() {
        return Ok(T::wrap(a));
    }
    let shape: Shape = (0..a.shape().len()).filter(|axis| !axes.contains(axis)).map(|axis| a.shape()[axis]).collect();
    let nothing = neutral(op);
    if size(a.shape()) == 0 {
        return Ok(T::wrap(Data::Uniform(shape, nothing)));
    }
    let mut extents = Shape::from_slice(a.shape());
    let mut elements: Option<Vec<T>> = None;
    let source = match &a {
        Data::Uniform(_, x) => {
            let extents = || axes.iter().map(|&axis| a.shape()[axis]);
            let x = match (op, extents().try_fold(1, usize::checked_mul)) {
                (Reduction::Sum, Some(count)) => x.repeated(count),
                // Equal elements may be more than `usize` counts.
                (Reduction::Sum, None) => extents().fold(*x, T::repeated),
                _ => *x,
            };
            return Ok(T::wrap(Data::Uniform(shape, x)));
        }
        dense => dense.as_slice().unwrap_or_default(),
    };
    // Neighbouring axes are reduced together, innermost first.
    let mut end = axes.len();
    while end > 0 {
        let mut begin = end - 1;
        while begin > 0 && axes[begin - 1] + 1 == axes[begin] {
            begin -= 1;
        }
        let (first, last) = (axes[begin], axes[end - 1]);
        let three = [size(&extents[..first]), size(&extents[first..=last]), size(&extents[last + 1..])];
        let from = elements.as_deref().unwrap_or(source);
        let reduced = match op {
            Reduction::Sum => fold_middle(from, three, nothing, T::plus),
            Reduction::Max => fold_middle(from, three, nothing, larger),
            Reduction::Min => fold_middle(from, three, nothing, smaller),
        };
        elements = Some(reduced?);
        extents.drain(first..=last);
        end = begin;
    }
    debug_assert_eq!(extents, shape);
    Ok(T::wrap(Data::from_vec(&shape, elements.unwrap_or_default())))
}

/// The position of the first extreme along an axis, or of the first NaN; 0 when the axis is empty.
pub(crate) fn arg_reduce<T: ElementType>(op: Extreme, a: &Data<T>, axis: usize) -> Result<Array, OutOfMemory> {
    let mut shape = Shape::from_slice(a.shape());
    shape.remove(axis);
    let Some(elements) = a.as_slice().filter(|elements| !elements.is_empty()) else {
        return Ok(i64::wrap(Data::zeros(&shape)));
    };
    let three = [size(&a.shape()[..axis]), a.shape()[axis], size(&a.shape()[axis + 1..])];
    let positions = match op {
        Extreme::Max => positions(elements, three, |x, best| x > best),
        Extreme::Min => positions(elements, three, |x, best| x < best),
    };
    Ok(i64::wrap(Data::from_vec(&shape, positions?)))
}

fn positions<T: ElementType>(
    a: &[T],
    [outer, middle, inner]: [usize; 3],
    better: impl Fn(T, T) -> bool,
) -> Result<Vec<i64>, OutOfMemory> {
    let mut out = memory::filled(&[outer, inner], 0)?;
    let wins = |x: T, best: T| better(x, best) || (x.is_nan() && !best.is_nan());
    let mut best = memory::room(&[inner])?;
    for at in 0..outer {
        let out = &mut out[at * inner..(at + 1) * inner];
        let lines = &a[at * middle * inner..(at + 1) * middle * inner];
        best.clear();
        best.extend_from_slice(&lines[..inner]);
        for (position, line) in lines.chunks_exact(inner).enumerate().skip(1) {
            for ((out, best), &x) in out.iter_mut().zip(&mut best).zip(line) {
                // Nothing compares as better than a NaN, so that the first NaN stays.
                if wins(x, *best) {
                    *best = x;
                    *out = position as i64;
                }
            }
        }
    }
    Ok(out)
}
