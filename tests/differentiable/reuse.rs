//! Variables and fields that are used again, and closures that are kept.

use crate::harness::{M, S, V, generic, same, v};
use deltaray::prelude::*;

#[derive(Tree, Clone)]
pub(crate) struct Pair<A: Algebra> {
    scale: Scalar<A, f64>,
    values: Vector<A, f64>,
}

fn pair(scale: f64, values: [f64; 3]) -> Pair<Concrete> {
    Pair { scale: scalar(scale), values: v(values) }
}

/// The value of an inner block, in one expression with another use.
#[differentiable]
fn ends_of_blocks(x: Scalar<f64>, #[plain] case: usize) -> Vector<f64> {
    let h = 2.0 * x;
    let folded = (if h < 0.0 { -h } else { h }) + h;
    let beside = stack(&[if h < 0.0 { -h } else { h }, h]);
    let kept = (
        match case {
            0 => h,
            _ => -h,
        },
        h,
    );
    let pair = ({ h }, h + 1.0);
    let chosen = (if case == 0 { h } else { -h }, if case == 0 { x } else { h });
    stack(&[folded, kept.0 * kept.1, pair.0 * pair.1, chosen.0 * chosen.1, beside[0] - beside[1]])
}

#[test]
fn ends_of_blocks_leave_variables_for_later_uses() {
    for case in [0, 1] {
        let written = ends_of_blocks { case };
        struct Expected(f64);
        impl ArrayFn for Expected {
            type In = S;
            type Out = V;
            fn call<A: Algebra>(&self, x: &Scalar<A, f64>) -> Vector<A, f64> {
                let h = 2.0 * x;
                let size = cond(h.lt(0.0), || -&h, || h.clone());
                let other = if self.0 > 0.0 { x.clone() } else { h.clone() };
                stack(&[&size + &h, self.0 * &h * &h, &h * (&h + 1.0), self.0 * &h * other, size - h])
            }
        }
        let expected = Expected(if case == 0 { 1.0 } else { -1.0 });
        for x in [-0.75, 1.25] {
            same(&written, &expected, &scalar(x));
        }
    }
}

/// Fields of local structs and tuples, and the rest of a struct.
#[differentiable]
fn fields(p: Pair) -> (Pair, Pair, Scalar<f64>) {
    let mut q = p.clone();
    q.values[0] = q.scale;
    q.scale = q.values.sum();
    let doubled = Pair { scale: p.scale * 2.0, ..p };
    let next = Pair { values: doubled.values * 2.0, ..doubled };
    let mut z = (q.values, p.values);
    z.0[1] = z.1[2];
    let first = z.0;
    let second = z.1;
    (q, Pair { scale: next.scale * doubled.scale, ..next }, (first * z.0 * second).sum() + z.1.sum())
}

#[test]
fn fields_of_locals_and_the_rest_of_parameters_are_used_again() {
    let expected = generic!(Pair<Concrete> => (Pair<Concrete>, Pair<Concrete>, S), |p| {
        let values = p.values.clone().with(0, &p.scale);
        let next = Pair { scale: p.scale.powi(2) * 4.0, values: &p.values * 2.0 };
        let first = values.clone().with(1, p.values.at(2));
        let last = (&first * &first * &p.values).sum() + p.values.sum();
        (Pair { scale: values.sum(), values }, next, last)
    });
    same(&fields {}, &expected, &pair(0.5, [1.0, -2.0, 0.25]));
}

/// Closures that are kept for a derivative use outside variables like other closures.
#[differentiable]
fn kept(x: Vector<f64>, w: Scalar<f64>, #[plain] n: usize) -> Scalar<f64> {
    let shift = x.sum() * 0.01;
    let start = x[0];
    let a = Checkpoints::Every(4).scan(start, &(), n, |c, _| (c * w + shift, ())).0;
    let b = Checkpoints::Snapshots(2).scan(start, x, x.len(), |c, v| (c * w + v * start + n as f64, c)).0;
    let c = Checkpoints::Every(4).while_loop(start, |c| c < 100.0, |c| c * 2.0 + w * w + shift);
    let names = vec!["moved".to_string()];
    let d = checkpoint(x, move |x| if names.len() == 1 { x * w + shift } else { x * 2.0 });
    a + b + c + d.sum() + start
}

#[test]
fn closures_that_are_kept_need_no_move() {
    let expected = generic!((V, S) => S, |(x, w)| {
        let (shift, start) = (x.sum() * 0.01, x.at(0));
        let a = scan(start.clone(), &(), 7, |c, ()| (c * w + &shift, ())).0;
        let b = scan(start.clone(), x, 3, |c: Scalar<A, f64>, v: Scalar<A, f64>| (&c * w + v * &start + 7.0, c)).0;
        let c = while_loop(start.clone(), |c| c.lt(100.0), |c| c * 2.0 + w * w + &shift);
        a + b + c + (x * w + &shift).sum() + start
    });
    same(&kept { n: 7 }, &expected, &(v([1.0, 2.0, 0.5]), scalar(0.5)));
}

