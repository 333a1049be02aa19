//! Derivatives compared with finite differences.

mod differences;

use super::{ArrayFn, jvp, stage, vjp};
use crate::algebra::Algebra;
use crate::array;
use crate::concrete::Concrete;
use crate::error::{Error, Result};
use crate::shape::DType;
use crate::staged::Staged;
use crate::tensor::{Family, Tree, outline_of};
use differences::{Differences, NotFinite, Sampler, apart, elements, floats, groups, inner, scales};
use std::fmt::Write;
use std::panic::Location;

/// How [`check_grad`] looks for mistakes.
///
/// It moves each element of the argument relative to its magnitude, and derivatives are by such relative movements: of an
/// element `x` they are `x ∂f/∂x`, in the units of the results. An element that is 0, or less than the rounding of the largest
/// of its array, is moved as that one is, but as 1 at most; in an array of zeros as 1.
#[derive(Clone, Debug)]
pub struct CheckGrad {
    /// How far derivatives may be apart, relative to the magnitude of their terms. `None` is 1e-6, and 1e-2 where an array is
    /// single precision. An allowance for rounding of the differences is added: 32 units in the last place of each element of
    /// the results, or more where they are seen to be noisy, divided by the step.
    pub tolerance: Option<f64>,
    /// The step of the finite differences, relative to the magnitude of each element. `None` is 1e-3, and 2e-2 where an array
    /// is single precision. Where the function is not smooth or not finite within four such steps, steps are made smaller, by
    /// factors of 10, as long as rounding stays far below the derivative. Where rounding is not far below, and the function
    /// is smooth, they are made larger, up to 0.2.
    pub step: Option<f64>,
    /// The number of random directions, at least 1. Where magnitudes differ by more than 1000, elements of like magnitude have
    /// so many directions of their own.
    pub directions: usize,
    /// The seed of the random directions.
    pub seed: u64,
}

impl Default for CheckGrad {
    fn default() -> Self {
        CheckGrad { tolerance: None, step: None, directions: 3, seed: 0 }
    }
}

impl CheckGrad {
    /// Checks that the options ask for a check, with usable numbers.
    fn valid(&self) -> Result<()> {
        let wrong = |option: &str, value: f64| {
            let problem = format!("check_grad: the {option} {value:?} is not a positive finite number");
            Err(Error::Derivative(problem))
        };
        let good = |value: f64| value.is_finite() && value > 0.0;
        match self {
            CheckGrad { directions: 0, .. } => {
                Err(Error::Derivative("check_grad: 0 directions check nothing, at least 1 is needed".into()))
            }
            &CheckGrad { step: Some(step), .. } if !good(step) => wrong("step", step),
            &CheckGrad { tolerance: Some(tolerance), .. } if !good(tolerance) => wrong("tolerance", tolerance),
            _ => Ok(()),
        }
    }
}

/// A tree of family `F` of plain arrays.
type PlainTree<F> = <F as Family>::At<Concrete>;

/// The ways in which a derivative along a direction is found; the others are judged by the last one.
const MODES: [&str; 5] = ["reverse", "forward", "staged reverse", "staged forward", "finite differences"];

/// Up to how many elements of the argument are tried one by one to find where derivatives disagree.
const ELEMENTS: usize = 1000;

/// How many steps are tried, each a tenth of the one before.
const STEPS: usize = 16;

/// The largest step that is tried where rounding is too large with the usual ones: four of them stay below an element's
/// magnitude.
const LARGEST_STEP: f64 = 0.2;

