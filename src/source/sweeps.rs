//! Loops that are swept several times, or end by a condition.
//!
//! Memory is planned ahead, so values of the steps are kept for a few steps at a time: for *stretches* between checkpoints, at
//! which the carries of each sweep are stored. Before a later sweep goes over a stretch, the earlier ones go over it again. A
//! loop with a condition may have any number of steps, but memory is planned for a fixed number of stretches; with more, the
//! function reports that it could not be finished.

use super::procedure::{FunctionBuilder, WrittenFunction};
use crate::error::Result;
use crate::kernel::{BufferId, SweepLoop};
use crate::shape::{DType, Type};
use crate::term::{Checkpoints, Steps};

/// Bytes of memory for the kept values of a loop with a condition, and for its checkpoints; the least and the greatest number
/// of each.
const BYTES: usize = 1 << 20;
const LEAST: usize = 64;
const MOST: usize = 1 << 12;

/// The state of writing a sweep.
struct SweepState {
    step: WrittenFunction,
    /// The carries that the step changes in place.
    in_place: Vec<bool>,
    /// The buffers of first carries, inputs, last carries, outputs.
    starts: Vec<BufferId>,
    inputs: Vec<BufferId>,
    finals: Vec<BufferId>,
    outputs: Vec<BufferId>,
    /// The values that it reads, by sweep and position.
    reads: Vec<(usize, usize)>,
    /// For each value that it keeps: type, memory, and whether every step's value is kept.
    keeps: Vec<(Type, String, bool)>,
    /// Memory for its carries at checkpoints.
    stored: Vec<String>,
    scratch: Vec<String>,
}

/// A loop under construction.
struct Writing {
    sweeps: Vec<SweepState>,
    captures: Vec<BufferId>,
    /// The number of steps, if it is known.
    count: Option<usize>,
    reverse: bool,
    /// Steps of a stretch, and how many stretches there can be.
    length: usize,
    stretches: usize,
}

impl Writing {
    /// Whether no step of a sweep runs again once it has ended.
    fn is_last(&self, sweep: usize) -> bool {
        self.stretches == 1 || sweep + 1 == self.sweeps.len()
    }
}

/// The name of a sweep's carry.
fn carried(sweep: usize, carry: usize) -> String {
    format!("{sweep}_{carry}")
}

