//! Procedures as functions: a block for each step.

use super::language::{ArrayParameter, ArraySlice, DTYPES, Helper, Language};
use super::nest;
use super::plan::{BufferBinding, BufferPlan};
use super::text::Text;
use super::tidy::tidied;
use super::writer::BufferFacts;
use crate::array::neutral_value;
use crate::error::Result;
use crate::kernel::{BufferId, BufferSource, Nest, Procedure, Step};
use crate::operation::Reduction;
use crate::shape::{DType, Type, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Known arrays with one value for all of more elements than this are filled in.
const LISTED: usize = 16;

/// Memory of so many elements is a function's own.
const FEW: usize = 16;

/// The parts of a program written so far.
pub(crate) struct FunctionWriter<'a> {
    pub(crate) language: &'a dyn Language,
    /// Known arrays.
    pub(crate) constants: Text,
    /// Functions, each after those that it calls.
    pub(crate) functions: Vec<Text>,
    pub(crate) helpers: BTreeSet<Helper>,
    /// How many names were given.
    pub(crate) count: usize,
}

/// A function that has been written.
pub(crate) struct WrittenFunction {
    pub(crate) name: String,
    /// How many elements of memory of each type it takes, of those that it takes at all.
    pub(crate) scratch: BTreeMap<usize, usize>,
    /// Whether it may say that it could not be finished.
    pub(crate) fails: bool,
}

impl WrittenFunction {
    /// The element types of the memory that it takes, with how many elements.
    pub(crate) fn scratch(&self) -> impl Iterator<Item = (DType, usize)> {
        self.scratch.iter().map(|(&at, &count)| (DTYPES[at], count))
    }
}

/// The names of the arrays that a function takes, and which of them have more elements than their types say, or other elements
/// in between. An argument that is changed in place is no parameter of its own, but the result that it becomes.
pub(crate) struct FunctionInterface {
    pub(crate) arguments: Vec<String>,
    pub(crate) results: Vec<String>,
    pub(crate) open: Vec<bool>,
    /// The positions of arguments that are changed, and of the results that they become.
    pub(crate) changed: Vec<(usize, usize)>,
}

impl FunctionInterface {
    /// Names for a function that nobody else calls.
    pub(crate) fn inner(procedure: &Procedure) -> FunctionInterface {
        FunctionInterface::named(
            (0..procedure.parameters).map(|at| format!("a{at}")).collect(),
            (0..procedure.results.len()).map(|at| format!("r{at}")).collect(),
        )
    }

    /// These names, for arrays of the types of the procedure.
    pub(crate) fn named(arguments: Vec<String>, results: Vec<String>) -> FunctionInterface {
        let open = vec![false; arguments.len() + results.len()];
        FunctionInterface { arguments, results, open, changed: Vec::new() }
    }

    /// Has arguments become results.
    pub(crate) fn changing(self, changed: Vec<(usize, usize)>) -> FunctionInterface {
        FunctionInterface { changed, ..self }
    }

    /// Whether an argument becomes a result.
    fn changes(&self, argument: usize) -> bool {
        self.changed.iter().any(|&(changed, _)| changed == argument)
    }
}

/// A function under construction.
pub(crate) struct FunctionBuilder<'p, 'w, 'a> {
    pub(crate) writer: &'w mut FunctionWriter<'a>,
    procedure: &'p Procedure,
    plan: BufferPlan<'p>,
    interface: &'p FunctionInterface,
    constants: BTreeMap<BufferId, String>,
    pub(crate) text: Text,
    pub(crate) fails: bool,
}

