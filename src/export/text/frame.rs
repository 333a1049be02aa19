//! Bodies that are being read: their nodes in the order of the text, and the arena that becomes of them.

use super::reader::{Form, Read, Reader};
use super::tokens::Problem;
use crate::array::Array;
use crate::export::limits::NESTING;
use crate::shape::Type;
use crate::term::{Body, Node, NodeId, Op};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;

/// Nodes of the frame around that a body and its siblings refer to, and where each is among them.
#[derive(Default)]
pub(super) struct Captures {
    nodes: Vec<NodeId>,
    positions: HashMap<NodeId, usize>,
}

impl Captures {
    fn position(&mut self, node: NodeId) -> usize {
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
pub(super) struct Frame<'t, X> {
    names: HashMap<&'t str, NodeId>,
    nodes: Vec<Node<X>>,
    parameters: usize,
    captures: Captures,
    /// For nodes of the frame around, the node here, and the position among the captures.
    captured: HashMap<NodeId, (NodeId, usize)>,
    /// Whether nothing of the frames around this one can be referred to.
    closed: bool,
    /// Which let, in the order of the text, gives a node its name.
    lets: HashMap<NodeId, usize>,
    /// How many lets there are.
    count: usize,
    /// Constants whose elements are all equal, which are written anew wherever they are used.
    constants: HashMap<Array, NodeId>,
    /// Nodes whose lets stand where they are, however often they are used: inner bodies refer to them, or they have lines of
    /// their own.
    stays: Vec<bool>,
}

impl<X> Frame<'_, X> {
    fn push(&mut self, node: Node<X>) -> NodeId {
        self.nodes.push(node);
        self.stays.push(false);
        (self.nodes.len() - 1) as NodeId
    }

    fn parameter(&mut self, position: usize, ty: Type) -> NodeId {
        let types = SmallVec::from_elem(ty, 1);
        self.push(Node { op: Op::Parameter(position), args: SmallVec::new(), types })
    }
}

/// A body whose end was read, but of whose siblings perhaps not.
pub(super) struct Open<'t, X> {
    frame: Frame<'t, X>,
    results: Vec<NodeId>,
}

/// A parameter: its name, its type, and where the name stands.
pub(super) type Parameter<'t> = (&'t str, Type, usize);

