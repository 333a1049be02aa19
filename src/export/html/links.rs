//! Which nodes of one stage are those of the next.

use super::seen::{LineFacts, Seen};
use super::stage::Stage;
use super::values::Fingerprint;
use crate::shape::{Type, rank_of_float, sort_by_rank};
use std::collections::HashMap;

/// A line is linked to no more lines than this.
const LINKED: usize = 6;

/// No more candidates are looked at for a line.
const CANDIDATES: usize = 48;

/// An index of the lines of a stage by the facts about them.
struct LineIndex<'a> {
    seen: &'a Seen,
    /// Lines by type, in the order of their keys.
    values: HashMap<&'a Type, Vec<(f64, usize)>>,
    structures: HashMap<u64, Vec<usize>>,
    parameters: HashMap<usize, usize>,
}

impl<'a> LineIndex<'a> {
    fn new(seen: &'a Seen) -> LineIndex<'a> {
        let mut index =
            LineIndex { seen, values: HashMap::new(), structures: HashMap::new(), parameters: HashMap::new() };
        for (at, known) in seen.lines.iter().enumerate() {
            let Some(known) = known else { continue };
            if let Some(value) = &known.value {
                index.values.entry(&value.ty).or_default().push((value.key(), at));
            }
            if let Some(structure) = known.structure {
                index.structures.entry(structure).or_default().push(at);
            }
            if let Some(parameter) = known.parameter {
                index.parameters.insert(parameter, at);
            }
        }
        index.values.values_mut().for_each(|lines| sort_by_rank(lines, |&(number, _)| rank_of_float(number)));
        index
    }

    /// The lines that compute the same as a line of another stage: the first parameter is `own`'s stage.
    fn find(&self, from: &Seen, own: &LineFacts) -> Vec<usize> {
        let mut found: Vec<usize> =
            own.parameter.and_then(|at| self.parameters.get(&at)).copied().into_iter().collect();
        match &own.value {
            Some(value) if self.seen.has_values => found.extend(self.equal(own, value)),
            _ if from.has_values && self.seen.has_values => {}
            _ => {
                let same = own.structure.and_then(|structure| self.structures.get(&structure));
                found.extend(same.into_iter().flatten().copied());
            }
        }
        found
    }

    fn equal(&self, own: &LineFacts, value: &Fingerprint) -> Vec<usize> {
        let Some(lines) = self.values.get(&value.ty) else { return Vec::new() };
        // The tolerance of either may be the larger one.
        let tolerance = 2.0 * value.tolerance();
        let start = lines.partition_point(|&(key, _)| key < value.key() - tolerance);
        let near = lines[start..].iter().take_while(|&&(key, _)| key <= value.key() + tolerance);
        let mut found = Vec::new();
        for &(_, at) in near.take(CANDIDATES) {
            let Some(LineFacts { value: Some(other), word, .. }) = &self.seen.lines[at] else { continue };
            if value.is_close(other) && (!value.is_common() || *word == own.word) {
                found.push(at);
            }
        }
        found
    }
}

/// For each line of a stage the lines of another one that compute the same; for an operation of several outputs those
/// operations whose outputs are linked to its own.
pub(super) fn matches(from: &Seen, to: &Seen) -> Vec<Vec<usize>> {
    let index = LineIndex::new(to);
    let find = |known: &Option<LineFacts>| known.as_ref().map_or_else(Vec::new, |known| index.find(from, known));
    let mut found: Vec<Vec<usize>> = from.lines.iter().map(find).collect();
    let source = |seen: &Seen, at: usize| seen.lines[at].as_ref().and_then(|known| known.source);
    for at in 0..from.lines.len() {
        let Some(operation) = source(from, at) else { continue };
        let operations: Vec<usize> = found[at].iter().filter_map(|&other| source(to, other)).collect();
        found[operation].extend(operations);
    }
    for lines in &mut found {
        lines.sort_unstable();
        lines.dedup();
        lines.truncate(LINKED);
    }
    found
}

/// Links the lines of a stage to those of the next.
pub(super) fn link(stage: &mut Stage, seen: &Seen, next: &Seen) {
    for (line, links) in stage.lines.iter_mut().zip(matches(seen, next)) {
        line.links = links;
    }
}