impl<'a> FunctionWriter<'a> {
    pub(crate) fn new(language: &'a dyn Language) -> FunctionWriter<'a> {
        FunctionWriter {
            language,
            constants: Text::default(),
            functions: Vec::new(),
            helpers: BTreeSet::new(),
            count: 0,
        }
    }

    /// Writes the function of a procedure inside of the program.
    pub(crate) fn inner(&mut self, word: &str, procedure: &Procedure) -> Result<WrittenFunction> {
        self.procedure(word, procedure, &FunctionInterface::inner(procedure))
    }

    /// The same of one that changes arguments.
    pub(crate) fn changing(
        &mut self,
        word: &str,
        procedure: &Procedure,
        changed: Vec<(usize, usize)>,
    ) -> Result<WrittenFunction> {
        self.procedure(word, procedure, &FunctionInterface::inner(procedure).changing(changed))
    }

    /// Writes the function of a procedure, and those that it calls.
    pub(crate) fn procedure(
        &mut self,
        word: &str,
        procedure: &Procedure,
        interface: &FunctionInterface,
    ) -> Result<WrittenFunction> {
        let mut function = FunctionBuilder {
            plan: BufferPlan::new(procedure, &interface.changed),
            interface,
            constants: BTreeMap::new(),
            text: Text::default(),
            fails: false,
            procedure,
            writer: self,
        };
        for step in &procedure.steps {
            function.begin();
            function.step(step)?;
        }
        function.begin();
        function.copies();
        Ok(function.finish(word))
    }

    /// A name for a function.
    fn name(&mut self, word: &str) -> String {
        self.count += 1;
        format!("{word}{}", self.count)
    }
}

impl FunctionBuilder<'_, '_, '_> {
    pub(crate) fn language(&self) -> &dyn Language {
        self.writer.language
    }

    fn ty(&self, id: BufferId) -> &Type {
        &self.procedure.buffers[id as usize].ty
    }

    pub(crate) fn dtype(&self, id: BufferId) -> DType {
        self.ty(id).dtype
    }

    pub(crate) fn count(&self, id: BufferId) -> usize {
        self.ty(id).size()
    }

    /// Comes to the next step, and writes the known arrays that it is the first to touch.
    fn begin(&mut self) {
        for id in self.plan.next() {
            let ty = self.ty(id).clone();
            let BufferSource::Constant(array) = &self.procedure.buffers[id as usize].source else {
                unreachable!("a known array")
            };
            match array.uniform() {
                Some(value) if ty.size() > LISTED => {
                    let slot = self.plan.store(id);
                    let value = self.language().literal(value);
                    let line = self.language().fill(&format!("s{slot}"), ty.size(), &value);
                    self.text.line(line);
                }
                _ => {
                    let name = format!("KNOWN_{}", self.writer.count);
                    self.writer.count += 1;
                    let known = (0..ty.size()).map(|at| array.element(at));
                    // There are no arrays without elements in C.
                    let known = known.chain((ty.size() == 0).then(|| Value::from_i64(ty.dtype, 0)));
                    let elements: Vec<String> = known.map(|value| self.language().element(value)).collect();
                    let name = self.language().constant_name(&name);
                    let lines = self.language().constant(&name, ty.dtype, &elements);
                    self.writer.constants.lines(lines);
                    if self.language().has_own_memory() {
                        self.constants.insert(id, name);
                    } else {
                        let slot = self.plan.store(id);
                        self.copy(&format!("s{slot}"), "0".into(), &name, "0".into(), ty.size(), ty.dtype);
                    }
                }
            }
        }
    }

    /// The name of a buffer, while a step is written that has bound it.
    pub(crate) fn name(&self, id: BufferId) -> String {
        let origin = self.procedure.origin(id);
        match self.plan.place(origin) {
            BufferBinding::Argument(position) => self.interface.arguments[position].clone(),
            BufferBinding::Result(position) => self.interface.results[position].clone(),
            BufferBinding::Constant(id) => self.constants[&id].clone(),
            BufferBinding::Slot(_) => format!("b{origin}"),
            BufferBinding::Unused => unreachable!("what a step touches has a place"),
        }
    }

    /// Whether two buffers are in the same memory.
    pub(crate) fn are_one(&self, a: BufferId, b: BufferId) -> bool {
        self.plan.place(a) == self.plan.place(b)
    }