impl FunctionBuilder<'_, '_, '_> {
    pub(crate) fn sweeps(&mut self, lowered: &SweepLoop) -> Result<()> {
        let loops = &lowered.sweeps;
        let condition = match &lowered.condition {
            Some(condition) => Some(self.writer.inner("condition", condition)?),
            None => None,
        };
        let count = match loops.steps {
            Steps::Count(count) => Some(count),
            Steps::While(_) => None,
        };
        let kept = |sweep: usize| {
            let own = &loops.sweeps[sweep];
            let types = &own.body.results[own.carries..own.carries + own.keeps];
            types.iter().map(|&id| own.body.node(id).ty().clone()).collect::<Vec<Type>>()
        };
        // The bytes of a step's kept values that are read, and of the carries.
        let bytes = |ty: &Type| ty.bytes().unwrap_or(usize::MAX);
        let (mut of_step, mut of_state) = (0usize, 0usize);
        for (at, sweep) in loops.sweeps.iter().enumerate() {
            let read = kept(at).into_iter().zip(loops.read_later(at)).filter(|(_, is_read)| *is_read);
            of_step = read.map(|(ty, _)| bytes(&ty)).fold(of_step, usize::saturating_add);
            let (starts, _) = loops.operands(at);
            let carries = lowered.arguments[starts].iter().map(|&id| bytes(&self.ty_of(id)));
            of_state = carries.fold(of_state, usize::saturating_add);
            debug_assert_eq!(sweep.carries, loops.operands(at).0.len());
        }
        let (length, stretches) = stretches(count, loops.sweeps.len(), loops.checkpoints, of_step, of_state);
        self.bind(&lowered.arguments, &lowered.results);
        let mut sweeps: Vec<SweepState> = Vec::new();
        for (at, body) in lowered.bodies.iter().enumerate() {
            let (starts, inputs) = loops.operands(at);
            let step = self.writer.changing("sweep", body, body.changed(starts.len()))?;
            let in_place = starts.clone().map(|carry| body.changes(carry - starts.start)).collect();
            let (finals, outputs) = loops.results(at);
            let starts = lowered.arguments[starts].to_vec();
            let mut keeps = Vec::new();
            for (ty, is_read) in kept(at).into_iter().zip(loops.read_later(at)) {
                let steps = if is_read { length } else { 1 };
                let memory = self.memory(ty.dtype, ty.size().saturating_mul(steps));
                keeps.push((ty, memory, is_read));
            }
            let mut stored = Vec::new();
            for &id in &starts {
                if stretches > 1 {
                    let (dtype, elements) = (self.dtype(id), self.count(id));
                    stored.push(self.memory(dtype, elements.saturating_mul(stretches)));
                }
            }
            let scratch = self.scratch(&step);
            sweeps.push(SweepState {
                step,
                in_place,
                starts,
                inputs: lowered.arguments[inputs].to_vec(),
                finals: lowered.results[finals].to_vec(),
                outputs: lowered.results[outputs].to_vec(),
                reads: loops.sweeps[at].reads.clone(),
                keeps,
                stored,
                scratch,
            });
        }
        let captures = lowered.arguments[loops.captures()..].to_vec();
        let writing = Writing { sweeps, captures, count, reverse: loops.reverse, length, stretches };
        self.first_sweep(&writing, condition.as_ref());
        self.later_sweeps(&writing);
        Ok(())
    }

    fn ty_of(&self, id: BufferId) -> Type {
        Type::new(self.dtype(id), &[self.count(id)])
    }

    /// Memory for a sweep's carries, initialised with the first.
    fn begin_sweep(&mut self, writing: &Writing, sweep: usize) {
        let own = &writing.sweeps[sweep];
        for (carry, &id) in own.starts.iter().enumerate() {
            let (dtype, count, start) = (self.dtype(id), self.count(id), self.name(id));
            let from = match own.in_place[carry] && writing.is_last(sweep) {
                true => self.name(own.finals[carry]),
                false => self.memory(dtype, count),
            };
            if from != start {
                self.copy(&from, "0".into(), &start, "0".into(), count, dtype);
            }
            let to = if own.in_place[carry] { None } else { Some(self.memory(dtype, count)) };
            self.carry(&carried(sweep, carry), &from, to.as_deref(), dtype, count);
        }
    }

    fn end_sweep(&mut self, writing: &Writing, sweep: usize) {
        let own = &writing.sweeps[sweep];
        let is_there = |carry: usize| own.in_place[carry] && writing.is_last(sweep);
        for (carry, &id) in own.finals.iter().enumerate().filter(|&(carry, _)| !is_there(carry)) {
            let (dtype, count, to) = (self.dtype(id), self.count(id), self.name(id));
            let from = format!("from{}", carried(sweep, carry));
            self.copy(&to, "0".into(), &from, "0".into(), count, dtype);
        }
    }

    /// Stores a sweep's carries under the number of a stretch, or restores them.
    fn checkpoint(&mut self, writing: &Writing, sweep: usize, number: &str, stores: bool) {
        if writing.stretches == 1 {
            return;
        }
        let own = &writing.sweeps[sweep];
        for (carry, (&id, memory)) in own.starts.iter().zip(&own.stored).enumerate() {
            let (dtype, count) = (self.dtype(id), self.count(id));
            let (state, place) = (format!("from{}", carried(sweep, carry)), format!("{number} * {count}"));
            match stores {
                true => self.copy(memory, place, &state, "0".into(), count, dtype),
                false => self.copy(&state, "0".into(), memory, place, count, dtype),
            }
        }
    }

    /// The step number `step`, in the stretch that begins with `first`.
    fn sweep_step(&mut self, writing: &Writing, sweep: usize) {
        let own = &writing.sweeps[sweep];
        let position = match writing.count {
            Some(count) if writing.reverse => format!("{} - step", count.max(1) - 1),
            _ => "step".into(),
        };
        self.text.declare("at", self.writer.language.declare_index("at", &position));
        self.text.declare("tape", self.writer.language.declare_index("tape", "step - first"));
        let length = writing.count.unwrap_or(1);
        let mut all: Vec<String> = Vec::new();
        for (carry, &id) in own.starts.iter().enumerate().filter(|&(carry, _)| !own.in_place[carry]) {
            let from = format!("from{}", carried(sweep, carry));
            all.push(self.part(&from, "0".into(), Some(self.count(id)), false));
        }
        all.extend(own.inputs.iter().map(|&id| self.slice(id, length, false)));
        for &(from, position) in &own.reads {
            let (ty, memory, _) = &writing.sweeps[from].keeps[position];
            all.push(self.part(memory, format!("tape * {}", ty.size()), Some(ty.size()), false));
        }
        all.extend(writing.captures.iter().map(|&id| self.whole(id, false)));
        for (carry, &id) in own.starts.iter().enumerate() {
            let place = if own.in_place[carry] { "from" } else { "to" };
            let to = format!("{place}{}", carried(sweep, carry));
            all.push(self.part(&to, "0".into(), Some(self.count(id)), true));
        }
        for (ty, memory, is_read) in &own.keeps {
            let offset = if *is_read { format!("tape * {}", ty.size()) } else { "0".into() };
            all.push(self.part(memory, offset, Some(ty.size()), true));
        }
        all.extend(own.outputs.iter().map(|&id| self.slice(id, length, true)));
        all.extend(own.scratch.iter().cloned());
        self.call_line(&own.step, &all);
        for (carry, &id) in own.starts.iter().enumerate().filter(|&(carry, _)| !own.in_place[carry]) {
            self.turn(&carried(sweep, carry), self.dtype(id));
        }
    }

    fn first_sweep(&mut self, writing: &Writing, condition: Option<&WrittenFunction>) {
        self.begin_sweep(writing, 0);
        let language = self.writer.language;
        let holds = condition.map(|condition| (self.memory(DType::Bool, 1), self.scratch(condition)));
        // Nobody needs the number of steps of a loop with a single sweep that ends by its condition.
        let counts = condition.is_none() || writing.sweeps.len() > 1;
        if counts {
            self.text.declare("step", language.declare_counter("step", "0"));
        }
        self.text.declare("first", language.declare_counter("first", "0"));
        self.text.declare("stretches", language.declare_counter("stretches", "1"));
        self.checkpoint(writing, 0, "0", true);
        self.text.open(language.endless_loop());
        let goes_on = match (condition, holds) {
            (Some(condition), Some((holds, scratch))) => {
                let own = &writing.sweeps[0];
                let mut all: Vec<String> = Vec::new();
                for (carry, &id) in own.starts.iter().enumerate() {
                    let from = format!("from{}", carried(0, carry));
                    all.push(self.part(&from, "0".into(), Some(self.count(id)), false));
                }
                all.extend(writing.captures.iter().map(|&id| self.whole(id, false)));
                all.push(self.part(&holds, "0".into(), Some(1), true));
                all.extend(scratch);
                self.call_line(condition, &all);
                format!("{holds}[0]")
            }
            _ => format!("(step < {})", writing.count.unwrap_or(0)),
        };
        self.text.open(language.condition(&format!("!{goes_on}")));
        self.text.line("break;");
        self.text.close();
        if writing.length < usize::MAX {
            self.text.open(language.condition(&format!("step - first == {}", writing.length)));
            if writing.count.is_none() && writing.stretches > 1 {
                self.text.open(language.condition(&format!("stretches == {}", writing.stretches)));
                self.text.line(language.fail());
                self.text.close();
                self.fails = true;
            }
            self.checkpoint(writing, 0, "stretches", true);
            self.text.line("stretches += 1;");
            self.text.line("first = step;");
            self.text.close();
        }
        self.sweep_step(writing, 0);
        if counts {
            self.text.line("step += 1;");
        }
        self.text.close();
        self.end_sweep(writing, 0);
        self.text.declare("count", language.declare_index("count", "step"));
    }

    /// A sweep over the steps of the stretch from `first` to before `end`, in its direction.
    fn stretch(&mut self, writing: &Writing, sweep: usize) {
        let language = self.writer.language;
        self.text.open(language.for_loop("passed", "0", "end - first"));
        let step = if sweep.is_multiple_of(2) { "first + passed" } else { "end - 1 - passed" };
        self.text.declare("step", language.declare_index("step", step));
        self.sweep_step(writing, sweep);
        self.text.close();
    }

    fn later_sweeps(&mut self, writing: &Writing) {
        let (language, last) = (self.writer.language, writing.sweeps.len() - 1);
        if last > 0 {
            self.text.declare("current", language.declare_counter("current", "stretches - 1"));
        }
        for sweep in 1..=last {
            self.begin_sweep(writing, sweep);
            self.text.open(language.for_loop("number", "0", "stretches"));
            let stretch = if sweep.is_multiple_of(2) { "number" } else { "stretches - 1 - number" };
            self.text.declare("stretch", language.declare_index("stretch", stretch));
            let (first, end) = match writing.length {
                usize::MAX => ("0".to_string(), "count".to_string()),
                length => (format!("stretch * {length}"), format!("first + {length}")),
            };
            self.text.declare("first", language.declare_index("first", &first));
            if writing.length == usize::MAX {
                self.text.declare("end", language.declare_index("end", &end));
            } else {
                let bounded = language.choice(&format!("{end} < count"), &end, "count");
                self.text.declare("end", language.declare_index("end", &bounded));
            }
            if writing.stretches > 1 {
                self.text.open(language.condition("stretch != current"));
                for earlier in 0..sweep {
                    self.checkpoint(writing, earlier, "stretch", false);
                    self.stretch(writing, earlier);
                }
                self.text.line("current = stretch;");
                self.text.close();
                if sweep < last {
                    self.checkpoint(writing, sweep, "stretch", true);
                }
            }
            self.stretch(writing, sweep);
            self.text.close();
            self.end_sweep(writing, sweep);
        }
    }
}

