use super::stablehlo;
use crate::affine::AffineMap;
use crate::concrete::Array;
use crate::export::Program;
use crate::prelude::*;
use crate::shape::{DType, Type};
use crate::term::{Graph, Op};
use smallvec::smallvec;

/// The module of one operation on an array.
fn module(ty: Type, op: Op) -> crate::Result<String> {
    let mut graph: Graph = Graph::new(&[ty], 0);
    let result = graph.add(op, &[0]);
    stablehlo(Program::new("one", graph.finish(&[result])))
}

/// The names of the operations of a module, without constants.
fn operations(module: &str) -> Vec<&str> {
    let words = module.split_whitespace().filter_map(|word| word.trim_matches('"').strip_prefix("stablehlo."));
    let words = words.map(|word| word.split(['"', '(']).next().unwrap_or(word));
    words.filter(|&word| word != "constant" && word != "return").collect()
}

#[test]
fn a_gradient_is_a_function_with_named_parameters() -> crate::Result<()> {
    let x = Vector::from(vec![0.1, 0.2, 0.3]);
    let function = stage(|(w, x): &(Scalar<_, f64>, Vector<_, f64>)| (w * x.sin()).sum(), &(Scalar::from(2.0), x))?;
    let mut program = Program::from(&function.value_and_grad()?);
    program.parameters = vec!["weights.first".into(), "x".into()];
    let expected = r#"
module @value_and_grad_f {
  // Result 0: value
  // Result 1: gradient.0
  // Result 2: gradient.1
  func.func public @main(%weights_first: tensor<f64>, %x: tensor<3xf64>) -> (tensor<f64>, tensor<f64>, tensor<3xf64>) {
    %0 = stablehlo.sine %x : tensor<3xf64>
    %1 = stablehlo.broadcast_in_dim %weights_first, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %2 = stablehlo.multiply %1, %0 : tensor<3xf64>
    %3 = stablehlo.constant dense<0.0> : tensor<f64>
    %4 = stablehlo.reduce(%2 init: %3) applies stablehlo.add across dimensions = [0] : (tensor<3xf64>, tensor<f64>) -> tensor<f64>
    %5 = stablehlo.constant dense<0.0> : tensor<f64>
    %6 = stablehlo.reduce(%0 init: %5) applies stablehlo.add across dimensions = [0] : (tensor<3xf64>, tensor<f64>) -> tensor<f64>
    %7 = stablehlo.cosine %x : tensor<3xf64>
    %8 = stablehlo.multiply %1, %7 : tensor<3xf64>
    return %4, %6, %8 : tensor<f64>, tensor<f64>, tensor<3xf64>
  }
}
"#;
    assert_eq!(stablehlo(&program)?.trim(), expected.trim());
    Ok(())
}

#[test]
fn reads_along_axes_are_operations_of_their_own() -> crate::Result<()> {
    let ty = || Type::new(DType::F64, &[3, 4]);
    let cases = [
        (AffineMap::transpose(&[3, 4], &[1, 0]), vec!["transpose"], vec!["transpose"]),
        (AffineMap::along(&[3, 4], 1, 1, 1, 2), vec!["slice"], vec!["pad"]),
        (AffineMap::along(&[3, 4], 1, 0, 3, 2), vec!["slice"], vec!["pad"]),
        (AffineMap::along(&[3, 4], 0, 2, -1, 3), vec!["reverse"], vec!["reverse"]),
        (AffineMap::along(&[3, 4], 0, -1, 1, 6), vec!["pad"], vec!["slice"]),
        (AffineMap::broadcast(&[3, 4], &[2, 3, 4], &[1, 2]), vec!["broadcast_in_dim"], vec!["reduce"]),
        (AffineMap::pick(&[3, 4], 0, 1), vec!["slice", "reshape"], vec!["reshape", "pad"]),
        (AffineMap::pick(&[3, 4], 0, 5), vec![], vec![]),
    ];
    for (map, read, added) in cases {
        let result = Type::new(DType::F64, map.result());
        assert_eq!(operations(&module(ty(), Op::View(map.clone()))?), read, "{map:?}");
        let adjoint = module(result, Op::Accumulate(map.clone()))?;
        let adjoint: Vec<&str> = operations(&adjoint).into_iter().filter(|&word| word != "add").collect();
        assert_eq!(adjoint, added, "{map:?}");
    }
    Ok(())
}

