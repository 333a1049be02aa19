//! Memory of compiled and exported loops that write: it grows with the array, and not with the array times the steps.

use super::writes::*;
use super::*;
use deltaray::export;

/// Bytes that a program takes beside its arguments and results on the processor, by one thread, and in C.
fn memory<In: Family, Out: Family, First: Family>(function: &Function<In, Out, First>) -> [usize; 2] {
    let compiled = function.compile(Cpu::default().threads(1)).unwrap().program().memory();
    let source = export::c(function).unwrap().source;
    let count = |name: &str| -> usize {
        let line = source.lines().find_map(|line| line.split_once(&format!("*{name} = "))).expect("a size");
        line.1.trim_end_matches(';').parse().expect("a number")
    };
    [compiled, 8 * (count("sz_iw") + count("sz_w"))]
}

macro_rules! assert_linear_memory {
    ($($f:ident: $steps:expr),*) => {{
        let mut problems = Vec::new();
        $({
            let of = |n: usize| {
                let x = Vector::from(vec![0.5; n]);
                let steps = $steps(n);
                let value = stage(|x| $f(x, steps), &x).unwrap();
                let gradient = stage(|x| $f(x, steps).sin().sum(), &x).unwrap().value_and_grad().unwrap();
                let second = gradient.jvp().unwrap();
                [("value", memory(&value)), ("gradient", memory(&gradient)), ("second", memory(&second))]
            };
            // One array of all elements at all steps is 4 times as large for twice the elements.
            for ((kind, once), (_, twice)) in of(480).into_iter().zip(of(960)) {
                for (place, (less, more)) in ["compiled", "C"].into_iter().zip(once.into_iter().zip(twice)) {
                    if 10 * more > 21 * less + 10_000 {
                        problems.push(format!("{}, {kind}, {place}: {less} bytes, then {more}", stringify!($f)));
                    }
                }
            }
        })*
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }};
}

#[test]
fn memory_of_loops_that_write_is_linear() {
    assert_linear_memory!(
        folded: |n| n - 1,
        additions: |n| n - 1,
        scanned: |n| n - 1,
        in_rows: |n| n / 2 - 1,
        in_columns: |n| n / 2 - 1,
        in_planes: |n| n / 4 - 1,
        in_ranges: |n| n - 1
    );
}

#[test]
fn memory_of_nested_loops_choices_and_maps_that_write_is_linear() {
    assert_linear_memory!(
        conditionally: |n| n - 1,
        loop_in_loop: |n| n - 4,
        up_to_a_bound: |n| n - 4,
        built: |n| n - 1,
        mapped: |n| n / 2 - 1
    );
}

#[test]
fn memory_of_loops_that_write_while_something_holds_is_linear() {
    assert_linear_memory!(with_condition: |n| n - 1, with_checkpoints: |n| n - 1);
}

/// A loop whose steps replace the whole array keeps it at each step.
#[test]
fn memory_of_loops_that_replace_an_array_is_seen() {
    let of = |n: usize| {
        let loss = |x: &V<Staged>| iterate(x.clone(), n, |x| x.sin()).sum();
        memory(&stage(loss, &Vector::from(vec![0.5; n])).unwrap().value_and_grad().unwrap())
    };
    for (less, more) in of(480).into_iter().zip(of(960)) {
        assert!(10 * more > 35 * less, "{less} bytes, then {more}");
    }
}
