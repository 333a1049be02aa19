//! Elementwise operations: one compiled loop for each, in place where a buffer is nobody else's.

use crate::array::memory::{self, OutOfMemory};
use crate::array::scalar::ElementType;
use crate::array::{Array, Data, for_data, for_pair};
use crate::operation::{Binary, BinaryLoop, Comparison, Unary, UnaryLoop};
use crate::shape::{DType, Shape};

/// The loop over one operand, in place. Only this loop is compiled for every operation and element type.
struct MapInPlace<'a, T>(&'a mut [T]);

impl<T: ElementType> UnaryLoop<T> for MapInPlace<'_, T> {
    type Output = ();
    fn run<F: Fn(T) -> T>(self, f: F) {
        for x in self.0 {
            *x = f(*x);
        }
    }
}

/// Runs a loop on the elements where they are nobody else's, as of all arrays of one value; says whether.
#[inline]
fn map_in_place<T: ElementType>(a: &mut Data<T>, run: impl FnOnce(MapInPlace<'_, T>)) -> bool {
    match a {
        Data::Uniform(_, x) => run(MapInPlace(std::slice::from_mut(x))),
        Data::Dense(array) if array.is_unique() => run(MapInPlace(array.as_slice_mut())),
        Data::Dense(_) => return false,
    }
    true
}

/// Runs an elementwise operation in place where possible, and returns whether it did: nothing is moved, and on a few numbers
/// moving is most of the work.
pub(crate) fn unary_in_place(op: Unary, a: &mut Array) -> bool {
    match (op, a) {
        // These powers are products, see [`unary`].
        (Unary::Powi(2 | 3), Array::F32(_) | Array::F64(_)) => false,
        (_, Array::F32(a)) => map_in_place(a, |elements| op.run_f32(elements)),
        (_, Array::F64(a)) => map_in_place(a, |elements| op.run_f64(elements)),
        (_, Array::I32(a)) => map_in_place(a, |elements| op.run_i32(elements)),
        (_, Array::I64(a)) => map_in_place(a, |elements| op.run_i64(elements)),
        (_, Array::Bool(a)) => map_in_place(a, |elements| op.run_bool(elements)),
        (_, Array::Traced(_)) => unreachable!("what is traced computes with the values"),
    }
}

/// Runs a loop on the elements, which are this array's own from then on.
#[inline]
fn map<T: ElementType>(a: Data<T>, run: impl Fn(MapInPlace<'_, T>)) -> Result<Array, OutOfMemory> {
    Ok(T::wrap(match a {
        Data::Uniform(shape, x) => {
            let mut one = [x];
            run(MapInPlace(&mut one));
            Data::Uniform(shape, one[0])
        }
        Data::Dense(array) => Data::Dense(array.changed(&mut |elements, _| run(MapInPlace(elements)))?),
    }))
}

/// An elementwise operation of one operand.
pub(crate) fn unary(op: Unary, a: Array) -> Result<Array, OutOfMemory> {
    // Small powers are products, which vectorise; the results are those of `powi` to the bit.
    match (op, a) {
        (Unary::Powi(2), Array::F32(a)) => map(a, |elements| elements.run(|x| x * x)),
        (Unary::Powi(2), Array::F64(a)) => map(a, |elements| elements.run(|x| x * x)),
        (Unary::Powi(3), Array::F32(a)) => map(a, |elements| elements.run(|x| x * (x * x))),
        (Unary::Powi(3), Array::F64(a)) => map(a, |elements| elements.run(|x| x * (x * x))),
        (_, Array::F32(a)) => map(a, |elements| op.run_f32(elements)),
        (_, Array::F64(a)) => map(a, |elements| op.run_f64(elements)),
        (_, Array::I32(a)) => map(a, |elements| op.run_i32(elements)),
        (_, Array::I64(a)) => map(a, |elements| op.run_i64(elements)),
        (_, Array::Bool(a)) => map(a, |elements| op.run_bool(elements)),
        (_, Array::Traced(_)) => unreachable!("what is traced computes with the values"),
    }
}

/// The operand that is not written to.
enum Other<'a, T> {
    Uniform(T),
    Dense(&'a [T]),
}

/// The loop over two operands, in place of one of them.
struct CombineInPlace<'a, T> {
    out: &'a mut [T],
    other: Other<'a, T>,
    /// Whether `out` holds the left operand.
    left: bool,
}

impl<T: ElementType> BinaryLoop<T, T> for CombineInPlace<'_, T> {
    type Output = ();
    fn run<F: Fn(T, T) -> T>(self, f: F) {
        let out = self.out;
        match (self.other, self.left) {
            (Other::Uniform(b), true) => {
                for x in out {
                    *x = f(*x, b);
                }
            }
            (Other::Uniform(a), false) => {
                for x in out {
                    *x = f(a, *x);
                }
            }
            (Other::Dense(b), true) => {
                for (x, b) in out.iter_mut().zip(b) {
                    *x = f(*x, *b);
                }
            }
            (Other::Dense(a), false) => {
                for (x, a) in out.iter_mut().zip(a) {
                    *x = f(*a, *x);
                }
            }
        }
    }
}

