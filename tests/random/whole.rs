//! Bulk programs of whole numbers, which no order of sums rounds, so that engines give equal elements: elementwise operations of
//! all types around shifted, reversed and repeated views, whose guards are masks of machine code, at lengths around registers.

use super::arrays::{array, full};
use super::chance::Random;
use super::compare::{self, Scale, catching};
use super::generate::Case;
use super::stages::Stages;
use deltaray::affine::AffineMap;
use deltaray::concrete::{Array, Concrete};
use deltaray::engine::cpu::{Cpu, Program};
use deltaray::operation::{Binary, COMPARISON_ROWS, Reduction, Unary};
use deltaray::shape::{DType, Shape, Type, Value, size};
use deltaray::term::{Graph, NodeId, Op, interpret_source};
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// Operands of arithmetic are clamped to this, so that products and sums along an axis are far below 2²⁴.
const MOST: f64 = 64.0;
const EXTENTS: [usize; 14] = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 65];
/// The most elements of a value.
const SIZE: usize = 10_000;
/// No difference is allowed.
const EQUAL: Scale = Scale { relative: 0.0, largest: 0.0, of_derivatives: false };

struct Writer<'r> {
    random: &'r mut Random,
    graph: Graph,
    shape: Shape,
    dtypes: &'static [DType],
    /// Values of the shape, each with a bound on its numbers.
    values: Vec<(NodeId, f64)>,
}

