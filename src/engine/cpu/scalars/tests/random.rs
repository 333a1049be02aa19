//! Random loops, by instructions and by the interpreter.

use super::same;
use crate::affine::AffineMap;
use crate::array::Array;
use crate::engine::cpu::{Cpu, Program};
use crate::evaluate;
use crate::operation::{Binary, COMPARISON_ROWS, Comparison, Contraction, Reduction, Unary};
use crate::shape::{DType, Shape, Type, Value};
use crate::term::{self, Branch, Checkpoints, Graph, NodeId, Op as Node, Steps, Sweep, Sweeps};
use std::sync::Arc;

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

/// Random steps whose arithmetic is exact, so that the interpreter finds the same bits, up to the signs of zeros.
struct Writer<'a> {
    random: &'a mut Random,
    graph: Graph,
    values: Vec<NodeId>,
}

/// Elements of a long row, which is in memory.
const LONG: usize = 80;

fn long() -> Type {
    Type::new(DType::F64, &[LONG])
}

fn types() -> [Type; 6] {
    let of = |dtype, shape: &[usize]| Type::new(dtype, shape);
    [
        of(DType::F64, &[]),
        of(DType::F64, &[3]),
        of(DType::I64, &[]),
        of(DType::F32, &[]),
        of(DType::Bool, &[]),
        of(DType::F64, &[3, 3]),
    ]
}

