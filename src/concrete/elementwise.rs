//! Elementwise operations: one compiled loop for each, in place where a buffer is nobody else's.

use crate::concrete::scalar::{Arithmetic, Scalar, slice_of, unique};
use crate::concrete::{Array, Data, for_data, for_pair};
use crate::operation::{Binary, BinaryLoop, Comparison, Unary, UnaryLoop};
use crate::shape::{DType, Shape};

/// The loop over one operand.
struct Map<T>(Data<T>);

impl<T: Scalar> UnaryLoop<T> for Map<T> {
    type Output = Array;
    fn run<F: Fn(T) -> T>(self, f: F) -> Array {
        T::wrap(match self.0 {
            Data::Uniform(shape, x) => Data::Uniform(shape, f(x)),
            Data::Dense(array) => {
                let shape = Shape::from_slice(array.shape());
                let elements = match unique(array) {
                    Ok(mut elements) => {
                        elements.iter_mut().for_each(|x| *x = f(*x));
                        elements
                    }
                    Err(array) => slice_of(&array).iter().map(|&x| f(x)).collect(),
                };
                Data::from_vec(&shape, elements)
            }
        })
    }
}

/// An elementwise operation of one operand.
pub(super) fn unary(op: Unary, a: Array) -> Array {
    // Small powers are products, which vectorise; the results are those of `powi` to the bit.
    match (op, a) {
        (Unary::Powi(2), Array::F32(a)) => Map(a).run(|x| x * x),
        (Unary::Powi(2), Array::F64(a)) => Map(a).run(|x| x * x),
        (Unary::Powi(3), Array::F32(a)) => Map(a).run(|x| x * (x * x)),
        (Unary::Powi(3), Array::F64(a)) => Map(a).run(|x| x * (x * x)),
        (_, Array::F32(a)) => op.run_f32(Map(a)),
        (_, Array::F64(a)) => op.run_f64(Map(a)),
        (_, Array::I32(a)) => op.run_i32(Map(a)),
        (_, Array::I64(a)) => op.run_i64(Map(a)),
        (_, Array::Bool(a)) => op.run_bool(Map(a)),
    }
}

/// The loop over two operands with a result of their type.
struct Combine<T>(Data<T>, Data<T>);

impl<T: Scalar> BinaryLoop<T, T> for Combine<T> {
    type Output = Array;
    fn run<F: Fn(T, T) -> T>(self, f: F) -> Array {
        let Combine(a, b) = self;
        let (a, b) = match (a, b) {
            (Data::Uniform(shape, a), Data::Uniform(_, b)) => return T::wrap(Data::Uniform(shape, f(a, b))),
            (Data::Dense(a), Data::Uniform(_, b)) => return Map(Data::Dense(a)).run(|a| f(a, b)),
            (Data::Uniform(_, a), Data::Dense(b)) => return Map(Data::Dense(b)).run(|b| f(a, b)),
            (Data::Dense(a), Data::Dense(b)) => (a, b),
        };
        let shape = Shape::from_slice(a.shape());
        let elements = match unique(a) {
            Ok(mut left) => {
                left.iter_mut().zip(slice_of(&b)).for_each(|(a, &b)| *a = f(*a, b));
                left
            }
            Err(a) => match unique(b) {
                Ok(mut right) => {
                    right.iter_mut().zip(slice_of(&a)).for_each(|(b, &a)| *b = f(a, *b));
                    right
                }
                Err(b) => slice_of(&a).iter().zip(slice_of(&b)).map(|(&a, &b)| f(a, b)).collect(),
            },
        };
        T::wrap(Data::from_vec(&shape, elements))
    }
}

/// An elementwise operation of two operands of one type.
pub(super) fn binary(op: Binary, a: Array, b: Array) -> Array {
    match (a, b) {
        (Array::F32(a), Array::F32(b)) => op.run_f32(Combine(a, b)),
        (Array::F64(a), Array::F64(b)) => op.run_f64(Combine(a, b)),
        (Array::I32(a), Array::I32(b)) => op.run_i32(Combine(a, b)),
        (Array::I64(a), Array::I64(b)) => op.run_i64(Combine(a, b)),
        (Array::Bool(a), Array::Bool(b)) => op.run_bool(Combine(a, b)),
        _ => unreachable!("operands have one element type"),
    }
}

