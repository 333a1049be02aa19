//! Which writes go into the memory of the array that they change, instead of a copy.
//!
//! An array is changed in place where nothing reads what it was once the write has run: everything else that reads it runs
//! before, or has what it reads stored before. Parameters are changed in place only where whoever runs the program lets them
//! be, as a loop does with what it carries.

use crate::algebra::Reduction;
use crate::kernel::roots::{Class, class};
use crate::operation::Binary;
use crate::term::{Body, NodeId, Op};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;

#[cfg(test)]
mod tests;

/// How the writes of a program go.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writes {
    /// For each write whether it goes into its target's memory. Of a loop: whether some carry does.
    in_place: Vec<bool>,
    /// The carries of loops that stay in the memory of their first values, by the loop.
    carries: HashMap<NodeId, Vec<bool>>,
    /// The sums that are additions to an array in place, and the scatters that are added, which are not stored.
    pub(crate) additions: HashMap<NodeId, NodeId>,
    /// What must be stored before a write.
    pub(crate) stored: Vec<NodeId>,
    /// For each parameter whether it is changed in place, into the result at its position.
    pub(crate) parameters: Vec<bool>,
}

/// Elements of what is added everywhere in place.
const LARGE: usize = 1024;

/// The scatter that a node is a permutation of the axes of.
pub(crate) fn turned_scatter(body: &Body, id: NodeId) -> Option<NodeId> {
    let node = body.node(id);
    let Op::View(map) = &node.op else { return None };
    let is_scatter = matches!(body.node(node.args[0]).op, Op::Scatter(_));
    (is_scatter && map.permutation().is_some()).then_some(node.args[0])
}

/// What is known of bodies inside, of loops with so many carries.
pub(crate) type Known = HashMap<(*const Body, usize), Arc<Vec<bool>>>;

impl Writes {
    /// The writes of a program, which may change those of its parameters that it `owns`.
    pub(crate) fn of(body: &Body, owns: &[bool], known: &mut Known) -> Writes {
        let mut owns = owns.to_vec();
        owns.resize(body.arity(), false);
        loop {
            let mut analysis = Analysis::new(body, &owns);
            analysis.run(known);
            // A parameter that is changed must be the result at its position.
            let Analysis { changed, writes, .. } = analysis;
            let is_wrong = |&position: &usize| changed[position] && !writes.parameters[position];
            let wrong: Vec<usize> = (0..body.arity()).filter(is_wrong).collect();
            if wrong.is_empty() {
                return writes;
            }
            wrong.into_iter().for_each(|position| owns[position] = false);
        }
    }

    /// Whether a write goes into its target's memory.
    pub(crate) fn is_in_place(&self, id: NodeId) -> bool {
        self.in_place.get(id as usize) == Some(&true)
    }

    /// Whether a carry of a loop stays in the memory of its first value.
    pub(crate) fn stays(&self, id: NodeId, carry: usize) -> bool {
        self.carries.get(&id).is_some_and(|carries| carries.get(carry) == Some(&true))
    }

    /// Whether anything is changed in place.
    pub(crate) fn any(&self) -> bool {
        self.in_place.contains(&true)
    }
}

/// The carries that a loop's body changes in place.
fn carries(body: &Arc<Body>, count: usize, known: &mut Known) -> Arc<Vec<bool>> {
    let key = (Arc::as_ptr(body), count);
    if let Some(found) = known.get(&key) {
        return found.clone();
    }
    let found = Arc::new(Writes::of(body, &vec![true; count], known).parameters);
    known.insert(key, found.clone());
    found
}

struct Analysis<'a> {
    body: &'a Body,
    owns: &'a [bool],
    /// The node whose memory each node has; its own number, but for what is changed in place and for other shapes of it.
    memory: Vec<NodeId>,
    /// Who uses each node.
    users: Vec<SmallVec<[NodeId; 4]>>,
    is_result: Vec<bool>,
    /// The parameters that are changed.
    changed: Vec<bool>,
    writes: Writes,
}

