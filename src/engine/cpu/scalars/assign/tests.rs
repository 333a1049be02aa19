//! Simultaneous assignments get the values that the registers held before.

use super::*;
use crate::operation::Binary;
use crate::shape::DType;

/// The contents of registers after instructions: any numbers that tell operations and operands apart.
fn run(instructions: &[ScalarInstruction], registers: &mut [u64]) {
    for instruction in instructions {
        let mixed =
            |sum: u64, &read: &RegisterIndex| (sum ^ registers[usize::from(read)]).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        registers[usize::from(instruction.result)] = match instruction.op {
            ScalarOp::Move => registers[usize::from(instruction.operands[0])],
            op => instruction.reads().iter().fold(op as u64 + 1, mixed).rotate_left(7),
        };
    }
}

fn product(result: usize, a: usize, b: usize) -> ScalarInstruction {
    let op = ScalarOp::binary(Binary::Mul, DType::F64).unwrap();
    ScalarInstruction {
        op,
        result: result as RegisterIndex,
        operands: [a as RegisterIndex, b as RegisterIndex, 0],
        number: 0,
    }
}

/// Checks that the first `carries` registers hold the values that their partners held; how many instructions there are, and new
/// registers.
fn check(
    block: Vec<ScalarInstruction>,
    carries: usize,
    registers: usize,
    pairs: &[(RegisterIndex, RegisterIndex)],
) -> (usize, usize) {
    let mut before: Vec<u64> = (0..2 * registers as u64).map(|at| at.wrapping_mul(0x1234_5678_9abc_def1) + 1).collect();
    let mut after = before.clone();
    run(&block, &mut before);
    let mut next = registers;
    let register = || {
        next += 1;
        Some((next - 1) as RegisterIndex)
    };
    let instructions = assigned(block.clone(), pairs, register).unwrap();
    run(&instructions, &mut after);
    let mut expected = before[..carries].to_vec();
    pairs.iter().for_each(|&(to, from)| expected[usize::from(to)] = before[usize::from(from)]);
    assert_eq!(after[..carries], expected, "{block:?} with {pairs:?} became {instructions:?}");
    (instructions.len(), next - registers)
}

#[test]
fn registers_get_what_others_held() {
    let mut state = 1u64;
    let mut below = |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    for _ in 0..20_000 {
        let (carries, count) = (1 + below(6), below(8));
        let block = (0..count).map(|at| {
            let (a, b) = (below(carries + at), below(carries + at));
            product(carries + at, a, b)
        });
        let block: Vec<ScalarInstruction> = block.collect();
        let pairs: Vec<_> =
            (0..carries).map(|to| (to as RegisterIndex, below(carries + count) as RegisterIndex)).collect();
        check(block, carries, carries + count, &pairs);
    }
}

#[test]
fn circles_are_cut_as_often_as_need_be() {
    let pairs = |n: usize, from: fn(usize, usize) -> usize| -> Vec<(RegisterIndex, RegisterIndex)> {
        (0..n).map(|to| (to as RegisterIndex, from(to, n) as RegisterIndex)).collect()
    };
    // A rotation needs one register.
    assert_eq!(check(Vec::new(), 50, 50, &pairs(50, |to, n| (to + 1) % n)), (51, 1));
    // Each of three is the product of the two others.
    let block = vec![product(3, 1, 2), product(4, 0, 2), product(5, 0, 1)];
    assert_eq!(check(block, 3, 6, &pairs(3, |to, n| n + to)), (5, 2));
}
