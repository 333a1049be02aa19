//! Elements that a loop writes and reads again in its next step.
//!
//! A step of `a[j] += a[j - 1]` waits for the element before, which takes some cycles through memory. The last element that such a
//! loop wrote stays in a register, with its address. A read compares its own address with that, and takes the register where they
//! are the same: the processor predicts this, so that nothing waits for the comparison.

use super::intervals::{is_call, loops};
use crate::engine::cpu::native::encode::General;
use crate::engine::cpu::scalars::{ScalarCode, ScalarInstruction, ScalarOp};

/// Holds the address of the last element written, or 0.
pub(super) const ADDRESS: General = General(11);
/// Holds that element.
pub(super) const ELEMENT: u8 = 12;

/// The instructions of such loops.
pub(super) struct Forwarded {
    /// Which instructions begin a loop.
    pub(super) begins: Vec<bool>,
    /// Which write the element, or read one that may be it.
    pub(super) elements: Vec<bool>,
}

/// The instructions of such loops, if there are any; with the number of jumps that go to each instruction.
pub(super) fn forwarded(code: &ScalarCode, jumps_to: &[u32]) -> Option<Forwarded> {
    let instructions = &code.instructions;
    let none = || vec![false; instructions.len()];
    let mut found = Forwarded { begins: none(), elements: none() };
    let mut last_end = None;
    for (top, end) in loops(instructions) {
        // Inner loops come first.
        let is_inner = last_end.is_none_or(|last| last < top);
        last_end = Some(end);
        if !is_inner || jumps_to[top] != 1 || jumps_to[top + 1..=end].iter().any(|&jumps| jumps > 0) {
            continue;
        }
        let body = &instructions[top..=end];
        let array = |it: &ScalarInstruction| (it.operands[0], code.indexed[it.number as usize].width);
        let Some(write) = body.iter().find(|it| it.op == ScalarOp::StoreAt) else { continue };
        let is_same =
            |it: &ScalarInstruction| matches!(it.op, ScalarOp::LoadAt | ScalarOp::StoreAt) && array(it) == array(write);
        // Nothing else may write the element that is in the register.
        if body.iter().any(|it| is_call(it) || is_write(it.op) && !is_same(it)) {
            continue;
        }
        if body.iter().any(|it| it.op == ScalarOp::LoadAt && is_same(it)) {
            found.begins[top] = true;
            (top..).zip(body).for_each(|(at, it)| found.elements[at] = is_same(it));
        }
    }
    found.begins.contains(&true).then_some(found)
}

fn is_write(op: ScalarOp) -> bool {
    use ScalarOp::{Copy, Store1, Store4, Store8, StoreAt};
    matches!(op, Store1 | Store4 | Store8 | StoreAt | Copy)
}

#[cfg(test)]
mod tests {
    use super::super::intervals::targets;
    use super::*;
    use crate::engine::cpu::scalars::{Indexed, RegisterIndex};

    fn instruction(
        op: ScalarOp,
        result: RegisterIndex,
        operands: [RegisterIndex; 3],
        number: i32,
    ) -> ScalarInstruction {
        ScalarInstruction { op, result, operands, number }
    }

    /// A count, then a loop from the second instruction on, with an array at register 0 and a position in register 1.
    fn repeated(body: &[ScalarInstruction]) -> Option<Vec<usize>> {
        let mut instructions = vec![instruction(ScalarOp::Count, 9, [0; 3], 5)];
        instructions.extend(body);
        instructions.push(instruction(ScalarOp::Next, 9, [0; 3], 1));
        instructions.push(instruction(ScalarOp::End, 0, [0; 3], 0));
        let indexed = |width| Indexed { offset: 0, stride: width as isize, extent: 10, width };
        let code = ScalarCode { instructions, indexed: vec![indexed(8), indexed(4)], ..ScalarCode::default() };
        let Forwarded { begins, elements } = forwarded(&code, &targets(&code.instructions))?;
        assert!(begins.iter().enumerate().all(|(at, &begins)| begins == (at == 1)), "{begins:?}");
        Some((0..elements.len()).filter(|&at| elements[at]).collect())
    }

    #[test]
    fn only_loops_that_write_one_array_forward_elements() {
        let load = instruction(ScalarOp::LoadAt, 3, [0, 1, 0], 0);
        let add = instruction(ScalarOp::AddF64, 4, [3, 3, 0], 0);
        let store = instruction(ScalarOp::StoreAt, 0, [0, 1, 4], 0);
        assert_eq!(repeated(&[load, add, store]), Some(vec![1, 3]));
        assert_eq!(repeated(&[load, add, store, load, store]), Some(vec![1, 3, 4, 5]));
        // Nothing is read, or nothing is written at a computed position.
        assert_eq!(repeated(&[add, store]), None);
        assert_eq!(repeated(&[load, add]), None);
        // Elements of another array, or of another width, stay in memory.
        let other = instruction(ScalarOp::LoadAt, 5, [2, 1, 0], 0);
        assert_eq!(repeated(&[load, other, add, store]), Some(vec![1, 4]));
        let narrow = instruction(ScalarOp::LoadAt, 5, [0, 1, 0], 1);
        assert_eq!(repeated(&[narrow, add, store]), None);
        // Something else is written.
        for also in [
            instruction(ScalarOp::StoreAt, 0, [2, 1, 4], 0),
            instruction(ScalarOp::StoreAt, 0, [0, 1, 4], 1),
            instruction(ScalarOp::Store8, 0, [2, 4, 0], 0),
            instruction(ScalarOp::Copy, 0, [0, 2, 6], 16),
            instruction(ScalarOp::Nest, 0, [0; 3], 0),
            instruction(ScalarOp::Kernel, 5, [3; 3], 0),
        ] {
            assert_eq!(repeated(&[load, add, store, also]), None, "{also:?}");
        }
        // A jump inside.
        assert_eq!(repeated(&[load, instruction(ScalarOp::Unless, 0, [4, 0, 0], 4), add, store]), None);
    }
}
