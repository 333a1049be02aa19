//! Writes that go into the memory of the array that they change, instead of a copy.
//!
//! An array is changed in place where nothing reads its old contents once the write has run: every other reader runs before, or
//! has the elements that it reads stored before. Parameters are changed in place only where the caller of the program permits
//! it, as a loop does for its carries.

use crate::affine::AffineMap;
use crate::kernel::access::Affine;
use crate::kernel::roots::{LoweringClass, class};
use crate::operation::Binary;
use crate::shape::Shape;
use crate::term::{Body, Branch, NodeId, Op};
use smallvec::{SmallVec, smallvec};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

mod additions;
mod order;
#[cfg(test)]
mod tests;

pub(crate) use additions::{additions, scattered_onto, turned_scatter};
pub(crate) use order::reads_first;

/// How the writes of a program go.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writes {
    /// For each write whether it goes into its target's memory. For loops and conditionals: whether some output does.
    in_place: Vec<bool>,
    /// For each output of a loop or conditional the operand whose memory it stays in, by the node.
    outputs: HashMap<NodeId, Vec<Option<usize>>>,
    /// The sums that are additions to an array in place, and the scatters that are added, which are not stored.
    pub(crate) additions: BTreeMap<NodeId, NodeId>,
    /// The nodes that must be stored before a write.
    pub(crate) stored: Vec<NodeId>,
    /// For each parameter whether it becomes the permitted result, in its own memory.
    parameters: Vec<bool>,
}

