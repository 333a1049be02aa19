//! Other arrangements of the same elements: replicates, transposes, slices, reversals, concatenations.

use super::prelude::*;

/// A table of 2×3.
fn table() -> M {
    m([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
}

/// The rows.
pub fn rows() -> Vec<Row> {
    let mut rows = arrangements();
    rows.extend(written_as_builds());
    rows.extend(patterns());
    rows
}

fn arrangements() -> Vec<Row> {
    vec![
        row!("transpose": M => M,
            |x| x.transpose() * Tensor::from_elements((3, 2), vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), table())
            .value([1.0, 8.0, 6.0, 20.0, 15.0, 36.0])
            .gradient([1.0, 3.0, 5.0, 2.0, 4.0, 6.0])
            .smooth(),
        row!("transposes of transposes": T3 => T3, |x| x.tr(&[2, 0, 1]).tr(&[1, 2, 0]).sin(), some((2, 3, 4), 31))
            .smooth(),
        row!("a permutation of outer axes": T4 => T4, |x| x.tr(&[1, 0]).exp() * x.tr(&[1, 0]), some((2, 3, 2, 2), 32))
            .smooth(),
        row!("reshape": M => M, |x| x.reshape((3, 2)).dot(&x.reshape((2, 3))), table())
            .value([9.0, 12.0, 15.0, 19.0, 26.0, 33.0, 29.0, 40.0, 51.0])
            .smooth(),
        row!("reshape and product": V => M,
            |x| x.reshape((2, 2)) * x.reshape((2, 2)).transpose(), v([1.0, 2.0, 3.0, 4.0]))
            .value([1.0, 6.0, 6.0, 16.0])
            .gradient([2.0, 6.0, 4.0, 8.0])
            .smooth(),
        row!("flatten": T3 => V, |x| x.flatten() * x.flatten().reverse(0), some((2, 2, 2), 33)).smooth(),
        row!("reverse": V => V, |x| x * x.reverse(0), v([1.0, 2.0, 3.0]))
            .value([3.0, 4.0, 3.0])
            .gradient([6.0, 4.0, 2.0])
            .smooth(),
        row!("reverse both axes": M => M, |x| x * x.reverse(0).reverse(1), table())
            .value([6.0, 10.0, 12.0, 12.0, 10.0, 6.0])
            .gradient([12.0, 10.0, 8.0, 6.0, 4.0, 2.0])
            .smooth(),
        row!("slice": V => V, |x| x.slice(0, 1..) * x.slice(0, ..3), v([1.0, 2.0, 3.0, 4.0]))
            .value([2.0, 6.0, 12.0])
            .gradient([2.0, 4.0, 6.0, 3.0])
            .smooth(),
        row!("slice by steps": V => V,
            |x| x.slice_step(0, 1..6, 2) * x.slice_step(0, ..5, -2), v([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
            .value([10.0, 12.0, 6.0])
            .gradient([6.0, 5.0, 4.0, 3.0, 2.0, 1.0])
            .smooth(),
        row!("slice of columns": M => M, |x| x.slice(1, 1..).powi(2), table())
            .value([4.0, 9.0, 25.0, 36.0])
            .gradient([0.0, 4.0, 6.0, 0.0, 10.0, 12.0])
            .smooth(),
        row!("pad": V => V, |x| x.pad(0, 1, 2) * x.pad(0, 2, 1), v([1.0, 2.0]))
            .value([0.0, 0.0, 2.0, 0.0, 0.0])
            .gradient([2.0, 1.0])
            .smooth(),
        row!("pad, then cos": M => M, |x| x.pad(1, 1, 0).cos(), some((2, 2), 34)).smooth(),
        row!("append": (V, V) => V, |(x, y)| x.append(0, y) * y.append(0, x), (v([1.0, 2.0]), v([3.0, 4.0, 5.0])))
            .value([3.0, 8.0, 15.0, 4.0, 10.0])
            .smooth(),
        row!("concatenate along the inner axis": M => M, |x| concatenate(1, &[x.clone(), x * 2.0, x * x]), table())
            .gradient([5.0, 7.0, 9.0, 11.0, 13.0, 15.0])
            .smooth(),
        row!("stack": V => M, |x| stack(&[x.clone(), x * x, x.filled(7.0)]), v([1.0, 2.0]))
            .value([1.0, 2.0, 1.0, 4.0, 7.0, 7.0])
            .gradient([3.0, 5.0])
            .smooth(),
        row!("pieces put together again": V => V,
            |x| x.slice(0, 3..).append(0, &x.slice(0, ..3)) * x.slice(0, ..2).append(0, &x.slice(0, 2..)), v([1.0, 2.0, 3.0, 4.0]))
            .value([4.0, 2.0, 6.0, 12.0])
            .gradient([6.0, 4.0, 6.0, 4.0])
            .smooth(),
        row!("diagonal": M => V, |x| x.diagonal() * x.transpose().diagonal(), table())
            .value([1.0, 25.0])
            .gradient([2.0, 0.0, 0.0, 0.0, 10.0, 0.0])
            .smooth(),
        row!("insert and remove axes": V => V,
            |x| x.insert_axis(0).insert_axis(2).remove_axis(0).remove_axis(1).sin(), v([0.5, 1.0]))
            .smooth(),
        row!("broadcast_to": V => M, |x| x.broadcast_to((3, 2)).exp(), v([0.5, -0.5])).smooth(),
        row!("broadcast of an axis of length 1": M => M, |x| x * x.slice(0, ..1) + x.slice(1, ..1), table()).smooth(),
        row!("dynamic ranks": TensorD<Concrete, f64> => TensorD<Concrete, f64>, |x| (x + 1.0) * x.transpose(),
            m([[1.0, 2.0], [3.0, 4.0]]).into_dyn())
            .value([2.0, 9.0, 8.0, 20.0])
            .gradient([3.0, 7.0, 5.0, 9.0])
            .smooth(),
        row!("f32 arrangements": Fm => Fm,
            |x| x.transpose().reverse(0).pad(1, 1, 0).slice(0, 1..), [[1.0, 2.0], [3.0, 4.0]].into())
            .value([0.0, 1.0, 3.0])
            .gradient([1.0, 0.0, 1.0, 0.0]),
    ]
}

fn written_as_builds() -> Vec<Row> {
    vec![
        row!("a transpose as a build": M => M, |x| build((3, 2), |(i, j)| x.at((j, i))), table())
            .value([1.0, 4.0, 2.0, 5.0, 3.0, 6.0])
            .gradient([1.0; 6])
            .smooth(),
        row!("a reversal as a build": V => V,
            |x| { let n = x.len(); build(n, |i| x.at(n - 1 - i)) * x }, v([1.0, 2.0, 3.0]))
        .gradient([6.0, 4.0, 2.0])
        .smooth(),
        row!("a diagonal as a build": M => V, |x| build(2, |i| x.at((&i, &i)).exp()), table())
            .gradient([1.0f64.exp(), 0.0, 0.0, 0.0, 5.0f64.exp(), 0.0])
            .smooth(),
        row!("a slice as a build": V => V, |x| build(2, |i| x.at(i + 1).powi(2)), v([1.0, 2.0, 3.0, 4.0]))
            .value([4.0, 9.0])
            .gradient([0.0, 4.0, 6.0, 0.0])
            .smooth(),
        row!("steps as a build": V => V, |x| build(3, |i| x.at(i * 2 + 1)), some(7, 35))
            .gradient([0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0])
            .smooth(),
        row!("a pad as a build": V => V, |x| build(6, |i| x.at(i - 2)), some(3, 36)).gradient([1.0; 3]).smooth(),
        row!("a replicate as a build": (V, N) => M,
            |(x, n)| build(4, |i| x * 1.0 + (i * n).cast::<f64>()), (some(2, 37), n(3)))
        .gradient([4.0, 4.0])
        .smooth(),
        row!("a reshape as a build": M => V, |x| build(6, |i| x.at((&i / 3, i % 3))), table())
            .value([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
            .gradient([1.0; 6])
            .smooth(),
        row!("an append as a build": (V, V) => V, |(x, y)| {
                let n = x.len();
                build(n + y.len(), |i| cond(i.lt(n), || x.at(&i), || y.at(&i - n)))
            }, (v([1.0, 2.0]), v([3.0, 4.0, 5.0])))
        .value([1.0, 2.0, 3.0, 4.0, 5.0])
        .gradient([1.0; 5])
        .smooth(),
        row!("windows": V => M, |x| build((4, 3), |(i, j)| x.at(i + j)), some(6, 38))
            .gradient([1.0, 2.0, 3.0, 3.0, 2.0, 1.0])
            .smooth(),
        row!("a Toeplitz matrix": V => M, |x| build((3, 3), |(i, j)| x.at(i - j + 2)), some(5, 39))
            .gradient([1.0, 2.0, 3.0, 2.0, 1.0])
            .smooth(),
        row!("a circulant matrix": V => M, |x| build((4, 4), |(i, j)| x.at((i - j).modulo(4))), some(4, 40))
            .gradient([4.0; 4])
            .smooth(),
        row!("an upper triangle": M => M,
            |x| build((3, 3), |(i, j)| cond(i.le(&j), || x.at((&i, &j)), || scalar(0.0))), some((3, 3), 41))
        .gradient([1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0])
        .smooth(),
        row!("a checkerboard": M => M,
            |x| build((3, 3), |(i, j)| cond(((&i + &j) % 2).equal(0), || x.at((&i, &j)), || -x.at((&j, &i)))),
            some((3, 3), 42))
        .gradient([1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0])
        .smooth(),
    ]
}

fn patterns() -> Vec<Row> {
    vec![
        row!("replicate, multiply, sum": (V, V) => V,
            |(x, y)| (x.replicate(3) * y.replicate(2).transpose()).sum_axis(0), (v([1.0, 2.0]), v([3.0, 4.0, 5.0])))
        .value([12.0, 24.0])
        .gradient([12.0, 12.0, 3.0, 3.0, 3.0])
        .smooth(),
        row!("replicate twice, slice both": S => M,
            |x| x.replicate(3).replicate(4).slice(0, 1..3).slice(1, ..2), s(2.0))
        .value([2.0; 4])
        .gradient([4.0])
        .smooth(),
        row!("replicate up to rank 4": V => T4,
            |x| x.replicate(2).tr(&[1, 0]).replicate(2).tr(&[2, 0, 1]).replicate(2).sin(), v([0.5, 1.0, -2.0]))
        .smooth(),
        row!("slices of rank 4": T4 => M,
            |x| x.at(1).index_axis(1, 0) * x.index_axis(3, 1).at(0), some((2, 2, 2, 2), 43))
        .smooth(),
        row!("a slice of a replicate of a slice": M => V, |x| x.at(1).replicate(5).at(3) * x.at(0), table())
            .value([4.0, 10.0, 18.0])
            .gradient([4.0, 5.0, 6.0, 1.0, 2.0, 3.0])
            .smooth(),
        row!("transposed sums": T3 => M,
            |x| x.tr(&[2, 1, 0]).sum_axis(1) * x.sum_axis(1).transpose(), some((2, 3, 4), 44))
        .smooth(),
        row!("an array of arrays": Vec<V> => Vec<V>,
            |x| x.iter().map(|part| part * part.sum()).collect(), vec![v([1.0, 2.0]), v([3.0])])
        .value([3.0, 6.0, 9.0])
        .gradient([6.0, 6.0, 6.0])
        .smooth(),
        row!("optional arrays": (Option<V>, Option<S>) => V, |(x, y)| match (x, y) {
                (Some(x), None) => x * x,
                _ => zeros(2),
            }, (Some(v([1.0, 2.0])), None))
        .value([1.0, 4.0])
        .gradient([2.0, 4.0])
        .smooth(),
    ]
}
