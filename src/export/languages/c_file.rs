//! A program as C files.

use super::c_interface::{CInterface, cells};
use super::file_names::FileNames;
use super::{blocked, check_sizes, lowered, words};
use crate::error::{Error, Result};
use crate::export::Program;
use crate::shape::DType;
use crate::source::c::C;
use crate::source::helpers;
use crate::source::language::Language;
use crate::source::procedure::{FunctionInterface, FunctionWriter};
use crate::source::text::Text;
use crate::sparse::Pattern;

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
        CSource::new(&program, patterns)
    }

    pub(super) fn new(program: &Program, patterns: &[(usize, &Pattern)]) -> Result<CSource> {
        let procedure = lowered(&program.body, "C", blocked)?;
        let names = FileNames::new(program, &words::c(), "f");
        let language = C { prefix: names.function.clone(), is_opencl: false };
        let mut writer = FunctionWriter::new(&language);
        let arrays = FunctionInterface::named(names.arguments.clone(), names.results.clone());
        let run = writer.procedure("run", &procedure, &arrays)?;
        check_sizes(&program.body, run.scratch(), "C")?;
        let helpers = helpers::c_texts(&writer.helpers, &language.prefix, false);
        let name = &names.function;
        let interface = CInterface::new(&language, &names, &program.body);
        let mut source = Text::default();
        source.line(format!("#include \"{name}.h\""));
        source.line("");
        source.line("#include <math.h>");
        source.line("#include <string.h>");
        source.line("");
        source.append(writer.constants);
        source.line("");
        for helper in helpers {
            source.lines(helper.lines());
            source.line("");
        }
        for mut function in writer.functions {
            function.tidy();
            source.append(function);
            source.line("");
        }
        source.open(&interface.arrays);
        let mut all: Vec<String> = names.arguments.iter().chain(&names.results).cloned().collect();
        // Memory for floats is taken from `w`, for other types from `iw`.
        let (mut floats, mut integers) = (0, 0);
        for (dtype, count) in run.scratch() {
            let (from, start) = if dtype.is_float() { ("w", &mut floats) } else { ("iw", &mut integers) };
            all.push(match dtype {
                DType::F64 => format!("{from} + {start}"),
                // `long long` may be another type than `int64_t` of the same width.
                _ => format!("({} *)(void *)({from} + {start})", language.dtype(dtype)),
            });
            *start += cells(dtype, count);
        }
        source.line("(void)iw;");
        source.line("(void)w;");
        let call = language.call("run", &all);
        match run.fails {
            true => source.line(format!("return {call} ? 0 : 1;")),
            false => source.lines([format!("{call};"), "return 0;".to_string()]),
        }
        source.close();
        source.line("");
        interface.functions(&mut source, &language, patterns, [floats, integers]);
        Ok(CSource { name: name.clone(), header: interface.header().finish(), source: source.finish() })
    }
}