#[cfg(test)]
thread_local! {
    /// Whether arrays are written over that are read later: a mistake that tests must find.
    static IS_CARELESS: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
    /// How many readers of arrays were looked at.
    static LOOKED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// The most nodes that are looked at for one write, so that the search takes linear time.
const LOOKS: usize = 256;

/// The positions of a view's result that may lie inside the source, where zeros surround them or a diagonal: a domain, and the positions
/// as functions of the domain's. `None` for views without zeros, and where there are no such functions.
pub(crate) fn surroundings(map: &AffineMap) -> Option<(Shape, SmallVec<[Affine; 4]>)> {
    if map.is_inside() {
        return None;
    }
    let axes = map.result().len();
    let mut domain = Shape::from_slice(map.result());
    let mut at: SmallVec<[Affine; 4]> = (0..axes).map(|axis| Affine::axis(axis, axes)).collect();
    let mut is_moved = vec![false; axes];
    for (row, &extent) in map.source().iter().enumerate() {
        let (low, high) = map.range(row);
        if low >= 0 && high < extent as i128 {
            continue;
        }
        // The last axis that moves the source's position by one runs over the source's positions instead.
        let is_free = |&axis: &usize| map.coefficient(row, axis).abs() == 1 && !is_moved[axis];
        let axis = (0..axes).rev().find(is_free)?;
        let step = map.coefficient(row, axis);
        let mut others = Affine { offset: map.offset(row), coefficients: SmallVec::from_slice(map.row(row)) };
        others.coefficients[axis] = 0;
        // Functions of functions are not looked for.
        let is_function = |other: usize| others.coefficients[other] != 0 || at[other].coefficients[axis] != 0;
        if (0..axes).any(|other| is_moved[other] && is_function(other)) {
            return None;
        }
        is_moved[axis] = true;
        at[axis] = Affine::constant(0, axes).plus(step, &Affine::axis(axis, axes))?.plus(-step, &others)?;
        domain[axis] = extent;
    }
    let is_inside = |(at, &extent): (&Affine, &usize)| at.stays_inside(&domain, extent);
    (!domain.contains(&0) && at.iter().zip(map.result()).all(is_inside)).then_some((domain, at))
}

/// The users of each node.
fn users(body: &Body) -> Vec<SmallVec<[NodeId; 4]>> {
    let mut users: Vec<SmallVec<[NodeId; 4]>> = vec![SmallVec::new(); body.nodes.len()];
    for (at, node) in (0..).zip(&body.nodes) {
        for &arg in &node.args {
            if users[arg as usize].last() != Some(&at) {
                users[arg as usize].push(at);
            }
        }
    }
    users
}

/// The array that a node is another shape of, in the same memory.
fn first_version(body: &Body, mut id: NodeId) -> NodeId {
    while class(body, body.node(id)) == LoweringClass::Alias {
        id = body.node(id).args[0];
    }
    id
}

/// Whether a node that reads an array is another shape of it, or has more than so many elements, each computed where it is read:
/// readers of the node see the array unchanged.
fn is_other_version(body: &Body, id: NodeId, room: usize) -> bool {
    let node = body.node(id);
    let class = class(body, node);
    class == LoweringClass::Alias || class == LoweringClass::Pointwise && node.ty().size() > room
}

/// For each parameter of a body the result that it may become, changed in place.
pub(crate) type Becomes = Vec<Option<usize>>;

/// The carries of a loop, so many, may become the next ones.
pub(crate) fn carried(count: usize) -> Becomes {
    (0..count).map(Some).collect()
}

/// Facts about nested bodies, by address. The bodies are held as long as the facts.
#[derive(Default)]
pub(crate) struct WriteFacts {
    /// Which carries a step changes in place.
    steps: HashMap<(*const Body, usize), (Arc<Body>, Arc<Vec<bool>>)>,
    /// The captures that the sides of a conditional change in place.
    sides: HashMap<[*const Body; 2], ([Arc<Body>; 2], Arc<Becomes>)>,
    /// Bodies with reads before writes.
    ordered: HashMap<*const Body, (Arc<Body>, Arc<Body>)>,
}

impl WriteFacts {
    /// The carries, of so many, that a loop's body changes in place.
    fn carries(&mut self, body: &Arc<Body>, count: usize) -> Arc<Vec<bool>> {
        let key = (Arc::as_ptr(body), count);
        if let Some((_, found)) = self.steps.get(&key) {
            return found.clone();
        }
        let found = Arc::new(Writes::of(body, carried(count), self).parameters);
        self.steps.insert(key, (body.clone(), found.clone()));
        found
    }

    /// The operands that a loop or conditional changes in place where it may, each with the output that it becomes.
    fn changed(&mut self, op: &Op) -> SmallVec<[(usize, usize); 4]> {
        // The carries of a body, from an operand and an output on.
        let mut carries = |body: &Arc<Body>, count: usize, (operand, output): (usize, usize)| {
            let inside = self.carries(body, count);
            let changed = (0..count).filter(|&carry| inside.get(carry) == Some(&true));
            changed.map(|carry| (operand + carry, output + carry)).collect()
        };
        match op {
            Op::Scan(scan) => carries(&scan.body, scan.carries, (0, 0)),
            // The last sweep does not begin again.
            Op::Sweeps(sweeps) if let Some(sweep) = sweeps.sweeps.last() => {
                let last = sweeps.sweeps.len() - 1;
                let firsts = (sweeps.operands(last).0.start, sweeps.results(last).0.start);
                carries(&sweep.body, sweep.carries, firsts)
            }
            // The condition is the first operand.
            Op::Branch(branch) => {
                let captures = self.captures(branch);
                captures.iter().enumerate().filter_map(|(at, &result)| Some((at + 1, result?))).collect()
            }
            _ => SmallVec::new(),
        }
    }

    /// For each capture of a conditional the result that it is in both sides, changed in place or as it was.
    pub(crate) fn captures(&mut self, branch: &Branch) -> Arc<Becomes> {
        let sides = [&branch.then, &branch.otherwise];
        let key = sides.map(Arc::as_ptr);
        if let Some((_, found)) = self.sides.get(&key) {
            return found.clone();
        }
        let memory = sides.map(|side| {
            let all = vec![true; side.arity()];
            let mut analysis = Analysis::new(side, &all);
            analysis.run(self);
            side.results.iter().map(|&result| analysis.memory[result as usize]).collect::<Vec<NodeId>>()
        });
        let mut becomes: Becomes = vec![None; branch.then.arity()];
        for (result, (then, otherwise)) in memory[0].iter().zip(&memory[1]).enumerate() {
            if let Some(free @ None) = becomes.get_mut(*then as usize)
                && then == otherwise
            {
                *free = Some(result);
            }
        }
        while becomes.iter().any(Option::is_some) {
            let [then, otherwise] = sides.map(|side| Writes::of(side, becomes.clone(), self).parameters);
            let is_wrong = |at: usize| becomes[at].is_some() && !(then[at] && otherwise[at]);
            let wrong: Vec<usize> = (0..becomes.len()).filter(|&at| is_wrong(at)).collect();
            wrong.iter().for_each(|&at| becomes[at] = None);
            if wrong.is_empty() {
                break;
            }
        }
        let found = Arc::new(becomes);
        self.sides.insert(key, (sides.map(Arc::clone), found.clone()));
        found
    }
}

impl Writes {
    /// The writes of a program, which may change the parameters that become results.
    pub(crate) fn of(body: &Body, mut becomes: Becomes, known: &mut WriteFacts) -> Writes {
        becomes.resize(body.arity(), None);
        loop {
            let owns: Vec<bool> = becomes.iter().map(Option::is_some).collect();
            let mut analysis = Analysis::new(body, &owns);
            analysis.run(known);
            let Analysis { memory, changed, mut writes, .. } = analysis;
            let is_there = |(at, result): (usize, &Option<usize>)| {
                let result = result.and_then(|result| body.results.get(result));
                result.is_some_and(|&result| memory[result as usize] == at as NodeId)
            };
            writes.parameters = becomes.iter().enumerate().map(is_there).collect();
            // A parameter that is changed must be the result that it may become.
            let is_wrong = |&position: &usize| changed[position] && !writes.parameters[position];
            let wrong: Vec<usize> = (0..body.arity()).filter(is_wrong).collect();
            if wrong.is_empty() {
                return writes;
            }
            wrong.into_iter().for_each(|position| becomes[position] = None);
        }
    }

    /// Whether a write goes into its target's memory.
    pub(crate) fn is_in_place(&self, id: NodeId) -> bool {
        self.in_place.get(id as usize) == Some(&true)
    }

    /// Whether nothing is changed in place but by products that are added.
    pub(crate) fn are_of_products(&self, body: &Body) -> bool {
        let is_product = |id: NodeId| class(body, body.node(id)) == LoweringClass::Product;
        let adds_product = |write: NodeId| self.additions.get(&write).is_some_and(|&added| is_product(added));
        (0..).zip(&self.in_place).all(|(id, &is_in_place)| !is_in_place || adds_product(id))
    }

    /// The operand of a loop or conditional whose memory an output stays in.
    pub(crate) fn operand_of(&self, id: NodeId, output: usize) -> Option<usize> {
        self.outputs.get(&id).and_then(|outputs| outputs.get(output).copied().flatten())
    }
}

struct Analysis<'a> {
    body: &'a Body,
    owns: &'a [bool],
    /// The node whose memory each node has: itself, unless it is changed in place or is another shape of a node.
    memory: Vec<NodeId>,
    /// Who uses each node.
    users: Vec<SmallVec<[NodeId; 4]>>,
    is_result: Vec<bool>,
    /// The nodes that a write needs stored before it.
    is_stored: Vec<bool>,
    /// The parameters that are changed.
    changed: Vec<bool>,
    /// The last write that changes each memory.
    last_change: HashMap<NodeId, NodeId>,
    writes: Writes,
}

