use super::*;
use crate::array::Array;
use crate::shape::Type;
use crate::term::Graph;
use smallvec::smallvec;
use std::sync::Arc;

type Step = fn(&mut Graph) -> Vec<NodeId>;

/// The recurrence of a step that takes one carry of a shape, a slice of an input, a capture, and one of rank 0.
fn recurrence(shape: &[usize], step: Step) -> Option<Recurrence> {
    let array = Type::new(DType::F64, shape);
    let mut graph = Graph::new(&[array.clone(), array.clone(), array, Type::scalar(DType::F64)], 2);
    let results = step(&mut graph);
    let body = Arc::new(graph.finish(&results));
    Recurrence::of(&Scan { body, carries: 1, inputs: 1, length: 9, reverse: false })
}

fn binary(graph: &mut Graph, op: Binary, a: NodeId, b: NodeId) -> NodeId {
    graph.add(Op::Binary(op), &[a, b])
}

#[test]
fn a_step_is_straight_line_code() {
    let step: Step = |graph| {
        let scaled = binary(graph, Binary::Mul, 1, 2);
        let sum = binary(graph, Binary::Add, scaled, 0);
        let over = graph.add(Op::Compare(Comparison::Greater), &[sum, 1]);
        vec![sum, over, 0]
    };
    let found = recurrence(&[2, 3], step).expect("every operation is elementwise");
    assert_eq!(found.shape[..], [2, 3]);
    let instruction =
        |op, operands: [StepOperand; 2], dtype| StepInstruction { op, operands: operands.into_iter().collect(), dtype };
    let expected = [
        instruction(Elementwise::Binary(Binary::Mul), [StepOperand::Input(0), StepOperand::Capture(0)], DType::F64),
        instruction(Elementwise::Binary(Binary::Add), [StepOperand::Step(0), StepOperand::Carry(0)], DType::F64),
        instruction(
            Elementwise::Compare(Comparison::Greater),
            [StepOperand::Step(1), StepOperand::Input(0)],
            DType::Bool,
        ),
    ];
    assert_eq!(found.steps, expected);
    assert_eq!(found.results, [StepOperand::Step(1), StepOperand::Step(2), StepOperand::Carry(0)]);
    assert_eq!(found.depends_on_carries(), [false, true, true]);
    assert_eq!(found.leads_to_carries(1), [true, true, false]);
}

#[test]
fn operands_stay_in_order() {
    for op in [Binary::Max, Binary::MaxRight, Binary::Min, Binary::Sub] {
        for operands in [[0, 1], [1, 0]] {
            let mut graph = Graph::new(&vec![Type::scalar(DType::F64); 2], 0);
            let next = graph.add(Op::Binary(op), &operands);
            let body = Arc::new(graph.finish(&[next]));
            let found = Recurrence::of(&Scan { body, carries: 1, inputs: 1, length: 9, reverse: true }).unwrap();
            let parameters = [StepOperand::Carry(0), StepOperand::Input(0)];
            assert_eq!(found.steps[0].op, Elementwise::Binary(op));
            assert_eq!(found.steps[0].operands[..], operands.map(|at| parameters[at as usize]));
        }
    }
}

#[test]
fn one_number_may_be_at_every_place() {
    let step: Step = |graph| {
        let half = graph.add(Op::Constant(Array::full(&[3], Value::F64(0.5))), &[]);
        let repeated = graph.add(Op::View(AffineMap::broadcast(&[], &[3], &[])), &[3]);
        let scaled = binary(graph, Binary::Mul, 0, repeated);
        vec![binary(graph, Binary::Add, scaled, half)]
    };
    let found = recurrence(&[3], step).unwrap();
    let operands = |at: usize| found.steps[at].operands.clone();
    let expected: [SmallVec<[StepOperand; 3]>; 2] = [
        smallvec![StepOperand::Carry(0), StepOperand::Capture(1)],
        smallvec![StepOperand::Step(0), StepOperand::Constant(Value::F64(0.5))],
    ];
    assert_eq!([operands(0), operands(1)], expected);
}

#[test]
fn other_steps_are_none() {
    let sum: Step = |graph| {
        let axes = smallvec![0];
        let sum = graph.add(Op::Reduce(crate::operation::Reduction::Sum, axes), &[0]);
        let repeated = graph.add(Op::View(AffineMap::broadcast(&[], &[3], &[])), &[sum]);
        vec![repeated]
    };
    assert_eq!(recurrence(&[3], sum), None);
    let reversed: Step = |graph| vec![graph.add(Op::View(AffineMap::along(&[3], 0, 2, -1, 3)), &[0])];
    assert_eq!(recurrence(&[3], reversed), None);
    // An output of another shape.
    assert_eq!(recurrence(&[3], |_| vec![0, 3]), None);
    // A loop that carries nothing.
    let mut graph = Graph::new(&[Type::scalar(DType::F64)], 0);
    let square = binary(&mut graph, Binary::Mul, 0, 0);
    let body = Arc::new(graph.finish(&[square]));
    assert_eq!(Recurrence::of(&Scan { body, carries: 0, inputs: 1, length: 9, reverse: false }), None);
}
