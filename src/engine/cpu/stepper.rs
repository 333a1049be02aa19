//! Machines that run over and over, as steps of loops do: where a machine is a few nests, only the pointers that move are
//! set for each run.

use super::arrays::fill;
use super::code::{Base, Scratch};
use super::machine::{Machine, Workspace};
use super::memory::Place;
use super::threads::Worker;
use crate::concrete::{Failure, OutOfMemory};
use std::time::Instant;

/// A machine, some of whose arguments and results move from run to run.
#[derive(Debug)]
pub(super) struct Stepper {
    pub(super) machine: Machine,
    straight: Option<Straight>,
}

/// A machine of nothing but nests that run on one thread. Each has a table of pointers of its own, which stays.
#[derive(Debug, Default)]
struct Straight {
    /// Entries of all tables. That of a nest has the pointers of its code, then those of the buffers that it fills first.
    entries: usize,
    /// The beginnings of the tables, and of their second parts.
    tables: Vec<[usize; 2]>,
    /// Those into arguments and results that move.
    moving: Vec<Moving>,
    /// Other entries than those of code, and where they point.
    others: Vec<(usize, Place)>,
    copies: Vec<Copy>,
}

/// An entry of a table: which argument or result it points into, and how many bytes from the beginning of that.
#[derive(Debug)]
struct Moving {
    entry: usize,
    of: usize,
    offset: isize,
}

/// A result that is copied from elsewhere: the entries that point there and to the result.
#[derive(Debug)]
struct Copy {
    from: usize,
    to: usize,
    bytes: usize,
}

/// The memory of a stepper.
#[derive(Debug, Default)]
pub(super) struct StepSpace {
    pub(super) workspace: Workspace,
    /// Where the arguments are, then the results: set by whoever runs the stepper.
    pub(super) pointers: Vec<*mut u8>,
    table: Vec<*mut u8>,
}

// SAFETY: the pointers are set before they are read, by whoever holds the space.
unsafe impl Send for StepSpace {}

impl Stepper {
    /// A machine, with a statement for each argument and result whether it moves.
    pub(super) fn new(machine: Machine, moves: &[bool]) -> Stepper {
        let straight = Straight::of(&machine, moves);
        Stepper { machine, straight }
    }

    /// Memory for it.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub(super) fn space(&self, scratch: &mut Scratch, profile: bool, threads: usize) -> Result<StepSpace, OutOfMemory> {
        let nulls = |count: usize| vec![std::ptr::null_mut(); count];
        Ok(StepSpace {
            workspace: self.machine.workspace(scratch, profile, threads)?,
            pointers: nulls(self.machine.arguments + self.machine.results()),
            table: nulls(self.straight.as_ref().map_or(0, |straight| straight.entries)),
        })
    }

    /// Gets ready for some runs. The pointers of arguments and results that do not move are set.
    pub(super) fn begin(&self, space: &mut StepSpace, worker: &mut Worker) {
        let Some(straight) = &self.straight else { return };
        let StepSpace { workspace, pointers, table } = space;
        let memory = workspace.memory.as_mut_ptr().cast::<u8>();
        let at = |place: Place| match place {
            Place::Argument(position) => pointers[position],
            Place::Result(position) => pointers[self.machine.arguments + position],
            Place::Local(offset) => memory.wrapping_add(offset),
            Place::Constant(id) => self.machine.constant(id),
            Place::Unused => std::ptr::null_mut(),
        };
        for ((_, code), &[first, second]) in self.machine.nests().zip(&straight.tables) {
            code.begin(&mut table[first..second], &mut worker.own.scratch, |id| at(self.machine.place(id)));
        }
        for &(entry, place) in &straight.others {
            table[entry] = at(place);
        }
    }

    /// Runs the machine once.
    ///
    /// # Errors
    ///
    /// As [`Machine::run`].
    ///
    /// # Safety
    ///
    /// As [`Machine::run`], of the space's pointers, of which those that do not move are as when [`Stepper::begin`] was
    /// called last, with this worker.
    pub(super) unsafe fn step(&self, space: &mut StepSpace, worker: &mut Worker) -> Result<(), Failure> {
        let StepSpace { workspace, pointers, table } = space;
        let Some(straight) = &self.straight else {
            let (arguments, results) = pointers.split_at(self.machine.arguments);
            // SAFETY: as the caller's.
            return unsafe { self.machine.run(workspace, worker, arguments, results) };
        };
        for moving in &straight.moving {
            table[moving.entry] = pointers[moving.of].wrapping_offset(moving.offset);
        }
        for (position, ((fills, code), &[first, second])) in self.machine.nests().zip(&straight.tables).enumerate() {
            let start = (!workspace.times.is_empty()).then(Instant::now);
            // SAFETY: as in `Machine::run`: the tables point where that would have them point.
            unsafe {
                for (at, filled) in fills.iter().enumerate() {
                    fill(table[second + at], filled.count, filled.value);
                }
                code.again(&mut table[first..second], &mut worker.own.scratch);
            }
            if let Some(start) = start {
                workspace.times[position] += start.elapsed().as_secs_f64();
            }
        }
        for copy in &straight.copies {
            // SAFETY: both are as large as the result, which overlaps nothing else.
            unsafe { std::ptr::copy_nonoverlapping(table[copy.from], table[copy.to], copy.bytes) };
        }
        Ok(())
    }
}

impl Straight {
    fn of(machine: &Machine, moves: &[bool]) -> Option<Straight> {
        if !machine.is_straight() {
            return None;
        }
        let mut straight = Straight::default();
        for (fills, code) in machine.nests() {
            let first = straight.entries;
            for (slot, base) in code.slots.iter().enumerate() {
                if let Base::Buffer(id, offset) = *base {
                    straight.moves(machine, moves, first + slot, machine.place(id), offset);
                }
            }
            let second = first + code.slots.len();
            straight.entries = second;
            for filled in fills {
                straight.other(machine, moves, machine.place(filled.buffer));
            }
            straight.tables.push([first, second]);
        }
        for (position, source, bytes) in machine.copies() {
            let from = straight.other(machine, moves, machine.place(source));
            let to = straight.other(machine, moves, Place::Result(position));
            straight.copies.push(Copy { from, to, bytes });
        }
        Some(straight)
    }

    /// Notes an entry, if it moves.
    fn moves(&mut self, machine: &Machine, moves: &[bool], entry: usize, place: Place, offset: isize) {
        let of = match place {
            Place::Argument(position) => position,
            Place::Result(position) => machine.arguments + position,
            Place::Local(_) | Place::Constant(_) | Place::Unused => return,
        };
        if moves[of] {
            self.moving.push(Moving { entry, of, offset });
        }
    }

    /// Another entry.
    fn other(&mut self, machine: &Machine, moves: &[bool], place: Place) -> usize {
        let entry = self.entries;
        self.entries += 1;
        self.others.push((entry, place));
        self.moves(machine, moves, entry, place, 0);
        entry
    }
}
