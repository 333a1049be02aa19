//! A run of kernels: launches in their order, loops and conditionals as the host goes through them.

use super::devices::Shared;
use super::failure::Outcome;
use super::kernels::{Action, Code, Inner};
use super::memory::Place;
use crate::kernel::{Branch, BufferId, Loop, Step, Sweeps};
use crate::shape::{DType, Type};
use crate::source::plan;
use crate::term::Steps;
use crate::term::schedule::{self, Runner};
use ocl::core::{self, ArgVal, Kernel};
use std::collections::BTreeMap;

/// The memory of a procedure and of all inside of it.
#[derive(Debug)]
pub(super) struct Space {
    slots: Vec<Place>,
    constants: BTreeMap<BufferId, Place>,
    steps: Vec<StepSpace>,
}

/// The memory of a step.
#[derive(Debug)]
enum StepSpace {
    None,
    Procedure(Space),
    /// The other place of each carry.
    Loop(Space, Vec<Place>),
    Branch([Space; 2]),
    Sweeps(Box<SweepsSpace>),
}

#[derive(Debug)]
struct SweepsSpace {
    condition: Option<Space>,
    holds: Place,
    sweeps: Vec<SweepSpace>,
}

#[derive(Debug)]
struct SweepSpace {
    step: Space,
    /// The two places of each carry.
    turns: Vec<[Place; 2]>,
    keeps: Vec<Keep>,
    /// States that were stored.
    stored: Vec<Vec<Place>>,
}

/// A value that a sweep keeps of its steps.
#[derive(Debug)]
struct Keep {
    ty: Type,
    is_read: bool,
    /// Where it goes in steps of which nothing is kept.
    dropped: Place,
    /// Where it is of each step that is kept.
    tape: Vec<Place>,
}

impl Space {
    /// Memory for a run, and known arrays in it.
    pub(super) fn new(shared: &Shared, code: &Code) -> Outcome<Space> {
        let slots = code.slots.iter().map(|slot| shared.memory(slot.dtype, slot.count)).collect::<Outcome<_>>()?;
        let mut constants = BTreeMap::new();
        for (id, array) in &code.constants {
            let place = shared.memory(array.dtype(), array.size())?;
            shared.upload(array, &place)?;
            constants.insert(*id, place);
        }
        let steps = code.steps.iter().zip(&code.procedure.steps);
        let steps = steps.map(|(inner, step)| StepSpace::new(shared, code, inner, step)).collect::<Outcome<_>>()?;
        Ok(Space { slots, constants, steps })
    }
}

impl StepSpace {
    fn new(shared: &Shared, code: &Code, inner: &Inner, step: &Step) -> Outcome<StepSpace> {
        let memory = |ty: &Type| shared.memory(ty.dtype, ty.size());
        Ok(match (inner, step) {
            (Inner::Call { code, .. }, _) => StepSpace::Procedure(Space::new(shared, code)?),
            (Inner::Loop(step), Step::Loop(repeated)) => {
                let carries = repeated.results[..repeated.scan.carries].iter();
                let others = carries.map(|&id| memory(code.ty(id))).collect::<Outcome<_>>()?;
                StepSpace::Loop(Space::new(shared, step)?, others)
            }
            (Inner::Branch([then, otherwise]), _) => {
                StepSpace::Branch([Space::new(shared, then)?, Space::new(shared, otherwise)?])
            }
            (Inner::Sweeps { condition, bodies }, Step::Sweeps(lowered)) => {
                let loops = &lowered.sweeps;
                let mut sweeps = Vec::new();
                for (at, body) in bodies.iter().enumerate() {
                    let own = &loops.sweeps[at];
                    let (starts, _) = loops.operands(at);
                    let turns =
                        lowered.arguments[starts].iter().map(|&id| Ok([memory(code.ty(id))?, memory(code.ty(id))?]));
                    let mut keeps = Vec::new();
                    for position in 0..own.keeps {
                        let ty = own.body.node(own.body.results[own.carries + position]).ty().clone();
                        let is_read = loops.is_read(at, position);
                        keeps.push(Keep { dropped: memory(&ty)?, ty, is_read, tape: Vec::new() });
                    }
                    let turns = turns.collect::<Outcome<_>>()?;
                    sweeps.push(SweepSpace { step: Space::new(shared, body)?, turns, keeps, stored: Vec::new() });
                }
                let condition = condition.as_ref().map(|condition| Space::new(shared, condition)).transpose()?;
                let holds = shared.memory(DType::Bool, 1)?;
                StepSpace::Sweeps(Box::new(SweepsSpace { condition, holds, sweeps }))
            }
            _ => StepSpace::None,
        })
    }
}

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
}

/// Work items of a group, where the kernel does not ask for its number.
const GROUP: usize = 64;

