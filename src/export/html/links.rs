//! Which nodes of one stage are those of the next.

use super::stage::Stage;
use super::values::{Fingerprint, observe};
use crate::concrete::Array;
use crate::shape::Type;
use crate::term::print::{self, Line};
use crate::term::{Body, Build, Op};
use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// A line is linked to no more lines than this.
const LINKED: usize = 6;

/// No more candidates are looked at for a line.
const CANDIDATES: usize = 48;

/// What is known of a line's node.
pub(super) struct Known {
    /// What it computes at the point, if it was run.
    pub(super) value: Option<Fingerprint>,
    /// How it is computed from the parameters; of nodes of bodies nothing.
    pub(super) structure: Option<u64>,
    /// The word of its operation.
    word: String,
    /// The position of a parameter.
    parameter: Option<usize>,
}

/// What is known of the lines of a stage; of those that are no nodes nothing.
pub(super) struct Seen {
    pub(super) lines: Vec<Option<Known>>,
    /// Whether values are known.
    has_values: bool,
}

impl Seen {
    /// What is known of the lines of a program at a point.
    pub(super) fn of(body: &Body<Build>, listing: &[Line], inputs: &Option<Vec<Array>>) -> Seen {
        let values = inputs.as_ref().and_then(|inputs| observe(body, listing, inputs));
        let has_values = values.is_some();
        let structures = structures(body);
        let mut values = values.unwrap_or_default().into_iter();
        let mut known = |line: &Line| {
            let value = values.next().flatten();
            let (of, id) = line.node?;
            let is_outer = line.owner.is_none();
            let op = &of.node(id).op;
            let parameter = match op {
                Op::Parameter(position) if is_outer => Some(*position),
                _ => None,
            };
            let structure = is_outer.then(|| structures[id as usize]);
            Some(Known { value, structure, word: print::name(op), parameter })
        };
        Seen { lines: listing.iter().map(&mut known).collect(), has_values }
    }
}

/// A hash of how each node is computed from the parameters.
fn structures(body: &Body<Build>) -> Vec<u64> {
    let mut hashes: Vec<u64> = Vec::with_capacity(body.nodes.len());
    for node in &body.nodes {
        let mut hasher = DefaultHasher::new();
        node.op.hash(&mut hasher);
        node.types.hash(&mut hasher);
        node.args.iter().for_each(|&arg| hashes[arg as usize].hash(&mut hasher));
        hashes.push(hasher.finish());
    }
    hashes
}

/// The lines of a stage, to be found by what is known of them.
pub(super) struct Index<'a> {
    seen: &'a Seen,
    /// Lines by type, in the order of their keys.
    values: HashMap<&'a Type, Vec<(f64, usize)>>,
    structures: HashMap<u64, Vec<usize>>,
    parameters: HashMap<usize, usize>,
}

impl<'a> Index<'a> {
    pub(super) fn new(seen: &'a Seen) -> Index<'a> {
        let mut index = Index { seen, values: HashMap::new(), structures: HashMap::new(), parameters: HashMap::new() };
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
        index.values.values_mut().for_each(|lines| lines.sort_by(|a, b| a.0.total_cmp(&b.0)));
        index
    }

    /// The lines that compute what a line of another stage computes: the first parameter is `own`'s stage.
    pub(super) fn find(&self, from: &Seen, own: &Known) -> Vec<usize> {
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
        found.sort_unstable();
        found.dedup();
        found.truncate(LINKED);
        found
    }

    fn equal(&self, own: &Known, value: &Fingerprint) -> Vec<usize> {
        let Some(lines) = self.values.get(&value.ty) else { return Vec::new() };
        // The tolerance of either may be the larger one.
        let tolerance = 2.0 * value.tolerance();
        let start = lines.partition_point(|&(key, _)| key < value.key() - tolerance);
        let near = lines[start..].iter().take_while(|&&(key, _)| key <= value.key() + tolerance);
        let mut found = Vec::new();
        for &(_, at) in near.take(CANDIDATES) {
            let Some(Known { value: Some(other), word, .. }) = &self.seen.lines[at] else { continue };
            if value.is_close(other) && (!value.is_common() || *word == own.word) {
                found.push(at);
            }
        }
        found
    }
}

/// Links the lines of a stage to those of the next.
pub(super) fn link(stage: &mut Stage, seen: &Seen, next: &Seen) {
    let index = Index::new(next);
    for (line, known) in stage.lines.iter_mut().zip(&seen.lines) {
        if let Some(known) = known {
            line.links = index.find(seen, known);
        }
    }
}
