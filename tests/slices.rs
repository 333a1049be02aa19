//! Staged functions over slices: the same numbers as over trees, at any order, with any data, from any thread.

use deltaray::prelude::*;
use deltaray::slices::SliceFunction;

type C = Concrete;
type V<A> = Vector<A, f64>;

#[derive(Tree, Clone)]
struct Model<A: Algebra> {
    weights: Matrix<A, f64>,
    bias: Vector<A, f64>,
    scale: Scalar<A, f64>,
}

#[differentiable]
fn errors(model: Model, x: Matrix<f64>, y: Vector<f64>) -> (Vector<f64>, Scalar<f64>) {
    let hidden = (x.dot(&model.weights) + model.bias).tanh();
    (hidden.sum_axis(1) * model.scale - y, 0.1 * model.scale * model.bias.sum())
}

#[differentiable]
fn loss(model: Model, x: Matrix<f64>, y: Vector<f64>) -> Scalar<f64> {
    let (errors, rest) = errors(model, x, y);
    errors.powi(2).sum() + rest.powi(2)
}

fn numbers(count: usize, seed: f64) -> Vec<f64> {
    (0..count).map(|at| (at as f64 * 0.7 + seed).sin()).collect()
}

fn model() -> Model<C> {
    Model { weights: Matrix::from_elements((3, 2), numbers(6, 0.0)), bias: numbers(2, 1.0).into(), scale: scalar(0.7) }
}

fn data(rows: usize, seed: f64) -> (Matrix<C, f64>, V<C>) {
    (Matrix::from_elements((rows, 3), numbers(3 * rows, seed)), numbers(rows, seed + 0.5).into())
}

fn close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (a, b) in found.iter().zip(expected) {
        approx::assert_relative_eq!(a, b, max_relative = 1e-10, epsilon = 1e-12);
    }
}

fn loss_over_slices() -> SliceFunction<f64> {
    let (x, y) = data(5, 2.0);
    stage(|(m, x, y)| loss(m, x, y), (&model(), &x, &y)).unwrap().over_slices_with((&x, &y)).unwrap()
}

fn said<T: std::fmt::Debug>(result: deltaray::Result<T>) -> String {
    let error = result.expect_err("an error").to_string();
    let (problem, place) = error.rsplit_once(" (at ").expect("a place");
    assert!(place.contains("slices.rs:"), "{place}");
    problem.to_string()
}

#[test]
fn losses_have_the_gradients_and_products_of_trees() {
    let (x, y) = data(5, 2.0);
    let (point, rebuild) = ravel::<C, f64, _>(&model());
    let point = point.to_vec();
    let function = loss_over_slices();
    assert_eq!((function.len(), function.result_len(), function.is_empty()), (9, 1, false));
    let expected = value_and_grad(|(m, x, y)| loss(m, x, y), (&model(), &x, &y));
    let mut gradient = vec![f64::NAN; 9];
    let value = function.value_and_grad(&point, &mut gradient).unwrap();
    close(&[value, function.value(&point).unwrap()], &[expected.0.item(), expected.0.item()]);
    close(&gradient, &ravel::<C, f64, _>(&expected.1).0.to_vec());

    let vector = numbers(9, 4.0);
    let along = rebuild.tree::<C, f64>(&vector.clone().into());
    let expected = hvp(|(m, x, y)| loss(m, x, y), (&model(), &x, &y), &along);
    let mut product = vec![f64::NAN; 9];
    function.hvp(&point, &vector, &mut product).unwrap();
    close(&product, &ravel::<C, f64, _>(&expected).0.to_vec());
}

