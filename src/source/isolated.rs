//! Steps on their own, for those who write a function of one.

use crate::kernel::{Buffer, BufferId, Procedure, Source, Step};
use std::collections::{BTreeMap, HashSet};

/// A procedure of one loop, conditional or operation alone: with the buffers that it reads, which are its parameters, and those
/// that it writes.
pub(crate) fn isolated(procedure: &Procedure, step: &Step) -> (Procedure, Vec<BufferId>, Vec<BufferId>) {
    let (read, written) = step.touched();
    let distinct = |ids: Vec<BufferId>| {
        let mut seen = HashSet::new();
        let ids = ids.into_iter().map(|id| procedure.origin(id));
        ids.filter(|&id| seen.insert(id)).collect::<Vec<BufferId>>()
    };
    let (read, written) = (distinct(read), distinct(written));
    let mut alone = Procedure { parameters: read.len(), ..Procedure::default() };
    let mut ids: BTreeMap<BufferId, BufferId> = BTreeMap::new();
    for (at, &id) in read.iter().chain(&written).enumerate() {
        let source = if at < read.len() { Source::Parameter(at) } else { Source::Local };
        alone.buffers.push(Buffer { ty: procedure.buffers[id as usize].ty.clone(), source });
        ids.insert(id, at as BufferId);
    }
    alone.results = (read.len()..read.len() + written.len()).map(|at| at as BufferId).collect();
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
    }
    alone.steps.push(step);
    (alone, read, written)
}