    /// Copies a buffer into another one, unless it is there.
    pub(crate) fn copy_apart(&mut self, to: BufferId, from: BufferId) {
        if !self.are_one(to, from) {
            let (to, from, count, dtype) = (self.name(to), self.name(from), self.count(to), self.dtype(to));
            self.copy(&to, "0".into(), &from, "0".into(), count, dtype);
        }
    }

    /// Binds the names of the buffers that a step reads and writes.
    pub(crate) fn bind(&mut self, read: &[BufferId], written: &[BufferId]) {
        let written: BTreeSet<BufferId> = written.iter().map(|&id| self.procedure.origin(id)).collect();
        let read: BTreeSet<BufferId> = read.iter().map(|&id| self.procedure.origin(id)).collect();
        for &id in read.union(&written) {
            if let BufferBinding::Slot(slot) = self.plan.place(id) {
                let (name, array) = (format!("b{id}"), format!("s{slot}"));
                let part = ArraySlice { array: &array, offset: "0".into(), count: Some(self.count(id)) };
                let line = self.language().bind(&name, self.dtype(id), &part, written.contains(&id));
                self.text.declare(&name, line);
            }
        }
    }

    /// Memory for this step only.
    pub(crate) fn memory(&mut self, dtype: DType, count: usize) -> String {
        let slot = self.plan.memory(dtype, count);
        format!("s{slot}")
    }

    /// A part of an array, as an argument.
    pub(crate) fn part(&self, array: &str, offset: String, count: Option<usize>, writes: bool) -> String {
        self.language().argument(&ArraySlice { array, offset, count }, writes)
    }

    /// A whole buffer, as an argument.
    pub(crate) fn whole(&self, id: BufferId, writes: bool) -> String {
        self.part(&self.name(id), "0".into(), Some(self.count(id)), writes)
    }

    /// Memory for a function that the step calls, as arguments.
    pub(crate) fn scratch(&mut self, written: &WrittenFunction) -> Vec<String> {
        let all: Vec<(DType, usize)> = written.scratch().collect();
        let part = |(dtype, count)| {
            let slot = self.memory(dtype, count);
            self.part(&slot, "0".into(), Some(count), true)
        };
        all.into_iter().map(part).collect()
    }

    /// A call of a function that has been written.
    pub(crate) fn call_line(&mut self, written: &WrittenFunction, arguments: &[String]) {
        let call = self.language().call(&written.name, arguments);
        if written.fails {
            self.fails = true;
            let condition = self.language().condition(&format!("!{call}"));
            let fail = self.language().fail();
            self.text.open(condition);
            self.text.line(fail);
            self.text.close();
        } else {
            self.text.line(format!("{call};"));
        }
    }

    /// Results that are at other places.
    fn copies(&mut self) {
        for (position, id) in self.plan.copied() {
            let count = self.count(id);
            let from = match self.plan.place(id) {
                BufferBinding::Slot(slot) => format!("s{slot}"),
                _ => self.name(id),
            };
            let to = self.interface.results[position].clone();
            self.copy(&to, "0".into(), &from, "0".into(), count, self.dtype(id));
        }
    }

    /// Copies elements.
    pub(crate) fn copy(&mut self, to: &str, at: String, from: &str, start: String, count: usize, dtype: DType) {
        let (to, from) =
            (ArraySlice { array: to, offset: at, count: None }, ArraySlice { array: from, offset: start, count: None });
        let line = self.language().copy(&to, &from, count, dtype);
        self.text.line(line);
    }

