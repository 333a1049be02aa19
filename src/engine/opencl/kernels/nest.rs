//! Nests as kernels.

use super::Writer;
use crate::engine::opencl::code::Action;
use crate::kernel::{BufferId, Nest, Procedure};
use crate::shape::steps;
use crate::source::nest::{Buffers, NestWriter};
use crate::source::order::parallel_first;
use crate::source::plan::Plan;
use crate::source::procedure::touched;
use crate::source::text::Text;
use crate::source::tidy::tidied;

impl Writer {
    pub(super) fn nest(&mut self, procedure: &Procedure, plan: &Plan<'_>, nest: &Nest, continues: bool) -> Vec<Action> {
        let nest = &tidied(nest, &plan.unread);
        if nest.stores.is_empty() {
            return Vec::new();
        }
        let (read, written) = touched(nest);
        let operands = Writer::operands(procedure, &read, &written);
        let ty = |id: BufferId| &procedure.buffers[id as usize].ty;
        let (name, count) = (|id: BufferId| operands.names[&id].clone(), |id: BufferId| ty(id).size());
        let dtype = |id: BufferId| ty(id).dtype;
        let goes_on = |id: BufferId| continues || procedure.continued.contains(&id);
        let buffers = Buffers { name: &name, count: &count, dtype: &dtype, continues: &goes_on };
        let (order, parallel) = parallel_first(nest);
        let items = steps(order[..parallel].iter().map(|&axis| nest.extents[axis]));
        let mut loops = NestWriter::new(&self.language, nest, (order, parallel), buffers, &mut self.helpers);
        let fills = loops.fills(buffers);
        let mut text = Text::default();
        loops.write(&mut text);
        text.tidy();
        let mut actions: Vec<Action> = fills.into_iter().map(|(to, value)| Action::Fill { to, value }).collect();
        if !nest.extents.contains(&0) {
            actions.push(self.kernel("nest", &operands, items, text));
        }
        actions
    }
}
