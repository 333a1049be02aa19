//! Elementwise arithmetic: constants folded, neutral elements dropped, integer expressions normalised.
//!
//! Rules for floats also hold with NaN and infinities; only the sign of a zero may change.

use super::bounds::Fact;
use super::{Rules, Simplifier};
use crate::array::Array;
use crate::evaluate::computed;
use crate::operation::{Binary, Comparison, Unary};
use crate::shape::{DType, Type, Value};
use crate::term::{Arrays, Node, NodeId, Op, infer};
use smallvec::{SmallVec, smallvec};

mod indices;
#[cfg(test)]
mod tests;

pub(super) use indices::view_of_index;

pub(super) const RULES: Rules = &[
    ("constant operands", constant_operands),
    ("one possible value", one_value),
    ("affine form", indices::affine_form),
    ("constant to the right", constant_right),
    ("neutral element", neutral),
    ("integer division by more", indices::small_dividend),
    ("decided extreme", indices::decided_extreme),
    ("kept zero of a constant", keep_zero),
    ("sum of a negation", sum_with_negation),
    ("product of negations", product_of_negations),
    ("negation of an expression", negation),
    ("constants multiplied out", constants_multiplied),
    ("constants added up", constants_added),
    ("comparison with a constant", indices::compared),
    ("sum of multiples", sum_of_multiples),
    ("logical identity", logical),
    ("unary identity", unary),
    ("cast of a cast", cast),
    ("operands exchanged", exchanged),
];

/// Constants that are not of one value are folded up to this size.
const FOLDED: usize = 64;

/// The operation and operands of a binary operation.
fn binary(op: &Op, args: &[NodeId]) -> Option<(Binary, NodeId, NodeId)> {
    match (op, args) {
        (Op::Binary(op), &[a, b]) => Some((*op, a, b)),
        _ => None,
    }
}

/// The operand of a negation.
fn negated(arena: &Simplifier, node: NodeId) -> Option<NodeId> {
    match arena.parts(node) {
        (Op::Unary(Unary::Neg), args) => Some(args[0]),
        _ => None,
    }
}

/// Left operand and value of an operation whose right operand is one value repeated.
fn with_constant(arena: &Simplifier, node: NodeId, op: Binary) -> Option<(NodeId, Value)> {
    let (other, a, b) = binary(arena.parts(node).0, arena.parts(node).1)?;
    (op == other).then_some(())?;
    Some((a, arena.uniform(b)?))
}

/// An operation on two elements.
fn compute(op: Binary, a: Value, b: Value) -> Value {
    computed(&Op::Binary(op), smallvec![Array::full(&[], a), Array::full(&[], b)]).element(0)
}

/// The result of an operation on two constants, unless it overflows or underflows: the program's own order of operations may not.
fn in_range(op: Binary, a: Value, b: Value) -> Option<Value> {
    let result = compute(op, a, b);
    let is_normal = match result {
        Value::F32(x) => x.is_normal(),
        Value::F64(x) => x.is_normal(),
        _ => true,
    };
    let is_special = |value: Value| value.to_f64() == 0.0 || !value.to_f64().is_finite();
    (is_normal || is_special(a) || is_special(b)).then_some(result)
}

/// How far the constant factors together may be from 1, in powers of two, to be moved out of a sum onto the result, or from one
/// factor of its terms to another: a fourth of the type's exponents. Larger and smaller ones may be there to keep products in
/// range. Integers have no limit.
pub(super) fn movable_exponent(dtype: DType) -> f64 {
    match dtype {
        DType::F32 => 32.0,
        DType::F64 => 256.0,
        DType::I32 | DType::I64 | DType::Bool => f64::INFINITY,
    }
}

/// How far a factor is from 1, as [`movable_exponent`] counts.
pub(super) fn exponent(factor: Value) -> f64 {
    if factor.dtype().is_float() { factor.to_f64().abs().log2().abs() } else { 0.0 }
}

/// A constant like a node.
fn filled(arena: &mut Simplifier, like: NodeId, value: Value) -> NodeId {
    let shape = arena.ty(like).shape.clone();
    arena.full(&shape, value)
}

/// An operation on constants is a constant.
fn constant_operands(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let operands: Option<Arrays<Array>> = args
        .iter()
        .map(|&arg| match &arena.node(arg).op {
            Op::Constant(array) => Some(array.clone()),
            _ => None,
        })
        .collect();
    let operands = operands?;
    let small = operands[0].size() <= FOLDED || operands.iter().all(|array| array.uniform().is_some());
    if !small {
        return None;
    }
    let value = match op {
        Op::Unary(_) | Op::Binary(_) | Op::Compare(_) | Op::Cast(_) => computed(op, operands),
        _ => return None,
    };
    Some(arena.add(Op::Constant(value), &[]))
}

