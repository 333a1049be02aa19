//! Facts about integer and boolean arrays before any input is seen: intervals, and affine forms.

use super::Simplifier;
use crate::affine::AffineMap;
use crate::operation::{Binary, Comparison, Unary};
use crate::shape::{DType, Type, Value, strides};
use crate::structural::{Interval, hull};
use crate::term::{Body, Graph, Node, NodeId, Op};
use smallvec::SmallVec;

/// Facts about the elements of a node.
#[derive(Clone, Debug)]
pub(crate) struct Fact {
    /// Smallest and largest element, of an integer or (as 0 and 1) boolean array.
    pub(crate) interval: (i64, i64),
    /// The element as an affine function of its position, of an integer array.
    pub(crate) affine: Option<AffineIndex>,
    /// Whether the elements are finite wherever the parameters' elements are, apart from overflow of sums and products. It is
    /// false for values that a mask may have been written to avoid.
    pub(crate) regular: bool,
}

/// `constant + Σ coefficients[axis] · position[axis]`, without overflow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct AffineIndex {
    /// One for each axis of the array.
    pub(crate) coefficients: SmallVec<[i64; 4]>,
    /// The element at position 0.
    pub(crate) constant: i64,
}

impl AffineIndex {
    /// Whether the element does not move with a position.
    pub(crate) fn is_constant(&self) -> bool {
        self.coefficients.iter().all(|&c| c == 0)
    }

    /// Coefficients of axes of extent 1 say nothing: they are 0, so that equal forms are equal.
    fn normal(mut self, shape: &[usize]) -> AffineIndex {
        for (coefficient, &extent) in self.coefficients.iter_mut().zip(shape) {
            if extent <= 1 {
                *coefficient = 0;
            }
        }
        self
    }
}

fn full_range(dtype: DType) -> (i64, i64) {
    match dtype {
        DType::Bool => (0, 1),
        DType::I32 => (i32::MIN as i64, i32::MAX as i64),
        _ => (i64::MIN, i64::MAX),
    }
}

/// An interval of exact results, or everything where they may have wrapped.
fn exact(low: i128, high: i128, dtype: DType) -> (i64, i64) {
    let range = full_range(dtype);
    if low < range.0 as i128 || high > range.1 as i128 { range } else { (low as i64, high as i64) }
}

impl Fact {
    /// Nothing but the type is known.
    pub(crate) fn unknown(ty: &Type) -> Fact {
        Fact { interval: full_range(ty.dtype), affine: None, regular: true }
    }

    /// The fact for a node, from the facts for its operands.
    pub(super) fn of<'a>(node: &Node, fact: impl Fn(NodeId) -> &'a Fact, ty: impl Fn(NodeId) -> &'a Type) -> Fact {
        if node.types.len() != 1 {
            return Fact { interval: (i64::MIN, i64::MAX), affine: None, regular: false };
        }
        let own = node.ty();
        // The operand of an output has several types, but the fact for it concerns the first only.
        let regular = !own.dtype.is_float() || is_regular(&node.op) && node.args.iter().all(|&arg| fact(arg).regular);
        if own.dtype.is_float() || matches!(node.op, Op::Output(_)) {
            return Fact { regular, ..Fact::unknown(own) };
        }
        let args: SmallVec<[&Fact; 3]> = node.args.iter().map(|&arg| fact(arg)).collect();
        // There are no facts about float operands: their intervals are never looked at.
        let integral = node.args.iter().all(|&arg| !ty(arg).dtype.is_float());
        let interval = derive_interval(node, &args, integral, &ty);
        let affine = match integral && own.dtype.is_integer() {
            true => affine(node, &args, interval, &ty),
            false => None,
        };
        Fact { interval, affine: affine.map(|affine| affine.normal(&own.shape)), regular }
    }
}

/// Whether an operation gives finite floats for finite ones, apart from overflow of sums and products.
fn is_regular(op: &Op) -> bool {
    match op {
        Op::Constant(array) => match array.uniform() {
            Some(value) => value.to_f64().is_finite(),
            None => (0..array.size()).all(|at| array.element(at).to_f64().is_finite()),
        },
        Op::Unary(op) => op.stays_finite(),
        Op::Binary(op) => op.stays_finite(),
        Op::Output(_) => false,
        op => !op.is_multiple(),
    }
}

