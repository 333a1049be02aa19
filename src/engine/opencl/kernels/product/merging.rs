//! The common part of epilogues and prologues: the steps that may be done elsewhere, and elementwise work on an element of an
//! operand or of the result of a product.

use super::places::ElementPlace;
use crate::engine::opencl::kernels::{KernelOperands, KernelScope, KernelWriter};
use crate::kernel::{Affine, BufferId, Nest, NestValue, Procedure, Step};
use crate::source::text::Text;
use crate::source::writer::{BufferFacts, NestWriter};
use std::collections::BTreeSet;

/// The buffers that hold the elements of these.
pub(super) fn origins(procedure: &Procedure, ids: impl IntoIterator<Item = BufferId>) -> BTreeSet<BufferId> {
    ids.into_iter().map(|id| procedure.origin(id)).collect()
}

/// The buffers that a step reads, and those that it fills.
pub(super) fn touched(procedure: &Procedure, step: &Step) -> (BTreeSet<BufferId>, BTreeSet<BufferId>) {
    let (read, filled) = step.touched();
    (origins(procedure, read), origins(procedure, filled))
}

/// The buffers that steps fill.
pub(super) fn filled(procedure: &Procedure, steps: &[Step]) -> BTreeSet<BufferId> {
    steps.iter().flat_map(|step| touched(procedure, step).1).collect()
}

/// Whether the positions of a nest cover an array of so many elements, each once, with the axes in any order.
pub(super) fn is_everywhere(at: &Affine, extents: &[usize], count: usize) -> bool {
    let mut axes: Vec<(i64, usize)> = at.coefficients.iter().copied().zip(extents.iter().copied()).collect();
    axes.sort_unstable();
    let whole = axes.into_iter().try_fold(1i64, |inner, (stride, extent)| {
        (stride == inner).then(|| inner.checked_mul(extent as i64)).flatten()
    });
    at.offset == 0 && whole == i64::try_from(count).ok()
}

impl KernelWriter {
    /// The work of a nest at an element of a product's operand or result, which has a name wherever the nest reads or writes
    /// it; `at` is its place at the nest's positions.
    pub(super) fn elementwise(
        &mut self,
        (scope, operands, index): (&KernelScope<'_>, &KernelOperands, &str),
        (nest, at): (&Nest, &Affine),
        element: &ElementPlace,
        given: (BufferId, &'static str),
    ) -> Text {
        let depth = nest.extents.len();
        let mut order: Vec<usize> = (0..depth).collect();
        order.sort_by_key(|&axis| std::cmp::Reverse(at.coefficients[axis]));
        let mut text = Text::default();
        text.declare("place", format!("const {index} place = {};", element.place()));
        // Values computed from positions use long integers.
        let has_positions = nest.values.iter().any(|(value, _)| matches!(value, NestValue::Position(_)));
        let counter = if has_positions { "long" } else { index };
        for (level, &axis) in order.iter().enumerate() {
            let (stride, extent) = (at.coefficients[axis], nest.extents[axis]);
            let quotient = || if stride == 1 { "place".to_string() } else { format!("place / {stride}") };
            let position = match element.position(stride, extent) {
                Some(position) => position,
                None if level == 0 => quotient(),
                None => format!("{} % {extent}", quotient()),
            };
            let name = format!("i{level}");
            text.declare(&name, format!("const {counter} {name} = {position};"));
        }
        let name = |id: BufferId| operands.names[&id].clone();
        let (count, dtype) = (|id: BufferId| scope.count(id), |id: BufferId| scope.dtype(id));
        let buffers = BufferFacts { name: &name, count: &count, dtype: &dtype, continues: &|_| false };
        let mut loops = NestWriter::new(&self.language, nest, (order, depth, Vec::new()), buffers, &mut self.helpers);
        loops.given = Some(given);
        // All positions are known already.
        loops.levels.fill(depth);
        loops.level(&mut text, depth);
        text.tidy();
        text
    }
}
