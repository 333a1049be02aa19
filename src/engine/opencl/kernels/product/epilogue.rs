//! Elementwise work on products, done where their elements become known: what it alone reads is never in memory.

use super::places;
use crate::engine::opencl::failure::Outcome;
use crate::engine::opencl::kernels::{Operands, Scope, Writer};
use crate::kernel::{BATCH, BufferId, COLUMN, Epilogue, Mode, Nest, Procedure, Product, ROW, Source, Step, Value};
use crate::shape::steps;
use crate::source::nest::{Buffers, NestWriter};
use crate::source::plan::Plan;
use crate::source::text::Text;
use crate::source::tidy::tidied;
use std::collections::{BTreeSet, HashSet};

/// What an element's sum is called for its epilogue.
pub(super) const SUM: &str = "sum";

/// Where the epilogue of a product is to be.
struct Merge {
    /// The step that it was.
    nest: usize,
    /// Whether the product moves to it, instead of it to the product.
    moves_down: bool,
    epilogue: Epilogue,
}

impl Writer {
    /// The procedure whose products in tiles have what is computed of their elements as epilogues.
    pub(in crate::engine::opencl::kernels) fn with_epilogues(&self, mut procedure: Procedure) -> Outcome<Procedure> {
        if !procedure.steps.iter().any(|step| matches!(step, Step::Product(_))) {
            return Ok(procedure);
        }
        let unread = Plan::new(&procedure).unread;
        // Of several products that one nest reads, the last has the others at hand.
        for at in (0..procedure.steps.len()).rev() {
            let Step::Product(product) = &procedure.steps[at] else { continue };
            if self.tiling(&procedure, product)?.is_none() {
                continue;
            }
            let Some(Merge { nest, moves_down, epilogue }) = self.possible_epilogue(&procedure, &unread, at, product)
            else {
                continue;
            };
            let mut product = product.clone();
            product.epilogue = Some(epilogue);
            procedure.steps[if moves_down { nest } else { at }] = Step::Product(product);
            procedure.steps.remove(if moves_down { at } else { nest });
        }
        Ok(procedure)
    }

    /// The epilogue that a product can have: the first step that reads its result, if that is a nest over its elements, and one
    /// of the two can go to where the other is.
    fn possible_epilogue(
        &self,
        procedure: &Procedure,
        unread: &HashSet<BufferId>,
        at: usize,
        product: &Product,
    ) -> Option<Merge> {
        let result = procedure.origin(product.result.buffer);
        if product.continues || matches!(procedure.buffers[result as usize].source, Source::Parameter(_)) {
            return None;
        }
        let origins =
            |ids: Vec<BufferId>| -> BTreeSet<BufferId> { ids.into_iter().map(|id| procedure.origin(id)).collect() };
        let touched = |step: &Step| {
            let (read, filled) = step.touched();
            (origins(read), origins(filled))
        };
        let touches_result = |step: &Step| {
            let (read, filled) = touched(step);
            read.contains(&result) || filled.contains(&result)
        };
        let behind = &procedure.steps[at + 1..];
        let between = behind.iter().position(touches_result)?;
        let Step::Nest(nest) = &behind[between] else { return None };
        let nest = of_elements(procedure, product, tidied(nest, unread))?;
        let reads = origins(nest.read().filter(|&id| id != product.result.buffer).collect());
        let writes = origins(nest.stores.iter().map(|store| store.buffer).collect());
        let operands = origins(vec![product.left.buffer, product.right.buffer]);
        let continued = origins(procedure.continued.clone());
        // Elements are written while others are still read.
        let is_apart = writes.is_disjoint(&reads)
            && writes.is_disjoint(&operands)
            && writes.is_disjoint(&continued)
            && !continued.contains(&result)
            && !writes.contains(&result);
        let arrays = reads.len() + writes.len() + operands.len() + 1;
        if !is_apart || arrays > self.most_operands() {
            return None;
        }
        let others: Vec<_> = behind[..between].iter().map(touched).collect();
        let moves_up = others.iter().all(|(read, filled)| {
            filled.is_disjoint(&reads) && filled.is_disjoint(&writes) && read.is_disjoint(&writes)
        });
        let moves_down = !moves_up && others.iter().all(|(_, filled)| filled.is_disjoint(&operands));
        if !moves_up && !moves_down {
            return None;
        }
        let is_result = procedure.results.iter().any(|&id| procedure.origin(id) == result);
        let keeps_result = is_result || behind[between + 1..].iter().any(touches_result);
        Some(Merge { nest: at + 1 + between, moves_down, epilogue: Epilogue { nest, keeps_result } })
    }

