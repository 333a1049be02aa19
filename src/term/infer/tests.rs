//! Operands that fit, and the messages where operands don't.

use super::*;
use crate::affine::AffineMap;
use crate::array::Array;
use crate::operation::{BINARY_ROWS, Binary, Comparison, Contraction, Extreme, Reduction, UNARY_ROWS, Unary};
use crate::shape::Value;
use crate::term::{Branch, Build, Custom, Graph, Scan};
use std::sync::Arc;

const DTYPES: [DType; 5] = [DType::F32, DType::F64, DType::I32, DType::I64, DType::Bool];

fn floats(shape: &[usize]) -> Type {
    Type::new(DType::F64, shape)
}

fn integers(shape: &[usize]) -> Type {
    Type::new(DType::I64, shape)
}

fn infer(op: Op, operands: &[Type]) -> Result<Type, String> {
    let operands: Vec<&Type> = operands.iter().collect();
    output(&op, &operands)
}

#[track_caller]
fn fails(op: Op, operands: &[Type], message: &str) {
    assert_eq!(infer(op, operands), Err(message.to_string()));
}

#[track_caller]
fn gives(op: Op, operands: &[Type], expected: Type) {
    assert_eq!(infer(op, operands), Ok(expected));
}

#[test]
fn elementwise_operations_take_their_domain_and_equal_types() {
    for dtype in DTYPES {
        let ty = Type::new(dtype, &[2, 3]);
        for &op in UNARY_ROWS {
            let expected = match op.domain().accepts(dtype) {
                true => Ok(ty.clone()),
                false => Err(format!("takes {}, not {dtype}", op.domain().name())),
            };
            assert_eq!(infer(Op::Unary(op), std::slice::from_ref(&ty)), expected, "{op:?}");
        }
        for &op in BINARY_ROWS {
            let expected = match op.domain().accepts(dtype) {
                true => Ok(ty.clone()),
                false => Err(format!("takes {}, not {dtype}", op.domain().name())),
            };
            assert_eq!(infer(Op::Binary(op), &[ty.clone(), ty.clone()]), expected, "{op:?}");
        }
        gives(Op::Compare(Comparison::Less), &[ty.clone(), ty.clone()], Type::new(DType::Bool, &[2, 3]));
        gives(Op::Cast(DType::I32), std::slice::from_ref(&ty), Type::new(DType::I32, &[2, 3]));
        gives(Op::Alias, std::slice::from_ref(&ty), ty.clone());
        gives(Op::Mark, std::slice::from_ref(&ty), ty.clone());
    }
    let (add, less) = (Op::Binary(Binary::Add), Op::Compare(Comparison::Less));
    for op in [add, less] {
        fails(op.clone(), &[floats(&[2, 3]), floats(&[3])], "shapes [2, 3] and [3] differ");
        let single = Type::new(DType::F32, &[3]);
        fails(op.clone(), &[floats(&[3]), single], "element types f64 and f32 differ");
        fails(op, &[floats(&[3])], "takes 2 operands, not 1");
    }
    fails(Op::Unary(Unary::Exp), &[], "takes 1 operands, not 0");
}

#[test]
fn select_takes_a_mask_and_two_equal_types() {
    let mask = Type::new(DType::Bool, &[3]);
    gives(Op::Select, &[mask.clone(), floats(&[3]), floats(&[3])], floats(&[3]));
    gives(Op::Select, &[mask.clone(), mask.clone(), mask.clone()], mask.clone());
    fails(Op::Select, &[floats(&[3]), floats(&[3]), floats(&[3])], "the mask is bool, not f64");
    fails(Op::Select, &[mask.clone(), floats(&[4]), floats(&[4])], "shapes [3] and [4] differ");
    fails(Op::Select, &[mask.clone(), floats(&[3]), floats(&[4])], "shapes [3] and [4] differ");
    fails(Op::Select, &[mask, floats(&[3]), integers(&[3])], "element types f64 and i64 differ");
}

#[test]
fn constants_know_their_types() {
    gives(Op::Iota(7), &[], integers(&[7]));
    gives(Op::Constant(Array::full(&[2], Value::F32(1.0))), &[], Type::new(DType::F32, &[2]));
    fails(Op::Iota(7), &[floats(&[])], "takes 0 operands, not 1");
    fails(Op::Parameter(0), &[], "a parameter's type is given, not inferred");
}

#[test]
fn views_and_their_adjoints_read_the_shape_of_their_map() {
    let map = AffineMap::broadcast(&[3], &[2, 3], &[1]);
    gives(Op::View(map.clone()), &[integers(&[3])], integers(&[2, 3]));
    gives(Op::Accumulate(map.clone()), &[floats(&[2, 3])], floats(&[3]));
    fails(Op::View(map.clone()), &[floats(&[4])], "the view reads shape [3], not [4]");
    fails(Op::Accumulate(map), &[floats(&[3])], "the map takes shape [2, 3], not [3]");
}

