use deltaray::prelude::*;

fn main() {
    let x = Vector::from(vec![1.0, 2.0]);
    let energy = |x: &Vector<_, f64>| x.powi(2).sum();
    println!("{:?}", energy(&x));
    println!("{:?}", stage(energy, &x));
}
