//! Programs as functions on NumPy arrays: a package of C files, and of Python that compiles and calls them.

mod structure;

use self::structure::Structure;
use super::languages::{COptions, CSource};
use super::names::Identifiers;
use super::{Program, stablehlo};
use crate::derivative::{self, program};
use crate::error::{Error, Result};
use crate::shape::Type;
use crate::sparse::Pattern;
use crate::tensor::Family;
use crate::term::Body;
use std::path::Path;

/// Words that no name in Python may be, and names that the package needs itself.
const WORDS: &str = "\
    False None True and as assert async await break class continue def del elif else except finally for from global if \
    import in is lambda nonlocal not or pass raise return try while with yield match case type _ runtime library os functions folder derivatives with_derivatives jax xla foreign";

/// The Python that compiles functions and calls them, which is the same in all packages.
const RUNTIME: &str = include_str!("runtime.py");

/// The Python that makes operations of JAX of them, and the modules that have these.
const FOREIGN: &str = include_str!("foreign.py");
const JAX: &str = include_str!("jax.py");
const XLA_MODULE: &str = include_str!("xla.py");

/// Packages that this one imports, so that it can't have their names, and devices of Windows, which can't be folders.
const IMPORTED: &str = "\
    atexit ctypes functools hashlib inspect jax jaxlib numpy os pathlib platform scipy shlex shutil subprocess tempfile threading \
    aux con nul prn";

/// The C by which XLA calls them, but for their number.
const XLA: &str = include_str!("xla.c");

/// Derivatives of functions are exported up to this order.
const ORDERS: usize = 2;

/// A program as a package for Python with one function on NumPy arrays, under the program's name. See [`PythonPackage`].
///
/// # Errors
///
/// As [`c`](super::c) and [`stablehlo`](super::stablehlo).
pub fn python(program: impl Into<Program>) -> Result<PythonPackage> {
    let program = program.into();
    let name = if program.name.is_empty() { "f".to_string() } else { program.name.clone() };
    PythonPackage::new(name).function(program)
}

/// Programs as a package for Python: a folder whose functions take and give NumPy arrays.
///
/// The functions are C, which the package compiles with the machine's compiler when one is first called, and keeps in the
/// user's cache; for JAX they are StableHLO, too. It needs NumPy, SciPy for sparse results, and a C compiler: `cc`, `gcc` or `clang`, or the one that the
/// variable `CC` names, with the options `-O3 -march=native` or those of `CFLAGS`.
///
/// A function has the program's parameters, by position or name. Parts of trees have dots in their names: `params.w` is the
/// element `"w"` of the dictionary `params`, and parts that are numbered are those of a tuple. Results are structured in the
/// same way; the value and the gradient of `value_and_grad` are a pair. Arrays are converted where their elements stay what
/// they are; others are a `TypeError`, and other shapes a `ValueError`, which name the parameter.
///
/// ```
/// use deltaray::export::PythonPackage;
/// use deltaray::prelude::*;
///
/// #[differentiable]
/// fn loss(line: Vector<f64>, x: Vector<f64>, y: Vector<f64>) -> Scalar<f64> {
///     (line[0] * x + line[1] - y).powi(2).mean()
/// }
///
/// let loss = stage(loss {}.closure(), (&zeros(2), &zeros(4), &zeros(4)))?;
/// let package = PythonPackage::new("fit").function(&loss)?.function(&loss.value_and_grad()?)?;
/// let (name, text) = package.files().next().expect("a package has files");
/// assert_eq!(name, "__init__.py");
/// assert!(text.contains("def value_and_grad_loss(line, x, y):"));
/// # let folder = std::env::temp_dir().join(format!("deltaray-python-{}", std::process::id()));
/// package.write(&folder)?; // fit/__init__.py and others: `from fit import loss`
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), deltaray::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct PythonPackage {
    name: String,
    functions: Vec<Function>,
    /// The names of functions.
    taken: Identifiers,
    /// Functions, by their numbers, with those of their derivatives: forward, and its transpose.
    derivatives: Vec<[usize; 3]>,
    /// How functions are written.
    options: COptions,
}

/// A function of a package.
#[derive(Clone, Debug)]
struct Function {
    source: CSource,
    /// The function as a StableHLO module.
    module: String,
    /// The function's name in Python.
    name: String,
    /// The function whose derivative this is, which JAX alone calls.
    derivative_of: Option<String>,
    parameters: Vec<(String, Structure)>,
    arrays: Vec<Array>,
    result: Structure,
    results: Vec<Array>,
}