/// The fact about the operation's result before it is added; there are no facts about floats.
fn fact(arena: &Simplifier, op: &Op, args: &[NodeId]) -> Option<(Type, Fact)> {
    let is_float = match op {
        Op::Unary(_) | Op::Binary(_) | Op::View(_) => arena.ty(args[0]).dtype.is_float(),
        Op::Cast(dtype) => dtype.is_float(),
        _ => false,
    };
    if is_float {
        return None;
    }
    let outputs: SmallVec<[&[Type]; 2]> = args.iter().map(|&arg| &arena.node(arg).types[..]).collect();
    let types = infer::outputs(op, &outputs).ok()?;
    if types.len() != 1 || types[0].dtype.is_float() {
        return None;
    }
    let ty = types[0].clone();
    let node = Node { op: op.clone(), args: args.into(), types };
    Some((ty, Fact::of(&node, |arg| arena.fact(arg), |arg| arena.ty(arg))))
}

/// An integer or truth value that the operands' bounds leave no choice for is a constant.
fn one_value(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let known = match op {
        // Any order of an integer array with itself is known, whatever its elements are.
        Op::Compare(op) if args[0] == args[1] && !arena.ty(args[0]).dtype.is_float() => {
            Some(matches!(op, Comparison::Equal | Comparison::LessEqual | Comparison::GreaterEqual))
        }
        _ => None,
    };
    if let Some(known) = known {
        return Some(filled(arena, args[0], Value::Bool(known)));
    }
    if matches!(op, Op::Binary(Binary::Sub)) && args[0] == args[1] && arena.ty(args[0]).dtype.is_integer() {
        return Some(filled(arena, args[0], Value::from_i64(arena.ty(args[0]).dtype, 0)));
    }
    let (ty, fact) = fact(arena, op, args)?;
    let (low, high) = fact.interval;
    (low == high).then(|| arena.full(&ty.shape, Value::from_i64(ty.dtype, low)))
}

/// In a sum or product with a constant, the constant goes to the right; subtracting an integer constant is adding one.
fn constant_right(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let (kind, a, b) = binary(op, args)?;
    match kind {
        Binary::Add | Binary::Mul | Binary::And | Binary::Or
            if arena.uniform(a).is_some() && arena.uniform(b).is_none() =>
        {
            Some(arena.add(op.clone(), &[b, a]))
        }
        Binary::Sub if arena.ty(a).dtype.is_integer() => {
            let value = arena.uniform(b)?;
            let zero = Value::from_i64(value.dtype(), 0);
            let opposite = filled(arena, b, compute(Binary::Sub, zero, value));
            Some(arena.add(Op::Binary(Binary::Add), &[a, opposite]))
        }
        _ => None,
    }
}

/// An operation with its neutral element is its other operand.
fn neutral(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let (op, a, b) = binary(op, args)?;
    let right = |x: f64| arena.is_uniform(b, x);
    match op {
        Binary::Add | Binary::Sub if right(0.0) => Some(a),
        Binary::Add if arena.is_uniform(a, 0.0) => Some(b),
        Binary::Mul if arena.is_uniform(a, 1.0) => Some(b),
        Binary::Mul | Binary::Div | Binary::Quot | Binary::FloorDiv | Binary::Pow if right(1.0) => Some(a),
        Binary::Mul if right(-1.0) => Some(arena.add(Op::Unary(Unary::Neg), &[a])),
        Binary::Mul if arena.is_uniform(a, -1.0) => Some(arena.add(Op::Unary(Unary::Neg), &[b])),
        Binary::Div if right(-1.0) => Some(arena.add(Op::Unary(Unary::Neg), &[a])),
        Binary::Div if arena.is_uniform(a, 1.0) => Some(arena.add(Op::Unary(Unary::Recip), &[b])),
        Binary::Sub if arena.is_uniform(a, 0.0) => Some(arena.add(Op::Unary(Unary::Neg), &[b])),
        Binary::Min | Binary::MinRight | Binary::Max | Binary::MaxRight if a == b => Some(a),
        _ => None,
    }
}

/// A product that keeps zeros is a plain one where the factor is a finite constant, and 0 where its left operand is. With
/// another constant on the left it keeps nothing but the mark of its derivative.
fn keep_zero(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let (Binary::KeepZero, a, b) = binary(op, args)? else { return None };
    if arena.is_uniform(a, 0.0) {
        return Some(a);
    }
    if arena.uniform(a).is_some() {
        let product = arena.add(Op::Binary(Binary::Mul), &[b, a]);
        return Some(arena.add(Op::Mark, &[product]));
    }
    let finite = arena.uniform(b).is_some_and(|value| value.to_f64().is_finite());
    finite.then(|| arena.add(Op::Binary(Binary::Mul), &[a, b]))
}

