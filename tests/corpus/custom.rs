//! Functions with derivative rules of their own: in either mode, at any order, in builds, loops and sides of conditionals.

use super::prelude::*;

fn sine() -> impl Part<In = S, Out = S> {
    function!(S => S, |x| x.sin())
}

fn sine_pulled() -> impl Part<In = (S, S, S), Out = S> {
    function!((S, S, S) => S, |(x, _, c)| x.cos() * c)
}

/// A sine with its rule of reverse mode.
fn reverse_sine<A: Algebra>(x: &Scalar<A, f64>) -> Scalar<A, f64> {
    custom_vjp(&sine(), &sine_pulled(), x)
}

/// A sine with its rule of forward mode.
fn forward_sine<A: Algebra>(x: &Scalar<A, f64>) -> Scalar<A, f64> {
    custom_jvp(&sine(), &sine_pulled(), x)
}

/// `w · x`, with the rules of both modes, each for both arguments.
fn ruled_product<A: Algebra>(w: &Scalar<A, f64>, x: &Scalar<A, f64>) -> Scalar<A, f64> {
    custom_rules(
        &function!((S, S) => S, |(w, x)| w * x),
        &function!(((S, S), S, S) => (S, S), |((w, x), _, c)| (x * c, w * c)),
        &function!(((S, S), S, (S, S)) => S, |((w, x), _, (dw, dx))| dw * x + w * dx),
        &(w.clone(), x.clone()),
    )
}

/// The rows.
pub fn rows() -> Vec<Row> {
    let mut rows = modes();
    rows.extend(other_rules());
    rows.extend(nests());
    rows.extend(structures());
    rows
}

fn modes() -> Vec<Row> {
    vec![
        row!("a sine with a vjp rule": S => S, |x| reverse_sine(x), s(0.5)).value([0.5_f64.sin()]).gradient([0.5_f64.cos()]).smooth(),
        row!("a sine with a jvp rule": S => S, |x| forward_sine(x), s(0.5)).value([0.5_f64.sin()]).gradient([0.5_f64.cos()]).smooth(),
        row!("a product with both rules": (S, S) => S, |(w, x)| ruled_product(w, x), (s(2.0), s(3.0))).value([6.0]).gradient([3.0, 2.0]).smooth(),
        row!("the gradient of a vjp rule": S => S, |x| grad(|x| reverse_sine(x), x), s(0.5)).value([0.5_f64.cos()]).gradient([-0.5_f64.sin()]).smooth(),
        row!("the gradient of a jvp rule": S => S, |x| grad(|x| forward_sine(x), x), s(0.5)).value([0.5_f64.cos()]).gradient([-0.5_f64.sin()]).smooth(),
        row!("the second gradient of a vjp rule": S => S, |x| grad(|x| grad(|x| reverse_sine(x), x), x), s(0.5)).value([-0.5_f64.sin()]).smooth(),
        row!("the second gradient of a jvp rule": S => S, |x| grad(|x| grad(|x| forward_sine(x), x), x), s(0.5)).value([-0.5_f64.sin()]).smooth(),
        row!("the tangent of a gradient of a vjp rule": S => S, |x| jvp(|x| grad(|x| reverse_sine(x), x), x, &scalar(1.0)).1, s(0.5)).value([-0.5_f64.sin()]).smooth(),
        row!("the gradient of a tangent of a vjp rule": S => S, |x| grad(|x| jvp(|x| reverse_sine(x), x, &scalar(1.0)).1, x), s(0.5)).value([-0.5_f64.sin()]).smooth(),
        row!("the gradient of a tangent of a jvp rule": S => S, |x| grad(|x| jvp(|x| forward_sine(x), x, &scalar(1.0)).1, x), s(0.5)).value([-0.5_f64.sin()]).smooth(),
        row!("the tangent of a tangent of a vjp rule": S => S, |x| jvp(|x| jvp(|x| reverse_sine(x), x, &scalar(1.0)).1, x, &scalar(1.0)).1, s(0.5)).value([-0.5_f64.sin()]).smooth(),
        row!("the Hessian of products with both rules": V => M, |x| hessian(|x| ruled_product(&ruled_product(&x.at(0), &x.at(1)), &x.at(2)), x), v([2.0, 3.0, 5.0]))
            .value([0.0, 5.0, 3.0, 5.0, 0.0, 2.0, 3.0, 2.0, 0.0])
            .smooth(),
    ]
}

