//! Bodies: closed programs in flat arenas.

use crate::operation::Unary;
use crate::shape::Type;
use crate::term::graph::Graph;
use crate::term::hash::{BodyFacts, TermHasher};
use crate::term::op::{Body, Branch, Build, Content, Extension, Never, Node, NodeId, Op, Scan};
use crate::term::visits::visit;
use smallvec::SmallVec;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

impl<X: Hash> Hash for Body<X> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let hash = self.known.hash(|| {
            let mut hasher = TermHasher::default();
            (self.parameters, self.captures, &self.results).hash(&mut hasher);
            for node in &self.nodes {
                visit();
                (&node.op, &node.args).hash(&mut hasher);
            }
            hasher.finish()
        });
        state.write_u64(hash);
    }
}

impl<X> Body<X> {
    /// How many of the leading parameter nodes are proper parameters.
    pub fn parameters(&self) -> usize {
        self.parameters
    }

    /// How many parameter nodes after those are captures.
    pub fn captures(&self) -> usize {
        self.captures
    }

    /// The arena, in topological order.
    pub fn nodes(&self) -> &[Node<X>] {
        &self.nodes
    }

    /// The nodes whose values are returned.
    pub fn results(&self) -> &[NodeId] {
        &self.results
    }
}

/// Where both hashes are known, and differ, nothing else is looked at: of the same loop around bodies that differ deep inside, no
/// more than the outermost bodies are compared. Bodies that stand in several places are compared once.
impl<X: PartialEq> PartialEq for Body<X> {
    fn eq(&self, other: &Body<X>) -> bool {
        let fields = |body: &Body<X>| (body.parameters, body.captures, body.content.nesting, body.content.nodes);
        let have_equal_nodes = || {
            self.nodes.iter().zip(&other.nodes).all(|(node, other)| {
                visit();
                node == other
            })
        };
        std::ptr::eq(self, other)
            || self.known.may_equal(&other.known)
                && fields(self) == fields(other)
                && self.results == other.results
                && self.nodes.len() == other.nodes.len()
                && if self.content.nesting == 0 {
                    have_equal_nodes()
                } else {
                    compared_once(std::ptr::from_ref(self).cast(), std::ptr::from_ref(other).cast(), have_equal_nodes)
                }
    }
}

impl<X: Eq> Eq for Body<X> {}

/// The bodies, by their addresses, that were found equal while outer ones are compared, which keeps them where they are.
#[derive(Default)]
struct Equal {
    /// How many comparisons there are in one another.
    depth: usize,
    pairs: HashSet<(*const (), *const ())>,
}

thread_local! {
    static EQUAL: RefCell<Equal> = RefCell::default();
}

/// Forgets the findings when the outermost comparison ends, even by a panic.
struct Comparison;

impl Drop for Comparison {
    fn drop(&mut self) {
        EQUAL.with_borrow_mut(|equal| {
            equal.depth -= 1;
            if equal.depth == 0 {
                equal.pairs.clear();
            }
        });
    }
}

/// Whether two bodies with bodies in them are equal, which is not determined again during an enclosing comparison.
fn compared_once(one: *const (), other: *const (), are_equal: impl FnOnce() -> bool) -> bool {
    let is_known = EQUAL.with_borrow_mut(|equal| {
        equal.depth += 1;
        equal.pairs.contains(&(one, other))
    });
    let _comparison = Comparison;
    let found = is_known || are_equal();
    if found && !is_known {
        EQUAL.with_borrow_mut(|equal| equal.pairs.insert((one, other)));
    }
    found
}

impl<X: Extension> Body<X> {
    /// A body of parts that are known to be well formed.
    pub(crate) fn of(parameters: usize, captures: usize, nodes: Vec<Node<X>>, results: Vec<NodeId>) -> Body<X> {
        let content = Content::of(&nodes);
        Body { parameters, captures, nodes, results, content, known: BodyFacts::default() }
    }

    /// The program of the results from a position on.
    pub(crate) fn with_results_from(self, position: usize) -> Body<X> {
        Body::of(self.parameters, self.captures, self.nodes, self.results[position..].to_vec())
    }

    /// How many bodies stand in one another: 0 where there is none, and at most [`MAX_NESTING`](crate::term::MAX_NESTING).
    pub fn nesting(&self) -> usize {
        self.content.nesting
    }

    /// The bytes of the constants, of nested bodies too, that are not one repeated value.
    pub(crate) fn constant_bytes(&self) -> usize {
        self.content.constant_bytes
    }

