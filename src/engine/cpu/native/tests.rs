//! Machine code against the kernels of the same instructions, on buffers between pages that nothing may touch.

use super::expand::Expanded;
use super::{CodeArena, OrderedNest};
use crate::affine::AffineMap;
use crate::array::{Array, neutral_value};
use crate::engine::cpu::assemble::assemble;
use crate::engine::cpu::code::{NestCode, Scratch};
use crate::engine::cpu::split::NestSplit;
use crate::engine::cpu::target::Target;
use crate::engine::cpu::vector::Instructions;
use crate::engine::cpu::{Cpu, Program};
use crate::kernel::{Affine, BufferSource, Guards, Nest, NestValue, Procedure, Step, Store, StoreMode, lower};
use crate::operation::{Binary, COMPARISON_ROWS, Comparison, Reduction, Unary};
use crate::shape::{DType, Type, Value, size};
use crate::term::{Body, Graph, NodeId, Op};
use smallvec::{SmallVec, smallvec};
use std::ffi::{c_int, c_void};

mod elements;
mod jammed;
mod positions;
mod prefetched;
mod products;
mod ranges;
mod reference;
mod reindexed;
mod shapes;
mod system;

unsafe extern "C" {
    fn mmap(at: *mut c_void, bytes: usize, access: c_int, kind: c_int, file: c_int, offset: i64) -> *mut c_void;
    fn mprotect(at: *mut c_void, bytes: usize, access: c_int) -> c_int;
    fn munmap(at: *mut c_void, bytes: usize) -> c_int;
}

const PAGE: usize = 4096;
const FLOATS: [DType; 2] = [DType::F32, DType::F64];

/// Where a buffer is in its memory.
#[derive(Clone, Copy, Debug)]
enum Side {
    /// Right in front of an inaccessible page.
    End,
    /// So many bytes behind one.
    Start(usize),
}

const SIDES: [Side; 2] = [Side::End, Side::Start(0)];

/// A buffer with an inaccessible page on either side of its memory.
struct Fenced {
    all: *mut u8,
    mapped: usize,
    at: *mut u8,
    bytes: usize,
}

impl Fenced {
    fn new(contents: &[u8], side: Side) -> Fenced {
        let bytes = contents.len();
        let inner = (bytes + 64).next_multiple_of(PAGE);
        let mapped = inner + 2 * PAGE;
        // SAFETY: new memory is asked for, and the contents fit between its outer pages.
        unsafe {
            let all = mmap(std::ptr::null_mut(), mapped, 0, 0x22, -1, 0).cast::<u8>();
            assert_ne!(all as isize, -1, "there is memory");
            let first = all.add(PAGE);
            assert_eq!(mprotect(first.cast(), inner, 3), 0, "memory may be written");
            let at = match side {
                Side::End => first.add(inner - bytes),
                Side::Start(by) => first.add(by),
            };
            at.copy_from_nonoverlapping(contents.as_ptr(), bytes);
            Fenced { all, mapped, at, bytes }
        }
    }

    fn contents(&self) -> Vec<u8> {
        // SAFETY: so many bytes were written there first.
        unsafe { std::slice::from_raw_parts(self.at, self.bytes) }.to_vec()
    }
}

impl Drop for Fenced {
    fn drop(&mut self) {
        // SAFETY: the memory was mapped with this length, and nobody else knows of it.
        unsafe { munmap(self.all.cast(), self.mapped) };
    }
}

/// How far written elements may be from those of the kernels. Sums may always differ by their rounding.
#[derive(Clone, Copy)]
enum Allowed {
    /// Equal bits.
    Nothing,
    /// Equal bits, or both are NaN: which operand's bits it has depends on the order of operands.
    AnyNan,
    /// Rounding of functions, except for the element at a position.
    Rounding(Option<usize>),
}

/// The instructions that there was no machine code of for some nest.
type Missing = Vec<Instructions>;

fn all_written(missing: Missing, of: impl std::fmt::Debug) {
    assert_eq!(missing, [], "{of:?}");
}

