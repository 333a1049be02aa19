//! Every program goes through the same comparison, in all modes and at second order.

mod masks;
mod operations;
mod rolled;
mod size;

use super::{Dual, DualArray, Tangent, TangentArray};
use crate::algebra::Algebra;
use crate::array::Array;
use crate::concrete::Concrete;
use crate::operation::{Binary, Unary};
use crate::shape::{DType, Shape, Type, Value, size};
use crate::term::interpret::interpret;
use crate::term::{Body, Graph, NodeId, Op};

/// A small generator of pseudo-random numbers.
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Elements drawn from an interval; of integers and booleans, zeros.
    fn array(&mut self, ty: &Type, (low, high): (f64, f64)) -> Array {
        let element = |random: &mut Self| if ty.dtype.is_float() { low + (high - low) * random.unit() } else { 0.0 };
        let elements: Vec<f64> = (0..size(&ty.shape)).map(|_| element(self)).collect();
        Concrete::cast(Array::from_vec(&ty.shape, elements), ty.dtype)
    }
}

/// A program under construction.
struct Builder(Graph);

impl Builder {
    fn unary(&mut self, op: Unary, a: NodeId) -> NodeId {
        self.0.add(Op::Unary(op), &[a])
    }
    fn binary(&mut self, op: Binary, a: NodeId, b: NodeId) -> NodeId {
        self.0.add(Op::Binary(op), &[a, b])
    }
    fn add(&mut self, a: NodeId, b: NodeId) -> NodeId {
        self.binary(Binary::Add, a, b)
    }
    fn mul(&mut self, a: NodeId, b: NodeId) -> NodeId {
        self.binary(Binary::Mul, a, b)
    }
    fn op(&mut self, op: Op, args: &[NodeId]) -> NodeId {
        self.0.add(op, args)
    }
    fn integers(&mut self, shape: &[usize], elements: &[i64]) -> NodeId {
        self.0.add(Op::Constant(Array::from_vec(shape, elements.to_vec())), &[])
    }
    fn number(&mut self, shape: &[usize], x: f64) -> NodeId {
        self.0.add(Op::Constant(Array::full(shape, Value::F64(x))), &[])
    }
    /// All outputs of a loop or conditional.
    fn outputs(&mut self, op: Op, args: &[NodeId]) -> Vec<NodeId> {
        let node = self.0.add(op, args);
        let count = self.0.node(node).types.len();
        (0..count).map(|at| self.0.add(Op::Output(at), &[node])).collect()
    }
}

fn f64s(shape: &[usize]) -> Type {
    Type::new(DType::F64, shape)
}

/// A program over parameters, the last of which are captures.
fn program(types: &[Type], captures: usize, build: impl FnOnce(&mut Builder, &[NodeId]) -> Vec<NodeId>) -> Body {
    let mut builder = Builder(Graph::new(types, captures));
    let parameters: Vec<NodeId> = (0..types.len() as NodeId).collect();
    let results = build(&mut builder, &parameters);
    builder.0.finish(&results)
}

fn run<A: Algebra>(body: &Body, at: Vec<A::Array>) -> Vec<A::Array> {
    interpret::<A>(body, at)
}

/// The gradient of a program in any algebra: the pullback of cotangents.
fn pull<A: Algebra>(body: &Body, at: Vec<A::Array>, cotangents: &[A::Array]) -> Vec<A::Array> {
    let (_, pullback) = super::vjp::<A>(&|x| run::<Dual<A>>(body, x), at);
    pullback(cotangents.iter().cloned().map(Some).collect())
}

fn push<A: Algebra>(body: &Body, at: Vec<A::Array>, tangents: &[A::Array]) -> Vec<A::Array> {
    let f = |x: Vec<TangentArray<A>>| run::<Tangent<A>>(body, x);
    let (values, tangents) = super::jvp::<A>(&f, at, tangents.iter().cloned().map(Some).collect());
    let or_zeros =
        |(value, tangent): (A::Array, Option<A::Array>)| tangent.unwrap_or_else(|| A::zeros(&A::type_of(&value)));
    values.into_iter().zip(tangents).map(or_zeros).collect()
}

fn dot(a: &[Array], b: &[Array]) -> f64 {
    let numbers = |array: &Array| Concrete::cast(array.clone(), DType::F64).to_vec::<f64>().expect("floats");
    let product = |(a, b)| numbers(a).iter().zip(numbers(b)).map(|(a, b)| a * b).sum::<f64>();
    a.iter().zip(b).filter(|(a, _)| a.dtype().is_float()).map(product).sum()
}