#[test]
fn reshapes_keep_the_size() {
    gives(Op::Reshape(smallvec![3, 2]), &[floats(&[6])], floats(&[3, 2]));
    gives(Op::Reshape(smallvec![]), &[floats(&[1, 1])], floats(&[]));
    gives(Op::Reshape(smallvec![0, 5]), &[floats(&[0])], floats(&[0, 5]));
    fails(Op::Reshape(smallvec![4, 2]), &[floats(&[6])], "sizes of shapes [6] and [4, 2] differ");
    // Sizes that saturate are not equal for that.
    let huge = 1 << 40;
    gives(Op::Reshape(smallvec![huge, huge]), &[floats(&[huge, huge])], floats(&[huge, huge]));
    assert!(infer(Op::Reshape(smallvec![huge, huge, 2]), &[floats(&[huge, huge])]).is_err());
}

#[test]
fn concatenations_differ_along_one_axis_only() {
    let parts = [floats(&[2, 3]), floats(&[2, 0]), floats(&[2, 4])];
    gives(Op::Concatenate(1), &parts, floats(&[2, 7]));
    gives(Op::Concatenate(0), &[floats(&[2])], floats(&[2]));
    fails(Op::Concatenate(0), &[], "takes at least one part");
    fails(Op::Concatenate(2), &parts, "there is no axis 2 in shape [2, 3]");
    fails(Op::Concatenate(0), &parts, "shapes [2, 3] and [2, 0] differ in more than axis 0");
    fails(Op::Concatenate(0), &[floats(&[2]), floats(&[2, 1])], "shapes [2] and [2, 1] differ in more than axis 0");
    fails(Op::Concatenate(0), &[floats(&[2]), integers(&[2])], "element types f64 and i64 differ");
    assert!(infer(Op::Concatenate(0), &[floats(&[usize::MAX]), floats(&[1])]).is_err());
}

#[test]
fn gathers_and_scatters_take_index_arrays_of_one_shape() {
    let (x, index) = (floats(&[4, 5, 6]), integers(&[2, 3]));
    gives(Op::Gather, &[x.clone(), index.clone(), index.clone()], floats(&[2, 3, 6]));
    gives(Op::Gather, &[x.clone(), integers(&[]), integers(&[]), integers(&[])], floats(&[]));
    gives(Op::Gather, std::slice::from_ref(&x), x.clone());
    fails(Op::Gather, &[], "takes an array");
    fails(Op::Gather, &[floats(&[4]), index.clone(), index.clone()], "2 indices into shape [4]");
    fails(Op::Gather, &[x.clone(), index.clone(), integers(&[3])], "shapes [2, 3] and [3] differ");
    fails(Op::Gather, &[x, Type::new(DType::I32, &[2])], "index arrays are i64, not i32");

    gives(Op::Scatter(smallvec![4, 5]), &[floats(&[2, 3, 6]), index.clone(), index.clone()], floats(&[4, 5, 6]));
    gives(Op::Scatter(smallvec![]), &[floats(&[2])], floats(&[2]));
    fails(Op::Scatter(smallvec![4]), &[], "takes updates");
    fails(Op::Scatter(smallvec![4]), &[floats(&[2])], "0 indices into axes [4]");
    let message = "updates of shape [3, 2] at positions of shape [2, 3]";
    fails(Op::Scatter(smallvec![4]), &[floats(&[3, 2]), index], message);
}

#[test]
fn reductions_remove_ascending_axes() {
    let x = floats(&[2, 3, 4]);
    let sum = |axes: &[usize]| Op::Reduce(Reduction::Sum, axes.into());
    gives(sum(&[0, 2]), std::slice::from_ref(&x), floats(&[3]));
    gives(sum(&[]), std::slice::from_ref(&x), x.clone());
    fails(sum(&[3]), std::slice::from_ref(&x), "there is no axis 3 in shape [2, 3, 4]");
    fails(sum(&[1, 0]), std::slice::from_ref(&x), "axes [1, 0] are not ascending");
    fails(sum(&[1, 1]), std::slice::from_ref(&x), "axes [1, 1] are not ascending");
    gives(Op::ArgReduce(Extreme::Max, 1), std::slice::from_ref(&x), integers(&[2, 4]));
    fails(Op::ArgReduce(Extreme::Max, 0), &[floats(&[])], "there is no axis 0 in shape []");
}

