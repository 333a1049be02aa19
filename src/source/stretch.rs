//! Loops that run over the stretch where their nest changes something.

use super::text::Text;
use super::writer::NestWriter;
use crate::kernel::Nest;
use crate::kernel::stretch::{self, Limit};
use crate::shape::{DType, Value};
use std::borrow::Cow;

/// A nest whose loops, in this order, run over stretches, and where these begin and end. The outermost loops, so many of them,
/// have no stretches.
pub(crate) fn stretches<'n>(nest: &'n Nest, order: &[usize], parallel: usize) -> (Cow<'n, Nest>, Vec<Limit>) {
    let limits = limits(nest, order, parallel);
    if limits.is_empty() {
        return (Cow::Borrowed(nest), limits);
    }
    let (nest, limits) = stretch::within(nest, limits);
    (Cow::Owned(nest), limits)
}

/// The limits of a nest's loops that are known where these begin.
fn limits(nest: &Nest, order: &[usize], parallel: usize) -> Vec<Limit> {
    let place = |axis: usize| order.iter().position(|&other| other == axis);
    let is_known = |(limit, moves): &(Limit, u64)| {
        let own = place(limit.axis);
        if own < Some(parallel) {
            return false;
        }
        let moving = (0..nest.extents.len()).filter(|axis| moves >> (axis % 64) & 1 == 1);
        moving.into_iter().all(|axis| place(axis) < own)
    };
    let moved = stretch::moved(nest);
    stretch::limits(nest, &moved).into_iter().filter(is_known).map(|(limit, _)| limit).collect()
}

impl NestWriter<'_> {
    /// The first position of a loop and the one after its last, as counters.
    pub(crate) fn ends(&mut self, text: &mut Text, level: usize) -> (String, String) {
        let axis = self.order[level];
        let extent = self.nest.extents[axis];
        let own: Vec<Limit> = self.limits.iter().filter(|limit| limit.axis == axis).cloned().collect();
        if own.is_empty() {
            return ("0".into(), extent.to_string());
        }
        if let [limit] = &own[..]
            && limit.others.coefficients.iter().all(|&coefficient| coefficient == 0)
        {
            let bound = self.bound(text, limit, level);
            return match limit.is_upper {
                true => ("0".into(), bound),
                false => (bound, extent.to_string()),
            };
        }
        let number = |value: i64| self.language.literal(Value::I64(value));
        let (mut start, mut end) = (number(0), number(extent as i64));
        for (at, limit) in own.iter().enumerate() {
            // A number far beyond the loop counts as one just beyond it, so that nothing overflows.
            let (low, high) = limit.others.range(&self.nest.extents);
            let ends = [low, high + extent as i128].map(|at| at.clamp(i64::MIN.into(), i64::MAX.into()) as i64);
            let near = self.near(text, limit, &format!("near{level}_{at}"), ends);
            let others = self.signed(&limit.others).text;
            let bound = format!("bound{level}_{at}");
            let moved = format!("({}) - ({others})", shifted(&near, limit.offset));
            text.declare(&bound, self.language.declare(&bound, DType::I64, &moved));
            let other = if limit.is_upper { &mut end } else { &mut start };
            let is_nearer = if limit.is_upper { format!("{bound} < {other}") } else { format!("{other} < {bound}") };
            let nearer = self.language.choice(&is_nearer, &bound, other);
            let name = format!("nearer{level}_{at}");
            text.declare(&name, self.language.declare(&name, DType::I64, &nearer));
            *other = name;
        }
        // No step at all ends where it begins.
        let is_empty = self.language.choice(&format!("{end} < {start}"), &start, &end);
        let end = format!("end{level}");
        text.declare(&end, self.language.declare(&end, DType::I64, &is_empty));
        (self.counter(text, &format!("first{level}"), &start), self.counter(text, &format!("last{level}"), &end))
    }

    /// The only limit of a loop, which no other loop moves, as a counter: between the ends of the loop.
    fn bound(&mut self, text: &mut Text, limit: &Limit, level: usize) -> String {
        let shift = limit.offset.saturating_sub(limit.others.offset);
        let ends = [-shift, self.nest.extents[limit.axis] as i64 - shift];
        let near = self.near(text, limit, &format!("near{level}"), ends);
        let bound = format!("bound{level}");
        text.declare(&bound, self.language.declare(&bound, DType::I64, &shifted(&near, shift)));
        self.counter(text, &format!("{}{level}", if limit.is_upper { "last" } else { "first" }), &bound)
    }

    /// A limit's number, or the nearer of these ends where it is beyond.
    fn near(&mut self, text: &mut Text, limit: &Limit, name: &str, [low, high]: [i64; 2]) -> String {
        let number = |value: i64| self.language.literal(Value::I64(value));
        let value = self.operand(limit.value);
        let below = self.language.choice(&format!("{value} < {}", number(low)), &number(low), &value);
        text.declare(name, self.language.declare(name, DType::I64, &below));
        self.language.choice(&format!("{} < {name}", number(high)), &number(high), name)
    }

    /// A number that is not below 0, as a counter of this name.
    fn counter(&self, text: &mut Text, name: &str, number: &str) -> String {
        text.declare(name, self.language.declare_index(name, &self.language.counter(number)));
        name.into()
    }
}

/// A choice plus a number.
fn shifted(choice: &str, by: i64) -> String {
    match by {
        0 => choice.into(),
        by if by > 0 => format!("({choice}) + {by}"),
        by => format!("({choice}) - {}", by.unsigned_abs()),
    }
}

#[cfg(test)]
mod tests {
    use crate::export::{c, rust};
    use crate::prelude::*;
    use crate::staged::Staged;

    type M = Matrix<Staged, f64>;

    /// The heads of loops of exported C and Rust.
    fn loops(function: impl Fn(&M) -> Vector<Staged, f64>) -> [Vec<String>; 2] {
        let x = Matrix::from_elements([40, 40], vec![1.0; 1600]);
        let program = stage(function, &x).unwrap();
        let (c, rust) = (c(&program).unwrap(), rust(&program).unwrap());
        [c.source.as_str(), rust.as_str()].map(|source| {
            let heads = source.lines().map(str::trim).filter(|line| line.starts_with("for ") && line.contains("i0"));
            heads.map(String::from).collect()
        })
    }

    #[test]
    fn exported_sums_run_over_their_stretch() {
        let folded = |x: &M| fold(zeros(40), &iota(40), |y, j| y.with(&j, x.at(&j).moving_slice(..&j).sum()));
        let extremes = |x: &M| fold(zeros(40), &iota(40), |y, j| y.with(&j, x.at(&j).moving_slice(&j..).max_all()));
        for (found, is_upper) in [(loops(folded), true), (loops(extremes), false)] {
            for heads in found {
                let end = if is_upper { "last0" } else { "first0" };
                assert!(heads.iter().any(|head| head.contains(end)), "{heads:?}");
                // The other one counts the steps.
                let whole = heads.iter().filter(|head| !head.contains(end) && head.contains("40")).count();
                assert!(whole <= 1, "{heads:?}");
            }
        }
    }
}
