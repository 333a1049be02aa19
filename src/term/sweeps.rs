//! Loops whose tape is the engine's: while loops, and loops that recompute values instead of keeping them.

use crate::shape::{DType, Type};
use crate::term::body::Widened;
use crate::term::infer::Types;
use crate::term::op::{Body, Build, Checkpoints, Extension, Steps, Sweep, Sweeps};
use std::ops::Range;
use std::sync::Arc;

impl<X: Extension> Sweep<X> {
    /// Number of outputs that are written step by step; none in a loop with a condition.
    pub fn outputs(&self) -> usize {
        self.body.results.len() - self.carries - self.keeps
    }
}

impl<X: Extension> Sweeps<X> {
    /// A loop of one sweep, as users write it.
    pub(crate) fn single(
        steps: Steps<X>,
        body: Arc<Body<X>>,
        (carries, inputs): (usize, usize),
        reverse: bool,
        checkpoints: Checkpoints,
    ) -> Sweeps<X> {
        let sweep = Sweep { body, carries, inputs, reads: Vec::new(), keeps: 0 };
        Sweeps { steps, sweeps: vec![sweep], reverse, checkpoints }
    }

    /// All bodies: the condition's, if there is one, then the sweeps'.
    pub fn bodies(&self) -> impl Iterator<Item = &Arc<Body<X>>> {
        let condition = match &self.steps {
            Steps::While(condition) => Some(condition),
            Steps::Count(_) => None,
        };
        condition.into_iter().chain(self.sweeps.iter().map(|sweep| &sweep.body))
    }

    /// The same loop with other bodies, asked for in the order of [`Sweeps::bodies`].
    pub fn map_bodies<Y: Extension>(&self, mut change: impl FnMut(&Arc<Body<X>>) -> Arc<Body<Y>>) -> Sweeps<Y> {
        let steps = match &self.steps {
            Steps::Count(count) => Steps::Count(*count),
            Steps::While(condition) => Steps::While(change(condition)),
        };
        let changed = |sweep: &Sweep<X>| Sweep {
            body: change(&sweep.body),
            carries: sweep.carries,
            inputs: sweep.inputs,
            reads: sweep.reads.clone(),
            keeps: sweep.keeps,
        };
        let sweeps = self.sweeps.iter().map(changed).collect();
        Sweeps { steps, sweeps, reverse: self.reverse, checkpoints: self.checkpoints }
    }

    /// The positions of a sweep's carries and of its inputs among the operands.
    pub fn operands(&self, sweep: usize) -> (Range<usize>, Range<usize>) {
        let first: usize = self.sweeps[..sweep].iter().map(|sweep| sweep.carries + sweep.inputs).sum();
        let inputs = first + self.sweeps[sweep].carries;
        (first..inputs, inputs..inputs + self.sweeps[sweep].inputs)
    }

    /// The position of the first capture among the operands.
    pub fn captures(&self) -> usize {
        // A loop that was not checked yet may have any counts.
        self.sweeps.iter().fold(0, |sum: usize, sweep| sum.saturating_add(sweep.carries).saturating_add(sweep.inputs))
    }

    /// The positions of a sweep's last carries and of its stacked outputs among the outputs.
    pub fn results(&self, sweep: usize) -> (Range<usize>, Range<usize>) {
        let first: usize = self.sweeps[..sweep].iter().map(|sweep| sweep.carries + sweep.outputs()).sum();
        let outputs = first + self.sweeps[sweep].carries;
        (first..outputs, outputs..outputs + self.sweeps[sweep].outputs())
    }

    /// Which of a sweep's kept values later sweeps read.
    pub(crate) fn read_later(&self, sweep: usize) -> Vec<bool> {
        let mut read = vec![false; self.sweeps[sweep].keeps];
        let reads = self.sweeps[sweep..].iter().flat_map(|later| &later.reads);
        reads.filter(|(from, _)| *from == sweep).for_each(|&(_, kept)| read[kept] = true);
        read
    }

