//! Moves updates out of conditionals in place of the arrays that they are scattered into.
//!
//! If one side of a conditional reads a few elements of an array, the cotangent of the array is zero except for these, and all
//! zero in the other side. The conditional returns the elements instead, and zeros for the other side, and they are scattered
//! after it: so a loop around it adds a few elements in each step, and not the array.

use super::{Outputs, PrunePass};
use crate::affine::AffineMap;
use crate::array::Array;
use crate::operation::{Binary, Unary};
use crate::shape::{Shape, Value, is_sparse};
use crate::term::{Body, Branch, Graph, Node, NodeId, Op};
use std::sync::Arc;

/// The most updates that are taken out of a result.
const UPDATES: usize = 8;

/// How an array is made of updates.
enum Spread {
    /// Added at the positions of these nodes.
    Scatter(Shape, Vec<NodeId>),
    /// In a view, which is zero elsewhere.
    View(AffineMap),
}

/// Updates that are added to a result of a side, or subtracted from it.
struct Update {
    node: NodeId,
    spread: Spread,
    negated: bool,
}

/// The updates that a result of a side is the sum of; `None` if it is anything else.
fn updates(side: &Body, result: NodeId) -> Option<Vec<Update>> {
    let all = side.node(result).ty().size();
    let is_sparse = |update: NodeId| is_sparse(side.node(update).ty().size(), all);
    let (mut found, mut open) = (Vec::new(), vec![(result, false)]);
    while let Some((id, negated)) = open.pop() {
        let Node { op, args, .. } = side.node(id);
        let spread = match op {
            Op::Constant(array) if array.uniform().is_some_and(|value| value.to_f64() == 0.0) => continue,
            Op::Unary(Unary::Neg) => {
                open.push((args[0], !negated));
                continue;
            }
            Op::Binary(op @ (Binary::Add | Binary::Sub)) => {
                open.push((args[1], negated != (*op == Binary::Sub)));
                open.push((args[0], negated));
                if open.len() + found.len() > UPDATES {
                    return None;
                }
                continue;
            }
            Op::Scatter(extents) if is_sparse(args[0]) => Spread::Scatter(extents.clone(), args[1..].to_vec()),
            Op::View(map) if is_sparse(args[0]) && map.ignored().iter().all(|&axis| map.result()[axis] <= 1) => {
                Spread::View(map.clone())
            }
            _ => return None,
        };
        found.push(Update { node: args[0], spread, negated });
    }
    Some(found)
}

/// An output of a conditional in terms of another one.
enum BranchOutput {
    /// The other one's at this position.
    Same(usize),
    /// A sum of updates: of each the position of its elements among the other one's outputs, and where it is scattered to.
    Sum(Vec<(usize, Vec<UpdateElements>, Update)>),
}

#[derive(Clone, Copy)]
enum UpdateElements {
    Output(usize),
    Operand(usize),
}

/// The sides of a conditional that results in updates.
struct UpdateSides<'a> {
    before: [&'a Body; 2],
    graphs: [Graph; 2],
    results: [Vec<NodeId>; 2],
}

