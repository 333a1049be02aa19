//! Steps on their own, for those who write a function of one.

use super::procedure::FunctionInterface;
use crate::kernel::{BufferId, BufferSource, Procedure, ProcedureBuffer, Step};
use std::collections::{BTreeMap, HashSet};

/// A loop, conditional or operation on its own.
pub(crate) struct Isolated {
    pub(crate) procedure: Procedure,
    pub(crate) interface: FunctionInterface,
    /// The procedure's buffers that the step's function takes: those that are only read, and those that are written.
    pub(crate) read: Vec<BufferId>,
    pub(crate) written: Vec<BufferId>,
}

/// A procedure made of one loop, conditional or operation, with the buffers that it reads, which are its parameters, and those
/// that it writes. A buffer that it changes counts as both, and is one array of its function.
pub(crate) fn isolated(procedure: &Procedure, step: &Step) -> Isolated {
    let (read, written) = step.touched();
    let distinct = |ids: Vec<BufferId>| {
        let mut seen = HashSet::new();
        let ids = ids.into_iter().map(|id| procedure.origin(id));
        ids.filter(|&id| seen.insert(id)).collect::<Vec<BufferId>>()
    };
    let (read, written) = (distinct(read), distinct(written));
    let mut alone = Procedure { parameters: read.len(), ..Procedure::default() };
    let mut ids: BTreeMap<BufferId, BufferId> = BTreeMap::new();
    for &id in read.iter().chain(&written) {
        let next = alone.buffers.len();
        ids.entry(id).or_insert_with(|| {
            let source = if next < read.len() { BufferSource::Parameter(next) } else { BufferSource::Local };
            alone.buffers.push(ProcedureBuffer { ty: procedure.buffers[id as usize].ty.clone(), source });
            next as BufferId
        });
    }
    alone.results = written.iter().map(|id| ids[id]).collect();
    let result_of = |id: &BufferId| written.iter().position(|other| other == id);
    let changed = read.iter().enumerate().filter_map(|(at, id)| Some((at, result_of(id)?))).collect();
    let read: Vec<BufferId> = read.iter().copied().filter(|id| result_of(id).is_none()).collect();
    let own = |id: &mut BufferId| *id = ids[&procedure.origin(*id)];
    let mut step = step.clone();
    match &mut step {
        Step::Loop(repeated) => repeated.arguments.iter_mut().chain(&mut repeated.results).for_each(own),
        Step::Branch(branch) => {
            let arguments = branch.arguments.iter_mut().chain(&mut branch.results);
            arguments.chain([&mut branch.condition]).for_each(own);
        }
        Step::Sweeps(sweeps) => sweeps.arguments.iter_mut().chain(&mut sweeps.results).for_each(own),
        Step::Call(call) => call.arguments.iter_mut().chain(&mut call.results).for_each(own),
        Step::Nest(_) | Step::Product(_) | Step::Blocks(_) => unreachable!("these are kernels of many work items"),
        Step::First(_) => unreachable!("only the engine of the CPU lowers loops that go on from others"),
    }
    alone.steps.push(step);
    let interface = FunctionInterface::inner(&alone).changing(changed);
    Isolated { procedure: alone, interface, read, written }
}
