//! Finite differences along a direction, and how far their rounding may take them.

use crate::array::Array;
use crate::shape::{DType, Type, Value, rank_of_float, sort_by_rank};

/// How many units in the last place the rounding of a sum of sampled values is taken to be, relative to the largest.
const ROUNDING: f64 = 32.0;

/// The steps at which a function is sampled.
const SAMPLES: [i8; 6] = [-4, -2, -1, 1, 2, 4];

/// Finite differences of a function along a direction, with one step.
pub(super) struct Differences {
    /// The step, in units of the direction.
    pub(super) step: f64,
    /// The derivative, by differences of five points, and the same with a step twice as large.
    pub(super) slope: f64,
    pub(super) coarse: f64,
    /// The derivatives to the left and to the right, by differences of two points.
    pub(super) sides: [f64; 2],
    /// By how much the derivatives on the two sides differ in the limit of small steps.
    pub(super) bend: f64,
    /// The sum of the magnitudes of the terms of the derivative, one for each element.
    pub(super) terms: f64,
    /// The same for the derivatives to the left and to the right, whichever is larger.
    pub(super) steepness: f64,
    /// The sum of the magnitudes of the weights of the elements that have a part in it.
    pub(super) weight: f64,
    /// How large the rounding of the derivatives may be.
    pub(super) rounding: f64,
}

impl Differences {
    /// Whether a step twice as large gives another derivative.
    pub(super) fn disagrees(&self, bound: f64) -> bool {
        apart(self.coarse, self.slope, bound)
    }

    /// Whether the derivatives to the left and to the right differ.
    pub(super) fn bends(&self, bound: f64) -> bool {
        apart(self.bend, 0.0, bound)
    }
}

/// Whether two numbers are farther apart than a bound, or one is none.
pub(super) fn apart(a: f64, b: f64, bound: f64) -> bool {
    let distance = (a - b).abs();
    distance.is_nan() || distance > bound
}

/// An element of a result that is not finite at a point near the one that is looked at.
pub(super) struct NotFinite {
    pub(super) result: usize,
    pub(super) element: usize,
    pub(super) value: f64,
    /// The number of steps from the point; 0 at the point itself.
    pub(super) steps: i8,
    /// The step, in units of the direction.
    pub(super) step: f64,
}

/// A function of arrays at a point, and a weight for each element of its results.
pub(super) struct Sampler<'a> {
    pub(super) run: &'a dyn Fn(&[Array]) -> Vec<Array>,
    pub(super) inputs: &'a [Array],
    pub(super) values: &'a [Array],
    pub(super) weights: &'a [Array],
    /// The distance from 1 to the next number, of the least precise array.
    pub(super) epsilon: f64,
}

impl Sampler<'_> {
    /// The differences of the weighted sum of the results, element by element: those that neither move nor have a tangent
    /// have no part in it.
    ///
    /// # Errors
    ///
    /// The element that moves and is not finite in the fewest steps from the point.
    pub(super) fn differences(
        &self,
        direction: &[Array],
        has_tangent: &dyn Fn(usize, usize) -> bool,
        step: f64,
    ) -> Result<Differences, NotFinite> {
        let moved = |steps: i8| -> Vec<Array> {
            let distance = f64::from(steps) * step;
            let pairs = self.inputs.iter().zip(direction);
            (self.run)(&pairs.map(|(input, direction)| shifted(input, direction, distance)).collect::<Vec<Array>>())
        };
        let samples = SAMPLES.map(moved);
        let (sides, bend, terms, steepness, weight, rounding) = ([0.0; 2], 0.0, 0.0, 0.0, 0.0, 0.0);
        let mut found = Differences { step, slope: 0.0, coarse: 0.0, sides, bend, terms, steepness, weight, rounding };
        let mut problem: Option<NotFinite> = None;
        for (result, element) in elements(self.values) {
            let center = self.values[result].element(element).to_f64();
            let around = samples.each_ref().map(|sample| sample[result].element(element).to_f64());
            let stays = around.iter().all(|&value| value == center || (value.is_nan() && center.is_nan()));
            if stays && !has_tangent(result, element) {
                continue;
            }
            let all = [(0, center)].into_iter().chain(SAMPLES.into_iter().zip(around));
            let infinite = all.filter(|(_, value)| !value.is_finite()).min_by_key(|(steps, _)| steps.unsigned_abs());
            if let Some((steps, value)) = infinite {
                if problem.as_ref().is_none_or(|other| steps.unsigned_abs() < other.steps.unsigned_abs()) {
                    problem = Some(NotFinite { result, element, value, steps, step });
                }
                continue;
            }
            let weight = self.weights[result].element(element).to_f64();
            let [far_left, left, near_left, near_right, right, far_right] = around;
            let slope = |outer: f64, inner: f64, step: f64| (8.0 * inner - outer) / (12.0 * step);
            let fine = slope(right - left, near_right - near_left, step);
            let sides = [(center - near_left) / step, (near_right - center) / step];
            found.slope += weight * fine;
            found.coarse += weight * slope(far_right - far_left, right - left, 2.0 * step);
            found.sides[0] += weight * sides[0];
            found.sides[1] += weight * sides[1];
            let curved = |left: f64, right: f64| (right - center) - (center - left);
            found.bend += weight * (2.0 * curved(near_left, near_right) - curved(left, right) / 2.0) / step;
            found.terms += (weight * fine).abs();
            found.steepness += weight.abs() * sides[0].abs().max(sides[1].abs());
            found.weight += weight.abs();
            found.rounding += weight.abs() * self.rounding(center, around, step) / step;
        }
        problem.map_or(Ok(found), Err)
    }

    /// A bound on the rounding of an element of the results: some units in the last place, or the noise of the samples, as far
    /// as rounding of numbers around 1, or of the inputs, could explain it.
    fn rounding(&self, center: f64, around: [f64; 6], step: f64) -> f64 {
        let [far_left, left, near_left, near_right, right, far_right] = around;
        let largest = around.iter().fold(center.abs(), |largest, value| largest.max(value.abs()));
        let spread = around.iter().fold(0.0, |spread: f64, value| spread.max((value - center).abs()));
        // The remainder that no polynomial of degree 4 explains, as its even and its odd part. The divisors are their standard
        // deviations under independent noise of unit size.
        let sum = |left: f64, right: f64| (left - center) + (right - center);
        let even = sum(far_left, far_right) - 20.0 * sum(left, right) + 64.0 * sum(near_left, near_right);
        let odd = (far_right - far_left) - 10.0 * (right - left) + 16.0 * (near_right - near_left);
        let noise = (even.abs() / 131.0).max(odd.abs() / 26.7);
        let ulps = ROUNDING * self.epsilon;
        (ulps * largest).max((ROUNDING * noise).min(ulps.max(ulps / 2.0 * spread / step)))
    }

    /// The sum of the magnitudes of all weights.
    pub(super) fn weight(&self) -> f64 {
        elements(self.values).map(|(result, element)| self.weights[result].element(element).to_f64().abs()).sum()
    }

    /// How large the rounding of a derivative may be that is found without differences, for weights of this sum, where numbers
    /// around 1 are added.
    pub(super) fn unit(&self, weight: f64) -> f64 {
        ROUNDING * self.epsilon * weight
    }
}

