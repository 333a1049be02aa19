//! Drops everything without a user from loops with several sweeps: last sweeps, carries, inputs, outputs, kept values,
//! captures.

use super::{Binding, DistinctOperands, Outputs, PrunePass, live_in_steps, rebuild};
use crate::array::Array;
use crate::shape::Value;
use crate::term::{NodeId, Op, Steps, Sweep, Sweeps};
use std::sync::Arc;

/// The needed parts of a sweep.
struct Need {
    /// Of the body's nodes.
    live: Vec<bool>,
    /// Of the carries, those that change from step to step.
    carried: Vec<bool>,
    kept: Vec<bool>,
}

fn invariant(sweep: &Sweep, carry: usize) -> bool {
    sweep.body.results[carry] as usize == carry
}

/// How many are true before each.
fn running_count(flags: &[bool]) -> Vec<usize> {
    let running = flags.iter().scan(0, |count, &flag| {
        let before = *count;
        *count += usize::from(flag);
        Some(before)
    });
    running.collect()
}

/// The needed parts of each sweep, given the used outputs and the condition; a fixed point over the steps, from the last sweep
/// to the first.
fn needs(sweeps: &Sweeps, used: &[bool], condition: &[bool]) -> Vec<Need> {
    let mut found: Vec<Need> = Vec::new();
    let mut kept: Vec<Vec<bool>> = sweeps.sweeps.iter().map(|sweep| vec![false; sweep.keeps]).collect();
    for (at, sweep) in sweeps.sweeps.iter().enumerate().rev() {
        let (carries, outputs) = sweeps.results(at);
        let body = &sweep.body;
        let mut carried: Vec<bool> = carries
            .enumerate()
            .map(|(carry, output)| {
                let asked = used[output] || (at == 0 && condition.get(carry) == Some(&true));
                asked && !invariant(sweep, carry)
            })
            .collect();
        let first_output = sweep.carries + sweep.keeps;
        let of_carries = (0..sweep.carries).filter(|&carry| carried[carry]);
        let of_kept = (0..sweep.keeps).filter(|&position| kept[at][position]).map(|at| sweep.carries + at);
        let of_outputs = outputs.enumerate().filter(|&(_, output)| used[output]).map(|(at, _)| first_output + at);
        let results: Vec<NodeId> = of_carries.chain(of_kept).chain(of_outputs).map(|at| body.results[at]).collect();
        let live = live_in_steps(body, sweep.carries, results.into_iter());
        for (carry, carried) in carried.iter_mut().enumerate() {
            *carried |= live[carry] && !invariant(sweep, carry);
        }
        for (position, &(from, entry)) in sweep.reads.iter().enumerate() {
            kept[from][entry] |= live[sweep.carries + sweep.inputs + position];
        }
        found.push(Need { live, carried, kept: kept[at].clone() });
    }
    found.reverse();
    found
}

/// Which nodes of a condition it needs.
fn of_condition(sweeps: &Sweeps) -> Vec<bool> {
    match &sweeps.steps {
        Steps::While(condition) => live_in_steps(condition, 0, condition.results.iter().copied()),
        Steps::Count(_) => Vec::new(),
    }
}

/// Whether a sweep or the condition needs a capture.
fn is_captured(sweeps: &Sweeps, needs: &[Need], condition: &[bool], capture: usize) -> bool {
    let live = |(sweep, need): (&Sweep, &Need)| need.live[sweep.body.parameters + capture];
    sweeps.sweeps.iter().zip(needs).any(live) || condition.get(sweeps.sweeps[0].carries + capture) == Some(&true)
}