#[test]
fn results_have_products_with_their_jacobian_on_both_sides() {
    let (x, y) = data(4, 3.0);
    let staged = stage(|(m, x, y)| errors(m, x, y), (&model(), &x, &y)).unwrap();
    let function = staged.over_slices_with::<f64, _>((&x, &y)).unwrap().with_products().unwrap();
    let (point, rebuild) = ravel::<C, f64, _>(&model());
    assert_eq!((function.len(), function.result_len()), (9, 5));
    let flat = |(errors, rest): (V<C>, Scalar<C, f64>)| [errors.to_vec(), vec![rest.item()]].concat();
    let mut found = [f64::NAN; 5];
    function.residuals(&point.to_vec(), &mut found).unwrap();
    close(&found, &flat(errors(&model(), &x, &y)));

    let (tangent, cotangent) = (numbers(9, 5.0), numbers(5, 6.0));
    let along = rebuild.tree::<C, f64>(&tangent.clone().into());
    let (_, expected) = jvp(|(m, x, y)| errors(m, x, y), (&model(), &x, &y), &along);
    function.jvp(&point.to_vec(), &tangent, &mut found).unwrap();
    close(&found, &flat(expected));

    let (_, pullback) = vjp(|(m, x, y)| errors(m, x, y), (&model(), &x, &y));
    let expected = pullback(&(cotangent[..4].to_vec().into(), scalar(cotangent[4])));
    let mut pulled = [f64::NAN; 9];
    function.vjp(&point.to_vec(), &cotangent, &mut pulled).unwrap();
    close(&pulled, &ravel::<C, f64, _>(&expected).0.to_vec());
}

#[differentiable]
fn chained(x: Vector<f64>) -> Scalar<f64> {
    let n = x.len();
    ((1.0 - x[..n - 1]).powi(2) + 100.0 * (x[1..] - x[..n - 1].powi(2)).powi(2)).sum()
}

/// A matrix that is not sparse any more.
fn dense(pattern: &deltaray::sparse::Pattern, entries: &[f64]) -> Vec<f64> {
    let (rows, columns) = pattern.shape();
    let mut all = vec![0.0; rows * columns];
    let mut entries = entries.iter();
    for row in 0..rows {
        for &column in pattern.row(row) {
            all[row * columns + column] = *entries.next().expect("an entry for each place");
        }
    }
    all
}

#[test]
fn sparse_matrices_are_written_entry_by_entry() {
    let x = V::<C>::from(numbers(7, 0.3));
    let function = stage(chained, &x).unwrap().over_slices::<f64>().unwrap().with_sparse_hessian().unwrap();
    let pattern = function.sparse_hessian_pattern().unwrap();
    assert_eq!(pattern.nonzeros(), 7 + 2 * 6);
    let mut entries = vec![f64::NAN; pattern.nonzeros()];
    function.sparse_hessian(&x.to_vec(), &mut entries).unwrap();
    close(&dense(pattern, &entries), &hessian(chained, &x).to_vec());

    let differences = |x: &V<_>| x.slice(0, 1..) * x.slice(0, ..6);
    let function = stage(differences, &x).unwrap().over_slices::<f64>().unwrap().with_sparse_jacobian().unwrap();
    let pattern = function.sparse_jacobian_pattern().unwrap();
    let mut entries = vec![f64::NAN; 12];
    function.sparse_jacobian(&x.to_vec(), &mut entries).unwrap();
    close(&dense(pattern, &entries), &jacfwd(|x: &V<_>| x.slice(0, 1..) * x.slice(0, ..6), &x).to_vec());

    let constant = stage(|_: &V<_>| scalar(2.0), &x).unwrap().over_slices::<f64>().unwrap();
    assert_eq!(constant.sparse_hessian_pattern().unwrap().nonzeros(), 0);
    constant.sparse_hessian(&x.to_vec(), &mut []).unwrap();
}

#[test]
fn data_is_replaced_for_one_handle() {
    let mut function = loss_over_slices();
    let before = function.clone();
    let (x, y) = data(5, 7.0);
    let point = ravel::<C, f64, _>(&model()).0.to_vec();
    let first = before.value(&point).unwrap();
    function.set_data((&x, &y)).unwrap();
    close(&[function.value(&point).unwrap()], &[loss(&model(), &x, &y).item()]);
    assert_eq!(before.value(&point).unwrap(), first);

    let (fewer, _) = data(4, 7.0);
    let error = said(function.set_data((&fewer, &y)));
    assert_eq!(error, "set_data: the data at position 0 is f64[4, 3], but the function was staged for f64[5, 3]");
    let error = said(function.set_data(&x));
    assert_eq!(error, "set_data: the data differs from what the function was staged for: another structure");
    close(&[function.value(&point).unwrap()], &[loss(&model(), &x, &y).item()]);
}