/// Checks the derivatives of a function at a point. Along random directions, reverse and forward mode, eager and staged, must
/// agree with each other and with five-point finite differences; so must the values, eager and staged.
///
/// It is the test to write for a custom rule. The function must be smooth and finite around the point, if only for steps that
/// are small beside an element's magnitude. It is an error if the differences of no step show this, and if rounding is so large
/// with all steps that the differences could not tell a wrong derivative from the right one. Only float inputs are moved, and
/// only float results are looked at. Directions are drawn from a seed, so that the answer is always the same.
///
/// # Errors
///
/// The error of [`stage`]. Otherwise an [`Error::Derivative`] that names an option with an unusable number; or the input and
/// element, the derivatives by it of a random sum of the results, and those that disagree; or the element of a result that is
/// not finite, and the point.
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
/// assert!(error.starts_with("check_grad: derivatives by input 0, element ["), "{error}");
/// ```
#[track_caller]
pub fn check_grad<F: ArrayFn>(f: F, at: &PlainTree<F::In>, options: &CheckGrad) -> Result<()> {
    let place = Location::caller();
    options.valid()?;
    let staged = stage(|x| f.call::<Staged>(x), at).map_err(|error| placed(error, place))?;
    let (reverse, forward) = (staged.vjp()?, staged.jvp()?);
    let value: PlainTree<F::Out> = f.call::<Concrete>(at);
    let values = value.leaves();
    let mut random = SplitMix64(options.seed);
    let single = at.types().iter().chain(&value.types()).any(|ty| ty.dtype == DType::F32);
    let tolerance = options.tolerance.unwrap_or(if single { 1e-2 } else { 1e-6 });
    let largest_step = options.step.unwrap_or(if single { 2e-2 } else { 1e-3 });

    let other = staged.call(at)?.leaves();
    if let Some(problem) = differing(&values, &other, tolerance) {
        return Err(Error::Derivative(format!("check_grad: the values, eager and staged, differ: {problem}")));
    }
    let weights: Vec<array::Array> = values.iter().map(|array| random.like(array)).collect();
    let cotangent = F::Out::rebuild::<Concrete, Concrete>(&value, &mut weights.iter().cloned());
    let (_, pullback) = vjp(|x| f.call::<<Concrete as Algebra>::Nested>(x), at);
    let pulled = pullback(&cotangent).leaves();
    let staged_pulled = reverse.call((at, &cotangent))?.1.leaves();

    let inputs = at.leaves();
    let tree = |leaves: &[array::Array]| F::In::rebuild::<Concrete, Concrete>(at, &mut leaves.iter().cloned());
    let weighted = |leaves: &[array::Array]| inner(&weights, leaves);
    let sampler = Sampler {
        run: &|leaves| f.call::<Concrete>(&tree(leaves)).leaves(),
        inputs: &inputs,
        values: &values,
        weights: &weights,
        epsilon: if single { DType::F32 } else { DType::F64 }.epsilon(),
    };
    let along = |direction: &[array::Array]| -> Result<Outcome> {
        let tangent = tree(direction);
        let pushed = jvp(|x| f.call::<<Concrete as Algebra>::Forward>(x), at, &tangent).1.leaves();
        let staged_pushed = forward.call((at, &tangent))?.1.leaves();
        let (by_reverse, terms) = inner(&pulled, direction);
        let (by_forward, others) = weighted(&pushed);
        let modes = [by_reverse, by_forward, inner(&staged_pulled, direction).0, weighted(&staged_pushed).0];
        let terms = terms.max(others);
        let has_tangent = |result: usize, element: usize| {
            [&pushed, &staged_pushed].iter().any(|tangents| tangents[result].element(element).to_f64() != 0.0)
        };
        let infinite = |&(result, element): &(usize, usize)| {
            !values[result].element(element).to_f64().is_finite() && has_tangent(result, element)
        };
        if let Some((result, element)) = elements(&values).find(infinite) {
            let value = values[result].element(element).to_f64();
            return Ok(Outcome::NotFinite(NotFinite { result, element, value, steps: 0, step: largest_step }));
        }
        // Where the modes find a derivative of 0, the derivative by differences may vanish with the step, as for a power at 0.
        // It is then judged relative to its value with larger steps.
        let mut vanishing = 0.0_f64;
        let judged = |differences: Differences, vanishing: f64| {
            let weight = if differences.weight > 0.0 { differences.weight } else { sampler.weight() };
            let unit = sampler.unit(weight);
            let zero = terms <= unit;
            let rounding = if differences.weight > 0.0 { differences.rounding } else { unit };
            let magnitude = terms.max(differences.terms);
            let wanted = tolerance * if zero { magnitude.max(vanishing) } else { magnitude };
            let bound = wanted + rounding;
            let curved = bound + 16.0 * tolerance * differences.steepness;
            DirectionalDerivatives {
                modes,
                differences,
                bound,
                curved,
                apart: tolerance * terms + unit,
                rounding,
                magnitude,
                zero,
            }
        };
        // A function that turns often between two points may look smooth by chance, but not with two steps alike.
        let (mut step, mut problem, mut before) = (largest_step, None, None);
        let mut last: Option<DirectionalDerivatives> = None;
        for _ in 0..STEPS {
            match sampler.differences(direction, &has_tangent, step) {
                Err(not_finite) => problem = Some(not_finite),
                Ok(differences) => {
                    let found = judged(differences, vanishing);
                    vanishing = vanishing.max(found.differences.steepness);
                    let precise = found.rounding <= found.magnitude.max(if found.zero { vanishing } else { 0.0 }) / 1e3;
                    // Smaller steps say less from here on: only that the function is not smooth, where derivatives disagree.
                    let worse = |last: &DirectionalDerivatives| !precise && found.rounding >= last.rounding;
                    let worsens = last.as_ref().is_some_and(worse);
                    let enough =
                        |last: &DirectionalDerivatives| last.smooth() && (last.excess() <= 1.0 || found.smooth());
                    if worsens && last.as_ref().is_some_and(enough) {
                        break;
                    }
                    let slope = found.smooth().then_some(found.differences.slope);
                    let alike = before.zip(slope).is_some_and(|(before, slope)| !apart(before, slope, found.bound));
                    before = slope;
                    let agrees = precise && found.excess() <= 1.0;
                    let done = agrees || worsens || (alike && !found.zero);
                    last = Some(found);
                    if done {
                        break;
                    }
                }
            }
            step /= 10.0;
        }
        let Some(mut found) = last else {
            return Ok(Outcome::NotFinite(problem.expect("one step at least is tried")));
        };
        while found.excess() <= 1.0 && found.rounding > found.magnitude / 100.0 {
            let step = 10.0 * found.differences.step;
            let larger = (step <= LARGEST_STEP).then(|| sampler.differences(direction, &has_tangent, step));
            match larger {
                Some(Ok(differences)) => {
                    let larger = judged(differences, 0.0);
                    if !larger.smooth() {
                        break;
                    }
                    found = larger;
                }
                _ => break,
            }
        }
        let undecided = !found.zero && found.excess() <= 1.0 && found.rounding > found.magnitude / 4.0;
        Ok(if undecided { Outcome::Undecided(found) } else { Outcome::Found(found) })
    };

    let names = outline_of(at).names();
    let scales: Vec<Vec<f64>> =
        inputs.iter().map(|input| if input.dtype().is_float() { scales(input) } else { Vec::new() }).collect();
    for group in groups(&scales) {
        for number in 0..options.directions {
            let mut direction = Vec::new();
            for (input, (scales, members)) in inputs.iter().zip(scales.iter().zip(&group)) {
                let mut element = |at: usize| if members[at] { scales[at] * random.number() } else { 0.0 };
                direction.push(floats(&input.ty(), &mut element));
            }
            let mut worst = along(&direction)?;
            if worst.excess() <= 1.0 {
                continue;
            }
            let mut place = format!("along random direction {number} of seed {}", options.seed);
            let (mut excess, mut unit) = (1.0, None);
            let candidates = if scales.iter().map(Vec::len).sum::<usize>() <= ELEMENTS { &scales[..] } else { &[] };
            for (position, scales) in candidates.iter().enumerate() {
                for (element, &scale) in scales.iter().enumerate() {
                    let mut direction: Vec<array::Array> = inputs.iter().map(zeros_like).collect();
                    let moved = |at: usize| if at == element { scale } else { 0.0 };
                    direction[position] = floats(&inputs[position].ty(), &mut { moved });
                    let found = along(&direction)?;
                    if found.excess() > excess {
                        excess = found.excess();
                        let input = &inputs[position];
                        place = format!("{}, element {:?},", named(position, &names), index(element, input.shape()));
                        (worst, unit) = (found, Some((input.element(element).to_f64(), scale)));
                    }
                }
            }
            return Err(Error::Derivative(match worst {
                Outcome::Found(found) => found.report(&place, unit.map(|(_, scale)| scale)),
                Outcome::Undecided(found) => found.undecided(&place, unit.map(|(_, scale)| scale)),
                Outcome::NotFinite(problem) => not_finite(&problem, &values, &place, unit),
            }));
        }
    }
    Ok(())
}

