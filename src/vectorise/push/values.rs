//! The values of the rewritten program, while the walk still decides how each is computed.

use crate::affine::AffineMap;
use crate::array::Array;
use crate::operation::Binary;
use crate::shape::{Axes, Shape, Type, Value};
use crate::simplify::{SimplifiedBodies, Simplifier};
use crate::term::hash::TermMap;
use crate::term::infer::{self, Types};
use crate::term::{Body, NodeId, Op};
use smallvec::SmallVec;

/// Position of a value in its arena.
pub(super) type ReadValueId = u32;

/// The operands of an operation.
pub(super) type ValueArgs = SmallVec<[ReadValueId; 3]>;

/// How a value is computed.
#[allow(clippy::large_enum_variant, reason = "most values are made")]
enum Definition {
    /// Not decided yet.
    Pending,
    /// As another value.
    Same(ReadValueId),
    /// By an operation.
    Made(Op, ValueArgs),
}

/// An arena of values. A value may be used before it is decided how to compute it, so it has no order.
#[derive(Default)]
pub(super) struct Values {
    definitions: Vec<Definition>,
    types: Vec<Types>,
    /// Smallest and largest element, of integer arrays; wide where nothing is known.
    ranges: Vec<(i64, i64)>,
    table: TermMap<(Op, ValueArgs), ReadValueId>,
}

/// The range of an integer array about which nothing is known.
pub(super) const WIDE: (i64, i64) = (i64::MIN, i64::MAX);

impl Values {
    fn push(&mut self, definition: Definition, types: Types, range: (i64, i64)) -> ReadValueId {
        self.definitions.push(definition);
        self.types.push(types);
        self.ranges.push(range);
        (self.definitions.len() - 1) as ReadValueId
    }

    /// A value that is decided on later.
    pub(super) fn pending(&mut self, types: Types, range: (i64, i64)) -> ReadValueId {
        self.push(Definition::Pending, types, range)
    }

    /// Decides that a pending value is computed as another one.
    pub(super) fn define(&mut self, id: ReadValueId, same: ReadValueId) {
        debug_assert!(matches!(self.definitions[id as usize], Definition::Pending));
        debug_assert_eq!(self.types[id as usize], self.types[same as usize]);
        self.definitions[id as usize] = Definition::Same(same);
    }

    /// The value of an operation.
    pub(super) fn make(&mut self, op: Op, args: &[ReadValueId]) -> ReadValueId {
        self.make_ranged(op, args, WIDE)
    }

    /// The value of an operation whose elements are known to lie in a range.
    pub(super) fn make_ranged(&mut self, op: Op, args: &[ReadValueId], range: (i64, i64)) -> ReadValueId {
        let key = (op, ValueArgs::from_slice(args));
        if let Some(&id) = self.table.get(&key) {
            return id;
        }
        let types = {
            let outputs: SmallVec<[&[Type]; 4]> = args.iter().map(|&arg| &self.types[arg as usize][..]).collect();
            match infer::outputs(&key.0, &outputs) {
                Ok(types) => types,
                Err(problem) => panic!("a read was moved wrongly: {:?} on {outputs:?}: {problem}", key.0),
            }
        };
        let id = self.push(Definition::Made(key.0.clone(), key.1.clone()), types, range);
        self.table.insert(key, id);
        id
    }

    /// The parameter of the body at this position.
    pub(super) fn parameter(&mut self, position: usize, types: Types) -> ReadValueId {
        self.push(Definition::Made(Op::Parameter(position), ValueArgs::new()), types, WIDE)
    }

    /// The type of a value that is one array.
    pub(super) fn ty(&self, id: ReadValueId) -> &Type {
        &self.types[id as usize][0]
    }

    /// The shape of a value that is one array.
    pub(super) fn shape(&self, id: ReadValueId) -> Shape {
        self.ty(id).shape.clone()
    }

    /// Smallest and largest element of an integer array.
    pub(super) fn range(&self, id: ReadValueId) -> (i64, i64) {
        self.ranges[id as usize]
    }

    /// An array of one repeated value.
    pub(super) fn full(&mut self, shape: &[usize], value: Value) -> ReadValueId {
        let range = value.to_integer().map_or(WIDE, |x| (x, x));
        self.make_ranged(Op::Constant(Array::full(shape, value)), &[], range)
    }

    /// Zeros.
    pub(super) fn zeros(&mut self, ty: &Type) -> ReadValueId {
        self.full(&ty.shape, Value::from_i64(ty.dtype, 0))
    }

    /// The value repeated, with its axes at `places` of the result.
    pub(super) fn spread(&mut self, id: ReadValueId, result: &[usize], places: &[usize]) -> ReadValueId {
        let map = AffineMap::broadcast(&self.shape(id), result, places);
        if map.is_identity() {
            return id;
        }
        let range = self.range(id);
        self.make_ranged(Op::View(map), &[id], range)
    }