/// An array that a function takes or gives.
#[derive(Clone, Debug)]
struct Array {
    name: String,
    ty: Type,
    /// Of the entries of a sparse matrix: rows, columns, where rows begin, and the columns of entries.
    pattern: Option<String>,
}

impl PythonPackage {
    /// A package without functions, whose folder has this name, or the nearest one that Python can import.
    pub fn new(name: impl AsRef<str>) -> PythonPackage {
        PythonPackage {
            name: Identifiers::without(WORDS.split_whitespace().chain(IMPORTED.split_whitespace()))
                .choose(name.as_ref()),
            functions: Vec::new(),
            taken: words(),
            derivatives: Vec::new(),
            options: COptions::default(),
        }
    }

    /// Whether elementary functions are written inline in the C of functions that are added later: see
    /// [`COptions::inline_math`].
    pub fn inline_math(self, inline: bool) -> PythonPackage {
        PythonPackage { options: self.options.inline_math(inline), ..self }
    }

    /// The name of the package and its folder.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The package with a function more: a program under its name.
    ///
    /// # Errors
    ///
    /// As [`c`](super::c) and [`stablehlo`](super::stablehlo), and where the package has a function of that name.
    pub fn function(self, program: impl Into<Program>) -> Result<PythonPackage> {
        let program = program.into();
        let source = self.options.export(&program)?;
        self.with(&program, source, &[], None)
    }