#[test]
fn contractions_match_labels() {
    let product = || Op::Contract(Contraction::new(&[0, 1], &[1, 2], &[0, 2]));
    gives(product(), &[floats(&[2, 3]), floats(&[3, 4])], floats(&[2, 4]));
    fails(product(), &[floats(&[2, 3]), floats(&[4, 3])], "shapes [2, 3] and [4, 3] don't fit");
    fails(product(), &[floats(&[2, 3]), floats(&[3])], "shapes [2, 3] and [3] don't fit");
    fails(product(), &[floats(&[2, 3]), integers(&[3, 4])], "element types f64 and i64 differ");
    let mask = Type::new(DType::Bool, &[2, 2]);
    fails(product(), &[mask.clone(), mask], "takes numbers, not bool");
    // A label of one list only, or twice in one.
    let spec = |left: &[u8], right: &[u8], result: &[u8]| {
        Op::Contract(Contraction { left: left.into(), right: right.into(), result: result.into() })
    };
    fails(spec(&[0, 1], &[2], &[0]), &[floats(&[2, 3]), floats(&[3])], "shapes [2, 3] and [3] don't fit");
    fails(spec(&[0, 0], &[0], &[0]), &[floats(&[3, 3]), floats(&[3])], "shapes [3, 3] and [3] don't fit");
    gives(spec(&[], &[], &[]), &[floats(&[]), floats(&[])], floats(&[]));
}

/// A step that adds its slice and its capture to the carry, and outputs the slice.
fn step() -> Scan {
    let mut graph: Graph = Graph::new(&[floats(&[2]), floats(&[2]), floats(&[2])], 1);
    let sum = graph.add(Op::Binary(Binary::Add), &[0, 1]);
    let next = graph.add(Op::Binary(Binary::Add), &[sum, 2]);
    Scan { body: Arc::new(graph.finish(&[next, 1])), carries: 1, inputs: 1, length: 5, reverse: false }
}

fn scan_types(scan: Scan, operands: &[Type]) -> Result<Vec<Type>, String> {
    let op: Op = Op::Scan(Arc::new(scan));
    let operands: Vec<&[Type]> = operands.iter().map(std::slice::from_ref).collect();
    outputs(&op, &operands).map(|types| types.into_vec())
}

#[test]
fn loops_result_in_carries_and_stacked_outputs() {
    let (x, xs) = (floats(&[2]), floats(&[5, 2]));
    let operands = [x.clone(), xs.clone(), x.clone()];
    assert_eq!(scan_types(step(), &operands), Ok(vec![x.clone(), xs.clone()]));
    let fails = |scan: Scan, operands: &[Type], message: &str| {
        assert_eq!(scan_types(scan, operands), Err(message.to_string()));
    };
    fails(step(), std::slice::from_ref(&x), "takes 1 carries and 1 inputs");
    fails(step(), &[x.clone(), floats(&[4, 2]), x.clone()], "an input of shape [4, 2] in a loop of 5 steps");
    fails(step(), &[x.clone(), floats(&[]), x.clone()], "an input of shape [] in a loop of 5 steps");
    fails(step(), &[x.clone(), xs.clone()], "the loop's body takes 3 values, not 2");
    let message = "the loop's body takes f64[2] at position 2, not f64[3]";
    fails(step(), &[x.clone(), xs.clone(), floats(&[3])], message);
    let confused = Scan { carries: 2, inputs: 1, ..step() };
    let operands = [x.clone(), x.clone(), xs.clone(), x.clone()];
    fails(confused, &operands, "the loop's body takes 2 parameters for 2 carries and 1 inputs");
    // Two carries, the second without a next value.
    let short = Graph::<crate::term::Never>::new(&[x.clone(), x.clone()], 0).finish(&[0]);
    let short = Scan { body: Arc::new(short), carries: 2, inputs: 0, length: 5, reverse: false };
    fails(short, &[x.clone(), x.clone()], "the loop's body returns 1 values for 2 carries");
    let mut graph: Graph = Graph::new(std::slice::from_ref(&x), 0);
    let sum = graph.add(Op::Reduce(Reduction::Sum, smallvec![0]), &[0]);
    let changing = Scan { body: Arc::new(graph.finish(&[sum])), carries: 1, inputs: 0, length: 5, reverse: false };
    fails(changing, &[x], "carry 0 is f64[2] before a step and f64 after it");
}

