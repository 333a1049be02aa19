//! Sums by computed places into a few elements, as histograms are: each group has a copy of all of them in its local memory, and
//! adds it to the elements when it is done, so that few exchanges go to memory that all groups share.

use super::nest::power_of_two_below;
use super::parts::{KernelPart, ReductionManner};
use super::{KernelScope, KernelWriter};
use crate::array::neutral_value;
use crate::engine::opencl::code::{Action, Grid};
use crate::kernel::{BufferId, StoreMode};
use crate::operation::Reduction;
use crate::shape::steps;
use crate::source::helpers::opencl;
use crate::source::language::Language;
use crate::source::order::order;
use crate::source::procedure::touched;
use crate::source::text::Text;
use crate::source::together::counter;
use crate::source::writer::{BufferFacts, NestWriter};
use crate::source::writer::{Finish, Together};

/// Groups that each unit of a device is given, and items of a group at most.
const GROUPS: usize = 8;
const ITEMS: usize = 256;

/// Positions for each element at least: beneath, the copies are more work than they save.
const POSITIONS: usize = 4;

impl KernelWriter {
    /// Whether a part is written in this way.
    pub(super) fn has_table(&self, scope: &KernelScope<'_>, part: &KernelPart) -> bool {
        let nest = &part.nest;
        let buffers = nest.stores.iter().map(|store| store.buffer);
        let counts = || buffers.clone().map(|id| (scope.count(id), scope.dtype(id).bytes()));
        let positions = steps(nest.extents.iter().copied());
        let is_reduced = nest.stores.iter().all(|store| store.mode != StoreMode::Write);
        part.manner == ReductionManner::Atomic
            && !self.limits.is_serial
            && is_reduced
            && counts().map(|(count, width)| count.saturating_mul(width)).sum::<usize>() <= self.limits.local / 2
            && counts().all(|(count, _)| positions / POSITIONS >= count)
            && positions >= ITEMS.min(self.limits.group) * self.limits.least_steps
    }

    /// The part as a kernel.
    pub(super) fn table(
        &mut self,
        scope: &KernelScope<'_>,
        part: &KernelPart,
        goes_on: &dyn Fn(BufferId) -> bool,
        actions: &mut Vec<Action>,
    ) {
        let nest = &part.nest;
        let mut tables: Vec<(BufferId, Reduction)> = Vec::new();
        for store in &nest.stores {
            let StoreMode::Reduce(op) = store.mode else { unreachable!("only reductions are exchanged") };
            if tables.iter().all(|&(id, _)| id != store.buffer) {
                tables.push((store.buffer, op));
            }
        }
        let (read, written) = touched(nest);
        let operands = scope.operands(&read, &written);
        let positions = steps(nest.extents.iter().copied());
        let group = power_of_two_below(ITEMS.min(self.limits.group));
        let groups = positions.div_ceil(group * self.limits.least_steps).min(GROUPS * self.limits.units);
        let own = positions.div_ceil(groups);
        // The copies stand for the elements.
        let name = |id: BufferId| match tables.iter().position(|&(of, _)| of == id) {
            Some(at) => format!("table{at}"),
            None => operands.names[&id].clone(),
        };
        let (count_of, dtype_of) = (|id: BufferId| scope.count(id), |id: BufferId| scope.dtype(id));
        let buffers = BufferFacts { name: &name, count: &count_of, dtype: &dtype_of, continues: goes_on };
        let mut loops = NestWriter::new(&self.language, nest, (order(nest), 0, Vec::new()), buffers, &mut self.helpers);
        loops.atomics = Some(opencl::local_atomic);
        loops.has_vectors = false;
        actions.extend(loops.fills(buffers).into_iter().map(|(to, value)| scope.fill(to, value)));
        let counter = counter(positions);
        let mut text = Text::default();
        for (at, &(id, _)) in tables.iter().enumerate() {
            let (count, dtype) = (scope.count(id), scope.dtype(id));
            text.line(format!("__local {} table{at}[{count}];", self.language.dtype(dtype)));
        }
        text.line("const uint local_item = get_local_id(0);");
        let each = |id: BufferId| format!("for (uint at = local_item; at < {}; at += {group})", scope.count(id));
        for (at, &(id, op)) in tables.iter().enumerate() {
            let neutral = self.language.literal(neutral_value(op, scope.dtype(id)));
            text.line(format!("{} table{at}[at] = {neutral};", each(id)));
        }
        text.line("barrier(CLK_LOCAL_MEM_FENCE);");
        text.line(format!("const {counter} first = ({counter})get_group_id(0) * {own};"));
        text.line(format!("const {counter} end = min(first + {own}, ({counter}){positions});"));
        let (start, lane, end) = ("first".into(), "local_item".into(), "end".into());
        loops.together = Some(Together { start, lane, end, stride: group, finish: Finish::Whole });
        let mut inner = Text::default();
        loops.write(&mut inner);
        inner.tidy();
        text.append(inner);
        text.line("barrier(CLK_LOCAL_MEM_FENCE);");
        for (at, &(id, op)) in tables.iter().enumerate() {
            let operands = [&format!("&{}[at]", operands.names[&id])[..], &format!("table{at}[at]")];
            let dtype = scope.dtype(id);
            let line = self.language.helper(opencl::atomic(op, dtype), dtype, &operands, &mut self.helpers);
            text.line(format!("{} {line};", each(id)));
        }
        actions.push(self.group_kernel("table", &operands, Grid { items: groups * group, group }, text));
    }
}
