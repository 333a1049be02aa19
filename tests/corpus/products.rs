//! Contractions: as primitives, as sums of products, as builds; convolutions.

use super::prelude::*;

/// `Σ_{c,p,q} A[n, c, i+p−s, j+q−s] · K[o, c, p, q]`, of a given height and width, written as a build.
fn convolution<A: Algebra>(k: &Tensor4<A, f64>, a: &Tensor4<A, f64>, s: i64, size: (usize, usize)) -> Tensor4<A, f64> {
    let (kernel, image) = (k.shape(), a.shape());
    build((image[0], kernel[0], size.0, size.1), |(n, o, i, j)| {
        build((kernel[1], kernel[2], kernel[3]), |(c, p, q)| {
            a.at((&n, &c, &i + &p - s, &j + &q - s)) * k.at((&o, c, p, q))
        })
        .sum()
    })
}

/// The same with reads inside only, padded by hand.
fn padded_convolution<A: Algebra>(k: &Tensor4<A, f64>, a: &Tensor4<A, f64>) -> Tensor4<A, f64> {
    let (kernel, image) = (k.shape(), a.shape());
    let (ph, pw) = (kernel[2] - 1, kernel[3] - 1);
    let a = a.pad(2, ph, ph).pad(3, pw, pw);
    build((image[0], kernel[0], image[2] + ph, image[3] + pw), |(n, o, i, j)| {
        let window = build((kernel[1], kernel[2], kernel[3]), |(c, p, q)| a.at((&n, c, &i + p, &j + q)));
        (window * k.at(o)).sum()
    })
}

/// The rows.
pub fn rows() -> Vec<Row> {
    let mut rows = products();
    rows.extend(builds());
    rows.extend(convolutions());
    rows
}

