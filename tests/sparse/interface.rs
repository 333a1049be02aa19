//! The requests of users and the answers to them.

use super::*;
use deltaray::concrete::Array;
use deltaray::derivative::{Function, program};
use deltaray::shape::{DType, Type};
use deltaray::sparse::Compression::{Columns, Reads, Rows, Star};
use deltaray::sparse::{Colouring, Compressed, FloatTree, Pattern, SparsityArray};
use deltaray::staged::Staged;
use deltaray::{Error, Result};
use std::sync::Arc;

type Gathered = (Vector<C, f64>, Fixed<Vector<C, i64>>);

/// Squares of elements at fixed positions.
fn gathered(
    x: &Vector<C, f64>,
    positions: &Fixed<Vector<C, i64>>,
) -> Function<Gathered, Vector<C, f64>, Vector<C, f64>> {
    stage(|(x, p): &(Vector<Staged, f64>, Fixed<Vector<Staged, i64>>)| x.gather(&**p).powi(2), (x, positions)).unwrap()
}

fn positions(elements: &[i64]) -> Fixed<Vector<C, i64>> {
    fixed(Vector::from_slice(elements))
}

#[test]
fn patterns_are_kept_until_fixed_arguments_change() {
    let x = v(&[1.0, 2.0, 3.0]);
    let first = positions(&[2, 0]);
    let jacobian = gathered(&x, &first).sparse_jacobian().unwrap();
    assert_eq!(jacobian.call((&x, &first)).unwrap().to_dense().to_vec(), [0.0, 0.0, 6.0, 2.0, 0.0, 0.0]);
    let compressed = jacobian.compressed((&x, &first)).unwrap();
    // Other numbers, and the same positions in another buffer.
    let y = v(&[5.0, 6.0, 7.0]);
    assert!(Arc::ptr_eq(&compressed, &jacobian.compressed((&y, &positions(&[2, 0]))).unwrap()));
    assert_eq!(jacobian.call((&y, &first)).unwrap().values().to_vec(), [14.0, 10.0]);
    // Other positions, one of them outside.
    let second = positions(&[1, 9]);
    assert_eq!(jacobian.call((&x, &second)).unwrap().to_dense().to_vec(), [0.0, 4.0, 0.0, 0.0, 0.0, 0.0]);
    assert!(!Arc::ptr_eq(&compressed, &jacobian.compressed((&x, &second)).unwrap()));
    assert_eq!(jacobian.compressed((&x, &second)).unwrap().nonzeros(), 1);
}

#[test]
fn large_fixed_arguments_are_compared_by_elements() {
    let x = numbers(100);
    let at = |last: i64| -> Fixed<Vector<C, i64>> {
        fixed(Vector::from((0..100).map(|i| if i == 99 { last } else { i }).collect::<Vec<i64>>()))
    };
    let jacobian = gathered(&x, &at(3)).sparse_jacobian().unwrap();
    let compressed = jacobian.compressed((&x, &at(3))).unwrap();
    assert!(Arc::ptr_eq(&compressed, &jacobian.compressed((&x, &at(3))).unwrap()));
    assert_eq!(jacobian.call((&x, &at(4))).unwrap().column_indices()[99], 4);
}

#[test]
fn fixed_floats_cut_off_what_they_multiply_by_zero() {
    let (x, mask) = (v(&[1.0, 2.0, 3.0]), fixed(v(&[0.0, 1.0, 2.0])));
    let f = |(x, mask): &(Vector<Staged, f64>, Fixed<Vector<Staged, f64>>)| x.powi(2) * &**mask;
    let jacobian = stage(f, (&x, &mask)).unwrap().sparse_jacobian().unwrap();
    assert_eq!(jacobian.call((&x, &mask)).unwrap().pattern().to_string(), "...\n.x.\n..x\n");
    // Arrays that derivatives are taken by are not known, fixed or not.
    let both = (v(&[0.0, 2.0]), fixed(v(&[0.0, 3.0])));
    let f = |(x, y): &(Vector<Staged, f64>, Fixed<Vector<Staged, f64>>)| x * &**y;
    let jacobian = stage(f, &both).unwrap().sparse_jacobian().unwrap();
    assert_eq!(jacobian.call(&both).unwrap().pattern().to_string(), "x.x.\n.x.x\n");
}

