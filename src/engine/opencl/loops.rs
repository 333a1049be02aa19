//! Loops, whose steps the host launches one after the other.

use super::code::Code;
use super::failure::Outcome;
use super::launch::Launcher;
use super::memory::Place;
use super::space::{Space, SweepsSpace};
use crate::kernel::{Loop, Sweeps};
use crate::shape::Type;
use crate::term::Steps;
use crate::term::schedule::Runner;

impl Launcher<'_> {
    /// A loop of so many steps. What it carries is in the result and in another place in turns, so that the last step writes
    /// to the result.
    pub(super) fn repeated(
        &self,
        repeated: &Loop,
        (step, space): (&Code, &mut Space),
        others: &[Place],
        (arguments, results): (&[Place], &[Place]),
        (read, written): &(Vec<Type>, Vec<Type>),
    ) -> Outcome<()> {
        let scan = &repeated.scan;
        let mut turns: Vec<[Place; 2]> = Vec::new();
        for carry in 0..scan.carries {
            let (ty, own, other) = (&written[carry], &results[carry], &others[carry]);
            let [from, to] = if scan.length.is_multiple_of(2) { [own, other] } else { [other, own] };
            self.shared.copy(&arguments[carry], from, ty.dtype, ty.size())?;
            turns.push([from.clone(), to.clone()]);
        }
        for number in 0..scan.length {
            let position = if scan.reverse { scan.length - 1 - number } else { number };
            let slice = |place: &Place, ty: &Type| place.moved(position * (ty.size() / scan.length));
            let carried = |which: usize| turns.iter().map(move |turn| turn[(number + which) % 2].clone());
            let inputs = scan.carries..scan.carries + scan.inputs;
            let sliced =
                arguments[inputs.clone()].iter().zip(&read[inputs.clone()]).map(|(place, ty)| slice(place, ty));
            let given = carried(0).chain(sliced).chain(arguments[inputs.end..].iter().cloned());
            let given: Vec<Place> = given.collect();
            let outputs = results.iter().zip(written).skip(scan.carries).map(|(place, ty)| slice(place, ty));
            let taken: Vec<Place> = carried(1).chain(outputs).collect();
            self.run(step, space, &given, &taken)?;
        }
        Ok(())
    }
}

/// A loop with a condition, or one that is gone through several times.
pub(super) struct Running<'a> {
    pub(super) launcher: &'a Launcher<'a>,
    pub(super) lowered: &'a Sweeps,
    pub(super) condition: Option<&'a Code>,
    pub(super) bodies: &'a [Code],
    pub(super) space: &'a mut SweepsSpace,
    /// Which place of each sweep's carries is read next.
    pub(super) turns: Vec<usize>,
    /// Whether each sweep has made a step since it began, before which its carries are where they came from.
    pub(super) started: Vec<bool>,
    pub(super) arguments: Vec<Place>,
    pub(super) results: Vec<Place>,
    pub(super) types: Vec<Type>,
    pub(super) inputs: Vec<Type>,
    /// The first step that tapes have memory for.
    pub(super) from: usize,
    pub(super) taped: usize,
}

impl Running<'_> {
    fn count_of(&self) -> Option<usize> {
        match self.lowered.sweeps.steps {
            Steps::Count(count) => Some(count),
            Steps::While(_) => None,
        }
    }

    /// Where what a sweep carries is.
    fn carried(&self, sweep: usize) -> Vec<Place> {
        if !self.started[sweep] {
            let (starts, _) = self.lowered.sweeps.operands(sweep);
            return self.arguments[starts].to_vec();
        }
        self.space.sweeps[sweep].turns.iter().map(|turn| turn[self.turns[sweep]].clone()).collect()
    }

    fn state_types(&self, sweep: usize) -> Vec<Type> {
        let (starts, _) = self.lowered.sweeps.operands(sweep);
        self.inputs[starts].to_vec()
    }

    fn captures(&self) -> impl Iterator<Item = Place> {
        self.arguments[self.lowered.sweeps.captures()..].iter().cloned()
    }
}

