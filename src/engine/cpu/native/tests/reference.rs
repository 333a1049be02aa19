//! The meaning of vector code: each step for one lane after another, with `mul_add` for products that are added with one rounding.
//! Machine code has these bits, whatever registers and instructions it is given.

use crate::engine::cpu::native::expand::Expanded;
use crate::engine::cpu::native::program::{Address, Count, Form, Kind, Loop, Op, Position, Predicate, Step, Value};
use std::cmp::Ordering;

/// The lanes of registers at most.
const LANES: usize = 16;

struct Reference<'a> {
    of: &'a Expanded,
    values: Vec<[u64; LANES]>,
    pointers: Vec<*mut u8>,
    /// Whether the vector loop's position moves each pointer.
    is_indexed: Vec<bool>,
    /// The vector loop's position, and the steps of the other loops.
    position: i64,
    counters: Vec<i64>,
    first: i64,
    asked: i64,
    prefetched: Vec<Line>,
}

/// A line that is brought into the cache, by an address in it, and whether it will be written to.
pub(super) type Line = (*mut u8, bool);

/// Runs so many steps of the outermost loop from one on, and returns the lines that they bring into the cache.
///
/// # Safety
///
/// The pointers are those that the nest has at that step, to what it may read and write.
pub(super) unsafe fn run(of: &Expanded, pointers: &[*mut u8], first: usize, steps: usize) -> Vec<Line> {
    let mut reference = Reference {
        of,
        values: vec![[0; LANES]; of.kinds.len()],
        pointers: pointers.to_vec(),
        is_indexed: vec![false; pointers.len()],
        position: 0,
        counters: vec![0; of.moves.len()],
        first: first as i64,
        asked: steps as i64,
        prefetched: Vec::new(),
    };
    for step in &of.steps {
        if let Step::Load { address, .. } | Step::Store { address, .. } = step {
            reference.is_indexed[address.pointer as usize] |= address.indexed;
        }
    }
    for step in &of.steps {
        if let Step::Constant { result, bits, .. } = *step {
            reference.values[result as usize] = [bits; LANES];
        }
    }
    let mut at = 0;
    while let Some(step) = of.steps.get(at) {
        // SAFETY: as the caller's.
        at = unsafe { reference.step(step, at) };
    }
    reference.prefetched
}