/// Rules that are no derivatives of their functions, so that it shows that they are used.
fn other_rules() -> Vec<Row> {
    vec![
        row!("a rule that says 7": S => S, |x| custom_vjp(&sine(), &function!((S, S, S) => S, |(_, _, c)| 7.0 * c), x), s(0.5))
            .value([0.5_f64.sin()])
            .gradient([7.0]),
        row!("a rule that says 7 forwards": S => S, |x| custom_jvp(&sine(), &function!((S, S, S) => S, |(_, _, t)| 7.0 * t), x), s(0.5))
            .value([0.5_f64.sin()])
            .gradient([7.0]),
        row!("a step that is passed straight through": V => V, |x| {
                custom_vjp(&function!(V => V, |x| x.round()), &function!((V, V, V) => V, |(_, _, c)| c.clone()), x) * x
            }, v([0.4, 1.6]))
            .value([0.0, 3.2])
            .gradient([0.4, 3.6])
            .once(),
        row!("a cotangent that is clipped": V => V, |x| {
                3.0 * custom_vjp(&function!(V => V, |x| x.clone()), &function!((V, V, V) => V, |(x, _, c)| c * x.gt(1.0).select(0.5, 1.0)), x)
            }, v([0.4, 1.6]))
            .gradient([3.0, 1.5]),
        row!("a rule for a function that is not differentiable": S => S,
            |x| custom_vjp(&function!(S => S, |x| x.floor()), &function!((S, S, S) => S, |(x, _, c)| 2.0 * x * c), x), s(1.5))
            .value([1.0])
            .gradient([3.0]),
        row!("a constant with a rule, in a build": V => V, |x| {
                build(x.len(), |i| {
                    custom_vjp(&function!(S => S, |_| scalar(1.0)), &function!((S, S, S) => S, |(x, _, c)| x * c), &x.at(i))
                })
            }, v([2.0, 3.0]))
            .value([1.0, 1.0])
            .gradient([2.0, 3.0]),
    ]
}

