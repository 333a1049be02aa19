//! The laws that factors satisfy, of sizes around those at which kernels cut matrices into blocks.

use crate::exported::{self, Case};
use crate::random::chance::Random;
use crate::{C, definite, identity, largest, matrix, numbers, triangles};
use deltaray::derivative::program::{tidy, vjp};
use deltaray::export::Program;
use deltaray::linalg::*;
use deltaray::prelude::*;
use deltaray::term::Body;

/// Kernels cut at 16 rows, and some at 64.
const SIZES: [usize; 11] = [1, 2, 5, 15, 16, 17, 32, 33, 65, 100, 129];

/// Asserts that two matrices are so many roundings of `scale` apart at most, in each element.
fn assert_near<E: Float>(what: &str, found: &Matrix<C, E>, expected: &Matrix<C, E>, allowed: f64) {
    assert_eq!(found.shape(), expected.shape(), "{what}");
    let distance = largest(&(found - expected));
    assert!(distance <= allowed, "{what}: {distance:e} apart, {allowed:e} are allowed");
}

/// Half a unit in the last place of 1.
fn rounding<E: Float>() -> f64 {
    if E::DTYPE == deltaray::shape::DType::F32 { f32::EPSILON as f64 / 2.0 } else { f64::EPSILON / 2.0 }
}

/// Elements on one side of the diagonal are 0, not nearly so.
fn assert_triangular<E: Float>(what: &str, a: &Matrix<C, E>, is_lower: bool) {
    let other = if is_lower { a - triangle_lower(a) } else { a - triangle_upper(a) };
    assert_eq!(largest(&other), 0.0, "{what}");
}

fn cholesky_laws<E: Float>(n: usize) {
    let a: Matrix<C, E> = definite(&mut Random::new(n as u64), n);
    let l = cholesky(&a);
    let what = format!("the Cholesky factor of {n} rows in {}", E::DTYPE);
    assert_triangular(&what, &l, true);
    assert_near(&what, &l.dot(&l.t()), &a, 2.0 * (n as f64 + 1.0) * rounding::<E>() * largest(&a));
    assert_eq!(cholesky_upper(&a), l.t(), "{what}");
}

fn lu_laws<E: Float>(m: usize, n: usize) {
    let a: Matrix<C, E> = matrix(&mut Random::new((1000 * m + n) as u64), m, n);
    let factors = lu(&a);
    let (l, u) = (factors.lower(), factors.upper());
    let what = format!("LU factors of {m} by {n} in {}", E::DTYPE);
    assert_eq!((l.shape()[..].to_vec(), u.shape()[..].to_vec()), (vec![m, m.min(n)], vec![m.min(n), n]), "{what}");
    assert_triangular(&what, &l, true);
    assert_triangular(&what, &u, false);
    assert!(largest(&l) <= 1.0, "{what}");
    let mut order = factors.order().to_vec();
    let moved: Matrix<C, E> = a.gather(&factors.order().reshape(m));
    let scale = m.min(n) as f64 * rounding::<E>() * largest(&u);
    assert_near(&what, &l.dot(&u), &moved, 4.0 * scale);
    order.sort_unstable();
    assert!(order.into_iter().eq(0..m as i64), "{what}: the order is none of all rows");
}

fn qr_laws<E: Float>(m: usize, n: usize) {
    let a: Matrix<C, E> = matrix(&mut Random::new((2000 * m + n) as u64), m, n);
    for (name, Qr { q, r }, k) in [("QR", qr(&a), m.min(n)), ("full QR", full_qr(&a), m)] {
        let what = format!("{name} factors of {m} by {n} in {}", E::DTYPE);
        assert_eq!((q.shape()[..].to_vec(), r.shape()[..].to_vec()), (vec![m, k], vec![k, n]), "{what}");
        assert_triangular(&what, &r, false);
        // The norms of columns are near the root of m.
        let scale = 8.0 * (m.max(n) as f64) * rounding::<E>();
        assert_near(&what, &q.t().dot(&q), &identity(k), scale);
        assert_near(&what, &q.dot(&r), &a, scale * (m as f64).sqrt());
    }
}

