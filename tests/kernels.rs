//! Compiled programs: fusion, reports, and threads that change no bit.

use deltaray::engine::cpu::Cpu;
use deltaray::prelude::*;

#[path = "kernels/gathers.rs"]
mod gathers;
#[path = "kernels/matrices.rs"]
mod matrices;
#[path = "kernels/products.rs"]
mod products;
#[path = "kernels/whiles.rs"]
mod whiles;

/// Numbers that look random.
fn numbers(count: usize) -> Vec<f64> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    (0..count).map(|_| next()).collect()
}

fn close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= 1e-13, "{found} instead of {expected}");
    }
}

fn bits(x: &[f64]) -> Vec<u64> {
    x.iter().map(|x| x.to_bits()).collect()
}

fn chain<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
    (x.sin() * (-(x * x)).exp() + x.tanh()).sum()
}

fn logistic<A: Algebra>((w, x, y): &(Vector<A, f64>, Matrix<A, f64>, Vector<A, f64>)) -> Scalar<A, f64> {
    let z = x.dot(w);
    (z.softplus() - y * z).mean()
}

fn squares_of_product<A: Algebra>((a, b): &(Matrix<A, f64>, Matrix<A, f64>)) -> Scalar<A, f64> {
    a.dot(b).powi(2).sum()
}

#[test]
fn an_elementwise_chain_and_its_sum_are_one_kernel() {
    let x: Vector<Concrete, f64> = numbers(1000).into();
    let objective = stage(chain, &x).unwrap();
    assert_eq!(objective.compile(Cpu::default()).unwrap().program().kernels(), 1);
    let gradient = objective.value_and_grad().unwrap().compile(Cpu::default()).unwrap();
    assert_eq!(gradient.program().kernels(), 1, "{gradient}");
    let (value, derivative) = gradient.call(&x).unwrap();
    let (expected, expected_derivative) = value_and_grad(chain, &x);
    assert!((value.item() - expected.item()).abs() < 1e-12 * 1000.0);
    for (found, expected) in derivative.to_vec().iter().zip(expected_derivative.to_vec()) {
        assert!((found - expected).abs() < 1e-14, "{found} instead of {expected}");
    }
}

#[test]
fn results_are_the_same_bits_on_any_number_of_threads() {
    let x: Vector<Concrete, f64> = numbers(300_001).into();
    let gradient = stage(chain, &x).unwrap().value_and_grad().unwrap();
    let on = |threads| {
        let (value, gradient) = gradient.compile(Cpu::default().threads(threads)).unwrap().call(&x).unwrap();
        (value.item().to_bits(), bits(&gradient.to_vec()))
    };
    let one = on(1);
    assert!((2..=5).all(|threads| on(threads) == one), "an elementwise chain");

    let points = Matrix::<Concrete, f64>::from_elements((5003, 37), numbers(5003 * 37));
    let (weights, labels): (Vector<Concrete, f64>, Vector<Concrete, f64>) = (numbers(37).into(), numbers(5003).into());
    let arguments = (&weights, &points, &labels);
    let gradient = stage(logistic, arguments).unwrap().value_and_grad().unwrap();
    let on = |threads| {
        let (value, gradient) = gradient.compile(Cpu::default().threads(threads)).unwrap().call(arguments).unwrap();
        (value.item().to_bits(), bits(&gradient.to_vec()))
    };
    let one = on(1);
    assert!((2..=5).all(|threads| on(threads) == one), "sums over the outer axis");

    let (a, b) = (
        Matrix::<Concrete, f64>::from_elements((301, 97), numbers(301 * 97)),
        Matrix::<Concrete, f64>::from_elements((97, 211), numbers(97 * 211)),
    );
    let gradient = stage(squares_of_product, (&a, &b)).unwrap().value_and_grad().unwrap();
    let on = |threads| {
        let (value, gradient) = gradient.compile(Cpu::default().threads(threads)).unwrap().call((&a, &b)).unwrap();
        (value.item().to_bits(), bits(&gradient.to_vec()))
    };
    let one = on(1);
    assert!((2..=5).all(|threads| on(threads) == one), "products of matrices");
}

