//! Simplification: directional rules in tables, applied as nodes are added. This module is for extending the library, and may
//! change between minor versions.
//!
//! A rule looks at an operation and its operands, which are simplified already, and states a node that has the same value
//! and is not more expensive, or nothing. Rules go one way, so that adding a node terminates: the documentation of each states
//! the quantity that decreases. The tables are by theme; a rule has a name, by which tests can replace it with a wrong one.

mod accumulate;
mod arithmetic;
pub(crate) mod bounds;
#[cfg(test)]
mod check;
mod constants;
mod contract;
mod gathers;
mod loops;
#[cfg(test)]
mod reads_tests;
mod reductions;
mod scatters;
mod selects;
mod sums;
#[cfg(test)]
mod testing;
mod views;
mod views_of;

use crate::array;
use crate::shape::{Type, Value};
use crate::term::ends::ConcatenationEnds;
use crate::term::{Body, Graph, Node, NodeId, Op};
use bounds::Fact;
pub use constants::fold_constants;
pub(crate) use constants::{TableLimits, fold_within};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// A rewriting of an operation on operands to a node that exists or that the rule adds.
pub type Rule = fn(&mut Simplifier, &Op, &[NodeId]) -> Option<NodeId>;

/// A table of rules, in the order in which they are tried.
pub type Rules = &'static [(&'static str, Rule)];

/// All rules, by name.
pub fn rules() -> impl Iterator<Item = (&'static str, Rule)> {
    [
        arithmetic::RULES,
        selects::RULES,
        views::RULES,
        accumulate::RULES,
        gathers::RULES,
        reductions::RULES,
        scatters::RULES,
        contract::RULES,
        loops::RULES,
    ]
    .into_iter()
    .flatten()
    .copied()
}

/// The tables that have rules for an operation.
fn tables(op: &Op) -> &'static [Rules] {
    match op {
        Op::Unary(_) | Op::Binary(_) => &[arithmetic::RULES, selects::RULES, views::RULES, scatters::RULES],
        Op::Compare(_) | Op::Cast(_) => &[arithmetic::RULES, selects::RULES, views::RULES],
        Op::Mark => &[selects::RULES],
        Op::Select => &[selects::RULES, views::RULES, scatters::RULES],
        Op::View(_) | Op::Reshape(_) | Op::Concatenate(_) => &[views::RULES, selects::RULES, contract::RULES],
        Op::Accumulate(_) => &[accumulate::RULES],
        Op::Gather => &[gathers::RULES, scatters::RULES],
        Op::Scatter(_) => &[gathers::RULES],
        Op::ScatterSet => &[scatters::RULES],
        Op::Reduce(..) => &[reductions::RULES, scatters::RULES, contract::RULES],
        Op::ArgReduce(..) => &[reductions::RULES, contract::RULES],
        Op::Contract(_) => &[scatters::RULES, contract::RULES],
        Op::Scan(_) | Op::Branch(_) | Op::Sweeps(_) | Op::Custom(_) | Op::Output(_) => &[loops::RULES],
        Op::Extra(never) => match *never {},
        _ => &[],
    }
}

/// Simplified bodies of loops and conditionals, by the original bodies.
pub(crate) type SimplifiedBodies = HashMap<Arc<Body>, Arc<Body>>;

/// An arena that simplifies every node as it is added.
pub struct Simplifier {
    graph: Graph,
    /// Facts about each node's elements.
    facts: Vec<Fact>,
    /// A rule that stands in for the one of this name.
    replaced: Option<(&'static str, Rule)>,
    /// Bodies of loops and conditionals that were simplified already.
    bodies: SimplifiedBodies,
    /// Nodes that were added before all rules for them were tried.
    untried: Vec<NodeId>,
    /// Where the parts of concatenations end.
    ends: ConcatenationEnds,
    /// How many nodes are being added, each for a rule of the one before.
    depth: usize,
    /// Nodes that were added too deep for rules to be tried, and the nodes that rules made of them later.
    postponed: HashMap<NodeId, Option<NodeId>>,
    /// The postponed nodes that nobody took up yet.
    open: Vec<NodeId>,
}

/// How deep rules add nodes for other rules, which add nodes in turn: sums of chains of products would go as deep as the chain is
/// long, and the stack is not.
const DEEPEST: usize = 16;

impl Simplifier {
    /// An arena with the parameters of a body.
    pub fn like(body: &Body) -> Self {
        let mut facts = Vec::with_capacity(body.nodes.len());
        facts.extend((0..body.arity()).map(|at| Fact::unknown(body.parameter_type(at))));
        Simplifier {
            graph: Graph::like(body),
            facts,
            replaced: None,
            bodies: HashMap::new(),
            untried: Vec::new(),
            ends: ConcatenationEnds::default(),
            depth: 0,
            postponed: HashMap::new(),
            open: Vec::new(),
        }
    }

