//! Nests that stores are added to, and the nodes that are stored where one becomes too large.

use super::{Alone, Lowering, PendingStep};
use crate::kernel::access::{Access, Affine, Guards};
use crate::kernel::buffer::BufferId;
use crate::kernel::draft::NestDraft;
use crate::kernel::emit::{Emitter, Obstacle, VALUES};
use crate::kernel::nest::{NestValue, Store, StoreMode, ValueId};
use crate::kernel::writes::turned_scatter;
use crate::operation::Unary;
use crate::shape::{Shape, size};
use crate::term::NodeId;

impl Lowering<'_> {
    /// A store of a nest without positions. Nothing runs: a reduction over nothing keeps its neutral element, and a value has
    /// no elements.
    pub(super) fn nothing(&mut self, extents: &Shape, buffer: BufferId, mode: StoreMode) -> Result<(), Obstacle> {
        let zero = crate::shape::Value::from_i64(self.procedure.buffers[buffer as usize].ty.dtype, 0);
        let write = |emitter: &mut Emitter| Ok(emitter.add(NestValue::Constant(zero), zero.dtype()));
        let (place, value) = self.attempt(extents, 1, &write)?;
        let at = Affine::constant(0, extents.len());
        self.store(place, Store { value, buffer, at, guards: Guards::new(), index: None, mode });
        Ok(())
    }

    /// Adds a store to a nest of this domain: to the latest one, if everything that is read is known there, or to a new one.
    #[allow(clippy::type_complexity)]
    pub(in crate::kernel) fn nest(
        &mut self,
        extents: &Shape,
        buffer: BufferId,
        mode: StoreMode,
        store: &dyn Fn(&mut Emitter) -> Result<(ValueId, Affine, Guards, Option<(ValueId, i64, i64)>), Obstacle>,
    ) -> Result<(), Obstacle> {
        if size(extents) == 0 {
            return self.nothing(extents, buffer, mode);
        }
        let (place, (value, at, guards, index)) = match self.alone {
            None => self.attempt(extents, 1, store)?,
            Some(Alone { node, negated }) => {
                let body = self.body;
                let node = turned_scatter(body, node).unwrap_or(node);
                self.separate(extents, buffer, (node, &body.node(node).args), &|emitter| {
                    let (value, at, guards, index) = store(emitter)?;
                    let dtype = body.node(node).ty().dtype;
                    let negative = |emitter: &mut Emitter| emitter.add(NestValue::Unary(Unary::Neg, value), dtype);
                    Ok((if negated { negative(emitter) } else { value }, at, guards, index))
                })?
            }
        };
        self.store(place, Store { value, buffer, at, guards, index, mode });
        Ok(())
    }

    /// Writes the values of `stores` stores into the latest nest of a domain, if everything that is read is known there and
    /// there is room, or into a new one. Nodes that make that one too large are stored separately. Gives the place of the nest.
    pub(super) fn attempt<T>(
        &mut self,
        extents: &[usize],
        stores: usize,
        write: &dyn Fn(&mut Emitter) -> Result<T, Obstacle>,
    ) -> Result<(usize, T), Obstacle> {
        loop {
            let latest = self.nests.get(extents).copied();
            if let Some(place) = latest
                && let Some(written) = self.go_on(place, stores, write)?
            {
                return Ok((place, written));
            }
            if let Some(written) = self.fresh(extents, write)? {
                self.nests.insert(Shape::from_slice(extents), written.0);
                return Ok(written);
            }
            // A nest that could not be continued is not tried again.
            if self.nests.get(extents).copied() == latest {
                self.nests.remove(extents);
            }
        }
    }

    /// Writes the operands of stores into a new nest, and gives its place; `None` where it would be too large, and the nodes
    /// that make it so are stored now: by the nest itself, if it is over their shape.
    pub(super) fn fresh<T>(
        &mut self,
        extents: &[usize],
        write: &dyn Fn(&mut Emitter) -> Result<T, Obstacle>,
    ) -> Result<Option<(usize, T)>, Obstacle> {
        let mut emitter = Emitter::new(self.body, &self.buffers, &self.heights, NestDraft::new(extents), None);
        let written = write(&mut emitter);
        self.unreadable.append(&mut emitter.unreadable);
        match written {
            Ok(written) => {
                self.places.push(PendingStep::Nest(Box::new(emitter.draft)));
                Ok(Some((self.places.len() - 1, written)))
            }
            Err(Obstacle::Size(node)) => {
                let frontier = emitter.frontier(&mut self.uses);
                let draft = emitter.draft;
                match draft.whole(self.body, frontier.iter().copied().chain([node])) {
                    // The nest stores them itself, and is full: none continues it.
                    Some(values) => {
                        self.places.push(PendingStep::Nest(Box::new(draft)));
                        self.store_whole(self.places.len() - 1, &values)?;
                    }
                    None => {
                        let alone = self.alone.take();
                        self.cut(node, &frontier)?;
                        self.alone = alone;
                    }
                }
                Ok(None)
            }
            Err(obstacle) => Err(obstacle),
        }
    }

    /// Continues the nest at a place, unless something is read there that is known only later, or there is no room. Values that
    /// are in the nest already are not written again: many stores share their operands.
    pub(super) fn go_on<T>(
        &mut self,
        place: usize,
        stores: usize,
        write: &dyn Fn(&mut Emitter) -> Result<T, Obstacle>,
    ) -> Result<Option<T>, Obstacle> {
        let PendingStep::Nest(draft) = &mut self.places[place] else { unreachable!("a place of a nest") };
        let draft = std::mem::replace(&mut **draft, NestDraft::new(&[]));
        let before = draft.len();
        let has_room = draft.nest.nest.stores.len() + stores <= 2 * VALUES;
        let mut emitter = Emitter::new(self.body, &self.buffers, &self.heights, draft, Some((place, &self.filled_at)));
        let written = if has_room { write(&mut emitter) } else { Err(Obstacle::Size(NodeId::MAX)) };
        self.unreadable.append(&mut emitter.unreadable);
        let room = (2 * VALUES).saturating_sub(emitter.draft.nest.nest.stores.len());
        let full = match written {
            Err(Obstacle::Size(node)) if node != NodeId::MAX => {
                let frontier = emitter.frontier(&mut self.uses);
                let values = emitter.draft.whole(self.body, frontier.iter().copied().chain([node]));
                values.filter(|values| values.len() <= room)
            }
            _ => None,
        };
        let mut draft = emitter.draft;
        let mut stored = Vec::new();
        if let Some(values) = full {
            stored = values;
        } else if let Err(obstacle) = written {
            draft.truncate(before);
            if let Obstacle::Size(_) = obstacle {
                stored = draft.left(self.body, &self.buffers, &mut self.uses);
                stored.truncate(room);
            }
        }
        self.places[place] = PendingStep::Nest(Box::new(draft));
        self.store_whole(place, &stored)?;
        match written {
            Ok(written) => Ok(Some(written)),
            Err(Obstacle::Size(_) | Obstacle::Later(_)) => Ok(None),
            Err(obstacle) => Err(obstacle),
        }
    }

    /// Stores nodes of one shape that the nest at a place, over that shape, computes.
    pub(super) fn store_whole(&mut self, place: usize, values: &[(NodeId, ValueId)]) -> Result<(), Obstacle> {
        for &(id, value) in values {
            let shape = &self.body.node(id).ty().shape;
            let at = Access::identity(shape.len()).linear(shape, shape).ok_or(Obstacle::Read(id))?;
            let buffer = self.local(id);
            self.store(place, Store { value, buffer, at, guards: Guards::new(), index: None, mode: StoreMode::Write });
        }
        Ok(())
    }

    /// Stores a node at which a nest became too large, and the nodes that the rest of it needs of those written before. Nodes
    /// of one shape share their operands.
    pub(super) fn cut(&mut self, node: NodeId, frontier: &[NodeId]) -> Result<(), Obstacle> {
        let mut shapes: Vec<(&Shape, Vec<NodeId>)> = Vec::new();
        for &id in frontier.iter().filter(|&&id| id != node) {
            let shape = &self.body.node(id).ty().shape;
            match shapes.iter_mut().find(|(of, _)| *of == shape) {
                Some((_, ids)) => ids.push(id),
                None => shapes.push((shape, vec![id])),
            }
        }
        for (shape, mut ids) in shapes {
            ids.retain(|id| !self.buffers.contains(*id));
            let write = |emitter: &mut Emitter| -> Result<Vec<(NodeId, ValueId)>, Obstacle> {
                let whole = |&id: &NodeId| Ok((id, emitter.emit(id, Access::identity(shape.len()), NodeId::MAX)?));
                ids.iter().map(whole).collect()
            };
            let (place, mut values) = self.attempt(shape, ids.len(), &write)?;
            // Some may have been stored on the way.
            values.retain(|(id, _)| !self.buffers.contains(*id));
            self.store_whole(place, &values)?;
        }
        if self.buffers.contains(node) { Ok(()) } else { self.pointwise(node) }
    }

    pub(super) fn store(&mut self, place: usize, store: Store) {
        // A concatenation is known when its last part is.
        let filled = self.filled_at.entry(store.buffer).or_insert(place);
        *filled = place.max(*filled);
        let PendingStep::Nest(draft) = &mut self.places[place] else { unreachable!("a place of a nest") };
        draft.nest.store(store);
    }
}
