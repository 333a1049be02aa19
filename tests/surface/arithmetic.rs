//! Arithmetic on trees, and maps of arrays by name.

use super::*;
use deltaray::tensor::TreeArithmetic;
use std::collections::{BTreeMap, HashMap};

#[derive(Tree)]
#[tree(arithmetic)]
struct Network<A: Algebra> {
    layers: Vec<(Matrix<A, f64>, Vector<A, f64>)>,
    scale: Option<Scalar<A, f64>>,
    positions: Vector<A, i64>,
}

fn network(seed: f64) -> Network<C> {
    let matrix = |n: usize, m: usize| {
        Matrix::from_elements((n, m), (0..n * m).map(|at| (at as f64 + seed).sin()).collect::<Vec<_>>())
    };
    let layer = |n, m| (matrix(n, m), Vector::from(vec![seed; m]));
    Network { layers: vec![layer(2, 3), layer(3, 1)], scale: Some(scalar(seed)), positions: vec![1, 2].into() }
}

fn numbers(tree: &Network<C>) -> Vec<f64> {
    tree.leaves().iter().filter_map(|array| array.to_vec::<f64>()).flatten().collect()
}

fn assigned(assign: impl Fn(&mut Network<C>)) -> Network<C> {
    let mut network = network(0.5);
    assign(&mut network);
    network
}

#[test]
fn trees_are_added_and_scaled_by_their_floats() {
    let (a, b) = (network(0.5), network(2.0));
    let (x, y) = (numbers(&a), numbers(&b));
    let pairs = |f: fn(f64, f64) -> f64| x.iter().zip(&y).map(|(a, b)| f(*a, *b)).collect::<Vec<_>>();
    for (found, f) in [
        (&a + &b, (|a, b| a + b) as fn(f64, f64) -> f64),
        (&a - &b, |a, b| a - b),
        (-&a, |a, _| -a),
        (2.0 * &a, |a, _| 2.0 * a),
        (&a * 0.5, |a, _| a * 0.5),
        (network(0.5) - 0.1 * network(2.0), |a, b| a - 0.1 * b),
        (&a + network(2.0), |a, b| a + b),
        (network(0.5) + &b, |a, b| a + b),
        (&a / 3.0, |a, _| a / 3.0),
        (2 * &a / 4, |a, _| a * 0.5),
        (network(0.5) * scalar::<C, f64>(3.0), |a, _| a * 3.0),
        (&a / &scalar::<C, f32>(4.0), |a, _| a / 4.0),
        (assigned(|a| *a /= 3.0), |a, _| a / 3.0),
        (assigned(|a| *a *= scalar::<C, f64>(3.0)), |a, _| a * 3.0),
        (assigned(|a| *a += &network(2.0)), |a, b| a + b),
        (assigned(|a| *a -= network(2.0)), |a, b| a - b),
        (assigned(|a| *a *= 3.0), |a, _| a * 3.0),
        (a.map(|x: TensorD<_, f64>| x.sin()), |a, _| a.sin()),
        (a.zip_with(&b, |x: TensorD<_, f64>, y| x * y), |a, b| a * b),
    ] {
        approx::assert_relative_eq!(&numbers(&found)[..], &pairs(f)[..], max_relative = 1e-15);
        // Positions stay as they are.
        assert_eq!(found.positions.to_vec(), [1, 2]);
    }
    let dot: f64 = pairs(|a, b| a * b).iter().sum();
    approx::assert_relative_eq!(a.dot::<f64>(&b).item(), dot, max_relative = 1e-14);
    let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
    approx::assert_relative_eq!(a.norm::<f64>().item(), norm, max_relative = 1e-14);
    assert_eq!(a.norm::<f32>().item(), norm as f32);
}

#[test]
fn tuples_and_lists_have_the_methods() {
    let a = (vec![scalar::<C, f32>(1.0), scalar(2.0)], Vector::<C, f64>::from(vec![3.0]));
    let b = a.plus(&a.scaled(2.0)).minus(&a).negated();
    assert_eq!((b.0[1].item(), b.1.to_vec()), (-4.0, vec![-6.0]));
    assert_eq!(a.dot::<f64>(&a).item(), 14.0);
    let empty: Vec<Vector<C, f64>> = Vec::new();
    assert_eq!(empty.plus(&empty).len(), 0);
    assert_eq!(empty.norm::<f64>().item(), 0.0);
}

#[test]
fn steps_of_an_optimiser_are_a_line_also_when_staged() {
    #[derive(Tree)]
    #[tree(arithmetic)]
    struct Line<A: Algebra> {
        slope: Scalar<A, f64>,
        offset: Scalar<A, f64>,
    }
    fn loss<A: Algebra>(line: &Line<A>) -> Scalar<A, f64> {
        (&line.slope - 2.0).powi(2) + (&line.offset - 1.0).powi(2)
    }
    fn step<A: Algebra>(line: &Line<A>) -> Line<A> {
        line - 0.25 * grad(loss, line)
    }
    let line = Line { slope: scalar(0.0), offset: scalar(0.0) };
    let staged = stage(step, &line).unwrap();
    for next in [step(&line), staged.call(&line).unwrap()] {
        assert_eq!((next.slope.item(), next.offset.item()), (1.0, 0.5));
    }
}

