//! A run of kernels: launches in their order.

use super::code::{Action, Code, Grid, Inner, Operand};
use super::devices::Device;
use super::failure::{Outcome, Problem};
use super::loops::Running;
use super::memory::Place;
use super::report::actions;
use super::shared::Shared;
use super::space::{Space, StepSpace};
use crate::kernel::{Branch, BufferId, Step};
use crate::shape::Type;
use crate::source::plan;
use crate::term::schedule;
use ocl::core::{self, ArgVal, Kernel, KernelWorkGroupInfo, KernelWorkGroupInfoResult};

/// The kernels of a program: a part of those in their source.
#[derive(Debug)]
pub(super) struct Kernels {
    /// The number of the first in the source.
    pub(super) first: usize,
    pub(super) all: Vec<Kernel>,
    /// Their names in the source.
    pub(super) names: Vec<String>,
}

impl Kernels {
    /// Checks that a device launches all of these as code asks for.
    ///
    /// # Errors
    ///
    /// Of a kernel whose groups are larger than the device has room for, or that has more work items than it counts.
    pub(super) fn check(&self, code: &Code, device: &Device) -> Outcome<()> {
        let mut outcome = Ok(());
        actions(code, &mut |action| {
            if let (Ok(()), Action::Launch { kernel, grid, .. }) = (&outcome, action) {
                outcome = self.check_launch(kernel - self.first, *grid, device);
            }
        });
        outcome
    }

    fn check_launch(&self, at: usize, Grid { items, group }: Grid, device: &Device) -> Outcome<()> {
        let name = &self.names[at];
        let most = device.limits.items;
        if items.checked_next_multiple_of(group).is_none_or(|all| all > most) {
            let text = format!("kernel {name} has {items} work items, and no more than {most} can be launched");
            return Err(Problem::Unsupported(text));
        }
        match core::get_kernel_work_group_info(&self.all[at], device.id, KernelWorkGroupInfo::WorkGroupSize)? {
            KernelWorkGroupInfoResult::WorkGroupSize(most) if most < group => {
                let text = format!("kernel {name} runs in groups of {group}, and its registers have room for {most}");
                Err(Problem::Unsupported(text))
            }
            _ => Ok(()),
        }
    }
}

/// What launches kernels.
pub(super) struct Launcher<'a> {
    pub(super) shared: &'a Shared,
    pub(super) kernels: &'a Kernels,
}

impl Launcher<'_> {
    fn launch(&self, kernel: usize, Grid { items, group }: Grid, operands: impl Iterator<Item = Place>) -> Outcome<()> {
        let kernel = &self.kernels.all[kernel - self.kernels.first];
        for (at, place) in operands.enumerate() {
            let offset = place.at as i64;
            core::set_kernel_arg(kernel, 2 * at as u32, ArgVal::mem(&place.memory))?;
            core::set_kernel_arg(kernel, 2 * at as u32 + 1, ArgVal::scalar(&offset))?;
        }
        let global = items.div_ceil(group) * group;
        let (global, group) = ([global, 1, 1], Some([group, 1, 1]));
        self.shared.observed(|event| {
            // SAFETY: the kernel's operands are memory of the sizes that it was written for; work items beyond `items` do
            // nothing.
            unsafe { core::enqueue_kernel(&self.shared.queue, kernel, 1, None, &global, group, None::<()>, event) }
        })
    }

    /// Launches everything that a procedure does.
    pub(super) fn run(&self, code: &Code, space: &mut Space, arguments: &[Place], results: &[Place]) -> Outcome<()> {
        let place = |place: &plan::Place| match *place {
            plan::Place::Argument(position) => Some(arguments[position].clone()),
            plan::Place::Result(position) => Some(results[position].clone()),
            plan::Place::Slot(slot) => Some(space.slots[slot].clone()),
            plan::Place::Constant(id) => Some(space.constants[&id].clone()),
            plan::Place::Unused => None,
        };
        let places: Vec<Option<Place>> = code.places.iter().map(place).collect();
        let at = |id: BufferId| places[id as usize].clone().expect("what a step touches has a place");
        let all = |ids: &[BufferId]| ids.iter().map(|&id| at(id)).collect::<Vec<Place>>();
        for ((inner, step), own) in code.steps.iter().zip(&code.procedure.steps).zip(&mut space.steps) {
            match (inner, step, own) {
                (Inner::Actions(actions), ..) => {
                    self.shared.begin(actions);
                    for action in actions {
                        match action {
                            Action::Launch { kernel, grid, operands } => {
                                let operand = |operand: &Operand| match *operand {
                                    Operand::Buffer(id) => at(id),
                                    Operand::Slot(slot) => space.slots[slot].clone(),
                                };
                                self.launch(*kernel, *grid, operands.iter().map(operand))?;
                            }
                            Action::Fill { to, value } => self.shared.fill(&at(*to), code.ty(*to).size(), *value)?,
                        }
                    }
                }
                (Inner::Call { code, arguments, results }, _, StepSpace::Procedure(space)) => {
                    self.run(code, space, &all(arguments), &all(results))?;
                }
                (Inner::Loop(step), Step::Loop(repeated), StepSpace::Loop(space, others)) => {
                    let sizes = |ids: &[BufferId]| ids.iter().map(|&id| code.ty(id).clone()).collect::<Vec<Type>>();
                    let (arguments, results) = (all(&repeated.arguments), all(&repeated.results));
                    let types = (sizes(&repeated.arguments), sizes(&repeated.results));
                    self.repeated(repeated, (step, space), others, (&arguments, &results), &types)?;
                }
                (Inner::Branch([then, otherwise]), Step::Branch(branch), StepSpace::Branch([yes, no])) => {
                    let Branch { condition, arguments, results, .. } = &**branch;
                    let (code, space) = match self.shared.holds(&at(*condition))? {
                        true => (then, yes),
                        false => (otherwise, no),
                    };
                    self.run(code, space, &all(arguments), &all(results))?;
                }
                (Inner::Sweeps { condition, bodies }, Step::Sweeps(lowered), StepSpace::Sweeps(space)) => {
                    let mut running = Running {
                        launcher: self,
                        lowered,
                        condition: condition.as_ref(),
                        bodies,
                        space,
                        turns: vec![0; bodies.len()],
                        started: vec![false; bodies.len()],
                        arguments: all(&lowered.arguments),
                        results: all(&lowered.results),
                        types: lowered.results.iter().map(|&id| code.ty(id).clone()).collect(),
                        inputs: lowered.arguments.iter().map(|&id| code.ty(id).clone()).collect(),
                        from: 0,
                        taped: 0,
                    };
                    schedule::run(&mut running, bodies.len(), lowered.sweeps.checkpoints)?;
                }
                _ => unreachable!("a step, what it launches and its memory are of one kind"),
            }
        }
        for &(position, id) in &code.copied {
            let ty = code.ty(id);
            self.shared.copy(&at(id), &results[position], ty.dtype, ty.size())?;
        }
        Ok(())
    }
}