fn value(dtype: DType, bytes: &[u8]) -> Value {
    match dtype {
        DType::F32 => Value::F32(f32::from_le_bytes(bytes.try_into().unwrap())),
        DType::F64 => Value::F64(f64::from_le_bytes(bytes.try_into().unwrap())),
        DType::I32 => Value::I32(i32::from_le_bytes(bytes.try_into().unwrap())),
        DType::I64 => Value::I64(i64::from_le_bytes(bytes.try_into().unwrap())),
        DType::Bool => Value::Bool(bytes[0] != 0),
    }
}

fn bytes(dtype: DType, elements: impl IntoIterator<Item = Value>) -> Vec<u8> {
    elements.into_iter().flat_map(|element| element.bits().to_le_bytes()[..dtype.bytes()].to_vec()).collect()
}

/// The buffers after a run of all steps.
fn execute(code: &NestCode, buffers: &[Vec<u8>], side: Side) -> Vec<Vec<u8>> {
    let fenced: Vec<Fenced> = buffers.iter().map(|contents| Fenced::new(contents, side)).collect();
    let bases: Vec<*mut u8> = fenced.iter().map(|buffer| buffer.at).collect();
    let mut scratch = Scratch::default();
    scratch.reserve(code);
    // SAFETY: the buffers are those of the nest, and no other thread knows of them.
    unsafe { code.run(&bases, |_| unreachable!("it is not cut"), &mut scratch, 0..code.outer_extent()) };
    fenced.iter().map(Fenced::contents).collect()
}

/// The buffers after a run of all steps as the reference does them.
fn execute_reference(code: &NestCode, of: &Expanded, buffers: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let fenced: Vec<Fenced> = buffers.iter().map(|contents| Fenced::new(contents, Side::End)).collect();
    let (mut pointers, mut scratch) = (vec![std::ptr::null_mut(); code.slots.len()], Scratch::default());
    scratch.reserve(code);
    code.begin(&mut pointers, &mut scratch, |id| fenced[id as usize].at);
    // SAFETY: the buffers are those of the nest.
    unsafe { reference::run(of, &pointers[..of.bases.len()], 0, code.outer_extent()) };
    fenced.iter().map(Fenced::contents).collect()
}

fn is_allowed(allowed: Allowed, reach: f64, at: usize, found: Value, expected: Value) -> bool {
    let (a, b) = (found.to_f64(), expected.to_f64());
    let same = found.bits() == expected.bits();
    match allowed {
        Allowed::Nothing => same,
        Allowed::Rounding(position) if position != Some(at) => {
            let part = if found.dtype() == DType::F32 { 1e-5 } else { 1e-13 };
            same || (a.is_nan() && b.is_nan()) || (a - b).abs() <= part * (b.abs() + reach)
        }
        _ => same || (a.is_nan() && b.is_nan()),
    }
}

/// Fails where buffers differ; those that a nest does not write must not have changed.
fn compare(nest: &Nest, types: &[Type], found: &[Vec<u8>], expected: &[Vec<u8>], allowed: Allowed, told: &str) {
    for (id, (found, expected)) in found.iter().zip(expected).enumerate() {
        let dtype = types[id].dtype;
        let (allowed, reach) = match nest.stores.iter().find(|store| store.buffer as usize == id) {
            None => (Allowed::Nothing, 0.0),
            // Terms are at most 8.
            Some(store) if store.mode == StoreMode::Reduce(Reduction::Sum) && dtype.is_float() => {
                (Allowed::Rounding(None), 8.0 * size(&nest.extents) as f64)
            }
            Some(_) => (allowed, 0.0),
        };
        let width = dtype.bytes();
        for (at, (found, expected)) in found.chunks(width).zip(expected.chunks(width)).enumerate() {
            let (found, expected) = (value(dtype, found), value(dtype, expected));
            let is_allowed = is_allowed(allowed, reach, at, found, expected);
            assert!(is_allowed, "{told}: buffer {id}[{at}] is {found:?}, not {expected:?}, of {nest:?}");
        }
    }
}

/// Fails where buffers have other bits than those of the reference. Which NaN a result is depends on the order of operands.
fn compare_exactly(types: &[Type], found: &[Vec<u8>], reference: &[Vec<u8>], told: &str) {
    for (id, (found, reference)) in found.iter().zip(reference).enumerate() {
        let dtype = types[id].dtype;
        for (at, (found, expected)) in found.chunks(dtype.bytes()).zip(reference.chunks(dtype.bytes())).enumerate() {
            let (found, expected) = (value(dtype, found), value(dtype, expected));
            let same = is_allowed(Allowed::AnyNan, 0.0, at, found, expected);
            assert!(same, "{told}: buffer {id}[{at}] is {found:?}, not {expected:?} as the reference");
        }
    }
}

