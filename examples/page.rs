//! A program at every stage, as a page for a browser: `cargo run --example page > page.html`.

use deltaray::export;
use deltaray::prelude::*;

/// Written element by element; staged, it runs in bulk.
fn self_convolution<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
    let n = x.len();
    build(n, |i| x.at(&i) * x.at(n - 1 - i)).sum()
}

fn main() -> deltaray::Result<()> {
    let x = Vector::from(vec![1.0, 2.0, 3.0, 4.0]);
    print!("{}", export::html(&stage(self_convolution, &x)?)?);
    Ok(())
}
