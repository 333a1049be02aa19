//! The engine on the processor: no system library, no compiler.

mod assemble;
mod axis;
mod blocks;
mod branch;
mod code;
mod compiled;
mod donate;
mod edges;
mod elements;
mod first_call;
mod gemm;
mod instruction;
mod layout;
mod loops;
mod machine;
mod matrix;
mod memory;
mod microkernel;
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(without_machine_code)))]
mod native;
#[cfg(not(all(target_arch = "x86_64", target_os = "linux", not(without_machine_code))))]
#[path = "native/elsewhere.rs"]
mod native;
mod order;
mod pieces;
mod places;
mod prefetch;
mod product;
mod records;
mod recurrence;
mod room;
mod run;
mod scalars;
mod scatter;
mod slot;
mod split;
mod step;
mod streaming;
mod stretch;
mod sweeps;
mod table;
mod target;
mod team;
#[cfg(test)]
mod tests;
mod threads;
mod transpose;
mod uniform;
pub(crate) mod vector;

use super::memory::{TooLarge, admit};
use super::report::{self, Report};
use crate::array::{Array, OutOfMemory};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::kernel::{BufferSource, Procedure, Step, lower_resuming};
use crate::prepare::prepared;
use crate::shape::Type;
use crate::simplify::TableLimits;
use crate::term::{self, Body};
use compiled::Machine;
pub(crate) use first_call::CompiledAtFirstCall;
use native::CodeArena;
pub use run::Run;
use run::RunMemory;
use smallvec::smallvec;
use std::fmt;
use std::panic::Location;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, OnceLock, PoisonError};
use target::Target;
use threads::Threads;

/// How programs run on the processor: on as many threads as it has, without measuring, unless said otherwise.
///
/// They run by the widest instructions that the processor has. The environment variable `DELTARAY_INSTRUCTIONS`, which is read
/// once, sets a limit: `avx512`, `avx2`, or `portable` for those of any processor, without machine code; compiling panics where it
/// says something else. Results differ by rounding. With `DELTARAY_PERF_MAP` set to anything, the profiler `perf` sees the names of
/// kernels that are machine code, in the file `/tmp/perf-PID.map` where it looks for them.
#[derive(Clone, Debug)]
pub struct Cpu {
    threads: Option<usize>,
    profile: bool,
    machine_code: bool,
}

impl Default for Cpu {
    fn default() -> Cpu {
        Cpu { threads: None, profile: false, machine_code: true }
    }
}

impl Cpu {
    /// With so many threads at most; 0 stands for as many as the machine offers. A program has no more than four for each of
    /// these, however many are asked for, and fewer where the system can't start them. Results don't depend on their number.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let square = stage(|x: &Vector<_, f64>| x.powi(2), &zeros(2))?.compile(Cpu::default().threads(1))?;
    /// assert_eq!(square.call(&Vector::from(vec![3.0, 4.0]))?.to_vec(), [9.0, 16.0]);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn threads(self, threads: usize) -> Cpu {
        Cpu { threads: (threads > 0).then_some(threads), ..self }
    }

    /// Whether the time of every kernel is measured, which costs some tens of nanoseconds each. [`Program::report`] states it.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let square = stage(|x: &Vector<_, f64>| x.powi(2), &zeros(2))?.compile(Cpu::default().profile(true))?;
    /// square.call(&ones(2))?;
    /// assert!(square.program().report().kernels[0].seconds.is_some());
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn profile(self, profile: bool) -> Cpu {
        Cpu { profile, ..self }
    }

    /// Whether kernels are written as machine code when a program is compiled, on Linux on processors with AVX2 or AVX-512; they are
    /// unless it is switched off. Otherwise, and where the system gives no memory for code, they run by functions that the library has
    /// for each operation, which is slower: values between operations are in memory. The results differ by rounding.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let square = stage(|x: &Vector<_, f64>| x.powi(2), &zeros(2))?.compile(Cpu::default().machine_code(false))?;
    /// assert_eq!(square.call(&Vector::from(vec![3.0, 4.0]))?.to_vec(), [9.0, 16.0]);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn machine_code(self, machine_code: bool) -> Cpu {
        Cpu { machine_code, ..self }
    }

    /// Whether the time of every kernel is measured.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// assert!(!Cpu::default().profiles());
    /// assert!(Cpu::default().profile(true).profiles());
    /// ```
    pub fn profiles(&self) -> bool {
        self.profile
    }
}

/// Why a program is not compiled.
enum CompileProblem {
    IllFormed(String),
    TooLarge(TooLarge),
    Memory(OutOfMemory),
}

impl From<TooLarge> for CompileProblem {
    fn from(problem: TooLarge) -> CompileProblem {
        CompileProblem::TooLarge(problem)
    }
}

