//! Builds over loops whose tape is the engine's. A loop with a condition goes on while it holds for some element of the
//! build; the elements for which it doesn't hold stay the same.

use super::{Lifted, LiftedBody, Lifter, union};
use crate::operation::Reduction;
use crate::shape::{Axes, Shape, Type};
use crate::term::{Body, Build, Graph, NodeId, Op, Steps, Sweep, Sweeps};
use std::ptr;
use std::sync::Arc;

/// How the parameters of a body enter it, in their order.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Entries {
    own: Vec<Axes>,
    captures: Vec<Axes>,
}

/// A lifted step is the same for the same source body, mask, entries and extents of the axes that enter, and so is a lifted
/// condition, which has no step.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct LiftedStepKey {
    step: *const Body<Build>,
    carries: usize,
    /// The condition of the step, if it is in the first sweep.
    condition: *const Body<Build>,
    entries: Entries,
    mask: Axes,
    extents: Vec<usize>,
}

impl Lifter<'_> {
    /// A loop over the lifted bodies. A carry has the axes of its first value, of its next value in a step, and of the
    /// condition: a fixed point, sweep by sweep.
    pub(super) fn sweeps(&mut self, sweeps: &Sweeps<Build>, args: &[Lifted]) -> Vec<Lifted> {
        let captures: Vec<Axes> = args[sweeps.captures()..].iter().map(|arg| arg.axes.clone()).collect();
        let mut lifted: Vec<Sweep> = Vec::with_capacity(sweeps.sweeps.len());
        let mut entered: Vec<Vec<Axes>> = Vec::new();
        let mut bodies: Vec<LiftedBody> = Vec::new();
        // How long it lasts: with a condition, the condition's result in the last round of the first sweep's fixed point.
        let mut lasts = match sweeps.steps {
            Steps::Count(count) => Some(Steps::Count(count)),
            Steps::While(_) => None,
        };
        let mut mask = Axes::new();
        for (at, sweep) in sweeps.sweeps.iter().enumerate() {
            let (carries, inputs) = sweeps.operands(at);
            let mut own: Vec<Axes> = args[carries.start..inputs.end].iter().map(|arg| arg.axes.clone()).collect();
            let masked = usize::from(!mask.is_empty());
            own.extend(sweep.reads.iter().map(|&(from, kept)| {
                bodies[from].axes[sweeps.sweeps[from].carries + masked * usize::from(from == 0) + kept].clone()
            }));
            let step = loop {
                if at == 0
                    && let Steps::While(condition) = &sweeps.steps
                {
                    let own = &own[..sweep.carries];
                    let entries = Entries { own: own.to_vec(), captures: captures.clone() };
                    let LiftedBody { body, mut axes } = self.condition(condition, entries);
                    (lasts, mask) = (Some(Steps::While(body)), axes.remove(0));
                }
                let step = self.step(sweeps, at, Entries { own: own.clone(), captures: captures.clone() }, &mask);
                let mut grown = false;
                for (entry, axes) in own[..sweep.carries].iter_mut().zip(&step.axes) {
                    grown |= entry != axes;
                    entry.clone_from(axes);
                }
                if !grown {
                    break step;
                }
            };
            entered.push(own);
            bodies.push(step);
        }
        // Each later sweep reads the mask: the first keeps a copy for each of them, after its other kept values.
        let later = sweeps.sweeps.len() - 1;
        let masked = !mask.is_empty();
        for (at, (sweep, step)) in sweeps.sweeps.iter().zip(&bodies).enumerate() {
            let mut body = Body::clone(&step.body);
            let mut reads = sweep.reads.clone();
            let mut keeps = sweep.keeps;
            if masked && at == 0 {
                let kept = body.results.remove(sweep.carries);
                let end = sweep.carries + sweep.keeps;
                body.results.splice(end..end, std::iter::repeat_n(kept, later));
                keeps += later;
            } else if masked {
                reads.push((0, sweeps.sweeps[0].keeps + at - 1));
            }
            let (carries, inputs) = (sweep.carries, sweep.inputs);
            lifted.push(Sweep { body: Arc::new(body), carries, inputs, reads, keeps });
        }
        let mut operands: Vec<NodeId> = Vec::with_capacity(args.len());
        for (at, own) in entered.iter().enumerate() {
            let (carries, inputs) = sweeps.operands(at);
            operands.extend(args[carries].iter().zip(own).map(|(arg, axes)| self.align(arg, axes)));
            for arg in &args[inputs] {
                let moved = self.move_axis(arg.node, arg.axes.len(), 0);
                operands.push(moved);
            }
        }
        operands.extend(args[sweeps.captures()..].iter().map(|arg| arg.node));
        let (reverse, checkpoints) = (sweeps.reverse, sweeps.checkpoints);
        let steps = lasts.expect("the first sweep's rounds lift the condition");
        let all = Sweeps { steps, sweeps: lifted, reverse, checkpoints };
        let node = self.graph.add(Op::Sweeps(Arc::new(all)), &operands);
        let mut outputs = Vec::new();
        for (at, (sweep, step)) in sweeps.sweeps.iter().zip(bodies).enumerate() {
            let first_output = sweep.carries + sweep.keeps + usize::from(masked && at == 0);
            for (result, axes) in step.axes.into_iter().enumerate() {
                if result < sweep.carries {
                    let output = self.graph.add(Op::Output(outputs.len()), &[node]);
                    outputs.push(Lifted { node: output, axes });
                } else if result >= first_output {
                    // A stacked output has the steps outermost; its batch axes belong there.
                    let output = self.graph.add(Op::Output(outputs.len()), &[node]);
                    let moved = self.move_axis(output, 0, axes.len());
                    outputs.push(Lifted { node: moved, axes });
                }
            }
        }
        outputs
    }

    /// The type of a parameter that enters a body with further axes.
    fn entering(&self, element: &Type, axes: &Axes) -> Type {
        let mut shape: Shape = self.extents_of(axes);
        shape.extend_from_slice(&element.shape);
        Type { dtype: element.dtype, shape }
    }

    /// The types of a body's parameters and captures with their axes.
    fn types(&self, body: &Body<Build>, entries: &Entries) -> Vec<Type> {
        let axes = entries.own.iter().chain(&entries.captures);
        axes.enumerate().map(|(at, axes)| self.entering(body.parameter_type(at), axes)).collect()
    }

    /// The parameters of a lifted body.
    fn entered(entries: &Entries, first_capture: usize) -> Vec<Lifted> {
        let nodes = (0..entries.own.len()).chain(first_capture..first_capture + entries.captures.len());
        let axes = entries.own.iter().chain(&entries.captures);
        nodes.zip(axes).map(|(node, axes)| Lifted { node: node as NodeId, axes: axes.clone() }).collect()
    }

    /// The body lifted before, or lifted now by `lift`, with a lifter of the body's own.
    fn once(
        &mut self,
        (step, carries): (*const Body<Build>, usize),
        condition: *const Body<Build>,
        (entries, mask): (&Entries, &Axes),
        lift: impl FnOnce(&mut Self) -> LiftedBody,
    ) -> LiftedBody {
        let axes = entries.own.iter().chain(&entries.captures).chain([mask]);
        let extents = axes.flatten().map(|&axis| self.extents[axis]).collect();
        let key = LiftedStepKey { step, carries, condition, entries: entries.clone(), mask: mask.clone(), extents };
        if let Some(known) = self.memo.steps.get(&key) {
            return known.clone();
        }
        let lifted = lift(self);
        self.memo.steps.insert(key, lifted.clone());
        lifted
    }

    /// A body's own lifter, with parameters of these types.
    fn inner(&mut self, types: &[Type], entries: &Entries) -> Lifter<'_> {
        let graph = Graph::new(types, entries.captures.len());
        Lifter { graph, extents: self.extents.clone(), memo: &mut *self.memo }
    }

    /// Whether the condition holds for some element, and the axes of the condition itself.
    fn condition(&mut self, condition: &Arc<Body<Build>>, entries: Entries) -> LiftedBody {
        self.once((ptr::null(), 0), Arc::as_ptr(condition), (&entries, &Axes::new()), |lifter| {
            let types = lifter.types(condition, &entries);
            let mut inner = lifter.inner(&types, &entries);
            let arguments = Self::entered(&entries, entries.own.len());
            let Lifted { mut node, axes } = inner.body(condition, &arguments).remove(0);
            if !axes.is_empty() {
                node = inner.graph.add(Op::Reduce(Reduction::Sum, (0..axes.len()).collect()), &[node]);
            }
            LiftedBody { body: Arc::new(inner.graph.finish(&[node])), axes: vec![axes] }
        })
    }

    /// One lifted step of a sweep, and the axes of its results. With a mask, carries change only where it is true: the first
    /// sweep computes the mask and returns it after the carries; later ones read it as their last parameter.
    fn step(&mut self, sweeps: &Sweeps<Build>, at: usize, entries: Entries, mask: &Axes) -> LiftedBody {
        let sweep = &sweeps.sweeps[at];
        let condition = match &sweeps.steps {
            Steps::While(condition) if at == 0 => Some(condition),
            _ => None,
        };
        let address = condition.map_or(ptr::null(), Arc::as_ptr);
        self.once((Arc::as_ptr(&sweep.body), sweep.carries), address, (&entries, mask), |lifter| {
            let mut types = lifter.types(&sweep.body, &entries);
            let reads_mask = !mask.is_empty() && condition.is_none();
            if reads_mask {
                let ty = lifter.entering(&Type::scalar(crate::shape::DType::Bool), mask);
                types.insert(entries.own.len(), ty);
            }
            let mut inner = lifter.inner(&types, &entries);
            let arguments = Self::entered(&entries, entries.own.len() + usize::from(reads_mask));
            let mut results = inner.body(&sweep.body, &arguments);
            if !mask.is_empty() {
                let holds = match condition {
                    Some(condition) => {
                        let carries = arguments[..sweep.carries].iter();
                        let given: Vec<Lifted> = carries.chain(&arguments[entries.own.len()..]).cloned().collect();
                        inner.body(condition, &given).remove(0)
                    }
                    None => Lifted { node: entries.own.len() as NodeId, axes: mask.clone() },
                };
                for (result, before) in results[..sweep.carries].iter_mut().zip(&arguments) {
                    *result = inner.select(&holds, result, before);
                }
                if condition.is_some() {
                    results.insert(sweep.carries, holds);
                }
            }
            for (result, entry) in results[..sweep.carries].iter_mut().zip(&entries.own) {
                let axes = union(&result.axes, entry);
                *result = Lifted { node: inner.align(result, &axes), axes };
            }
            let nodes: Vec<NodeId> = results.iter().map(|result| result.node).collect();
            LiftedBody {
                body: Arc::new(inner.graph.finish(&nodes)),
                axes: results.into_iter().map(|result| result.axes).collect(),
            }
        })
    }
}