impl<'a> UpdateSides<'a> {
    fn new(branch: &'a Branch) -> UpdateSides<'a> {
        let before = [&*branch.then, &*branch.otherwise];
        let graphs = before.map(|side| {
            let mut graph = Graph::like(side);
            let ids = graph.append(side, 0..side.arity() as NodeId);
            debug_assert!(ids.iter().zip(0..).all(|(&id, at)| id == at), "no two nodes are the same");
            graph
        });
        UpdateSides { before, graphs, results: [Vec::new(), Vec::new()] }
    }

    /// Has one side result in a node, and the other in zeros: the position of the result.
    fn push(&mut self, side: usize, node: NodeId) -> usize {
        let ty = self.before[side].node(node).ty();
        let zeros = Array::full(&ty.shape, Value::from_i64(ty.dtype, 0));
        let zeros = self.graphs[1 - side].add(Op::Constant(zeros), &[]);
        self.results[side].push(node);
        self.results[1 - side].push(zeros);
        self.results[side].len() - 1
    }

    /// The output at a position.
    fn output(&mut self, at: usize) -> BranchOutput {
        let [then, otherwise] = self.before.map(|side| updates(side, side.results[at]));
        let (Some(then), Some(otherwise)) = (then, otherwise) else {
            for (results, side) in self.results.iter_mut().zip(self.before) {
                results.push(side.results[at]);
            }
            return BranchOutput::Same(self.results[0].len() - 1);
        };
        let sided = then.into_iter().map(|update| (0, update)).chain(otherwise.into_iter().map(|update| (1, update)));
        let terms = sided.map(|(side, update)| {
            let elements = self.push(side, update.node);
            let positions: &[NodeId] = if let Spread::Scatter(_, positions) = &update.spread { positions } else { &[] };
            let arity = self.before[side].arity();
            // Captures are operands of the conditional, after the condition.
            let position = |&at: &NodeId| match (at as usize) < arity {
                true => UpdateElements::Operand(1 + at as usize),
                false => UpdateElements::Output(self.push(side, at)),
            };
            let positions = positions.iter().map(position).collect();
            (elements, positions, update)
        });
        BranchOutput::Sum(terms.collect())
    }

    fn finish(self) -> Branch {
        let [then, otherwise] = self.graphs;
        Branch {
            then: Arc::new(then.finish(&self.results[0])),
            otherwise: Arc::new(otherwise.finish(&self.results[1])),
        }
    }
}

impl PrunePass {
    /// The outputs of a conditional that results in updates instead; `None` where there are none.
    pub(super) fn updates_of_branch(&mut self, branch: &Branch, args: &[NodeId], used: &[bool]) -> Option<Outputs> {
        let mut sides = UpdateSides::new(branch);
        let outputs = used.iter().enumerate().map(|(at, &used)| used.then(|| sides.output(at)));
        let outputs: Vec<Option<BranchOutput>> = outputs.collect();
        if !outputs.iter().flatten().any(|output| matches!(output, BranchOutput::Sum(_))) {
            return None;
        }
        let changed = sides.finish();
        let count = changed.then.results.len();
        let results = self.branch(&changed, args, &vec![true; count]).unwrap_or_else(|| {
            let whole = self.graph.add(Op::Branch(Arc::new(changed)), args);
            (0..count).map(|position| Some(self.graph.add(Op::Output(position), &[whole]))).collect()
        });
        let results: Vec<NodeId> = results.into_iter().map(|result| result.expect("all are used")).collect();
        let outputs = outputs.into_iter().enumerate().map(|(at, output)| {
            Some(match output? {
                BranchOutput::Same(position) => results[position],
                BranchOutput::Sum(terms) => {
                    let ty = branch.then.node(branch.then.results[at]).ty();
                    let zeros = Array::full(&ty.shape, Value::from_i64(ty.dtype, 0));
                    let mut sum = None;
                    for (elements, positions, update) in terms {
                        let term = self.spread(&results, args, (elements, &positions), update);
                        sum = Some(match sum {
                            None => term,
                            Some(sum) => self.graph.add(Op::Binary(Binary::Add), &[sum, term]),
                        });
                    }
                    sum.unwrap_or_else(|| self.graph.add(Op::Constant(zeros), &[]))
                }
            })
        });
        Some(outputs.collect())
    }

    /// The array that some results of a conditional make.
    fn spread(
        &mut self,
        results: &[NodeId],
        args: &[NodeId],
        (elements, positions): (usize, &[UpdateElements]),
        update: Update,
    ) -> NodeId {
        let mut operands = vec![results[elements]];
        if update.negated {
            operands[0] = self.graph.add(Op::Unary(Unary::Neg), &operands);
        }
        for &position in positions {
            operands.push(match position {
                UpdateElements::Output(position) => results[position],
                UpdateElements::Operand(operand) => args[operand],
            });
        }
        let op = match update.spread {
            Spread::Scatter(extents, _) => Op::Scatter(extents),
            Spread::View(map) => Op::View(map),
        };
        self.graph.add(op, &operands)
    }
}
