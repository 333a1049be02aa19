//! The parts of a compiled program, and where its time goes.

use crate::kernel::roots::own_cost;
use crate::kernel::{BATCH, Nest, NestValue, Procedure, Step, StoreMode};
use crate::operation::Reduction;
use crate::shape::{rank_of_float, size, sort_by_rank};
use crate::term::{Op, Steps, print};
use std::fmt;

/// One kernel of a program.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Kernel {
    /// A description: the extents of a nest's loops and its stores, the sizes of a product, or the name of an operation.
    pub name: String,
    /// How often it runs in one call: more than once in a loop. In a loop that ends by a condition, this counts the runs in one
    /// step; in a conditional, the runs if its side is taken. Steps that are run again do not count.
    pub times: usize,
    /// Scalar operations of one call, all runs together; of products, additions and multiplications. Storing an element, or adding
    /// it to a sum, counts as one.
    pub operations: f64,
    /// Bytes that are read and written in one call, each place once a run.
    pub bytes: f64,
    /// Seconds of a call, on average, where the program was compiled to be measured, with
    /// [`profile`](super::cpu::Cpu::profile) or its like.
    pub seconds: Option<f64>,
}

impl Kernel {
    /// Operations for each byte; 0 of a kernel that moves none.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let program = stage(|x: &Vector<_, f64>| x * 2.0, &zeros(1000))?.compile(Cpu::default())?;
    /// let kernel = &program.program().report().kernels[0];
    /// assert_eq!(kernel.intensity(), kernel.operations / kernel.bytes);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn intensity(&self) -> f64 {
        if self.bytes > 0.0 { self.operations / self.bytes } else { 0.0 }
    }
}

/// The kernels of a program in the order in which they run, and the memory that it takes.
///
/// `Display` prints a table, with a bar for the share of each kernel: of the time where it was measured, else of the
/// operations.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// The kernels.
    pub kernels: Vec<Kernel>,
    /// Bytes of memory in addition to arguments and results.
    pub memory: usize,
    /// Bytes of the arguments and the results.
    pub interface: usize,
}

/// A step's name, its scalar operations, and the bytes that it reads and writes, all of one run; none of a step that is made
/// of other procedures.
pub(crate) fn step(procedure: &Procedure, step: &Step) -> Option<(String, f64, f64)> {
    let bytes = |id: u32| procedure.buffers[id as usize].ty.bytes().unwrap_or(usize::MAX) as f64;
    let moved = || -> f64 {
        let (mut touched, filled) = step.touched();
        touched.extend(filled);
        touched.sort_unstable();
        touched.dedup();
        touched.into_iter().map(bytes).sum()
    };
    let (name, operations) = match step {
        Step::Nest(nest) => (nest_name(nest), nest_operations(nest)),
        Step::Product(product) => {
            let [m, k, n] = product.sizes();
            let batches = product.count(BATCH);
            let mut name = match batches {
                1 => format!("product {m}x{k}x{n}"),
                _ => format!("{batches} products {m}x{k}x{n}"),
            };
            let mut operations = 2.0 * batches as f64 * m as f64 * k as f64 * n as f64;
            // However often tiles compute an operand's element, it counts once.
            for (side, nest) in ["left", "right"].iter().zip(&product.prologues) {
                if let Some(nest) = nest {
                    name = format!("{name}, {side} {}{}", nest_loops(nest), nest_work(nest));
                    operations += nest_operations(nest);
                }
            }
            if let Some(nest) = product.epilogue.as_ref().map(|epilogue| &epilogue.nest) {
                name = format!("{name}; {}", nest_name(nest));
                operations += nest_operations(nest);
            }
            (name, operations)
        }
        Step::Call(call) => {
            let op = call.body.nodes.get(call.body.arity()).map(|node| print::name(&node.op));
            let name = call.matrix().map(|op| op.name().into_owned());
            match name.or_else(|| call.sparse().map(|op| op.name().to_owned())) {
                Some(name) => (name, call.matrix_operations()),
                None => (format!("{}, on plain arrays", op.unwrap_or_default()), 0.0),
            }
        }
        Step::Blocks(blocks) => {
            let (parts, extent) = (kernels_of(&blocks.procedure), blocks.extent as f64 / blocks.rows as f64);
            let operations = total(parts.iter().map(|kernel| kernel.operations));
            let names: Vec<String> = parts.into_iter().map(|kernel| kernel.name).collect();
            let name = format!("{} of {} rows: {}", blocks.rows, blocks.extent, names.join("; "));
            (name, operations * extent)
        }
        Step::Loop(_) | Step::Branch(_) | Step::Sweeps(_) | Step::First(_) => return None,
    };
    Some((name, operations, moved()))
}

/// A sum that is 0 if there are no numbers, and not -0 like the sums of iterators.
pub(crate) fn total(numbers: impl Iterator<Item = f64>) -> f64 {
    numbers.fold(0.0, |total, number| total + number)
}

/// The kernels of a procedure that runs so many times, perhaps more than can be counted; `seconds` is asked for each of them,
/// in order.
pub(crate) fn kernels(procedure: &Procedure, times: f64, seconds: &mut impl FnMut() -> Option<f64>) -> Vec<Kernel> {
    procedure.steps.iter().flat_map(|step| of_step(procedure, step, times, seconds)).collect()
}

