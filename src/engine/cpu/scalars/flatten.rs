//! From small steps of a procedure to instructions: nests and products are written out position by position, or left to kernels
//! where those are faster; loops and conditionals become jumps. Elements of small buffers are in registers, unless they are
//! read or written at computed positions, step by step or by kernels. Carries that a loop changes in place stay in memory.

mod embed;
mod loops;
mod nests;

use super::Scalars;
use super::builder::Builder;
use super::register::RegisterIndex;
use crate::engine::cpu::target::Target;
use crate::kernel::{BufferId, BufferSource, Conditional, Nest, Procedure, Step, Store};
use crate::shape::{DType, Type, size};
use crate::term::hash::TermMap;
use embed::Embedded;
use nests::{cost_of_instructions, cost_of_kernels};

/// The most elements of a buffer in registers, and of one that loops carry there if nests are mostly left to kernels.
const ELEMENTS: usize = 64;
const FEW: usize = 4;
/// The most values that are written, those that turn out to be equal counted too.
const VALUES: usize = 8192;
/// The most bytes of a buffer in memory of its own.
const MEMORY: usize = 16 << 10;
/// How many loops and conditionals are inside of each other at most.
const DEPTH: usize = 8;
/// Nanoseconds, about, of a step of a loop or of a conditional without its kernels, where kernels run one by one.
const STEP: f64 = 15.0;

/// Where the elements of a buffer are: in registers, in memory, or in both.
#[derive(Clone, Debug)]
struct ElementStorage {
    dtype: DType,
    elements: Option<Vec<Option<RegisterIndex>>>,
    pointer: Option<RegisterIndex>,
}

impl ElementStorage {
    fn in_registers(dtype: DType, elements: impl IntoIterator<Item = RegisterIndex>) -> ElementStorage {
        ElementStorage { dtype, elements: Some(elements.into_iter().map(Some).collect()), pointer: None }
    }

    fn in_memory(dtype: DType, pointer: RegisterIndex) -> ElementStorage {
        ElementStorage { dtype, elements: None, pointer: Some(pointer) }
    }
}

/// The places of the buffers of a procedure, by the buffers that have the elements.
struct ProcedureFrame<'a> {
    procedure: &'a Procedure,
    places: TermMap<BufferId, ElementStorage>,
    /// Where buffers go that are results.
    results: TermMap<BufferId, RegisterIndex>,
}

impl<'a> ProcedureFrame<'a> {
    fn new(procedure: &'a Procedure, results: TermMap<BufferId, RegisterIndex>) -> ProcedureFrame<'a> {
        ProcedureFrame { procedure, places: TermMap::default(), results }
    }

    /// Whether steps write to a buffer again, so that values read there may change later.
    fn is_changing(&self, id: BufferId) -> bool {
        self.procedure.changing.contains(&self.procedure.origin(id))
    }

    fn ty(&self, id: BufferId) -> &'a Type {
        &self.procedure.buffers[id as usize].ty
    }
}

struct Flattener {
    builder: Builder,
    /// Pointers to buffers of the procedure around.
    outside: Vec<(RegisterIndex, BufferId)>,
    /// Pointers into memory of the instructions' own, and its bytes.
    inside: Vec<(RegisterIndex, usize)>,
    memory: usize,
    nests: Vec<Embedded>,
    /// Values that may still be written.
    values: usize,
    depth: usize,
    /// The most elements of a buffer that is not in memory from the beginning.
    small: usize,
    /// Nanoseconds, about, of kernels for the same.
    kernels: f64,
}

/// Steps of a procedure as instructions, which fill the buffers that are `stored`; `None` where kernels are faster, or that
/// would be too much.
pub(super) fn flatten(
    target: Target<'_>,
    procedure: &Procedure,
    steps: &[Step],
    stored: &[BufferId],
) -> Option<Scalars> {
    let with = |small: usize| written(procedure, steps, stored, Builder::new(target.isa), small);
    let mut flattener = with(ELEMENTS)?;
    if flattener.builder.cost > flattener.kernels {
        flattener = with(FEW)?;
    }
    if flattener.builder.cost > flattener.kernels {
        return None;
    }
    let begun = if flattener.nests.is_empty() { None } else { Some(flattener.builder.register()?) };
    flattener.assemble(target)?;
    let Flattener { builder, outside, inside, memory, .. } = flattener;
    Scalars::new(target, builder, (outside, inside, memory), begun)
}

