//! When registers of scalar instructions are in use.

use crate::engine::cpu::scalars::{RegisterIndex, ScalarCode, ScalarInstruction, ScalarOp, ScalarOperation};

/// How much more often a loop's instructions run than those around it, as far as that is guessed, and how many loops count.
const REPEATED: f64 = 8.0;
const LOOPS: usize = 6;

/// Bytes of a copy that is written out at most.
const COPIED: i32 = 256;

/// The machine's registers that can hold a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    Float,
    General,
}

/// The time in which a register holds a value that something still reads. An instruction at a position reads at twice that, and
/// writes one later.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interval {
    pub(super) register: RegisterIndex,
    pub(super) class: Class,
    pub(super) start: u32,
    pub(super) end: u32,
    /// Whether the value is there before the first instruction.
    pub(super) is_given: bool,
    /// How often it is read or written, about.
    pub(super) uses: f64,
    /// Whether a function is called meanwhile.
    pub(super) over_call: bool,
}

/// The reads and writes of a register in the instructions so far.
#[derive(Clone, Copy)]
struct Seen {
    first: u32,
    last: u32,
    reads_first: bool,
    uses: f64,
}

/// The intervals of all registers that are used.
pub(super) fn intervals(code: &ScalarCode, registers: usize) -> Vec<Interval> {
    let instructions = &code.instructions;
    let loops = loops(instructions);
    let skips = Skips::of(instructions);
    let depths = depths(instructions.len(), &loops);
    let mut seen: Vec<Option<Seen>> = vec![None; registers];
    for (at, instruction) in instructions.iter().enumerate() {
        let uses = REPEATED.powi(depths[at].min(LOOPS) as i32);
        each_use(code, instruction, |register, writes| {
            let position = 2 * at as u32 + u32::from(writes);
            let it = seen[usize::from(register)].get_or_insert(Seen {
                first: position,
                last: position,
                reads_first: !writes,
                uses: 0.0,
            });
            it.last = it.last.max(position);
            it.uses += uses;
        });
    }
    // Inner loops first: what is extended over one of them is looked at in the next.
    let mut extended = seen.clone();
    for &(top, end) in &loops {
        let (from, to) = (2 * top as u32, 2 * end as u32 + 1);
        let mut visit = |register: RegisterIndex| {
            let (Some(it), Some(seen)) = (&mut extended[usize::from(register)], seen[usize::from(register)]) else {
                return;
            };
            // Each step writes the register before anything reads it.
            let is_inside = seen.first >= from && seen.last <= to;
            if is_inside && !seen.reads_first && skips.never_skip(seen.first as usize / 2, (top, end)) {
                return;
            }
            (it.first, it.last) = (it.first.min(from), it.last.max(to));
        };
        for instruction in &instructions[top..=end] {
            each_use(code, instruction, |register, _| visit(register));
        }
    }
    let calls: Vec<u32> = (0..).zip(instructions).filter(|(_, it)| is_call(it)).map(|(at, _)| 2 * at).collect();
    let classes = classes(code, registers);
    let all = (0..registers).filter_map(|register| {
        let (Seen { first, last, .. }, seen) = (extended[register]?, seen[register]?);
        let start = if seen.reads_first { 0 } else { first };
        // A call's operands are in memory when it begins, and its result is when it ends.
        let call = calls.partition_point(|&call| call < start);
        Some(Interval {
            register: register as RegisterIndex,
            class: classes[register]?,
            start,
            end: last,
            is_given: seen.reads_first,
            uses: seen.uses,
            over_call: calls.get(call).is_some_and(|&call| call < last),
        })
    });
    all.collect()
}

pub(super) fn is_call(instruction: &ScalarInstruction) -> bool {
    match instruction.op {
        ScalarOp::Kernel | ScalarOp::Nest => true,
        ScalarOp::Copy => !is_short(instruction),
        _ => false,
    }
}

/// Whether a copy is written out.
pub(super) fn is_short(copy: &ScalarInstruction) -> bool {
    (1..=COPIED).contains(&copy.number)
}

/// Calls a function with each register that an instruction reads, then with those that it writes.
fn each_use(code: &ScalarCode, instruction: &ScalarInstruction, mut of: impl FnMut(RegisterIndex, bool)) {
    instruction.reads().iter().for_each(|&register| of(register, false));
    if instruction.op == ScalarOp::Next {
        let moved = moved(code, instruction).iter().map(|&(pointer, _)| pointer);
        for register in moved.chain([instruction.result]) {
            of(register, false);
            of(register, true);
        }
    }
    if instruction.has_result() {
        of(instruction.result, true);
    }
}

/// The pointers that the end of a loop's step moves.
pub(super) fn moved<'a>(code: &'a ScalarCode, next: &ScalarInstruction) -> &'a [(RegisterIndex, isize)] {
    let [_, first, count] = next.operands.map(usize::from);
    &code.moves[first..first + count]
}

/// The first and last instructions of loops, inner ones first.
pub(super) fn loops(instructions: &[ScalarInstruction]) -> Vec<(usize, usize)> {
    let jumps = instructions.iter().enumerate().filter(|(_, it)| matches!(it.op, ScalarOp::Next | ScalarOp::Jump));
    let back = jumps.map(|(at, it)| (it.number as usize, at)).filter(|(to, at)| to <= at);
    back.collect()
}

