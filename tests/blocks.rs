//! Kernels that go along the rows of large arrays together, some rows at a time.

#[path = "../examples/objectives/gmm.rs"]
mod gmm;

use deltaray::engine::cpu::Cpu;
use deltaray::prelude::*;
use gmm::{Mixture, Wishart, log_likelihood, log_prior};

/// Numbers that look random, of the order of one.
fn numbers(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    (0..count).map(|_| next()).collect()
}

fn mixture(k: usize, d: usize) -> Mixture<Concrete> {
    let table = |columns: usize, seed: u64| Matrix::from_elements((k, columns), numbers(k * columns, seed));
    Mixture {
        alpha: numbers(k, 1).into(),
        means: table(d, 2),
        log_diagonals: table(d, 3),
        lower: table(d * (d - 1) / 2, 4),
    }
}

fn objective<A: Algebra>((mixture, points, prior): &(Mixture<A>, Matrix<A, f64>, Wishart<A>)) -> Scalar<A, f64> {
    log_likelihood(mixture, points) + log_prior(mixture, prior)
}

fn prior() -> Wishart<Concrete> {
    Wishart { gamma: 0.9.into(), m: 1.0.into() }
}

fn flat(value: &Scalar<Concrete, f64>, gradient: &Mixture<Concrete>) -> Vec<f64> {
    let Mixture { alpha, means, log_diagonals, lower } = gradient;
    [vec![value.item()], alpha.to_vec(), means.to_vec(), log_diagonals.to_vec(), lower.to_vec()].concat()
}

fn close(found: &[f64], expected: &[f64]) {
    let scale = expected.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= 1e-11 * scale, "{found} instead of {expected}");
    }
}

/// The reverse derivative by dual arrays, which no kernel takes part in.
fn by_dual_arrays(mixture: &Mixture<Concrete>, points: &Matrix<Concrete, f64>) -> Vec<f64> {
    let (value, gradient) = value_and_grad(objective, (mixture, points, &prior()));
    flat(&value, &gradient)
}

#[test]
fn a_mixture_of_gaussians_takes_fifteen_kernels_and_no_table_of_all_differences() {
    let (n, k, d) = (1000, 25, 10);
    let (mixture, points) = (mixture(k, d), Matrix::from_elements((n, d), numbers(n * d, 5)));
    let staged = stage(objective, (&mixture, &points, &prior())).unwrap();
    let gradient = staged.grad().unwrap().compile(Cpu::default()).unwrap();
    assert!(gradient.program().kernels() <= 15, "{}", gradient.program().report());
    let compiled = staged.value_and_grad().unwrap().compile(Cpu::default().threads(1)).unwrap();
    let all_differences = 8 * n * k * d;
    assert!(compiled.program().memory() < all_differences, "{}", compiled.program().report());
    let (value, gradient) = compiled.call((&mixture, &points, &prior())).unwrap();
    close(&flat(&value, &gradient), &by_dual_arrays(&mixture, &points));
}

#[test]
fn blocks_of_any_number_of_rows_and_threads_agree() {
    let (k, d) = (9, 5);
    let mixture = mixture(k, d);
    // A last block that is whole, that has one row, and all but one.
    for n in [4096, 4097, 4095, 3001] {
        let points = Matrix::from_elements((n, d), numbers(n * d, 6));
        let staged = stage(objective, (&mixture, &points, &prior())).unwrap().value_and_grad().unwrap();
        let on = |threads: usize| {
            let compiled = staged.compile(Cpu::default().threads(threads)).unwrap();
            assert!(compiled.to_string().contains("rows:"), "there are blocks: {compiled}");
            let (value, gradient) = compiled.call((&mixture, &points, &prior())).unwrap();
            flat(&value, &gradient)
        };
        let one = on(1);
        close(&one, &by_dual_arrays(&mixture, &points));
        let bits = |x: &[f64]| -> Vec<u64> { x.iter().map(|x| x.to_bits()).collect() };
        (2..=5).for_each(|threads| assert_eq!(bits(&on(threads)), bits(&one), "{threads} threads"));
    }
}

#[test]
fn what_crosses_rows_is_read_when_all_rows_are_known() {
    // Centred columns: the means of all rows are needed at each of them; shifted rows: the one before is.
    fn centred<A: Algebra>(x: &Matrix<A, f64>) -> (Matrix<A, f64>, Scalar<A, f64>) {
        let squares = x.sin() * x;
        let centred = &squares - squares.mean_axis(0);
        let shifted = squares.slice(0, 1..) - centred.slice(0, ..squares.len() - 1);
        (centred, (shifted.powi(2).sum_axis(1).exp() * 1e-3).sum())
    }
    for n in [257, 5000] {
        let x = Matrix::<Concrete, f64>::from_elements((n, 16), numbers(n * 16, 7));
        let compiled = stage(centred, &x).unwrap().compile(Cpu::default()).unwrap();
        let ((found, sum), (expected, expected_sum)) = (compiled.call(&x).unwrap(), centred(&x));
        close(&found.to_vec(), &expected.to_vec());
        close(&[sum.item()], &[expected_sum.item()]);
    }
}

