//! Divided differences of functions, f[x₀, .., xₖ], elementwise and accurate for points that are apart, close together, or equal.
//!
//! Differences of two points are formulas. Those of more points are quotients of differences by the distance of the outermost points
//! where these are apart, so that few digits cancel; otherwise the Taylor series about the middle, Σ f⁽ᵏ⁺ʲ⁾(c) / (k + j)! hⱼ, where hⱼ is the
//! sum of all products of j distances from c.

use super::LoopWriter;
use crate::operation::{Binary, Comparison, SpectralFunction, Unary};
use crate::shape::DType;
use crate::term::{NodeId, Op};

/// Points are close together that are no further apart, for functions whose Taylor series have any radius.
const CLOSE: f64 = 1.0;
/// Points are close together whose distance is no more than so much of the sum of the outermost ones, for functions that end at 0.
const CLOSE_RATIO: f64 = 0.15;

/// The Taylor series of a function about a point: the coefficient of (x − c)ᑫ is `numbers(q)` times one of the factors, by turns.
struct Series {
    factors: Vec<NodeId>,
    numbers: Box<dyn Fn(u32) -> f64>,
}

fn factorial(n: u32) -> f64 {
    (1..=n).map(f64::from).product()
}

/// The exponent of a power of numbers that are not negative.
fn exponent(function: SpectralFunction) -> Option<f64> {
    match function {
        SpectralFunction::Sqrt => Some(0.5),
        SpectralFunction::Power(exponent) => Some(exponent.number()),
        _ => None,
    }
}

/// The coefficient of an order in the series of (1 + x) to an exponent.
fn binomial(exponent: f64, order: u32) -> f64 {
    (0..order).map(|i| (exponent - f64::from(i)) / f64::from(i + 1)).product()
}

/// A derivative of x to an exponent, over the factorial of its order, at 0.
fn at_zero(exponent: f64, order: usize) -> f64 {
    let (coefficient, rest) = (binomial(exponent, order as u32), exponent - order as f64);
    if coefficient == 0.0 || rest > 0.0 {
        0.0
    } else if rest == 0.0 {
        coefficient
    } else {
        coefficient * f64::INFINITY
    }
}

impl LoopWriter {
    pub(super) fn unary(&mut self, op: Unary, a: NodeId) -> NodeId {
        self.graph.add(Op::Unary(op), &[a])
    }

    /// An array times a number.
    pub(super) fn multiple(&mut self, a: NodeId, x: f64) -> NodeId {
        let number = self.number(a, x);
        self.binary(Binary::Mul, a, number)
    }

    /// The function itself.
    fn function(&mut self, function: SpectralFunction, x: NodeId) -> NodeId {
        let op = match function {
            SpectralFunction::Exp => Unary::Exp,
            SpectralFunction::Ln => Unary::Ln,
            SpectralFunction::Sqrt => Unary::Sqrt,
            SpectralFunction::Reciprocal => Unary::Recip,
            SpectralFunction::Sin => Unary::Sin,
            SpectralFunction::Cos => Unary::Cos,
            SpectralFunction::Power(exponent) => {
                let exponent = self.number(x, exponent.number());
                return self.binary(Binary::Pow, x, exponent);
            }
        };
        self.unary(op, x)
    }

    /// Points in their order.
    fn ordered_points(&mut self, mut points: Vec<NodeId>) -> Vec<NodeId> {
        for end in (1..points.len()).rev() {
            for at in 0..end {
                let [low, high] = [Binary::Min, Binary::Max].map(|op| self.binary(op, points[at], points[at + 1]));
                (points[at], points[at + 1]) = (low, high);
            }
        }
        points
    }

    /// f[x₀, .., xₖ], a divided difference of each element of arrays of one shape. Of functions that end at 0 the points are positive.
    pub(super) fn divided_difference(&mut self, function: SpectralFunction, points: Vec<NodeId>) -> NodeId {
        match points[..] {
            [x] => return self.function(function, x),
            // A constant function, which is 1 at 0 too.
            [x, ..] if exponent(function) == Some(0.0) => return self.number(x, 0.0),
            _ if function == SpectralFunction::Reciprocal => {
                let factors: Vec<NodeId> = points.iter().map(|&x| self.unary(Unary::Recip, x)).collect();
                let negated = |writer: &mut LoopWriter, x: NodeId| writer.unary(Unary::Neg, x);
                return factors[1..].iter().fold(factors[0], |product, &factor| {
                    let factor = negated(self, factor);
                    self.binary(Binary::Mul, product, factor)
                });
            }
            _ => {}
        }
        let points = self.ordered_points(points);
        let mut row: Vec<NodeId> =
            points.windows(2).map(|pair| self.difference_of_two(function, pair[0], pair[1])).collect();
        // Each row of the table has one point more in each of its differences.
        for count in 3..=points.len() {
            let own: Vec<NodeId> = points
                .windows(count)
                .enumerate()
                .map(|(at, points)| self.difference_of_differences(function, points, [row[at], row[at + 1]]))
                .collect();
            row = own;
        }
        row[0]
    }