/// Which nodes of a graph are finite wherever its parameters are, apart from overflow of sums and products.
pub(crate) fn regular(graph: &Graph) -> Vec<bool> {
    let mut regular: Vec<bool> = Vec::with_capacity(graph.len());
    for id in 0..graph.len() {
        let node = graph.node(id as NodeId);
        let float = node.types.iter().any(|ty| ty.dtype.is_float());
        regular.push(!float || is_regular(&node.op) && node.args.iter().all(|&arg| regular[arg as usize]));
    }
    regular
}

fn derive_interval<'a>(node: &Node, args: &[&Fact], integral: bool, ty: &impl Fn(NodeId) -> &'a Type) -> (i64, i64) {
    let own = node.ty();
    let unknown = full_range(own.dtype);
    let of = |position: usize| {
        let (low, high) = args[position].interval;
        (low as i128, high as i128)
    };
    match &node.op {
        Op::Constant(array) => match array.uniform() {
            Some(value) => (number(value), number(value)),
            None => {
                let elements = (0..array.size()).map(|at| number(array.element(at)));
                elements.fold((i64::MAX, i64::MIN), |(low, high), x| (low.min(x), high.max(x)))
            }
        },
        Op::Unary(op) if integral => {
            let (low, high) = of(0);
            match op {
                Unary::Neg => exact(-high, -low, own.dtype),
                Unary::Abs if low >= 0 => exact(low, high, own.dtype),
                Unary::Abs => exact(0, (-low).max(high), own.dtype),
                Unary::Sign => (low.signum() as i64, high.signum() as i64),
                Unary::Relu => (low.max(0) as i64, high.max(0) as i64),
                Unary::Not => ((1 - high) as i64, (1 - low) as i64),
                _ => unknown,
            }
        }
        Op::Binary(op) if integral => binary_interval(*op, of(0), of(1), own.dtype),
        Op::Compare(op) if integral => {
            decided(*op, of(0), of(1)).map_or(unknown, |known| (i64::from(known), i64::from(known)))
        }
        Op::Cast(dtype) if integral && own.dtype != DType::Bool => {
            let (low, high) = of(0);
            // Integers that the type lacks wrap.
            exact(low, high, *dtype)
        }
        // Reads outside give 0.
        Op::View(map) => {
            let read = match &args[0].affine {
                Some(form) => read_interval(form, map, args[0].interval),
                None => args[0].interval,
            };
            if map.is_inside() { read } else { hull(read, (0, 0)) }
        }
        // A choice between floats.
        Op::Select if !integral => unknown,
        op => {
            let operands: SmallVec<[(&Type, Interval); 3]> =
                node.args.iter().zip(args).map(|(&arg, fact)| (ty(arg), fact.interval)).collect();
            op.ask(|operation| operation.interval(&operands)).flatten().unwrap_or(unknown)
        }
    }
}

/// The interval of the elements that a view reads inside of an array of this form and interval.
fn read_interval(form: &AffineIndex, map: &AffineMap, whole: (i64, i64)) -> (i64, i64) {
    let (mut low, mut high) = (form.constant as i128, form.constant as i128);
    for (row, &coefficient) in form.coefficients.iter().enumerate() {
        let (first, last) = map.range(row);
        let end = (map.source()[row] as i128 - 1).max(0);
        let ends = [first, last].map(|at| at.clamp(0, end) * coefficient as i128);
        low += ends[0].min(ends[1]);
        high += ends[0].max(ends[1]);
    }
    let (low, high) = (low.max(whole.0 as i128), high.min(whole.1 as i128));
    if low <= high { (low as i64, high as i64) } else { whole }
}

