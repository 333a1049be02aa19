//! From a bulk program to a procedure of loop nests.

use crate::kernel::access::{Access, Affine, Guards};
use crate::kernel::arrange::arranged;
use crate::kernel::blocks::blocked;
use crate::kernel::buffer::{BufferId, BufferSource, NodeBuffers, ProcedureBuffer};
use crate::kernel::desugar::desugared;
use crate::kernel::draft::NestDraft;
use crate::kernel::emit::{Emitter, Obstacle, heights, needed};
use crate::kernel::loop_blocks::loops_in_blocks;
use crate::kernel::nest::{NestValue, StoreMode};
use crate::kernel::procedure::{Procedure, Step};
use crate::kernel::recompute::{LEFT, recomputed};
use crate::kernel::resumed::Resumed;
use crate::kernel::roots::{self, LoweringClass, class, domain, domain_labels};
use crate::kernel::stretch::apart;
use crate::kernel::unread::without_unread;
use crate::kernel::writes::{Becomes, WriteFacts, Writes, reads_first, turned_scatter};
use crate::operation::{Binary, Reduction};
use crate::shape::{Axes, Shape, Type, size};
use crate::term::hash::TermMap;
use crate::term::{Body, NodeId, Op};
use smallvec::SmallVec;
use std::collections::HashSet;

mod inside;
mod nests;
mod writing;

use inside::lower_inside;

/// Lowers a program: decides which values to store, and writes the others into the nests that need them.
pub(crate) fn lower(body: &Body) -> Procedure {
    let manner = LoweringManner { in_blocks: true, ..LoweringManner::default() };
    lowered(body, manner, Vec::new(), &mut WriteFacts::default())
}

/// As [`lower`], with arrays changed in place: a written buffer may be another name for an earlier one, and loops have carries
/// whose results are in the parameters' places.
pub(crate) fn lower_in_place(body: &Body) -> Procedure {
    in_place(body, true, false)
}

/// As [`lower_in_place`], where derivatives of loops continue from where these ended, and loops run in blocks of rows too.
pub(crate) fn lower_resuming(body: &Body) -> Procedure {
    in_place(body, true, true)
}

/// As [`lower_in_place`], where every step goes through all of its rows before the next begins.
pub(crate) fn lower_in_place_unblocked(body: &Body) -> Procedure {
    in_place(body, false, false)
}

fn in_place(body: &Body, in_blocks: bool, resumes: bool) -> Procedure {
    let mut known = WriteFacts::default();
    let body = reads_first(body, &mut known);
    lowered(&body, LoweringManner { in_blocks, in_place: true, resumes }, Vec::new(), &mut known)
}

/// As [`lower`], where every step goes through all of its rows before the next begins.
#[cfg(feature = "opencl")]
pub(crate) fn lower_unblocked(body: &Body) -> Procedure {
    let manner = LoweringManner::default();
    lowered(body, manner, Vec::new(), &mut WriteFacts::default())
}

/// How programs and the bodies inside are lowered.
#[derive(Clone, Copy, Default)]
struct LoweringManner {
    /// Whether steps run for some rows of their arrays at a time.
    in_blocks: bool,
    /// Whether arrays are changed in place.
    in_place: bool,
    /// Whether loops continue from where others ended, and run for some rows at a time, neither of which exported source does.
    resumes: bool,
}

/// A lowered program, and where its values are.
pub(crate) struct LoweredProgram {
    pub(crate) procedure: Procedure,
    /// The program as it was lowered: some operations are spelled out by others.
    pub(crate) body: Body,
    /// The buffers of the stored nodes. A value that passes between steps of a block of rows has no buffer that a step of the
    /// procedure fills.
    pub(crate) buffers: NodeBuffers,
}

