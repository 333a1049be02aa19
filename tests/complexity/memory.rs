//! Bytes held and bytes asked for.

use super::*;

/// A table of 10¹² elements of which one element is read, or one row summed.
#[test]
fn large_builds_are_not_materialised() {
    let n = 1_000_000;
    let x: Vector<C, f64> = full(n, 0.5) + 0.0;
    let programs: Vec<(&str, Box<dyn Fn(&Vector<Staged, f64>) -> Scalar<Staged, f64>>)> = vec![
        (
            "an element of a triangle",
            Box::new(move |x| {
                let table: Matrix<Staged, f64> = build((n, n), |(i, j)| i.le(&j).select(0.0, 1.0));
                table.at((5, 3)) * x.at(0)
            }),
        ),
        (
            "a row of a triangle",
            Box::new(move |x| {
                let table: Matrix<Staged, f64> = build((n, n), |(i, j)| i.le(&j).select(0.0, 1.0));
                table.at(7).sum() * x.at(0)
            }),
        ),
        (
            "an element of an outer product",
            Box::new(move |x| build((n, n), |(i, j)| (x.at(i) * x.at(j)).sin()).at((5, 3))),
        ),
        ("a row of an outer product", Box::new(move |x| build((n, n), |(i, j)| (x.at(i) * x.at(j)).sin()).at(7).sum())),
        (
            "a row of nested builds",
            Box::new(move |x| build(n, |i| build(n, |j| x.at(&i) + x.at(&j)).exp()).at(n - 1).sum()),
        ),
        (
            "a computed row",
            Box::new(move |x| {
                let row = x.at(3).cast::<i64>() + 2;
                build((n, n), |(i, j)| (x.at(i) * x.at(j)).sin()).at(row).sum()
            }),
        ),
    ];
    for (name, f) in programs {
        let ((value, printed), peak, _) = measured(|| {
            let staged = stage(|x| f(x), &x).unwrap();
            let gradient = staged.value_and_grad().unwrap();
            let value = gradient.call(&x).unwrap().0.item();
            (value, format!("{staged}\n{gradient}"))
        });
        assert!(value.is_finite());
        assert!(peak < 100 * MEGABYTE, "{name}: {} MB\n{printed}", peak / MEGABYTE);
        assert!(!printed.contains("1000000, 1000000"), "{name}:\n{printed}");
    }
}

#[test]
fn eager_reads_are_added_in_place() {
    let n = 100_000;
    let x: Vector<C, f64> = full(n, 0.5) + 0.0;
    let (gradient, peak, total) = measured(|| {
        grad(
            |x| {
                let mut sum = scalar(0.0);
                for i in 0..n {
                    sum += x.at(i) * 2.0;
                }
                sum
            },
            &x,
        )
    });
    assert!(gradient.to_vec().iter().all(|&g| g == 2.0));
    assert!(peak < 400 * MEGABYTE, "{} MB", peak / MEGABYTE);
    assert!(total < 1000 * MEGABYTE, "{} MB in all", total / MEGABYTE);
    let (gradient, peak, total) = measured(|| grad(|x| build(n, |i| x.at(i) * 2.0).sum(), &x));
    assert!(gradient.to_vec().iter().all(|&g| g == 2.0));
    assert!(peak < 400 * MEGABYTE, "{} MB", peak / MEGABYTE);
    assert!(total < 1000 * MEGABYTE, "{} MB in all", total / MEGABYTE);
}

#[test]
fn calls_reuse_buffers() {
    let n = 1_000_000;
    let x: Vector<C, f64> = full(n, 0.5) + 0.0;
    let staged = stage(
        |x| {
            let mut y = x.clone();
            for _ in 0..5 {
                y = ((y.sin() + x) * 0.5).exp();
            }
            y
        },
        &x,
    );
    let staged = staged.unwrap();
    let (_, peak, _) = measured(|| staged.call(&x).unwrap());
    assert!(peak <= 3 * 8 * n + MEGABYTE, "{} MB", peak / MEGABYTE);
}