/// The derivative of L U is that of A with its rows in order, and the way back is the transpose of the way forwards.
fn moving_lu_laws<E: Float>(m: usize, n: usize) {
    let random = &mut Random::new((3000 * m + n) as u64);
    let a: Matrix<C, E> = matrix::<E>(random, m, n) + build((m, n), |(i, j)| i.equal(&j).cast::<E>()) * 9;
    let (da, z): (Matrix<C, E>, Matrix<C, E>) = (matrix(random, m, n), matrix(random, m, n));
    let what = format!("the derivative of LU factors of {m} by {n} in {}", E::DTYPE);
    let ((l, u), (dl, du)) = jvp(
        |a| {
            let factors = lu(a);
            (factors.lower(), factors.upper())
        },
        &a,
        &da,
    );
    let moved: Matrix<C, E> = da.gather(&lu(&a).order().reshape(m));
    let product = dl.dot(&u) + l.dot(&du);
    let scale = 16.0 * (m.max(n) as f64 + 1.0) * rounding::<E>();
    assert_near(&what, &product, &moved, scale * (1.0 + largest(&l) * largest(&du) + largest(&dl) * largest(&u)));
    let (_, forwards) = jvp(|a| lu(a).packed.slice(1, ..n), &a, &da);
    let (_, pull) = deltaray::derivative::vjp(|a| lu(a).packed.slice(1, ..n), &a);
    let backwards = pull(&z);
    let sums = [(&forwards, &z), (&backwards, &da)].map(|(x, y)| (x * y).cast::<f64>().sum().item());
    let allowed = scale * ((m * n) as f64).sqrt() * largest(&forwards).max(largest(&backwards));
    assert!((sums[0] - sums[1]).abs() <= allowed, "{what}: {sums:?}, {allowed:e} are allowed");
}

#[test]
fn derivatives_of_lu_factors_multiply_to_that_of_the_matrix() {
    for n in SIZES {
        for m in [n, n + 7, n.min(17), 3 * n.min(33)] {
            moving_lu_laws::<f64>(m, n);
        }
        moving_lu_laws::<f32>(n, n);
    }
}

#[test]
fn cholesky_factors_multiply_to_the_matrix() {
    for n in SIZES {
        cholesky_laws::<f64>(n);
        cholesky_laws::<f32>(n);
    }
}

#[test]
fn lu_factors_multiply_to_the_matrix_in_another_order() {
    for n in SIZES {
        for m in [n, n + 7, n.saturating_sub(5).max(1), n.min(17), 3 * n.min(33)] {
            lu_laws::<f64>(m, n);
        }
        lu_laws::<f32>(n, n);
    }
}

/// Functions of all matrices, whose factors pass through the engine in blocks.
fn of_many<A: Algebra>(a: &Tensor3<A, f64>) -> Scalar<A, f64> {
    let Qr { q, r } = qr(a);
    let solutions = solve(a, &a.slice(2, ..2)).sin().sum() + log_determinant(a).sin().sum();
    lu(a).packed.sin().sum() + q.sin().sum() + r.sin().sum() + cholesky(a).sin().sum() + solutions
}

#[test]
fn many_small_matrices_have_the_factors_of_each() {
    let random = matrix::<f64>(&mut Random::new(77), 3001 * 5, 5);
    let a: Tensor3<C, f64> = random.reshape((3001, 5, 5)) + eye(5).insert_axis(0) * 6.0;
    let staged = stage(|a: &Tensor3<_, f64>| of_many(a), &a).unwrap().value_and_grad().unwrap();
    let (value, gradient) = staged.call(&a).unwrap();
    let expected = grad(of_many, &a);
    assert!((value - of_many(&a)).abs().item() < 1e-7);
    assert!(largest(&(gradient - expected).reshape((3001 * 5, 5))) < 1e-11);
}

#[test]
fn qr_factors_multiply_to_the_matrix() {
    for n in SIZES {
        for m in [n, n.min(100) + 7, n.saturating_sub(5).max(1), n.min(17)] {
            qr_laws::<f64>(m, n);
        }
        qr_laws::<f32>(n, n);
    }
}

/// A system whose matrix has NaN wherever it is not read, and the matrix that is meant.
fn system<E: Float>(n: usize, triangle: Triangle) -> (Matrix<C, E>, Matrix<C, E>) {
    let random = &mut Random::new(n as u64);
    let (mut stored, mut meant) = (vec![f64::NAN; n * n], vec![0.0; n * n]);
    for row in 0..n {
        for column in 0..n {
            let is_inside = if triangle.is_lower { row > column } else { row < column };
            let x = match row == column {
                true if triangle.has_unit_diagonal => {
                    meant[row * n + column] = 1.0;
                    continue;
                }
                true => 1.0 + random.between(0.0, 1.0),
                false if is_inside => random.between(-1.0, 1.0) / n as f64,
                false => continue,
            };
            let x = numbers::<E>([x])[0];
            (stored[row * n + column], meant[row * n + column]) = (x, x);
        }
    }
    let made = |elements: Vec<f64>| -> Matrix<C, E> {
        Matrix::from_elements((n, n), elements.into_iter().map(E::from_number).collect())
    };
    let meant = made(meant);
    (made(stored), if triangle.is_transposed { meant.t() } else { meant })
}

