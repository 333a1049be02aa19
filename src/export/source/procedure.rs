//! Procedures as functions: a block for each step.

use super::language::{DTYPES, Helper, Language, Parameter, Part};
use super::nest::{self, Buffers};
use super::plan::{Place, Slots, lifetimes, places, unread};
use super::text::Text;
use super::tidy::tidied;
use crate::algebra::Reduction;
use crate::concrete::neutral_value;
use crate::error::Result;
use crate::kernel::{self, Blocks, Branch, BufferId, Call, Loop, Nest, Procedure, Source, Step, lower};
use crate::shape::{DType, Type, Value};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Known arrays with one value for all of more elements than this are filled in.
const LISTED: usize = 16;

/// Memory of so many elements is a function's own.
const FEW: usize = 16;

/// What has been written of a program.
pub(super) struct Writer<'a> {
    pub(super) language: &'a dyn Language,
    /// Known arrays.
    pub(super) constants: Text,
    /// Functions, each after those that it calls.
    pub(super) functions: Vec<Text>,
    pub(super) helpers: BTreeSet<Helper>,
    count: usize,
}

/// A function that has been written.
pub(super) struct Written {
    pub(super) name: String,
    /// How many elements of memory of each type it takes, of those that it takes at all.
    pub(super) scratch: BTreeMap<usize, usize>,
    /// Whether it may say that it could not be finished.
    pub(super) fails: bool,
}

impl Written {
    /// The element types of the memory that it takes, with how many elements.
    pub(super) fn scratch(&self) -> impl Iterator<Item = (DType, usize)> {
        self.scratch.iter().map(|(&at, &count)| (DTYPES[at], count))
    }
}

/// How the arrays that a function takes are called, and which of them have more elements than their types say, or other ones
/// in between.
pub(super) struct Interface {
    pub(super) arguments: Vec<String>,
    pub(super) results: Vec<String>,
    open: Vec<bool>,
}

impl Interface {
    /// Names for a function that nobody else calls.
    pub(super) fn inner(procedure: &Procedure) -> Interface {
        Interface::named(
            (0..procedure.parameters).map(|at| format!("a{at}")).collect(),
            (0..procedure.results.len()).map(|at| format!("r{at}")).collect(),
        )
    }

    /// These names, for arrays of the types of the procedure.
    pub(super) fn named(arguments: Vec<String>, results: Vec<String>) -> Interface {
        let open = vec![false; arguments.len() + results.len()];
        Interface { arguments, results, open }
    }
}

/// A function under construction.
pub(super) struct Function<'p, 'w, 'a> {
    pub(super) writer: &'w mut Writer<'a>,
    procedure: &'p Procedure,
    places: Vec<Place>,
    slots: Slots,
    interface: &'p Interface,
    constants: BTreeMap<BufferId, String>,
    pub(super) text: Text,
    /// The step that is being written, from 1.
    step: usize,
    /// Buffers that nests write and nobody reads.
    unread: HashSet<BufferId>,
    pub(super) fails: bool,
}

impl<'a> Writer<'a> {
    pub(super) fn new(language: &'a dyn Language) -> Writer<'a> {
        Writer { language, constants: Text::default(), functions: Vec::new(), helpers: BTreeSet::new(), count: 0 }
    }

    /// Writes the function of a procedure inside of the program.
    pub(super) fn inner(&mut self, word: &str, procedure: &Procedure) -> Result<Written> {
        self.procedure(word, procedure, &Interface::inner(procedure))
    }

    /// Writes the function of a procedure, and those that it calls.
    pub(super) fn procedure(&mut self, word: &str, procedure: &Procedure, interface: &Interface) -> Result<Written> {
        let unread = unread(procedure);
        let lifetimes = lifetimes(procedure, &unread);
        let mut function = Function {
            places: places(procedure),
            slots: Slots::default(),
            interface,
            constants: BTreeMap::new(),
            text: Text::default(),
            step: 0,
            unread,
            fails: false,
            procedure,
            writer: self,
        };
        // Buffers by the step that they begin with.
        let mut begun: BTreeMap<usize, Vec<(BufferId, usize)>> = BTreeMap::new();
        for (id, lifetime) in lifetimes.iter().enumerate() {
            if let Some((first, last)) = lifetime {
                begun.entry(*first).or_default().push((id as BufferId, *last));
            }
        }
        for (at, step) in procedure.steps.iter().enumerate() {
            function.step = at + 1;
            function.begin(begun.remove(&(at + 1)).unwrap_or_default());
            function.step(step)?;
        }
        function.step = procedure.steps.len() + 1;
        function.begin(begun.remove(&function.step).unwrap_or_default());
        function.copies();
        Ok(function.finish(word))
    }

    /// A name for a function.
    fn name(&mut self, word: &str) -> String {
        self.count += 1;
        format!("{word}{}", self.count)
    }
}

impl Function<'_, '_, '_> {
    pub(super) fn language(&self) -> &dyn Language {
        self.writer.language
    }