impl Launcher<'_> {
    fn launch(&self, kernel: usize, items: usize, operands: impl Iterator<Item = Place>) -> Outcome<()> {
        let kernel = &self.kernels.all[kernel - self.kernels.first];
        for (at, place) in operands.enumerate() {
            let offset = place.at as i64;
            core::set_kernel_arg(kernel, 2 * at as u32, ArgVal::mem(&place.memory))?;
            core::set_kernel_arg(kernel, 2 * at as u32 + 1, ArgVal::scalar(&offset))?;
        }
        let global = items.div_ceil(GROUP) * GROUP;
        // SAFETY: the kernel's operands are memory of the sizes that it was written for; work items beyond `items` do nothing.
        unsafe {
            core::enqueue_kernel(
                &self.shared.queue,
                kernel,
                1,
                None,
                &[global, 1, 1],
                Some([GROUP, 1, 1]),
                None::<()>,
                None::<()>,
            )?;
        }
        Ok(())
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
                    for action in actions {
                        match action {
                            Action::Launch { kernel, items, operands } => {
                                self.launch(*kernel, *items, operands.iter().map(|&id| at(id)))?;
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

    /// A loop of so many steps. What it carries is in the result and in another place in turns, so that the last step writes
    /// to the result.
    fn repeated(
        &self,
        repeated: &Loop,
        (step, space): (&Code, &mut Space),
        others: &[Place],
        (arguments, results): (&[Place], &[Place]),
        (read, written): &(Vec<Type>, Vec<Type>),
    ) -> Outcome<()> {
        let scan = &repeated.scan;
        let mut turns: Vec<[Place; 2]> = Vec::new();
        for carry in 0..scan.carries {
            let (ty, own, other) = (&written[carry], &results[carry], &others[carry]);
            let [from, to] = if scan.length.is_multiple_of(2) { [own, other] } else { [other, own] };
            self.shared.copy(&arguments[carry], from, ty.dtype, ty.size())?;
            turns.push([from.clone(), to.clone()]);
        }
        for number in 0..scan.length {
            let position = if scan.reverse { scan.length - 1 - number } else { number };
            let slice = |place: &Place, ty: &Type| place.moved(position * (ty.size() / scan.length));
            let carried = |which: usize| turns.iter().map(move |turn| turn[(number + which) % 2].clone());
            let inputs = scan.carries..scan.carries + scan.inputs;
            let sliced =
                arguments[inputs.clone()].iter().zip(&read[inputs.clone()]).map(|(place, ty)| slice(place, ty));
            let given = carried(0).chain(sliced).chain(arguments[inputs.end..].iter().cloned());
            let given: Vec<Place> = given.collect();
            let outputs = results.iter().zip(written).skip(scan.carries).map(|(place, ty)| slice(place, ty));
            let taken: Vec<Place> = carried(1).chain(outputs).collect();
            self.run(step, space, &given, &taken)?;
        }
        Ok(())
    }
}

/// A loop with a condition, or one that is gone through several times.
struct Running<'a> {
    launcher: &'a Launcher<'a>,
    lowered: &'a Sweeps,
    condition: Option<&'a Code>,
    bodies: &'a [Code],
    space: &'a mut SweepsSpace,
    /// Which place of each sweep's carries is read next.
    turns: Vec<usize>,
    /// Whether each sweep has made a step since it began, before which its carries are where they came from.
    started: Vec<bool>,
    arguments: Vec<Place>,
    results: Vec<Place>,
    types: Vec<Type>,
    inputs: Vec<Type>,
    /// The first step that tapes have memory for.
    from: usize,
    taped: usize,
}

impl Running<'_> {
    fn count_of(&self) -> Option<usize> {
        match self.lowered.sweeps.steps {
            Steps::Count(count) => Some(count),
            Steps::While(_) => None,
        }
    }

    /// Where what a sweep carries is.
    fn carried(&self, sweep: usize) -> Vec<Place> {
        if !self.started[sweep] {
            let (starts, _) = self.lowered.sweeps.operands(sweep);
            return self.arguments[starts].to_vec();
        }
        self.space.sweeps[sweep].turns.iter().map(|turn| turn[self.turns[sweep]].clone()).collect()
    }

    fn state_types(&self, sweep: usize) -> Vec<Type> {
        let (starts, _) = self.lowered.sweeps.operands(sweep);
        self.inputs[starts].to_vec()
    }

    fn captures(&self) -> impl Iterator<Item = Place> {
        self.arguments[self.lowered.sweeps.captures()..].iter().cloned()
    }
}

impl Runner for Running<'_> {
    type Failure = super::failure::Problem;

    fn count(&self) -> Option<usize> {
        self.count_of()
    }

    fn goes_on(&mut self, step: usize) -> Outcome<bool> {
        let Some(code) = self.condition else {
            return Ok(self.count_of().is_some_and(|count| step < count));
        };
        let given: Vec<Place> = self.carried(0).into_iter().chain(self.captures()).collect();
        let holds = self.space.holds.clone();
        let space = self.space.condition.as_mut().expect("a condition has memory");
        self.launcher.run(code, space, &given, std::slice::from_ref(&holds))?;
        self.launcher.shared.holds(&holds)
    }

    fn begin(&mut self, sweep: usize, _: bool) {
        self.started[sweep] = false;
    }

    fn step(&mut self, sweep: usize, step: usize, keeps: bool) -> Outcome<()> {
        let loops = &self.lowered.sweeps;
        let own = &loops.sweeps[sweep];
        let (shared, tape) = (self.launcher.shared, step.wrapping_sub(self.from));
        let position = match self.count_of() {
            Some(count) if loops.reverse => count - 1 - step,
            _ => step,
        };
        let length = self.count_of().unwrap_or(1).max(1);
        let slice = |place: &Place, ty: &Type| place.moved(position * (ty.size() / length));
        let (_, inputs) = loops.operands(sweep);
        let (_, outputs) = loops.results(sweep);
        let mut given = self.carried(sweep);
        given.extend(
            self.arguments[inputs.clone()].iter().zip(&self.inputs[inputs]).map(|(place, ty)| slice(place, ty)),
        );
        given.extend(own.reads.iter().map(|&(from, kept)| self.space.sweeps[from].keeps[kept].tape[tape].clone()));
        given.extend(self.captures());
        let next = if self.started[sweep] { 1 - self.turns[sweep] } else { 0 };
        let mut taken: Vec<Place> = self.space.sweeps[sweep].turns.iter().map(|turn| turn[next].clone()).collect();
        for keep in &mut self.space.sweeps[sweep].keeps {
            if !keep.is_read || !keeps {
                taken.push(keep.dropped.clone());
                continue;
            }
            while keep.tape.len() <= tape {
                keep.tape.push(shared.memory(keep.ty.dtype, keep.ty.size())?);
            }
            self.taped = self.taped.saturating_add(keep.ty.bytes().unwrap_or(usize::MAX));
            taken.push(keep.tape[tape].clone());
        }
        taken
            .extend(self.results[outputs.clone()].iter().zip(&self.types[outputs]).map(|(place, ty)| slice(place, ty)));
        self.launcher.run(&self.bodies[sweep], &mut self.space.sweeps[sweep].step, &given, &taken)?;
        (self.turns[sweep], self.started[sweep]) = (next, true);
        Ok(())
    }

    fn store(&mut self, sweep: usize, number: usize) -> Outcome<()> {
        let (shared, types, carried) = (self.launcher.shared, self.state_types(sweep), self.carried(sweep));
        let stored = &mut self.space.sweeps[sweep].stored;
        while stored.len() <= number {
            stored.push(types.iter().map(|ty| shared.memory(ty.dtype, ty.size())).collect::<Outcome<_>>()?);
        }
        for ((from, to), ty) in carried.iter().zip(&stored[number]).zip(&types) {
            shared.copy(from, to, ty.dtype, ty.size())?;
        }
        Ok(())
    }

    fn restore(&mut self, sweep: usize, number: usize, _: bool) -> Outcome<()> {
        let (shared, types) = (self.launcher.shared, self.state_types(sweep));
        let space = &self.space.sweeps[sweep];
        for ((turn, from), ty) in space.turns.iter().zip(&space.stored[number]).zip(&types) {
            shared.copy(from, &turn[0], ty.dtype, ty.size())?;
        }
        (self.turns[sweep], self.started[sweep]) = (0, true);
        Ok(())
    }

    fn end(&mut self, sweep: usize) -> Outcome<()> {
        let (finals, _) = self.lowered.sweeps.results(sweep);
        for (from, at) in self.carried(sweep).iter().zip(finals) {
            let ty = &self.types[at];
            self.launcher.shared.copy(from, &self.results[at], ty.dtype, ty.size())?;
        }
        Ok(())
    }

    fn restart(&mut self, from: usize) {
        (self.from, self.taped) = (from, 0);
    }

    fn taped(&self) -> usize {
        self.taped
    }

    fn sizes(&self) -> (usize, usize) {
        let sum = |types: &mut dyn Iterator<Item = &Type>| {
            types.map(|ty| ty.bytes().unwrap_or(usize::MAX)).fold(0, usize::saturating_add)
        };
        let sweeps = self.space.sweeps.iter();
        let kept =
            sum(&mut sweeps.flat_map(|sweep| sweep.keeps.iter().filter(|keep| keep.is_read).map(|keep| &keep.ty)));
        let states: Vec<Type> = (0..self.bodies.len()).flat_map(|sweep| self.state_types(sweep)).collect();
        (kept.max(1), sum(&mut states.iter()).max(1))
    }
}
