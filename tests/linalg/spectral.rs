//! Functions of symmetric matrices and their derivatives, where eigenvalues are equal or nearly so, against numbers of high precision
//! and against functions that need no eigenvalues.

use crate::spectra::{distance, with_values};
use deltaray::linalg::*;
use deltaray::prelude::*;

type C = Concrete;
type M = Matrix<C, f64>;

fn functions() -> [SpectralFunction; 8] {
    let power = SpectralFunction::power;
    [
        SpectralFunction::Exp,
        SpectralFunction::Ln,
        SpectralFunction::Sqrt,
        SpectralFunction::Reciprocal,
        SpectralFunction::Sin,
        SpectralFunction::Cos,
        power(2.5),
        power(-0.75),
    ]
}

fn first<A: Algebra>(f: SpectralFunction, a: &Matrix<A, f64>, moved: &Matrix<A, f64>) -> Matrix<A, f64> {
    jvp(|a: &Matrix<_, f64>| spectral_function(a, f), a, moved).1
}

fn second<A: Algebra>(f: SpectralFunction, a: &Matrix<A, f64>, moved: [&Matrix<A, f64>; 2]) -> Matrix<A, f64> {
    jvp(|a: &Matrix<_, f64>| first(f, a, &moved[0].lift_forward()), a, moved[1]).1
}

fn third<A: Algebra>(f: SpectralFunction, a: &Matrix<A, f64>, moved: [&Matrix<A, f64>; 3]) -> Matrix<A, f64> {
    jvp(|a: &Matrix<_, f64>| second(f, a, [&moved[0].lift_forward(), &moved[1].lift_forward()]), a, moved[2]).1
}

/// Divided differences of the functions at some points, by mpmath with 150 digits.
#[rustfmt::skip]
#[allow(clippy::excessive_precision, clippy::unreadable_literal, clippy::approx_constant)]
const ROWS: [(&[f64], [f64; 8]); 18] = [
    (&[1.0, 3.0], [8.683627547364312, 0.5493061443340549, 0.36602540378443865, -0.3333333333333333, -0.35017548837401463, -0.7651474012342926, 7.294228634059948, -0.2806543311745846]),
    (&[0.5, 0.51], [1.656992424575816, 1.9802627296179713, 0.7036061667737475, -3.9215686274509802, 0.8751708278704494, -0.4838054244621453, 0.8971858129762648, -2.4793366541211337]),
    (&[2.0, 2.000000001], [7.389056102625179, 0.499999999875, 0.3535533905490796, -0.249999999875, -0.4161468370017911, -0.9092974266176083, 7.071067814517126, -0.22297633396545805]),
    (&[0.001, 0.00100000000000001], [1.0010005001667084, 999.999999999995, 15.811388300841857, -999999.99999999, 0.9999995000000417, -0.0009999998333333467, 7.905694150421008e-05, -133370.95575291803]),
    (&[1.0, 1.0], [2.718281828459045, 1.0, 0.5, -1.0, 0.5403023058681398, -0.8414709848078965, 2.5, -0.75]),
    (&[1e-08, 40.0], [5884631672396658.0, 0.5527390050898423, 0.1581113830479468, -2500000.0, 0.018627828766640677, -0.04167345155172491, 252.9822128767159, -24999.99843445821]),
    (&[1.0, 1.5, 2.5], [2.7826602710715798, -0.20006972830022537, -0.06206385606038499, 0.26666666666666666, -0.47404723072827587, 0.044832927457491324, 2.410059870755306, 0.193073021648354]),
    (&[1.0, 1.0, 1.25], [1.4798507502085574, -0.42970317897264393, -0.11145618000168243, 0.8, -0.44099107070952354, -0.2337951563343508, 1.9508497187473712, 0.5343521720392207]),
    (&[1.0, 1.01, 1.02], [1.372811947550821, -0.49017205078226334, -0.12315193985129354, 0.9706853038245, -0.4234123938547499, -0.2659281446082256, 1.8843478305327868, 0.6385900199995104]),
    (&[1.0, 1.0000001, 2.0], [1.952492501347714, -0.306852800125338, -0.08578643370554895, 0.49999995000000497, -0.4724758690243913, -0.1149781420900859, 2.156854277677805, 0.34460352633671915]),
    (&[0.75, 0.750000000001, 0.74999999999999], [1.0585000083066867, -0.8888888888881067, -0.19245008972974825, 2.3703703703672416, -0.3408193800117878, -0.365844434436798, 1.6237976320961798, 1.4476075586015145]),
    (&[2.0, 2.0, 2.0], [3.694528049465325, -0.125, -0.04419417382415922, 0.125, -0.45464871341284085, 0.2080734182735712, 2.6516504294495533, 0.09755214615256697]),
    (&[1.0, 1.4, 2.0, 3.5], [1.3228242763024995, 0.05652112200664109, 0.013867853309039892, -0.10204081632653061, 0.05891203978325976, 0.14040432782239542, 0.22617974379901112, -0.0694397019659645]),
    (&[1.0, 1.0, 1.3, 1.3], [0.5275507593736617, 0.22372969756476535, 0.04473528510290459, -0.5917159763313609, -0.06792818039906588, 0.15178531183621405, 0.29178157913233926, -0.3672292779343717]),
    (&[0.5, 0.501, 0.500001, 0.499999999], [0.27485565755303254, 2.662669066407599, 0.3531116257648388, -15.968031968127681, -0.1462437569750311, 0.07994085490305872, 0.4418312087343919, -8.078466091116201]),
    (&[1.0, 1.000000000000001, 1.35, 1.3500100000000002], [0.541346502237084, 0.21107924374073606, 0.04258897868639445, -0.5486927806021732, -0.06406021755143673, 0.1533113450473221, 0.28877368093444383, -0.34196909374417056]),
    (&[3.0, 3.0, 3.0, 3.0], [3.347589487197945, 0.012345679012345678, 0.004009376869372401, -0.012345679012345678, 0.1649987494334076, 0.023520001343311205, 0.18042195912175804, -0.009774083622428811]),
    (&[1.0, 1.000001, 1.000002, 4.0], [1.1663990278420913, 0.10689956471945358, 0.023148108796356835, -0.24999925000175, 0.021016371582030527, 0.13932693997426301, 0.24537030324077969, -0.15935869147933626]),
];