fn solutions<E: Float>(n: usize, columns: usize) {
    for triangle in triangles() {
        let (stored, meant) = system::<E>(n, triangle);
        let b: Matrix<C, E> = matrix(&mut Random::new(columns as u64), n, columns);
        let what = format!("{columns} right sides of {n} rows, {triangle:?}, in {}", E::DTYPE);
        // Solutions are at most a few times as large as right sides.
        let allowed = 8.0 * (n as f64 + 1.0) * rounding::<E>();
        let x = solve_triangular(&stored, &b, triangle);
        assert_near(&what, &meant.dot(&x), &b, allowed);
        let x = solve_triangular_right(&stored, &b.t(), triangle);
        assert_near(&format!("{what}, from the right"), &x.dot(&meant), &b.t(), allowed);
        let single = solve_triangular(&stored, &b.index_axis(1, 0), triangle);
        assert_near(&what, &meant.dot(&single.insert_axis(1)), &b.slice(1, ..1), allowed);
    }
}

#[test]
fn triangular_systems_of_all_kinds_are_solved() {
    for n in SIZES {
        solutions::<f64>(n, if n % 2 == 0 { 3 } else { 17 });
        solutions::<f32>(n, 1);
    }
    for n in [15, 33, 65] {
        solutions::<f64>(n, 150);
    }
}

/// All operations, in loops, builds and conditionals too.
#[allow(clippy::type_complexity)]
fn all<A: Algebra>(
    (a, b): &(Matrix<A, f64>, Matrix<A, f64>),
) -> (Vec<Matrix<A, f64>>, Tensor3<A, f64>, (Vector<A, i64>, Matrix<A, f64>)) {
    let definite = a.dot(&a.t()) + eye(3);
    let mut results: Vec<Matrix<A, f64>> =
        triangles().map(|triangle| solve_triangular(&definite, b, triangle)).collect();
    let (factors, thin, full) = (lu(a), qr(b), full_qr(b));
    results.extend([cholesky(&definite), factors.packed.clone(), thin.q, thin.r, full.q, full.r]);
    results.push(solve_banded((1, 1), a, b));
    let many = build(2, |i| cholesky(&(&definite + eye(3) * (i + 1).cast::<f64>())));
    let looped =
        fold(b.clone(), &iota(2), |x: Matrix<A, f64>, _| cond(x.sum().gt(0.0), || solve(&definite, &x), || qr(&x).q));
    (results, many, (factors.order().reshape(3), looped))
}

#[test]
fn programs_with_all_operations_come_back_from_text_and_json() {
    let random = &mut Random::new(5);
    let at = (matrix::<f64>(random, 3, 3), matrix::<f64>(random, 3, 2));
    let staged = stage(all, &at).unwrap();
    let finished = |body: &Body| tidy(&body.without_marks());
    let source = Program::new("all", staged.source().clone());
    let program = Program::new("all", finished(staged.differentiable()));
    let value = Case::new("all operations".into(), Some(source), program, at.leaves(), true);
    let reverse = vjp(staged.differentiable(), 2).unwrap();
    let mut arguments = at.leaves();
    arguments.extend(value.expected.iter().cloned());
    let gradient = Program::new("gradient", finished(&tidy(&reverse)));
    let gradient = Case::new("their gradient".into(), None, gradient, arguments, true);
    let kinds = ["lower", "upper"].into_iter().flat_map(|kind| [format!("solve_{kind}"), format!("solve_unit_{kind}")]);
    let kinds = kinds.flat_map(|kind| [format!("{kind} "), format!("{kind}_transposed ")]);
    for name in kinds.chain(["cholesky ", "lu ", "qr ", "full_qr ", "solve_banded_transposed "].map(String::from)) {
        assert!(value.program.to_string().contains(&format!(" {name}")), "no {name}: {}", value.program);
    }
    exported::text::are_read_back([&value, &gradient].into_iter());
    #[cfg(feature = "json")]
    exported::json::come_back([&value, &gradient].into_iter());
}

