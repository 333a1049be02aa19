//! The surface over terms: the same functions staged, and every operand that does not fit an `Err` with the user's line.

use deltaray::Error;
use deltaray::algebra::Algebra;
use deltaray::derivative::stage;
use deltaray::prelude::*;
use deltaray::staged::Staged;
use std::cell::RefCell;

type C = Concrete;

fn v(elements: &[f64]) -> Vector<C, f64> {
    Vector::from_slice(elements)
}

fn self_convolution<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
    let n = x.len();
    build(n, |i| x.at(&i) * x.at(n - 1 - i)).sum()
}

fn sums<A: Algebra>(x: &Vector<A, f64>) -> (Scalar<A, f64>, Vector<A, f64>) {
    scan_reverse(scalar(0.0), x, x.len(), |sum, x| {
        let sum = cond(x.gt(0.0), || &sum + x, || sum.clone());
        (sum.clone(), sum)
    })
}

#[test]
fn staged_functions_agree_with_eager_ones() {
    let x = v(&[1.0, -2.0, 3.0]);
    let staged = stage(self_convolution, &x).unwrap();
    assert_eq!(staged.call(&x).unwrap(), self_convolution(&x));
    assert_eq!(staged.grad().unwrap().call(&x).unwrap(), grad(self_convolution, &x));
    let staged = stage(sums, &x).unwrap();
    assert_eq!(staged.call(&x).unwrap(), sums(&x));
    let staged = stage(|x| grad(|y| (self_convolution(y) * x.lift()).sum(), x), &x).unwrap();
    assert_eq!(staged.call(&x).unwrap(), grad(|y| (self_convolution(y) * x.lift()).sum(), &x));
    let staged =
        stage(|(x, i)| (x.at(i), x.gather(&iota(2)), build((2, 2), |(p, q)| x.at(p + q * i))), (&x, &scalar(1i64)));
    let (a, b, c) = staged.unwrap().call((&x, &scalar(2i64))).unwrap();
    assert_eq!((a.item(), b.to_vec(), c.to_vec()), (3.0, vec![1.0, -2.0], vec![1.0, 3.0, -2.0, 0.0]));
}

#[test]
fn staged_functions_are_called_from_any_thread() {
    let gradient = stage(self_convolution, &v(&[0.0; 3])).unwrap().grad().unwrap();
    std::thread::scope(|scope| {
        for k in 0..4 {
            let gradient = &gradient;
            scope.spawn(move || {
                let x = v(&[f64::from(k), 1.0, 2.0]);
                assert_eq!(gradient.call(&x).unwrap(), grad(self_convolution, &x));
            });
        }
    });
}

/// The operation and place of the error that staging ends in.
fn error_of<Y: Tree<Staged>>(
    f: impl FnOnce(&(Vector<Staged, f64>, Matrix<Staged, f64>)) -> Y,
) -> (String, String, String) {
    match stage(f, (&v(&[1.0, 2.0]), &Matrix::<C, f64>::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))) {
        Err(Error::Operands { operation, problem, place }) => (operation, problem, place),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("no error"),
    }
}

#[test]
fn operands_that_do_not_fit_are_recorded_and_nothing_panics() {
    let none = || zeros::<Staged, f64, _>(0);
    // Each first mistake is followed by whatever may be done with its result.
    for ((operation, problem, place), expected) in [
        (error_of(|(x, m)| (x + m).sum_axis(0).dot(x)), "add"),
        (error_of(|(x, m)| m.dot(m).diagonal().at(0) + x.reshape(7)), "dot"),
        (error_of(|(x, m)| x.reshape((4, 2)).dot(m).transpose().append(0, m)), "reshape"),
        (error_of(|(x, _)| x.remove_axis(0).exp() + x), "remove_axis"),
        (error_of(|(_, m)| m.index_axis(5, 0).slice(0, 9..).mean_axis(0)), "index_axis"),
        (error_of(|(_, m)| m.sum_axes([0, 7]) * 2.0), "sum_axes"),
        (error_of(|(x, m)| m.contract::<_, R3>(x, "ij,k->ij").tr(&[2, 0, 1]).at((0, 0, 0))), "contract"),
        (error_of(|(x, m)| m.contract_axes(x, [1], [0]).argmax()), "contract_axes"),
        (error_of(|(x, _)| stack(&[x.clone(), x.pad(0, 1, 0)]).insert_axis(9).at((0, 0))), "stack"),
        (error_of(|_| stack::<Staged, f64, R1>(&[]).at(0)), "stack"),
        (error_of(|_| concatenate::<Staged, f64, R2>(0, &[]).dot(&zeros(3))), "concatenate"),
        (error_of(|(x, m)| m.gather((&iota(2), &iota(3))).scatter(&iota(5), 4) + x), "gather"),
        (error_of(|(x, m)| x.scatter(&iota(3), 4).dot(m)), "scatter"),
        (error_of(|(x, m)| x.gt(0.0).select(m, 0.0).insert_axis(7)), "select"),
        (error_of(|(x, m)| select(m.gt(0.0), x, x)), "select"),
        (error_of(|(x, m)| x.clone().into_dyn().at((0, 0)).into_rank::<R2>().dot(m)), "at"),
        (error_of(|(x, _)| x.clone().into_dyn().into_rank::<R3>().at((0, 0, 0))), "into_rank"),
        (error_of(|(x, m)| m.matmul(&x.insert_axis(0)).tr(&[4]).slice_step(3, .., 0)), "matmul"),
        (error_of(|(x, _)| scan(x.clone(), &(), 3, |c, ()| (c.pad(0, 1, 0), c))), "scan"),
        (error_of(|(x, m)| scan(x.clone(), m, 3, |c, row| (c * 2.0, row))), "scan"),
        (error_of(|(x, _)| scan(none(), &x.at(0), 3, |c, row| (c, row))), "scan"),
        (error_of(|(x, m)| cond(x.at(0).gt(0.0), || x.clone(), || m.at(0))), "cond"),
        (error_of(|(x, m)| vjp(|y| y * 2.0, x).1(&m.at(0)) + x), "vjp"),
        (error_of(|(x, m)| jvp(|y| y * 2.0, x, &m.at(0)).1 + x), "jvp"),
        (error_of(|(x, _)| build(3, |i| x.slice(0, 1..5).at(i) + x).dot(x)), "slice"),
        (
            error_of(|(x, m)| {
                let mut x = x.clone();
                x += m;
                x
            }),
            "add",
        ),
    ] {
        assert_eq!(operation, expected, "{problem}");
        assert!(place.contains("surface_staged.rs"), "{operation} at {place}");
        assert!(!problem.is_empty());
    }
}

