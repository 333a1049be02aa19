//! Derivatives compared with finite differences.

use super::{ArrayFn, jvp, stage, vjp};
use crate::algebra::Algebra;
use crate::concrete::{self, Concrete};
use crate::error::{Error, Result};
use crate::shape::{DType, Type, Value};
use crate::staged::Staged;
use crate::tensor::{Family, Tree, outline_of};
use std::fmt::Write;

/// How [`check_grad`] looks for mistakes.
#[derive(Clone, Debug)]
pub struct CheckGrad {
    /// How far derivatives may be apart, relative to one plus the magnitude of their terms. `None` is 1e-6, and 1e-2 where
    /// an array is single precision.
    pub tolerance: Option<f64>,
    /// The step of the finite differences. `None` is 1e-3, and 2e-2 where an array is single precision.
    pub step: Option<f64>,
    /// The number of random directions.
    pub directions: usize,
    /// What directions are drawn from: equal seeds give equal directions.
    pub seed: u64,
}

impl Default for CheckGrad {
    fn default() -> Self {
        CheckGrad { tolerance: None, step: None, directions: 3, seed: 0 }
    }
}

/// A tree of family `F` of plain arrays.
type Plain<F> = <F as Family>::At<Concrete>;

/// The ways in which a derivative along a direction is found; the last one is what the others are judged by.
const MODES: [&str; 5] = ["reverse", "forward", "staged reverse", "staged forward", "finite differences"];

/// Up to how many elements of the argument are tried one by one to find where derivatives disagree.
const ELEMENTS: usize = 1000;