/// For machine code in an arena.
fn target(arena: &CodeArena) -> Target<'_> {
    Target::of(arena.isa(), Some(arena))
}

/// How a nest is cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cut {
    Never,
    /// Into any steps of the outermost loop, as long as nothing is combined.
    Anywhere,
    ByWork,
}

/// The machine code of a nest, ready to run, where there is one.
fn compiled(isa: Instructions, nest: &Nest, types: &[Type], cut: Cut) -> Option<NestCode> {
    Some(compiled_and_expanded(isa, nest, types, cut)?.0)
}

/// The same, and the vector code that it was written for.
fn compiled_and_expanded(isa: Instructions, nest: &Nest, types: &[Type], cut: Cut) -> Option<(NestCode, Expanded)> {
    let arena = CodeArena::new(isa).expect("there are instructions");
    let split = |code: &OrderedNest| match cut {
        Cut::Never => NestSplit::whole(),
        Cut::Anywhere => NestSplit { chunks: 2, ..NestSplit::whole() },
        Cut::ByWork => NestSplit::of(code.nest, &code.layout, types),
    };
    // Also where tiles do as well.
    let orders = OrderedNest::all(&arena, nest, &[], cut == Cut::ByWork)?;
    let written = |code: &OrderedNest| {
        let split = split(code);
        let expanded = code.expanded(&split, split.chunks == 1, &[])?;
        Some((code.written(&arena, split, &[])?, expanded))
    };
    let code = orders.iter().find_map(|code| code.jammed(written).or_else(|| written(code)))?;
    assert!(arena.seal(), "there is no memory for code");
    Some(code)
}

/// Runs a nest on each of some sets of buffers, which are as the kernels leave them afterwards.
fn check_nest(nest: &Nest, types: &[Type], sets: &mut [Vec<Vec<u8>>], sides: &[Side], allowed: Allowed) -> Missing {
    let mut missing = Missing::new();
    let mut after = Vec::new();
    for isa in Instructions::available().filter(|&isa| isa != Instructions::Portable) {
        let kernels = assemble(Target::of(isa, None), nest, types, false);
        assert!(kernels.machine_code.is_none());
        after = sets.iter().map(|buffers| execute(&kernels, buffers, Side::End)).collect();
        for cut in [Cut::Never, Cut::Anywhere] {
            let Some((code, expanded)) = compiled_and_expanded(isa, nest, types, cut) else {
                missing.push(isa);
                break;
            };
            for (buffers, expected) in sets.iter().zip(&after) {
                let reference = execute_reference(&code, &expanded, buffers);
                for &side in sides {
                    let found = execute(&code, buffers, side);
                    let told = format!("{isa:?}, {side:?}, {cut:?}");
                    compare(nest, types, &found, expected, allowed, &told);
                    compare_exactly(types, &found, &reference, &told);
                }
            }
        }
    }
    sets.iter_mut().zip(after).for_each(|(buffers, after)| *buffers = after);
    missing
}

/// What buffers contain before the first step: elements that nothing writes keep a strange number.
fn begun(procedure: &Procedure, arguments: &[Vec<Value>]) -> Vec<Vec<u8>> {
    let begun = procedure.buffers.iter().map(|buffer| match &buffer.source {
        BufferSource::Parameter(at) => bytes(buffer.ty.dtype, arguments[*at].iter().copied()),
        BufferSource::Constant(array) => bytes(buffer.ty.dtype, (0..array.size()).map(|at| array.element(at))),
        _ => vec![0xA5; buffer.ty.bytes().unwrap()],
    });
    begun.collect()
}

/// Sets what a nest combines with.
fn fill(nest: &Nest, types: &[Type], buffers: &mut [Vec<u8>]) {
    for store in &nest.stores {
        if let StoreMode::Reduce(op) = store.mode {
            let ty = &types[store.buffer as usize];
            buffers[store.buffer as usize] = bytes(ty.dtype, vec![neutral_value(op, ty.dtype); ty.size()]);
        }
    }
}

