use deltaray::prelude::*;

#[differentiable]
fn assigns_in_a_side(x: Vector<f64>) -> Vector<f64> {
    let mut y = x * 1.0;
    let mut s = scalar(0.0);
    let z = cond(
        x[0].gt(0.0),
        || {
            y[0] = 100.0 * x[2];
            x[0]
        },
        || {
            s += x[1];
            x[1]
        },
    );
    y * z + s
}

#[differentiable]
fn assigns_by_a_path(x: Vector<f64>, #[plain] table: &mut Vec<usize>) -> Scalar<f64> {
    deltaray::tensor::cond(
        x[0].gt(0.0),
        || {
            table[0] = 3;
            x[0]
        },
        || {
            let y = &mut *table;
            y.clear();
            x[1]
        },
    )
}

#[differentiable]
fn calls_what_assigns(x: Vector<f64>) -> Scalar<f64> {
    let mut count = 0;
    let mut increase = || count += 1;
    cond(
        x[0].gt(0.0),
        || {
            increase();
            x[0]
        },
        || x[1],
    )
}

#[differentiable]
fn assigns_in_a_derivative(x: Vector<f64>) -> Vector<f64> {
    let mut y = x * 1.0;
    let slope = grad(
        |z| {
            y[0] = 1.0;
            z.sum()
        },
        x,
    );
    let curvature = hessian(
        |z| {
            y[1] += 1.0;
            z.sum()
        },
        x,
    );
    y + slope + curvature[0]
}

#[differentiable]
fn assigns_where_all_is_run_again(x: Vector<f64>) -> Scalar<f64> {
    let mut s = scalar(0.0);
    let y = checkpoint(x, |x| {
        s = x.sum();
        x.sin()
    });
    let last = Checkpoints::Every(2).scan(x[0], x, x.len(), |h: Scalar<f64>, v: Scalar<f64>| {
        s += h;
        (h * v, ())
    });
    let total = reduce_by_index(scalar(0.0), &iota(3), x, 3, |a, b| {
        s *= a;
        a + b
    });
    y.sum() + last.0 + total[0] + s
}

fn main() {}
