//! A program as C files.

use super::c::C;
use super::language::Language;
use super::procedure::{Interface, Writer};
use super::rust_file::FileNames;
use super::text::Text;
use super::{blocked, check_sizes, helpers, lowered};
use crate::error::{Error, Result};
use crate::export::Program;
use crate::shape::{DType, Type};
use crate::sparse::Pattern;

/// Words that mean something in C or, since headers are for that too, in C++, and names of the headers that are included.
const WORDS: &[&str] = &[
    "auto",
    "break",
    "case",
    "char",
    "const",
    "continue",
    "default",
    "do",
    "double",
    "else",
    "enum",
    "extern",
    "float",
    "for",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "register",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "switch",
    "typedef",
    "union",
    "unsigned",
    "void",
    "volatile",
    "while",
    "bool",
    "true",
    "false",
    "main",
    "arg",
    "res",
    "iw",
    "w",
    "mem",
    "asm",
    "typeof",
    "linux",
    "unix",
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "bitand",
    "bitor",
    "catch",
    "char16_t",
    "char32_t",
    "class",
    "compl",
    "concept",
    "const_cast",
    "constexpr",
    "decltype",
    "delete",
    "dynamic_cast",
    "explicit",
    "export",
    "friend",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "reinterpret_cast",
    "requires",
    "static_assert",
    "static_cast",
    "std",
    "template",
    "this",
    "thread_local",
    "throw",
    "try",
    "typeid",
    "typename",
    "using",
    "virtual",
    "wchar_t",
    "xor",
    "xor_eq",
    "NULL",
    "INFINITY",
    "NAN",
    "HUGE_VAL",
    "HUGE_VALF",
    "HUGE_VALL",
    "FP_NAN",
    "FP_INFINITE",
    "FP_ZERO",
    "FP_SUBNORMAL",
    "FP_NORMAL",
    "MATH_ERRNO",
    "MATH_ERREXCEPT",
    "size_t",
    "ptrdiff_t",
    "int8_t",
    "int16_t",
    "int32_t",
    "int64_t",
    "uint8_t",
    "uint16_t",
    "uint32_t",
    "uint64_t",
    "intptr_t",
    "uintptr_t",
    "intmax_t",
    "uintmax_t",
    "INT8_MAX",
    "INT16_MAX",
    "INT32_MAX",
    "INT64_MAX",
    "INT8_MIN",
    "INT16_MIN",
    "INT32_MIN",
    "INT64_MIN",
    "UINT8_MAX",
    "UINT16_MAX",
    "UINT32_MAX",
    "UINT64_MAX",
    "SIZE_MAX",
    "INT8_C",
    "INT16_C",
    "INT32_C",
    "INT64_C",
    "UINT8_C",
    "UINT16_C",
    "UINT32_C",
    "UINT64_C",
    "INTMAX_C",
    "UINTMAX_C",
    "M_E",
    "M_LOG2E",
    "M_LOG10E",
    "M_LN2",
    "M_LN10",
    "M_PI",
    "M_PI_2",
    "M_PI_4",
    "M_1_PI",
    "M_2_PI",
    "M_2_SQRTPI",
    "M_SQRT2",
    "M_SQRT1_2",
    "double_t",
    "float_t",
    "fpclassify",
    "isfinite",
    "isinf",
    "isnan",
    "isnormal",
    "signbit",
    "isgreater",
    "isgreaterequal",
    "isless",
    "islessequal",
    "islessgreater",
    "isunordered",
    "j0",
    "j1",
    "jn",
    "y0",
    "y1",
    "yn",
    "gamma",
    "signgam",
    "index",
    "rindex",
    "time",
    "div",
    "abs",
    "labs",
    "signal",
    "read",
    "write",
    "memcpy",
    "memmove",
    "memset",
    "memcmp",
    "memchr",
    "memccpy",
    "mempcpy",
    "strcpy",
    "strncpy",
    "strcat",
    "strncat",
    "strcmp",
    "strcoll",
    "strncmp",
    "strxfrm",
    "strchr",
    "strcspn",
    "strpbrk",
    "strrchr",
    "strspn",
    "strstr",
    "strtok",
    "strerror",
    "strlen",
    "strdup",
    "strndup",
    "strcasecmp",
    "strncasecmp",
    "strsep",
    "strsignal",
    "stpcpy",
    "stpncpy",
    "bcmp",
    "bcopy",
    "bzero",
    "ffs",
    "strfry",
    "swab",
    "basename",
    "strverscmp",
    "drem",
    "significand",
    "scalb",
    "finite",
];

