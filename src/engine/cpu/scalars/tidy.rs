//! Fewer instructions for the same.

use super::instruction::{ScalarInstruction, ScalarOp};
use super::register::RegisterIndex;
use crate::term::hash::TermMap;

/// How far instructions that become one are from each other at most.
const APART: usize = 64;

/// How often each register is read, and how often it is written.
fn counts(instructions: &[ScalarInstruction], registers: usize) -> (Vec<u32>, Vec<u32>) {
    let (mut reads, mut writes) = (vec![0; registers], vec![0; registers]);
    for instruction in instructions {
        instruction.reads().iter().for_each(|&register| reads[usize::from(register)] += 1);
        if instruction.has_result() || instruction.op == ScalarOp::Next {
            writes[usize::from(instruction.result)] += 1;
        }
        if instruction.op == ScalarOp::Next {
            reads[usize::from(instruction.result)] += 1;
        }
    }
    (reads, writes)
}

/// Removes instructions whose results nothing reads.
pub(super) fn remove_unread(instructions: &mut Vec<ScalarInstruction>, registers: usize) {
    let (mut reads, _) = counts(instructions, registers);
    // Operands come before their use, except for carries: those are read where the loop begins.
    let mut remains = vec![true; instructions.len()];
    for (at, instruction) in instructions.iter().enumerate().rev() {
        if instruction.has_result() && reads[usize::from(instruction.result)] == 0 {
            remains[at] = false;
            instruction.reads().iter().for_each(|&register| reads[usize::from(register)] -= 1);
        }
    }
    let mut remains = remains.into_iter();
    instructions.retain(|_| remains.next() == Some(true));
}

/// Joins an operation with the only one that reads its result.
pub(super) fn join_pairs(instructions: &mut Vec<ScalarInstruction>, registers: usize) {
    let (reads, writes) = counts(instructions, registers);
    let mut remains = vec![true; instructions.len()];
    // Registers that are written once are tracked since the last jump target.
    let mut made: TermMap<RegisterIndex, usize> = TermMap::default();
    for at in 0..instructions.len() {
        let second = instructions[at];
        if matches!(second.op, ScalarOp::Label | ScalarOp::Jump | ScalarOp::Unless | ScalarOp::Next) {
            made.clear();
            continue;
        }
        for position in 0..second.reads().len().min(2) {
            let between = second.operands[position];
            let Some(&before) = made.get(&between).filter(|&&before| at - before <= APART) else { continue };
            let first = instructions[before];
            let Some(op) = ScalarOp::pair(first.op, second.op, position) else { continue };
            let changed = instructions[before + 1..at].iter().zip(&remains[before + 1..at]);
            let changed = changed.filter(|(other, remains)| **remains && other.has_result());
            let mut changed = changed.map(|(other, _)| other.result);
            if reads[usize::from(between)] != 1 || changed.any(|result| first.reads().contains(&result)) {
                continue;
            }
            remains[before] = false;
            let operands = [first.operands[0], first.operands[1], second.operands[1 - position]];
            instructions[at] = ScalarInstruction { op, result: second.result, operands, number: 0 };
            break;
        }
        let ScalarInstruction { op, result, .. } = instructions[at];
        if op.form() == (2, true) && writes[usize::from(result)] == 1 {
            made.insert(result, at);
        }
    }
    let mut remains = remains.into_iter();
    instructions.retain(|_| remains.next() == Some(true));
}
