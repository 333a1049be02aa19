//! Builds pushed down (P 5, figures 9 and 11).
//!
//! A node inside builds has a value for each value of their variables. It becomes one bulk node whose leading axes are exactly
//! the variables that it depends on, outermost first. A node that does not depend on a variable has no axis for it, so
//! loop-invariant code stays as it is (figure 9's first row, without the replicate). Operands are brought to the same axes
//! where they meet. Every source node is visited once, so sharing is kept and the work is linear.

mod bodies;
mod custom;
mod sweeps;

use crate::affine::AffineMap;
use crate::operation::{Contraction, Label};
use crate::shape::{Axes, Shape, size};
use crate::term::{Body, Build, Graph, Node, NodeId, Op, Scan};
use crate::vectorise::fission::LoopSplit;
use smallvec::{SmallVec, smallvec};
use std::collections::HashMap;
use std::sync::Arc;

/// The bulk program equal to a source program: no `build` is left, as its type says.
///
/// Reads are gathers with index arrays made of iotas; simplification turns those into views and contractions. A build's
/// variable becomes the iota of its extent; a build over a loop becomes a loop over arrays with another axis, in which the
/// carries that gain the axis are a fixed point; a conditional becomes a select where its condition or its captures depend on a
/// build's variable, and stays lazy elsewhere. An `Alias` is replaced by its operand.
pub fn vectorise(body: &Body<Build>) -> Body {
    // Without builds, nested bodies and aliases, the bulk program is the source program in another type.
    let is_bulk = |node: &Node<Build>| !node.op.is_multiple() && !matches!(node.op, Op::Alias | Op::Extra(_));
    if body.nodes.iter().all(is_bulk) {
        return body.narrow();
    }
    let mut memo = LiftMemo::default();
    let mut lifter = Lifter { graph: Graph::like(body), extents: Vec::new(), memo: &mut memo };
    let arguments: Vec<Lifted> = (0..body.arity()).map(|at| Lifted::invariant(at as NodeId)).collect();
    let results: Vec<NodeId> = lifter.body(body, &arguments).into_iter().map(|result| result.node).collect();
    lifter.graph.finish(&results)
}

/// The bulk node that holds a source node's values for all values of the build variables it depends on.
#[derive(Clone)]
struct Lifted {
    node: NodeId,
    /// Those variables, as ascending positions among the open ones; the node's leading axes.
    axes: Axes,
}

impl Lifted {
    fn invariant(node: NodeId) -> Lifted {
        Lifted { node, axes: Axes::new() }
    }
}

/// The replacement of a source node: one node, or the outputs of a loop or conditional.
enum Replacement {
    One(Lifted),
    Several(Vec<Lifted>),
}

/// How a value enters a loop's or conditional's body.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Entry {
    /// The build variables that the value depends on.
    axes: Axes,
    /// Whether it is a build variable itself. The body then makes its own iota, so that index arithmetic inside is known
    /// to be such.
    variable: bool,
}

/// A lifted body is the same for the same source body, entries and extents of the axes that enter.
#[derive(PartialEq, Eq, Hash)]
struct LiftedBodyKey {
    body: *const Body<Build>,
    entries: Vec<Entry>,
    extents: Vec<usize>,
    carries: usize,
}

/// A lifted body, and the axes of its results.
#[derive(Clone)]
struct LiftedBody {
    body: Arc<Body>,
    axes: Vec<Axes>,
}

/// Bodies that were lifted before, so that a body that is used many times, or visited by the fixed points of several enclosing
/// loops, is lifted once.
#[derive(Default)]
struct LiftMemo {
    bodies: HashMap<LiftedBodyKey, LiftedBody>,
    /// Steps and conditions of loops whose tape is the engine's.
    steps: HashMap<sweeps::LiftedStepKey, LiftedBody>,
    /// Loops, which are kept, so that no other body gets the address of a part of one.
    splits: HashMap<Scan<Build>, Option<Arc<LoopSplit>>>,
    /// Bodies that were made here, and are kept as long as others are known by their address.
    guarded: Vec<Arc<Body<Build>>>,
}

