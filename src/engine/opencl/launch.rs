//! A run of kernels: launches in their order.

use super::code::{Action, DeviceCode, Grid, Inner, KernelArray, actions};
use super::devices::{Device, DeviceLimits};
use super::driver::{DeviceKernel, KernelArgument};
use super::failure::{DeviceProblem, DeviceResult};
use super::memory::{DeviceShare, DeviceView};
use super::running::{Launcher, RunningLoop, Views};
use super::space::{DeviceSpace, DeviceStepSpace};
use crate::kernel::{BufferId, Conditional, Step};
use crate::source::plan;
use crate::term::schedule;
use std::cell::RefCell;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The kernels of a program: a part of those in their source.
#[derive(Debug)]
pub(super) struct Kernels {
    /// The number of the first in the source.
    pub(super) first: usize,
    /// Each holds the operands of its next launch, so that one thread at a time may have it.
    pub(super) all: Mutex<Vec<DeviceKernel>>,
    /// Their names in the source.
    pub(super) names: Vec<String>,
}

/// A kernel whose groups are larger than the device has registers for.
#[derive(Debug)]
pub(super) struct GroupTooLarge {
    /// Work items of a group that there are registers for.
    most: usize,
    pub(super) problem: DeviceProblem,
}

impl GroupTooLarge {
    /// The limit for groups that a program is written for next, after another one: half of it, and so on until there are
    /// registers for it.
    pub(super) fn smaller(&self, limit: usize) -> Option<usize> {
        std::iter::successors(Some(limit / 2), |limit| Some(limit / 2))
            .take_while(|&limit| limit > 0)
            .find(|&limit| limit <= self.most)
    }
}

impl Kernels {
    /// Checks that a device can launch all of these as the code requires. Among kernels whose groups are too large, it returns
    /// the one with the fewest registers.
    ///
    /// # Errors
    ///
    /// When a kernel needs more local memory than the device has, more work items than it can count, or more arrays than can be
    /// passed.
    pub(super) fn check(&self, code: &DeviceCode, device: &Device) -> DeviceResult<Option<GroupTooLarge>> {
        let mut outcome: DeviceResult<Option<GroupTooLarge>> = Ok(None);
        actions(code, &mut |action| {
            if let (Ok(found), Action::Launch { kernel, grid, operands, numbers }) = (&mut outcome, action) {
                match self.check_launch(kernel - self.first, *grid, (operands.len(), numbers.len()), device) {
                    Ok(Some(other)) if found.as_ref().is_none_or(|found| other.most < found.most) => {
                        *found = Some(other)
                    }
                    Ok(_) => {}
                    Err(problem) => outcome = Err(problem),
                }
            }
        });
        outcome
    }

    fn check_launch(
        &self,
        at: usize,
        grid: Grid,
        (operands, numbers): (usize, usize),
        device: &Device,
    ) -> DeviceResult<Option<GroupTooLarge>> {
        let (Grid { items, group }, limits) = (grid, device.limits);
        let kernel = &self.lock()[at];
        let problem = |text: String| DeviceProblem::Unsupported(format!("kernel {} {text}", self.names[at]));
        if items.checked_next_multiple_of(group).is_none_or(|all| all > limits.items) {
            return Err(problem(format!("has {items} work items, and no more than {} can be launched", limits.items)));
        }
        if DeviceLimits::bytes_of(operands) + 8 * numbers > limits.parameters {
            let room = limits.most_arrays();
            return Err(problem(format!("takes {operands} arrays, and no more than {room} can be passed to one")));
        }
        let local = kernel.local_memory(device.id)?;
        if local > device.local_memory {
            return Err(problem(format!(
                "takes {local} bytes of local memory, and a group has {}",
                device.local_memory
            )));
        }
        let most = kernel.largest_group(device.id)?.min(limits.kernel_group);
        let text = || format!("runs in groups of {group} work items, and there are registers for {most}");
        Ok((most < group).then(|| GroupTooLarge { most, problem: problem(text()) }))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<DeviceKernel>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a> Launcher<'a> {
    pub(super) fn new(shared: &'a DeviceShare, kernels: &'a Kernels) -> Launcher<'a> {
        Launcher { shared, first: kernels.first, kernels: RefCell::new(kernels.lock()) }
    }

    fn launch<'v>(
        &self,
        kernel: usize,
        Grid { items, group }: Grid,
        operands: impl ExactSizeIterator<Item = DeviceView<'v>>,
        numbers: &[i64],
    ) -> DeviceResult<()> {
        let kernel = &mut self.kernels.borrow_mut()[kernel - self.first];
        let operands =
            operands.flat_map(|place| [KernelArgument::Memory(place.memory), KernelArgument::Number(place.at as i64)]);
        let mut told = 0;
        for (at, argument) in operands.chain(numbers.iter().map(|&number| KernelArgument::Number(number))).enumerate() {
            told += u64::from(kernel.set(at, argument)?);
        }
        self.shared.counters.told.fetch_add(told, Ordering::Relaxed);
        self.shared.counters.launches.fetch_add(1, Ordering::Relaxed);
        let sizes = (items.div_ceil(group) * group, group);
        self.shared.observed(|is_observed| {
            // SAFETY: the kernel's operands are memory of the sizes that it was written for; work items beyond `items` do
            // nothing.
            unsafe { self.shared.queue.launch(kernel, sizes, is_observed) }
        })
    }
}

