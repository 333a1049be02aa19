//! Matrices that functions of linear algebra do not take, and right sides that do not fit them.

use crate::bad_input::check_reports;
use deltaray::algebra::Algebra;
use deltaray::linalg::*;
use deltaray::prelude::*;

#[test]
fn matrices_that_are_not_square() {
    check_reports(vec![
        mistake!("cholesky"["2 by 3"] | x, m | cholesky(m).sum() * x),
        mistake!("cholesky"["3 by 2"] | x, m | CholeskyFactor::new(&m.t()).solve(&m.t()).sum() * x),
        mistake!("cholesky_upper"["2 by 3"] | x, m | cholesky_upper(m).sum() * x),
        mistake!("ldl"["2 by 3"] | x, m | ldl(m).lower.sum() * x),
        mistake!("inverse"["2 by 3"] | x, m | inverse(m).sum() * x),
        mistake!("spectral_function"["2 by 3"] | x, m | spectral_function(m, SpectralFunction::Exp).sum() * x),
        mistake!("spectral_sum"["2 by 3"] | x, m | spectral_sum(m, SpectralFunction::Exp) * x),
        mistake!("sqrtm"["2 by 3"] | x, m | sqrtm(m).sum() * x),
        mistake!("logm"["2 by 3"] | x, m | logm(m).sum() * x),
        mistake!("expm"["2 by 3"] | x, m | expm(m).sum() * x),
        mistake!("determinant"["2 by 3"] | x, m | determinant(m) * x),
        mistake!("slog_determinant"["2 by 3"] | x, m | slog_determinant(m).1 * x),
        mistake!("log_determinant"["2 by 3"] | x, m | log_determinant(m) * x),
        mistake!("matrix_power"["2 by 3"] | x, m | matrix_power(m, 2).sum() * x),
        mistake!("matrix_power"["2 by 3"] | x, m | matrix_power(m, -1).sum() * x),
        mistake!("solve"["2 by 3"] | x, m | solve(m, x)),
        mistake!("solve"["2 by 3"] | x, m | lu(m).solve(x)),
        mistake!("solve_spd"["2 by 3"] | x, m | solve_spd(m, x)),
        mistake!("solve_triangular"["2 by 3"] | x, m | solve_triangular(m, x, Triangle::LOWER)),
        mistake!("solve_triangular_right"["2 by 3"] | x, m | solve_triangular_right(m, m, Triangle::UPPER).sum() * x),
        mistake!("solve" ["2 by 3", "many solutions"] |x, m| qr(m).solve(x)),
    ]);
}

#[test]
fn arrays_without_matrices() {
    check_reports(vec![
        mistake!("cholesky"["[2]"] | x, m | cholesky(x) * m.sum()),
        mistake!("ldl"["[2]"] | x, m | ldl(x).lower * m.sum()),
        mistake!("lu"["[2]"] | x, m | lu(x).packed * m.sum()),
        mistake!("lu"["[2]"] | x, m | lu(x).lower() * m.sum()),
        mistake!("lu"["[2]"] | x, m | lu(x).upper() * m.sum()),
        mistake!("lu"["2²⁴ rows", "16777217"] | x, m | (lu(&m.sum().cast::<f32>().broadcast_to(((1 << 24) + 1, 1))).packed.sum().cast::<f64>() * x)),
        mistake!("lu"["[]"] | x, m | lu(&m.sum()).upper() * x),
        mistake!("qr"["[2]"] | x, m | qr(x).q * m.sum()),
        mistake!("full_qr"["[2]"] | x, m | full_qr(x).r * m.sum()),
        mistake!("full_svd"["[2]"] | x, m | full_svd(x).u * m.sum()),
        mistake!("expm"["[2]"] | x, m | expm(x) * m.sum()),
        mistake!("sqrtm"["[2]"] | x, m | sqrtm(x) * m.sum()),
        mistake!("triangle_lower"["[2]"] | x, m | triangle_lower(x) * m.sum()),
        mistake!("triangle_upper"["[2]"] | x, m | triangle_upper(x) * m.sum()),
        mistake!("trace"["[2]"] | x, m | trace(&x.clone().into_dyn()).sum() * m),
        mistake!("inverse"["[2]"] | x, m | inverse(x) * m.sum()),
        mistake!("determinant"["[2]"] | x, m | determinant(&x.clone().into_dyn()).sum() * m),
        mistake!("log_determinant"["[2]"] | x, m | log_determinant(&x.clone().into_dyn()).sum() * m),
        mistake!("kron"["[2]"] | x, m | kron(x, x) * m.sum()),
    ]);
}

