//! One array parameter, indices and operators, and the function as a value.

use deltaray::prelude::*;

#[differentiable]
fn self_convolution(x: Vector<f64>) -> Scalar<f64> {
    let n = x.len();
    build(n, |i| x[i] * x[n - 1 - i]).sum()
}

#[test]
fn self_convolution_is_differentiated_and_staged() {
    let x = Vector::from(vec![1.0, 2.0, 3.0, 4.0]);
    assert_eq!(self_convolution(&x).item(), 20.0);
    assert_eq!(grad(self_convolution, &x).to_vec(), [8.0, 6.0, 4.0, 2.0]);
    let staged = stage(self_convolution, &x).unwrap().value_and_grad().unwrap();
    let (value, gradient) = staged.call(&x).unwrap();
    assert_eq!((value.item(), gradient.to_vec()), (20.0, vec![8.0, 6.0, 4.0, 2.0]));
    let text = "program value_and_grad_self_convolution(x: f64[4]) -> (value: f64, gradient.x: f64[4]):\n    \
                (contract \"i,i->\" x (reverse[0] x), reverse[0] (x + x))";
    assert_eq!(staged.to_string().trim(), text);
    check_grad(&self_convolution {}, &x, &CheckGrad::default()).unwrap();
    assert_eq!(Grad(self_convolution {}).call::<Concrete>(&x).to_vec(), [8.0, 6.0, 4.0, 2.0]);
}

#[differentiable]
fn loss(x: Vector<f64>, w: &Vector<f64>, #[plain] power: i32) -> Scalar<f64> {
    (x * w).powi(power).sum()
}

/// Several arguments: a closure names them, and the struct of the function is one of a tuple.
#[test]
fn several_arguments_are_a_tuple() {
    let (x, w) = (Vector::from([1.0, 2.0]), Vector::from([0.5, -1.0]));
    let expected = [2.0 * 0.25, 2.0 * 2.0];
    assert_eq!(grad(|(x, w)| loss(x, w, 2), (&x, &w)).to_vec(), expected);
    assert_eq!(grad(loss { power: 2 }.closure(), (&x, &w)).to_vec(), expected);
    assert_eq!(hessian(loss { power: 2 }.closure(), (&x, &w)).diagonal().to_vec(), [0.5, 2.0]);
    let staged = stage(loss { power: 2 }.closure(), (&x, &w)).unwrap().grad().unwrap();
    assert_eq!(staged.call((&x, &w)).unwrap().to_vec(), expected);
    let compiled = jit(|(x, w)| loss(x, w, 2)).grad();
    assert_eq!(compiled.call((&x, &w)).unwrap().to_vec(), expected);
    let whole = Grad(loss { power: 2 }).call::<Concrete>(&(x.clone(), w.clone()));
    assert_eq!((whole.0.to_vec(), whole.1.to_vec()), (expected.to_vec(), vec![1.0, -8.0]));
    check_grad(&Grad(Grad2(loss { power: 3 })), &(x, w), &CheckGrad::default()).unwrap();
}

/// A scalar of a gradient, so that it has one again.
struct Grad2<F>(F);

impl<F: ArrayFn<In = (Vector<Concrete, f64>, Vector<Concrete, f64>), Out = Scalar<Concrete, f64>>> ArrayFn
    for Grad2<F>
{
    type In = F::In;
    type Out = F::Out;
    fn call<A: Algebra>(&self, x: &<F::In as Family>::At<A>) -> Scalar<A, f64> {
        let (a, b) = Grad(&self.0).call::<A>(x);
        (a * b).sum()
    }
}

/// Variables that are operands of methods were moved, and gone when they were used again.
#[differentiable]
fn operands_of_methods(x: Vector<f64>, v: Vector<f64>) -> Scalar<f64> {
    let w = v * 2.0;
    let a = x.atan2(w);
    let (b, c) = (w.hypot(x), w.max(a));
    let is_less = a.lt(b);
    let chosen = is_less.select(a, b);
    let both = a.append(0, &b);
    w.dot(a) + w.mul_add(b, c).sum() + chosen.abs().pow(w).sum() + both.sum() + is_less.select(c, w).sum()
}

#[test]
fn methods_leave_their_operands_where_they_are() {
    let (x, v) = (Vector::from(vec![0.5, -1.0]), Vector::from(vec![0.25, 2.0]));
    let expected: f64 = [(0.5f64, 0.25f64), (-1.0, 2.0)]
        .into_iter()
        .map(|(x, v)| {
            let w = v * 2.0;
            let a = x.atan2(w);
            let (b, c) = (w.hypot(x), w.max(a));
            let (chosen, other) = if a < b { (a, c) } else { (b, w) };
            w * a + (w * b + c) + chosen.abs().powf(w) + a + b + other
        })
        .sum();
    approx::assert_relative_eq!(operands_of_methods(&x, &v).item(), expected, max_relative = 1e-14);
    check_grad(&operands_of_methods {}, &(x, v), &CheckGrad::default()).unwrap();
}

/// Variables of Rust's own types are given to methods of these names as ever.
#[differentiable]
fn methods_of_other_types(x: Vector<f64>, #[plain] names: &[String]) -> Scalar<f64> {
    let mut all = vec![1usize];
    let more = &mut vec![2, 3];
    all.append(more);
    let longest = names[0].clone().max(names[1].clone());
    let exponent = all.len().try_into().unwrap_or(1);
    let power = 2usize.pow(exponent);
    let largest = all.iter().fold(0, |a: usize, b| a.max(*b));
    x.sum() * (longest.len() + power + largest + more.len()) as f64
}

#[test]
fn methods_of_other_types_take_what_they_take() {
    let names = ["a".to_string(), "bcd".to_string()];
    assert_eq!(methods_of_other_types(&Vector::from(vec![1.0, 1.0]), &names).item(), 2.0 * (3 + 8 + 3) as f64);
}
