//! Stores that nobody reads.

use crate::kernel::buffer::{BufferId, BufferSource};
use crate::kernel::procedure::{Procedure, Step};
use std::collections::HashSet;

/// Takes stores out of nests whose buffers no later step reads, with all that only they need: a node is stored for users that
/// may turn out to compute it themselves.
pub(super) fn without_unread(mut procedure: Procedure) -> Procedure {
    let mut read: HashSet<BufferId> = procedure.results.iter().map(|&id| procedure.origin(id)).collect();
    let mut kept = Vec::with_capacity(procedure.steps.len());
    for mut step in std::mem::take(&mut procedure.steps).into_iter().rev() {
        if let Step::Nest(nest) = &mut step {
            let count = nest.stores.len();
            nest.stores.retain(|store| {
                let origin = procedure.origin(store.buffer);
                !matches!(procedure.buffers[origin as usize].source, BufferSource::Local) || read.contains(&origin)
            });
            if nest.stores.is_empty() && count > 0 {
                continue;
            }
            if nest.stores.len() < count {
                *nest = std::mem::take(nest).without_unused();
            }
        }
        read.extend(step.touched().0.into_iter().map(|id| procedure.origin(id)));
        kept.push(step);
    }
    kept.reverse();
    procedure.steps = kept;
    procedure
}
