//! Loops that change an array by writes: reads before, between and after them, and other holders of the array.

use super::prelude::*;

/// The rows.
pub fn rows() -> Vec<Row> {
    let mut rows = elements();
    rows.extend(lines());
    rows.extend(holders());
    rows.extend(nests());
    rows
}

fn elements() -> Vec<Row> {
    vec![
        row!("loop that writes: each element from the one before": V => V, |x| {
                fold(x.clone(), &iota(x.len() - 1), |x, k| x.scatter_set(&k + 1, &(x.at(&k).sin() * x.at(&k + 1))))
            }, some(70, 701))
            .smooth(),
        row!("loop that writes: two elements a step, read in between": V => V, |x| {
                fold(x.clone(), &iota(x.len()), |x, k| {
                    let y = x.scatter_set(&k, &x.at(&k - 1).cos());
                    y.scatter_set(&k + 2, &(y.at(&k) * x.at(&k)))
                })
            }, some(6, 702))
            .smooth(),
        row!("loop that writes: positions that were just written": (V, Ns) => V, |(x, k)| {
                fold((x.clone(), k.clone()), &iota(5), |(x, k), i| {
                    let at = k.at(&i) % 6;
                    let k = k.scatter_set(&i + 1, &(&at * 2 + 1));
                    (x.scatter_set(&at, &(x.at(&i) + x.at(&at) * 0.5)), k)
                }).0
            }, (some(6, 703), ns([3, 1, 4, 1, 5, 9])))
            .smooth(),
        row!("loop that writes: several updates, of which some are at one position": (V, Ns, V) => V, |(x, k, u)| {
                fold(x.clone(), &iota(4), |x, i| {
                    let at = (k + &i) % 5;
                    x.scatter_set(&at, &(u * x.gather(&at).sin()))
                })
            }, (some(6, 704), ns([2, 0, 2, 9]), some(4, 705)))
            .smooth(),
        row!("loop that writes: nothing, and outside": (V, Ns, V) => V, |(x, none, nothing)| {
                fold(x.clone(), &iota(4), |x, i| x.scatter_set(none, nothing).scatter_set(&i * 2 - 1, &x.at(&i).sin()))
            }, (some(4, 706), ns([]), v([])))
            .smooth(),
        row!("loop that writes: added, multiplied and compared": V => V, |x| {
                fold(x.clone(), &iota(x.len()), |x, k| {
                    let y = x.scatter_add(&k + 1, &(x.at(&k) * 0.5)).scatter_multiply(&k - 1, &x.at(&k).cos());
                    y.scatter_max(&k + 2, &(x.at(&k) * 2.0))
                })
            }, some(7, 707)),
        row!("loop that writes: what every step multiplies with": (V, V) => V, |(x, w)| {
                fold(x.clone(), &iota(x.len()), |x, k| x.scatter_set(&k, &(x.dot(w).sin() + x.at(&k) * x.sum())))
            }, (some(9, 708), some(9, 709)))
            .smooth(),
        row!("loop that writes: backwards, with what it was given": V => V, |x| {
                fold_reverse(x.clone(), &(iota(x.len()), x.clone()), |y, (k, u)| y.scatter_set(&k, &(u * y.at(&k + 1) + y.dot(x))))
            }, some(5, 710))
            .smooth(),
    ]
}

fn lines() -> Vec<Row> {
    vec![
        row!("loop that writes: rows from their neighbours": M => M, |a| {
                fold(a.clone(), &(iota(3) + 1), |a, i| {
                    let row = a.index_axis(0, &i - 1) + a.index_axis(0, &i) * 2.0 + a.index_axis(0, &i + 1);
                    a.scatter_set(&i, &row.sin())
                })
            }, some((5, 4), 721))
        .smooth(),
        row!("loop that writes: columns": M => M, |a| {
                fold(a.clone(), &iota(4), |a, j| {
                    let column = a.index_axis(1, &j - 1).cos() + a.index_axis(1, &j) * a.index_axis(1, &j + 1);
                    a.scatter_set((iota(3), j.broadcast_to(3)), &column)
                })
            }, some((3, 4), 722))
        .smooth(),
        row!("loop that writes: a factorisation by columns": M => M, |b| {
                let a = b.matmul(&b.transpose()) + build((4, 4), |(i, j)| i.equal(&j).select(scalar(4.0), 0.0));
                fold(a, &iota(4), |a, j| {
                    let row = iota(4).lt(&j.broadcast_to(4)).select(a.index_axis(0, &j), 0.0);
                    let column = a.index_axis(1, &j) - a.dot(&row);
                    let pivot = column.at(&j).sqrt().broadcast_to(4);
                    let below = iota(4).ge(&j.broadcast_to(4)).select(column / pivot, 0.0);
                    a.scatter_set((iota(4), j.broadcast_to(4)), &below)
                })
            }, some((4, 4), 723))
        .smooth(),
        row!("loop that writes: a part of itself, shifted": V => V, |x| {
                fold(x.clone(), &iota(3), |x, k| x.scatter_set(iota(5) + &k + 1, &x.gather(iota(5) + &k)))
            }, some(9, 724))
        .smooth(),
        row!("loop that writes: loops in a loop": M => M, |a| {
                iterate(a.clone(), 2, |a| fold(a, &iota(3), |a, i| fold(a, &iota(3), |a, j| {
                    let around = a.at((&i - 1, &j)) + a.at((&i, &j - 1)) + a.at((&i + 1, &j)) + a.at((&i, &j + 1));
                    a.scatter_set((&i, &j), &(around * 0.3 + a.at((&i, &j))).sin())
                })))
            }, some((3, 3), 725))
        .smooth(),
    ]
}

