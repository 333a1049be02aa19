//! Operands that do not fit: panics at the line of the user.

use super::*;

#[test]
fn name_the_operation_both_shapes_and_the_line() {
    let (x, y) = (v(&[1.0, 2.0]), v(&[1.0, 2.0, 3.0]));
    let line = line!() + 1;
    let message = panic_of(|| &x + &y);
    assert!(message.contains("add") && message.contains("[2]") && message.contains("[3]"), "{message}");
    assert!(message.contains(&format!("errors.rs:{line}")), "{message}");
    let line = line!() + 1;
    let message = panic_of(|| grad(|x| (x * y.lift()).sum(), &x));
    assert!(message.contains("mul") && message.contains(&format!("errors.rs:{line}")), "{message}");
    let m: Matrix<C, f64> = zeros((2, 3));
    for (message, operation, shapes) in [
        (panic_of(|| m.dot(&m)), "dot", ["[2, 3]", "[2, 3]"]),
        (panic_of(|| m.reshape((4, 2))), "reshape", ["[2, 3]", "[4, 2]"]),
        (panic_of(|| m.broadcast_to((3, 2))), "broadcast_to", ["[2, 3]", "[3, 2]"]),
        (panic_of(|| m.sum_axis(2)), "sum_axis", ["[2, 3]", "axis 2"]),
        (panic_of(|| m.slice(1, 2..5)), "slice", ["[2, 3]", "2..5"]),
        (panic_of(|| m.slice_step(1, 2..5, -1)), "slice_step", ["[2, 3]", "2..5"]),
        (panic_of(|| m.reverse(2)), "reverse", ["[2, 3]", "axis 2"]),
        (panic_of(|| m.append(0, &m.transpose())), "append", ["[2, 3]", "[3, 2]"]),
        (panic_of(|| stack(&[x.clone(), y.clone()])), "stack", ["[2]", "[3]"]),
        (panic_of(|| x.lt(&y)), "lt", ["[2]", "[3]"]),
        (panic_of(|| x.gt(0.0).select(&x, &y)), "select", ["[2]", "[3]"]),
        (panic_of(|| select(y.gt(0.0), &x, &x)), "select", ["[2]", "[3]"]),
        (panic_of(|| m.tr(&[1, 1])), "tr", ["[1, 1]", "[2, 3]"]),
        (panic_of(|| m.contract::<_, R1>(&x, "ij,j->i")), "contract", ["[2, 3]", "[2]"]),
        (panic_of(|| m.contract_axes(&x, [1], [0])), "contract_axes", ["[2, 3]", "[2]"]),
        (panic_of(|| m.insert_axis(0).matmul(&m)), "matmul", ["[1, 2, 3]", "[2, 3]"]),
        (panic_of(|| m.gather((&iota(2), &iota(3)))), "gather", ["[2]", "[3]"]),
        (panic_of(|| x.scatter(&iota(3), 4)), "scatter", ["[2]", "[3]"]),
        (panic_of(|| m.remove_axis(0)), "remove_axis", ["[2, 3]", "axis 0"]),
        (panic_of(|| x.clone().into_dyn().at((0, 0))), "at", ["[2]", "2 positions"]),
        (panic_of(|| x.clone().into_dyn().into_rank::<R2>()), "into_rank", ["[2]", "2 axes"]),
        (
            panic_of(|| {
                let mut z = x.clone();
                z += &m;
            }),
            "add",
            ["[2]", "[2, 3]"],
        ),
        (panic_of(|| build(2, |i| build(x.at(i).item() as usize, |_| scalar::<C, f64>(0.0)))), "build", ["[1]", "[2]"]),
        (panic_of(|| scan(x.clone(), &(), 1, |c, ()| (c.pad(0, 0, 1), ()))), "scan", ["f64[2]", "f64[3]"]),
        (panic_of(|| scan(x.clone(), &y, 2, |c, _| (c, ()))), "scan", ["[3]", "2 steps"]),
        (panic_of(|| Vector::<C, f64>::from_elements(3, vec![1.0])), "from_elements", ["[3]", "1 elements"]),
        (panic_of(|| vjp(|x| x * 2.0, &x).1(&y)), "vjp", ["f64[2]", "f64[3]"]),
        (panic_of(|| jvp(|x| x * 2.0, &x, &y)), "jvp", ["f64[2]", "f64[3]"]),
    ] {
        assert!(message.starts_with(operation), "{operation}: {message}");
        assert!(message.contains(shapes[0]) && message.contains(shapes[1]), "{shapes:?}: {message}");
        assert!(message.contains("errors.rs"), "{message}");
    }
}

#[test]
fn products_name_the_axes_that_do_not_fit_and_trees_the_fields() {
    use deltaray::tensor::TreeArithmetic;

    let (m, stack): (Matrix<C, f64>, Tensor3<C, f64>) = (zeros((2, 3)), zeros((5, 3, 4)));
    let axes = |axis: usize, extent: usize, other: usize, other_extent: usize| {
        format!(": axis {axis} of the first has extent {extent}, axis {other} of the second {other_extent} (at ")
    };
    for (message, expected) in [
        (panic_of(|| m.dot(&m)), axes(1, 3, 0, 2)),
        (panic_of(|| stack.matmul(&m.transpose())), axes(2, 4, 0, 3)),
        (panic_of(|| stack.matmul(&zeros::<C, f64, _>((6, 4, 2)))), axes(0, 5, 0, 6)),
        (panic_of(|| m.contract::<_, R1>(&m, "ij,ji->j")), axes(0, 2, 1, 3)),
        (panic_of(|| m.contract_axes(&m, [0], [1])), axes(0, 2, 1, 3)),
    ] {
        assert!(message.contains(&expected), "{message}");
    }

    let labels = panic_of(|| stack.contract::<_, R2>(&zeros::<C, f64, _>((7, 6)), "ij,jk->ik"));
    assert!(labels.contains(": 2 labels for the shape [5, 3, 4] (at "), "{labels}");
    // Each shape stands there once.
    assert_eq!(panic_of(|| m.dot(&m)).matches("[2, 3]").count(), 2);

    #[derive(Tree)]
    #[tree(arithmetic)]
    struct Line<A: Algebra> {
        slope: Vector<A, f64>,
        offset: Scalar<A, f64>,
    }

    let line = |n: usize| Line::<C> { slope: ones(n), offset: scalar(1.0) };
    let expected = ": the trees differ: `slope` is f64[2] and f64[3] (at tests/surface/errors.rs:";
    let place = line!() + 1;
    for message in [panic_of(|| &line(2) - &line(3)), panic_of(|| line(2).plus(&line(3)))] {
        assert!(message.contains(&format!("{expected}{place}:")), "{message}");
    }
    let position = panic_of(|| (ones::<C, f64, _>(2), ones::<C, f64, _>(3)).plus(&(ones(2), ones(4))));
    assert!(position.contains(": the trees differ: array 1 is f64[3] and f64[4] (at "), "{position}");
}
