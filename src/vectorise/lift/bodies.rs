//! Builds over loops and conditionals: their bodies are lifted in arenas of their own, or go where they stand.

use super::{Entry, Lifted, LiftedBody, LiftedBodyKey, Lifter, union};
use crate::affine::AffineMap;
use crate::operation::{Binary, Reduction};
use crate::shape::{Axes, Type};
use crate::term::{Body, Branch, Build, Graph, NodeId, Op, Scan};
use crate::vectorise::{fission, guard};
use smallvec::smallvec;
use std::sync::Arc;

impl Lifter<'_> {
    /// How an operand enters a body.
    fn entry(&self, value: &Lifted) -> Entry {
        let variable = value.axes.len() == 1 && matches!(self.graph.node(value.node).op, Op::Iota(_));
        Entry { axes: value.axes.clone(), variable: variable && self.element_shape(value).is_empty() }
    }

    /// A loop. Outputs that depend on no carry, and addends, are computed for all steps at once, as in a build.
    pub(super) fn scan(&mut self, scan: &Scan<Build>, args: &[Lifted]) -> Vec<Lifted> {
        if !self.memo.splits.contains_key(scan) {
            self.memo.splits.insert(scan.clone(), fission::split(scan).map(Arc::new));
        }
        let Some(split) = self.memo.splits[scan].clone() else { return self.rolled(scan, args) };
        let step = self.extents.len();
        self.extents.push(scan.length);
        let mut arguments: Vec<Lifted> = args[scan.carries..].to_vec();
        for input in &mut arguments[..scan.inputs] {
            // The steps are the outermost axis of the element: they become the innermost axis of the batch.
            input.axes.push(step);
        }
        let values = self.body(&split.map, &arguments);
        let stacked: Vec<Lifted> = values
            .into_iter()
            .map(|value| {
                let node = self.align(&value, &union(&value.axes, &[step]));
                Lifted { node, axes: value.axes.into_iter().filter(|&axis| axis < step).collect() }
            })
            .collect();
        self.extents.truncate(step);
        let others = match &split.rest {
            None => Vec::new(),
            Some(rest) => {
                let mut operands: Vec<Lifted> = rest.carries.iter().map(|&at| args[at].clone()).collect();
                operands.extend_from_slice(&args[scan.carries..scan.carries + scan.inputs]);
                operands.extend(rest.read.iter().map(|&position| stacked[position].clone()));
                operands.extend_from_slice(&args[scan.carries + scan.inputs..]);
                self.rolled(&rest.scan, &operands)
            }
        };
        let (mut stacked, mut others) = (stacked.into_iter(), others.into_iter());
        let mut output = |at: usize| {
            let free = split.free.binary_search(&at).is_ok();
            let part = if free { stacked.next() } else { others.next() };
            (part.expect("each result is of one part"), free && at < scan.carries)
        };
        let outputs: Vec<(Lifted, bool)> = (0..scan.body.results.len()).map(&mut output).collect();
        let finished = outputs.into_iter().zip(args.iter().map(Some).chain(std::iter::repeat(None)));
        finished
            .map(|((output, added_up), first)| match first {
                Some(first) if added_up => {
                    let steps = smallvec![output.axes.len()];
                    let sum = self.graph.add(Op::Reduce(Reduction::Sum, steps), &[output.node]);
                    let sum = Lifted { node: sum, axes: output.axes };
                    self.aligned(Op::Binary(Binary::Add), &[first.clone(), sum])
                }
                _ => output,
            })
            .collect()
    }

    /// A loop over the lifted body. A carry has the axes of its first value and of its next value in a step: a fixed point.
    fn rolled(&mut self, scan: &Scan<Build>, args: &[Lifted]) -> Vec<Lifted> {
        let captures = scan.carries + scan.inputs;
        let mut entries: Vec<Entry> = Vec::with_capacity(args.len());
        for (position, arg) in args.iter().enumerate() {
            let entry = self.entry(arg);
            entries.push(Entry { variable: entry.variable && position >= captures, axes: entry.axes });
        }
        let step = loop {
            let step = self.closed(&scan.body, &entries, scan.carries);
            let mut grown = false;
            for (entry, axes) in entries[..scan.carries].iter_mut().zip(&step.axes) {
                grown |= entry.axes != *axes;
                entry.axes.clone_from(axes);
            }
            if !grown {
                break step;
            }
        };
        let mut operands = Vec::with_capacity(args.len());
        for (position, (arg, entry)) in args.iter().zip(&entries).enumerate() {
            if position < scan.carries {
                operands.push(self.align(arg, &entry.axes));
            } else if position < captures {
                operands.push(self.move_axis(arg.node, arg.axes.len(), 0));
            } else if !entry.variable {
                operands.push(arg.node);
            }
        }
        let lifted = Scan {
            body: step.body,
            carries: scan.carries,
            inputs: scan.inputs,
            length: scan.length,
            reverse: scan.reverse,
        };
        let node = self.graph.add(Op::Scan(Arc::new(lifted)), &operands);
        let mut outputs = Vec::with_capacity(step.axes.len());
        for (position, axes) in step.axes.into_iter().enumerate() {
            let output = self.graph.add(Op::Output(position), &[node]);
            // A stacked output has the steps outermost; its batch axes belong there.
            let node = if position < scan.carries { output } else { self.move_axis(output, 0, axes.len()) };
            outputs.push(Lifted { node, axes });
        }
        outputs
    }

    /// The node with one axis at another place.
    pub(super) fn move_axis(&mut self, node: NodeId, from: usize, to: usize) -> NodeId {
        if from == to {
            return node;
        }
        let shape = self.graph.ty(node).shape.clone();
        let mut permutation: Axes = (0..shape.len()).filter(|&axis| axis != from).collect();
        permutation.insert(to, from);
        self.graph.add(Op::View(AffineMap::transpose(&shape, &permutation)), &[node])
    }

    /// A conditional stays lazy where its condition depends on no variable of a build; elsewhere both sides are computed,
    /// except for steps of loops that might have no end.
    pub(super) fn branch(&mut self, branch: &Branch<Build>, args: &[Lifted]) -> Vec<Lifted> {
        let captures = &args[1..];
        if args[0].axes.is_empty() {
            let entries: Vec<Entry> = captures.iter().map(|arg| self.entry(arg)).collect();
            let (then, otherwise) =
                (self.closed(&branch.then, &entries, 0), self.closed(&branch.otherwise, &entries, 0));
            let axes: Vec<Axes> = then.axes.iter().zip(&otherwise.axes).map(|(a, b)| union(a, b)).collect();
            let (then, otherwise) = (self.with_axes(&then, &axes), self.with_axes(&otherwise, &axes));
            let own = captures.iter().zip(&entries).filter(|(_, entry)| !entry.variable).map(|(arg, _)| arg.node);
            let operands: Vec<NodeId> = std::iter::once(args[0].node).chain(own).collect();
            let node = self.graph.add(Op::Branch(Arc::new(Branch { then, otherwise })), &operands);
            let output = |(position, axes)| Lifted { node: self.graph.add(Op::Output(position), &[node]), axes };
            return axes.into_iter().enumerate().map(output).collect();
        }
        let mut side = |body: &Arc<Body<Build>>, chosen: bool| match guard::has_condition(body) {
            false => self.body(body, captures),
            true => {
                let body = Arc::new(guard::guarded(body, chosen));
                // Kept, so that no other body gets the address of a part of it.
                self.memo.guarded.push(body.clone());
                let all: Vec<Lifted> = captures.iter().chain(&args[..1]).cloned().collect();
                self.body(&body, &all)
            }
        };
        let (then, otherwise) = (side(&branch.then, true), side(&branch.otherwise, false));
        let sides = then.into_iter().zip(otherwise);
        sides.map(|(yes, no)| self.select(&args[0], &yes, &no)).collect()
    }

    /// A choice by a mask of rank 0 between values of any one shape.
    pub(super) fn select(&mut self, mask: &Lifted, yes: &Lifted, no: &Lifted) -> Lifted {
        let axes = union(&mask.axes, &union(&yes.axes, &no.axes));
        let mut shape = self.extents_of(&axes);
        shape.extend_from_slice(&self.element_shape(yes));
        let mut mask = self.align(mask, &axes);
        if self.graph.ty(mask).shape != shape {
            let places: Axes = (0..axes.len()).collect();
            let map = AffineMap::broadcast(&self.extents_of(&axes), &shape, &places);
            mask = self.graph.add(Op::View(map), &[mask]);
        }
        let operands = [mask, self.align(yes, &axes), self.align(no, &axes)];
        Lifted { node: self.graph.add(Op::Select, &operands), axes }
    }

    /// A lifted body whose results are on just these axes: repeated along those that they lack, summed over others.
    pub(super) fn with_axes(&mut self, closed: &LiftedBody, wanted: &[Axes]) -> Arc<Body> {
        if closed.axes == *wanted {
            return closed.body.clone();
        }
        let body = &closed.body;
        let mut inner = Lifter { graph: Graph::like(&**body), extents: self.extents.clone(), memo: &mut *self.memo };
        let ids = inner.graph.append(body, 0..body.arity() as NodeId);
        let mut finished: Vec<NodeId> = Vec::with_capacity(wanted.len());
        for ((&result, axes), wanted) in body.results.iter().zip(&closed.axes).zip(wanted) {
            let others: Axes = (0..axes.len()).filter(|&at| !wanted.contains(&axes[at])).collect();
            let kept: Axes = axes.iter().copied().filter(|axis| wanted.contains(axis)).collect();
            let mut node = ids[result as usize];
            if !others.is_empty() {
                node = inner.graph.add(Op::Reduce(Reduction::Sum, others), &[node]);
            }
            finished.push(inner.align(&Lifted { node, axes: kept }, wanted));
        }
        Arc::new(inner.graph.finish(&finished))
    }

    /// A body lifted in an arena of its own, for values that enter it as stated. The first `carries` results have at least
    /// the axes of the parameters in the same places.
    pub(super) fn closed(&mut self, body: &Arc<Body<Build>>, entries: &[Entry], carries: usize) -> LiftedBody {
        let extents = entries.iter().flat_map(|entry| &entry.axes).map(|&axis| self.extents[axis]).collect();
        let key = LiftedBodyKey { body: Arc::as_ptr(body), entries: entries.to_vec(), extents, carries };
        if let Some(closed) = self.memo.bodies.get(&key) {
            return closed.clone();
        }
        let mut types: Vec<Type> = Vec::new();
        let mut captures = 0;
        for (position, entry) in entries.iter().enumerate() {
            if !entry.variable {
                let element = body.parameter_type(position);
                let mut shape = self.extents_of(&entry.axes);
                shape.extend_from_slice(&element.shape);
                types.push(Type { dtype: element.dtype, shape });
                captures += usize::from(position >= body.parameters);
            }
        }
        let mut inner =
            Lifter { graph: Graph::new(&types, captures), extents: self.extents.clone(), memo: &mut *self.memo };
        let mut arguments = Vec::with_capacity(entries.len());
        let mut parameter = 0;
        for entry in entries {
            let node = if entry.variable {
                inner.graph.add(Op::Iota(inner.extents[entry.axes[0]]), &[])
            } else {
                parameter += 1;
                parameter - 1
            };
            arguments.push(Lifted { node, axes: entry.axes.clone() });
        }
        let mut results = inner.body(body, &arguments);
        for (result, entry) in results[..carries].iter_mut().zip(entries) {
            let axes = union(&result.axes, &entry.axes);
            *result = Lifted { node: inner.align(result, &axes), axes };
        }
        let nodes: Vec<NodeId> = results.iter().map(|result| result.node).collect();
        let closed = LiftedBody {
            body: Arc::new(inner.graph.finish(&nodes)),
            axes: results.into_iter().map(|result| result.axes).collect(),
        };
        self.memo.bodies.insert(key, closed.clone());
        closed
    }
}