impl<'a> Analysis<'a> {
    fn new(body: &'a Body, owns: &'a [bool]) -> Analysis<'a> {
        let count = body.nodes.len();
        let mut is_result = vec![false; count];
        body.results.iter().for_each(|&result| is_result[result as usize] = true);
        Analysis {
            body,
            owns,
            memory: (0..count as NodeId).collect(),
            users: users(body),
            is_result,
            is_stored: vec![false; count],
            changed: vec![false; body.arity()],
            last_change: HashMap::new(),
            writes: Writes { in_place: vec![false; count], ..Writes::default() },
        }
    }

    fn run(&mut self, known: &mut WriteFacts) {
        for at in self.body.arity()..self.body.nodes.len() {
            let (id, node) = (at as NodeId, &self.body.nodes[at]);
            match &node.op {
                Op::ScatterSet if node.args.len() > 2 && self.takes(node.args[0], id) => {
                    self.change(node.args[0], id);
                    self.memory[at] = self.memory[node.args[0] as usize];
                    self.writes.in_place[at] = true;
                }
                Op::Binary(op @ (Binary::Add | Binary::Sub)) => {
                    for (target, added) in additions(node) {
                        let is_addition = self.is_addition(target, added, *op) && self.stays(added);
                        if is_addition && self.takes(target, id) {
                            self.change(target, id);
                            self.memory[at] = self.memory[target as usize];
                            self.writes.in_place[at] = true;
                            self.writes.additions.insert(id, added);
                            break;
                        }
                    }
                }
                op @ (Op::Scan(_) | Op::Sweeps(_) | Op::Branch(_)) => self.outputs(id, known.changed(op)),
                Op::Output(position) if let Some(operand) = self.writes.operand_of(node.args[0], *position) => {
                    let target = self.body.node(node.args[0]).args[operand];
                    self.memory[at] = self.memory[target as usize];
                }
                _ if class(self.body, node) == LoweringClass::Alias => {
                    self.memory[at] = self.memory[node.args[0] as usize]
                }
                _ => {}
            }
        }
    }

    /// Has outputs of a loop or conditional stay in the memory of operands that it changes, where that may be.
    fn outputs(&mut self, id: NodeId, mut changed: SmallVec<[(usize, usize); 4]>) {
        let node = self.body.node(id);
        changed.retain(|&mut (operand, _)| {
            let target = node.args[operand];
            let again = node.args.iter().filter(|&&arg| arg == target).count() > 1;
            !again && self.takes(target, id)
        });
        if changed.is_empty() {
            return;
        }
        let mut operands = vec![None; node.types.len()];
        for (operand, output) in changed {
            self.change(node.args[operand], id);
            operands[output] = Some(operand);
        }
        self.writes.in_place[id as usize] = true;
        self.writes.outputs.insert(id, operands);
    }

    /// Whether a write may go into the memory of a node.
    fn takes(&mut self, target: NodeId, write: NodeId) -> bool {
        let origin = self.memory[target as usize];
        let is_computed = match &self.body.node(origin).op {
            Op::Parameter(position) if !self.owns[*position] => return false,
            Op::Constant(_) | Op::Iota(_) => return false,
            Op::Parameter(_) | Op::ScatterSet => false,
            _ => class(self.body, self.body.node(origin)) == LoweringClass::Pointwise,
        };
        // An array that is computed element by element is stored so that a sum can change few of its elements.
        let is_sum = matches!(self.body.node(write).op, Op::Binary(_));
        if is_computed && !(is_sum && (target == origin || self.writes.in_place[target as usize])) {
            return false;
        }
        // All nodes that see this version: the target, and the nodes of which it is another shape.
        let mut versions: SmallVec<[NodeId; 4]> = smallvec![first_version(self.body, target)];
        let (mut at, mut forced, mut room) = (0, Vec::new(), self.body.node(target).ty().size() / 2);
        while let Some(&version) = versions.get(at) {
            at += 1;
            if self.is_result[version as usize] || at > LOOKS {
                return false;
            }
            if self.is_read_behind(version, write) {
                return false;
            }
            for &user in &self.users[version as usize] {
                #[cfg(test)]
                LOOKED.set(LOOKED.get() + 1);
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
                    _ if self.writes.in_place[user as usize] && user < write => {}
                    LoweringClass::Pointwise if user < write && self.is_operand_of_loop(user) => forced.push(user),
                    _ if is_other_version(self.body, user, room) => versions.push(user),
                    #[cfg(test)]
                    _ if user > write && IS_CARELESS.get() => {}
                    _ if user > write => return false,
                    LoweringClass::Pointwise => {
                        room -= node.ty().size();
                        forced.push(user);
                    }
                    _ => {}
                }
            }
        }
        forced.extend(is_computed.then_some(origin));
        forced.iter().for_each(|&id| self.is_stored[id as usize] = true);
        self.writes.stored.extend(forced);
        true
    }

    /// Whether one of the last readers of a version comes behind a write and is no other version. All of them are looked at only if
    /// there is none: each of many writes of an array would look at those of all others.
    fn is_read_behind(&self, version: NodeId, write: NodeId) -> bool {
        #[cfg(test)]
        if IS_CARELESS.get() {
            return false;
        }
        let mut behind = self.users[version as usize].iter().rev().take(LOOKS).take_while(|&&user| user > write);
        behind.any(|&user| {
            !matches!(class(self.body, self.body.node(user)), LoweringClass::Alias | LoweringClass::Pointwise)
        })
    }

    /// Whether a loop or a conditional reads a node, which is then stored in any case.
    fn is_operand_of_loop(&self, id: NodeId) -> bool {
        let mut users = self.users[id as usize].iter().map(|&user| &self.body.node(user).op);
        users.any(|op| matches!(op, Op::Scan(_) | Op::Sweeps(_) | Op::Branch(_)))
    }

    /// Whether nothing that the addend reads has been changed in place since. An addition in place reads the addend when it
    /// runs, and with it the values from which it is computed element by element, viewed, or scattered.
    fn stays(&self, added: NodeId) -> bool {
        let (mut work, mut seen) = (vec![added], HashSet::new());
        while let Some(id) = work.pop() {
            if !seen.insert(id) {
                continue;
            }
            if seen.len() > LOOKS {
                return false;
            }
            let own = self.body.node(id);
            for &arg in &own.args {
                let change = self.last_change.get(&self.memory[arg as usize]);
                if change.is_some_and(|&write| write > id) {
                    return false;
                }
                let node = self.body.node(arg);
                let is_read_with_it = matches!(node.op, Op::Scatter(_) | Op::Accumulate(_))
                    || matches!(class(self.body, node), LoweringClass::Pointwise | LoweringClass::Alias);
                // A source that is read at computed positions is in memory.
                let is_written = own.op == Op::Gather && arg == own.args[0] && self.writes.in_place[arg as usize];
                if is_read_with_it && !is_written && !self.is_stored[arg as usize] {
                    work.push(arg);
                }
            }
        }
        true
    }

    /// Says that a write changes the memory of a node.
    fn change(&mut self, target: NodeId, write: NodeId) {
        self.last_change.insert(self.memory[target as usize], write);
        if let Op::Parameter(position) = self.body.node(self.memory[target as usize]).op {
            self.changed[position] = true;
        }
    }
}
