//! The memory of a run in addition to its arguments and results.

use super::code::AHEAD;
use super::code::{DeviceCode, Inner};
use super::failure::DeviceResult;
use super::memory::{DevicePointer, DeviceShare, DeviceView};
use super::records::DeviceRecords;
use crate::kernel::{BufferId, Step};
use crate::shape::{DType, Type};
use std::collections::BTreeMap;

/// The memory of a procedure and of all inside of it.
#[derive(Debug)]
pub(super) struct DeviceSpace {
    pub(super) slots: Vec<DevicePointer>,
    pub(super) constants: BTreeMap<BufferId, DevicePointer>,
    pub(super) steps: Vec<DeviceStepSpace>,
}

/// The memory of a step.
#[derive(Debug)]
pub(super) enum DeviceStepSpace {
    None,
    Procedure(DeviceSpace),
    /// The other place of each carry, but of those that are changed in place.
    Loop(DeviceSpace, Vec<Option<DevicePointer>>),
    Branch([DeviceSpace; 2]),
    Sweeps(Box<DeviceSweepsSpace>),
}

/// The memory of a loop with a condition, or of one with several sweeps.
#[derive(Debug)]
pub(super) struct DeviceSweepsSpace {
    pub(super) condition: Option<DeviceSpace>,
    /// The results of the condition before each of some steps.
    pub(super) holds: DevicePointer,
    pub(super) sweeps: Vec<DeviceSweepSpace>,
    /// The number of steps that the loop made in its last run.
    pub(super) expected: Option<usize>,
}

#[derive(Debug)]
pub(super) struct DeviceSweepSpace {
    pub(super) step: DeviceSpace,
    pub(super) turns: Vec<Turns>,
    pub(super) places: usize,
    pub(super) keeps: Vec<Keep>,
    /// Each carry of the states that were stored.
    pub(super) stored: Vec<DeviceRecords>,
}

/// The places of a carry, which take turns: as many as there are, so that some steps' are there at the same time. There is one of
/// a carry that steps change in place.
#[derive(Debug)]
pub(super) struct Turns {
    pub(super) records: DeviceRecords,
    stays: bool,
}

impl Turns {
    pub(super) fn view(&self, place: usize) -> DeviceView<'_> {
        self.records.view(if self.stays { 0 } else { place })
    }

    /// Has so many places.
    pub(super) fn reserve(&mut self, shared: &DeviceShare, places: usize) -> DeviceResult<()> {
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
    pub(super) tape: DeviceRecords,
}

impl DeviceSpace {
    /// Memory for a run, and known arrays in it.
    pub(super) fn new(shared: &DeviceShare, code: &DeviceCode) -> DeviceResult<DeviceSpace> {
        let slots = code.slots.iter().map(|slot| shared.memory(slot.dtype, slot.count)).collect::<DeviceResult<_>>()?;
        let mut constants = BTreeMap::new();
        for (id, array) in &code.constants {
            let place = shared.memory(array.dtype(), array.size())?;
            shared.upload_known(array, &place)?;
            constants.insert(*id, place);
        }
        let steps = code.steps.iter().zip(&code.procedure.steps);
        let steps =
            steps.map(|(inner, step)| DeviceStepSpace::new(shared, code, inner, step)).collect::<DeviceResult<_>>()?;
        Ok(DeviceSpace { slots, constants, steps })
    }
}

impl DeviceStepSpace {
    fn new(shared: &DeviceShare, code: &DeviceCode, inner: &Inner, step: &Step) -> DeviceResult<DeviceStepSpace> {
        let memory = |ty: &Type| shared.memory(ty.dtype, ty.size());
        Ok(match (inner, step) {
            (Inner::Call { code, .. }, _) => DeviceStepSpace::Procedure(DeviceSpace::new(shared, code)?),
            (Inner::Loop(step), Step::Loop(repeated)) => {
                let carries = repeated.results[..repeated.scan.carries].iter().enumerate();
                let other = |(carry, &id): (usize, &BufferId)| match repeated.step.changes(carry) {
                    true => Ok(None),
                    false => memory(code.ty(id)).map(Some),
                };
                let others = carries.map(other).collect::<DeviceResult<_>>()?;
                DeviceStepSpace::Loop(DeviceSpace::new(shared, step)?, others)
            }
            (Inner::Branch(sides), _) => {
                let [then, otherwise] = &**sides;
                DeviceStepSpace::Branch([DeviceSpace::new(shared, then)?, DeviceSpace::new(shared, otherwise)?])
            }
            (Inner::Sweeps(inside), Step::Sweeps(lowered)) => {
                let loops = &lowered.sweeps;
                let mut sweeps = Vec::new();
                for (at, body) in inside.bodies.iter().enumerate() {
                    let own = &loops.sweeps[at];
                    let (starts, _) = loops.operands(at);
                    let records =
                        || lowered.arguments[starts.clone()].iter().map(|&id| DeviceRecords::new(code.ty(id)));
                    let mut keeps = Vec::new();
                    for (position, is_read) in loops.read_later(at).into_iter().enumerate() {
                        let ty = own.body.node(own.body.results[own.carries + position]).ty().clone();
                        keeps.push(Keep { is_read, dropped: memory(&ty)?, tape: DeviceRecords::new(&ty) });
                    }
                    let stays = lowered.stays(at, inside.runs_ahead);
                    let turns = records().zip(stays).map(|(records, stays)| Turns { records, stays }).collect();
                    let stored = records().collect();
                    let step = DeviceSpace::new(shared, body)?;
                    sweeps.push(DeviceSweepSpace { step, turns, places: 0, keeps, stored });
                }
                let condition =
                    inside.condition.as_ref().map(|condition| DeviceSpace::new(shared, condition)).transpose()?;
                let holds = shared.memory(DType::Bool, AHEAD)?;
                DeviceStepSpace::Sweeps(Box::new(DeviceSweepsSpace { condition, holds, sweeps, expected: None }))
            }
            _ => DeviceStepSpace::None,
        })
    }
}