/// Factors that are arrays have derivatives, and literals take the floats of a generic tree.
#[test]
fn trees_are_scaled_by_arrays() {
    #[derive(Tree, Clone)]
    #[tree(arithmetic)]
    pub(crate) struct Mixed<A: Algebra, E: Float> {
        wide: Vector<A, f64>,
        other: Scalar<A, E>,
    }
    #[differentiable]
    fn clipped<E: Float>(p: Mixed<E>, limit: Scalar<E>) -> Mixed<E> {
        let factor = (limit / p.norm::<E>()).min(1.0);
        0.5 * p * factor + p * factor / 2.0
    }
    fn total<A: Algebra>(p: &Mixed<A, f32>, limit: &Scalar<A, f32>) -> Scalar<A, f64> {
        let p = clipped(p, limit);
        p.wide.sum() + 2.0 * p.other.cast::<f64>()
    }
    let p = Mixed { wide: vec![3.0, 0.0].into(), other: scalar(4.0) };
    let limit = scalar(1.0);
    let found = clipped(&p, &limit);
    approx::assert_relative_eq!(found.wide.at(0).item(), 0.6, max_relative = 1e-6);
    assert_eq!(found.other.item(), 0.8);
    let slope = grad(|(limit, p)| total(p, limit), (&limit, &p)).item();
    approx::assert_relative_eq!(slope, 0.2 * (3.0 + 2.0 * 4.0), max_relative = 1e-6);
    let staged = stage(|(limit, p)| total(p, limit), (&limit, &p)).unwrap().grad().unwrap();
    approx::assert_relative_eq!(staged.call((&limit, &p)).unwrap().item(), slope, max_relative = 1e-6);
}

/// The norm has the derivative 0 at zero, and so has its square; NaN stays.
#[test]
fn norms_move_by_nothing_at_zero() {
    type P<A> = (Vector<A, f64>, Scalar<A, f64>);
    let zero = || (Vector::<C, f64>::from(vec![0.0, 0.0]), scalar::<C, f64>(0.0));
    fn penalty<A: Algebra>(p: &P<A>) -> Scalar<A, f64> {
        p.norm::<f64>() + p.norm::<f64>().powi(2)
    }
    assert_eq!(penalty(&zero()).item(), 0.0);
    let staged = stage(penalty, &zero()).unwrap().grad().unwrap();
    for slope in [grad(penalty, &zero()), staged.call(&zero()).unwrap()] {
        assert_eq!((slope.0.to_vec(), slope.1.item()), (vec![0.0; 2], 0.0));
    }
    let at = (Vector::from(vec![3.0, 0.0]), scalar(4.0));
    let slope = grad(penalty, &at);
    assert_eq!((slope.0.to_vec(), slope.1.item()), (vec![6.6, 0.0], 8.8));
    let unknown = (Vector::<C, f64>::from(vec![f64::NAN]), scalar::<C, f64>(1.0));
    assert!(unknown.norm::<f64>().item().is_nan() && grad(penalty, &unknown).1.item().is_nan());
    assert_eq!(
        (Vector::<C, f64>::from(vec![f64::INFINITY]), scalar::<C, f64>(0.0)).norm::<f64>().item(),
        f64::INFINITY
    );
}

#[test]
fn trees_that_differ_are_named_at_the_users_line() {
    let (a, mut b) = (network(0.5), network(2.0));
    b.layers.pop();
    let text = panic_of(|| &a + &b);
    assert!(text.starts_with("plus: the trees differ: `layers`: 1 part instead of 2 (at "), "{text}");
    assert!(text.contains("arithmetic.rs:"), "{text}");
    let text = panic_of(|| a.dot::<f64>(&b));
    assert!(text.starts_with("dot: the trees differ:") && text.contains("arithmetic.rs:"), "{text}");
    let text = panic_of(|| a.map(|x: TensorD<_, f64>| x.sum().into_dyn()));
    assert!(text.starts_with("map: f64[2, 3] became f64 (at tests/surface/arithmetic.rs:"), "{text}");
}

#[test]
fn maps_by_name_are_trees_in_the_order_of_their_names() {
    fn loss<A: Algebra>(x: &HashMap<String, Vector<A, f64>>) -> Scalar<A, f64> {
        x["slopes"].powi(2).sum() + 3.0 * x["offsets"].sum()
    }
    let x: HashMap<String, Vector<C, f64>> =
        [("slopes".to_string(), vec![1.0, 2.0].into()), ("offsets".to_string(), vec![5.0].into())].into();
    let expected = (vec![2.0, 4.0], vec![3.0]);
    let staged = stage(loss, &x).unwrap().grad().unwrap();
    for found in [grad(loss, &x), staged.call(&x).unwrap()] {
        assert_eq!((found["slopes"].to_vec(), found["offsets"].to_vec()), expected);
    }
    assert!(staged.to_string().contains("(offsets: f64[1], slopes: f64[2])"), "{staged}");
    // Another name is another structure.
    let other: HashMap<String, Vector<C, f64>> =
        [("slope".to_string(), vec![1.0, 2.0].into()), ("offsets".to_string(), vec![5.0].into())].into();
    let error = staged.call(&other).unwrap_err().to_string();
    assert!(error.contains("`slope` instead of `slopes`"), "{error}");

    let sorted: BTreeMap<String, Vector<C, f64>> = x.clone().into_iter().collect();
    let flat = ravel::<C, f64, _>(&sorted);
    assert_eq!((flat.0.to_vec(), ravel::<C, f64, _>(&x).0.to_vec()), (vec![5.0, 1.0, 2.0], vec![5.0, 1.0, 2.0]));
    let rebuilt = flat.1.tree::<C, f64>(&flat.0);
    assert_eq!(rebuilt["slopes"].to_vec(), [1.0, 2.0]);
}
