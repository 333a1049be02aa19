//! Guards, computed positions, booleans, casts and integers.

use super::*;
use crate::kernel::{BufferId, Guard, ValueId};

pub(super) const NUMBERS: [DType; 4] = [DType::F32, DType::F64, DType::I32, DType::I64];
const FAR: [i64; 6] = [i64::MIN, i64::MAX, i64::MIN + 1, -1, 1 << 32, -(1 << 32)];
pub(super) const AVX2: Instructions = Instructions::Avx2;

/// Lengths around those of all registers and steps.
pub(super) fn lengths() -> impl Iterator<Item = usize> + Clone {
    (0..36).chain(63..67)
}

pub(super) fn at(offset: i64, coefficients: &[i64]) -> Affine {
    Affine { offset, coefficients: SmallVec::from_slice(coefficients) }
}

pub(super) fn guard(position: Affine, extent: usize) -> Guard {
    Guard { position, extent: extent as i64 }
}

/// Whole numbers, of which sums have no rounding; of integers, those that wrap are among them.
pub(super) fn whole(ty: &Type, seed: usize) -> Vec<Value> {
    let random = &mut Random(seed as u64);
    let number = |_| match ty.dtype {
        DType::Bool => Value::Bool(random.below(2) == 1),
        DType::I32 if random.below(4) == 0 => Value::I32(random.pick(&[i32::MIN, i32::MAX, -1, 0, 0x1234_5678])),
        DType::I64 if random.below(4) == 0 => Value::I64(random.pick(&[i64::MIN, i64::MAX, -1, 0, 0x1234_5678_9ABC])),
        dtype => Value::from_f64(dtype, random.below(17) as f64 - 8.0),
    };
    (0..ty.size()).map(number).collect()
}

/// Positions of an axis, and some outside of it.
fn indices(count: usize, extent: usize, seed: usize) -> Vec<Value> {
    let random = &mut Random(seed as u64);
    let one = |_| match random.below(5) {
        0 => random.pick(&FAR),
        1 => random.pick(&[0, extent as i64 - 1, extent as i64, extent as i64 + 1]),
        _ => random.below(extent.max(1)) as i64,
    };
    (0..count).map(one).map(Value::I64).collect()
}

/// The buffers after runs of a few steps each, as chunks make them.
fn execute_parts(code: &NestCode, buffers: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let fenced: Vec<Fenced> = buffers.iter().map(|contents| Fenced::new(contents, Side::End)).collect();
    let bases: Vec<*mut u8> = fenced.iter().map(|buffer| buffer.at).collect();
    let (mut scratch, all) = (Scratch::default(), code.outer_extent());
    scratch.reserve(code);
    for part in [0..all / 5, all / 5..all / 2 + 1, all / 2 + 1..all] {
        let part = part.start.min(all)..part.end.min(all);
        // SAFETY: the buffers are those of the nest, and no other thread knows of them.
        unsafe { code.run(&bases, |_| unreachable!("it is not cut"), &mut scratch, part) };
    }
    fenced.iter().map(Fenced::contents).collect()
}

/// Where buffers differ first.
fn differing(types: &[Type], found: &[Vec<u8>], expected: &[Vec<u8>]) -> String {
    let id = (0..types.len()).find(|&id| found[id] != expected[id]).expect("they differ");
    let dtype = types[id].dtype;
    let elements = |buffer: &Vec<u8>| buffer.chunks(dtype.bytes()).map(|x| value(dtype, x)).collect::<Vec<_>>();
    let (found, expected) = (elements(&found[id]), elements(&expected[id]));
    let at = (0..found.len()).find(|&at| found[at].bits() != expected[at].bits()).unwrap_or(0);
    format!("buffer {id}[{at}] is {:?}, not {:?}", found[at], expected[at])
}

/// A nest by hand, and its buffers.
pub(super) struct Draft {
    pub(super) nest: Nest,
    pub(super) types: Vec<Type>,
    pub(super) buffers: Vec<Vec<u8>>,
}

impl Draft {
    pub(super) fn new(extents: &[usize]) -> Draft {
        let nest = Nest { extents: SmallVec::from_slice(extents), ..Nest::default() };
        Draft { nest, types: Vec::new(), buffers: Vec::new() }
    }

    pub(super) fn buffer(&mut self, ty: Type, elements: Vec<Value>) -> BufferId {
        self.buffers.push(bytes(ty.dtype, elements));
        self.types.push(ty);
        self.types.len() as BufferId - 1
    }

    /// A buffer of whole numbers.
    pub(super) fn input(&mut self, dtype: DType, length: usize) -> BufferId {
        let ty = Type::new(dtype, &[length]);
        let elements = whole(&ty, self.types.len() + length);
        self.buffer(ty, elements)
    }

