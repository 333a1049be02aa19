//! Elementwise operations, on scalars and arrays.

use super::prelude::*;

/// Doubles a value as often as is said, each time by a sum with itself: sharing keeps it linear.
fn halved_doublings<A: Algebra>(a: &Scalar<A, f64>, b: &Scalar<A, f64>, times: usize, i: f64) -> Scalar<A, f64> {
    let mut y = a / b;
    for _ in 0..times {
        y = 0.499999985 * (&y + &y - i);
    }
    y - i
}

/// The rows.
pub fn rows() -> Vec<Row> {
    let mut rows = formulas();
    rows.extend(functions());
    rows.extend(operations());
    rows.extend(integers());
    rows
}

fn functions() -> Vec<Row> {
    let pi = std::f64::consts::PI;
    vec![
        row!("a power's mixed second derivative where the exponent is 0": (V, V) => V,
            |(x, y)| grad(|x| x.pow(y.lift()).sum(), x), (v([1.0, 2.0, 0.5]), v([0.0, 0.0, 0.0])))
            .value([0.0; 3])
            .gradient([0.0, 0.0, 0.0, 1.0, 0.5, 2.0])
            .smooth(),
        row!("roots and powers": V => V, |x| x.cbrt() * x.exp2() - x.log2() / x.log10() + x.hypot(2.0), v([8.0, 0.5, 2.0]))
            .smooth(),
        row!("inverse trigonometric": V => V, |x| x.asin() * x.acos() + x.atan(), v([0.5, -0.25, 0.0])).smooth(),
        row!("angles of the unit triangle": S => (S, S, S), |x| (x.asin(), x.acos(), (x * 2.0).atan()), s(0.5))
            .value([pi / 6.0, pi / 3.0, pi / 4.0])
            .gradient([1.0])
            .smooth(),
        row!("hyperbolic": V => V, |x| x.sinh() * x.cosh().recip() - x.tanh(), v([0.5, -2.0]))
            .value([0.0, 0.0])
            .gradient([0.0, 0.0])
            .smooth(),
        row!("inverse hyperbolic": V => V, |x| x.sinh().asinh() + (x.cosh() + 1e-3).acosh() + x.tanh().atanh(), v([0.5, 1.5]))
            .smooth(),
        row!("error functions": V => V, |x| x.erf() + x.erfc() + x.erf() * 2.0, v([0.0, 0.5, -3.0]))
            .smooth(),
        row!("the normal distribution": V => S, |x| ((x / 2.0f64.sqrt()).erf() * 0.5 + 0.5).ln().sum(), v([0.0, 1.0, -2.0]))
            .smooth(),
        row!("gamma functions": V => V, |x| x.lgamma() + x.digamma() * x.polygamma(1), v([0.5, 1.0, 7.5, -0.5])).smooth(),
        row!("gamma functions at 1": S => (S, S, S), |x| (x.lgamma(), x.digamma(), x.polygamma(1)), s(1.0))
            .value([0.0, -0.5772156649015329, pi * pi / 6.0])
            .gradient([-0.5772156649015329 + pi * pi / 6.0 - 2.4041138063191885])
            .smooth(),
        row!("a Poisson likelihood": (V, V) => S, |(k, rate)| (k.xlogy(rate) - rate - (k + 1.0).lgamma()).sum(),
            (v([0.0, 3.0, 1.0]), v([0.5, 2.0, 4.0]))),
        row!("logaddexp of two": (V, V) => V, |(x, y)| x.logaddexp(y), (v([0.0, 1000.0, 2.0]), v([0.0, 1.0, 2.5])))
            .smooth(),
        row!("bits as masks": (V, Ns) => V,
            |(x, k)| build(x.len(), |i| (k.at(&i) & 1).equal(1).select(x.at(&i).powi(2), x.at((k.at(&i) >> 1) ^ 1))),
            (v([1.0, 2.0, 3.0, 4.0]), ns([1, 2, 5, 4])))
            .value([1.0, 1.0, 9.0, 4.0]),
        row!("multiplied and added": (V, V, S) => V, |(a, x, b)| x.mul_add(a, b), (some(3, 301), some(3, 302), s(0.5)))
            .smooth(),
    ]
}

