//! The parts of a function that survive: methods, generics, lifetimes, clauses, nested functions and attributes.

use crate::harness::{M, S, V, generic, same, v};
use deltaray::derivative::ArrayFn;
use deltaray::prelude::*;
use std::marker::PhantomData;

#[derive(Tree)]
pub(crate) struct Layer<A: Algebra> {
    weights: Matrix<A, f64>,
    bias: Vector<A, f64>,
    #[tree(skip)]
    rectified: bool,
}

#[derive(Tree)]
pub(crate) struct Network<A: Algebra> {
    layers: Vec<Layer<A>>,
    scale: Scalar<A, f64>,
}

#[differentiable]
impl<A: Algebra> Layer<A> {
    /// The layer's output for rows.
    #[must_use]
    fn apply(&self, rows: Matrix<f64>) -> Matrix<f64> {
        let values = rows.dot(&self.weights) + self.bias;
        if self.rectified { values.relu() } else { values }
    }

    /// A method that takes and returns the type itself.
    fn damped(&self, other: &Self, #[plain] factor: f64) -> Self {
        let weights = self.weights - other.weights * factor;
        Layer { weights, bias: self.bias - factor * other.bias, rectified: self.rectified }
    }

    fn sizes(&self) -> (usize, usize) {
        (self.weights.shape()[0], self.weights.len())
    }
}

#[differentiable]
impl<A: Algebra> Network<A> {
    fn apply(&self, rows: &Matrix<f64>) -> Matrix<f64> {
        let rows = rows.clone();
        self.layers.iter().fold(rows, |rows, layer| layer.apply(&rows)) * self.scale
    }
}

/// The error of a network.
///
/// It is documented, visible, and must be used.
#[differentiable]
#[must_use = "an error is there to be looked at"]
pub(crate) fn squared_error(network: &Network, rows: Matrix<f64>, targets: &Matrix<f64>) -> Scalar<f64> {
    let difference = network.apply(rows) - targets;
    (difference * difference).mean()
}

fn network() -> Network<Concrete> {
    let layer = |seed: f64, rectified| Layer {
        weights: Matrix::from([[seed, -0.5], [0.25, 0.75 * seed]]),
        bias: v([0.1 * seed, -0.2]),
        rectified,
    };
    Network { layers: vec![layer(1.0, true), layer(-0.7, false)], scale: scalar(1.5) }
}

#[test]
fn methods_and_structs_are_over_the_algebra() {
    let (rows, targets) = (Matrix::from([[1.0, 2.0], [-0.3, 0.4], [0.0, 1.0]]), Matrix::from([[0.5; 2]; 3]));
    let expected = generic!((Network<Concrete>, M, M) => S, |(network, rows, targets)| {
        let first = (rows.dot(&network.layers[0].weights) + &network.layers[0].bias).relu();
        let second = first.dot(&network.layers[1].weights) + &network.layers[1].bias;
        let difference = second * &network.scale - targets;
        (&difference * &difference).mean()
    });
    same(&squared_error {}, &expected, &(network(), rows, targets));
    let (one, other) = (&network().layers[0], &network().layers[1]);
    assert_eq!(one.damped(other, 2.0).bias, &one.bias - 2.0 * &other.bias);
    assert_eq!(one.sizes(), (2, 2));
}

/// Element types and ranks are parameters, constants too.
#[differentiable]
fn weighted<E, R: Rank, const N: usize>(
    x: Tensor<E, R>,
    weights: &[Scalar<E>; N],
    #[plain] names: &[&str; N],
) -> Tensor<E, R>
where
    E: Float,
{
    let mut total = x - x;
    for (weight, name) in weights.iter().zip(names) {
        if !name.is_empty() {
            total = total + x * weight;
        }
    }
    total
}

#[test]
fn generic_functions_stay_generic() {
    let x = Vector::from(vec![1.0f32, 2.0]);
    assert_eq!(weighted(&x, &[scalar(2.0f32), scalar(3.0)], &["a", ""]).to_vec(), [2.0, 4.0]);
    let weights = [scalar(2.0), scalar(3.0)];
    let written = weighted::<f64, R2, 2> { names: &["a", "b"], types: PhantomData };
    let expected = generic!((M, [S; 2]) => M, |(x, w)| x * &w[0] + x * &w[1]);
    same(&written, &expected, &(Matrix::from([[1.0, 2.0]]), weights));
}