fn products() -> Vec<Row> {
    let (a, b) = (m([[1.0, 2.0], [3.0, 4.0]]), m([[5.0, 6.0], [7.0, 8.0]]));
    vec![
        row!("dot product": (V, V) => S, |(x, y)| x.dot(y), (v([1.0, 2.0, 3.0]), v([4.0, 5.0, 6.0])))
            .value([32.0])
            .gradient([4.0, 5.0, 6.0, 1.0, 2.0, 3.0])
            .smooth(),
        row!("dot product with itself": V => S, |x| x.dot(x), v([1.0, 2.0])).value([5.0]).gradient([2.0, 4.0]).smooth(),
        row!("matrix times vector": (M, V) => V, |(a, x)| a.dot(x), (a.clone(), v([5.0, 6.0])))
            .value([17.0, 39.0])
            .gradient([5.0, 6.0, 5.0, 6.0, 4.0, 6.0])
            .smooth(),
        row!("vector times matrix": (V, M) => V, |(x, a)| x.dot(a), (v([5.0, 6.0]), a.clone()))
            .value([23.0, 34.0])
            .gradient([3.0, 7.0, 5.0, 5.0, 6.0, 6.0])
            .smooth(),
        row!("matrix product": (M, M) => M, |(a, b)| a.dot(b), (a.clone(), b.clone()))
            .value([19.0, 22.0, 43.0, 50.0])
            .gradient([11.0, 15.0, 11.0, 15.0, 4.0, 4.0, 6.0, 6.0])
            .smooth(),
        row!("matrix product with a transposed one": (M, M) => M,
            |(a, b)| a.transpose().dot(&b.transpose()), (some((3, 2), 61), some((4, 3), 62)))
            .smooth(),
        row!("matrix products with one matrix on each side": (T4, T4) => T4, |(a, b)| a.matmul(b),
            (some((1, 3, 2, 4), 267), some((2, 1, 4, 2), 268)))
            .smooth(),
        row!("matrix products with a single stack": (T3, T4) => T4, |(a, b)| a.matmul(b),
            (some((1, 2, 3), 269), some((2, 2, 3, 1), 270)))
            .smooth(),
        row!("batched matrix product": (T3, T3) => T3, |(a, b)| a.matmul(b), (some((2, 3, 4), 63), some((2, 4, 2), 64)))
            .smooth(),
        row!("batched matrix product with one matrix": (T3, M) => T3,
            |(a, b)| a.matmul(b), (some((2, 3, 4), 65), some((4, 2), 66)))
            .smooth(),
        row!("outer product": (V, M) => T3, |(x, a)| x.outer(a), (v([1.0, 2.0]), a.clone()))
            .value([1.0, 2.0, 3.0, 4.0, 2.0, 4.0, 6.0, 8.0])
            .gradient([10.0, 10.0, 3.0, 3.0, 3.0, 3.0])
            .smooth(),
        row!("a sum of products by labels": (T3, T3) => M,
            |(a, b)| a.contract(b, "ijk,lkj->il"), (some((2, 3, 4), 67), some((5, 4, 3), 68)))
            .smooth(),
        row!("a diagonal by labels": (M, V) => V, |(a, x)| a.contract(x, "ii,i->i"), (a.clone(), v([5.0, 6.0])))
            .value([5.0, 24.0])
            .gradient([5.0, 0.0, 0.0, 6.0, 1.0, 4.0])
            .smooth(),
        row!("a trace by labels": (M, S) => S, |(a, x)| a.contract(x, "ii,->"), (a.clone(), s(2.0)))
            .value([10.0])
            .gradient([2.0, 0.0, 0.0, 2.0, 5.0])
            .smooth(),
        row!("contraction of pairs of axes": (T3, T3) => M,
            |(a, b)| a.contract_axes(b, [1, 2], [0, 1]), (some((2, 3, 4), 69), some((3, 4, 2), 70)))
            .smooth(),
        row!("a quadratic form": (V, M) => S, |(x, a)| x.dot(&a.dot(x)), (v([1.0, 2.0]), a.clone()))
            .value([27.0])
            .gradient([12.0, 21.0, 1.0, 2.0, 2.0, 4.0])
            .smooth(),
        row!("a chain of matrix products": (M, M, M) => S,
            |(a, b, c)| a.dot(b).dot(c).sum(), (some((2, 3), 71), some((3, 4), 72), some((4, 2), 73)))
            .smooth(),
        row!("a matrix to the fourth": M => M, |a| { let b = a.dot(a); b.dot(&b) }, m([[1.0, 1.0], [1.0, 0.0]]))
            .value([5.0, 3.0, 3.0, 2.0])
            .smooth(),
        row!("integer products": (Ns, Ns) => N, |(x, y)| x.dot(y), (ns([1, 2, 3]), ns([4, 5, 6]))).value([32.0]),
        row!("integer contraction as a factor": (V, Nm) => V,
            |(x, a)| x * a.dot(&iota(2)).cast::<f64>(), (v([0.5, 2.0]), [[1, 2], [3, 4]].into()))
            .value([1.0, 8.0])
            .gradient([2.0, 4.0])
            .smooth(),
        row!("a sum of products, elementwise": (M, M) => V, |(a, b)| (a * b).sum_axis(1), (a.clone(), b.clone()))
            .value([17.0, 53.0])
            .gradient([5.0, 6.0, 7.0, 8.0, 1.0, 2.0, 3.0, 4.0])
            .smooth(),
        row!("f32 matrix product": (Fm, Fm) => Fm,
            |(a, b)| a.dot(b), ([[1.0, 2.0], [3.0, 4.0]].into(), [[5.0, 6.0], [7.0, 8.0]].into()))
            .value([19.0, 22.0, 43.0, 50.0])
            .gradient([11.0, 15.0, 11.0, 15.0, 4.0, 4.0, 6.0, 6.0]),
        row!("determinant of 2 by cofactors": M => S, |a| a.at((0, 0)) * a.at((1, 1)) - a.at((0, 1)) * a.at((1, 0)), a)
            .value([-2.0])
            .gradient([4.0, -3.0, -2.0, 1.0])
            .smooth(),
    ]
}