fn formulas() -> Vec<Row> {
    let (nu, gamma, omega, time) = (2.0, 1.5, 0.4, 2.1);
    vec![
        row!("foo": (S, S, S) => S, |(x, y, z)| foo(x, y, z), (s(1.1), s(2.2), s(3.3)))
            .value([4.242393641025528])
            .gradient([2.4396285219055063, -1.953374825727421, 0.9654825811012627])
            .smooth(),
        row!("foo of matrices": (M, M, M) => M, |(x, y, z)| foo(x, y, z),
            (m([[1.1; 2]; 2]), m([[2.2; 2]; 2]), m([[3.3; 2]; 2])))
        .value([4.242393641025528; 4])
        .gradient([[2.4396285219055063; 4], [-1.953374825727421; 4], [0.9654825811012627; 4]].concat())
        .smooth(),
        row!("sum of foo of matrices": (M, M, M) => S, |(x, y, z)| foo(x, y, z).sum(),
            (m([[1.1; 2]; 2]), m([[2.2; 2]; 2]), m([[3.3; 2]; 2])))
        .value([16.96957456410211])
        .smooth(),
        row!("foo of large constant arrays": (S, S, S) => T3,
            |(x, y, z)| foo(&x.broadcast_to((3, 534, 3)), &y.broadcast_to((3, 534, 3)), &z.broadcast_to((3, 534, 3))),
            (s(1.1), s(2.2), s(3.3)))
        .gradient([4806.0 * 2.4396285219055063, 4806.0 * -1.953374825727421, 4806.0 * 0.9654825811012627]),
        row!("bar": (S, S) => S, |(x, y)| bar(x, y), (s(1.1), s(2.2)))
            .gradient([3.1435239435581166, -1.1053869545195814])
            .smooth(),
        row!("tangent of bar": (S, S, S, S) => S,
            |(x, y, dx, dy)| jvp(|(x, y)| bar(x, y), &(x.clone(), y.clone()), &(dx.clone(), dy.clone())).1,
            (s(1.1), s(2.2), s(0.1), s(0.2)))
        .value([9.327500345189534e-2])
        .smooth(),
        row!("bar of one": V => V, |x| bar(x, x), v([1.0])).gradient([3.6174114266850617]).smooth(),
        row!("tangent of bar of one": V => V, |x| jvp(|x| bar(x, x), x, &x.filled(1.1)).1, v([1.0]))
            .value([3.9791525693535674])
            .smooth(),
        row!("bar at rank 12": TensorD<Concrete, f64> => TensorD<Concrete, f64>, |x| bar(x, x),
            t(vec![1; 12], &[1.0]))
        .gradient([3.6174114266850617])
        .smooth(),
        row!("product of four": (S, S, S, S) => S, |(a, b, c, d)| a * b * c * d, (s(1.0), s(2.0), s(3.0), s(4.0)))
            .value([24.0])
            .gradient([24.0, 12.0, 8.0, 6.0])
            .smooth(),
        row!("right fold of x + 2y": (S, S, S, S) => S, |(a, b, c, d)| a + 2.0 * (b + 2.0 * (c + 2.0 * d)),
            (s(1.0), s(2.0), s(3.0), s(4.0)))
        .gradient([1.0, 2.0, 4.0, 8.0])
        .smooth(),
        row!("right fold of 2x + 2y": (S, S, S, S) => S,
            |(a, b, c, d)| 2.0 * a + 2.0 * (2.0 * b + 2.0 * (2.0 * c + 2.0 * d)),
            (s(1.0), s(2.0), s(3.0), s(4.0)))
        .gradient([2.0, 4.0, 8.0, 8.0])
        .smooth(),
        row!("right fold of 2x + 3y": (S, S, S, S) => S,
            |(a, b, c, d)| 2.0 * a + 3.0 * (2.0 * b + 3.0 * (2.0 * c + 3.0 * d)),
            (s(1.0), s(2.0), s(3.0), s(4.0)))
        .gradient([2.0, 6.0, 18.0, 27.0])
        .smooth(),
        row!("x + x·y": (S, S) => S, |(x, y)| x + x * y, (s(5.0), s(3.0))).value([20.0]).gradient([4.0, 5.0]).smooth(),
        row!("a shared sum times": (S, S) => S, |(x, y)| { let r = x + y; r * y }, (s(15.0), s(7.0)))
            .value([154.0])
            .gradient([7.0, 29.0])
            .smooth(),
        row!("y·x·x + (2 + 2)": (S, S) => S, |(x, y)| y * x * x + (scalar::<A, f64>(2.0) + 2.0), (s(3.0), s(2.0)))
            .value([22.0])
            .gradient([12.0, 9.0])
            .smooth(),
        row!("tangent of y·x·x + (2 + 2)": (S, S) => S,
            |at| jvp(|(x, y)| y * x * x + (scalar(2.0) + 2.0), at, &(scalar(1.0), scalar(0.0))).1, (s(3.0), s(2.0)))
        .value([12.0])
        .gradient([4.0, 6.0])
        .smooth(),
        row!("a quotient of tangents": (S, S, S, S) => S, |(nu, gamma, omega, time)| {
                let tan = (omega * time).tan();
                nu * &tan / (gamma - &tan)
            }, (s(nu), s(gamma), s(omega), s(time)))
        .gradient([2.902513633461043, -15.102798701184362, 95.71780341846966, 18.23196255589898]),
        row!("a quotient of tangents, scaled": (S, S, S, S) => S, |(nu, gamma, omega, time)| {
                let tan = (omega * time).tan();
                gamma * (nu * &tan / (gamma - &tan))
            }, (s(nu), s(gamma), s(omega), s(time)))
        .gradient([4.353770450191565, -16.849170784854458, 143.57670512770449, 27.347943833848472]),
        row!("ln x + x·y − sin y": (S, S) => S, |(x, y)| x.ln() + x * y - y.sin(), (s(2.0), s(5.0)))
            .value([2.0f64.ln() + 10.0 - 5.0f64.sin()])
            .gradient([5.5, 2.0 - 5.0f64.cos()])
            .smooth(),
        row!("a use that is dead": S => S, |x| {
                let y = x * x;
                let dead = &y * 7.0;
                x + 1.0 + dead.filled(0.0)
            }, s(3.0))
        .gradient([1.0])
        .smooth(),
        row!("doubled ten times": S => S, |x| (0..10).fold(x.clone(), |x, _| &x + &x), s(1.5))
            .value([1536.0])
            .gradient([1024.0])
            .smooth(),
        row!("squared eight times": S => S, |x| (0..8).fold(x.clone(), |x, _| &x * &x), s(1.01))
            .value([1.01f64.powi(256)])
            .gradient([256.0 * 1.01f64.powi(255)])
            .smooth(),
        row!("seven damped doublings": (S, S) => S, |(a, b)| halved_doublings(a, b, 7, 0.0), (s(2.0), s(3.0)))
            .gradient([0.3333332633, -0.2222221756])
            .digits(1e-9)
            .smooth(),
        row!("2000 damped doublings": (S, S) => S, |(a, b)| halved_doublings(a, b, 2000, 1.0), (s(2.0), s(3.0)))
            .gradient([0.3333133339329949, -0.22220888928866325])
            .heavy(),
        row!("7000 damped doublings": (S, S) => S, |(a, b)| halved_doublings(a, b, 7000, 0.0), (s(2.0), s(3.0)))
            .gradient([0.3332633406816766, -0.22217556045445108])
            .heavy(),
        row!("a build of damped doublings": (S, S) => V,
            |(a, b)| build(1000, |_| halved_doublings(a, b, 7, 0.0)), (s(2.0), s(3.0)))
        .gradient([333.3332633, -222.2221756])
        .digits(1e-9),
        row!("a build of 7000 damped doublings": (S, S) => V,
            |(a, b)| build(1000, |_| halved_doublings(a, b, 7000, 0.0)), (s(2.0), s(3.0)))
        .gradient([333.2633406816766, -222.17556045445108])
        .large()
        .heavy(),
        row!("third derivative of x⁴": V => V,
            |x| grad(|x| grad(|x| grad(|x| x.powi(4).sum(), x).sum(), x).sum(), x), v([1.0, 2.0, 3.0]))
        .value([24.0, 48.0, 72.0])
        .gradient([24.0, 24.0, 24.0])
        .smooth(),
        row!("slope of sine": S => S, |x| grad(|x| x.sin(), x), s(1.1))
            .value([0.4535961214255773])
            .gradient([-0.8912073600614354])
            .smooth(),
        row!("second slope of sine": S => S, |x| grad(|x| grad(|x| x.sin(), x), x), s(1.1))
            .value([-0.8912073600614354])
            .gradient([-0.4535961214255773])
            .smooth(),
        row!("forward over forward of sine": S => S,
            |x| jvp(|x| jvp(|x| x.sin(), x, &scalar(1.0)).1, x, &scalar(1.0)).1, s(1.1))
        .value([-0.8912073600614354])
        .gradient([-0.4535961214255773])
        .smooth(),
        row!("forward over reverse of sine": S => S, |x| jvp(|x| grad(|x| x.sin(), x), x, &scalar(1.0)).1, s(1.1))
            .value([-0.8912073600614354])
            .gradient([-0.4535961214255773])
            .smooth(),
        row!("reverse over forward of sine": S => S, |x| grad(|x| jvp(|x| x.sin(), x, &scalar(1.0)).1, x), s(1.1))
            .value([-0.8912073600614354])
            .gradient([-0.4535961214255773])
            .smooth(),
        row!("slope of sine at the slope of sine": S => S, |x| grad(|y| y.sin(), &grad(|x| x.sin(), x)), s(1.1))
            .value([0.8988770945225438])
            .gradient([0.39052780643689855])
            .smooth(),
        row!("a derivative by a nearer variable": S => S,
            |x| jvp(|y| x.lift_forward() + y, &scalar(3.0), &scalar(1.0)).1, s(2.0))
        .value([1.0])
        .gradient([0.0]),
        row!("a derivative by another variable": (S, S) => S, |(x, y)| {
                jvp(|x| jvp(|y| x.lift_forward() + y, &scalar(3.0), &scalar(1.0)).1, x, &scalar(1.0)).1 + y * 0.0
            }, (s(2.0), s(0.0)))
        .value([0.0])
        .gradient([0.0, 0.0]),
        row!("a derivative without its variable": S => S,
            |x| jvp(|x| x * jvp(|_| x.lift_forward(), &scalar(1.0), &scalar(1.0)).1, x, &scalar(1.0)).1, s(2.0))
        .value([0.0])
        .gradient([0.0]),
        row!("mixed derivatives, reverse over reverse": (S, S) => S,
            |(x, y)| grad(|(y, x)| grad(|(x, y)| x * y, (x, y)), (y, x)), (s(1.0), s(2.0)))
        .value([1.0])
        .gradient([0.0, 0.0]),
        row!("mixed derivatives, forward over reverse": (S, S) => S,
            |(x, y)| jvp(|(y, x)| grad(|(x, y)| x * y, (x, y)), (y, x), &scalar(1.0)).1, (s(1.0), s(2.0)))
        .value([1.0]),
        row!("mixed derivatives, reverse over forward": (S, S) => S,
            |(x, y)| grad(|(y, x)| jvp(|(x, y)| x * y, (x, y), &scalar(1.0)).1, (y, x)), (s(1.0), s(2.0)))
        .value([1.0]),
        row!("mixed derivatives, forward over forward": (S, S) => S,
            |(x, y)| jvp(|(y, x)| jvp(|(x, y)| x * y, (x, y), &scalar(1.0)).1, (y, x), &scalar(1.0)).1,
            (s(1.0), s(2.0)))
        .value([1.0]),
    ]
}

