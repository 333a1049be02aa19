//! The pattern of each construct, to the entry.

use super::row::function;
use super::*;
use deltaray::staged::Staged;

type V = Vector<C, f64>;

/// The pattern of a function of four numbers and two positions, as rows with spaces between them; the positions are fixed
/// or not.
fn pattern(fix: bool, f: impl Fn(&Vector<Staged, f64>, &Vector<Staged, i64>) -> Vector<Staged, f64>) -> String {
    let (x, positions) = (v(&[0.6, 1.2, 0.4, 0.9]), Vector::<C, i64>::from(vec![2, 0]));
    let found = match fix {
        true => {
            let function = stage(|(x, p): &(_, Fixed<_>)| f(x, p), (&x, &fixed(positions.clone()))).unwrap();
            function.sparse_jacobian().unwrap().call((&x, &fixed(positions))).unwrap()
        }
        false => {
            let function = stage(|(x, p)| f(x, p), (&x, &positions)).unwrap();
            function.sparse_jacobian().unwrap().call((&x, &positions)).unwrap()
        }
    };
    found.pattern().to_string().trim().replace('\n', " ")
}

macro_rules! patterns {
    ($($name:ident: |$x:pat_param, $p:pat_param| $body:expr, $known:literal, $unknown:literal;)*) => {
        $(#[test]
        fn $name() {
            assert_eq!(pattern(true, |$x, $p| $body), $known, "fixed");
            assert_eq!(pattern(false, |$x, $p| $body), $unknown, "not fixed");
        })*
    };
}

