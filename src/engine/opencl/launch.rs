//! A run of kernels: launches in their order.

use super::code::{Action, Code, Grid, Inner, Operand};
use super::failure::Outcome;
use super::loops::Running;
use super::memory::View;
use super::shared::Shared;
use super::space::{Space, StepSpace};
use crate::kernel::{Branch, BufferId, Step};
use crate::source::plan;
use crate::term::schedule;
use ocl::core::{self, ArgVal, Kernel};
use smallvec::SmallVec;
use std::cell::Cell;

/// The kernels of a program: a part of those in their source.
#[derive(Debug)]
pub(super) struct Kernels {
    /// The number of the first in the source.
    pub(super) first: usize,
    pub(super) all: Vec<Kernel>,
}

/// What launches kernels.
pub(super) struct Launcher<'a> {
    pub(super) shared: &'a Shared,
    pub(super) kernels: &'a Kernels,
    /// How often the host has waited for truth values.
    pub(super) waits: Cell<usize>,
}

/// The places of some arrays.
pub(super) type Views<'a> = SmallVec<[View<'a>; 8]>;

impl Launcher<'_> {
    fn launch<'v>(
        &self,
        kernel: usize,
        Grid { items, group }: Grid,
        operands: impl Iterator<Item = View<'v>>,
    ) -> Outcome<()> {
        let kernel = &self.kernels.all[kernel - self.kernels.first];
        for (at, place) in operands.enumerate() {
            let offset = place.at as i64;
            core::set_kernel_arg(kernel, 2 * at as u32, ArgVal::mem(place.memory))?;
            core::set_kernel_arg(kernel, 2 * at as u32 + 1, ArgVal::scalar(&offset))?;
        }
        let global = items.div_ceil(group) * group;
        // SAFETY: the kernel's operands are memory of the sizes that it was written for; work items beyond `items` do nothing.
        unsafe {
            core::enqueue_kernel(
                &self.shared.queue,
                kernel,
                1,
                None,
                &[global, 1, 1],
                Some([group, 1, 1]),
                None::<()>,
                None::<()>,
            )?;
        }
        Ok(())
    }

    /// The truth values from a place on, which are waited for, while something else is launched.
    pub(super) fn holds(
        &self,
        at: View<'_>,
        count: usize,
        meanwhile: impl FnOnce() -> Outcome<()>,
    ) -> Outcome<Vec<bool>> {
        self.waits.set(self.waits.get() + 1);
        self.shared.holds(at, count, meanwhile)
    }

    /// Launches everything that a procedure does.
    pub(super) fn run(
        &self,
        code: &Code,
        space: &mut Space,
        arguments: &[View<'_>],
        results: &[View<'_>],
    ) -> Outcome<()> {
        let Space { slots, constants, steps } = space;
        let (slots, constants) = (&*slots, &*constants);
        let place = |place: &plan::Place| match *place {
            plan::Place::Argument(position) => Some(arguments[position]),
            plan::Place::Result(position) => Some(results[position]),
            plan::Place::Slot(slot) => Some(View::from(&slots[slot])),
            plan::Place::Constant(id) => Some(View::from(&constants[&id])),
            plan::Place::Unused => None,
        };
        let places: SmallVec<[Option<View<'_>>; 32]> = code.places.iter().map(place).collect();
        let at = |id: BufferId| places[id as usize].expect("what a step touches has a place");
        let all = |ids: &[BufferId]| ids.iter().map(|&id| at(id)).collect::<Views<'_>>();
        for ((inner, step), own) in code.steps.iter().zip(&code.procedure.steps).zip(steps) {
            match (inner, step, own) {
                (Inner::Actions(actions), ..) => {
                    for action in actions {
                        match action {
                            Action::Launch { kernel, grid, operands } => {
                                let operand = |operand: &Operand| match *operand {
                                    Operand::Buffer(id) => at(id),
                                    Operand::Slot(slot) => View::from(&slots[slot]),
                                };
                                self.launch(*kernel, *grid, operands.iter().map(operand))?;
                            }
                            Action::Fill { to, value } => self.shared.fill(at(*to), code.ty(*to).size(), *value)?,
                        }
                    }
                }
                (Inner::Call { code, arguments, results }, _, StepSpace::Procedure(space)) => {
                    self.run(code, space, &all(arguments), &all(results))?;
                }
                (Inner::Loop(step), Step::Loop(repeated), StepSpace::Loop(space, others)) => {
                    let (arguments, results) = (all(&repeated.arguments), all(&repeated.results));
                    self.repeated(code, repeated, (step, space, others), (&arguments, &results))?;
                }
                (Inner::Branch([then, otherwise]), Step::Branch(branch), StepSpace::Branch([yes, no])) => {
                    let Branch { condition, arguments, results, .. } = &**branch;
                    let (code, space) = match self.holds(at(*condition), 1, || Ok(()))?[0] {
                        true => (then, yes),
                        false => (otherwise, no),
                    };
                    self.run(code, space, &all(arguments), &all(results))?;
                }
                (Inner::Sweeps(inside), Step::Sweeps(lowered), StepSpace::Sweeps(space)) => {
                    let operands = (all(&lowered.arguments), all(&lowered.results));
                    let mut running = Running::new(self, (code, lowered, inside), space, operands);
                    schedule::run(&mut running, inside.bodies.len(), lowered.sweeps.checkpoints)?;
                }
                _ => unreachable!("a step, what it launches and its memory are of one kind"),
            }
        }
        for &(position, id) in &code.copied {
            let ty = code.ty(id);
            self.shared.copy(at(id), results[position], ty.dtype, ty.size())?;
        }
        Ok(())
    }
}
