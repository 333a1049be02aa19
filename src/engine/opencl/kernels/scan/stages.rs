//! Loops with several carries, some of which depend on others, as loops in sequence: the carries of an earlier one are an input
//! of later ones.

use crate::engine::opencl::kernels::recurrence::{LoopArgument, Sequence};
use crate::kernel::BufferId;
use crate::shape::DType;
use crate::term::recurrence::{Recurrence, StepInstruction, StepOperand};
use std::collections::{BTreeMap, BTreeSet};

/// Loops that together are equal to one, and the element types of arrays in between, whose buffers count from `next` on; `None`
/// where carries depend on each other in a circle.
pub(super) fn stages(sequence: &Sequence, next: BufferId) -> Option<(Vec<Sequence>, Vec<DType>)> {
    let results = &sequence.recurrence.results;
    let carries_of = |result: StepOperand| sequence.needed(&[result]).carries;
    let needs: Vec<BTreeSet<usize>> = results.iter().map(|&result| carries_of(result)).collect();
    let carries = sequence.carries();
    // The stage of each carry.
    let mut stage_of: BTreeMap<usize, usize> = BTreeMap::new();
    let mut stages: Vec<Vec<usize>> = Vec::new();
    while stage_of.len() < carries {
        let is_ready = |carry: &usize| {
            !stage_of.contains_key(carry)
                && needs[*carry].iter().all(|other| other == carry || stage_of.contains_key(other))
        };
        let own: Vec<usize> = (0..carries).filter(is_ready).collect();
        if own.is_empty() {
            return None;
        }
        own.iter().for_each(|&carry| _ = stage_of.insert(carry, stages.len()));
        stages.push(own);
    }
    let stage_of_result = |result: usize| match result < carries {
        true => stage_of[&result],
        false => needs[result].iter().map(|carry| stage_of[carry]).max().unwrap_or(0),
    };
    let mut arrays: BTreeMap<usize, BufferId> = BTreeMap::new();
    let mut found = Vec::new();
    for (number, own) in stages.iter().enumerate() {
        let here: Vec<usize> = (carries..results.len()).filter(|&result| stage_of_result(result) == number).collect();
        // The carries into the steps, where later loops need them.
        let is_wanted_later = |carry: &&usize| {
            (0..results.len()).any(|result| stage_of_result(result) > number && needs[result].contains(carry))
        };
        let kept: Vec<usize> = own.iter().filter(is_wanted_later).copied().collect();
        let mut stage = part(sequence, own, &here, &kept, &arrays);
        for &carry in &kept {
            let id = next + arrays.len() as BufferId;
            arrays.insert(carry, id);
            stage.outputs.push(id);
        }
        found.push(stage);
    }
    let mut ids: Vec<(BufferId, DType)> = arrays.iter().map(|(&carry, &id)| (id, sequence.carried[carry])).collect();
    ids.sort_unstable_by_key(|&(id, _)| id);
    Some((found, ids.into_iter().map(|(_, dtype)| dtype).collect()))
}

/// A loop of some carries and outputs, with the carries into its steps as further outputs. Carries of earlier loops are arrays.
fn part(
    sequence: &Sequence,
    own: &[usize],
    outputs: &[usize],
    kept: &[usize],
    arrays: &BTreeMap<usize, BufferId>,
) -> Sequence {
    let all = &sequence.recurrence.results;
    let results = own.iter().chain(outputs).map(|&result| all[result]);
    let results: Vec<StepOperand> = results.chain(kept.iter().map(|&carry| StepOperand::Carry(carry))).collect();
    let needed = sequence.needed(&results);
    let mut inputs = sequence.inputs.clone();
    let mut moved: BTreeMap<usize, StepOperand> = BTreeMap::new();
    for (&carry, &id) in arrays {
        moved.insert(carry, StepOperand::Input(inputs.len()));
        inputs.push(LoopArgument { id, dtype: sequence.carried[carry], slice: sequence.places });
    }
    moved.extend(own.iter().enumerate().map(|(at, &carry)| (carry, StepOperand::Carry(at))));
    let mut steps: Vec<StepInstruction> = Vec::new();
    let mut places: BTreeMap<usize, usize> = BTreeMap::new();
    let replaced = |operand: StepOperand, places: &BTreeMap<usize, usize>| match operand {
        StepOperand::Carry(carry) => moved[&carry],
        StepOperand::Step(step) => StepOperand::Step(places[&step]),
        other => other,
    };
    for (at, instruction) in sequence.recurrence.steps.iter().enumerate().filter(|&(at, _)| needed.steps[at]) {
        let operands = instruction.operands.iter().map(|&operand| replaced(operand, &places)).collect();
        places.insert(at, steps.len());
        steps.push(StepInstruction { operands, ..instruction.clone() });
    }
    let results = results.iter().map(|&operand| replaced(operand, &places)).collect();
    Sequence {
        recurrence: Recurrence { shape: sequence.recurrence.shape.clone(), steps, results },
        first: own.iter().map(|&carry| sequence.first[carry]).collect(),
        carried: own.iter().map(|&carry| sequence.carried[carry]).collect(),
        last: own.iter().map(|&carry| sequence.last[carry]).collect(),
        outputs: outputs.iter().map(|&result| sequence.outputs[result - sequence.carries()]).collect(),
        inputs,
        captures: sequence.captures.clone(),
        ..*sequence
    }
}