/// Checks the derivatives of a function at a point: along random directions, those of reverse and of forward mode, eager
/// and staged, must agree with each other and with five-point finite differences; so must the values, eager and staged.
///
/// It is the test to write for a custom rule. The function should be smooth around the point: where differences of two
/// steps don't agree, that is the error. Only float inputs are moved, and only float results are looked at. Directions are
/// drawn from a seed, so that the answer is always the same.
///
/// # Errors
///
/// That of [`stage`]; else an [`Error::Derivative`] with the input and the element, the derivatives by it of a random sum of
/// the results, and which of them disagree.
///
/// ```
/// use deltaray::prelude::*;
///
/// #[derive(Clone)]
/// struct Square;
/// impl ArrayFn for Square {
///     type In = Vector<Concrete, f64>;
///     type Out = Vector<Concrete, f64>;
///     fn call<A: Algebra>(&self, x: &Vector<A, f64>) -> Vector<A, f64> {
///         x * x
///     }
/// }
///
/// /// Lacks a factor of 2.
/// #[derive(Clone)]
/// struct Wrong;
/// impl ArrayFn for Wrong {
///     type In = (Vector<Concrete, f64>, Vector<Concrete, f64>, Vector<Concrete, f64>);
///     type Out = Vector<Concrete, f64>;
///     fn call<A: Algebra>(&self, (x, _, cotangent): &<Self::In as Family>::At<A>) -> Vector<A, f64> {
///         x * cotangent
///     }
/// }
///
/// let x = Vector::from(vec![1.0, 3.0]);
/// assert!(check_grad(&Square, &x, &CheckGrad::default()).is_ok());
/// let error = check_grad(&CustomVjp(Square, Wrong), &x, &CheckGrad::default()).unwrap_err().to_string();
/// assert!(error.starts_with("check_grad: derivatives by input 0, element [0], disagree"), "{error}");
/// ```
#[track_caller]
pub fn check_grad<F: ArrayFn>(f: &F, at: &Plain<F::In>, options: &CheckGrad) -> Result<()> {
    let staged = stage(|x| f.call::<Staged>(x), at)?;
    let (reverse, forward) = (staged.vjp()?, staged.jvp()?);
    let value: Plain<F::Out> = f.call::<Concrete>(at);
    let values = value.leaves();
    let mut random = Random(options.seed);
    let single = at.types().iter().chain(&value.types()).any(|ty| ty.dtype == DType::F32);
    let tolerance = options.tolerance.unwrap_or(if single { 1e-2 } else { 1e-6 });
    let step = options.step.unwrap_or(if single { 2e-2 } else { 1e-3 });

    let other = staged.call(at)?.leaves();
    if let Some(problem) = differing(&values, &other, tolerance) {
        return Err(Error::Derivative(format!("check_grad: the values, eager and staged, differ: {problem}")));
    }
    let weights: Vec<concrete::Array> = values.iter().map(|array| random.like(array)).collect();
    let cotangent = F::Out::rebuild::<Concrete, Concrete>(&value, &mut weights.iter().cloned());
    let (_, pullback) = vjp(|x| f.call::<<Concrete as Algebra>::Nested>(x), at);
    let pulled = pullback(&cotangent).leaves();
    let staged_pulled = reverse.call((at, &cotangent))?.1.leaves();

    let inputs = at.leaves();
    let tree = |leaves: &[concrete::Array]| F::In::rebuild::<Concrete, Concrete>(at, &mut leaves.iter().cloned());
    let weighted = |leaves: &[concrete::Array]| inner(&weights, leaves);
    let along = |direction: &[concrete::Array]| -> Result<Found> {
        let tangent = tree(direction);
        let pushed = jvp(|x| f.call::<<Concrete as Algebra>::Forward>(x), at, &tangent).1.leaves();
        let staged_pushed = forward.call((at, &tangent))?.1.leaves();
        let (by_reverse, terms) = inner(&pulled, direction);
        let (by_forward, others) = weighted(&pushed);
        let moved = |distance: f64| -> f64 {
            let moved: Vec<concrete::Array> =
                inputs.iter().zip(direction).map(|(input, direction)| shifted(input, direction, distance)).collect();
            weighted(&f.call::<Concrete>(&tree(&moved)).leaves()).0
        };
        let slope = |h: f64| (moved(-2.0 * h) - 8.0 * moved(-h) + 8.0 * moved(h) - moved(2.0 * h)) / (12.0 * h);
        let numbers =
            [by_reverse, by_forward, inner(&staged_pulled, direction).0, weighted(&staged_pushed).0, slope(step)];
        Ok(Found { numbers, coarse: slope(2.0 * step), bound: tolerance * (1.0 + terms.max(others)) })
    };

    for number in 0..options.directions {
        let direction: Vec<concrete::Array> = inputs.iter().map(|array| random.like(array)).collect();
        let found = along(&direction)?;
        if found.agrees() {
            continue;
        }
        let names = outline_of(at).names();
        let (mut place, mut worst) = (format!("along random direction {number} of seed {}", options.seed), found);
        if inputs.iter().filter(|input| input.dtype().is_float()).map(|input| input.size()).sum::<usize>() <= ELEMENTS {
            let mut excess = 1.0;
            for (position, input) in inputs.iter().enumerate().filter(|(_, input)| input.dtype().is_float()) {
                for element in 0..input.size() {
                    let mut direction: Vec<concrete::Array> = inputs.iter().map(zeros_like).collect();
                    direction[position] = unit(input, element);
                    let found = along(&direction)?;
                    if found.excess() > excess || found.excess().is_nan() {
                        excess = found.excess();
                        place = format!("by {}, element {:?},", named(position, &names), index(element, input.shape()));
                        worst = found;
                    }
                }
            }
        }
        return Err(Error::Derivative(worst.report(&place)));
    }
    Ok(())
}

/// A derivative along a direction, by each of the modes.
struct Found {
    numbers: [f64; 5],
    /// The finite differences with a step twice as large.
    coarse: f64,
    /// How far apart derivatives may be.
    bound: f64,
}

impl Found {
    /// The largest distance between two of the numbers, in units of what is allowed.
    fn excess(&self) -> f64 {
        let expected = self.numbers[4];
        let distances = self.numbers.iter().chain([&self.coarse]).map(|number| (number - expected).abs() / self.bound);
        distances.fold(0.0, |largest: f64, distance| if distance.is_nan() { f64::NAN } else { largest.max(distance) })
    }

    fn agrees(&self) -> bool {
        self.excess() <= 1.0
    }

