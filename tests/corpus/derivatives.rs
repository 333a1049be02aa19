//! Whole matrices of derivatives, and functions mapped over an axis.

use super::prelude::*;

/// Two numbers of three.
fn pair<A: Algebra>(x: &Vector<A, f64>) -> Vector<A, f64> {
    stack(&[x.at(0) * x.at(1) + x.at(2), (x.at(0) * x.at(2)).sin()])
}

/// The rows.
pub fn rows() -> Vec<Row> {
    vec![
        row!("Jacobian, forward": V => M, |x| jacfwd(pair, x), v([0.5, 2.0, 0.0]))
            .value([2.0, 0.5, 1.0, 0.0, 0.0, 0.5])
            .smooth(),
        row!("Jacobian, reverse": V => M, |x| jacrev(pair, x), v([0.5, 2.0, 0.0]))
            .value([2.0, 0.5, 1.0, 0.0, 0.0, 0.5])
            .smooth(),
        row!("both Jacobians agree": V => M, |x| jacfwd(pair, x) - jacrev(pair, x), some(3, 361)).value([0.0; 6]).smooth(),
        row!("Jacobian of running products": V => M, |x| jacrev(|x| x.cumprod(0), x), v([1.0, 2.0, 3.0, 4.0, 5.0]))
            .value([
                1.0, 0.0, 0.0, 0.0, 0.0, 2.0, 1.0, 0.0, 0.0, 0.0, 6.0, 3.0, 2.0, 0.0, 0.0, 24.0, 12.0, 8.0, 6.0, 0.0, 120.0,
                60.0, 40.0, 30.0, 24.0,
            ])
            .smooth(),
        row!("Jacobian of a matrix of a matrix": M => T4, |a| jacfwd(|a| a.dot(&a.transpose()), a), some((2, 3), 362))
            .smooth(),
        row!("Jacobian of a scalar": V => V, |x| jacfwd(|x| x.powi(3).sum(), x), v([1.0, 2.0])).value([3.0, 12.0]).smooth(),
        row!("Jacobian of nothing": V => M, |x| jacrev(|x| x.exp(), x), v([])).value([]).gradient([]),
        row!("Hessian": V => M, |x| hessian(|x| x.product() + x.powi(3).sum(), x), v([1.0, 2.0, 3.0]))
            .value([6.0, 3.0, 2.0, 3.0, 12.0, 1.0, 2.0, 1.0, 18.0])
            .smooth(),
        row!("Hessian of a function of a matrix": M => T4, |a| hessian(|a| a.exp().sum().ln(), a), some((2, 2), 363))
            .overhead(1, 20)
            .smooth(),
        row!("Hessian times a vector": (V, V) => V, |(x, d)| hvp(|x| (x.at(0) * x.at(1)).exp() + x.sum(), x, d),
            (v([0.0, 2.0]), v([1.0, 1.0])))
            .value([5.0, 1.0])
            .smooth(),
        row!("a function mapped over rows": M => V, |a| vmap(|row| row.exp().sum().ln(), a), some((4, 3), 364)).smooth(),
        row!("a function of two mapped": (M, V) => (M, V),
            |(a, x)| vmap(|(row, x)| (row * &x, x.sin()), &(a.clone(), x.clone())), (some((3, 2), 365), some(3, 366)))
            .smooth(),
        row!("gradients mapped over rows": (M, V) => M,
            |(a, w)| vmap(|row| grad(|x| (x * w.lift()).sin().sum(), &row), a), (some((3, 2), 367), some(2, 368)))
            .smooth(),
        row!("loops mapped over rows": M => V, |a| vmap(|row| fold(scalar(0.5), &row, |s, x| (s * x).cos()), a), some((3, 4), 369))
            .smooth(),
        row!("a map of nothing": M => V, |a| vmap(|row| row.sum(), a), t((0, 2), &[])).value([]).gradient([]),
        row!("a map of a map": T3 => M, |a| vmap(|m| vmap(|row| row.powi(2).sum(), &m), a), some((2, 3, 2), 370)).smooth(),
    ]
}