#[test]
fn a_pattern_may_be_given() {
    let x = numbers(4);
    let f = |x: &Vector<Staged, f64>| x * x.at(0);
    let function = stage(f, &x).unwrap();
    let full = Pattern::from_rows(4, (0..4).map(|i| vec![0, 1, i])).unwrap();
    let jacobian = function.sparse_jacobian().unwrap().with_pattern(full.clone()).unwrap();
    let found = jacobian.call(&x).unwrap();
    assert_eq!(**found.pattern(), full);
    close(&found.to_dense().to_vec(), &jacfwd(|x| x * x.at(0), &x).to_vec());
    assert_eq!(jacobian.compressed(&x).unwrap().compression(), Columns);
    let by_rows = jacobian.with_compression(Rows).unwrap();
    close(&by_rows.call(&x).unwrap().to_dense().to_vec(), &found.to_dense().to_vec());

    let hessian = stage(|x: &Vector<Staged, f64>| x.powi(3).sum(), &x).unwrap().sparse_hessian().unwrap();
    let lower = Pattern::from_rows(4, [vec![0], vec![0, 1], vec![2], vec![3]]).unwrap();
    let found = hessian.with_pattern(lower).unwrap().call(&x).unwrap();
    // A given pattern is one of a symmetric matrix.
    assert_eq!(found.pattern().to_string(), "xx..\nxx..\n..x.\n...x\n");
    assert_eq!(found.to_dense().to_vec()[..6], [6.0 * x.to_vec()[0], 0.0, 0.0, 0.0, 0.0, 6.0 * x.to_vec()[1]]);
}