#[test]
fn a_program_is_called_from_several_threads_at_once() {
    let x: Vector<Concrete, f64> = numbers(20_000).into();
    let gradient = stage(chain, &x).unwrap().grad().unwrap().compile(Cpu::default().threads(2)).unwrap();
    let expected = bits(&gradient.call(&x).unwrap().to_vec());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let x: Vector<Concrete, f64> = numbers(20_000).into();
                (0..20).for_each(|_| assert_eq!(bits(&gradient.call(&x).unwrap().to_vec()), expected));
            });
        }
    });
}

#[test]
fn reports_state_kernels_operations_and_bytes() {
    let (a, b) = (ones((64, 32)), ones((32, 16)));
    let program = stage(squares_of_product, (&a, &b)).unwrap().compile(Cpu::default().profile(true)).unwrap();
    (0..3).for_each(|_| drop(program.call((&a, &b)).unwrap()));
    let report = program.program().report();
    let product = &report.kernels[0];
    assert_eq!(product.name, "product 64x32x16");
    assert_eq!((product.times, product.operations), (1, 2.0 * 64.0 * 32.0 * 16.0));
    assert_eq!(product.bytes, 8.0 * (64 * 32 + 32 * 16 + 64 * 16) as f64);
    assert_eq!(report.kernels.len(), 2);
    assert!(report.kernels.iter().all(|kernel| kernel.seconds.is_some_and(|seconds| seconds > 0.0)));
    assert_eq!(report.interface, 8 * (64 * 32 + 32 * 16 + 1));
    // The product is stored for its squares to be summed; nothing else is.
    assert!(report.memory >= 8 * 64 * 16 && report.memory < 8 * 64 * 16 + 1024, "{}", report.memory);
    let text = report.to_string();
    assert!(text.contains("product 64x32x16") && text.contains("#") && text.contains("2 kernels"), "{text}");
}

/// Zero, not zero below zero.
#[test]
fn a_program_that_computes_nothing_has_no_operations() {
    let x: Vector<Concrete, f64> = numbers(3).into();
    let program = stage(|x: &Vector<_, f64>| x.clone(), &x).unwrap().compile(Cpu::default()).unwrap();
    let text = program.program().report().to_string();
    assert!(text.contains("0 kernels, 0.000e0 operations, 0.000e0 bytes"), "{text}");
}

#[test]
fn a_loop_is_a_procedure_of_its_own() {
    fn decay<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
        iterate(x.clone(), 100, |x: Vector<A, f64>| &x - x.sin() * 0.1).sum()
    }
    let x: Vector<Concrete, f64> = numbers(10).into();
    let program = stage(decay, &x).unwrap().compile(Cpu::default()).unwrap();
    let report = program.program().report();
    assert_eq!(report.kernels.iter().map(|kernel| kernel.times).collect::<Vec<_>>(), [100, 1], "{report}");
    assert!((program.call(&x).unwrap().item() - decay(&x).item()).abs() < 1e-12);
}

#[test]
fn distances_of_all_pairs_of_rows_go_through_parts_of_them() {
    fn nearest<A: Algebra>((points, centres): &(Matrix<A, f64>, Matrix<A, f64>)) -> Vector<A, f64> {
        (points.insert_axis(1) - centres).powi(2).sum_axis(2).min_axis(1)
    }
    fn likest<A: Algebra>((points, centres): &(Matrix<A, f64>, Matrix<A, f64>)) -> Vector<A, f64> {
        (points.insert_axis(1) * centres).sum_axis(2).max_axis(1)
    }
    // Centres that the first-level cache has room for, others, and a number of them that has no divisors.
    for (n, k, d) in [(300, 8, 130), (90, 96, 130), (90, 64, 257), (70, 101, 130), (5, 3, 40)] {
        let points = Matrix::<Concrete, f64>::from_elements((n, d), numbers(n * d));
        let centres = Matrix::<Concrete, f64>::from_elements((k, d), numbers((k + 1) * d)[d..].to_vec());
        let arguments = (&points, &centres);
        let eager = (points.clone(), centres.clone());
        let nearest_found =
            stage(nearest, arguments).unwrap().compile(Cpu::default()).unwrap().call(arguments).unwrap();
        let likest_found = stage(likest, arguments).unwrap().compile(Cpu::default()).unwrap().call(arguments).unwrap();
        for (found, expected) in [(nearest_found, nearest(&eager)), (likest_found, likest(&eager))] {
            for (found, expected) in found.to_vec().iter().zip(expected.to_vec()) {
                assert!((found - expected).abs() < 1e-11, "{found} instead of {expected}: {n} {k} {d}");
            }
        }
    }
}

