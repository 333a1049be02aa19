//! Simultaneous assignment of registers to registers.

use super::instruction::{ScalarInstruction, ScalarOp};
use super::register::RegisterIndex;
use crate::term::hash::TermMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Instructions that always run together, followed by those that run last. Each of the last ones reads the registers as they
/// were before any of the last ones ran. An instruction that was moved to the end is still in its old place too, but is `gone`.
struct InstructionBlock {
    instructions: Vec<ScalarInstruction>,
    gone: Vec<bool>,
    /// Where those that run last begin.
    end: usize,
    /// Which of the others writes a register.
    writers: TermMap<RegisterIndex, usize>,
    /// Which read a register, in order; some of them may be gone.
    readers: TermMap<RegisterIndex, Vec<usize>>,
}

impl InstructionBlock {
    fn of(instructions: Vec<ScalarInstruction>) -> InstructionBlock {
        let (mut writers, mut readers) = (TermMap::default(), TermMap::<RegisterIndex, Vec<usize>>::default());
        for (at, instruction) in instructions.iter().enumerate() {
            instruction.reads().iter().for_each(|&register| readers.entry(register).or_default().push(at));
            if instruction.has_result() {
                writers.insert(instruction.result, at);
            }
        }
        let (end, gone) = (instructions.len(), vec![false; instructions.len()]);
        InstructionBlock { instructions, gone, end, writers, readers }
    }

    /// The instruction that computes the value of a register.
    fn made(&self, register: RegisterIndex) -> Option<usize> {
        self.writers.get(&register).copied().filter(|&at| self.instructions[at].op != ScalarOp::Count)
    }

    /// Whether an instruction after this one reads a register.
    fn is_read_behind(&mut self, at: usize, register: RegisterIndex) -> bool {
        let Some(readers) = self.readers.get_mut(&register) else { return false };
        while readers.pop_if(|reader| self.gone[*reader]).is_some() {}
        readers.last().is_some_and(|&last| last > at)
    }

    /// Has an instruction write another register, which all read who read its result.
    fn rename(&mut self, at: usize, to: RegisterIndex) {
        let from = std::mem::replace(&mut self.instructions[at].result, to);
        self.writers.remove(&from);
        self.writers.insert(to, at);
        let readers = self.readers.remove(&from).unwrap_or_default();
        for &reader in &readers {
            let ScalarInstruction { op, operands, .. } = &mut self.instructions[reader];
            let read = operands[..op.form().0].iter_mut();
            read.filter(|operand| **operand == from).for_each(|operand| *operand = to);
        }
        // None of these is before those who read the register already.
        self.readers.entry(to).or_default().extend(readers);
    }

    /// Whether an instruction gives the same result when it runs last. A load may not run last, since a write in between may
    /// change the element that it reads.
    fn may_be_last(&self, at: usize) -> bool {
        let ScalarInstruction { op, .. } = self.instructions[at];
        let changes = |read: &RegisterIndex| self.writers.get(read).is_some_and(|&writer| writer > at);
        let is_load = matches!(op, ScalarOp::Load1 | ScalarOp::Load4 | ScalarOp::Load8 | ScalarOp::LoadAt);
        !is_load && !self.instructions[at].reads().iter().any(changes)
    }

    /// Has an instruction run last, and write another register.
    fn put_last(&mut self, at: usize, to: RegisterIndex) {
        self.gone[at] = true;
        let instruction = ScalarInstruction { result: to, ..self.instructions[at] };
        self.writers.remove(&self.instructions[at].result);
        let place = self.instructions.len();
        instruction.reads().iter().for_each(|&register| self.readers.entry(register).or_default().push(place));
        self.instructions.push(instruction);
        self.gone.push(false);
    }
}

fn copy(to: RegisterIndex, from: RegisterIndex) -> ScalarInstruction {
    ScalarInstruction { op: ScalarOp::Move, result: to, operands: [from, 0, 0], number: 0 }
}

