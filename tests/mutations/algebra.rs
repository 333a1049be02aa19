//! An instance of arrays that does one thing wrong, when told to.

use super::random::arrays::full;
use super::random::undone::restoring;
use deltaray::affine::AffineMap;
use deltaray::algebra::{
    Algebra, Contraction, CustomFunction, ForwardArray, NestedArray, Operands, Pullback, Reduction,
};
use deltaray::concrete::{Array, Concrete, Data};
use deltaray::dual::{Dual, DualArray};
use deltaray::error::Error;
use deltaray::operation::{Binary, Unary};
use deltaray::shape::{DType, Shape, Type, Value};
use deltaray::term::{Body, Graph, NodeId, Op, Scan, Steps, Sweeps};
use smallvec::smallvec;
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::Arc;

/// A mistake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wrong {
    /// Nothing.
    Nothing,
    /// Addition returns its first operand.
    DropsAddend,
    /// Adding onto an array, at affine or computed positions, forgets the array.
    ForgetsTarget,
    /// An affine add is one further along the first axis.
    ShiftsAccumulate,
    /// An affine read is one further along the first axis.
    ShiftsView,
    /// Adding at computed positions takes the index arrays in reverse order.
    TurnsScatter,
    /// Computed positions of additions are one further along the first axis.
    ShiftsScatter,
    /// A contraction takes the axes of its left operand in reverse order.
    TurnsContraction,
    /// A selection takes the other side.
    TurnsSelect,
    /// A product that keeps zeros is its left operand.
    ForgetsFactor,
    /// Loops of several sweeps read and write in the other direction.
    TurnsSweeps,
    /// Loops run in the other direction.
    TurnsScan,
    /// The last array that a loop reads step by step is read in the other direction.
    TurnsLastInput,
    /// The first carry of a loop starts from zeros.
    ForgetsCarry,
    /// Elements that loops put back into an array go one further along the first axis.
    PutsBackFurther,
    /// Loops put back into an array the elements of the next step.
    PutsBackLater,
    /// A conditional runs the other side.
    TurnsBranch,
    /// The result has the derivative of another operation.
    DerivativeOfUnary(Unary, Unary),
    /// The result has the derivative of another operation.
    DerivativeOfBinary(Binary, Binary),
    /// A selection moves with the other side.
    DerivativeOfOtherSide,
    /// The largest element moves as the smallest.
    DerivativeOfOtherExtreme,
    /// A difference or quotient whose left operand is in use elsewhere is written over the right one, operands exchanged.
    ExchangesInPlace,
    /// A difference or quotient that may be written over its left operand has its operands exchanged.
    ExchangesWhereUnique,
}

thread_local! {
    static WRONG: Cell<Wrong> = const { Cell::new(Wrong::Nothing) };
}

/// Does work while something is done wrong.
pub fn seeded<T>(wrong: Wrong, work: impl FnOnce() -> T) -> T {
    WRONG.set(wrong);
    let result = work();
    WRONG.set(Wrong::Nothing);
    result
}

/// An instance whose arrays may have derivatives.
pub trait Instance: Algebra {
    /// The value of the one with the derivative of the other.
    fn moving_as(value: Self::Array, other: Self::Array) -> Self::Array;
    /// Whether nobody else holds the buffer.
    fn is_unique(a: &mut Self::Array) -> bool;
}

impl Instance for Concrete {
    fn moving_as(value: Array, _: Array) -> Array {
        value
    }
    fn is_unique(a: &mut Array) -> bool {
        match a {
            Array::F64(Data::Dense(buffer)) => buffer.is_unique(),
            Array::F32(Data::Dense(buffer)) => buffer.is_unique(),
            Array::I64(Data::Dense(buffer)) => buffer.is_unique(),
            _ => false,
        }
    }
}

impl Instance for Dual<Concrete> {
    fn moving_as(value: DualArray<Concrete>, other: DualArray<Concrete>) -> DualArray<Concrete> {
        DualArray { primal: value.primal, delta: other.delta }
    }
    fn is_unique(_: &mut DualArray<Concrete>) -> bool {
        false
    }
}

/// The instance with something done wrong.
#[derive(Clone, Debug)]
pub struct Mutated<A>(PhantomData<A>);

impl<A: Instance> Mutated<A> {
    fn zeros(ty: &Type) -> A::Array {
        A::constant(Array::full(&ty.shape, Value::from_f64(ty.dtype, 0.0)))
    }

    /// Positions one further.
    fn next(index: A::Array) -> A::Array {
        let one = A::constant(Array::full(&A::shape(&index), Value::I64(1)));
        A::binary(Binary::Add, index, one)
    }

