use deltaray::algebra::Algebra;
use deltaray::concrete::Concrete;
use deltaray::derivative::stage;
use deltaray::prelude::*;

fn self_convolution<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
    let n = x.len();
    build(n, |i| x.at(&i) * x.at(n - 1 - i)).sum()
}

#[test]
fn slice() {
    let x: Vector<Concrete, f64> = Vector::from(ndarray::arr1(&[1.0, 2.0, 3.0, 4.0]));
    let dx = grad(self_convolution, &x);
    println!("{:?}", dx);
    let f = stage(self_convolution, &x).unwrap();
    println!("{}", f.source());
    println!("{f}");
    let g = f.value_and_grad().unwrap();
    println!("{g}");
    let (v, d) = g.call(&x).unwrap();
    println!("{v:?} {d:?}");
}