/// The error at the caller's line, where it is at one of this file.
fn placed(error: Error, caller: &Location<'_>) -> Error {
    match error {
        Error::Operands { operation, problem, place } if place.starts_with(file!()) => {
            Error::Operands { operation, problem, place: caller.to_string() }
        }
        other => other,
    }
}

/// The result of the check along a direction.
enum Outcome {
    Found(DirectionalDerivatives),
    /// Nothing disagrees, but the rounding of the differences would hide it.
    Undecided(DirectionalDerivatives),
    NotFinite(NotFinite),
}

impl Outcome {
    /// The largest distance between two derivatives, in units of the tolerance; slightly more than 1 where it is unknown.
    fn excess(&self) -> f64 {
        match self {
            Outcome::Found(found) => found.excess(),
            Outcome::Undecided(_) => 1.0 + f64::EPSILON,
            Outcome::NotFinite(_) => f64::INFINITY,
        }
    }
}

/// A derivative along a direction, by each of the modes.
struct DirectionalDerivatives {
    modes: [f64; 4],
    differences: Differences,
    /// How far derivatives may be apart from the differences.
    bound: f64,
    /// How far those of the two sides may be apart in the limit of small steps.
    curved: f64,
    /// How far the derivatives of the modes may be apart from each other.
    apart: f64,
    /// How large the rounding of the differences may be.
    rounding: f64,
    /// The magnitude of the derivative: of its terms, by the modes and by the differences.
    magnitude: f64,
    /// Whether the modes find no derivative but rounding.
    zero: bool,
}