/// Constants of float types are literals.
#[differentiable]
fn causal(scores: Matrix<f64>) -> (Matrix<f64>, Scalar<f64>) {
    let masked = build((3, 3), |(i, j)| if j <= i { scores[(i, j)] } else { f64::NEG_INFINITY });
    let mut largest = f64::NEG_INFINITY;
    for i in rolled(0..3) {
        largest = largest.max(scores[(i, 0)] * std::f64::consts::PI);
    }
    let mut plain = f64::INFINITY;
    for k in 0..3 {
        plain = plain.min(k as f64);
    }
    (masked.exp(), largest + plain)
}

#[test]
fn constants_of_floats_stand_for_literals() {
    let expected = generic!(M => (M, S), |scores| {
        let mask = build((3, 3), |(i, j)| j.le(i));
        (mask.select(scores.exp(), 0.0), (scores.index_axis(1, 0) * std::f64::consts::PI).max_all())
    });
    same(&causal {}, &expected, &[[0.5, 1.0, -1.0], [0.25, -0.5, 2.0], [1.5, 0.0, 0.75]].into());
}

/// Fields of values that may be references: elements of lists, by loops, closures, patterns and indices.
#[differentiable]
fn elements(list: Vec<Pair>, x: Vector<f64>) -> (Vec<Vector<f64>>, Vector<f64>) {
    let mut sum = x;
    let mut kept = Vec::new();
    for p in &list {
        let w = p.values;
        sum += w;
        kept.push(p.values);
    }
    let first = &list[0];
    let scale = first.scale;
    let again = list[1].values;
    let scales: Vec<Scalar<f64>> = list.iter().map(|p| p.scale).collect();
    kept.push(again * scales[1] * scale);
    (kept, sum)
}

#[test]
fn fields_of_elements_are_cloned() {
    let expected = generic!((Vec<Pair<Concrete>>, V) => (Vec<V>, V), |(list, x)| {
        let last = &list[1].values * &list[1].scale * &list[0].scale;
        (vec![list[0].values.clone(), list[1].values.clone(), last], x + &list[0].values + &list[1].values)
    });
    let list = vec![pair(0.5, [1.0, -2.0, 0.25]), pair(2.0, [0.5, 0.75, -1.0])];
    same(&elements {}, &expected, &(list, v([1.0, 2.0, 3.0])));
}

/// Integer literals at the left of positions, also in variables.
#[differentiable]
fn literals_first(x: Vector<f64>) -> Vector<f64> {
    build(x.len(), |i| {
        let k = 2 * i + 1;
        let near = if 1 + i == 2 && 2 * i + 1 < 100 { x[i] } else { 0.5 * x[i] };
        let mut sum = 0.0;
        for j in rolled(0..k) {
            sum += (1 + j) as f64;
        }
        (2 * i + 1) as f64 * near + k.min(3) as f64 + sum
    })
}

#[test]
fn literals_stand_at_either_side_of_positions() {
    let x = v([1.0, 2.0, 3.0]);
    let expected = |i: usize, near: f64| {
        let k = 2.0 * i as f64 + 1.0;
        k * near + k.min(3.0) + k * (k + 1.0) / 2.0
    };
    let expected = [expected(0, 0.5), expected(1, 2.0), expected(2, 1.5)];
    assert_eq!(literals_first(&x).to_vec(), expected);
    assert_eq!(stage(literals_first, &x).unwrap().call(&x).unwrap().to_vec(), expected);
}

/// Methods of a type that is over no algebra.
struct Fit {
    x: Vector<Concrete, f64>,
    power: i32,
}

#[differentiable]
impl Fit {
    fn of(power: i32) -> Fit {
        Fit { x: Vector::from(vec![0.0, 1.0, 2.0]), power }
    }

    fn loss(&self, c: Vector<f64>) -> Scalar<f64> {
        let x: Vector<f64> = constant(&self.x);
        (c[0] + c[1] * x).powi(self.power).sum()
    }
}

#[differentiable]
impl ArrayFn for Fit {
    type In = Vector<Concrete, f64>;
    type Out = Scalar<Concrete, f64>;
    fn call<A: Algebra>(&self, c: Vector<f64>) -> Scalar<f64> {
        self.loss(c)
    }
}

#[test]
fn methods_of_plain_types_are_over_algebras_of_their_own() {
    let fit = Fit::of(2);
    assert_eq!(fit.loss(&Vector::from(vec![1.0, 1.0])).item(), 14.0);
    let slope = grad(fit.closure(), &Vector::from(vec![1.0, 1.0]));
    assert_eq!(slope.to_vec(), [12.0, 16.0]);
}

