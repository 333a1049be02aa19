//! Products whose operands are windows, as nests.

use super::super::compile_product;
use super::*;
use crate::functions::{Window, convolution_2d};
use crate::prelude::*;

/// Whether there is code for the product that a body is, whose buffers it leaves as the kernels of its nest do.
fn has_code(body: &Body) -> bool {
    let procedure = lower(body);
    let types: Vec<Type> = procedure.buffers.iter().map(|buffer| buffer.ty.clone()).collect();
    let [Step::Product(product)] = &procedure.steps[..] else { panic!("not one product: {procedure}") };
    let arena = CodeArena::new(Instructions::detect().max(Instructions::Avx2)).expect("there are instructions");
    let has_code = compile_product(target(&arena), product, &types, false).is_some();
    if has_code {
        let nest = product.as_nest(types[product.result.buffer as usize].dtype);
        let plain = |at: usize| Random(at as u64).plain(body.parameter_type(at));
        let arguments: Vec<Vec<Value>> = (0..body.arity()).map(plain).collect();
        let mut buffers = begun(&procedure, &arguments);
        fill(&nest, &types, &mut buffers);
        all_written(check_nest(&nest, &types, &mut [buffers], &SIDES, Allowed::AnyNan), &nest);
    }
    has_code
}

#[test]
fn convolutions_are_nests_where_these_are_faster() {
    fn convolution<E: crate::tensor::Number>(images: [usize; 4], kernels: [usize; 4], stride: [usize; 2]) -> bool {
        let window = Window { stride, ..Window::default() };
        let of = |(x, k): &(Tensor4<_, E>, Tensor4<_, E>)| convolution_2d(x, k, &window, 1);
        let function = stage(of, &(zeros(images), zeros(kernels))).unwrap();
        has_code(function.program())
    }
    assert!(convolution::<f64>([3, 2, 9, 40], [5, 2, 3, 3], [1, 1]));
    assert!(convolution::<f32>([3, 2, 9, 66], [5, 2, 3, 3], [1, 1]));
    assert!(convolution::<f32>([2, 3, 8, 70], [4, 3, 2, 5], [2, 1]));
    // Neighbours of the result lie apart among the elements that are read.
    assert!(!convolution::<f32>([2, 3, 8, 70], [4, 3, 2, 5], [1, 2]));
    // Packing is worth it for so many outputs.
    assert!(!convolution::<f64>([3, 2, 9, 40], [50, 2, 3, 3], [1, 1]));
    assert!(!convolution::<i64>([3, 2, 9, 40], [5, 2, 3, 3], [1, 1]));
}

#[test]
fn products_of_matrices_stay_products() {
    let function = stage(|(a, b): &(Matrix<_, f64>, Matrix<_, f64>)| a.dot(b), &(zeros((40, 60)), zeros((60, 30))));
    assert!(!has_code(function.unwrap().program()));
}

/// With padding, groups and strides, in whole programs and their gradients.
#[test]
fn programs_with_convolutions_agree_with_kernels() {
    for (window, groups) in [
        (Window::default(), 1),
        (Window { padding: [(1, 1), (2, 0)], ..Window::default() }, 2),
        (Window { stride: [2, 2], ..Window::default() }, 1),
    ] {
        let of = |(x, k): &(Tensor4<_, f64>, Tensor4<_, f64>)| convolution_2d(x, k, &window, groups).tanh().sum();
        let elements = |shape: [usize; 4], seed: u64| {
            let numbers = Random(seed).plain(&Type::new(DType::F64, &shape)).iter().map(|x| 0.3 * x.to_f64()).collect();
            Tensor4::<Concrete, f64>::from_elements(shape, numbers)
        };
        let arguments = (elements([3, 4, 12, 33], 1), elements([6, 4 / groups, 3, 3], 2));
        let gradient = stage(of, &arguments).unwrap().value_and_grad().unwrap();
        let run = |cpu: Cpu| gradient.compile(cpu).unwrap().call(&arguments).unwrap();
        let kernels = run(Cpu::default().machine_code(false));
        for threads in [1, 3] {
            let (value, (x, k)) = run(Cpu::default().threads(threads));
            assert!((value.item() - kernels.0.item()).abs() <= 1e-10, "{window:?}: {value} and {}", kernels.0);
            for (found, expected) in [(x, &kernels.1.0), (k, &kernels.1.1)] {
                for (a, b) in found.to_vec().iter().zip(expected.to_vec()) {
                    assert!((a - b).abs() <= 1e-11, "{window:?}: {a} instead of {b}");
                }
            }
        }
    }
}