/// The functions of C's mathematical library, which are there for three types each.
const FUNCTIONS: &[&str] = &[
    "acos",
    "asin",
    "atan",
    "atan2",
    "cos",
    "sin",
    "tan",
    "acosh",
    "asinh",
    "atanh",
    "cosh",
    "sinh",
    "tanh",
    "exp",
    "exp2",
    "expm1",
    "frexp",
    "ilogb",
    "ldexp",
    "log",
    "log10",
    "log1p",
    "log2",
    "logb",
    "modf",
    "scalbn",
    "scalbln",
    "cbrt",
    "fabs",
    "hypot",
    "pow",
    "sqrt",
    "erf",
    "erfc",
    "lgamma",
    "tgamma",
    "ceil",
    "floor",
    "nearbyint",
    "rint",
    "lrint",
    "llrint",
    "round",
    "lround",
    "llround",
    "trunc",
    "fmod",
    "remainder",
    "remquo",
    "copysign",
    "nan",
    "nextafter",
    "nexttoward",
    "fdim",
    "fmax",
    "fmin",
    "fma",
    "exp10",
    "pow10",
    "sincos",
];

/// All names that an array or a program can not have.
pub(super) fn words() -> Vec<String> {
    let functions = FUNCTIONS.iter().flat_map(|name| ["", "f", "l"].map(|ending| format!("{name}{ending}")));
    WORDS.iter().map(|word| word.to_string()).chain(functions).collect()
}

/// A program as source of C99: a header and a file.
///
/// Functions are those that CasADi's generated code has, `NAME` being the program's name:
///
/// - `int NAME(const double **arg, double **res, long long int *iw, double *w, int mem)` computes the results from the
///   arguments: 0, or 1 where a loop had more steps than there is memory to go back over. `w` and `iw` are memory of its own;
///   where not all arrays hold `double`s, `arg` and `res` point to `void`. A pointer in `res` may be null: the result is
///   not wanted. `mem` is ignored.
/// - `NAME_n_in()`, `NAME_n_out()`: how many arguments and results there are; `NAME_name_in(i)`, `NAME_name_out(i)`: their
///   names; `NAME_type_in(i)`, `NAME_type_out(i)`: their element types and shapes, as deltaray prints them.
/// - `NAME_sparsity_in(i)`, `NAME_sparsity_out(i)`: CasADi's description of a matrix, dense but for
///   [`CSource::with_sparsity`]. CasADi counts by columns, and arrays are row-major, so a matrix of m rows and n columns is
///   described as its transpose; arrays of higher rank are matrices whose rows are all axes but the last.
/// - `NAME_work(&sz_arg, &sz_res, &sz_iw, &sz_w)`: the lengths of `arg`, `res`, `iw` and `w`.
/// - `NAME_arrays(..)`: the same with an argument for each array, results behind parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CSource {
    /// The name of the function, from which those of the files are made.
    pub name: String,
    /// What stands in `name.h`.
    pub header: String,
    /// What stands in `name.c`, which includes that.
    pub source: String,
}

/// The declaration of an array parameter.
fn array(language: &C, dtype: DType, name: &str, writes: bool) -> String {
    let constant = if writes { "" } else { "const " };
    format!("{constant}{} *{name}", language.dtype(dtype))
}

/// How many elements of `w` or `iw` so many of a type take.
fn cells(dtype: DType, count: usize) -> usize {
    (count * dtype.bytes()).div_ceil(8)
}

