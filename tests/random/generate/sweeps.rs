//! Loops with several sweeps, of a number of steps or with a condition.

use super::super::arrays::full;
use super::loops::Leading;
use super::{LARGEST, Writer};
use deltaray::operation::{Binary, Comparison};
use deltaray::shape::{DType, Type, Value};
use deltaray::term::{Body, Build, Checkpoints, Graph, NodeId, Op, Steps, Sweep, Sweeps};
use std::sync::Arc;

/// No loop with a condition has more steps.
const STEPS: i64 = 4;

impl Writer<'_> {
    pub(super) fn sweeps(&mut self) {
        let length = self.random.weighted(&[(1, 0), (2, 1), (2, 2), (4, 3), (2, 4)]);
        let conditional = self.random.chance(0.5);
        let times = if conditional { STEPS as usize } else { length };
        let several = if self.random.chance(0.35) { 2 } else { 1 };
        if !self.may_nest(times * several) {
            return;
        }
        let mut operands: Vec<NodeId> = Vec::new();
        let mut leading: Vec<Vec<Leading>> = Vec::new();
        let mut carried: Vec<usize> = Vec::new();
        for sweep in 0..several {
            let mut own = Vec::new();
            let mut carries = self.random.weighted(&[(1, 0), (4, 1), (2, 2)]);
            if conditional && sweep == 0 {
                // A counter comes first; one that starts at a position makes elements of a build differ.
                let index = self.random.chance(0.7).then(|| self.indices.last().copied()).flatten();
                let start = match index {
                    Some((index, _)) => index,
                    None => self.filled(&Type::scalar(DType::I64), 0),
                };
                own.push(Leading { ty: Type::scalar(DType::I64), bound: 9.0, index: None });
                operands.push(start);
                carries = carries.max(1);
            }
            self.loop_carries(carries, &mut own, &mut operands);
            carried.push(own.len());
            let inputs = if conditional { 0 } else { self.random.weighted(&[(2, 0), (4, 1), (1, 2)]) };
            self.loop_inputs(inputs, length, &mut own, &mut operands);
            leading.push(own);
        }
        let captures = self.captures(2);
        operands.extend_from_slice(&captures);
        let mut sweeps: Vec<Sweep<Build>> = Vec::new();
        let mut bounds: Vec<f64> = Vec::new();
        for (number, mut own) in leading.into_iter().enumerate() {
            let (carries, inputs) = (carried[number], own.len() - carried[number]);
            let mut reads = Vec::new();
            if let Some(first) = sweeps.first() {
                for kept in 0..first.keeps {
                    let ty = first.body.node(first.body.results()[first.carries + kept]).ty().clone();
                    own.push(Leading { ty, bound: 9.0, index: None });
                    reads.push((0, kept));
                }
            }
            let keeps = if number + 1 < several { self.random.weighted(&[(1, 0), (4, 1), (2, 2)]) } else { 0 };
            let outputs = if conditional { 0 } else { self.random.weighted(&[(2, 0), (3, 1)]) };
            let counted = conditional && number == 0;
            let (body, found) = self.nested(&own, &captures, times, (1, 4), |writer| {
                let mut results: Vec<NodeId> = Vec::new();
                for (carry, parameter) in own[..carries].iter().enumerate() {
                    results.push(match counted && carry == 0 {
                        true => {
                            let one = writer.filled(&Type::scalar(DType::I64), 1);
                            writer.add(Op::Binary(Binary::Add), &[0, one], 9.0)
                        }
                        false => writer.next_carry(&parameter.ty),
                    });
                }
                for output in 0..keeps + outputs {
                    let kept = output < keeps;
                    let chosen = writer.choose(|ty| {
                        let steps = if kept { 1 } else { length };
                        ty.size() * steps.max(1) <= LARGEST && ty.rank() <= 2
                    });
                    let dtype = writer.style.floats[0];
                    let id = chosen.unwrap_or_else(|| writer.fit(&Type::scalar(dtype)));
                    let ty = writer.ty(id);
                    results.push(if ty.dtype.is_float() && kept { writer.tame(id, 9.0) } else { id });
                }
                results
            });
            bounds.extend(own[..carries].iter().map(|parameter| parameter.bound));
            bounds.extend(&found[carries + keeps..]);
            sweeps.push(Sweep { body, carries, inputs, reads, keeps });
        }
        let steps = match conditional {
            true => Steps::While(Arc::new(self.loop_condition(&sweeps[0].body, carried[0], captures.len()))),
            false => Steps::Count(length),
        };
        let checkpoints = self.random.pick(&[
            Checkpoints::All,
            Checkpoints::Every(1),
            Checkpoints::Every(2),
            Checkpoints::Snapshots(1),
            Checkpoints::Snapshots(2),
            Checkpoints::Bytes(300),
        ]);
        let reverse = !conditional && self.random.chance(0.4);
        let all = Sweeps { steps, sweeps, reverse, checkpoints };
        let node = self.add(Op::Sweeps(Arc::new(all)), &operands, 0.0);
        for (position, &bound) in bounds.iter().enumerate() {
            if self.random.chance(0.8) || position + 1 == bounds.len() {
                self.add(Op::Output(position), &[node], bound);
            }
        }
    }

    /// The counter is below a number; often the first number of the next carry is below another.
    fn loop_condition(&mut self, body: &Body<Build>, carries: usize, captures: usize) -> Body<Build> {
        let types: Vec<Type> =
            (0..carries).chain(body.parameters()..body.arity()).map(|at| body.parameter_type(at).clone()).collect();
        let mut graph: Graph<Build> = Graph::new(&types, captures);
        let limit = deltaray::concrete::Array::full(&[], Value::I64(self.random.whole(0, STEPS)));
        let limit = graph.add(Op::Constant(limit), &[]);
        let mut holds = graph.add(Op::Compare(Comparison::Less), &[0, limit]);
        let number = (1..carries).find(|&at| types[at].rank() == 0 && types[at].dtype.is_float());
        if let Some(number) = number.filter(|_| self.random.chance(0.7)) {
            let limit = full(&types[number], self.random.between(-1.0, 2.0));
            let limit = graph.add(Op::Constant(limit), &[]);
            let below = graph.add(Op::Compare(Comparison::Less), &[number as NodeId, limit]);
            holds = graph.add(Op::Binary(Binary::And), &[holds, below]);
        }
        graph.finish(&[holds])
    }
}