    /// The package with a function more, and with its derivatives up to the second order, for the modules `jax` and `xla` of the
    /// package: there the function can be differentiated by JAX, forward and in reverse, with respect to any of its floats.
    /// `jax` has compiled C on the processor and StableHLO on other devices, `xla` StableHLO on all.
    ///
    /// ```
    /// use deltaray::export::PythonPackage;
    /// use deltaray::prelude::*;
    ///
    /// #[differentiable]
    /// fn loss(line: Vector<f64>, x: Vector<f64>, y: Vector<f64>) -> Scalar<f64> {
    ///     (line[0] * x + line[1] - y).powi(2).mean()
    /// }
    ///
    /// let loss = stage(loss {}.closure(), (&zeros(2), &zeros(4), &zeros(4)))?;
    /// let package = PythonPackage::new("fit").differentiable(&loss)?;
    /// assert!(package.files().any(|(name, _)| name == "jax.py"));
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`PythonPackage::function`] and [`program::vjp`](crate::derivative::program::vjp).
    pub fn differentiable<In: Family, Out: Family, First: Family>(
        self,
        function: &derivative::Function<In, Out, First>,
    ) -> Result<PythonPackage> {
        let program = Program::from(function);
        let name = if program.name.is_empty() { "f".to_string() } else { program.name.clone() };
        let mut package = self.function(program.with_name(&name))?;
        let mut programs = vec![(package.functions.len() - 1, name, function.differentiable().clone())];
        for _ in 0..ORDERS {
            let mut next = Vec::new();
            for (at, name, body) in programs {
                // Their last results are the derivatives; values are known without them.
                let last = |both: Body, count: usize| {
                    let results = &both.results()[both.results().len() - count..];
                    program::tidy(&both.with_results(results))
                };
                let forward = last(program::jvp(&body, body.arity())?, body.results().len());
                let reverse = last(program::vjp(&body, body.arity())?, body.arity());
                let first = package.functions.len();
                package.derivatives.push([at, first, first + 1]);
                for (end, body) in [("jvp", forward), ("vjp", reverse)] {
                    let own = format!("{name}_{end}");
                    let program = Program::new(&own[..], body.without_marks());
                    let source = package.options.export(&program)?;
                    package = package.with(&program, source, &[], Some(name.clone()))?;
                    next.push((package.functions.len() - 1, own, body));
                }
            }
            programs = next;
        }
        Ok(package)
    }

    /// The package with a function more, some of whose results, by position, are the entries of sparse matrices: its results
    /// are arrays of SciPy's class `csr_array`.
    ///
    /// ```
    /// use deltaray::export::PythonPackage;
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
    /// let package = PythonPackage::new("chain").sparse_function(program, &[(0, jacobian.pattern())])?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`PythonPackage::function`] and [`CSource::with_sparsity`].
    pub fn sparse_function(self, program: impl Into<Program>, patterns: &[(usize, &Pattern)]) -> Result<PythonPackage> {
        let program = program.into();
        let source = self.options.with_sparsity(&program, patterns)?;
        self.with(&program, source, patterns, None)
    }

    fn with(
        mut self,
        program: &Program,
        source: CSource,
        patterns: &[(usize, &Pattern)],
        derivative_of: Option<String>,
    ) -> Result<PythonPackage> {
        // Files are told apart by systems that take capital and small letters for the same, too.
        let is_same = |other: &Function| other.source.name.eq_ignore_ascii_case(&source.name);
        if let Some(other) = self.functions.iter().find(|other| is_same(other)) {
            let described = |name: &str, of: &Option<String>| match of {
                Some(of) => format!("the derivative {name} of {of}"),
                None => format!("the function {name}"),
            };
            let first = described(&other.source.name, &other.derivative_of);
            let second = described(&source.name, &derivative_of);
            let hint = "`Program::with_name` gives a function another name";
            let problem = format!("package {} has {first}, and can't have {second} too: {hint}", self.name);
            return Err(Error::Export { target: "Python", operation: source.name.clone(), problem });
        }
        let body = &program.body;
        let arrays = (0..body.arity()).map(|at| (body.parameter_type(at), None));
        let (top, arrays) = (Structure::of(&program.parameters, body.arity(), "p"), named(&program.parameters, arrays));
        let mut taken = words();
        let parameters = top.into_parts().into_iter().map(|(name, part)| (taken.choose(&name), part)).collect();
        let pattern =
            |at: usize| patterns.iter().find(|(result, _)| *result == at).map(|(_, pattern)| numbers(pattern));
        let results = body.result_types().enumerate().map(|(at, ty)| (ty, pattern(at)));
        let (result, results) =
            (Structure::of_results(&program.results, body.results.len()), named(&program.results, results));
        let name = self.taken.choose(if program.name.is_empty() { &source.name } else { &program.name });
        let module = stablehlo(program)?;
        self.functions.push(Function { source, module, name, derivative_of, parameters, arrays, result, results });
        Ok(self)
    }

    /// The names of the package's files, and what they contain.
    pub fn files(&self) -> impl Iterator<Item = (String, String)> + '_ {
        let handlers: String = (0..self.functions.len()).map(|at| format!("HANDLER({at})\n")).collect();
        let calls = format!("#define COUNT {}\n\n{XLA}\n{handlers}", self.functions.len());
        let own = [
            ("__init__.py", self.init()),
            ("runtime.py", RUNTIME.to_string()),
            ("foreign.py", FOREIGN.to_string()),
            ("jax.py", JAX.to_string()),
            ("xla.py", XLA_MODULE.to_string()),
            ("xla-calls.c", calls),
        ]
        .map(|(name, text)| (name.to_string(), text));
        own.into_iter().chain(self.functions.iter().flat_map(Function::files))
    }

    /// Writes the package into a folder of its name in this folder, which need not exist.
    ///
    /// # Errors
    ///
    /// When a file can't be written.
    pub fn write(&self, folder: impl AsRef<Path>) -> Result<()> {
        let folder = folder.as_ref().join(&self.name);
        let failed = |path: &Path, error: std::io::Error| Error::File {
            path: path.display().to_string(),
            problem: error.to_string(),
        };
        std::fs::create_dir_all(&folder).map_err(|error| failed(&folder, error))?;
        for (name, text) in self.files() {
            let path = folder.join(name);
            std::fs::write(&path, text).map_err(|error| failed(&path, error))?;
        }
        Ok(())
    }

    /// The package's functions, as Python.
    fn init(&self) -> String {
        let names = |functions: &[&Function]| list(functions.iter().map(|function| quoted(&function.source.name)));
        let (shown, hidden): (Vec<&Function>, Vec<&Function>) =
            self.functions.iter().partition(|function| function.derivative_of.is_none());
        let mut text = format!(
            "\"\"\"{}: functions on NumPy arrays, exported by deltaray.\"\"\"\n\nimport os as _os\n\n\
             from . import runtime as _runtime\n\n\
             _folder = _os.path.dirname(_os.path.abspath(__file__))\n\
             _library = _runtime.Library(_folder, {})\n\
             _functions = {{}}\n",
            self.name,
            names(&shown)
        );
        for function in &shown {
            text += &function.text();
        }
        // Derivatives, which JAX alone calls, are a library of their own.
        text += "\n\ndef _with_derivatives():\n    \"\"\"All functions, in the order of their numbers.\"\"\"\n";
        if !hidden.is_empty() {
            text += &format!("    library = _runtime.Library(_folder, {})\n", names(&hidden));
        }
        text += "    return [\n";
        for function in &self.functions {
            text += &match function.derivative_of {
                None => format!("        _functions[{}],\n", quoted(&function.name)),
                Some(_) => format!("        {},\n", function.described("library", "        ")),
            };
        }
        let derivatives = self.derivatives.iter().map(|[at, forward, reverse]| format!("({at}, {forward}, {reverse})"));
        text += &format!("    ]\n\n\n_derivatives = {}\n", list(derivatives));
        text + &format!("__all__ = {}\n", list(shown.iter().map(|function| quoted(&function.name))))
    }
}