patterns! {
    elementwise: |x, _| x.sin() * x.exp(), "x... .x.. ..x. ...x", "x... .x.. ..x. ...x";
    rounding: |x, _| x.floor() + x.round().ceil() + x.sign() + x.stop_gradient(), ".... .... .... ....", ".... .... .... ....";
    to_integers_and_back: |x, _| x.cast::<i64>().cast::<f64>() + x.gt(0.5).cast::<f64>(), ".... .... .... ....", ".... .... .... ....";
    to_another_float: |x, _| x.cast::<f32>().cast::<f64>(), "x... .x.. ..x. ...x", "x... .x.. ..x. ...x";
    // Read at a position, and at one of the two positions.
    reads: |x, p| stack(&[x.at(p.at(0)), x.at(1), x.at(p.at(1)) * x.at(3)]), "..x. .x.. x..x", "xxxx .x.. xxxx";
    outside: |x, p| stack(&[x.at(p.at(0) + 2), x.at(4), x.at(p.at(1) - 1)]), ".... .... ....", "xxxx .... xxxx";
    gathers: |x, p| x.gather(p), "..x. x...", "xxxx xxxx";
    scatters: |x, p| x.slice(0, ..2).scatter(p, 3), ".x.. .... x...", "xx.. xx.. xx..";
    // The mask is computed of the positions.
    choices: |x, p| p.gt(1).select(x.slice(0, ..2), x.slice(0, 2..)), "x... ...x", "x.x. .x.x";
    conditionals: |x, p| {
        let (a, b) = (x.slice(0, ..2), x.slice(0, 2..));
        cond(p.at(0).gt(1), || a.dot(&a).reshape(1), || b.dot(&b).reshape(1))
    }, "xx..", "xxxx";
    factors: |x, p| x * concatenate(0, &[p.cast::<f64>(), p.cast::<f64>()]), "x... .... ..x. ....", "x... .x.. ..x. ...x";
    views: |x, _| x.reverse(0) + x.slice(0, 1..2), ".x.x .xx. .x.. xx..", ".x.x .xx. .x.. xx..";
    sums: |x, _| x.reshape((2, 2)).sum_axis(0), "x.x. .x.x", "x.x. .x.x";
    extremes: |x, _| x.reshape((2, 2)).max_axis(1), "xx.. ..xx", "xx.. ..xx";
    products: |x, _| x.reshape((2, 2)).dot(&x.slice(0, 2..)), "xxxx ..xx", "xxxx ..xx";
    products_with_constants: |x, _| {
        let matrix: Matrix<Staged, f64> = constant(&Matrix::<C, f64>::from([[0.0, 2.0, 0.0, 1.0], [3.0, 0.0, 0.0, 0.0]]));
        matrix.dot(x)
    }, ".x.x x...", ".x.x x...";
    parts: |x, _| concatenate(0, &[x.slice(0, 2..), zeros(1), x.slice(0, ..1)]), "..x. ...x .... x...", "..x. ...x .... x...";
    loops: |x, _| scan(scalar(0.0), x, 4, |sum, x| (&sum * 0.5 + &x, sum.sin() + x)).1, "x... xx.. xxx. xxxx", "x... xx.. xxx. xxxx";
    loops_from_the_end: |x, _| scan_reverse(scalar(0.0), x, 4, |sum, x| (&sum * 0.5 + &x, sum.sin())).1,
        ".xxx ..xx ...x ....", ".xxx ..xx ...x ....";
    loops_that_read_at_computed_positions: |x, p| {
        let x = x.clone();
        scan(p.at(1), &(), 3, |i, ()| (&i + 2, x.at(i.modulo(4)).sin())).1
    }, "x... ..x. x...", "xxxx xxxx xxxx";
    // Each step moves everything by one place: two steps from position 0, or any number.
    loops_with_a_condition: |x, p| {
        let start = (p.at(1), x.slice(0, ..2), x.clone());
        let moved = |x: &Vector<Staged, f64>| build(4, |j| x.at(j + 1));
        while_loop(start, |(i, ..)| i.lt(2), |(i, y, x)| (i + 1, y + x.slice(0, ..2), moved(&x))).1
    }, "xx.. .xx.", "xxxx .xxx";
    loops_with_a_condition_on_the_input: |x, _| {
        let step = |x: Vector<Staged, f64>| {
            concatenate(0, &[x.slice(0, ..1), x.slice(0, ..1) * x.slice(0, 1..2), x.slice(0, 2..)])
        };
        while_loop(x.clone(), |x| x.at(1).gt(0.01), step)
    }, "x... xx.. ..x. ...x", "x... xx.. ..x. ...x";
    checkpointed_loops: |x, _| {
        Checkpoints::Every(2).scan(scalar(0.0), x, 4, |sum, x| (&sum * 0.5 + &x, sum.sin() + x)).1
    }, "x... xx.. xxx. xxxx", "x... xx.. xxx. xxxx";
    rounding_that_is_passed_straight_through: |x, _| {
        custom_vjp(&function!(V => V, |x| x.round()), &function!((V, V, V) => V, |(_, _, c)| c.clone()), x)
    }, "x... .x.. ..x. ...x", "x... .x.. ..x. ...x";
    // No derivatives of the function, so that it shows which one is used.
    rules_in_reverse: |x, _| {
        let rule = function!((V, V, V) => V, |(_, _, c)| concatenate(0, &[zeros(1), c.slice(0, ..2), c.slice(0, 2..3)]));
        custom_vjp(&function!(V => V, |x| x.slice(0, ..3)), &rule, &x.sin())
    }, ".x.. ..x. ...x", ".x.. ..x. ...x";
    rules_forwards: |x, _| {
        custom_jvp(&function!(V => V, |x| x * x.sum()), &function!((V, V, V) => V, |(_, _, t)| t.reverse(0)), &x.exp())
    }, "...x ..x. .x.. x...", "...x ..x. .x.. x...";
    constants_with_a_rule: |x, _| {
        custom_vjp(&function!(V => V, |x| ones(x.len())), &function!((V, V, V) => V, |(_, _, c)| c * 2.0), x)
    }, "x... .x.. ..x. ...x", "x... .x.. ..x. ...x";
    sorting: |x, _| x.sort(0), "xxxx xxxx xxxx xxxx", "xxxx xxxx xxxx xxxx";
}

#[test]
fn reads_of_a_matrix_at_a_row_that_is_not_known() {
    let (x, positions) = (Matrix::<C, f64>::from([[0.6, 1.2], [0.4, 0.9]]), Vector::<C, i64>::from(vec![1, 0]));
    let read = |(x, p): &(Matrix<Staged, f64>, Vector<Staged, i64>)| {
        let written: Matrix<Staged, f64> = x.slice(0, ..1).scatter(&p.slice(0, ..1), 2);
        concatenate(0, &[stack(&[x.at((p.at(0), 1)), x.at((0, p.at(1)))]), written.reshape(4)])
    };
    let jacobian = stage(read, (&x, &positions)).unwrap().sparse_jacobian().unwrap();
    let found = jacobian.call((&x, &positions)).unwrap();
    assert_eq!(found.pattern().to_string(), ".x.x\nxx..\nx...\n.x..\nx...\n.x..\n");
    assert_eq!(found.to_dense().to_vec()[..8], [0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
}
