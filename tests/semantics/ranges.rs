//! Factors that a program computes stay where it multiplies by them: they may keep numbers in range.

use crate::harness::C;
use deltaray::algebra::Algebra;
use deltaray::derivative::stage;
use deltaray::prelude::*;

#[test]
fn what_is_normalised_before_it_is_squared() {
    rows! {
        [f64]
        |x, i| { let y = x * x.sum().recip(); y.dot(&y).reshape(1) }; [1e200, 2e200], [] => [5.0 / 9.0], [0.0, 0.0];
        |x, i| { let y = x * x.sum().recip(); (&y * &y).sum().reshape(1) }; [1e-200, 2e-200], [] => [5.0 / 9.0];
        |x, i| { let y = x * x.max_all().recip(); (y.dot(&y).sqrt() * x.max_all()).reshape(1) };
            [3e200, 4e200], [] => [5e200];
        |x, i| { let y = x / x.max_all(); (y.sum() * 0.25 * x.max_all()).reshape(1) }; [1e308, 1.5e308], [] => [0.625e308];
        |x, i| { let y = x / x.max_all(); ((&y * x).sum()).reshape(1) }; [1e160, 1e150], [] => [1e160];
        |x, i| {
            let rows = x.reshape((2, 2));
            ((&rows / rows.max_axis(1).reshape((2, 1))) * &rows).sum_axis(1)
        }; [1e200, 1e200, 1e-200, 1e-200], [] => [2e200, 2e-200];
        |x, i| {
            let rows = x.reshape((2, 2));
            let y = &rows * rows.sum_axis(1).recip().reshape((2, 1));
            (&y * &y).sum_axis(1)
        }; [1e200, 2e200, 1e-180, 1e-180], [] => [5.0 / 9.0, 0.5];
        |x, i| {
            let y = (x.reshape((2, 1)) * x.sum().recip()) * x.reshape((1, 2));
            y.sum_axis(1)
        }; [1e200, 3e200], [] => [1e200, 3e200];
        |x, i| { let y = -(x * -x.sum().recip()).relu(); y.sum().reshape(1) }; [1e200, 2e200], [] => [-0.0];
        |x, i| { let y = x.select_positive() * x.sum().recip(); y.dot(&y).reshape(1) };
            [1e200, 2e200], [] => [5.0 / 9.0];
    }
}

/// The square of an inverse may overflow although its product with other factors is a number.
#[test]
fn derivatives_of_inverses() {
    rows! {
        [f64]
        |x, i| { let x = x * 1e200; let y = &x * (1.0 / x.sum()); y.dot(&y).reshape(1) };
            [1.0, 3.0], [] => [0.625], [-0.1875, 0.0625];
        |x, i| { let x = x * 1e-200; let y = &x * x.sum().recip(); y.dot(&y).reshape(1) };
            [1.0, 3.0], [] => [0.625], [-0.1875, 0.0625];
        |x, i| (x * 1e200).recip() * 1e200; [2.0, 0.5], [] => [0.5, 2.0], [-0.25, -4.0];
        |x, i| (x * 1e-200).recip() * 1e-200; [2.0, 0.5], [] => [0.5, 2.0], [-0.25, -4.0];
    }
}

/// Positive elements, and 0 for the others, by a mask.
trait SelectPositive {
    fn select_positive(&self) -> Self;
}

impl<A: Algebra, E: Float> SelectPositive for Vector<A, E> {
    fn select_positive(&self) -> Self {
        self.gt(0).select(self, 0)
    }
}

/// A vector through layers of matrices, each result made comparable by a function of it.
fn layers<A: Algebra, E: Float>(
    w: &Matrix<A, E>,
    x: &Vector<A, E>,
    layers: usize,
    factor: impl Fn(&Vector<A, E>) -> Scalar<A, E>,
) -> Scalar<A, E> {
    let last = (0..layers).fold(x.clone(), |y, _| {
        let z = w.dot(&y);
        let factor = factor(&z);
        z * factor
    });
    last.sum()
}

