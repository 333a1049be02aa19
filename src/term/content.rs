//! What is in a body and in those nested in it, which is found when the body is made, so that nothing walks over them again.

use crate::operation::Unary;
use crate::term::op::{Body, Content, Extension, Node, Op};

/// How many bodies may stand in one another: of loops, conditionals, builds and functions with rules of their own.
///
/// [`Body::new`](crate::term::Body::new), staging and the readers say so where there are more, and
/// [`Graph::add`](crate::term::Graph::add) panics. Passes, engines and exporters recurse into nested bodies, and put at most 16 KB
/// on the stack for each level without optimisation: twice as many levels fit into the 8 MiB that a program's main thread usually
/// has. With optimisation these fit into the 2 MiB of other threads. Bulk forms and derivatives of programs are nested no deeper
/// than those.
pub const MAX_NESTING: usize = 256;

/// How many nodes there may be in the bodies of one operation, those of a body that stands in several places counted in each.
///
/// It bounds what is written out, as kernels and sources are, where a few bodies stand in one another in many ways. The limit is
/// that of [`MAX_NESTING`], and also that of derivatives, engines and exporters that result in an error. What passes make of such
/// programs, and [`Graph::add`](crate::term::Graph::add), may have [`MAX_NESTING`] times as many.
pub const MAX_NESTED_NODES: usize = 1 << 22;

/// How many times as many nodes a pass may make: a derivative hands what it keeps of a body through all bodies around it.
const GROWTH: usize = MAX_NESTING;

/// Whether an operation's bodies are within the limits of those that users make.
///
/// # Errors
///
/// A sentence that names the limit.
pub(crate) fn check_nested<X: Extension>(op: &Op<X>) -> Result<(), String> {
    Content::nested(op).check(MAX_NESTED_NODES)
}

/// As [`check_nested`], of what passes make.
pub(super) fn check_made<X: Extension>(op: &Op<X>) -> Result<(), String> {
    Content::nested(op).check(MAX_NESTED_NODES * GROWTH)
}

/// As [`check_nested`], of all operations of a body.
pub(crate) fn check_body<X: Extension>(body: &Body<X>) -> Result<(), String> {
    // Nearly all bodies are far from the limits.
    if body.content.check(MAX_NESTED_NODES).is_ok() {
        return Ok(());
    }
    let check =
        |(at, node): (usize, &Node<X>)| check_nested(&node.op).map_err(|problem| format!("node {at}: {problem}"));
    body.nodes.iter().enumerate().try_for_each(check)
}

impl Content {
    /// Of these nodes, given that of the bodies nested in them.
    pub(crate) fn of<X: Extension>(nodes: &[Node<X>]) -> Content {
        let mut all = Content::default();
        for node in nodes {
            all.nodes = all.nodes.saturating_add(1);
            match &node.op {
                Op::Constant(array) if array.uniform().is_none() => {
                    let bytes = array.size().saturating_mul(array.dtype().bytes());
                    all.constant_bytes = all.constant_bytes.saturating_add(bytes);
                }
                Op::Mark | Op::Unary(Unary::StopGradient) | Op::Custom(_) => all.has_marks = true,
                _ => {}
            }
            all.add(Content::nested(&node.op));
        }
        all
    }

    /// Of the bodies of an operation.
    pub(crate) fn nested<X: Extension>(op: &Op<X>) -> Content {
        let mut all = Content::default();
        for body in op.all_bodies() {
            all.add(Content { nesting: body.content.nesting + 1, ..body.content });
        }
        all
    }

    fn check(&self, most: usize) -> Result<(), String> {
        if self.nesting > MAX_NESTING {
            return Err(format!("bodies are nested more than {MAX_NESTING} deep"));
        }
        if self.nodes > most {
            return Err(format!("there are more than {most} nodes in its bodies, of each as often as it stands there"));
        }
        Ok(())
    }

    fn add(&mut self, other: Content) {
        self.nesting = self.nesting.max(other.nesting);
        self.nodes = self.nodes.saturating_add(other.nodes);
        self.constant_bytes = self.constant_bytes.saturating_add(other.constant_bytes);
        self.has_marks |= other.has_marks;
    }
}
