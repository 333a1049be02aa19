//! Facts about the nodes of a stage.

use super::values::{Fingerprint, observe};
use crate::array::Array;
use crate::term::print::{self, ListingLine};
use crate::term::{Body, Build, NodeId, Op};
use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// Facts about a line's node.
pub(super) struct LineFacts {
    /// Its value at the point, if it was run.
    pub(super) value: Option<Fingerprint>,
    /// How it is computed from the parameters; `None` for nodes of bodies.
    pub(super) structure: Option<u64>,
    /// The word of its operation.
    pub(super) word: String,
    /// The position of a parameter.
    pub(super) parameter: Option<usize>,
    /// For an output, the line of the operation.
    pub(super) source: Option<usize>,
}

/// Facts about the lines of a stage; `None` for lines that are no nodes.
pub(super) struct Seen {
    pub(super) lines: Vec<Option<LineFacts>>,
    /// Whether values are known.
    pub(super) has_values: bool,
}

impl Seen {
    /// The facts about the lines of a program at a point.
    pub(super) fn of(body: &Body<Build>, listing: &[ListingLine], inputs: &Option<Vec<Array>>) -> Seen {
        let values = inputs.as_ref().and_then(|inputs| observe(body, listing, inputs));
        let has_values = values.is_some();
        let structures = structures(body);
        let mut values = values.unwrap_or_default().into_iter();
        // The operation of an output comes before it, in the same body.
        let mut operations: HashMap<(Option<usize>, *const Body<Build>, NodeId), usize> = HashMap::new();
        let mut known = |(at, line): (usize, &ListingLine)| {
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
            Some(LineFacts { value, structure, word: print::name(op), parameter, source })
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
