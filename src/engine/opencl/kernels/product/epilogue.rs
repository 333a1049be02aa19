//! Elementwise work on products, done as soon as their elements are known: arrays that only it reads are never in memory.

use super::merging::{is_everywhere, origins, touched};
use super::places;
use crate::engine::opencl::failure::DeviceResult;
use crate::engine::opencl::kernels::parts::{pruned, read_again};
use crate::engine::opencl::kernels::{KernelOperands, KernelScope, KernelWriter};
use crate::kernel::{
    BATCH, BufferId, BufferSource, COLUMN, Epilogue, MatrixProduct, Nest, NestValue, Procedure, ROW, Step, Store,
    StoreMode,
};
use crate::shape::steps;
use crate::source::plan::BufferPlan;
use crate::source::text::Text;
use crate::source::tidy::tidied;
use std::collections::HashSet;

/// The name of an element's sum in its epilogue.
pub(super) const SUM: &str = "sum";

/// The place for the epilogue of a product.
struct EpilogueMerge {
    /// The step that becomes the epilogue.
    nest: usize,
    /// Whether the product moves to the step, instead of the step to the product.
    moves_down: bool,
    epilogue: Epilogue,
    /// The nest's reductions, which stay with it.
    rest: Option<Nest>,
}

impl KernelWriter {
    /// The procedure, with work on the elements of products in tiles moved into their epilogues.
    pub(in crate::engine::opencl::kernels) fn with_epilogues(
        &self,
        mut procedure: Procedure,
    ) -> DeviceResult<Procedure> {
        if !procedure.steps.iter().any(|step| matches!(step, Step::Product(_))) {
            return Ok(procedure);
        }
        let unread = BufferPlan::new(&procedure, &[]).unread;
        // If one nest reads several products, the last product has the others at hand.
        for at in (0..procedure.steps.len()).rev() {
            let Step::Product(product) = &procedure.steps[at] else { continue };
            if self.tiling(&procedure, product)?.is_none() {
                continue;
            }
            let Some(EpilogueMerge { nest, moves_down, epilogue, rest }) =
                self.possible_epilogue(&procedure, &unread, at, product)
            else {
                continue;
            };
            let mut product = product.clone();
            product.epilogue = Some(epilogue);
            let steps = &mut procedure.steps;
            match rest {
                Some(rest) => steps[nest] = Step::Nest(rest),
                None => drop(steps.remove(nest)),
            }
            if moves_down {
                steps.insert(nest, Step::Product(product));
                steps.remove(at);
            } else {
                steps[at] = Step::Product(product);
            }
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
        product: &MatrixProduct,
    ) -> Option<EpilogueMerge> {
        let result = procedure.origin(product.result.buffer);
        if product.continues || matches!(procedure.buffers[result as usize].source, BufferSource::Parameter(_)) {
            return None;
        }
        let origins = |ids: Vec<BufferId>| origins(procedure, ids);
        let touched = |step: &Step| touched(procedure, step);
        let touches_result = |step: &Step| {
            let (read, filled) = touched(step);
            read.contains(&result) || filled.contains(&result)
        };
        let behind = &procedure.steps[at + 1..];
        let between = behind.iter().position(touches_result)?;
        let Step::Nest(nest) = &behind[between] else { return None };
        let whole = tidied(nest, unread);
        let (nest, rest) = apart(&whole);
        let nest = of_elements(procedure, product, nest)?;
        let mut reads = origins(whole.read().collect());
        reads.remove(&result);
        let writes = origins(nest.stores.iter().map(|store| store.buffer).collect());
        let reduced = origins(rest.iter().flat_map(|rest| &rest.stores).map(|store| store.buffer).collect());
        let operands = origins(vec![product.left.buffer, product.right.buffer]);
        let continued = origins(procedure.continued.clone());
        // Elements are written while others are still read.
        let is_apart = writes.is_disjoint(&reads)
            && writes.is_disjoint(&operands)
            && writes.is_disjoint(&reduced)
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
        // If the products must be in memory anyway, nothing is saved by reading the results computed from them instead.
        if let Some(rest) = &rest
            && (keeps_result || origins(rest.read().collect()).contains(&result))
        {
            return None;
        }
        Some(EpilogueMerge { nest: at + 1 + between, moves_down, epilogue: Epilogue { nest, keeps_result }, rest })
    }

    /// The work on an element of a product, whose position and sum have names.
    pub(super) fn epilogue(
        &mut self,
        scope: &KernelScope<'_>,
        operands: &KernelOperands,
        (product, index): (&MatrixProduct, &str),
        nest: &Nest,
    ) -> Text {
        let at = read_at(nest, product.result.buffer).expect("an epilogue reads its product");
        let given = (product.result.buffer, SUM);
        self.elementwise((scope, operands, index), (nest, at), &places::result(product), given)
    }
}

/// A nest split in two: its writes at known places, and the rest, if there is one, which reads what the first part writes.
fn apart(nest: &Nest) -> (Nest, Option<Nest>) {
    let is_written = |store: &Store| store.mode == StoreMode::Write && store.index.is_none();
    let (writes, others): (Vec<Store>, Vec<Store>) = nest.stores.iter().cloned().partition(is_written);
    if others.is_empty() {
        return (nest.clone(), None);
    }
    let mut rest = nest.clone();
    for store in &writes {
        read_again(&mut rest, store);
    }
    (pruned(nest, writes), Some(pruned(&rest, others)))
}

/// Where a nest reads a buffer.
fn read_at(nest: &Nest, id: BufferId) -> Option<&crate::kernel::Affine> {
    nest.values.iter().find_map(|(value, _)| match value {
        NestValue::Load { buffer, at, .. } if *buffer == id => Some(at),
        _ => None,
    })
}

/// A nest that does elementwise work on a product's elements, each of which it reads at one position, as one that reads them by
/// the name that the product has for them.
fn of_elements(procedure: &Procedure, product: &MatrixProduct, mut nest: Nest) -> Option<Nest> {
    let (own, result) = (product.result.buffer, procedure.origin(product.result.buffer));
    for (value, _) in &mut nest.values {
        match value {
            NestValue::Load { buffer, guards, .. } if procedure.origin(*buffer) == result => {
                if !guards.is_empty() {
                    return None;
                }
                *buffer = own;
            }
            NestValue::Gather { buffer, .. } if procedure.origin(*buffer) == result => return None,
            _ => {}
        }
    }
    let at = read_at(&nest, own)?.clone();
    let is_elsewhere = |value: &NestValue| matches!(value, NestValue::Load { buffer, at: other, .. } if *buffer == own && *other != at);
    if nest.values.iter().any(|(value, _)| is_elsewhere(value)) || product.result.offset != 0 {
        return None;
    }
    let elements = procedure.buffers[own as usize].ty.size();
    let computed = [BATCH, ROW, COLUMN].map(|role| product.count(role));
    (is_everywhere(&at, &nest.extents, elements) && steps(computed) == elements).then_some(nest)
}
