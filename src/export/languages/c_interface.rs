//! The interface of C files: the same as that of CasADi's functions.

use super::counted;
use super::file_names::FileNames;
use crate::shape::{DType, Type};
use crate::source::c::C;
use crate::source::language::Language;
use crate::source::text::Text;
use crate::sparse::Pattern;
use crate::term::Body;

/// The heads of a file's functions, and the comments about them.
pub(super) struct CInterface<'p> {
    name: &'p str,
    arguments: Vec<(&'p String, &'p Type)>,
    results: Vec<(&'p String, &'p Type)>,
    /// Whether all arrays are of `double`: then pointers to them say so.
    all_double: bool,
    /// The function with an argument for each array.
    pub(super) arrays: String,
    /// The function that takes pointers to pointers.
    general: String,
    /// The functions that describe the arguments of these.
    queries: [String; 9],
}

/// The declaration of an array parameter.
fn array(language: &C, dtype: DType, name: &str, writes: bool) -> String {
    let constant = if writes { "" } else { "const " };
    format!("{constant}{} *{name}", language.dtype(dtype))
}

/// How many elements of `w` or `iw` so many of a type take.
pub(super) fn cells(dtype: DType, count: usize) -> usize {
    (count * dtype.bytes()).div_ceil(8)
}

impl<'p> CInterface<'p> {
    /// The interface of a program under these names.
    pub(super) fn new(language: &C, names: &'p FileNames, body: &'p Body) -> CInterface<'p> {
        let name = &names.function;
        let arguments: Vec<(&String, &Type)> =
            names.arguments.iter().zip((0..body.arity()).map(|at| body.parameter_type(at))).collect();
        let results: Vec<(&String, &Type)> = names.results.iter().zip(body.result_types()).collect();
        let all_double = arguments.iter().chain(&results).all(|(_, ty)| ty.dtype == DType::F64);
        let element = if all_double { "double" } else { "void" };

        let mut parameters: Vec<String> =
            arguments.iter().map(|(name, ty)| array(language, ty.dtype, name, false)).collect();
        parameters.extend(results.iter().map(|(name, ty)| array(language, ty.dtype, name, true)));
        parameters.push("long long int *iw".into());
        parameters.push("double *w".into());
        let arrays = format!("int {name}_arrays({})", parameters.join(", "));
        let general =
            format!("int {name}(const {element} **arg, {element} **res, long long int *iw, double *w, int mem)");
        let queries = [
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
        CInterface { name, arguments, results, all_double, arrays, general, queries }
    }

    /// The content of the header.
    pub(super) fn header(&self) -> Text {
        let mut header = Text::default();
        let name = self.name;
        let guard = format!("{}_H", name.to_uppercase());
        header.line(format!("/* {}, a program exported by deltaray: arrays are row-major.", name));
        header.line(" *");
        for (name, ty) in &self.arguments {
            header.line(format!(" * {name}: {ty}, {}", counted(ty)));
        }
        for (name, ty) in &self.results {
            header.line(format!(" * {name}, a result: {ty}, {}", counted(ty)));
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
        let declarations = [&self.arrays, &self.general].into_iter().chain(&self.queries);
        declarations.for_each(|declaration| header.line(format!("{declaration};")));
        header.line("");
        header.line("#ifdef __cplusplus");
        header.line("}");
        header.line("#endif");
        header.line("");
        header.line("#endif");
        header
    }

    /// Writes the functions beside that with an argument for each array, whose own memory is so many elements of `w` and of
    /// `iw`.
    pub(super) fn functions(
        &self,
        source: &mut Text,
        language: &C,
        patterns: &[(usize, &Pattern)],
        mut behind: [usize; 2],
    ) {
        // Unwanted results are written to memory after the function's own.
        source.open(&self.general);
        source.lines(["(void)arg;", "(void)res;", "(void)mem;"]);
        let mut passed: Vec<String> = (0..self.arguments.len()).map(|at| format!("arg[{at}]")).collect();
        for (at, (_, ty)) in self.results.iter().enumerate() {
            let (from, start) = if ty.dtype.is_float() { ("w", 0) } else { ("iw", 1) };
            let other = format!("({} *)(void *)({from} + {})", language.dtype(ty.dtype), behind[start]);
            behind[start] += cells(ty.dtype, ty.size());
            let cast = if self.all_double { String::new() } else { format!("({} *)", language.dtype(ty.dtype)) };
            passed.push(format!("res[{at}] ? {cast}res[{at}] : {other}"));
        }
        passed.extend(["iw".to_string(), "w".to_string()]);
        source.line(format!("return {}_arrays({});", self.name, passed.join(", ")));
        source.close();
        source.line("");
        self.queries(source, patterns, [behind[1], behind[0]]);
    }

    /// The functions that describe a function's arguments and results.
    fn queries(&self, source: &mut Text, patterns: &[(usize, &Pattern)], [sz_iw, sz_w]: [usize; 2]) {
        let mut one = |head: &String, lines: &[String]| {
            source.open(head);
            source.lines(lines);
            source.close();
            source.line("");
        };
        one(&self.queries[0], &[format!("return {};", self.arguments.len())]);
        one(&self.queries[1], &[format!("return {};", self.results.len())]);
        let sides = [&self.arguments, &self.results];
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
            one(&self.queries[2 + at], &cases(&|name, _| format!("\"{name}\""), "0"));
            one(&self.queries[4 + at], &cases(&|_, ty| format!("\"{ty}\""), "0"));
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
            one(&self.queries[6 + at], &lines);
        }
        let sizes = [("arg", self.arguments.len()), ("res", self.results.len()), ("iw", sz_iw), ("w", sz_w)];
        let mut lines: Vec<String> =
            sizes.iter().map(|(name, size)| format!("if (sz_{name}) *sz_{name} = {size};")).collect();
        lines.push("return 0;".into());
        one(&self.queries[8], &lines);
    }
}