/// Instructions for steps, where buffers of more than `small` elements are in memory; `None` where that would be too much.
fn written(
    procedure: &Procedure,
    steps: &[Step],
    stored: &[BufferId],
    builder: Builder,
    small: usize,
) -> Option<Flattener> {
    let mut flattener = Flattener {
        builder,
        outside: Vec::new(),
        inside: Vec::new(),
        memory: 0,
        nests: Vec::new(),
        values: VALUES,
        depth: DEPTH,
        small,
        kernels: 0.0,
    };
    let mut frame = ProcedureFrame::new(procedure, TermMap::default());
    for &id in stored {
        let pointer = flattener.builder.register()?;
        flattener.outside.push((pointer, id));
        let id = procedure.origin(id);
        frame.results.insert(id, pointer);
        if matches!(procedure.buffers[id as usize].source, BufferSource::Parameter(_)) {
            frame.places.insert(id, ElementStorage::in_memory(frame.ty(id).dtype, pointer));
        }
    }
    for step in steps {
        // Buffers that no step fills are outside.
        for id in step.touched().0 {
            let id = procedure.origin(id);
            if !frame.places.contains_key(&id) && flattener.constant(&mut frame, id).is_none() {
                let pointer = match frame.results.get(&id) {
                    Some(&pointer) => pointer,
                    None => {
                        let pointer = flattener.builder.register()?;
                        flattener.outside.push((pointer, id));
                        pointer
                    }
                };
                frame.places.insert(id, ElementStorage::in_memory(frame.ty(id).dtype, pointer));
            }
        }
        flattener.step(&mut frame, step)?;
    }
    for (id, pointer) in frame.results.clone() {
        flattener.store_all(&mut frame, id, pointer)?;
    }
    Some(flattener)
}

impl Flattener {
    fn step(&mut self, frame: &mut ProcedureFrame<'_>, step: &Step) -> Option<()> {
        match step {
            Step::Nest(nest) => {
                let cost = cost_of_kernels(nest);
                self.kernels += cost;
                self.either(frame, nest, cost, false)
            }
            Step::Product(product) if product.prologues.iter().all(Option::is_none) && product.epilogue.is_none() => {
                let nest = product.as_nest(frame.ty(product.result.buffer).dtype);
                let cost = 60.0 + size(&nest.extents) as f64 / 4.0;
                self.kernels += cost;
                self.either(frame, &nest, cost, product.continues)
            }
            Step::Loop(repeated) => self.inside(|this| this.repeat(frame, repeated)),
            Step::Branch(branch) => self.inside(|this| this.branch(frame, branch)),
            Step::Sweeps(sweeps) => self.inside(|this| this.sweeps(frame, sweeps)),
            Step::Product(_) | Step::First(_) | Step::Call(_) | Step::Blocks(_) => None,
        }
    }

    /// A nest that takes kernels so many nanoseconds, position by position, or left to kernels among the instructions.
    fn either(&mut self, frame: &mut ProcedureFrame<'_>, nest: &Nest, kernels: f64, continues: bool) -> Option<()> {
        let moved = self.cost_of_moves(frame, nest);
        let is_in_memory = |store: &Store| (self.small + 1..=ELEMENTS).contains(&frame.ty(store.buffer).size());
        match cost_of_instructions(nest) > kernels + moved || nest.stores.iter().any(is_in_memory) {
            true => self.embed(frame, nest, kernels, continues),
            false => self.nest(frame, nest, continues),
        }
    }

