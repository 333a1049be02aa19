//! The one check that a program is well formed: of whoever builds a body node by node, and again where memory depends on it.

use crate::error::{Error, Result};
use crate::shape::Type;
use crate::term::content::check_body;
use crate::term::infer::{self, Types};
use crate::term::op::{Body, Node, NodeId};
use crate::term::op::{Extension, Op};
use smallvec::SmallVec;
use std::collections::HashSet;
use std::panic::Location;

impl<X: Extension> Body<X> {
    /// A body of these nodes: parameters, then captures, then operations, each of which refers to earlier nodes.
    ///
    /// [`Graph`](crate::term::Graph) infers types and shares equal nodes; this takes an arena as it is.
    ///
    /// ```
    /// use deltaray::term::{Body, Node, Op};
    /// use deltaray::shape::{DType, Type};
    ///
    /// let ty = Type::new(DType::F64, &[3]);
    /// let node = |op, args: &[u32], ty: &Type| Node { op, args: args.into(), types: [ty.clone()].into() };
    /// let cast = Op::Cast(DType::F32);
    /// let good = vec![node(Op::Parameter(0), &[], &ty), node(cast.clone(), &[0], &Type::new(DType::F32, &[3]))];
    /// assert!(Body::<deltaray::term::Never>::new(1, 0, good, vec![1]).is_ok());
    /// let bad = vec![node(Op::Parameter(0), &[], &ty), node(cast, &[0], &ty)];
    /// let error = Body::<deltaray::term::Never>::new(1, 0, bad, vec![1]).unwrap_err().to_string();
    /// assert!(error.contains("node 1 is stated as [f64[3]], but results in [f32[3]]"), "{error}");
    /// ```
    ///
    /// # Errors
    ///
    /// When parameters don't come first, a node refers to itself or a later one, operands don't fit, a stated type differs from
    /// the inferred one, an operation of several outputs is used as an array, two nodes pick the same output, an array is too
    /// large for any memory (see [`Type::check_size`]), bodies are nested deeper than
    /// [`MAX_NESTING`](crate::term::MAX_NESTING), or have more nodes than [`MAX_NESTED_NODES`](crate::term::MAX_NESTED_NODES).
    #[track_caller]
    pub fn new(parameters: usize, captures: usize, nodes: Vec<Node<X>>, results: Vec<NodeId>) -> Result<Body<X>> {
        let place = Location::caller();
        let body = Body::of(parameters, captures, nodes, results);
        match body.validate() {
            Ok(()) => Ok(body),
            Err(problem) => Err(Error::IllFormed { problem, place: place.to_string() }),
        }
    }

    /// Whether this body and those nested in it satisfy the invariants of [`Body`]. All bodies do; tests of passes check it.
    pub fn is_well_formed(&self) -> bool {
        self.each(Body::check).is_ok()
    }

    /// Checks this body and those nested in it, the limits on nesting, and that the sizes of all arrays are representable, even
    /// of arrays that no memory holds: lowering computes with all their sizes, strides and positions.
    pub(crate) fn validate(&self) -> std::result::Result<(), String> {
        check_body(self)?;
        self.each(|body| {
            body.check()?;
            body.check_sizes(|_| true)
        })
    }

    /// Checks the limits on nesting, and that the sizes of parameters and constants are representable: the remaining checks for
    /// a program whose nodes were checked one by one. A derivative may have other arrays for a while that no memory holds,
    /// including parameters of nested bodies.
    pub(crate) fn validate_given(&self) -> std::result::Result<(), String> {
        check_body(self)?;
        self.check_sizes(|node| matches!(node.op, Op::Parameter(_) | Op::Constant(_)))
    }

    /// Calls a check once for this body and each of those nested in it, however many refer to it, the innermost first.
    fn each(&self, check: impl Fn(&Body<X>) -> std::result::Result<(), String>) -> std::result::Result<(), String> {
        let mut seen: HashSet<*const Body<X>> = HashSet::new();
        let mut open: Vec<(&Body<X>, bool)> = vec![(self, false)];
        while let Some((body, is_ready)) = open.pop() {
            if is_ready {
                check(body)?;
            } else if seen.insert(std::ptr::from_ref(body)) {
                open.push((body, true));
                for node in &body.nodes {
                    open.extend(node.op.all_bodies().into_iter().map(|body| (&**body, false)));
                }
            }
        }
        Ok(())
    }

    /// Checks the sizes of the arrays of this body that some nodes result in.
    fn check_sizes(&self, are_checked: impl Fn(&Node<X>) -> bool) -> std::result::Result<(), String> {
        for (at, node) in self.nodes.iter().enumerate().filter(|(_, node)| are_checked(node)) {
            for ty in &node.types {
                ty.check_size().map_err(|problem| format!("node {at}: {problem}"))?;
            }
        }
        Ok(())
    }

    /// Checks this body, given that those nested in it are well formed.
    pub(super) fn check(&self) -> std::result::Result<(), String> {
        // Counts that leave `usize` would wrap where nobody looks.
        let arity = self.parameters.checked_add(self.captures).filter(|&arity| arity <= self.nodes.len());
        let Some(arity) = arity else {
            let (parameters, captures, nodes) = (self.parameters, self.captures, self.nodes.len());
            return Err(format!("there are {nodes} nodes for {parameters} parameters and {captures} captures"));
        };
        if NodeId::try_from(self.nodes.len()).is_err() {
            return Err(format!("{} nodes are too many", self.nodes.len()));
        }
        let mut picked: HashSet<(NodeId, usize)> = HashSet::new();
        for (at, node) in self.nodes.iter().enumerate() {
            if at < arity {
                if node.op != Op::Parameter(at) || !node.args.is_empty() || node.types.len() != 1 {
                    return Err(format!("node {at} is not parameter {at}"));
                }
                continue;
            }
            let types = infer_node(&self.nodes[..at], &node.op, &node.args)
                .map_err(|problem| format!("node {at}: {problem}"))?;
            if types != node.types {
                return Err(format!("node {at} is stated as {:?}, but results in {:?}", &node.types[..], &types[..]));
            }
            if let (Op::Output(position), [operand]) = (&node.op, &node.args[..])
                && !picked.insert((*operand, *position))
            {
                return Err(format!("node {at} picks output {position} of node {operand}, which is picked already"));
            }
        }
        for (at, &result) in self.results.iter().enumerate() {
            if self.nodes.get(result as usize).is_none_or(|node| node.op.is_multiple()) {
                return Err(format!("result {at} is node {result}, which is no array"));
            }
        }
        Ok(())
    }
}

/// The types of an operation's outputs, given the nodes that it may refer to.
///
/// # Errors
///
/// A sentence that says which operands do not fit.
pub(crate) fn infer_node<X: Extension>(
    nodes: &[Node<X>],
    op: &Op<X>,
    args: &[NodeId],
) -> std::result::Result<Types, String> {
    let is_output = matches!(op, Op::Output(_));
    let mut operands: SmallVec<[&[Type]; 4]> = SmallVec::new();
    for &arg in args {
        let Some(node) = nodes.get(arg as usize) else { return Err(format!("there is no node {arg} before it")) };
        if node.op.is_multiple() != is_output {
            return Err(match is_output {
                true => format!("node {arg} has no outputs: it is an array"),
                false => format!("node {arg} is no array, but has several outputs"),
            });
        }
        operands.push(&node.types);
    }
    infer::outputs(op, &operands)
}

#[cfg(test)]
mod tests;
