//! Programs of the corpus at large sizes. The largest are for optimised code: `scripts/test --long` runs them there.

#[path = "large/chains.rs"]
mod chains;
#[path = "large/exports.rs"]
mod exports;

use deltaray::algebra::Algebra;
use deltaray::engine::cpu::Cpu;
use deltaray::prelude::*;

/// A size, which is smaller where code is not optimised.
pub const fn size(optimised: usize, otherwise: usize) -> usize {
    if cfg!(debug_assertions) { otherwise } else { optimised }
}

type M = Matrix<Concrete, f64>;
type S = Scalar<Concrete, f64>;
type T4 = Tensor4<Concrete, f64>;

/// Floats that look random, between −1 and 1, the same in every run.
fn some(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn assert_close(found: &[f64], expected: &[f64], relative: f64) {
    assert_eq!(found.len(), expected.len());
    let scale = expected.iter().fold(1.0, |scale: f64, x| scale.max(x.abs()));
    for (at, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= relative * scale, "element {at} is {a} instead of {b}");
    }
}

/// All orders of `0..n` with their signs: each from the one before by exchanging two (Heap's method), so the signs alternate.
fn permutations(n: usize) -> (Vec<i64>, Vec<f64>) {
    let mut order: Vec<i64> = (0..n as i64).collect();
    let (mut orders, mut signs) = (order.clone(), vec![1.0]);
    let (mut counters, mut at, mut sign) = (vec![0; n], 1, 1.0);
    while at < n {
        if counters[at] < at {
            order.swap(if at % 2 == 0 { 0 } else { counters[at] }, at);
            sign = -sign;
            orders.extend_from_slice(&order);
            signs.push(sign);
            counters[at] += 1;
            at = 1;
        } else {
            counters[at] = 0;
            at += 1;
        }
    }
    (orders, signs)
}

/// The determinant as a sum over a table of permutations, each product by a loop.
fn determinant<A: Algebra>((a, orders, signs): &(Matrix<A, f64>, Matrix<A, i64>, Vector<A, f64>)) -> Scalar<A, f64> {
    let n = a.len();
    let products = build(signs.len(), |p| {
        let order = orders.at(&p);
        let factors = build(n, |i| a.at((&i, order.at(&i))));
        scan(scalar(1.0), &factors, n, |product, x| (product * x, ())).0
    });
    (products * signs).sum()
}

/// A loop over all permutations at once, 3,628,800 of ten. `∇ det A = det A · A⁻ᵀ`, known for `I + 1 1ᵀ` in closed form.
#[test]
fn a_determinant_by_permutations() {
    const N: usize = size(10, 7);
    let (orders, signs) = permutations(N);
    let a: M = build((N, N), |(i, j)| 1.0 + i.equal(j).cast::<f64>());
    let orders = Tensor::from_elements((signs.len(), N), orders);
    let arguments = (a, orders, Vector::from(signs));
    let program = stage(determinant, &arguments).unwrap().value_and_grad().unwrap();
    let (value, (gradient, ..)) = program.call(&arguments).unwrap();
    assert_close(&[value.item()], &[(N + 1) as f64], 1e-9);
    let expected: Vec<f64> = (0..N * N).map(|at| if at % (N + 1) == 0 { N as f64 } else { -1.0 }).collect();
    assert_close(&gradient.to_vec(), &expected, 1e-8);
}

/// A scalar loop that takes one of eight ways at each step.
fn ways<A: Algebra>(x: &Scalar<A, f64>, steps: usize) -> Scalar<A, f64> {
    let step = |x: Scalar<A, f64>, ()| {
        let s = (&x * 10.0).cast::<i64>() % 4;
        let case = |y0: Scalar<A, f64>, y1: Scalar<A, f64>, y2: Scalar<A, f64>, y3: Scalar<A, f64>| {
            s.equal(0).select(y0, s.equal(1).select(y1, s.equal(2).select(y2, y3)))
        };
        let next = cond(
            x.gt(100.0),
            || case(1.0 + x.sin(), 1.0 + x.cos(), x.ln1p(), x.sqrt()),
            || case(&x + 10.0, x.powi(3), (&x / 10.0).exp(), 10.0 * x.powi(2)),
        );
        (next, ())
    };
    scan(x.clone(), &(), steps, step).0
}

/// As long as one likes, without deep recursion; forward against reverse, staged against eager.
#[test]
fn a_loop_of_very_many_steps() {
    const MOST: usize = size(100_000, 10_000);
    let x: S = scalar(3.0);
    let program = |steps: usize| stage(|x| ways(x, steps), &x).unwrap();
    let nodes = |steps: usize| program(steps).value_and_grad().unwrap().program().node_count();
    assert_eq!(nodes(10), nodes(MOST));
    for steps in [10, 1_000, MOST] {
        let program = program(steps);
        let (value, slope) = program.value_and_grad().unwrap().call(&x).unwrap();
        let (same_value, tangent) = program.jvp().unwrap().call((&x, &scalar(1.0))).unwrap();
        let eager = value_and_grad(|x| ways(x, steps), &x);
        println!("{steps} steps: {} {}", value.item(), slope.item());
        if steps == 10 {
            assert_close(&[value.item(), slope.item()], &[82.45960311115695, 0.737880933347085], 1e-12);
        }
        assert_eq!(value.item(), same_value.item());
        assert_eq!(value.item(), eager.0.item());
        assert_close(&[slope.item()], &[eager.1.item()], 1e-9);
        assert_close(&[tangent.item()], &[slope.item()], 1e-9);
    }
}

