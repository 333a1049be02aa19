//! The generator: random well-typed source programs.
//!
//! A program is written from the first operation to the last. Each step picks a construct, and operands among the nodes that
//! exist, preferring unused ones; operands that do not fit are made to fit by views and casts. So sharing is common and little
//! is dead. Every node has a rough bound on its magnitude; values that grow too large are tamed by `tanh`, `sin` and the like,
//! so that nearly every program has finite, moderate values.

mod custom;
mod implicit;
mod library;
mod loops;
mod matrices;
mod moving;
mod operands;
mod steps;
mod sweeps;
mod windows;

use super::arrays;
use super::chance::Random;
use deltaray::concrete::Array;
use deltaray::shape::{DType, Shape, Type, Value, size};
use deltaray::term::{Body, Build, Graph, NodeId, Op};
use std::collections::BTreeSet;

pub use library::LIBRARY;

/// The largest size of an array.
const LARGEST: usize = 200;
/// How often a nested body may run, all enclosing builds and loops counted.
const MOST_RUNS: usize = 250;
/// The deepest nesting of bodies.
const DEEPEST: usize = 3;
/// Floats beyond this magnitude are tamed before they are used further.
const TAME: f64 = 12.0;
/// Integers beyond this magnitude are tamed before they become floats.
const TAME_INTEGER: f64 = 60.0;

/// A program and inputs for it.
#[derive(Clone, Debug)]
pub struct Case {
    /// The seed that the generator started from.
    pub seed: u64,
    /// The program.
    pub body: Body<Build>,
    /// An array for each parameter.
    pub inputs: Vec<Array>,
    /// The parts of the library that were written.
    pub library: BTreeSet<&'static str>,
}

/// The common style of one program's nodes, so that shapes and element types often fit.
struct Style {
    extents: Vec<usize>,
    floats: Vec<DType>,
}

impl Style {
    fn new(random: &mut Random) -> Style {
        let mut extents: Vec<usize> =
            (0..random.whole(2, 3)).map(|_| random.weighted(&[(2, 1), (4, 2), (5, 3), (3, 4), (1, 5)])).collect();
        if random.chance(0.12) {
            extents.push(0);
        }
        let floats =
            random.weighted(&[(17, &[DType::F64][..]), (2, &[DType::F32][..]), (1, &[DType::F64, DType::F32][..])]);
        Style { extents, floats: floats.to_vec() }
    }
}

/// A body under construction.
struct Writer<'a> {
    random: &'a mut Random,
    style: &'a Style,
    graph: Graph<Build>,
    /// For each node, a rough bound on the magnitude of its elements.
    bounds: Vec<f64>,
    /// For each node, how often it was used.
    uses: Vec<usize>,
    /// Parameters that are indices of enclosing builds, with their extents.
    indices: Vec<(NodeId, usize)>,
    /// How often this body runs.
    runs: usize,
    /// How many bodies are around this one.
    depth: usize,
    /// The parts of the library that were written.
    wrote: &'a mut BTreeSet<&'static str>,
}

impl Case {
    /// The program and inputs that a seed names.
    pub fn from_seed(seed: u64) -> Case {
        let mut random = Random::new(seed);
        let style = Style::new(&mut random);
        let parameters = parameters(&mut random, &style);
        let bounds: Vec<f64> = parameters.iter().map(|ty| if ty.dtype.is_float() { 1.5 } else { 6.0 }).collect();
        let mut library = BTreeSet::new();
        let body = {
            let mut writer = Writer {
                random: &mut random,
                style: &style,
                graph: Graph::new(&parameters, 0),
                uses: vec![0; parameters.len()],
                bounds,
                indices: Vec::new(),
                runs: 1,
                depth: 0,
                wrote: &mut library,
            };
            let steps = writer.random.whole(4, 14);
            for _ in 0..steps {
                writer.step();
            }
            // Later steps leave many results out, and with these the derivatives that put elements back.
            if writer.random.chance(0.2) {
                writer.of_library(library::MOVING);
            }
            writer.finish()
        };
        let inputs = parameters.iter().map(|ty| input(ty, &mut random)).collect();
        Case { seed, body, inputs, library }
    }

