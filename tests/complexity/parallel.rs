//! Reductions and scans with an associative operator: the work grows with the number of elements, the depth with its
//! logarithm, of programs and of their gradients.

use super::*;
use deltaray::term::Body;

type S1 = Scalar<Staged, f64>;
type V1 = Vector<Staged, f64>;

fn affine((a, b): (S1, S1), (c, d): (S1, S1)) -> (S1, S1) {
    (&a * &c, &c * b + d)
}

fn rotations(x: &V1) -> Tensor3<Staged, f64> {
    build(x.len(), |i| {
        let (s, c) = (x.at(&i).sin(), x.at(&i).cos());
        stack(&[stack(&[c.clone(), -&s]), stack(&[s, c])])
    })
}

type Program = fn(&V1) -> S1;

/// Programs of a vector of any length.
fn programs() -> Vec<(&'static str, Program)> {
    vec![
        ("reduce", |x| reduce(scalar(1.0), x, |a, b| a * b)),
        ("reduce, not linear", |x| reduce(scalar(0.0), x, |a, b| (&a + &b) / (1.0 + a * b))),
        ("reduce of pairs", |x| {
            let (a, b) = reduce((scalar(1.0), scalar(0.0)), &(x.clone(), x.sin()), affine);
            a + b
        }),
        ("reduce of matrices", |x| {
            let one = build((2, 2), |(i, j)| i.equal(j).cast::<f64>());
            reduce(one, &rotations(x), |a, b| a.dot(&b)).at((0, 1))
        }),
        ("reduce with a captured array", |x| {
            let w = x.at(0);
            reduce(scalar(0.0), x, |a, b| (a + b) * &w)
        }),
        ("associative scan", |x| (associative_scan(x, |a, b| a * b) * x).sum()),
        ("associative scan of pairs", |x| {
            let (a, b) = associative_scan(&(x.clone(), x.sin()), affine);
            (a * b).sum()
        }),
        // The sine, since the sum of all elements of products is planned as vectors times matrices from the ends.
        ("associative scan of matrices", |x| associative_scan(&rotations(x), |a, b| a.dot(&b)).sin().sum()),
        ("running product", |x| x.cumprod(0).sum()),
        ("running maximum", |x| (x.cummax(0) * x).sum()),
        ("product", |x| x.product()),
        ("reduce by index", |x| {
            let keys = iota(x.len()) % 5;
            reduce_by_index(scalar(1.0), &keys, x, 5, |a, b| a * b).sum()
        }),
        ("segments by offset", |x| {
            let offsets = iota(6) * (x.len() / 5);
            x.segment_product(&Segments::by_offset(&offsets, x.len())).sum()
        }),
    ]
}

/// The work, all elements counted, and the depth.
fn counts(body: &Body) -> (u128, u128) {
    let cost = body.cost();
    (cost.float_operations + cost.elements, cost.depth)
}

#[test]
fn work_is_linear_and_depth_logarithmic() {
    for (name, f) in programs() {
        let measure = |n: usize| {
            let x: Vector<C, f64> = full(n, 0.5);
            let staged = stage(f, &x).unwrap();
            let gradient = staged.value_and_grad().unwrap();
            [counts(staged.program()), counts(gradient.program())]
        };
        let sizes = [64, 128, 256, 512, 1024];
        let measured: Vec<_> = sizes.iter().map(|&n| measure(n)).collect();
        for which in 0..2 {
            let what = ["program", "gradient"][which];
            let (work, depth): (Vec<u128>, Vec<u128>) = measured.iter().map(|counts| counts[which]).unzip();
            let growth =
                |counts: &[u128]| -> Vec<i128> { counts.windows(2).map(|w| w[1] as i128 - w[0] as i128).collect() };
            // Twice as many elements are twice the work, and a constant for each level more.
            for (at, pair) in work.windows(2).enumerate() {
                assert!(pair[1] <= 2 * pair[0] + 1000, "{name}, {what}: work {work:?} of {sizes:?}, {at}");
            }
            assert!(work[4] <= 300 * 1024, "{name}, {what}: work {work:?}");
            // Every doubling adds the same few levels.
            let added = growth(&depth);
            let most = added[0].max(added[1]);
            assert!(most <= 40 && added.iter().all(|&more| more <= most), "{name}, {what}: depth {depth:?}");
        }
    }
}

/// A level of a reduction reads the even and the odd positions of the one below. Moved into it, the reads would make a tree of
/// the levels.
#[test]
fn reductions_have_a_few_nodes_for_each_level() {
    for (name, f) in programs().into_iter().filter(|(name, _)| name.starts_with("reduce")) {
        let nodes = |n: usize| {
            let staged = stage(f, &full(n, 0.5)).unwrap();
            [staged.program().node_count(), staged.value_and_grad().unwrap().program().node_count()]
        };
        let (less, more) = (nodes(256), nodes(1024));
        for (before, after) in less.into_iter().zip(more) {
            assert!(after <= before + 100, "{name}: {before} nodes for 256 elements, {after} for 1024");
        }
    }
}

#[test]
fn a_loop_is_as_deep_as_it_is_long() {
    // What the counts above would be of a fold: they do tell one from the other.
    let depth = |n: usize| {
        let x: Vector<C, f64> = full(n, 0.5);
        let staged = stage(|x| fold(scalar(1.0), x, |a, b| (a * b).sin()), &x).unwrap();
        counts(staged.program()).1
    };
    assert!(depth(512) >= depth(256) + 2 * 256);
}