/// The instructions of a block, extended so that the first register of each pair gets the value of the second, all at once.
/// Where possible, the instruction that computes the second writes the first directly: nothing after it reads the first, or it
/// is computed last.
pub(super) fn assigned(
    block: Vec<ScalarInstruction>,
    pairs: &[(RegisterIndex, RegisterIndex)],
    register: impl FnMut() -> Option<RegisterIndex>,
) -> Option<Vec<ScalarInstruction>> {
    let pairs = || pairs.iter().copied().filter(|(to, from)| to != from);
    let mut block = InstructionBlock::of(block);
    // How many pairs are left that have a register as their second.
    let mut sources: TermMap<RegisterIndex, usize> = TermMap::default();
    pairs().for_each(|(_, from)| *sources.entry(from).or_default() += 1);
    let mut copies = Vec::new();
    for (to, from) in pairs() {
        let made = if sources[&from] == 1 { block.made(from) } else { None };
        let is_source = sources.get(&to).is_some_and(|&count| count > 0);
        match made {
            Some(made) if !is_source && !block.is_read_behind(made, to) => block.rename(made, to),
            Some(made) if !block.is_read_behind(made, from) && block.may_be_last(made) => block.put_last(made, to),
            _ => {
                copies.push(copy(to, from));
                continue;
            }
        }
        sources.insert(from, 0);
    }
    let InstructionBlock { mut instructions, gone, end, .. } = block;
    let mut last = instructions.split_off(end);
    last.extend(copies);
    let mut gone = gone.into_iter();
    instructions.retain(|_| gone.next() == Some(false));
    in_order(last, &mut instructions, register)?;
    Some(instructions)
}

/// Adds instructions in an order in which none overwrites a register that a later one reads: an instruction whose result none
/// of the others reads comes next. If there is none, they form cycles: the first one computes into a register of its own, and
/// its result becomes a copy of that.
fn in_order(
    mut rest: Vec<ScalarInstruction>,
    instructions: &mut Vec<ScalarInstruction>,
    mut register: impl FnMut() -> Option<RegisterIndex>,
) -> Option<()> {
    // The reads of each register that are to come, and who writes it.
    let mut reads: TermMap<RegisterIndex, usize> = TermMap::default();
    rest.iter().flat_map(ScalarInstruction::reads).for_each(|&read| *reads.entry(read).or_default() += 1);
    let writers: TermMap<RegisterIndex, usize> = rest.iter().enumerate().map(|(at, own)| (own.result, at)).collect();
    let is_free = |own: &ScalarInstruction, reads: &TermMap<RegisterIndex, usize>| {
        let by_itself = own.reads().iter().filter(|&&read| read == own.result).count();
        reads.get(&own.result).is_none_or(|&all| all == by_itself)
    };
    let free = (0..rest.len()).filter(|&at| is_free(&rest[at], &reads));
    let mut free: BinaryHeap<Reverse<usize>> = free.map(Reverse).collect();
    let mut is_done = vec![false; rest.len()];
    let (mut left, mut cut) = (rest.len(), 0);
    while left > 0 {
        let own = if let Some(Reverse(at)) = free.pop() {
            instructions.push(rest[at]);
            is_done[at] = true;
            left -= 1;
            rest[at]
        } else {
            while is_done[cut] {
                cut += 1;
            }
            let (own, between) = (rest[cut], register()?);
            instructions.push(ScalarInstruction { result: between, ..own });
            rest[cut] = copy(own.result, between);
            cut += 1;
            own
        };
        for read in own.reads() {
            // A register of its own has no others that read it.
            let Some(count) = reads.get_mut(read) else { continue };
            *count -= 1;
            if let Some(&writer) = writers.get(read)
                && !is_done[writer]
                && is_free(&rest[writer], &reads)
            {
                free.push(Reverse(writer));
            }
        }
    }
    Some(())
}

#[cfg(test)]
mod tests;
