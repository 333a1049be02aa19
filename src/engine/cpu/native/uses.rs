//! Where the values of a program are read.

use super::program::{Step, Value};
use crate::shape::sort_by_rank;
use crate::term::hash::TermMap;
use std::collections::HashSet;

/// The steps that read each value, in their order, and loops.
pub(super) struct Uses {
    reads: Vec<u32>,
    /// Where the reads of each value begin, and where those of the last one end.
    begins: Vec<u32>,
    defined: Vec<u32>,
    /// The last step at which a value must be there: the end of a loop around its last reader that it was there before.
    last: Vec<u32>,
    /// The values that each loop reads and that were there before: whether they change in it, and how often they are read,
    /// most often first.
    read: TermMap<u32, Vec<(Value, bool, u32)>>,
    /// How many variables begin in each loop.
    variables: TermMap<u32, usize>,
    /// Whether a value has one reader, before which no step begins, ends, or writes.
    near: Vec<bool>,
}

/// Calls a function for each read of a value, in the order of steps.
fn each_read(steps: &[Step], count: usize, mut of: impl FnMut(u32, Value)) {
    let mut defined = vec![false; count];
    for (at, step) in (0..).zip(steps) {
        step.each_operand(|value| of(at, value));
        if let Some(result) = step.result()
            && std::mem::replace(&mut defined[result as usize], true)
        {
            of(at, result);
        }
    }
}

impl Uses {
    pub(super) fn of(steps: &[Step], count: usize) -> Uses {
        let mut begins = vec![0; count + 1];
        each_read(steps, count, |_, value| begins[value as usize + 1] += 1);
        for value in 0..count {
            begins[value + 1] += begins[value];
        }
        let (mut reads, mut next) = (vec![0; begins[count] as usize], begins.clone());
        each_read(steps, count, |at, value| {
            let place = &mut next[value as usize];
            reads[*place as usize] = at;
            *place += 1;
        });
        let mut uses = Uses {
            reads,
            begins,
            defined: vec![u32::MAX; count],
            last: vec![0; count],
            read: TermMap::default(),
            variables: TermMap::default(),
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
                inside.for_each(|(begin, _)| *uses.variables.entry(*begin).or_default() += 1);
            }
            let mut note = |uses: &mut Uses, value: Value, changes: bool| {
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
                    sort_by_rank(&mut read, |&(value, changes)| 2 * u64::from(value) + u64::from(changes));
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
                    sort_by_rank(&mut all, |&(_, changes, count)| u64::from(!changes) << 32 | u64::from(!count));
                    uses.read.insert(begin, all);
                }
                _ => {}
            }
        }
        for value in 0..count {
            if let Some(&last) = uses.reads_of(value as Value).last() {
                uses.last[value] = uses.last[value].max(last);
            }
            if let [only] = *uses.reads_of(value as Value) {
                let (from, to) = (uses.defined[value] as usize, only as usize);
                uses.near[value] = barriers[from] == barriers[to];
            }
        }
        uses
    }

    /// The steps that read a value, in their order; a variable is read where it is assigned again.
    fn reads_of(&self, value: Value) -> &[u32] {
        let [begin, end] = [0, 1].map(|by| self.begins[value as usize + by] as usize);
        &self.reads[begin..end]
    }

    /// The next step after this one that reads a value.
    pub(super) fn next(&self, value: Value, at: u32) -> Option<u32> {
        let reads = self.reads_of(value);
        let next = reads.partition_point(|&read| read <= at);
        reads.get(next).copied().or_else(|| (self.last[value as usize] > at).then_some(self.last[value as usize]))
    }

    pub(super) fn last(&self, value: Value) -> u32 {
        self.last[value as usize]
    }

    /// The values that the loop which begins at a step reads and that were there before.
    pub(super) fn read_in(&self, begin: u32) -> &[(Value, bool, u32)] {
        &self.read[&begin]
    }

    /// How many variables begin in the loop that begins at a step.
    pub(super) fn variables_in(&self, begin: u32) -> usize {
        self.variables.get(&begin).copied().unwrap_or(0)
    }

    pub(super) fn is_near(&self, value: Value) -> bool {
        self.near[value as usize]
    }
}
