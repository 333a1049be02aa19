//! Additions of values that are zero except at some positions: the positions are found, and no others are written.

use super::{vector, written};
use crate::affine::AffineMap;
use crate::array::Array;
use crate::concrete::Concrete;
use crate::engine::cpu::{Cpu, Program};
use crate::kernel::writes::surroundings;
use crate::kernel::{Affine, lower_in_place};
use crate::operation::{Binary, Unary};
use crate::shape::{DType, Type, Value};
use crate::term::interpret::interpret;
use crate::term::{Graph, NodeId, Op};
use smallvec::SmallVec;

#[test]
fn what_is_zero_but_at_few_positions_is_added_where_it_is() {
    let n = 40;
    let added = |add: &dyn Fn(&mut Graph) -> NodeId| {
        let mut graph = Graph::new(&[Type::new(DType::F64, &[n, n]), vector(n)], 0);
        let sines = graph.add(Op::Unary(Unary::Sin), &[0]);
        let added = add(&mut graph);
        let sum = graph.add(Op::Binary(Binary::Add), &[sines, added]);
        let body = graph.finish(&[sum]);
        let argument = |at: usize| {
            let ty = body.parameter_type(at);
            Array::from_vec(&ty.shape, (0..ty.size()).map(|i| (i as f64 * 0.7).cos()).collect())
        };
        let arguments: Vec<Array> = (0..2).map(argument).collect();
        let expected = interpret::<Concrete>(&body, arguments.clone());
        let program = Program::new(&body, &Cpu::default()).expect("a program");
        let found = program.run(&arguments).expect("a run");
        let difference = |at: usize| (found[0].element(at).to_f64() - expected[0].element(at).to_f64()).abs();
        assert!((0..n * n).all(|at| difference(at) < 1e-12), "{body}");
        written(&lower_in_place(&body))
    };
    let row = added(&|graph| {
        let position = graph.add(Op::Constant(Array::full(&[], Value::I64(7))), &[]);
        graph.add(Op::Scatter([n].as_slice().into()), &[1, position])
    });
    let column = added(&|graph| {
        let position = graph.add(Op::Constant(Array::full(&[], Value::I64(7))), &[]);
        let row = graph.add(Op::Scatter([n].as_slice().into()), &[1, position]);
        graph.add(Op::View(AffineMap::transpose(&[n, n], &[1, 0])), &[row])
    });
    let diagonal = added(&|graph| {
        let column = graph.add(Op::Reshape([n, 1].as_slice().into()), &[1]);
        let rows = [[1, 0], [-1, 1]].map(|row| row.as_slice().into());
        graph.add(Op::View(AffineMap::new(&[n, 1], &[n, n], &rows, &[0, 0])), &[column])
    });
    assert_eq!([row, column, diagonal], [n * n + n; 3]);
    // A read of most of the positions is done with the rest.
    let shifted = added(&|graph| {
        let rows = graph.add(Op::View(AffineMap::broadcast(&[n], &[n, n], &[1])), &[1]);
        graph.add(Op::View(AffineMap::along(&[n, n], 0, -1, 1, n)), &[rows])
    });
    assert_eq!(shifted, n * n);
}

#[test]
fn surroundings_are_the_positions_that_find_something() {
    let mut state = 5u64;
    let mut below = |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % bound
    };
    let mut found = 0;
    for _ in 0..4000 {
        let (rank, axes) = (1 + below(3), 1 + below(3));
        let source: Vec<usize> = (0..rank).map(|_| 1 + below(4)).collect();
        let result: Vec<usize> = (0..axes).map(|_| 1 + below(6)).collect();
        let rows: Vec<SmallVec<[i64; 4]>> =
            (0..rank).map(|_| (0..axes).map(|_| [0, 0, 1, -1, 2][below(5)]).collect()).collect();
        let offsets: Vec<i64> = (0..rank).map(|_| below(7) as i64 - 3).collect();
        let map = AffineMap::new(&source, &result, &rows, &offsets);
        let Some((domain, at)) = surroundings(&map) else { continue };
        found += 1;
        let all = |shape: &[usize]| -> Vec<Vec<usize>> {
            shape.iter().fold(vec![Vec::new()], |all, &extent| {
                let longer = |at: Vec<usize>| (0..extent).map(move |next| [&at[..], &[next]].concat());
                all.into_iter().flat_map(longer).collect()
            })
        };
        let value = |at: &Affine, position: &[usize]| -> usize {
            let terms = at.coefficients.iter().zip(position).map(|(&step, &position)| step * position as i64);
            usize::try_from(at.offset + terms.sum::<i64>()).expect("positions are inside")
        };
        let place = |position: Vec<usize>| at.iter().map(|at| value(at, &position)).collect::<Vec<usize>>();
        let mut places: Vec<Vec<usize>> = all(&domain).into_iter().map(place).collect();
        places.sort();
        let inside: Vec<Vec<usize>> = all(&result).into_iter().filter(|at| map.position(at).is_some()).collect();
        assert_eq!(places, inside, "{map:?}");
    }
    assert!(found >= 100, "{found}");
}