fn holders() -> Vec<Row> {
    vec![
        row!("loop that writes: the array is an output too": V => (V, M), |x| {
                scan(x.clone(), &iota(3), 3, |x, k| (x.scatter_set(&k, &(x.sum() * 0.3)), x.clone()))
            }, some(4, 731))
            .smooth(),
        row!("loop that writes: the array is returned twice": V => (V, V), |x| {
                fold((x.clone(), x.clone()), &iota(3), |(x, _), k| {
                    let x = x.scatter_set(&k, &x.at(&k + 1).exp());
                    (x.clone(), x)
                })
            }, some(4, 732))
            .smooth(),
        row!("loop that writes: two arrays that change places": (V, V) => (V, V), |(x, y)| {
                fold((x.clone(), y.clone()), &iota(5), |(x, y), k| {
                    (y.scatter_set(&k % 4, &x.at(&k % 3)), x.scatter_set(&k % 3, &(y.at(&k % 4) * 2.0)))
                })
            }, (some(4, 733), some(4, 734)))
            .smooth(),
        row!("loop that writes: the array as it was is read afterwards": V => (V, S), |x| {
                let sums = fold((x.clone(), scalar(0.0)), &iota(4), |(x, s), k| {
                    let y = x.scatter_set(&k, &x.at(&k).sin());
                    let s = s + (&y * &x).sum();
                    (y, s)
                });
                (sums.0, sums.1)
            }, some(4, 735))
            .smooth(),
        row!("loop that writes: an inner loop captures the array": V => V, |x| {
                fold(x.clone(), &iota(4), |x, k| {
                    let s = fold(scalar(0.0), &iota(4), |s, j| s * 0.5 + x.at(&j).sin());
                    x.scatter_set(&k, &s)
                })
            }, some(4, 736))
            .smooth(),
        row!("loop that writes: what is added is written before it is added": (M, V) => (M, V), |(m, v)| {
                let (v, m) = fold((v.clone(), m.clone()), &iota(3), |(v, m), i| {
                    let m = m.with_added((&i, ..), &v).with_added((.., &i), v.reverse(0));
                    (v.with(&i, 0.7), m)
                });
                (m, v)
            }, (some((3, 3), 742), some(3, 743)))
            .smooth(),
        row!("loop that writes: in one side of a condition": V => V, |x| {
                fold(x.clone(), &iota(5), |x, k| {
                    cond(x.at(&k).gt(0.0), || x.scatter_set(&k, &(x.at(&k) * x.sum())), || x.clone())
                })
            }, v([0.5, -0.2, 0.3, -0.7, 0.1]))
            .smooth(),
        row!("loop that writes: mapped over positions": (V, N) => M, |(x, _)| {
                build(3, |i| fold(x.clone(), &iota(4), |x, k| x.scatter_set(&k, &(x.at(&k + &i) * x.at(&k)))))
            }, (some(4, 737), n(3)))
            .smooth(),
        row!("loop that writes: while something holds": V => V, |x| {
                while_loop((x.clone(), scalar(0i64)), |(_, k)| k.lt(4), |(x, k)| {
                    (x.scatter_set(&k, &(x.at(&k) * x.sum())), k + 1)
                }).0
            }, some(5, 738))
            .smooth(),
        row!("loop that writes: with checkpoints": V => V, |x| {
                Checkpoints::Every(2).scan(x.clone(), &iota(5), 5, |x, k| (x.scatter_set(&k, &(x.at(&k) * x.sum())), ())).0
            }, some(5, 739))
            .smooth(),
        row!("loop that writes: slices whose ends move": (M, V) => V, |(l, b)| {
                fold(b.clone(), &iota(4), |x, i| {
                    let known = l.moving_slice((&i, ..&i)).dot(&x.moving_slice(..&i));
                    let rest = (l.moving_slice((&i + 1.., &i)) * x.at(&i)).sum();
                    let value = (x.at(&i) - known + rest) / (l.at((&i, &i)) + 2.0);
                    x.with(&i, value)
                })
            }, (some((4, 4), 747), some(4, 748)))
            .smooth(),
        row!("slices whose ends move, mapped": V => V, |x| {
                build(5, |i| {
                    let (first, last) = (x.moving_slice(..&i + 1), x.moving_slice(&i..));
                    first.map(|x| x.sin()).sum() * last.max_all() + (&first * &last - &first / 2.0).sum()
                })
            }, some(5, 749))
            .smooth(),
        row!("loop that writes: while something holds, from all elements": V => V, |x| {
                while_loop((x.clone(), scalar(0i64)), |(_, k)| k.lt(4), |(x, k)| {
                    (x.scatter_set(&k, &(x.at(&k) * (&x * &x).sum())), k + 1)
                }).0
            }, some(5, 741))
            .smooth(),
        row!("loop that writes: while something holds, a loop in it": M => M, |a| {
                while_loop((a.clone(), scalar(0i64)), |(a, k)| k.lt(3) & a.sum().lt(100.0), |(a, k)| {
                    let a = fold(a, &iota(2), |a, j| {
                        let value = (a.at(&j) * a.at(&k)).sum().sin();
                        cond(value.gt(0.1), || a.clone().with((&k, &j), value.clone()), || a.clone())
                    });
                    let first = a.at((&k, 0)) * (&a * &a).sum();
                    (a.with_added((&k, 1), first), k + 1)
                }).0
            }, some((3, 3), 742))
            .smooth(),
        row!("loop that writes: mapped, while something holds, from all elements": (V, V) => M, |(x, y)| {
                build(3, |i| {
                    while_loop((x.clone(), scalar(0i64)), |(_, k)| k.le(&i), |(x, k)| {
                        (x.scatter_set(&k, &(y.at(&i) * (&x * &x).sum())), k + 1)
                    }).0
                })
            }, (some(4, 743), some(3, 744)))
            .smooth(),
        row!("loop that writes: with checkpoints, from all elements": V => V, |x| {
                Checkpoints::Every(2).scan(x.clone(), &iota(5), 5, |x, k| {
                    (x.scatter_set(&k, &(x.at(&k) * (&x * &x).sum())), ())
                }).0
            }, some(5, 745))
            .smooth(),
        row!("loop that writes: with snapshots, backwards, from all elements": V => (V, V), |x| {
                Checkpoints::Snapshots(2).scan_reverse(x.clone(), &iota(5), 5, |x, k| {
                    let value = (&x * &x).sum().sin();
                    let x = x.with_added(&k, value.exp());
                    let both = (&x * &x).sum();
                    (x.with(&k, value), both)
                })
            }, some(5, 746))
            .smooth(),
        row!("loop that adds: a scatter with its axes turned": V => V, |x| {
                let last = fold(x.reshape((3, 2, 4)), &iota(2), |x, k| {
                    let updates = x.index_axis(2, &k).transpose().sin();
                    x + updates.scatter((iota(2), iota(2) + &k), (2, 4)).tr(&[2, 0, 1])
                });
                last.reshape(24)
            }, some(24, 740))
            .smooth(),
        row!("loop that writes: mapped, of what is gathered along two axes": V => V, |x| {
                let m = x.reshape((3, 4));
                let all = build(2, |i| fold(m.clone(), &iota(2), |m, k| {
                    let diagonal = m.gather((iota(2) + &i, iota(2) + &k));
                    m.scatter_set((&k, &i), &(diagonal.sin().sum() * 0.5))
                }));
                all.reshape(24)
            }, some(12, 741))
            .smooth(),
    ]
}