impl Writer<'_> {
    /// A value of a type.
    fn any(&mut self, ty: &Type) -> NodeId {
        let all: Vec<NodeId> = self.values.iter().copied().filter(|&id| self.graph.ty(id) == ty).collect();
        if all.is_empty() || self.random.below(8) == 0 {
            let value = Value::from_i64(ty.dtype, self.random.below(5) as i64 - 2);
            return self.graph.add(Node::Constant(Array::full(&ty.shape, value)), &[]);
        }
        // Late ones, for the most part.
        let from = if self.random.below(3) > 0 { all.len().saturating_sub(3) } else { 0 };
        all[from + self.random.below(all.len() - from)]
    }

    /// A value that is not far from 0, in few digits.
    fn small(&mut self, id: NodeId) -> NodeId {
        let ty = self.graph.ty(id).clone();
        if !ty.dtype.is_float() {
            return id;
        }
        let bound = |this: &mut Self, x| {
            this.graph.add(Node::Constant(Array::full(&ty.shape, Value::from_i64(ty.dtype, x))), &[])
        };
        let (low, high) = (bound(self, -64), bound(self, 64));
        let bounded = self.graph.add(Node::Binary(Binary::Min), &[id, high]);
        let bounded = self.graph.add(Node::Binary(Binary::Max), &[bounded, low]);
        self.graph.add(Node::Unary(Unary::Round), &[bounded])
    }

    fn step(&mut self, depth: usize) {
        let [number, row, whole, single, truth, matrix] = types();
        let id = match self.random.below(if depth > 0 { 28 } else { 24 }) {
            20..24 => self.along(),
            0..=3 => {
                let ty = [&number, &row, &whole, &single][self.random.below(4)].clone();
                let (a, b) = (self.any(&ty), self.any(&ty));
                let all = [Binary::Add, Binary::Sub, Binary::Mul, Binary::Max, Binary::Min, Binary::MaxRight];
                self.graph.add(Node::Binary(all[self.random.below(all.len())]), &[a, b])
            }
            4 => {
                let ty = [&number, &row, &single][self.random.below(3)].clone();
                let a = self.any(&ty);
                let all =
                    [Unary::Neg, Unary::Abs, Unary::Recip, Unary::Relu, Unary::Floor, Unary::Powi(3), Unary::Sign];
                self.graph.add(Node::Unary(all[self.random.below(all.len())]), &[a])
            }
            5 => {
                let ty = [&number, &whole, &single][self.random.below(3)].clone();
                let (a, b) = (self.any(&ty), self.any(&ty));
                self.graph.add(Node::Compare(COMPARISON_ROWS[self.random.below(6)]), &[a, b])
            }
            6 => {
                let ty = [&number, &whole, &single][self.random.below(3)].clone();
                let operands = [self.any(&truth), self.any(&ty), self.any(&ty)];
                self.graph.add(Node::Select, &operands)
            }
            7 => {
                let from = [&number, &whole, &single, &truth][self.random.below(4)].clone();
                let a = self.any(&from);
                let to = [DType::F64, DType::F32, DType::I64][self.random.below(3)];
                if to == from.dtype { a } else { self.graph.add(Node::Cast(to), &[a]) }
            }
            8 => {
                let a = self.any(&number);
                self.graph.add(Node::View(AffineMap::broadcast(&[], &[3], &[])), &[a])
            }
            9 => {
                // Backwards, or moved: reads outside are 0.
                let a = self.any(&row);
                let (first, by) = [(2, -1), (1, 1), (-1, 1)][self.random.below(3)];
                self.graph.add(Node::View(AffineMap::along(&[3], 0, first, by, 3)), &[a])
            }
            10 => {
                let a = self.any(&row);
                let a = self.small(a);
                let op = [Reduction::Sum, Reduction::Max, Reduction::Min][self.random.below(3)];
                self.graph.add(Node::Reduce(op, smallvec::smallvec![0]), &[a])
            }
            11 => {
                let (m, a) = (self.any(&matrix), self.any(&row));
                let operands = [self.small(m), self.small(a)];
                self.graph.add(Node::Contract(Contraction::new(&[0, 1], &[1], &[0])), &operands)
            }
            12 => {
                let operands = [self.any(&row), self.any(&whole)];
                self.graph.add(Node::Gather, &operands)
            }
            13 => {
                let operands = [self.any(&number), self.any(&whole)];
                self.graph.add(Node::Scatter(Shape::from_slice(&[3])), &operands)
            }
            14 => {
                let operands = [self.any(&truth), self.any(&truth)];
                self.graph.add(Node::Binary([Binary::And, Binary::Or, Binary::Xor][self.random.below(3)]), &operands)
            }
            15 => {
                let (a, b) = (self.any(&row), self.any(&row));
                let operands = [self.small(a), self.small(b)];
                self.graph.add(Node::Contract(Contraction::new(&[0], &[1], &[0, 1])), &operands)
            }
            // A write into the long row.
            16..20 => {
                let (a, position, value) = (self.any(&long()), self.position(), self.any(&number));
                let at =
                    |this: &mut Self| this.graph.add(Node::View(AffineMap::broadcast(&[], &[1], &[])), &[position]);
                match self.random.below(3) {
                    0 => {
                        let value = self.graph.add(Node::View(AffineMap::broadcast(&[], &[1], &[])), &[value]);
                        let at = at(self);
                        self.graph.add(Node::ScatterSet, &[a, value, at])
                    }
                    1 => {
                        let scatter = Node::Scatter(Shape::from_slice(&[LONG]));
                        let added = self.graph.add(scatter, &[value, position]);
                        self.graph.add(Node::Binary(Binary::Add), &[a, added])
                    }
                    _ => {
                        let values = self.any(&row);
                        let count = self.graph.add(Node::Iota(3), &[]);
                        let first = self.graph.add(Node::View(AffineMap::broadcast(&[], &[3], &[])), &[position]);
                        let positions = self.graph.add(Node::Binary(Binary::Add), &[first, count]);
                        self.graph.add(Node::ScatterSet, &[a, values, positions])
                    }
                }
            }
            24 => {
                let kinds = [&number, &row, &whole, &long()].map(Clone::clone);
                let captured: Vec<NodeId> = kinds.iter().map(|ty| self.any(ty)).collect();
                let condition = self.any(&truth);
                let results = [number.clone(), row.clone(), long()];
                let mut side = || Arc::new(body(self.random, &kinds, 4, &results, depth - 1));
                let branch = Branch { then: side(), otherwise: side() };
                let operands: Vec<NodeId> = [condition].into_iter().chain(captured).collect();
                let both = self.graph.add(Node::Branch(Arc::new(branch)), &operands);
                self.graph.add(Node::Output(self.random.below(3)), &[both])
            }
            25 | 26 => {
                let length = 1 + self.random.below(3);
                let all = self.scan(length, depth - 1);
                self.graph.add(Node::Output(self.random.below(3)), &[all])
            }
            _ => {
                let all = self.sweeps(depth - 1);
                self.graph.add(Node::Output(self.random.below(2)), &[all])
            }
        };
        self.values.push(id);
    }

    /// A position in the long row, or outside.
    fn position(&mut self) -> NodeId {
        let whole = Type::new(DType::I64, &[]);
        let position = self.any(&whole);
        let first = self.graph.add(Node::Constant(Array::full(&[], Value::I64(2))), &[]);
        self.graph.add(Node::Binary(Binary::Add), &[position, first])
    }

    /// Something that is computed along the long row, or read from it.
    fn along(&mut self) -> NodeId {
        let (a, b) = (self.any(&long()), self.any(&long()));
        match self.random.below(4) {
            0 => {
                let position = self.position();
                self.graph.add(Node::Gather, &[a, position])
            }
            1 => self.graph.add(Node::View(AffineMap::along(&[LONG], 0, 3, 2, 3)), &[a]),
            2 => {
                let a = self.small(a);
                let op = [Reduction::Sum, Reduction::Max, Reduction::Min][self.random.below(3)];
                self.graph.add(Node::Reduce(op, smallvec::smallvec![0]), &[a])
            }
            _ => {
                let (a, b) = (self.small(a), self.small(b));
                self.graph.add(Node::Binary([Binary::Add, Binary::Sub, Binary::Max][self.random.below(3)]), &[a, b])
            }
        }
    }

    /// A loop inside: of a number, a row and a long row, over the rows of a matrix if it has three steps.
    fn scan(&mut self, length: usize, depth: usize) -> NodeId {
        let [number, row, whole, .., matrix] = types();
        let inputs = usize::from(length == 3);
        let long = long();
        let kinds: Vec<Type> =
            [&number, &row, &long].into_iter().chain((length == 3).then_some(&row)).chain([&whole]).cloned().collect();
        let step = body(self.random, &kinds, 1, &[number.clone(), row.clone(), long.clone(), row.clone()], depth);
        let mut operands = vec![self.any(&number), self.any(&row), self.any(&long)];
        operands.extend((length == 3).then(|| self.any(&matrix)));
        operands.push(self.any(&whole));
        let reverse = self.random.below(2) == 0;
        let scan = term::Scan { body: Arc::new(step), carries: 3, inputs, length, reverse };
        let all = self.graph.add(Node::Scan(Arc::new(scan)), &operands);
        if length == 3 {
            let stack = self.graph.add(Node::Output(3), &[all]);
            self.values.push(stack);
        }
        all
    }

    /// A loop inside with a condition: until a count is 3 or something does not hold.
    fn sweeps(&mut self, depth: usize) -> NodeId {
        let [number, _, whole, ..] = types();
        let mut step: Graph = Graph::new(&[number.clone(), whole.clone(), number.clone()], 1);
        let inner =
            Arc::new(body(self.random, &[number.clone(), number.clone()], 2, std::slice::from_ref(&number), depth));
        let one = step.add(Node::Constant(Array::full(&[], Value::I64(1))), &[]);
        let next = step.add(Node::Binary(Binary::Add), &[1, one]);
        let custom = Branch { then: inner.clone(), otherwise: inner };
        let holds = step.add(Node::Compare(Comparison::Less), &[0, 2]);
        let both = step.add(Node::Branch(Arc::new(custom)), &[holds, 0, 2]);
        let value = step.add(Node::Output(0), &[both]);
        let mut condition: Graph = Graph::new(&[number.clone(), whole.clone(), number.clone()], 1);
        let three = condition.add(Node::Constant(Array::full(&[], Value::I64(3))), &[]);
        let few = condition.add(Node::Compare(Comparison::Less), &[1, three]);
        let other = condition.add(Node::Compare(Comparison::NotEqual), &[0, 2]);
        let holds = condition.add(Node::Binary(Binary::And), &[few, other]);
        let sweep =
            Sweep { body: Arc::new(step.finish(&[value, next])), carries: 2, inputs: 0, reads: vec![], keeps: 0 };
        let steps = Steps::While(Arc::new(condition.finish(&[holds])));
        let sweeps = Sweeps { steps, sweeps: vec![sweep], reverse: false, checkpoints: Checkpoints::All };
        let operands = [self.any(&number), self.any(&whole), self.any(&number)];
        self.graph.add(Node::Sweeps(Arc::new(sweeps)), &operands)
    }
}

