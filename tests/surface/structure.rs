//! Reading, reshaping, products and reductions.

use super::*;

fn m() -> Matrix<C, f64> {
    [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]].into()
}

#[test]
fn reading_positions() {
    let x = m();
    let i: Scalar<C, i64> = scalar(1);
    let j: Scalar<C, i32> = scalar(2);
    close(&x.at(1).to_vec(), &[4.0, 5.0, 6.0]);
    close(&x.at(&i).to_vec(), &[4.0, 5.0, 6.0]);
    assert_eq!(x.at((&i, 0)).item(), 4.0);
    assert_eq!(x.at((i.clone(), &j)).item(), 6.0);
    assert_eq!(x.at((&i - 1, 2usize)).item(), 3.0);
    assert_eq!(x.at([0, 1]).item(), 2.0);
    assert_eq!(x.at((0, 7)).item(), 0.0);
    assert_eq!(x.at((-1, &i)).item(), 0.0);
    assert_eq!((x.at((0, 0)) + x.at((1, 1)) * 2.0).item(), 11.0);
    close(&x.index_axis(1, 2).to_vec(), &[3.0, 6.0]);
    close(&x.index_axis(1, &i).to_vec(), &[2.0, 5.0]);
    close(&x.index_axis(0, i).to_vec(), &[4.0, 5.0, 6.0]);
}

#[test]
fn identity_matrices_and_transposed_ones() {
    assert_eq!(eye::<C, f64>(2), [[1.0, 0.0], [0.0, 1.0]].into());
    assert_eq!(eye::<C, i64>(0).shape()[..], [0, 0]);
    assert_eq!(m().dot(&eye(3)), m());
    assert_eq!(m().t(), m().transpose());
    let text = panic_of(|| eye::<C, f64>(usize::MAX));
    assert!(text.starts_with("eye: ") && text.contains("structure.rs:"), "{text}");
    assert_eq!(f64::from(scalar::<C, f64>(2.5)), 2.5);
    let integer: i64 = m().argmax_axis(0).at(0).into();
    assert_eq!(integer, 1);
}

#[test]
fn gathering_and_scattering() {
    let x = v(&[10.0, 20.0, 30.0]);
    let p: Matrix<C, i64> = [[2, 0], [5, 1]].into();
    let gathered: Matrix<C, f64> = x.gather(&p);
    close(&gathered.to_vec(), &[30.0, 10.0, 0.0, 20.0]);
    close(&gathered.scatter(&p, 3).to_vec(), &[10.0, 20.0, 30.0]);
    let i: Vector<C, i64> = Vector::from_slice(&[0, 1, 1]);
    let j: Vector<C, i64> = Vector::from_slice(&[2, 0, 2]);
    let picked: Vector<C, f64> = m().gather((&i, &j));
    close(&picked.to_vec(), &[3.0, 4.0, 6.0]);
    let rows: Matrix<C, f64> = m().gather(&i);
    assert_eq!(rows.shape()[..], [3, 3]);
    let counts: Matrix<C, f64> = ones(3).scatter((i, j), (2, 3));
    close(&counts.to_vec(), &[0.0, 0.0, 1.0, 1.0, 0.0, 1.0]);
}

