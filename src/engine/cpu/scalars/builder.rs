//! Writes instructions: equal ones once, loops and conditionals with their carries in registers.

use super::assign::assigned;
use super::embedded::EmbeddedNest;
use super::instruction::{Indexed, ScalarCode, ScalarInstruction, ScalarOp};
use super::register::RegisterIndex;
use super::tidy::{join_pairs, remove_unread};
use crate::engine::cpu::vector::{self, Instructions, OperandForm, VectorKernel};
use crate::operation::{Binary, Comparison, Unary};
use crate::shape::{DType, Value};
use crate::term::hash::TermMap;

/// The most instructions that are written.
const INSTRUCTIONS: usize = 4096;
/// The most registers.
const REGISTERS: usize = 1 << 14;
/// The greatest exponent for which a power is written as products.
const PRODUCTS: u32 = 64;

/// Nanoseconds of an instruction, about, and of one that calls a kernel.
pub(super) const INSTRUCTION: f64 = 1.0;
pub(super) const KERNEL: f64 = 8.0;
/// The bytes that are copied in a nanosecond, about.
pub(super) const COPIED: f64 = 16.0;

/// The operation and operands of an instruction without effects.
type InstructionKey = (ScalarOp, [RegisterIndex; 3], i32);

/// A jump target in the instructions.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine::cpu) struct JumpLabel(i32);

/// The head of a loop whose steps are counted.
#[derive(Debug)]
pub(in crate::engine::cpu) struct LoopHead {
    count: RegisterIndex,
    first: JumpLabel,
}

/// Instructions under construction. Methods give `None` where a limit of the instructions would be exceeded.
pub(in crate::engine::cpu) struct Builder {
    isa: Instructions,
    code: ScalarCode,
    /// Registers that hold known bytes before the first instruction.
    constants: Vec<(RegisterIndex, u64)>,
    by_bits: TermMap<u64, RegisterIndex>,
    by_place: TermMap<Indexed, i32>,
    registers: usize,
    labels: i32,
    /// The values known where the next instruction is written, by scope.
    known: Vec<TermMap<InstructionKey, RegisterIndex>>,
    /// The register that holds the negative of a register.
    negated: TermMap<RegisterIndex, RegisterIndex>,
    /// The first instruction that always runs together with the next one to be written.
    block: usize,
    /// The approximate nanoseconds of the instructions written so far, for one step of the enclosing loops.
    pub(super) cost: f64,
}

impl Builder {
    pub(in crate::engine::cpu) fn new(isa: Instructions) -> Builder {
        Builder {
            isa,
            code: ScalarCode::default(),
            constants: Vec::new(),
            by_bits: TermMap::default(),
            by_place: TermMap::default(),
            registers: 0,
            labels: 0,
            known: vec![TermMap::default()],
            negated: TermMap::default(),
            block: 0,
            cost: 0.0,
        }
    }

    /// A new register.
    pub(in crate::engine::cpu) fn register(&mut self) -> Option<RegisterIndex> {
        let register = (self.registers < REGISTERS).then_some(self.registers as RegisterIndex)?;
        self.registers += 1;
        Some(register)
    }

    /// New registers, one after the other: the first.
    pub(super) fn registers(&mut self, count: usize) -> Option<RegisterIndex> {
        let first = (self.registers + count <= REGISTERS).then_some(self.registers as RegisterIndex)?;
        self.registers += count;
        Some(first)
    }

    /// A register with known bytes.
    pub(in crate::engine::cpu) fn bits(&mut self, bits: u64) -> Option<RegisterIndex> {
        if let Some(&register) = self.by_bits.get(&bits) {
            return Some(register);
        }
        let register = self.register()?;
        self.constants.push((register, bits));
        self.by_bits.insert(bits, register);
        Some(register)
    }

    /// A register with a known element.
    pub(in crate::engine::cpu) fn constant(&mut self, value: Value) -> Option<RegisterIndex> {
        self.bits(value.bits())
    }