/// The text of an error.
fn text<T>(result: Result<T>) -> String {
    match result {
        Ok(_) => panic!("no error"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_does_not_fit_is_an_error() {
    let x = numbers(3);
    let function = || stage(|x: &Vector<Staged, f64>| x.slice(0, 1..).sin(), &x).unwrap().sparse_jacobian().unwrap();
    let square = || Pattern::from_rows(3, [vec![0], vec![1], vec![2]]).unwrap();
    let here = "tests/sparse/interface.rs";
    let error = text(function().with_pattern(square()));
    assert!(error.starts_with("sparse_jacobian: the given pattern is (3, 3), but the matrix is (2, 3)"), "{error}");
    assert!(error.contains(here), "{error}");
    let error = text(function().with_compression(Star));
    assert!(
        error.starts_with("sparse_jacobian: a star colouring compresses Hessians") && error.contains(here),
        "{error}"
    );
    let given = Pattern::from_rows(3, [vec![1], vec![2]]).unwrap();
    let error = text(function().with_pattern(given.clone()).unwrap().with_compression(Reads));
    assert!(error.contains("a pattern of its own") && error.contains(here), "{error}");
    assert_eq!(error[..60], text(function().with_compression(Reads).unwrap().with_pattern(given))[..60]);
    assert!(matches!(function().call(&numbers(4)), Err(Error::Argument { position: 0, .. })));

    let mixed = |x: &Vector<Staged, f64>| (x.sin(), x.cast::<f32>());
    let error = text(stage(mixed, &x).unwrap().sparse_jacobian());
    let expected = "sparse_jacobian: all floats of the first argument and the result are f64, but one is f32[3]";
    assert!(error.starts_with(expected) && error.contains(here), "{error}");
    let error = text(stage(|x: &Vector<Staged, f64>| x.sum().cast::<f32>(), &x).unwrap().sparse_hessian());
    assert!(error.starts_with("sparse_hessian: ") && error.contains(here), "{error}");
}

#[test]
fn more_columns_than_are_counted_are_an_error() {
    let n = 1 << 33;
    let x: Vector<C, f64> = full(n, 0.5);
    let jacobian = stage(|x: &Vector<Staged, f64>| x.slice(0, ..2).sin(), &x).unwrap().sparse_jacobian().unwrap();
    for compression in [Columns, Reads] {
        let function = stage(|x: &Vector<Staged, f64>| x.slice(0, ..2).sin(), &x).unwrap();
        let jacobian = function.sparse_jacobian().unwrap().with_compression(compression).unwrap();
        let error = text(jacobian.call(&x));
        // Whichever ends first, the machine's memory or the count.
        assert!(error.starts_with("sparse derivatives: ") && error.contains("tests/sparse/interface.rs"), "{error}");
    }
    let error = text(jacobian.call(&numbers(3)));
    assert!(error.contains("f64[8589934592]"), "{error}");
    assert!(SparsityArray::input(Type::new(DType::F64, &[3]), u32::MAX - 2).is_some());
    assert!(SparsityArray::input(Type::new(DType::F64, &[3]), u32::MAX - 1).is_none());
    assert!(SparsityArray::input(Type::new(DType::F64, &[1 << 33]), 0).is_none());
}

#[test]
fn single_precision() {
    let x: Vector<C, f32> = vec![1.0, 2.0, 3.0].into();
    let jacobian = stage(|x: &Vector<Staged, f32>| x.powi(2) * x.at(0), &x).unwrap().sparse_jacobian().unwrap();
    assert_eq!(jacobian.call(&x).unwrap().to_dense().to_vec(), [3.0, 0.0, 0.0, 4.0, 4.0, 0.0, 9.0, 0.0, 6.0]);
    let hessian = stage(|x: &Vector<Staged, f32>| x.powi(3).sum(), &x).unwrap().sparse_hessian().unwrap();
    assert_eq!(hessian.call(&x).unwrap().values().to_vec(), [6.0, 12.0, 18.0]);
}

/// Parameters with an integer among them.
#[derive(Tree)]
struct Parameters<A: Algebra> {
    scale: Scalar<A, f64>,
    power: Scalar<A, i64>,
    x: Vector<A, f64>,
}

#[derive(Tree)]
struct Residuals<A: Algebra> {
    positions: Vector<A, i64>,
    scaled: Vector<A, f64>,
    sum: Scalar<A, f64>,
}

impl FloatTree for Residuals<Concrete> {
    type Element = f64;
}

#[test]
fn integers_are_no_columns_and_no_rows() {
    let parameters = Parameters { scale: scalar(2.0), power: scalar(3), x: v(&[1.0, 4.0]) };
    let f = |p: &Parameters<Staged>| Residuals {
        positions: p.x.cast::<i64>() + &p.power,
        scaled: &p.scale * &p.x,
        sum: p.x.sum() * p.power.cast::<f64>(),
    };
    let function = stage(f, &parameters).unwrap();
    for compression in [Columns, Rows, Reads] {
        let jacobian = function.sparse_jacobian().unwrap().with_compression(compression).unwrap();
        let found = jacobian.call(&parameters).unwrap();
        assert_eq!(found.to_dense().to_vec(), [1.0, 2.0, 0.0, 4.0, 0.0, 2.0, 0.0, 3.0, 3.0]);
        assert_eq!(found.pattern().to_string(), "xx.\nx.x\n.xx\n");
    }
}

#[test]
fn nothing_is_a_matrix_too() {
    let none = numbers(0);
    let found =
        stage(|x: &Vector<Staged, f64>| x.sin(), &none).unwrap().sparse_jacobian().unwrap().call(&none).unwrap();
    assert_eq!((found.shape(), found.nonzeros(), found.to_dense().to_vec()), ((0, 0), 0, vec![]));
    let x = numbers(3);
    let jacobian = stage(|x: &Vector<Staged, f64>| x.floor(), &x).unwrap().sparse_jacobian().unwrap();
    let found = jacobian.call(&x).unwrap();
    assert_eq!((found.shape(), found.nonzeros(), found.to_dense().to_vec()), ((3, 3), 0, vec![0.0; 9]));
    let compressed = jacobian.compressed(&x).unwrap();
    assert!(compressed.program().is_none());
    assert_eq!(compressed.seeds(), 0);
    let empty = stage(|x: &Vector<Staged, f64>| x.slice(0, ..0), &x).unwrap().sparse_jacobian().unwrap();
    assert_eq!(empty.call(&x).unwrap().shape(), (0, 3));
}

#[test]
fn threads_may_share_a_jacobian() {
    let x = v(&[1.0, 2.0, 3.0]);
    let jacobian = gathered(&x, &positions(&[0, 1])).sparse_jacobian().unwrap();
    std::thread::scope(|scope| {
        for start in 0..4 {
            let (jacobian, x) = (&jacobian, &x);
            scope.spawn(move || {
                for round in 0..5 {
                    let at = (start + round) % 3;
                    let found = jacobian.call((x, &positions(&[at, (at + 1) % 3]))).unwrap();
                    assert_eq!(found.column_indices(), [at as usize, (at as usize + 1) % 3]);
                }
            });
        }
    });
}

#[test]
fn programs_are_compressed_without_types() {
    let x = numbers(4);
    let function = stage(|x: &Vector<Staged, f64>| x * x.at(0), &x).unwrap();
    let parameters = || vec![SparsityArray::unknown(Type::new(DType::F64, &[4]))];
    let body = function.differentiable();
    let compressed = Compressed::jacobian::<f64>(body, 1, parameters(), Some(Columns)).unwrap();
    assert_eq!((compressed.seeds(), compressed.colouring().colours()), (2, &[0, 1, 1, 1][..]));
    let found = compressed.evaluate::<f64>(vec![Array::from_vec(&[4], x.to_vec())]).unwrap();
    close(&found.to_dense().to_vec(), &jacfwd(|x| x * x.at(0), &x).to_vec());
    assert!(Compressed::jacobian::<f64>(body, 1, parameters(), Some(Star)).is_err());
    let five = || vec![SparsityArray::unknown(Type::new(DType::F64, &[5]))];
    let error = text(Compressed::jacobian::<f64>(body, 1, five(), None));
    assert!(error.starts_with("sparse_jacobian: the program takes [f64[4]], but [f64[5]] are given"), "{error}");
    let error = text(Compressed::jacobian::<f64>(body, 2, parameters(), None));
    assert!(error.starts_with("sparse_jacobian: a derivative by 2 of 1 parameters"), "{error}");
    let error = text(Compressed::jacobian::<f32>(body, 1, parameters(), None));
    assert!(error.starts_with("sparse_jacobian: all floats of the first argument and the result are f32"), "{error}");
    let error = text(compressed.evaluate::<f64>(vec![]));
    assert!(error.starts_with("evaluate: the program takes [f64[4]], but [] are given"), "{error}");
    let error = text(compressed.evaluate::<f32>(vec![Array::from_vec(&[4], x.to_vec())]));
    assert!(error.starts_with("evaluate: the matrix is of f64, but f32 is wanted"), "{error}");
    let error = text(Compressed::hessian::<f64>(
        stage(|x: &Vector<Staged, f64>| x.sum(), &x).unwrap().differentiable(),
        1,
        parameters(),
    ));
    assert!(error.starts_with("sparse_hessian: a gradient of 1 elements by 4"), "{error}");
    // The pattern of the same matrix times a vector, which is a program too.
    let product = program::tidy(&program::jvp(body, 1).unwrap());
    let both = vec![SparsityArray::unknown(Type::new(DType::F64, &[4])); 2];
    let compressed = Compressed::jacobian::<f64>(&product, 2, both, None).unwrap();
    let entries = "x.......\nxx......\nx.x.....\nx..x....\nx...x...\nxx..xx..\nx.x.x.x.\nx..xx..x\n";
    assert_eq!(compressed.pattern().to_string(), entries);
}

#[test]
fn colours_say_what_is_evaluated_together() {
    let pattern = Pattern::from_rows(3, [vec![0, 1], vec![1, 2]]).unwrap();
    assert_eq!(
        (Colouring::of_columns(&pattern).colours(), Colouring::of_columns(&pattern).count()),
        (&[0, 1, 0][..], 2)
    );
    assert_eq!(Colouring::of_rows(&pattern).colours(), [0, 1]);
}
