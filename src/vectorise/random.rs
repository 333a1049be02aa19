//! Small random source programs for the tests of this room.

use crate::affine::AffineMap;
use crate::array::Array;
use crate::operation::{Binary, Comparison, Contraction, Extreme, Reduction, Unary};
use crate::shape::{Axes, DType, Shape, Type, Value, size};
use crate::term::{Body, Branch, Build, Graph, NodeId, Op, Scan};
use smallvec::SmallVec;
use std::sync::Arc;

/// A linear congruential generator: the same programs on every run.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678);
        random.below(7);
        random
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % n
    }

    fn extent(&mut self) -> usize {
        [0, 1, 2, 2, 3, 3, 4][self.below(7)]
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// A random array of a type.
    pub(super) fn array(&mut self, ty: &Type) -> Array {
        let n = ty.size();
        match ty.dtype {
            DType::F64 => {
                let elements = (0..n).map(|_| self.below(2001) as f64 / 1000.0 - 1.0).collect();
                Array::from_vec(&ty.shape, elements)
            }
            DType::I64 => Array::from_vec(&ty.shape, (0..n).map(|_| self.below(7) as i64 - 2).collect()),
            DType::Bool => Array::from_vec(&ty.shape, (0..n).map(|_| self.below(2) == 0).collect()),
            _ => unreachable!("not generated"),
        }
    }
}

/// The types of the parameters of every random program.
pub(super) fn parameters() -> Vec<Type> {
    vec![
        Type::new(DType::F64, &[]),
        Type::new(DType::F64, &[3]),
        Type::new(DType::F64, &[4]),
        Type::new(DType::F64, &[2, 3]),
        Type::new(DType::F64, &[2, 2, 3]),
        Type::new(DType::I64, &[3]),
        Type::new(DType::I64, &[]),
        Type::new(DType::Bool, &[]),
    ]
}

/// A program of so many steps; builds, loops and conditionals nest up to a depth.
pub(super) fn program(random: &mut Random, steps: usize, depth: usize) -> Body<Build> {
    let types = parameters();
    let mut maker = Maker { random, graph: Graph::new(&types, 0), pool: (0..types.len() as NodeId).collect() };
    for _ in 0..steps {
        maker.step(depth);
    }
    let results: Vec<NodeId> = maker.pool.iter().rev().take(2).copied().collect();
    maker.graph.finish(&results)
}

struct Maker<'a> {
    random: &'a mut Random,
    graph: Graph<Build>,
    pool: Vec<NodeId>,
}