    fn push(&mut self, op: ScalarOp, result: RegisterIndex, operands: [RegisterIndex; 3], number: i32) -> Option<()> {
        (self.code.instructions.len() < INSTRUCTIONS).then_some(())?;
        self.cost += match op {
            ScalarOp::Label | ScalarOp::End => 0.0,
            ScalarOp::Kernel => KERNEL,
            _ => INSTRUCTION,
        };
        self.code.instructions.push(ScalarInstruction { op, result, operands, number });
        if matches!(op, ScalarOp::Label | ScalarOp::Jump | ScalarOp::Unless | ScalarOp::Next) {
            self.block = self.code.instructions.len();
        }
        Some(())
    }

    /// The result of an instruction without effects, which is written if none before is the same.
    fn pure(&mut self, op: ScalarOp, operands: [RegisterIndex; 3], number: i32) -> Option<RegisterIndex> {
        let key = (op, operands, number);
        if let Some(&register) = self.known.iter().rev().find_map(|known| known.get(&key)) {
            return Some(register);
        }
        let result = self.register()?;
        self.push(op, result, operands, number)?;
        self.known.last_mut()?.insert(key, result);
        Some(result)
    }

    fn kernel(&mut self, run: VectorKernel, operands: [RegisterIndex; 3]) -> Option<RegisterIndex> {
        let same = |&other: &VectorKernel| std::ptr::fn_addr_eq(other, run);
        let at = self.code.kernels.iter().position(same).unwrap_or_else(|| {
            self.code.kernels.push(run);
            self.code.kernels.len() - 1
        });
        self.pure(ScalarOp::Kernel, operands, at as i32)
    }

    /// An operation of the table.
    pub(in crate::engine::cpu) fn unary(&mut self, op: Unary, dtype: DType, a: RegisterIndex) -> Option<RegisterIndex> {
        match (op, ScalarOp::unary(op, dtype)) {
            (Unary::StopGradient, _) => Some(a),
            // The inverse of a power that is too small for a number has its sign, which is lost for odd ones.
            (Unary::Powi(n), _) if n.unsigned_abs() <= PRODUCTS && (n >= -1 || n % 2 == 0) => self.power(n, dtype, a),
            (_, Some(own)) => {
                let result = self.pure(own, [a, 0, 0], 0)?;
                if op == Unary::Neg && dtype.is_float() {
                    self.negated.insert(result, a);
                }
                Some(result)
            }
            (_, None) => {
                let parameter = self.bits(op.parameter().unwrap_or(0) as u64)?;
                self.kernel(vector::unary(self.isa, op, dtype), [a, parameter, a])
            }
        }
    }

    /// A whole power, as the products that the kernel multiplies, in its order.
    fn power(&mut self, n: i32, dtype: DType, a: RegisterIndex) -> Option<RegisterIndex> {
        let (mut product, mut base, mut rest) = (None, a, n.unsigned_abs());
        loop {
            if rest % 2 == 1 {
                product = Some(match product {
                    None => base,
                    Some(product) => self.binary(Binary::Mul, dtype, product, base)?,
                });
            }
            rest /= 2;
            if rest == 0 {
                break;
            }
            base = self.binary(Binary::Mul, dtype, base, base)?;
        }
        let product = match product {
            Some(product) => product,
            None => self.constant(Value::from_i64(dtype, 1))?,
        };
        if n < 0 { self.unary(Unary::Recip, dtype, product) } else { Some(product) }
    }

