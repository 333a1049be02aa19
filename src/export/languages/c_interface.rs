//! The interface of C files: the same as that of CasADi's functions.

use super::counted;
use crate::export::names::Identifiers;
use crate::shape::{DType, Type};
use crate::source::c::C;
use crate::source::language::Language;
use crate::source::procedure::WrittenFunction;
use crate::source::text::Text;
use crate::sparse::Pattern;

/// An array that a function takes or gives.
pub(super) struct CArray {
    pub(super) name: String,
    pub(super) ty: Type,
    /// Rows, columns, and 1 where all elements are there, or else where columns begin, and the rows of entries.
    sparsity: Vec<usize>,
}

impl CArray {
    /// An array with all elements, which are row-major, so that the matrix is described as its transpose.
    pub(super) fn dense(name: &str, ty: &Type) -> CArray {
        let [rows, columns] = sizes(ty);
        CArray { name: name.to_string(), ty: ty.clone(), sparsity: vec![columns, rows, 1] }
    }

    /// An array of this shape without elements.
    pub(super) fn without_elements(name: &str, ty: &Type) -> CArray {
        CArray::without_entries(name, ty.dtype, sizes(ty))
    }

    /// A matrix of so many rows and columns without entries, either of which may be none.
    pub(super) fn without_entries(name: &str, dtype: DType, [rows, columns]: [usize; 2]) -> CArray {
        let mut sparsity = vec![columns, rows];
        sparsity.resize(3 + rows, 0);
        CArray { name: name.to_string(), ty: Type::new(dtype, &[0]), sparsity }
    }

    /// The entries of a matrix whose columns are the rows of the pattern.
    pub(super) fn sparse(name: &str, dtype: DType, pattern: &Pattern) -> CArray {
        let sizes = [pattern.columns(), pattern.rows()];
        let all = sizes.iter().chain(pattern.row_offsets()).chain(pattern.column_indices());
        CArray { name: name.to_string(), ty: Type::new(dtype, &[pattern.nonzeros()]), sparsity: all.copied().collect() }
    }
}

/// The rows and columns of an array: the rows of a matrix are all axes but the last.
fn sizes(ty: &Type) -> [usize; 2] {
    let columns = ty.shape.last().copied().unwrap_or(1);
    [ty.size().checked_div(columns).unwrap_or(0), columns]
}

/// Some results of a function, and the function inside of the file that computes them.
pub(super) struct CPart {
    /// The positions of the arguments that it takes.
    pub(super) arguments: Vec<usize>,
    /// The positions of its results.
    pub(super) results: Vec<usize>,
    /// The function.
    pub(super) run: WrittenFunction,
}

/// The heads of a function and of those that describe it, and the comments about them.
pub(super) struct CInterface {
    pub(super) name: String,
    pub(super) arguments: Vec<CArray>,
    pub(super) results: Vec<CArray>,
    /// Whether all arrays are of `double`: then pointers to them say so.
    all_double: bool,
}

/// How many elements of `w` or `iw` so many of a type take.
pub(super) fn cells(dtype: DType, count: usize) -> usize {
    (count * dtype.bytes()).div_ceil(8)
}

/// Memory of a function's own, of which parts have been given away: floats are in `w`, other types in `iw`.
#[derive(Clone, Copy, Default)]
pub(super) struct CMemory {
    w: usize,
    iw: usize,
}

impl CMemory {
    /// A pointer to so many elements more.
    fn take(&mut self, language: &C, dtype: DType, count: usize) -> String {
        let (from, start) = if dtype.is_float() { ("w", &mut self.w) } else { ("iw", &mut self.iw) };
        let place = match dtype {
            DType::F64 => format!("{from} + {start}"),
            // `long long` may be another type than `int64_t` of the same width.
            _ => format!("({} *)(void *)({from} + {start})", language.dtype(dtype)),
        };
        *start += cells(dtype, count);
        place
    }

    /// As much as either needs.
    fn most(self, other: CMemory) -> CMemory {
        CMemory { w: self.w.max(other.w), iw: self.iw.max(other.iw) }
    }
}

impl CInterface {
    /// A function of these arrays. CasADi refuses two of the same name, and names are made of others here, so some get a number.
    pub(super) fn new(name: &str, mut arguments: Vec<CArray>, mut results: Vec<CArray>) -> CInterface {
        let all_double = arguments.iter().chain(&results).all(|array| array.ty.dtype == DType::F64);
        let mut taken = Identifiers::default();
        arguments.iter_mut().chain(&mut results).for_each(|array| array.name = taken.choose(&array.name));
        CInterface { name: name.to_string(), arguments, results, all_double }
    }