    /// Other inputs for the program.
    pub fn redraw(&mut self, attempt: u64) {
        let mut random = Random::new(self.seed.wrapping_add(attempt).rotate_left(17));
        for (position, array) in self.inputs.iter_mut().enumerate() {
            *array = input(self.body.parameter_type(position), &mut random);
        }
    }
}

fn parameters(random: &mut Random, style: &Style) -> Vec<Type> {
    let mut types = Vec::new();
    for position in 0..random.whole(1, 4) {
        let dtype = match random.below(10) {
            _ if position == 0 => style.floats[0],
            0 | 1 => DType::I64,
            2 => DType::I32,
            3 if random.chance(0.5) => DType::Bool,
            _ => random.pick(&style.floats),
        };
        let rank = random.weighted(&[(2, 0), (5, 1), (4, 2), (1, 3)]);
        types.push(Type { dtype, shape: shape(random, style, rank) });
    }
    types
}

fn shape(random: &mut Random, style: &Style, rank: usize) -> Shape {
    (0..rank).map(|_| random.pick(&style.extents)).collect()
}

fn input(ty: &Type, random: &mut Random) -> Array {
    let special = if random.chance(0.1) { 0.2 } else { 0.0 };
    let elements: Vec<Value> = (0..size(&ty.shape))
        .map(|_| match ty.dtype {
            // Now and then a special value: ties and kinks at exact numbers have defined derivatives.
            DType::F32 | DType::F64 if random.chance(special) => {
                Value::from_f64(ty.dtype, random.pick(&[0.0, 1.0, -1.0, 0.5]))
            }
            DType::F32 | DType::F64 => Value::from_f64(ty.dtype, random.between(-1.5, 1.5)),
            DType::I32 | DType::I64 => Value::from_i64(ty.dtype, random.whole(-3, 6)),
            DType::Bool => Value::Bool(random.chance(0.5)),
        })
        .collect();
    arrays::array(ty, &elements)
}

impl Writer<'_> {
    /// Closes the outermost body: some of the nodes that nobody uses are its results, a float among them.
    fn finish(mut self) -> Body<Build> {
        let arity = self.graph.len().min(self.bounds.len());
        let mut sinks: Vec<NodeId> = (0..arity as NodeId)
            .filter(|&id| self.uses[id as usize] == 0 && self.is_array(id) && !self.is_parameter(id))
            .collect();
        if self.random.chance(0.3) {
            let floats: Vec<NodeId> = sinks.iter().copied().filter(|&id| self.dtype(id).is_float()).collect();
            if floats.len() >= 2 {
                sinks.retain(|id| !floats.contains(id));
                sinks.push(self.total(&floats));
            }
        }
        let many = self.random.weighted(&[(3, 1), (3, 2), (2, 3), (1, 5)]);
        let mut results: Vec<NodeId> = Vec::new();
        for _ in 0..many {
            // The last sinks stand on the most.
            let last = sinks.len().saturating_sub(many + 2);
            if last < sinks.len() {
                let at = last + self.random.below(sinks.len() - last);
                results.push(sinks.remove(at));
            }
        }
        if !results.iter().any(|&id| self.dtype(id).is_float()) {
            let float = self.some_float();
            results.push(float);
        }
        self.random.shuffle(&mut results);
        self.graph.finish(&results)
    }

    /// One rank-0 node that depends on several float nodes.
    fn total(&mut self, floats: &[NodeId]) -> NodeId {
        let ty = Type::scalar(self.style.floats[0]);
        let mut total = None;
        for &id in floats {
            let rank = self.ty(id).rank();
            let mut sum = self.cast_to(id, ty.dtype);
            if rank > 0 {
                let bound = self.bound(id) * self.ty(id).size() as f64;
                let op = Op::Reduce(deltaray::algebra::Reduction::Sum, (0..rank).collect());
                sum = self.add(op, &[sum], bound);
            }
            total = Some(match total {
                None => sum,
                Some(before) => {
                    let bound = self.bound(before) + self.bound(sum);
                    self.add(Op::Binary(deltaray::operation::Binary::Add), &[before, sum], bound)
                }
            });
        }
        total.expect("at least one float")
    }
}
