//! One run of a program: arguments and results are handed over one by one, so that a run allocates nothing which an earlier
//! one has left.

use super::Program;
use super::code::Scratch;
use super::compiled::Workspace;
use super::room::Room;
use super::threads::Worker;
use crate::array::{Array, ElementType, OutOfMemory};
use crate::engine::arguments::{Mismatch, Typed, mismatch};
use crate::engine::arrays::{CacheLine, array_from, elements, fill, lines, needs_memory, own_elements};
use crate::engine::memory::{TooLarge, admit};
use crate::error::Error;
use crate::evaluate::Failure;
use crate::shape::{DType, Type};
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

/// The memory of a run that has ended, for another.
#[derive(Debug, Default)]
pub(super) struct RunMemory {
    /// The memory of the machine, once there is some.
    own: Option<(Workspace, Worker)>,
    arguments: Vec<HandedArray>,
    results: Vec<HandedArray>,
    argument_places: Vec<*mut u8>,
    result_places: Vec<*mut u8>,
    /// Which updated arrays are written where they are read. This is found once a run: others may let go of storage at any
    /// time.
    in_place: Vec<bool>,
    /// The elements of arguments that are stored as one value, by position.
    spread: Vec<Vec<CacheLine>>,
    /// The arrays that alternate with updated arrays that are read while results are written, by position.
    turns: Vec<Option<Array>>,
    /// The single element of each result that repeats it, by position.
    elements: Vec<u64>,
    /// The places of such results that have memory, with their positions.
    repeated: Vec<(usize, *mut u8)>,
}

/// An argument or a result that was handed over, for as long as the run lives.
#[derive(Clone, Copy, Debug)]
enum HandedArray {
    Array(*mut Array),
    /// So many elements of a slice.
    Slice(*mut u8, DType, usize),
}

impl HandedArray {
    /// The array, if it is one.
    fn array(&self) -> Option<&Array> {
        match *self {
            // SAFETY: it was handed over for as long as the run lives, and is not written before the machine runs.
            HandedArray::Array(array) => Some(unsafe { &*array.cast_const() }),
            HandedArray::Slice(..) => None,
        }
    }
}

impl Typed for HandedArray {
    /// A slice has as many elements as arrays of the type, whatever their shape.
    fn is_of(&self, ty: &Type) -> bool {
        match *self {
            HandedArray::Slice(_, dtype, count) => dtype == ty.dtype && count == ty.size(),
            HandedArray::Array(_) => self.array().is_some_and(|array| array.is_of(ty)),
        }
    }

    fn own_type(&self) -> Type {
        match *self {
            HandedArray::Slice(_, dtype, count) => Type::new(dtype, &[count]),
            HandedArray::Array(_) => self.array().map_or_else(|| Type::scalar(DType::Bool), Typed::own_type),
        }
    }
}

// SAFETY: the pointers are those of one run, which sets them.
unsafe impl Send for RunMemory {}

#[cfg(test)]
impl RunMemory {
    /// The counts of the program's loop in the last run.
    pub(super) fn counts(&self) -> crate::term::schedule::Counts {
        let (workspace, _) = self.own.as_ref().expect("a run");
        workspace.counts().expect("a loop with sweeps")
    }
}

/// Why a run is not.
pub(super) enum RunProblem {
    Argument(Mismatch),
    Result(Mismatch),
    TooLarge(TooLarge),
    Failure(Failure),
}

impl From<OutOfMemory> for RunProblem {
    fn from(problem: OutOfMemory) -> RunProblem {
        RunProblem::Failure(Failure { operation: "call".into(), problem })
    }
}

impl RunProblem {
    fn error(self, place: &Location<'_>) -> Error {
        match self {
            RunProblem::Argument(Mismatch { position, expected, found }) => {
                Error::Argument { position, path: String::new(), expected, found, place: place.to_string() }
            }
            RunProblem::Result(Mismatch { position, expected, found }) => {
                Error::Output { path: position.to_string(), expected, found, place: place.to_string() }
            }
            RunProblem::TooLarge(problem) => problem.error("call", place),
            RunProblem::Failure(Failure { operation, problem }) => problem.error(&operation, place),
        }
    }
}

/// A run of a program that has not begun: its arguments and results are handed over in their order.
///
/// Once the program has run, another run allocates nothing, except for operations that are left to plain arrays, and for loops
/// that keep more steps than ever before.
pub struct Run<'a> {
    program: &'a Program,
    state: RunMemory,
    /// How many arrays are both an argument and a result.
    updated: usize,
    arrays: PhantomData<&'a mut Array>,
}