    /// Writes something, unless it would be nested too deeply.
    fn inside(&mut self, write: impl FnOnce(&mut Flattener) -> Option<()>) -> Option<()> {
        self.depth = self.depth.checked_sub(1)?;
        write(self)?;
        self.depth += 1;
        Some(())
    }

    /// The place of a known array.
    fn constant(&mut self, frame: &mut ProcedureFrame<'_>, id: BufferId) -> Option<()> {
        let BufferSource::Constant(array) = &frame.procedure.buffers[id as usize].source else { return None };
        let ty = frame.ty(id);
        let elements: Vec<RegisterIndex> = match array.uniform() {
            Some(value) if ty.size() <= ELEMENTS => {
                let register = self.builder.constant(value)?;
                vec![register; ty.size()]
            }
            None if ty.size() <= ELEMENTS => {
                (0..ty.size()).map(|at| self.builder.constant(array.element(at))).collect::<Option<_>>()?
            }
            _ => return None,
        };
        frame.places.insert(id, ElementStorage::in_registers(ty.dtype, elements));
        Some(())
    }

    /// The place of a buffer that has elements.
    fn place<'f>(&mut self, frame: &'f mut ProcedureFrame<'_>, id: BufferId) -> Option<&'f mut ElementStorage> {
        let id = frame.procedure.origin(id);
        if !frame.places.contains_key(&id) {
            self.constant(frame, id)?;
        }
        frame.places.get_mut(&id)
    }

    /// An element of a buffer.
    fn element(&mut self, frame: &mut ProcedureFrame<'_>, id: BufferId, at: usize) -> Option<RegisterIndex> {
        let ElementStorage { dtype, elements, pointer } = self.place(frame, id)?;
        if let Some(elements) = elements {
            return *elements.get(at)?;
        }
        let (dtype, pointer, offset) = (*dtype, (*pointer)?, at.checked_mul(dtype.bytes())?);
        self.builder.load(dtype, pointer, offset, !frame.is_changing(id))
    }

    /// All elements of a small buffer.
    fn elements(&mut self, frame: &mut ProcedureFrame<'_>, id: BufferId) -> Option<Vec<RegisterIndex>> {
        let count = frame.ty(id).size();
        (count <= ELEMENTS).then_some(())?;
        (0..count).map(|at| self.element(frame, id, at)).collect()
    }

    /// Memory of its own for so many bytes.
    fn room(&mut self, bytes: usize) -> Option<RegisterIndex> {
        (bytes <= MEMORY).then_some(())?;
        let pointer = self.builder.register()?;
        self.inside.push((pointer, self.memory));
        self.memory += bytes.next_multiple_of(8);
        Some(pointer)
    }

    /// Has the elements of a buffer be where a pointer points.
    fn store_all(&mut self, frame: &mut ProcedureFrame<'_>, id: BufferId, to: RegisterIndex) -> Option<()> {
        let ty = frame.ty(id);
        match self.place(frame, id)? {
            ElementStorage { pointer, .. } if *pointer == Some(to) => {}
            ElementStorage { elements: None, pointer: Some(from), .. } if ty.size() > self.small => {
                let from = *from;
                self.builder.copy(to, from, ty.bytes()?)?;
            }
            _ => {
                for (at, element) in self.elements(frame, id)?.into_iter().enumerate() {
                    self.builder.store(ty.dtype, to, at * ty.dtype.bytes(), element)?;
                }
            }
        }
        Some(())
    }

    /// A pointer to the elements of a buffer, which are put into memory if they are not there.
    fn pointer(&mut self, frame: &mut ProcedureFrame<'_>, id: BufferId) -> Option<RegisterIndex> {
        if let Some(pointer) = self.place(frame, id)?.pointer {
            return Some(pointer);
        }
        let ty = frame.ty(id);
        let pointer = self.room(ty.bytes()?)?;
        self.store_all(frame, id, pointer)?;
        self.place(frame, id)?.pointer = Some(pointer);
        Some(pointer)
    }

