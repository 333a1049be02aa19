//! Limits on programs that are read: anything that hostile input could make large is bounded by the length of the input.

use crate::affine::AffineMap;
use crate::operation::Elimination;
use crate::shape::Type;
use crate::term::content::check_nested;
use crate::term::infer::Types;
use crate::term::{Checkpoints, Extension, Op, infer, print};
use smallvec::SmallVec;

/// How many brackets, and how many bodies, may stand in each other: a reader recurses over both.
pub(super) const NESTING: usize = 64;

/// Extents of types and coefficients of maps that any program may have.
const ALLOWANCE: usize = 1 << 20;

/// And so many more for each byte of its input: an operation on arrays of many axes is written in a few bytes.
const FOR_EACH_BYTE: usize = 64;

/// The bounds of one input.
pub(super) struct InputLimits {
    left: usize,
}

impl InputLimits {
    /// The limits for an input of so many bytes.
    pub(super) fn of(bytes: usize) -> InputLimits {
        InputLimits { left: ALLOWANCE.saturating_add(bytes.saturating_mul(FOR_EACH_BYTE)) }
    }

    /// Charges numbers against the allowance.
    fn charge(&mut self, numbers: usize) -> Result<(), String> {
        match self.left.checked_sub(numbers) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err("the program's types and maps have too many axes for its length".into()),
        }
    }

    /// Checks that an array of a type can be, and could be counted.
    pub(super) fn ty(&mut self, ty: &Type) -> Result<(), String> {
        self.charge(ty.rank())?;
        ty.check_size()
    }

    /// The map from its parts: a row for each axis of the source with a coefficient for each of the result, and the
    /// position there that is read for 0.
    ///
    /// # Errors
    ///
    /// When rows, columns and offsets don't fit the shapes, or positions are further outside than a map reads.
    pub(super) fn map(
        &mut self,
        source: &[usize],
        result: &[usize],
        rows: &[SmallVec<[i64; 4]>],
        offsets: &[i64],
    ) -> Result<AffineMap, String> {
        self.coefficients(source.len(), result.len())?;
        if rows.len() != source.len() || offsets.len() != source.len() {
            let (rows, offsets) = (rows.len(), offsets.len());
            return Err(format!("the map has {rows} rows and {offsets} offsets, but reads shape {source:?}"));
        }
        if let Some(row) = rows.iter().find(|row| row.len() != result.len()) {
            return Err(format!("a row of the map has {} coefficients, but the shape is {result:?}", row.len()));
        }
        if let Some(extent) = source.iter().find(|&&extent| i64::try_from(extent).is_err()) {
            return Err(format!("the map reads an axis of length {extent}, which no array has"));
        }
        AffineMap::checked(source, result, rows, offsets).ok_or_else(|| {
            format!("the map reads further than 2^{} outside of shape {source:?}", AffineMap::REACH.ilog2())
        })
    }

    /// The analysis of a sparse pattern, whose factor is charged against the allowance.
    ///
    /// # Errors
    ///
    /// When the pattern is none of a symmetric matrix with a whole diagonal, or fills more than is left.
    pub(super) fn elimination(&mut self, offsets: Vec<usize>, columns: Vec<u32>) -> Result<Elimination, String> {
        let elimination = Elimination::new(offsets, columns, self.left)?;
        self.charge(elimination.factor_entries())?;
        Ok(elimination)
    }

    /// Charges the coefficients of a map against the allowance, before the map is made.
    pub(super) fn coefficients(&mut self, rows: usize, columns: usize) -> Result<(), String> {
        self.charge(rows.saturating_mul(columns.saturating_add(1)).saturating_add(columns))
    }

    /// The types of an operation's outputs, from the types of its operands.
    ///
    /// # Errors
    ///
    /// When the operands don't fit; the message begins with the operation's name.
    pub(super) fn outputs<X: Extension>(&mut self, op: &Op<X>, operands: &[&[Type]]) -> Result<Types, String> {
        let named = |problem: String| format!("{}: {problem}", print::name(op));
        self.numbers(op, operands).map_err(named)?;
        check_nested(op).map_err(named)?;
        let types = infer::outputs(op, operands).map_err(named)?;
        for ty in &types {
            self.ty(ty).map_err(named)?;
        }
        Ok(types)
    }

    /// Checks numbers that types don't cover.
    fn numbers<X: Extension>(&self, op: &Op<X>, operands: &[&[Type]]) -> Result<(), String> {
        let too_many = |what: &str| Err(format!("there are not so many {what}"));
        match op {
            Op::Scan(scan) => match scan.carries.checked_add(scan.inputs) {
                Some(own) if own <= operands.len() => Ok(()),
                _ => too_many("carries and inputs"),
            },
            Op::Sweeps(sweeps) => {
                if sweeps.sweeps.is_empty() {
                    return Err("a loop has a sweep".into());
                }
                let mut own: usize = 0;
                for sweep in &sweeps.sweeps {
                    own = match sweep.carries.checked_add(sweep.inputs).and_then(|count| own.checked_add(count)) {
                        Some(own) if own <= operands.len() => own,
                        _ => return too_many("carries and inputs"),
                    };
                    if sweep.carries.checked_add(sweep.keeps).is_none_or(|count| count > sweep.body.results.len()) {
                        return too_many("values of a step that are kept");
                    }
                }
                match sweeps.checkpoints {
                    Checkpoints::Every(0) | Checkpoints::Snapshots(0) => {
                        Err("a loop has at least one checkpoint".into())
                    }
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}