impl Maker<'_> {
    fn ty(&self, id: NodeId) -> Type {
        self.graph.ty(id).clone()
    }

    fn any(&mut self, dtype: DType) -> NodeId {
        let from: Vec<NodeId> = self.pool.iter().copied().filter(|&id| self.graph.ty(id).dtype == dtype).collect();
        match from.is_empty() {
            true => self.full(dtype, &[]),
            false => {
                // Later nodes more often, so that programs become deep.
                let recent = from.len().saturating_sub(4);
                let start = if self.random.below(2) == 0 { recent } else { 0 };
                self.random.pick(&from[start..])
            }
        }
    }

    fn full(&mut self, dtype: DType, shape: &[usize]) -> NodeId {
        let value = match dtype {
            DType::F64 => Value::F64([0.0, 1.0, 2.0, -0.5][self.random.below(4)]),
            DType::I64 => Value::I64(self.random.below(5) as i64 - 1),
            _ => Value::Bool(self.random.below(2) == 0),
        };
        self.graph.add(Op::Constant(Array::full(shape, value)), &[])
    }

    fn add(&mut self, op: Op<Build>, args: &[NodeId]) -> NodeId {
        self.graph.add(op, args)
    }

    /// A node of a type: one of the pool, a view of one, or a constant.
    fn of(&mut self, ty: &Type) -> NodeId {
        let from: Vec<NodeId> = self.pool.iter().copied().filter(|&id| self.graph.ty(id) == ty).collect();
        if !from.is_empty() && self.random.below(5) > 0 {
            return self.random.pick(&from);
        }
        if self.random.below(4) == 0 {
            return self.full(ty.dtype, &ty.shape);
        }
        let source = self.any(ty.dtype);
        let map = self.map(&self.ty(source).shape, &ty.shape);
        self.add(Op::View(map), &[source])
    }

    /// A random affine map between shapes, which now and then reads outside.
    fn map(&mut self, source: &[usize], result: &[usize]) -> AffineMap {
        let mut rows = Vec::new();
        let mut offset = SmallVec::<[i64; 4]>::new();
        for &extent in source {
            let mut row: SmallVec<[i64; 4]> = SmallVec::from_elem(0, result.len());
            let mut start = self.random.below(extent.max(1)) as i64;
            if !result.is_empty() && self.random.below(4) > 0 {
                let column = self.random.below(result.len());
                row[column] = self.random.pick(&[1, 1, 1, -1, 2]);
                start = match row[column] {
                    -1 => extent as i64 - 1,
                    _ => 0,
                };
                if self.random.below(4) == 0 {
                    start += self.random.below(3) as i64 - 1;
                }
            }
            rows.push(row);
            offset.push(start);
        }
        AffineMap::new(source, result, &rows, &offset)
    }

    fn shape(&mut self, rank: usize) -> Shape {
        (0..rank).map(|_| self.random.extent()).collect()
    }

    /// Index arrays of one shape.
    fn indices(&mut self, count: usize) -> Vec<NodeId> {
        let first = self.any(DType::I64);
        let ty = self.ty(first);
        let mut indices = vec![first];
        while indices.len() < count {
            indices.push(self.of(&ty));
        }
        indices
    }

    fn step(&mut self, depth: usize) {
        let choice = self.random.below(if depth > 0 { 27 } else { 20 });
        let id = match choice {
            0 | 1 => {
                let a = self.any(DType::F64);
                let op = self.random.pick(&[Unary::Sin, Unary::Cos, Unary::Tanh, Unary::Neg]);
                self.add(Op::Unary(op), &[a])
            }
            2..=4 => {
                let a = self.any(DType::F64);
                let b = self.of(&self.ty(a));
                let op = self.random.pick(&[Binary::Add, Binary::Mul, Binary::Sub, Binary::Max]);
                self.add(Op::Binary(op), &[a, b])
            }
            5 => {
                let a = self.any(DType::I64);
                let b = self.of(&self.ty(a));
                let op = self.random.pick(&[Binary::Add, Binary::Sub, Binary::Mul, Binary::Modulo]);
                self.add(Op::Binary(op), &[a, b])
            }
            6 | 7 => {
                let dtype = self.random.pick(&[DType::F64, DType::I64]);
                let a = self.any(dtype);
                let b = self.of(&self.ty(a));
                let yes = self.of(&Type { dtype: DType::F64, shape: self.ty(a).shape });
                let no = self.of(&self.ty(yes));
                let op = self.random.pick(&[Comparison::Less, Comparison::Equal]);
                let mask = self.add(Op::Compare(op), &[a, b]);
                self.add(Op::Select, &[mask, yes, no])
            }
            8 => {
                let a = self.any(DType::F64);
                let rank = self.random.below(3);
                let shape = self.shape(rank);
                let map = self.map(&self.ty(a).shape, &shape);
                self.add(Op::View(map), &[a])
            }
            9 => {
                let a = self.any(DType::F64);
                let source = self.shape(1);
                let map = self.map(&source, &self.ty(a).shape);
                self.add(Op::Accumulate(map), &[a])
            }
            10 => {
                let a = self.any(DType::F64);
                let total = self.ty(a).size();
                let outer = (1..=total.max(1)).filter(|&k| total.is_multiple_of(k)).collect::<Vec<_>>();
                let outer = self.random.pick(&outer);
                let mut shape = Shape::from_slice(&[outer, total / outer]);
                if self.random.below(3) == 0 {
                    shape.push(1);
                }
                self.add(Op::Reshape(shape), &[a])
            }
            11 => {
                let a = self.any(DType::F64);
                let ty = self.ty(a);
                if ty.rank() == 0 {
                    return;
                }
                let axis = self.random.below(ty.rank());
                let mut other = ty.clone();
                other.shape[axis] = self.random.extent();
                let b = self.of(&other);
                self.add(Op::Concatenate(axis), &[a, b])
            }
            12 | 13 => {
                let a = self.any(DType::F64);
                let count = self.random.below(self.ty(a).rank() + 1);
                let mut args = vec![a];
                if count > 0 {
                    args.extend(self.indices(count));
                }
                self.add(Op::Gather, &args)
            }
            14 => {
                let first = self.any(DType::I64);
                let mut ty = Type { dtype: DType::F64, shape: self.ty(first).shape };
                if self.random.below(2) == 0 {
                    ty.shape.push(2);
                }
                let updates = self.of(&ty);
                let second = self.of(&self.ty(first));
                let extents = self.shape(2);
                self.add(Op::Scatter(extents), &[updates, first, second])
            }
            15 | 16 => {
                let a = self.any(DType::F64);
                let axes: Axes = (0..self.ty(a).rank()).filter(|_| self.random.below(2) == 0).collect();
                let empty = axes.iter().any(|&axis| self.ty(a).shape[axis] == 0);
                let op = self.random.pick(&[Reduction::Sum, Reduction::Sum, Reduction::Max]);
                self.add(Op::Reduce(if empty { Reduction::Sum } else { op }, axes), &[a])
            }
            17 => {
                let a = self.any(DType::F64);
                if self.ty(a).rank() == 0 {
                    return;
                }
                let axis = self.random.below(self.ty(a).rank());
                self.add(Op::ArgReduce(Extreme::Max, axis), &[a])
            }
            18 => {
                let (m, k, n) = (self.random.extent(), self.random.extent(), self.random.extent());
                let (left, right, result): (&[u8], &[u8], &[u8]) = self.random.pick(&[
                    (&[0, 1], &[1, 2], &[2, 0]),
                    (&[0, 1, 2], &[2, 1], &[1, 0]),
                    (&[1], &[1], &[]),
                    (&[0, 1], &[2], &[0, 2, 1]),
                ]);
                let extents = [m, k, n];
                let shape = |labels: &[u8]| labels.iter().map(|&l| extents[l as usize]).collect::<Shape>();
                let a = self.of(&Type { dtype: DType::F64, shape: shape(left) });
                let b = self.of(&Type { dtype: DType::F64, shape: shape(right) });
                self.add(Op::Contract(Contraction::new(left, right, result)), &[a, b])
            }
            19 => {
                let n = self.random.extent();
                self.add(Op::Iota(n), &[])
            }
            20..=23 => self.build(depth - 1),
            24 | 25 => return self.scan(depth - 1),
            _ => return self.branch(depth - 1),
        };
        // Large arrays make a test slow, not better.
        if size(&self.ty(id).shape) <= 256 && self.ty(id).rank() <= 4 {
            self.pool.push(id);
        }
    }

    /// A body over parameters of these types, and captures out of the pool.
    fn inside(
        &mut self,
        parameters: &[Type],
        depth: usize,
        results: &mut dyn FnMut(&mut Maker) -> Vec<NodeId>,
    ) -> (Arc<Body<Build>>, Vec<NodeId>) {
        let captures: Vec<NodeId> = (0..4).map(|_| self.random.pick(&self.pool)).collect();
        let mut types = parameters.to_vec();
        types.extend(captures.iter().map(|&id| self.ty(id)));
        let pool = (0..types.len() as NodeId).collect();
        let mut inner = Maker { random: &mut *self.random, graph: Graph::new(&types, captures.len()), pool };
        for _ in 0..2 + inner.random.below(5) {
            inner.step(depth);
        }
        let results = results(&mut inner);
        (Arc::new(inner.graph.finish(&results)), captures)
    }

    fn build(&mut self, depth: usize) -> NodeId {
        let rank = 1 + self.random.below(2);
        let extents = self.shape(rank);
        let variables = vec![Type::scalar(DType::I64); extents.len()];
        let (body, captures) = self.inside(&variables, depth, &mut |inner| vec![*inner.pool.last().expect("nodes")]);
        self.add(Op::Extra(Build { extents, body }), &captures)
    }

    fn scan(&mut self, depth: usize) {
        let length = self.random.extent();
        let first = [self.any(DType::F64), self.any(DType::F64)];
        let mut input = Type::new(DType::F64, &[length]);
        input.shape.extend_from_slice(&[2]);
        let stacked = self.of(&input);
        let parameters = [self.ty(first[0]), self.ty(first[1]), Type::new(DType::F64, &[2])];
        let (body, captures) = self.inside(&parameters, depth, &mut |inner| {
            let next: Vec<NodeId> = parameters[..2].iter().map(|ty| inner.of(ty)).collect();
            // Bounded, so that many steps don't overflow.
            let mut results: Vec<NodeId> = next.into_iter().map(|id| inner.add(Op::Unary(Unary::Sin), &[id])).collect();
            results.push(inner.any(DType::F64));
            results
        });
        let reverse = self.random.below(2) == 0;
        let scan = Scan { body, carries: 2, inputs: 1, length, reverse };
        let mut args = vec![first[0], first[1], stacked];
        args.extend(captures);
        let node = self.add(Op::Scan(Arc::new(scan)), &args);
        for position in 0..3 {
            let output = self.add(Op::Output(position), &[node]);
            if size(&self.ty(output).shape) <= 256 {
                self.pool.push(output);
            }
        }
    }

    fn branch(&mut self, depth: usize) {
        let condition = match self.random.below(3) {
            0 => self.of(&Type::scalar(DType::Bool)),
            _ => {
                let (a, b) = (self.of(&Type::scalar(DType::I64)), self.of(&Type::scalar(DType::I64)));
                self.add(Op::Compare(Comparison::LessEqual), &[a, b])
            }
        };
        let wanted = self.any(DType::F64);
        let wanted = self.ty(wanted);
        let captures: Vec<NodeId> = (0..4).map(|_| self.random.pick(&self.pool)).collect();
        let types: Vec<Type> = captures.iter().map(|&id| self.ty(id)).collect();
        let mut sides = Vec::new();
        for _ in 0..2 {
            let pool = (0..types.len() as NodeId).collect();
            let mut inner = Maker { random: &mut *self.random, graph: Graph::new(&types, types.len()), pool };
            for _ in 0..2 + inner.random.below(4) {
                inner.step(depth);
            }
            let result = inner.of(&wanted);
            sides.push(Arc::new(inner.graph.finish(&[result])));
        }
        let otherwise = sides.pop().expect("two sides");
        let then = sides.pop().expect("two sides");
        let mut args = vec![condition];
        args.extend(captures);
        let node = self.add(Op::Branch(Arc::new(Branch { then, otherwise })), &args);
        let output = self.add(Op::Output(0), &[node]);
        self.pool.push(output);
    }
}