/// `Σ_{c,p,q} A[n, c, i+p−s, j+q−s] · K[o, c, p, q]`, of a given height and width.
fn convolution<A: Algebra>(k: &Tensor4<A, f64>, a: &Tensor4<A, f64>, s: i64, size: (usize, usize)) -> Tensor4<A, f64> {
    let (kernel, image) = (k.shape(), a.shape());
    build((image[0], kernel[0], size.0, size.1), |(n, o, i, j)| {
        let window = |(c, p, q): (Scalar<A, i64>, Scalar<A, i64>, Scalar<A, i64>)| {
            a.at((&n, &c, &i + &p - s, &j + &q - s)) * k.at((&o, c, p, q))
        };
        build((kernel[1], kernel[2], kernel[3]), window).sum()
    })
}

/// The adjoint for the image, element by element.
fn image_adjoint<A: Algebra>(k: &Tensor4<A, f64>, dt: &Tensor4<A, f64>, s: i64, image: [usize; 4]) -> Tensor4<A, f64> {
    let kernel = k.shape();
    build((image[0], image[1], image[2], image[3]), |(n, c, h, w)| {
        let term = |(o, p, q): (Scalar<A, i64>, Scalar<A, i64>, Scalar<A, i64>)| {
            dt.at((&n, &o, &h - &p + s, &w - &q + s)) * k.at((o, &c, p, q))
        };
        build((kernel[0], kernel[2], kernel[3]), term).sum()
    })
}

/// The adjoint for the kernel, element by element.
fn kernel_adjoint<A: Algebra>(
    a: &Tensor4<A, f64>,
    dt: &Tensor4<A, f64>,
    s: i64,
    kernel: [usize; 4],
) -> Tensor4<A, f64> {
    let out = dt.shape();
    build((kernel[0], kernel[1], kernel[2], kernel[3]), |(o, c, p, q)| {
        let term = |(n, i, j): (Scalar<A, i64>, Scalar<A, i64>, Scalar<A, i64>)| {
            dt.at((&n, &o, &i, &j)) * a.at((n, &c, i + &p - s, j + &q - s))
        };
        build((out[0], out[2], out[3]), term).sum()
    })
}

/// Gradients against their formulas, and the adjoint law: `⟨conv(K, A), dt⟩ = ⟨A, dA⟩ = ⟨K, dK⟩`.
#[test]
fn convolutions_of_images() {
    let sizes = [(6, 3, 0), (6, 2, 1), (24, 5, 2), (24, 3, 0), (96, 3, 1), (96, 7, 6)];
    for &(size, side, s) in &sizes[..self::size(6, 3)] {
        let (image, kernel) = ([2, 3, size, size], [4, 3, side, side]);
        // As many places as the kernel fits on the image with `s` zeros around it.
        let out = size + 2 * s + 1 - side;
        let shift = s as i64;
        let tensor =
            |shape: [usize; 4], seed| -> T4 { Tensor::from_elements(shape, some(shape.iter().product(), seed)) };
        let (k, a, dt) = (tensor(kernel, 1), tensor(image, 2), tensor([2, 4, out, out], 3));
        let program = stage(|(k, a)| convolution(k, a, shift, (out, out)), &(k.clone(), a.clone())).unwrap();
        let (value, (dk, da)) = program.vjp().unwrap().call((&(k.clone(), a.clone()), &dt)).unwrap();
        let expected = stage(|(k, dt)| image_adjoint(k, dt, shift, image), (&k, &dt)).unwrap().call((&k, &dt)).unwrap();
        assert_close(&da.to_vec(), &expected.to_vec(), 1e-12);
        let expected =
            stage(|(a, dt)| kernel_adjoint(a, dt, shift, kernel), (&a, &dt)).unwrap().call((&a, &dt)).unwrap();
        assert_close(&dk.to_vec(), &expected.to_vec(), 1e-12);
        let inner = (&value * &dt).sum().item();
        assert_close(&[(&a * &da).sum().item(), (&k * &dk).sum().item()], &[inner, inner], 1e-10);
    }
}

/// So many elementwise steps, each reading the two before.
fn steps<A: Algebra>(x: &Vector<A, f64>, count: usize) -> Vector<A, f64> {
    let (mut before, mut now) = (x.clone(), x.sin());
    for step in 0..count {
        let next = (&now * (1.0 / (step + 2) as f64) - &before).tanh();
        (before, now) = (now, next);
    }
    now
}

#[test]
fn a_kernel_of_more_values_than_it_may_have_is_several() {
    const COUNT: usize = size(30_000, 10_000);
    let x: Vector<Concrete, f64> = some(33, 8).into();
    let staged = stage(|x| steps(x, COUNT), &x).unwrap();
    let compiled = staged.compile(Cpu::default()).unwrap();
    assert!((2..100).contains(&compiled.program().kernels()), "{} kernels", compiled.program().kernels());
    assert_close(&compiled.call(&x).unwrap().to_vec(), &steps(&x, COUNT).to_vec(), 1e-12);
}