fn single(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

/// A number times 2 to the power of a whole one, rounded once.
fn scaled(x: f64, by: f64) -> f64 {
    let by = by.floor();
    match by {
        _ if by.is_nan() || x.is_nan() => f64::NAN,
        _ if by.is_infinite() && by > 0.0 => x * f64::INFINITY,
        _ if by.is_infinite() => x * 0.0,
        _ => libm::scalbn(x, by.clamp(-5000.0, 5000.0) as i32),
    }
}

/// An operation on floats of one of both widths.
macro_rules! float_operation {
    ($T:ty, $U:ty, $op:expr, $operands:expr, $scaled:expr) => {{
        let [a, b, c] = $operands.map(|bits: u64| <$T>::from_bits(bits as $U));
        let result = match $op {
            Op::Add => a + b,
            Op::Sub => a - b,
            Op::Mul => a * b,
            Op::Div => a / b,
            Op::Min => {
                if a < b {
                    a
                } else {
                    b
                }
            }
            Op::Max => {
                if a > b {
                    a
                } else {
                    b
                }
            }
            Op::Scale => $scaled(a, b),
            Op::CopySign => a.copysign(b),
            Op::MultiplyAdd => a.mul_add(b, c),
            Op::Sqrt => a.sqrt(),
            Op::Floor => a.floor(),
            op => unreachable!("{op:?} of floats"),
        };
        u64::from(result.to_bits())
    }};
}

/// An operation on integers of one of both widths.
macro_rules! integer_operation {
    ($I:ty, $U:ty, $op:expr, $operands:expr) => {{
        let [a, b, _] = $operands.map(|bits: u64| bits as $U);
        let (x, y) = (a as $I, b as $I);
        u64::from(match $op {
            Op::Add => a.wrapping_add(b),
            Op::Sub => a.wrapping_sub(b),
            Op::Mul => a.wrapping_mul(b),
            Op::Min => x.min(y) as $U,
            Op::Max => x.max(y) as $U,
            Op::ShiftLeft(by) => a << by,
            Op::ShiftRight(by) => a >> by,
            op => unreachable!("{op:?} of integers"),
        })
    }};
}

/// A comparison of numbers of a type, floats or integers.
fn holds<T: PartialOrd>(predicate: Predicate, a: T, b: T) -> bool {
    match predicate {
        Predicate::Equal => a == b,
        Predicate::Less => a < b,
        Predicate::LessEqual => a <= b,
        Predicate::NotLessEqual => !matches!(a.partial_cmp(&b), Some(Ordering::Less | Ordering::Equal)),
        Predicate::Below => unreachable!("it has a meaning for integers alone"),
    }
}

fn compared(predicate: Predicate, kind: Kind, a: u64, b: u64) -> bool {
    match (kind, predicate) {
        (Kind::I32, Predicate::Below) => (a as u32) < b as u32,
        (_, Predicate::Below) => a < b,
        (Kind::F32, _) => holds(predicate, single(a), single(b)),
        (Kind::F64, _) => holds(predicate, f64::from_bits(a), f64::from_bits(b)),
        (Kind::I32, _) => holds(predicate, a as i32, b as i32),
        _ => holds(predicate, a as i64, b as i64),
    }
}

fn converted(from: Kind, to: Kind, bits: u64) -> u64 {
    match (from, to) {
        (Kind::F32, Kind::F64) => f64::from(single(bits)).to_bits(),
        (Kind::F64, Kind::F32) => u64::from((f64::from_bits(bits) as f32).to_bits()),
        (Kind::I64, Kind::F64) => (bits as i64 as f64).to_bits(),
        (Kind::I32, Kind::F64) => f64::from(bits as i32).to_bits(),
        (Kind::I32, Kind::F32) => u64::from((bits as i32 as f32).to_bits()),
        (Kind::I32, Kind::I64) => i64::from(bits as i32) as u64,
        conversion => unreachable!("{conversion:?}"),
    }
}

/// One lane of an operation's result.
fn computed(op: Op, kind: Kind, operands: [u64; 3]) -> u64 {
    let [a, b, c] = operands;
    match op {
        Op::And => a & b,
        Op::Or => a | b,
        Op::Xor => a ^ b,
        Op::Not => a ^ 1,
        Op::Select => {
            if a != 0 {
                b
            } else {
                c
            }
        }
        Op::Compare(predicate) => u64::from(compared(predicate, kind, a, b)),
        Op::HasBit(bit) => a >> bit & 1,
        Op::Convert(from) => converted(from, kind, a),
        _ => match kind {
            Kind::F64 => float_operation!(f64, u64, op, operands, scaled),
            Kind::F32 => float_operation!(f32, u32, op, operands, |x, by| scaled(f64::from(x), f64::from(by)) as f32),
            Kind::I64 => integer_operation!(i64, u64, op, operands),
            Kind::I32 => integer_operation!(i32, u32, op, operands),
            Kind::Mask => unreachable!("{op:?} of answers"),
        },
    }
}

impl Reference<'_> {
    fn lanes(&self) -> usize {
        self.of.lanes as usize
    }

    fn lane(&self, value: Value, lane: usize) -> u64 {
        self.values[value as usize][lane]
    }

    fn holds(&self, mask: Option<Value>, lane: usize) -> bool {
        mask.is_none_or(|mask| self.lane(mask, lane) != 0)
    }

    /// The place of a lane's element.
    fn place(&self, address: Address, form: Form, kind: Kind, lane: usize) -> *mut u8 {
        let bytes = kind.bytes() as i64;
        let along = if address.indexed { bytes * self.position } else { 0 };
        let row = address.row.map_or(0, |(row, stride)| self.lane(row, 0) as i64 * i64::from(stride));
        let lane = match form {
            Form::Run | Form::Streamed => lane as i64 * bytes,
            Form::One => 0,
            Form::Apart(stride) => lane as i64 * i64::from(stride),
            Form::At(distances) => self.lane(distances, lane) as i64,
        };
        self.pointers[address.pointer as usize]
            .wrapping_offset((i64::from(address.offset) + along + row + lane) as isize)
    }

    /// # Safety
    ///
    /// There is such an element.
    unsafe fn read(kind: Kind, at: *mut u8) -> u64 {
        // SAFETY: as the caller's.
        unsafe {
            match kind.bytes() {
                1 => u64::from(at.read() != 0),
                4 => u64::from(at.cast::<u32>().read_unaligned()),
                _ => at.cast::<u64>().read_unaligned(),
            }
        }
    }

    /// # Safety
    ///
    /// There is such an element.
    unsafe fn write(kind: Kind, at: *mut u8, bits: u64) {
        // SAFETY: as the caller's.
        unsafe {
            match kind.bytes() {
                1 => at.write(bits as u8),
                4 => at.cast::<u32>().write_unaligned(bits as u32),
                _ => at.cast::<u64>().write_unaligned(bits),
            }
        }
    }

    /// Takes a step, and gives the next one's position.
    unsafe fn step(&mut self, step: &Step, at: usize) -> usize {
        let lanes = self.lanes();
        match step {
            Step::Constant { .. } => {}
            &Step::Compute { result, op: Op::Upper(bytes), kind, operands: [a, ..] } => {
                let by = usize::from(bytes) / kind.bytes() as usize;
                let a = self.values[a as usize];
                // The rest is anything.
                self.values[result as usize] = std::array::from_fn(|lane| a.get(lane + by).copied().unwrap_or(!0));
            }
            &Step::Compute { result, op, kind, operands } => {
                let count = op.operands();
                self.values[result as usize] = std::array::from_fn(|lane| {
                    let of = |at: usize| if at < count { self.lane(operands[at], lane) } else { 0 };
                    computed(op, kind, [of(0), of(1), of(2)])
                });
            }
            &Step::Load { result, kind, form, address, mask } => {
                for lane in 0..lanes {
                    let bits = match self.holds(mask, lane) {
                        // SAFETY: as the caller's.
                        true => unsafe { Self::read(kind, self.place(address, form, kind, lane)) },
                        false => 0,
                    };
                    self.values[result as usize][lane] = bits;
                }
            }
            &Step::Store { value, kind, form, address, mask } => {
                let count = if form == Form::One { 1 } else { lanes };
                let is_any = (0..lanes).any(|lane| self.holds(mask, lane));
                for lane in 0..count {
                    if if form == Form::One { is_any } else { self.holds(mask, lane) } {
                        let place = self.place(address, form, kind, lane);
                        // SAFETY: as the caller's.
                        unsafe { Self::write(kind, place, self.lane(value, lane)) };
                    }
                }
            }
            Step::Position { result, kind, at } => {
                for lane in 0..lanes {
                    let position = self.affine(at).wrapping_add(at.along.wrapping_mul(lane as i64));
                    self.values[*result as usize][lane] =
                        if kind.bytes() == 4 { u64::from(position as u32) } else { position as u64 };
                }
            }
            &Step::Scatter { value, kind, address, distances, mask, adds } => {
                for lane in (0..lanes).filter(|&lane| self.lane(mask, lane) != 0) {
                    let place = self.place(address, Form::At(distances), kind, lane);
                    let new = self.lane(value, lane);
                    // SAFETY: as the caller's.
                    unsafe {
                        let sum = if adds { computed(Op::Add, kind, [new, Self::read(kind, place), 0]) } else { new };
                        Self::write(kind, place, sum);
                    }
                }
            }
            &Step::Correct { result, kind, value, operands, mask, correction } => {
                self.values[result as usize] = self.values[value as usize];
                if (0..lanes).any(|lane| self.lane(mask, lane) != 0) {
                    let bytes = kind.bytes() as usize;
                    let packed = |value: Value| -> Vec<u8> {
                        (0..lanes).flat_map(|lane| self.lane(value, lane).to_le_bytes()[..bytes].to_vec()).collect()
                    };
                    let mut results = packed(value);
                    let [a, b] = operands.map(packed);
                    // SAFETY: there are so many elements of each.
                    unsafe { correction(results.as_mut_ptr(), a.as_ptr(), b.as_ptr(), lanes) };
                    for (lane, element) in results.chunks(bytes).enumerate() {
                        let mut bits = [0; 8];
                        bits[..bytes].copy_from_slice(element);
                        self.values[result as usize][lane] = u64::from_le_bytes(bits);
                    }
                }
            }
            &Step::Assign { variable, value } => self.values[variable as usize] = self.values[value as usize],
            &Step::Rest { result, count } => {
                let left = count.map_or(self.asked - self.position, i64::from);
                self.values[result as usize] = std::array::from_fn(|lane| u64::from((lane as i64) < left));
            }
            Step::Start => self.position = 0,
            &Step::Begin(of) => {
                if !self.begins(of) {
                    return 1 + self.end_of(at, of);
                }
            }
            &Step::End(of) => {
                if self.goes_on(of) {
                    return 1 + self.begin_of(at, of);
                }
            }
            &Step::Prefetch { address, lines, writes } => {
                let first = self.place(address, Form::One, Kind::I64, 0);
                self.prefetched.extend((0..lines as usize).map(|line| (first.wrapping_add(64 * line), writes)));
            }
            &Step::Advance { axis, count } => {
                for &(pointer, stride) in &self.of.moves[axis as usize] {
                    if axis != self.of.vector || !self.is_indexed[usize::from(pointer)] {
                        let pointer = &mut self.pointers[usize::from(pointer)];
                        *pointer = pointer.wrapping_offset(stride * count as isize);
                    }
                }
            }
        }
        at + 1
    }

    fn affine(&self, at: &Position) -> i64 {
        let along = (at.along != 0).then_some((self.of.vector, at.along));
        at.terms.iter().copied().chain(along).fold(at.offset, |sum, (axis, coefficient)| {
            let step = if axis == self.of.vector { self.position } else { self.counters[axis as usize] };
            let first = if axis == 0 && !self.of.whole { self.first } else { 0 };
            sum.wrapping_add(coefficient.wrapping_mul(step + first))
        })
    }

    /// Whether a loop has a first step.
    fn begins(&mut self, of: Loop) -> bool {
        match of.count {
            Count::Known(_) | Count::Asked => {
                self.counters[of.number as usize] = 0;
                true
            }
            Count::Elements { .. } => true,
            Count::ElementsAsked { step } => self.position + i64::from(step) <= self.asked,
            Count::RestAsked => self.position < self.asked,
        }
    }

    /// Whether another step follows.
    fn goes_on(&mut self, of: Loop) -> bool {
        let counter = &mut self.counters[of.number as usize];
        match of.count {
            Count::Known(count) => {
                *counter += 1;
                *counter < i64::from(count)
            }
            Count::Asked => {
                *counter += 1;
                *counter < self.asked
            }
            Count::Elements { step, end } => {
                self.position += i64::from(step);
                self.position < i64::from(end)
            }
            Count::ElementsAsked { step } => {
                self.position += i64::from(step);
                self.position + i64::from(step) <= self.asked
            }
            Count::RestAsked => false,
        }
    }

    fn end_of(&self, begin: usize, of: Loop) -> usize {
        let is_end = |step: &Step| matches!(step, Step::End(other) if *other == of);
        begin + self.of.steps[begin..].iter().position(is_end).expect("a loop ends")
    }

    fn begin_of(&self, end: usize, of: Loop) -> usize {
        let is_begin = |step: &Step| matches!(step, Step::Begin(other) if *other == of);
        self.of.steps[..end].iter().rposition(is_begin).expect("a loop begins")
    }
}