/// Sums the products of the parts of two rows before a position.
fn dot_below<A: Algebra>(left: &Vector<A, f64>, right: &Vector<A, f64>, bound: &Scalar<A, i64>) -> Scalar<A, f64> {
    build(left.len(), |k| k.lt(bound).select(left.at(&k) * right.at(&k), 0.0)).sum()
}

/// Loops and conditionals in loops.
fn nests() -> Vec<Row> {
    vec![
        row!("nest that writes: a factorisation by elements": M => M, |b| {
                let n = 6;
                let a = b.matmul(&b.transpose()) + build((n, n), |(i, j)| i.equal(&j).select(scalar(4.0), 0.0));
                fold(a, &iota(n), |a, i| {
                    let a = fold(a, &iota(n), |a, j| cond(j.lt(&i), || {
                        let dot = dot_below(&a.at(&i), &a.at(&j), &j);
                        let a = a.clone().with_added((&i, &j), -dot);
                        let quotient = a.at((&i, &j)) / a.at((&j, &j));
                        a.with((&i, &j), quotient)
                    }, || a.clone()));
                    let dot = dot_below(&a.at(&i), &a.at(&i), &i);
                    let a = a.with_added((&i, &i), -dot);
                    let root = a.at((&i, &i)).sqrt();
                    a.with((&i, &i), root)
                })
            }, some((6, 6), 751))
        .smooth(),
        row!("nest that writes: what the inner loop only copies": (M, V) => (M, S), |(a, b)| {
                fold((a.clone(), scalar(0.0)), &iota(4), |(a, s), i| {
                    let before = (&a * &a).sum();
                    let a = fold(a, &iota(3), |a, j| a.with((&i, &j), b.at(&j) * 2.0));
                    let s = s + before * (&a * &a * &a).sum();
                    (a, s)
                })
            }, (some((6, 5), 752), some(5, 753)))
        .smooth(),
        row!("nest that writes: the matrix before and after at once": M => M, |a| {
                fold(a.clone(), &iota(4), |a, i| {
                    let after = fold(a.clone(), &iota(3), |a, j| {
                        let value = ((&a * &a).sum() * a.at((&i, &j))).sin();
                        a.with((&i, &j), value)
                    });
                    let both = (&after * &a).sum() * 0.1;
                    after.with((&i, 4), both)
                })
            }, some((6, 5), 754))
        .smooth(),
        row!("nest that writes: conditionals, twice in one side": V => V, |x| {
                fold(x.clone(), &iota(8), |x, k| {
                    cond((&k % 3).gt(0), || {
                        let value = (x.dot(&x) * x.at(&k)).sin();
                        let y = x.clone().with(&k, value);
                        let value = y.dot(&y).cos();
                        y.with(&k + 1, value)
                    }, || {
                        let value = x.dot(&x).cos();
                        x.clone().with(&k - 1, value)
                    })
                })
            }, some(9, 755))
        .smooth(),
        row!("nest that writes: another array in each side": (V, V) => (V, V), |(x, y)| {
                fold((x.clone(), y.clone()), &iota(6), |(x, y), k| {
                    cond(x.at(&k).gt(0.1), || {
                        let value = (&x * &y).sum();
                        (x.clone().with(&k, value), y.clone())
                    }, || {
                        let value = (&x * &x * &y).sum();
                        (x.clone(), y.clone().with(&k, value))
                    })
                })
            }, (some(8, 756), some(8, 757)))
        .smooth(),
        row!("nest that writes: positions that the inner loop counts": M => M, |a| {
                fold(a.clone(), &iota(5), |a, i| {
                    let start = &i * 2 % 3;
                    iterate((a, start), 3, |(a, p)| {
                        let row = a.at(&p) * a.at(&i) + a.sum() * 0.1;
                        (a.with((&i, &p), row.sum()), (p * 2 + 1) % 5)
                    }).0
                })
            }, some((8, 6), 758))
        .smooth(),
        row!("nest that writes: three deep, and two arrays": (M, M) => (M, M), |(a, b)| {
                iterate((a.clone(), b.clone()), 2, |(a, b)| fold((a, b), &iota(3), |(a, b), i| {
                    fold((a, b), &iota(2), |(a, b), j| {
                        let value = (a.at(&i) * b.at(&j)).sum().sin();
                        let a = a.with((&i, &j), value);
                        let value = a.at(&j).dot(&b.at(&i));
                        (a, b.with_added((&j, &i), value))
                    })
                }))
            }, (some((6, 6), 759), some((6, 6), 760)))
        .smooth(),
        row!("nest that writes: a loop in one side of a condition": M => M, |a| {
                fold(a.clone(), &iota(5), |a, i| {
                    cond(a.at((&i, 0)).gt(0.0), || fold(a.clone(), &iota(3), |a, j| {
                        let value = a.at(&j).dot(&a.at(&i));
                        a.with((&i, &j), value)
                    }), || {
                        let value = a.at((&i, 1)) * a.at((&i, 0));
                        a.clone().with((&i, 1), value)
                    })
                })
            }, some((7, 5), 761))
        .smooth(),
        row!("nest that writes: an inner loop that ends by what it finds": M => M, |a| {
                fold(a.clone(), &iota(4), |a, i| {
                    while_loop((a, scalar(0i64)), |(_, j)| j.lt(&i), |(a, j)| {
                        let value = a.at(&i).dot(&a.at(&j)) * 0.5;
                        (a.with((&i, &j), value), j + 1)
                    }).0
                })
            }, some((5, 5), 762))
        .smooth(),
    ]
}
