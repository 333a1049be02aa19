//! Arrays that are written over although they are read later: results tell.

use super::super::IS_CARELESS;
use crate::engine::cpu::Cpu;
use crate::prelude::*;
use crate::staged::Staged;

type V = Vector<Staged, f64>;
type S = Scalar<Staged, f64>;

/// Writes each element of an array, and sums up the values that `read` finds in the array before and after that write.
fn written(a: &V, read: impl Fn(&V, &V, &Scalar<Staged, i64>) -> S) -> (V, S) {
    fold((a.clone(), scalar(0.0)), &iota(a.len()), |(a, sum): (V, S), j: Scalar<Staged, i64>| {
        let after = a.clone().with(&j, (a.at(&j) + &sum).sin() + 0.5);
        let sum = sum + read(&a, &after, &j);
        (after, sum)
    })
}

/// Each read needs the array as it was and the write, so that no order lets the write go into the array.
#[test]
fn an_array_that_is_written_over_too_early_is_found() {
    let programs: [fn(&V) -> (V, S); 4] = [
        |a| written(a, |before, after, j| before.at(after.at(j).gt(-9.0).select(j, 0))),
        |a| written(a, |before, after, _| before.dot(after)),
        |a| written(a, |before, after, _| (before - after).powi(2).sum()),
        |a| written(a, |before, after, j| fold(after.at(j), before, |sum: S, x: S| (sum + x) * 0.5)),
    ];
    let x = Vector::from((0..7).map(|at| (at as f64 * 0.7).cos()).collect::<Vec<_>>());
    for (number, program) in programs.into_iter().enumerate() {
        let function = stage(program, &x).expect("a program");
        let (array, sum) = function.interpret(&x).expect("a run");
        for is_careless in [false, true] {
            IS_CARELESS.set(is_careless);
            let compiled = function.compile(Cpu::default());
            IS_CARELESS.set(false);
            let (found, found_sum) = compiled.expect("a program").call(&x).expect("a run");
            let pairs = || array.to_vec().into_iter().zip(found.to_vec()).chain([(sum.item(), found_sum.item())]);
            let differs = pairs().any(|(a, b)| (a - b).abs() > 1e-12);
            assert_eq!(differs, is_careless, "program {number}");
        }
    }
}