    fn report(&self, place: &str) -> String {
        let expected = self.numbers[4];
        let mut text = format!("check_grad: derivatives {place} disagree:");
        for (position, (mode, number)) in MODES.iter().zip(self.numbers).enumerate() {
            let separator = if position == 0 { "" } else { "," };
            write!(text, "{separator} {mode} {number:?}").expect("a string takes all text");
        }
        let apart = |number: f64| (number - expected).abs() > self.bound || number.is_nan();
        let wrong: Vec<&str> =
            MODES[..4].iter().zip(self.numbers).filter(|&(_, number)| apart(number)).map(|(&mode, _)| mode).collect();
        let verdict = if apart(self.coarse) {
            format!(
                "with a step twice as large the differences are {:?}, so the function is not smooth there, or the step not \
                 right",
                self.coarse
            )
        } else {
            format!("{} differ from the finite differences by more than {:e}", wrong.join(", "), self.bound)
        };
        write!(text, "; {verdict}").expect("a string takes all text");
        text
    }
}

/// Numbers between −1 and 1 from a seed (the generator splitmix64).
struct Random(u64);

impl Random {
    fn number(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        (bits >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    /// An array of such numbers; zeros for integers and booleans.
    fn like(&mut self, array: &concrete::Array) -> concrete::Array {
        floats(&array.ty(), &mut |_| self.number())
    }
}

/// An array whose elements are given by position; zeros for integers and booleans.
fn floats(ty: &Type, element: &mut dyn FnMut(usize) -> f64) -> concrete::Array {
    let elements = 0..ty.size();
    match ty.dtype {
        DType::F64 => concrete::Array::from_vec(&ty.shape, elements.map(element).collect::<Vec<f64>>()),
        DType::F32 => concrete::Array::from_vec(&ty.shape, elements.map(|at| element(at) as f32).collect::<Vec<f32>>()),
        dtype => concrete::Array::full(&ty.shape, Value::from_i64(dtype, 0)),
    }
}

fn zeros_like(array: &concrete::Array) -> concrete::Array {
    floats(&array.ty(), &mut |_| 0.0)
}

/// Moves an array along a direction; integers and booleans stay.
fn shifted(array: &concrete::Array, direction: &concrete::Array, distance: f64) -> concrete::Array {
    if !array.dtype().is_float() {
        return array.clone();
    }
    floats(&array.ty(), &mut |at| array.element(at).to_f64() + distance * direction.element(at).to_f64())
}

/// The array that is 1 at one position, and 0 elsewhere.
fn unit(array: &concrete::Array, position: usize) -> concrete::Array {
    floats(&array.ty(), &mut |at| f64::from(u8::from(at == position)))
}

/// The inner product of floats, and the sum of the magnitudes of its terms.
fn inner(left: &[concrete::Array], right: &[concrete::Array]) -> (f64, f64) {
    let mut sums = (0.0, 0.0);
    for (a, b) in left.iter().zip(right).filter(|(a, _)| a.dtype().is_float()) {
        for at in 0..a.size() {
            let product = a.element(at).to_f64() * b.element(at).to_f64();
            sums.0 += product;
            sums.1 += product.abs();
        }
    }
    sums
}

/// The first place where values differ.
fn differing(left: &[concrete::Array], right: &[concrete::Array], tolerance: f64) -> Option<String> {
    for (position, (a, b)) in left.iter().zip(right).enumerate() {
        for at in 0..a.size() {
            let (x, y) = (a.element(at).to_f64(), b.element(at).to_f64());
            let close = x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= tolerance * (1.0 + x.abs());
            if !close {
                return Some(format!("result {position}, element {:?}, is {x:?} and {y:?}", index(at, a.shape())));
            }
        }
    }
    None
}

/// An input by its position, and its name, if it has one.
fn named(position: usize, names: &[String]) -> String {
    match names.get(position).map(String::as_str) {
        None | Some("") => format!("input {position}"),
        Some(name) => format!("input {position} (`{name}`)"),
    }
}

/// The position along each axis of an element in row-major order.
fn index(mut element: usize, shape: &[usize]) -> Vec<usize> {
    let mut index: Vec<usize> = shape.iter().rev().map(|&extent| (element % extent, element /= extent).0).collect();
    index.reverse();
    index
}
