//! Tracing closures of eager algebras: the operations at the first position of a `build`, recorded for all positions.
//!
//! The closure runs once, on arrays that have the values of the first position and, beside these, a node each. An operation of
//! which an operand has a node computes the value as ever, and gives the result a node. Where no value was read that depends on the
//! position, the nodes are the closure's body, and the array is computed in bulk. Else the body is forgotten, and the closure called
//! for every position.

use super::close::ClosedBody;
use super::node::StagedArray;
use super::operation::{bind, constant};
use super::session::{Scope, is_open};
use crate::algebra::{Algebra, CapturedBody, Operands};
use crate::shape::Type;
use crate::term::{Arrays, Op};
use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A body of more operations is not worth writing down: closures with loops of many steps make such.
const MOST: usize = 4096;

/// A closure that is being traced.
struct ClosureFrame {
    /// The algebra that it runs in.
    algebra: TypeId,
    /// The scope of the variables that stand for the closure's captures.
    captured: Scope,
    /// The scope of the positions.
    inner: Scope,
    /// The nodes of arrays that depend on the positions or on what is captured, by their identities, ascending.
    nodes: Vec<StagedArray>,
    /// The arrays of the algebra that nodes from outside stand for, by the nodes' identities.
    arrays: HashMap<u64, Box<dyn Any>>,
    /// The variables of captured arrays, by the arrays' identities.
    variables: HashMap<(usize, u64), StagedArray>,
    operations: usize,
    /// Whether a value was read that depends on a position.
    is_read: Arc<AtomicBool>,
}

thread_local! {
    static FRAMES: RefCell<Vec<ClosureFrame>> = const { RefCell::new(Vec::new()) };
}

impl ClosureFrame {
    fn node(&self, identity: u64) -> Option<&StagedArray> {
        let at = self.nodes.binary_search_by_key(&identity, StagedArray::identity).ok()?;
        Some(&self.nodes[at])
    }
}

/// The node of an array in a closure that is being traced, by the number that the array has.
fn node<A: Algebra>(array: &A::Array) -> Option<StagedArray> {
    let identity = A::node(array)?;
    FRAMES.with_borrow(|frames| frames.iter().rev().find_map(|frame| frame.node(identity)).cloned())
}

/// An array with a node, which is known until the closure ends whose positions or captures it depends on.
fn with_node<A: Algebra>(array: A::Array, node: StagedArray) -> A::Array {
    let identity = node.identity();
    FRAMES.with_borrow_mut(|frames| {
        let owner = frames.iter().rposition(|frame| !frame.captured.is_outside(&node)).unwrap_or(0);
        let nodes = &mut frames[owner].nodes;
        // Some operations result in their operand, whose node is known.
        if let Err(at) = nodes.binary_search_by_key(&identity, StagedArray::identity) {
            nodes.insert(at, node);
        }
    });
    A::with_node(array, identity)
}

/// The mark that is set where a value of the innermost closure is read.
pub(crate) fn is_read() -> Arc<AtomicBool> {
    FRAMES.with_borrow(|frames| frames.last().map(|frame| frame.is_read.clone()).unwrap_or_default())
}

/// Notes that the values of all closures that are being traced are read.
fn note_read_in_all() {
    FRAMES.with_borrow(|frames| frames.iter().for_each(|frame| frame.is_read.store(true, Ordering::Relaxed)));
}

/// An open frame after so many others, which is taken away also where the closure panics.
struct OpenFrame(usize);

impl Drop for OpenFrame {
    fn drop(&mut self) {
        FRAMES.with_borrow_mut(|frames| frames.truncate(self.0));
    }
}

