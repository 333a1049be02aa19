//! Steps that are made of procedures: conditionals, rolled loops, operations that were left alone, and blocks of rows.

use super::language::ArraySlice;
use super::procedure::{FunctionBuilder, FunctionInterface};
use crate::error::{Error, Result};
use crate::kernel::{BufferId, Call, Combined, Conditional, Loop, RowBlocks, lower};
use crate::shape::DType;

impl FunctionBuilder<'_, '_, '_> {
    pub(crate) fn branch(&mut self, branch: &Conditional) -> Result<()> {
        let sides = [("then", &branch.then), ("otherwise", &branch.otherwise)];
        let [then, otherwise] = sides.map(|(word, side)| self.writer.changing(word, side, branch.changed.clone()));
        let sides = [then?, otherwise?];
        let mut read = branch.arguments.clone();
        read.push(branch.condition);
        self.bind(&read, &branch.results);
        for &(argument, result) in &branch.changed {
            self.copy_apart(branch.results[result], branch.arguments[argument]);
        }
        let changes = |position: usize| branch.changed.iter().any(|&(changed, _)| changed == position);
        let kept = branch.arguments.iter().enumerate().filter(|&(position, _)| !changes(position));
        let arguments = kept.map(|(_, &id)| self.whole(id, false));
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

    pub(crate) fn repeated(&mut self, repeated: &Loop) -> Result<()> {
        let scan = &repeated.scan;
        let changed = repeated.step.changed(scan.carries);
        let step = self.writer.changing("step", &repeated.step, changed)?;
        let (arguments, results) = (&repeated.arguments, &repeated.results);
        self.bind(arguments, results);
        // A step changes a carry in the result, or writes it to the result and to another place in turns, so that the last step
        // writes to the result.
        let in_place = |carry: usize| carry < scan.carries && repeated.step.changes(carry);
        for carry in 0..scan.carries {
            if in_place(carry) {
                self.copy_apart(results[carry], arguments[carry]);
                continue;
            }
            let (count, dtype) = (self.count(results[carry]), self.dtype(results[carry]));
            let result = self.name(results[carry]);
            let start = self.name(arguments[carry]);
            let other = if scan.length == 0 { result.clone() } else { self.memory(dtype, count) };
            let (from, to) = if scan.length.is_multiple_of(2) { (&result, &other) } else { (&other, &result) };
            if *from != start {
                self.copy(from, "0".into(), &start, "0".into(), count, dtype);
            }
            if scan.length > 0 {
                self.carry(&carry.to_string(), from, Some(to), dtype, count);
            }
        }
        if scan.length == 0 {
            return Ok(());
        }
        let position = if scan.reverse { format!("{} - step", scan.length - 1) } else { "step".into() };
        let scratch = self.scratch(&step);
        let mut all: Vec<String> = Vec::new();
        for (at, &id) in arguments.iter().enumerate().filter(|&(at, _)| !in_place(at)) {
            all.push(match at {
                at if at < scan.carries => self.part(&format!("from{at}"), "0".into(), Some(self.count(id)), false),
                at if at < scan.carries + scan.inputs => self.slice(id, scan.length, false),
                _ => self.whole(id, false),
            });
        }
        for (at, &id) in results.iter().enumerate() {
            all.push(match at < scan.carries {
                true if in_place(at) => self.whole(id, true),
                true => self.part(&format!("to{at}"), "0".into(), Some(self.count(id)), true),
                false => self.slice(id, scan.length, true),
            });
        }
        all.extend(scratch);
        self.text.open(self.writer.language.for_loop("step", "0", &scan.length.to_string()));
        self.text.declare("at", self.writer.language.declare_index("at", &position));
        self.call_line(&step, &all);
        for (carry, &id) in results[..scan.carries].iter().enumerate().filter(|&(carry, _)| !in_place(carry)) {
            self.turn(&carry.to_string(), self.dtype(id));
        }
        self.text.close();
        Ok(())
    }

    /// Declares the two places of a carry, or the single place of a carry that is changed in place.
    pub(crate) fn carry(&mut self, carry: &str, from: &str, to: Option<&str>, dtype: DType, count: usize) {
        for (name, array) in std::iter::once(("from", from)).chain(to.map(|to| ("to", to))) {
            let part = ArraySlice { array, offset: "0".into(), count: Some(count) };
            let line = self.language().bind_variable(&format!("{name}{carry}"), dtype, &part);
            self.text.line(line);
        }
    }

    /// Makes the next step read the state that this one wrote.
    pub(crate) fn turn(&mut self, carry: &str, dtype: DType) {
        let line = self.language().swap(&format!("from{carry}"), &format!("to{carry}"), dtype);
        self.text.line(line);
    }

    /// The slice of a buffer at the position `at` of so many.
    pub(crate) fn slice(&self, id: BufferId, length: usize, writes: bool) -> String {
        let count = self.count(id) / length.max(1);
        self.part(&self.name(id), format!("at * {count}"), Some(count), writes)
    }

    pub(crate) fn call(&mut self, call: &Call) -> Result<()> {
        if self.sort(call) {
            return Ok(());
        }
        // On its own the operation reads only buffers, so it is a nest: only the surrounding program kept it from being one.
        let procedure = lower(&call.written_out());
        if procedure.leaves_alone(call) {
            let problem = "positions that can't be counted".into();
            return Err(Error::Export { target: "source", operation: call.name(), problem });
        }
        let written = self.writer.inner("operation", &procedure)?;
        self.bind(&call.arguments, &call.results);
        let mut all: Vec<String> = call.arguments.iter().map(|&id| self.whole(id, false)).collect();
        all.extend(call.results.iter().map(|&id| self.whole(id, true)));
        all.extend(self.scratch(&written));
        self.call_line(&written, &all);
        Ok(())
    }

    pub(crate) fn blocks(&mut self, blocks: &RowBlocks) -> Result<()> {
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
            let interface = FunctionInterface { open: open.clone(), ..FunctionInterface::inner(procedure) };
            written.push(self.writer.procedure("block", procedure, &interface)?);
        }
        let read: Vec<BufferId> = blocks.arguments.iter().map(|&(id, _)| id).collect();
        let filled: Vec<BufferId> = blocks.results.iter().map(|&(id, ..)| id).collect();
        self.bind(&read, &filled);
        for &(id, _, combined) in &blocks.results {
            if let Some(Combined { op, is_filled: false }) = combined {
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