    /// The sum of index arrays of one shape, each times a constant, and an offset.
    pub(super) fn combine(&mut self, shape: &[usize], terms: &[(i64, ReadValueId)], offset: i64) -> ReadValueId {
        let mut sum: Option<ReadValueId> = None;
        for &(factor, term) in terms.iter().filter(|(factor, _)| *factor != 0) {
            let mut term = term;
            if factor != 1 {
                let constant = self.full(shape, Value::I64(factor));
                term = self.arithmetic(Binary::Mul, term, constant);
            }
            sum = Some(match sum {
                Some(sum) => self.arithmetic(Binary::Add, sum, term),
                None => term,
            });
        }
        match sum {
            None => self.full(shape, Value::I64(offset)),
            Some(sum) if offset == 0 => sum,
            Some(sum) => {
                let constant = self.full(shape, Value::I64(offset));
                self.arithmetic(Binary::Add, sum, constant)
            }
        }
    }

    /// A sum, a product, or a quotient or remainder by a positive constant of a non-negative array, with its range.
    pub(super) fn arithmetic(&mut self, op: Binary, a: ReadValueId, b: ReadValueId) -> ReadValueId {
        let ((a0, a1), (b0, b1)) = (self.range(a), self.range(b));
        let corners = |f: fn(i128, i128) -> i128| {
            let all =
                [f(a0.into(), b0.into()), f(a0.into(), b1.into()), f(a1.into(), b0.into()), f(a1.into(), b1.into())];
            let (low, high) = (all.iter().min().expect("four"), all.iter().max().expect("four"));
            // A bound beyond the integers means that the operation may wrap.
            match (i64::try_from(*low), i64::try_from(*high)) {
                (Ok(low), Ok(high)) => (low, high),
                _ => WIDE,
            }
        };
        let range = match op {
            Binary::Add => corners(|a, b| a + b),
            Binary::Mul => corners(|a, b| a.saturating_mul(b)),
            Binary::Quot if a0 >= 0 && b0 > 0 => (a0 / b1, a1 / b0),
            Binary::Rem if a0 >= 0 && b0 > 0 => (0, a1.min(b1 - 1)),
            _ => WIDE,
        };
        self.make_ranged(Op::Binary(op), &[a, b], range)
    }

    /// The index array `coefficients · j + offset` over the positions j of a shape. Only the axes it depends on take
    /// part in the arithmetic, and are returned; [`Values::spread`] gives it the others.
    pub(super) fn affine(&mut self, shape: &[usize], coefficients: &[i64], offset: i64) -> (ReadValueId, Axes) {
        let used: Axes = (0..shape.len()).filter(|&axis| coefficients[axis] != 0).collect();
        let compact: Shape = used.iter().map(|&axis| shape[axis]).collect();
        let mut terms: SmallVec<[(i64, ReadValueId); 4]> = SmallVec::new();
        for (place, &axis) in used.iter().enumerate() {
            let top = i64::try_from(shape[axis]).unwrap_or(i64::MAX).saturating_sub(1).max(0);
            let iota = self.make_ranged(Op::Iota(shape[axis]), &[], (0, top));
            terms.push((coefficients[axis], self.spread(iota, &compact, &[place])));
        }
        (self.combine(&compact, &terms, offset), used)
    }

    /// As [`Values::affine`], with all axes.
    pub(super) fn affine_over(&mut self, shape: &[usize], coefficients: &[i64], offset: i64) -> ReadValueId {
        let (value, used) = self.affine(shape, coefficients, offset);
        self.spread(value, shape, &used)
    }

    /// Computes the values that the results need, each after its operands. Says also whether no rule of simplification
    /// applies to the result.
    pub(super) fn rebuild(self, like: &Body, results: &[ReadValueId], bodies: &mut SimplifiedBodies) -> (Body, bool) {
        let mut arena = Simplifier::like(like);
        arena.exchange_bodies(bodies);
        let mut built: Vec<Option<NodeId>> = vec![None; self.definitions.len()];
        let mut stack: Vec<(ReadValueId, bool)> = Vec::new();
        for &result in results {
            stack.push((result, false));
            while let Some((id, ready)) = stack.pop() {
                if built[id as usize].is_some() {
                    continue;
                }
                let args: &[ReadValueId] = match &self.definitions[id as usize] {
                    Definition::Pending => unreachable!("the walk decides on every value"),
                    Definition::Same(other) => std::slice::from_ref(other),
                    Definition::Made(_, args) => args,
                };
                if !ready {
                    stack.push((id, true));
                    stack.extend(args.iter().map(|&arg| (arg, false)));
                    continue;
                }
                let nodes: SmallVec<[NodeId; 3]> =
                    args.iter().map(|&arg| built[arg as usize].expect("operands come first")).collect();
                built[id as usize] = Some(match &self.definitions[id as usize] {
                    Definition::Made(Op::Parameter(position), _) => *position as NodeId,
                    Definition::Made(op, _) => arena.add(op.clone(), &nodes),
                    _ => nodes[0],
                });
            }
        }
        let results: Vec<NodeId> = results.iter().map(|&result| built[result as usize].expect("built above")).collect();
        arena.exchange_bodies(bodies);
        let is_settled = arena.is_settled();
        (arena.finish(&results), is_settled)
    }
}