    /// f[x₀, .., xₖ] for points in their order, of the differences without the last and without the first of them.
    fn difference_of_differences(
        &mut self,
        function: SpectralFunction,
        points: &[NodeId],
        [first, last]: [NodeId; 2],
    ) -> NodeId {
        let (low, high) = (points[0], points[points.len() - 1]);
        let distance = self.binary(Binary::Sub, high, low);
        let bound = if function.is_of_positive() {
            let sum = self.binary(Binary::Add, high, low);
            self.multiple(sum, CLOSE_RATIO)
        } else {
            self.number(distance, CLOSE)
        };
        let is_close = self.compare(Comparison::LessEqual, distance, bound);
        let difference = self.binary(Binary::Sub, last, first);
        let quotient = self.binary(Binary::Div, difference, distance);
        let half = self.multiple(distance, 0.5);
        let centre = self.binary(Binary::Add, low, half);
        let sum = self.sum_of_series(function, points, centre);
        let sum = match exponent(function) {
            // The series divides by the centre, which is 0 where all points are.
            Some(exponent) => {
                let (zero, limit) = (self.number(high, 0.0), self.number(high, at_zero(exponent, points.len() - 1)));
                let is_zero = self.compare(Comparison::Equal, high, zero);
                self.select(is_zero, limit, sum)
            }
            None => sum,
        };
        self.select(is_close, sum, quotient)
    }

    /// f[a, b] for a ≤ b.
    fn difference_of_two(&mut self, function: SpectralFunction, a: NodeId, b: NodeId) -> NodeId {
        let distance = self.binary(Binary::Sub, b, a);
        let (zero, one) = (self.number(a, 0.0), self.number(a, 1.0));
        let is_equal = self.compare(Comparison::Equal, distance, zero);
        match function {
            // eᵇ (1 − e⁻ᵈ) / d
            SpectralFunction::Exp => {
                let negative = self.unary(Unary::Neg, distance);
                let rest = self.unary(Unary::Expm1, negative);
                let ratio = self.binary(Binary::Div, rest, negative);
                let ratio = self.select(is_equal, one, ratio);
                let factor = self.unary(Unary::Exp, b);
                self.binary(Binary::Mul, factor, ratio)
            }
            // cos((a + b) / 2) sin(d / 2) / (d / 2), and −sin((a + b) / 2) for the cosine.
            SpectralFunction::Sin | SpectralFunction::Cos => {
                let half = self.multiple(distance, 0.5);
                let middle = self.binary(Binary::Add, a, half);
                let sine = self.unary(Unary::Sin, half);
                let ratio = self.binary(Binary::Div, sine, half);
                let ratio = self.select(is_equal, one, ratio);
                let factor = if function == SpectralFunction::Sin {
                    self.unary(Unary::Cos, middle)
                } else {
                    let sine = self.unary(Unary::Sin, middle);
                    self.unary(Unary::Neg, sine)
                };
                self.binary(Binary::Mul, factor, ratio)
            }
            SpectralFunction::Sqrt => {
                let [first, second] = [a, b].map(|x| self.unary(Unary::Sqrt, x));
                let sum = self.binary(Binary::Add, first, second);
                self.unary(Unary::Recip, sum)
            }
            // ln(1 + d / a) / d
            SpectralFunction::Ln => {
                let logarithm = self.logarithm_of_ratio(a, distance);
                let ratio = self.binary(Binary::Div, logarithm, distance);
                let inverse = self.unary(Unary::Recip, a);
                self.select(is_equal, inverse, ratio)
            }
            SpectralFunction::Reciprocal => unreachable!("a product of reciprocals"),
            // aᵖ (eᵗ − 1) / d with t = p ln(1 + d / a), or (bᵖ − aᵖ) / d where few digits of that cancel.
            SpectralFunction::Power(exponent) => {
                let exponent = exponent.number();
                let [first, second] = [a, b].map(|x| self.function(function, x));
                let logarithm = self.logarithm_of_ratio(a, distance);
                let growth = self.multiple(logarithm, exponent);
                let rest = self.unary(Unary::Expm1, growth);
                let near = self.binary(Binary::Mul, first, rest);
                let far = self.binary(Binary::Sub, second, first);
                let size = self.unary(Unary::Abs, growth);
                let is_far = self.compare(Comparison::Greater, size, one);
                let difference = self.select(is_far, far, near);
                let ratio = self.binary(Binary::Div, difference, distance);
                let slope = self.number(a, exponent - 1.0);
                let slope = self.binary(Binary::Pow, a, slope);
                let slope = self.multiple(slope, exponent);
                self.select(is_equal, slope, ratio)
            }
        }
    }

