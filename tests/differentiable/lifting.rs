//! Closures of derivatives: their outside variables enter automatically.

use crate::harness::{S, V, generic, same, v};
use deltaray::prelude::*;

#[derive(Tree)]
struct Pair<A: Algebra> {
    a: Vector<A, f64>,
    b: Scalar<A, f64>,
}

#[differentiable]
fn product(x: Vector<f64>, pair: &Pair) -> Scalar<f64> {
    (x * x * pair.a).sum() * pair.b
}

/// Arrays, trees, indices, numbers, references and lists from outside.
#[differentiable]
fn gradients(x: Vector<f64>, pair: &Pair, #[plain] power: i32, #[plain] names: &[String]) -> Vector<f64> {
    let scale = x.sum();
    let parts = vec![x * 2.0, pair.a];
    let owned = Pair { a: pair.a * 0.5, b: scale.clone() };
    let position = iota(x.len()).sum() - 2;
    let rate = 0.5;
    let sizes = vec![1usize, 2];
    let of_pair = grad(|y| product(y, pair) + product(y, &owned) * scale, x);
    let of_list = grad(|y| (y * parts[1]).powi(power).sum() + y[position] * rate * names.len() as f64, x);
    let (_, along) = jvp(|y| y * y * scale * sizes[1] as f64, x, &pair.a);
    of_pair + of_list + along
}

#[test]
fn what_is_used_from_outside_is_lifted() {
    let names = vec!["n".to_owned(); 3];
    let expected = generic!((V, Pair<Concrete>) => V, |(x, pair)| {
        let scale = x.sum();
        let of_pair = 2.0 * x * &pair.a * &pair.b + x * &pair.a * &scale * &scale;
        let one = iota::<A>(x.len()).equal(1).cast::<f64>();
        let of_list = 3.0 * (x * &pair.a).powi(2) * &pair.a + one * 1.5;
        of_pair + of_list + 2.0 * x * &pair.a * &scale * 2.0
    });
    let at = (v([0.5, -1.0, 2.0]), Pair { a: v([0.3, 0.7, -0.2]), b: scalar(1.5) });
    same(&gradients { power: 3, names: &names }, &expected, &at);
}

/// A derivative in a derivative, and second ones.
#[differentiable]
fn nested(x: Vector<f64>, w: Scalar<f64>) -> Vector<f64> {
    let outer = x * w;
    let inner = grad(
        |y| {
            let scaled = y * outer;
            let slope = grad(|z| (z * z * z * scaled * w).sum(), y);
            (slope * w).sum()
        },
        x,
    );
    let curvature = hvp(|y| (y * y * y * outer).sum(), x, &outer);
    let whole = hessian(|y| (y * y * y * w).sum(), x);
    let rows = jacrev(|y| y * y * outer, x);
    let columns = jacfwd(|y| y * y * outer, x);
    let (_, map) = linearize(|y| y * y * w, x);
    inner + curvature + whole.dot(&outer) + (rows + columns).dot(&outer) + map(&outer)
}

#[test]
fn derivatives_nest() {
    let expected = generic!((V, S) => V, |(x, w)| {
        let outer = x * w;
        // With y = x: the inner gradient of Σ z³ y o w is 3 z² y o w, at z = y that is 3 y³ o w.
        let inner = 9.0 * x * x * &outer * w * w;
        let curvature = 6.0 * x * &outer * &outer;
        let whole = 6.0 * x * w * &outer;
        inner + curvature + whole + 4.0 * x * &outer * &outer + 2.0 * x * w * &outer
    });
    same(&nested {}, &expected, &(v([0.5, -1.0, 2.0]), scalar(0.8)));
}

/// A method that is differentiated inside of another.
#[differentiable]
impl<A: Algebra> Pair<A> {
    fn energy(&self, x: &Vector<f64>) -> Scalar<f64> {
        (self.a * x * x).sum() + self.b * x[0]
    }

    fn force(&self, x: &Vector<f64>) -> Vector<f64> {
        -grad(|y| self.energy(y), x)
    }

    fn by_parameters(&self, x: &Vector<f64>) -> Pair {
        grad(|parameters| parameters.energy(x), self)
    }
}

#[differentiable]
fn forces(x: Vector<f64>, pair: Pair) -> (Vector<f64>, Pair) {
    (pair.force(x), pair.by_parameters(x))
}

#[test]
fn methods_are_differentiated_inside() {
    let expected = generic!((V, Pair<Concrete>) => (V, Pair<Concrete>), |(x, pair)| {
        let first = iota::<A>(x.len()).equal(0).cast::<f64>();
        (-(2.0 * &pair.a * x + first * &pair.b), Pair { a: x * x, b: x.at(0) })
    });
    same(&forces {}, &expected, &(v([0.5, -1.0]), Pair { a: v([0.3, 0.7]), b: scalar(1.5) }));
}

/// Closures of variables and of `build` in a derivative.
#[differentiable]
fn in_builds(x: Vector<f64>) -> Vector<f64> {
    let square = |y| y * y;
    let total = square(x);
    build(x.len(), |i| grad(|y| y * y * total[i] * x[i], &x[i]))
}

#[test]
fn indices_are_lifted() {
    let expected = generic!(V => V, |x| 2.0 * x * x * x * x);
    same(&in_builds {}, &expected, &v([0.5, -1.0, 2.0]));
}