impl<'a> Analysis<'a> {
    fn new(body: &'a Body, owns: &'a [bool]) -> Analysis<'a> {
        let count = body.nodes.len();
        let mut users: Vec<SmallVec<[NodeId; 4]>> = vec![SmallVec::new(); count];
        for (at, node) in body.nodes.iter().enumerate() {
            for &arg in &node.args {
                if users[arg as usize].last() != Some(&(at as NodeId)) {
                    users[arg as usize].push(at as NodeId);
                }
            }
        }
        let mut is_result = vec![false; count];
        body.results.iter().for_each(|&result| is_result[result as usize] = true);
        Analysis {
            body,
            owns,
            memory: (0..count as NodeId).collect(),
            users,
            is_result,
            changed: vec![false; body.arity()],
            writes: Writes { in_place: vec![false; count], ..Writes::default() },
        }
    }

    fn run(&mut self, known: &mut Known) {
        for at in self.body.arity()..self.body.nodes.len() {
            let (id, node) = (at as NodeId, &self.body.nodes[at]);
            match &node.op {
                Op::ScatterSet if node.args.len() > 2 && self.takes(node.args[0], id) => {
                    self.change(node.args[0]);
                    self.memory[at] = self.memory[node.args[0] as usize];
                    self.writes.in_place[at] = true;
                }
                Op::Binary(op @ (Binary::Add | Binary::Sub)) => {
                    let sides = [(node.args[0], node.args[1]), (node.args[1], node.args[0])];
                    for &(target, added) in &sides[..if *op == Binary::Add { 2 } else { 1 }] {
                        if self.is_addition(target, added, *op) && self.takes(target, id) {
                            self.change(target);
                            self.memory[at] = self.memory[target as usize];
                            self.writes.in_place[at] = true;
                            self.writes.additions.insert(id, added);
                            break;
                        }
                    }
                }
                Op::Scan(scan) => {
                    let inner = carries(&scan.body, scan.carries, known);
                    let mut stay = vec![false; scan.carries];
                    for (carry, stays) in stay.iter_mut().enumerate() {
                        let target = node.args[carry];
                        let again = node.args.iter().filter(|&&arg| arg == target).count() > 1;
                        *stays = inner.get(carry) == Some(&true) && !again && self.takes(target, id);
                    }
                    for (carry, _) in stay.iter().enumerate().filter(|(_, stays)| **stays) {
                        self.change(node.args[carry]);
                    }
                    if stay.contains(&true) {
                        self.writes.in_place[at] = true;
                        self.writes.carries.insert(id, stay);
                    }
                }
                Op::Output(position) if self.writes.stays(node.args[0], *position) => {
                    let target = self.body.node(node.args[0]).args[*position];
                    self.memory[at] = self.memory[target as usize];
                }
                _ if class(self.body, node) == Class::Alias => self.memory[at] = self.memory[node.args[0] as usize],
                _ => {}
            }
        }
        let parameters = (0..self.body.arity()).map(|at| {
            let returned = self.body.results.get(at).map(|&result| self.memory[result as usize]);
            self.owns[at] && returned == Some(at as NodeId)
        });
        self.writes.parameters = parameters.collect();
    }

    /// Whether a sum or difference changes what a loop carries by something that is made for it alone: at some positions, or
    /// everywhere, where that is much.
    fn is_addition(&self, target: NodeId, added: NodeId, op: Binary) -> bool {
        let node = self.body.node(added);
        let is_alone = |id: NodeId| self.users[id as usize].len() == 1 && !self.is_result[id as usize];
        let is_carried = matches!(self.body.node(self.memory[target as usize]).op, Op::Parameter(_));
        if !is_carried || target == added || !is_alone(added) {
            return false;
        }
        let is_large = node.ty().size() >= LARGE;
        // What reads the target itself, at other positions than it writes, would read what it has written.
        let is_apart = |id: NodeId| {
            let others = &self.body.node(id).args;
            others.iter().all(|&other| self.memory[other as usize] != self.memory[target as usize])
        };
        match (&node.op, class(self.body, node)) {
            (Op::Scatter(_) | Op::Accumulate(_), _) => is_apart(added),
            (Op::View(_), _) if let Some(scatter) = turned_scatter(self.body, added) => {
                is_alone(scatter) && is_apart(scatter)
            }
            (_, Class::Pointwise) => is_large,
            (Op::Reduce(Reduction::Sum, _) | Op::Contract(_), Class::Reducing) => {
                is_large && op == Binary::Add && is_apart(added)
            }
            _ => false,
        }
    }

    /// Whether a write may go into the memory of a node.
    fn takes(&mut self, target: NodeId, write: NodeId) -> bool {
        let origin = self.memory[target as usize];
        let is_own = match &self.body.node(origin).op {
            Op::Parameter(position) => self.owns[*position],
            Op::Constant(_) => false,
            op => class(self.body, self.body.node(origin)) != Class::Pointwise || matches!(op, Op::ScatterSet),
        };
        if !is_own {
            return false;
        }
        // All that sees this version: the target, and what it is another shape of.
        let mut versions: SmallVec<[NodeId; 4]> = SmallVec::new();
        let mut first = target;
        while class(self.body, self.body.node(first)) == Class::Alias {
            first = self.body.node(first).args[0];
        }
        versions.push(first);
        let (mut at, mut forced, mut room) = (0, Vec::new(), self.body.node(target).ty().size() / 2);
        while at < versions.len() {
            let version = versions[at];
            at += 1;
            if self.is_result[version as usize] {
                return false;
            }
            for &user in &self.users[version as usize] {
                let node = self.body.node(user);
                if user == write {
                    // It may read the target as its target alone.
                    let others = node.args.iter().filter(|&&arg| arg == version).count();
                    if others > usize::from(version == target) {
                        return false;
                    }
                    continue;
                }
                match class(self.body, node) {
                    Class::Alias => versions.push(user),
                    _ if matches!(node.op, Op::View(_) | Op::Alias | Op::Mark | Op::Reshape(_))
                        && node.ty().size() > room =>
                    {
                        versions.push(user);
                    }
                    _ if user > write => return false,
                    Class::Pointwise => {
                        if node.ty().size() > room {
                            return false;
                        }
                        room -= node.ty().size();
                        forced.push(user);
                    }
                    _ => {}
                }
            }
        }
        self.writes.stored.extend(forced);
        true
    }

    /// Says that the memory of a node is changed.
    fn change(&mut self, target: NodeId) {
        if let Op::Parameter(position) = self.body.node(self.memory[target as usize]).op {
            self.changed[position] = true;
        }
    }
}