impl Runner for Running<'_> {
    type Failure = super::failure::Problem;

    fn count(&self) -> Option<usize> {
        self.count_of()
    }

    fn goes_on(&mut self, step: usize) -> Outcome<bool> {
        let Some(code) = self.condition else {
            return Ok(self.count_of().is_some_and(|count| step < count));
        };
        let given: Vec<Place> = self.carried(0).into_iter().chain(self.captures()).collect();
        let holds = self.space.holds.clone();
        let space = self.space.condition.as_mut().expect("a condition has memory");
        self.launcher.run(code, space, &given, std::slice::from_ref(&holds))?;
        self.launcher.shared.holds(&holds)
    }

    fn begin(&mut self, sweep: usize, _: bool) {
        self.started[sweep] = false;
    }

    fn step(&mut self, sweep: usize, step: usize, keeps: bool) -> Outcome<()> {
        let loops = &self.lowered.sweeps;
        let own = &loops.sweeps[sweep];
        let (shared, tape) = (self.launcher.shared, step.wrapping_sub(self.from));
        let position = match self.count_of() {
            Some(count) if loops.reverse => count - 1 - step,
            _ => step,
        };
        let length = self.count_of().unwrap_or(1).max(1);
        let slice = |place: &Place, ty: &Type| place.moved(position * (ty.size() / length));
        let (_, inputs) = loops.operands(sweep);
        let (_, outputs) = loops.results(sweep);
        let mut given = self.carried(sweep);
        given.extend(
            self.arguments[inputs.clone()].iter().zip(&self.inputs[inputs]).map(|(place, ty)| slice(place, ty)),
        );
        given.extend(own.reads.iter().map(|&(from, kept)| self.space.sweeps[from].keeps[kept].tape[tape].clone()));
        given.extend(self.captures());
        let next = if self.started[sweep] { 1 - self.turns[sweep] } else { 0 };
        let mut taken: Vec<Place> = self.space.sweeps[sweep].turns.iter().map(|turn| turn[next].clone()).collect();
        for keep in &mut self.space.sweeps[sweep].keeps {
            if !keep.is_read || !keeps {
                taken.push(keep.dropped.clone());
                continue;
            }
            while keep.tape.len() <= tape {
                keep.tape.push(shared.memory(keep.ty.dtype, keep.ty.size())?);
            }
            self.taped = self.taped.saturating_add(keep.ty.bytes().unwrap_or(usize::MAX));
            taken.push(keep.tape[tape].clone());
        }
        taken
            .extend(self.results[outputs.clone()].iter().zip(&self.types[outputs]).map(|(place, ty)| slice(place, ty)));
        self.launcher.run(&self.bodies[sweep], &mut self.space.sweeps[sweep].step, &given, &taken)?;
        (self.turns[sweep], self.started[sweep]) = (next, true);
        Ok(())
    }

    fn store(&mut self, sweep: usize, number: usize) -> Outcome<()> {
        let (shared, types, carried) = (self.launcher.shared, self.state_types(sweep), self.carried(sweep));
        let stored = &mut self.space.sweeps[sweep].stored;
        while stored.len() <= number {
            stored.push(types.iter().map(|ty| shared.memory(ty.dtype, ty.size())).collect::<Outcome<_>>()?);
        }
        for ((from, to), ty) in carried.iter().zip(&stored[number]).zip(&types) {
            shared.copy(from, to, ty.dtype, ty.size())?;
        }
        Ok(())
    }

    fn restore(&mut self, sweep: usize, number: usize, _: bool) -> Outcome<()> {
        let (shared, types) = (self.launcher.shared, self.state_types(sweep));
        let space = &self.space.sweeps[sweep];
        for ((turn, from), ty) in space.turns.iter().zip(&space.stored[number]).zip(&types) {
            shared.copy(from, &turn[0], ty.dtype, ty.size())?;
        }
        (self.turns[sweep], self.started[sweep]) = (0, true);
        Ok(())
    }

    fn end(&mut self, sweep: usize) -> Outcome<()> {
        let (finals, _) = self.lowered.sweeps.results(sweep);
        for (from, at) in self.carried(sweep).iter().zip(finals) {
            let ty = &self.types[at];
            self.launcher.shared.copy(from, &self.results[at], ty.dtype, ty.size())?;
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
        let sum = |types: &mut dyn Iterator<Item = &Type>| {
            types.map(|ty| ty.bytes().unwrap_or(usize::MAX)).fold(0, usize::saturating_add)
        };
        let sweeps = self.space.sweeps.iter();
        let kept =
            sum(&mut sweeps.flat_map(|sweep| sweep.keeps.iter().filter(|keep| keep.is_read).map(|keep| &keep.ty)));
        let states: Vec<Type> = (0..self.bodies.len()).flat_map(|sweep| self.state_types(sweep)).collect();
        (kept.max(1), sum(&mut states.iter()).max(1))
    }
}