/// Adding or subtracting a negation is subtracting or adding: one operation less.
fn sum_with_negation(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let (op, a, b) = binary(op, args)?;
    let (op, args) = match (op, negated(arena, a), negated(arena, b)) {
        (Binary::Add, _, Some(b)) => (Binary::Sub, [a, b]),
        (Binary::Add, Some(a), None) => (Binary::Sub, [b, a]),
        (Binary::Sub, _, Some(b)) => (Binary::Add, [a, b]),
        _ => return None,
    };
    Some(arena.add(Op::Binary(op), &args))
}

/// Two signs cancel, and one goes into a constant factor. A divisor keeps its sign where it may be 0, which has none.
fn product_of_negations(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let (kind @ (Binary::Mul | Binary::Div | Binary::KeepZero), a, b) = binary(op, args)? else { return None };
    let inner = negated(arena, a)?;
    if kind != Binary::Div
        && let Some(other) = negated(arena, b)
    {
        return Some(arena.add(op.clone(), &[inner, other]));
    }
    let value = arena.uniform(b)?;
    if kind == Binary::KeepZero || (kind == Binary::Div && value.to_f64() == 0.0) {
        return None;
    }
    let zero = Value::from_i64(value.dtype(), 0);
    let opposite = filled(arena, b, compute(Binary::Sub, zero, value));
    Some(arena.add(op.clone(), &[inner, opposite]))
}

/// Signs cancel, and go into differences and constant factors.
fn negation(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Unary(Unary::Neg) = op else { return None };
    let (inner, operands) = arena.parts(args[0]);
    match (inner, operands) {
        (Op::Unary(Unary::Neg), &[x]) => Some(x),
        (Op::Binary(Binary::Sub), &[a, b]) => Some(arena.add(Op::Binary(Binary::Sub), &[b, a])),
        (Op::Binary(Binary::Mul), &[x, factor]) => {
            let value = arena.uniform(factor)?;
            let zero = Value::from_i64(value.dtype(), 0);
            let opposite = filled(arena, factor, compute(Binary::Sub, zero, value));
            Some(arena.add(Op::Binary(Binary::Mul), &[x, opposite]))
        }
        _ => None,
    }
}

/// `(x · c) · d` is `x · (c · d)`; of integers, `(x + c) · d` is `x · d + c · d`: one operation less, or none more and the
/// factor inside.
fn constants_multiplied(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let (Binary::Mul, a, b) = binary(op, args)? else { return None };
    let outer = arena.uniform(b)?;
    if let Some((x, inner)) = with_constant(arena, a, Binary::Mul) {
        let product = in_range(Binary::Mul, inner, outer)?;
        let factor = filled(arena, b, product);
        return Some(arena.add(op.clone(), &[x, factor]));
    }
    if !outer.dtype().is_integer() {
        return None;
    }
    let (x, inner) = with_constant(arena, a, Binary::Add)?;
    let offset = filled(arena, b, compute(Binary::Mul, inner, outer));
    let product = arena.add(op.clone(), &[x, b]);
    Some(arena.add(Op::Binary(Binary::Add), &[product, offset]))
}

/// Constants are added to integers last and together: one addition less, or the constant further out.
fn constants_added(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let (kind @ (Binary::Add | Binary::Sub), a, b) = binary(op, args)? else { return None };
    if !arena.ty(a).dtype.is_integer() {
        return None;
    }
    let add = Op::Binary(Binary::Add);
    if let Some((x, inner)) = with_constant(arena, a, Binary::Add) {
        // `(x + c) - d` never gets here: it is an addition.
        if let (Binary::Add, Some(outer)) = (kind, arena.uniform(b)) {
            let sum = filled(arena, b, compute(Binary::Add, inner, outer));
            return Some(arena.add(add, &[x, sum]));
        }
        let constant = filled(arena, b, inner);
        let rest = arena.add(op.clone(), &[x, b]);
        return Some(arena.add(add, &[rest, constant]));
    }
    let (x, inner) = with_constant(arena, b, Binary::Add)?;
    let zero = Value::from_i64(inner.dtype(), 0);
    let inner = if kind == Binary::Sub { compute(Binary::Sub, zero, inner) } else { inner };
    let constant = filled(arena, a, inner);
    let rest = arena.add(op.clone(), &[a, x]);
    Some(arena.add(add, &[rest, constant]))
}

/// A float with a constant factor: a product with one, or the node itself, once.
fn multiple(arena: &Simplifier, node: NodeId) -> (NodeId, Option<Value>) {
    match with_constant(arena, node, Binary::Mul) {
        Some((x, factor)) => (x, Some(factor)),
        None => (node, None),
    }
}