    /// As [`Builder::unary`]. A sum with a negative is a difference, exactly.
    pub(in crate::engine::cpu) fn binary(
        &mut self,
        op: Binary,
        dtype: DType,
        a: RegisterIndex,
        b: RegisterIndex,
    ) -> Option<RegisterIndex> {
        if op == Binary::Add && dtype.is_float() {
            if let Some(&positive) = self.negated.get(&b) {
                return self.binary(Binary::Sub, dtype, a, positive);
            }
            if let Some(&positive) = self.negated.get(&a) {
                return self.binary(Binary::Sub, dtype, b, positive);
            }
        }
        match ScalarOp::binary(op, dtype) {
            Some(own) => self.pure(own, [a, b, 0], 0),
            None => self.kernel(vector::binary(self.isa, op, dtype, OperandForm::Run, OperandForm::Run), [a, b, b]),
        }
    }

    /// A comparison of elements of this type.
    pub(in crate::engine::cpu) fn compare(
        &mut self,
        op: Comparison,
        dtype: DType,
        a: RegisterIndex,
        b: RegisterIndex,
    ) -> Option<RegisterIndex> {
        match ScalarOp::compare(op, dtype) {
            Some(own) => self.pure(own, [a, b, 0], 0),
            None => self.kernel(vector::compare(self.isa, op, dtype, OperandForm::Run, OperandForm::Run), [a, b, b]),
        }
    }

    /// A choice.
    pub(in crate::engine::cpu) fn select(
        &mut self,
        mask: RegisterIndex,
        yes: RegisterIndex,
        no: RegisterIndex,
    ) -> Option<RegisterIndex> {
        if yes == no { Some(yes) } else { self.pure(ScalarOp::Select, [mask, yes, no], 0) }
    }

    /// A conversion.
    pub(in crate::engine::cpu) fn cast(&mut self, from: DType, to: DType, a: RegisterIndex) -> Option<RegisterIndex> {
        match ScalarOp::cast(from, to) {
            _ if from == to => Some(a),
            Some(own) => self.pure(own, [a, 0, 0], 0),
            None => self.kernel(vector::cast(self.isa, from, to), [a, a, a]),
        }
    }

    /// A product plus a term, as kernels of sums of products compute it.
    pub(in crate::engine::cpu) fn times_plus(
        &mut self,
        dtype: DType,
        a: RegisterIndex,
        b: RegisterIndex,
        term: RegisterIndex,
    ) -> Option<RegisterIndex> {
        match dtype {
            DType::F32 => self.pure(ScalarOp::TimesPlusF32, [a, b, term], 0),
            DType::F64 => self.pure(ScalarOp::TimesPlusF64, [a, b, term], 0),
            _ => {
                let product = self.binary(Binary::Mul, dtype, a, b)?;
                self.binary(Binary::Add, dtype, term, product)
            }
        }
    }

    /// The element at an offset in bytes from a pointer. `fixed` says that nothing is written there before this scope ends.
    pub(in crate::engine::cpu) fn load(
        &mut self,
        dtype: DType,
        pointer: RegisterIndex,
        offset: usize,
        fixed: bool,
    ) -> Option<RegisterIndex> {
        let op = match dtype.bytes() {
            1 => ScalarOp::Load1,
            4 => ScalarOp::Load4,
            _ => ScalarOp::Load8,
        };
        self.loaded(op, [pointer, 0, 0], i32::try_from(offset).ok()?, fixed)
    }

    /// The value that an instruction reads, which is known from then on if it is `fixed`.
    fn loaded(
        &mut self,
        op: ScalarOp,
        operands: [RegisterIndex; 3],
        number: i32,
        fixed: bool,
    ) -> Option<RegisterIndex> {
        if fixed {
            return self.pure(op, operands, number);
        }
        let result = self.register()?;
        self.push(op, result, operands, number)?;
        Some(result)
    }

    /// Writes an element at so many bytes from a pointer.
    pub(in crate::engine::cpu) fn store(
        &mut self,
        dtype: DType,
        pointer: RegisterIndex,
        offset: usize,
        value: RegisterIndex,
    ) -> Option<()> {
        let op = match dtype.bytes() {
            1 => ScalarOp::Store1,
            4 => ScalarOp::Store4,
            _ => ScalarOp::Store8,
        };
        self.push(op, 0, [pointer, value, 0], i32::try_from(offset).ok()?)
    }

