//! Loops, whose steps the host launches in turn.

use super::code::{DeviceCode, SweepsCode};
use super::failure::DeviceResult;
use super::memory::{DevicePointer, DeviceView};
use super::running::{Ahead, Launcher, RunningLoop, Views, carried};
use super::space::{DeviceSpace, DeviceSweepSpace, DeviceSweepsSpace};
use crate::kernel::{Loop, SweepLoop};
use crate::term::Steps;
use crate::term::schedule::Runner;

impl Launcher<'_> {
    /// A loop of a known number of steps. Its carries are in the result, if steps change them in place; otherwise they
    /// alternate between the result and another place, such that the last step writes to the result.
    pub(super) fn repeated(
        &self,
        code: &DeviceCode,
        repeated: &Loop,
        (step, space, others): (&DeviceCode, &mut DeviceSpace, &[Option<DevicePointer>]),
        (arguments, results): (&[DeviceView<'_>], &[DeviceView<'_>]),
    ) -> DeviceResult<()> {
        let (scan, length) = (&repeated.scan, repeated.scan.length);
        let place = |carry: usize, is_result: bool| match &others[carry] {
            Some(other) if !is_result => DeviceView::from(other),
            _ => results[carry],
        };
        for (carry, &first) in arguments[..scan.carries].iter().enumerate() {
            let ty = code.ty(repeated.results[carry]);
            self.shared.copy_apart(first, place(carry, length.is_multiple_of(2)), ty.dtype, ty.size())?;
        }
        // The operands of even steps, and of odd ones: apart from slices they are the same for all of these.
        let operands = |odd: bool| -> (Views<'_>, Views<'_>) {
            let reads_result = length.is_multiple_of(2) != odd;
            let from = (0..scan.carries).map(|carry| place(carry, reads_result));
            let to = (0..scan.carries).map(|carry| place(carry, !reads_result));
            let (arguments, results) = (&arguments[scan.carries..], &results[scan.carries..]);
            (from.chain(arguments.iter().copied()).collect(), to.chain(results.iter().copied()).collect())
        };
        let mut turns = [operands(false), operands(true)];
        let inputs = scan.carries..scan.carries + scan.inputs;
        let stride = |id: u32| code.ty(id).size() / length.max(1);
        let read: Vec<usize> = repeated.arguments[inputs.clone()].iter().map(|&id| stride(id)).collect();
        let written: Vec<usize> = repeated.results[scan.carries..].iter().map(|&id| stride(id)).collect();
        for number in 0..length {
            let position = if scan.reverse { length - 1 - number } else { number };
            let (given, taken) = &mut turns[number % 2];
            for (at, stride) in inputs.clone().zip(&read) {
                given[at] = arguments[at].moved(position * stride);
            }
            for (at, stride) in (scan.carries..).zip(&written) {
                taken[at] = results[at].moved(position * stride);
            }
            self.run(step, space, given, taken)?;
        }
        Ok(())
    }
}

