//! Loops whose step is a few operations on numbers, or on short rows of them, in blocks of steps.
//!
//! Values that do not depend on a carry are computed for a block at once, by the same kernels as in nests. Values on which
//! carries depend are computed number by number, by [instructions](super::scalars); values that only outputs need are again
//! computed for the block at once. A recurrence of one or two simple operations has a compiled loop of its own, bound by the
//! latency of those operations. This loop serves rows too, whose places are independent.

mod chain;

use self::chain::{ChainKernel, chain};
use super::scalars::{Builder, RegisterIndex, Scalars};
use super::target::Target;
use super::vector::{self, OperandForm, VectorKernel};
use crate::kernel::Loop;
use crate::operation::Binary;
use crate::shape::DType;
use crate::term::hash::TermMap;
use crate::term::recurrence::{Elementwise, Recurrence, StepOperand};
use smallvec::SmallVec;

/// Numbers of a block, over all places.
const BLOCK: usize = 512;
/// The most places of a row. Kernels of longer rows have wider vectors, and selecting them is cheap relative to their elements.
const PLACES: usize = 64;

/// Where an operand is found: at the beginning of a block, and whether it has an element for each step.
#[derive(Clone, Copy, Debug)]
enum OperandSource {
    /// The register of this number.
    Register(usize),
    /// An input, by its position among the arguments.
    Input(usize),
    /// An argument that is the same in all steps.
    Capture(usize),
    /// A known number.
    Constant(usize),
}

impl OperandSource {
    fn form(self) -> OperandForm {
        match self {
            OperandSource::Register(_) | OperandSource::Input(_) => OperandForm::Run,
            OperandSource::Capture(_) | OperandSource::Constant(_) => OperandForm::One,
        }
    }
}

#[derive(Clone, Debug)]
struct RecurrenceStep {
    run: VectorKernel,
    result: usize,
    operands: SmallVec<[(OperandSource, usize); 3]>,
}

/// The part that carries depend on.
#[derive(Debug)]
enum Sequential {
    /// One or two operations on the one carry, each with another operand; the registers of their results.
    Chain { run: ChainKernel, others: [OperandSource; 2], results: [usize; 2] },
    /// Instructions, and the contents of some of their registers when a block begins.
    Scalars(Scalars, Vec<(RegisterIndex, Begin)>),
}

/// The content of a register of the sequential part when a block begins.
#[derive(Clone, Copy, Debug)]
enum Begin {
    /// The number of its steps.
    Count,
    /// A pointer to a carry.
    State(usize),
    /// A pointer to the element of the first step, of so many bytes, or to the one element.
    Element(OperandSource, usize),
}

/// A recurrence, compiled.
#[derive(Debug)]
pub(super) struct CompiledRecurrence {
    pub(super) arguments: Vec<u32>,
    pub(super) results: Vec<u32>,
    length: usize,
    reverse: bool,
    /// Numbers of each value in a step.
    places: usize,
    /// Bytes of the elements of carries, and of all arguments.
    widths: Vec<usize>,
    carries: usize,
    constants: Vec<u64>,
    before: Vec<RecurrenceStep>,
    sequential: Sequential,
    after: Vec<RecurrenceStep>,
    /// The next carries, then the outputs, with the bytes of their elements.
    next: Vec<(OperandSource, usize)>,
    registers: Vec<RegisterStorage>,
}

/// Where the elements of a register are.
#[derive(Clone, Copy, Debug, PartialEq)]
enum RegisterStorage {
    /// In memory of the recurrence.
    Memory,
    /// In an output, whose elements have this size: values are computed there and not copied.
    Output(usize, usize),
    /// Nobody reads them.
    Unread,
}

