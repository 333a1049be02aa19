//! Bodies, and which of their parameters move.

use super::memo::MemoKey;
use crate::term::Body;
use std::sync::Arc;

/// A body and which of its parameters move with the inputs.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Active {
    pub(crate) body: Arc<Body>,
    pub(crate) parameters: Vec<bool>,
}

impl MemoKey for Active {
    fn bodies(&self) -> impl Iterator<Item = &Body> {
        std::iter::once(&*self.body)
    }
}
