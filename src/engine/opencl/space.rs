//! The memory of a run beside its arguments and results.

use super::code::{Code, Inner};
use super::failure::Outcome;
use super::memory::Place;
use super::shared::Shared;
use crate::kernel::{BufferId, Step};
use crate::shape::{DType, Type};
use std::collections::BTreeMap;

/// The memory of a procedure and of all inside of it.
#[derive(Debug)]
pub(super) struct Space {
    pub(super) slots: Vec<Place>,
    pub(super) constants: BTreeMap<BufferId, Place>,
    pub(super) steps: Vec<StepSpace>,
}

/// The memory of a step.
#[derive(Debug)]
pub(super) enum StepSpace {
    None,
    Procedure(Space),
    /// The other place of each carry.
    Loop(Space, Vec<Place>),
    Branch([Space; 2]),
    Sweeps(Box<SweepsSpace>),
}

#[derive(Debug)]
pub(super) struct SweepsSpace {
    pub(super) condition: Option<Space>,
    pub(super) holds: Place,
    pub(super) sweeps: Vec<SweepSpace>,
}

#[derive(Debug)]
pub(super) struct SweepSpace {
    pub(super) step: Space,
    /// The two places of each carry.
    pub(super) turns: Vec<[Place; 2]>,
    pub(super) keeps: Vec<Keep>,
    /// States that were stored.
    pub(super) stored: Vec<Vec<Place>>,
}

/// A value that a sweep keeps of its steps.
#[derive(Debug)]
pub(super) struct Keep {
    pub(super) ty: Type,
    pub(super) is_read: bool,
    /// Where it goes in steps of which nothing is kept.
    pub(super) dropped: Place,
    /// Where it is of each step that is kept.
    pub(super) tape: Vec<Place>,
}

impl Space {
    /// Memory for a run, and known arrays in it.
    pub(super) fn new(shared: &Shared, code: &Code) -> Outcome<Space> {
        let slots = code.slots.iter().map(|slot| shared.memory(slot.dtype, slot.count)).collect::<Outcome<_>>()?;
        let mut constants = BTreeMap::new();
        for (id, array) in &code.constants {
            let place = shared.memory(array.dtype(), array.size())?;
            shared.upload_known(array, &place)?;
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