impl Program {
    /// A run whose arguments and results must now be handed over, in the order of the program's.
    ///
    /// ```
    /// use deltaray::engine::cpu::Program;
    /// use deltaray::prelude::*;
    ///
    /// let program = Program::new(stage(|x: &Vector<_, f64>| x * 2.0, &zeros(2))?.program(), &Cpu::default())?;
    /// let [x, mut y] = [1.0, 0.0].map(|element| Vector::from(vec![element; 2]).into_array());
    /// let mut run = program.begin();
    /// run.argument(&x);
    /// run.result(&mut y);
    /// run.finish()?;
    /// assert_eq!(y.to_vec::<f64>(), Some(vec![2.0, 2.0]));
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn begin(&self) -> Run<'_> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut state = idle.unwrap_or_default();
        state.arguments.clear();
        state.results.clear();
        Run { program: self, state, updated: 0, arrays: PhantomData }
    }
}

impl<'a> Run<'a> {
    /// Hands over the next argument: an array of the next parameter's type.
    ///
    /// ```
    /// use deltaray::engine::cpu::Program;
    /// use deltaray::prelude::*;
    ///
    /// let program = Program::new(stage(|x: &Vector<_, f64>| x * 2.0, &zeros(2))?.program(), &Cpu::default())?;
    /// let (x, mut y) = (Vector::from(vec![1.0, 2.0]).into_array(), [0.0; 2]);
    /// let mut run = program.begin();
    /// run.argument(&x);
    /// run.result_slice(&mut y);
    /// run.finish()?;
    /// assert_eq!(y, [2.0, 4.0]);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn argument(&mut self, array: &'a Array) {
        self.state.arguments.push(HandedArray::Array(std::ptr::from_ref(array).cast_mut()));
    }

    /// Hands over the elements of the next argument, row-major: as many as the next parameter has.
    ///
    /// ```
    /// use deltaray::engine::cpu::Program;
    /// use deltaray::prelude::*;
    ///
    /// let program = Program::new(stage(|x: &Vector<_, f64>| x * 2.0, &zeros(2))?.program(), &Cpu::default())?;
    /// let mut y = [0.0; 2];
    /// let mut run = program.begin();
    /// run.argument_slice(&[1.0, 2.0]);
    /// run.result_slice(&mut y);
    /// run.finish()?;
    /// assert_eq!(y, [2.0, 4.0]);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn argument_slice<E: ElementType>(&mut self, elements: &'a [E]) {
        self.state.arguments.push(HandedArray::Slice(elements.as_ptr().cast_mut().cast(), E::DTYPE, elements.len()));
    }

    /// Hands over the next result, an array of its type: its elements are overwritten. Where its storage is shared with another
    /// array, it gets storage of its own.
    ///
    /// ```
    /// use deltaray::engine::cpu::Program;
    /// use deltaray::prelude::*;
    ///
    /// let program = Program::new(stage(|x: &Vector<_, f64>| x * 2.0, &zeros(2))?.program(), &Cpu::default())?;
    /// let mut y = Vector::from(vec![0.0, 0.0]).into_array();
    /// let mut run = program.begin();
    /// run.argument_slice(&[1.0, 2.0]);
    /// run.result(&mut y);
    /// run.finish()?;
    /// assert_eq!(y.to_vec::<f64>(), Some(vec![2.0, 4.0]));
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn result(&mut self, array: &'a mut Array) {
        self.state.results.push(HandedArray::Array(array));
    }

    /// Hands over where the elements of the next result are written, row-major: as many as it has. [`Run::argument_slice`] has
    /// an example.
    pub fn result_slice<E: ElementType>(&mut self, elements: &'a mut [E]) {
        self.state.results.push(HandedArray::Slice(elements.as_mut_ptr().cast(), E::DTYPE, elements.len()));
    }

    /// Hands over an array that is the next argument as well as the next result; all such come before others.
    ///
    /// ```
    /// use deltaray::engine::cpu::Program;
    /// use deltaray::prelude::*;
    ///
    /// let program = Program::new(stage(|x: &Vector<_, f64>| x * 2.0, &zeros(2))?.program(), &Cpu::default())?;
    /// let mut x = Vector::from(vec![1.0, 2.0]).into_array();
    /// let mut run = program.begin();
    /// run.update(&mut x);
    /// run.finish()?;
    /// assert_eq!(x.to_vec::<f64>(), Some(vec![2.0, 4.0]));
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When an array that is not updated came before.
    pub fn update(&mut self, array: &'a mut Array) {
        let RunMemory { arguments, results, .. } = &mut self.state;
        assert!(arguments.len() == self.updated && results.len() == self.updated, "updated arrays come first");
        let array = HandedArray::Array(array);
        arguments.push(array);
        results.push(array);
        self.updated += 1;
    }

    /// Runs the program into the results.
    ///
    /// ```
    /// use deltaray::engine::cpu::Program;
    /// use deltaray::prelude::*;
    ///
    /// let program = Program::new(stage(|x: &Vector<_, f64>| x * 2.0, &zeros(2))?.program(), &Cpu::default())?;
    /// // No argument and no result was handed over.
    /// assert!(program.begin().finish().is_err());
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When an argument or a result is missing or of another type, before anything is written; and when there is no memory.
    #[track_caller]
    pub fn finish(mut self) -> Result<(), Error> {
        let place = Location::caller();
        let done = self.run(None);
        self.end();
        done.map_err(|problem| problem.error(place))
    }

    /// Runs the program into new arrays.
    ///
    /// # Errors
    ///
    /// As [`Run::finish`].
    #[track_caller]
    pub(super) fn finish_new(mut self) -> Result<Vec<Array>, Error> {
        let place = Location::caller();
        let mut arrays = Vec::with_capacity(self.program.result_types.len());
        let done = self.run(Some(&mut arrays));
        self.end();
        done.map(|()| arrays).map_err(|problem| problem.error(place))
    }

    /// Leaves the memory for another run, if the program keeps it.
    fn end(self) {
        if self.program.is_memory_kept.swap(true, Ordering::Relaxed) {
            self.program.idle.lock().unwrap_or_else(PoisonError::into_inner).push(self.state);
        }
    }

    /// Checks the arrays that were handed over.
    fn check(&self, new: bool) -> Result<(), RunProblem> {
        let (program, state) = (self.program, &self.state);
        if let Some(problem) = mismatch(program.argument_types(), state.arguments.iter()) {
            return Err(RunProblem::Argument(problem));
        }
        match if new { None } else { mismatch(program.result_types.iter(), state.results.iter()) } {
            Some(problem) => Err(RunProblem::Result(problem)),
            None => Ok(()),
        }
    }

    /// Checks that there is memory for everything that is missing.
    fn check_memory(&self, new: bool) -> Result<(), RunProblem> {
        let (program, state) = (self.program, &self.state);
        let mut needed =
            if state.own.is_none() { program.machine.total_memory(program.threads.count()) as u128 } else { 0 };
        for (position, ty) in program.argument_types().enumerate() {
            let is_repeated = |array: &Array| array.uniform().is_some() && !array.shape().is_empty();
            if state.arguments[position].array().is_some_and(is_repeated) {
                let room = state.spread.get(position).map_or(0, |lines| 64 * lines.len() as u128);
                needed = needed.saturating_add(ty.exact_bytes().saturating_sub(room));
            }
        }
        for (position, ty) in program.result_types.iter().enumerate() {
            let is_there = new && program.uniform[position]
                || !new
                    && match position < self.updated {
                        true if state.in_place[position] => true,
                        true => matches!(state.turns.get(position), Some(Some(array)) if !needs_memory(array)),
                        false => !state.results[position].array().is_some_and(needs_memory),
                    };
            if !is_there {
                needed = needed.saturating_add(ty.exact_bytes());
            }
        }
        admit(needed).map_err(RunProblem::TooLarge)
    }

    /// Runs the machine: into the results that were handed over, or into new ones.
    fn run(&mut self, new: Option<&mut Vec<Array>>) -> Result<(), RunProblem> {
        self.check(new.is_some())?;
        let program = self.program;
        self.state.in_place.clear();
        for position in 0..self.updated {
            let needs_memory = self.state.arguments[position].array().is_some_and(needs_memory);
            let in_place = program.in_place()[position] && !needs_memory;
            self.state.in_place.push(in_place);
        }
        self.check_memory(new.is_some())?;
        let (mut workspace, mut worker) = match self.state.own.take() {
            Some(own) => own,
            None => {
                let mut scratch = Scratch::default();
                let workspace =
                    program.machine.workspace(&mut scratch, program.profile.is_some(), program.threads.count())?;
                let (packing, is_parallel) = (program.machine.packing_lines(), program.machine.is_parallel());
                (workspace, program.threads.worker(scratch, packing, is_parallel)?)
            }
        };
        let mut rooms = Vec::new();
        self.state.result_places.clear();
        match new {
            Some(_) => {
                for (ty, &uniform) in program.result_types.iter().zip(&program.uniform) {
                    rooms.push(if uniform { Room::new(&Type::scalar(ty.dtype))? } else { Room::new(ty)? });
                }
                self.state.result_places.extend(rooms.iter_mut().map(Room::start));
            }
            None => self.place_results()?,
        }
        self.place_arguments()?;
        let RunMemory { argument_places, result_places, .. } = &self.state;
        // SAFETY: there is a pointer for each argument and result, with elements of its type. Results have memory that no
        // other array has, except for that of an argument which is not read once they are written.
        let done = unsafe { program.machine.run(&mut workspace, &mut worker, argument_places, result_places) };
        if let Some(profile) = &program.profile {
            let mut profile = profile.lock().unwrap_or_else(PoisonError::into_inner);
            profile.0 += 1;
            workspace.drain_times(&mut profile.1, &mut 0, &program.machine);
        }
        self.state.own = Some((workspace, worker));
        done.map_err(RunProblem::Failure)?;
        match new {
            Some(arrays) => {
                let results = rooms.into_iter().zip(program.result_types.iter().zip(&program.uniform));
                // SAFETY: the run has written all elements of each, or the one of those that repeat it.
                arrays.extend(results.map(|(room, (ty, &uniform))| unsafe {
                    match uniform {
                        true => Array::full(&ty.shape, room.filled(&Type::scalar(ty.dtype)).element(0)),
                        false => room.filled(ty),
                    }
                }));
            }
            None => {
                self.repeat_elements()?;
                self.take_turns();
            }
        }
        Ok(())
    }

    /// Finds where the elements of arguments are; those stored as one value are written out.
    fn place_arguments(&mut self) -> Result<(), OutOfMemory> {
        self.state.argument_places.clear();
        for position in 0..self.state.arguments.len() {
            let argument = self.state.arguments[position];
            let place = match argument.array().map(|array| (array, array.uniform())) {
                _ if self.state.in_place.get(position) == Some(&true) => self.state.result_places[position],
                None => {
                    let HandedArray::Slice(place, ..) = argument else { unreachable!("what is no array is a slice") };
                    place
                }
                Some((array, Some(value))) if !array.shape().is_empty() => {
                    let (count, bytes) = (array.size(), array.size() * array.dtype().bytes());
                    let spread = &mut self.state.spread;
                    if spread.len() <= position {
                        spread.resize_with(position + 1, Vec::new);
                    }
                    if spread[position].len() * 64 < bytes {
                        spread[position] = lines(bytes)?;
                    }
                    let place = spread[position].as_mut_ptr().cast();
                    // SAFETY: there is room for the elements.
                    unsafe { fill(place, count, value) };
                    place
                }
                Some((array, _)) => elements(array),
            };
            self.state.argument_places.push(place);
        }
        Ok(())
    }

    /// Finds where results go.
    fn place_results(&mut self) -> Result<(), OutOfMemory> {
        // Rank-0 arrays hold their element: they may not move once there is a pointer to it.
        if self.state.turns.len() < self.updated {
            self.state.turns.resize_with(self.updated, || None);
        }
        self.state.elements.resize(self.state.results.len(), 0);
        self.state.repeated.clear();
        for position in 0..self.state.results.len() {
            let RunMemory { results, turns, in_place, elements, repeated, .. } = &mut self.state;
            let mut place = match results[position] {
                HandedArray::Slice(place, ..) => place,
                HandedArray::Array(_) if in_place.get(position) == Some(&false) => {
                    let ty = &self.program.result_types[position];
                    own_elements(turns[position].get_or_insert_with(|| Array::zeros(ty)))?
                }
                // SAFETY: the array was handed over for as long as this run lives, and nothing else refers to it meanwhile.
                HandedArray::Array(array) => own_elements(unsafe { &mut *array })?,
            };
            if self.program.uniform[position] {
                repeated.push((position, place));
                place = std::ptr::from_mut(&mut elements[position]).cast();
            }
            self.state.result_places.push(place);
        }
        Ok(())
    }

    /// Writes out results whose one element was computed.
    fn repeat_elements(&mut self) -> Result<(), OutOfMemory> {
        let RunMemory { repeated, result_places, .. } = &self.state;
        for &(position, place) in repeated {
            let ty = &self.program.result_types[position];
            // SAFETY: the run has written the element, and the result has room for as many as its type says.
            unsafe {
                let element = array_from(&Type::scalar(ty.dtype), result_places[position])?;
                fill(place, ty.size(), element.element(0));
            }
        }
        Ok(())
    }

    /// Moves results that were written elsewhere into their place, and keeps the old arrays for the next run.
    fn take_turns(&mut self) {
        for position in 0..self.updated {
            let RunMemory { results, turns, in_place, .. } = &mut self.state;
            if !in_place[position]
                && let (Some(turn), HandedArray::Array(array)) = (&mut turns[position], results[position])
            {
                // SAFETY: as where results are placed.
                std::mem::swap(turn, unsafe { &mut *array });
                if needs_memory(turn) {
                    // Others hold it; they are not to be kept from having it alone.
                    turns[position] = None;
                }
            }
        }
    }
}
