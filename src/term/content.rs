//! The contents of a body and of those nested in it, determined when the body is made, so that no later walk is needed.

use crate::operation::Unary;
use crate::term::op::{Body, Content, Extension, Node, Op};

/// How deep bodies may be nested: of loops, conditionals, builds and functions with rules of their own.
///
/// [`Body::new`](crate::term::Body::new), staging and the readers say so where there are more, and
/// [`Graph::add`](crate::term::Graph::add) panics. Passes, engines and exporters recurse into nested bodies, and put at most 16 KB
/// on the stack for each level without optimisation: twice as many levels fit into the 8 MiB that a program's main thread usually
/// has. With optimisation these fit into the 2 MiB of other threads. Bulk forms and derivatives of programs are nested no deeper
/// than those.
pub const MAX_NESTING: usize = 256;

/// The most nodes in the bodies of one operation. Nodes of a body that occurs in several places count each time.
///
/// It bounds text that is written out, such as kernels and sources, where a few bodies are nested in many ways. It applies in
/// the same places as [`MAX_NESTING`], and also to derivatives, engines and exporters that result in an error. Programs that
/// passes make of such programs, and [`Graph::add`](crate::term::Graph::add), may have [`MAX_NESTING`] times as many nodes.
pub const MAX_NESTED_NODES: usize = 1 << 22;

/// How many times as many nodes a pass may make: a derivative passes the kept values of a body through all enclosing bodies.
const GROWTH: usize = MAX_NESTING;

/// Checks that an operation's bodies are within the limits for those that users make.
///
/// # Errors
///
/// A sentence that names the limit.
pub(crate) fn check_nested<X: Extension>(op: &Op<X>) -> Result<(), String> {
    Content::nested(op).check(MAX_NESTED_NODES)
}

/// As [`check_nested`], for operations that passes make.
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
    /// The contents of these nodes, from the contents of the bodies nested in them.
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

    /// The content of the bodies of an operation.
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
