//! Bodies that are being read: their nodes in the order of the text, and the arena that becomes of them.

use crate::array::Array;
use crate::shape::Type;
use crate::term::{Body, Build, Node, NodeId, Op};
use smallvec::SmallVec;
use std::collections::HashMap;

/// Nodes of the frame around that a body and its siblings refer to, and where each is among them.
#[derive(Default)]
pub(super) struct Captures {
    nodes: Vec<NodeId>,
    positions: HashMap<NodeId, usize>,
}

impl Captures {
    pub(super) fn position(&mut self, node: NodeId) -> usize {
        let next = self.nodes.len();
        let position = *self.positions.entry(node).or_insert(next);
        if position == next {
            self.nodes.push(node);
        }
        position
    }

    pub(super) fn nodes(&self) -> &[NodeId] {
        &self.nodes
    }
}

/// A body that is being read. Nodes are numbered in the order of the text, parameters first.
pub(super) struct BodyFrame<'t> {
    pub(super) names: HashMap<&'t str, NodeId>,
    pub(super) nodes: Vec<Node<Build>>,
    pub(super) parameters: usize,
    pub(super) captures: Captures,
    /// For nodes of the frame around, the node here, and the position among the captures.
    pub(super) captured: HashMap<NodeId, (NodeId, usize)>,
    /// Whether references to outer frames are forbidden.
    pub(super) closed: bool,
    /// The let, numbered in the order of the text, that names each node.
    pub(super) lets: HashMap<NodeId, usize>,
    /// The number of lets.
    pub(super) count: usize,
    /// Constants whose elements are all equal, which are written anew wherever they are used.
    pub(super) constants: HashMap<Array, NodeId>,
    /// Nodes whose lets stand where they are, however often they are used: inner bodies refer to them, or they have lines of
    /// their own.
    pub(super) stays: Vec<bool>,
}

impl BodyFrame<'_> {
    pub(super) fn push(&mut self, node: Node<Build>) -> NodeId {
        self.nodes.push(node);
        self.stays.push(false);
        (self.nodes.len() - 1) as NodeId
    }

    pub(super) fn parameter(&mut self, position: usize, ty: Type) -> NodeId {
        let types = SmallVec::from_elem(ty, 1);
        self.push(Node { op: Op::Parameter(position), args: SmallVec::new(), types })
    }
}

/// A body whose end was read, but of whose siblings perhaps not.
pub(super) struct OpenBody<'t> {
    pub(super) frame: BodyFrame<'t>,
    pub(super) results: Vec<NodeId>,
}

/// A parameter: its name, its type, and where the name stands.
pub(super) type NamedParameter<'t> = (&'t str, Type, usize);

/// The user of a node that has one.
#[derive(Clone, Copy, PartialEq)]
enum User {
    None,
    Node(usize),
    Results,
    Several,
}

impl BodyFrame<'_> {
    /// The arena, with captures of these types, in an order in which it prints as it was read.
    pub(super) fn finish(self, types: &[Type], results: Vec<NodeId>) -> Body<Build> {
        let order = self.order(&results);
        let mut places: Vec<NodeId> = vec![NodeId::MAX; self.nodes.len()];
        places[..self.parameters].iter_mut().enumerate().for_each(|(at, place)| *place = at as NodeId);
        for &(here, position) in self.captured.values() {
            places[here as usize] = (self.parameters + position) as NodeId;
        }
        let mut nodes: Vec<Option<Node<Build>>> = self.nodes.into_iter().map(Some).collect();
        let mut arena: Vec<Node<Build>> =
            nodes[..self.parameters].iter_mut().map(|node| node.take().expect("of the frame")).collect();
        for (position, ty) in types.iter().enumerate() {
            let op = Op::Parameter(self.parameters + position);
            arena.push(Node { op, args: SmallVec::new(), types: SmallVec::from_elem(ty.clone(), 1) });
        }
        for at in order {
            places[at] = arena.len() as NodeId;
            let mut node = nodes[at].take().expect("each node stands in the order once");
            node.args.iter_mut().for_each(|arg| *arg = places[*arg as usize]);
            arena.push(node);
        }
        let results = results.iter().map(|&result| places[result as usize]).collect();
        Body::of(self.parameters, types.len(), arena, results)
    }

    /// The order of the nodes that are neither parameters nor captures.
    ///
    /// A program prints by a walk over its arena. A let whose name is used once is written when the walk reaches its user,
    /// which may stand in a later line: that is why such a user comes directly after its last let.
    fn order(&self, results: &[NodeId]) -> Vec<usize> {
        let count = self.nodes.len();
        let is_parameter = |at: usize| matches!(self.nodes[at].op, Op::Parameter(_));
        let mut users = vec![User::None; count];
        // The last let that a node refers to, also within its operands, up to lets; one more than its number.
        let mut last_let = vec![0; count];
        let let_of = |at: usize| self.lets.get(&(at as NodeId)).map_or(0, |number| number + 1);
        for (at, node) in self.nodes.iter().enumerate() {
            for &arg in &node.args {
                let arg = arg as usize;
                users[arg] = if users[arg] == User::None { User::Node(at) } else { User::Several };
                let last = if let_of(arg) > 0 { let_of(arg) } else { last_let[arg] };
                last_let[at] = last_let[at].max(last);
            }
        }
        for &result in results {
            let user = &mut users[result as usize];
            *user = if *user == User::None { User::Results } else { User::Several };
        }
        let mut lets: Vec<Vec<usize>> = vec![Vec::new(); self.count];
        for (&node, &number) in &self.lets {
            lets[number].push(node as usize);
        }
        let mut order = Vec::new();
        let mut is_placed: Vec<bool> = (0..count).map(is_parameter).collect();
        let mut place = |node: usize| {
            let mut open = vec![(node, false)];
            while let Some((at, ready)) = open.pop() {
                if is_placed[at] {
                    continue;
                }
                if ready {
                    is_placed[at] = true;
                    order.push(at);
                } else {
                    open.push((at, true));
                    open.extend(self.nodes[at].args.iter().rev().map(|&arg| (arg as usize, false)));
                }
            }
        };
        for (number, nodes) in lets.iter_mut().enumerate() {
            nodes.sort_unstable();
            nodes.iter().for_each(|&node| place(node));
            let [node] = nodes[..] else { continue };
            let alone = !self.stays[node] && !self.nodes[node].op.is_multiple();
            if let (User::Node(user), true) = (users[node], alone)
                && last_let[user] <= number + 1
            {
                place(user);
            }
        }
        results.iter().for_each(|&result| place(result as usize));
        (0..count).for_each(&mut place);
        order
    }
}
