//! How much work lowering is.

use super::emit::WRITTEN;
use super::{Step, lower};
use crate::affine::AffineMap;
use crate::algebra::{Extreme, Reduction};
use crate::operation::{Binary, Unary};
use crate::shape::{DType, Type};
use crate::term::{Graph, NodeId, Op};
use smallvec::smallvec;

/// Σ of steps `y - sin(y · x) · x`, and what is like their reverse derivative: at each step, going back, the states of that
/// step are read.
fn there_and_back(steps: usize) -> crate::term::Body {
    let mut graph: Graph = Graph::new(&[Type::new(DType::F64, &[16])], 0);
    let x: NodeId = 0;
    let mut y = x;
    let mut states = Vec::new();
    for _ in 0..steps {
        let product = graph.add(Op::Binary(Binary::Mul), &[y, x]);
        let sine = graph.add(Op::Unary(Unary::Sin), &[product]);
        let scaled = graph.add(Op::Binary(Binary::Mul), &[sine, x]);
        states.push((y, product, sine));
        y = graph.add(Op::Binary(Binary::Sub), &[y, scaled]);
    }
    let (mut dy, mut dx) = (x, x);
    for &(y, product, sine) in states.iter().rev() {
        let dsine = graph.add(Op::Binary(Binary::Mul), &[dy, sine]);
        dx = graph.add(Op::Binary(Binary::Sub), &[dx, dsine]);
        let cosine = graph.add(Op::Unary(Unary::Cos), &[product]);
        let dproduct = graph.add(Op::Binary(Binary::Mul), &[dy, cosine]);
        let part = graph.add(Op::Binary(Binary::Mul), &[dproduct, y]);
        dx = graph.add(Op::Binary(Binary::Sub), &[dx, part]);
        dy = graph.add(Op::Binary(Binary::Sub), &[dy, dproduct]);
    }
    graph.finish(&[y, dx])
}

#[test]
fn a_program_of_several_nests_is_written_a_few_times_at_most() {
    // Of the longest, more addends wait for the innermost one than a nest has room for.
    for steps in [1_000, 4_000, 12_000] {
        let body = there_and_back(steps);
        let before = WRITTEN.get();
        let procedure = lower(&body);
        let written = WRITTEN.get() - before;
        assert!(written <= 8 * body.nodes.len(), "{written} values for {} nodes", body.nodes.len());
        let values: usize = procedure
            .steps
            .iter()
            .map(|step| match step {
                Step::Nest(nest) => nest.values.len(),
                _ => 0,
            })
            .sum();
        assert!(values <= 2 * body.nodes.len(), "{values} values for {} nodes", body.nodes.len());
    }
}

/// What reads an array that has no positions of 64 bits is left alone, and so is what reads that again, until nothing does.
#[test]
fn programs_whose_arrays_can_not_be_counted_are_lowered() {
    let large = [3, 1 << 58, 0, 5, 17];
    let kinds = [Op::Reduce(Reduction::Max, smallvec![2]), Op::ArgReduce(Extreme::Min, 2)];
    for kind in kinds {
        let mut graph: Graph = Graph::new(&[Type::new(DType::F32, &large)], 0);
        let counted = graph.add(kind, &[0]);
        let sum = graph.add(Op::Reduce(Reduction::Sum, smallvec![2, 3]), &[counted]);
        let shape = graph.ty(sum).shape.clone();
        let turned = graph.add(Op::View(AffineMap::transpose(&shape, &[1, 0])), &[sum]);
        let joined = graph.add(Op::Concatenate(0), &[turned, turned]);
        let procedure = lower(&graph.finish(&[turned, counted, joined]));
        assert!(!procedure.steps.is_empty());
    }
}