/// The body of a closure and its captures, if no value was read that depends on its parameters; `values` are those of the first
/// position.
pub(crate) fn trace<A: Algebra>(
    parameters: &[Type],
    values: Vec<A::Array>,
    f: &mut dyn FnMut(Vec<A::Array>) -> A::Array,
) -> Option<CapturedBody<A>> {
    let open = OpenFrame(FRAMES.with_borrow(Vec::len));
    let is_read = Arc::new(AtomicBool::new(false));
    let (captured, inner) = (Scope::open(), Scope::open());
    let positions = inner.variables(parameters);
    let (nodes, arrays, variables) = Default::default();
    let frame = ClosureFrame {
        algebra: TypeId::of::<A>(),
        captured,
        inner,
        nodes,
        arrays,
        variables,
        operations: 0,
        is_read: is_read.clone(),
    };
    FRAMES.with_borrow_mut(|frames| frames.push(frame));
    let arguments = values.into_iter().zip(&positions).map(|(value, node)| with_node::<A>(value, node.clone()));
    let arguments: Vec<A::Array> = arguments.collect();
    // Not every algebra has arrays with nodes.
    if arguments.iter().any(|argument| A::node(argument).is_none()) {
        return None;
    }
    let result = f(arguments);
    let result = operand::<A>(&result);
    if is_read.load(Ordering::Relaxed) {
        // The value may depend on a position of a closure around this one too.
        note_read_in_all();
        return None;
    }
    let result = result?;
    let frame = FRAMES.with_borrow_mut(Vec::pop).expect("the frame of this closure");
    let ClosureFrame { captured, inner, mut arrays, .. } = frame;
    let ClosedBody { body, captures } = inner.close(&positions, &[result]);
    drop((captured, open));
    let array = |node: &StagedArray| arrays.remove(&node.identity())?.downcast::<A::Array>().ok().map(|array| *array);
    let captures: Option<Vec<A::Array>> = captures.iter().map(array).collect();
    Some((Arc::new(body), captures?))
}

/// The node of an operand: its own, or the variable that stands for a captured array. `None` where the traced closure is of
/// another algebra, or has ended: that counts as reading a value.
fn operand<A: Algebra>(array: &A::Array) -> Option<StagedArray> {
    let own = node::<A>(array).filter(is_open);
    let found = FRAMES.with_borrow_mut(|frames| {
        let frame = frames.last_mut().filter(|frame| frame.algebra == TypeId::of::<A>())?;
        if let Some(node) = own {
            if frame.inner.is_outside(&node) {
                frame.arrays.entry(node.identity()).or_insert_with(|| Box::new(array.clone()));
            }
            return Some(node);
        }
        // Its node belongs to a closure that has ended.
        if A::node(array).is_some() {
            return None;
        }
        if let Some(value) = A::literal(array) {
            return Some(constant(value));
        }
        let key = A::identity(array);
        if let Some(variable) = key.and_then(|key| frame.variables.get(&key)) {
            return Some(variable.clone());
        }
        let variable = frame.captured.variables(&[A::type_of(array)]).remove(0);
        frame.arrays.insert(variable.identity(), Box::new(array.clone()));
        if let Some(key) = key {
            frame.variables.insert(key, variable.clone());
        }
        Some(variable)
    });
    if found.is_none() {
        A::note_read(array);
        note_read_in_all();
    }
    found
}

/// The result of an operation with an operand that has a node.
#[track_caller]
pub(crate) fn traced<A: Algebra>(op: &Op, operands: Operands<A>) -> A::Array {
    let nodes: Option<Arrays<StagedArray>> = operands.iter().map(operand::<A>).collect();
    if nodes.is_none() {
        operands.iter().for_each(A::note_read);
    }
    let value = A::bind(op, operands.into_iter().map(A::without_node).collect());
    let is_within = FRAMES.with_borrow_mut(|frames| {
        frames.last_mut().is_some_and(|frame| {
            frame.operations += 1;
            frame.operations <= MOST
        })
    });
    match nodes {
        Some(nodes) if is_within => with_node::<A>(value, bind(op, nodes)),
        _ => {
            note_read_in_all();
            value
        }
    }
}