fn nests() -> Vec<Row> {
    vec![
        row!("a vjp rule in a build": V => V, |x| build(x.len(), |i| reverse_sine(&x.at(i))), some(4, 381)).smooth(),
        row!("a jvp rule in a build": V => V, |x| build(x.len(), |i| forward_sine(&x.at(i))), some(4, 382)).smooth(),
        row!("rules in a build, one operand for all": (S, V) => V, |(w, x)| build(x.len(), |i| ruled_product(w, &x.at(i))), (s(0.7), some(4, 383))).smooth(),
        row!("rules in nested builds": (V, V) => M, |(w, x)| {
                build((w.len(), x.len()), |(i, j)| reverse_sine(&ruled_product(&w.at(i), &x.at(j))))
            }, (some(2, 384), some(3, 385)))
            .smooth(),
        row!("a gradient of a rule in a build": V => V, |x| build(x.len(), |i| grad(|x| reverse_sine(x).powi(2), &x.at(i))), some(3, 386)).smooth(),
        row!("rules of positions": V => V, |x| {
                build(x.len(), |i| {
                    custom_vjp(
                        &function!((S, N) => S, |(x, i)| x * i.cast::<f64>()),
                        &function!(((S, N), S, S) => (S, N), |((_, i), _, c)| (c * i.cast::<f64>(), i.clone())),
                        &(x.at(&i), i),
                    )
                })
            }, some(4, 387))
            .smooth(),
        row!("a rule under vmap": M => V, |a| {
                vmap(|row| {
                    custom_vjp(&function!(V => S, |x| x.exp().sum()), &function!((V, S, S) => V, |(x, _, c)| x.exp() * c), &row)
                }, a)
            }, some((3, 2), 388))
            .smooth(),
        row!("a Jacobian through a rule": V => M, |x| jacrev(|x| build(x.len(), |i| reverse_sine(&x.at(i)) * x.at(0)), x), some(3, 389)).smooth(),
        row!("a vjp rule in a loop": (S, V) => S, |(w, x)| fold(scalar(0.1), x, |s, x| reverse_sine(&(s + w * x))), (s(0.8), some(4, 390))).smooth(),
        row!("a jvp rule in a loop": (S, V) => S, |(w, x)| fold(scalar(0.1), x, |s, x| forward_sine(&(s + w * x))), (s(0.8), some(4, 391))).smooth(),
        row!("both rules in a loop": (S, V) => V, |(w, x)| {
                scan(scalar(0.1), x, x.len(), |s, x| {
                    let s = ruled_product(w, &(s + x));
                    (s.clone(), reverse_sine(&s))
                }).1
            }, (s(0.8), some(4, 392)))
            .smooth(),
        row!("a rule in a loop in a build": M => V, |a| {
                build(a.len(), |i| fold(scalar(0.3), &a.at(i), |s, x| reverse_sine(&(s * x))))
            }, some((2, 3), 393))
            .smooth(),
        row!("a rule in a loop with a condition": (S, S) => S, |(w, x)| {
                while_loop(x.clone(), |y| y.lt(0.95), |y| 0.4 + reverse_sine(&(w * &y)))
            }, (s(0.8), s(0.1)))
            .smooth(),
        row!("rules in loops with conditions in a build": (S, V) => V, |(w, x)| {
                build(x.len(), |i| while_loop(x.at(&i), |y| y.lt(0.95), |y| 0.4 + ruled_product(w, &forward_sine(&y))))
            }, (s(0.8), v([0.1, 2.0, 0.5])))
            .overhead(2, 20)
            .smooth(),
        row!("a rule in a loop with checkpoints": (S, V) => S, |(w, x)| {
                let w = w.clone();
                Checkpoints::Snapshots(2).scan(scalar(0.1), x, x.len(), move |s, x| (reverse_sine(&(s + &w * x)), ())).0
            }, (s(0.8), some(5, 406)))
            .smooth(),
        row!("a rule in a checkpoint": V => V, |x| checkpoint(x, |x| build(x.len(), |i| reverse_sine(&x.at(i)).exp())), some(3, 407)).smooth(),
        row!("a rule in a side": S => S, |x| cond(x.gt(0.0), || reverse_sine(x), || x * x), s(0.5)).value([0.5_f64.sin()]).gradient([0.5_f64.cos()]).smooth(),
        row!("a rule in the other side": S => S, |x| cond(x.gt(0.0), || reverse_sine(x), || x * x), s(-0.5)).value([0.25]).gradient([-1.0]).smooth(),
        row!("a rule of the side not taken": V => V, |x| {
                build(x.len(), |i| {
                    let x = x.at(i);
                    cond(x.gt(0.0), || {
                        custom_vjp(&function!(S => S, |x| x.ln()), &function!((S, S, S) => S, |(x, _, c)| c / x), &x)
                    }, || scalar(1.0))
                })
            }, v([2.0, 0.0, 4.0]))
            .gradient([0.5, 0.0, 0.25]),
        row!("a rule of elements not taken": V => V, |x| {
                let roots = custom_vjp(&function!(V => V, |x| x.sqrt()), &function!((V, V, V) => V, |(x, _, c)| c * 0.5 / x.sqrt()), x);
                x.gt(0.0).select(roots, 0.0)
            }, v([0.25, 0.0, 4.0]))
            .gradient([1.0, 0.0, 0.25]),
        row!("a rule with a loop, of elements not taken": V => V, |x| {
                let roots = custom_vjp(
                    &function!(V => V, |x| x.sqrt()),
                    &function!((V, V, V) => V, |(x, _, c)| iterate(c.clone(), 2, |c| c * 0.5 / x.sqrt()) * 2.0 * x.sqrt()),
                    x,
                );
                x.gt(0.0).select(roots, 0.0)
            }, v([0.25, 0.0, 4.0]))
            .gradient([1.0, 0.0, 0.25])
            .once(),
        row!("a jvp rule of elements not taken": V => V, |x| {
                let roots = custom_jvp(&function!(V => V, |x| x.sqrt()), &function!((V, V, V) => V, |(x, _, c)| c * 0.5 / x.sqrt()), x);
                x.gt(0.0).select(roots, 0.0)
            }, v([0.25, 0.0, 4.0]))
            .gradient([1.0, 0.0, 0.25]),
        row!("a rule of a rule, of elements not taken": V => V, |x| {
                let roots = custom_vjp(
                    &function!(V => V, |x| x.sqrt()),
                    &function!((V, V, V) => V, |(x, _, c)| custom_jvp(
                        &function!((V, V) => V, |(x, c)| c * 0.5 / x.sqrt()),
                        &function!(((V, V), V, (V, V)) => V, |((x, c), _, (dx, dc))| dc * 0.5 / x.sqrt() - c * 0.25 * dx / (x * x.sqrt())),
                        &(x.clone(), c.clone()),
                    )),
                    x,
                );
                x.gt(0.0).select(roots, 0.0)
            }, v([0.25, 0.0, 4.0]))
            .gradient([1.0, 0.0, 0.25])
            .once(),
        row!("a rule in a side with a loop": (S, V) => S, |(w, x)| {
                cond(w.gt(0.0), || fold(w.clone(), x, |s, x| forward_sine(&(s * x))), || x.sum())
            }, (s(0.5), some(3, 394)))
            .smooth(),
        row!("a rule in a side in a build": V => V, |x| {
                build(x.len(), |i| {
                    let x = x.at(i);
                    cond(x.gt(0.0), || reverse_sine(&x), || forward_sine(&(2.0 * &x)))
                })
            }, v([0.5, -0.5, 1.5]))
            .smooth(),
        row!("a rule in terms of the value": S => S, |x| {
                custom_vjp(&function!(S => S, |x| x.exp()), &function!((S, S, S) => S, |(_, y, c)| y * c), x)
            }, s(0.5))
            .gradient([0.5_f64.exp()])
            .smooth(),
        row!("a rule in terms of the value, in a build": (V, S) => V, |(x, w)| {
                build(x.len(), |i| {
                    custom_jvp(
                        &function!((S, S) => S, |(x, w)| (x * w).exp()),
                        &function!(((S, S), S, (S, S)) => S, |((x, w), y, (dx, dw))| y * (dx * w + x * dw)),
                        &(x.at(i), w.clone()),
                    )
                })
            }, (some(3, 404), s(0.6)))
            .smooth(),
        row!("a rule in terms of the value, in a loop": V => S, |x| {
                fold(scalar(0.2), x, |s, x| {
                    custom_vjp(&function!(S => S, |x| x.tanh()), &function!((S, S, S) => S, |(_, y, c)| c * (1.0 - y * y)), &(s * x))
                })
            }, some(4, 405))
            .smooth(),
        row!("a rule in a function with a rule": S => S, |x| {
                custom_vjp(
                    &function!(S => S, |x| reverse_sine(x) * x),
                    &function!((S, S, S) => S, |(x, _, c)| c * (reverse_sine(x) + x * forward_sine(&(x + std::f64::consts::FRAC_PI_2)))),
                    x,
                )
            }, s(0.5))
            .gradient([0.5_f64.sin() + 0.5 * 0.5_f64.cos()])
            .smooth(),
        row!("a rule with a derivative in it": V => S, |x| {
                custom_vjp(
                    &function!(V => S, |x| x.powi(3).sum()),
                    &function!((V, S, S) => V, |(x, _, c)| grad(|x| x.powi(3).sum(), x) * c),
                    x,
                )
            }, some(3, 395))
            .smooth(),
        row!("a rule with a loop in it": V => S, |x| {
                custom_vjp(
                    &function!(V => S, |x| fold(scalar(1.0), x, |p, x| p * x)),
                    &function!((V, S, S) => V, |(x, _, c)| {
                        let (before, after) = (x.cumprod(0) / x, x.reverse(0).cumprod(0).reverse(0) / x);
                        before * after * c
                    }),
                    x,
                )
            }, v([1.5, 2.0, 0.5]))
            .gradient([1.0, 0.75, 3.0])
            .smooth(),
        row!("a rule in a gradient in a loop": (S, V) => S, |(w, x)| {
                fold(w.clone(), x, |s, x| &s - 0.1 * grad(|s| (reverse_sine(s) - x.lift()).powi(2), &s))
            }, (s(0.5), some(3, 396)))
            .smooth(),
    ]
}