/// Lifetimes stay, and `mut` and patterns in parameters.
#[differentiable]
fn patterns<'a>(
    (a, b): (Scalar<f64>, Vector<f64>),
    mut x: Vector<f64>,
    layers: &[Layer],
    #[plain] labels: &'a [String],
) -> Vector<f64> {
    let longest: &'a String = &labels[0];
    let part = |k: usize| layers[k].bias * a;
    x += b * longest.len() as f64;
    x = x * 2.0;
    for k in 0..layers.len() {
        x += part(k);
    }
    x
}

#[test]
fn parameters_may_be_patterns() {
    let labels = vec!["abc".to_owned()];
    let expected = generic!(((S, V), V, Vec<Layer<Concrete>>) => V, |((a, b), x, layers)| {
        (x + b * 3.0) * 2.0 + &layers[0].bias * a + &layers[1].bias * a
    });
    let at = ((scalar(0.5), v([1.0, -1.0])), v([0.2, 0.4]), network().layers);
    same(&patterns { labels: &labels }, &expected, &at);
}

/// Functions inside are differentiable where they are of arrays, others as they are.
#[differentiable]
fn nested(x: Vector<f64>, #[plain] shift: usize) -> Scalar<f64> {
    const OFFSET: usize = 1;
    fn moved(k: usize, by: usize) -> usize {
        if k > 1 { k - 2 } else { k + by }
    }
    fn energy(x: Vector<f64>) -> Scalar<f64> {
        (x * x).sum()
    }
    #[differentiable]
    fn first(x: Vector<f64>) -> Scalar<f64> {
        x[0]
    }
    energy(x) * x[moved(shift, OFFSET)] + first(x)
}

#[test]
fn nested_functions_survive() {
    let expected = generic!(V => S, |x| (x * x).sum() * x.at(2) + x.at(0));
    same(&nested { shift: 1 }, &expected, &v([1.0, 2.0, 3.0]));
}

/// An algebra that is stated already, and types that name it.
#[differentiable]
fn stated<B: Algebra>(x: &Vector<B, f64>, layer: &Layer<B>) -> Vector<B, f64> {
    let y: Vector<B, f64> = x * 2.0;
    let z: Vector<f64> = y * layer.bias;
    z
}

#[test]
fn an_algebra_may_be_stated() {
    let expected = generic!((V, Layer<Concrete>) => V, |(x, layer)| x * 2.0 * &layer.bias);
    same(&stated {}, &expected, &(v([1.0, 2.0]), network().layers.swap_remove(0)));
}

/// A parameter by value is a value where it is kept, and a reference where it is passed on.
#[differentiable]
fn kept(x: Vector<f64>, layer: Layer) -> (Vector<f64>, Vec<Vector<f64>>, Option<Layer>) {
    let copy = x;
    let bias = layer.bias;
    let all = vec![x, bias, copy + bias];
    let passed = stated(x, layer);
    (if layer.rectified { x } else { passed }, all, Some(layer))
}

#[test]
fn parameters_by_value_are_values() {
    let (x, layer) = (v([1.0, 2.0]), network().layers.swap_remove(1));
    let (first, all, last) = kept(&x, &layer);
    assert_eq!(first, 2.0 * &x * &layer.bias);
    assert_eq!(all, [x.clone(), layer.bias.clone(), &x + &layer.bias]);
    assert_eq!(last.unwrap().weights, layer.weights);
}

/// Without arguments, and without a result.
#[differentiable]
fn constants(#[plain] n: usize) -> Vector<f64> {
    let k = iota(n);
    k.cast::<f64>() * 0.5
}

#[test]
fn a_function_of_plain_values_makes_arrays() {
    assert_eq!(constants { n: 3 }.call::<Concrete>(&()).to_vec(), [0.0, 0.5, 1.0]);
    assert_eq!(constants::<Concrete>(2).to_vec(), [0.0, 0.5]);
}