impl CompiledRecurrence {
    /// A loop as a recurrence of single numbers, or of rows with one or two operations, if it is one.
    pub(super) fn new(target: Target<'_>, repeated: &Loop) -> Option<CompiledRecurrence> {
        let scan = &repeated.scan;
        let recurrence = Recurrence::of(scan)?;
        let body = &scan.body;
        let places = body.parameter_type(0).size();
        if places == 0 || places > PLACES {
            return None;
        }
        let types_of: Vec<DType> = (0..body.arity()).map(|at| body.parameter_type(at).dtype).collect();
        // Every value that is read is one number a step and place, or one for all.
        let of_size = |at: usize, size: usize| body.parameter_type(at).size() == size;
        let read = |operand: &StepOperand| match *operand {
            StepOperand::Input(input) => of_size(scan.carries + input, places),
            StepOperand::Capture(capture) => of_size(scan.carries + scan.inputs + capture, 1),
            _ => true,
        };
        let operands = recurrence.steps.iter().flat_map(|step| &step.operands).chain(&recurrence.results);
        if !operands.into_iter().all(read) {
            return None;
        }
        let mut compiler =
            Compiler { target, scan: repeated, recurrence: &recurrence, types: types_of, constants: Vec::new() };
        let (depends, leads) = (recurrence.depends_on_carries(), recurrence.leads_to_carries(scan.carries));
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for at in 0..recurrence.steps.len() {
            match (depends[at], leads[at]) {
                (false, _) => before.push(compiler.step(at)?),
                (true, false) => after.push(compiler.step(at)?),
                (true, true) => {}
            }
        }
        let next: Vec<(OperandSource, usize)> =
            recurrence.results.iter().map(|&operand| compiler.place(operand)).collect();
        let mut registers = vec![RegisterStorage::Unread; scan.carries + recurrence.steps.len()];
        for (output, &(place, width)) in next[scan.carries..].iter().enumerate() {
            if let OperandSource::Register(number) = place {
                registers[number] = RegisterStorage::Output(output, width);
            }
        }
        let chain = compiler.chain(&depends, &leads);
        // Running totals take several steps at a time, whose results need places.
        let carried = if chain.is_some() { &next[..scan.carries] } else { &[] };
        let read = before.iter().chain(&after).flat_map(|step| &step.operands);
        for (place, _) in carried.iter().chain(read) {
            if let OperandSource::Register(number) = *place
                && registers[number] == RegisterStorage::Unread
            {
                registers[number] = RegisterStorage::Memory;
            }
        }
        let sequential = match chain {
            Some(chain) => chain,
            None if places > 1 => return None,
            None => compiler.scalars(&depends, &leads, &registers)?,
        };
        Some(CompiledRecurrence {
            arguments: repeated.arguments.clone(),
            results: repeated.results.clone(),
            length: scan.length,
            reverse: scan.reverse,
            places,
            widths: compiler.types.iter().map(|dtype| dtype.bytes()).collect(),
            carries: scan.carries,
            before,
            sequential,
            after,
            next,
            registers,
            constants: compiler.constants,
        })
    }

    /// The number of instructions, if there are any.
    #[cfg(test)]
    pub(super) fn instructions(&self) -> Option<usize> {
        match &self.sequential {
            Sequential::Scalars(scalars, _) => Some(scalars.instructions()),
            Sequential::Chain { .. } => None,
        }
    }

    /// How many instructions a run of all steps is, the sequential part of a block counted as one.
    #[cfg(test)]
    pub(super) fn executions(&self) -> usize {
        self.length.div_ceil(BLOCK / self.places) * (self.before.len() + 1 + self.after.len())
    }

    /// Bytes of memory that a run needs.
    pub(super) fn memory(&self) -> usize {
        let own = match &self.sequential {
            Sequential::Scalars(scalars, _) => scalars.memory(),
            Sequential::Chain { .. } => 0,
        };
        self.registers.len() * BLOCK * 8 + self.carries * self.places * 8 + own
    }

