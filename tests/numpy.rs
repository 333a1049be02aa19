//! The right column of the tables of `docs/numpy.md`: every expression is here, word for word, with its result.

use deltaray::functions::{Window, convolution_2d, softmax};
use deltaray::linalg::{self, CholeskyFactor, Triangle};
use deltaray::prelude::*;

type Vector64 = Vector<Concrete, f64>;
type Matrix64 = Matrix<Concrete, f64>;

fn x() -> Vector64 {
    Vector::from(vec![1.0, 2.0, 4.0])
}

fn y() -> Vector64 {
    Vector::from(vec![3.0, 2.0, 1.0])
}

fn a() -> Matrix64 {
    Matrix::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
}

/// Of shape [2, 2, 2].
fn t() -> Tensor3<Concrete, f64> {
    iota(8).cast::<f64>().reshape((2, 2, 2))
}

fn f<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
    x.powi(3).sum()
}

#[test]
fn making_arrays() {
    let n = 3;
    let (x, a): (Vector64, Matrix64) = (Vector::from(vec![1.0, 2.0]), Matrix::from([[1.0, 2.0], [3.0, 4.0]]));
    let rows = a.to_vec();
    let same: Matrix64 = Matrix::from_elements((2, 2), rows);
    assert_eq!(same, a);
    let (none, one): (Matrix64, Vector64) = (zeros((2, 3)), ones(3));
    assert_eq!((none.to_vec(), one.to_vec()), (vec![0.0; 6], vec![1.0; 3]));
    let (all, like): (Matrix64, Vector64) = (full((2, 3), 7.0), x.filled(7.0));
    assert_eq!((all.to_vec(), like.to_vec()), (vec![7.0; 6], vec![7.0; 2]));
    let three: Scalar<Concrete, f64> = scalar(3.0);
    assert_eq!(three.item(), 3.0);
    let (positions, floats): (Vector<Concrete, i64>, Vector64) = (iota(n), iota(n).cast::<f64>());
    assert_eq!((positions.to_vec(), floats.to_vec()), (vec![0, 1, 2], vec![0.0, 1.0, 2.0]));
    let identity: Matrix64 = eye(n);
    assert_eq!(identity, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].into());
    assert_eq!(x.cast::<f32>().to_vec(), [1.0f32, 2.0]);
    assert_eq!((a.to_ndarray()[(1, 0)], x.to_vec(), x.sum().item()), (3.0, vec![1.0, 2.0], 3.0));
    let table: Vector64 = vec![5.0, 7.0].into();
    let scaled = |x: &Vector<_, f64>| (x * constant(&table)).sum();
    assert_eq!(grad(scaled, &x).to_vec(), [5.0, 7.0]);
}

#[test]
fn shapes() {
    let (x, y, a, t) = (x(), y(), a(), t());
    assert_eq!((&a.shape()[..], a.size(), a.len()), (&[2, 3][..], 6, 2));
    assert_eq!((a.transpose().at((2, 0)).item(), t.tr(&[1, 0, 2]).at((0, 1, 0)).item()), (3.0, 4.0));
    assert_eq!((&x.reshape((3, 1)).shape()[..], a.flatten().to_vec()), (&[3, 1][..], a.to_vec()));
    assert_eq!(x.insert_axis(1).shape()[..], [3, 1]);
    let t = t.slice(1, 1..);
    assert_eq!(t.remove_axis(1), [[2.0, 3.0], [6.0, 7.0]].into());
    assert_eq!(x.broadcast_to((2, 3)), [[1.0, 2.0, 4.0], [1.0, 2.0, 4.0]].into());
    assert_eq!(concatenate(0, &[x.clone(), y.clone()]).to_vec(), [1.0, 2.0, 4.0, 3.0, 2.0, 1.0]);
    assert_eq!(stack(&[x.clone(), y.clone()]), [[1.0, 2.0, 4.0], [3.0, 2.0, 1.0]].into());
    assert_eq!(x.reverse(0).to_vec(), [4.0, 2.0, 1.0]);
    assert_eq!(x.pad(0, 1, 2).to_vec(), [0.0, 1.0, 2.0, 4.0, 0.0, 0.0]);
}