/// As [`lower`], for reports that show which steps compute which nodes.
pub(crate) fn lower_traced(body: &Body) -> LoweredProgram {
    let body = &*desugared(body, false);
    let body = &*recomputed(body, LEFT);
    let body = arranged(body);
    let manner = LoweringManner { in_blocks: true, ..LoweringManner::default() };
    let (procedure, buffers) = written(&body, manner, Vec::new(), &mut WriteFacts::default());
    LoweredProgram { procedure, body: body.into_owned(), buffers }
}

/// Lowers a program, or a body inside of one, whose parameters may become results in place.
fn lowered(body: &Body, manner: LoweringManner, becomes: Becomes, known: &mut WriteFacts) -> Procedure {
    let body = &*desugared(body, manner.in_place);
    let body = &*recomputed(body, LEFT);
    written(&arranged(body), manner, becomes, known).0
}

/// The steps of a program, and the buffers of its stored nodes.
fn written(body: &Body, manner: LoweringManner, becomes: Becomes, known: &mut WriteFacts) -> (Procedure, NodeBuffers) {
    let writes = match manner.in_place {
        true => Writes::of(body, becomes, known),
        false => Writes::default(),
    };
    let resumed = if manner.resumes { Resumed::of(body) } else { Resumed::default() };
    let mut calls: HashSet<NodeId> = HashSet::new();
    loop {
        match Lowering::new(body, &calls, manner, (&writes, &resumed)).run(known) {
            Ok((procedure, buffers)) => {
                let procedure = without_unread(procedure);
                // With other changes in place, each step has its own share of the work for threads, and loops go along columns.
                let in_blocks = manner.in_blocks && writes.are_of_products(body);
                let procedure = if in_blocks { blocked(procedure) } else { procedure };
                let procedure = if manner.resumes { loops_in_blocks(procedure) } else { procedure };
                return (procedure, buffers);
            }
            // Nodes that can't be read by affine positions are left to the instance of plain arrays.
            Err(unreadable) => {
                let before = calls.len();
                calls.extend(&unreadable);
                assert_eq!(calls.len(), before + unreadable.len(), "a call reads and writes whole arrays");
            }
        }
    }
}

/// A step that is not yet closed to more stores, if it is a nest.
enum PendingStep {
    Nest(Box<NestDraft>),
    Fixed(Step),
}

/// A node that is added to an array in place, or subtracted from it.
#[derive(Clone, Copy)]
struct Alone {
    node: NodeId,
    negated: bool,
}

pub(super) struct Lowering<'a> {
    pub(super) body: &'a Body,
    calls: &'a HashSet<NodeId>,
    /// How bodies inside are lowered.
    manner: LoweringManner,
    stored: Vec<bool>,
    /// Which writes go where the array is that they change.
    writes: &'a Writes,
    resumed: &'a Resumed,
    pub(super) procedure: Procedure,
    /// The buffers of stored nodes.
    pub(super) buffers: NodeBuffers,
    /// The buffers of the outputs of nodes that have several.
    outputs: TermMap<NodeId, Vec<BufferId>>,
    places: Vec<PendingStep>,
    /// The place that fills a buffer, by the buffer; parameters and constants have none.
    filled_at: TermMap<BufferId, usize>,
    /// How often each node is an operand.
    uses: Vec<u32>,
    /// The longest way from each node to one without operands.
    heights: Vec<u32>,
    /// The latest nest of a domain.
    nests: TermMap<Shape, usize>,
    /// Nodes that can't be read by affine positions: if there are any, the program is written anew.
    unreadable: Vec<NodeId>,
    /// The addition in place that is being written.
    alone: Option<Alone>,
    /// The places of nodes with bodies inside, which are lowered once the program is written.
    nested: Vec<(usize, NodeId)>,
}