struct Lifter<'m> {
    graph: Graph,
    /// The extents of the open build variables, outermost first.
    extents: Vec<usize>,
    memo: &'m mut LiftMemo,
}

fn union(a: &[usize], b: &[usize]) -> Axes {
    let mut all: Axes = a.iter().chain(b).copied().collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The build variables that some of these depend on.
fn all_axes(args: &[Lifted]) -> Axes {
    args.iter().fold(Axes::new(), |axes, arg| union(&axes, &arg.axes))
}

impl Lifter<'_> {
    /// The extents of these axes.
    fn extents_of(&self, axes: &[usize]) -> Shape {
        axes.iter().map(|&axis| self.extents[axis]).collect()
    }

    /// The shape of one element of the batch.
    fn element_shape(&self, value: &Lifted) -> Shape {
        Shape::from_slice(&self.graph.ty(value.node).shape[value.axes.len()..])
    }

    /// A node that reads `value.node`, whose axes are the build variables `value.axes` and then its elements' axes, into the
    /// axes `target` and then its elements' axes.
    fn align(&mut self, value: &Lifted, target: &[usize]) -> NodeId {
        if value.axes[..] == *target {
            return value.node;
        }
        let element = self.element_shape(value);
        let source = self.graph.ty(value.node).shape.clone();
        let mut result = self.extents_of(target);
        result.extend_from_slice(&element);
        let mut places: Axes = value
            .axes
            .iter()
            .map(|axis| target.iter().position(|other| other == axis).expect("a superset of the axes"))
            .collect();
        places.extend(target.len()..result.len());
        self.graph.add(Op::View(AffineMap::broadcast(&source, &result, &places)), &[value.node])
    }

    /// The position along a build axis, for every value of the variables `axes` and every position in `shape`.
    fn variable(&mut self, axis: usize, axes: &[usize], shape: &[usize]) -> NodeId {
        let extent = self.extents[axis];
        let iota = self.graph.add(Op::Iota(extent), &[]);
        let mut result = self.extents_of(axes);
        result.extend_from_slice(shape);
        let place = axes.iter().position(|&other| other == axis).expect("one of the axes");
        let map = AffineMap::broadcast(&[extent], &result, &[place]);
        if map.is_identity() { iota } else { self.graph.add(Op::View(map), &[iota]) }
    }

    /// Lifts a body's nodes in place: the values of its results.
    fn body(&mut self, body: &Body<Build>, arguments: &[Lifted]) -> Vec<Lifted> {
        debug_assert_eq!(body.arity(), arguments.len());
        let mut slots: Vec<Replacement> = Vec::with_capacity(body.nodes.len());
        slots.extend(arguments.iter().cloned().map(Replacement::One));
        for node in &body.nodes[body.arity()..] {
            if let Some(plain) = self.plain(node, &slots) {
                slots.push(Replacement::One(Lifted::invariant(plain)));
                continue;
            }
            let slot = match &node.op {
                Op::Output(position) => match &slots[node.args[0] as usize] {
                    Replacement::Several(outputs) => Replacement::One(outputs[*position].clone()),
                    Replacement::One(_) => unreachable!("an output of an operation with one output"),
                },
                op => {
                    let args: Vec<Lifted> = node
                        .args
                        .iter()
                        .map(|&arg| match &slots[arg as usize] {
                            Replacement::One(value) => value.clone(),
                            Replacement::Several(_) => unreachable!("an operand is one array"),
                        })
                        .collect();
                    match op {
                        Op::Scan(scan) => Replacement::Several(self.scan(scan, &args)),
                        Op::Branch(branch) => Replacement::Several(self.branch(branch, &args)),
                        Op::Custom(custom) => Replacement::Several(self.custom(custom, &args)),
                        Op::Sweeps(sweeps) => Replacement::Several(self.sweeps(sweeps, &args)),
                        op => Replacement::One(self.node(op, &args)),
                    }
                }
            };
            slots.push(slot);
        }
        body.results
            .iter()
            .map(|&result| match &slots[result as usize] {
                Replacement::One(value) => value.clone(),
                Replacement::Several(_) => unreachable!("a result is one array"),
            })
            .collect()
    }

    /// An operation without operands that depend on a build variable: it stays unchanged.
    fn plain(&mut self, node: &Node<Build>, slots: &[Replacement]) -> Option<NodeId> {
        let mut args: SmallVec<[NodeId; 3]> = SmallVec::new();
        for &arg in &node.args {
            match &slots[arg as usize] {
                Replacement::One(value) if value.axes.is_empty() => args.push(value.node),
                _ => return None,
            }
        }
        let op = match &node.op {
            Op::Alias | Op::Output(_) => return None,
            op => op.in_form()?,
        };
        Some(self.graph.add(op, &args))
    }

    /// An operation without a body, or a build.
    fn node(&mut self, op: &Op<Build>, args: &[Lifted]) -> Lifted {
        match op {
            Op::Constant(array) => self.leaf(Op::Constant(array.clone())),
            Op::Alias => args[0].clone(),
            Op::Gather => self.gather(&args[0], &args[1..]),
            Op::Scatter(extents) => self.scatter(&args[0], &args[1..], extents),
            Op::ScatterSet => self.scatter_set(&args[0], &args[1], &args[2..]),
            Op::Contract(spec) => self.contract(spec, &args[0], &args[1]),
            Op::Extra(build) => self.build(build, args),
            op if op.is_system() && all_axes(&args[..args.len() - 1]).is_empty() && !all_axes(args).is_empty() => {
                self.system(op, args)
            }
            op => {
                let batch = self.extents_of(&all_axes(args));
                match op.ask(|operation| operation.batched(&batch)).flatten() {
                    Some(op) => self.aligned(op, args),
                    None => unreachable!("handled by the caller, or above"),
                }
            }
        }
    }

    fn leaf(&mut self, op: Op) -> Lifted {
        Lifted::invariant(self.graph.add(op, &[]))
    }

    /// An operation that acts alike on every element of the batch, once its operands have the same axes.
    fn aligned(&mut self, op: Op, args: &[Lifted]) -> Lifted {
        let axes = all_axes(args);
        let operands: SmallVec<[NodeId; 3]> = args.iter().map(|arg| self.align(arg, &axes)).collect();
        Lifted { node: self.graph.add(op, &operands), axes }
    }

    /// A system of equations whose matrix depends on no variable: the right sides of all elements of the batch are columns of one.
    fn system(&mut self, op: &Op<Build>, args: &[Lifted]) -> Lifted {
        let (b, fixed) = args.split_last().expect("a system has a right side");
        let (axes, rows) = (b.axes.len(), self.element_shape(b).len() - 1);
        let shape = self.graph.ty(b.node).shape.clone();
        let moved: Axes = (axes..axes + rows).chain(0..axes).chain([axes + rows]).collect();
        let moved = self.graph.add(Op::View(AffineMap::transpose(&shape, &moved)), &[b.node]);
        let apart = self.graph.ty(moved).shape.clone();
        let mut columns = Shape::from_slice(&apart[..rows]);
        columns.push(size(&apart[rows..]));
        let columns = self.graph.add(Op::Reshape(columns), &[moved]);
        let operands: SmallVec<[NodeId; 3]> = fixed.iter().map(|arg| arg.node).chain([columns]).collect();
        let solution = self.graph.add(op.in_form().expect("it has no bodies"), &operands);
        let solution = self.graph.add(Op::Reshape(apart.clone()), &[solution]);
        let back: Axes = (rows..rows + axes).chain(0..rows).chain([axes + rows]).collect();
        let node = self.graph.add(Op::View(AffineMap::transpose(&apart, &back)), &[solution]);
        Lifted { node, axes: b.axes.clone() }
    }

    /// Figure 9's row for gather: an array that depends on variables is indexed by them too; one that doesn't is read as
    /// it is, without a copy.
    fn gather(&mut self, array: &Lifted, indices: &[Lifted]) -> Lifted {
        let Some(first) = indices.first() else { return array.clone() };
        let axes = indices.iter().fold(array.axes.clone(), |axes, index| union(&axes, &index.axes));
        let positions = self.element_shape(first);
        let mut operands = vec![array.node];
        for &axis in &array.axes {
            operands.push(self.variable(axis, &axes, &positions));
        }
        for index in indices {
            operands.push(self.align(index, &axes));
        }
        Lifted { node: self.graph.add(Op::Gather, &operands), axes }
    }

    /// Figure 9's row for scatter: the variables become further indexed axes of the result.
    fn scatter(&mut self, updates: &Lifted, indices: &[Lifted], extents: &[usize]) -> Lifted {
        let Some(first) = indices.first() else { return updates.clone() };
        let axes = indices.iter().fold(updates.axes.clone(), |axes, index| union(&axes, &index.axes));
        let positions = self.element_shape(first);
        let mut operands = vec![self.align(updates, &axes)];
        for &axis in &axes {
            operands.push(self.variable(axis, &axes, &positions));
        }
        for index in indices {
            operands.push(self.align(index, &axes));
        }
        let mut batched = self.extents_of(&axes);
        batched.extend_from_slice(extents);
        Lifted { node: self.graph.add(Op::Scatter(batched), &operands), axes }
    }

    /// As [`Lifter::scatter`]: every element of the batch writes to a target of its own.
    fn scatter_set(&mut self, target: &Lifted, updates: &Lifted, indices: &[Lifted]) -> Lifted {
        let Some(first) = indices.first() else { return updates.clone() };
        let own = union(&target.axes, &updates.axes);
        let axes = indices.iter().fold(own, |axes, index| union(&axes, &index.axes));
        let positions = self.element_shape(first);
        let mut operands = vec![self.align(target, &axes), self.align(updates, &axes)];
        for &axis in &axes {
            operands.push(self.variable(axis, &axes, &positions));
        }
        for index in indices {
            operands.push(self.align(index, &axes));
        }
        Lifted { node: self.graph.add(Op::ScatterSet, &operands), axes }
    }

    /// A variable that both operands depend on is a label that runs along both; one of a single operand is a free label.
    fn contract(&mut self, spec: &Contraction, left: &Lifted, right: &Lifted) -> Lifted {
        let axes = union(&left.axes, &right.axes);
        let used: Vec<Label> = spec.left.iter().chain(&spec.right).chain(&spec.result).copied().collect();
        let labels: Vec<Label> = (0..=Label::MAX).filter(|label| !used.contains(label)).take(axes.len()).collect();
        assert_eq!(labels.len(), axes.len(), "a contraction has at most 256 labels");
        let batched = |own: &[usize], element: &[Label]| -> SmallVec<[Label; 4]> {
            let outer = axes.iter().zip(&labels).filter(|(axis, _)| own.contains(axis)).map(|(_, &label)| label);
            outer.chain(element.iter().copied()).collect()
        };
        let spec = Contraction {
            left: batched(&left.axes, &spec.left),
            right: batched(&right.axes, &spec.right),
            result: batched(&axes, &spec.result),
        };
        Lifted { node: self.graph.add(Op::Contract(spec), &[left.node, right.node]), axes }
    }

    /// The body in place, under further variables; those that the result does not depend on repeat it.
    fn build(&mut self, build: &Build, captures: &[Lifted]) -> Lifted {
        let outer = self.extents.len();
        self.extents.extend_from_slice(&build.extents);
        let mut arguments = Vec::with_capacity(build.body.arity());
        for axis in outer..self.extents.len() {
            let iota = self.graph.add(Op::Iota(self.extents[axis]), &[]);
            arguments.push(Lifted { node: iota, axes: smallvec![axis] });
        }
        arguments.extend_from_slice(captures);
        let element = self.body(&build.body, &arguments).remove(0);
        let inner: Axes = (outer..self.extents.len()).collect();
        let node = self.align(&element, &union(&element.axes, &inner));
        self.extents.truncate(outer);
        let axes = element.axes.into_iter().filter(|&axis| axis < outer).collect();
        Lifted { node, axes }
    }
}
