//! A program as a Rust file.

use super::file_names::FileNames;
use super::{blocked, check_sizes, counted, lowered, words};
use crate::error::Result;
use crate::export::Program;
use crate::shape::DType;
use crate::source::helpers;
use crate::source::language::{Language, scratch_name};
use crate::source::procedure::{FunctionInterface, FunctionWriter};
use crate::source::rust::Rust;
use crate::source::text::Text;

/// How programs are written in Rust: for the standard library, unless said otherwise.
///
/// The output is a function `name` over slices, with constants for the lengths of its memory, and a module `name_parts` with
/// helpers. Results follow the parameters, and memory comes last: `scratch` of `f64` always, of length 0 where none is needed
/// (or `scratch_f32`, if all floats of the program are `f32`), and then memory of other element types where it is needed:
///
/// ```text
/// pub const LOSS_GRAD_SCRATCH: usize = 12;
/// pub fn loss_grad(x: &[f64], out_value: &mut [f64], out_gradient: &mut [f64], scratch: &mut [f64])
/// ```
///
/// Arrays are row-major. A slice that is too short causes a panic; the rest of one that is too long is ignored. The code
/// compiles with Rust 1.85 and later, has no `unsafe`, and allocates nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct RustOptions {
    without_std: bool,
    inline_math: bool,
}

impl RustOptions {
    /// Whether the source is for programs without the standard library: then elementary functions are those of the crate
    /// `libm`. With it, only programs with error and gamma functions need `libm`.
    pub fn no_std(self, without: bool) -> RustOptions {
        RustOptions { without_std: without, ..self }
    }

    /// Whether elementary functions, such as `exp`, `sin` and `tanh`, are written inline as formulas, of which the compiler makes
    /// vectors: see [`COptions::inline_math`](super::COptions::inline_math).
    ///
    /// ```
    /// use deltaray::export::RustOptions;
    /// use deltaray::prelude::*;
    ///
    /// #[differentiable]
    /// fn energy(x: Vector<f64>) -> Scalar<f64> {
    ///     (-x.powi(2)).exp().sum()
    /// }
    ///
    /// let source = RustOptions::default().inline_math(true).export(&stage(energy, &zeros(1000))?)?;
    /// assert!(source.contains("exp_inline_f64("));
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn inline_math(self, inline: bool) -> RustOptions {
        RustOptions { inline_math: inline, ..self }
    }

    /// The program as source of Rust.
    ///
    /// # Errors
    ///
    /// As [`rust`](super::rust).
    pub fn export(self, program: impl Into<Program>) -> Result<String> {
        let program = program.into();
        let procedure = lowered(&program.body, "Rust", blocked)?;
        let language = Rust { with_std: !self.without_std, inline_math: self.inline_math };
        let names = FileNames::new(&program, &words::rust(), "f");
        let interface = FunctionInterface::named(names.arguments.clone(), names.results.clone());
        let mut writer = FunctionWriter::new(&language);
        let run = writer.procedure("run", &procedure, &interface)?;
        check_sizes(&program.body, run.scratch(), "Rust")?;
        let helpers = helpers::rust_texts(&writer.helpers, language.with_std);
        let needed: Vec<(DType, usize)> = run.scratch().collect();
        // Callers need not change when a program begins or ceases to need memory of its main type.
        let types =
            || (0..program.body.arity()).map(|at| program.body.parameter_type(at)).chain(program.body.result_types());
        let is_single = types().all(|ty| ty.dtype != DType::F64) && types().any(|ty| ty.dtype == DType::F32);
        let main = if is_single { DType::F32 } else { DType::F64 };
        let count = needed.iter().find(|(dtype, _)| *dtype == main).map_or(0, |&(_, count)| count);
        let others = needed.iter().copied().filter(|&(dtype, _)| dtype != main);
        let memory: Vec<(DType, usize)> = std::iter::once((main, count)).chain(others).collect();

        let name = &names.function;
        let mut text = Text::default();
        let body = &program.body;
        let arguments = || names.arguments.iter().zip((0..body.arity()).map(|at| body.parameter_type(at)));
        let results = || names.results.iter().zip(body.result_types());
        for (dtype, count) in &memory {
            text.line(format!("/// How many elements of {dtype} memory [`{name}`] needs."));
            text.line("#[allow(dead_code)]");
            text.line(format!("pub const {}: usize = {count};", memory_constant(name, *dtype)));
            text.line("");
        }
        text.line(format!("/// `{name}`, a program exported by deltaray: arrays are row-major slices."));
        text.line("///");
        arguments().for_each(|(name, ty)| text.line(format!("/// - `{name}`: `{ty}`, {}", counted(ty))));
        results().for_each(|(name, ty)| text.line(format!("/// - `{name}`, a result: `{ty}`, {}", counted(ty))));
        for &(dtype, _) in &memory {
            let (scratch, constant) = (scratch_name(dtype), memory_constant(name, dtype));
            text.line(format!("/// - `{scratch}`: memory for [`{constant}`] elements, whose values don't matter"));
        }
        if run.fails {
            text.line("///");
            text.line("/// Returns `false` when a loop has more steps than there is memory to go back over; the results are then unfinished.");
            text.line("#[must_use]");
        }
        text.line("#[allow(clippy::all, non_snake_case, unused_variables)]");
        text.line("#[track_caller]");
        let mut parameters: Vec<String> =
            arguments().map(|(name, ty)| format!("{name}: &[{}]", language.dtype(ty.dtype))).collect();
        parameters.extend(results().map(|(name, ty)| format!("{name}: &mut [{}]", language.dtype(ty.dtype))));
        parameters.extend(
            memory.iter().map(|&(dtype, _)| format!("{}: &mut [{}]", scratch_name(dtype), language.dtype(dtype))),
        );
        let value = if run.fails { " -> bool" } else { "" };
        let head = format!("pub fn {name}({}){value}", parameters.join(", "));
        if head.len() + 2 <= crate::source::text::WIDTH {
            text.open(head);
        } else {
            text.line(format!("pub fn {name}("));
            parameters.iter().for_each(|parameter| text.line(format!("    {parameter},")));
            text.open(format!("){value}"));
        }
        // The caller hears which slice it is, and where.
        let mut check = |name: &str, count: usize| {
            if count > 0 {
                text.line(format!("assert!({name}.len() >= {count}, \"`{name}` needs {count} elements\");"));
            }
        };
        arguments().chain(results()).for_each(|(name, ty)| check(name, ty.size()));
        memory.iter().for_each(|&(dtype, count)| check(scratch_name(dtype), count));
        let mut all: Vec<String> = names.arguments.iter().chain(&names.results).cloned().collect();
        all.extend(needed.iter().map(|&(dtype, _)| scratch_name(dtype).to_string()));
        let call = format!("{name}_parts::run({})", all.join(", "));
        text.line(if run.fails { call } else { format!("{call};") });
        text.close();
        text.line("");
        text.line(format!("/// What [`{name}`] is made of."));
        text.line("#[allow(clippy::all, unused, non_snake_case, non_upper_case_globals)]");
        text.open(format!("mod {name}_parts"));
        text.append(writer.constants);
        for helper in helpers {
            text.lines(helper.lines());
            text.line("");
        }
        for mut function in writer.functions {
            function.tidy();
            text.append(function);
            text.line("");
        }
        text.close();
        Ok(text.finish())
    }
}

/// The constant with the length of memory of a type.
fn memory_constant(name: &str, dtype: DType) -> String {
    format!("{name}_{}", scratch_name(dtype)).to_uppercase()
}
