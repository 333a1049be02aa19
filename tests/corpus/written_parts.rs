//! Parts of arrays that are written, one by one and in loops: ranges, lines and planes, strided and gathered positions, and
//! positions that one side of a condition writes.

use super::prelude::*;

/// The rows.
pub fn rows() -> Vec<Row> {
    let mut rows = ranges();
    rows.extend(positions());
    rows.extend(choices());
    rows
}

/// Ranges, ends of rows, columns and blocks.
#[differentiable]
fn assigned(mut a: Matrix<f64>, b: Vector<f64>, c: Vector<f64>) -> Matrix<f64> {
    let n = a.len();
    a[1..n - 1] += b;
    for i in rolled(0..n) {
        a[(i, 1..)] *= c;
        a[(i, 0)] -= a[(i, 1)].sin();
    }
    a[(.., 1)] = a[(.., 2)] * a[(.., 0)];
    a[(1.., ..2)] /= 2.0;
    a
}

/// Each plane from the one before.
#[differentiable]
fn planes(mut t: Tensor3<f64>, p: Matrix<f64>) -> Tensor3<f64> {
    for k in rolled(1..4) {
        t[(.., .., k)] = t[(.., .., k - 1)].sin() * p;
    }
    t
}

fn ranges() -> Vec<Row> {
    vec![
        row!("written part: a range": (V, V) => V, |(x, y)| {
                let part = x.slice(0, 1..4) * y;
                x.clone().with_added(1..4, &part).with(4.., part.slice(0, ..2)).powi(2)
            }, (some(6, 801), some(3, 802)))
        .smooth(),
        row!("written part: ranges, ends of rows, columns and blocks": (M, V, V) => M,
            |(a, b, c)| assigned(a, b, c), (some((5, 4), 803), some(4, 804), some(3, 805)))
        .smooth(),
        row!("written part: the same range in every step": (V, V) => V, |(x, y)| {
                fold(x.clone(), &iota(4), |x, k| {
                    let part = x.slice(0, ..3).sin() * y * x.at(&k + 5);
                    x.with_added(2..5, part)
                })
            }, (some(9, 806), some(3, 807)))
        .smooth(),
        row!("written part: ends of rows from the row above": (M, V) => M, |(a, c)| {
                fold(a.clone(), &iota(5), |a, i| {
                    let above = a.at(&i - 1).slice(0, 1..) * c;
                    a.with_updated((&i, 1..), |old| old.sin() * (above + 0.5))
                })
            }, (some((5, 4), 808), some(3, 809)))
        .smooth(),
        row!("written part: planes of the innermost axis": (T3, M) => T3, |(t, p)| planes(t, p),
            (some((2, 3, 4), 810), some((2, 3), 811)))
        .smooth(),
        row!("written part: planes of the other axes": (T3, M, M) => T3, |(t, p, q)| {
                fold(t.clone(), &iota(3), |t, k| {
                    let middle = t.index_axis(1, &k + 1).cos() * p;
                    let t = t.with((.., &k, ..), middle);
                    let outer = t.at(&k) * q;
                    t.with_added(&k + 1, outer)
                })
            }, (some((4, 5, 2), 812), some((4, 2), 813), some((5, 2), 814)))
        .smooth(),
    ]
}

