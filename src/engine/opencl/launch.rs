//! A run of kernels: launches in their order.

use super::code::{Action, Code, Grid, Inner, Operand};
use super::devices::Device;
use super::failure::{Outcome, Problem};
use super::loops::Running;
use super::memory::View;
use super::report::actions;
use super::shared::Shared;
use super::space::{Space, StepSpace};
use crate::kernel::{Branch, BufferId, Step};
use crate::source::plan;
use crate::term::schedule;
use ocl::core::{self, ArgVal, Kernel, KernelWorkGroupInfo, KernelWorkGroupInfoResult};
use smallvec::SmallVec;
use std::sync::{Mutex, PoisonError};

/// The kernels of a program: a part of those in their source.
#[derive(Debug)]
pub(super) struct Kernels {
    /// The number of the first in the source.
    pub(super) first: usize,
    /// Each holds the operands of its next launch, so that one thread at a time may have it.
    pub(super) all: Mutex<Vec<Kernel>>,
    /// Their names in the source.
    pub(super) names: Vec<String>,
}

impl Kernels {
    /// Checks that a device launches all of these as code asks for.
    ///
    /// # Errors
    ///
    /// Of a kernel whose groups are larger than the device has registers or local memory for, that has more work items than
    /// it counts, or that takes more arrays than can be passed.
    pub(super) fn check(&self, code: &Code, device: &Device) -> Outcome<()> {
        let mut outcome = Ok(());
        actions(code, &mut |action| {
            if let (Ok(()), Action::Launch { kernel, grid, operands, numbers }) = (&outcome, action) {
                outcome = self.check_launch(kernel - self.first, *grid, (operands.len(), numbers.len()), device);
            }
        });
        outcome
    }

    fn check_launch(&self, at: usize, grid: Grid, (operands, numbers): (usize, usize), device: &Device) -> Outcome<()> {
        let (Grid { items, group }, limits) = (grid, device.limits);
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let ask = |request| core::get_kernel_work_group_info(&all[at], device.id, request);
        let refused = |text: String| Err(Problem::Unsupported(format!("kernel {} {text}", self.names[at])));
        if items.checked_next_multiple_of(group).is_none_or(|all| all > limits.items) {
            return refused(format!("has {items} work items, and no more than {} can be launched", limits.items));
        }
        // An address and an offset each.
        if 16 * operands + 8 * numbers > limits.parameters {
            let room = limits.parameters / 16;
            return refused(format!("takes {operands} arrays, and no more than {room} can be passed to one"));
        }
        match ask(KernelWorkGroupInfo::WorkGroupSize)? {
            KernelWorkGroupInfoResult::WorkGroupSize(most) if most < group => {
                return refused(format!("runs in groups of {group} work items, and there are registers for {most}"));
            }
            _ => {}
        }
        match ask(KernelWorkGroupInfo::LocalMemSize)? {
            KernelWorkGroupInfoResult::LocalMemSize(bytes) if bytes > limits.local as u64 => {
                refused(format!("takes {bytes} bytes of local memory, and a group has {}", limits.local))
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

/// The places of some arrays.
pub(super) type Views<'a> = SmallVec<[View<'a>; 8]>;

impl Launcher<'_> {
    fn launch<'v>(
        &self,
        kernel: usize,
        Grid { items, group }: Grid,
        operands: impl ExactSizeIterator<Item = View<'v>>,
        numbers: &[i64],
    ) -> Outcome<()> {
        let first_number = 2 * operands.len();
        let all = self.kernels.all.lock().unwrap_or_else(PoisonError::into_inner);
        let kernel = &all[kernel - self.kernels.first];
        for (at, place) in operands.enumerate() {
            let offset = place.at as i64;
            core::set_kernel_arg(kernel, 2 * at as u32, ArgVal::mem(place.memory))?;
            core::set_kernel_arg(kernel, 2 * at as u32 + 1, ArgVal::scalar(&offset))?;
        }
        for (at, number) in numbers.iter().enumerate() {
            core::set_kernel_arg(kernel, (first_number + at) as u32, ArgVal::scalar(number))?;
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
                    self.shared.begin(actions);
                    for action in actions {
                        let operand = |operand: &Operand| match *operand {
                            Operand::Buffer(id) => at(id),
                            Operand::Slot(slot) => View::from(&slots[slot]),
                        };
                        match action {
                            Action::Launch { kernel, grid, operands, numbers } => {
                                self.launch(*kernel, *grid, operands.iter().map(operand), numbers)?;
                            }
                            Action::Fill { to, count, value } => self.shared.fill(operand(to), *count, *value)?,
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
                    let (code, space) = match self.shared.holds(at(*condition), 1, || Ok(()))?[0] {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::opencl::devices::all;

    const SOURCE: &str = "__kernel void one(__global int *to) {
        __local int shared[256];
        shared[get_local_id(0)] = 1;
        barrier(CLK_LOCAL_MEM_FENCE);
        to[get_global_id(0)] = shared[get_local_size(0) - 1 - get_local_id(0)];
    }";

    #[test]
    fn what_a_device_does_not_launch_is_an_error_that_says_why() {
        let Some(device) = all().unwrap().first() else { return };
        let shared = Shared::of(device).unwrap();
        let kernel = core::create_kernel(&shared.build(SOURCE, None).unwrap(), "one").unwrap();
        let kernels = Kernels { first: 0, all: Mutex::new(vec![kernel]), names: vec!["one".into()] };
        let check = |items, group, operands, device: &Device| {
            kernels.check_launch(0, Grid { items, group }, (operands, 0), device).map_err(|problem| {
                let text = problem.error("a device", "compile", None).to_string();
                text.strip_prefix("compile on a device: kernel one ").expect("the kernel's name").to_string()
            })
        };
        check(1000, 64, 1, device).unwrap();
        let text = check(usize::MAX - 1, 64, 1, device).unwrap_err();
        assert!(text.starts_with("has 18446744073709551614 work items"), "{text}");
        let text = check(1 << 40, 1 << 30, 1, device).unwrap_err();
        assert!(text.starts_with("runs in groups of 1073741824 work items"), "{text}");
        let text = check(1000, 64, device.limits.parameters, device).unwrap_err();
        assert!(text.contains("arrays, and no more than"), "{text}");
        let mut small = device.clone();
        small.limits.items = 1000;
        let text = check(1000, 64, 1, &small).unwrap_err();
        assert_eq!(text, "has 1000 work items, and no more than 1000 can be launched");
        small = device.clone();
        small.limits.local = 100;
        let text = check(1000, 64, 1, &small).unwrap_err();
        assert!(text.ends_with("bytes of local memory, and a group has 100"), "{text}");
    }
}
