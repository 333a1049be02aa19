//! Functions of a real number that become functions of symmetric matrices.

use std::fmt;

/// A function f of real numbers, that of a symmetric matrix A = V Λ Vᵀ is V f(Λ) Vᵀ.
///
/// ```
/// use deltaray::linalg::SpectralFunction;
///
/// assert_eq!(SpectralFunction::power(0.5), SpectralFunction::Sqrt);
/// assert_eq!(SpectralFunction::power(-0.25).to_string(), "power_minus_0.25");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum SpectralFunction {
    /// The exponential.
    Exp,
    /// The natural logarithm. NaN for a matrix with a negative eigenvalue; one that is so by rounding counts as 0.
    Ln,
    /// The square root that is not negative. NaN for a matrix with a negative eigenvalue; one that is so by rounding counts as 0.
    Sqrt,
    /// 1 / x: the inverse matrix.
    Reciprocal,
    /// The sine.
    Sin,
    /// The cosine.
    Cos,
    /// A power: see [`SpectralFunction::power`].
    Power(Exponent),
}

/// The exponent of a power.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Exponent(u64);

impl Exponent {
    /// The number.
    pub fn number(self) -> f64 {
        f64::from_bits(self.0)
    }
}

impl fmt::Debug for Exponent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number().fmt(f)
    }
}

/// The functions without a number, with their names.
const FUNCTIONS: [(&str, SpectralFunction); 6] = [
    ("exp", SpectralFunction::Exp),
    ("ln", SpectralFunction::Ln),
    ("sqrt", SpectralFunction::Sqrt),
    ("reciprocal", SpectralFunction::Reciprocal),
    ("sin", SpectralFunction::Sin),
    ("cos", SpectralFunction::Cos),
];

impl SpectralFunction {
    /// The power by an exponent, of matrices whose eigenvalues are positive; NaN for one with a negative eigenvalue, but for the
    /// exponent −1. For whole exponents and any matrix there is [`matrix_power`](crate::linalg::matrix_power).
    #[must_use]
    pub fn power(exponent: f64) -> SpectralFunction {
        match exponent {
            0.5 => SpectralFunction::Sqrt,
            -1.0 => SpectralFunction::Reciprocal,
            // One function for each number, of all kinds of NaN too.
            number if number.is_nan() => SpectralFunction::Power(Exponent(f64::NAN.to_bits())),
            number => SpectralFunction::Power(Exponent((number + 0.0).to_bits())),
        }
    }

    /// The function of a name, as [`fmt::Display`] writes it.
    pub(crate) fn named(name: &str) -> Option<SpectralFunction> {
        let Some(number) = name.strip_prefix("power_") else {
            return FUNCTIONS.iter().find(|(other, _)| *other == name).map(|&(_, function)| function);
        };
        let exponent = match number.strip_prefix("minus_") {
            Some(number) => -number.parse::<f64>().ok()?,
            None => number.parse::<f64>().ok()?,
        };
        // Names are the ones that are written, and no others.
        Some(SpectralFunction::power(exponent)).filter(|function| function.to_string() == name)
    }

    /// Whether it has no value at negative numbers.
    pub(crate) fn is_of_positive(self) -> bool {
        matches!(self, SpectralFunction::Ln | SpectralFunction::Sqrt | SpectralFunction::Power(_))
    }
}

/// Its name in printed programs.
impl fmt::Display for SpectralFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpectralFunction::Power(exponent) => {
                let sign = if exponent.number() < 0.0 { "minus_" } else { "" };
                write!(f, "power_{sign}{}", exponent.number().abs())
            }
            function => {
                let name = FUNCTIONS.iter().find(|(_, other)| other == function).map_or("", |(name, _)| name);
                f.write_str(name)
            }
        }
    }
}