impl<'t, X: Form> Reader<'t, X> {
    fn top(&mut self) -> &mut Frame<'t, X> {
        self.frames.last_mut().expect("bodies are read in frames")
    }

    /// The types of a node of the innermost body.
    pub(super) fn types(&self, node: NodeId) -> &[Type] {
        let frame = self.frames.last().expect("bodies are read in frames");
        &frame.nodes[node as usize].types
    }

    /// The type of a node with one output.
    pub(super) fn type_of(&self, node: NodeId) -> &Type {
        &self.types(node)[0]
    }

    /// Reads a body of these parameters. `captures` are what siblings that were read before refer to.
    pub(super) fn body(
        &mut self,
        parameters: Vec<Parameter<'t>>,
        captures: Captures,
        closed: bool,
        read: impl FnOnce(&mut Self) -> Read<Vec<NodeId>>,
    ) -> Read<Open<'t, X>> {
        if self.frames.len() == NESTING {
            return self.fail(format!("bodies are nested more than {NESTING} deep"));
        }
        self.frames.push(Frame {
            names: HashMap::new(),
            nodes: Vec::new(),
            parameters: parameters.len(),
            captures,
            captured: HashMap::new(),
            closed,
            lets: HashMap::new(),
            count: 0,
            constants: HashMap::new(),
            stays: Vec::new(),
        });
        for (position, (name, ty, place)) in parameters.into_iter().enumerate() {
            let node = self.top().parameter(position, ty);
            self.bind(name, node, place)?;
        }
        let results = read(self)?;
        let frame = self.frames.pop().expect("bodies are read in frames");
        Ok(Open { frame, results })
    }

    /// What a body and its siblings refer to, for the next of them.
    pub(super) fn captures(open: &mut Open<'t, X>) -> Captures {
        std::mem::take(&mut open.frame.captures)
    }

    /// Finishes bodies that refer to the same nodes of the innermost frame.
    pub(super) fn close(&mut self, bodies: Vec<Open<'t, X>>, captures: &Captures) -> Vec<Arc<Body<X>>> {
        let types: Vec<Type> = captures.nodes.iter().map(|&node| self.type_of(node).clone()).collect();
        for &node in &captures.nodes {
            self.stays(node);
        }
        bodies.into_iter().map(|open| Arc::new(open.frame.finish(&types, open.results))).collect()
    }

    /// Notes that the let of a node of the innermost body stands where it is.
    pub(super) fn stays(&mut self, node: NodeId) {
        self.top().stays[node as usize] = true;
    }

    /// Finishes the outermost body, of whose parameters the last are captures.
    pub(super) fn finish(&mut self, open: Open<'t, X>, captures: usize) -> Body<X> {
        let mut body = open.frame.finish(&[], open.results);
        body.parameters -= captures;
        body.captures = captures;
        body
    }

    /// Gives a node a name that is not taken.
    pub(super) fn bind(&mut self, name: &'t str, node: NodeId, place: usize) -> Read<()> {
        if self.frames.iter().any(|frame| frame.names.contains_key(name)) {
            return Err(Problem::new(format!("the name {name} is taken"), place));
        }
        self.top().names.insert(name, node);
        Ok(())
    }

    /// Notes that a let gives these nodes their names, the first of which is what it defines.
    pub(super) fn note_let(&mut self, nodes: impl IntoIterator<Item = NodeId>) {
        let frame = self.top();
        let number = frame.count;
        frame.count += 1;
        for node in nodes {
            frame.lets.entry(node).or_insert(number);
        }
    }

    /// The node of a name, which inner bodies capture.
    pub(super) fn look_up(&mut self, name: &str, place: usize) -> Read<NodeId> {
        let Some(outermost) = self.frames.iter().rposition(|frame| frame.names.contains_key(name)) else {
            return Err(Problem::new(format!("nothing has the name {name}"), place));
        };
        let mut node = self.frames[outermost].names[name];
        for inner in outermost + 1..self.frames.len() {
            let ty = self.frames[inner - 1].nodes[node as usize].types[0].clone();
            let is_new = !self.frames[inner].captured.contains_key(&node);
            if is_new && let Err(problem) = self.limits.ty(&ty) {
                return Err(Problem::new(problem, place));
            }
            let frame = &mut self.frames[inner];
            if frame.closed {
                let problem = format!("{name} is no parameter: functions with derivative rules refer to those only");
                return Err(Problem::new(problem, place));
            }
            node = match frame.captured.get(&node) {
                Some(&(here, _)) => here,
                None => {
                    let position = frame.captures.position(node);
                    let here = frame.parameter(frame.parameters + position, ty);
                    frame.captured.insert(node, (here, position));
                    here
                }
            };
        }
        Ok(node)
    }

    /// Adds an operation to the innermost body. What does not fit is reported at a place of the text.
    pub(super) fn add(&mut self, op: Op<X>, args: &[NodeId], place: usize) -> Read<NodeId> {
        let frame = self.frames.last().expect("bodies are read in frames");
        let types = {
            let operands: SmallVec<[&[Type]; 4]> =
                args.iter().map(|&arg| &frame.nodes[arg as usize].types[..]).collect();
            self.limits.outputs(&op, &operands).map_err(|problem| Problem::new(problem, place))?
        };
        Ok(self.top().push(Node { op, args: args.into(), types }))
    }

    /// Adds a constant.
    pub(super) fn constant(&mut self, array: Array, place: usize) -> Read<NodeId> {
        let uniform = array.uniform().is_some();
        if let Some(&known) = self.top().constants.get(&array).filter(|_| uniform) {
            return Ok(known);
        }
        let node = self.add(Op::Constant(array.clone()), &[], place)?;
        if uniform {
            self.top().constants.insert(array, node);
        }
        Ok(node)
    }
}

/// The user of a node that has one.
#[derive(Clone, Copy, PartialEq)]
enum User {
    None,
    Node(usize),
    Results,
    Several,
}

impl<X: Form> Frame<'_, X> {
    /// The arena, with captures of these types, in an order in which it prints as it was read.
    fn finish(self, types: &[Type], results: Vec<NodeId>) -> Body<X> {
        let order = self.order(&results);
        let mut places: Vec<NodeId> = vec![NodeId::MAX; self.nodes.len()];
        places[..self.parameters].iter_mut().enumerate().for_each(|(at, place)| *place = at as NodeId);
        for &(here, position) in self.captured.values() {
            places[here as usize] = (self.parameters + position) as NodeId;
        }
        let mut nodes: Vec<Option<Node<X>>> = self.nodes.into_iter().map(Some).collect();
        let mut arena: Vec<Node<X>> =
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
    /// A program prints by a walk over its arena, in which a let whose name is used once is written when its user is come
    /// to, which may stand in a later line: that is why such a user stands directly behind its last let.
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