impl<'a, 'k> RunningLoop<'a, 'k> {
    pub(super) fn new(
        launcher: &'a Launcher<'k>,
        (code, lowered, inside): (&'a DeviceCode, &'a SweepLoop, &'a SweepsCode),
        space: &'a mut DeviceSweepsSpace,
        (arguments, results): (Views<'a>, Views<'a>),
    ) -> RunningLoop<'a, 'k> {
        let states = vec![None; inside.bodies.len()];
        let ahead = Ahead::default();
        RunningLoop { launcher, code, lowered, inside, space, arguments, results, states, ahead, from: 0, taped: 0 }
    }

    fn count_of(&self) -> Option<usize> {
        match self.lowered.sweeps.steps {
            Steps::Count(count) => Some(count),
            Steps::While(_) => None,
        }
    }

    /// Sets how many places of a sweep's carries alternate.
    pub(super) fn has_places(&mut self, sweep: usize, places: usize) -> DeviceResult<()> {
        let space = &mut self.space.sweeps[sweep];
        space.places = space.places.max(places).max(2);
        space.turns.iter_mut().try_for_each(|turn| turn.reserve(self.launcher.shared, space.places))
    }

    /// The place after another one.
    pub(super) fn next_place(&self, sweep: usize, state: Option<usize>) -> usize {
        state.map_or(0, |place| (place + 1) % self.space.sweeps[sweep].places)
    }

    /// Runs one step of a sweep, from one place to another.
    pub(super) fn run_step(
        &mut self,
        sweep: usize,
        step: usize,
        (from, to): (Option<usize>, usize),
        keeps: bool,
    ) -> DeviceResult<()> {
        let (loops, lowered, code) = (&self.lowered.sweeps, self.lowered, self.code);
        let (tape, count) = (step.wrapping_sub(self.from), self.count_of());
        let position = match count {
            Some(count) if loops.reverse => count - 1 - step,
            _ => step,
        };
        let slice =
            |view: DeviceView<'a>, id: u32| view.moved(position * (code.ty(id).size() / count.unwrap_or(1).max(1)));
        let (starts, inputs) = loops.operands(sweep);
        let (_, outputs) = loops.results(sweep);
        let (earlier, own) = self.space.sweeps.split_at_mut(sweep);
        let DeviceSweepSpace { step: space, turns, keeps: kept, .. } = &mut own[0];
        for keep in kept.iter_mut().filter(|keep| keeps && keep.is_read) {
            keep.tape.reserve(self.launcher.shared, tape + 1)?;
        }
        let mut given = carried(turns, from, &self.arguments[starts]);
        let read = self.arguments[inputs.clone()].iter().zip(&lowered.arguments[inputs]);
        given.extend(read.map(|(&view, &id)| slice(view, id)));
        given.extend(loops.sweeps[sweep].reads.iter().map(|&(from, kept)| earlier[from].keeps[kept].tape.view(tape)));
        given.extend_from_slice(&self.arguments[loops.captures()..]);
        let mut taken: Views<'_> = turns.iter().map(|turn| turn.view(to)).collect();
        taken.extend(kept.iter().map(|keep| match keep.is_read && keeps {
            true => keep.tape.view(tape),
            false => DeviceView::from(&keep.dropped),
        }));
        let written = self.results[outputs.clone()].iter().zip(&lowered.results[outputs]);
        taken.extend(written.map(|(&view, &id)| slice(view, id)));
        for (carry, turn) in turns.iter().enumerate().filter(|&(carry, _)| lowered.bodies[sweep].changes(carry)) {
            let ty = &turn.records.ty;
            self.launcher.shared.copy_apart(given[carry], taken[carry], ty.dtype, ty.size())?;
        }
        self.launcher.run(&self.inside.bodies[sweep], space, &given, &taken)
    }

    /// Moves a step's kept values to their place on the tape, which has memory for other steps now.
    fn move_kept(&mut self, step: usize, from: usize) -> DeviceResult<()> {
        let (shared, to) = (self.launcher.shared, step - self.from);
        for keep in self.space.sweeps[0].keeps.iter_mut().filter(|keep| keep.is_read) {
            keep.tape.reserve(shared, to + 1)?;
            let ty = &keep.tape.ty;
            shared.copy(keep.tape.view(step - from), keep.tape.view(to), ty.dtype, ty.size())?;
        }
        Ok(())
    }

    /// Bytes that a sweep keeps of a step.
    pub(super) fn kept_bytes(&self, sweep: usize) -> usize {
        let read = self.space.sweeps[sweep].keeps.iter().filter(|keep| keep.is_read);
        read.map(|keep| keep.tape.bytes()).fold(0, usize::saturating_add)
    }

    /// Bytes of a sweep's carries.
    pub(super) fn state_bytes(&self, sweep: usize) -> usize {
        self.space.sweeps[sweep].turns.iter().map(|turn| turn.records.bytes()).fold(0, usize::saturating_add)
    }
}

impl Runner for RunningLoop<'_, '_> {
    type Failure = super::failure::DeviceProblem;