    fn ty(&self, id: BufferId) -> &Type {
        &self.procedure.buffers[id as usize].ty
    }

    pub(super) fn dtype(&self, id: BufferId) -> DType {
        self.ty(id).dtype
    }

    pub(super) fn count(&self, id: BufferId) -> usize {
        self.ty(id).size()
    }

    /// Finds places for the buffers that the step is the first to touch, and fills those that are known.
    fn begin(&mut self, buffers: Vec<(BufferId, usize)>) {
        for (id, last) in buffers {
            let ty = self.ty(id).clone();
            let Source::Constant(array) = &self.procedure.buffers[id as usize].source else {
                if self.places[id as usize] == Place::Unused {
                    let slot = self.slots.take(ty.dtype, ty.size(), self.step, last);
                    self.places[id as usize] = Place::Slot(slot);
                }
                continue;
            };
            match array.uniform() {
                Some(value) if ty.size() > LISTED => {
                    let slot = self.slots.take(ty.dtype, ty.size(), self.step, last);
                    self.places[id as usize] = Place::Slot(slot);
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
                    let elements: Vec<String> = known.map(|value| self.language().literal(value)).collect();
                    let name = self.language().constant_name(&name);
                    let lines = self.language().constant(&name, ty.dtype, &elements);
                    self.writer.constants.lines(lines);
                    if self.language().has_own_memory() {
                        self.constants.insert(id, name);
                    } else {
                        let slot = self.slots.take(ty.dtype, ty.size(), self.step, last);
                        self.places[id as usize] = Place::Slot(slot);
                        self.copy(&format!("s{slot}"), "0".into(), &name, "0".into(), ty.size(), ty.dtype);
                    }
                }
            }
        }
    }

    /// The name of a buffer, while a step is written that has bound it.
    pub(super) fn name(&self, id: BufferId) -> String {
        let origin = self.procedure.origin(id);
        match self.places[origin as usize] {
            Place::Argument(position) => self.interface.arguments[position].clone(),
            Place::Result(position) => self.interface.results[position].clone(),
            Place::Constant(id) => self.constants[&id].clone(),
            Place::Slot(_) => format!("b{origin}"),
            Place::Unused => unreachable!("what a step touches has a place"),
        }
    }

    /// Binds the names of the buffers that a step reads and writes.
    pub(super) fn bind(&mut self, read: &[BufferId], written: &[BufferId]) {
        let written: BTreeSet<BufferId> = written.iter().map(|&id| self.procedure.origin(id)).collect();
        let read: BTreeSet<BufferId> = read.iter().map(|&id| self.procedure.origin(id)).collect();
        for &id in read.union(&written) {
            if let Place::Slot(slot) = self.places[id as usize] {
                let (name, array) = (format!("b{id}"), format!("s{slot}"));
                let part = Part { array: &array, offset: "0".into(), count: Some(self.count(id)) };
                let line = self.language().bind(&name, self.dtype(id), &part, written.contains(&id));
                self.text.declare(&name, line);
            }
        }
    }

    /// Memory for the step alone.
    pub(super) fn memory(&mut self, dtype: DType, count: usize) -> String {
        let slot = self.slots.take(dtype, count, self.step, self.step);
        format!("s{slot}")
    }

    /// A part of an array, as an argument.
    pub(super) fn part(&self, array: &str, offset: String, count: Option<usize>, writes: bool) -> String {
        self.language().argument(&Part { array, offset, count }, writes)
    }

