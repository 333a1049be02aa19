//! Which digits are taken for which.

use crate::data::CLASSES;
use std::fmt;

/// How often each digit (row) was read as each digit (column).
#[derive(Default)]
pub struct Confusion {
    counts: [[usize; CLASSES]; CLASSES],
}

impl Confusion {
    /// Counts predictions against the labels.
    pub fn new(labels: &[u8], predictions: &[u8]) -> Confusion {
        let mut confusion = Confusion::default();
        for (&label, &prediction) in labels.iter().zip(predictions) {
            confusion.counts[usize::from(label)][usize::from(prediction)] += 1;
        }
        confusion
    }

    /// The share of images that were classified correctly.
    pub fn accuracy(&self) -> f64 {
        let all: usize = self.counts.iter().flatten().sum();
        let right: usize = (0..CLASSES).map(|digit| self.counts[digit][digit]).sum();
        right as f64 / all.max(1) as f64
    }
}

impl fmt::Display for Confusion {
    /// A table with the digits written down the side, the digits read along the top, and each digit's share of right
    /// answers at the end of its row; zeros are dots, so that mistakes stand out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let largest = self.counts.iter().flatten().max().copied().unwrap_or(0);
        let width = largest.to_string().len().max(1) + 2;
        write!(f, "written │ read")?;
        write!(f, "\n        │")?;
        for digit in 0..CLASSES {
            write!(f, "{digit:>width$}")?;
        }
        write!(f, "\n────────┼{}", "─".repeat(width * CLASSES + 9))?;
        for (digit, row) in self.counts.iter().enumerate() {
            write!(f, "\n{digit:>7} │")?;
            for &count in row {
                match count {
                    0 => write!(f, "{:>width$}", "·")?,
                    _ => write!(f, "{count:>width$}")?,
                }
            }
            match row.iter().sum() {
                0 => write!(f, "{:>9}", "–")?,
                all => write!(f, "{:>7.1} %", 100.0 * row[digit] as f64 / all as f64)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_aligned_and_counts_are_right() {
        let confusion = Confusion::new(&[1, 1, 1, 7], &[1, 1, 7, 7]);
        assert_eq!(confusion.accuracy(), 0.75);
        let table = confusion.to_string();
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 3 + CLASSES);
        assert!(lines[3..].iter().all(|line| line.chars().count() == lines[2].chars().count()), "{table}");
        assert_eq!(lines[4], "      1 │  ·  2  ·  ·  ·  ·  ·  1  ·  ·   66.7 %");
    }

    #[test]
    fn nothing_at_all_is_no_division_by_zero() {
        assert_eq!(Confusion::new(&[], &[]).accuracy(), 0.0);
    }
}
