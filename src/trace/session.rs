//! The state while a function is staged: open scopes, and the first error.

use super::close::{ClosedBody, close};
use super::node::{StagedArray, StagedNode, fresh, placeholder};
use crate::array::ReportedAt;
use crate::error::Error;
use crate::shape::Type;
use crate::term::Op;
use smallvec::SmallVec;
use std::cell::RefCell;
use std::panic::Location;
use std::sync::Arc;

thread_local! {
    static SESSION: RefCell<Session> = const { RefCell::new(Session::new()) };
}

struct Session {
    /// IDs of the open scopes, ascending.
    open: Vec<u64>,
    /// The first error of the function that is staged.
    error: Option<Error>,
    /// The arrays that variables are elements of, by the variables' IDs, ascending.
    sources: Vec<(u64, StagedArray)>,
}

impl Session {
    const fn new() -> Session {
        Session { open: Vec::new(), error: None, sources: Vec::new() }
    }
}

/// Records the array that a new variable is an element of.
pub(crate) fn declare_source(variable: &StagedArray, source: &StagedArray) {
    SESSION.with_borrow_mut(|session| {
        let at = session.sources.partition_point(|(id, _)| *id < variable.0.id);
        session.sources.insert(at, (variable.0.id, source.clone()));
    });
}

/// The array that a variable is an element of, if it was recorded.
pub(crate) fn source(variable: &StagedArray) -> Option<StagedArray> {
    SESSION.with_borrow(|session| {
        let at = session.sources.binary_search_by_key(&variable.0.id, |(id, _)| *id).ok()?;
        Some(session.sources[at].1.clone())
    })
}

/// The staging of one function. It starts with nothing open and no error: values of a function that is being staged around it
/// are as foreign to its program as any others. Dropping it, even by a panic of the user's function, restores the outer state.
pub(crate) struct Staging {
    outer: Session,
}

impl Staging {
    /// Saves the state of the staging around this one.
    pub(crate) fn start() -> Staging {
        Staging { outer: SESSION.replace(Session::new()) }
    }

    /// The first error of the function, taken out.
    pub(crate) fn take_error(&self) -> Option<Error> {
        SESSION.with_borrow_mut(|session| session.error.take())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        let outer = std::mem::replace(&mut self.outer, Session::new());
        SESSION.set(outer);
    }
}

/// Records an error, unless there is one already.
pub(crate) fn record(error: Error) {
    SESSION.with_borrow_mut(|session| {
        session.error.get_or_insert(error);
    });
}

/// Whether a value may be used here; if not, that is recorded as an error.
pub(crate) fn check_scope(array: &StagedArray, place: &Location<'_>) -> bool {
    let open = is_open(array);
    if !open {
        record(Error::Scope {
            problem: "an index, loop value or parameter was used outside of its build, loop or staged function".into(),
            place: ReportedAt::or(place).to_string(),
        });
    }
    open
}

/// Whether a value may be used here.
pub(crate) fn is_open(array: &StagedArray) -> bool {
    let scope = array.0.scope;
    scope == 0 || SESSION.with_borrow(|session| session.open.binary_search(&scope).is_ok())
}

/// The innermost open scope; 0 for none.
pub(crate) fn innermost() -> u64 {
    SESSION.with_borrow(|session| session.open.last().copied().unwrap_or(0))
}

/// The results of a body, checked like operands: a node that escaped from another binder is reported and replaced by zeros, for
/// it must not be closed over.
pub(crate) fn check_results(results: &mut [StagedArray], place: &Location<'_>) {
    for result in results {
        if !check_scope(result, place) {
            *result = placeholder(result.ty());
        }
    }
}

/// An open binder. Dropping it, also by a panic of a user's closure, closes it and all that were opened inside.
pub(crate) struct Scope {
    id: u64,
}

impl Scope {
    /// Opens a scope inside those that are open.
    pub(crate) fn open() -> Scope {
        let id = fresh();
        SESSION.with_borrow_mut(|session| session.open.push(id));
        Scope { id }
    }

    /// Fresh variables that exist in this scope only.
    pub(crate) fn variables(&self, types: &[Type]) -> Vec<StagedArray> {
        types
            .iter()
            .enumerate()
            .map(|(position, ty)| {
                StagedArray(Arc::new(StagedNode {
                    id: fresh(),
                    scope: self.id,
                    op: Op::Parameter(position),
                    args: SmallVec::new(),
                    types: SmallVec::from_elem(ty.clone(), 1),
                }))
            })
            .collect()
    }

    /// Whether a node is independent of this scope.
    pub(crate) fn is_outside(&self, array: &StagedArray) -> bool {
        array.0.scope < self.id
    }

    /// Closes results over the variables of this scope: nodes that do not depend on the scope become captures.
    pub(crate) fn close(self, variables: &[StagedArray], results: &[StagedArray]) -> ClosedBody {
        close(variables, results, &|node| node.scope >= self.id)
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        SESSION.with_borrow_mut(|session| {
            let at = session.open.partition_point(|&open| open < self.id);
            session.open.truncate(at);
        });
    }
}