    /// A whole buffer, as an argument.
    pub(super) fn whole(&self, id: BufferId, writes: bool) -> String {
        self.part(&self.name(id), "0".into(), Some(self.count(id)), writes)
    }

    /// Memory for a function that the step calls, as arguments.
    pub(super) fn scratch(&mut self, written: &Written) -> Vec<String> {
        let all: Vec<(DType, usize)> = written.scratch().collect();
        let part = |(dtype, count)| {
            let slot = self.memory(dtype, count);
            self.part(&slot, "0".into(), Some(count), true)
        };
        all.into_iter().map(part).collect()
    }

    /// A call of a function that has been written.
    pub(super) fn call_line(&mut self, written: &Written, arguments: &[String]) {
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
        for (position, &id) in self.procedure.results.iter().enumerate() {
            let origin = self.procedure.origin(id);
            if self.places[origin as usize] == Place::Result(position) {
                continue;
            }
            let count = self.count(id);
            let from = match self.places[origin as usize] {
                Place::Slot(slot) => format!("s{slot}"),
                _ => self.name(id),
            };
            let to = self.interface.results[position].clone();
            self.copy(&to, "0".into(), &from, "0".into(), count, self.dtype(id));
        }
    }

    /// Copies elements.
    pub(super) fn copy(&mut self, to: &str, at: String, from: &str, start: String, count: usize, dtype: DType) {
        let (to, from) =
            (Part { array: to, offset: at, count: None }, Part { array: from, offset: start, count: None });
        let line = self.language().copy(&to, &from, count, dtype);
        self.text.line(line);
    }

    fn finish(self, word: &str) -> Written {
        let name = match word {
            "run" => word.to_string(),
            word => self.writer.name(word),
        };
        let mut scratch: BTreeMap<usize, usize> = BTreeMap::new();
        let mut takes: Vec<(String, String, bool)> = Vec::new();
        for (at, slot) in self.slots.all.iter().enumerate() {
            let name = format!("s{at}");
            if self.writer.language.has_own_memory() && (1..=FEW).contains(&slot.count) {
                takes.push((self.writer.language.local(&name, slot.dtype, slot.count), name, false));
                continue;
            }
            let dtype = DTYPES.iter().position(|&dtype| dtype == slot.dtype).expect("all element types");
            let start = scratch.entry(dtype).or_default();
            takes.push((self.writer.language.take(&name, slot.dtype, *start, slot.count), name, true));
            *start += slot.count;
        }
        let parameters = self.parameters();
        let written = Written { name, scratch, fails: self.fails };
        let memory: Vec<DType> = written.scratch().map(|(dtype, _)| dtype).collect();
        let mut text = Text::default();
        let language = self.writer.language;
        text.open(language.function(&written.name, &parameters, &memory, self.fails));
        text.lines(language.prologue(&parameters, &memory));
        // Where memory is split off the rest, that is what later lines see.
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

    fn parameters(&self) -> Vec<Parameter> {
        let procedure = self.procedure;
        let arguments = (0..procedure.parameters).map(|at| at as BufferId);
        let names = self.interface.arguments.iter().chain(&self.interface.results);
        let buffers = arguments.chain(procedure.results.iter().copied());
        let parameter = |(at, (name, id)): (usize, (&String, BufferId))| Parameter {
            name: name.clone(),
            dtype: self.dtype(id),
            count: (!self.interface.open[at]).then(|| self.count(id)),
            writes: at >= procedure.parameters,
        };
        names.zip(buffers).enumerate().map(parameter).collect()
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
            Step::Blocks(blocks) => self.blocks(blocks)?,
        }
        self.text.close();
        Ok(())
    }

    /// A nest, which goes on with what its results have, or not.
    pub(super) fn nest(&mut self, nest: &Nest, continues: bool) {
        let nest = &tidied(nest, &self.unread);
        let (read, written) = touched(nest);
        self.bind(&read, &written);
        let all = || read.iter().chain(&written).copied();
        let names: BTreeMap<BufferId, String> = all().map(|id| (id, self.name(id))).collect();
        let counts: BTreeMap<BufferId, usize> = all().map(|id| (id, self.count(id))).collect();
        let goes_on = |id: BufferId| continues || self.procedure.continued.contains(&id);
        let (count, name) = (|id: BufferId| counts[&id], |id: BufferId| names[&id].clone());
        let dtypes: BTreeMap<BufferId, DType> = all().map(|id| (id, self.dtype(id))).collect();
        let buffers = Buffers { name: &name, count: &count, dtype: &|id| dtypes[&id], continues: &goes_on };
        nest::write(&mut self.text, self.writer.language, nest, buffers, &mut self.writer.helpers);
    }