impl<'a> Lowering<'a> {
    fn new(
        body: &'a Body,
        calls: &'a HashSet<NodeId>,
        manner: LoweringManner,
        (writes, resumed): (&'a Writes, &'a Resumed),
    ) -> Lowering<'a> {
        let mut stored = roots::stored(body);
        writes.stored.iter().for_each(|&id| stored[id as usize] = true);
        for (&sum, &added) in &writes.additions {
            stored[sum as usize] = true;
            stored[added as usize] = false;
            if let Some(scatter) = turned_scatter(body, added) {
                stored[scatter as usize] = false;
            }
        }
        for &node in calls {
            stored[node as usize] = true;
            for &arg in &body.node(node).args {
                stored[arg as usize] = true;
            }
        }
        let mut uses = vec![0; body.nodes.len()];
        body.nodes.iter().flat_map(|node| &node.args).for_each(|&arg| uses[arg as usize] += 1);
        Lowering {
            body,
            uses,
            heights: heights(body),
            calls,
            manner,
            stored,
            writes,
            resumed,
            procedure: Procedure::default(),
            buffers: NodeBuffers::of(body.nodes.len()),
            outputs: TermMap::default(),
            places: Vec::new(),
            filled_at: TermMap::default(),
            nests: TermMap::default(),
            unreadable: Vec::new(),
            alone: None,
            nested: Vec::new(),
        }
    }

    pub(super) fn buffer(&mut self, ty: &Type, source: BufferSource) -> BufferId {
        self.procedure.buffers.push(ProcedureBuffer { ty: ty.clone(), source });
        (self.procedure.buffers.len() - 1) as BufferId
    }

    fn class(&self, id: NodeId) -> LoweringClass {
        match self.calls.contains(&id) {
            true => LoweringClass::Call,
            false if self.writes.additions.contains_key(&id) => LoweringClass::Writing,
            false => class(self.body, self.body.node(id)),
        }
    }

    /// The procedure, or the unreadable nodes: all that can be found without knowing how the program will be written then.
    fn run(mut self, known: &mut WriteFacts) -> Result<(Procedure, NodeBuffers), HashSet<NodeId>> {
        let body = self.body;
        self.procedure.parameters = body.arity();
        for position in 0..body.arity() {
            let id = self.buffer(body.parameter_type(position), BufferSource::Parameter(position));
            self.buffers.insert(position as NodeId, id);
        }
        let mut unreadable: HashSet<NodeId> = HashSet::new();
        for at in body.arity()..body.nodes.len() {
            if !self.stored[at] {
                continue;
            }
            self.step(at as NodeId);
            while let Some(id) = self.unreadable.pop() {
                if unreadable.insert(id) {
                    // Its operands will be stored, for which others may be unreadable.
                    for &arg in &body.node(id).args {
                        if !self.buffers.contains(arg) {
                            self.step(arg);
                        }
                    }
                }
            }
        }
        if !unreadable.is_empty() {
            return Err(unreadable);
        }
        for (place, id) in std::mem::take(&mut self.nested) {
            let PendingStep::Fixed(step) = &mut self.places[place] else { unreachable!("bodies inside are no nest") };
            lower_inside(body.node(id), step, self.manner, known);
        }
        self.procedure.results = body.results.iter().map(|&result| self.buffers[result]).collect();
        let steps = self.places.into_iter().flat_map(|place| match place {
            PendingStep::Nest(draft) => apart(draft.nest.nest.without_unused()).into_iter().map(Step::Nest).collect(),
            PendingStep::Fixed(step) => vec![step],
        });
        self.procedure.steps = steps.collect();
        Ok((self.procedure, self.buffers))
    }

    /// Writes the steps that store a node.
    fn step(&mut self, id: NodeId) {
        match self.stored_by(id) {
            Ok(()) => {}
            Err(Obstacle::Read(node)) => {
                // A node that lies in memory already can't be left to a call: its reader is.
                self.unreadable.push(if self.buffers.contains(node) { id } else { node });
                if !self.buffers.contains(id) {
                    self.local(id);
                }
            }
            Err(Obstacle::Size(node)) => unreachable!("node {node} is stored where it is found"),
            Err(Obstacle::Later(node)) => unreachable!("node {node} is known to a nest of its own"),
        }
    }

    fn stored_by(&mut self, id: NodeId) -> Result<(), Obstacle> {
        let node = self.body.node(id);
        if let Op::Constant(array) = &node.op {
            let buffer = self.buffer(node.ty(), BufferSource::Constant(array.clone()));
            self.buffers.insert(id, buffer);
            return Ok(());
        }
        match self.class(id) {
            LoweringClass::Pointwise => self.pointwise(id)?,
            LoweringClass::Reducing => {
                let buffer = self.local(id);
                self.reducing(id, buffer)?;
            }
            LoweringClass::Product => self.product(id, None)?,
            LoweringClass::Parts => self.parts(id)?,
            LoweringClass::Writing => self.writing(id)?,
            LoweringClass::Alias => {
                self.alias(id, node.args[0]);
            }
            LoweringClass::Output => {
                let Op::Output(position) = node.op else { unreachable!("the class of outputs") };
                self.buffers.insert(id, self.outputs[&node.args[0]][position]);
            }
            LoweringClass::Loop => self.scan(id),
            LoweringClass::Branch => self.branch(id),
            LoweringClass::Sweeps => self.sweeps(id),
            LoweringClass::Call => self.call(id),
        }
        Ok(())
    }

    /// A buffer of the procedure's own for a node.
    pub(super) fn local(&mut self, id: NodeId) -> BufferId {
        let buffer = self.buffer(self.body.node(id).ty(), BufferSource::Local);
        self.buffers.insert(id, buffer);
        buffer
    }

    /// A buffer for a node in the memory of another one.
    fn alias(&mut self, id: NodeId, of: NodeId) -> BufferId {
        let of = self.buffers[of];
        // Refers to the buffer that holds the elements: otherwise a chain of aliases would be walked for each of them.
        let buffer = self.buffer(self.body.node(id).ty(), BufferSource::Alias(self.procedure.origin(of)));
        self.buffers.insert(id, buffer);
        if let Some(&place) = self.filled_at.get(&of) {
            self.filled_at.insert(buffer, place);
        }
        buffer
    }

    /// Says that a buffer with elements is written to.
    fn change(&mut self, buffer: BufferId) {
        let origin = self.procedure.origin(buffer);
        self.procedure.changing.insert(origin);
    }

    pub(super) fn fixed(&mut self, step: Step, filled: &[BufferId]) {
        self.places.push(PendingStep::Fixed(step));
        for &buffer in filled {
            self.filled_at.insert(buffer, self.places.len() - 1);
        }
    }

    fn pointwise(&mut self, id: NodeId) -> Result<(), Obstacle> {
        let shape = &self.body.node(id).ty().shape;
        let store = |emitter: &mut Emitter| {
            let access = Access::identity(shape.len());
            let at = access.linear(shape, shape).ok_or(Obstacle::Read(id))?;
            let value = emitter.emit(id, access, id)?;
            Ok((value, at, Guards::new(), None))
        };
        let buffer = self.local(id);
        self.nest(shape, buffer, StoreMode::Write, &store)
    }

    fn parts(&mut self, id: NodeId) -> Result<(), Obstacle> {
        let node = self.body.node(id);
        let Op::Concatenate(axis) = node.op else { unreachable!("the class of concatenations") };
        let buffer = self.local(id);
        let mut start = 0;
        for &part in &node.args {
            let extent = self.body.node(part).ty().shape[axis];
            // A part whose axes are in another order is traversed in the order of its source, which may have a nest.
            let (source, axes) = self.permuted(part);
            let shape = &self.body.node(source).ty().shape;
            let store = |emitter: &mut Emitter| {
                let access = Access::identity(shape.len());
                let mut place = Access { rows: axes.iter().map(|&axis| access.rows[axis].clone()).collect(), ..access };
                place.rows[axis].offset = start as i64;
                let at = place.linear(&node.ty().shape, shape).ok_or(Obstacle::Read(id))?;
                let value = emitter.emit(source, Access::identity(shape.len()), NodeId::MAX)?;
                Ok((value, at, Guards::new(), None))
            };
            self.nest(shape, buffer, StoreMode::Write, &store)?;
            start += extent;
        }
        Ok(())
    }

    /// The source of which a node permutes the axes, with the source's axis for each of the node's own. A node that is in memory is its
    /// own source, which may have changed since.
    fn permuted(&self, id: NodeId) -> (NodeId, Axes) {
        let node = self.body.node(id);
        match &node.op {
            Op::View(map)
                if !self.buffers.contains(id)
                    && let Some(columns) = map.permutation() =>
            {
                let mut axes: Axes = columns.clone();
                columns.iter().enumerate().for_each(|(row, &column)| axes[column] = row);
                (node.args[0], axes)
            }
            _ => (id, (0..node.ty().rank()).collect()),
        }
    }

    fn reducing(&mut self, id: NodeId, buffer: BufferId) -> Result<(), Obstacle> {
        let (body, node) = (self.body, self.body.node(id));
        let domain = domain(body, node);
        let (axes, result) = (domain.len(), &node.ty().shape);
        let operand = |emitter: &mut Emitter| emitter.emit(node.args[0], Access::identity(axes), NodeId::MAX);
        let plain = |at: Access| -> Result<(Affine, Guards), Obstacle> {
            Ok((at.linear(result, &domain).ok_or(Obstacle::Read(id))?, needed(&at.guards, &domain)))
        };
        let sum = StoreMode::Reduce(Reduction::Sum);
        if size(&domain) == 0 {
            return self.nothing(
                &domain,
                buffer,
                if let Op::Reduce(op, _) = &node.op { StoreMode::Reduce(*op) } else { sum },
            );
        }
        match &node.op {
            Op::Reduce(op, reduced) => {
                let kept = (0..axes).filter(|axis| !reduced.contains(axis)).map(|axis| Affine::axis(axis, axes));
                let (at, guards) = plain(Access { rows: kept.collect(), guards: Guards::new() })?;
                let store = |emitter: &mut Emitter| Ok((operand(emitter)?, at.clone(), guards.clone(), None));
                self.nest(&domain, buffer, StoreMode::Reduce(*op), &store)
            }
            Op::Accumulate(map) => {
                let (access, _) = Access::identity(axes).through_view(map, &domain).ok_or(Obstacle::Read(id))?;
                let (at, guards) = plain(access)?;
                let store = |emitter: &mut Emitter| Ok((operand(emitter)?, at.clone(), guards.clone(), None));
                self.nest(&domain, buffer, sum, &store)
            }
            Op::Scatter(_) => {
                let strides: SmallVec<[i64; 4]> = crate::shape::strides(result).iter().map(|&n| n as i64).collect();
                self.scattering(id, buffer, &strides)
            }
            Op::Contract(spec) => {
                let labels = domain_labels(spec);
                let read = |of: &[u8]| Access {
                    rows: of
                        .iter()
                        .map(|label| Affine::axis(labels.iter().position(|l| l == label).expect("a label"), axes))
                        .collect(),
                    guards: Guards::new(),
                };
                let (at, guards) = plain(read(&spec.result))?;
                let store = |emitter: &mut Emitter| {
                    let left = emitter.emit(node.args[0], read(&spec.left), NodeId::MAX)?;
                    let right = emitter.emit(node.args[1], read(&spec.right), NodeId::MAX)?;
                    let product = NestValue::Binary(Binary::Mul, left, right);
                    Ok((emitter.add(product, node.ty().dtype), at.clone(), guards.clone(), None))
                };
                self.nest(&domain, buffer, sum, &store)
            }
            op => unreachable!("no reduction: {op:?}"),
        }
    }
}