impl Function {
    /// Its files: the program in two languages, and the patterns of sparse results.
    fn files(&self) -> Vec<(String, String)> {
        let CSource { name, header, source, .. } = &self.source;
        let programs = [(".c", source), (".h", header), (".mlir", &self.module)];
        let programs = programs.map(|(end, text)| (format!("{name}{end}"), text.clone()));
        let patterns = self
            .results
            .iter()
            .enumerate()
            .filter_map(|(at, result)| Some((format!("{name}-pattern-{at}.txt"), result.pattern.clone()?)));
        programs.into_iter().chain(patterns).collect()
    }

    /// The function, with its documentation, and the description by which it is called.
    fn text(&self) -> String {
        let names: Vec<&str> = self.parameters.iter().map(|(name, _)| &name[..]).collect();
        let (name, names) = (&self.name, names.join(", "));
        let mut text = format!("\n\ndef {name}({names}):\n    \"\"\"The program {name}.\n");
        for (heading, arrays) in [("Parameters", &self.arrays), ("Returns", &self.results)] {
            let width = "-".repeat(heading.len());
            text += &format!("\n    {heading}\n    {width}\n");
            for array in arrays {
                text += &format!("    {}\n", array.documented());
            }
        }
        text += &format!("    \"\"\"\n    return _{name}({names})\n\n\n");
        text += &format!("_{name} = _functions[{}] = {}\n", quoted(name), self.described("_library", ""));
        text + &format!("_{name}.documentation = {name}.__doc__\n")
    }

    /// The description by which it is called, of a library.
    fn described(&self, library: &str, indentation: &str) -> String {
        let parameters = list(self.parameters.iter().map(|(name, part)| format!("({}, {part})", quoted(name))));
        let [arrays, results] = [&self.arrays, &self.results].map(|arrays| list(arrays.iter().map(Array::described)));
        let (name, result) = (quoted(&self.source.name), self.result.to_string());
        let parts = [library, &name, &parameters, &arrays, &result, &results];
        let lines: String = parts.iter().map(|part| format!("{indentation}    {part},\n")).collect();
        format!("_runtime.Function(\n{lines}{indentation})")
    }
}

impl Array {
    fn documented(&self) -> String {
        let name: String = self.name.chars().filter(|character| !character.is_control()).collect();
        let name = name.replace(['\\', '"'], "_");
        let Some(pattern) = &self.pattern else { return format!("{name} : {}", self.ty) };
        let sizes: Vec<&str> = pattern.split(' ').take(2).collect();
        format!("{name} : {}[{}], sparse, {} entries", self.ty.dtype, sizes.join(", "), self.ty.size())
    }

    /// A name, an element type, and a shape, but of sparse matrices.
    fn described(&self) -> String {
        let shape: Vec<String> = self.ty.shape.iter().map(|extent| format!("{extent},")).collect();
        let shape = if self.pattern.is_some() { "None".into() } else { format!("({})", shape.join(" ")) };
        format!("({}, \"{}\", {shape})", quoted(&self.name), self.ty.dtype)
    }
}

fn words() -> Identifiers {
    Identifiers::without(WORDS.split_whitespace())
}

/// Arrays under their names, or else their numbers.
fn named<'t>(names: &[String], types: impl Iterator<Item = (&'t Type, Option<String>)>) -> Vec<Array> {
    let name = |at: usize| names.get(at).filter(|name| !name.is_empty()).cloned().unwrap_or_else(|| at.to_string());
    types.enumerate().map(|(at, (ty, pattern))| Array { name: name(at), ty: ty.clone(), pattern }).collect()
}

/// A pattern as the package's runtime reads it.
fn numbers(pattern: &Pattern) -> String {
    let sizes = [pattern.rows(), pattern.columns()];
    let numbers = sizes.iter().chain(pattern.row_offsets()).chain(pattern.column_indices());
    numbers.map(usize::to_string).collect::<Vec<String>>().join(" ") + "\n"
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<String>>().join(", "))
}

/// A text as Python's, in ASCII.
fn quoted(text: &str) -> String {
    let mut result = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => result.extend(['\\', character]),
            ' '..='~' => result.push(character),
            _ => result += &format!("\\U{:08x}", u32::from(character)),
        }
    }
    result + "\""
}