/// `a + t·d`, elementwise.
fn moved(a: &[Array], d: &[Array], t: f64) -> Vec<Array> {
    let shift = |(a, d): (&Array, &Array)| {
        if !a.dtype().is_float() {
            return a.clone();
        }
        let t = Array::full(d.shape(), Value::from_f64(d.dtype(), t));
        Concrete::binary(Binary::Add, a.clone(), Concrete::binary(Binary::Mul, d.clone(), t))
    };
    a.iter().zip(d).map(shift).collect()
}

/// The five-point derivative of `⟨c, f(x + t·d)⟩` at t = 0.
fn five_point(f: impl Fn(Vec<Array>) -> Vec<Array>, x: &[Array], d: &[Array], c: &[Array]) -> f64 {
    let h = 1e-3;
    let at = |t: f64| dot(&f(moved(x, d, t)), c);
    (at(-2.0 * h) - 8.0 * at(-h) + 8.0 * at(h) - at(2.0 * h)) / (12.0 * h)
}

#[track_caller]
fn close(what: &str, a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance * (1.0 + a.abs().max(b.abs())), "{what}: {a} and {b}");
}

/// Compares all modes on a program that is smooth at points drawn from the interval.
#[track_caller]
fn check_within(interval: (f64, f64), body: &Body) {
    let mut random = Random(7 + body.nodes.len() as u64);
    let types: Vec<Type> = (0..body.arity()).map(|at| body.parameter_type(at).clone()).collect();
    let mut draw = |types: &[Type], interval| types.iter().map(|ty| random.array(ty, interval)).collect::<Vec<Array>>();
    let results: Vec<Type> = body.result_types().cloned().collect();
    let (x, d, w) = (draw(&types, interval), draw(&types, (-1.0, 1.0)), draw(&types, (-1.0, 1.0)));
    let c = draw(&results, (-1.0, 1.0));

    let values = run::<Concrete>(body, x.clone());
    let lifted = |x: &[Array]| x.iter().cloned().map(|primal| DualArray { primal, delta: None }).collect();
    let dual = run::<Dual<Concrete>>(body, lifted(&x));
    for (value, dual) in values.iter().zip(&dual) {
        let value = std::slice::from_ref(value);
        let difference = dot(&moved(value, std::slice::from_ref(&dual.primal), -1.0), value);
        close("values", difference, 0.0, 1e-12);
    }

    let forward = dot(&push::<Concrete>(body, x.clone(), &d), &c);
    let gradient = pull::<Concrete>(body, x.clone(), &c);
    let gradient_types: Vec<Type> = gradient.iter().map(Array::ty).collect();
    assert_eq!(gradient_types, types, "a gradient has the types of the inputs");
    close("adjoint law", forward, dot(&gradient, &d), 1e-10);
    close("finite differences", five_point(|x| run::<Concrete>(body, x), &x, &d, &c), forward, 1e-7);

    // Second order: forward over reverse, reverse over forward, reverse over reverse.
    let at_tangent = |x: Vec<TangentArray<Concrete>>| {
        let c: Vec<TangentArray<Concrete>> = c.iter().cloned().map(Concrete::lift_forward).collect();
        pull::<Tangent<Concrete>>(body, x, &c)
    };
    let (_, second) = super::jvp::<Concrete>(&at_tangent, x.clone(), d.iter().cloned().map(Some).collect());
    let second: Vec<Array> =
        second.into_iter().zip(&types).map(|(part, ty)| part.unwrap_or_else(|| Concrete::zeros(ty))).collect();
    let second = dot(&second, &w);
    let over_dual = |x: Vec<DualArray<Concrete>>| {
        let c: Vec<DualArray<Concrete>> = c.iter().cloned().map(Concrete::lift).collect();
        pull::<Dual<Concrete>>(body, x, &c)
    };
    let (_, pullback) = super::vjp::<Concrete>(&over_dual, x.clone());
    close("reverse over reverse", second, dot(&pullback(w.iter().cloned().map(Some).collect()), &d), 1e-9);
    let over_forward = |x: Vec<DualArray<Concrete>>| {
        let d: Vec<DualArray<Concrete>> = d.iter().cloned().map(Concrete::lift).collect();
        push::<Dual<Concrete>>(body, x, &d)
    };
    let (_, pullback) = super::vjp::<Concrete>(&over_forward, x.clone());
    close("reverse over forward", second, dot(&pullback(c.iter().cloned().map(Some).collect()), &w), 1e-9);
    let differences = five_point(|x| pull::<Concrete>(body, x, &c), &x, &d, &w);
    close("differences of gradients", differences, second, 1e-6);
}

#[track_caller]
fn check(types: &[Type], build: impl FnOnce(&mut Builder, &[NodeId]) -> Vec<NodeId>) {
    check_within((-1.0, 1.0), &program(types, 0, build));
}

fn shape(extents: &[usize]) -> Shape {
    Shape::from_slice(extents)
}