    fn finish(self, word: &str) -> WrittenFunction {
        let name = match word {
            "run" => word.to_string(),
            word => self.writer.name(word),
        };
        let mut scratch: BTreeMap<usize, usize> = BTreeMap::new();
        let mut takes: Vec<(String, String, bool)> = Vec::new();
        for (at, slot) in self.plan.slots().iter().enumerate() {
            let name = format!("s{at}");
            if self.writer.language.has_own_memory() && (1..=FEW).contains(&slot.count) {
                takes.push((self.writer.language.local(&name, slot.dtype, slot.count), name, false));
                continue;
            }
            let dtype = DTYPES.iter().position(|&dtype| dtype == slot.dtype).expect("all element types");
            let start = scratch.entry(dtype).or_default();
            takes.push((self.writer.language.take(&name, slot.dtype, *start, slot.count), name, true));
            *start = start.saturating_add(slot.count);
        }
        let parameters = self.parameters();
        let written = WrittenFunction { name, scratch, fails: self.fails };
        let memory: Vec<DType> = written.scratch().map(|(dtype, _)| dtype).collect();
        let mut text = Text::default();
        let language = self.writer.language;
        text.open(language.function(&written.name, &parameters, &memory, self.fails));
        text.lines(language.prologue(&parameters, &memory));
        // Where memory is split off the rest, later lines see the rest.
        takes.iter().for_each(|(line, name, takes)| match *takes && language.takes_in_turn() {
            true => text.line(line),
            false => text.declare(name, line),
        });
        text.append(self.text);
        if self.fails {
            text.line(language.succeed());
        }
        text.close();
        self.writer.functions.push(text);
        written
    }

    fn parameters(&self) -> Vec<ArrayParameter> {
        let procedure = self.procedure;
        let arguments = (0..procedure.parameters).map(|at| at as BufferId);
        let names = self.interface.arguments.iter().chain(&self.interface.results);
        let buffers = arguments.chain(procedure.results.iter().copied());
        let parameter = |(at, (name, id)): (usize, (&String, BufferId))| ArrayParameter {
            name: name.clone(),
            dtype: self.dtype(id),
            count: (!self.interface.open[at]).then(|| self.count(id)),
            writes: at >= procedure.parameters,
        };
        let all = names.zip(buffers).enumerate();
        all.filter(|&(at, _)| !self.interface.changes(at)).map(parameter).collect()
    }

    fn step(&mut self, step: &Step) -> Result<()> {
        self.text.open("");
        match step {
            Step::Nest(nest) => self.nest(nest, false),
            Step::Product(product) => self.product(product),
            Step::Loop(repeated) => self.repeated(repeated)?,
            Step::Branch(branch) => self.branch(branch)?,
            Step::Sweeps(sweeps) => self.sweeps(sweeps)?,
            Step::Call(call) => self.call(call)?,
            Step::First(_) => unreachable!("only the engine of the CPU lowers loops that go on from others"),
            Step::Blocks(blocks) => self.blocks(blocks)?,
        }
        self.text.close();
        Ok(())
    }

    /// A nest, which continues from its results' contents, or not.
    pub(crate) fn nest(&mut self, nest: &Nest, continues: bool) {
        let nest = &tidied(nest, &self.plan.unread);
        let (read, written) = touched(nest);
        self.bind(&read, &written);
        let mut known: BTreeMap<BufferId, (String, usize, DType)> = BTreeMap::new();
        for &id in read.iter().chain(&written) {
            known.insert(id, (self.name(id), self.count(id), self.dtype(id)));
        }
        let goes_on = |id: BufferId| continues || self.procedure.continued.contains(&id);
        let (name, count, dtype) =
            (|id: BufferId| known[&id].0.clone(), |id: BufferId| known[&id].1, |id: BufferId| known[&id].2);
        let buffers = BufferFacts { name: &name, count: &count, dtype: &dtype, continues: &goes_on };
        nest::write(&mut self.text, self.writer.language, nest, buffers, &mut self.writer.helpers);
    }

    /// Fills a buffer with the value of a reduction of nothing.
    pub(crate) fn fill(&mut self, id: BufferId, op: Reduction) {
        let value = self.language().literal(neutral_value(op, self.dtype(id)));
        let line = self.language().fill(&self.name(id), self.count(id), &value);
        self.text.line(line);
    }
}

/// The buffers that a nest reads, and those that it writes.
pub(crate) fn touched(nest: &Nest) -> (Vec<BufferId>, Vec<BufferId>) {
    (nest.read().collect(), nest.stores.iter().map(|store| store.buffer).collect())
}