/// A random body of parameters, the last of which are captures, and results of these types.
fn body(random: &mut Random, parameters: &[Type], captures: usize, results: &[Type], depth: usize) -> term::Body {
    let count = 2 + random.below(7);
    let graph = Graph::new(parameters, captures);
    let mut steps = Writer { random, graph, values: (0..parameters.len() as NodeId).collect() };
    (0..count).for_each(|_| steps.step(depth));
    let results: Vec<NodeId> = results.iter().map(|ty| steps.any(ty)).collect();
    steps.graph.finish(&results)
}

fn element(random: &mut Random, ty: &Type) -> Array {
    let numbers = (0..ty.size()).map(|_| random.below(13) as f64 / 2.0 - 3.0).collect();
    match (ty.dtype, ty.shape.is_empty()) {
        (DType::F64, _) => Array::from_vec(&ty.shape, numbers),
        (dtype, _) => Array::full(&ty.shape, Value::from_f64(dtype, numbers.first().copied().unwrap_or(0.0))),
    }
}

/// A loop over random steps, compiled and interpreted: whether it is run by instructions.
fn check(seed: u64) -> bool {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let random = &mut random;
    let [number, row, whole, single, truth, matrix] = types();
    let length = 1 + random.below(5);
    let stacked = |ty: &Type| Type::new(ty.dtype, &[&[length], &ty.shape[..]].concat());
    let carries = [number.clone(), row.clone(), whole.clone(), single.clone(), truth, long()];
    let (inputs, captures) = ([number.clone(), row.clone()], [matrix, row.clone(), single.clone(), whole]);
    let parameters = [&carries[..], &inputs[..], &captures[..]].concat();
    let results = [&carries[..], &[row, single, number, long()]].concat();
    let step = body(random, &parameters, captures.len(), &results, 2);
    let reverse = random.below(2) == 0;
    let scan = term::Scan { body: Arc::new(step), carries: carries.len(), inputs: inputs.len(), length, reverse };
    let types: Vec<Type> = carries.iter().cloned().chain(inputs.iter().map(stacked)).chain(captures).collect();
    let mut graph: Graph = Graph::new(&types, 0);
    let operands: Vec<NodeId> = (0..types.len() as NodeId).collect();
    let all = graph.add(Node::Scan(Arc::new(scan)), &operands);
    let outputs: Vec<NodeId> = (0..results.len()).map(|at| graph.add(Node::Output(at), &[all])).collect();
    let whole = graph.finish(&outputs);
    let arguments: Vec<Array> = types.iter().map(|ty| element(random, ty)).collect();
    let expected = evaluate::run(&whole, arguments.clone()).unwrap();
    let program = Program::new(&whole, &Cpu::default().threads(1)).unwrap();
    for _ in 0..2 {
        let found = program.run(&arguments).unwrap();
        for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(found.ty(), expected.ty());
            for k in 0..expected.size() {
                let (found, expected) = (found.element(k), expected.element(k));
                let zeros = found.to_f64() == 0.0 && expected.to_f64() == 0.0;
                let is_same = zeros || same(found.dtype(), found.bits(), expected.bits());
                assert!(is_same, "seed {seed}, result {at}[{k}]: {found:?}, {expected:?}\n{program}");
            }
        }
    }
    !program.machine.scalars().is_empty()
}

#[test]
fn random_steps_are_those_of_the_interpreter() {
    let (count, least) = if cfg!(debug_assertions) { (200, 80) } else { (3000, 1000) };
    let taken = (0..count).filter(|&seed| check(seed)).count() as u64;
    // In the others kernels are faster for some part.
    assert!(taken > least, "{taken} of {count}");
}