#[test]
fn arranging() {
    let x = m();
    assert_eq!(x.replicate(4).shape()[..], [4, 2, 3]);
    assert_eq!(x.broadcast_to((5, 2, 3)).shape()[..], [5, 2, 3]);
    close(&x.transpose().to_vec(), &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    assert_eq!(x.replicate(4).tr(&[1, 0]).shape()[..], [2, 4, 3]);
    assert_eq!(x.reshape((3, 2)).at(1).to_vec(), [3.0, 4.0]);
    assert_eq!(x.reshape(6).shape()[..], [6]);
    assert_eq!(x.flatten().slice_step(0, 1..6, 2).to_vec(), [2.0, 4.0, 6.0]);
    assert_eq!(x.flatten().slice_step(0, ..5, -2).to_vec(), [5.0, 3.0, 1.0]);
    assert_eq!(x.slice(1, 1..).to_vec(), [2.0, 3.0, 5.0, 6.0]);
    assert_eq!(x.reverse(1).to_vec(), [3.0, 2.0, 1.0, 6.0, 5.0, 4.0]);
    assert_eq!(v(&[1.0]).pad(0, 1, 2).to_vec(), [0.0, 1.0, 0.0, 0.0]);
    assert_eq!(x.append(0, &x).shape()[..], [4, 3]);
    assert_eq!(concatenate(1, &[x.clone(), x.clone(), x.clone()]).shape()[..], [2, 9]);
    assert_eq!(stack(&[v(&[1.0, 2.0]), v(&[3.0, 4.0])]).to_vec(), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(x.diagonal().to_vec(), [1.0, 5.0]);
    assert_eq!(x.insert_axis(1).shape()[..], [2, 1, 3]);
    assert_eq!(x.insert_axis(1).remove_axis(1), x);
    assert_eq!(iota::<C>(3).to_vec(), [0, 1, 2]);
    assert_eq!((x.len(), x.rank(), x.size(), x.is_empty()), (2, 2, 6, false));
}

#[test]
fn reductions() {
    let x = m();
    assert_eq!(x.sum().item(), 21.0);
    assert_eq!(x.sum_axis(0).to_vec(), [5.0, 7.0, 9.0]);
    let all: Scalar<C, f64> = x.sum_axes([1, 0]);
    assert_eq!(all.item(), 21.0);
    assert_eq!(x.max_axis(1).to_vec(), [3.0, 6.0]);
    assert_eq!(x.min_all().item(), 1.0);
    assert_eq!(x.mean().item(), 3.5);
    assert_eq!(x.mean_axis(1).to_vec(), [2.0, 5.0]);
    assert_eq!(x.argmax().item(), 5);
    assert_eq!((-&x).argmax_axis(1).to_vec(), [0, 0]);
    assert_eq!(x.argmin_axis(0).to_vec(), [0, 0, 0]);
    assert!(v(&[]).mean().item().is_nan());
    assert_eq!(v(&[]).sum().item(), 0.0);
}

#[test]
fn products() {
    let (x, y) = (m(), v(&[1.0, 0.0, -1.0]));
    assert_eq!(y.dot(&y).item(), 2.0);
    assert_eq!(x.dot(&y).to_vec(), [-2.0, -2.0]);
    assert_eq!(v(&[1.0, 1.0]).dot(&x).to_vec(), [5.0, 7.0, 9.0]);
    let square = x.dot(&x.transpose());
    assert_eq!(square.to_vec(), [14.0, 32.0, 32.0, 77.0]);
    assert_eq!(x.matmul(&x.transpose()), square);
    let batch = x.replicate(2).matmul(&x.transpose().replicate(2));
    assert_eq!(batch.at(1), square);
    assert_eq!(x.replicate(2).matmul(&x.transpose()).at(0), square);
    let ik: Matrix<C, f64> = x.contract(&x, "ij,kj->ik");
    assert_eq!(ik, square);
    let trace: Scalar<C, f64> = square.contract(&scalar::<C, f64>(1.0), "ii,->");
    assert_eq!(trace.item(), 91.0);
    let alone: Vector<C, f64> = x.contract(&y, "ij,k->i");
    assert_eq!(alone.to_vec(), [0.0, 0.0]);
    assert_eq!(x.contract_axes(&x, [1], [1]), square);
    assert_eq!(x.contract_axes(&x, [0, 1], [0, 1]).item(), 91.0);
    assert_eq!(y.outer(&y).shape()[..], [3, 3]);
}

#[test]
fn ndarray_conversions() {
    let a: Array2<f64> = array![[1.0, 2.0], [3.0, 4.0]];
    let x = Tensor::from(a.clone());
    let back: Array2<f64> = x.clone().into();
    assert_eq!(a, back);
    assert_eq!(x.transpose().to_ndarray(), a.t());
    let from_view: Matrix<C, f64> = a.t().into();
    assert_eq!(from_view, x.transpose());
    let shared: Matrix<C, f64> = a.to_shared().into();
    let arc: ArcArray<f64, Ix2> = shared.into();
    assert_eq!(arc, a);
    let constant: Matrix<<C as Algebra>::Nested, f64> = Tensor::from_ndarray(&a.view());
    assert_eq!(constant.shape()[..], [2, 2]);
    let zero = Tensor::from(ndarray::arr0(3.0f32));
    assert_eq!(zero.item(), 3.0);
    let dynamic: TensorD<C, f64> = a.clone().into_dyn().into();
    let back: ArrayD<f64> = dynamic.into();
    assert_eq!(back.shape(), [2, 2]);
    assert_eq!(format!("{x}"), format!("{a}"));
    assert_eq!(format!("{:?}", scalar::<C, f64>(1.5)), "1.5 : f64");
    assert_eq!(x.element(&[1, 0]), Some(3.0));
    assert_eq!(x.element(&[2, 0]), None);
    assert_eq!(full::<C, _, _>((2, 1), 7i64).to_ndarray(), array![[7], [7]]);
}

#[test]
fn rows_of_vectors_are_a_matrix() {
    let matrix = Matrix::from(vec![vec![1.0, 2.0], vec![3.0, 4.0]]);
    assert_eq!(matrix, [[1.0, 2.0], [3.0, 4.0]].into());
    assert_eq!(Matrix::<C, f64>::from(Vec::<Vec<f64>>::new()).shape().to_vec(), [0, 0]);
    assert_eq!(Matrix::<C, f64>::from(vec![vec![], vec![]]).shape().to_vec(), [2, 0]);
    let text = panic_of(|| Matrix::from(vec![vec![1.0, 2.0], vec![3.0]]));
    assert!(text.starts_with("from: row 1 has 1 elements, but row 0 has 2 (at tests/surface/structure.rs:"), "{text}");
}

#[test]
fn functions_have_the_names_of_numbers() {
    let (x, y) = (v(&[0.5, 2.0]), v(&[3.0, -1.0]));
    close(&x.exp_m1().to_vec(), &[0.5f64.exp_m1(), 2f64.exp_m1()]);
    close(&x.ln_1p().to_vec(), &[0.5f64.ln_1p(), 2f64.ln_1p()]);
    close(&x.powf(&y).to_vec(), &[0.5f64.powf(3.0), 0.5]);
    close(&x.powf(2.0).to_vec(), &[0.25, 4.0]);
}