/// Runs the nests of a body for each of some sets of arguments; `None` where some step is no nest.
fn check_some(body: &Body, sets: &[Vec<Vec<Value>>], sides: &[Side], allowed: Allowed) -> Option<Missing> {
    let procedure = lower(body);
    let types: Vec<Type> = procedure.buffers.iter().map(|buffer| buffer.ty.clone()).collect();
    let mut sets: Vec<Vec<Vec<u8>>> = sets.iter().map(|arguments| begun(&procedure, arguments)).collect();
    let mut missing = Missing::new();
    for step in &procedure.steps {
        let Step::Nest(nest) = step else { return None };
        sets.iter_mut().for_each(|buffers| fill(nest, &types, buffers));
        missing.extend(check_nest(nest, &types, &mut sets, sides, allowed));
    }
    Some(missing)
}

fn check(body: &Body, arguments: Vec<Vec<Value>>, allowed: Allowed) -> Missing {
    check_some(body, &[arguments], &SIDES, allowed).expect("all steps are nests")
}

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Numbers between −2 and 2.
    fn plain(&mut self, ty: &Type) -> Vec<Value> {
        (0..ty.size()).map(|_| Value::from_f64(ty.dtype, self.below(4001) as f64 / 1000.0 - 2.0)).collect()
    }

    /// The same, with special ones among them.
    fn special(&mut self, ty: &Type) -> Vec<Value> {
        let mut all = self.plain(ty);
        for element in &mut all {
            if self.below(3) == 0 {
                let special = self.pick(&[0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-310, 1e-40, 1e300]);
                *element = Value::from_f64(ty.dtype, special);
            }
        }
        all
    }
}

fn body(types: &[Type], build: impl FnOnce(&mut Graph) -> Vec<NodeId>) -> Body {
    let mut graph: Graph = Graph::new(types, 0);
    let results = build(&mut graph);
    graph.finish(&results)
}

fn two(graph: &mut Graph, op: Binary, a: NodeId, b: NodeId) -> NodeId {
    graph.add(Op::Binary(op), &[a, b])
}

fn one(graph: &mut Graph, op: Unary, a: NodeId) -> NodeId {
    graph.add(Op::Unary(op), &[a])
}

fn sum(graph: &mut Graph, a: NodeId) -> NodeId {
    graph.add(Op::Reduce(Reduction::Sum, smallvec![0]), &[a])
}

/// A program of three arrays of one length.
type Build = fn(&mut Graph) -> Vec<NodeId>;

fn check_at_lengths(build: Build, dtypes: &[DType], special: bool, allowed: Allowed) {
    for &dtype in dtypes {
        for n in (0..66).chain(127..131) {
            let ty = Type::new(dtype, &[n]);
            let random = &mut Random(n as u64);
            let arguments = (0..3).map(|_| if special { random.special(&ty) } else { random.plain(&ty) }).collect();
            let missing = check(&body(&[ty.clone(), ty.clone(), ty], build), arguments, allowed);
            // There is nothing to write code for where there are no elements.
            assert!(missing.is_empty() || n == 0, "{dtype:?}, {n}: {missing:?}");
        }
    }
}

#[test]
fn arithmetic_of_all_lengths_has_the_bits_of_the_kernels() {
    let many: Build = |graph| {
        let product = two(graph, Binary::Mul, 1, 2);
        let all = [two(graph, Binary::Add, 0, product), two(graph, Binary::Div, 0, 1), two(graph, Binary::Max, 0, 1)];
        let more = [Unary::Powi(3), Unary::Powi(-2), Unary::Sqrt, Unary::Recip].map(|op| one(graph, op, 0));
        all.into_iter().chain(more).collect()
    };
    check_at_lengths(many, &FLOATS, true, Allowed::AnyNan);
    let few: Build = |graph| vec![two(graph, Binary::Sub, 0, 1), two(graph, Binary::Min, 1, 2)];
    check_at_lengths(few, &FLOATS, true, Allowed::AnyNan);
    let whole: Build = |graph| vec![two(graph, Binary::Add, 0, 1), two(graph, Binary::Sub, 1, 2), sum(graph, 0)];
    check_at_lengths(whole, &[DType::I32, DType::I64], false, Allowed::Nothing);
}