/// Float literals take the element type that the function is generic in; integers in indices stay the same.
#[differentiable]
fn of_any_precision<E: Float, R: Rank>(x: Tensor<E, R>, y: Scalar<E>, #[plain] rate: f64) -> Tensor<E, R> {
    let scaled = 0.5 * x + x / 4.0 - 1.0;
    let small = rate.max(0.25) * 2.0 < 1.5;
    let slope = if y > 2.0 { y } else { 0.25 };
    let mut z = scaled.pow(2.0) * slope;
    z += -1.5;
    z = z.max(-100.0).min(1e3);
    if small { (x > 0.0).select(z, 0.5) } else { z }
}

#[test]
fn literals_are_of_any_precision() {
    let x = Vector::from(vec![4.0f32, -4.0]);
    assert_eq!(of_any_precision(&x, &scalar(3.0), 0.5).to_vec(), [2.0f32 * 2.0 * 3.0 - 1.5, 0.5]);
    assert_eq!(of_any_precision(&x, &scalar(1.0), 2.0).to_vec(), [4.0f32 * 0.25 - 1.5, 16.0 * 0.25 - 1.5]);
    let written = of_any_precision::<f64, R1> { rate: 0.5, types: PhantomData };
    let expected = generic!((V, S) => V, |(x, y)| {
        let z = (0.5 * x + x / 4.0 - 1.0).powi(2) * cond(y.gt(2.0), || y.clone(), || scalar(0.25)) - 1.5;
        x.gt(0.0).select(z, 0.5)
    });
    same(&written, &expected, &(v([4.0, -4.0]), scalar(3.0)));
}

#[differentiable]
fn energy<E: Float, R: Rank>(x: Tensor<E, R>) -> Scalar<E> {
    (x * x / 2).sum()
}

#[test]
fn generic_functions_are_values_by_default() {
    let f = energy::<f64, R2>::default();
    check_grad(f, &Matrix::from([[1.0, 2.0]]), &CheckGrad::default()).unwrap();
    assert_eq!(Grad(f).call::<Concrete>(&Matrix::from([[1.0, 2.0]])), Matrix::from([[1.0, 2.0]]));
}

#[differentiable]
fn fitted(layer: &Layer, r#in: Matrix<f64>, #[plain] power: i32, _: Scalar<f64>) -> Scalar<f64> {
    let inner = self::energy(&layer.bias);
    (layer.apply(r#in) + inner).powi(power).mean()
}

#[differentiable]
fn product((x, w): (Vector<f64>, Vector<f64>)) -> Scalar<f64> {
    (x * w).sum()
}

#[test]
fn staged_functions_have_the_names_of_their_parameters() {
    let header = |program: &dyn std::fmt::Display| {
        let text = program.to_string();
        text.split(":\n").next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let (layer, rows) = (network().layers.swap_remove(0), M::from([[1.0, 2.0]]));
    let arguments = (&layer, &rows, &scalar(1.0));
    let named = stage(fitted { power: 2 }.closure(), arguments).unwrap();
    let parameters = "layer.weights: f64[2, 2], layer.bias: f64[2], in: f64[1, 2], p3: f64";
    assert_eq!(header(&named), format!("program fitted({parameters}) -> f64"));
    let expected = format!(
        "program grad_fitted({parameters}) -> (gradient.layer.weights: f64[2, 2], gradient.layer.bias: f64[2])"
    );
    assert_eq!(header(&named.grad().unwrap()), expected);
    let pair = (v([1.0]), v([2.0]));
    let expected = "program product(x: f64[1], w: f64[1]) -> f64";
    assert_eq!(header(&stage(product, (&pair.0, &pair.1)).unwrap()), expected);
    assert_eq!(header(&stage(product {}.closure(), &pair).unwrap()), expected);
    // A closure's name is not that of the function that it calls.
    let closure = stage(|pair| product(pair) * 2.0, &pair).unwrap();
    assert_eq!(header(&closure), "program f(p0: f64[1], p1: f64[1]) -> f64");
    let generic = stage(energy::<f64, R1>::default().closure(), &pair.0).unwrap();
    assert_eq!(header(&generic), "program energy(x: f64[1]) -> f64");
}