/// `x · c + x · d` is `x · (c + d)`, of floats and where the terms do not cancel: one operation less.
fn sum_of_multiples(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let (kind @ (Binary::Add | Binary::Sub), a, b) = binary(op, args)? else { return None };
    let ty = arena.ty(a);
    let ((x, first), (y, second)) = (multiple(arena, a), multiple(arena, b));
    if x != y || !ty.dtype.is_float() || (first.is_none() && second.is_none()) {
        return None;
    }
    let one = Value::from_i64(ty.dtype, 1);
    let (first, second) = (first.unwrap_or(one), second.unwrap_or(one));
    // Infinite terms that cancel are NaN, and so they may be where one of them has an infinite factor.
    if ![first, second].iter().all(|factor| factor.to_f64().is_finite()) {
        return None;
    }
    let sum = in_range(kind, first, second)?;
    if sum.to_f64().abs() < first.to_f64().abs().max(second.to_f64().abs()) {
        return None;
    }
    let factor = filled(arena, x, sum);
    Some(arena.add(Op::Binary(Binary::Mul), &[x, factor]))
}

/// Reuses the result for exchanged operands if it was computed before.
fn exchanged(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let (Binary::Add | Binary::Mul | Binary::And | Binary::Or, a, b) = binary(op, args)? else { return None };
    arena.graph.find(op, &[b, a])
}

/// Conjunctions and disjunctions with constants or of one operand, and negations of negations and comparisons.
fn logical(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    if let Op::Unary(Unary::Not) = op {
        let (inner, operands) = arena.parts(args[0]);
        return match inner {
            Op::Unary(Unary::Not) => Some(operands[0]),
            Op::Compare(comparison) => {
                let exact = !arena.ty(operands[0]).dtype.is_float();
                let opposite = opposite(*comparison, exact)?;
                let operands: SmallVec<[NodeId; 2]> = operands.into();
                Some(arena.add(Op::Compare(opposite), &operands))
            }
            _ => None,
        };
    }
    let (op, a, b) = binary(op, args)?;
    match op {
        Binary::And if a == b || arena.is_uniform(b, 1.0) => Some(a),
        Binary::Or if a == b || arena.is_uniform(b, 0.0) => Some(a),
        Binary::And | Binary::Or => absorbed(arena, op, a, b),
        _ => None,
    }
}

/// A conjunct that another conjunct has already goes; the same for disjuncts.
fn absorbed(arena: &Simplifier, op: Binary, a: NodeId, b: NodeId) -> Option<NodeId> {
    let has = |whole: NodeId, part: NodeId| {
        let (inner, operands) = arena.parts(whole);
        *inner == Op::Binary(op) && operands.contains(&part)
    };
    if has(a, b) { Some(a) } else { has(b, a).then_some(b) }
}

/// The comparison that is true where this one is false; of floats, NaN allows only two.
fn opposite(comparison: Comparison, exact: bool) -> Option<Comparison> {
    match comparison {
        Comparison::Equal => Some(Comparison::NotEqual),
        Comparison::NotEqual => Some(Comparison::Equal),
        Comparison::Less if exact => Some(Comparison::GreaterEqual),
        Comparison::LessEqual if exact => Some(Comparison::Greater),
        Comparison::Greater if exact => Some(Comparison::LessEqual),
        Comparison::GreaterEqual if exact => Some(Comparison::Less),
        _ => None,
    }
}

/// Trivial powers, and operations that do nothing the second time.
fn unary(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Unary(op) = op else { return None };
    match op {
        Unary::Powi(1) => return Some(args[0]),
        Unary::Powi(0) => return Some(filled(arena, args[0], Value::from_i64(arena.ty(args[0]).dtype, 1))),
        Unary::Powi(-1) => return Some(arena.add(Op::Unary(Unary::Recip), args)),
        _ => {}
    }
    match (op, arena.parts(args[0])) {
        (Unary::Abs, (Op::Unary(Unary::Neg), inner)) => {
            let inner = inner[0];
            Some(arena.add(Op::Unary(Unary::Abs), &[inner]))
        }
        (Unary::Abs | Unary::Relu | Unary::Sign | Unary::Floor | Unary::Round, (Op::Unary(other), _))
            if op == other =>
        {
            Some(args[0])
        }
        _ => None,
    }
}

/// A cast to the operand's own type goes, and one that loses nothing before another.
fn cast(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Cast(dtype) = op else { return None };
    let middle = arena.ty(args[0]).dtype;
    if middle == *dtype {
        return Some(args[0]);
    }
    let (Op::Cast(_), inner) = arena.parts(args[0]) else { return None };
    let source = inner[0];
    let exact = matches!(
        (arena.ty(source).dtype, middle),
        (DType::Bool, _) | (DType::I32, DType::I64 | DType::F64) | (DType::F32, DType::F64)
    );
    exact.then(|| arena.add(Op::Cast(*dtype), &[source]))
}
