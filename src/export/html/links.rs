//! Which nodes of one stage are those of the next.

use super::stage::Stage;
use super::values::{Fingerprint, observe};
use crate::array::Array;
use crate::shape::Type;
use crate::term::print::{self, Line};
use crate::term::{Body, Build, NodeId, Op};
use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// A line is linked to no more lines than this.
const LINKED: usize = 6;

/// No more candidates are looked at for a line.
const CANDIDATES: usize = 48;

/// What is known of a line's node.
struct Known {
    /// What it computes at the point, if it was run.
    value: Option<Fingerprint>,
    /// How it is computed from the parameters; of nodes of bodies nothing.
    structure: Option<u64>,
    /// The word of its operation.
    word: String,
    /// The position of a parameter.
    parameter: Option<usize>,
    /// Of an output the line of the operation.
    source: Option<usize>,
}

/// What is known of the lines of a stage; of those that are no nodes nothing.
pub(super) struct Seen {
    lines: Vec<Option<Known>>,
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
        // The operation of an output stands before it, in the same body.
        let mut operations: HashMap<(Option<usize>, *const Body<Build>, NodeId), usize> = HashMap::new();
        let mut known = |(at, line): (usize, &Line)| {
            let value = values.next().flatten();
            let (of, id) = line.node?;
            let is_outer = line.owner.is_none();
            let op = &of.node(id).op;
            let place = |id: NodeId| (line.owner, &raw const *of, id);
            if op.is_multiple() {
                operations.insert(place(id), at);
            }
            let source = match op {
                Op::Output(_) => operations.get(&place(of.node(id).args[0])).copied(),
                _ => None,
            };
            let parameter = match op {
                Op::Parameter(position) if is_outer => Some(*position),
                _ => None,
            };
            let structure = is_outer.then(|| structures[id as usize]);
            Some(Known { value, structure, word: print::name(op), parameter, source })
        };
        Seen { lines: listing.iter().enumerate().map(&mut known).collect(), has_values }
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
struct Index<'a> {
    seen: &'a Seen,
    /// Lines by type, in the order of their keys.
    values: HashMap<&'a Type, Vec<(f64, usize)>>,
    structures: HashMap<u64, Vec<usize>>,
    parameters: HashMap<usize, usize>,
}

impl<'a> Index<'a> {
    fn new(seen: &'a Seen) -> Index<'a> {
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
    fn find(&self, from: &Seen, own: &Known) -> Vec<usize> {
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

/// For each line of a stage the lines of another one that compute the same; for an operation of several outputs those
/// operations whose outputs are linked to its own.
pub(super) fn matches(from: &Seen, to: &Seen) -> Vec<Vec<usize>> {
    let index = Index::new(to);
    let find = |known: &Option<Known>| known.as_ref().map_or_else(Vec::new, |known| index.find(from, known));
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