/// The positions of all elements of the floats among arrays.
pub(super) fn elements(arrays: &[Array]) -> impl Iterator<Item = (usize, usize)> + '_ {
    let floats = arrays.iter().enumerate().filter(|(_, array)| array.dtype().is_float());
    floats.flat_map(|(position, array)| (0..array.size()).map(move |element| (position, element)))
}

/// By how much each element of an input is moved, times the step: its magnitude. An element that is 0, or less than the
/// rounding of the array's largest, is moved as that one is, but as 1 at most; zeros alone as 1.
pub(super) fn scales(array: &Array) -> Vec<f64> {
    let magnitudes: Vec<f64> = (0..array.size()).map(|at| array.element(at).to_f64().abs()).collect();
    let finite = magnitudes.iter().filter(|magnitude| magnitude.is_finite());
    let largest = finite.fold(0.0, |largest: f64, &magnitude| largest.max(magnitude));
    let usual = if largest > 0.0 { largest.min(1.0) } else { 1.0 };
    let negligible = largest * array.dtype().epsilon();
    let counts = |magnitude: f64| magnitude.is_finite() && magnitude > negligible;
    magnitudes.into_iter().map(|magnitude| if counts(magnitude) { magnitude } else { usual }).collect()
}

/// The groups of elements that are moved together, each by an amount of its own: a single group, or, where magnitudes differ by
/// more than [`SPREAD`], one for each range of magnitudes. A small move would be lost beside a large one.
pub(super) fn groups(scales: &[Vec<f64>]) -> Vec<Vec<Vec<bool>>> {
    let all = || scales.iter().flatten().copied();
    let (smallest, largest) = all().fold((f64::INFINITY, 0.0_f64), |(low, high), s| (low.min(s), high.max(s)));
    let group = |scale: f64| if largest > SPREAD * smallest { (scale.log10() / SPREAD.log10()).floor() } else { 0.0 };
    let mut numbers: Vec<f64> = all().map(group).collect();
    sort_by_rank(&mut numbers, |&number| rank_of_float(number));
    numbers.dedup();
    let members = |&number: &f64| -> Vec<Vec<bool>> {
        scales.iter().map(|scales| scales.iter().map(|&scale| group(scale) == number).collect()).collect()
    };
    numbers.iter().map(members).collect()
}

/// By which factor elements that are moved together may differ in magnitude.
const SPREAD: f64 = 1000.0;

/// An array whose elements are given by position; zeros for integers and booleans.
pub(super) fn floats(ty: &Type, element: &mut dyn FnMut(usize) -> f64) -> Array {
    let elements = 0..ty.size();
    match ty.dtype {
        DType::F64 => Array::from_vec(&ty.shape, elements.map(element).collect::<Vec<f64>>()),
        DType::F32 => Array::from_vec(&ty.shape, elements.map(|at| element(at) as f32).collect::<Vec<f32>>()),
        dtype => Array::full(&ty.shape, Value::from_i64(dtype, 0)),
    }
}

/// Moves an array along a direction; integers and booleans stay.
fn shifted(array: &Array, direction: &Array, distance: f64) -> Array {
    if !array.dtype().is_float() {
        return array.clone();
    }
    floats(&array.ty(), &mut |at| array.element(at).to_f64() + distance * direction.element(at).to_f64())
}

/// The inner product of floats with a direction, and the sum of the magnitudes of its terms: of those that move.
pub(super) fn inner(arrays: &[Array], direction: &[Array]) -> (f64, f64) {
    let mut sums = (0.0, 0.0);
    for (a, b) in arrays.iter().zip(direction).filter(|(a, _)| a.dtype().is_float()) {
        for at in (0..a.size()).filter(|&at| b.element(at).to_f64() != 0.0) {
            let product = a.element(at).to_f64() * b.element(at).to_f64();
            sums.0 += product;
            sums.1 += product.abs();
        }
    }
    sums
}
