//! Gradient descent, as `particle` and `saddle` want it: with a step size that doubles after ten good steps, and is halved
//! after a bad one. It is a function of every algebra, so that it can be differentiated itself.

use deltaray::prelude::*;

/// How a derivative is taken.
#[derive(Clone, Copy, Debug)]
pub enum Mode {
    Forward,
    Reverse,
}

impl Mode {
    /// The modes of the outer and of the inner derivative, from a function's name, such as `fr`.
    pub fn pair(function: &str) -> Option<[Mode; 2]> {
        let mode = |letter| match letter {
            b'f' => Some(Mode::Forward),
            b'r' => Some(Mode::Reverse),
            _ => None,
        };
        let [outer, inner] = function.as_bytes() else { return None };
        Some([mode(*outer)?, mode(*inner)?])
    }
}

fn length<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
    x.dot(x).sqrt()
}

/// Where a function is least, as found from a start by its gradient.
pub fn argmin<A: Algebra>(
    start: &Vector<A, f64>,
    f: impl Fn(&Vector<A, f64>) -> Scalar<A, f64>,
    gradient: impl Fn(&Vector<A, f64>) -> Vector<A, f64>,
) -> Vector<A, f64> {
    let first = (start.clone(), f(start), gradient(start), scalar(1e-5), scalar(0));
    type State<A> = (Vector<A, f64>, Scalar<A, f64>, Vector<A, f64>, Scalar<A, f64>, Scalar<A, i64>);
    let goes_on = |(_, _, slope, eta, steps): &State<A>| {
        length(slope).gt(1e-5) & (steps.equal(10) | length(&(eta * slope)).gt(1e-5))
    };
    let step = |(x, value, slope, eta, steps): State<A>| {
        let doubled = || (x.clone(), value.clone(), slope.clone(), 2.0 * &eta, scalar(0));
        let halved = || (x.clone(), value.clone(), slope.clone(), &eta / 2.0, scalar(0));
        cond(steps.equal(10), doubled, || {
            let next = &x - &eta * &slope;
            let after = f(&next);
            cond(after.lt(&value), || (next.clone(), after.clone(), gradient(&next), eta.clone(), &steps + 1), halved)
        })
    };
    while_loop(first, goes_on, step).0
}

/// Where a function is largest.
pub fn argmax<A: Algebra>(
    start: &Vector<A, f64>,
    f: impl Fn(&Vector<A, f64>) -> Scalar<A, f64>,
    gradient: impl Fn(&Vector<A, f64>) -> Vector<A, f64>,
) -> Vector<A, f64> {
    argmin(start, |x| -f(x), |x| -gradient(x))
}