fn builds() -> Vec<Row> {
    let (a, b) = (some((3, 4), 74), some((4, 2), 75));
    vec![
        row!("dot product as a build": (V, V) => S,
            |(x, y)| build(x.len(), |i| x.at(&i) * y.at(i)).sum(), (v([1.0, 2.0, 3.0]), v([4.0, 5.0, 6.0])))
            .value([32.0])
            .gradient([4.0, 5.0, 6.0, 1.0, 2.0, 3.0])
            .smooth(),
        row!("matrix times vector as a build": (M, V) => V,
            |(a, x)| build(a.len(), |i| (a.at(i) * x).sum()), (some((3, 4), 76), some(4, 77)))
            .smooth(),
        row!("matrix product as a build of sums": (M, M) => M,
            |(a, b)| build((3, 2), |(i, j)| build(4, |k| a.at((&i, &k)) * b.at((k, &j))).sum()), (a.clone(), b.clone()))
            .smooth(),
        row!("matrix product as a build of dot products": (M, M) => M,
            |(a, b)| build(3, |i| build(2, |j| a.at(&i).dot(&b.index_axis(1, j)))), (a.clone(), b.clone()))
            .smooth(),
        row!("matrix product as a build of matrix-vector products": (M, M) => M,
            |(a, b)| build(2, |j| a.dot(&b.index_axis(1, j))).transpose(), (a.clone(), b.clone()))
            .smooth(),
        row!("matrix product as a sum of outer products": (M, M) => M,
            |(a, b)| build(4, |k| a.index_axis(1, &k).outer(&b.at(&k))).sum_axis(0), (a.clone(), b.clone()))
            .smooth(),
        row!("matrix product as a triple build": (M, M) => M,
            |(a, b)| build((3, 2, 4), |(i, j, k)| a.at((i, &k)) * b.at((&k, j))).sum_axis(2), (a.clone(), b.clone()))
            .smooth(),
        row!("matrix product in another loop order": (M, M) => M,
            |(a, b)| build((4, 2, 3), |(k, j, i)| b.at((&k, j)) * a.at((i, &k))).sum_axis(0).transpose(), (a.clone(), b.clone()))
            .smooth(),
        row!("matrix product with a factor between": (M, M, V) => M,
            |(a, b, w)| build((3, 2), |(i, j)| build(4, |k| a.at((&i, &k)) * w.at(&k) * b.at((&k, &j)) * 2.0).sum()),
            (a.clone(), b.clone(), some(4, 78)))
            .smooth(),
        row!("triangular matrix times vector": (M, V) => V,
            |(a, x)| build(4, |i| build(4, |j| cond(j.le(&i), || a.at((&i, &j)) * x.at(&j), || scalar(0.0))).sum()),
            (some((4, 4), 79), some(4, 80)))
            .smooth(),
        row!("triangular matrix product": (M, M) => M, |(a, b)| {
                build((4, 2), |(i, j)| build(4, |k| cond(k.le(&i), || a.at((&i, &k)) * b.at((&k, &j)), || scalar(0.0))).sum())
            }, (some((4, 4), 81), b))
            .smooth(),
        row!("matrix product with a transposed operand as a build": (M, M) => M,
            |(a, b)| build((3, 2), |(i, j)| build(4, |k| a.at((&i, &k)) * b.at((&j, k))).sum()), (a, some((2, 4), 82)))
            .smooth(),
        row!("batched product as a build": (T3, T3) => T3,
            |(a, b)| build(2, |n| build((2, 3), |(i, j)| build(2, |k| a.at((&n, &i, &k)) * b.at((&n, k, &j))).sum())),
            (some((2, 2, 2), 83), some((2, 2, 3), 84)))
            .smooth(),
        row!("a bilinear form as a build": (V, M, V) => S,
            |(x, a, y)| build((3, 4), |(i, j)| x.at(&i) * a.at((&i, &j)) * y.at(j)).sum(), (some(3, 85), some((3, 4), 86), some(4, 87)))
            .smooth(),
        row!("a Gram matrix as a build": M => M, |x| build((3, 3), |(i, j)| x.at(i).dot(&x.at(j))), some((3, 4), 88))
            .smooth(),
        row!("f32 matrix product as a build": (Fm, Fm) => Fm,
            |(a, b)| build((2, 2), |(i, j)| build(2, |k| a.at((&i, &k)) * b.at((k, &j))).sum()),
            ([[1.0, 2.0], [3.0, 4.0]].into(), [[5.0, 6.0], [7.0, 8.0]].into()))
            .value([19.0, 22.0, 43.0, 50.0])
            .gradient([11.0, 15.0, 11.0, 15.0, 4.0, 4.0, 6.0, 6.0]),
    ]
}