    /// ln(1 + d / a).
    fn logarithm_of_ratio(&mut self, a: NodeId, distance: NodeId) -> NodeId {
        let ratio = self.binary(Binary::Div, distance, a);
        self.unary(Unary::Ln1p, ratio)
    }

    /// The series of f[x₀, .., xₖ] about a centre.
    fn sum_of_series(&mut self, function: SpectralFunction, points: &[NodeId], centre: NodeId) -> NodeId {
        let order = points.len() as u32 - 1;
        let series = self.series(function, centre, order);
        let mut distances: Vec<NodeId> = points.iter().map(|&x| self.binary(Binary::Sub, x, centre)).collect();
        if function.is_of_positive() {
            distances = distances.into_iter().map(|x| self.binary(Binary::Div, x, centre)).collect();
        }
        let terms = if self.dtype == DType::F32 { 10 } else { 22 };
        // Sums of all products of so many of the first distances, one for each number of distances.
        let one = self.number(centre, 1.0);
        let mut sums = vec![one; distances.len()];
        let turns = series.factors.len();
        let mut totals: Vec<Option<NodeId>> = vec![None; turns];
        for degree in 0..terms {
            if degree > 0 {
                let mut fewer = None;
                for (sum, &distance) in sums.iter_mut().zip(&distances) {
                    let product = self.binary(Binary::Mul, *sum, distance);
                    *sum = fewer.map_or(product, |fewer| self.binary(Binary::Add, fewer, product));
                    fewer = Some(*sum);
                }
            }
            let term = self.multiple(sums[sums.len() - 1], (series.numbers)(order + degree));
            let total = &mut totals[degree as usize % turns];
            *total = Some(total.map_or(term, |total| self.binary(Binary::Add, total, term)));
        }
        let parts = series.factors.into_iter().zip(totals.into_iter().flatten());
        let parts: Vec<NodeId> = parts.map(|(factor, total)| self.binary(Binary::Mul, factor, total)).collect();
        parts.into_iter().reduce(|sum, part| self.binary(Binary::Add, sum, part)).expect("a series has a factor")
    }

    /// The coefficients from an order on, of powers of x − c, or of (x − c) / c for functions that end at 0.
    fn series(&mut self, function: SpectralFunction, centre: NodeId, order: u32) -> Series {
        let turning = |first: [f64; 4]| move |q: u32| first[q as usize % 4] / factorial(q);
        match function {
            SpectralFunction::Exp => {
                Series { factors: vec![self.unary(Unary::Exp, centre)], numbers: Box::new(|q| 1.0 / factorial(q)) }
            }
            SpectralFunction::Sin | SpectralFunction::Cos => {
                let mut factors = vec![self.unary(Unary::Sin, centre), self.unary(Unary::Cos, centre)];
                let is_sine = function == SpectralFunction::Sin;
                factors.rotate_left((order as usize + usize::from(!is_sine)) % 2);
                let signs = if is_sine { [1.0, 1.0, -1.0, -1.0] } else { [1.0, -1.0, -1.0, 1.0] };
                Series { factors, numbers: Box::new(turning(signs)) }
            }
            SpectralFunction::Ln => {
                let power = self.number(centre, -f64::from(order));
                let factor = self.binary(Binary::Pow, centre, power);
                let sign = |q: u32| if q % 2 == 1 { 1.0 } else { -1.0 };
                Series { factors: vec![factor], numbers: Box::new(move |q| sign(q) / f64::from(q)) }
            }
            SpectralFunction::Sqrt | SpectralFunction::Power(_) => {
                let exponent = exponent(function).expect("a power");
                let power = self.number(centre, exponent - f64::from(order));
                let factor = self.binary(Binary::Pow, centre, power);
                Series { factors: vec![factor], numbers: Box::new(move |q| binomial(exponent, q)) }
            }
            SpectralFunction::Reciprocal => unreachable!("a product of reciprocals"),
        }
    }
}
