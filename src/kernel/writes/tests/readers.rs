//! Arrays that are read before they change, or are copied.

use super::*;

#[test]
fn what_a_loop_reads_is_stored_before_the_write() {
    let n = 400;
    // Each element becomes that of another array.
    let mut step = Graph::new(&[vector(n), Type::scalar(DType::I64), vector(n)], 1);
    let read = step.add(Op::Gather, &[2, 1]);
    let written_to = step.add(Op::ScatterSet, &[0, read, 1]);
    let scan = Scan { body: Arc::new(step.finish(&[written_to])), carries: 1, inputs: 1, length: n, reverse: false };
    // The other array is computed from an earlier version of the one that changes.
    let mut graph = Graph::new(&[vector(n), Type::scalar(DType::F64), Type::scalar(DType::I64)], 0);
    let first = graph.add(Op::ScatterSet, &[0, 1, 2]);
    let sines = graph.add(Op::Unary(Unary::Sin), &[first]);
    let one = graph.add(Op::Gather, &[sines, 2]);
    let second = graph.add(Op::ScatterSet, &[first, one, 2]);
    let positions = graph.add(Op::Iota(n), &[]);
    let scan = graph.add(Op::Scan(Arc::new(scan)), &[second, positions, sines]);
    let last = graph.add(Op::Output(0), &[scan]);
    let procedure = lower_in_place(&graph.finish(&[last]));
    // A copy of the argument, the sines, the positions, and the elements one by one.
    assert!(written(&procedure) <= 4 * n + 10, "{}", written(&procedure));
}

#[test]
fn what_is_read_elsewhere_is_read_first() {
    // A row that reads its neighbours, itself included.
    let procedure = lower_in_place(&over_positions(40, |graph| {
        let positions = graph.add(Op::Iota(8), &[]);
        let shifted = {
            let one = graph.add(Op::Constant(crate::array::Array::full(&[8], crate::shape::Value::I64(1))), &[]);
            graph.add(Op::Binary(Binary::Add), &[positions, one])
        };
        let neighbours = graph.add(Op::Gather, &[0, shifted]);
        let sines = graph.add(Op::Unary(Unary::Sin), &[neighbours]);
        vec![graph.add(Op::ScatterSet, &[0, sines, positions])]
    }));
    let step = steps_of(&procedure);
    assert!(step.changes(0));
    let into = |nest: &crate::kernel::Nest| nest.stores.iter().any(|store| step.origin(store.buffer) == 0);
    for step_of in &step.steps {
        if let Step::Nest(nest) = step_of
            && into(nest)
        {
            assert!(nest.read().all(|buffer| step.origin(buffer) != 0), "{nest:?}");
        }
    }
}
