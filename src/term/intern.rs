//! Of equal bodies in operations, one.
//!
//! Derivatives of loops with checkpoints have a step in several places, and make it anew in each. As one body it is found
//! again by its address: it is compared once, and passes go through it once, however often it stands in others.

use crate::term::Body;
use crate::term::hash::{TermMap, term_hash};
use crate::term::op::{Extension, Op};
use std::any::Any;
use std::cell::RefCell;
use std::sync::{Arc, Weak};

/// Bodies by their hashes, as long as programs hold them.
#[derive(Default)]
struct Bodies {
    by_hash: TermMap<u64, Vec<Weak<dyn Any + Send + Sync>>>,
    /// How many there may be before those are forgotten that no program holds any more.
    limit: usize,
}

thread_local! {
    static BODIES: RefCell<Bodies> = RefCell::default();
}

impl Bodies {
    fn find<X: Extension>(&mut self, hash: u64, body: &Arc<Body<X>>) -> Arc<Body<X>> {
        let same_hash = self.by_hash.entry(hash).or_default();
        let held = same_hash.iter().filter_map(Weak::upgrade).filter_map(|other| other.downcast::<Body<X>>().ok());
        if let Some(known) = held.into_iter().find(|other| other == body) {
            return known;
        }
        let new: Arc<dyn Any + Send + Sync> = body.clone();
        same_hash.push(Arc::downgrade(&new));
        if self.by_hash.len() > self.limit {
            self.by_hash.retain(|_, bodies| {
                bodies.retain(|body| body.strong_count() > 0);
                !bodies.is_empty()
            });
            self.limit = 2 * self.by_hash.len() + 64;
        }
        body.clone()
    }
}

/// The one body that stands for all that equal this one.
fn interned<X: Extension>(body: &Arc<Body<X>>) -> Arc<Body<X>> {
    let known = BODIES.with_borrow_mut(|bodies| bodies.find(term_hash(body), body));
    if body.known.is_simple() {
        known.known.set_simple();
    }
    known
}

impl<X: Extension> Op<X> {
    /// The operation whose bodies stand for all that equal them.
    pub(super) fn with_interned_bodies(self) -> Op<X> {
        if !self.is_multiple() {
            return self;
        }
        let mut changed = false;
        let op = self.map_bodies(|body| {
            let known = interned(body);
            changed |= !Arc::ptr_eq(body, &known);
            known
        });
        if changed { op } else { self }
    }
}
