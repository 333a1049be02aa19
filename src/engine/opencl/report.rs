//! The parts of a program on a device, and where its time goes.

use super::code::{AHEAD, Action, DeviceCode, Inner, SweepsCode, first_kernel, inside};
use super::launch::Kernels;
use super::memory::bytes;
use crate::engine::report::{self, Kernel};
use crate::kernel::{Procedure, Step};
use crate::shape::{DType, Type};
use crate::term::Steps;

/// Bytes of a run's memory in addition to arguments and results, and to the values that loops keep of their steps.
pub(super) fn memory(code: &DeviceCode) -> u128 {
    let of = |ty: &Type| bytes(ty.dtype, ty.size());
    let slots = code.slots.iter().map(|slot| bytes(slot.dtype, slot.count));
    let constants = code.constants.iter().map(|(_, array)| of(&array.ty()));
    let mut total: u128 = slots.chain(constants).sum();
    for (inner, step) in code.steps.iter().zip(&code.procedure.steps) {
        total += match (inner, step) {
            (Inner::Loop(body), Step::Loop(repeated)) => {
                let carries = repeated.results[..repeated.scan.carries].iter().enumerate();
                let moving = carries.filter(|&(carry, _)| !repeated.step.changes(carry));
                memory(body) + moving.map(|(_, &id)| of(code.ty(id))).sum::<u128>()
            }
            (Inner::Sweeps(sweeps), Step::Sweeps(lowered)) => {
                let SweepsCode { condition, bodies, runs_ahead } = &**sweeps;
                let loops = &lowered.sweeps;
                let turns = (0..bodies.len()).flat_map(|sweep| {
                    let places = lowered.stays(sweep, *runs_ahead).map(|stays| if stays { 1 } else { 2 });
                    loops.operands(sweep).0.zip(places)
                });
                let turns: u128 = turns.map(|(at, places)| places * of(code.ty(lowered.arguments[at]))).sum();
                let kept = loops.sweeps.iter().flat_map(|sweep| {
                    let results = &sweep.body.results[sweep.carries..sweep.carries + sweep.keeps];
                    results.iter().map(|&id| of(sweep.body.node(id).ty()))
                });
                let kept: u128 = kept.sum();
                let inside: u128 = condition.iter().chain(bodies).map(memory).sum();
                turns + kept + inside + bytes(DType::Bool, AHEAD)
            }
            _ => inside(inner).map(memory).sum(),
        };
    }
    total
}

/// Makes the report's kernels: one for each step, named after its launches.
pub(super) struct Reporter<'a> {
    pub(super) kernels: &'a Kernels,
    /// The seconds of a call that the step with this first kernel takes, where they were measured.
    pub(super) seconds: &'a dyn Fn(usize) -> Option<f64>,
}

impl Reporter<'_> {
    /// The kernels of code that runs so many times.
    pub(super) fn kernels(&self, code: &DeviceCode, times: f64) -> Vec<Kernel> {
        let mut kernels = Vec::new();
        for (inner, step) in code.steps.iter().zip(&code.procedure.steps) {
            match (inner, step) {
                (Inner::Loop(body), Step::Loop(repeated)) => {
                    kernels.extend(self.kernels(body, times * repeated.scan.length as f64));
                }
                (Inner::Branch(sides), _) => {
                    let [then, otherwise] = &**sides;
                    kernels.extend(report::named("then", self.kernels(then, times)));
                    kernels.extend(report::named("else", self.kernels(otherwise, times)));
                }
                (Inner::Sweeps(sweeps), Step::Sweeps(lowered)) => {
                    let SweepsCode { condition, bodies, .. } = &**sweeps;
                    let times = match lowered.sweeps.steps {
                        Steps::Count(count) => times * count as f64,
                        Steps::While(_) => times,
                    };
                    let condition = condition.iter().flat_map(|condition| self.kernels(condition, times));
                    kernels.extend(report::named("while", condition.collect()));
                    for body in bodies {
                        kernels.extend(report::named("step", self.kernels(body, times)));
                    }
                }
                (Inner::Call { code, .. }, _) => kernels.extend(self.kernels(code, times)),
                (Inner::Actions(actions), step) => kernels.extend(self.step(&code.procedure, step, actions, times)),
                _ => unreachable!("a step and what it launches are of one kind"),
            }
        }
        kernels
    }

    /// A step as one kernel, whatever it launches.
    fn step(&self, procedure: &Procedure, step: &Step, actions: &[Action], times: f64) -> Option<Kernel> {
        let mut launched: Vec<usize> = Vec::new();
        for action in actions {
            if let Action::Launch { kernel, .. } = action
                && !launched.contains(kernel)
            {
                launched.push(*kernel);
            }
        }
        let launched: Vec<&str> =
            launched.into_iter().map(|kernel| &self.kernels.names[kernel - self.kernels.first][..]).collect();
        let (name, operations, bytes) = match report::step(procedure, step) {
            Some(alone) => alone,
            None => {
                // A loop that is launched as a whole.
                let parts = report::of_step(procedure, step, 1.0, &mut || None);
                let names: Vec<&str> = parts.iter().map(|part| &part.name[..]).collect();
                let sum = |of: fn(&Kernel) -> f64| report::total(parts.iter().map(of));
                (names.join("; "), sum(|part| part.operations), sum(|part| part.bytes))
            }
        };
        let name = if launched.is_empty() { name } else { format!("{}: {name}", launched.join(", ")) };
        let seconds = first_kernel(actions).and_then(self.seconds);
        Some(Kernel { name, times: times as usize, operations: operations * times, bytes: bytes * times, seconds })
    }
}
