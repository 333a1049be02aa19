//! Where the values of a program are read.

use super::program::{Step, Value};
use std::collections::HashSet;

/// The steps that read each value, in their order, and loops.
pub(super) struct Uses {
    reads: Vec<Vec<u32>>,
    defined: Vec<u32>,
    /// The last step at which a value must be there: the end of a loop around its last reader that it was there before.
    last: Vec<u32>,
    /// The values that each loop reads and that were there before: whether they change in it, and how often they are read,
    /// most often first.
    read: Vec<Vec<(Value, bool, u32)>>,
    /// How many variables begin in each loop.
    variables: Vec<usize>,
    /// Whether a value has one reader, before which no step begins, ends, or writes.
    near: Vec<bool>,
}

impl Uses {
    pub(super) fn of(steps: &[Step], count: usize) -> Uses {
        let mut uses = Uses {
            reads: vec![Vec::new(); count],
            defined: vec![u32::MAX; count],
            last: vec![0; count],
            read: vec![Vec::new(); steps.len()],
            variables: vec![0; steps.len()],
            near: vec![false; count],
        };
        let mut open: Vec<(u32, Vec<(Value, bool)>)> = Vec::new();
        let mut changed: HashSet<Value> = HashSet::new();
        // How many steps so far begin, end, or write.
        let mut barriers = vec![0u32; steps.len() + 1];
        for (at, step) in steps.iter().enumerate() {
            let is_barrier = matches!(step, Step::Begin(_) | Step::End(_) | Step::Store { .. } | Step::Advance { .. });
            barriers[at + 1] = barriers[at] + u32::from(is_barrier);
            let at = at as u32;
            if let Some(result) = step.result()
                && uses.defined[result as usize] != u32::MAX
                && changed.insert(result)
            {
                let inside = open.iter().filter(|(begin, _)| uses.defined[result as usize] > *begin);
                inside.for_each(|(begin, _)| uses.variables[*begin as usize] += 1);
            }
            let mut note = |uses: &mut Uses, value: Value, changes: bool| {
                uses.reads[value as usize].push(at);
                for (_, read) in open.iter_mut().filter(|(begin, _)| uses.defined[value as usize] < *begin) {
                    read.push((value, changes));
                }
            };
            step.each_operand(|value| note(&mut uses, value, false));
            if let Some(result) = step.result() {
                match uses.defined[result as usize] {
                    u32::MAX => {
                        uses.defined[result as usize] = if matches!(step, Step::Constant { .. }) { 0 } else { at }
                    }
                    _ => note(&mut uses, result, true),
                }
            }
            match step {
                Step::Begin(_) => open.push((at, Vec::new())),
                Step::End(_) => {
                    let (begin, mut read) = open.pop().expect("a loop was begun");
                    read.sort_unstable();
                    let mut all: Vec<(Value, bool, u32)> = Vec::new();
                    for (value, changes) in read {
                        uses.last[value as usize] = at;
                        match all.last_mut() {
                            Some((last, changed, count)) if *last == value => {
                                *changed |= changes;
                                *count += 1;
                            }
                            _ => all.push((value, changes, 1)),
                        }
                    }
                    all.sort_by_key(|&(_, changes, count)| (!changes, std::cmp::Reverse(count)));
                    uses.read[begin as usize] = all;
                }
                _ => {}
            }
        }
        for (value, reads) in uses.reads.iter().enumerate() {
            if let Some(&last) = reads.last() {
                uses.last[value] = uses.last[value].max(last);
            }
            if let [only] = reads[..] {
                let (from, to) = (uses.defined[value] as usize, only as usize);
                uses.near[value] = barriers[from] == barriers[to];
            }
        }
        uses
    }

    /// The next step after this one that reads a value.
    pub(super) fn next(&self, value: Value, at: u32) -> Option<u32> {
        let reads = &self.reads[value as usize];
        let next = reads.partition_point(|&read| read <= at);
        reads.get(next).copied().or_else(|| (self.last[value as usize] > at).then_some(self.last[value as usize]))
    }

    pub(super) fn last(&self, value: Value) -> u32 {
        self.last[value as usize]
    }

    /// The values that the loop which begins at a step reads and that were there before.
    pub(super) fn read_in(&self, begin: u32) -> &[(Value, bool, u32)] {
        &self.read[begin as usize]
    }

    /// How many variables begin in the loop that begins at a step.
    pub(super) fn variables_in(&self, begin: u32) -> usize {
        self.variables[begin as usize]
    }

    pub(super) fn is_near(&self, value: Value) -> bool {
        self.near[value as usize]
    }
}