/// Runs a loop in place of the left operand where that is nobody else's and has room for the result; says whether.
#[inline]
fn combine_in_place<T: ElementType>(a: &mut Data<T>, b: &Data<T>, run: impl FnOnce(CombineInPlace<'_, T>)) -> bool {
    let other = match b {
        Data::Uniform(_, x) => Other::Uniform(*x),
        Data::Dense(array) => Other::Dense(array.as_slice()),
    };
    let out = match a {
        Data::Uniform(_, x) if matches!(b, Data::Uniform(..)) => std::slice::from_mut(x),
        Data::Dense(array) if array.is_unique() => array.as_slice_mut(),
        _ => return false,
    };
    run(CombineInPlace { out, other, left: true });
    true
}

/// As [`unary_in_place`], in place of the left of two operands.
pub(crate) fn binary_in_place(op: Binary, a: &mut Array, b: &Array) -> bool {
    match (a, b) {
        (Array::F32(a), Array::F32(b)) => combine_in_place(a, b, |pair| op.run_f32(pair)),
        (Array::F64(a), Array::F64(b)) => combine_in_place(a, b, |pair| op.run_f64(pair)),
        (Array::I32(a), Array::I32(b)) => combine_in_place(a, b, |pair| op.run_i32(pair)),
        (Array::I64(a), Array::I64(b)) => combine_in_place(a, b, |pair| op.run_i64(pair)),
        (Array::Bool(a), Array::Bool(b)) => combine_in_place(a, b, |pair| op.run_bool(pair)),
        _ => unreachable!("operands have one element type"),
    }
}

/// Runs a loop in place of whichever operand is nobody else's, or of a copy.
#[inline]
fn combine<T: ElementType>(a: Data<T>, b: Data<T>, run: impl Fn(CombineInPlace<'_, T>)) -> Result<Array, OutOfMemory> {
    Ok(T::wrap(match (a, b) {
        (Data::Uniform(shape, a), Data::Uniform(_, b)) => {
            let mut one = [a];
            run(CombineInPlace { out: &mut one, other: Other::Uniform(b), left: true });
            Data::Uniform(shape, one[0])
        }
        (Data::Dense(a), Data::Uniform(_, b)) => {
            Data::Dense(a.changed(&mut |out, _| run(CombineInPlace { out, other: Other::Uniform(b), left: true }))?)
        }
        (Data::Uniform(_, a), Data::Dense(b)) => {
            Data::Dense(b.changed(&mut |out, _| run(CombineInPlace { out, other: Other::Uniform(a), left: false }))?)
        }
        (Data::Dense(a), Data::Dense(b)) => {
            // The left operand is copied if both are shared.
            let left = a.is_unique() || !b.is_unique();
            let (own, other) = if left { (a, b) } else { (b, a) };
            Data::Dense(own.changed(&mut |out, start| {
                let other = Other::Dense(&other.as_slice()[start..start + out.len()]);
                run(CombineInPlace { out, other, left });
            })?)
        }
    }))
}

/// An elementwise operation of two operands of one type.
pub(crate) fn binary(op: Binary, a: Array, b: Array) -> Result<Array, OutOfMemory> {
    match (a, b) {
        (Array::F32(a), Array::F32(b)) => combine(a, b, |pair| op.run_f32(pair)),
        (Array::F64(a), Array::F64(b)) => combine(a, b, |pair| op.run_f64(pair)),
        (Array::I32(a), Array::I32(b)) => combine(a, b, |pair| op.run_i32(pair)),
        (Array::I64(a), Array::I64(b)) => combine(a, b, |pair| op.run_i64(pair)),
        (Array::Bool(a), Array::Bool(b)) => combine(a, b, |pair| op.run_bool(pair)),
        _ => unreachable!("operands have one element type"),
    }
}

/// The sum of two arrays of one type; of booleans, or.
pub(crate) fn add(a: Array, b: Array) -> Result<Array, OutOfMemory> {
    match a.dtype() {
        DType::Bool => binary(Binary::Or, a, b),
        _ => binary(Binary::Add, a, b),
    }
}

/// The loop over two operands with a boolean result.
struct ComparisonLoop<'a, T> {
    out: &'a mut [bool],
    left: &'a [T],
    right: Other<'a, T>,
}

impl<T: ElementType> BinaryLoop<T, bool> for ComparisonLoop<'_, T> {
    type Output = ();
    fn run<F: Fn(T, T) -> bool>(self, f: F) {
        match self.right {
            Other::Uniform(b) => {
                for (out, a) in self.out.iter_mut().zip(self.left) {
                    *out = f(*a, b);
                }
            }
            Other::Dense(right) => {
                for (at, out) in self.out.iter_mut().enumerate() {
                    *out = f(self.left[at], right[at]);
                }
            }
        }
    }
}

