//! Positions of a read's result as functions of those of its source.

use super::AffineMap;
use smallvec::SmallVec;

/// `Σ result[c] · j[c] = Σ source[r] · p[r] + constant`, for positions `j` of the result and `p` of the source.
pub(crate) struct AffineEquation {
    pub(crate) result: SmallVec<[i64; 4]>,
    pub(crate) source: SmallVec<[i64; 4]>,
    pub(crate) constant: i64,
    /// The column that this equation is solved for; its coefficient is 1, and 0 in the other equations.
    pub(crate) pivot: Option<usize>,
}

impl AffineEquation {
    /// `self - factor · other`, if it fits.
    fn minus(&mut self, factor: i64, other: &AffineEquation) -> Option<()> {
        let pairs = self.result.iter_mut().zip(&other.result).chain(self.source.iter_mut().zip(&other.source));
        for (own, &its) in pairs.chain(std::iter::once((&mut self.constant, &other.constant))) {
            *own = own.checked_sub(factor.checked_mul(its)?)?;
        }
        Some(())
    }

    fn negate(&mut self) -> Option<()> {
        for own in self.result.iter_mut().chain(&mut self.source).chain(std::iter::once(&mut self.constant)) {
            *own = own.checked_neg()?;
        }
        Some(())
    }
}

impl AffineMap {
    /// The equations, solved for as many columns as have a coefficient ±1, columns of large extents first.
    pub(crate) fn solved(&self) -> Option<Vec<AffineEquation>> {
        let count = self.source().len();
        let mut equations: Vec<AffineEquation> = Vec::with_capacity(count);
        for (row, result) in (0..count).map(|row| SmallVec::from_slice(self.row(row))).enumerate() {
            let mut source = SmallVec::from_elem(0, count);
            // An axis of extent 1 has the one position 0.
            source[row] = i64::from(self.source()[row] > 1);
            equations.push(AffineEquation { result, source, constant: self.offset(row).checked_neg()?, pivot: None });
        }
        loop {
            let mut best: Option<(usize, usize, usize)> = None;
            for (at, equation) in equations.iter().enumerate().filter(|(_, equation)| equation.pivot.is_none()) {
                for (column, &coefficient) in equation.result.iter().enumerate() {
                    let extent = self.result()[column];
                    if coefficient.unsigned_abs() == 1 && best.is_none_or(|(_, _, largest)| extent > largest) {
                        best = Some((at, column, extent));
                    }
                }
            }
            let Some((at, column, _)) = best else { return Some(equations) };
            let mut chosen = equations.swap_remove(at);
            if chosen.result[column] < 0 {
                chosen.negate()?;
            }
            chosen.pivot = Some(column);
            for equation in &mut equations {
                let factor = equation.result[column];
                if factor != 0 {
                    equation.minus(factor, &chosen)?;
                }
            }
            equations.push(chosen);
        }
    }

    /// Where the elements of the source are in the result, if each is there once at most, and zeros are everywhere else:
    /// `view(x, self) = accumulate(x, adjoint)`. `None` for other reads.
    pub(crate) fn adjoint(&self) -> Option<AffineMap> {
        let equations = self.solved()?;
        let is_trivial = |equation: &AffineEquation| {
            equation.constant == 0
                && equation.result.iter().chain(&equation.source).all(|&coefficient| coefficient == 0)
        };
        if !equations.iter().all(|equation| equation.pivot.is_some() || is_trivial(equation)) {
            return None;
        }
        let columns = self.result().len();
        let mut rows: Vec<SmallVec<[i64; 4]>> = vec![SmallVec::from_elem(0, self.source().len()); columns];
        let mut offsets = vec![0; columns];
        let mut is_known: Vec<bool> = self.result().iter().map(|&extent| extent <= 1).collect();
        for equation in equations {
            let Some(column) = equation.pivot else { continue };
            rows[column] = equation.source;
            (offsets[column], is_known[column]) = (equation.constant, true);
        }
        // Along other axes the elements would repeat.
        if is_known.contains(&false) {
            return None;
        }
        AffineMap::checked(self.result(), self.source(), &rows, &offsets)
    }
}
