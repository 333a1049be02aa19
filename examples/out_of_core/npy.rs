//! The rows of a file in the format of NumPy, in chunks.

use crate::{Chunk, Failure};
use deltaray::prelude::*;
use std::fs::File;
use std::io::Read;

/// Chunks of the rows of a matrix of `float64`.
pub struct Chunks {
    path: String,
    file: File,
    rows: usize,
    columns: usize,
    /// Rows of a chunk, and those that have been read.
    each: usize,
    read: usize,
}

impl Chunks {
    /// Chunks of at most so many bytes, of one row at least.
    pub fn open(path: &str, bytes: usize) -> Result<Chunks, Failure> {
        let mut file = File::open(path).map_err(|error| format!("{path}: {error}"))?;
        let wrong = |problem: &str| -> Failure { format!("{path}: {problem}").into() };
        let mut start = [0; 10];
        file.read_exact(&mut start).map_err(|_| wrong("no file of NumPy's"))?;
        if &start[..6] != b"\x93NUMPY" || start[6] != 1 {
            return Err(wrong("no file of NumPy's format 1"));
        }
        let header_length = u64::from(u16::from_le_bytes([start[8], start[9]]));
        let mut header = vec![0; header_length as usize];
        file.read_exact(&mut header).map_err(|_| wrong("no file of NumPy's"))?;
        let header = String::from_utf8_lossy(&header);
        if !header.contains("'descr': '<f8'") || !header.contains("'fortran_order': False") {
            return Err(wrong(&format!("no matrix of float64 in rows, but {}", header.trim())));
        }
        let shape = header.split_once("'shape': (").and_then(|(_, rest)| rest.split_once(')'));
        let numbers = shape.map_or("", |(shape, _)| shape).split(',').map(str::trim).filter(|part| !part.is_empty());
        let numbers: Option<Vec<usize>> = numbers.map(|number| number.parse().ok()).collect();
        let Some(&[rows, columns]) = numbers.as_deref() else {
            return Err(wrong("no matrix"));
        };
        let bytes_of_all = rows.checked_mul(columns).and_then(|count| count.checked_mul(8)).map(|bytes| bytes as u64);
        let bytes_there = file.metadata()?.len() - 10 - header_length;
        if bytes_of_all != Some(bytes_there) {
            return Err(wrong("as many bytes as its shape says are not there"));
        }
        let each = (bytes / 8 / columns.max(1)).max(1);
        Ok(Chunks { path: path.into(), file, rows, columns, each, read: 0 })
    }

    /// All rows, and columns.
    pub fn shape(&self) -> (usize, usize) {
        (self.rows, self.columns)
    }
}

impl Iterator for Chunks {
    type Item = Result<Chunk, Failure>;

    fn next(&mut self) -> Option<Result<Chunk, Failure>> {
        let count = self.each.min(self.rows - self.read);
        if count == 0 {
            return None;
        }
        self.read += count;
        let mut bytes = vec![0; 8 * count * self.columns];
        if let Err(error) = self.file.read_exact(&mut bytes) {
            self.read = self.rows;
            return Some(Err(format!("{}: {error}", self.path).into()));
        }
        let number = |bytes: &[u8]| f64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        let numbers: Vec<f64> = bytes.chunks_exact(8).map(number).collect();
        Some(Ok(Vector::from(numbers).reshape((count, self.columns))))
    }
}