#[test]
fn derivatives_along_pairs_of_axes_are_divided_differences() {
    for (points, expected) in ROWS {
        let n = points.len();
        let a = diagonal_matrix(&Vector::<C, f64>::from(points.to_vec()));
        // Along the pair of axes that follow each other.
        let moved: Vec<M> = (1..n)
            .map(|at| {
                let axes = [at - 1, at].map(|axis| eye::<C, f64>(n).at(axis));
                axes[0].outer(&axes[1]) + axes[1].outer(&axes[0])
            })
            .collect();
        for (f, expected) in functions().into_iter().zip(expected) {
            let found = match &moved[..] {
                [e] => first(f, &a, e),
                [e, g] => second(f, &a, [e, g]),
                [e, g, h] => third(f, &a, [e, g, h]),
                _ => unreachable!("up to four points"),
            };
            let found: f64 = found.at((0, n - 1)).item();
            let error = (found - expected).abs() / (expected.abs() * f64::EPSILON);
            assert!(error < 50.0, "{f}, {points:?}: {found}, {expected}, {error} units");
        }
    }
}

/// Weighted sums of the elements of functions, with derivatives of the first three orders: the gradient, and that moved along one and
/// along two matrices.
macro_rules! derivatives {
    ($(fn $name:ident($a:ident) $value:expr;)*) => {$(
        fn $name<A: Algebra>((a, e, g): (&Matrix<A, f64>, &Matrix<A, f64>, &Matrix<A, f64>)) -> (Matrix<A, f64>, (Matrix<A, f64>, Matrix<A, f64>)) {
            fn weighted<A: Algebra>($a: &Matrix<A, f64>) -> Scalar<A, f64> {
                let value = $value;
                let n = value.shape()[0];
                let weights = (iota(n * n).cast::<f64>() + 0.4).sin().reshape((n, n));
                (value * weights).sum()
            }
            fn gradient<A: Algebra>(a: &Matrix<A, f64>) -> Matrix<A, f64> {
                grad(|a: &Matrix<_, f64>| weighted(a), a)
            }
            let moved = jvp(|a: &Matrix<_, f64>| gradient(a), a, e).1;
            let twice = jvp(|a: &Matrix<_, f64>| jvp(|a: &Matrix<_, f64>| gradient(a), a, &e.lift_forward()).1, a, g).1;
            (gradient(a), (moved, twice))
        }
    )*};
}

fn symmetric<A: Algebra>(a: &Matrix<A, f64>) -> Matrix<A, f64> {
    0.5 * (a + a.t())
}