    /// Fills a buffer with what a reduction of nothing results in.
    pub(super) fn fill(&mut self, id: BufferId, op: Reduction) {
        let value = self.language().literal(neutral_value(op, self.dtype(id)));
        let line = self.language().fill(&self.name(id), self.count(id), &value);
        self.text.line(line);
    }

    fn branch(&mut self, branch: &Branch) -> Result<()> {
        let sides = [self.writer.inner("then", &branch.then)?, self.writer.inner("otherwise", &branch.otherwise)?];
        let mut read = branch.arguments.clone();
        read.push(branch.condition);
        self.bind(&read, &branch.results);
        let arguments = branch.arguments.iter().map(|&id| self.whole(id, false));
        let arguments: Vec<String> = arguments.chain(branch.results.iter().map(|&id| self.whole(id, true))).collect();
        let condition = self.language().condition(&format!("{}[0]", self.name(branch.condition)));
        self.text.open(condition);
        for (at, side) in sides.iter().enumerate() {
            if at == 1 {
                let otherwise = self.language().otherwise();
                self.text.between(otherwise);
            }
            let mut all = arguments.clone();
            all.extend(self.scratch(side));
            self.call_line(side, &all);
        }
        self.text.close();
        Ok(())
    }

    fn repeated(&mut self, repeated: &Loop) -> Result<()> {
        let step = self.writer.inner("step", &repeated.step)?;
        let scan = &repeated.scan;
        let (arguments, results) = (&repeated.arguments, &repeated.results);
        self.bind(arguments, results);
        // What a step carries it writes to the result and to another place in turns: so that the last step writes to the
        // result.
        for carry in 0..scan.carries {
            let (count, dtype) = (self.count(results[carry]), self.dtype(results[carry]));
            let result = self.name(results[carry]);
            let start = self.name(arguments[carry]);
            let other = if scan.length == 0 { result.clone() } else { self.memory(dtype, count) };
            let (from, to) = if scan.length.is_multiple_of(2) { (&result, &other) } else { (&other, &result) };
            self.copy(from, "0".into(), &start, "0".into(), count, dtype);
            if scan.length > 0 {
                self.carry(&carry.to_string(), from, to, dtype, count);
            }
        }
        if scan.length == 0 {
            return Ok(());
        }
        let position = if scan.reverse { format!("{} - step", scan.length - 1) } else { "step".into() };
        let scratch = self.scratch(&step);
        let mut all: Vec<String> = Vec::new();
        for (at, &id) in arguments.iter().enumerate() {
            all.push(match at {
                at if at < scan.carries => self.part(&format!("from{at}"), "0".into(), Some(self.count(id)), false),
                at if at < scan.carries + scan.inputs => self.slice(id, scan.length, false),
                _ => self.whole(id, false),
            });
        }
        for (at, &id) in results.iter().enumerate() {
            all.push(match at < scan.carries {
                true => self.part(&format!("to{at}"), "0".into(), Some(self.count(id)), true),
                false => self.slice(id, scan.length, true),
            });
        }
        all.extend(scratch);
        self.text.open(self.writer.language.for_loop("step", "0", &scan.length.to_string()));
        self.text.declare("at", self.writer.language.declare_index("at", &position));
        self.call_line(&step, &all);
        for (carry, &id) in results[..scan.carries].iter().enumerate() {
            self.turn(&carry.to_string(), self.dtype(id));
        }
        self.text.close();
        Ok(())
    }

    /// The two places of what is carried.
    pub(super) fn carry(&mut self, carry: &str, from: &str, to: &str, dtype: DType, count: usize) {
        for (name, array) in [("from", from), ("to", to)] {
            let part = Part { array, offset: "0".into(), count: Some(count) };
            let line = self.language().bind_variable(&format!("{name}{carry}"), dtype, &part);
            self.text.line(line);
        }
    }

