//! Arrays that are multiplied by numbers computed from them, again and again.

use super::constructs::{Construct, V, steps};

pub fn rescalings() -> Vec<Construct> {
    macro_rules! rescaled {
        ($name:expr, |$y:ident| $factor:expr) => {
            steps!($name, 40, |n, p| (0..n).fold(p[0].clone(), |$y: V, _| &$y * $factor).sum())
        };
    }
    vec![
        rescaled!("rescaled by a sum of sines", |y| y.sin().sum()),
        rescaled!("rescaled by a sum", |y| y.sum()),
        rescaled!("rescaled by a polynomial", |y| (&y * &y + &y).sum()),
        rescaled!("rescaled by the inverse of a sum", |y| y.exp().sum().recip()),
        rescaled!("rescaled by the inverse of a norm", |y| (y.dot(&y) + 0.1).sqrt().recip()),
        rescaled!("rescaled by the largest", |y| y.max_all()),
        rescaled!("rescaled by a difference of extremes", |y| (y.max_all() - y.min_all()).exp()),
        rescaled!("rescaled by an element", |y| y.at(3)),
        rescaled!("rescaled by a variance", |y| (y.variance() + 0.1).recip()),
        rescaled!("rescaled and negated", |y| -y.cos().sum()),
        steps!("rows rescaled by their sums", 40, |n, p| {
            let rows = (0..n).fold(p[0].reshape((3, 3)), |y, _| &y * y.exp().sum_axis(1).recip().reshape((3, 1)));
            rows.sum()
        }),
        steps!("rows rescaled by their largest", 40, |n, p| {
            let rows = (0..n).fold(p[0].reshape((3, 3)), |y, _| &y * y.max_axis(1).recip().reshape((3, 1)));
            rows.sin().sum()
        }),
        steps!("products rescaled by their norms", 40, |n, p| {
            let w = p[0].reshape((3, 3));
            let y = (0..n).fold(p[0].slice(0, ..3), |y, _| {
                let z = w.dot(&y);
                &z * z.dot(&z).sqrt().recip()
            });
            y.sum()
        }),
        steps!("products of rows rescaled by their norms", 40, |n, p| {
            let w = p[0].reshape((3, 3));
            let y = (0..n).fold(w.clone(), |y, _| {
                let z = y.dot(&w);
                &z * (&z * &z).sum_axis(1).sqrt().recip().reshape((3, 1))
            });
            y.sum()
        }),
        steps!("outer products", 40, |n, p| {
            let y = (0..n).fold(p[0].clone(), |y, _| {
                let outer = y.reshape((9, 1)) * p[0].reshape((1, 9));
                (&outer * y.sum()).sin().sum_axis(0) + outer.sum_axis(1)
            });
            y.sum()
        }),
    ]
}
