//! Complex numbers as pairs of reals, and the Faddeeva function.

use deltaray::prelude::*;
use std::f64::consts::PI;

/// A complex number.
#[derive(Tree)]
pub struct Complex<A: Algebra> {
    pub real: Scalar<A, f64>,
    pub imaginary: Scalar<A, f64>,
}

#[differentiable]
impl<A: Algebra> Complex<A> {
    pub fn plus(&self, other: &Complex) -> Complex {
        Complex { real: self.real + other.real, imaginary: self.imaginary + other.imaginary }
    }

    pub fn minus(&self, other: &Complex) -> Complex {
        Complex { real: self.real - other.real, imaginary: self.imaginary - other.imaginary }
    }

    pub fn times(&self, other: &Complex) -> Complex {
        Complex {
            real: self.real * other.real - self.imaginary * other.imaginary,
            imaginary: self.real * other.imaginary + self.imaginary * other.real,
        }
    }

    /// The real part of the product.
    pub fn real_of_product(&self, other: &Complex) -> Scalar<f64> {
        self.real * other.real - self.imaginary * other.imaginary
    }

    pub fn over(&self, other: &Complex) -> Complex {
        let scale = other.square_of_modulus().recip();
        Complex {
            real: (self.real * other.real + self.imaginary * other.imaginary) * scale,
            imaginary: (self.imaginary * other.real - self.real * other.imaginary) * scale,
        }
    }

    /// A plain number divided by this one.
    pub fn divides(&self, #[plain] number: f64) -> Complex {
        let scale = number / self.square_of_modulus();
        Complex { real: self.real * scale, imaginary: -self.imaginary * scale }
    }

    /// The sum with a plain number.
    pub fn plus_real(&self, #[plain] number: f64) -> Complex {
        Complex { real: self.real + number, imaginary: self.imaginary.clone() }
    }

    pub fn scaled(&self, #[plain] factor: f64) -> Complex {
        Complex { real: factor * self.real, imaginary: factor * self.imaginary }
    }

    /// The product with the imaginary unit.
    pub fn times_i(&self) -> Complex {
        Complex { real: -self.imaginary, imaginary: self.real.clone() }
    }

    pub fn exp(&self) -> Complex {
        let modulus = self.real.exp();
        Complex { real: modulus * self.imaginary.cos(), imaginary: modulus * self.imaginary.sin() }
    }

    pub fn square_of_modulus(&self) -> Scalar<f64> {
        self.real * self.real + self.imaginary * self.imaginary
    }
}

/// The squares of the two positive nodes of Gauss-Hermite quadrature with four points, (3 ∓ √6) / 2, and 2/π times their
/// weights.
pub const QUADRATURE: [(f64, f64); 2] =
    [(0.275_255_128_608_410_95, 0.512_424_224_754_768_5), (2.724_744_871_391_589, 0.051_765_358_792_987_82)];

/// The modulus from which the quadrature is accurate enough.
pub const FAR: f64 = 6.0;

/// The width of the window in which Abrarov and Quine expand a Gaussian in a Fourier series, and the number of its terms.
pub const WIDTH: f64 = 12.0;
pub const TERMS: i32 = 10;

/// The Faddeeva function w(z) = exp(−z²) erfc(−iz) far from the origin, by quadrature of its integral.
#[differentiable]
fn far(z: Complex) -> Complex {
    let square = z.times(z);
    let [first, second] = QUADRATURE.map(|(node, weight)| square.plus_real(-node).divides(weight));
    z.times(&first.plus(&second)).times_i()
}

/// The function near the origin, above the real axis: the series of Abrarov and Quine, "Efficient algorithmic implementation
/// of the Voigt/complex error function based on exponential series approximation" (2011). Terms of odd frequency change sign
/// across the window.
#[differentiable]
fn near(z: Complex) -> Complex {
    let argument = z.scaled(WIDTH);
    let square = argument.times(&argument);
    let term = |n: i32| {
        let frequency = (f64::from(n) * PI).powi(2);
        square.scaled(-1.0).plus_real(frequency).divides(2.0 * (-frequency / (WIDTH * WIDTH)).exp())
    };
    let (mut odd, mut even) = (term(1), term(2));
    for n in (3..TERMS).step_by(2) {
        odd = odd.plus(&term(n));
        even = even.plus(&term(n + 1));
    }
    let end = argument.times_i().exp();
    let series = end.times(&even.minus(&odd)).minus(&even.plus(&odd)).times(&argument);
    end.scaled(-1.0).plus_real(1.0).over(&argument).plus(&series).times_i()
}

/// The Faddeeva function above the real axis. It is the shape of a resonance that thermal motion broadens.
#[differentiable]
pub fn faddeeva(z: Complex) -> Complex {
    if z.square_of_modulus() < FAR * FAR { near(z) } else { far(z) }
}
