//! Elementwise work that operands of products are the results of, done where tiles are loaded: those are never in memory.

use super::merging::{filled, is_everywhere, origins, touched};
use super::worth::Exchange;
use super::{Loaded, places};
use crate::engine::opencl::failure::DeviceResult;
use crate::engine::opencl::kernels::parts::{pruned, read_again};
use crate::engine::opencl::kernels::{KernelOperands, KernelScope, KernelWriter};
use crate::engine::opencl::tuning::Tile;
use crate::kernel::{BufferId, BufferSource, MatrixProduct, Nest, Procedure, Step, Store, StoreMode};
use crate::source::plan::BufferPlan;
use crate::source::tidy::tidied;
use std::collections::{BTreeSet, HashMap, HashSet};

/// The name of an operand's element that a prologue computes.
const VALUE: &str = "value";

/// Products that compute an array as they load it, in place of the nest that computed it.
struct PrologueMerge {
    /// The rest of the nest, if there is one.
    rest: Option<Nest>,
    /// The products, and the positions of their steps.
    products: Vec<(usize, Box<MatrixProduct>)>,
}

/// The steps that touch each buffer.
#[derive(Default)]
struct Uses(HashMap<BufferId, BTreeSet<usize>>);

impl Uses {
    fn of(procedure: &Procedure) -> Uses {
        let mut uses = Uses::default();
        (0..procedure.steps.len()).for_each(|at| uses.add(procedure, at));
        uses
    }

    /// The buffers that a step touches.
    fn touched(procedure: &Procedure, at: usize) -> BTreeSet<BufferId> {
        let (mut read, filled) = touched(procedure, &procedure.steps[at]);
        read.extend(filled);
        read
    }

    fn add(&mut self, procedure: &Procedure, at: usize) {
        for id in Uses::touched(procedure, at) {
            self.0.entry(id).or_default().insert(at);
        }
    }

    /// Puts another step in the place of one.
    fn exchange(&mut self, procedure: &mut Procedure, at: usize, step: Step) {
        for id in Uses::touched(procedure, at) {
            self.0.entry(id).or_default().remove(&at);
        }
        procedure.steps[at] = step;
        self.add(procedure, at);
    }
}

impl KernelWriter {
    /// The procedure whose products in tiles compute operands that nothing else reads as they load them, where that is worth it.
    pub(in crate::engine::opencl::kernels) fn with_prologues(
        &self,
        mut procedure: Procedure,
    ) -> DeviceResult<Procedure> {
        if !procedure.steps.iter().any(|step| matches!(step, Step::Product(_))) {
            return Ok(procedure);
        }
        let unread = BufferPlan::new(&procedure, &[]).unread;
        let mut uses = Uses::of(&procedure);
        let mut is_kept = vec![true; procedure.steps.len()];
        for at in (0..procedure.steps.len()).rev() {
            // A nest may write several operands.
            while let Some(PrologueMerge { rest, products }) = self.possible_prologue(&procedure, &unread, &uses, at)? {
                is_kept[at] = rest.is_some();
                uses.exchange(&mut procedure, at, Step::Nest(rest.unwrap_or_default()));
                for (at, product) in products {
                    uses.exchange(&mut procedure, at, Step::Product(product));
                }
            }
        }
        let mut is_kept = is_kept.into_iter();
        procedure.steps.retain(|_| is_kept.next().unwrap_or(true));
        Ok(procedure)
    }

    /// The products for which an array of a nest can be a prologue: if they alone read it, and have its operands at hand.
    fn possible_prologue(
        &self,
        procedure: &Procedure,
        unread: &HashSet<BufferId>,
        uses: &Uses,
        at: usize,
    ) -> DeviceResult<Option<PrologueMerge>> {
        let Step::Nest(nest) = &procedure.steps[at] else { return Ok(None) };
        for array in origins(procedure, nest.stores.iter().map(|store| store.buffer)) {
            let Some(products) = readers(procedure, uses, (at, array)) else { continue };
            let mut readers = Vec::new();
            for &(at, product) in &products {
                if let Some(tiling) = self.tiling(procedure, product)? {
                    let most = self.most_operands() - usize::from(tiling.parts > 1);
                    readers.push(ProductReader { at, product, tile: tiling.tile, most });
                }
            }
            // The others have no place for it.
            if readers.len() < products.len() {
                continue;
            }
            let whole = tidied(nest, unread);
            if let Some(merge) = merged(procedure, &whole, (at, array), &readers, self.limits.is_serial) {
                return Ok(Some(merge));
            }
        }
        Ok(None)
    }