/// How many loops are around each instruction.
fn depths(count: usize, loops: &[(usize, usize)]) -> Vec<usize> {
    let mut changes = vec![0isize; count + 1];
    for &(top, end) in loops {
        changes[top] += 1;
        changes[end + 1] -= 1;
    }
    let mut depth = 0;
    let depths = changes[..count].iter().map(|change| {
        depth += change;
        depth as usize
    });
    depths.collect()
}

/// Jumps over instructions.
struct Skips {
    /// The last jump before each instruction that goes to one behind it, if some jump before does.
    around: Vec<Option<usize>>,
    to: Vec<usize>,
}

impl Skips {
    fn of(instructions: &[ScalarInstruction]) -> Skips {
        let (mut around, mut open) = (Vec::with_capacity(instructions.len()), Vec::<usize>::new());
        let to: Vec<usize> =
            instructions.iter().map(|it| if is_jump(it.op) { it.number as usize } else { 0 }).collect();
        for at in 0..instructions.len() {
            while open.pop_if(|jump| to[*jump] <= at).is_some() {}
            around.push(open.last().copied());
            if to[at] > at {
                open.push(at);
            }
        }
        Skips { around, to }
    }

    /// Whether every step of a loop runs an instruction, or leaves the loop before.
    fn never_skip(&self, at: usize, (top, end): (usize, usize)) -> bool {
        let mut jump = self.around[at];
        while let Some(from) = jump.filter(|&from| from >= top) {
            if self.to[from] > at && self.to[from] <= end {
                return false;
            }
            jump = self.around[from];
        }
        true
    }
}

fn is_jump(op: ScalarOp) -> bool {
    matches!(op, ScalarOp::Jump | ScalarOp::Unless | ScalarOp::Next)
}

/// How many jumps go to each instruction.
pub(super) fn targets(instructions: &[ScalarInstruction]) -> Vec<u32> {
    let mut targets = vec![0; instructions.len()];
    for instruction in instructions.iter().filter(|it| is_jump(it.op)) {
        targets[instruction.number as usize] += 1;
    }
    targets
}

/// The class of each register: floats where some operation has them as floats, and `None` where nothing agrees.
fn classes(code: &ScalarCode, registers: usize) -> Vec<Option<Class>> {
    use ScalarOperation as Of;
    let mut groups = Groups((0..registers).collect());
    for instruction in &code.instructions {
        let ScalarInstruction { op, result, operands: [a, b, c], .. } = *instruction;
        match op {
            ScalarOp::Move => groups.join(&[result, a]),
            ScalarOp::Select => groups.join(&[result, b, c]),
            _ => {}
        }
    }
    let (mut floats, mut generals) = (vec![false; registers], vec![false; registers]);
    for instruction in &code.instructions {
        let ScalarInstruction { op, result, operands: [a, b, c], .. } = *instruction;
        let mut note = |register: RegisterIndex, is_float: bool| {
            let group = groups.of(usize::from(register));
            if is_float { floats[group] = true } else { generals[group] = true }
        };
        match op.operation() {
            Some(operation) => {
                let (of, to) = match operation {
                    Of::Unary(_, dtype) | Of::Binary(_, dtype) | Of::Left(_, _, dtype) | Of::Right(_, _, dtype) => {
                        (dtype.is_float(), dtype.is_float())
                    }
                    Of::Compare(_, dtype) => (dtype.is_float(), false),
                    Of::Cast(from, to) => (from.is_float(), to.is_float()),
                };
                instruction.reads().iter().for_each(|&register| note(register, of));
                note(result, to);
            }
            None => match op {
                ScalarOp::TimesPlusF32 | ScalarOp::TimesPlusF64 => {
                    [a, b, c, result].into_iter().for_each(|register| note(register, true));
                }
                ScalarOp::Select
                | ScalarOp::Load1
                | ScalarOp::Load4
                | ScalarOp::Load8
                | ScalarOp::Store1
                | ScalarOp::Store4
                | ScalarOp::Store8
                | ScalarOp::Unless => note(a, false),
                ScalarOp::LoadAt | ScalarOp::StoreAt => [a, b].into_iter().for_each(|register| note(register, false)),
                ScalarOp::Copy | ScalarOp::Pass => [a, b, c].into_iter().for_each(|register| note(register, false)),
                ScalarOp::Point => [a, result].into_iter().for_each(|register| note(register, false)),
                ScalarOp::Count => note(result, false),
                ScalarOp::Next => {
                    note(result, false);
                    moved(code, instruction).iter().for_each(|&(pointer, _)| note(pointer, false));
                }
                _ => {}
            },
        }
    }
    let class = |register: usize| match (floats[groups.of(register)], generals[groups.of(register)]) {
        (true, true) => None,
        (true, false) => Some(Class::Float),
        (false, _) => Some(Class::General),
    };
    (0..registers).map(class).collect()
}

/// Registers that hold the same values at times.
struct Groups(Vec<usize>);

impl Groups {
    fn of(&mut self, mut register: usize) -> usize {
        while self.0[register] != register {
            // Ways become half as long each time.
            self.0[register] = self.0[self.0[register]];
            register = self.0[register];
        }
        register
    }

    fn join(&mut self, registers: &[RegisterIndex]) {
        let first = self.of(usize::from(registers[0]));
        for &register in &registers[1..] {
            let group = self.of(usize::from(register));
            self.0[group] = first;
        }
    }
}