    /// Runs all steps.
    ///
    /// # Safety
    ///
    /// `bases` points at the procedure's buffers, each as large as its type says, and `memory` has the room that
    /// [`CompiledRecurrence::memory`] says, at a multiple of eight bytes.
    pub(super) unsafe fn run(&self, bases: &[*mut u8], memory: *mut u8) {
        let places = self.places;
        let state = |carry: usize| memory.wrapping_add(self.registers.len() * BLOCK * 8 + carry * places * 8);
        let argument = |position: usize| bases[self.arguments[position] as usize];
        // SAFETY: places are inside of registers and arguments, as the caller promises.
        unsafe {
            for carry in 0..self.carries {
                std::ptr::copy_nonoverlapping(argument(carry), state(carry), places * self.widths[carry]);
            }
            let numbers = state(self.carries).cast();
            if let Sequential::Scalars(scalars, _) = &self.sequential {
                scalars.set(numbers);
            }
            let mut done = 0;
            while done < self.length {
                let steps = (BLOCK / places).min(self.length - done);
                let first = places * if self.reverse { self.length - done - steps } else { done };
                let count = steps * places;
                let output = |output: usize, width: usize| {
                    bases[self.results[self.carries + output] as usize].wrapping_add(first * width)
                };
                let register = |number: usize| match self.registers[number] {
                    RegisterStorage::Output(position, width) => output(position, width),
                    RegisterStorage::Memory | RegisterStorage::Unread => memory.wrapping_add(number * BLOCK * 8),
                };
                let at = |place: OperandSource, width: usize| match place {
                    OperandSource::Register(number) => register(number),
                    OperandSource::Input(position) => argument(position).wrapping_add(first * width),
                    OperandSource::Capture(position) => argument(position),
                    OperandSource::Constant(at) => self.constants.as_ptr().wrapping_add(at).cast_mut().cast(),
                };
                let run = |step: &RecurrenceStep| {
                    let operand = |k: usize| match step.operands.get(k) {
                        Some(&(place, width)) => at(place, width),
                        None => std::ptr::null_mut(),
                    };
                    (step.run)(register(step.result), operand(0), operand(1), operand(2), count);
                };
                self.before.iter().for_each(run);
                match &self.sequential {
                    Sequential::Chain { run, others, results } => {
                        let width = self.widths[0];
                        let other = |place: OperandSource| {
                            (at(place, width).cast_const(), usize::from(place.form() == OperandForm::Run))
                        };
                        let results = [0, results[0], results[1]].map(|number| {
                            (register(number), usize::from(self.registers[number] != RegisterStorage::Unread))
                        });
                        run(state(0), others.map(other), results, [steps, places], self.reverse);
                    }
                    Sequential::Scalars(scalars, begins) => {
                        let first = if self.reverse { count - 1 } else { 0 };
                        let begin = |begin: Begin| match begin {
                            Begin::Count => std::ptr::without_provenance_mut(count),
                            Begin::State(carry) => state(carry),
                            Begin::Element(place, width) if place.form() == OperandForm::Run => {
                                at(place, width).wrapping_add(first * width)
                            }
                            Begin::Element(place, width) => at(place, width),
                        };
                        scalars.run_with(begins.iter().map(|&(register, what)| (register, begin(what))), numbers);
                    }
                }
                self.after.iter().for_each(run);
                for (position, &(place, width)) in self.next[self.carries..].iter().enumerate() {
                    let to = output(position, width);
                    match place.form() {
                        OperandForm::Run if at(place, width) == to => {}
                        OperandForm::Run => std::ptr::copy_nonoverlapping(at(place, width), to, count * width),
                        OperandForm::One => (0..count).for_each(|k| {
                            std::ptr::copy_nonoverlapping(at(place, width), to.wrapping_add(k * width), width);
                        }),
                    }
                }
                done += steps;
            }
            for carry in 0..self.carries {
                let to = bases[self.results[carry] as usize];
                std::ptr::copy_nonoverlapping(state(carry), to, places * self.widths[carry]);
            }
        }
    }
}

struct Compiler<'a> {
    target: Target<'a>,
    scan: &'a Loop,
    recurrence: &'a Recurrence,
    /// The element types of the body's parameters.
    types: Vec<DType>,
    constants: Vec<u64>,
}

