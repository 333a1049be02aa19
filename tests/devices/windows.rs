//! Sums at known places that overlap: the gradients of reads of windows.

use crate::is_there;
use deltaray::functions::{Window, convolution_2d, mean_pool_2d};
use deltaray::opencl::{DeviceKind, OpenCl};
use deltaray::prelude::*;

/// With the device's defaults, and as for graphics processors, with everything shared that can be.
fn all() -> [OpenCl; 2] {
    [OpenCl::default(), OpenCl::default().written_for(DeviceKind::Gpu).least_steps(1)]
}

/// Steps of both axes of windows, the first place, and the extents.
fn windows() -> Vec<([i64; 2], i64, [usize; 2])> {
    let mut all = vec![
        ([1, -1], 4, [12, 5]),
        ([-1, 1], 12, [12, 5]),
        ([-2, -1], 30, [12, 5]),
        ([2, 4], 0, [12, 5]),
        ([6, 4], 0, [4, 5]),
        ([0, 1], 2, [12, 5]),
        ([1, 0], 2, [12, 5]),
    ];
    for step in 1..4 {
        for distance in 1..4 {
            // Some places are before the first element, and some after the last one.
            all.push(([step, distance], -3, [12, 5]));
            all.push(([step, distance], 2, [3, 5]));
        }
    }
    all
}

/// The gradients of sums of elements in windows, each times a number of its own.
fn gradients<A: Algebra>((x, numbers): &(Vector<A, f64>, Matrix<A, f64>)) -> Vec<Vector<A, f64>> {
    let gradient = |([step, distance], first, extents): ([i64; 2], i64, [usize; 2])| {
        let sum = |(x, numbers): &(Vector<_, f64>, Matrix<_, f64>)| {
            build(extents, |[i, j]| x.at(&(&i * step + &j * distance + first)).exp() * numbers.at((&i, &j))).sum()
        };
        grad(sum, (x, numbers))
    };
    windows().into_iter().map(gradient).collect()
}

#[test]
fn overlapping_windows_are_summed_by_elements() {
    if !is_there() {
        return;
    }
    let x = Vector::from((0..31).map(|at| (f64::from(at) * 0.7).sin()).collect::<Vec<f64>>());
    let numbers = Matrix::from_elements([12, 5], (0..60).map(|at| f64::from(at * at % 17)).collect());
    let staged = stage(gradients, (&x, &numbers)).unwrap();
    let expected = staged.interpret((&x, &numbers)).unwrap();
    for options in all() {
        let compiled = staged.compile(options.clone()).unwrap();
        let source = compiled.program().source();
        assert!(!source.contains("atomic_sum_f64(&"), "{source}");
        let found = compiled.call((&x, &numbers)).unwrap();
        for ((found, expected), window) in found.iter().zip(&expected).zip(windows()) {
            for (a, b) in found.to_vec().iter().zip(expected.to_vec()) {
                assert!((a - b).abs() <= 1e-12 * (1.0 + b.abs()), "{window:?}: {a} for {b}\n{source}");
            }
        }
    }
}

#[allow(clippy::type_complexity)]
fn across<A: Algebra>(x: &Matrix<A, f64>) -> (Matrix<A, f64>, Matrix<A, f64>) {
    // Both axes of the array go along one loop, out of the array at its beginning; and numbers of positions wrap.
    let both = |x: &Matrix<_, f64>| {
        build([5, 3, 2], |[i, j, k]| x.at((&i - 1, &i + &j + &k - 2)).exp() * (&i * 6 + &j * 2 + &k).cast::<f64>())
            .sum()
    };
    let far = |x: &Matrix<_, f64>| {
        build([4, 5], |[i, j]| x.at((&i - &j, 1)).exp() * (&j * i64::MAX + &i).cast::<f64>().sin()).sum()
    };
    (grad(both, x), grad(far, x))
}

#[test]
fn windows_across_both_axes_of_an_array() {
    if !is_there() {
        return;
    }
    let x = Matrix::from_elements([3, 6], (0..18).map(|at| (f64::from(at) * 0.7).sin()).collect());
    let staged = stage(across, &x).unwrap();
    let expected = staged.interpret(&x).unwrap();
    for options in all() {
        let compiled = staged.compile(options).unwrap();
        let found = compiled.call(&x).unwrap();
        for (found, expected) in [(&found.0, &expected.0), (&found.1, &expected.1)] {
            for (a, b) in found.reshape([18]).to_vec().iter().zip(expected.reshape([18]).to_vec()) {
                assert!((a - b).abs() <= 1e-12 * (1.0 + b.abs()), "{a} for {b}\n{}", compiled.program());
            }
        }
    }
}

#[allow(clippy::type_complexity)]
fn images<A: Algebra>((x, k): &(Tensor4<A, f64>, Tensor4<A, f64>)) -> (Vec<Tensor4<A, f64>>, Vec<Tensor4<A, f64>>) {
    let windows = [
        Window::default(),
        Window { stride: [2, 2], padding: [(1, 1), (1, 1)], dilation: [1, 1] },
        Window { stride: [2, 3], padding: [(1, 0), (0, 2)], dilation: [1, 2] },
        Window { stride: [1, 2], padding: [(2, 2), (2, 2)], dilation: [3, 1] },
        Window { stride: [2, 2], padding: [(2, 2), (2, 2)], dilation: [3, 3] },
    ];
    let of_images = windows.iter().map(|window| grad(|(x, k)| convolution_2d(x, k, window, 1).sin().sum(), (x, k)));
    let of_pools =
        windows.iter().map(|window| grad(|x: &Tensor4<_, f64>| mean_pool_2d(x, [3, 2], window).sin().sum(), x));
    let of_kernels = windows.iter().map(|window| grad(|(k, x)| convolution_2d(x, k, window, 1).sin().sum(), (k, x)));
    (of_images.chain(of_pools).collect(), of_kernels.collect())
}

#[test]
fn gradients_of_convolutions_exchange_nothing_atomically() {
    if !is_there() {
        return;
    }
    let elements = |count: i32| (0..count).map(|at| (f64::from(at) * 0.37).sin()).collect();
    let x = Tensor4::from_elements((2, 2, 9, 8), elements(288));
    let k = Tensor4::from_elements((3, 2, 3, 2), elements(36));
    let staged = stage(images, (&x, &k)).unwrap();
    let expected = staged.interpret((&x, &k)).unwrap();
    for options in all() {
        let compiled = staged.compile(options).unwrap();
        let source = compiled.program().source();
        assert!(!source.contains("atomic"), "{source}");
        let found = compiled.call((&x, &k)).unwrap();
        let pairs = found.0.iter().zip(&expected.0).chain(found.1.iter().zip(&expected.1));
        for (number, (found, expected)) in pairs.enumerate() {
            let flat = |tensor: &Tensor4<_, f64>| tensor.reshape([tensor.size()]).to_vec();
            for (a, b) in flat(found).iter().zip(flat(expected)) {
                assert!((a - b).abs() <= 1e-10 * (1.0 + b.abs()), "{number}: {a} for {b}");
            }
        }
    }
}