    /// What is done with an element of a product: its position and its sum have names.
    pub(super) fn epilogue(
        &mut self,
        scope: &Scope<'_>,
        operands: &Operands,
        (product, index): (&Product, &str),
        nest: &Nest,
    ) -> Text {
        let at = read_at(nest, product.result.buffer).expect("an epilogue reads its product");
        let depth = nest.extents.len();
        let mut order: Vec<usize> = (0..depth).collect();
        order.sort_by_key(|&axis| std::cmp::Reverse(at.coefficients[axis]));
        let mut text = Text::default();
        text.declare("place", format!("const {index} place = {};", places::result(product, "row", "column")));
        // What is computed of positions is so in long numbers.
        let has_positions = nest.values.iter().any(|(value, _)| matches!(value, Value::Position(_)));
        let counter = if has_positions { "long" } else { index };
        for (level, &axis) in order.iter().enumerate() {
            let (stride, extent) = (at.coefficients[axis], nest.extents[axis]);
            let role = [(BATCH, "batch"), (ROW, "row"), (COLUMN, "column")].into_iter().find(|&(role, _)| {
                let strides = &product.result.strides[role];
                product.extents[role][..] == [extent] && strides[..] == [stride as isize]
            });
            let quotient = || if stride == 1 { "place".to_string() } else { format!("place / {stride}") };
            let position = match role {
                Some((_, name)) => name.to_string(),
                None if level == 0 => quotient(),
                None => format!("{} % {extent}", quotient()),
            };
            let name = format!("i{level}");
            text.declare(&name, format!("const {counter} {name} = {position};"));
        }
        let name = |id: BufferId| operands.names[&id].clone();
        let (count, dtype) = (|id: BufferId| scope.count(id), |id: BufferId| scope.dtype(id));
        let buffers = Buffers { name: &name, count: &count, dtype: &dtype, continues: &|_| false };
        let mut loops = NestWriter::new(&self.language, nest, (order, depth), buffers, &mut self.helpers);
        loops.given = Some((product.result.buffer, SUM));
        // All positions are known already.
        loops.levels.fill(depth);
        loops.level(&mut text, depth);
        text.tidy();
        text
    }
}

/// Where a nest reads a buffer.
fn read_at(nest: &Nest, id: BufferId) -> Option<&crate::kernel::Affine> {
    nest.values.iter().find_map(|(value, _)| match value {
        Value::Load { buffer, at, .. } if *buffer == id => Some(at),
        _ => None,
    })
}

/// A nest that does elementwise work on a product's elements, each of which it reads at one position, as one that reads them by
/// the name that the product has for them.
fn of_elements(procedure: &Procedure, product: &Product, mut nest: Nest) -> Option<Nest> {
    let (own, result) = (product.result.buffer, procedure.origin(product.result.buffer));
    let writes = nest.stores.iter().all(|store| store.mode == Mode::Write && store.index.is_none());
    if !writes || nest.stores.is_empty() {
        return None;
    }
    for (value, _) in &mut nest.values {
        match value {
            Value::Load { buffer, guards, .. } if procedure.origin(*buffer) == result => {
                if !guards.is_empty() {
                    return None;
                }
                *buffer = own;
            }
            Value::Gather { buffer, .. } if procedure.origin(*buffer) == result => return None,
            _ => {}
        }
    }
    let at = read_at(&nest, own)?.clone();
    let is_elsewhere =
        |value: &Value| matches!(value, Value::Load { buffer, at: other, .. } if *buffer == own && *other != at);
    if nest.values.iter().any(|(value, _)| is_elsewhere(value)) || at.offset != 0 || product.result.offset != 0 {
        return None;
    }
    // The positions are those of the elements, in any order of the axes.
    let mut axes: Vec<(i64, usize)> = at.coefficients.iter().copied().zip(nest.extents.iter().copied()).collect();
    axes.sort_unstable();
    let mut inner = 1i64;
    for (stride, extent) in axes {
        if stride != inner {
            return None;
        }
        inner = inner.checked_mul(extent as i64)?;
    }
    let elements = procedure.buffers[own as usize].ty.size();
    let computed = [BATCH, ROW, COLUMN].map(|role| product.count(role));
    (inner == elements as i64 && steps(computed) == elements).then_some(nest)
}