impl DirectionalDerivatives {
    /// Whether the function looks smooth.
    fn smooth(&self) -> bool {
        !self.differences.disagrees(self.bound) && !self.differences.bends(self.curved)
    }

    /// The largest distance between the derivatives of two modes.
    fn dissent(&self) -> f64 {
        let distances = self.modes.iter().flat_map(|a| self.modes.iter().map(move |b| (a - b).abs()));
        distances.fold(0.0, |largest: f64, distance| if distance.is_nan() { f64::NAN } else { largest.max(distance) })
    }

    /// The largest distance to the finite differences, or between two modes, in units of the tolerance; the largest number
    /// where one is not a number.
    fn excess(&self) -> f64 {
        let Differences { slope, coarse, bend, .. } = self.differences;
        let others = self.modes.iter().chain([&coarse]).map(|number| (number - slope, self.bound));
        let distances = others.chain([(bend, self.curved), (self.dissent(), self.apart)]);
        let relative = |(distance, bound): (f64, f64)| if distance == 0.0 { 0.0 } else { distance.abs() / bound };
        let worst = |largest: f64, distance: f64| if distance.is_nan() { f64::MAX } else { largest.max(distance) };
        distances.map(relative).fold(0.0, worst)
    }

    /// The error that the differences cannot tell whether the derivative is right.
    fn undecided(&self, place: &str, unit: Option<f64>) -> String {
        let by = if unit.is_some() { "by " } else { "" };
        let (rounding, magnitude) = (self.rounding / unit.unwrap_or(1.0), self.magnitude / unit.unwrap_or(1.0));
        format!(
            "check_grad: derivatives {by}{place} cannot be decided by finite differences at this point: their rounding may be \
             {rounding:e}, but the derivative is {magnitude:e}; check at another point, or with results that are smaller \
             beside their derivatives"
        )
    }

