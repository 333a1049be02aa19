//! Sums over chunks of data, which need not fit memory together.

use deltaray::Error;
use deltaray::prelude::*;
use std::process::Command;

/// The squared distance of rows from a plane, and the number of rows that are far away.
fn loss<A: Algebra>((w, rows): &(Vector<A, f64>, Matrix<A, f64>)) -> Scalar<A, f64> {
    (rows.dot(w) - 1.0).powi(2).sum()
}

/// Numbers between −1 and 1 that depend on their position alone.
fn number(at: u64) -> f64 {
    let mut x = at.wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (x ^ (x >> 31)) as i64 as f64 / 2f64.powi(63)
}

/// Chunks of so many rows each, the last one of fewer.
fn chunks(rows: usize, columns: usize, each: usize) -> impl Iterator<Item = Result<Matrix<Concrete, f64>, Error>> {
    (0..rows).step_by(each).map(move |start| {
        let count = each.min(rows - start);
        let numbers = (start * columns..(start + count) * columns).map(|at| number(at as u64)).collect::<Vec<f64>>();
        Ok(Vector::from(numbers).reshape((count, columns)))
    })
}

#[test]
fn sums_are_those_of_all_rows() {
    let w = Vector::from(vec![0.5, -1.5, 2.0]);
    let loss = jit(loss).value_and_grad();
    let (value, slope) = loss.sum_over(&w, chunks(1000, 3, 1000)).unwrap();
    for each in [1, 7, 300, 999, 2000] {
        let (sum, total) = loss.sum_over(&w, chunks(1000, 3, each)).unwrap();
        approx::assert_relative_eq!(sum.item(), value.item(), max_relative = 1e-12);
        for (a, b) in total.to_vec().into_iter().zip(slope.to_vec()) {
            approx::assert_relative_eq!(a, b, max_relative = 1e-12);
        }
        let (again, _) = loss.sum_over(&w, chunks(1000, 3, each)).unwrap();
        assert_eq!(again.item().to_bits(), sum.item().to_bits());
    }
}

#[test]
fn integers_are_added_too() {
    let count = jit(|(w, rows): &(Scalar<_, f64>, Vector<_, f64>)| rows.gt(w).cast::<i64>().sum());
    let parts = [vec![1.0, 3.0], vec![4.0], vec![0.0; 3]].map(|part| Ok::<_, Error>(Vector::from(part)));
    assert_eq!(count.sum_over(&scalar(2.0), parts).unwrap().item(), 2);
}

#[test]
fn bad_chunks_are_errors() {
    let text = |error: Error| error.to_string();
    let w: Vector<Concrete, f64> = ones(2);
    let of_loss = jit(loss);
    let none = of_loss.sum_over(&w, chunks(0, 2, 5)).map(drop).map_err(text).unwrap_err();
    assert!(
        none.contains("sum_over") && none.contains("there is no chunk") && none.contains("tests/chunks.rs"),
        "{none}"
    );
    // Of another width than the weights.
    assert!(of_loss.sum_over(&w, chunks(4, 3, 2)).is_err());
    // The iterator's own.
    let broken: [Result<Matrix<Concrete, f64>, Box<dyn std::error::Error>>; 2] = [Ok(ones((1, 2))), Err("gone".into())];
    assert_eq!(of_loss.sum_over(&w, broken).unwrap_err().to_string(), "gone");
    let products = jit(|(w, rows): &(Vector<_, f64>, Matrix<_, f64>)| rows.dot(w));
    // Of other lengths from the second or the third chunk on.
    for rows in [5, 8] {
        let differing = products.sum_over(&w, chunks(rows, 2, 3)).map(drop).map_err(text).unwrap_err();
        assert!(differing.contains("sum_over: results for two chunks differ"), "{differing}");
        assert!(differing.contains("f64[3]") && differing.contains("f64[2]"), "{differing}");
    }
    let far = jit(|(w, rows): &(Vector<_, f64>, Matrix<_, f64>)| rows.dot(w).gt(0.0));
    assert!(text(far.sum_over(&w, chunks(4, 2, 2)).map(drop).unwrap_err()).contains("bool[2]"));
}

/// The most memory that this process has had, in bytes.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux says what a process has");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the peak of memory");
    1024 * line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number")
}

/// In a process of its own, so that others have no part in its memory.
#[cfg(target_os = "linux")]
#[test]
fn memory_is_that_of_some_chunks() {
    const PART: &str = "DELTARAY_CHUNKS";
    const COLUMNS: usize = 64;
    let chunk = 8 << 20;
    if let Ok(bytes) = std::env::var(PART) {
        let bytes: usize = bytes.parse().expect("a number");
        let w: Vector<Concrete, f64> = full(COLUMNS, 0.1);
        let loss = jit(loss).value_and_grad().on(Cpu::default().threads(1));
        let zeros = (0..bytes / chunk).map(|_| Ok::<_, Error>(full((chunk / 8 / COLUMNS, COLUMNS), 1.0) + 0.0));
        let (value, _) = loss.sum_over(&w, zeros).unwrap();
        let rows = (bytes / 8 / COLUMNS) as f64;
        approx::assert_relative_eq!(value.item(), rows * (0.1 * COLUMNS as f64 - 1.0).powi(2), max_relative = 1e-9);
        assert!(peak() < 12 * chunk, "{} bytes", peak());
        return;
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "memory_is_that_of_some_chunks"]).env(PART, (64 * chunk).to_string());
    let output = child.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
