//! The way from a bulk program to loop nests, which every engine and exporter takes.

use crate::simplify::{TableLimits, fold_within};
use crate::term::Body;
use crate::vectorise::push_gathers;

/// The loop nests that `lower` makes of a program, after the passes for programs that are to be run: what depends on no
/// parameter is computed within limits, and gathers move where recomputation costs less than memory.
///
/// # Errors
///
/// When the program is ill-formed, in words. Kernels read and write where the types say, so that a mistake of a pass must not
/// become one of memory.
pub(crate) fn prepared<L>(
    body: &Body,
    limits: TableLimits,
    lower: impl FnOnce(&Body) -> L,
) -> std::result::Result<L, String> {
    body.validate()?;
    Ok(lower(&push_gathers(&fold_within(body, limits))))
}
