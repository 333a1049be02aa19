//! Values in files, as ADBench compares them.

use crate::tasks::{Jacobian, Report};
use std::fmt::Display;
use std::fs::File;
use std::io::{BufWriter, Result, Write};
use std::path::Path;

fn row<T: Display>(out: &mut impl Write, numbers: &[T]) -> Result<()> {
    let texts: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    writeln!(out, "{}", texts.join("\t"))
}

/// The objective, a number a line, and the Jacobian: row by row, or of a sparse one its shape, where its rows begin, the
/// columns of its entries and their values, each with its number.
pub fn values(directory: &Path, instance: &Path, report: &Report) -> Result<()> {
    let stem = instance.file_stem().unwrap_or_default().to_string_lossy();
    let create = |kind| File::create(directory.join(format!("{stem}_{kind}_deltaray.txt"))).map(BufWriter::new);
    let mut out = create("F")?;
    report.objective.measured.result.iter().try_for_each(|value| writeln!(out, "{value}"))?;
    out.flush()?;
    let mut out = create("J")?;
    match &report.jacobian.measured.result {
        Jacobian::Dense(columns, entries) => entries.chunks(*columns).try_for_each(|entries| row(&mut out, entries))?,
        Jacobian::Sparse(matrix) => {
            row(&mut out, &[matrix.rows(), matrix.columns()])?;
            for indices in [matrix.row_offsets(), matrix.column_indices()] {
                writeln!(out, "{}", indices.len())?;
                row(&mut out, indices)?;
            }
            row(&mut out, &matrix.values().to_vec())?;
        }
    }
    out.flush()
}