    pub(super) fn add(&mut self, value: NestValue, dtype: DType) -> ValueId {
        self.nest.values.push((value, dtype));
        self.nest.values.len() as ValueId - 1
    }

    pub(super) fn load(&mut self, buffer: BufferId, at: Affine, guards: Guards) -> ValueId {
        let dtype = self.types[buffer as usize].dtype;
        self.add(NestValue::Load { buffer, at, guards }, dtype)
    }

    /// Positions of an axis of this extent, one for each step along an axis of the nest.
    pub(super) fn index(&mut self, along: &[i64], extent: usize) -> ValueId {
        let count = self.nest.extents.iter().zip(along).find(|&(_, &by)| by != 0).map_or(1, |(&count, _)| count);
        let elements = indices(count, extent, count + extent);
        let buffer = self.buffer(Type::new(DType::I64, &[count]), elements);
        self.load(buffer, at(0, along), Guards::new())
    }

    pub(super) fn store(&mut self, value: ValueId, length: usize, at: Affine, mode: StoreMode) -> &mut Store {
        let dtype = self.nest.values[value as usize].1;
        let start = match mode {
            StoreMode::Write => whole(&Type::new(dtype, &[]), 3)[0],
            StoreMode::Reduce(op) => neutral_value(op, dtype),
        };
        let buffer = self.buffer(Type::new(dtype, &[length]), vec![start; length]);
        self.nest.stores.push(Store { value, buffer, at, guards: Guards::new(), index: None, mode });
        self.nest.stores.last_mut().expect("it is there")
    }

    /// Writes a value to each position of the first loops.
    pub(super) fn write(&mut self, value: ValueId) {
        let strides: Vec<i64> = crate::shape::strides(&self.nest.extents).iter().map(|&by| by as i64).collect();
        self.store(value, size(&self.nest.extents.clone()), at(0, &strides), StoreMode::Write);
    }

    /// All buffers have the kernels' bits. The instructions that there is no machine code of.
    pub(super) fn check(&self) -> Missing {
        let (nest, types, mut missing) = (&self.nest, &self.types, Missing::new());
        // Without rounding, the kernels of all instructions agree.
        let mut expected = Vec::new();
        for isa in Instructions::available().filter(|&isa| isa != Instructions::Portable) {
            let [code, cut] = [Cut::Never, Cut::Anywhere].map(|cut| compiled(isa, nest, types, cut));
            let (Some(code), Some(cut)) = (code, cut) else {
                missing.push(isa);
                continue;
            };
            if expected.is_empty() {
                let kernels = assemble(Target::of(isa, None), nest, types, false);
                expected = execute(&kernels, &self.buffers, Side::End);
            }
            for side in SIDES {
                let found = execute(&code, &self.buffers, side);
                assert!(found == expected, "{isa:?}, {side:?}: {}, of {nest:?}", differing(types, &found, &expected));
            }
            let found = execute_parts(&cut, &self.buffers);
            assert!(found == expected, "{isa:?}, in parts: {}, of {nest:?}", differing(types, &found, &expected));
        }
        missing
    }

    /// There is machine code, but perhaps not of AVX2, where there are elements.
    pub(super) fn check_written(&self, with_avx2: bool) {
        let missing = self.check();
        let is_known = |&isa: &Instructions| isa == AVX2 && !with_avx2;
        assert!(self.nest.extents.contains(&0) || missing.iter().all(is_known), "{missing:?} of {:?}", self.nest);
    }
}

/// Windows beyond both ends, reversed and with gaps, and a place that only some lanes may read.
#[test]
fn guarded_reads_are_those_of_the_kernels() {
    for (dtype, n) in NUMBERS.into_iter().flat_map(|dtype| lengths().map(move |n| (dtype, n))) {
        for m in [n / 2 + 1, n + 1] {
            let windows = [(-3, 1), (0, 1), (5, 1), (m as i64 + 1, -1), (-4, 2), (1, 3)];
            for (offset, by) in windows {
                let draft = &mut Draft::new(&[n]);
                let input = draft.input(dtype, m);
                let place = at(offset, &[by]);
                let read = draft.load(input, place.clone(), vec![guard(place, m)]);
                draft.write(read);
                draft.check_written(true);
            }
        }
        let draft = &mut Draft::new(&[n]);
        let input = draft.input(dtype, n + 1);
        let reads = [-2, 3].map(|offset| draft.load(input, at(offset, &[1]), vec![guard(at(offset, &[1]), n)]));
        let one = draft.load(input, at(0, &[0]), vec![guard(at(-5, &[1]), 9)]);
        let guards = vec![guard(at(4, &[-1]), 3), guard(at(-1, &[2]), 7)];
        let guarded = draft.add(NestValue::Guarded(reads[0], guards), dtype);
        for value in [reads[0], reads[1], one, guarded] {
            draft.write(value);
        }
        draft.check_written(true);
        let draft = &mut Draft::new(&[n]);
        let input = draft.input(dtype, n);
        let value = draft.load(input, at(0, &[1]), Guards::new());
        let store = draft.store(value, 4, at(-2, &[1]), StoreMode::Reduce(Reduction::Sum));
        store.guards = vec![guard(at(-2, &[1]), 4)];
        // One step has no loop, and no place is kept in a register then.
        let missing = draft.check();
        assert!(missing.is_empty() || n < 2, "{missing:?} of {:?}", draft.nest);
    }
}