/// Between which numbers the results of an operation on whole numbers are, where its operands are between these.
pub(crate) fn binary_interval(op: Binary, (a, b): (i128, i128), (c, d): (i128, i128), dtype: DType) -> (i64, i64) {
    let unknown = full_range(dtype);
    let corners = |f: &dyn Fn(i128, i128) -> i128| {
        let values = [f(a, c), f(a, d), f(b, c), f(b, d)];
        let low = values.iter().copied().fold(i128::MAX, i128::min);
        let high = values.iter().copied().fold(i128::MIN, i128::max);
        exact(low, high, dtype)
    };
    match op {
        Binary::Add => exact(a + c, b + d, dtype),
        Binary::Sub => exact(a - d, b - c, dtype),
        Binary::Mul => corners(&|x, y| x * y),
        Binary::Min | Binary::MinRight => (a.min(c) as i64, b.min(d) as i64),
        Binary::Max | Binary::MaxRight => (a.max(c) as i64, b.max(d) as i64),
        // By a divisor that is known to be positive, both quotients grow with the dividend.
        Binary::Quot if c > 0 => corners(&|x, y| x / y),
        Binary::FloorDiv if c > 0 => corners(&|x, y| x.div_euclid(y)),
        Binary::Rem if c > 0 && a >= 0 => (0, b.min(d - 1) as i64),
        Binary::Rem if c > 0 => ((1 - d) as i64, (d - 1) as i64),
        Binary::Modulo if c > 0 && a >= 0 => (0, b.min(d - 1) as i64),
        Binary::Modulo if c > 0 => (0, (d - 1) as i64),
        Binary::And => ((a & c) as i64, (b & d) as i64),
        Binary::Or => ((a | c) as i64, (b | d) as i64),
        _ => unknown,
    }
}

fn number(value: Value) -> i64 {
    match value {
        Value::Bool(x) => i64::from(x),
        other => other.to_integer().unwrap_or(0),
    }
}

/// A comparison of all numbers of one interval with all of another, if they agree.
pub(super) fn decided(op: Comparison, (a, b): (i128, i128), (c, d): (i128, i128)) -> Option<bool> {
    match op {
        Comparison::Less => decide(b < c, a >= d),
        Comparison::LessEqual => decide(b <= c, a > d),
        Comparison::Greater => decide(a > d, b <= c),
        Comparison::GreaterEqual => decide(a >= d, b < c),
        Comparison::Equal => decide(a == b && c == d && a == c, b < c || a > d),
        Comparison::NotEqual => decide(b < c || a > d, a == b && c == d && a == c),
    }
}

fn decide(yes: bool, no: bool) -> Option<bool> {
    if yes { Some(true) } else { no.then_some(false) }
}

/// Constants up to this size are looked at for an affine form.
const TABULATED: usize = 4096;

fn affine<'a>(
    node: &Node,
    args: &[&Fact],
    interval: (i64, i64),
    ty: &impl Fn(NodeId) -> &'a Type,
) -> Option<AffineIndex> {
    let rank = node.ty().rank();
    let constant = |c: i64| AffineIndex { coefficients: SmallVec::from_elem(0, rank), constant: c };
    let of = |position: usize| args[position].affine.as_ref();
    let combine = |a: &AffineIndex, b: &AffineIndex, f: &dyn Fn(i64, i64) -> Option<i64>| -> Option<AffineIndex> {
        let coefficients: Option<SmallVec<[i64; 4]>> =
            a.coefficients.iter().zip(&b.coefficients).map(|(&x, &y)| f(x, y)).collect();
        Some(AffineIndex { coefficients: coefficients?, constant: f(a.constant, b.constant)? })
    };
    // Arithmetic that may wrap has no affine form: its interval is then everything.
    let may_wrap = || interval == full_range(node.ty().dtype);
    match &node.op {
        Op::Constant(array) => match array.uniform() {
            Some(value) => Some(constant(value.to_integer()?)),
            None => affine_table(array),
        },
        Op::Iota(_) => Some(AffineIndex { coefficients: SmallVec::from_elem(1, 1), constant: 0 }),
        Op::Unary(Unary::Neg) if !may_wrap() => {
            let zero = constant(0);
            combine(&zero, of(0)?, &|_, x| x.checked_neg())
        }
        Op::Binary(Binary::Add) if !may_wrap() => combine(of(0)?, of(1)?, &i64::checked_add),
        Op::Binary(Binary::Sub) if !may_wrap() => combine(of(0)?, of(1)?, &i64::checked_sub),
        Op::Binary(Binary::Mul) if !may_wrap() => {
            let (a, b) = (of(0)?, of(1)?);
            let (scale, other) = if a.is_constant() { (a.constant, b) } else { (b.constant, a) };
            if !a.is_constant() && !b.is_constant() {
                return None;
            }
            combine(other, other, &|x, _| x.checked_mul(scale))
        }
        Op::Cast(_) if args[0].interval == interval => of(0).cloned(),
        Op::View(map) if map.is_inside() => {
            let source = of(0)?;
            let mut result = constant(source.constant);
            for (row, &c) in source.coefficients.iter().enumerate() {
                result.constant = result.constant.checked_add(c.checked_mul(map.offset(row))?)?;
                for (column, coefficient) in result.coefficients.iter_mut().enumerate() {
                    *coefficient = coefficient.checked_add(c.checked_mul(map.coefficient(row, column))?)?;
                }
            }
            Some(result)
        }
        Op::Reshape(_) => reshaped(of(0)?, &ty(node.args[0]).shape, &node.ty().shape),
        Op::Alias | Op::Mark => of(0).cloned(),
        _ => None,
    }
}