    /// The index arrays of an addition, wrong if required.
    fn positions(mut indices: Vec<A::Array>) -> Vec<A::Array> {
        match WRONG.get() {
            Wrong::TurnsScatter => indices.reverse(),
            Wrong::ShiftsScatter if !indices.is_empty() => indices[0] = Self::next(indices[0].clone()),
            _ => {}
        }
        indices
    }
}

/// Whether the operands of an operation have different roles.
fn directed(op: Binary) -> bool {
    matches!(op, Binary::Sub | Binary::Div | Binary::Pow | Binary::Quot | Binary::Rem)
}

fn shifted(map: &AffineMap) -> AffineMap {
    super::rewrite::shifted(map).unwrap_or_else(|| map.clone())
}

impl<A: Instance> Algebra for Mutated<A> {
    type Array = A::Array;
    type Nested = A::Nested;
    type Forward = A::Forward;

    fn dtype(a: &A::Array) -> DType {
        A::dtype(a)
    }
    fn shape(a: &A::Array) -> Shape {
        A::shape(a)
    }
    fn constant(value: Array) -> A::Array {
        A::constant(value)
    }
    fn bind(op: &Op, mut operands: Operands<Self>) -> A::Array {
        let one = |op: Op, a: &A::Array| A::bind(&op, smallvec![a.clone()]);
        let moving_as = |other: Op, operands: Operands<Self>| {
            A::moving_as(A::bind(op, operands.clone()), A::bind(&other, operands))
        };
        match (WRONG.get(), op) {
            (Wrong::DerivativeOfUnary(of, other), Op::Unary(op)) if *op == of => moving_as(Op::Unary(other), operands),
            (Wrong::DerivativeOfBinary(of, other), Op::Binary(op)) if *op == of => {
                moving_as(Op::Binary(other), operands)
            }
            (Wrong::DerivativeOfOtherExtreme, Op::Reduce(Reduction::Max, axes)) => {
                moving_as(Op::Reduce(Reduction::Min, axes.clone()), operands)
            }
            (Wrong::DerivativeOfOtherSide, Op::Select) => {
                let other = smallvec![operands[0].clone(), operands[2].clone(), operands[1].clone()];
                A::moving_as(A::bind(op, operands), A::bind(op, other))
            }
            (Wrong::DropsAddend, Op::Binary(Binary::Add)) | (Wrong::ForgetsFactor, Op::Binary(Binary::KeepZero)) => {
                operands.remove(0)
            }
            (wrong, Op::Binary(directed_op)) if directed(*directed_op) => {
                let [a, b] = &mut operands[..] else { unreachable!("two operands") };
                let are_exchanged = match wrong {
                    Wrong::ExchangesInPlace => !A::is_unique(a) && A::is_unique(b),
                    Wrong::ExchangesWhereUnique => A::is_unique(a),
                    _ => false,
                };
                if are_exchanged {
                    operands.reverse();
                }
                A::bind(op, operands)
            }
            (Wrong::TurnsSelect, Op::Select) => {
                operands.swap(1, 2);
                A::bind(op, operands)
            }
            (Wrong::ShiftsView, Op::View(map)) => one(Op::View(shifted(map)), &operands[0]),
            (Wrong::ShiftsAccumulate, Op::Accumulate(map)) => one(Op::Accumulate(shifted(map)), &operands[0]),
            (_, Op::Scatter(_)) => {
                let indices = Self::positions(operands.drain(1..).collect());
                operands.extend(indices);
                A::bind(op, operands)
            }
            (Wrong::TurnsContraction, Op::Contract(spec)) => {
                let shape = A::shape(&operands[0]);
                let is_symmetric = shape.iter().rev().eq(shape.iter());
                let turned = Contraction { left: spec.left.iter().rev().copied().collect(), ..spec.clone() };
                A::bind(&Op::Contract(if is_symmetric { turned } else { spec.clone() }), operands)
            }
            _ => A::bind(op, operands),
        }
    }
    fn scatter_onto(target: A::Array, updates: A::Array, indices: Vec<A::Array>) -> A::Array {
        let indices = Self::positions(indices);
        match WRONG.get() {
            Wrong::ForgetsTarget => A::scatter_onto(Self::zeros(&A::type_of(&target)), updates, indices),
            _ => A::scatter_onto(target, updates, indices),
        }
    }
    fn accumulate_onto(target: A::Array, updates: A::Array, map: &AffineMap) -> A::Array {
        match WRONG.get() {
            Wrong::ForgetsTarget => A::accumulate(updates, map),
            Wrong::ShiftsAccumulate => A::accumulate_onto(target, updates, &shifted(map)),
            _ => A::accumulate_onto(target, updates, map),
        }
    }
    fn scan(
        scan: &Arc<Scan>,
        mut carries: Vec<A::Array>,
        mut inputs: Vec<A::Array>,
        captures: Vec<A::Array>,
    ) -> Vec<A::Array> {
        let turned = Arc::new(Scan { reverse: !scan.reverse, ..Scan::clone(scan) });
        match (WRONG.get(), inputs.last_mut(), carries.first_mut()) {
            (Wrong::TurnsScan, ..) => return A::scan(&turned, carries, inputs, captures),
            (Wrong::PutsBackFurther, ..) => {
                return A::scan(&Arc::new(put_back_further(scan)), carries, inputs, captures);
            }
            (Wrong::PutsBackLater, ..) => {
                for write in restoring(&scan.body, scan.carries) {
                    let input = &mut inputs[scan.body.node(write).args[1] as usize - scan.carries];
                    let step = if scan.reverse { -1 } else { 1 };
                    *input = A::view(input.clone(), &AffineMap::along(&A::shape(input), 0, step, 1, scan.length));
                }
            }
            (Wrong::TurnsLastInput, Some(input), _) if scan.length > 0 => {
                let count = scan.length;
                *input = A::view(input.clone(), &AffineMap::along(&A::shape(input), 0, count as i64 - 1, -1, count));
            }
            (Wrong::ForgetsCarry, _, Some(carry)) => *carry = Self::zeros(&A::type_of(carry)),
            _ => {}
        }
        A::scan(scan, carries, inputs, captures)
    }
    fn branch(condition: A::Array, then: &Arc<Body>, otherwise: &Arc<Body>, captures: Vec<A::Array>) -> Vec<A::Array> {
        match WRONG.get() {
            Wrong::TurnsBranch => A::branch(condition, otherwise, then, captures),
            _ => A::branch(condition, then, otherwise, captures),
        }
    }
    fn custom<F: CustomFunction>(function: &F, inputs: Vec<A::Array>) -> Vec<A::Array> {
        A::custom(function, inputs)
    }

