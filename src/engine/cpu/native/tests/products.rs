//! Products as nests: of windows, and of rows with small matrices.

use super::super::compile_product;
use super::super::product::ProductForm;
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
fn products_of_large_matrices_stay_products() {
    let function = stage(|(a, b): &(Matrix<_, f64>, Matrix<_, f64>)| a.dot(b), &(zeros((40, 600)), zeros((600, 30))));
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

/// Whether a product takes some rows at a time; the code of each set of instructions leaves buffers as the kernels of its nest do.
fn goes_in_rows(body: &Body) -> bool {
    let procedure = lower(body);
    let types: Vec<Type> = procedure.buffers.iter().map(|buffer| buffer.ty.clone()).collect();
    let [Step::Product(product)] = &procedure.steps[..] else { panic!("not one product: {procedure}") };
    let dtype = types[product.result.buffer as usize].dtype;
    let nest = product.as_nest(dtype);
    let arguments: Vec<_> = (0..body.arity()).map(|at| Random(at as u64).plain(body.parameter_type(at))).collect();
    let mut buffers = begun(&procedure, &arguments);
    fill(&nest, &types, &mut buffers);
    let whole = NestSplit::whole;
    let mut is_written = true;
    assert!(Instructions::detect() > Instructions::Portable, "there is machine code");
    for isa in Instructions::available().filter(|&isa| isa != Instructions::Portable) {
        let arena = CodeArena::new(isa).expect("there are instructions");
        let Some(form) = ProductForm::of(product, dtype, arena.register_bytes()) else { return false };
        let orders = OrderedNest::all(&arena, &nest, &[], false).expect("there are orders");
        let written =
            |code: &OrderedNest| Some((code.written(&arena, whole(), &[])?, code.expanded(&whole(), true, &[])?));
        let code = orders.iter().filter(|code| form.suits(code)).find_map(|code| code.in_rows(written));
        is_written &= code.is_some();
        let Some((code, expanded)) = code else { continue };
        assert!(arena.seal(), "there is no memory for code");
        let expected = execute(&assemble(Target::of(isa, None), &nest, &types, false), &buffers, Side::End);
        let reference = execute_reference(&code, &expanded, &buffers);
        for side in SIDES {
            let (found, told) = (execute(&code, &buffers, side), format!("{isa:?}, {side:?}"));
            compare(&nest, &types, &found, &expected, Allowed::AnyNan, &told);
            compare_exactly(&types, &found, &reference, &told);
        }
    }
    is_written
}

#[test]
fn rows_are_multiplied_by_small_matrices_some_at_a_time() {
    if Instructions::detect() == Instructions::Portable {
        return;
    }
    fn product<E: crate::tensor::Number>([rows, summed, columns]: [usize; 3], is_turned: bool) -> bool {
        let of = |(a, b): &(Matrix<_, E>, Matrix<_, E>)| if is_turned { a.dot(&b.t()) } else { a.dot(b) };
        let right = if is_turned { (columns, summed) } else { (summed, columns) };
        goes_in_rows(stage(of, &(zeros((rows, summed)), zeros(right))).unwrap().program())
    }
    for sizes in [[40, 9, 14], [42, 20, 35], [64, 64, 64], [30, 8, 9], [1000, 5, 17], [35, 33, 100]] {
        assert!(product::<f64>(sizes, false), "{sizes:?}");
        assert!(product::<f32>(sizes, false), "{sizes:?}");
    }
    // No number of rows is a multiple, neighbours are terms of one sum, or the matrix does not stay in the cache.
    assert!(!product::<f64>([41, 9, 14], false));
    assert!(!product::<f64>([40, 9, 14], true));
    assert!(!product::<f64>([40, 250, 200], false));
    // Sums of so many terms are sums of parts.
    assert!(!product::<f64>([40, 300, 5], false));
}

/// Batches, turned operands and results, one array as both operands, products that go on, and threads, in whole programs and their
/// gradients.
#[test]
fn products_in_rows_are_those_of_kernels() {
    fn products<A: Algebra>((a, b, c): &(Tensor3<A, f64>, Tensor3<A, f64>, Matrix<A, f64>)) -> Scalar<A, f64> {
        let batched = a.matmul(b);
        let turned = c.t().dot(c);
        let steps = iterate(turned.clone(), 3, |y| c.t().dot(c).dot(&y) * 0.01 + y);
        batched.tanh().sum() + turned.sin().sum() + steps.sum()
    }
    let some = |count: usize| (0..count).map(move |k| ((k * 37 % 101) as f64 - 50.0) / 60.0).collect::<Vec<f64>>();
    let arguments = (
        Tensor3::from_elements((5, 48, 11), some(5 * 48 * 11)),
        Tensor3::from_elements((5, 11, 19), some(5 * 11 * 19)),
        Matrix::from_elements((60, 24), some(60 * 24)),
    );
    let gradient = stage(|x: &(Tensor3<_, f64>, Tensor3<_, f64>, Matrix<_, f64>)| products(x), &arguments).unwrap();
    let gradient = gradient.value_and_grad().unwrap();
    let run = |cpu: Cpu| gradient.compile(cpu).unwrap().call(&arguments).unwrap();
    let (value, (by_a, by_b, by_c)) = run(Cpu::default().machine_code(false));
    let expected = [vec![value.item()], by_a.to_vec(), by_b.to_vec(), by_c.to_vec()].concat();
    for threads in 1..=3 {
        let (value, (by_a, by_b, by_c)) = run(Cpu::default().threads(threads));
        let found = [vec![value.item()], by_a.to_vec(), by_b.to_vec(), by_c.to_vec()].concat();
        for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert!((found - expected).abs() <= 1e-11 * (1.0 + expected.abs()), "{at}: {found} instead of {expected}");
        }
    }
}