#[test]
fn an_index_used_outside_of_its_build_is_an_error() {
    let escaped = RefCell::new(None);
    let result = stage(
        |x| {
            let built = build(3, |i| {
                escaped.replace(Some(i.clone()));
                x.at(i)
            });
            built * x.at(escaped.take().unwrap())
        },
        &v(&[1.0, 2.0, 3.0]),
    );
    let Err(Error::Scope { place, .. }) = result else { panic!("no scope error") };
    assert!(place.contains("surface_staged.rs"), "{place}");
}

#[derive(Tree)]
struct Layer<A: Algebra> {
    weights: Vector<A, f64>,
    r#type: Scalar<A, f64>,
}

fn network<A: Algebra>((layers, x): &(Vec<Layer<A>>, Vector<A, f64>)) -> Scalar<A, f64> {
    layers.iter().map(|layer| (&layer.weights * x).sum() * &layer.r#type).reduce(|sum, term| sum + term).unwrap()
}

#[test]
fn printed_programs_have_the_names_of_functions_and_fields() {
    let layers: Vec<_> = (0..2).map(|_| Layer { weights: v(&[1.0, 2.0]), r#type: scalar::<C, _>(3.0) }).collect();
    let program = stage(network, (&layers, &v(&[1.0, 2.0]))).unwrap();
    let header = |program: &dyn std::fmt::Display| {
        let text = program.to_string();
        text.split(":\n").next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let of_layers = |label: &str| {
        let names = ["0.weights: f64[2]", "0.type: f64", "1.weights: f64[2]", "1.type: f64"];
        names.map(|name| format!("{label}{name}")).join(", ")
    };
    let parameters = format!("{}, p4: f64[2]", of_layers("v_"));
    let gradient = of_layers("gradient.");
    assert_eq!(header(&program), format!("program network({parameters}) -> f64"));
    assert_eq!(header(&program.grad().unwrap()), format!("program grad_network({parameters}) -> ({gradient})"));
    let expected = format!("program value_and_grad_network({parameters}) -> (value: f64, {gradient})");
    assert_eq!(header(&program.value_and_grad().unwrap()), expected);
    let cotangents = of_layers("cotangent.");
    let expected = format!("program vjp_network({parameters}, cotangent: f64) -> (value: f64, {cotangents})");
    assert_eq!(header(&program.vjp().unwrap()), expected);
    let tangents = of_layers("tangent.");
    let expected = format!("program jvp_network({parameters}, {tangents}) -> (value: f64, tangent: f64)");
    assert_eq!(header(&program.jvp().unwrap()), expected);
    let unnamed = stage(|(x, y)| (x + 1.0, y * 2.0), (&v(&[1.0]), &v(&[2.0]))).unwrap();
    assert_eq!(header(&unnamed), "program f(p0: f64[1], p1: f64[1]) -> (f64[1], f64[1])");
    let expected = "program vjp_f(p0: f64[1], p1: f64[1], cotangent.0: f64[1], cotangent.1: f64[1]) -> \
                    (value.0: f64[1], value.1: f64[1], cotangent: f64[1])";
    assert_eq!(header(&unnamed.vjp().unwrap()), expected);
    let pairs = stage(
        |p: &Pairs<Staged>| p.pair.0.clone() * p.pair.1[1].sum(),
        &Pairs { pair: (scalar::<C, f64>(1.0), [v(&[1.0]), v(&[2.0])]) },
    );
    let expected = "program f(pair.0: f64, pair.1.0: f64[1], pair.1.1: f64[1]) -> f64";
    assert_eq!(header(&pairs.unwrap()), expected);
}

#[derive(Tree)]
struct Pairs<A: Algebra> {
    pair: (Scalar<A, f64>, [Vector<A, f64>; 2]),
}

#[test]
fn another_structure_is_named_by_its_place() {
    let layers = |n: usize| -> Vec<_> {
        (0..n).map(|_| Layer { weights: v(&[1.0, 2.0]), r#type: scalar::<C, _>(3.0) }).collect()
    };
    let program = stage(network, (&layers(2), &v(&[1.0, 2.0]))).unwrap();
    let error = program.call((&layers(3), &v(&[1.0, 2.0]))).unwrap_err().to_string();
    assert!(error.contains("3 parts instead of 2 (at ") && error.contains(file!()), "{error}");
}

#[test]
fn a_value_that_escaped_is_named_at_the_line_of_the_derivative() {
    let error = stage(
        |x: &Vector<Staged, f64>| {
            let leaked = RefCell::new(None);
            let sum = build(2, |i| {
                leaked.replace(Some(x.at(&i)));
                x.at(i)
            })
            .sum();
            sum + grad(|z| z * z, &leaked.into_inner().unwrap())
        },
        &v(&[1.0, 2.0]),
    );
    let error = error.unwrap_err().to_string();
    assert!(error.contains("surface_staged.rs"), "{error}");
}

#[test]
fn staged_functions_are_linearised_at_a_point() {
    fn f<A: Algebra>((x, w): &(Vector<A, f64>, Vector<A, f64>)) -> (Vector<A, f64>, Scalar<A, i64>) {
        let (last, all) = scan(scalar(0.5), x, x.len(), |c, x| {
            let c = (c * &x).sin() + w.dot(w) * x;
            (c.clone(), c)
        });
        (all * last, w.sum().floor().cast())
    }
    let (x, w) = (v(&[1.0, -2.0, 0.5]), v(&[0.5, 0.25]));
    let staged = stage(f, (&x, &w)).unwrap();
    let ((value, whole), linear) = staged.linearize((&x, &w)).unwrap();
    assert_eq!((value, whole.item()), (f(&(x.clone(), w.clone())).0, 0));
    for direction in [[1.0, 0.0, 0.0], [0.0, -1.0, 2.0]] {
        let (tangent, none) = linear.call(&v(&direction)).unwrap();
        let (expected, _) = jvp(f, (&x, &w), &v(&direction)).1;
        for (a, b) in tangent.to_vec().into_iter().zip(expected.to_vec()) {
            assert!((a - b).abs() <= 1e-12 * (1.0 + b.abs()), "{a} and {b}");
        }
        assert_eq!(none.item(), 0);
    }
    // The loop of tangents is there, and nothing at the point is computed again.
    let text = linear.to_string();
    assert!(
        text.contains("scan") && !text.contains("sin") && !text.contains("cos") && !text.contains("contract"),
        "{text}"
    );
    assert!(matches!(linear.call(&v(&[1.0])), Err(Error::Structure(_))));
    assert!(staged.linearize((&w, &x)).is_err());
}

#[test]
fn plain_values_are_static_arguments() {
    /// A value that a program depends on but takes no gradient of: captured by a closure, or a skipped field of a tree.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Activation {
        Relu,
        Square,
    }
    fn layers<A: Algebra>(x: &Vector<A, f64>, activation: Activation, depth: usize) -> Vector<A, f64> {
        (0..depth).fold(x.clone(), |x, _| match activation {
            Activation::Relu => x.relu(),
            Activation::Square => &x * &x,
        })
    }
    let x = v(&[-3.0, 2.0]);
    for (activation, depth) in [(Activation::Relu, 1), (Activation::Square, 2)] {
        let staged = stage(|x| layers(x, activation, depth), &x).unwrap();
        assert_eq!(staged.call(&x).unwrap(), layers(&x, activation, depth));
        let gradient = stage(|x| layers(x, activation, depth).sum(), &x).unwrap().grad().unwrap();
        assert_eq!(gradient.call(&x).unwrap(), grad(|x| layers(x, activation, depth).sum(), &x));
    }

    #[derive(Tree)]
    struct Network<A: Algebra> {
        x: Vector<A, f64>,
        #[tree(skip)]
        activation: Activation,
        #[tree(skip)]
        depth: usize,
    }
    let network = Network { x: x.clone(), activation: Activation::Square, depth: 2 };
    let gradient = stage(|n| layers(&n.x, n.activation, n.depth).sum(), &network).unwrap().grad().unwrap();
    let found = gradient.call(&network).unwrap();
    assert_eq!((found.x.to_vec(), found.activation, found.depth), (vec![-108.0, 32.0], Activation::Square, 2));
}
