//! Long programs.

use super::*;

const LENGTH: usize = 100_000;

fn chain<A: Algebra>(x: &Vector<A, f64>, n: usize) -> Vector<A, f64> {
    let mut y = x.clone();
    for at in 0..n {
        y = match at % 4 {
            0 => y.sin(),
            1 => &y * x,
            2 => y.reverse(0),
            _ => y + 1.0,
        };
    }
    y
}

#[test]
fn staged() {
    // Every pass once, and every intermediate program printed and dropped.
    guarded(|| {
        let types = v(&[0.5, 0.25]).types();
        let source = deltaray::staged::stage(&types, |mut inputs| {
            let x: Vector<Staged, f64> = Tensor::from_array(inputs.remove(0)).unwrap();
            vec![chain(&x, LENGTH).sum().into_array()]
        });
        let source = source.unwrap();
        assert!(source.to_string().len() < 100 * LENGTH);
        let bulk = deltaray::vectorise::vectorise(&source);
        drop(source);
        let simplified = deltaray::simplify::simplify(&bulk);
        assert!(simplified.node_count() <= bulk.node_count());
        drop(bulk);
        let pushed = deltaray::vectorise::push_reads(&simplified);
        assert!(pushed.node_count() <= simplified.node_count());
        drop(simplified);
        let transposed = program::value_and_gradient(&pushed, 1).unwrap();
        assert!(transposed.node_count() <= 5 * LENGTH);
        drop(pushed);
        let gradient = deltaray::simplify::simplify(&transposed);
        assert!(gradient.node_count() <= 5 * LENGTH);
        assert!(gradient.to_string().len() < 200 * LENGTH);
    });
}

#[test]
fn through_the_whole_pipeline() {
    guarded(|| {
        let (x, n) = (v(&[0.5, 0.25]), LENGTH / 10);
        let staged = stage(|x| chain(x, n).sum(), &x).unwrap();
        let gradient = staged.value_and_grad().unwrap();
        assert!(gradient.program().node_count() <= 5 * n);
        let (value, slope) = gradient.interpret(&x).unwrap();
        let (expected, expected_slope) = value_and_grad(|x| chain(x, n).sum(), &x);
        assert!((value.item() - expected.item()).abs() < 1e-9);
        for (a, b) in slope.to_vec().into_iter().zip(expected_slope.to_vec()) {
            assert!((a - b).abs() < 1e-9, "{a} and {b}");
        }
    });
}

#[test]
fn in_a_build() {
    guarded(|| {
        let (x, n) = (v(&[0.5, 0.25]), LENGTH / 20);
        let staged = stage(
            |x| {
                let element = |i: Scalar<Staged, i64>| {
                    let mut y = x.at(&i);
                    for _ in 0..n {
                        y = y.sin() * x.at(&i);
                    }
                    y
                };
                build(2, element).sum()
            },
            &x,
        );
        let staged = staged.unwrap();
        assert!(staged.source().to_string().len() < 200 * n);
        let gradient = staged.grad().unwrap();
        assert!(gradient.to_string().len() < 500 * n);
    });
}

#[test]
fn eager() {
    guarded(|| {
        let x = v(&[0.5, 0.25]);
        assert!(grad(|x| chain(x, LENGTH).sum(), &x).to_vec().iter().all(|g| g.is_finite()));
        let _ = jvp(|x| chain(x, LENGTH), &x, &x);
        let _ = jvp(|x| grad(|y| chain(y, LENGTH / 10).sum(), x), &x, &x);
        let _ = grad(|x| grad(|y| chain(y, LENGTH / 10).sum(), x).sum(), &x);
        let _ = grad(|x| jvp(|y| chain(y, LENGTH / 10), x, x).1.sum(), &x);
    });
}

#[test]
fn of_views() {
    guarded(|| {
        let x = v(&[0.5, 0.25, 1.0, 2.0]);
        let long = |x: &Vector<Staged, f64>| {
            let mut y = x.clone();
            for _ in 0..LENGTH / 20 {
                y = y.pad(0, 1, 0).slice(0, ..4).reshape((2, 2)).transpose().flatten().append(0, x).slice(0, 4..);
            }
            y.sum()
        };
        let gradient = stage(long, &x).unwrap().grad().unwrap();
        assert!(gradient.to_string().len() < 100 * LENGTH);
    });
}