/// Data under other names with the same arrays was mistaken for the data that the function was staged for.
#[test]
fn data_has_the_structure_that_the_function_was_staged_for() {
    type Data<A> = std::collections::BTreeMap<String, V<A>>;
    let named = |names: [&str; 2]| -> Data<C> {
        names.into_iter().zip([1.0, 10.0]).map(|(name, x)| (name.to_string(), vec![x].into())).collect()
    };
    let weighted = |(x, data): &(V<_>, Data<_>)| (&x.at(0) * &data["a"] + &x.at(1) * &data["b"]).sum();
    let staged = stage(weighted, (&zeros(2), &named(["a", "b"]))).unwrap();
    let function = staged.over_slices_with::<f64, _>(&named(["a", "b"])).unwrap();
    assert_eq!(function.value(&[3.0, 2.0]).unwrap(), 23.0);
    let error = said(staged.over_slices_with::<f64, _>(&named(["b", "c"])));
    assert!(error.starts_with("over_slices: the data differs from what the function was staged for:"), "{error}");
    assert!(error.contains("`b` instead of `a`"), "{error}");
}

/// The pattern is for the positions that it was found for.
#[test]
fn fixed_data_stays_as_it_is() {
    let (x, positions) = (V::<C>::from(numbers(4, 0.0)), Vector::<C, i64>::from(vec![3, 0]));
    let gathered = |(x, at): &(V<_>, Fixed<Vector<_, i64>>)| x.gather(&at.0).powi(2);
    let function = stage(gathered, (&x, &fixed(positions.clone()))).unwrap();
    let mut function = function.over_slices_with::<f64, _>(&fixed(positions.clone())).unwrap();
    let pattern = function.sparse_jacobian_pattern().unwrap();
    assert_eq!(pattern.to_string(), "...x\nx...\n");
    function.set_data(&fixed(positions)).unwrap();
    let error = said(function.set_data(&fixed(Vector::<C, i64>::from(vec![1, 2]))));
    assert_eq!(error, "set_data: fixed data differs from that which patterns were found for");
}

#[test]
fn lengths_that_do_not_fit_are_errors_that_name_both() {
    let function = loss_over_slices();
    let (nine, eight) = (vec![0.0; 9], vec![0.0; 8]);
    assert_eq!(said(function.value(&eight)), "value: `point` has 8 elements, but must have 9");
    let error = said(function.value_and_grad(&nine, &mut [0.0; 10]));
    assert_eq!(error, "value_and_grad: `gradient` has 10 elements, but must have 9");
    let error = said(function.hvp(&nine, &eight, &mut [0.0; 9]));
    assert_eq!(error, "hvp: `vector` has 8 elements, but must have 9");
    let error = said(function.residuals(&nine, &mut []));
    assert_eq!(error, "residuals: `residuals` has 0 elements, but must have 1");
    let error = said(function.vjp(&nine, &[1.0, 2.0], &mut [0.0; 9]));
    assert_eq!(error, "vjp: `cotangent` has 2 elements, but must have 1");
    let entries = function.sparse_hessian_pattern().unwrap().nonzeros();
    let error = said(function.sparse_hessian(&nine, &mut vec![0.0; entries + 1]));
    assert_eq!(error, format!("sparse_hessian: `entries` has {} elements, but must have {entries}", entries + 1));
}

#[test]
fn functions_of_other_types_are_refused() {
    let (x, narrow) = (V::<C>::from(vec![1.0, 2.0]), Vector::<C, f32>::from(vec![1.0]));
    let mixed = stage(|(x, y): &(V<_>, Vector<_, f32>)| x.sum() * y.sum().cast::<f64>(), &(x.clone(), narrow));
    let error = said(mixed.unwrap().over_slices::<f64>());
    assert_eq!(error, "over_slices: slices of f64, but an array of the first argument or the result is f32[1]");
    let vector = stage(|x: &V<_>| x * 2.0, &x).unwrap().over_slices::<f64>().unwrap();
    let error = said(vector.value(&[1.0, 2.0]));
    assert_eq!(error, "value: the function must result in one float without axes, but results in [f64[2]]");
    assert!(vector.clone().with_gradient().is_err() && vector.with_hvp().is_err());
}

