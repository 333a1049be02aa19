//! Programs of every construct, of any length: so many steps one after the other, so many operands, or so many levels.

use super::*;
use crate::rules::{Sine, SineRule};

pub type S = Scalar<Staged, f64>;
pub type V = Vector<Staged, f64>;

/// A program of a number of vectors.
pub struct Construct {
    pub name: &'static str,
    /// How many steps, operands or levels the smaller program has.
    pub size: usize,
    /// How many vectors a program of a size takes, and how long they are.
    pub parameters: fn(usize) -> usize,
    pub width: usize,
    pub program: fn(usize, &Vec<V>) -> S,
    /// How many times as much a program of twice the size may be: twice, or for levels four times, and a little more.
    pub growth: f64,
    /// Whether running it takes in proportion to the program, too.
    pub runs: bool,
}

/// A construct of so many steps: its name, its size, and its program, of one vector of nine elements unless said.
macro_rules! steps {
    ($name:expr, $size:expr, $program:expr) => { steps!($name, $size, wide 9, $program) };
    ($name:expr, $size:expr, wide $width:expr, $program:expr) => {
        Construct { name: $name, size: $size, parameters: |_| 1, width: $width, program: $program, growth: 2.2, runs: true }
    };
    ($name:expr, $size:expr, many $program:expr) => {
        Construct { name: $name, size: $size, parameters: |n| n, width: 9, program: $program, growth: 2.2, runs: true }
    };
}
pub(super) use steps;