fn convolutions() -> Vec<Row> {
    let ones = |shape: [usize; 4], x: f64| t(shape, &vec![x; shape.iter().product()]);
    let image = [18.1, 29.1, 32.1, 40.1, 582932.0, 582934.99432, 582597.1, 582625.89432];
    vec![
        row!("convolution of images": T4 => T4,
            |a| convolution(&Tensor::from_elements((2, 2, 2, 2), T16B.to_vec()), a, 0, (2, 2)), some([3, 2, 2, 2], 91))
            .gradient([image, image, image].concat())
            .smooth(),
        row!("convolution of small images": (T4, T4) => T4,
            |(k, a)| convolution(k, a, 0, (3, 3)), (some([2, 2, 2, 2], 92), some([1, 2, 3, 3], 93)))
            .smooth(),
        row!("convolution with one number": T4 => T4,
            |a| convolution(&full((1, 1, 1, 1), -0.2), a, 0, (2, 2)), some([3, 1, 2, 2], 94))
            .gradient([-0.2; 12])
            .smooth(),
        row!("convolution with two numbers": T4 => T4,
            |a| convolution(&Tensor::from_elements((1, 2, 1, 1), vec![-0.2, 25.0003]), a, 0, (2, 2)), some([2, 2, 2, 2], 95))
            .gradient([[-0.2; 4], [25.0003; 4], [-0.2; 4], [25.0003; 4]].concat())
            .smooth(),
        row!("convolution of constant images, by the kernel": T4 => T4,
            |k| convolution(k, &full((2, 2, 2, 2), 5.0), 0, (2, 2)), ones([2, 2, 2, 2], 1.0))
            .gradient([[40.0, 20.0, 20.0, 10.0]; 4].concat())
            .smooth(),
        row!("convolution that shrinks": (T4, T4) => T4,
            |(k, a)| convolution(k, a, 0, (2, 2)), (some([2, 1, 3, 2], 96), some([1, 1, 4, 3], 97)))
            .smooth(),
        row!("convolution that pads": (T4, T4) => T4,
            |(k, a)| convolution(k, a, 1, (4, 4)), (some([1, 2, 2, 2], 98), some([1, 2, 3, 3], 99)))
            .smooth(),
        row!("convolution padded by hand": (T4, T4) => T4,
            |(k, a)| padded_convolution(k, a), (some([1, 2, 2, 2], 98), some([1, 2, 3, 3], 99)))
            .smooth(),
        row!("convolution padded as one likes": (T4, T4) => T4, |(k, a)| {
                let (kernel, image) = (k.shape(), a.shape());
                let (height, width) = (image[2] + 2 - kernel[2] + 1, image[3] + 4 - kernel[3] + 1);
                build((image[0], kernel[0], height, width), |(n, o, i, j)| {
                    build((kernel[1], kernel[2], kernel[3]), |(c, p, q)| {
                        a.at((&n, &c, &i + &p - 1, &j + &q - 2)) * k.at((&o, c, p, q))
                    })
                    .sum()
                })
            }, (some([1, 2, 3, 2], 271), some([1, 2, 3, 2], 272)))
            .smooth(),
        row!("convolution by its adjoint for the image": (T4, T4, T4) => T4, |(k, a, dt)| {
                let (kernel, image, out) = (k.shape(), a.shape(), dt.shape());
                let expected = build((image[0], image[1], image[2], image[3]), |(n, c, h, w)| {
                    build((kernel[0], kernel[2], kernel[3]), |(o, p, q)| {
                        dt.at((&n, &o, &h - &p, &w - &q)) * k.at((o, &c, p, q))
                    })
                    .sum()
                });
                let pulled = vjp(|(a, k)| convolution(k, a, 0, (out[2], out[3])), (a, k)).1(dt);
                expected - pulled
            }, (some([2, 1, 2, 2], 100), some([1, 1, 3, 3], 101), some([1, 2, 3, 3], 102)))
            .value([0.0; 9])
            .once(),
        row!("convolution by its adjoint for the kernel": (T4, T4, T4) => T4, |(k, a, dt)| {
                let (kernel, image, out) = (k.shape(), a.shape(), dt.shape());
                let expected = build((kernel[0], kernel[1], kernel[2], kernel[3]), |(o, c, p, q)| {
                    build((image[0], out[2], out[3]), |(n, i, j)| {
                        dt.at((&n, &o, &i, &j)) * a.at((&n, &c, i + &p, j + &q))
                    })
                    .sum()
                });
                let pulled = vjp(|(k, a)| convolution(k, a, 0, (out[2], out[3])), (k, a)).1(dt);
                expected - pulled
            }, (some([2, 1, 2, 2], 103), some([1, 1, 3, 3], 104), some([1, 2, 3, 3], 105)))
            .value([0.0; 8])
            .once(),
        row!("convolution in one dimension": (V, V) => V,
            |(x, k)| build(6, |i| build(3, |p| x.at(&i + &p - 1) * k.at(p)).sum()), (some(6, 106), some(3, 107)))
            .smooth(),
        row!("full convolution of two vectors": (V, V) => V,
            |(x, y)| build(6, |i| build(4, |j| x.at(&i - &j) * y.at(j)).sum()), (v([1.0, 2.0, 3.0]), v([4.0, 5.0, 6.0, 7.0])))
            .value([4.0, 13.0, 28.0, 34.0, 32.0, 21.0])
            .gradient([22.0, 22.0, 22.0, 6.0, 6.0, 6.0, 6.0])
            .smooth(),
    ]
}