    /// Gives a buffer without elements some, if it has one value at all places.
    fn begin(&mut self, frame: &mut ProcedureFrame<'_>, id: BufferId, value: Option<RegisterIndex>) -> Option<()> {
        let ty = frame.ty(id);
        let id = frame.procedure.origin(id);
        (ty.size() <= ELEMENTS).then_some(())?;
        let elements = Some(vec![value; ty.size()]);
        frame.places.insert(id, ElementStorage { dtype: ty.dtype, elements, pointer: None });
        Some(())
    }

    /// The steps of a procedure whose parameters have these places, with the facts about buffers at that point.
    fn procedure<'a>(
        &mut self,
        procedure: &'a Procedure,
        places: Vec<ElementStorage>,
        results: TermMap<BufferId, RegisterIndex>,
    ) -> Option<ProcedureFrame<'a>> {
        let mut frame = ProcedureFrame::new(procedure, results);
        frame.places.extend((0..).zip(places));
        for step in &procedure.steps {
            self.step(&mut frame, step)?;
        }
        Some(frame)
    }

    /// Multiplies the cost of everything written since a point.
    fn times(&mut self, (cost, kernels): (f64, f64), times: f64) {
        self.builder.cost = cost + (self.builder.cost - cost) * times;
        self.kernels = kernels + (self.kernels - kernels) * times;
    }

    fn branch(&mut self, frame: &mut ProcedureFrame<'_>, branch: &Conditional) -> Option<()> {
        let condition = self.element(frame, branch.condition, 0)?;
        let mut arguments = Vec::with_capacity(branch.arguments.len());
        for &id in &branch.arguments {
            arguments.push(self.place(frame, id)?.clone());
        }
        let mut results: Vec<Option<ElementStorage>> = vec![None; branch.results.len()];
        for &(argument, result) in &branch.changed {
            let id = branch.arguments[argument];
            let is_own = frame.procedure.origin(id) == frame.procedure.origin(branch.results[result]);
            match &arguments[argument] {
                place @ ElementStorage { elements: None, .. } if is_own => results[result] = Some(place.clone()),
                _ => {
                    // A side must not change memory that is read again.
                    let elements = self.elements(frame, id)?;
                    arguments[argument] = ElementStorage::in_registers(frame.ty(id).dtype, elements);
                }
            }
        }
        for (place, &id) in results.iter_mut().zip(&branch.results).filter(|(place, _)| place.is_none()) {
            let ty = frame.ty(id);
            (ty.size() <= ELEMENTS).then_some(())?;
            let own = (0..ty.size()).map(|_| self.builder.register()).collect::<Option<Vec<RegisterIndex>>>()?;
            *place = Some(ElementStorage::in_registers(ty.dtype, own));
        }
        let results: Vec<ElementStorage> = results.into_iter().flatten().collect();
        let before = (self.builder.cost, self.kernels);
        let otherwise = self.builder.unless(condition)?;
        self.side(&branch.then, arguments.clone(), &results)?;
        let end = self.builder.leave()?;
        self.builder.land(otherwise)?;
        self.side(&branch.otherwise, arguments, &results)?;
        self.builder.land(end)?;
        self.times(before, 0.5);
        self.kernels += STEP;
        for (place, &id) in results.into_iter().zip(&branch.results) {
            frame.places.insert(frame.procedure.origin(id), place);
        }
        Some(())
    }

    /// One side of a conditional, whose results come to these places: registers, or memory that they are in already.
    fn side(&mut self, side: &Procedure, arguments: Vec<ElementStorage>, results: &[ElementStorage]) -> Option<()> {
        self.builder.open();
        let mut frame = self.procedure(side, arguments, TermMap::default())?;
        let mut pairs = Vec::new();
        for (&id, place) in side.results.iter().zip(results) {
            match &place.elements {
                Some(own) => pairs.extend(own.iter().flatten().copied().zip(self.elements(&mut frame, id)?)),
                None => {
                    let found = self.place(&mut frame, id)?;
                    (found.elements.is_none() && found.pointer == place.pointer).then_some(())?;
                }
            }
        }
        self.builder.assign(&pairs)?;
        self.builder.close();
        Some(())
    }
}
