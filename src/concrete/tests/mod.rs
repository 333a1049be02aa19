//! The operations against references that go element by element.

mod programs;
mod structure;
mod values;

use super::*;
use crate::algebra::Algebra;
use crate::array::for_data;
use crate::shape::{DType, Shape, Type, Value, size, strides};

/// A small generator of pseudo-random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) % n as u64) as usize
    }

    fn shape(&mut self, rank: usize) -> Shape {
        (0..rank).map(|_| [1, 2, 3, 5, 4, 0, 2, 3][self.below(8)]).collect()
    }

    /// An array whose elements are small whole numbers, so that sums are exact; sometimes uniform.
    fn array(&mut self, dtype: DType, shape: &[usize]) -> Array {
        if self.below(4) == 0 {
            return Array::full(shape, Value::from_i64(dtype, self.below(5) as i64 - 2));
        }
        let numbers: Vec<i64> = (0..size(shape)).map(|_| self.below(9) as i64 - 4).collect();
        Concrete::cast(Array::from_vec(shape, numbers), dtype)
    }
}

const DTYPES: [DType; 5] = [DType::F32, DType::F64, DType::I32, DType::I64, DType::Bool];

/// All positions of a shape, row-major.
fn positions(shape: &[usize]) -> Vec<Shape> {
    (0..size(shape)).map(|at| strides(shape).iter().zip(shape).map(|(&s, &n)| at / s % n).collect()).collect()
}

fn flat(shape: &[usize], at: &[usize]) -> usize {
    strides(shape).iter().zip(at).map(|(s, i)| s * i).sum()
}

fn numbers(a: &Array) -> Vec<f64> {
    (0..a.size()).map(|at| a.element(at).to_f64()).collect()
}

fn read(a: &Array, at: Option<&[usize]>) -> f64 {
    at.map_or(0.0, |at| a.element(flat(a.shape(), at)).to_f64())
}

/// The elements of `expected` as the type holds them: truth values are 0 or 1.
fn assert_elements(a: &Array, expected: &[f64]) {
    let held: Vec<f64> = expected.iter().map(|&x| Value::from_f64(a.dtype(), x).to_f64()).collect();
    assert_eq!(numbers(a), held, "{a:?}");
    for_data!(a, data => assert!(data.is_valid()));
}

/// The inner product; of booleans it says whether any two meet.
fn inner(a: &Array, b: &Array) -> f64 {
    let sum: f64 = numbers(a).iter().zip(numbers(b)).map(|(a, b)| a * b).sum();
    if a.dtype() == DType::Bool { f64::from(sum > 0.0) } else { sum }
}