    /// How a tile loads elements of the operand on a side.
    pub(super) fn loaded(
        &mut self,
        scope: &KernelScope<'_>,
        operands: &KernelOperands,
        (product, index): (&MatrixProduct, &str),
        side: usize,
    ) -> Loaded {
        let element = places::operand(product, side);
        let Some(nest) = &product.prologues[side] else {
            let array = &operands.names[&[&product.left, &product.right][side].buffer];
            return Loaded { element: format!("{array}[{}]", element.place()), prologue: None };
        };
        let [store] = &nest.stores[..] else { unreachable!("a prologue computes one array") };
        let given = (store.buffer, VALUE);
        let text = self.elementwise((scope, operands, index), (nest, &store.at), &element, given);
        Loaded { element: VALUE.into(), prologue: Some(text) }
    }
}

/// A product that reads an array.
struct ProductReader<'a> {
    at: usize,
    product: &'a MatrixProduct,
    tile: Tile,
    /// How many arrays its kernel may take.
    most: usize,
}

/// The products that read a buffer which only this step fills, in memory of the procedure's own, if there are any and nothing
/// else reads it.
fn readers<'p>(
    procedure: &'p Procedure,
    uses: &Uses,
    (at, array): (usize, BufferId),
) -> Option<Vec<(usize, &'p MatrixProduct)>> {
    let is_it = |id: BufferId| procedure.origin(id) == array;
    let is_local = matches!(procedure.buffers[array as usize].source, BufferSource::Local);
    if !is_local || procedure.results.iter().chain(&procedure.continued).any(|&id| is_it(id)) {
        return None;
    }
    let others = uses.0.get(&array)?.iter().filter(|&&other| other != at);
    let product = |&other: &usize| {
        let Step::Product(product) = &procedure.steps[other] else { return None };
        // The product's other work may not read the array.
        let nests = product.prologues.iter().flatten().chain(product.epilogue.iter().map(|epilogue| &epilogue.nest));
        let mut beside = nests.flat_map(Nest::read);
        let fills = touched(procedure, &procedure.steps[other]).1.contains(&array);
        (other > at && !fills && !beside.any(is_it)).then_some((other, &**product))
    };
    let found: Vec<(usize, &MatrixProduct)> = others.map(product).collect::<Option<_>>()?;
    (!found.is_empty()).then_some(found)
}

/// Products with a nest as their prologue, and the rest of the nest, if that pays.
fn merged(
    procedure: &Procedure,
    whole: &Nest,
    (at, array): (usize, BufferId),
    readers: &[ProductReader<'_>],
    is_serial: bool,
) -> Option<PrologueMerge> {
    let is_own = |store: &Store| procedure.origin(store.buffer) == array;
    let (own, others): (Vec<Store>, Vec<Store>) = whole.stores.iter().cloned().partition(is_own);
    let [store] = &own[..] else { return None };
    let is_simple = store.mode == StoreMode::Write && store.index.is_none() && store.guards.is_empty();
    let size = procedure.buffers[array as usize].ty.size();
    let written = origins(procedure, whole.stores.iter().map(|store| store.buffer));
    let is_apart = written.is_disjoint(&origins(procedure, whole.read()));
    if !is_simple || !is_apart || !is_everywhere(&store.at, &whole.extents, size) {
        return None;
    }
    let last = readers.last()?.at;
    let filled: BTreeSet<BufferId> = filled(procedure, &procedure.steps[at + 1..=last]);
    // Other values that the nest writes may be read back instead of computed again.
    let mut reading = whole.clone();
    let also_written = others.iter().filter(|other| other.mode == StoreMode::Write);
    also_written.for_each(|other| read_again(&mut reading, other));
    let rest = (!others.is_empty()).then(|| pruned(whole, others));
    let merge = |nest: &Nest| -> Option<(f64, Vec<Box<MatrixProduct>>)> {
        let nest = tidied(&pruned(nest, own.clone()), &HashSet::new());
        if !origins(procedure, nest.read()).is_disjoint(&filled) {
            return None;
        }
        let mut products = Vec::new();
        for ProductReader { product, most, .. } in readers {
            let mut product = Box::new(MatrixProduct::clone(product));
            // Both operands may be the same array.
            for (side, id) in [product.left.buffer, product.right.buffer].into_iter().enumerate() {
                if procedure.origin(id) == array {
                    product.prologues[side] = Some(nest.clone());
                }
            }
            let step = Step::Product(product);
            let (read, filled) = touched(procedure, &step);
            let Step::Product(product) = step else { unreachable!("a product is one") };
            if read.union(&filled).count() > *most {
                return None;
            }
            products.push(product);
        }
        let exchange = Exchange { procedure, array, whole, rest: rest.as_ref(), prologue: &nest, is_serial };
        let gain = exchange.gain(products.iter().zip(readers).map(|(product, reader)| (&**product, reader.tile)))?;
        Some((gain, products))
    };
    let candidates = [merge(whole), merge(&reading)].into_iter().flatten();
    let (_, products) = candidates.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    let products = readers.iter().map(|reader| reader.at).zip(products).collect();
    Some(PrologueMerge { rest, products })
}
