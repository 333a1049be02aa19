//! What is in a body and in those nested in it, which is found when the body is made, so that nothing walks over them again.

use crate::operation::Unary;
use crate::term::body::Node;
use crate::term::op::{Extension, Op};

/// What the nodes of a body and of those nested in it are, all together.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Content {
    /// How many bodies stand in one another.
    pub(crate) nesting: usize,
    /// How many nodes there are, those of a nested body as often as it stands there; at most the largest number.
    pub(crate) nodes: usize,
    /// The bytes of the constants that are not one repeated value.
    pub(crate) constant_bytes: usize,
    /// Whether some node says something to differentiation only.
    pub(crate) has_marks: bool,
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

    fn add(&mut self, other: Content) {
        self.nesting = self.nesting.max(other.nesting);
        self.nodes = self.nodes.saturating_add(other.nodes);
        self.constant_bytes = self.constant_bytes.saturating_add(other.constant_bytes);
        self.has_marks |= other.has_marks;
    }
}