impl CSource {
    /// A program of which some results, by their positions, are the entries of sparse matrices of a pattern, one array for
    /// each: what `NAME_sparsity_out` says. As all matrices, these are described as their transposes, so that entries are in
    /// the order of CasADi's, and column by column there is row by row here.
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
        let words = words();
        let names = FileNames::new(program, &words.iter().map(String::as_str).collect::<Vec<_>>(), "f");
        let language = C { prefix: names.function.clone(), is_opencl: false };
        let interface = Interface::named(names.arguments.clone(), names.results.clone());
        let mut writer = Writer::new(&language);
        let run = writer.procedure("run", &procedure, &interface)?;
        check_sizes(&program.body, run.scratch(), "C")?;
        let helpers = helpers::c_texts(&writer.helpers, &language.prefix, false);
        let name = &names.function;
        let body = &program.body;
        let arguments: Vec<(&String, &Type)> =
            names.arguments.iter().zip((0..body.arity()).map(|at| body.parameter_type(at))).collect();
        let results: Vec<(&String, &Type)> = names.results.iter().zip(body.result_types()).collect();
        let all_double = arguments.iter().chain(&results).all(|(_, ty)| ty.dtype == DType::F64);
        let element = if all_double { "double" } else { "void" };
        let memory: Vec<(DType, usize)> = run.scratch().collect();

        let mut parameters: Vec<String> =
            arguments.iter().map(|(name, ty)| array(&language, ty.dtype, name, false)).collect();
        parameters.extend(results.iter().map(|(name, ty)| array(&language, ty.dtype, name, true)));
        parameters.push("long long int *iw".into());
        parameters.push("double *w".into());
        let arrays = format!("int {name}_arrays({})", parameters.join(", "));
        let general =
            format!("int {name}(const {element} **arg, {element} **res, long long int *iw, double *w, int mem)");
        let others = [
            format!("long long int {name}_n_in(void)"),
            format!("long long int {name}_n_out(void)"),
            format!("const char *{name}_name_in(long long int i)"),
            format!("const char *{name}_name_out(long long int i)"),
            format!("const char *{name}_type_in(long long int i)"),
            format!("const char *{name}_type_out(long long int i)"),
            format!("const long long int *{name}_sparsity_in(long long int i)"),
            format!("const long long int *{name}_sparsity_out(long long int i)"),
            format!(
                "int {name}_work(long long int *sz_arg, long long int *sz_res, long long int *sz_iw, long long int *sz_w)"
            ),
        ];

        let mut header = Text::default();
        let guard = format!("{}_H", name.to_uppercase());
        header.line(format!("/* {}, a program exported by deltaray: arrays are row-major.", name));
        header.line(" *");
        for (name, ty) in &arguments {
            header.line(format!(" * {name}: {ty}, {} elements", ty.size()));
        }
        for (name, ty) in &results {
            header.line(format!(" * {name}, a result: {ty}, {} elements", ty.size()));
        }
        header.line(" *");
        header.lines([
            format!(" * {name} takes pointers to the parameters in arg, and to the results in res, in this order; a null pointer"),
            " * in res says that a result is not wanted, and mem is ignored.".to_string(),
            format!(" * {name}_arrays does the same with an argument for each array, all of which are wanted."),
            format!(" * iw and w are memory of the function's own, as many elements as {name}_work says, whose values don't"),
            " * matter. Both return 0, or 1 where a loop had more steps than there is memory to go back over.".to_string(),
            format!(" * {name}_sparsity_in and {name}_sparsity_out describe matrices as their transposes, since CasADi counts by"),
            " * columns: rows, columns, and 1 where all elements are there, or else where columns begin, and the rows of".to_string(),
            " * entries. */".to_string(),
        ]);
        header.line(format!("#ifndef {guard}"));
        header.line(format!("#define {guard}"));
        header.line("");
        header.line("#include <stdbool.h>");
        header.line("#include <stdint.h>");
        header.line("");
        header.line("#ifdef __cplusplus");
        header.line("extern \"C\" {");
        header.line("#endif");
        header.line("");
        let declarations = [&arrays, &general].into_iter().chain(&others);
        declarations.for_each(|declaration| header.line(format!("{declaration};")));
        header.line("");
        header.line("#ifdef __cplusplus");
        header.line("}");
        header.line("#endif");
        header.line("");
        header.line("#endif");

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
        source.open(&arrays);
        let mut all: Vec<String> = names.arguments.iter().chain(&names.results).cloned().collect();
        // Memory of floats is taken from `w`, that of other types from `iw`.
        let (mut floats, mut integers) = (0, 0);
        for &(dtype, count) in &memory {
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
        // Results that are not wanted are written to memory behind that of the function.
        source.open(&general);
        source.lines(["(void)arg;", "(void)res;", "(void)mem;"]);
        let mut behind = [floats, integers];
        let mut passed: Vec<String> = (0..arguments.len()).map(|at| format!("arg[{at}]")).collect();
        for (at, (_, ty)) in results.iter().enumerate() {
            let (from, start) = if ty.dtype.is_float() { ("w", 0) } else { ("iw", 1) };
            let other = format!("({} *)(void *)({from} + {})", language.dtype(ty.dtype), behind[start]);
            behind[start] += cells(ty.dtype, ty.size());
            let cast = if all_double { String::new() } else { format!("({} *)", language.dtype(ty.dtype)) };
            passed.push(format!("res[{at}] ? {cast}res[{at}] : {other}"));
        }
        passed.extend(["iw".to_string(), "w".to_string()]);
        source.line(format!("return {name}_arrays({});", passed.join(", ")));
        source.close();
        source.line("");
        queries(&mut source, &others, &arguments, &results, patterns, [behind[1], behind[0]]);
        Ok(CSource { name: name.clone(), header: header.finish(), source: source.finish() })
    }
}