/// Which operands the used outputs of a loop need. Carries that are results start as something.
pub(super) fn operands(sweeps: &Sweeps, used: &[bool]) -> Vec<bool> {
    let condition = of_condition(sweeps);
    let needs = needs(sweeps, used, condition.get(..sweeps.sweeps[0].carries).unwrap_or_default());
    let mut operands = Vec::new();
    for (at, (sweep, need)) in sweeps.sweeps.iter().zip(&needs).enumerate() {
        let (carries, _) = sweeps.results(at);
        for (carry, output) in carries.enumerate() {
            let in_condition = at == 0 && condition.get(carry) == Some(&true);
            operands.push(used[output] || in_condition || need.carried[carry] || need.live[carry]);
        }
        operands.extend_from_slice(&need.live[sweep.carries..sweep.carries + sweep.inputs]);
    }
    operands.extend((0..sweeps.sweeps[0].body.captures).map(|at| is_captured(sweeps, &needs, &condition, at)));
    operands
}

impl PrunePass {
    /// A smaller loop for the used outputs; `None` if there is none.
    pub(super) fn sweeps(&mut self, sweeps: &Sweeps, args: &[NodeId], used: &[bool]) -> Option<Outputs> {
        let mut outputs: Outputs = vec![None; used.len()];
        let first_capture = sweeps.captures();
        for (at, sweep) in sweeps.sweeps.iter().enumerate() {
            let ((carries, _), (last, stacked)) = (sweeps.operands(at), sweeps.results(at));
            for (carry, output) in last.enumerate().filter(|&(_, output)| used[output]) {
                let unchanged = invariant(sweep, carry) || matches!(sweeps.steps, Steps::Count(0));
                outputs[output] = unchanged.then(|| args[carries.start + carry]);
            }
            if matches!(sweeps.steps, Steps::Count(0)) {
                for (output, ty) in stacked.zip(sweep.body.result_types().skip(sweep.carries + sweep.keeps)) {
                    let mut shape = ty.shape.clone();
                    shape.insert(0, 0);
                    let nothing = Array::full(&shape, Value::from_i64(ty.dtype, 0));
                    outputs[output] = Some(self.graph.add(Op::Constant(nothing), &[]));
                }
            }
        }
        let asked: Vec<bool> = (0..used.len()).map(|at| used[at] && outputs[at].is_none()).collect();
        if !asked.contains(&true) {
            return Some(outputs);
        }
        let condition = of_condition(sweeps);
        let first = &sweeps.sweeps[0];
        let needs = needs(sweeps, &asked, condition.get(..first.carries).unwrap_or_default());
        let wanted = |at: usize| {
            let (carries, outputs) = sweeps.results(at);
            carries.chain(outputs).any(|output| asked[output]) || needs[at].kept.contains(&true)
        };
        let count = (0..needs.len()).rposition(wanted).map_or(1, |last| last + 1);

        // Carries that stay the same become captures.
        let mut captures = DistinctOperands::default();
        let mut own: Vec<Vec<Binding>> = Vec::new();
        let (mut operands, mut sizes) = (Vec::new(), Vec::new());
        for (at, (sweep, need)) in sweeps.sweeps[..count].iter().zip(&needs).enumerate() {
            let (carries, inputs) = sweeps.operands(at);
            let mut bindings = Vec::new();
            let (mut kept_carries, mut kept_inputs, mut kept_reads) = (Vec::new(), Vec::new(), 0);
            for (carry, operand) in carries.enumerate() {
                let in_condition = at == 0 && condition.get(carry) == Some(&true);
                bindings.push(if need.carried[carry] {
                    kept_carries.push(args[operand]);
                    Binding::Carry(kept_carries.len() - 1)
                } else if need.live[carry] || in_condition {
                    self.capture(&mut captures, args[operand])
                } else {
                    Binding::Dropped
                });
            }
            for (input, operand) in inputs.enumerate() {
                bindings.push(if need.live[sweep.carries + input] {
                    kept_inputs.push(args[operand]);
                    Binding::Input(kept_inputs.len() - 1)
                } else {
                    Binding::Dropped
                });
            }
            for read in sweep.carries + sweep.inputs..sweep.body.parameters {
                bindings.push(if need.live[read] {
                    kept_reads += 1;
                    Binding::Input(kept_inputs.len() + kept_reads - 1)
                } else {
                    Binding::Dropped
                });
            }
            sizes.push((kept_carries.len(), kept_inputs.len(), kept_reads));
            operands.extend(kept_carries);
            operands.extend(kept_inputs);
            own.push(bindings);
        }
        let shared: Vec<Binding> = (first_capture..args.len())
            .map(|at| match is_captured(sweeps, &needs, &condition, at - first_capture) {
                true => self.capture(&mut captures, args[at]),
                false => Binding::Dropped,
            })
            .collect();
        let kept = |at: usize| needs[at].kept.iter().filter(|&&kept| kept).count();
        // A carry that is carried stays, whether its last value is asked for or not.
        let stays = |(at, sweep): (usize, &Sweep)| {
            let (_, mut outputs) = sweeps.results(at);
            let is_carried = needs[at].carried.iter().all(|&carried| carried);
            is_carried && outputs.all(|output| asked[output]) && kept(at) == sweep.keeps
        };
        let same = count == sweeps.sweeps.len()
            && operands.len() + captures.nodes.len() == args.len()
            && sweeps.sweeps.iter().enumerate().all(stays);
        if same {
            return None;
        }

        let types = self.types(&captures);
        let all = |own: &[Binding]| -> Vec<Binding> { own.iter().chain(&shared).cloned().collect() };
        let steps = match &sweeps.steps {
            Steps::Count(count) => Steps::Count(*count),
            Steps::While(body) => {
                let bindings = all(&own[0][..first.carries]);
                let carries = sizes[0].0;
                let body = rebuild(body, &bindings, (carries, carries), &types, &body.results);
                Steps::While(Arc::new(body))
            }
        };
        // The place of each kept entry among those that stay.
        let places: Vec<Vec<usize>> = needs.iter().map(|need| running_count(&need.kept)).collect();
        let mut smaller: Vec<Sweep> = Vec::new();
        let mut positions: Vec<Option<usize>> = vec![None; used.len()];
        let mut next = 0;
        for (at, (sweep, need)) in sweeps.sweeps[..count].iter().zip(&needs).enumerate() {
            let (carries, inputs, reads) = sizes[at];
            let (last, stacked) = sweeps.results(at);
            let mut results: Vec<NodeId> = Vec::new();
            for (carry, output) in last.enumerate().filter(|&(carry, _)| need.carried[carry]) {
                results.push(sweep.body.results[carry]);
                positions[output] = Some(next);
                next += 1;
            }
            let kept_results = (0..sweep.keeps).filter(|&position| need.kept[position]);
            results.extend(kept_results.map(|position| sweep.body.results[sweep.carries + position]));
            for (position, output) in stacked.enumerate().filter(|&(_, output)| asked[output]) {
                results.push(sweep.body.results[sweep.carries + sweep.keeps + position]);
                positions[output] = Some(next);
                next += 1;
            }
            let first_read = sweep.carries + sweep.inputs;
            let read = |(position, &(from, entry)): (usize, &(usize, usize))| {
                need.live[first_read + position].then(|| (from, places[from][entry]))
            };
            let starts = (carries, carries + inputs + reads);
            smaller.push(Sweep {
                body: Arc::new(rebuild(&sweep.body, &all(&own[at]), starts, &types, &results)),
                carries,
                inputs,
                reads: sweep.reads.iter().enumerate().filter_map(read).collect(),
                keeps: kept(at),
            });
        }
        operands.extend(captures.nodes);
        let (reverse, checkpoints) = (sweeps.reverse, sweeps.checkpoints);
        let loops = Sweeps { steps, sweeps: smaller, reverse, checkpoints };
        let node = self.graph.add(Op::Sweeps(Arc::new(loops)), &operands);
        for at in (0..used.len()).filter(|&at| asked[at]) {
            let position = positions[at].expect("what is asked for is kept");
            outputs[at] = Some(self.graph.add(Op::Output(position), &[node]));
        }
        Some(outputs)
    }
}