    /// The types of the outputs.
    pub(crate) fn output_types(&self, operands: &[&Type]) -> Result<Types, String> {
        let Some(first) = self.sweeps.first() else { return Err("a loop has a sweep".into()) };
        if operands.len() < self.captures() {
            return Err(format!("takes {} carries and inputs", self.captures()));
        }
        let captures = || operands[self.captures()..].iter().map(|&ty| ty.clone());
        if let Steps::While(condition) = &self.steps {
            let expected: Vec<Type> =
                operands[..first.carries].iter().map(|&ty| ty.clone()).chain(captures()).collect();
            super::infer::signature("loop's condition", condition, first.carries, &expected)?;
            let types: Vec<&Type> = condition.result_types().collect();
            if types != [&Type::scalar(DType::Bool)] {
                return Err(format!("the loop's condition results in a rank-0 bool, not {types:?}"));
            }
        }
        let mut outputs = Types::new();
        let mut seen: Vec<(usize, usize)> = Vec::new();
        for (at, sweep) in self.sweeps.iter().enumerate() {
            let (carries, inputs) = self.operands(at);
            let mut expected: Vec<Type> = operands[carries].iter().map(|&ty| ty.clone()).collect();
            for &input in &operands[inputs] {
                let mut slice = input.clone();
                match self.steps {
                    Steps::Count(count) if slice.shape.first() == Some(&count) => slice.shape.remove(0),
                    Steps::Count(count) => {
                        return Err(format!("an input of shape {:?} in a loop of {count} steps", &input.shape[..]));
                    }
                    Steps::While(_) => return Err("a loop with a condition reads no inputs".into()),
                };
                expected.push(slice);
            }
            for &(from, kept) in &sweep.reads {
                let earlier = self.sweeps[..at].get(from).filter(|earlier| kept < earlier.keeps);
                let Some(earlier) = earlier else { return Err(format!("nothing is kept at {from}.{kept}")) };
                if seen.contains(&(from, kept)) {
                    return Err(format!("what is kept at {from}.{kept} is read twice"));
                }
                seen.push((from, kept));
                let result = earlier.body.results[earlier.carries + kept];
                expected.push(earlier.body.node(result).ty().clone());
            }
            expected.extend(captures());
            let parameters = sweep.carries + sweep.inputs + sweep.reads.len();
            super::infer::signature("sweep's body", &sweep.body, parameters, &expected)?;
            let types: Vec<&Type> = sweep.body.result_types().collect();
            if types.len() < sweep.carries.saturating_add(sweep.keeps) {
                return Err(format!("the body of sweep {at} returns {} values", types.len()));
            }
            for (carry, &ty) in types[..sweep.carries].iter().enumerate() {
                if *ty != expected[carry] {
                    return Err(format!("carry {carry} is {} before a step and {ty} after it", expected[carry]));
                }
                outputs.push(ty.clone());
            }
            for &ty in &types[sweep.carries + sweep.keeps..] {
                let Steps::Count(count) = self.steps else {
                    return Err("a loop with a condition has no outputs but its carries".into());
                };
                let mut stacked = ty.clone();
                stacked.shape.insert(0, count);
                outputs.push(stacked);
            }
        }
        Ok(outputs)
    }
}

impl Sweeps {
    /// The loop as one of the source language.
    pub(crate) fn widen(&self) -> Sweeps<Build> {
        let mut known = Widened::default();
        self.map_bodies(|body| known.of(body))
    }
}

/// C(s + r, s): how many steps s snapshots reach when none is run more than r times in advance.
fn reach(snapshots: usize, times: usize) -> usize {
    let (mut product, few) = (1u128, snapshots.min(times) as u128);
    let all = snapshots as u128 + times as u128;
    for k in 1..=few {
        product = product * (all - few + k) / k;
        if product > usize::MAX as u128 {
            return usize::MAX;
        }
    }
    product as usize
}

/// How many of so many steps to advance before the next snapshot, where so many may be stored, the beginning's included.
pub(crate) fn advance_by(steps: usize, snapshots: usize) -> usize {
    let mut times = 1;
    while reach(snapshots, times) < steps {
        times += 1;
    }
    let least = if times < 2 { 1 } else { reach(snapshots, times - 2) };
    steps.saturating_sub(reach(snapshots - 1, times)).max(least)
}