    fn indexed(&mut self, place: Indexed) -> i32 {
        let next = self.code.indexed.len();
        *self.by_place.entry(place).or_insert_with(|| {
            self.code.indexed.push(place);
            next as i32
        })
    }

    /// The element at a computed position, where something may be written later; as [`Builder::load`] if it is `fixed`.
    pub(in crate::engine::cpu) fn load_at(
        &mut self,
        pointer: RegisterIndex,
        place: Indexed,
        index: RegisterIndex,
        fixed: bool,
    ) -> Option<RegisterIndex> {
        let number = self.indexed(place);
        self.loaded(ScalarOp::LoadAt, [pointer, index, 0], number, fixed)
    }

    /// Writes the element at a computed position.
    pub(in crate::engine::cpu) fn store_at(
        &mut self,
        pointer: RegisterIndex,
        place: Indexed,
        index: RegisterIndex,
        value: RegisterIndex,
    ) -> Option<()> {
        let number = self.indexed(place);
        self.push(ScalarOp::StoreAt, 0, [pointer, index, value], number)
    }

    /// Copies so many bytes to where a pointer points from where another one does, which is elsewhere.
    pub(super) fn copy(&mut self, to: RegisterIndex, from: RegisterIndex, bytes: usize) -> Option<()> {
        let count = self.bits(bytes as u64)?;
        self.cost += bytes as f64 / COPIED;
        self.push(ScalarOp::Copy, 0, [to, from, count], i32::try_from(bytes).unwrap_or(0))
    }

    /// Runs the nest of this number, whose kernels take about so many nanoseconds, with pointers to its buffers: the first of the
    /// registers in which it finds these.
    pub(super) fn nest(&mut self, number: usize, pointers: &[RegisterIndex], cost: f64) -> Option<RegisterIndex> {
        let first = self.registers(pointers.len().next_multiple_of(3))?;
        for (at, passed) in pointers.chunks(3).enumerate() {
            let of = |position: usize| passed.get(position).copied().unwrap_or(passed[0]);
            self.push(ScalarOp::Pass, 0, [of(0), of(1), of(2)], i32::from(first) + 3 * at as i32)?;
        }
        self.push(ScalarOp::Nest, 0, [0; 3], i32::try_from(number).ok()?)?;
        self.cost += cost;
        Some(first)
    }

    /// Adds a nest to the table.
    pub(super) fn embed(&mut self, nest: EmbeddedNest) {
        self.code.nests.push(nest);
    }

    /// A new register with the same bytes.
    pub(in crate::engine::cpu) fn copied(&mut self, from: RegisterIndex) -> Option<RegisterIndex> {
        let result = self.register()?;
        self.push(ScalarOp::Move, result, [from, 0, 0], 0)?;
        Some(result)
    }

    /// A pointer of its own that is so many bytes from another.
    pub(in crate::engine::cpu) fn pointer(&mut self, from: RegisterIndex, offset: usize) -> Option<RegisterIndex> {
        let result = self.register()?;
        self.push(ScalarOp::Point, result, [from, 0, 0], i32::try_from(offset).ok()?)?;
        Some(result)
    }

    /// Begins a scope that does not always run, or runs more than once.
    pub(in crate::engine::cpu) fn open(&mut self) {
        self.known.push(TermMap::default());
    }

    /// Ends the scope that [`Builder::open`] began: values computed there are unknown after it.
    pub(in crate::engine::cpu) fn close(&mut self) {
        self.known.pop();
    }

    fn new_label(&mut self) -> JumpLabel {
        self.labels += 1;
        JumpLabel(self.labels - 1)
    }

    fn place(&mut self, label: JumpLabel) -> Option<()> {
        self.push(ScalarOp::Label, 0, [0; 3], label.0)
    }

