//! A program as C files.

use super::c_interface::{CArray, CInterface, CPart, cells};
use super::file_names::FileNames;
use super::{blocked, check_sizes, lowered, words};
use crate::error::{Error, Result};
use crate::export::Program;
use crate::kernel::Procedure;
use crate::shape::Type;
use crate::source::c::C;
use crate::source::helpers;
use crate::source::procedure::{FunctionInterface, FunctionWriter};
use crate::source::text::Text;
use crate::sparse::Pattern;
use crate::term::Body;

/// A program as source of C99: a header and a file.
///
/// The functions have the interface of CasADi's generated code; `NAME` is the program's name:
///
/// - `int NAME(const double **arg, double **res, long long int *iw, double *w, int mem)` computes the results from the
///   arguments: 0, or 1 where a loop had more steps than there is memory to go back over. `w` and `iw` are memory of its own;
///   where not all arrays hold `double`s, `arg` and `res` point to `void`. A pointer in `res` may be null: the result is
///   not wanted. `mem` is ignored.
/// - `NAME_n_in()`, `NAME_n_out()`: how many arguments and results there are; `NAME_name_in(i)`, `NAME_name_out(i)`: their
///   names; `NAME_type_in(i)`, `NAME_type_out(i)`: their element types and shapes, as deltaray prints them.
/// - `NAME_sparsity_in(i)`, `NAME_sparsity_out(i)`: CasADi's description of a matrix, dense except with
///   [`CSource::with_sparsity`]. CasADi counts by columns, and arrays are row-major, so a matrix of m rows and n columns is
///   described as its transpose; arrays of higher rank are matrices whose rows are all axes but the last.
/// - `NAME_work(&sz_arg, &sz_res, &sz_iw, &sz_w)`: the lengths of `arg`, `res`, `iw` and `w`.
/// - `NAME_arrays(..)`: the same with an argument for each array, results after parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CSource {
    /// The name of the function, from which those of the files are made.
    pub name: String,
    /// The text of `name.h`.
    pub header: String,
    /// The text of `name.c`, which includes the header.
    pub source: String,
}

/// How programs are written in C: with calls of the mathematical library, unless said otherwise.
///
/// ```
/// use deltaray::export::COptions;
/// use deltaray::prelude::*;
///
/// #[differentiable]
/// fn energy(x: Vector<f64>) -> Scalar<f64> {
///     (-x.powi(2)).exp().sum()
/// }
///
/// let source = COptions::default().inline_math(true).export(&stage(energy, &zeros(1000))?)?;
/// assert!(source.source.contains("energy_exp_inline_f64("));
/// # Ok::<(), deltaray::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct COptions {
    inline_math: bool,
}

impl COptions {
    /// Whether elementary functions, such as `exp`, `sin` and `tanh`, are written inline as formulas, of which compilers make
    /// vectors. Calls of the library's functions for one element after the other take several times as long. Results are as
    /// exact as the processor's engine's, see [the guide](crate::guide::exporting#elementary-functions-as-vectors).
    pub fn inline_math(self, inline: bool) -> COptions {
        COptions { inline_math: inline }
    }

    /// The program as source of C.
    ///
    /// # Errors
    ///
    /// As [`c`](super::c).
    pub fn export(self, program: impl Into<Program>) -> Result<CSource> {
        CSource::new(&program.into(), &[], self)
    }

    /// A program some of whose results are the entries of sparse matrices: see [`CSource::with_sparsity`].
    ///
    /// # Errors
    ///
    /// As [`CSource::with_sparsity`].
    pub fn with_sparsity(self, program: impl Into<Program>, patterns: &[(usize, &Pattern)]) -> Result<CSource> {
        let program = program.into();
        for &(position, pattern) in patterns {
            let result = program.body.results.get(position).map(|&id| program.body.node(id).ty());
            if result.is_none_or(|ty| ty.shape[..] != [pattern.nonzeros()]) {
                let found = result.map_or("missing".to_string(), |ty| ty.to_string());
                let problem =
                    format!("result {position} is {found}, but the pattern has {} entries", pattern.nonzeros());
                return Err(Error::Structure(problem));
            }
        }
        CSource::new(&program, patterns, self)
    }
}

impl CSource {
    /// A program some of whose results, by position, are the entries of sparse matrices, one array and one pattern for each:
    /// `NAME_sparsity_out` describes them. As all matrices, these are described as their transposes, so that entries are in the
    /// order of CasADi's, and column by column there is row by row here.
    ///
    /// ```
    /// use deltaray::export::CSource;
    /// use deltaray::prelude::*;
    ///
    /// #[differentiable]
    /// fn residuals(x: Vector<f64>) -> Vector<f64> {
    ///     x[1..].powi(2) - x[..x.len() - 1]
    /// }
    /// # fn main() -> deltaray::Result<()> {
    /// let x = Vector::from(vec![1.0, 2.0, 3.0]);
    /// let jacobian = stage(residuals, &x)?.sparse_jacobian()?.compressed(&x)?;
    /// let program = jacobian.entries().expect("there are entries").with_name("jacobian");
    /// let source = CSource::with_sparsity(program, &[(0, jacobian.pattern())])?;
    /// // Three columns, two rows, where each row begins, and the columns of its entries.
    /// assert!(source.source.contains("{3, 2, 0, 2, 4, 0, 1, 1, 2}"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`c`](super::c), and when a result is no array of as many elements as the pattern has entries.
    pub fn with_sparsity(program: impl Into<Program>, patterns: &[(usize, &Pattern)]) -> Result<CSource> {
        COptions::default().with_sparsity(program, patterns)
    }

