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
    let text = "program value_and_grad_self_convolution(p0: f64[4]) -> (value: f64, gradient: f64[4]):\n    \
                (contract \"i,i->\" p0 (reverse[0] p0), reverse[0] (p0 + p0))";
    assert_eq!(staged.to_string().trim(), text);
    check_grad(&self_convolution {}, &x, &CheckGrad::default()).unwrap();
    assert_eq!(Grad(self_convolution {}).call::<Concrete>(&x).to_vec(), [8.0, 6.0, 4.0, 2.0]);
}