    /// The head of the function that takes pointers to pointers.
    fn general(&self) -> String {
        let element = if self.all_double { "double" } else { "void" };
        let name = &self.name;
        format!("int {name}(const {element} **arg, {element} **res, long long int *iw, double *w, int mem)")
    }

    /// The head of the function with an argument for each array.
    fn of_arrays(&self, language: &C) -> String {
        let array = |array: &CArray, constant| format!("{constant}{} *{}", language.dtype(array.ty.dtype), array.name);
        let arguments = self.arguments.iter().map(|argument| array(argument, "const "));
        let mut parameters: Vec<String> =
            arguments.chain(self.results.iter().map(|result| array(result, ""))).collect();
        parameters.extend(["long long int *iw".to_string(), "double *w".to_string()]);
        format!("int {}_arrays({})", self.name, parameters.join(", "))
    }

    /// The heads of the functions that describe it.
    fn queries(&self) -> [String; 13] {
        let name = &self.name;
        [
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
            format!("int {name}_checkout(void)"),
            format!("void {name}_release(int mem)"),
            format!("void {name}_incref(void)"),
            format!("void {name}_decref(void)"),
        ]
    }

    /// The comment about the function in the header.
    pub(super) fn comment(&self, header: &mut Text) {
        header.line(format!("/* {}, a program exported by deltaray: arrays are row-major.", self.name));
        header.line(" *");
        for CArray { name, ty, .. } in &self.arguments {
            header.line(format!(" * {name}: {ty}, {}", counted(ty)));
        }
        for CArray { name, ty, .. } in &self.results {
            header.line(format!(" * {name}, a result: {ty}, {}", counted(ty)));
        }
        let name = &self.name;
        header.line(" *");
        header.lines([
            format!(" * {name} takes pointers to the parameters in arg, and to the results in res, in this order; a null pointer"),
            " * in arg is for zeros, one in res says that a result is not wanted, and mem is ignored.".to_string(),
            format!(" * {name}_arrays does the same with an argument for each array, none of which is null."),
            format!(" * iw and w are memory of the function's own, as many elements as {name}_work says, whose values don't"),
            " * matter. Both return 0, or 1 where a loop had more steps than there is memory to go back over.".to_string(),
            format!(" * {name}_sparsity_in and {name}_sparsity_out describe matrices as their transposes, since CasADi counts by"),
            " * columns: rows, columns, and 1 where all elements are there, or else where columns begin, and the rows of".to_string(),
            " * entries. */".to_string(),
        ]);
    }

    /// The declarations of the functions that all programs have.
    pub(super) fn declare(&self, header: &mut Text) {
        header.line(format!("{};", self.general()));
        self.queries().iter().for_each(|declaration| header.line(format!("{declaration};")));
    }

    /// The declaration of the function with an argument for each array.
    pub(super) fn declare_of_arrays(&self, language: &C, header: &mut Text) {
        header.line(format!("{};", self.of_arrays(language)));
    }

    /// Writes the function with an argument for each array, which calls that of the file.
    pub(super) fn write_of_arrays(&self, source: &mut Text, language: &C, run: &WrittenFunction) {
        source.open(self.of_arrays(language));
        source.lines(["(void)iw;", "(void)w;"]);
        let mut memory = CMemory::default();
        let mut passed: Vec<String> =
            self.arguments.iter().chain(&self.results).map(|array| array.name.clone()).collect();
        passed.extend(run.scratch().map(|(dtype, count)| memory.take(language, dtype, count)));
        let call = language.call(&run.name, &passed);
        match run.fails {
            true => source.line(format!("return {call} ? 0 : 1;")),
            false => source.lines([format!("{call};"), "return 0;".to_string()]),
        }
        source.close();
        source.line("");
    }