fn operations() -> Vec<Row> {
    let relu = [1.1, -2.2, 0.0, 4.4, 5.5, 6.6, 7.7, 8.8, -9.9, -10.0, 11.0, 12.0];
    let mask = [1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0];
    let logistic = |x: f64| 1.0 / (1.0 + (-x).exp());
    let slope = |x: f64| logistic(x) * (1.0 - logistic(x));
    let scaled_mask: Vec<f64> = mask.iter().map(|x| 7.0 * x).chain([57.1]).collect();
    vec![
        row!("logistic": S => S, |x| x.sigmoid(), s(3.0)).gradient([4.5176659730912e-2]).digits(1e-12).smooth(),
        row!("logistic by exponentials": S => S, |x| 1.0 / ((-x).exp() + 1.0), s(3.0))
            .gradient([4.5176659730912e-2])
            .digits(1e-12)
            .smooth(),
        row!("logistic of five axes": T5 => T5, |x| x.sigmoid(), t([2, 2, 1, 2, 2], &T16))
            .gradient(T16.map(slope))
            .smooth(),
        row!("logistic twice of five axes": T5 => T5, |x| x.sigmoid().sigmoid(), t([2, 2, 1, 2, 2], &T16))
            .gradient(T16.map(|x| slope(x) * slope(logistic(x))))
            .smooth(),
        row!("logistic of four": V => V, |x| x.sigmoid(), v([5.0, 2.0, 6.0, 1.0]))
            .gradient([6.648056670790033e-3, 0.10499358540350662, 2.466509291359931e-3, 0.19661193324148185])
            .smooth(),
        row!("logistic twice": V => V, |x| x.sigmoid().sigmoid(), v([5.0, 2.0, 6.0, 1.0]))
            .gradient([1.3111246391159124e-3, 2.1750075272657612e-2, 4.8549901151740267e-4, 4.312916016242333e-2])
            .smooth(),
        row!("logistic by tanh": V => V, |x| 0.5 * ((0.5 * x).tanh() + 1.0), v([5.0, 2.0, 6.0, 1.0]))
            .gradient([6.648056670790033e-3, 0.10499358540350662, 2.466509291359931e-3, 0.19661193324148185])
            .smooth(),
        row!("relu": M => M, |x| x.relu(), t((3, 4), &relu)).gradient(mask),
        row!("relu by max": M => M, |x| x.max(0.0), t((3, 4), &relu)).gradient(mask),
        row!("relu by select": M => M, |x| x.gt(0.0).select(x, 0.0), t((3, 4), &relu)).gradient(mask),
        row!("relu of a scaled table": (M, S) => M, |(x, r)| (x * r.broadcast_to((3, 4))).relu(),
            (t((3, 4), &relu), s(7.0)))
            .gradient(scaled_mask.clone()),
        row!("relu by max of a scaled table": (M, S) => M, |(x, r)| (x * r).max(0.0), (t((3, 4), &relu), s(7.0)))
            .gradient(scaled_mask.clone()),
        row!("relu by a mask of a scaled table": (M, S) => M, |(x, r)| {
                let y = x * r;
                y.gt(0.0).cast::<f64>() * y
            }, (t((3, 4), &relu), s(7.0)))
            .gradient(scaled_mask),
        row!("constant": V => S, |x| scalar(42.0), v([1.0, 2.0])).value([42.0]).gradient([0.0, 0.0]).smooth(),
        row!("identity": V => V, |x| x.clone(), v([1.0, 2.0])).gradient([1.0, 1.0]).smooth(),
        row!("floor": V => V, |x| x.floor() * x.floor(), v([1.5, -1.5]))
            .value([1.0, 4.0])
            .gradient([0.0, 0.0])
            .smooth(),
        row!("round": V => V, |x| x.round() * x, v([1.4, -1.6, 2.5])).value([1.4, 3.2, 7.5]).gradient([1.0, -2.0, 3.0]),
        row!("abs and sign": V => V, |x| x.abs() * x.sign(), v([1.5, -2.0]))
            .value([1.5, -2.0])
            .gradient([1.0, 1.0])
            .smooth(),
        row!("neg and recip": V => V, |x| -x.recip(), v([2.0, -4.0])).value([-0.5, 0.25]).gradient([0.25, 0.0625]),
        row!("sqrt": V => V, |x| x.sqrt(), v([4.0, 9.0])).value([2.0, 3.0]).gradient([0.25, 1.0 / 6.0]).smooth(),
        row!("exp and ln": V => V, |x| x.exp().ln() + x.ln().exp(), v([0.5, 2.0]))
            .value([1.0, 4.0])
            .gradient([2.0, 2.0])
            .smooth(),
        row!("expm1 and ln1p": V => V, |x| x.expm1().ln1p() * x, v([1e-9, 0.5]))
            .value([1e-18, 0.25])
            .gradient([2e-9, 1.0])
            .smooth(),
        row!("expm1 near 0": V => V, |x| x.expm1() * 1e9, v([1e-9]))
            .value([1.0000000005])
            .gradient([1e9 * 1.000000001]),
        row!("ln1p near 0": V => V, |x| x.ln1p() * 1e9, v([1e-9])).value([0.9999999995]),
        row!("sin, cos and tan": V => V, |x| x.sin() / x.cos() - x.tan() + x.sin().powi(2) + x.cos().powi(2),
            v([0.3, -1.0]))
            .value([1.0, 1.0])
            .gradient([0.0, 0.0])
            .smooth(),
        row!("tanh": V => V, |x| x.tanh(), v([0.5, -1.0]))
            .gradient([1.0 - 0.5f64.tanh().powi(2), 1.0 - 1.0f64.tanh().powi(2)])
            .smooth(),
        row!("softplus": V => V, |x| x.softplus(), v([0.0, 2.0, -3.0]))
            .value([2.0f64.ln(), 2.0f64.exp().ln_1p(), (-3.0f64).exp().ln_1p()])
            .gradient([0.5, 1.0 / (1.0 + (-2.0f64).exp()), 1.0 / (1.0 + 3.0f64.exp())])
            .smooth(),
        row!("softplus without overflow": V => V, |x| x.softplus(), v([800.0, -800.0]))
            .value([800.0, 0.0])
            .gradient([1.0, 0.0]),
        row!("atan2 in all quadrants": (V, V) => V, |(y, x)| y.atan2(x),
            (v([1.0, 1.0, -1.0, -1.0]), v([2.0, -2.0, 2.0, -2.0])))
            .gradient([0.4, -0.4, 0.4, -0.4, -0.2, -0.2, 0.2, 0.2])
            .smooth(),
        row!("powers": (V, V) => V, |(x, y)| x.pow(y), (v([2.0, 3.0]), v([3.0, 0.5])))
            .value([8.0, 3.0f64.sqrt()])
            .gradient([12.0, 0.5 / 3.0f64.sqrt(), 8.0 * 2.0f64.ln(), 3.0f64.sqrt() * 3.0f64.ln()])
            .smooth(),
        row!("whole powers": V => V, |x| x.powi(3) + x.powi(-2) + x.powi(0) + x.powi(1), v([2.0, -1.0]))
            .value([11.25, 0.0])
            .gradient([12.75, 6.0])
            .smooth(),
        row!("power at (0, 1)": (S, S) => S, |(x, y)| x.pow(y), (s(0.0), s(1.0)))
            .value([0.0])
            .gradient([1.0, 0.0])
            .once(),
        row!("power at (0, 0)": (S, S) => S, |(x, y)| x.pow(y), (s(0.0), s(0.0)))
            .value([1.0])
            .gradient([0.0, 0.0])
            .once(),
        row!("minimum and maximum": (V, V) => (V, V), |(x, y)| (x.min(y) * 2.0, x.max(y) * 3.0),
            (v([1.0, 2.0, 3.0]), v([2.0, 1.0, 3.0])))
            .value([2.0, 2.0, 6.0, 6.0, 6.0, 9.0])
            .gradient([2.0, 3.0, 5.0, 3.0, 2.0, 0.0])
            .once(),
        row!("clipping": V => V, |x| x.max(-1.0).min(1.0), v([-2.0, 0.5, 2.0, 1.0, -1.0]))
            .value([-1.0, 0.5, 1.0, 1.0, -1.0])
            .gradient([0.0, 1.0, 0.0, 0.0, 0.0]),
        row!("keep_zero": (V, V) => V, |(c, x)| c.keep_zero(x), (v([0.0, 2.0]), v([f64::INFINITY, 3.0])))
            .value([0.0, 6.0])
            .values_only(),
        row!("keep_zero of numbers": (V, V) => V, |(c, x)| c.keep_zero(x), (v([2.0, -1.0]), v([5.0, 3.0])))
            .value([10.0, -3.0])
            .gradient([5.0, 3.0, 2.0, -1.0])
            .smooth(),
        row!("comparisons": (V, V) => (Bs, Bs, Bs, Bs, Bs, Bs),
            |(x, y)| (x.lt(y), x.le(y), x.gt(y), x.ge(y), x.equal(y), x.not_equal(y)),
            (v([1.0, 2.0, 2.0]), v([2.0, 2.0, 1.0])))
            .value([
                1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0,
            ])
            .gradient([0.0; 6]),
        row!("a comparison as a number": V => V, |x| x.gt(0.0).cast::<f64>() * x, v([1.0, -2.0])).gradient([1.0, 0.0]),
        row!("casts between floats": Fs => V, |x| (x.cast::<f64>() * 3.0).cast::<f32>().cast::<f64>(), f([1.5, -0.5]))
            .value([4.5, -1.5])
            .gradient([3.0, 3.0]),
        row!("a cast to integers": V => V, |x| x.cast::<i64>().cast::<f64>() * x, v([1.7, -2.3]))
            .value([1.7, 4.6])
            .gradient([1.0, -2.0])
            .smooth(),
        row!("operators on values, references and literals": (V, V) => V,
            |(x, y)| 1.0 - (2.0 * x - y.clone()) / (x + 3.0) + (0.5 + y) * -x - 2.0 / y.clone(), (v([1.0, 2.0]), v([3.0, -1.0])))
            .smooth(),
        row!("assigning operators": (V, V) => V, |(x, y)| {
                let mut z = x.clone();
                z += y;
                z *= x;
                z -= 1.0;
                z /= y;
                z
            }, (v([1.0, 2.0]), v([3.0, -1.0])))
            .value([1.0, -1.0])
            .smooth(),
        row!("broadcasting a row over a table": (M, V) => M,
            |(x, y)| x * y + y, (m([[1.0, 2.0], [3.0, 4.0]]), v([10.0, 20.0])))
            .value([20.0, 60.0, 40.0, 100.0])
            .gradient([10.0, 20.0, 10.0, 20.0, 6.0, 8.0])
            .smooth(),
        row!("broadcasting a column over a row": (V, V) => M, |(x, y)| x.insert_axis(1) * y,
            (v([1.0, 2.0]), v([3.0, 4.0, 5.0])))
            .value([3.0, 4.0, 5.0, 6.0, 8.0, 10.0])
            .gradient([12.0, 12.0, 3.0, 3.0, 3.0])
            .smooth(),
        row!("f32 formulas": (Fs, F) => Fs, |(x, y)| (x * y).sin() + x.exp() / y, (f([0.5, 1.5]), scalar(2.0)))
            .value([1.6658316, 2.3819646]),
        row!("f32 relu": Fs => F, |x| (x.relu() * x).sum(), f([1.5, -2.0, 0.5])).gradient([3.0, 0.0, 1.0]),
    ]
}

