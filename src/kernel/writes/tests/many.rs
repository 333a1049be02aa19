//! Many writes of one array.

use super::super::LOOKED;
use crate::kernel::lower_in_place;
use crate::operation::{Binary, Unary};
use crate::shape::{DType, Type};
use crate::term::{Body, Graph, Op};

/// An array that is written, and so many arrays that differ from that by an element; every second one is only read at a position
/// instead.
fn written(n: usize, is_read: bool) -> Body {
    let (array, number) = (Type::new(DType::F64, &[8]), Type::new(DType::F64, &[]));
    let position = Type::new(DType::I64, &[]);
    let mut graph: Graph = Graph::new(&[array, position.clone(), number, position], 0);
    let y = graph.add(Op::ScatterSet, &[0, 2, 1]);
    let mut sum = 0;
    let mut value = 2;
    for k in 0..n {
        value = graph.add(Op::Unary(Unary::Sin), &[value]);
        let changed = graph.add(Op::ScatterSet, &[y, value, 3]);
        let z = if is_read && k % 2 == 1 { y } else { changed };
        let z = graph.add(Op::Unary(Unary::Sin), &[z]);
        sum = graph.add(Op::Binary(Binary::Add), &[sum, z]);
    }
    graph.finish(&[sum])
}

#[test]
fn writes_of_one_array_do_not_look_at_each_other() {
    for is_read in [false, true] {
        let looked = [500, 1000].map(|n| {
            let body = written(n, is_read);
            LOOKED.set(0);
            lower_in_place(&body);
            LOOKED.get()
        });
        assert!(looked[1] <= 3 * looked[0] && looked[1] < 10_000, "{looked:?} readers looked at");
    }
}
