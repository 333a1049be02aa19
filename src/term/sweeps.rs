//! Loops whose tape is the engine's: while loops, and loops that recompute values instead of keeping them.

use crate::shape::{DType, Type};
use crate::term::body::{Body, Widened};
use crate::term::infer::Types;
use crate::term::op::{Build, Extension, Never};
use std::ops::Range;
use std::sync::Arc;

/// The values that a loop keeps of its steps for its derivative; the others are recomputed. Values and derivatives are the same
/// for every choice.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Checkpoints {
    /// All values that the derivative of any step needs.
    All,
    /// The carries before every so many steps, at least one. From there the steps up to the next checkpoint are run again, and
    /// keep everything that their derivatives need.
    Every(usize),
    /// The carries before at most so many steps at a time, at least one; the first is the loop's beginning. They are placed
    /// where the fewest steps are run again (Griewank and Walther's binomial schedule): to go back over n ≤ C(s + r, s) steps
    /// with s snapshots, r n − C(s + r, r − 1) steps are run in addition to the n steps that keep everything, one at a time.
    Snapshots(usize),
    /// As [`Checkpoints::All`], while that takes at most so many bytes. Otherwise half of the bytes hold as many snapshots as
    /// fit, and the other half the complete values of as many steps at a time as fit; at least one of each.
    Bytes(usize),
}

/// How many steps a loop has.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Steps<X = Never> {
    /// So many.
    Count(usize),
    /// Steps run while this body results in `true`. Its parameters are the first sweep's carries; it has the captures of all
    /// bodies.
    While(Arc<Body<X>>),
}

/// One pass over the steps of a loop.
///
/// The body's parameters are the sweep's carries, one slice of each of its inputs, and the values that it reads of those that
/// earlier sweeps kept of the same step; all bodies have the same captures. Its results are the next carries, the values that
/// it keeps of the step, and one slice of each output.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Sweep<X = Never> {
    /// One step.
    pub body: Arc<Body<X>>,
    /// Number of carries.
    pub carries: usize,
    /// Number of inputs that are read step by step; none in a loop with a condition.
    pub inputs: usize,
    /// An earlier sweep, and a position among the values that it keeps of a step. Each pair occurs once in the whole loop.
    pub reads: Vec<(usize, usize)>,
    /// Number of values that are kept of a step.
    pub keeps: usize,
}

impl<X: Extension> Sweep<X> {
    /// Number of outputs that are written step by step; none in a loop with a condition.
    pub fn outputs(&self) -> usize {
        self.body.results.len() - self.carries - self.keeps
    }
}

/// A loop that is swept several times, forwards and backwards in turn.
///
/// Values that a sweep keeps of a step are read by later sweeps at the same step. This is how the derivative of such a loop is
/// such a loop again: the gradient of a loop of one sweep has a second one, which goes back over the steps with the cotangents.
/// The number of steps need not be known in advance: kept values never leave the loop, and the engine stores or recomputes
/// them, as [`Checkpoints`] say. A loop and its derivative, which goes over the steps anew, share only the last carries that
/// steps change by writes: the derivative takes these writes back, so a step keeps the elements that it writes over. (The
/// engine for processors runs the steps once for both.)
///
/// The operands are, for each sweep, its first carries and its inputs (with a new outer axis of the number of steps), and
/// then the captures of all bodies. The outputs are, for each sweep, its last carries and its stacked outputs.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Sweeps<X = Never> {
    /// The number of steps.
    pub steps: Steps<X>,
    /// The first goes over the steps in their order, the second in the opposite one, and so on.
    pub sweeps: Vec<Sweep<X>>,
    /// Whether step 0 reads and writes the last slice, and so on downwards.
    pub reverse: bool,
    /// The values kept of the steps.
    pub checkpoints: Checkpoints,
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
    pub fn read_later(&self, sweep: usize) -> Vec<bool> {
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
