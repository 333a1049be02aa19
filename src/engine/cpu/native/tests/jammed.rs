//! Sums of rows that run some at a time.

use super::super::jam::jammed;
use super::super::order;
use super::*;

/// How many sums run side by side in the best order of a nest's loops.
fn side_by_side(body: &Body) -> usize {
    let procedure = lower(body);
    let [Step::Nest(nest)] = &procedure.steps[..] else { panic!("not one nest: {procedure}") };
    let layouts = order::layouts(nest, false, 8, 64);
    jammed(nest, &layouts[0].1, true).map_or(1, |(nest, _)| nest.stores.len())
}

/// Sums over rows of something of all pairs of rows of two tables, `a` and `b` rows of `columns`.
fn of_pairs(dtype: DType, [a, b, columns]: [usize; 3], reduction: Reduction) -> Body {
    let types = [Type::new(dtype, &[a, columns]), Type::new(dtype, &[b, columns])];
    body(&types, |graph| {
        let mut view = |id: NodeId, rows: usize, axis: usize| {
            let map = AffineMap::broadcast(&[rows, columns], &[a, b, columns], &[axis, 2]);
            graph.add(Op::View(map), &[id])
        };
        let (x, y) = (view(0, a, 0), view(1, b, 1));
        let difference = two(graph, Binary::Sub, x, y);
        let square = one(graph, Unary::Powi(2), difference);
        vec![graph.add(Op::Reduce(reduction, smallvec![2]), &[square])]
    })
}

#[test]
fn distances_of_rows_run_some_at_a_time() {
    for (sizes, expected) in [
        ([24, 32, 40], 8),
        ([64, 32, 40], 16),
        ([25, 32, 41], 4),
        ([32, 25, 33], 4),
        ([30, 27, 65], 6),
        ([22, 26, 64], 4),
        // No number of rows is a multiple.
        ([29, 31, 40], 1),
        // Too little to be worth it.
        ([4, 8, 40], 1),
    ] {
        for dtype in [DType::F64, DType::F32] {
            for reduction in [Reduction::Sum, Reduction::Max] {
                let body = of_pairs(dtype, sizes, reduction);
                assert_eq!(side_by_side(&body), expected, "{sizes:?}");
                let mut random = Random(sizes.iter().sum::<usize>() as u64);
                let arguments = (0..2).map(|at| random.plain(body.parameter_type(at))).collect();
                all_written(check(&body, arguments, Allowed::AnyNan), sizes);
            }
        }
    }
}

#[test]
fn rows_that_are_read_once_come_one_after_the_other() {
    let types = [Type::new(DType::F64, &[400, 100]), Type::new(DType::F64, &[100])];
    let product = body(&types, |graph| {
        let row = graph.add(Op::View(AffineMap::broadcast(&[100], &[400, 100], &[1])), &[1]);
        let square = one(graph, Unary::Powi(2), row);
        let product = two(graph, Binary::Sub, 0, square);
        vec![graph.add(Op::Reduce(Reduction::Sum, smallvec![1]), &[product])]
    });
    assert_eq!(side_by_side(&product), 1);
}

/// The copies of a store write what the next steps of the outermost loop write too, which no other thread may do.
#[test]
fn sums_that_overlap_are_left_to_one_thread() {
    let (rows, others, columns) = (4096, 3, 64);
    let place = |coefficients: [i64; 3]| Affine { offset: 0, coefficients: SmallVec::from_slice(&coefficients) };
    let load =
        |buffer, coefficients| (NestValue::Load { buffer, at: place(coefficients), guards: Guards::new() }, DType::F64);
    let nest = |by: i64| Nest {
        extents: [rows, others, columns].as_slice().into(),
        values: vec![
            load(0, [columns as i64, 0, 1]),
            load(1, [0, columns as i64, 1]),
            (NestValue::Binary(Binary::Sub, 0, 1), DType::F64),
            (NestValue::Unary(Unary::Powi(2), 2), DType::F64),
        ],
        stores: vec![Store {
            value: 3,
            buffer: 2,
            at: place([by, 1, 0]),
            guards: Guards::new(),
            index: None,
            mode: StoreMode::Reduce(Reduction::Sum),
        }],
    };
    let types = [rows * columns, others * columns, rows * others].map(|size| Type::new(DType::F64, &[size]));
    for isa in Instructions::available().filter(|&isa| isa != Instructions::Portable) {
        for (by, is_shared) in [(1, false), (2, false), (3, true)] {
            let nest = nest(by);
            let code = compiled(isa, &nest, &types, Cut::ByWork).expect("there is code");
            assert!(code.axes[0].extent < rows || code.axes[1].extent < others, "steps are side by side");
            assert_eq!(code.split.chunks > 1, is_shared, "{isa:?}: {by} elements from row to row");
        }
    }
}