/// The affine form of a table, if it has one.
fn affine_table(array: &crate::array::Array) -> Option<AffineIndex> {
    let shape = array.shape();
    if array.size() == 0 || array.size() > TABULATED {
        return None;
    }
    let strides = strides(shape);
    let at = |position: usize| array.element(position).to_integer();
    let constant = at(0)?;
    let mut coefficients = SmallVec::new();
    for (axis, &extent) in shape.iter().enumerate() {
        coefficients.push(if extent > 1 { at(strides[axis])?.checked_sub(constant)? } else { 0 });
    }
    let form = AffineIndex { coefficients, constant };
    let fits = (0..array.size()).all(|position| {
        let mut value = form.constant as i128;
        for (axis, &extent) in shape.iter().enumerate() {
            value += form.coefficients[axis] as i128 * ((position / strides[axis]) % extent) as i128;
        }
        at(position).is_some_and(|x| x as i128 == value)
    });
    fits.then_some(form)
}

/// The affine form of a reshaped array: one that moves with the row-major position alone keeps doing so.
fn reshaped(form: &AffineIndex, from: &[usize], to: &[usize]) -> Option<AffineIndex> {
    if form.is_constant() {
        return Some(AffineIndex { coefficients: SmallVec::from_elem(0, to.len()), constant: form.constant });
    }
    let strides_from = strides(from);
    let axis = form.coefficients.iter().rposition(|&c| c != 0)?;
    let step = form.coefficients[axis].checked_div(strides_from[axis] as i64)?;
    let linear = form
        .coefficients
        .iter()
        .zip(from)
        .zip(&strides_from)
        .all(|((&c, &extent), &stride)| extent <= 1 || step.checked_mul(stride as i64) == Some(c));
    if linear {
        let coefficients: Option<SmallVec<[i64; 4]>> =
            strides(to).iter().map(|&stride| step.checked_mul(stride as i64)).collect();
        return Some(AffineIndex { coefficients: coefficients?, constant: form.constant });
    }
    // Axes of extent 1 come and go without changing the others.
    let long =
        |shape: &[usize]| shape.iter().enumerate().filter(|&(_, &n)| n != 1).map(|(at, _)| at).collect::<Vec<_>>();
    let (kept_from, kept_to) = (long(from), long(to));
    let same = kept_from.len() == kept_to.len() && kept_from.iter().zip(&kept_to).all(|(&a, &b)| from[a] == to[b]);
    same.then(|| {
        let mut coefficients = SmallVec::from_elem(0, to.len());
        for (&a, &b) in kept_from.iter().zip(&kept_to) {
            coefficients[b] = form.coefficients[a];
        }
        AffineIndex { coefficients, constant: form.constant }
    })
}

/// Facts about each node of a program.
pub(crate) fn facts(body: &Body) -> Vec<Fact> {
    let mut facts: Vec<Fact> = (0..body.arity()).map(|at| Fact::unknown(body.parameter_type(at))).collect();
    for node in &body.nodes[body.arity()..] {
        let fact = Fact::of(node, |arg| &facts[arg as usize], |arg| &body.node(arg).types[0]);
        facts.push(fact);
    }
    facts
}

/// Smallest and largest element that an integer node can have, as far as shapes, iotas and constants tell.
pub(crate) fn interval(arena: &Simplifier, node: NodeId) -> (i64, i64) {
    arena.fact(node).interval
}

/// Whether every position that index arrays state lies inside axes of these extents.
pub(crate) fn inside(arena: &Simplifier, indices: &[NodeId], extents: &[usize]) -> bool {
    indices.iter().zip(extents).all(|(&index, &extent)| {
        let (low, high) = interval(arena, index);
        arena.ty(index).size() == 0 || (low >= 0 && (high as u64) < extent as u64)
    })
}
