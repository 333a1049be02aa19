//! The values of the nodes of a stage at a point, in short form: nodes of different stages are matched by them.

use crate::affine::AffineMap;
use crate::algebra::Algebra;
use crate::array::Array;
use crate::concrete::Concrete;
use crate::shape::{DType, Shape, Type, Value, size};
use crate::term::interpret::apply_source;
use crate::term::print::ListingLine;
use crate::term::reference::{run_sweeps, stack};
use crate::term::{Body, Build, NodeId, Op, Scan, Steps};
use std::collections::HashMap;

/// A program that computes more elements than this, or takes more operations on floats, is not run.
const WORK: u128 = 1 << 22;

/// Numbers that follow from a seed; they are the same on every run.
struct SeededNumbers(u64);

impl SeededNumbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mixed(self.0)
    }

    /// Between 0 and 1.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// All bits of a number, each in all bits of the result.
fn mixed(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// A point that has nothing special about it: positive floats near 1, small integers that are no positions out of bounds of
/// most arrays. None where it would be too large.
pub(super) fn point(body: &Body<Build>) -> Option<Vec<Array>> {
    let types: Vec<&Type> = (0..body.arity()).map(|at| body.parameter_type(at)).collect();
    let elements = types.iter().fold(0u128, |sum, ty| sum + ty.size() as u128);
    if elements > WORK {
        return None;
    }
    let mut random = SeededNumbers(7);
    Some(types.into_iter().map(|ty| array(ty, &mut random)).collect())
}

fn array(ty: &Type, random: &mut SeededNumbers) -> Array {
    let count = ty.size();
    let shape = &ty.shape;
    match ty.dtype {
        DType::F32 => Array::from_vec(shape, (0..count).map(|_| (0.3 + 1.1 * random.unit()) as f32).collect()),
        DType::F64 => Array::from_vec(shape, (0..count).map(|_| 0.3 + 1.1 * random.unit()).collect()),
        DType::I32 => Array::from_vec(shape, (0..count).map(|_| (random.next() % 3) as i32).collect()),
        DType::I64 => Array::from_vec(shape, (0..count).map(|_| (random.next() % 3) as i64).collect()),
        DType::Bool => Array::from_vec(shape, (0..count).map(|_| random.next().is_multiple_of(2)).collect()),
    }
}

/// The digest of a node's elements: two sums, weighted by position.
#[derive(Clone, Debug)]
pub(super) struct Fingerprint {
    pub(super) ty: Type,
    sums: [f64; 2],
    /// The sum of the weighted magnitudes.
    magnitude: f64,
    /// The least and the greatest number.
    range: (f64, f64),
}

impl Fingerprint {
    fn new(ty: Type) -> Fingerprint {
        Fingerprint { ty, sums: [0.0; 2], magnitude: 0.0, range: (f64::INFINITY, f64::NEG_INFINITY) }
    }

    fn add(&mut self, position: u64, value: Value) {
        let number = match value {
            Value::Bool(x) => f64::from(u8::from(x)),
            Value::I32(x) => f64::from(x),
            Value::I64(x) => x as f64,
            value => value.to_f64(),
        };
        // NaN and infinities count by position.
        let number = match number.is_finite() {
            true => number,
            false if number.is_nan() => 3.0e9,
            false => number.signum() * 5.0e9,
        };
        self.range = (self.range.0.min(number), self.range.1.max(number));
        let weights = mixed(position.wrapping_add(1));
        let weight = |bits: u64| 0.5 + (bits & 0xFFFF) as f64 / 65536.0;
        let [first, second] = [weight(weights) * number, weight(weights >> 32) * number];
        self.sums[0] += first;
        self.sums[1] += second;
        self.magnitude += first.abs().max(second.abs());
    }

    /// The sort key of fingerprints of one type.
    pub(super) fn key(&self) -> f64 {
        self.sums[0]
    }

    /// How far apart the sums of equal values may be.
    pub(super) fn tolerance(&self) -> f64 {
        let relative = if self.ty.dtype == DType::F32 { 2e-5 } else { 1e-10 };
        relative * self.magnitude
    }

    /// Whether the values may be equal up to rounding.
    pub(super) fn is_close(&self, other: &Fingerprint) -> bool {
        let tolerance = self.tolerance().max(other.tolerance());
        let close = |at: usize| (self.sums[at] - other.sums[at]).abs() <= tolerance;
        self.ty == other.ty && close(0) && close(1)
    }

    /// Whether other nodes are likely to have the same values by chance: they are no floats, or all of them are one small
    /// number without a fraction.
    pub(super) fn is_common(&self) -> bool {
        let (low, high) = self.range;
        !self.ty.dtype.is_float()
            || (low.fract() == 0.0 && high.fract() == 0.0 && high - low <= 1.0)
            || self.ty.size() == 0
    }
}

/// The elements and operations of so many runs of a body. The recursion is as deep as bodies are nested.
fn work(body: &Body<Build>, times: u128) -> u128 {
    let mut total: u128 = 0;
    for node in &body.nodes {
        let elements = node.types.iter().fold(0u128, |sum, ty| sum.saturating_add(ty.size() as u128));
        total = total.saturating_add(times.saturating_mul(elements.saturating_add(1)));
        let inner = match &node.op {
            Op::Extra(build) => work(&build.body, times.saturating_mul(size(&build.extents) as u128)),
            Op::Scan(scan) => work(&scan.body, times.saturating_mul(scan.length as u128)),
            Op::Sweeps(sweeps) => match sweeps.steps {
                Steps::Count(count) => {
                    let all = times.saturating_mul(count as u128);
                    sweeps.bodies().fold(0, |sum: u128, body| sum.saturating_add(work(body, all)))
                }
                Steps::While(_) => 0,
            },
            op => op.bodies().into_iter().fold(0, |sum: u128, body| sum.saturating_add(work(body, times))),
        };
        total = total.saturating_add(inner);
    }
    total
}

/// Whether something in an operation may run for ever.
fn may_not_end(op: &Op<Build>) -> bool {
    let inside = |body: &Body<Build>| body.nodes.iter().any(|node| may_not_end(&node.op));
    match op {
        Op::Sweeps(sweeps) if matches!(sweeps.steps, Steps::While(_)) => true,
        Op::Extra(build) => inside(&build.body),
        op => op.bodies().into_iter().any(|body| inside(body)),
    }
}

/// Something that a body is run for each of: an index of a `build`, or the steps of a loop.
#[derive(Clone, Copy)]
struct Repetition {
    extent: usize,
    at: usize,
}

/// The frames that a value differs in, a bit for each.
type Varying = u64;

/// The values of the nodes of a program at a point, by line. Nodes in the bodies of `build`s and loops have a value for all
/// elements and steps that they depend on, with an axis for each, as vectorising makes it. `None` where that would take too
/// long.
pub(super) fn observe(body: &Body<Build>, lines: &[ListingLine], inputs: &[Array]) -> Option<Vec<Option<Fingerprint>>> {
    if work(body, 1).saturating_add(body.cost().float_operations) > WORK {
        return None;
    }
    let place = |(at, line): (usize, &ListingLine)| {
        let (body, node) = line.node?;
        let body: *const Body<Build> = body;
        Some(((line.owner, body, node), at))
    };
    let lines_of: HashMap<NodeKey, usize> = lines.iter().enumerate().filter_map(place).collect();
    let mut observer = Observer { lines: lines_of, found: vec![None; lines.len()], frames: Vec::new() };
    observer.body(None, body, inputs.to_vec(), &vec![0; inputs.len()]);
    Some(observer.found)
}

/// The line of the operation around a body, the body, and a node of it.
type NodeKey = (Option<usize>, *const Body<Build>, NodeId);

struct Observer {
    lines: HashMap<NodeKey, usize>,
    found: Vec<Option<Fingerprint>>,
    frames: Vec<Repetition>,
}

impl Observer {
    /// Runs a body, and gives its results. The recursion is as deep as bodies are nested.
    fn body(
        &mut self,
        owner: Option<usize>,
        body: &Body<Build>,
        arguments: Vec<Array>,
        varying: &[Varying],
    ) -> Vec<Array> {
        let mut values: Vec<Vec<Array>> = arguments.into_iter().map(|argument| vec![argument]).collect();
        let mut varying: Vec<Varying> = varying.to_vec();
        for (at, node) in body.nodes.iter().enumerate() {
            let line = self.lines.get(&(owner, &raw const *body, at as NodeId)).copied();
            if at >= body.arity() {
                let own = node.args.iter().fold(0, |all, &arg| all | varying[arg as usize]);
                let args = || node.args.iter().map(|&arg| values[arg as usize][0].clone());
                let value = match &node.op {
                    Op::Output(position) => vec![values[node.args[0] as usize][*position].clone()],
                    op if may_not_end(op) => {
                        let first: Vec<Array> = args().collect();
                        invented(&first, &node.types)
                    }
                    Op::Extra(build) => vec![self.build(line, build, args().collect(), &inner(&varying, &node.args))],
                    Op::Scan(scan) => self.scan(line, scan, args().collect(), &inner(&varying, &node.args)),
                    Op::Branch(branch) => {
                        let chosen = values[node.args[0] as usize][0].element(0) == Value::Bool(true);
                        let side = if chosen { &branch.then } else { &branch.otherwise };
                        self.body(line, side, args().skip(1).collect(), &inner(&varying, &node.args)[1..])
                    }
                    Op::Custom(custom) => {
                        self.body(line, &custom.value, args().collect(), &inner(&varying, &node.args))
                    }
                    Op::Sweeps(sweeps) => run_sweeps::<Concrete>(sweeps, args().collect()),
                    op => vec![apply_source::<Concrete>(op, args().collect())],
                };
                values.push(value);
                varying.push(own);
            }
            if let (Some(line), [value]) = (line, &values[at][..])
                && !node.op.is_multiple()
            {
                self.record(line, value, varying[at]);
            }
        }
        body.results.iter().map(|&result| values[result as usize][0].clone()).collect()
    }

    /// Notes a value, if it is one of its kind: of the frames that it does not depend on, the first of each is enough.
    fn record(&mut self, line: usize, value: &Array, varying: Varying) {
        let mut position = 0u64;
        let mut shape = Shape::new();
        for (number, frame) in self.frames.iter().enumerate() {
            if varying & bit(number) != 0 {
                position = position.wrapping_mul(frame.extent as u64).wrapping_add(frame.at as u64);
                shape.push(frame.extent);
            } else if frame.at != 0 {
                return;
            }
        }
        shape.extend_from_slice(value.shape());
        let count = value.size() as u64;
        let fingerprint =
            self.found[line].get_or_insert_with(|| Fingerprint::new(Type { dtype: value.dtype(), shape }));
        for element in 0..value.size() {
            let at = position.wrapping_mul(count).wrapping_add(element as u64);
            fingerprint.add(at, value.element(element));
        }
    }

    fn build(&mut self, line: Option<usize>, build: &Build, captures: Vec<Array>, varying: &[Varying]) -> Array {
        let outer = self.frames.len();
        let axes = build.extents.len();
        self.frames.extend(build.extents.iter().map(|&extent| Repetition { extent, at: 0 }));
        let mut inner: Vec<Varying> = (0..axes).map(|axis| bit(outer + axis)).collect();
        inner.extend_from_slice(varying);
        let element = build.body.result_types().next().expect("a build's body has one result");
        let mut elements = Vec::new();
        for number in 0..size(&build.extents) {
            let mut rest = number;
            for axis in (0..axes).rev() {
                self.frames[outer + axis].at = rest % build.extents[axis];
                rest /= build.extents[axis];
            }
            let index = |frame: &Repetition| Array::full(&[], Value::I64(frame.at as i64));
            let mut arguments: Vec<Array> = self.frames[outer..].iter().map(index).collect();
            arguments.extend_from_slice(&captures);
            elements.push(self.body(line, &build.body, arguments, &inner).swap_remove(0));
        }
        self.frames.truncate(outer);
        let shape: Shape = build.extents.iter().chain(&element.shape).copied().collect();
        Concrete::reshape(stack::<Concrete>(elements, element), &shape)
    }

    fn scan(
        &mut self,
        line: Option<usize>,
        scan: &Scan<Build>,
        operands: Vec<Array>,
        varying: &[Varying],
    ) -> Vec<Array> {
        let frame = self.frames.len();
        self.frames.push(Repetition { extent: scan.length, at: 0 });
        let own = scan.carries + scan.inputs;
        let all = varying.iter().fold(bit(frame), |all, other| all | other);
        let inner: Vec<Varying> = (0..varying.len()).map(|at| if at < own { all } else { varying[at] }).collect();
        let mut carries = operands[..scan.carries].to_vec();
        let types: Vec<Type> = scan.body.result_types().skip(scan.carries).cloned().collect();
        let mut outputs: Vec<Vec<Array>> = vec![Vec::new(); types.len()];
        for step in 0..scan.length {
            let at = if scan.reverse { scan.length - 1 - step } else { step };
            self.frames[frame].at = at;
            let mut arguments = std::mem::take(&mut carries);
            for input in &operands[scan.carries..own] {
                arguments.push(Concrete::view(input.clone(), &AffineMap::pick(input.shape(), 0, at as i64)));
            }
            arguments.extend_from_slice(&operands[own..]);
            carries = self.body(line, &scan.body, arguments, &inner);
            for (stacked, slice) in outputs.iter_mut().zip(carries.drain(scan.carries..)) {
                stacked.push(slice);
            }
        }
        self.frames.truncate(frame);
        for (mut slices, ty) in outputs.into_iter().zip(&types) {
            if scan.reverse {
                slices.reverse();
            }
            carries.push(stack::<Concrete>(slices, ty));
        }
        carries
    }
}

/// The bit of a frame; those that are too many to be told apart share one.
fn bit(frame: usize) -> Varying {
    1 << frame.min(63)
}

/// The frames that operands differ in.
fn inner(varying: &[Varying], args: &[NodeId]) -> Vec<Varying> {
    args.iter().map(|&arg| varying[arg as usize]).collect()
}

/// Stands in for the results of a loop that may not end: they follow from the loop's operands, and are the same however the
/// loop is built.
fn invented(operands: &[Array], types: &[Type]) -> Vec<Array> {
    let mut seed = 11u64;
    for operand in operands {
        let mut fingerprint = Fingerprint::new(operand.ty());
        (0..operand.size()).for_each(|at| fingerprint.add(at as u64, operand.element(at)));
        // Operands in another order are the same.
        seed = seed.wrapping_add(mixed((fingerprint.sums[0] as f32).to_bits().into()));
    }
    let mut random = SeededNumbers(seed);
    types.iter().map(|ty| array(ty, &mut random)).collect()
}