fn positions() -> Vec<Row> {
    vec![
        row!("written part: strided positions": V => V, |x| {
                fold(x.clone(), &iota(4), |x, k| {
                    let at = iota(3) * 4 + &k;
                    x.scatter_set(&at, &(x.gather(&at + 1).sin() * x.gather(&at)))
                })
            }, some(13, 821))
        .smooth(),
        row!("written part: strided positions of blocks": (V, V) => V, |(x, u)| {
                fold(x.clone(), &iota(4), |x, k| {
                    let at = iota(4) * 2 + &k * 8;
                    x.scatter_set(&at, &(x.gather(&at - 1).cos() * u)).scatter_add(&at + 1, &(x.gather(&at) * u))
                })
            }, (some(32, 822), some(4, 823)))
        .smooth(),
        row!("written part: strided backwards, the largest and products": V => V, |x| {
                fold(x.clone(), &iota(3), |x, k| {
                    let at = 10 - iota(3) * 3 - &k;
                    let x = x.scatter_max(&at, &(x.gather(&at + 1) * 0.9));
                    x.scatter_multiply(&at - 1, &x.gather(&at).exp())
                })
            }, some(12, 824))
        .smooth(),
        row!("written part: gathered positions": (V, Nm) => V, |(x, p)| {
                fold(x.clone(), p, |x, p| x.scatter_set(&p, &(x.gather(&p + 1).cos() * x.gather(&p))))
            }, (some(11, 825), [[3, 0, 7], [2, 9, 4], [7, 3, 1]].into()))
        .smooth(),
        row!("written part: gathered positions that repeat": (V, Nm, M) => V, |(x, p, u)| {
                fold(x.clone(), &(p.clone(), u.clone()), |x, (p, u)| {
                    let x = x.scatter_set(&p, &(x.gather(&p) * &u));
                    x.scatter_add(&p + 1, &u.sin()).scatter_multiply(&p + 2, &u.exp())
                })
            }, (some(10, 826), [[3, 3, 7], [3, 6, 3], [0, 0, 0]].into(), some((3, 3), 827)))
        .smooth(),
        row!("written part: gathered pairs": (M, Nm) => M, |(a, p)| {
                fold(a.clone(), p, |a, p| {
                    let turned = a.gather((&p, &p % 3));
                    a.scatter_set((&p % 5, &p % 4), &turned.sin())
                })
            }, (some((5, 4), 828), [[3, 0], [4, 9], [1, 2]].into()))
        .smooth(),
        row!("written part: in a map, strided and gathered": (V, Nm) => M, |(x, p)| {
                build(2, |i| fold(x.clone(), &iota(3), |x, k| {
                    let at = p.at(&i) + &k;
                    let x = x.scatter_set(&at, &x.gather(&at + 1).sin());
                    x.scatter_add(iota(2) * 3 + &i, &x.gather(iota(2) * 4 + &k))
                }))
            }, (some(9, 829), [[5, 0], [1, 6]].into()))
        .smooth(),
        row!("written part: extremes with the element before": V => (V, V), |x| {
                fold((x.clone(), x.clone()), &(iota(6) + 1), |(least, most), k| {
                    let (low, high) = (least.at(&k - 1), most.at(&k - 1) * 0.9);
                    (least.with_updated(&k, |old| old.min(low)), most.with_updated(&k, |old| old.max(high)))
                })
            }, some(7, 830))
        .smooth(),
    ]
}

/// One side reads an outer array.
#[differentiable]
fn chosen(x: Vector<f64>, mut y: Vector<f64>) -> Vector<f64> {
    for k in rolled(0..y.len() - 1) {
        if y[k] > 0.0 {
            y[k + 1] *= y[k].sin();
        } else {
            y[k] = x[k + 1] * y[k];
        }
    }
    y
}

fn choices() -> Vec<Row> {
    vec![
        row!("written part: a choice of which one side reads an outer array": (V, V) => V, |(x, y)| chosen(x, y),
            (some(7, 841), some(7, 842)))
        .smooth(),
        row!("written part: a choice of which both sides read outer rows": (M, M, V) => M, |(a, b, w)| {
                fold(a.clone(), &iota(4), |a, i| {
                    cond(w.at(&i).gt(0.0), || {
                        let row = b.at(&i) * a.at(&i) * w.at(&i + 1);
                        a.clone().with((&i + 1, ..), row)
                    }, || {
                        let value = b.at(&i + 1).dot(&a.at(&i));
                        a.clone().with((&i, 1), value)
                    })
                })
            }, (some((6, 3), 843), some((5, 3), 844), v([0.4, -0.3, 0.7, -0.6, 0.2])))
        .smooth(),
        row!("written part: nested choices that read outer arrays": (V, V, V) => V, |(x, u, w)| {
                fold(x.clone(), &iota(6), |x, k| {
                    cond(x.at(&k).gt(0.0), || cond(u.at(&k).gt(0.1), || {
                        let value = u.at(&k) * x.at(&k);
                        x.clone().with(&k + 2, value)
                    }, || {
                        let value = w.at(&k + 1) * x.dot(&x);
                        x.clone().with_added(&k, value)
                    }), || x.clone())
                })
            }, (some(9, 845), some(6, 846), some(7, 847)))
        .smooth(),
        row!("written part: a choice by the step, mapped": (V, M) => M, |(x, u)| {
                build(3, |i| fold(x.clone(), &iota(5), |x, k| {
                    cond(k.lt(&i), || {
                        let value = u.at((&i, &k)) * x.at(&k);
                        x.clone().with(&k + 1, value)
                    }, || x.clone())
                }))
            }, (some(7, 848), some((3, 5), 849)))
        .smooth(),
    ]
}