/// A place that only lanes behind the end would read is outside of the buffer, and is not touched.
#[test]
fn lanes_behind_the_end_read_nothing() {
    for (dtype, n) in NUMBERS.into_iter().flat_map(|dtype| lengths().skip(1).map(move |n| (dtype, n))) {
        let draft = &mut Draft::new(&[n]);
        let none = draft.input(dtype, 0);
        let nothing = draft.load(none, at(0, &[0]), vec![guard(at(-(n as i64), &[1]), 100)]);
        draft.write(nothing);
        for isa in Instructions::available().filter(|&isa| isa != Instructions::Portable) {
            let code = compiled(isa, &draft.nest, &draft.types, Cut::Never).expect("there is machine code");
            let written = execute(&code, &draft.buffers, Side::End).remove(1);
            assert!(written.iter().all(|&byte| byte == 0), "{isa:?}, {dtype:?}, {n}: {written:?}");
        }
    }
}

/// Padded matrices and sums of products of windows: guards move with one loop or two, and with the vector axis.
#[test]
fn windows_of_several_loops_are_those_of_the_kernels() {
    for (dtype, n) in NUMBERS.into_iter().flat_map(|dtype| lengths().map(move |n| (dtype, n))) {
        for m in [1, 5] {
            let draft = &mut Draft::new(&[m, n]);
            let (rows, columns) = (m + 1, n.saturating_sub(3).max(1));
            let input = draft.input(dtype, rows * columns);
            let (row, column) = (at(-1, &[1, 0]), at(-2, &[0, 1]));
            let place = row.plus(columns as i64 - 1, &row).and_then(|at| at.plus(1, &column)).expect("a place");
            let padded = draft.load(input, place, vec![guard(row, rows), guard(column, columns)]);
            draft.write(padded);
            draft.store(padded, m, at(0, &[1, 0]), StoreMode::Reduce(Reduction::Sum));
            draft.store(padded, n, at(0, &[0, 1]), StoreMode::Reduce(Reduction::Sum));
            // Where the rows are cut into registers, AVX2 has no stores apart under a mask.
            draft.check_written(n >= 16);
        }
        for taps in [3, 8] {
            let draft = &mut Draft::new(&[n, taps]);
            let [input, weights] = [n, taps].map(|length| draft.input(dtype, length));
            let place = at(-(taps as i64) / 2, &[1, 1]);
            let read = draft.load(input, place.clone(), vec![guard(place, n)]);
            let weight = draft.load(weights, at(0, &[0, 1]), Guards::new());
            let product = draft.add(NestValue::Binary(Binary::Mul, read, weight), dtype);
            draft.store(product, n, at(0, &[1, 0]), StoreMode::Reduce(Reduction::Sum));
            // With AVX2 there are no products of 64 bits.
            draft.check_written(dtype != DType::I64);
        }
        let draft = &mut Draft::new(&[3, n, 2, 3]);
        let (input, weights) = (draft.input(dtype, 3 * n), draft.input(dtype, 6));
        let (row, column) = (at(-1, &[1, 0, 1, 0]), at(-1, &[0, 1, 0, 1]));
        let place = at(-(n as i64) - 1, &[n as i64, 1, n as i64, 1]);
        let read = draft.load(input, place, vec![guard(row, 3), guard(column, n)]);
        let weight = draft.load(weights, at(0, &[0, 0, 3, 1]), Guards::new());
        let product = draft.add(NestValue::Binary(Binary::Add, read, weight), dtype);
        let sums = draft.store(product, 3 * n, at(0, &[n as i64, 1, 0, 0]), StoreMode::Reduce(Reduction::Sum));
        sums.guards = vec![guard(at(-1, &[0, 1, 0, 0]), n)];
        draft.check_written(n >= 16);
    }
}

/// The bytes of elements are those of positions, or there is no code of AVX2.
fn is_wide(dtype: DType) -> bool {
    dtype.bytes() == 8
}

