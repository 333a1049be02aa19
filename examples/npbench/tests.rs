//! Kernels at a small size, beside the definitions that they compute and finite differences.

use super::*;

fn close(name: &str, found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{name}");
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= 1e-9 * (1.0 + expected.abs()), "{name}: {found} instead of {expected}");
    }
}

/// The elements of all arrays of a tree.
fn flat<T: Tree<Concrete>>(tree: &T) -> Vec<f64> {
    let of =
        |array: deltaray::concrete::Array| (0..array.size()).map(|at| array.element(at).to_f64()).collect::<Vec<f64>>();
    tree.leaves().into_iter().flat_map(of).collect()
}

/// Checks values against plain arrays, and gradients against dual arrays and finite differences along themselves.
struct Checks;

impl Visitor for Checks {
    fn kernel<F: ArrayFn>(&mut self, kernel: Kernel<'_, F>, at: impl FnOnce() -> Plain<F::In>) {
        let (Kernel { name, function, result, .. }, at) = (kernel, at());
        let results = function.call::<Concrete>(&at);
        let expected = flat(&results);
        assert!(result < results.leaves().len(), "{name}");
        let staged = stage(|at| function.call::<Staged>(at), &at).expect("a kernel is staged");
        let compiled = staged.compile(Cpu::default()).expect("it is compiled");
        close(name, &flat(&compiled.call(&at).expect("it runs")), &expected);
        let total = Total(function, None);
        let staged = stage(|at| total.call::<Staged>(at), &at).expect("it is staged");
        let gradient = staged.grad().expect("a gradient").compile(Cpu::default()).expect("it is compiled");
        let found = flat(&gradient.call(&at).expect("it runs"));
        let slope = Grad(&total).call::<Concrete>(&at);
        let (slope, _) = ravel::<Concrete, f64, _>(&slope);
        // With several arguments the staged gradient is taken by the first.
        close(name, &found, &slope.to_vec()[..found.len()]);
        let (point, rebuild) = ravel::<Concrete, f64, _>(&at);
        let length = (&slope * &slope).sum().item();
        let step = 1e-5 / length.sqrt().max(1e-3);
        let value = |by: f64| total.call::<Concrete>(&rebuild.tree::<Concrete, f64>(&(&point + &slope * by))).item();
        let found = (value(step) - value(-step)) / (2.0 * step);
        assert!((found - length).abs() <= 1e-5 * (1.0 + length), "{name}: {found} instead of {length}");
    }
}

#[test]
fn gradients_are_those_of_finite_differences() {
    visit(&mut Checks, Preset::Test);
}

#[test]
fn factors_and_solutions_are_what_they_are_called() {
    let n = 6;
    let (a, b) = (positive(n), vector(n, 2));
    let at = |m: &Matrix<Concrete, f64>, i: usize, j: usize| m.at((i, j)).item();
    let l = factorisations::cholesky(&a);
    for i in 0..n {
        for j in 0..=i {
            let product: f64 = (0..=j).map(|k| at(&l, i, k) * at(&l, j, k)).sum();
            assert!((product - at(&a, i, j)).abs() < 1e-12, "{i}, {j}");
        }
    }
    let (x, _) = factorisations::ludcmp(&a, &b);
    close("ludcmp", &a.dot(&x).to_vec(), &b.to_vec());
    let x = factorisations::trisolv(&a, &b);
    let lower = build((n, n), |(i, j)| i.ge(&j).select(a.at((&i, &j)), 0.0));
    close("trisolv", &lower.dot(&x).to_vec(), &b.to_vec());
}

#[test]
fn products_of_triangles_are_those_of_whole_matrices() {
    let n = 6;
    let (a, b, c) = (table(n, n, 1), table(n, n, 2), table(n, n, 3));
    let symmetric = build((n, n), |(i, j)| i.ge(&j).select(a.at((&i, &j)), a.at((&j, &i))));
    let expected = 1.5 * symmetric.dot(&b) + 1.2 * &c;
    close("symm", &factorisations::symm(&a, &b, &c, 1.5, 1.2).to_vec(), &expected.to_vec());
    let product = 1.5 * a.dot(&a.transpose()) + 1.2 * &c;
    let expected = build((n, n), |(i, j)| i.ge(&j).select(product.at((&i, &j)), c.at((&i, &j))));
    close("syrk", &factorisations::syrk(&a, &c, 1.5, 1.2).to_vec(), &expected.to_vec());
    let unit = build((n, n), |(i, j)| i.equal(&j).select(1.0, i.gt(&j).select(a.at((&i, &j)), 0.0)));
    close("trmm", &factorisations::trmm(&a, &b, 1.5).to_vec(), &(1.5 * unit.transpose().dot(&b)).to_vec());
}

#[test]
fn networks_and_softmax_are_those_of_their_parts() {
    let x = table(3, 4, 1);
    let layer = |rows: usize, columns: usize, seed: u64| (table(rows, columns, seed), vector(columns, seed + 1));
    let (first, second, third) = (layer(4, 5, 2), layer(5, 6, 4), layer(6, 3, 6));
    let found = products::mlp(&x, &first, &second, &third);
    close("mlp", &found.sum_axis(1).to_vec(), &[1.0; 3]);
    let powers = x.exp();
    let expected = &powers / powers.sum_axis(1).insert_axis(1);
    close("softmax", &products::softmax(&x.reshape((1, 1, 3, 4))).to_vec(), &expected.to_vec());
}