#[test]
fn short_rows_are_shifted_turned_and_put_side_by_side() {
    fn moved<A: Algebra>(x: &Matrix<A, f64>) -> (Matrix<A, f64>, Vector<A, f64>) {
        let y = x.sin();
        // Read where guards hold, from the right and from the left, against the order of columns, and as a factor.
        let sides = y.pad(1, 1, 2).slice(1, ..3) * &y + y.pad(1, 0, 2).slice(1, 2..) * y.reverse(1);
        let both = concatenate(1, &[sides.clone(), y.exp()]);
        let turned = both.dot(&both.slice(0, ..6));
        let sums = (&turned * &both).sum_axis(1) * sides.powi(2).sum_axis(1);
        (turned.cos(), sums)
    }
    for n in [640, 9001] {
        let x = Matrix::<Concrete, f64>::from_elements((n, 3), numbers(n * 3, 8));
        let compiled = stage(moved, &x).unwrap().compile(Cpu::default()).unwrap();
        let ((found, sums), (expected, expected_sums)) = (compiled.call(&x).unwrap(), moved(&x));
        close(&found.to_vec(), &expected.to_vec());
        close(&sums.to_vec(), &expected_sums.to_vec());
    }
}

/// The updates were written into a block's own rows, before the copy of the target, which came after the blocks: they were lost.
#[test]
fn steps_on_one_buffer_keep_their_order() {
    type M<A> = Matrix<A, f64>;
    fn set<A: Algebra>((m, t, u, k): &(M<A>, M<A>, M<A>, Vector<A, i64>)) -> (M<A>, M<A>) {
        (deltaray::functions::softmax(m, 0), t.scatter_set(k, u))
    }
    fn added<A: Algebra>((m, t, u, k): &(M<A>, M<A>, M<A>, Vector<A, i64>)) -> (M<A>, M<A>) {
        let t = t + m.sum();
        (deltaray::functions::softmax(m, 0) * &t, t.scatter_add(k, u).scatter_set(k, &(u * 2.0)) - t.sin())
    }
    for columns in [500, 9000] {
        let table = |rows: usize, seed: u64| Matrix::from_elements((rows, columns), numbers(rows * columns, seed));
        let at = (table(2, 1), table(2, 2), table(1, 3), Vector::from(vec![1]));
        macro_rules! check {
            ($($f:ident),*) => { $(
                let (soft, written) = $f(&at);
                let program = stage($f, &at).unwrap().compile(Cpu::default()).unwrap();
                let (found_soft, found) = program.call(&at).unwrap();
                close(&found_soft.to_vec(), &soft.to_vec());
                close(&found.to_vec(), &written.to_vec());
            )* };
        }
        check!(set, added);
    }
}

/// A layer of a network, after another.
fn layer<A: Algebra>((x, weights, bias): &(Matrix<A, f64>, Matrix<A, f64>, Vector<A, f64>)) -> Matrix<A, f64> {
    ((x * 2.0).tanh().dot(weights) + bias).relu()
}

#[test]
fn products_of_blocks_have_the_operands_of_each_call() {
    for (n, k, m) in [(2000, 64, 100), (2001, 300, 40)] {
        let x = Matrix::from_elements((n, k), numbers(n * k, 1));
        let bias = Vector::from(numbers(m, 2));
        let weights = |seed: u64| Matrix::from_elements((k, m), numbers(k * m, seed));
        let staged = stage(layer, &(x.clone(), weights(3), bias.clone())).unwrap();
        for threads in [1, 2, 3] {
            let compiled = staged.compile(Cpu::default().threads(threads)).unwrap();
            assert!(compiled.to_string().contains("rows:"), "there are blocks: {compiled}");
            for seed in 3..6 {
                let at = (x.clone(), weights(seed), bias.clone());
                let found = compiled.call(&at).unwrap();
                close(&found.to_vec(), &layer(&at).to_vec());
            }
        }
    }
}

#[test]
fn sums_that_a_loop_carries_are_continued_from_block_to_block() {
    type Sums = (Matrix<Concrete, f64>, Vector<Concrete, f64>);
    /// States of all samples, step by step; sums of products and of elements over all of them.
    fn sums<A: Algebra>(xs: &Tensor3<A, f64>) -> (Matrix<A, f64>, Vector<A, f64>) {
        let [_, rows, columns] = xs.shape()[..] else { unreachable!() };
        let start = (zeros((rows, columns)), zeros((columns, columns)), zeros(columns));
        // The next state depends on the sums, so that they can't be taken after the loop.
        let step = |(state, products, totals): (Matrix<A, f64>, Matrix<A, f64>, Vector<A, f64>), x: Matrix<A, f64>| {
            let next = ((&state + &x) * (products.at((0, 0)) * 1e-6 + 1.7)).sin();
            let totals = totals + (&next * &state).sum_axis(0);
            (next.clone(), products + next.transpose().dot(&(&next * &x)), totals)
        };
        let (_, products, totals) = fold(start, xs, step);
        (products, totals)
    }
    for n in [1000, 2003] {
        let xs = Tensor3::<Concrete, f64>::from_elements((5, n, 64), numbers(5 * n * 64, 9));
        let staged = stage(sums, &xs).unwrap();
        let expected: Sums = sums(&xs);
        let on = |threads: usize| {
            let compiled = staged.compile(Cpu::default().threads(threads)).unwrap();
            assert!(compiled.to_string().contains("rows:"), "there are blocks: {compiled}");
            let (products, totals) = compiled.call(&xs).unwrap();
            close(&products.to_vec(), &expected.0.to_vec());
            close(&totals.to_vec(), &expected.1.to_vec());
            [products.to_vec(), totals.to_vec()].concat()
        };
        let one = on(1);
        assert!((2..=3).all(|threads| on(threads) == one));
    }
}