/// The kernels of one step of a procedure, as [`kernels`].
pub(crate) fn of_step(
    procedure: &Procedure,
    step: &Step,
    times: f64,
    seconds: &mut impl FnMut() -> Option<f64>,
) -> Vec<Kernel> {
    let mut kernels = Vec::new();
    match step {
        Step::Loop(repeated) => {
            kernels.extend(self::kernels(&repeated.step, times * repeated.scan.length as f64, seconds));
        }
        Step::Branch(branch) => {
            kernels.extend(named("then", self::kernels(&branch.then, times, seconds)));
            kernels.extend(named("else", self::kernels(&branch.otherwise, times, seconds)));
        }
        Step::Sweeps(sweeps) => {
            let times = match sweeps.sweeps.steps {
                Steps::Count(count) => times * count as f64,
                Steps::While(_) => times,
            };
            if let Some(condition) = &sweeps.condition {
                kernels.extend(named("while", self::kernels(condition, times, seconds)));
            }
            for body in &sweeps.bodies {
                kernels.extend(named("step", self::kernels(body, times, seconds)));
            }
        }
        alone => {
            if let Some((name, operations, bytes)) = self::step(procedure, alone) {
                let (operations, bytes) = (operations * times, bytes * times);
                kernels.push(Kernel { name, times: times as usize, operations, bytes, seconds: seconds() });
            }
        }
    }
    kernels
}

/// Kernels with a word before their names that says when they run.
pub(crate) fn named(when: &str, kernels: Vec<Kernel>) -> impl Iterator<Item = Kernel> {
    kernels.into_iter().map(move |kernel| Kernel { name: format!("{when}: {}", kernel.name), ..kernel })
}

/// The kernels of a procedure that runs once.
fn kernels_of(procedure: &Procedure) -> Vec<Kernel> {
    kernels(procedure, 1.0, &mut || None)
}

/// The extents of a nest's loops.
fn nest_loops(nest: &Nest) -> String {
    let loops: Vec<String> = nest.extents.iter().map(usize::to_string).collect();
    format!("nest {}", if loops.is_empty() { "1".into() } else { loops.join("x") })
}

/// A nest by its loops, its results and the operations that cost most.
pub(crate) fn nest_name(nest: &Nest) -> String {
    let stores: Vec<String> = nest.stores.iter().map(|store| format!("b{}", store.buffer)).collect();
    format!("{} -> {}{}", nest_loops(nest), stores.join(", "), nest_work(nest))
}

/// How many operations a nest's name lists.
const LISTED: usize = 3;

/// The operations of a nest that cost most, by their names.
fn nest_work(nest: &Nest) -> String {
    let mut work: Vec<(f64, &str)> = Vec::new();
    for (value, _) in &nest.values {
        let Some(op) = value.operation() else { continue };
        let cost = own_cost(&op);
        let name = match op {
            Op::Unary(op) => op.name(),
            Op::Binary(op) => op.name(),
            _ => "gather",
        };
        match work.iter_mut().find(|(_, known)| *known == name) {
            Some((all, _)) => *all += cost,
            None => work.push((cost, name)),
        }
    }
    for store in &nest.stores {
        let StoreMode::Reduce(op) = store.mode else { continue };
        let name = match op {
            Reduction::Sum => "sum",
            Reduction::Max => "max",
            Reduction::Min => "min",
        };
        if !work.iter().any(|&(_, known)| known == name) {
            work.push((1.0, name));
        }
    }
    sort_by_rank(&mut work, |&(work, _)| !rank_of_float(work));
    let more = if work.len() > LISTED { ", .." } else { "" };
    let names: Vec<&str> = work.iter().take(LISTED).map(|&(_, name)| name).collect();
    if names.is_empty() { String::new() } else { format!(" ({}{more})", names.join(", ")) }
}

fn nest_operations(nest: &Nest) -> f64 {
    let is_work = |value: &NestValue| {
        !matches!(
            value,
            NestValue::Constant(_) | NestValue::Position(_) | NestValue::Load { .. } | NestValue::Guarded(..)
        )
    };
    let values = nest.values.iter().filter(|(value, _)| is_work(value)).count();
    (values + nest.stores.len()) as f64 * size(&nest.extents) as f64
}

/// Characters of the longest bar.
const BAR: usize = 24;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let measured = self.kernels.iter().any(|kernel| kernel.seconds.is_some());
        let share = |kernel: &Kernel| if measured { kernel.seconds.unwrap_or(0.0) } else { kernel.operations };
        let shares = total(self.kernels.iter().map(share));
        let largest = self.kernels.iter().map(share).fold(0.0, f64::max);
        let width = self.kernels.iter().map(|kernel| kernel.name.len()).max().unwrap_or(0).clamp(6, 60);
        writeln!(
            f,
            "{:width$}  {:>7}  {:>10}  {:>10}  {:>7}  {:>10}",
            "kernel", "times", "operations", "bytes", "op/byte", "seconds"
        )?;
        for kernel in &self.kernels {
            let is_cut = kernel.name.chars().count() > width;
            let shown = kernel.name.chars().take(if is_cut { width - 1 } else { width });
            let name: String = shown.chain(is_cut.then_some('…')).collect();
            let seconds = kernel.seconds.map_or("-".into(), |seconds| format!("{seconds:.3e}"));
            let bar = if largest > 0.0 { (share(kernel) / largest * BAR as f64).round() as usize } else { 0 };
            writeln!(
                f,
                "{name:width$}  {:>7}  {:>10.3e}  {:>10.3e}  {:>7.2}  {seconds:>10}  {}",
                kernel.times,
                kernel.operations,
                kernel.bytes,
                kernel.intensity(),
                "#".repeat(bar)
            )?;
        }
        let operations = total(self.kernels.iter().map(|kernel| kernel.operations));
        let bytes = total(self.kernels.iter().map(|kernel| kernel.bytes));
        write!(f, "{} kernels, {operations:.3e} operations, {bytes:.3e} bytes", self.kernels.len())?;
        if measured {
            write!(f, ", {shares:.3e} seconds")?;
        }
        writeln!(f, "; memory: {} bytes, and {} of arguments and results", self.memory, self.interface)
    }
}