fn compare_data<T: ElementType>(op: Comparison, a: Data<T>, b: Data<T>) -> Result<Array, OutOfMemory> {
    let shape = Shape::from_slice(a.shape());
    if let (Data::Uniform(_, a), Data::Uniform(_, b)) = (&a, &b) {
        let mut one = [false];
        op.run(ComparisonLoop { out: &mut one, left: &[*a], right: Other::Uniform(*b) });
        return Ok(Array::Bool(Data::Uniform(shape, one[0])));
    }
    let mut out = memory::filled(&shape, false)?;
    match (&a, &b) {
        (Data::Uniform(..), Data::Uniform(..)) => unreachable!("handled above"),
        (Data::Dense(a), Data::Uniform(_, b)) => {
            op.run(ComparisonLoop { out: &mut out, left: a.as_slice(), right: Other::Uniform(*b) });
        }
        // A comparison holds where the mirrored one holds of swapped operands.
        (Data::Uniform(_, a), Data::Dense(b)) => {
            op.mirrored().run(ComparisonLoop { out: &mut out, left: b.as_slice(), right: Other::Uniform(*a) });
        }
        (Data::Dense(a), Data::Dense(b)) => {
            op.run(ComparisonLoop { out: &mut out, left: a.as_slice(), right: Other::Dense(b.as_slice()) });
        }
    }
    Ok(bool::wrap(Data::from_vec(&shape, out)))
}

/// An elementwise comparison of two operands of one type.
pub(crate) fn compare(op: Comparison, a: Array, b: Array) -> Result<Array, OutOfMemory> {
    for_pair!(a, b, (a, b) => compare_data(op, a, b))
}

/// Writes the elements of `other` where the mask has the value `when`.
fn blend<T: ElementType>(out: &mut [T], mask: &[bool], other: &Data<T>, when: bool) {
    match other {
        Data::Uniform(_, x) => {
            out.iter_mut().zip(mask).for_each(|(out, &mask)| *out = if mask == when { *x } else { *out })
        }
        Data::Dense(other) => out
            .iter_mut()
            .zip(mask)
            .zip(other.as_slice())
            .for_each(|((out, &mask), &x)| *out = if mask == when { x } else { *out }),
    }
}

fn select_data<T: ElementType>(mask: &[bool], yes: Data<T>, no: Data<T>) -> Result<Array, OutOfMemory> {
    let shape = Shape::from_slice(yes.shape());
    let yes = match yes {
        Data::Dense(mut array) if array.is_unique() => {
            blend(array.as_slice_mut(), mask, &no, false);
            return Ok(T::wrap(Data::Dense(array)));
        }
        shared => shared,
    };
    let mut out = no.into_vec()?;
    blend(&mut out, mask, &yes, true);
    Ok(T::wrap(Data::from_vec(&shape, out)))
}

/// Where the mask is true the first, else the second.
pub(crate) fn select(mask: Array, yes: Array, no: Array) -> Result<Array, OutOfMemory> {
    let Array::Bool(mask) = mask else { unreachable!("a mask is boolean") };
    match mask {
        Data::Uniform(_, true) => Ok(yes),
        Data::Uniform(_, false) => Ok(no),
        Data::Dense(mask) => for_pair!(yes, no, (yes, no) => select_data(mask.as_slice(), yes, no)),
    }
}

fn cast_data<T: ElementType, U: ElementType>(a: &Data<T>) -> Result<Array, OutOfMemory> {
    Ok(U::wrap(match a {
        Data::Uniform(shape, x) => Data::Uniform(shape.clone(), x.cast()),
        Data::Dense(array) => {
            let elements = array.as_slice().iter().map(|&x| x.cast());
            Data::from_vec(array.shape(), memory::collected(array.shape(), elements)?)
        }
    }))
}

/// Conversion of the element type.
pub(crate) fn cast(a: Array, dtype: DType) -> Result<Array, OutOfMemory> {
    if a.dtype() == dtype {
        return Ok(a);
    }
    for_data!(&a, data => match dtype {
        DType::F32 => cast_data::<_, f32>(data),
        DType::F64 => cast_data::<_, f64>(data),
        DType::I32 => cast_data::<_, i32>(data),
        DType::I64 => cast_data::<_, i64>(data),
        DType::Bool => cast_data::<_, bool>(data),
    })
}