/// The functions that say what a function takes and results in.
fn queries(
    source: &mut Text,
    heads: &[String; 9],
    arguments: &[(&String, &Type)],
    results: &[(&String, &Type)],
    patterns: &[(usize, &Pattern)],
    [sz_iw, sz_w]: [usize; 2],
) {
    let mut one = |head: &String, lines: &[String]| {
        source.open(head);
        source.lines(lines);
        source.close();
        source.line("");
    };
    one(&heads[0], &[format!("return {};", arguments.len())]);
    one(&heads[1], &[format!("return {};", results.len())]);
    let sides = [arguments, results];
    for (at, side) in sides.iter().enumerate() {
        let cases = |text: &dyn Fn(&String, &Type) -> String, other: &str| {
            let mut lines = vec!["switch (i) {".to_string()];
            lines.extend(
                side.iter().enumerate().map(|(at, (name, ty))| format!("case {at}: return {};", text(name, ty))),
            );
            lines.push(format!("default: return {other};"));
            lines.push("}".into());
            lines
        };
        one(&heads[2 + at], &cases(&|name, _| format!("\"{name}\""), "0"));
        one(&heads[4 + at], &cases(&|_, ty| format!("\"{ty}\""), "0"));
        let mut lines: Vec<String> = Vec::new();
        for (position, (_, ty)) in side.iter().enumerate() {
            let pattern = patterns.iter().find(|(result, _)| at == 1 && *result == position);
            let numbers: Vec<String> = match pattern {
                // Rows, columns, where each column begins, and the rows of its entries.
                Some((_, pattern)) => {
                    let sizes = [pattern.columns(), pattern.rows()];
                    let all = sizes.iter().chain(pattern.row_offsets()).chain(pattern.column_indices());
                    all.map(usize::to_string).collect()
                }
                // Rows, columns, and 1 for a dense matrix.
                None => {
                    let columns = ty.shape.last().copied().unwrap_or(1);
                    let rows = ty.size().checked_div(columns).unwrap_or(0);
                    vec![columns.to_string(), rows.to_string(), "1".into()]
                }
            };
            let name = format!("pattern{position}");
            let (count, numbers) = (numbers.len(), numbers.join(", "));
            lines.push(format!("static const long long int {name}[{count}] = {{{numbers}}};"));
        }
        lines.push("switch (i) {".to_string());
        lines.extend((0..side.len()).map(|position| format!("case {position}: return pattern{position};")));
        lines.extend(["default: return 0;".to_string(), "}".to_string()]);
        one(&heads[6 + at], &lines);
    }
    let sizes = [("arg", arguments.len()), ("res", results.len()), ("iw", sz_iw), ("w", sz_w)];
    let mut lines: Vec<String> =
        sizes.iter().map(|(name, size)| format!("if (sz_{name}) *sz_{name} = {size};")).collect();
    lines.push("return 0;".into());
    one(&heads[8], &lines);
}