derivatives! {
    fn cube(a) spectral_function(a, SpectralFunction::power(3.0));
    fn product(a) { let a = symmetric(a); a.dot(&a).dot(&a) };
    fn reciprocal(a) spectral_function(a, SpectralFunction::Reciprocal);
    fn inverted(a) inverse(&symmetric(a));
    fn exponential(a) spectral_function(a, SpectralFunction::Exp);
    fn exponential_of_any(a) expm(&symmetric(a));
    fn there_and_back(a) spectral_function(&logm(a), SpectralFunction::Exp);
    fn square_of_root(a) { let root = sqrtm(a); root.dot(&root) };
    fn alone(a) symmetric(a);
    fn sums(a) spectral_sum(a, SpectralFunction::Exp).insert_axis(0).insert_axis(1);
    fn traces(a) trace(&expm(&symmetric(a))).insert_axis(0).insert_axis(1);
}

#[test]
fn all_orders_are_right_whatever_the_gaps() {
    let (e, g): (M, M) = (
        [[0.5, 1.0, -0.2], [0.3, -0.25, 2.0], [0.0, 0.4, 1.0]].into(),
        [[-0.7, 0.1, 0.6], [0.2, 0.9, -0.3], [0.8, -0.5, 0.2]].into(),
    );
    let mut all = vec![[1.0; 3], [1.0, 1.0, 2.0], [0.5, 1.25, 3.0]];
    all.extend((2..=17).step_by(3).map(|power| [1.0, 1.0 + 10.0_f64.powi(-power), 2.0]));
    for values in all {
        let a = with_values(values);
        let at = (&a, &e, &g);
        let check = |name: &str, found: (M, (M, M)), expected: (M, (M, M))| {
            let found = [found.0, found.1.0, found.1.1];
            for (order, (found, expected)) in found.iter().zip([expected.0, expected.1.0, expected.1.1]).enumerate() {
                let size = 1.0 + expected.abs().max_all().item();
                let error = distance(found, &expected) / size;
                assert!(error < 1e-12, "{name}, {values:?}, order {}: {error}, {found:?}, {expected:?}", order + 1);
            }
        };
        check("cube", cube(at), product(at));
        check("inverse", reciprocal(at), inverted(at));
        check("exponential", exponential(at), exponential_of_any(at));
        check("exponential of logarithm", there_and_back(at), alone(at));
        check("square of root", square_of_root(at), alone(at));
        check("sum", sums(at), traces(at));
    }
    let a = with_values([1.0, 1.0, 2.0]);
    let staged = stage(|(a, e, g)| exponential((a, e, g)), (&a, &e, &g)).unwrap();
    let (found, expected) = (staged.call((&a, &e, &g)).unwrap(), exponential((&a, &e, &g)));
    assert!(distance(&found.1.0, &expected.1.0) < 1e-12 && distance(&found.1.1, &expected.1.1) < 1e-12);
}

derivatives! {
    fn fifth(a) spectral_function(a, SpectralFunction::power(5.0));
    fn fifth_product(a) { let a = symmetric(a); let square = a.dot(&a); square.dot(&square).dot(&a) };
    fn square(a) spectral_function(a, SpectralFunction::power(2.0));
    fn square_product(a) { let a = symmetric(a); a.dot(&a) };
    fn itself(a) spectral_function(a, SpectralFunction::power(1.0));
    fn nothing(a) spectral_function(a, SpectralFunction::power(0.0));
    fn nothing_product(a) a * 0.0 + eye(3);
}

#[test]
fn whole_powers_have_all_derivatives_at_0() {
    let (e, g): (M, M) = (with_values([0.5, -1.0, 2.0]), with_values([3.0, 1.0, -0.25]));
    for values in [[0.0; 3], [0.0, 0.0, 1.0], [0.0, 1.0, 2.0], [0.0, 1e-30, 1e-10]] {
        let a = diagonal_matrix(&Vector::from(values));
        let at = (&a, &e, &g);
        let pairs = [
            ("5", fifth(at), fifth_product(at)),
            ("3", cube(at), product(at)),
            ("2", square(at), square_product(at)),
            ("1", itself(at), alone(at)),
            ("0", nothing(at), nothing_product(at)),
        ];
        for (power, found, expected) in pairs {
            for (found, expected) in [(found.0, expected.0), (found.1.0, expected.1.0), (found.1.1, expected.1.1)] {
                assert!(distance(&found, &expected) < 1e-12, "{power}, {values:?}: {found:?}, {expected:?}");
            }
        }
    }
}

