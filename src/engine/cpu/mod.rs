//! The engine on the processor: no system library, no compiler.

mod arrays;
mod assemble;
mod code;
mod gemm;
mod loops;
mod machine;
mod memory;
mod order;
mod product;
mod recurrence;
mod room;
mod scatter;
mod split;
mod team;
mod threads;
pub(crate) mod vector;

use super::report::{self, Report};
use crate::concrete::{Array, Failure, OutOfMemory};
use crate::error::{Error, Result};
use crate::kernel::{Procedure, lower};
use crate::shape::{DType, Type};
use crate::term::Body;
use arrays::{dense, elements};
use code::Scratch;
use machine::{Machine, Workspace};
use room::Room;
use std::fmt;
use std::panic::Location;
use std::sync::{Mutex, PoisonError};
use threads::{Threads, Worker};
use vector::Instructions;

/// How programs run on the processor.
#[derive(Clone, Debug, Default)]
pub struct Cpu {
    threads: Option<usize>,
    profile: bool,
}

impl Cpu {
    /// With so many threads at most; 0 stands for as many as the machine has.
    pub fn threads(self, threads: usize) -> Cpu {
        Cpu { threads: (threads > 0).then_some(threads), ..self }
    }

    /// Whether the time of every kernel is measured, which costs some tens of nanoseconds each. [`Program::report`] states
    /// it.
    pub fn profile(self, profile: bool) -> Cpu {
        Cpu { profile, ..self }
    }

    /// Whether the time of every kernel is measured.
    pub fn profiles(&self) -> bool {
        self.profile
    }
}

/// A bulk program, compiled for the processor.
///
/// `Display` prints its kernels.
#[derive(Debug)]
pub struct Program {
    procedure: Procedure,
    machine: Machine,
    result_types: Vec<Type>,
    /// Memory of runs that have ended.
    idle: Mutex<Vec<(Workspace, Worker)>>,
    threads: Threads,
    /// Calls, and the seconds of each kernel in all of them, where they are measured.
    profile: Option<Mutex<(usize, Vec<f64>)>>,
}

impl Program {
    /// Compiles a program.
    ///
    /// # Errors
    ///
    /// When the bytes of its memory can't be counted, or there is no memory for its constants.
    #[track_caller]
    pub fn new(body: &Body, options: &Cpu) -> Result<Program> {
        let place = Location::caller();
        Program::compiled(body, options).map_err(|problem| problem.error("compile", place))
    }

    fn compiled(body: &Body, options: &Cpu) -> std::result::Result<Program, OutOfMemory> {
        let procedure = lower(body);
        let result_types: Vec<Type> = body.result_types().cloned().collect();
        let too_large = |ty: &Type| OutOfMemory { ty: ty.clone() };
        if let Some(buffer) = procedure.buffers.iter().find(|buffer| buffer.ty.bytes().is_none()) {
            return Err(too_large(&buffer.ty));
        }
        match Machine::new(Instructions::detect(), &procedure)? {
            Some(machine) => Ok(Program {
                profile: options.profile.then(|| Mutex::new((0, Vec::new()))),
                procedure,
                machine,
                result_types,
                threads: Threads::new(options.threads),
                idle: Mutex::default(),
            }),
            None => Err(too_large(&Type::new(DType::Bool, &[usize::MAX]))),
        }
    }

    /// Number of kernels, those of loops counted once.
    pub fn kernels(&self) -> usize {
        self.procedure.kernels()
    }

    /// The kernels, what they compute and move, and the time that they took where it was measured.
    pub fn report(&self) -> Report {
        let profile = self.profile.as_ref().map(|profile| profile.lock().unwrap_or_else(PoisonError::into_inner));
        let mut position = 0;
        let mut seconds = || {
            position += 1;
            let (calls, seconds) = &**profile.as_ref()?;
            seconds.get(position - 1).map(|seconds| seconds / (*calls).max(1) as f64)
        };
        let kernels = report::kernels(&self.procedure, 1, &mut seconds);
        let bytes = |ty: &Type| ty.bytes().unwrap_or(usize::MAX);
        let parameters = self.procedure.buffers[..self.procedure.parameters].iter().map(|buffer| bytes(&buffer.ty));
        let interface = parameters.chain(self.result_types.iter().map(bytes)).fold(0, usize::saturating_add);
        Report { kernels, memory: self.memory(), interface }
    }

    /// Bytes of memory that a run takes beside its arguments and results.
    pub fn memory(&self) -> usize {
        self.machine.total_memory()
    }

    /// Runs the program on arguments of its parameters' types.
    ///
    /// # Errors
    ///
    /// When there is no memory, or an argument is of another type.
    #[track_caller]
    pub fn run(&self, arguments: &[Array]) -> Result<Vec<Array>> {
        let place = Location::caller();
        for (position, argument) in arguments.iter().enumerate() {
            let expected = &self.procedure.buffers[position].ty;
            if argument.ty() != *expected {
                let (expected, found) = (expected.to_string(), argument.ty().to_string());
                return Err(Error::Argument { position, path: String::new(), expected, found });
            }
        }
        self.execute(arguments).map_err(|Failure { operation, problem }| problem.error(&operation, place))
    }

    fn execute(&self, arguments: &[Array]) -> std::result::Result<Vec<Array>, Failure> {
        let failure = |problem| Failure { operation: "call".into(), problem };
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let (mut workspace, mut worker) = match idle {
            Some(idle) => idle,
            None => {
                let mut scratch = Scratch::default();
                let workspace = self.machine.workspace(&mut scratch, self.profile.is_some()).map_err(failure)?;
                (workspace, self.threads.worker(scratch, &self.machine).map_err(failure)?)
            }
        };
        let arguments =
            arguments.iter().map(dense).collect::<std::result::Result<Vec<Array>, OutOfMemory>>().map_err(failure)?;
        let pointers: Vec<*mut u8> = arguments.iter().map(elements).collect();
        let mut results = Vec::with_capacity(self.result_types.len());
        for ty in &self.result_types {
            results.push(Room::new(ty).map_err(failure)?);
        }
        let places: Vec<*mut u8> = results.iter_mut().map(Room::start).collect();
        // SAFETY: there is a pointer for each argument and result, with elements of its type.
        unsafe { self.machine.run(&mut workspace, &mut worker, &pointers, &places)? };
        if let Some(profile) = &self.profile {
            let mut profile = profile.lock().unwrap_or_else(PoisonError::into_inner);
            profile.0 += 1;
            workspace.drain_times(&mut profile.1, &mut 0, &self.machine);
        }
        let results = results.into_iter().zip(&self.result_types);
        // SAFETY: the run has written all elements.
        let arrays = results.map(|(room, ty)| unsafe { room.filled(ty) }).collect();
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push((workspace, worker));
        Ok(arrays)
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.procedure, f)
    }
}