    /// Writes the function that takes pointers to pointers, of parts none of which is computed unless one of its results is
    /// wanted, and those that describe it. `zeros` are as many as the largest argument has elements of any type.
    pub(super) fn write(&self, source: &mut Text, language: &C, parts: &[CPart], zeros: &str) {
        source.open(self.general());
        source.lines(["(void)arg;", "(void)res;", "(void)iw;", "(void)w;", "(void)mem;"]);
        let mut most = CMemory::default();
        for part in parts.iter().filter(|part| !part.results.is_empty()) {
            let mut memory = CMemory::default();
            let own: Vec<String> =
                part.run.scratch().map(|(dtype, count)| memory.take(language, dtype, count)).collect();
            let mut passed: Vec<String> = part.arguments.iter().map(|&at| self.argument(language, at, zeros)).collect();
            passed
                .extend(part.results.iter().map(|&at| self.result(language, at, &mut memory, part.results.len() == 1)));
            passed.extend(own);
            let wanted: Vec<String> = part.results.iter().map(|at| format!("res[{at}]")).collect();
            source.open(format!("if ({})", wanted.join(" || ")));
            let call = language.call(&part.run.name, &passed);
            source.line(if part.run.fails { format!("if (!{call}) return 1;") } else { format!("{call};") });
            source.close();
            most = most.most(memory);
        }
        source.line("return 0;");
        source.close();
        source.line("");
        self.describe(source, most);
    }

    /// An argument of a part: a null pointer is for zeros.
    fn argument(&self, language: &C, at: usize, zeros: &str) -> String {
        let cast = match self.all_double {
            true => String::new(),
            false => format!("(const {} *)", language.dtype(self.arguments[at].ty.dtype)),
        };
        let of_zeros = if self.all_double { zeros.to_string() } else { format!("(const void *){zeros}") };
        format!("{cast}(arg[{at}] ? arg[{at}] : {of_zeros})")
    }

    /// A result of a part, which is written to memory where it is not wanted, but others are.
    fn result(&self, language: &C, at: usize, memory: &mut CMemory, is_wanted: bool) -> String {
        let ty = &self.results[at].ty;
        let cast = if self.all_double { String::new() } else { format!("({} *)", language.dtype(ty.dtype)) };
        if is_wanted {
            return format!("{cast}res[{at}]");
        }
        let other = memory.take(language, ty.dtype, ty.size());
        format!("res[{at}] ? {cast}res[{at}] : {other}")
    }

    /// Writes the functions that describe the arguments and results.
    fn describe(&self, source: &mut Text, memory: CMemory) {
        let queries = self.queries();
        let mut one = |head: &String, lines: &[String]| {
            source.open(head);
            source.lines(lines);
            source.close();
            source.line("");
        };
        let sides = [&self.arguments, &self.results];
        for (at, side) in sides.iter().enumerate() {
            one(&queries[at], &[format!("return {};", side.len())]);
            let cases = |text: &dyn Fn(usize, &CArray) -> String| {
                let mut lines = vec!["switch (i) {".to_string()];
                lines.extend(
                    side.iter().enumerate().map(|(at, array)| format!("case {at}: return {};", text(at, array))),
                );
                lines.extend(["default: return 0;".to_string(), "}".to_string()]);
                lines
            };
            one(&queries[2 + at], &cases(&|_, array| format!("\"{}\"", array.name)));
            one(&queries[4 + at], &cases(&|_, array| format!("\"{}\"", array.ty)));
            let mut lines: Vec<String> = side.iter().enumerate().map(|(at, array)| pattern(at, array)).collect();
            lines.extend(cases(&|at, _| format!("pattern{at}")));
            one(&queries[6 + at], &lines);
        }
        let sizes = [("arg", self.arguments.len()), ("res", self.results.len()), ("iw", memory.iw), ("w", memory.w)];
        let mut lines: Vec<String> =
            sizes.iter().map(|(name, size)| format!("if (sz_{name}) *sz_{name} = {size};")).collect();
        lines.push("return 0;".into());
        one(&queries[8], &lines);
        // There is nothing to set up for a call, and nothing to count.
        one(&queries[9], &["return 0;".into()]);
        one(&queries[10], &["(void)mem;".into()]);
        one(&queries[11], &[]);
        one(&queries[12], &[]);
    }
}

/// The declaration of an array's description; C adds zeros at its end.
fn pattern(at: usize, array: &CArray) -> String {
    let count = array.sparsity.len();
    let zeros = array.sparsity.iter().rev().take_while(|&&number| number == 0).count().min(count - 1);
    let numbers: Vec<String> = array.sparsity[..count - zeros].iter().map(usize::to_string).collect();
    format!("static const long long int pattern{at}[{count}] = {{{}}};", numbers.join(", "))
}