impl Launcher<'_> {
    /// Launches everything that a procedure does.
    pub(super) fn run(
        &self,
        code: &DeviceCode,
        space: &mut DeviceSpace,
        arguments: &[DeviceView<'_>],
        results: &[DeviceView<'_>],
    ) -> DeviceResult<()> {
        let DeviceSpace { slots, constants, steps } = space;
        let (slots, constants) = (&*slots, &*constants);
        // Where a buffer is: loops run a procedure again and again, in which most of them are in the same place.
        let at = |id: BufferId| match code.places[id as usize] {
            plan::BufferBinding::Argument(position) => arguments[position],
            plan::BufferBinding::Result(position) => results[position],
            plan::BufferBinding::Slot(slot) => DeviceView::from(&slots[slot]),
            plan::BufferBinding::Constant(id) => DeviceView::from(&constants[&id]),
            plan::BufferBinding::Unused => unreachable!("what a step touches has a place"),
        };
        let all = |ids: &[BufferId]| ids.iter().map(|&id| at(id)).collect::<Views<'_>>();
        for ((inner, step), own) in code.steps.iter().zip(&code.procedure.steps).zip(steps) {
            match (inner, step, own) {
                (Inner::Actions(actions), ..) => {
                    self.shared.begin(actions);
                    for action in actions {
                        let operand = |operand: &KernelArray| match *operand {
                            KernelArray::Buffer(id) => at(id),
                            KernelArray::Slot(slot) => DeviceView::from(&slots[slot]),
                        };
                        match action {
                            Action::Launch { kernel, grid, operands, numbers } => {
                                self.launch(*kernel, *grid, operands.iter().map(operand), numbers)?;
                            }
                            Action::Fill { to, count, value } => self.shared.fill(operand(to), *count, *value)?,
                        }
                    }
                }
                (Inner::Call { code, arguments, results }, _, DeviceStepSpace::Procedure(space)) => {
                    self.run(code, space, &all(arguments), &all(results))?;
                }
                (Inner::Loop(step), Step::Loop(repeated), DeviceStepSpace::Loop(space, others)) => {
                    let (arguments, results) = (all(&repeated.arguments), all(&repeated.results));
                    self.repeated(code, repeated, (step, space, others), (&arguments, &results))?;
                }
                (Inner::Branch(sides), Step::Branch(branch), DeviceStepSpace::Branch([yes, no])) => {
                    let [then, otherwise] = &**sides;
                    let Conditional { condition, arguments, results, changed, .. } = &**branch;
                    for &(argument, result) in changed {
                        let (from, to) = (arguments[argument], results[result]);
                        let ty = code.ty(to);
                        self.shared.copy_apart(at(from), at(to), ty.dtype, ty.size())?;
                    }
                    let (side, space) = match self.shared.holds(at(*condition), 1, || Ok(()))?[0] {
                        true => (then, yes),
                        false => (otherwise, no),
                    };
                    self.run(side, space, &all(arguments), &all(results))?;
                }
                (Inner::Sweeps(inside), Step::Sweeps(lowered), DeviceStepSpace::Sweeps(space)) => {
                    let operands = (all(&lowered.arguments), all(&lowered.results));
                    let mut running = RunningLoop::new(self, (code, lowered, inside), space, operands);
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

    /// The message of a problem with the kernel above.
    fn said(problem: DeviceProblem) -> String {
        let text = problem.error("a device", "compile", None).to_string();
        text.strip_prefix("compile on a device: kernel one ").expect("the kernel's name").to_string()
    }

    #[test]
    fn what_a_device_does_not_launch_is_an_error_that_says_why() {
        let Some(device) = all().unwrap().first() else { return };
        let shared = DeviceShare::of(device).unwrap();
        let kernel = DeviceKernel::new(&shared.build(SOURCE, None).unwrap(), "one").unwrap();
        let kernels = Kernels { first: 0, all: Mutex::new(vec![kernel]), names: vec!["one".into()] };
        let check = |items, group, operands, device: &Device| {
            kernels.check_launch(0, Grid { items, group }, (operands, 0), device)
        };
        let refused = |items, operands, device: &Device| said(check(items, 64, operands, device).unwrap_err());
        assert!(check(1000, 64, 1, device).unwrap().is_none());
        let text = refused(usize::MAX - 1, 1, device);
        assert!(text.starts_with("has 18446744073709551614 work items"), "{text}");
        let text = refused(1000, device.limits.parameters, device);
        assert!(text.contains("arrays, and no more than"), "{text}");
        let mut small = device.clone();
        small.limits.items = 1000;
        assert_eq!(refused(1000, 1, &small), "has 1000 work items, and no more than 1000 can be launched");
        small = device.clone();
        small.local_memory = 100;
        let text = refused(1000, 1, &small);
        assert!(text.ends_with("bytes of local memory, and a group has 100"), "{text}");
        let large = check(1 << 40, 1 << 30, 1, device).unwrap().unwrap();
        let text = said(large.problem);
        assert!(text.starts_with("runs in groups of 1073741824 work items"), "{text}");
        small = device.clone();
        small.limits.kernel_group = 63;
        let large = check(1000, 64, 1, &small).unwrap().unwrap();
        assert_eq!(large.most, 63);
        assert_eq!(said(large.problem), "runs in groups of 64 work items, and there are registers for 63");
    }

    #[test]
    fn groups_are_halved_until_there_are_registers_for_them() {
        let smaller =
            |limit, most| GroupTooLarge { most, problem: DeviceProblem::Unsupported(String::new()) }.smaller(limit);
        for (limit, most, expected) in [
            (1024, 1023, Some(512)),
            (1024, 512, Some(512)),
            (1024, 100, Some(64)),
            (96, 50, Some(48)),
            (96, 47, Some(24)),
        ] {
            assert_eq!(smaller(limit, most), expected, "{limit} {most}");
        }
        assert_eq!(smaller(256, 1), Some(1));
        // Not even one work item, and groups that are no smaller.
        assert_eq!([smaller(256, 0), smaller(1, 0), smaller(1, 1)], [None; 3]);
    }
}
