//! The memory of a run in addition to its arguments and results.

use super::code::AHEAD;
use super::code::{Code, Inner};
use super::failure::DeviceResult;
use super::memory::{DevicePointer, DeviceView, Shared};
use super::records::Records;
use crate::kernel::{BufferId, Step};
use crate::shape::{DType, Type};
use std::collections::BTreeMap;

/// The memory of a procedure and of all inside of it.
#[derive(Debug)]
pub(super) struct Space {
    pub(super) slots: Vec<DevicePointer>,
    pub(super) constants: BTreeMap<BufferId, DevicePointer>,
    pub(super) steps: Vec<StepSpace>,
}

/// The memory of a step.
#[derive(Debug)]
pub(super) enum StepSpace {
    None,
    Procedure(Space),
    /// The other place of each carry, but of those that are changed in place.
    Loop(Space, Vec<Option<DevicePointer>>),
    Branch([Space; 2]),
    Sweeps(Box<SweepsSpace>),
}

/// The memory of a loop with a condition, or of one with several sweeps.
#[derive(Debug)]
pub(super) struct SweepsSpace {
    pub(super) condition: Option<Space>,
    /// The results of the condition before each of some steps.
    pub(super) holds: DevicePointer,
    pub(super) sweeps: Vec<SweepSpace>,
    /// The number of steps that the loop made in its last run.
    pub(super) expected: Option<usize>,
}

#[derive(Debug)]
pub(super) struct SweepSpace {
    pub(super) step: Space,
    pub(super) turns: Vec<Turns>,
    pub(super) places: usize,
    pub(super) keeps: Vec<Keep>,
    /// Each carry of the states that were stored.
    pub(super) stored: Vec<Records>,
}

/// The places of a carry, which take turns: as many as there are, so that some steps' are there at the same time. There is one of
/// a carry that steps change in place.
#[derive(Debug)]
pub(super) struct Turns {
    pub(super) records: Records,
    stays: bool,
}

impl Turns {
    pub(super) fn view(&self, place: usize) -> DeviceView<'_> {
        self.records.view(if self.stays { 0 } else { place })
    }

    /// Has so many places.
    pub(super) fn reserve(&mut self, shared: &Shared, places: usize) -> DeviceResult<()> {
        self.records.reserve(shared, if self.stays { 1 } else { places })
    }
}

/// A value that a sweep keeps of its steps.
#[derive(Debug)]
pub(super) struct Keep {
    pub(super) is_read: bool,
    /// Its place in steps that keep nothing.
    pub(super) dropped: DevicePointer,
    /// Its places in steps that keep it.
    pub(super) tape: Records,
}

impl Space {
    /// Memory for a run, and known arrays in it.
    pub(super) fn new(shared: &Shared, code: &Code) -> DeviceResult<Space> {
        let slots = code.slots.iter().map(|slot| shared.memory(slot.dtype, slot.count)).collect::<DeviceResult<_>>()?;
        let mut constants = BTreeMap::new();
        for (id, array) in &code.constants {
            let place = shared.memory(array.dtype(), array.size())?;
            shared.upload_known(array, &place)?;
            constants.insert(*id, place);
        }
        let steps = code.steps.iter().zip(&code.procedure.steps);
        let steps =
            steps.map(|(inner, step)| StepSpace::new(shared, code, inner, step)).collect::<DeviceResult<_>>()?;
        Ok(Space { slots, constants, steps })
    }
}

impl StepSpace {
    fn new(shared: &Shared, code: &Code, inner: &Inner, step: &Step) -> DeviceResult<StepSpace> {
        let memory = |ty: &Type| shared.memory(ty.dtype, ty.size());
        Ok(match (inner, step) {
            (Inner::Call { code, .. }, _) => StepSpace::Procedure(Space::new(shared, code)?),
            (Inner::Loop(step), Step::Loop(repeated)) => {
                let carries = repeated.results[..repeated.scan.carries].iter().enumerate();
                let other = |(carry, &id): (usize, &BufferId)| match repeated.step.changes(carry) {
                    true => Ok(None),
                    false => memory(code.ty(id)).map(Some),
                };
                let others = carries.map(other).collect::<DeviceResult<_>>()?;
                StepSpace::Loop(Space::new(shared, step)?, others)
            }
            (Inner::Branch(sides), _) => {
                let [then, otherwise] = &**sides;
                StepSpace::Branch([Space::new(shared, then)?, Space::new(shared, otherwise)?])
            }
            (Inner::Sweeps(inside), Step::Sweeps(lowered)) => {
                let loops = &lowered.sweeps;
                let mut sweeps = Vec::new();
                for (at, body) in inside.bodies.iter().enumerate() {
                    let own = &loops.sweeps[at];
                    let (starts, _) = loops.operands(at);
                    let records = || lowered.arguments[starts.clone()].iter().map(|&id| Records::new(code.ty(id)));
                    let mut keeps = Vec::new();
                    for (position, is_read) in loops.read_later(at).into_iter().enumerate() {
                        let ty = own.body.node(own.body.results[own.carries + position]).ty().clone();
                        keeps.push(Keep { is_read, dropped: memory(&ty)?, tape: Records::new(&ty) });
                    }
                    let stays = lowered.stays(at, inside.runs_ahead);
                    let turns = records().zip(stays).map(|(records, stays)| Turns { records, stays }).collect();
                    let stored = records().collect();
                    let step = Space::new(shared, body)?;
                    sweeps.push(SweepSpace { step, turns, places: 0, keeps, stored });
                }
                let condition = inside.condition.as_ref().map(|condition| Space::new(shared, condition)).transpose()?;
                let holds = shared.memory(DType::Bool, AHEAD)?;
                StepSpace::Sweeps(Box::new(SweepsSpace { condition, holds, sweeps, expected: None }))
            }
            _ => StepSpace::None,
        })
    }
}
