use deltaray::prelude::*;
use std::time::Instant;
fn time(name: &str, n: usize, mut f: impl FnMut()) {
    let mut best = f64::INFINITY;
    f();
    for _ in 0..40 {
        let reps = (400_000 / n).max(1);
        let t = Instant::now();
        for _ in 0..reps {
            f();
        }
        best = best.min(t.elapsed().as_nanos() as f64 / reps as f64);
    }
    println!("{name} {n} {:.3}", best / n as f64);
}
macro_rules! go {
    ($t:ident, $n:expr, $x:ident $y:ident, $($name:literal: $f:expr;)*) => {$(
        {
            let n = $n;
            let x: Vector<Concrete, $t> = (0..n).map(|i| 0.2 + 0.7 * ((i * 37 % 101) as $t / 101.0)).collect::<Vec<_>>().into();
            let y: Vector<Concrete, $t> = (0..n).map(|i| 0.3 + 0.6 * ((i * 53 % 103) as $t / 103.0)).collect::<Vec<_>>().into();
            fn f<A: Algebra>(($x, $y): &(Vector<A, $t>, Vector<A, $t>)) -> Vector<A, $t> { let _ = ($x, $y); $f }
            let f = stage(f, &(x.clone(), y.clone())).unwrap().compile(Cpu::default().threads(1)).unwrap();
            let a = (x, y);
            time(concat!(stringify!($t), " ", $name), n, || { std::hint::black_box(f.call(&a).unwrap()); });
        }
    )*};
}
fn main() {
    for n in [5, 61, 4096] {
        macro_rules! both { ($($t:ident)*) => {$(
            go!($t, n, x y,
                "x+y": x + y;
                "x+1": x + 1.5;
                "2-x": 2.0 - x;
                "(x*2+y)/3": (x * 2.0 + y) / 3.0;
                "exp": x.exp();
                "sin": x.sin();
                "tanh": x.tanh();
                "ln": x.ln();
                "erf": x.erf();
                "pow": x.pow(y);
                "pow 1.7": x.pow(1.7);
                "max0.5": x.max(0.5);
                "select": x.lt(0.5).select(x, y);
                "cumsum": x.cumsum(0);
                "rows": (x.insert_axis(0) * y.slice(0, 0..3).insert_axis(1)).sum_axis(0);
            );
        )*}}
        both!(f64 f32);
    }
}