/// The value and the gradient of layers, eagerly, staged and compiled.
fn check<E: Float>(name: &str, w: &[f64], count: usize, factor: Factor<E>) {
    let n = w.len().isqrt();
    let number = |x: &f64| E::from_number(*x);
    let w: Matrix<C, E> = Vector::from_slice(&w.iter().map(number).collect::<Vec<E>>()).reshape((n, n));
    let x: Vector<C, E> = full(n, E::ONE);
    let (value, gradient) = value_and_grad(|x| layers(&constant(&w), x, count, factor.dual), &x);
    let staged = stage(|x| layers(&constant(&w), x, count, factor.staged), &x).unwrap();
    let both = staged.value_and_grad().unwrap();
    let compiled = both.compile(Cpu::default()).unwrap();
    let plain = [staged.interpret(&x).unwrap(), staged.compile(Cpu::default()).unwrap().call(&x).unwrap()];
    let with_gradient = [both.interpret(&x).unwrap(), compiled.call(&x).unwrap()];
    let (value, gradient) = (value.cast::<f64>().item(), gradient.cast::<f64>().to_vec());
    let tolerance: f64 = if E::DTYPE == deltaray::shape::DType::F32 { 1e-4 } else { 1e-10 };
    assert!(value.is_finite() && gradient.iter().all(|x| x.is_finite()), "{name}: {value}, {gradient:?}");
    for found in plain.iter().chain(with_gradient.iter().map(|(found, _)| found)) {
        let found = found.cast::<f64>().item();
        assert!((found - value).abs() <= tolerance * value.abs(), "{name}, {count} layers: {found}, eagerly {value}");
    }
    for (_, found) in with_gradient {
        let found = found.cast::<f64>().to_vec();
        let agree = found.iter().zip(&gradient).all(|(a, b)| (a - b).abs() <= tolerance * value.abs());
        assert!(agree, "{name}, {count} layers: {found:?}, eagerly {gradient:?}");
    }
}

/// A function of a vector, in two algebras.
#[derive(Clone, Copy)]
struct Factor<E: Float> {
    dual: fn(&Vector<deltaray::dual::Dual<C>, E>) -> Scalar<deltaray::dual::Dual<C>, E>,
    staged: fn(&Vector<deltaray::staged::Staged, E>) -> Scalar<deltaray::staged::Staged, E>,
}

#[test]
fn layers_that_normalise_what_they_result_in() {
    fn norm<A: Algebra, E: Float>(z: &Vector<A, E>) -> Scalar<A, E> {
        z.dot(z).sqrt().recip()
    }
    fn mean<A: Algebra, E: Float>(z: &Vector<A, E>) -> Scalar<A, E> {
        ((z * z).mean() + scalar::<A, E>(E::from_number(1e-6))).sqrt().recip()
    }
    fn largest<A: Algebra, E: Float>(z: &Vector<A, E>) -> Scalar<A, E> {
        z.abs().max_all().recip()
    }
    fn sum<A: Algebra, E: Float>(z: &Vector<A, E>) -> Scalar<A, E> {
        z.sum().recip()
    }
    macro_rules! check {
        ($($factor:ident),*) => { $(
            for scale in [1.0, 50.0, 1e-3] {
                let w = [2.0, 1.0, 0.5, 1.0, 3.0, 0.25, 0.5, 0.25, 1.0].map(|x| scale * x);
                check::<f32>(stringify!($factor), &w, 40, Factor { dual: $factor, staged: $factor });
                // Without the factor, numbers leave the range of `f64` too with the largest and the smallest weights.
                let count = if scale == 1.0 { 60 } else { 150 };
                check::<f64>(stringify!($factor), &w, count, Factor { dual: $factor, staged: $factor });
            }
        )* };
    }
    check!(norm, largest, sum);
    let w = [2.0, 1.0, 0.5, 1.0, 3.0, 0.25, 0.5, 0.25, 1.0];
    check::<f32>("mean", &w, 40, Factor { dual: mean, staged: mean });
    check::<f64>("mean", &w, 60, Factor { dual: mean, staged: mean });
}