impl From<OutOfMemory> for CompileProblem {
    fn from(problem: OutOfMemory) -> CompileProblem {
        CompileProblem::Memory(problem)
    }
}

/// The procedures inside of steps. The rests of blocks are left out, since they are no larger than the blocks.
fn inner(procedure: &Procedure) -> impl Iterator<Item = &Procedure> {
    procedure.steps.iter().flat_map(|step| match step {
        Step::Blocks(blocks) => smallvec![&blocks.procedure],
        _ => step.inner(),
    })
}

/// The bytes of the largest buffer of a program, arguments excepted.
fn largest(procedure: &Procedure) -> u128 {
    let locals = procedure.buffers.iter().filter(|buffer| matches!(buffer.source, BufferSource::Local));
    let own = locals.map(|buffer| buffer.ty.exact_bytes()).max().unwrap_or(0);
    inner(procedure).map(largest).fold(own, u128::max)
}

/// The bytes of all known arrays that are stored as one value, and written out for programs that read them as buffers.
fn constants(procedure: &Procedure) -> u128 {
    let written = procedure.buffers.iter().map(|buffer| match &buffer.source {
        BufferSource::Constant(array) if array.uniform().is_some() => buffer.ty.exact_bytes(),
        _ => 0,
    });
    let own = written.fold(0, u128::saturating_add);
    inner(procedure).map(constants).fold(own, u128::saturating_add)
}

/// The machine of a procedure; `None` where its memory can't be counted.
fn machine(machine_code: bool, procedure: &Procedure) -> std::result::Result<Option<Box<Machine>>, OutOfMemory> {
    let kernels = Target::kernels();
    if let Some(arena) = CodeArena::new(kernels.isa).filter(|_| machine_code) {
        let machine = Machine::new(Target::of(kernels.isa, Some(&arena)), procedure, true)?;
        if arena.seal() {
            return Ok(machine);
        }
    }
    Machine::new(kernels, procedure, true)
}

/// A bulk program, compiled for the processor.
///
/// `Display` prints its kernels.
#[derive(Debug)]
pub struct Program {
    procedure: Procedure,
    machine: Box<Machine>,
    result_types: Vec<Type>,
    /// For each result whether all of its elements are the one that the machine computes.
    uniform: Vec<bool>,
    /// Memory of runs that have ended.
    idle: Mutex<Vec<RunMemory>>,
    /// Whether the next run that ends leaves its memory.
    is_memory_kept: AtomicBool,
    threads: Threads,
    /// Whether the result at a parameter's position may be written in its memory, once it was asked for.
    in_place: OnceLock<Vec<bool>>,
    /// Calls, and the seconds of each kernel in all of them, where they are measured.
    profile: Option<Mutex<(usize, Vec<f64>)>>,
}

impl Program {
    /// Compiles a bulk program.
    ///
    /// ```
    /// use deltaray::engine::cpu::Program;
    /// use deltaray::prelude::*;
    ///
    /// let double = stage(|x: &Vector<_, f64>| x * 2.0, &zeros(2))?;
    /// let program = Program::new(double.program(), &Cpu::default())?;
    /// let results = program.run(&[Vector::from(vec![1.0, 1.0]).into_array()])?;
    /// assert_eq!(results[0].to_vec::<f64>(), Some(vec![2.0, 2.0]));
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When its memory and results are more than the machine has, there is no memory for its constants, there are more nodes in
    /// nested bodies than [`MAX_NESTED_NODES`](crate::term::MAX_NESTED_NODES), or the program is ill-formed.
    #[track_caller]
    pub fn new(body: &Body, options: &Cpu) -> Result<Program> {
        let place = Location::caller();
        Program::compiled(body, options).map_err(|problem| match problem {
            CompileProblem::IllFormed(problem) => Error::IllFormed { problem, place: place.to_string() },
            CompileProblem::TooLarge(problem) => problem.error("compile", place),
            CompileProblem::Memory(problem) => problem.error("compile", place),
        })
    }

    fn compiled(body: &Body, options: &Cpu) -> std::result::Result<Program, CompileProblem> {
        let lower = |body: &Body| {
            let (elements, uniform) = uniform::elements(body);
            (lower_resuming(&elements), uniform)
        };
        let (procedure, uniform) = prepared(body, TableLimits::MEMORY, lower).map_err(CompileProblem::IllFormed)?;
        let result_types: Vec<Type> = body.result_types().cloned().collect();
        let results = result_types.iter().map(Type::exact_bytes).fold(0, u128::saturating_add);
        // Known arrays are written out before anything runs.
        admit(largest(&procedure).max(results).max(constants(&procedure)))?;
        let machine = machine(options.machine_code, &procedure)?;
        let threads = Threads::new(options.threads);
        // Where memory can't be counted it is at least this.
        let memory = match &machine {
            Some(machine) => machine.total_memory(threads.count()) as u128,
            None => isize::MAX as u128 + 1,
        };
        admit(memory.saturating_add(results))?;
        let Some(machine) = machine else { return Err(TooLarge { bytes: memory, available: None }.into()) };
        Ok(Program {
            profile: options.profile.then(|| Mutex::new((0, Vec::new()))),
            procedure,
            machine,
            result_types,
            uniform,
            threads,
            idle: Mutex::default(),
            is_memory_kept: AtomicBool::new(true),
            in_place: OnceLock::new(),
        })
    }