/// The sum of two arrays of one type; of booleans, or.
pub(super) fn add(a: Array, b: Array) -> Array {
    for_pair!(a, b, (a, b) => Combine(a, b).run(Arithmetic::plus))
}

/// The loop over two operands with a boolean result.
struct Compare<T>(Data<T>, Data<T>);

impl<T: Scalar> BinaryLoop<T, bool> for Compare<T> {
    type Output = Array;
    fn run<F: Fn(T, T) -> bool>(self, f: F) -> Array {
        let Compare(a, b) = self;
        let shape = Shape::from_slice(a.shape());
        let elements = match (&a, &b) {
            (Data::Uniform(_, a), Data::Uniform(_, b)) => return Array::Bool(Data::Uniform(shape, f(*a, *b))),
            (Data::Dense(a), Data::Uniform(_, b)) => slice_of(a).iter().map(|&a| f(a, *b)).collect(),
            (Data::Uniform(_, a), Data::Dense(b)) => slice_of(b).iter().map(|&b| f(*a, b)).collect(),
            (Data::Dense(a), Data::Dense(b)) => slice_of(a).iter().zip(slice_of(b)).map(|(&a, &b)| f(a, b)).collect(),
        };
        bool::wrap(Data::from_vec(&shape, elements))
    }
}

/// An elementwise comparison of two operands of one type.
pub(super) fn compare(op: Comparison, a: Array, b: Array) -> Array {
    for_pair!(a, b, (a, b) => op.run(Compare(a, b)))
}

/// Writes the elements of `other` where the mask has the value `when`.
fn blend<T: Scalar>(out: &mut [T], mask: &[bool], other: &Data<T>, when: bool) {
    match other {
        Data::Uniform(_, x) => {
            out.iter_mut().zip(mask).for_each(|(out, &mask)| *out = if mask == when { *x } else { *out })
        }
        Data::Dense(other) => out
            .iter_mut()
            .zip(mask)
            .zip(slice_of(other))
            .for_each(|((out, &mask), &x)| *out = if mask == when { x } else { *out }),
    }
}

fn select_data<T: Scalar>(mask: &[bool], yes: Data<T>, no: Data<T>) -> Array {
    let shape = Shape::from_slice(yes.shape());
    let yes = match yes {
        Data::Dense(array) => match unique(array) {
            Ok(mut out) => {
                blend(&mut out, mask, &no, false);
                return T::wrap(Data::from_vec(&shape, out));
            }
            Err(array) => Data::Dense(array),
        },
        uniform => uniform,
    };
    let mut out = no.into_vec();
    blend(&mut out, mask, &yes, true);
    T::wrap(Data::from_vec(&shape, out))
}

/// Where the mask is true the first, else the second.
pub(super) fn select(mask: Array, yes: Array, no: Array) -> Array {
    let Array::Bool(mask) = mask else { unreachable!("a mask is boolean") };
    match mask {
        Data::Uniform(_, true) => yes,
        Data::Uniform(_, false) => no,
        Data::Dense(mask) => for_pair!(yes, no, (yes, no) => select_data(slice_of(&mask), yes, no)),
    }
}

fn cast_data<T: Scalar, U: Scalar>(a: &Data<T>) -> Array {
    U::wrap(match a {
        Data::Uniform(shape, x) => Data::Uniform(shape.clone(), x.cast()),
        Data::Dense(array) => Data::from_vec(array.shape(), slice_of(array).iter().map(|&x| x.cast()).collect()),
    })
}

/// Conversion of the element type.
pub(super) fn cast(a: Array, dtype: DType) -> Array {
    if a.dtype() == dtype {
        return a;
    }
    for_data!(&a, data => match dtype {
        DType::F32 => cast_data::<_, f32>(data),
        DType::F64 => cast_data::<_, f64>(data),
        DType::I32 => cast_data::<_, i32>(data),
        DType::I64 => cast_data::<_, i64>(data),
        DType::Bool => cast_data::<_, bool>(data),
    })
}