fn tree(xs: &[S]) -> S {
    match xs {
        [x] => x.clone(),
        _ => {
            let (a, b) = xs.split_at(xs.len() / 2);
            (tree(a) * tree(b)).sin()
        }
    }
}
/// All of them.
pub fn constructs() -> Vec<Construct> {
    vec![
        steps!("conds", 20, |n, p| (0..n).fold(p[0].at(0), |y, i| {
            let c = p[0].at((i % 9) as i64);
            cond(y.gt(&c), || y.sin() + &c, || y.cos() * &c)
        })),
        steps!("conds without c", 20, |n, p| (0..n).fold(p[0].at(0), |y, _| cond(y.gt(0.5), || y.sin(), || y.cos()))),
        steps!("conds of vectors", 20, |n, p| (0..n)
            .fold(p[0].clone(), |y, i| {
                let c = &p[0] * ((i % 9) as f64);
                cond(y.at(0).gt(0.3), || y.sin() + &c, || y.cos() * &c)
            })
            .sum()),
        steps!("scalar chain", 84, |n, p| (0..n).fold(p[0].at(0), |y, i| match i % 3 {
            0 => y.sin(),
            1 => &y * p[0].at((i % 9) as i64),
            _ => y.cos() + &y,
        })),
        steps!("chain", 84, |n, p| (0..n)
            .fold(p[0].clone(), |y, i| match i % 3 {
                0 => y.sin(),
                1 => &y * &p[0],
                _ => y.cos() + &y,
            })
            .sum()),
        steps!("wide chain", 84, wide 2000, |n, p| (0..n).fold(p[0].clone(), |y, i| match i % 3 { 0 => y.sin(), 1 => &y * &p[0], _ => y.cos() + &y }).sum()),
        steps!("stencils", 20, wide 100, |n, p| (0..n).fold(p[0].clone(), |y, _| build(100, |i| (y.at(&i) + y.at(&i - 1)).sin())).sum()),
        steps!("gathers", 20, |n, p| {
            let k: Vector<Staged, i64> = constant(&Vector::<C, i64>::from_slice(&[2, 0, 0, 1, 3, 5, 4, 8, 7]));
            (0..n).fold(p[0].clone(), |y, _| build(9, |i| (y.at(&i) * y.at(k.at(i))).exp())).sum()
        }),
        steps!("reads of one number", 40, |n, p| {
            let k = (&p[0] * 10.0).cast::<i64>();
            (0..n).fold(p[0].clone(), |y, i| y + full::<Staged, f64, _>(9, i as f64).gather(&(&k + i as i64))).sum()
        }),
        steps!("data gathers", 20, |n, p| (0..n)
            .fold(p[0].clone(), |y, _| {
                let k = (&y * 10.0).cast::<i64>().modulo(9);
                y.gather(&k) * 1.01
            })
            .sum()),
        steps!("scatters", 20, |n, p| (0..n)
            .fold(p[0].clone(), |y, _| {
                let k = (&y * 10.0).cast::<i64>().modulo(9);
                y.scatter(&k, 9).sin()
            })
            .sum()),
        steps!("scans", 16, |n, p| (0..n)
            .fold(p[0].clone(), |y, _| {
                let (last, all) = scan(y.sum(), &y, 9, |c, e| (c.sin() * &e, c + e));
                all * last
            })
            .sum()),
        steps!("scans with captures", 16, |n, p| (0..n)
            .fold(p[0].clone(), |y, i| {
                let q = p[0].at((i % 9) as i64);
                scan(y, &p[0], 9, |c, e| ((&c * &p[0]).sin() * &e * &q, ())).0
            })
            .sum()),
        steps!("independent scans", 16, |n, p| (0..n).fold(p[0].at(0), |y, i| {
            y + scan(p[0].at(0), &p[0], 9, |c, e| ((c * &e).sin() * ((i + 2) as f64), ())).0
        })),
        steps!("scan of n inputs", 16, |n, p| {
            let inputs: Vec<V> = (0..n).map(|i| &p[0] * (i as f64 + 0.5)).collect();
            scan(p[0].at(0), &inputs, 9, |c, e| (e.iter().fold(c, |c, e| (c * e).sin()), ())).0
        }),
        steps!("scan of n carries", 16, |n, p| {
            let carries: Vec<S> = (0..n).map(|i| p[0].at(0) * (i as f64 + 0.5)).collect();
            let (last, all) = scan(carries, &p[0], 9, |c, e| {
                let mut next = c.clone();
                next.rotate_left(1);
                let next: Vec<S> = next.iter().zip(&c).map(|(a, b)| (a * b).sin() * &e).collect();
                (next.clone(), next)
            });
            last.iter().zip(&all).fold(p[0].at(1), |s, (l, a)| s + l * a.sum())
        }),
        steps!("scan of n captures", 16, |n, p| {
            let captures: Vec<S> = (0..n).map(|i| p[0].at(0) * (i as f64 + 0.5)).collect();
            scan(p[0].at(0), &p[0], 9, |c, e| (captures.iter().fold(c * e, |c, x| (c * x).sin()), ())).0
        }),
        steps!("cond of n captures", 16, |n, p| {
            let captures: Vec<S> = (0..n).map(|i| p[0].at(0) * (i as f64 + 0.5)).collect();
            cond(p[0].at(0).gt(0.1), || captures.iter().fold(p[0].at(1), |c, x| (c * x).sin()), || captures[0].clone())
        }),
        steps!("cond of n results", 16, |n, p| {
            let y: Vec<S> = (0..n).map(|i| p[0].at(0) * (i as f64 + 0.5)).collect();
            let r: Vec<S> = cond(
                p[0].at(0).gt(0.1),
                || y.iter().map(|y| y.sin()).collect::<Vec<S>>(),
                || y.iter().map(|y| y.cos()).collect(),
            );
            r.iter().fold(p[0].at(1), |c, x| (c * x).sin())
        }),
        steps!("whiles", 16, |n, p| (0..n).fold(p[0].at(0), |y, i| {
            let c = p[0].at((i % 9) as i64);
            while_loop(y, |y| y.gt(0.1), |y| y * 0.5 * &c)
        })),
        steps!("snapshots", 16, |n, p| (0..n)
            .fold(p[0].clone(), |y, i| {
                let c = p[0].at((i % 9) as i64);
                Checkpoints::Snapshots(3).scan(y, &(), 10, move |y: V, ()| ((y * &c).sin(), ())).0
            })
            .sum()),
        steps!("checkpoints", 16, |n, p| (0..n)
            .fold(p[0].clone(), |y, _| checkpoint(&y, |y| (y.sin() * y).cos()))
            .sum()),
        steps!("custom rules", 20, |n, p| (0..n)
            .fold(p[0].clone(), |y, i| match i % 2 {
                0 => custom_vjp(&Sine, &SineRule, &y),
                _ => custom_jvp(&Sine, &SineRule, &y),
            })
            .sum()),
        steps!("sorts", 16, |n, p| (0..n).fold(p[0].clone(), |y, _| y.sort(0).sin() * &p[0]).sum()),
        steps!("segments", 16, |n, p| (0..n)
            .fold(p[0].clone(), |y, _| {
                let k = (&y * 10.0).cast::<i64>().modulo(9);
                let s = Segments::by_key(&k, 9);
                y.segment_sum(&s) + y.segment_max(&s)
            })
            .sum()),
        steps!("concatenation", 40, |n, p| {
            let parts: Vec<V> = (0..n).map(|i| (&p[0] * (i as f64 + 0.5)).sin()).collect();
            concatenate(0, &parts).sin().sum()
        }),
        steps!("concatenation of slices", 40, |n, p| {
            let parts: Vec<V> = (0..n).map(|i| (&p[0] * (i as f64 + 0.5)).sin()).collect();
            let all = concatenate(0, &parts);
            (0..n).fold(p[0].clone(), |y, i| y * all.slice(0, 9 * i..9 * i + 9)).sum()
        }),
        steps!("stack", 40, |n, p| {
            let parts: Vec<S> = (0..n).map(|i| (p[0].at(0) * (i as f64 + 0.5)).sin()).collect();
            stack(&parts).sin().sum()
        }),
        // The first values are in registers, which cost no memory.
        // Both sizes have machine code, which larger ones are not worth: they run on tiles, whose registers take more.
        steps!("stack and read", 40, |n, p| {
            let parts: Vec<S> = (0..n).map(|i| (p[0].at(0) * (i as f64 + 0.5)).sin()).collect();
            let all = stack(&parts).sin();
            (0..n).fold(p[0].at(1), |y, i| y * all.at(i as i64))
        }),
        // Each is a copy of all that were before it when it runs.
        Construct {
            runs: false,
            ..steps!("appends", 120, |n, p| (0..n)
                .fold(p[0].clone(), |y, i| y.append(0, &(&p[0] * (i as f64))))
                .sin()
                .sum())
        },
        Construct {
            runs: false,
            ..steps!("appends computed", 120, |n, p| (0..n)
                .fold(p[0].clone(), |y, i| y.sin().append(0, &(&p[0] * (i as f64))))
                .sin()
                .sum())
        },
        steps!("parameters", 40, many | _, p | p.iter().fold(p[0].clone(), |y, x| (y * x).sin()).sum()),
        steps!("parameters, independent", 40, many | _, p | p.iter().fold(p[0].at(0), |y, x| y + x.sin().sum())),
        steps!("parameters in a tree", 40, many | _, p | tree(&p.iter().map(|p| p.sum()).collect::<Vec<_>>())),
        steps!("constants", 40, |n, p| (0..n)
            .fold(p[0].clone(), |y, i| {
                let c: Vec<f64> = (0..9).map(|j| ((i * 7 + j * 13) % 101) as f64 / 50.0).collect();
                let c: V = constant(&Vector::<C, f64>::from(c));
                (y * c).sin()
            })
            .sum()),
        steps!("deep tree", 24, |n, p| tree(
            &(0..n).map(|i| p[0].at((i % 9) as i64) * (1.0 + i as f64)).collect::<Vec<_>>()
        )),
        steps!("reads at n places", 40, wide 4000, |n, p| (0..n).fold(p[0].at(0), |y, i| (y * p[0].at(i as i64)).sin())),
        // From 112 on they fill a quarter of the array, and their cotangents are not scattered (`simplify::sums`): three times the
        // visits from 80 to 160, and in proportion again from there to 1,280.
        steps!("slices", 40, wide 4000, |n, p| (0..n).fold(p[0].slice(0, 0..9), |y, i| (y * p[0].slice(0, i..i + 9)).sin()).sum()),
        steps!("independent slices", 40, wide 4000, |n, p| (0..n).fold(p[0].at(0), |y, i| y + p[0].slice(0, i..i + 9).sin().sum())),
        steps!("sums", 40, |n, p| (0..n).fold(p[0].clone(), |y, _| (&y * y.sum()).sin()).sum()),
        steps!("products", 20, wide 400, |n, p| {
            let m = p[0].reshape((20, 20));
            (0..n).fold(m.clone(), |y, _| y.dot(&m).tanh()).at(0).sum()
        }),
        steps!("matrix vector", 20, wide 10000, |n, p| {
            let m = p[0].reshape((100, 100));
            (0..n).fold(m.at(0), |y, _| m.dot(&y).tanh()).sum()
        }),
        steps!("views", 20, |n, p| (0..n)
            .fold(p[0].clone(), |y, _| y
                .pad(0, 1, 0)
                .slice(0, ..9)
                .reverse(0)
                .reshape((3, 3))
                .transpose()
                .flatten()
                .sin())
            .sum()),
        steps!("selects", 40, |n, p| (0..n)
            .fold(p[0].clone(), |y, _| y.gt(&p[0]).select(&y * 0.5 + &y, &y - 1.0))
            .sum()),
        steps!("shared", 40, |n, p| (0..n).fold(p[0].clone(), |y, _| y.sin() * y.cos() + &y).sum()),
        steps!("sum of n terms of one", 40, |n, p| (0..n)
            .fold(p[0].clone(), |y, i| y + (&p[0] * (i as f64 + 0.5)).sin())
            .sum()),
        steps!("builds", 16, |n, p| (0..n)
            .fold(p[0].clone(), |y, _| build(9, |i| build(9, |j| y.at(&i) * y.at(&j)).sum().sin()))
            .sum()),
        steps!("one long build", 40, |n, p| build(9, |i| (0..n)
            .fold(p[0].at(&i), |y, k| (y * p[0].at(&i + k as i64)).sin()))
        .sum()),
        steps!("build with n captures", 20, |n, p| {
            let y: Vec<V> = (0..n).map(|i| (&p[0] * (i as f64 + 0.5)).sin()).collect();
            build(9, |i| y.iter().fold(p[0].at(&i), |s, y| s * y.at(&i))).sum()
        }),
        steps!("long scan body", 40, |n, p| scan(p[0].at(0), &p[0], 9, |c, e| (
            (0..n).fold(c, |y, _| (y * &e).sin()),
            ()
        ))
        .0),
        steps!("long cond", 40, |n, p| cond(
            p[0].at(0).gt(0.0),
            || (0..n).fold(p[0].clone(), |y, _| (y * &p[0]).sin()),
            || p[0].clone()
        )
        .sum()),
        steps!("long while", 20, |n, p| while_loop(
            p[0].clone(),
            |y| y.at(0).gt(0.1),
            |y| (0..n).fold(y, |y, _| (y * &p[0]).sin())
        )
        .sum()),
        steps!("grad inside", 20, |n, p| {
            let g = grad(|x: &V| (0..n).fold(x.clone(), |y, _| (&y * x).sin()).sum(), &p[0]);
            g.sum()
        }),
    ]
}