/// Bands at random, with NaN beside the matrix, and the matrix.
fn banded<E: Float>(n: usize, below: usize, above: usize) -> (Matrix<C, E>, Matrix<C, E>) {
    let random = &mut Random::new((n + 7 * below + 31 * above) as u64);
    let (mut bands, mut meant) = (vec![f64::NAN; (below + 1 + above) * n], vec![0.0; n * n]);
    for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).filter(|(i, j)| *i <= j + below && *j <= i + above) {
        let x = numbers::<E>([random.between(-1.0, 1.0)])[0];
        (bands[(above + i - j) * n + j], meant[i * n + j]) = (x, x);
    }
    let made = |rows: usize, elements: Vec<f64>| -> Matrix<C, E> {
        Matrix::from_elements((rows, n), elements.into_iter().map(E::from_number).collect())
    };
    (made(below + 1 + above, bands), made(n, meant))
}

fn banded_laws<E: Float>(n: usize, below: usize, above: usize) {
    let (bands, a) = banded::<E>(n, below, above);
    let b: Matrix<C, E> = matrix(&mut Random::new(n as u64), n, 2);
    let what = format!("a system of {n} rows with {below} and {above} bands in {}", E::DTYPE);
    let x = solve_banded((below, above), &bands, &b);
    let scale = (n as f64 + 2.0) * rounding::<E>() * largest(&x).max(1.0);
    assert_near(&what, &a.dot(&x), &b, 8.0 * scale);
    // The transposed system is the one by which a derivative goes back.
    let (_, pull) = deltaray::derivative::vjp(|b| solve_banded((below, above), &bands.lift(), b), &b);
    let adjoint = pull(&b);
    let scale = (n as f64 + 2.0) * rounding::<E>() * largest(&adjoint).max(1.0);
    assert_near(&what, &a.t().dot(&adjoint), &b, 8.0 * scale);
    if (below, above) == (1, 1) {
        let nothing: Vector<C, E> = full(1, E::from_number(f64::NAN));
        let lower = concatenate(0, &[nothing.clone(), bands.at(2).slice(0, ..n - 1)]);
        let upper = concatenate(0, &[bands.at(0).slice(0, 1..), nothing]);
        assert_eq!(tridiagonal_solve(&lower, &bands.at(1), &upper, &b), x, "{what}");
    }
}

#[test]
fn banded_systems_have_their_solutions() {
    for n in [1, 2, 3, 8, 40] {
        for (below, above) in [(0, 0), (1, 1), (3, 0), (0, 2), (2, 4), (5, 1)] {
            banded_laws::<f64>(n, below, above);
            banded_laws::<f32>(n, below, above);
        }
    }
}

/// Along axes that a matrix does not have, right sides are solved together.
#[test]
fn right_sides_that_share_a_matrix_have_the_solutions_of_copies() {
    let random = &mut Random::new(47);
    let flat: Vec<Matrix<C, f64>> = (0..6).map(|_| definite(random, 4)).collect();
    let flat: Tensor3<C, f64> = stack(&flat);
    let a = flat.reshape((2, 1, 3, 1, 4, 4)).into_dyn();
    let whole = a.broadcast_to(&[2, 5, 3, 2, 4, 4][..]);
    let columns = matrix::<f64>(random, 5 * 2, 4 * 2).reshape((1, 5, 1, 2, 4, 2)).into_dyn();
    let single = columns.index_axis(5, 0);
    let both = |f: &dyn Fn(&Tensor<C, f64, RDyn>, &Tensor<C, f64, RDyn>) -> Tensor<C, f64, RDyn>| {
        for (b, shape) in [(&columns, &[2, 5, 3, 2, 4, 2][..]), (&single, &[2, 5, 3, 2, 4])] {
            let (found, expected) = (f(&a, b), f(&whole, b));
            assert_eq!(&found.shape()[..], shape);
            assert!((found - expected).abs().lt(1e-12).all().item());
        }
    };
    both(&|a, b| solve(a, b));
    both(&|a, b| solve_spd(a, b));
    both(&|a, b| lstsq(a, b));
    both(&|a, b| qr(a).solve(b));
    both(&|a, b| solve_triangular(a, b, Triangle::UPPER));
    let none = solve(&a, &zeros(&[1, 0, 1, 2, 4, 2][..]));
    assert_eq!(none.shape()[..], [2, 0, 3, 2, 4, 2]);
}