/// The determinant by expansion along the first row.
fn expansion<A: Algebra>(a: &Matrix<A, f64>) -> Scalar<A, f64> {
    let n = a.shape()[0];
    if n == 1 {
        return a.at((0, 0));
    }
    let below = a.slice(0, 1..n);
    let terms = (0..n).map(|column| {
        let others = concatenate(1, &[below.slice(1, 0..column), below.slice(1, column + 1..n)]);
        let sign = if column % 2 == 0 { 1.0 } else { -1.0 };
        sign * a.at((0, column)) * expansion(&others)
    });
    terms.reduce(|sum, term| sum + term).unwrap()
}

derivatives! {
    fn by_factors(a) determinant(a).insert_axis(0).insert_axis(1) + 1.0;
    fn by_expansion(a) expansion(a).insert_axis(0).insert_axis(1) + 1.0;
}

#[test]
fn determinants_have_derivatives_at_singular_matrices() {
    for n in 1..=5_usize {
        let number = |seed: f64| (iota(n * n).cast::<f64>() * seed).sin().reshape((n, n));
        let (left, right, e, g): (M, M, M, M) = (number(1.3), number(2.9), number(0.7), number(4.1));
        for rank in [n, n - 1, n.saturating_sub(2), 0] {
            let a = left.slice(1, 0..rank).dot(&right.slice(0, 0..rank)) * 1.5;
            let (found, expected) = (by_factors((&a, &e, &g)), by_expansion((&a, &e, &g)));
            let pairs = [(found.0, expected.0), (found.1.0, expected.1.0), (found.1.1, expected.1.1)];
            for (order, (found, expected)) in pairs.iter().enumerate() {
                assert!(
                    distance(found, expected) < 1e-12,
                    "{n}, rank {rank}, order {}: {found:?}, {expected:?}",
                    order + 1
                );
            }
            let staged = stage(|(a, e, g)| by_factors((a, e, g)).1.0, (&a, &e, &g));
            assert!(distance(&staged.unwrap().call((&a, &e, &g)).unwrap(), &pairs[1].1) < 1e-12);
        }
    }
}

#[test]
fn determinants_have_no_derivatives_of_more_orders_than_rows() {
    for n in [2_usize, 4, 5] {
        let number = |seed: f64| -> M { (iota(n * n).cast::<f64>() * seed).sin().reshape((n, n)) };
        let (a, e) = (number(1.3), number(0.7));
        let line = |t: &Scalar<_, f64>| determinant(&(constant(&a) + constant(&e) * t));
        let mut program = stage(line, &scalar(0.25)).unwrap();
        for order in 1..=n + 5 {
            program = program.grad().unwrap();
            let found = program.call(&scalar(0.25)).unwrap().item();
            if order > n {
                assert_eq!(found, 0.0, "{n} rows, order {order}");
                assert!(!program.to_string().contains("cofactors"), "{n} rows, order {order}:\n{program}");
            } else if order == n {
                let expected = (1..=n).map(|x| x as f64).product::<f64>() * determinant(&e).item();
                assert!((found - expected).abs() < 1e-12 * (1.0 + expected.abs()), "{n} rows: {found}, {expected}");
            }
        }
    }
}

fn roots_of_singular_matrices<E: Float>(allowed: f64) {
    for n in [2_usize, 3, 6, 17] {
        for rank in [0, 1, n - 1] {
            let columns = (iota(n * rank).cast::<f64>() * 1.7 + 0.3).sin().reshape((n, rank)).cast::<E>();
            let a: Matrix<C, E> = columns.dot(&columns.t());
            let staged = stage(|a: &Matrix<_, E>| sqrtm(a), &a).unwrap();
            for root in [sqrtm(&a), staged.interpret(&a).unwrap(), staged.call(&a).unwrap()] {
                let error = (root.dot(&root) - &a).cast::<f64>().abs().max_all().item();
                assert!(error <= allowed * n as f64, "{n} rows, rank {rank}: {error}");
            }
        }
    }
    let number = |x: f64| scalar::<C, E>(E::from_number(x));
    // Only the largest eigenvalue tells whether another one is as good as 0.
    for (least, is_root) in [(-allowed * 1e-2, true), (-allowed * 1e3, false)] {
        let a: Matrix<C, E> = diagonal_matrix(&stack(&[number(least), number(1.0), number(1.0)]));
        assert_eq!(sqrtm(&a).cast::<f64>().at((1, 1)).item().is_nan(), !is_root, "{least}");
        assert!(spectral_function(&a, SpectralFunction::Exp).cast::<f64>().lt(3.0).all().item());
    }
    let negative: Matrix<C, E> = -diagonal_matrix(&stack(&[number(allowed), number(0.0)]));
    assert!(sqrtm(&negative).cast::<f64>().to_vec().into_iter().all(f64::is_nan));
}