#[test]
fn running_sums_of_any_length_agree() {
    fn totals<A: Algebra>(x: &Vector<A, f64>) -> Vector<A, f64> {
        x.cumsum(0)
    }
    // Whole numbers, whose sums are exact in any order, at lengths around those of blocks.
    for n in [1, 5, 31, 32, 33, 511, 512, 513, 1037, 5000] {
        let x: Vector<Concrete, f64> = numbers(n).iter().map(|x| (x * 100.0).round()).collect::<Vec<_>>().into();
        let staged = stage(totals, &x).unwrap();
        assert_eq!(staged.compile(Cpu::default()).unwrap().call(&x).unwrap().to_vec(), totals(&x).to_vec(), "{n}");
        let gradient = stage(|x| (totals(x) * x).sum(), &x).unwrap().grad().unwrap();
        let expected = grad(|x| (totals(x) * x).sum(), &x).to_vec();
        assert_eq!(gradient.compile(Cpu::default()).unwrap().call(&x).unwrap().to_vec(), expected, "{n}");
    }
    let special =
        [vec![1.0; 300], vec![f64::INFINITY], vec![2.0; 100], vec![f64::NEG_INFINITY], vec![3.0; 200]].concat();
    let x: Vector<Concrete, f64> = special.into();
    let found = stage(totals, &x).unwrap().compile(Cpu::default()).unwrap().call(&x).unwrap();
    assert_eq!(format!("{:?}", found.to_vec()), format!("{:?}", totals(&x).to_vec()));
}

#[test]
fn loops_of_one_nest_go_both_ways_and_keep_what_was() {
    type V<A> = Vector<A, f64>;
    type M<A> = Matrix<A, f64>;
    // Carries that take turns, an old one among the outputs, one that is only handed on, and a factor for all steps.
    fn steps<A: Algebra>((x, factor): &(M<A>, V<A>)) -> (V<A>, (M<A>, M<A>, M<A>), V<A>) {
        let first = factor.sin();
        let step = |(a, b): (V<A>, V<A>), x: V<A>| {
            let next = &a * factor + x.tanh();
            ((b.clone(), next.clone()), (a, next, x))
        };
        let ((a, _), outputs) = scan((first.clone(), first * 0.5), x, x.len(), step);
        let back = scan_reverse(factor.clone(), x, x.len(), |a, x| (a * 0.5 + x, ())).0;
        (a, outputs, back)
    }
    for (count, width) in [(0, 5), (1, 5), (2, 5), (7, 14), (30, 3)] {
        let x = Matrix::<Concrete, f64>::from_elements((count, width), numbers(count * width));
        let factor = Vector::<Concrete, f64>::from_elements(width, numbers(width));
        let compiled = stage(steps, (&x, &factor)).unwrap().compile(Cpu::default()).unwrap();
        let arguments = (x, factor);
        let (a, (old, new, inputs), back) = compiled.call((&arguments.0, &arguments.1)).unwrap();
        let (b, (expected_old, expected_new, expected_inputs), expected_back) = steps(&arguments);
        for (found, expected) in [(&a, &b), (&back, &expected_back)] {
            close(&found.to_vec(), &expected.to_vec());
        }
        for (found, expected) in [(old, expected_old), (new, expected_new), (inputs, expected_inputs)] {
            close(&found.to_vec(), &expected.to_vec());
        }
    }
}