    fn count(&self) -> Option<usize> {
        self.count_of()
    }

    fn goes_on(&mut self, step: usize, keeps: bool) -> DeviceResult<bool> {
        if let Some(count) = self.count_of() {
            return Ok(step < count);
        }
        if self.ahead.holds(step).is_none() {
            self.run_ahead(step, keeps)?;
        }
        let holds = self.ahead.holds(step).expect("the condition was asked for");
        if !holds {
            self.space.expected = Some(step);
        }
        Ok(holds)
    }

    fn begin(&mut self, sweep: usize, _: bool) {
        self.states[sweep] = None;
        if sweep == 0 {
            self.ahead = Ahead::default();
        }
    }

    fn step(&mut self, sweep: usize, step: usize, keeps: bool) -> DeviceResult<()> {
        let was_run = if sweep == 0 { self.ahead.state(step, keeps) } else { None };
        let state = match was_run {
            Some(state) => {
                if keeps && self.ahead.from != self.from {
                    self.move_kept(step, self.ahead.from)?;
                }
                state
            }
            None => {
                if sweep == 0 {
                    self.ahead.clear();
                }
                self.has_places(sweep, 2)?;
                let (state, next) = (self.states[sweep], self.next_place(sweep, self.states[sweep]));
                self.run_step(sweep, step, (state, next), keeps)?;
                next
            }
        };
        self.states[sweep] = Some(state);
        if keeps {
            self.taped = self.taped.saturating_add(self.kept_bytes(sweep));
        }
        Ok(())
    }

    fn store(&mut self, sweep: usize, number: usize) -> DeviceResult<()> {
        let (shared, state, (starts, _)) =
            (self.launcher.shared, self.states[sweep], self.lowered.sweeps.operands(sweep));
        let DeviceSweepSpace { turns, stored, .. } = &mut self.space.sweeps[sweep];
        for (from, to) in carried(turns, state, &self.arguments[starts]).into_iter().zip(stored) {
            to.reserve(shared, number + 1)?;
            shared.copy(from, to.view(number), to.ty.dtype, to.ty.size())?;
        }
        Ok(())
    }

    fn restore(&mut self, sweep: usize, number: usize, _: bool) -> DeviceResult<()> {
        self.has_places(sweep, 2)?;
        if sweep == 0 {
            self.ahead.clear();
        }
        let space = &self.space.sweeps[sweep];
        for (turn, from) in space.turns.iter().zip(&space.stored) {
            self.launcher.shared.copy(from.view(number), turn.view(0), from.ty.dtype, from.ty.size())?;
        }
        self.states[sweep] = Some(0);
        Ok(())
    }

    fn end(&mut self, sweep: usize) -> DeviceResult<()> {
        let loops = &self.lowered.sweeps;
        let ((starts, _), (finals, _)) = (loops.operands(sweep), loops.results(sweep));
        let turns = &self.space.sweeps[sweep].turns;
        let from = carried(turns, self.states[sweep], &self.arguments[starts]);
        for ((from, to), turn) in from.into_iter().zip(&self.results[finals]).zip(turns) {
            let ty = &turn.records.ty;
            self.launcher.shared.copy_apart(from, *to, ty.dtype, ty.size())?;
        }
        Ok(())
    }

    fn restart(&mut self, from: usize) {
        (self.from, self.taped) = (from, 0);
    }

    fn taped(&self) -> usize {
        self.taped
    }

    fn sizes(&self) -> (usize, usize) {
        let sum = |of: &dyn Fn(usize) -> usize| (0..self.inside.bodies.len()).map(of).fold(0, usize::saturating_add);
        (sum(&|sweep| self.kept_bytes(sweep)).max(1), sum(&|sweep| self.state_bytes(sweep)).max(1))
    }
}