impl Writer<'_> {
    fn add(&mut self, op: Op, operands: &[NodeId]) -> NodeId {
        self.graph.add(op, operands)
    }

    fn dtype(&self, id: NodeId) -> DType {
        self.graph.ty(id).dtype
    }

    fn number(&mut self) -> DType {
        let numbers: Vec<DType> = self.dtypes.iter().copied().filter(|&dtype| dtype != DType::Bool).collect();
        self.random.pick(&numbers)
    }

    /// A value of a type, whose numbers are small; mostly one of the last.
    fn value(&mut self, dtype: DType) -> (NodeId, f64) {
        let fits: Vec<(NodeId, f64)> =
            self.values.iter().copied().filter(|&(id, _)| self.graph.ty(id).dtype == dtype).collect();
        let (id, bound) = match fits.len() {
            0 => {
                let (id, bound) = self.random.pick(&self.values);
                (self.add(Op::Cast(dtype), &[id]), if dtype == DType::Bool { 1.0 } else { bound })
            }
            count if self.random.chance(0.5) => fits[count - 1 - self.random.below(count.min(4))],
            count => fits[self.random.below(count)],
        };
        if bound <= MOST {
            return (id, bound);
        }
        let ty = Type::new(dtype, &self.shape);
        let [low, high] = [-MOST, MOST].map(|bound| self.graph.add(Op::Constant(full(&ty, bound)), &[]));
        let id = self.add(Op::Binary(Binary::Max), &[id, low]);
        (self.add(Op::Binary(Binary::Min), &[id, high]), MOST)
    }

    /// A view of the shape: each axis of the array is read along another one, in steps, backwards, or at one position, perhaps
    /// beyond its ends.
    fn view(&mut self, id: NodeId) -> NodeId {
        let source = self.graph.ty(id).shape.clone();
        let rank = self.shape.len();
        let (mut rows, mut offsets) = (Vec::new(), Vec::new());
        for (axis, &extent) in source.iter().enumerate() {
            let mut row: SmallVec<[i64; 4]> = SmallVec::from_elem(0, rank);
            let along = if source.len() == rank { axis } else { self.random.below(rank) };
            let end = extent as i64 - 1;
            let (step, offset) = match self.random.below(8) {
                0 => (-1, end),
                1..=3 => (1, self.random.whole(-3, 3)),
                4 => (self.random.whole(-3, 3), self.random.whole(-2, end + 2)),
                5 => (0, self.random.whole(-1, end + 1)),
                _ => (1, 0),
            };
            row[along] = step;
            rows.push(row);
            offsets.push(offset);
        }
        let map = AffineMap::new(&source, &self.shape, &rows, &offsets);
        self.add(Op::View(map), &[id])
    }

    /// An array of fewer axes, read along those that it has.
    fn repeated(&mut self, id: NodeId, axes: &[usize]) -> NodeId {
        let map = AffineMap::broadcast(&self.graph.ty(id).shape.clone(), &self.shape, axes);
        self.add(Op::View(map), &[id])
    }

    /// Sums or extremes along an axis, at all of its positions.
    fn reduced(&mut self, dtype: DType) -> (NodeId, f64) {
        let (id, bound) = self.value(dtype);
        let axis = self.random.below(self.shape.len());
        let op = self.random.pick(&[Reduction::Sum, Reduction::Max, Reduction::Min]);
        let id = self.add(Op::Reduce(op, SmallVec::from_slice(&[axis])), &[id]);
        let axes: Vec<usize> = (0..self.shape.len()).filter(|&other| other != axis).collect();
        (self.repeated(id, &axes), bound * self.shape[axis] as f64)
    }

    /// Elements of an array at computed positions of its first axis, of which some are outside.
    fn looked_up(&mut self, array: NodeId, bound: f64) -> Option<(NodeId, f64)> {
        let source = self.graph.ty(array).shape.clone();
        if source.len() != 1 {
            return None;
        }
        let (positions, _) = self.value(DType::I64);
        Some((self.add(Op::Gather, &[array, positions]), bound))
    }

    fn step(&mut self, parameters: &[(NodeId, f64)]) {
        let (any, number) = (self.random.pick(self.dtypes), self.number());
        let (id, bound) = match self.random.below(16) {
            0..=3 => {
                let op = self.random.pick(&[Binary::Add, Binary::Sub, Binary::Mul, Binary::Min, Binary::Max]);
                let ((x, a), (y, b)) = (self.value(number), self.value(number));
                (self.add(Op::Binary(op), &[x, y]), (a * b).max(a + b))
            }
            4 => {
                let (x, bound) = self.value(number);
                let op = self.random.pick(&[Unary::Neg, Unary::Abs, Unary::Sign]);
                (self.add(Op::Unary(op), &[x]), bound.max(1.0))
            }
            5 | 6 => {
                let (x, y) = (self.value(DType::Bool).0, self.value(DType::Bool).0);
                let op = self.random.pick(&[Binary::And, Binary::Or, Binary::Xor]);
                let id = self.add(Op::Binary(op), &[x, y]);
                (if self.random.chance(0.3) { self.add(Op::Unary(Unary::Not), &[id]) } else { id }, 1.0)
            }
            7 | 8 => {
                let (x, y) = (self.value(number).0, self.value(number).0);
                let op = self.random.pick(COMPARISON_ROWS);
                (self.add(Op::Compare(op), &[x, y]), 1.0)
            }
            9 | 10 => {
                let (mask, (x, a), (y, b)) = (self.value(DType::Bool).0, self.value(any), self.value(any));
                // Booleans that registers share, and that a guard leaves out of some of their lanes.
                let mask = if self.random.chance(0.5) { self.view(mask) } else { mask };
                (self.add(Op::Select, &[mask, x, y]), a.max(b))
            }
            11 => {
                let (x, bound) = self.random.pick(&self.values);
                (if self.dtype(x) == any { x } else { self.add(Op::Cast(any), &[x]) }, bound.max(1.0))
            }
            12 => self.reduced(number),
            13 => {
                let (array, bound) = self.random.pick(parameters);
                match self.looked_up(array, bound) {
                    Some(result) => result,
                    None => (self.view(array), bound),
                }
            }
            _ => {
                let (id, bound) = self.value(any);
                (self.view(id), bound)
            }
        };
        self.values.push((id, if self.dtype(id) == DType::Bool { 1.0 } else { bound }));
    }

    /// A result: a value, its axes in another order, sums along one, or values side by side.
    fn result(&mut self) -> NodeId {
        let (id, _) = self.values[self.values.len() - 1 - self.random.below(self.values.len().min(6))];
        let (rank, dtype) = (self.shape.len(), self.dtype(id));
        match self.random.below(6) {
            0 => {
                let mut axes: Vec<usize> = (0..rank).collect();
                self.random.shuffle(&mut axes);
                self.add(Op::View(AffineMap::transpose(&self.shape.clone(), &axes)), &[id])
            }
            1 | 2 if dtype != DType::Bool => {
                // One axis alone, so that sums of whole numbers stay exact in single precision.
                let (id, _) = self.value(dtype);
                let axis = self.random.below(rank);
                self.add(Op::Reduce(Reduction::Sum, SmallVec::from_slice(&[axis])), &[id])
            }
            3 => {
                let (other, _) = self.value(dtype);
                let axis = self.random.below(rank);
                self.add(Op::Concatenate(axis), &[id, other, id])
            }
            _ => id,
        }
    }
}