    /// Number of parameters and captures together.
    pub fn arity(&self) -> usize {
        self.parameters + self.captures
    }

    /// The type of a parameter or capture.
    pub fn parameter_type(&self, position: usize) -> &Type {
        self.nodes[position].ty()
    }

    /// The types of the results.
    pub fn result_types(&self) -> impl Iterator<Item = &Type> {
        self.results.iter().map(|&id| self.nodes[id as usize].ty())
    }

    /// A node of the arena.
    pub fn node(&self, id: NodeId) -> &Node<X> {
        visit();
        &self.nodes[id as usize]
    }

    /// Number of nodes, including those of nested bodies as often as each body occurs.
    pub fn node_count(&self) -> usize {
        self.content.nodes
    }

    /// How often each node is used, as an operand or a result.
    pub fn use_counts(&self) -> Vec<u32> {
        let mut counts = vec![0; self.nodes.len()];
        for node in &self.nodes {
            for &arg in &node.args {
                counts[arg as usize] += 1;
            }
        }
        for &result in &self.results {
            counts[result as usize] += 1;
        }
        counts
    }

    /// The body with these results, without the nodes that they don't need.
    ///
    /// Panics when a result is no array of this body.
    pub fn with_results(&self, results: &[NodeId]) -> Body<X> {
        let mut graph = Graph::like(self);
        let ids = graph.append(self, 0..self.arity() as NodeId);
        let results: Vec<NodeId> = results.iter().map(|&id| ids[id as usize]).collect();
        graph.finish(&results)
    }

    /// The body whose parameters are captures.
    pub(crate) fn with_parameters_captured(&self) -> Body<X> {
        Body { parameters: 0, captures: self.arity(), ..self.clone() }
    }
}

impl Body<Build> {
    /// The same body with captures of these types instead of its own; capture `k` becomes `positions[k]`.
    pub(crate) fn with_captures(&self, types: &[Type], positions: &[usize]) -> Body<Build> {
        let mut inputs: Vec<Type> = (0..self.parameters).map(|at| self.parameter_type(at).clone()).collect();
        inputs.extend_from_slice(types);
        let mut graph = Graph::new(&inputs, types.len());
        let captures = positions.iter().map(|&position| (self.parameters + position) as NodeId);
        let ids = graph.append(self, (0..self.parameters as NodeId).chain(captures));
        let results: Vec<NodeId> = self.results.iter().map(|&id| ids[id as usize]).collect();
        graph.finish(&results)
    }
}

/// Bodies in another form of the language, of those that stand in several places one. They differ in type only.
pub(crate) struct Converted<X: Extension, Y: Extension>(HashMap<*const Body<X>, Arc<Body<Y>>>);

/// Bodies as source programs.
pub(crate) type Widened = Converted<Never, Build>;

impl<X: Extension, Y: Extension> Default for Converted<X, Y> {
    fn default() -> Self {
        Converted(HashMap::new())
    }
}

impl<X: Extension, Y: Extension> Converted<X, Y> {
    /// The body in the other form. The one that is given lives as long as the table does.
    pub(crate) fn of(&mut self, body: &Arc<Body<X>>) -> Arc<Body<Y>> {
        if let Some(known) = self.0.get(&Arc::as_ptr(body)) {
            return known.clone();
        }
        let converted = Arc::new(self.body(body));
        self.0.insert(Arc::as_ptr(body), converted.clone());
        converted
    }

    /// # Panics
    ///
    /// When there is an operation that the other form lacks.
    fn body(&mut self, body: &Body<X>) -> Body<Y> {
        let converted =
            |node: &Node<X>| Node { op: self.op(&node.op), args: node.args.clone(), types: node.types.clone() };
        let nodes = body.nodes.iter().map(converted).collect();
        Body::of(body.parameters, body.captures, nodes, body.results.clone())
    }

    fn op(&mut self, op: &Op<X>) -> Op<Y> {
        match op {
            Op::Scan(scan) => Op::Scan(Arc::new(Scan {
                body: self.of(&scan.body),
                carries: scan.carries,
                inputs: scan.inputs,
                length: scan.length,
                reverse: scan.reverse,
            })),
            Op::Branch(branch) => {
                Op::Branch(Arc::new(Branch { then: self.of(&branch.then), otherwise: self.of(&branch.otherwise) }))
            }
            Op::Custom(custom) => Op::Custom(Arc::new(custom.map(|body| self.of(body)))),
            Op::Sweeps(sweeps) => Op::Sweeps(Arc::new(sweeps.map_bodies(|body| self.of(body)))),
            op => op.in_form().expect("an operation without bodies that both forms have"),
        }
    }
}