/// How many steps a stretch has, and how many stretches there can be, as [`Checkpoints`] say, where that can be said ahead.
fn stretches(
    count: Option<usize>,
    sweeps: usize,
    checkpoints: Checkpoints,
    of_step: usize,
    of_state: usize,
) -> (usize, usize) {
    if sweeps < 2 || of_step == 0 {
        // Nothing is read again.
        return (usize::MAX, 1);
    }
    let Some(count) = count else {
        let length = match checkpoints {
            Checkpoints::Every(steps) => steps.clamp(1, MOST),
            _ => (BYTES / of_step).clamp(LEAST, MOST),
        };
        return (length, (BYTES / of_state.max(1)).clamp(LEAST, MOST));
    };
    let count = count.max(1);
    let length = match checkpoints {
        Checkpoints::All => count,
        Checkpoints::Every(steps) => steps.clamp(1, count),
        Checkpoints::Snapshots(snapshots) => count.div_ceil(snapshots.max(1)),
        Checkpoints::Bytes(bytes) if of_step.saturating_mul(count) <= bytes => count,
        Checkpoints::Bytes(_) => {
            let length = (count as f64 * of_state as f64 / of_step as f64).sqrt();
            (length as usize).clamp(1, count)
        }
    };
    (length, count.div_ceil(length))
}
