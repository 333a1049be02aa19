//! How much work lowering is.

use super::emit::WRITTEN;
use super::{Step, lower};
use crate::affine::AffineMap;
use crate::array::Array;
use crate::operation::{Binary, Contraction, Extreme, MatrixOperation, Reduction, Unary};
use crate::shape::{DType, Type, Value};
use crate::term::{Graph, NodeId, Op, visits};
use smallvec::smallvec;

/// Σ of steps `y - sin(y · x) · x`, and a sum like its reverse derivative: each step, going back, reads the states of that
/// step.
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

/// `x c₀ + c₁ …`, where no two constants are equal.
fn constants(steps: usize) -> crate::term::Body {
    let mut graph: Graph = Graph::new(&[Type::new(DType::F64, &[16])], 0);
    let result = (0..steps).fold(0, |y, step| {
        let constant = |graph: &mut Graph, x: f64| graph.add(Op::Constant(Array::full(&[16], Value::F64(x))), &[]);
        let factor = constant(&mut graph, 1.0 + step as f64);
        let product = graph.add(Op::Binary(Binary::Mul), &[y, factor]);
        let term = constant(&mut graph, -1.0 - step as f64);
        graph.add(Op::Binary(Binary::Add), &[product, term])
    });
    graph.finish(&[result])
}

#[test]
fn a_program_of_several_nests_is_written_once() {
    // In the longest, the operations after the innermost one need more addends and constants than a nest has room for.
    for body in [1_000, 4_000, 12_000].into_iter().flat_map(|steps| [there_and_back(steps), constants(steps)]) {
        let before = WRITTEN.get();
        let procedure = lower(&body);
        let written = WRITTEN.get() - before;
        // Values that pass between nests are loaded too.
        assert!(written <= 2 * body.nodes.len(), "{written} values for {} nodes", body.nodes.len());
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

/// A step that reads so far apart that its position in the array before can't be read in one nest.
fn far(graph: &mut Graph, x: NodeId) -> NodeId {
    let view = graph.add(Op::View(AffineMap::along(&[16], 0, 0, 1 << 40, 16)), &[x]);
    graph.add(Op::Unary(Unary::Sin), &[view])
}

#[test]
fn what_can_not_be_read_in_a_nest_is_found_at_once() {
    // In sequence, and side by side in one nest.
    let chain = |graph: &mut Graph, n: usize| (0..n).fold(0, |y, _| far(graph, y));
    let sum = |graph: &mut Graph, n: usize| {
        let mut sum = 0;
        for k in 0..n {
            let number = Op::Constant(Array::full(&[16], Value::F64(k as f64)));
            let number = graph.add(number, &[]);
            let scaled = graph.add(Op::Binary(Binary::Mul), &[0, number]);
            let once = far(graph, scaled);
            let again = far(graph, once);
            sum = graph.add(Op::Binary(Binary::Add), &[sum, again]);
        }
        sum
    };
    let programs: [&dyn Fn(&mut Graph, usize) -> NodeId; 2] = [&chain, &sum];
    for program in programs {
        let costs = [100, 200].map(|n| {
            let mut graph: Graph = Graph::new(&[Type::new(DType::F64, &[16])], 0);
            let result = program(&mut graph, n);
            let body = graph.finish(&[result]);
            let before = (WRITTEN.get(), visits());
            let procedure = lower(&body);
            let calls = procedure.steps.iter().filter(|step| matches!(step, Step::Call(_))).count();
            assert!(calls >= n / 2, "{calls} calls");
            (WRITTEN.get() - before.0, visits() - before.1)
        });
        let [(values, less), (more_values, more)] = costs;
        assert!(10 * more_values <= 22 * values && 10 * more <= 22 * less, "{costs:?}");
    }
}

/// An operation that reads an array without positions of 64 bits is left to a call, and so are its readers, until none remain.
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

#[test]
fn a_product_and_its_transpose_are_computed_once() {
    let mut graph: Graph = Graph::new(&[Type::new(DType::F64, &[40, 30]), Type::new(DType::F64, &[30, 20])], 0);
    let product = graph.add(Op::Contract(Contraction::new(&[0, 1], &[1, 2], &[0, 2])), &[0, 1]);
    let turned = graph.add(Op::Contract(Contraction::new(&[0, 1], &[2, 0], &[1, 2])), &[1, 0]);
    let procedure = lower(&graph.finish(&[product, turned]));
    let products = procedure.steps.iter().filter(|step| matches!(step, Step::Product(_))).count();
    assert_eq!(products, 1);
}

#[test]
fn operations_on_many_small_matrices_pass_them_on_in_blocks() {
    let count = |n: usize| {
        let mut graph: Graph = Graph::new(&[Type::new(DType::F64, &[10_000, n, n])], 0);
        let packed = graph.add(Op::Matrix(MatrixOperation::Lu), &[0]);
        let moved = graph.add(Op::Matrix(MatrixOperation::LuAdjoint), &[packed, 0]);
        lower(&graph.finish(&[moved])).steps.len()
    };
    assert_eq!(count(4), 1);
    assert_eq!(count(33), 2);
}

#[test]
fn blocks_have_more_rows_where_what_they_have_in_common_leaves_the_cache() {
    // The rows of blocks of two layers.
    let rows = |[count, outside, inside]: [usize; 3]| {
        let types = [[count, outside], [outside, inside], [inside, outside]].map(|shape| Type::new(DType::F32, &shape));
        let mut graph: Graph = Graph::new(&types, 0);
        let product = || Op::Contract(Contraction::new(&[0, 1], &[1, 2], &[0, 2]));
        let hidden = graph.add(product(), &[0, 1]);
        let hidden = graph.add(Op::Unary(Unary::Tanh), &[hidden]);
        let result = graph.add(product(), &[hidden, 2]);
        match lower(&graph.finish(&[result])).steps.as_slice() {
            [Step::Blocks(blocks)] => blocks.rows,
            steps => panic!("{} steps", steps.len()),
        }
    };
    assert_eq!(rows([4096, 64, 1024]), 56, "0.5 MiB for moving rows, the same in common");
    assert_eq!(rows([4104, 640, 512]), 128, "2.5 MiB in common");
    assert_eq!(rows([4096, 64, 2560]), 48, "1.25 MiB in common, 1 MiB for rows inside of blocks");
    assert_eq!(rows([1032, 320, 1024]), 64, "sixteen blocks at least, and about the same number of rows in each");
}
