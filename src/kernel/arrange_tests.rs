//! Which arrays products read and write, and how.

use super::{BufferSource, COLUMN, MatrixProduct, NestValue, Procedure, ROW, SUMMED, Step, lower};
use crate::affine::AffineMap;
use crate::operation::{Contraction, Reduction};
use crate::shape::{DType, Type};
use crate::term::{Graph, Op};
use smallvec::{SmallVec, smallvec};

fn products(procedure: &Procedure) -> Vec<&MatrixProduct> {
    let products = procedure.steps.iter().filter_map(|step| match step {
        Step::Product(product) => Some(product.as_ref()),
        _ => None,
    });
    products.collect()
}

/// [samples, channels, rows, columns] in windows of so many rows and columns, with zeros around.
fn windows(source: &[usize; 4], counts: [usize; 2], window: usize, padding: i64) -> AffineMap {
    let result = [source[0], source[1], counts[0], counts[1], window, window];
    let rows: [SmallVec<[i64; 4]>; 4] = [
        smallvec![1, 0, 0, 0, 0, 0],
        smallvec![0, 1, 0, 0, 0, 0],
        smallvec![0, 0, 1, 0, 1, 0],
        smallvec![0, 0, 0, 1, 0, 1],
    ];
    AffineMap::new(source, &result, &rows, &[0, 0, -padding, -padding])
}

fn f64s(shape: &[usize]) -> Type {
    Type::new(DType::F64, shape)
}

#[test]
fn a_convolution_reads_windows_where_they_are() {
    for padding in [0, 2] {
        let counts = [8 + 2 * padding - 4; 2];
        let mut graph: Graph = Graph::new(&[f64s(&[4, 3, 8, 8]), f64s(&[6, 3, 5, 5])], 0);
        let map = windows(&[4, 3, 8, 8], counts, 5, padding as i64);
        let read = graph.add(Op::View(map), &[0]);
        let spec = Contraction {
            left: smallvec![0, 1, 2, 3, 4, 5],
            right: smallvec![6, 1, 4, 5],
            result: smallvec![0, 6, 2, 3],
        };
        let result = graph.add(Op::Contract(spec), &[read, 1]);
        let procedure = lower(&graph.finish(&[result]));
        let [product] = products(&procedure)[..] else { panic!("a product:\n{procedure}") };
        assert_eq!(product.sizes(), [4 * counts[0] * counts[1], 75, 6]);
        assert_eq!(product.extents[ROW][..], [4, counts[0], counts[1]]);
        assert_eq!(product.extents[SUMMED][..], [3, 5, 5]);
        // Nothing is written but the padded array, if there is padding.
        let side = 8 + 2 * padding;
        assert_eq!(procedure.steps.len(), if padding == 0 { 1 } else { 2 }, "{procedure}");
        let local = |buffer: &&super::ProcedureBuffer| matches!(buffer.source, BufferSource::Local);
        let written: usize = procedure.buffers.iter().filter(local).map(|buffer| buffer.ty.size()).sum();
        let padded = if padding == 0 { 0 } else { 4 * 3 * side * side };
        assert_eq!(written, padded + 4 * 6 * counts[0] * counts[1], "{procedure}");
    }
}

/// The sum over windows that the derivative of a convolution is reads neighbours.
#[test]
fn a_product_is_written_in_the_order_in_which_it_is_read() {
    let mut graph: Graph = Graph::new(&[f64s(&[4, 6, 10, 10]), f64s(&[6, 3, 5, 5])], 0);
    let spec =
        Contraction { left: smallvec![0, 1, 2, 3], right: smallvec![1, 4, 5, 6], result: smallvec![0, 2, 3, 4, 5, 6] };
    let product = graph.add(Op::Contract(spec), &[0, 1]);
    let source = [4, 10, 10, 3, 5, 5];
    let rows: [SmallVec<[i64; 4]>; 6] = [
        smallvec![1, 0, 0, 0, 0, 0],
        smallvec![0, 0, 1, 0, -1, 0],
        smallvec![0, 0, 0, 1, 0, -1],
        smallvec![0, 1, 0, 0, 0, 0],
        smallvec![0, 0, 0, 0, 1, 0],
        smallvec![0, 0, 0, 0, 0, 1],
    ];
    let map = AffineMap::new(&source, &[4, 3, 14, 14, 5, 5], &rows, &[0; 6]);
    let read = graph.add(Op::View(map), &[product]);
    let sum = graph.add(Op::Reduce(Reduction::Sum, smallvec![4, 5]), &[read]);
    let procedure = lower(&graph.finish(&[sum]));
    let [product] = products(&procedure)[..] else { panic!("a product:\n{procedure}") };
    assert_eq!(product.sizes(), [400, 6, 75]);
    assert_eq!(product.result.strides[ROW][..], [7500, 750, 1]);
    assert_eq!(product.result.strides[COLUMN][..], [10]);
    let Some(Step::Nest(nest)) = procedure.steps.last() else { panic!("a nest:\n{procedure}") };
    let read = nest.values.iter().find_map(|(value, _)| match value {
        NestValue::Load { at, .. } => Some(at.coefficients[3]),
        _ => None,
    });
    assert_eq!(read, Some(1), "{procedure}");
}