#[test]
fn reads_at_computed_positions_are_those_of_the_kernels() {
    for (dtype, n) in NUMBERS.into_iter().flat_map(|dtype| lengths().map(move |n| (dtype, n))) {
        // One position for each lane: in steps of 1, 3, 8 and backwards, alone and moving with the lanes.
        for (extent, stride, along) in
            [(7, 1, 0), (40, 3, 0), (5, 8, 0), (9, -2, 0), (6, n as i64, 1), (4, 1, 4), (3, -1, 3)]
        {
            let draft = &mut Draft::new(&[n]);
            let first = if stride < 0 { (1 - extent) * stride } else { 0 };
            let input = draft.input(dtype, (first.max((extent - 1) * stride) + along * n as i64) as usize + 1);
            let index = draft.index(&[1], extent as usize);
            let read = NestValue::Gather { buffer: input, at: at(first, &[along]), stride, index, extent };
            let read = draft.add(read, dtype);
            draft.write(read);
            draft.check_written(is_wide(dtype));
        }
        // Rows, along which the position stays, and columns of several.
        for (rows, extent, by) in [(1, 4, 1), (6, 5, 1), (5, 3, -1), (4, 4, 2), (3, 3, 0)] {
            let draft = &mut Draft::new(&[rows, n]);
            let width = 2 * n as i64 + 1;
            let input = draft.input(dtype, extent * width as usize);
            let index = draft.index(&[1, 0], extent);
            let place = at(if by < 0 { n as i64 } else { 0 }, &[0, by]);
            let read = NestValue::Gather { buffer: input, at: place, stride: width, index, extent: extent as i64 };
            let read = draft.add(read, dtype);
            draft.write(read);
            draft.store(read, rows, at(0, &[1, 0]), StoreMode::Reduce(Reduction::Sum));
            draft.check_written(is_wide(dtype) && n >= 16);
        }
    }
}

#[test]
fn stores_at_computed_positions_are_those_of_the_kernels() {
    let modes = [StoreMode::Write, StoreMode::Reduce(Reduction::Sum)];
    for (dtype, n, mode) in
        FLOATS.into_iter().flat_map(|dtype| lengths().flat_map(move |n| modes.map(|mode| (dtype, n, mode))))
    {
        // Many of the same position, of which the last one is left or all are summed.
        for (extent, stride, along) in [(1, 1, 0), (3, 1, 0), (50, 3, 0), (6, n.max(1) as i64, 1), (4, -2, 0)] {
            let draft = &mut Draft::new(&[n]);
            let input = draft.input(dtype, n);
            let index = draft.index(&[1], extent as usize);
            let value = draft.load(input, at(0, &[1]), Guards::new());
            let first = if stride < 0 { (1 - extent) * stride } else { 0 };
            let length = (first.max((extent - 1) * stride) + along * n as i64) as usize + 1;
            let store = draft.store(value, length, at(first, &[along]), mode);
            store.index = Some((index, stride, extent));
            // One step has no loop, and sums at one computed place have no code.
            let missing = draft.check();
            let is_known = |&isa: &Instructions| n < 2 || (isa == AVX2 && !is_wide(dtype));
            assert!(missing.iter().all(is_known), "{missing:?} of {:?}", draft.nest);
        }
        // Rows of this width.
        for (rows, extent, by) in [(1, 4, 1), (9, 3, 1), (5, 3, -1), (4, 4, 2)] {
            let draft = &mut Draft::new(&[rows, n]);
            let input = draft.input(dtype, rows * n);
            let index = draft.index(&[1, 0], extent);
            let value = draft.load(input, at(0, &[n as i64, 1]), Guards::new());
            let value = draft.add(NestValue::Unary(Unary::Powi(2), value), dtype);
            let width = 2 * n as i64 + 1;
            let place = at(if by < 0 { n as i64 } else { 0 }, &[0, by]);
            let store = draft.store(value, extent * width as usize, place, mode);
            store.index = Some((index, width, extent as i64));
            // With AVX2 there are no stores apart under a mask.
            let missing = draft.check();
            let is_known = |&isa: &Instructions| n < 2 || (isa == AVX2 && !(is_wide(dtype) && by == 1));
            assert!(missing.iter().all(is_known), "{missing:?} of {:?}", draft.nest);
        }
    }
}

/// Sums of rows and of columns at once, of which those of columns are guarded by the vector axis.
#[test]
fn guarded_sums_inside_of_the_vector_loop_are_those_of_the_kernels() {
    for (dtype, n) in FLOATS.into_iter().flat_map(|dtype| (2..66).map(move |n| (dtype, n))) {
        let draft = &mut Draft::new(&[n, 20, 2]);
        let input = draft.input(dtype, 40 * n);
        let value = draft.load(input, at(0, &[1, n as i64, 20 * n as i64]), Guards::new());
        draft.store(value, n, at(0, &[1, 0, 0]), StoreMode::Reduce(Reduction::Sum));
        let sums = draft.store(value, 20, at(0, &[0, 1, 0]), StoreMode::Reduce(Reduction::Sum));
        sums.guards = vec![guard(at(-(n as i64) / 2, &[1, 0, 0]), n)];
        draft.check();
    }
}