#[test]
fn numbers_of_32_bits_and_functions_of_nothing_work() {
    let x = Vector::<C, f32>::from(vec![1.0, 2.0]);
    let function = stage(|x: &Vector<_, f32>| x.powi(3).sum(), &x).unwrap().over_slices::<f32>().unwrap();
    let mut gradient = [0.0f32; 2];
    assert_eq!(function.value_and_grad(&[1.0, 2.0], &mut gradient).unwrap(), 9.0);
    assert_eq!(gradient, [3.0, 12.0]);
    let nothing = stage(|x: &V<_>| x.sum() + 1.0, &V::<C>::from(vec![])).unwrap().over_slices::<f64>().unwrap();
    assert!(nothing.is_empty());
    assert_eq!(nothing.value_and_grad(&[], &mut []).unwrap(), 1.0);
    // A gradient that repeats one number, and a result that is a parameter.
    let sum = stage(|x: &V<_>| x.sum(), &zeros(3)).unwrap().over_slices::<f64>().unwrap();
    let mut gradient = [f64::NAN; 3];
    assert_eq!(sum.value_and_grad(&[1.0, 2.0, 4.0], &mut gradient).unwrap(), 7.0);
    assert_eq!(gradient, [1.0; 3]);
    let same = stage(|x: &V<_>| x.clone(), &zeros(3)).unwrap().over_slices::<f64>().unwrap();
    let mut found = [0.0; 3];
    same.residuals(&[1.0, 2.0, 4.0], &mut found).unwrap();
    assert_eq!(found, [1.0, 2.0, 4.0]);
}

#[test]
fn nan_goes_in_and_out() {
    let x = V::<C>::from(numbers(4, 0.0));
    let function = stage(chained, &x).unwrap().over_slices::<f64>().unwrap();
    let mut gradient = [0.0; 4];
    assert!(function.value_and_grad(&[0.0, f64::NAN, 0.0, 0.0], &mut gradient).unwrap().is_nan());
    assert_eq!(gradient.map(f64::is_nan), [true, true, true, false]);
}

#[test]
fn one_program_serves_many_threads() {
    let function = loss_over_slices().on(Cpu::default().threads(1));
    let point = ravel::<C, f64, _>(&model()).0.to_vec();
    std::thread::scope(|scope| {
        for thread in 0..6 {
            let (function, mut point) = (function.clone(), point.clone());
            scope.spawn(move || {
                point[0] += thread as f64;
                let mut expected = vec![0.0; 9];
                let value = function.value_and_grad(&point, &mut expected).unwrap();
                for _ in 0..50 {
                    let mut gradient = vec![0.0; 9];
                    assert_eq!(function.value_and_grad(&point, &mut gradient).unwrap(), value);
                    assert_eq!(gradient, expected);
                }
            });
        }
    });
}

#[test]
fn elements_of_plain_arrays_are_slices() {
    let mut x = V::<C>::from(vec![1.0, 2.0]);
    let other = x.clone();
    x.as_slice_mut()[1] = 5.0;
    assert_eq!((x.as_slice(), other.as_slice()), (Some(&[1.0, 5.0][..]), Some(&[1.0, 2.0][..])));
    let mut zeros: Matrix<C, f64> = zeros((2, 2));
    assert_eq!(zeros.as_slice(), None);
    zeros.as_slice_mut()[2] = 1.0;
    assert_eq!(zeros, [[0.0, 0.0], [1.0, 0.0]].into());
    let mut one: Scalar<C, f64> = scalar(3.0);
    one.as_slice_mut()[0] += 1.0;
    assert_eq!(one.as_slice(), Some(&[4.0][..]));
    let mut none: Matrix<C, f64> = deltaray::tensor::zeros((0, 3));
    assert_eq!((none.as_slice_mut().len(), none.as_slice()), (0, Some(&[][..])));
}