#[test]
fn choices_of_all_lengths_have_the_bits_of_the_kernels() {
    let choices: Build = |graph| {
        let answers: Vec<NodeId> = COMPARISON_ROWS.iter().map(|&row| graph.add(Op::Compare(row), &[0, 1])).collect();
        let [a, b] = [two(graph, Binary::And, answers[0], answers[5]), two(graph, Binary::Xor, answers[1], answers[2])];
        let c = two(graph, Binary::Or, a, b);
        let d = one(graph, Unary::Not, c);
        answers.into_iter().chain([c, d]).map(|answer| graph.add(Op::Select, &[answer, 0, 2])).collect()
    };
    check_at_lengths(choices, &FLOATS, true, Allowed::Nothing);
}

#[test]
fn reductions_of_all_lengths_are_those_of_the_kernels() {
    let sums: Build = |graph| {
        let (product, square) = (two(graph, Binary::Mul, 0, 1), one(graph, Unary::Powi(2), 2));
        let third = two(graph, Binary::Mul, product, 2);
        [0, product, square, third].map(|id| sum(graph, id)).to_vec()
    };
    let product: Build = |graph| {
        let product = two(graph, Binary::Mul, 0, 1);
        let mask = graph.add(Op::Compare(Comparison::Less), &[0, 2]);
        let chosen = graph.add(Op::Select, &[mask, product, 2]);
        vec![sum(graph, chosen)]
    };
    let extremes: Build = |graph| {
        let of = |graph: &mut Graph, op, id| graph.add(Op::Reduce(op, smallvec![0]), &[id]);
        vec![of(graph, Reduction::Max, 0), of(graph, Reduction::Min, 1), of(graph, Reduction::Max, 2)]
    };
    check_at_lengths(sums, &FLOATS, false, Allowed::AnyNan);
    check_at_lengths(product, &FLOATS, false, Allowed::AnyNan);
    check_at_lengths(extremes, &FLOATS, true, Allowed::AnyNan);
}

/// A NaN's bits, the sign among them, are those of the operand that is one.
#[test]
fn operations_that_choose_an_operand_keep_its_bits() {
    for (dtype, nans) in [
        (DType::F32, [0x7fc0_1234u64, 0xffc0_4321].map(|bits| Value::F32(f32::from_bits(bits as u32)))),
        (DType::F64, [0x7ff8_0000_0001_2345, 0xfff8_0000_0005_4321].map(|bits| Value::F64(f64::from_bits(bits)))),
    ] {
        let ty = Type::new(dtype, &[21]);
        let mut arguments = [Random(1).plain(&ty), Random(2).plain(&ty)];
        for at in 0..20 {
            arguments[at % 2][at] = nans[at / 2 % 2];
        }
        let both = body(&[ty.clone(), ty], |graph| {
            let mut all = [Binary::Max, Binary::Min].map(|op| two(graph, op, 0, 1)).to_vec();
            all.extend([Unary::Neg, Unary::Abs].map(|op| one(graph, op, 0)));
            all
        });
        all_written(check(&both, arguments.to_vec(), Allowed::Nothing), dtype);
    }
}

#[test]
fn functions_are_those_of_the_kernels() {
    let exponential: Build = |graph| vec![one(graph, Unary::Exp, 0)];
    check_at_lengths(exponential, &FLOATS, true, Allowed::Rounding(None));
    let all =
        [Unary::Expm1, Unary::Ln, Unary::Ln1p, Unary::Sin, Unary::Tan, Unary::Tanh, Unary::Sigmoid, Unary::Softplus];
    let more = [Unary::Atan, Unary::Asin, Unary::Acos, Unary::Erf, Unary::Cosh, Unary::Exp2, Unary::Log10];
    for (dtype, n) in FLOATS.into_iter().flat_map(|dtype| [1, 9, 23, 32].map(|n| (dtype, n))) {
        for op in all.into_iter().chain(more) {
            let ty = Type::new(dtype, &[n]);
            let arguments = vec![Random(n as u64).special(&ty)];
            let missing = check(&body(&[ty], |graph| vec![one(graph, op, 0)]), arguments, Allowed::Rounding(None));
            all_written(missing, (op, dtype, n));
        }
    }
}
