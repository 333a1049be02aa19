//! Values that sweeps of one loop leave for later ones, and those that the later ones recompute.

use super::{Again, LeftValues, left_bytes};
use crate::term::{Body, Checkpoints, NodeId, Op, Steps, Sweep, Sweeps};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Steps of a loop that ends by a condition, for the choice alone.
const STEPS: usize = 1024;

/// A loop whose later sweeps compute values again, and which of the operands before are its operands.
pub(super) struct ChangedSweeps {
    pub(super) sweeps: Sweeps,
    pub(super) operands: Vec<usize>,
}

/// The loops of a program whose sweeps recompute values that are cheaper to compute than to move.
pub(super) fn recomputed(body: &Body, left: usize) -> HashMap<NodeId, ChangedSweeps> {
    let mut found = HashMap::new();
    for (id, node) in (0..).zip(&body.nodes) {
        if let Op::Sweeps(sweeps) = &node.op
            && let Some(changed) = of(sweeps, node.args.len(), left)
        {
            found.insert(id, changed);
        }
    }
    found
}

fn of(sweeps: &Sweeps, operands: usize, left: usize) -> Option<ChangedSweeps> {
    let mut changed = ChangedSweeps { sweeps: sweeps.clone(), operands: (0..operands).collect() };
    let mut any = false;
    for reader in 1..sweeps.sweeps.len() {
        let mut earlier: Vec<usize> = sweeps.sweeps[reader].reads.iter().map(|&(first, _)| first).collect();
        earlier.sort_unstable();
        earlier.dedup();
        for first in earlier {
            any |= changed.compute(first, reader, left);
        }
    }
    any.then_some(changed)
}

impl ChangedSweeps {
    /// Lets a sweep recompute some of the values that it reads from an earlier one, if more than `left` bytes are kept for them
    /// at a time.
    fn compute(&mut self, first: usize, reader: usize, left: usize) -> bool {
        let (before, later) = (&self.sweeps.sweeps[first], &self.sweeps.sweeps[reader]);
        let step = before.body.clone();
        let own = later.carries + later.inputs;
        let mut replaced: Vec<(usize, NodeId)> = Vec::new();
        for (at, &(from, kept)) in later.reads.iter().enumerate() {
            if from == first {
                replaced.push((own + at, step.results[before.carries + kept]));
            }
        }
        let mut reads = BTreeMap::new();
        replaced.iter().for_each(|&(_, value)| *reads.entry(value).or_insert(0) += 1);
        let bytes = left_bytes(&step, &reads, 1);
        if self.steps(bytes).saturating_mul(bytes) <= left {
            return false;
        }
        let kept: Vec<NodeId> = reads.keys().copied().collect();
        let is_there = |at: usize| at < before.carries + before.inputs || at >= step.parameters;
        let left = LeftValues { step: &step, carries: before.carries, kept: &kept, reads };
        let Some(choice) = left.choice(is_there) else { return false };
        let carries: Vec<NodeId> = choice.carries.iter().map(|&carry| carry as NodeId).collect();
        let captures = (step.parameters..step.arity()).zip(later.body.parameters..);
        let again = Again {
            before: &step,
            choice: &choice,
            added: vec![
                (own, (before.carries..before.carries + before.inputs).map(|at| at as NodeId).collect()),
                (later.body.parameters, carries.clone()),
            ],
            captured: Vec::new(),
            known: captures
                .map(|(id, at)| (id as NodeId, at))
                .chain(replaced.iter().map(|&(at, id)| (id, at)))
                .collect(),
        };
        let body = Arc::new(again.within(&later.body, &replaced));
        let (taken, (_, inputs)) = (self.sweeps.operands(first).1, self.sweeps.operands(reader));
        let taken: Vec<usize> = self.operands[taken].to_vec();
        self.operands.splice(inputs.end..inputs.end, taken);
        let before = &mut self.sweeps.sweeps[first];
        let keeps = before.keeps;
        let mut results = step.results.clone();
        let end = before.carries + keeps;
        results.splice(end..end, carries.iter().copied());
        before.body = Arc::new(Body { results, ..Body::clone(&step) });
        before.keeps += carries.len();
        let inputs = before.inputs;
        let later = &mut self.sweeps.sweeps[reader];
        later.reads.extend((keeps..).map(|kept| (first, kept)).take(carries.len()));
        *later = Sweep { body, inputs: later.inputs + inputs, ..later.clone() };
        true
    }

    /// The number of steps whose values are all kept at a time, where a step keeps so many bytes.
    fn steps(&self, bytes: usize) -> usize {
        let all = match self.sweeps.steps {
            Steps::Count(count) => count,
            Steps::While(_) => STEPS,
        };
        match self.sweeps.checkpoints {
            Checkpoints::All => all,
            Checkpoints::Every(steps) => steps.min(all),
            Checkpoints::Snapshots(_) => 1,
            Checkpoints::Bytes(most) if all.saturating_mul(bytes) <= most => all,
            Checkpoints::Bytes(most) => (most / 2 / bytes.max(1)).max(1),
        }
    }
}