    /// The types of the parameters.
    fn argument_types(&self) -> impl ExactSizeIterator<Item = &Type> {
        self.procedure.buffers[..self.procedure.parameters].iter().map(|buffer| &buffer.ty)
    }

    /// For each parameter with a result at its position whether that may be written in its memory.
    fn in_place(&self) -> &[bool] {
        self.in_place.get_or_init(|| donate::in_place(&self.procedure))
    }

    /// Number of kernels; kernels of loops and of both sides of conditionals count once.
    ///
    /// ```
    /// use deltaray::engine::cpu::Program;
    /// use deltaray::prelude::*;
    ///
    /// let program = Program::new(stage(|x: &Vector<_, f64>| x * 2.0, &zeros(2))?.program(), &Cpu::default())?;
    /// assert_eq!(program.kernels(), 1);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn kernels(&self) -> usize {
        self.procedure.kernels()
    }

    /// The kernels, what they compute and move, and the time that they took where it was measured. Printed, each line
    /// ends with a bar, which compares the kernel's time with the longest, or the operations where no time was measured.
    ///
    /// ```
    /// use deltaray::engine::cpu::Program;
    /// use deltaray::prelude::*;
    ///
    /// let program = Program::new(stage(|x: &Vector<_, f64>| x * 2.0, &zeros(2))?.program(), &Cpu::default())?;
    /// let report = program.report();
    /// assert_eq!((report.kernels.len(), report.kernels[0].operations, report.interface), (1, 4.0, 32));
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn report(&self) -> Report {
        let profile = self.profile.as_ref().map(|profile| profile.lock().unwrap_or_else(PoisonError::into_inner));
        let mut position = 0;
        let mut seconds = || {
            position += 1;
            let (calls, seconds) = &**profile.as_ref()?;
            seconds.get(position - 1).map(|seconds| seconds / (*calls).max(1) as f64)
        };
        let kernels = report::kernels(&self.procedure, 1.0, &mut seconds);
        let bytes = |ty: &Type| ty.bytes().unwrap_or(usize::MAX);
        let parameters = self.procedure.buffers[..self.procedure.parameters].iter().map(|buffer| bytes(&buffer.ty));
        let interface = parameters.chain(self.result_types.iter().map(bytes)).fold(0, usize::saturating_add);
        Report { kernels, memory: self.memory(), interface }
    }

    /// Bytes of memory that a run takes in addition to its arguments and results, and to the values that loops keep of their
    /// steps.
    ///
    /// ```
    /// use deltaray::engine::cpu::Program;
    /// use deltaray::prelude::*;
    ///
    /// let program = Program::new(stage(|x: &Vector<_, f64>| x * 2.0, &zeros(2))?.program(), &Cpu::default())?;
    /// assert_eq!(program.memory(), program.report().memory);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn memory(&self) -> usize {
        self.machine.total_memory(self.threads.count())
    }

    /// Runs the program on arguments of its parameters' types, and gives its results in new arrays.
    ///
    /// ```
    /// use deltaray::engine::cpu::Program;
    /// use deltaray::prelude::*;
    ///
    /// let program = Program::new(stage(|x: &Vector<_, f64>| x * 2.0, &zeros(2))?.program(), &Cpu::default())?;
    /// let results = program.run(&[Vector::from(vec![1.0, 2.0]).into_array()])?;
    /// assert_eq!(results[0].to_vec::<f64>(), Some(vec![2.0, 4.0]));
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When memory and results are more than the machine has, before anything is allocated; when there is no memory, or an
    /// argument is of another type.
    #[track_caller]
    pub fn run(&self, arguments: &[Array]) -> Result<Vec<Array>> {
        let mut run = self.begin();
        arguments.iter().for_each(|argument| run.argument(argument));
        run.finish_new()
    }
}

impl Engine for Cpu {
    type Program = Program;

    #[track_caller]
    fn compile(self, program: &term::Program) -> Result<Program> {
        Program::new(&program.body, &self)
    }

    #[track_caller]
    fn run(program: &Program, arguments: &[Array]) -> Result<Vec<Array>> {
        program.run(arguments)
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.procedure, f)
    }
}