#[test]
fn other_reads_are_gathers_and_scatters() -> crate::Result<()> {
    // A diagonal.
    let map = AffineMap::new(&[3, 3], &[3], &[smallvec![1], smallvec![1]], &[0, 0]);
    let read = module(Type::new(DType::F64, &[3, 3]), Op::View(map.clone()))?;
    assert_eq!(operations(&read), ["iota", "multiply", "reshape", "gather"]);
    let added = module(Type::new(DType::F64, &[3]), Op::Accumulate(map))?;
    assert_eq!(operations(&added), ["iota", "multiply", "scatter", "add", "reshape"]);
    Ok(())
}

#[test]
fn writes_change_their_target() -> crate::Result<()> {
    let graph = || {
        Graph::<crate::term::Never>::new(
            &[Type::new(DType::F64, &[5]), Type::new(DType::F64, &[3]), Type::new(DType::I64, &[3])],
            0,
        )
    };
    let written = |positions: &str, op: Op| -> crate::Result<String> {
        let mut graph = graph();
        let positions = if positions == "counted" { graph.add(Op::Iota(3), &[]) } else { 2 };
        let result = match op {
            Op::ScatterSet => graph.add(op, &[0, 1, positions]),
            op => {
                let added = graph.add(Op::Scatter([5].as_slice().into()), &[1, positions]);
                graph.add(op, &[0, added])
            }
        };
        stablehlo(Program::new("one", graph.finish(&[result])))
    };
    use crate::operation::Binary;
    let added = written("given", Op::Binary(Binary::Add))?;
    assert_eq!(operations(&added), ["reshape", "scatter", "add"], "{added}");
    assert!(added.contains("\"stablehlo.scatter\"(%p0"), "{added}");
    let taken = written("given", Op::Binary(Binary::Sub))?;
    assert_eq!(operations(&taken), ["negate", "reshape", "scatter", "add"], "{taken}");
    let counted = written("counted", Op::ScatterSet)?;
    assert_eq!(operations(&counted), ["iota", "reshape", "scatter"], "{counted}");
    // For positions that may be equal the last one is found first.
    let given = written("given", Op::ScatterSet)?;
    assert!(operations(&given).contains(&"maximum"), "{given}");
    Ok(())
}

/// Where row-major positions outside can't be counted, each axis is read at 0 there.
#[test]
fn far_reads_are_gathers_at_positions_that_are_counted_inside_only() -> crate::Result<()> {
    let far = AffineMap::REACH / 4;
    let map = AffineMap::new(&[3, 3], &[3, 3], &[smallvec![far, far], smallvec![1, 1]], &[0, 0]);
    let module = module(Type::new(DType::F64, &[3, 3]), Op::View(map))?;
    let all = operations(&module);
    let count = |name: &str| all.iter().filter(|operation| **operation == name).count();
    assert_eq!((count("gather"), count("compare"), count("select")), (1, 4, 3), "{module}");
    assert!(!module.contains(&(3 * far).to_string()), "{module}");
    Ok(())
}

#[test]
fn constants_are_exact() -> crate::Result<()> {
    let numbers = vec![0.1, 1e300, -0.0, 5e-324, f64::NAN, f64::INFINITY];
    let arrays = [
        (Array::from_vec(&[6], numbers), "[0.1, 1.0e300, -0.0, 5.0e-324, 0x7FF8000000000000, 0x7FF0000000000000]"),
        // The nearest `f64` to a number that is not 0.1.
        (Array::from_vec(&[2], vec![0.1f32, f32::NEG_INFINITY]), "[0.10000000149011612, 0xFF800000]"),
        (Array::from_vec(&[2, 2, 1], vec![1, 2, 3, i64::MIN]), "[[[1], [2]], [[3], [-9223372036854775808]]]"),
        (Array::from_vec(&[2, 2], vec![true; 4]), "true"),
        (Array::from_vec(&[2, 0], Vec::<f64>::new()), ""),
    ];
    for (array, elements) in arrays {
        let mut graph: Graph = Graph::new(&[], 0);
        let constant = graph.add(Op::Constant(array), &[]);
        let module = stablehlo(Program::new("known", graph.finish(&[constant])))?;
        assert!(module.contains(&format!("stablehlo.constant dense<{elements}> :")), "{module}");
    }
    Ok(())
}

#[test]
fn long_chains_are_written() -> crate::Result<()> {
    let mut graph: Graph = Graph::new(&[Type::scalar(DType::F64)], 0);
    let mut last = 0;
    for _ in 0..100_000 {
        last = graph.add(Op::Unary(crate::operation::Unary::Sin), &[last]);
    }
    let module = stablehlo(Program::new("chain", graph.finish(&[last])))?;
    assert_eq!(operations(&module).len(), 100_000);
    Ok(())
}