/// Plain Rust that looks like the above, and has the same meaning as in Rust.
mod plain {
    use super::*;
    use std::cell::Cell;
    use std::ops::Mul;
    use std::rc::Rc;

    /// Is neither cloned nor a tree.
    struct Task {
        run: Box<dyn Fn(f64) -> f64>,
        name: String,
        count: Cell<usize>,
    }

    fn task(factor: f64, name: &str) -> Task {
        Task { run: Box::new(move |x| factor * x), name: name.into(), count: Cell::new(0) }
    }

    struct Meters(f64);

    impl Mul<Meters> for i32 {
        type Output = Meters;
        fn mul(self, other: Meters) -> Meters {
            Meters(f64::from(self) * other.0)
        }
    }

    #[differentiable]
    fn moves(x: Scalar<f64>, #[plain] tasks: Vec<Task>, #[plain] first: bool) -> Scalar<f64> {
        let mut factor = 1.0;
        let mut names = Vec::new();
        let mut runs = Vec::new();
        for task in tasks {
            let Task { run, name, .. } = task;
            runs.push(run);
            names.push(name);
        }
        let all: Vec<Task> =
            runs.into_iter().map(|run| Task { run, name: String::new(), count: Cell::new(0) }).collect();
        let mut all = all.into_iter();
        let (one, two) = (all.next().unwrap(), all.next().unwrap());
        // Two fields of one value, and one value in sides that exclude each other.
        let run = one.run;
        let name = one.name;
        factor *= run(1.0) + name.len() as f64;
        let chosen = if first {
            Some(two)
        } else {
            drop(two);
            None
        };
        if let Some(task) = chosen {
            let ref count = task.count;
            count.set(count.get() + 2);
            factor *= (task.run)(1.0) * task.count.get() as f64;
        }
        let moved: Vec<_> = names.into_iter().map(|name| (name, 1)).map(|pair| pair.0).collect();
        factor *= (2 * Meters(1.5)).0 * moved.len() as f64;
        factor * x
    }

    #[test]
    fn what_is_no_tree_is_moved() {
        let x = scalar::<Concrete, f64>(1.0);
        assert_eq!(moves(&x, vec![task(2.0, "a"), task(5.0, "b")], true).item(), 2.0 * 5.0 * 2.0 * 3.0 * 2.0);
        assert_eq!(moves(&x, vec![task(2.0, "a"), task(5.0, "b")], false).item(), 2.0 * 3.0 * 2.0);
    }

    struct Counted {
        rc: Rc<Cell<f64>>,
        values: Vec<f64>,
    }

    #[differentiable]
    fn unique(x: Vector<f64>, #[plain] list: Vec<Counted>, #[plain] bounds: &[f64]) -> Scalar<f64> {
        let mut sum = 0.0;
        let mut list = list;
        for item in list.iter_mut() {
            let ref mut values = item.values;
            values.push(0.5);
        }
        for item in list {
            let rc = item.rc;
            sum += Rc::try_unwrap(rc).expect("the only one").get() + item.values.iter().sum::<f64>();
        }
        let clipped: Vec<f64> = bounds.iter().map(|bound| bound.max(0.0)).collect();
        let scale = Rc::new(2.0);
        let names = vec!["kept".to_string()];
        let d = checkpoint(x, |x| if names.len() == 1 { x * clipped[0] } else { x * 2.0 });
        sum * d.sum() * *scale
    }

    #[test]
    fn nothing_plain_is_copied_behind_the_back() {
        let list = vec![Counted { rc: Rc::new(Cell::new(1.5)), values: vec![1.0] }];
        assert_eq!(unique(&v([1.0, 2.0, 3.0]), list, &[0.5, -1.0]).item(), 3.0 * 3.0 * 2.0);
    }

    /// Methods of a plain type beside those of arrays.
    struct Model {
        x: Vector<Concrete, f64>,
    }

    #[differentiable]
    impl Model {
        fn new(x: Vector<Concrete, f64>) -> Model {
            Model { x }
        }
        fn data(&self) -> &Vector<Concrete, f64> {
            &self.x
        }
        fn set(&mut self, x: Vector<Concrete, f64>) {
            self.x = x;
        }
        fn loss(&self, c: Scalar<f64>) -> Scalar<f64> {
            let x: Vector<f64> = constant(&self.x);
            (c * x).sum()
        }
    }

    #[test]
    fn methods_without_arrays_of_an_algebra_are_left_alone() {
        let mut model = Model::new(v([1.0, 2.0, 3.0]));
        model.set(model.data() * 2.0);
        assert_eq!(model.loss(&scalar(0.5)).item(), 6.0);
    }
}