#[test]
fn reading_and_writing() {
    let (x, y, a) = (x(), y(), a());
    let (i, j): (Scalar<Concrete, i64>, Scalar<Concrete, i64>) = (scalar(1), scalar(2));
    assert_eq!((x.at(&i).item(), a.at((&i, &j)).item(), a.at(&i).to_vec()), (2.0, 6.0, vec![4.0, 5.0, 6.0]));
    assert_eq!(a.index_axis(1, 1).to_vec(), [2.0, 5.0]);
    assert_eq!((x.slice(0, 1..3).to_vec(), x.slice(0, x.len() - 2..).to_vec()), (vec![2.0, 4.0], vec![2.0, 4.0]));
    assert_eq!(a.slice_step(1, .., 2), [[1.0, 3.0], [4.0, 6.0]].into());
    let at: Vector<Concrete, i64> = vec![2, 0, 3].into();
    let (rows, columns): (Vector<Concrete, i64>, Vector<Concrete, i64>) = (vec![0, 1].into(), vec![2, 0].into());
    assert_eq!((x.gather(&at).to_vec(), a.gather((&rows, &columns)).to_vec()), (vec![4.0, 1.0, 0.0], vec![3.0, 4.0]));
    assert_eq!(x.gather_or(&at, -1.0).to_vec(), [4.0, 1.0, -1.0]);
    let places = Matrix::from([[2], [0]]);
    assert_eq!(a.take_along_axis(&places, 1).to_vec(), [3.0, 4.0]);
    assert_eq!(a.diagonal().to_vec(), [1.0, 5.0]);
    assert_eq!(x.scatter_set(&at, &y).to_vec(), [2.0, 2.0, 3.0]);
    assert_eq!(
        (x.scatter_add(&at, &y).to_vec(), x.scatter_max(&at, &y).to_vec()),
        (vec![3.0, 2.0, 7.0], vec![2.0, 2.0, 4.0])
    );
    let n = 3;
    assert_eq!(y.scatter(&at, n).to_vec(), [2.0, 0.0, 3.0]);
}

