//! Functions in functions and rules within rules: derivatives of derivatives cost at most the square of the nesting, and no
//! pass recurses as deep as a chain of products is long.

use super::*;
use counting::asked;

type S = Scalar<Staged, f64>;

fn checkpoints(x: &S, d: usize) -> S {
    if d == 0 { x.sin() } else { checkpoint(x, move |x| checkpoints(&x.sin(), d - 1)) }
}

fn snapshots(x: &S, d: usize) -> S {
    let step = move |c: S, ()| (snapshots(&(c * 1.01), d - 1), ());
    if d == 0 { x.sin() } else { Checkpoints::Snapshots(2).scan(x.clone(), &(), 3, step).0 }
}

fn loops(x: &S, d: usize) -> S {
    if d == 0 { x.sin() } else { while_loop(x.clone(), |c| c.gt(0.3), move |c| loops(&c, d - 1) * 0.5) }
}

fn scans(x: &S, d: usize) -> S {
    if d == 0 { x.sin() } else { scan(x.clone(), &(), 2, |c, ()| (scans(&(c * 1.01), d - 1), ())).0 }
}

fn conditionals(x: &S, d: usize) -> S {
    if d == 0 { x.sin() } else { cond(x.gt(0.2), || conditionals(&(x * 1.5), d - 1), || x.cos()) }
}

#[test]
fn second_derivatives_of_nested_functions_do_not_double_with_each_level() {
    type Nest = fn(&S, usize) -> S;
    let nests: [(&str, Nest, usize); 5] = [
        ("checkpoints", checkpoints, 8),
        ("snapshots", snapshots, 4),
        ("loops", loops, 4),
        ("scans", scans, 4),
        ("conditionals", conditionals, 4),
    ];
    let mut problems = Vec::new();
    for (name, nest, depth) in nests {
        let allocations = |depth: usize| {
            let staged = stage(|x| nest(x, depth), &scalar::<C, f64>(0.3)).unwrap();
            let gradient = staged.value_and_grad().unwrap();
            let tangent = staged.jvp().unwrap();
            [
                ("jvp of the gradient", asked(|| gradient.jvp().unwrap()).1),
                ("vjp of the gradient", asked(|| gradient.vjp().unwrap()).1),
                ("jvp of jvp", asked(|| tangent.jvp().unwrap()).1),
                ("vjp of jvp", asked(|| tangent.vjp().unwrap()).1),
            ]
        };
        for ((door, less), (_, more)) in allocations(depth).into_iter().zip(allocations(2 * depth)) {
            if 10 * more > 45 * less {
                problems.push(format!("{name}, {door}: {less} allocations at depth {depth}, {more} at twice that"));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// The sum of a product of matrices is one of products of a vector and a matrix, which is found from the last matrix to the first.
#[test]
fn sums_of_chains_of_products_need_no_stack() {
    let chain = |n: usize| {
        let m: Matrix<C, f64> = full((3, 3), 0.4);
        let (staged, allocations, _) =
            asked(|| stage(|m: &Matrix<Staged, f64>| (0..n).fold(m.clone(), |y, _| y.dot(m)).sum(), &m).unwrap());
        let products = staged.to_string().matches("contract").count();
        assert_eq!(products, n, "products of a vector and a matrix");
        assert!(
            !staged.to_string().contains("ij,jk") && !staged.to_string().contains("ik,kj"),
            "no product of matrices"
        );
        let (value, expected) = (staged.interpret(&m).unwrap().item(), 9.0 * 0.4 * 1.2f64.powi(n as i32));
        assert!((value / expected - 1.0).abs() < 1e-9, "{value} is not {expected}");
        (allocations, asked(|| staged.value_and_grad().unwrap()).1)
    };
    guarded(move || {
        let ((staging, gradient), (more_staging, more_gradient)) = (chain(200), chain(400));
        assert!(10 * more_staging <= 22 * staging, "{staging}, {more_staging}");
        assert!(10 * more_gradient <= 22 * gradient, "{gradient}, {more_gradient}");
    });
}

/// Nested loops are looked at in place: none is copied with all its content to see whether one can be split. (Bytes would count
/// axes too: the kept values of all steps have one for each enclosing loop.)
#[test]
fn gradients_of_nested_loops_ask_for_memory_in_proportion_to_their_nodes() {
    fn nest(x: Vector<Staged, f64>, depth: usize) -> Vector<Staged, f64> {
        match depth {
            0 => x.sin(),
            _ => fold(x.cos(), &iota(1), move |x, _: Scalar<Staged, i64>| nest(x.clone(), depth - 1) + x),
        }
    }
    let counts = |depth: usize| {
        let staged = stage(|x| nest(x.clone(), depth).sum(), &v(&[0.1, 0.2, 0.3])).unwrap();
        let gradient = deltaray::derivative::program::value_and_gradient(staged.differentiable(), 1).unwrap();
        let (tidy, allocations, _) = asked(|| deltaray::derivative::program::tidy(&gradient));
        (allocations, tidy.node_count())
    };
    let ((few, nodes), (more, larger)) = (counts(20), counts(40));
    assert!(10 * more * nodes <= 11 * few * larger, "{few} allocations for {nodes} nodes, {more} for {larger}");
}