#[test]
fn right_sides_that_do_not_fit() {
    check_reports(vec![
        mistake!("solve" ["2 by 2", "3 rows"] |x, m| solve(&m.dot(&m.t()), &m.at(0)).sum() * x),
        mistake!("solve" ["2 by 2", "3 rows"] |x, m| solve(&m.dot(&m.t()), &m.t()).sum() * x),
        mistake!("solve" ["3 by 3", "2 rows"] |x, m| lu(&m.t().dot(m)).solve(x)),
        mistake!("solve_spd" ["2 by 2", "3 rows"] |x, m| solve_spd(&m.dot(&m.t()), &m.at(0)).sum() * x),
        mistake!("solve" ["2 by 2", "3 rows"] |x, m| CholeskyFactor::new(&m.dot(&m.t())).solve(&m.at(0)).sum() * x),
        mistake!("solve_triangular" ["3 by 3", "2 rows"] |x, m| solve_triangular(&m.t().dot(m), x, Triangle::UPPER)),
        mistake!("solve_triangular_right" ["3 by 3", "2 columns"] |x, m| solve_triangular_right(&m.t().dot(m), &m.t(), Triangle::UPPER).sum() * x),
        mistake!("solve" ["[3, 2, 2]", "[2, 2, 1]"] |x, m| solve(&m.t().insert_axis(1).broadcast_to((3, 2, 2)), &m.slice(1, ..1).insert_axis(0).broadcast_to((2, 2, 1))).sum() * x),
        mistake!("solve_banded" ["2 by 3", "2 for bands below", "0 for bands above"] |x, m| solve_banded((2, 0), m, x)),
        mistake!("solve_banded" ["2 by 3", "bands"] |x, m| solve_banded((usize::MAX, usize::MAX), m, x)),
        mistake!("solve_banded" ["3 by 3", "2 rows"] |x, m| solve_banded((1, 0), m, x)),
        mistake!("solve_banded" ["[3, 2, 2]", "[2, 2, 1]"] |x, m| solve_banded((1, 0), &m.t().insert_axis(1).broadcast_to((3, 2, 2)), &m.slice(1, ..1).insert_axis(0).broadcast_to((2, 2, 1))).sum() * x),
        mistake!("tridiagonal_solve" ["[2]", "[3]"] |x, m| tridiagonal_solve(x, &m.at(0), x, x)),
        mistake!("solve_triangular_right" ["[3, 2, 2]", "[2, 1, 2]"] |x, m| solve_triangular_right(&m.t().insert_axis(1).broadcast_to((3, 2, 2)), &m.slice(1, ..2).insert_axis(1), Triangle::UPPER).sum() * x),
        mistake!("tridiagonal_solve" ["[2, 3]", "[3, 3]"] |x, m| tridiagonal_solve(m, m, m, &m.t().dot(m)).sum() * x),
        mistake!("quadratic_form" ["2 by 2", "3 rows"] |x, m| quadratic_form(&CholeskyFactor::new(&m.dot(&m.t())), &m.at(0)) * x),
        mistake!("order" ["[2, 3]", "[2, 2]"] |x, m| Lu { matrix: m.clone(), packed: m.slice(1, ..2) }.order().cast::<f64>() * x),
        mistake!("upper" ["[2, 3]", "[2, 2]"] |x, m| Lu { matrix: m.clone(), packed: m.slice(1, ..2) }.upper().sum() * x),
        mistake!("tridiagonal_solve" ["2 by 2", "3 rows"] |x, m| tridiagonal_solve(x, x, x, &m.at(0)).sum() * x),
        mistake!("lstsq" ["3 by 2", "2 rows"] |x, m| lstsq(&m.t(), x)),
        mistake!("lstsq" ["2 by 3", "3 rows"] |x, m| lstsq(m, &m.at(0)).sum() * x),
        mistake!("solve" ["3 by 2", "2 rows"] |x, m| qr(&m.t()).solve(x)),
        mistake!("solve" ["2 by 2", "1 by 3", "don't fit"] |x, m| Qr { q: m.slice(1, ..2), r: m.slice(0, ..1) }.solve(x).sum() * x),
        mistake!("kron" ["[1, 2, 3]", "[2, 3, 1]"] |x, m| kron(&m.insert_axis(0), &m.insert_axis(2)).sum() * x),
        mistake!("kron" ["[1099511627776, 0]", "too large"] |x, m| kron(&zeros((1 << 40, 0)), &(zeros::<A, f64, _>((1 << 40, 0)) + m.sum())).sum() * x),
    ]);
}