fn input(ty: &Type, random: &mut Random) -> Array {
    let element = |_| match ty.dtype {
        DType::Bool => Value::Bool(random.chance(0.5)),
        dtype => Value::from_i64(dtype, random.whole(-4, 9)),
    };
    array(ty, &(0..size(&ty.shape)).map(element).collect::<Vec<_>>())
}

/// The program and inputs that a seed names.
pub fn case(seed: u64) -> Case {
    use DType::{Bool, F32, F64, I32, I64};
    let random = &mut Random::new(seed);
    let sets: [&[DType]; 6] =
        [&[F64, Bool], &[F32, Bool], &[I64, Bool], &[I32, F32, Bool], &[F64, I64, Bool], &[F64, F32, I32, I64, Bool]];
    let dtypes = random.pick(&sets);
    let mut shape: Shape = (0..random.whole(1, 3)).map(|_| random.pick(&EXTENTS)).collect();
    while size(&shape) > SIZE {
        shape.pop();
    }
    // An array of each type at least, so that little is cast.
    let mut types = Vec::new();
    for at in 0..dtypes.len() + random.below(3) {
        let dtype = dtypes[at % dtypes.len()];
        let axes = |random: &mut Random| shape.iter().copied().filter(|_| random.chance(0.5)).collect::<Shape>();
        types.push(Type::new(dtype, &if random.chance(0.5) { shape.clone() } else { axes(random) }));
    }
    let inputs = types.iter().map(|ty| input(ty, random)).collect();
    let graph = Graph::new(&types, 0);
    let mut writer = Writer { random, graph, shape, dtypes, values: Vec::new() };
    let parameters: Vec<(NodeId, f64)> = (0..types.len()).map(|at| (at as NodeId, 9.0)).collect();
    for &(id, bound) in &parameters {
        let value = writer.view(id);
        writer.values.push((value, bound));
    }
    for _ in 0..writer.random.weighted(&[(3, 4), (3, 10), (2, 25), (1, 50)]) {
        writer.step(&parameters);
    }
    let results: Vec<NodeId> = (0..writer.random.whole(1, 4)).map(|_| writer.result()).collect();
    let body = writer.graph.finish(&results).widen();
    Case { seed, body, inputs, library: BTreeSet::new() }
}

/// How an engine's results differ from the interpreter's, if they do: machine code, on one thread and on two, and kernels, on the
/// program as it is and simplified.
pub fn difference(case: &Case) -> Option<String> {
    let stages = Stages::of(&case.body);
    let expected = catching(|| interpret_source::<Concrete>(&case.body, case.inputs.clone()));
    let expected = expected.unwrap_or_else(|panic| panic!("seed {}: the interpreter {panic}", case.seed));
    let engines = [
        ("machine code", false, Cpu::default().threads(1)),
        ("machine code of the simplified program, on two threads", true, Cpu::default().threads(2)),
        ("kernels", false, Cpu::default().threads(1).machine_code(false)),
    ];
    engines.into_iter().find_map(|(name, is_simplified, cpu)| {
        let run = || {
            let body = if is_simplified { stages.bulk() } else { stages.vectorised() };
            Program::new(body, &cpu)
                .and_then(|program| program.run(&case.inputs))
                .unwrap_or_else(|error| panic!("{error}"))
        };
        let found = match catching(run) {
            Ok(found) => found,
            Err(panic) => return Some(format!("{name} {panic}")),
        };
        compare::difference(&expected, &found, &EQUAL).map(|problem| format!("{name}: {problem}"))
    })
}