impl Body<Build> {
    /// The source program as a bulk program.
    ///
    /// # Panics
    ///
    /// When there is a `build`.
    pub(crate) fn narrow(&self) -> Body {
        Converted::default().body(self)
    }
}

impl Body {
    /// The bulk program as a source program: it differs in type only.
    pub fn widen(&self) -> Body<Build> {
        Widened::default().body(self)
    }

    /// Whether some node, also of a nested body, says something to differentiation only: [`Op::Mark`],
    /// [`Unary::StopGradient`], and the rules of [`Op::Custom`].
    pub(crate) fn has_marks(&self) -> bool {
        self.content.has_marks
    }

    /// Whether the program, or one nested in it, has a function with a derivative rule of its own. A rule need not be a
    /// derivative, so second derivatives need not be symmetric.
    pub(crate) fn has_rules(&self) -> bool {
        let is_rule = |body: &Body| body.nodes.iter().any(|node| matches!(node.op, Op::Custom(_)));
        self.has_marks() && self.distinct().any(is_rule)
    }

    /// The body and those nested in it, equal ones once.
    fn distinct(&self) -> impl Iterator<Item = &Body> {
        let (mut seen, mut open) = (HashSet::new(), vec![self]);
        std::iter::from_fn(move || {
            while let Some(body) = open.pop() {
                if seen.insert(body) {
                    open.extend(body.nodes.iter().flat_map(|node| node.op.bodies()).map(|body| &**body));
                    return Some(body);
                }
            }
            None
        })
    }

    /// Number of nodes, including those of nested bodies, with equal bodies counted once. When a loop with checkpoints is
    /// differentiated, its step occurs in several places, on its own and as a part of its derivative. So [`Body::node_count`]
    /// grows with the square of the nesting of such loops, and this number in proportion to it.
    pub fn distinct_node_count(&self) -> usize {
        self.distinct().map(|body| body.nodes.len()).sum()
    }

    /// The same values without the operations that concern differentiation only.
    pub fn without_marks(&self) -> Body {
        let types: Vec<Type> = (0..self.arity()).map(|at| self.parameter_type(at).clone()).collect();
        let mut graph = Graph::new(&types, self.captures);
        let arguments = (0..self.arity() as NodeId).collect();
        let results = self.unmarked(&mut graph, arguments);
        graph.finish(&results)
    }

    /// Writes the body without marks into a graph, with these nodes for its parameters.
    fn unmarked(&self, graph: &mut Graph, arguments: Vec<NodeId>) -> Vec<NodeId> {
        let mut ids = arguments;
        // The results of custom functions, which are written where they stand.
        let mut inlined: HashMap<NodeId, Vec<NodeId>> = HashMap::new();
        for (at, node) in self.nodes.iter().enumerate().skip(self.arity()) {
            if let Op::Output(position) = node.op
                && let Some(results) = inlined.get(&node.args[0])
            {
                ids.push(results[position]);
                continue;
            }
            let args: SmallVec<[NodeId; 3]> = node.args.iter().map(|&arg| ids[arg as usize]).collect();
            ids.push(match &node.op {
                Op::Custom(custom) => {
                    let results = custom.value.unmarked(graph, args.to_vec());
                    inlined.insert(at as NodeId, results);
                    // Never looked up: only outputs use the node.
                    NodeId::MAX
                }
                Op::Mark | Op::Unary(Unary::StopGradient) => args[0],
                Op::Scan(scan) => {
                    let scan = Scan { body: Arc::new(scan.body.without_marks()), ..Scan::clone(scan) };
                    graph.add(Op::Scan(Arc::new(scan)), &args)
                }
                Op::Branch(branch) => {
                    let then = Arc::new(branch.then.without_marks());
                    let otherwise = Arc::new(branch.otherwise.without_marks());
                    graph.add(Op::Branch(Arc::new(Branch { then, otherwise })), &args)
                }
                Op::Sweeps(sweeps) => {
                    let sweeps = sweeps.map_bodies(|body| Arc::new(body.without_marks()));
                    graph.add(Op::Sweeps(Arc::new(sweeps)), &args)
                }
                op => graph.add(op.clone(), &args),
            });
        }
        self.results.iter().map(|&id| ids[id as usize]).collect()
    }
}