fn integers() -> Vec<Row> {
    vec![
        row!("integer division": (Ns, Ns) => (Ns, Ns, Ns, Ns),
            |(x, y)| (x / y, x % y, x.floor_div(y), x.modulo(y)),
            (ns([7, -7, 7, -7, 5, 0]), ns([2, 2, -2, -2, 0, 0])))
        .value([
            3.0, -3.0, -3.0, 3.0, 5.0, 0.0, 1.0, -1.0, 1.0, -1.0, 5.0, 0.0, 3.0, -4.0, -4.0, 3.0, 5.0, 0.0, 1.0, 1.0,
            -1.0, -1.0, 5.0, 0.0,
        ]),
        row!("the smallest integer by −1": (Ns, Ns) => (Ns, Ns), |(x, y)| (x / y, x % y),
            (ns([i64::MIN]), ns([-1])))
        .value([i64::MIN as f64, 0.0]),
        row!("integer arithmetic wraps": (Vector<Concrete, i32>, N) => (Vector<Concrete, i32>, N),
            |(x, y)| (x + 1, y * 2 - 1), (vec![i32::MAX, 1].into(), n(i64::MIN)))
        .value([i32::MIN as f64, 2.0, -1.0]),
        row!("integers have no gradient": (V, Ns, Bs) => S,
            |(x, i, p)| p.select(x.gather(i), 0.0).sum() + i.cast::<f64>().sum(),
            (v([1.0, 2.0]), ns([1, 0]), vec![true, false].into()))
        .value([3.0])
        .gradient([0.0, 1.0]),
        row!("integers as factors": (V, Ns) => V, |(x, i)| x * (i * i - 1).cast::<f64>(), (v([1.5, 2.5]), ns([2, -3])))
            .value([4.5, 20.0])
            .gradient([3.0, 8.0])
            .smooth(),
        row!("truth values": (Bs, Bs) => (Bs, Bs, Bs), |(p, q)| (p & q, p | q, !p),
            (vec![true, true, false].into(), vec![true, false, false].into()))
        .value([1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0]),
        row!("integer minimum, maximum, abs and sign": (Ns, Ns) => (Ns, Ns, Ns, Ns),
            |(x, y)| (x.min(y), x.max(y), x.abs(), (x - y).sign()), (ns([3, -4]), ns([-5, 6])))
        .value([-5.0, -4.0, 3.0, 6.0, 3.0, 4.0, 1.0, -1.0]),
        row!("casts that saturate": V => (Vector<Concrete, i32>, Ns, Bs), |x| (x.cast(), x.cast(), x.cast()),
            v([1e99, -1e99, f64::NAN, -2.9]))
        .value([
            i32::MAX as f64,
            i32::MIN as f64,
            0.0,
            -2.0,
            i64::MAX as f64,
            i64::MIN as f64,
            0.0,
            -2.0,
            1.0,
            1.0,
            1.0,
            1.0,
        ])
        .gradient([0.0; 4]),
    ]
}