#[test]
fn singular_matrices_have_roots_without_derivatives() {
    roots_of_singular_matrices::<f64>(1e-14);
    roots_of_singular_matrices::<f32>(1e-5);
    let ones: M = ones((3, 3));
    let slope = grad(|a| sqrtm(a).sum(), &ones);
    assert!(!slope.to_vec().into_iter().any(f64::is_finite), "{slope:?}");
}

/// Multiples of a matrix, their exponentials, and the derivatives of these along another matrix, by mpmath with 60 digits.
#[rustfmt::skip]
#[allow(clippy::excessive_precision)]
const EXPONENTIALS: [(f64, [f64; 9], [f64; 9]); 4] = [
    (0.0009765625, [1.0004871635346169, -0.0012206131978504124, 0.0007325407580767588, 0.001953869153305839, 1.0002426207165869, -0.00048738704228576364, -0.00012061006510416122, 0.0014643812187202388, 0.9990235124132206], [0.25103778960923423, 1.0000446848827094, -0.5006097354876017, 0.7500005031724252, -0.249206141238016, 0.4998467319206065, 1.0004568662265, 0.12355135462616916, -0.748535624702005]),
    (1.0, [0.44587743974209954, -0.7128259781366634, 0.5605930589847773, 1.8233396113398375, -0.019766093238541234, 0.37477429780741073, 1.044597900704497, 0.5827222223807077, 0.42453247020933854], [0.9889332747990771, 0.14669271587674348, -0.45925098258131863, 1.3095861101146198, 0.38097064389864804, 0.012176054881136851, 0.9502764754854898, -0.4026815678057022, 0.09332974667657987]),
    (8.0, [0.5056754913414178, -0.18512200110312113, 0.1786555001294223, 0.6434283955810247, 0.30435619069106085, 0.26153227277692903, 0.5489460730051477, 0.08348616620929007, 0.7076662797795357], [-0.057573182610870105, 0.30199432793595266, -0.25601020185503215, -0.6807371376672002, 0.0949257442136659, -0.12943634597678907, -0.34143221460301615, -0.29886108134403183, -0.03456847069256486]),
    (-16.0, [0.1976585731765981, 4.418870820544353, -2.756261474112791, -7.609362564117195, 1.3365430205932483, 1.2464720048656812, -0.43923850639158324, -5.087339142712616, 4.841720982482079], [-5.612089176941413, 0.9077979739969294, 0.2555581432161011, 3.183451991277124, -7.540013719973294, 4.348932556526517, 7.021651979566262, -2.4849804338441404, 0.016378807824958014]),
];

#[test]
fn exponentials_of_any_matrix_are_precise_each_by_itself() {
    let a: M = [[0.5, -1.25, 0.75], [2.0, 0.25, -0.5], [-0.125, 1.5, -1.0]].into();
    let e: M = [[0.25, 1.0, -0.5], [0.75, -0.25, 0.5], [1.0, 0.125, -0.75]].into();
    let all: Tensor3<C, f64> = stack(&EXPONENTIALS.map(|(scale, ..)| &a * scale));
    let along: Tensor3<C, f64> = stack(&EXPONENTIALS.map(|_| e.clone()));
    let staged = stage(|a: &Tensor3<_, f64>| expm(a), &all).unwrap().jvp().unwrap();
    let results = [jvp(|a: &Tensor3<_, f64>| expm(a), &all, &along), staged.call((&all, &along)).unwrap()];
    for (values, moved) in results {
        for (at, (scale, value, derivative)) in EXPONENTIALS.into_iter().enumerate() {
            let expected = [value, derivative].map(|x| Matrix::from_elements((3, 3), x.to_vec()));
            assert!(distance(&values.at(at), &expected[0]) < 1e-13, "{scale}: {values:?}");
            assert!(distance(&moved.at(at), &expected[1]) < 1e-13, "{scale}: {moved:?}");
        }
    }
}