    /// Exchanges the facts about nested bodies, which several arenas use in turn.
    pub(crate) fn exchange_bodies(&mut self, bodies: &mut SimplifiedBodies) {
        std::mem::swap(&mut self.bodies, bodies);
    }

    /// A node that is equal to the operation on the operands, and at most as expensive.
    pub fn add(&mut self, op: Op, args: &[NodeId]) -> NodeId {
        let hash = Graph::hash(&op, args);
        // Nodes in the arena are irreducible or postponed.
        if let Some(id) = self.graph.find_hashed(hash, &op, args) {
            return match self.postponed.get(&id) {
                Some(&Some(reduced)) => reduced,
                Some(None) => {
                    self.untried.push(id);
                    id
                }
                None => id,
            };
        }
        if self.depth == DEEPEST {
            let id = self.add_irreducible(hash, op, args);
            self.postponed.insert(id, None);
            self.open.push(id);
            return id;
        }
        let reduced = self.reduced(hash, &op, args);
        if self.depth == 0 && !self.open.is_empty() {
            return self.add_after_postponed(hash, &op, args);
        }
        reduced.unwrap_or_else(|| self.add_irreducible(hash, op, args))
    }

    /// As [`Self::add`], for an operation whose rules met others nested too deeply: those are added first, in the same way.
    /// Nodes that were built on the postponed ones stay behind unused.
    #[cold]
    fn add_after_postponed(&mut self, hash: u64, op: &Op, args: &[NodeId]) -> NodeId {
        let mut waiting = std::mem::take(&mut self.open);
        loop {
            let id = match waiting.last() {
                None => self.reduced(hash, op, args).unwrap_or_else(|| self.add_irreducible(hash, op.clone(), args)),
                Some(&postponed) => {
                    let Node { op, args, .. } = self.graph.node(postponed).clone();
                    self.reduced(Graph::hash(&op, &args), &op, &args).unwrap_or(postponed)
                }
            };
            if !self.open.is_empty() {
                waiting.append(&mut self.open);
                continue;
            }
            match waiting.pop() {
                None => return id,
                Some(postponed) => self.postponed.insert(postponed, Some(id)),
            };
        }
    }

    /// The node that the first rule that applies makes of an operation.
    fn reduced(&mut self, hash: u64, op: &Op, args: &[NodeId]) -> Option<NodeId> {
        for table in tables(op) {
            for &(name, rule) in *table {
                let rule = match self.replaced {
                    Some((replaced, other)) if replaced == name => other,
                    _ => rule,
                };
                self.depth += 1;
                let reduced = rule(self, op, args);
                self.depth -= 1;
                if let Some(id) = reduced {
                    debug_assert!(
                        self.node(id).types.len() != 1 || self.replaced.is_some() || self.has_type(id, op, args),
                        "rule {name} changed the type"
                    );
                    // A normalising rule skips nodes already in normal form.
                    if self.untried.last() == Some(&id) && self.graph.find_hashed(hash, op, args) == Some(id) {
                        self.untried.pop();
                    }
                    return Some(id);
                }
            }
        }
        None
    }

    /// The node for the operation itself; no rule is tried.
    fn add_as_is(&mut self, op: Op, args: &[NodeId]) -> NodeId {
        let hash = Graph::hash(&op, args);
        self.add_irreducible(hash, op, args)
    }

    /// As [`Self::add_as_is`], for nodes that other rules may apply to.
    fn add_untried(&mut self, op: Op, args: &[NodeId]) -> NodeId {
        let count = self.graph.len();
        let id = self.add_as_is(op, args);
        if self.graph.len() > count {
            self.untried.push(id);
        }
        id
    }

    /// Whether no rule applies to any node.
    pub(crate) fn is_settled(&self) -> bool {
        self.untried.is_empty()
    }

    fn add_irreducible(&mut self, hash: u64, op: Op, args: &[NodeId]) -> NodeId {
        let id = self.graph.add_hashed(hash, op, args);
        if id as usize == self.facts.len() {
            let fact = Fact::of(self.graph.node(id), |arg| &self.facts[arg as usize], |arg| self.graph.ty(arg));
            self.facts.push(fact);
        }
        id
    }

    fn has_type(&self, id: NodeId, op: &Op, args: &[NodeId]) -> bool {
        let outputs: Vec<&[Type]> = args.iter().map(|&arg| &self.node(arg).types[..]).collect();
        crate::term::infer::outputs(op, &outputs).is_ok_and(|types| types == self.node(id).types)
    }

    /// A node.
    pub fn node(&self, id: NodeId) -> &Node {
        self.graph.node(id)
    }

    /// The type of a node with one output.
    pub fn ty(&self, id: NodeId) -> &Type {
        self.graph.ty(id)
    }