#[test]
fn conditionals_have_sides_of_one_signature() {
    let side = |result: &Type| {
        let graph: Graph = Graph::new(std::slice::from_ref(result), 1);
        Arc::new(graph.finish(&[0]))
    };
    let branch = |a: &Type, b: &Type| Op::Branch(Arc::new(Branch { then: side(a), otherwise: side(b) }));
    let (condition, x) = (Type::scalar(DType::Bool), floats(&[2]));
    gives(branch(&x, &x), &[condition.clone(), x.clone()], x.clone());
    fails(branch(&x, &x), &[], "takes a condition");
    let mask = Type::new(DType::Bool, &[2]);
    fails(branch(&x, &x), &[mask, x.clone()], "the condition is a rank-0 bool, not bool[2]");
    fails(branch(&x, &x), std::slice::from_ref(&condition), "the first side takes 1 values, not 0");
    let other = floats(&[3]);
    let message = "the second side takes f64[3] at position 0, not f64[2]";
    fails(branch(&x, &other), &[condition.clone(), x.clone()], message);
    let mut graph: Graph = Graph::new(std::slice::from_ref(&x), 1);
    let sum = graph.add(Op::Reduce(Reduction::Sum, smallvec![0]), &[0]);
    let uneven = Branch { then: side(&x), otherwise: Arc::new(graph.finish(&[sum])) };
    fails(Op::Branch(Arc::new(uneven)), &[condition, x], "the sides result in [f64[2]] and [f64]");
}

#[test]
fn builds_take_an_index_for_each_extent() {
    let build = |parameters: &[Type], results: &[u32]| -> Op<Build> {
        let body = Graph::<Build>::new(parameters, 1).finish(results);
        Op::Extra(Build { extents: smallvec![4], body: Arc::new(body) })
    };
    let (index, x) = (Type::scalar(DType::I64), floats(&[2]));
    assert_eq!(output(&build(&[index.clone(), x.clone()], &[1]), &[&x]), Ok(floats(&[4, 2])));
    let message = "the build's body takes f64 at position 0, not i64";
    assert_eq!(output(&build(&[floats(&[]), x.clone()], &[1]), &[&x]), Err(message.to_string()));
    let message = "a build's body has one result";
    assert_eq!(output(&build(&[index, x.clone()], &[1, 1]), &[&x]), Err(message.to_string()));
}

#[test]
fn several_outputs_are_picked_from_before_they_are_used() {
    let two = [floats(&[2]), floats(&[3])];
    let pick = |position: usize| outputs::<crate::term::Never>(&Op::Output(position), &[&two]);
    assert_eq!(pick(1).unwrap()[..], [floats(&[3])]);
    assert_eq!(pick(2), Err("there is no output 2, only 2".to_string()));
    let used: Result<Types, String> = outputs::<crate::term::Never>(&Op::Unary(Unary::Exp), &[&two]);
    assert_eq!(used, Err("an operand with several outputs was used as one array".to_string()));
    assert!(outputs::<crate::term::Never>(&Op::Output(0), &[]).is_err());
}

#[test]
fn the_rules_of_a_function_take_and_give_what_its_derivatives_do() {
    let (x, y) = (floats(&[3]), floats(&[]));
    let body = |parameters: &[&Type], results: &[u32]| {
        let types: Vec<Type> = parameters.iter().map(|&ty| ty.clone()).collect();
        Arc::new(Graph::new(&types, 0).finish(results))
    };
    let custom = |vjp: Option<&Arc<Body>>, jvp: Option<&Arc<Body>>| -> Op {
        let (vjp, jvp) = (vjp.cloned(), jvp.cloned());
        Op::Custom(Arc::new(Custom { value: body(&[&x, &y], &[0]), vjp, jvp }))
    };
    // Parameters x, y, the result x, and a cotangent of it; or tangents of x and y.
    let (vjp, jvp) = (body(&[&x, &y, &x, &x], &[3, 1]), body(&[&x, &y, &x, &x, &y], &[3]));
    for rules in [custom(Some(&vjp), None), custom(None, Some(&jvp)), custom(Some(&vjp), Some(&jvp))] {
        gives(rules, &[x.clone(), y.clone()], x.clone());
    }
    fails(custom(None, None), &[x.clone(), y.clone()], "has no derivative rule");
    fails(custom(Some(&jvp), None), &[x.clone(), y.clone()], "the vjp rule takes 5 values, not 4");
    fails(custom(None, Some(&vjp)), &[x.clone(), y.clone()], "the jvp rule takes 4 values, not 5");
    let shorter = body(&[&x, &y, &x, &x], &[3]);
    fails(
        custom(Some(&shorter), None),
        &[x.clone(), y.clone()],
        "the vjp rule results in [f64[3]] instead of [f64[3], f64]",
    );
    let another = body(&[&x, &y, &x, &x, &y], &[4]);
    fails(custom(None, Some(&another)), &[x.clone(), y.clone()], "the jvp rule results in [f64] instead of [f64[3]]");
    fails(custom(Some(&vjp), None), &[x.clone(), x.clone()], "the function takes f64 at position 1, not f64[3]");
}