    /// Has the next step read what this one wrote.
    pub(super) fn turn(&mut self, carry: &str, dtype: DType) {
        let line = self.language().swap(&format!("from{carry}"), &format!("to{carry}"), dtype);
        self.text.line(line);
    }

    /// The slice of a buffer at the position `at` of so many.
    pub(super) fn slice(&self, id: BufferId, length: usize, writes: bool) -> String {
        let count = self.count(id) / length.max(1);
        self.part(&self.name(id), format!("at * {count}"), Some(count), writes)
    }

    fn call(&mut self, call: &Call) -> Result<()> {
        if self.sort(call) {
            return Ok(());
        }
        // The operation alone reads buffers only, so it is a nest: what was in its way belonged to the program around it.
        let procedure = lower(&call.body);
        let written = self.writer.inner("operation", &procedure)?;
        self.bind(&call.arguments, &call.results);
        let mut all: Vec<String> = call.arguments.iter().map(|&id| self.whole(id, false)).collect();
        all.extend(call.results.iter().map(|&id| self.whole(id, true)));
        all.extend(self.scratch(&written));
        self.call_line(&written, &all);
        Ok(())
    }

    fn blocks(&mut self, blocks: &Blocks) -> Result<()> {
        let whole = blocks.extent / blocks.rows;
        let mut functions = vec![(&blocks.procedure, blocks.rows)];
        functions.extend(blocks.rest.as_ref().map(|rest| (rest, blocks.extent % blocks.rows)));
        // Rows that do not make up an array have others in between, or after them.
        let is_open = |id: BufferId, stride: usize| stride > 0 && stride * blocks.extent != self.count(id);
        let open: Vec<bool> = blocks
            .arguments
            .iter()
            .map(|&(id, stride)| is_open(id, stride))
            .chain(blocks.results.iter().map(|&(id, stride, _)| is_open(id, stride)))
            .collect();
        let mut written = Vec::new();
        for (procedure, _) in &functions {
            let interface = Interface { open: open.clone(), ..Interface::inner(procedure) };
            written.push(self.writer.procedure("block", procedure, &interface)?);
        }
        let read: Vec<BufferId> = blocks.arguments.iter().map(|&(id, _)| id).collect();
        let filled: Vec<BufferId> = blocks.results.iter().map(|&(id, ..)| id).collect();
        self.bind(&read, &filled);
        for &(id, _, combined) in &blocks.results {
            if let Some(op) = combined {
                self.fill(id, op);
            }
        }
        for (at, (function, (_, rows))) in written.iter().zip(functions).enumerate() {
            let strided = blocks.arguments.iter().map(|&(id, stride)| (id, stride, false));
            let strided = strided.chain(blocks.results.iter().map(|&(id, stride, _)| (id, stride, true)));
            let argument =
                |(position, (id, stride, writes)): (usize, (BufferId, usize, bool))| match (stride, open[position]) {
                    (0, _) => self.whole(id, writes),
                    (stride, true) => self.part(&self.name(id), format!("row * {stride}"), None, writes),
                    (stride, false) => {
                        self.part(&self.name(id), format!("row * {stride}"), Some(stride * rows), writes)
                    }
                };
            let mut all: Vec<String> = strided.enumerate().map(argument).collect();
            all.extend(self.scratch(function));
            if at == 0 {
                self.text.open(self.writer.language.for_loop("block", "0", &whole.to_string()));
                self.text.line(self.writer.language.declare_index("row", &format!("block * {rows}")));
                self.call_line(function, &all);
                self.text.close();
            } else {
                self.text.open("");
                self.text.line(self.writer.language.declare_index("row", &(whole * blocks.rows).to_string()));
                self.call_line(function, &all);
                self.text.close();
            }
        }
        Ok(())
    }
}

/// The buffers that a nest reads, and those that it writes.
pub(super) fn touched(nest: &Nest) -> (Vec<BufferId>, Vec<BufferId>) {
    let read = nest.values.iter().filter_map(|(value, _)| match value {
        kernel::Value::Load { buffer, .. } | kernel::Value::Gather { buffer, .. } => Some(*buffer),
        _ => None,
    });
    (read.collect(), nest.stores.iter().map(|store| store.buffer).collect())
}