    /// A jump target here.
    pub(in crate::engine::cpu) fn label(&mut self) -> Option<JumpLabel> {
        let label = self.new_label();
        self.place(label)?;
        Some(label)
    }

    /// Begins the steps of a loop, as many as a register says: at least one.
    pub(in crate::engine::cpu) fn repeat(&mut self, count: RegisterIndex) -> Option<LoopHead> {
        self.open();
        Some(LoopHead { count, first: self.label()? })
    }

    /// A register with a count, of the steps of a loop.
    pub(in crate::engine::cpu) fn count(&mut self, steps: usize) -> Option<RegisterIndex> {
        let count = self.register()?;
        self.push(ScalarOp::Count, count, [0; 3], i32::try_from(steps).ok()?)?;
        Some(count)
    }

    /// Ends the steps of a loop: the first registers of pairs get the values of the second ones, and pointers move by so many
    /// bytes.
    pub(in crate::engine::cpu) fn next(
        &mut self,
        head: LoopHead,
        carried: &[(RegisterIndex, RegisterIndex)],
        moves: &[(RegisterIndex, isize)],
    ) -> Option<()> {
        self.assign(carried)?;
        self.close();
        let first = self.code.moves.len();
        self.code.moves.extend_from_slice(moves);
        let [first, count] = [first, moves.len()].map(RegisterIndex::try_from);
        self.push(ScalarOp::Next, head.count, [0, first.ok()?, count.ok()?], head.first.0)
    }

    /// Goes on at a place.
    pub(in crate::engine::cpu) fn jump(&mut self, to: JumpLabel) -> Option<()> {
        self.push(ScalarOp::Jump, 0, [0; 3], to.0)
    }

    /// Goes on at a place that is still to come, unless this holds.
    pub(in crate::engine::cpu) fn unless(&mut self, condition: RegisterIndex) -> Option<JumpLabel> {
        let label = self.new_label();
        self.push(ScalarOp::Unless, 0, [condition, 0, 0], label.0)?;
        Some(label)
    }

    /// Goes on at a place that is still to come.
    pub(in crate::engine::cpu) fn leave(&mut self) -> Option<JumpLabel> {
        let label = self.new_label();
        self.jump(label)?;
        Some(label)
    }

    /// Where a place that was still to come is.
    pub(in crate::engine::cpu) fn land(&mut self, label: JumpLabel) -> Option<()> {
        self.place(label)
    }

    /// Sets the first register of each pair to the value of the second, all at once.
    pub(in crate::engine::cpu) fn assign(&mut self, pairs: &[(RegisterIndex, RegisterIndex)]) -> Option<()> {
        let block = self.code.instructions.split_off(self.block);
        let block = assigned(block, pairs, || self.register())?;
        self.code.instructions.extend(block);
        Some(())
    }

    /// The instructions, the number of their registers, and the registers that hold known bytes.
    pub(in crate::engine::cpu) fn finish(mut self) -> Option<(ScalarCode, usize, Vec<(RegisterIndex, u64)>)> {
        self.push(ScalarOp::End, 0, [0; 3], 0)?;
        let Builder { mut code, registers, constants, .. } = self;
        remove_unread(&mut code.instructions, registers);
        join_pairs(&mut code.instructions, registers);
        let mut places = vec![0; self.labels as usize];
        let mut length = 0;
        for instruction in &code.instructions {
            match instruction.op {
                ScalarOp::Label => places[instruction.number as usize] = length,
                _ => length += 1,
            }
        }
        code.instructions.retain(|instruction| instruction.op != ScalarOp::Label);
        for instruction in &mut code.instructions {
            if matches!(instruction.op, ScalarOp::Jump | ScalarOp::Unless | ScalarOp::Next) {
                instruction.number = places[instruction.number as usize];
            }
        }
        Some((code, registers, constants))
    }
}