    /// Describes the disagreement: in units of the result, or of the derivative by an element that moves by a number.
    fn report(&self, place: &str, unit: Option<f64>) -> String {
        let Differences { step, slope, coarse, sides, .. } = self.differences;
        let scale = unit.unwrap_or(1.0);
        let by = if unit.is_some() { "by " } else { "" };
        let mut text = format!("check_grad: derivatives {by}{place} disagree:");
        for (position, (mode, number)) in MODES.iter().zip(self.modes.into_iter().chain([slope])).enumerate() {
            let separator = if position == 0 { "" } else { "," };
            write!(text, "{separator} {mode} {:?}", number / scale).expect("a string takes all text");
        }
        let wrong: Vec<&str> = MODES
            .iter()
            .zip(self.modes)
            .filter(|&(_, number)| apart(number, slope, self.bound))
            .map(|(&mode, _)| mode)
            .collect();
        let infinite: Vec<&str> = MODES
            .iter()
            .zip(self.modes.iter().chain([&slope]))
            .filter(|(_, n)| !n.is_finite())
            .map(|(&m, _)| m)
            .collect();
        let rough = "so the function is not smooth there";
        let verdict = if let [.., last] = infinite[..] {
            let verb = if infinite.len() == 1 && last != MODES[4] { "is" } else { "are" };
            format!("{} {verb} not finite", infinite.join(", "))
        } else if self.differences.bends(self.curved) {
            let [left, right] = sides.map(|side| side / scale);
            format!(
                "to the left and to the right the differences are {left:?} and {right:?}, down to steps of {step:e}, {rough}"
            )
        } else if self.differences.disagrees(self.bound) {
            let coarse = coarse / scale;
            format!("with a step twice as large the differences are {coarse:?}, down to steps of {step:e}, {rough}")
        } else if wrong.is_empty() {
            let bound = self.apart / scale;
            format!("{} differ from each other by more than {bound:e}", MODES[..4].join(", "))
        } else {
            let bound = self.bound / scale;
            format!("{} differ from the finite differences by more than {bound:e}", wrong.join(", "))
        };
        write!(text, "; {verdict}").expect("a string takes all text");
        text
    }
}

/// A result that is not finite: where one input's element, of this value, moves by its scale, or many do.
fn not_finite(problem: &NotFinite, values: &[array::Array], place: &str, moved: Option<(f64, f64)>) -> String {
    let &NotFinite { result, element, value, steps, step } = problem;
    let element = index(element, values[result].shape());
    let what = format!("check_grad: result {result}, element {element:?}, is not finite, but {value:?}, at");
    let count = steps.unsigned_abs();
    let count = format!("{count} step{} of", if count == 1 { "" } else { "s" });
    match moved {
        _ if steps == 0 => format!("{what} the point"),
        Some((at, scale)) => {
            let (there, step) = (at + f64::from(steps) * step * scale, step * scale);
            format!("{what} {there:?} of {place} which is {count} {step:e} from the point")
        }
        None => format!("{what} a point {place}, which is {count} {step:e} from the point"),
    }
}

/// Numbers between −1 and 1 from a seed (the generator splitmix64).
struct SplitMix64(u64);

impl SplitMix64 {
    fn number(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        (bits >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    /// An array of such numbers; zeros for integers and booleans.
    fn like(&mut self, array: &array::Array) -> array::Array {
        floats(&array.ty(), &mut |_| self.number())
    }
}

fn zeros_like(array: &array::Array) -> array::Array {
    floats(&array.ty(), &mut |_| 0.0)
}

/// The first place where values differ.
fn differing(left: &[array::Array], right: &[array::Array], tolerance: f64) -> Option<String> {
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