impl Compiler<'_> {
    fn dtype(&self, operand: StepOperand) -> DType {
        let scan = &self.scan.scan;
        match operand {
            StepOperand::Carry(carry) => self.types[carry],
            StepOperand::Input(input) => self.types[scan.carries + input],
            StepOperand::Capture(capture) => self.types[scan.carries + scan.inputs + capture],
            StepOperand::Constant(value) => value.dtype(),
            StepOperand::Step(step) => self.recurrence.steps[step].dtype,
        }
    }

    /// Where an operand is, and the bytes of its element.
    fn place(&mut self, operand: StepOperand) -> (OperandSource, usize) {
        let scan = &self.scan.scan;
        let place = match operand {
            StepOperand::Carry(carry) => OperandSource::Register(carry),
            StepOperand::Input(input) => OperandSource::Input(scan.carries + input),
            StepOperand::Capture(capture) => OperandSource::Capture(scan.carries + scan.inputs + capture),
            StepOperand::Constant(value) => {
                self.constants.push(value.bits());
                OperandSource::Constant(self.constants.len() - 1)
            }
            StepOperand::Step(step) => OperandSource::Register(scan.carries + step),
        };
        (place, self.dtype(operand).bytes())
    }

    /// The kernel for a step of the recurrence; `None` for operands that kernels do not take, one number for a whole block in a
    /// place where they want a run.
    fn step(&mut self, at: usize) -> Option<RecurrenceStep> {
        let instruction = &self.recurrence.steps[at];
        let operands = instruction.operands.clone();
        let places: SmallVec<[(OperandSource, usize); 3]> =
            operands.iter().map(|&operand| self.place(operand)).collect();
        let form = |k: usize| places[k].0.form();
        let (isa, dtype) = (self.target.isa, instruction.dtype);
        let of = self.dtype(operands[0]);
        let run = match instruction.op {
            Elementwise::Unary(op) if op.parameter().is_some() => return None,
            Elementwise::Unary(op) if form(0) == OperandForm::Run => vector::unary(isa, op, dtype),
            Elementwise::Binary(op) if (0..2).any(|k| form(k) == OperandForm::Run) => {
                vector::binary(isa, op, dtype, form(0), form(1))
            }
            Elementwise::Compare(op) if (0..2).any(|k| form(k) == OperandForm::Run) => {
                vector::compare(isa, op, of, form(0), form(1))
            }
            Elementwise::Select if form(0) == OperandForm::Run => vector::select(isa, dtype, form(1), form(2)),
            Elementwise::Cast(to) if form(0) == OperandForm::Run => vector::cast(isa, of, to),
            _ => return None,
        };
        Some(RecurrenceStep { run, result: self.scan.scan.carries + at, operands: places })
    }

    /// The sequential part as instructions, which write the values that others read.
    fn scalars(&mut self, depends: &[bool], leads: &[bool], read: &[RegisterStorage]) -> Option<Sequential> {
        let (carries, recurrence) = (self.scan.scan.carries, self.recurrence);
        let mut builder = Builder::new(self.target.isa);
        let mut begins: Vec<(RegisterIndex, Begin)> = Vec::new();
        let mut begin = |builder: &mut Builder, what: Begin| {
            let register = builder.register()?;
            begins.push((register, what));
            Some(register)
        };
        let count = begin(&mut builder, Begin::Count)?;
        let mut states = Vec::with_capacity(carries);
        for carry in 0..carries {
            let state = begin(&mut builder, Begin::State(carry))?;
            let first = builder.load(self.types[carry], state, 0, true)?;
            states.push((state, builder.copied(first)?));
        }
        let is_sequential = |operand: StepOperand| match operand {
            StepOperand::Carry(_) => true,
            StepOperand::Step(step) => depends[step] && leads[step],
            _ => false,
        };
        // Other reads: before the steps if the value is the same in all of them.
        let sequential = || (0..recurrence.steps.len()).filter(|&at| depends[at] && leads[at]);
        let operands = sequential().flat_map(|at| &recurrence.steps[at].operands);
        let mut others: TermMap<StepOperand, RegisterIndex> = TermMap::default();
        let (mut runs, mut moves) = (Vec::new(), Vec::new());
        for &operand in operands.chain(&recurrence.results[..carries]) {
            if is_sequential(operand) || others.contains_key(&operand) {
                continue;
            }
            let (dtype, (place, width)) = (self.dtype(operand), self.place(operand));
            let register = match (operand, place.form()) {
                (StepOperand::Constant(value), _) => builder.constant(value)?,
                (_, OperandForm::One) => {
                    let pointer = begin(&mut builder, Begin::Element(place, width))?;
                    builder.load(dtype, pointer, 0, true)?
                }
                (_, OperandForm::Run) => {
                    let pointer = begin(&mut builder, Begin::Element(place, width))?;
                    moves.push((pointer, width));
                    runs.push((operand, dtype, pointer));
                    pointer
                }
            };
            others.insert(operand, register);
        }
        let mut stores = Vec::new();
        for number in (0..carries).chain(sequential().map(|at| carries + at)) {
            if read[number] != RegisterStorage::Unread {
                let dtype =
                    if number < carries { self.types[number] } else { recurrence.steps[number - carries].dtype };
                let place = Begin::Element(OperandSource::Register(number), dtype.bytes());
                let pointer = begin(&mut builder, place)?;
                moves.push((pointer, dtype.bytes()));
                stores.push((number, dtype, pointer));
            }
        }
        let head = builder.repeat(count)?;
        for (operand, dtype, pointer) in runs {
            others.insert(operand, builder.load(dtype, pointer, 0, true)?);
        }
        let mut values: Vec<RegisterIndex> = vec![0; recurrence.steps.len()];
        let number = |values: &[RegisterIndex], operand: StepOperand| match operand {
            StepOperand::Carry(carry) => Some(states[carry].1),
            StepOperand::Step(step) if is_sequential(operand) => Some(values[step]),
            _ => others.get(&operand).copied(),
        };
        for at in sequential() {
            let step = &recurrence.steps[at];
            let a = |k: usize| number(&values, step.operands[k]);
            let of = self.dtype(step.operands[0]);
            values[at] = match step.op {
                Elementwise::Unary(op) => builder.unary(op, step.dtype, a(0)?)?,
                Elementwise::Binary(op) => builder.binary(op, step.dtype, a(0)?, a(1)?)?,
                Elementwise::Compare(op) => builder.compare(op, of, a(0)?, a(1)?)?,
                Elementwise::Select => builder.select(a(0)?, a(1)?, a(2)?)?,
                Elementwise::Cast(to) => builder.cast(of, to, a(0)?)?,
            };
        }
        for (register, dtype, pointer) in stores {
            let value = if register < carries { states[register].1 } else { values[register - carries] };
            builder.store(dtype, pointer, 0, value)?;
        }
        let next = recurrence.results[..carries].iter().map(|&operand| number(&values, operand));
        let next = states.iter().map(|&(_, own)| own).zip(next.collect::<Option<Vec<RegisterIndex>>>()?);
        let backwards = self.scan.scan.reverse;
        let bytes = |width: usize| if backwards { -(width as isize) } else { width as isize };
        let moves: Vec<(RegisterIndex, isize)> =
            moves.into_iter().map(|(pointer, width)| (pointer, bytes(width))).collect();
        builder.next(head, &next.collect::<Vec<_>>(), &moves)?;
        for (carry, (state, own)) in states.iter().enumerate() {
            builder.store(self.types[carry], *state, 0, *own)?;
        }
        Some(Sequential::Scalars(Scalars::written(self.target, builder)?, begins))
    }

    /// The sequential part as one or two operations on the one carry.
    fn chain(&mut self, depends: &[bool], leads: &[bool]) -> Option<Sequential> {
        let carries = self.scan.scan.carries;
        let steps: Vec<usize> = (0..depends.len()).filter(|&at| depends[at] && leads[at]).collect();
        if carries != 1 || steps.is_empty() || steps.len() > 2 {
            return None;
        }
        let (mut state, mut links, mut others) = (StepOperand::Carry(0), Vec::new(), Vec::new());
        for &at in &steps {
            let instruction = &self.recurrence.steps[at];
            let Elementwise::Binary(op) = instruction.op else { return None };
            let [a, b] = instruction.operands[..] else { return None };
            let is_sequential = |operand: StepOperand| match operand {
                StepOperand::Carry(_) => true,
                StepOperand::Step(step) => depends[step],
                _ => false,
            };
            let other = match (a == state, b == state, op) {
                (true, false, _) => b,
                (false, true, Binary::Add | Binary::Mul) => a,
                _ => return None,
            };
            if is_sequential(other) {
                return None;
            }
            links.push(op);
            others.push(self.place(other).0);
            state = StepOperand::Step(at);
        }
        if self.recurrence.results[0] != state {
            return None;
        }
        let register = |at: usize| carries + at;
        let (first, last) = (register(steps[0]), register(steps[steps.len() - 1]));
        let of_rows = self.scan.scan.body.parameter_type(0).size() > 1;
        let run = chain(self.types[0], &links, of_rows)?;
        Some(Sequential::Chain { run, others: [others[0], others[others.len() - 1]], results: [first, last] })
    }
}