    fn sweeps(sweeps: &Arc<Sweeps>, operands: Vec<A::Array>) -> Vec<A::Array> {
        match WRONG.get() {
            Wrong::TurnsSweeps => A::sweeps(&Arc::new(turned(sweeps)), operands),
            _ => A::sweeps(sweeps, operands),
        }
    }
    fn lift(a: A::Array) -> NestedArray<Self> {
        A::lift(a)
    }
    fn lift_forward(a: A::Array) -> ForwardArray<Self> {
        A::lift_forward(a)
    }
    fn vjp(
        f: &dyn Fn(Vec<NestedArray<Self>>) -> Vec<NestedArray<Self>>,
        at: Vec<A::Array>,
    ) -> (Vec<A::Array>, Pullback<Self>) {
        A::vjp(f, at)
    }
    fn jvp(
        f: &dyn Fn(Vec<ForwardArray<Self>>) -> Vec<ForwardArray<Self>>,
        at: Vec<A::Array>,
        tangents: Vec<Option<A::Array>>,
    ) -> (Vec<A::Array>, Vec<Option<A::Array>>) {
        A::jvp(f, at, tangents)
    }
    fn known(a: &A::Array) -> Option<deltaray::concrete::Array> {
        A::known(a)
    }
    #[track_caller]
    fn fail(error: Error, placeholder: Type) -> A::Array {
        A::fail(error, placeholder)
    }
}

/// The loop that reads and writes its slices in the other direction, if it does.
pub fn turned(sweeps: &Sweeps) -> Sweeps {
    let counted = matches!(sweeps.steps, Steps::Count(_));
    Sweeps { reverse: sweeps.reverse != counted, ..sweeps.clone() }
}

/// The loop that puts elements back one further along the first axis.
fn put_back_further(scan: &Scan) -> Scan {
    let (body, wrong) = (&scan.body, restoring(&scan.body, scan.carries));
    let mut graph = Graph::like(body);
    let mut ids: Vec<NodeId> = (0..body.arity() as NodeId).collect();
    for (at, node) in (0..).zip(body.nodes()).skip(body.arity()) {
        let mut args: Vec<NodeId> = node.args.iter().map(|&arg| ids[arg as usize]).collect();
        if wrong.contains(&at) {
            let one = graph.add(Op::Constant(full(graph.ty(args[2]), 1.0)), &[]);
            args[2] = graph.add(Op::Binary(Binary::Add), &[args[2], one]);
        }
        ids.push(graph.add(node.op.clone(), &args));
    }
    let results: Vec<NodeId> = body.results().iter().map(|&id| ids[id as usize]).collect();
    Scan { body: Arc::new(graph.finish(&results)), ..scan.clone() }
}