    fn new(program: &Program, patterns: &[(usize, &Pattern)], options: COptions) -> Result<CSource> {
        // An ill-formed program has no names.
        let procedure = lowered(&program.body, "C", blocked)?;
        let names = FileNames::new(program, &words::c(), "f");
        let language = C { prefix: names.function.clone(), is_opencl: false, inline_math: options.inline_math };
        let mut file = CFile::new(&language);
        file.program(&names, &program.body, &procedure, patterns)?;
        Ok(file.finish())
    }
}

/// A file that is being written.
pub(super) struct CFile<'a> {
    language: &'a C,
    writer: FunctionWriter<'a>,
    /// The functions that others call, which are written after all that they call.
    interfaces: Vec<(CInterface, Vec<CPart>)>,
}

impl<'a> CFile<'a> {
    /// A file without functions; its name is the prefix of the language.
    pub(super) fn new(language: &'a C) -> CFile<'a> {
        CFile { language, writer: FunctionWriter::new(language), interfaces: Vec::new() }
    }

    /// Adds the program itself.
    pub(super) fn program(
        &mut self,
        names: &FileNames,
        body: &Body,
        procedure: &Procedure,
        patterns: &[(usize, &Pattern)],
    ) -> Result<()> {
        let arrays = FunctionInterface::named(names.arguments.clone(), names.results.clone());
        let run = self.writer.procedure("run", procedure, &arrays)?;
        check_sizes(body, run.scratch(), "C")?;
        let argument = |(at, name): (usize, &String)| CArray::dense(name, body.parameter_type(at));
        let arguments: Vec<CArray> = names.arguments.iter().enumerate().map(argument).collect();
        let result = |(at, (name, ty)): (usize, (&String, &Type))| {
            let pattern = patterns.iter().find(|(result, _)| *result == at);
            pattern.map_or_else(|| CArray::dense(name, ty), |(_, pattern)| CArray::sparse(name, ty.dtype, pattern))
        };
        let results: Vec<CArray> = names.results.iter().zip(body.result_types()).enumerate().map(result).collect();
        let part = CPart { arguments: (0..arguments.len()).collect(), results: (0..results.len()).collect(), run };
        self.interfaces.push((CInterface::new(&names.function, arguments, results), vec![part]));
        Ok(())
    }

    /// Adds a function whose results are computed by programs: the positions of the arguments that each takes, and of its
    /// results.
    pub(super) fn function(
        &mut self,
        interface: CInterface,
        programs: Vec<(Body, Vec<usize>, Vec<usize>)>,
    ) -> Result<()> {
        let mut parts = Vec::new();
        for (body, arguments, results) in programs.into_iter().filter(|(_, _, results)| !results.is_empty()) {
            let procedure = lowered(&body, "C", blocked)?;
            let run = self.writer.inner("part", &procedure)?;
            check_sizes(&body, run.scratch(), "C")?;
            parts.push(CPart { arguments, results, run });
        }
        self.interfaces.push((interface, parts));
        Ok(())
    }

    /// The files.
    pub(super) fn finish(self) -> CSource {
        let (language, name) = (self.language, &self.language.prefix);
        let header = self.header().finish();
        let mut source = Text::default();
        source.line(format!("#include \"{name}.h\""));
        source.line("");
        source.line("#include <math.h>");
        source.line("#include <string.h>");
        source.line("");
        source.append(self.writer.constants);
        let arguments = self.interfaces.iter().flat_map(|(interface, _)| &interface.arguments);
        let zeros = format!("{name}_zeros");
        let mut parts = self.interfaces.iter().flat_map(|(_, parts)| parts);
        // Parts that have no results are not called.
        let are_read = parts.any(|part| !part.arguments.is_empty() && !part.results.is_empty());
        let counts = arguments.map(|argument| cells(argument.ty.dtype, argument.ty.size()));
        if let Some(count) = counts.max().filter(|_| are_read) {
            source.line("/* Never written. */");
            source.line(format!("static double {zeros}[{}];", count.max(1)));
        }
        source.line("");
        for helper in helpers::c_texts(&self.writer.helpers, name, false) {
            source.lines(helper.lines());
            source.line("");
        }
        for mut function in self.writer.functions {
            function.tidy();
            source.append(function);
            source.line("");
        }
        for (at, (interface, parts)) in self.interfaces.iter().enumerate() {
            if at == 0 {
                interface.write_of_arrays(&mut source, language, &parts[0].run);
            }
            interface.write(&mut source, language, parts, &zeros);
        }
        CSource { name: name.clone(), header, source: source.finish() }
    }

    /// The content of the header.
    fn header(&self) -> Text {
        let mut header = Text::default();
        let guard = format!("{}_H", self.language.prefix.to_uppercase());
        let (program, derivatives) = self.interfaces.split_first().expect("a file has a program");
        program.0.comment(&mut header);
        header.lines([format!("#ifndef {guard}"), format!("#define {guard}"), String::new()]);
        header.lines([
            "#include <stdbool.h>",
            "#include <stdint.h>",
            "",
            "#ifdef __cplusplus",
            "extern \"C\" {",
            "#endif",
            "",
        ]);
        program.0.declare_of_arrays(self.language, &mut header);
        program.0.declare(&mut header);
        for (interface, _) in derivatives {
            header.line("");
            interface.declare(&mut header);
        }
        header.lines(["", "#ifdef __cplusplus", "}", "#endif", "", "#endif"]);
        header
    }
}
