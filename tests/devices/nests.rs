//! Nests as kernels.

use crate::is_there;
use deltaray::opencl::OpenCl;
use deltaray::prelude::*;

fn rows_and_columns<A: Algebra>(x: &Matrix<A, f64>) -> (Vector<A, f64>, Vector<A, f64>) {
    (x.sum_axis(0), x.sum_axis(1))
}

#[test]
fn sums_over_rows_and_over_columns() {
    if !is_there() {
        return;
    }
    let x = Matrix::from_elements([33, 70], (0..33 * 70).map(f64::from).collect());
    let staged = stage(rows_and_columns, &x).unwrap();
    let (columns, rows) = staged.call(&x).unwrap();
    let compiled = staged.compile(OpenCl::default()).unwrap();
    let (found_columns, found_rows) = compiled.call(&x).unwrap();
    assert_eq!(found_columns.to_vec(), columns.to_vec());
    assert_eq!(found_rows.to_vec(), rows.to_vec());
}
