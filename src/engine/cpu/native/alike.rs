//! Nests that differ in nothing but their buffers, as those of layers or of unrolled steps do, share their code.

use crate::engine::cpu::code::{Base, NestCode};
use crate::engine::cpu::prefetch::Prefetch;
use crate::engine::cpu::target::Target;
use crate::kernel::{BufferId, Nest, NestValue};
use crate::shape::Type;
use crate::term::hash::TermMap;

/// A nest whose buffers have numbers in the order in which they occur.
#[derive(PartialEq, Eq, Hash, Debug)]
pub(super) struct AlikeNest {
    pub(super) nest: Nest,
    /// The types of these buffers, if the nest may be cut, which depends on them.
    pub(super) types: Vec<Type>,
    pub(super) cut: bool,
    pub(super) prefetched: Vec<Prefetch>,
    /// The buffers that are written past the cache.
    pub(super) streamed: Vec<BufferId>,
    /// Whether it is a product, which has code of its own.
    pub(super) is_product: bool,
}

impl AlikeNest {
    /// A nest, and its buffers by those numbers.
    pub(super) fn of(
        target: Target<'_>,
        nest: &Nest,
        is_product: bool,
        types: &[Type],
        cut: bool,
    ) -> (AlikeNest, Vec<BufferId>) {
        let mut prefetched = target.prefetched.to_vec();
        let is_stored = |id: &BufferId| nest.stores.iter().any(|store| store.buffer == *id);
        let mut streamed: Vec<BufferId> = target.streamed.iter().copied().filter(is_stored).collect();
        let (mut nest, mut buffers, mut numbers) = (nest.clone(), Vec::new(), TermMap::default());
        let mut rename = |buffer: &mut BufferId| {
            *buffer = *numbers.entry(*buffer).or_insert_with(|| {
                buffers.push(*buffer);
                buffers.len() as BufferId - 1
            });
        };
        for (value, _) in &mut nest.values {
            if let NestValue::Load { buffer, .. } | NestValue::Gather { buffer, .. } = value {
                rename(buffer);
            }
        }
        nest.stores.iter_mut().for_each(|store| rename(&mut store.buffer));
        prefetched.iter_mut().for_each(|prefetch| rename(&mut prefetch.buffer));
        streamed.iter_mut().for_each(rename);
        let types = if cut { buffers.iter().map(|&id| types[id as usize].clone()).collect() } else { Vec::new() };
        (AlikeNest { nest, types, cut, prefetched, streamed, is_product }, buffers)
    }
}

/// The code of a nest with other buffers, by their numbers.
pub(super) fn with_buffers(mut code: NestCode, buffers: &[BufferId]) -> NestCode {
    for slot in &mut code.slots {
        if let Base::Buffer(id, _) = slot {
            *id = buffers[*id as usize];
        }
    }
    for partial in &mut code.split.partials {
        partial.buffer = buffers[partial.buffer as usize];
    }
    code
}