fn structures() -> Vec<Row> {
    vec![
        row!("a rule of several results": (V, S) => (V, S), |at| {
                custom_vjp(
                    &function!((V, S) => (V, S), |(x, w)| (x * w, x.sum())),
                    &function!(((V, S), (V, S), (V, S)) => (V, S), |((x, w), _, (c, d))| (c * w + d, (x * c).sum())),
                    at,
                )
            }, (some(3, 397), s(0.4)))
            .smooth(),
        row!("a rule of several results, one of them used": (V, S) => V, |at| {
                custom_vjp(
                    &function!((V, S) => (V, S), |(x, w)| (x * w, x.sum())),
                    &function!(((V, S), (V, S), (V, S)) => (V, S), |((x, w), _, (c, d))| (c * w + d, (x * c).sum())),
                    at,
                ).0
            }, (some(3, 398), s(0.4)))
            .smooth(),
        row!("a rule with positions": (V, Ns) => V, |at| {
                custom_vjp(
                    &function!((V, Ns) => V, |(x, i)| build(i.len(), |k| x.at(i.at(k)).powi(2))),
                    &function!(((V, Ns), V, V) => (V, Ns), |((x, i), _, c)| {
                        ((build(i.len(), |k| 2.0 * x.at(i.at(k))) * c).scatter(i, x.len()), i.clone())
                    }),
                    at,
                )
            }, (some(3, 399), ns([2, 0, 2, 7])))
            .smooth(),
        row!("a result that is an integer": V => (S, N), |x| {
                custom_vjp(
                    &function!(V => (S, N), |x| (x.max_all(), x.argmax())),
                    &function!((V, (S, N), (S, N)) => V, |(x, (largest, _), (c, _))| x.equal(largest).select(c, 0.0)),
                    x,
                )
            }, v([1.0, 3.0, 2.0]))
            .value([3.0, 1.0])
            .gradient([0.0, 1.0, 0.0])
            .smooth(),
        row!("a list of arrays with a rule": Vec<V> => V, |xs| {
                custom_jvp(
                    &function!(Vec<V> => V, |xs| &xs[0] * &xs[1]),
                    &function!((Vec<V>, V, Vec<V>) => V, |(xs, _, ts)| &ts[0] * &xs[1] + &xs[0] * &ts[1]),
                    xs,
                )
            }, vec![some(3, 400), some(3, 401)])
            .smooth(),
        row!("single precision with a rule": Fs => Fs, |x| {
                custom_vjp(&function!(Fs => Fs, |x| x.powi(2)), &function!((Fs, Fs, Fs) => Fs, |(x, _, c)| 2.0 * x * c), x)
            }, vec![1.0_f32, 2.0].into())
            .gradient([2.0, 4.0]),
        row!("a rule of nothing": V => V, |x| custom_vjp(&function!(V => V, |x| x.exp()), &function!((V, V, V) => V, |(x, _, c)| x.exp() * c), x), v([]))
            .value([])
            .gradient([]),
        row!("a rule at arguments that are not differentiated": (V, V) => V, |(x, y)| {
                y * custom_vjp(&function!(V => V, |x| x.exp()), &function!((V, V, V) => V, |(x, _, c)| x.exp() * c), &stop(x))
            }, (some(2, 402), some(2, 403)))
            .values_only(),
    ]
}

fn stop<A: Algebra>(x: &Vector<A, f64>) -> Vector<A, f64> {
    x.stop_gradient()
}