#[test]
fn writing_at_positions_and_ranges() {
    type I = Scalar<Concrete, i64>;
    let (i, j, k, v): (I, I, I, f64) = (scalar(1), scalar(2), scalar(1), 7.0);
    // Written arrays are given away, so every row of the table begins anew.
    let written = |f: fn(Vector64, Vector64, Matrix64, I, I, I, f64) -> Matrix64, expected: [[f64; 3]; 2]| {
        assert_eq!(f(x(), y(), a(), i.clone(), j.clone(), k.clone(), v), expected.into());
    };
    written(|x, _, a, i, _, _, v| a.with((0, ..), x.with(&i, v)), [[1.0, 7.0, 4.0], [4.0, 5.0, 6.0]]);
    written(|_, _, a, i, j, _, v| a.with((&i, &j), v), [[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]]);
    written(|_, y, a, i, _, _, _| a.with((&i, ..), &y), [[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]);
    written(|x, _, a, _, _, k, _| a.with((.., &k), x.slice(0, ..2)), [[1.0, 1.0, 3.0], [4.0, 2.0, 6.0]]);
    written(|_, _, a, _, _, _, _| a.with((1.., ..2), 0.0), [[1.0, 2.0, 3.0], [0.0, 0.0, 6.0]]);
    written(|x, _, a, i, _, _, v| a.with((0, ..), x.with_added(&i, v)), [[1.0, 9.0, 4.0], [4.0, 5.0, 6.0]]);
    let double = |x: Vector64, _: Vector64, a: Matrix64, i: I, _: I, _: I, v: f64| {
        let x = x.with_updated(&i, |old| old * v);
        a.with((0, ..), x)
    };
    written(double, [[1.0, 14.0, 4.0], [4.0, 5.0, 6.0]]);
    let (x, y, a, t) = (x(), y(), a(), t());
    assert_eq!(x.scatter_set(iota(2) * 2, &y.slice(0, ..2)).to_vec(), [3.0, 2.0, 2.0]);
    let t = t.with((.., .., &k), a.slice(1, ..2));
    assert_eq!(t.to_vec(), [0.0, 1.0, 2.0, 2.0, 4.0, 4.0, 6.0, 5.0]);
}

/// Forward substitution by a matrix whose diagonal is 1.
#[differentiable]
fn substituted(l: Matrix<f64>, mut y: Vector<f64>) -> Vector<f64> {
    for i in rolled(0..y.len()) {
        for j in rolled(0..i) {
            y[i] -= l[(i, j)] * y[j];
        }
    }
    y
}

#[test]
fn loops_over_ranges_that_move() {
    let l = Matrix::from([[1.0, 0.0, 0.0], [2.0, 1.0, 0.0], [3.0, 4.0, 1.0]]);
    assert_eq!(substituted(&l, &x()).to_vec(), [1.0, 0.0, 1.0]);
}

#[test]
fn elements() {
    let (x, y) = (x(), y());
    assert_eq!(((&x + &y).to_vec(), (2.0 * &x).to_vec(), (-&x).to_vec()), {
        (vec![4.0, 4.0, 5.0], vec![2.0, 4.0, 8.0], vec![-1.0, -2.0, -4.0])
    });
    assert_eq!((x.powi(2).to_vec(), x.pow(&y).to_vec()), (vec![1.0, 4.0, 16.0], vec![1.0, 4.0, 4.0]));
    assert_eq!(x.exp().at(0).item(), 1f64.exp());
    assert_eq!((x.max(&y).to_vec(), x.max(0.0).min(1.0).to_vec()), (vec![3.0, 2.0, 4.0], vec![1.0; 3]));
    assert_eq!(x.gt(&y).to_vec(), [false, false, true]);
    let (p, q) = (x.equal(&y), x.not_equal(1.0));
    assert_eq!((p.to_vec(), q.to_vec()), (vec![false, true, false], vec![false, true, true]));
    assert_eq!(((&p & &q).to_vec(), (!&p).to_vec()), (vec![false, true, false], vec![true, false, true]));
    assert_eq!(p.select(&x, 0.0).to_vec(), [0.0, 2.0, 0.0]);
}

#[test]
fn reductions() {
    let (x, a, t) = (x(), a(), t());
    assert_eq!((x.sum().item(), a.sum_axis(0).to_vec(), t.sum_axes([0, 2]).to_vec()), {
        (7.0, vec![5.0, 7.0, 9.0], vec![10.0, 18.0])
    });
    assert_eq!((x.max_all().item(), a.min_axis(1).to_vec()), (4.0, vec![1.0, 4.0]));
    assert_eq!((3.0 * x.mean()).item(), 7.0);
    assert_eq!((a.variance_axis(0).to_vec(), x.product().item()), (vec![2.25; 3], 8.0));
    assert_eq!((x.argmax().item(), a.argmin_axis(1).to_vec()), (2, vec![0, 0]));
    let p = x.gt(1.0);
    assert_eq!((p.any().item(), p.all().item()), (true, false));
    assert_eq!((x.cumsum(0).to_vec(), a.cumprod(1).at(1).to_vec()), (vec![1.0, 3.0, 7.0], vec![4.0, 20.0, 120.0]));
    assert!((x.logsumexp() - x.exp().sum().ln()).abs().item() < 1e-12);
    assert_eq!((&x * &x).sum().sqrt().item(), 21f64.sqrt());
    let (n, keys): (usize, Vector<Concrete, i64>) = (2, vec![1, 0, 1].into());
    assert_eq!(x.segment_sum(&Segments::by_key(&keys, n)).to_vec(), [2.0, 5.0]);
    assert_eq!(full(keys.len(), 1).scatter(&keys, n).to_vec(), [1, 2]);
    assert_eq!((x.sort(0).to_vec(), x.argsort(0).to_vec()), (vec![1.0, 2.0, 4.0], vec![0, 1, 2]));
    let (largest, places) = x.top_k(2, 0);
    assert_eq!((largest.to_vec(), places.to_vec()), (vec![4.0, 2.0], vec![2, 1]));
}

#[test]
fn products() {
    let (x, y, a, t) = (x(), y(), a(), t());
    assert_eq!((x.dot(&y).item(), a.dot(&x).to_vec()), (11.0, vec![17.0, 38.0]));
    let (i, j) = (scalar(1i64), scalar(2i64));
    let below: Scalar<Concrete, f64> = a.moving_slice((&i, ..&j)).dot(&x.moving_slice(..&j));
    assert_eq!(below, a.at((1, 0)) * x.at(0) + a.at((1, 1)) * x.at(1));
    let b = a.transpose();
    assert_eq!(a.dot(&b), [[14.0, 32.0], [32.0, 77.0]].into());
    assert_eq!(t.matmul(&t).at(0), [[2.0, 3.0], [6.0, 11.0]].into());
    let b = &a * 2.0;
    let products: Matrix64 = a.contract(&b, "ij,kj->ik");
    assert_eq!(products, [[28.0, 64.0], [64.0, 154.0]].into());
    let a = Matrix::from([[1.0, 0.0], [0.0, 1.0]]);
    assert_eq!(t.contract_axes(&a, [1, 2], [0, 1]).to_vec(), [3.0, 11.0]);
    assert_eq!(x.outer(&y).at(2).to_vec(), [12.0, 8.0, 4.0]);
    assert!((softmax(&a, 1).sum_axis(1) - 1.0).abs().lt(1e-12).all().item());
    let image: Tensor4<Concrete, f64> = iota(9).cast::<f64>().reshape((1, 1, 3, 3));
    let kernel: Tensor4<Concrete, f64> = ones((1, 1, 2, 2));
    assert_eq!(convolution_2d(&image, &kernel, &Window::default(), 1).to_vec(), [8.0, 12.0, 20.0, 24.0]);
}

/// A x.
#[derive(Clone)]
struct Product;

impl ArrayFn for Product {
    type In = (Vector<Concrete, f64>, Matrix<Concrete, f64>);
    type Out = Vector<Concrete, f64>;
    fn call<A: Algebra>(&self, (x, k): &(Vector<A, f64>, Matrix<A, f64>)) -> Vector<A, f64> {
        k.dot(x)
    }
}

#[test]
fn linear_algebra() {
    let (k, b) = (Matrix::from([[4.0, 2.0], [2.0, 5.0]]), Vector::from([2.0, 8.0]));
    let a = Matrix::from([[0.0, 2.0], [4.0, 4.0]]);
    assert_eq!(linalg::cholesky(&k), [[2.0, 0.0], [1.0, 2.0]].into());
    assert_eq!(linalg::solve(&a, &b).to_vec(), [1.0, 1.0]);
    let a = Matrix::from([[4.0, 9.0], [2.0, 5.0]]);
    assert_eq!(linalg::solve_triangular(&a, &b, Triangle::LOWER).to_vec(), [0.5, 1.4]);
    let a = Matrix::from([[0.0, 2.0], [4.0, 4.0]]);
    assert_eq!(CholeskyFactor::new(&k).solve(&b).to_vec(), [-0.375, 1.75]);
    let (lower, diagonal, upper) = (Vector::from([9.0, 4.0]), Vector::from([0.0, 4.0]), Vector::from([2.0, 9.0]));
    assert_eq!(linalg::tridiagonal_solve(&lower, &diagonal, &upper, &b).to_vec(), [1.0, 1.0]);
    let bands = Matrix::from([[9.0, 2.0], [0.0, 4.0], [4.0, 9.0]]);
    assert_eq!(linalg::solve_banded((1, 1), &bands, &b).to_vec(), [1.0, 1.0]);
    let x = conjugate_gradients(&Product, &b, &k, &Implicit::default()).x;
    assert!((x - linalg::solve_spd(&k, &b)).abs().lt(1e-12).all().item());
    assert!(linalg::try_cholesky(&-&k).is_err());
    assert_eq!(linalg::ldl(&k).diagonal.len(), 2);
    assert_eq!((linalg::qr(&a).r.at((1, 0)).item(), linalg::lu(&a).order().to_vec()), (0.0, vec![1, 0]));
    assert_eq!((linalg::determinant(&a).item(), linalg::slog_determinant(&a).0.item()), (-8.0, -1.0));
    assert_eq!(linalg::inverse(&a), [[-0.5, 0.25], [0.5, 0.0]].into());
    assert_eq!(
        (linalg::eigh(&k).values.round().to_vec(), linalg::eigh_values(&k).round().to_vec()),
        (vec![2.0, 7.0], vec![2.0, 7.0])
    );
    assert_eq!((linalg::singular_values(&a).len(), linalg::frobenius_norm(&a).item()), (2, 6.0));
    let exponential = linalg::expm(&linalg::logm(&k));
    assert!((exponential - linalg::sqrtm(&k).dot(&linalg::sqrtm(&k))).abs().lt(1e-12).all().item());
    assert!((linalg::expm(&a) - linalg::expm(&a.t()).t()).abs().lt(1e-9).all().item());
    assert!((linalg::pseudo_inverse(&a) - linalg::inverse(&a)).abs().lt(1e-12).all().item());
    assert!((linalg::lstsq(&a, &b) - linalg::solve(&a, &b)).abs().lt(1e-12).all().item());
    assert_eq!(linalg::lu(&a).solve(&b), linalg::solve(&a, &b));
    let factors = linalg::svd(&a);
    let product = (&factors.u * factors.values.insert_axis(0)).dot(&factors.v.t());
    assert!((product - &a).abs().lt(1e-12).all().item());
    let ratio = linalg::spectral_norm(&a) / factors.values.at(1);
    assert!((linalg::condition_number(&a) - ratio).abs().lt(1e-12).item());
    assert_eq!((linalg::trace(&a).item(), linalg::kron(&a, &k).shape()[..].to_vec()), (4.0, vec![4, 4]));
    assert_eq!(linalg::matrix_power(&k, 3), k.dot(&k).dot(&k));
    assert_eq!(
        linalg::triangle_lower(&a) + linalg::triangle_upper(&a) - &a,
        linalg::diagonal_matrix(&Vector::from([0.0, 4.0]))
    );
    assert_eq!(linalg::trace(&linalg::diagonal_matrix(&b)).item(), 10.0);
}

#[test]
fn control_loops_and_mapping() -> deltaray::Result<()> {
    let (n, x, y, a) = (3, x(), y(), a());
    let c = x.at(0).gt(0.0);
    assert_eq!(cond(c, || x.sum(), || y.sum()).item(), 7.0);
    let (sum, sums) = scan(scalar(0.0), &x, x.len(), |sum, x| (&sum + x, sum));
    assert_eq!((sum.item(), sums.to_vec()), (7.0, vec![0.0, 1.0, 3.0]));
    assert_eq!(iterate(x.clone(), n, |x| x.sin()), x.sin().sin().sin());
    let last: Scalar<Concrete, f64> = while_loop(scalar(1.0), |s| s.lt(100.0), |s| s * 2.0);
    assert_eq!(last.item(), 128.0);
    assert_eq!(associative_scan(&x, |a, b| a * b).to_vec(), [1.0, 2.0, 8.0]);
    assert_eq!(vmap(|row| row.sum(), &a).to_vec(), [6.0, 15.0]);
    assert_eq!(vmap_axes(|column| column.sum(), &a, [1], [0]).to_vec(), [5.0, 7.0, 9.0]);
    assert_eq!(build(n, |i| x.at(&i) * x.at(n - 1 - i)).to_vec(), [4.0, 4.0, 4.0]);
    assert_eq!((jit(f).call(&x)?.item(), stage(f, &x)?.call(&x)?.item()), (73.0, 73.0));
    Ok(())
}

#[derive(Clone)]
struct Cube;
impl ArrayFn for Cube {
    type In = Vector64;
    type Out = Vector64;
    fn call<A: Algebra>(&self, x: &Vector<A, f64>) -> Vector<A, f64> {
        x.powi(3)
    }
}

#[derive(Clone)]
struct CubeRule;
impl ArrayFn for CubeRule {
    type In = (Vector64, Vector64, Vector64);
    type Out = Vector64;
    fn call<A: Algebra>(&self, (x, _, cotangent): &(Vector<A, f64>, Vector<A, f64>, Vector<A, f64>)) -> Vector<A, f64> {
        3.0 * x * x * cotangent
    }
}

/// x² − θ.
#[derive(Clone)]
struct Square;
impl ArrayFn for Square {
    type In = (Scalar<Concrete, f64>, Scalar<Concrete, f64>);
    type Out = Scalar<Concrete, f64>;
    fn call<A: Algebra>(&self, (x, theta): &(Scalar<A, f64>, Scalar<A, f64>)) -> Scalar<A, f64> {
        x * x - theta
    }
}

#[test]
fn derivatives() -> deltaray::Result<()> {
    let (x, y, along) = (x(), y(), y());
    let slope = [3.0, 12.0, 48.0];
    assert_eq!(grad(f, &x).to_vec(), slope);
    let (value, gradient) = value_and_grad(f, &x);
    assert_eq!((value.item(), gradient.to_vec()), (73.0, slope.to_vec()));
    assert_eq!(grad(|(x, y)| (x * y).sum(), &(x.clone(), y.clone())), (y.clone(), x.clone()));
    assert_eq!(jit(f).grad().call(&x)?.to_vec(), slope);
    assert_eq!(stage(f, &x)?.grad()?.call(&x)?.to_vec(), slope);
    let (_, tangent) = jvp(f, &x, &along);
    let (_, pullback) = vjp(f, &x);
    let (_, tangents) = linearize(f, &x);
    assert_eq!((tangent.item(), tangents(&along).item()), (81.0, 81.0));
    assert_eq!(pullback(&scalar(2.0)).to_vec(), [6.0, 24.0, 96.0]);
    assert_eq!(jacfwd(|x| x.exp(), &x), jacrev(|x| x.exp(), &x));
    assert_eq!(hessian(f, &x).dot(&along), hvp(f, &x, &along));
    assert_eq!(grad(|x| (x * x.stop_gradient()).sum(), &x), x);
    let x = y;
    let again = checkpoint(&x, |x| x.sin().exp());
    assert_eq!(again, x.sin().exp());
    assert_eq!(custom_vjp(&Cube, &CubeRule, &x), x.powi(3));
    assert_eq!(grad(|x| custom_vjp(&Cube, &CubeRule, x).sum(), &x).to_vec(), [27.0, 12.0, 3.0]);
    let newton = Newton(Square, Convergence::default());
    let found: Scalar<Concrete, f64> = root(&Square, &newton, &scalar(1.0), &scalar(2.0), &Implicit::default());
    assert!((found.item() - 2f64.sqrt()).abs() < 1e-12);
    check_grad(&Cube, &x, &CheckGrad::default())?;
    Ok(())
}

/// Text without the parts that a formatter may change.
fn packed(text: &str) -> String {
    text.split_whitespace().collect::<String>().replace(",)", ")")
}

#[test]
fn every_expression_of_the_tables_is_here() {
    let (tables, tests) = (include_str!("../docs/numpy.md"), packed(include_str!("numpy.rs")));
    let mut expressions = 0;
    for row in tables.lines().filter(|line| line.starts_with('|')) {
        let row = row.replace("\\|", "\u{0}");
        let cell = row.split('|').nth(2).unwrap().replace('\u{0}', "|");
        // Every second part is text between backquotes.
        for expression in cell.split('`').skip(1).step_by(2).filter(|text| !text.starts_with("#[")) {
            expressions += 1;
            let expression = packed(expression.trim_end_matches('?'));
            assert!(expression == "Vec" || tests.contains(&expression), "{expression} is in no test");
        }
    }
    assert!(expressions > 100, "{expressions} expressions were found in the tables");
}
