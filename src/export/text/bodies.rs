//! Reading bodies: names and operations go to the innermost of those that are open.

use super::frame::{BodyFrame, Captures, NamedParameter, OpenBody};
use super::reader::{ParseResult, TextReader};
use super::tokens::TextProblem;
use crate::array::Array;
use crate::export::limits::NESTING;
use crate::shape::Type;
use crate::term::{Body, Build, Node, NodeId, Op};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;

impl<'t> TextReader<'t> {
    fn top(&mut self) -> &mut BodyFrame<'t> {
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

    /// Reads a body of these parameters. `captures` are the nodes that earlier siblings refer to.
    pub(super) fn body(
        &mut self,
        parameters: Vec<NamedParameter<'t>>,
        captures: Captures,
        closed: bool,
        read: impl FnOnce(&mut Self) -> ParseResult<Vec<NodeId>>,
    ) -> ParseResult<OpenBody<'t>> {
        if self.frames.len() == NESTING {
            return self.fail(format!("bodies are nested more than {NESTING} deep"));
        }
        self.frames.push(BodyFrame {
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
        Ok(OpenBody { frame, results })
    }

    /// The captures of a body and its siblings, for the next sibling.
    pub(super) fn captures(open: &mut OpenBody<'t>) -> Captures {
        std::mem::take(&mut open.frame.captures)
    }

    /// Finishes bodies that refer to the same nodes of the innermost frame.
    pub(super) fn close(&mut self, bodies: Vec<OpenBody<'t>>, captures: &Captures) -> Vec<Arc<Body<Build>>> {
        let types: Vec<Type> = captures.nodes().iter().map(|&node| self.type_of(node).clone()).collect();
        for &node in captures.nodes() {
            self.stays(node);
        }
        bodies.into_iter().map(|open| Arc::new(open.frame.finish(&types, open.results))).collect()
    }

    /// Notes that the let of a node of the innermost body stands where it is.
    pub(super) fn stays(&mut self, node: NodeId) {
        self.top().stays[node as usize] = true;
    }

    /// Finishes the outermost body, of whose parameters the last are captures.
    pub(super) fn finish(&mut self, open: OpenBody<'t>, captures: usize) -> Body<Build> {
        let mut body = open.frame.finish(&[], open.results);
        body.parameters -= captures;
        body.captures = captures;
        body
    }

    /// Gives a node a name that is not taken.
    pub(super) fn bind(&mut self, name: &'t str, node: NodeId, place: usize) -> ParseResult<()> {
        if self.frames.iter().any(|frame| frame.names.contains_key(name)) {
            return Err(TextProblem::new(format!("the name {name} is taken"), place));
        }
        self.top().names.insert(name, node);
        Ok(())
    }

    /// Notes that a let names these nodes; it defines the first of them.
    pub(super) fn note_let(&mut self, nodes: impl IntoIterator<Item = NodeId>) {
        let frame = self.top();
        let number = frame.count;
        frame.count += 1;
        for node in nodes {
            frame.lets.entry(node).or_insert(number);
        }
    }

    /// The node of a name, which inner bodies capture.
    pub(super) fn look_up(&mut self, name: &str, place: usize) -> ParseResult<NodeId> {
        let Some(outermost) = self.frames.iter().rposition(|frame| frame.names.contains_key(name)) else {
            return Err(TextProblem::new(format!("nothing has the name {name}"), place));
        };
        let mut node = self.frames[outermost].names[name];
        for inner in outermost + 1..self.frames.len() {
            let ty = self.frames[inner - 1].nodes[node as usize].types[0].clone();
            let is_new = !self.frames[inner].captured.contains_key(&node);
            if is_new && let Err(problem) = self.limits.ty(&ty) {
                return Err(TextProblem::new(problem, place));
            }
            let frame = &mut self.frames[inner];
            if frame.closed {
                let problem = format!("{name} is no parameter: functions with derivative rules refer to those only");
                return Err(TextProblem::new(problem, place));
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

    /// Adds an operation to the innermost body. A mismatch is reported at a place of the text.
    pub(super) fn add(&mut self, op: Op<Build>, args: &[NodeId], place: usize) -> ParseResult<NodeId> {
        let frame = self.frames.last().expect("bodies are read in frames");
        let types = {
            let operands: SmallVec<[&[Type]; 4]> =
                args.iter().map(|&arg| &frame.nodes[arg as usize].types[..]).collect();
            self.limits.outputs(&op, &operands).map_err(|problem| TextProblem::new(problem, place))?
        };
        Ok(self.top().push(Node { op, args: args.into(), types }))
    }

    /// Adds a constant.
    pub(super) fn constant(&mut self, array: Array, place: usize) -> ParseResult<NodeId> {
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