    /// Facts about a node's elements.
    pub(crate) fn fact(&self, id: NodeId) -> &Fact {
        &self.facts[id as usize]
    }

    /// The operation and operands of a node, to look through it.
    pub(crate) fn parts(&self, id: NodeId) -> (&Op, &[NodeId]) {
        let node = self.graph.node(id);
        (&node.op, &node.args)
    }

    /// A constant whose elements all have one value.
    pub(crate) fn full(&mut self, shape: &[usize], value: Value) -> NodeId {
        self.add(Op::Constant(array::Array::full(shape, value)), &[])
    }

    /// The one value of a node that is a uniform constant.
    pub(crate) fn uniform(&self, id: NodeId) -> Option<Value> {
        match &self.node(id).op {
            Op::Constant(array) => array.uniform(),
            _ => None,
        }
    }

    /// Whether a node is a uniform constant that equals a number.
    pub(crate) fn is_uniform(&self, id: NodeId, x: f64) -> bool {
        self.uniform(id).is_some_and(|value| value.to_f64() == x)
    }

    /// The body with these results, without the nodes that they don't need.
    pub fn finish(self, results: &[NodeId]) -> Body {
        self.graph.finish(results)
    }
}

/// How often the passes over a program are repeated at most; a second time is needed only where a pass changed it, or where a
/// rule added nodes that others apply to.
const ROUNDS: usize = 12;

/// The program with all rules applied, in nested bodies too.
pub fn simplify(body: &Body) -> Body {
    simplify_replacing(body, None)
}

/// As [`simplify`], with another rule in the place of the one of a name: for tests that a wrong rule is noticed.
pub fn simplify_replacing(body: &Body, replaced: Option<(&'static str, Rule)>) -> Body {
    let mut bodies = HashMap::new();
    simplify_with(body, replaced, &mut bodies)
}

fn simplify_with(body: &Body, replaced: Option<(&'static str, Rule)>, bodies: &mut SimplifiedBodies) -> Body {
    let (simple, is_settled) = once(body, replaced, bodies);
    with_passes(simple, is_settled, replaced, bodies)
}

/// As [`simplify`], for a program that a [`Simplifier`] made; `is_settled` says whether no rule applies to any of its nodes.
pub(crate) fn simplify_added(body: Body, is_settled: bool) -> Body {
    with_passes(body, is_settled, None, &mut HashMap::new())
}

/// The passes applied to a program, and the rules to the nodes that they change. Rules look only at a node's operands, direct
/// and indirect, so irreducible nodes are not tried again.
fn with_passes(
    body: Body,
    is_settled: bool,
    replaced: Option<(&'static str, Rule)>,
    bodies: &mut SimplifiedBodies,
) -> Body {
    let (mut current, mut is_settled) = (body, is_settled);
    for _ in 1..ROUNDS {
        let next = match passes(&current) {
            Cow::Borrowed(_) if is_settled => {
                #[cfg(test)]
                assert!(replaced.is_some() || once(&current, replaced, bodies).0 == current, "no rule applies");
                break;
            }
            passed => once(&passed, replaced, bodies),
        };
        if next.0 == current {
            break;
        }
        (current, is_settled) = next;
    }
    if replaced.is_none() {
        current.known.set_simple();
    }
    current
}

/// The program without unused values in loops and conditionals.
pub(crate) fn pruned(mut body: Body) -> Body {
    // A conditional that gives way to its known side may show that loops before it are needed less.
    while let Some(smaller) = loops::prune(&body) {
        body = smaller;
    }
    body
}

/// The passes: they need the uses of nodes, and so are not rules.
fn passes(body: &Body) -> Cow<'_, Body> {
    let pruned = loops::prune(body).map_or(Cow::Borrowed(body), Cow::Owned);
    match sums::merge_sums(&pruned) {
        Some(merged) => Cow::Owned(merged),
        None => pruned,
    }
}

/// The program with all rules applied to its nodes in order, and whether the result is irreducible.
fn once(body: &Body, replaced: Option<(&'static str, Rule)>, bodies: &mut SimplifiedBodies) -> (Body, bool) {
    let mut simplifier = Simplifier::like(body);
    simplifier.replaced = replaced;
    simplifier.bodies = std::mem::take(bodies);
    let mut ids: Vec<NodeId> = (0..body.arity() as NodeId).collect();
    for node in &body.nodes[body.arity()..] {
        let args: SmallVec<[NodeId; 3]> = node.args.iter().map(|&arg| ids[arg as usize]).collect();
        ids.push(simplifier.add(node.op.clone(), &args));
    }
    let results: Vec<NodeId> = body.results.iter().map(|&id| ids[id as usize]).collect();
    *bodies = std::mem::take(&mut simplifier.bodies);
    let is_settled = simplifier.is_settled();
    (simplifier.finish(&results), is_settled)
}
