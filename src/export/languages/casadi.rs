//! Functions for CasADi, with their derivatives.

use super::c_file::{CFile, CSource};
use super::c_interface::{CArray, CInterface};
use super::file_names::FileNames;
use super::{blocked, lowered, words};
use crate::derivative::{Function, program};
use crate::error::{Error, Result};
use crate::export::Program;
use crate::shape::{DType, Type};
use crate::source::c::C;
use crate::sparse::{Compressed, SparsityArray};
use crate::tensor::Family;
use crate::term::{Body, Graph, NodeId};

/// A staged function as source of C99 that CasADi calls and differentiates: its function `external` takes the compiled library.
///
/// The file has the function, `NAME`, with the interface of [`CSource`], and these, by which CasADi computes exact derivatives.
/// All arrays are parameters in each of them.
///
/// - `jac_NAME`: the Jacobian of each result by each parameter, sparse.
/// - `adj1_NAME`: the reverse derivative.
/// - `jac_adj1_NAME`: the Jacobian of that, in which CasADi finds Hessians, sparse.
/// - `fwd1_NAME`: the forward derivative, where it is [asked for](CasadiOptions::forward). Without it CasADi multiplies by the
///   Jacobian.
///
/// Each block of a Jacobian is found by its own [compression](crate::sparse::Compression), and computed only where CasADi wants
/// it. CasADi flattens matrices by columns, and arrays are row-major, so a matrix of m rows and n columns is one of n rows and m
/// columns there.
///
/// ```
/// use deltaray::export::CasadiOptions;
/// use deltaray::prelude::*;
///
/// #[differentiable]
/// fn residuals(x: Vector<f64>) -> Vector<f64> {
///     x[1..].powi(2) - x[..x.len() - 1]
/// }
///
/// let residuals = stage(residuals, &zeros(3))?;
/// let files = CasadiOptions::default().export(&residuals)?;
/// assert!(files.header.contains("int jac_adj1_residuals("));
/// // Two rows, three columns, where each column begins, and the rows of its entries.
/// assert!(files.source.contains("{2, 3, 0, 1, 3, 4, 0, 0, 1, 1}"));
/// # Ok::<(), deltaray::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct CasadiOptions {
    forward: bool,
    inline_math: bool,
}

/// A function of a file, of which there may be derivatives.
struct Derived {
    name: String,
    /// The names and types of its arguments, and the parameters of the program that they are: none of those without elements.
    arguments: Vec<(String, Type, Option<usize>)>,
    results: Vec<(String, Type)>,
    body: Body,
    /// Each of the first results is the derivative by one of the first arguments, so that so many blocks of the Jacobian make a
    /// symmetric matrix.
    symmetric: usize,
}

impl CasadiOptions {
    /// Whether `fwd1_NAME` is written too. CasADi then has the choice between it and products with the Jacobian, whose derivatives
    /// it lacks; its option `{"jac_penalty": -1}` of `external` says that it never takes the latter, as second derivatives of functions of one
    /// number need.
    pub fn forward(self, forward: bool) -> CasadiOptions {
        CasadiOptions { forward, ..self }
    }

    /// Whether elementary functions are written inline: see [`COptions::inline_math`](super::COptions::inline_math).
    pub fn inline_math(self, inline: bool) -> CasadiOptions {
        CasadiOptions { inline_math: inline, ..self }
    }

    /// The function and its derivatives as source of C.
    ///
    /// # Errors
    ///
    /// As [`c`](super::c), and when an array of the function is not of `f64`.
    #[track_caller]
    pub fn export<In: Family, Out: Family, First: Family>(
        self,
        function: &Function<In, Out, First>,
    ) -> Result<CSource> {
        let program = Program::from(function);
        let program = program.clone().with_name(valid_name(&program.name));
        let procedure = lowered(&program.body, "CasADi", blocked)?;
        let names = FileNames::new(&program, &words::c(), "f");
        let language = C { prefix: names.function.clone(), is_opencl: false, inline_math: self.inline_math };
        let function = Derived::new(&names, function.differentiable())?;
        let mut file = CFile::new(&language);
        file.program(&names, &program.body, &procedure, &[])?;
        function.write_jacobian(&mut file)?;
        let reverse = function.reverse()?;
        reverse.write(&mut file)?;
        reverse.write_jacobian(&mut file)?;
        if self.forward {
            function.forward()?.write(&mut file)?;
        }
        Ok(file.finish())
    }
}

/// The last results of a derivative's program, which are the derivatives.
fn derivatives(both: &Body, count: usize) -> Body {
    program::tidy(&both.with_results(&both.results()[both.results().len() - count..]))
}

impl Derived {
    fn new(names: &FileNames, body: &Body) -> Result<Derived> {
        let parameter = |(at, name): (usize, &String)| (name.clone(), body.parameter_type(at).clone(), Some(at));
        let arguments: Vec<_> = names.arguments.iter().enumerate().map(parameter).collect();
        let results: Vec<_> = names.results.iter().cloned().zip(body.result_types().cloned()).collect();
        let types = arguments.iter().map(|(name, ty, _)| (name, ty)).chain(results.iter().map(|(name, ty)| (name, ty)));
        for (name, ty) in types {
            if ty.dtype != DType::F64 {
                let problem = format!("{name} is {ty}, but all arrays of CasADi are of f64");
                return Err(Error::Export { target: "CasADi", operation: names.function.clone(), problem });
            }
        }
        Ok(Derived { name: names.function.clone(), arguments, results, body: body.clone(), symmetric: 0 })
    }

    /// The arguments of a derivative: those of the function, its results, of which no element is used, and others.
    fn arguments_with(&self, others: impl Iterator<Item = (String, Type)>) -> Vec<(String, Type, Option<usize>)> {
        let own = self.arguments.iter().cloned();
        let results = self.results.iter().map(|(name, ty)| (format!("out_{name}"), ty.clone(), None));
        let others = others.enumerate().map(|(at, (name, ty))| (name, ty, Some(self.body.arity() + at)));
        own.chain(results).chain(others).collect()
    }

    fn reverse(&self) -> Result<Derived> {
        let both = program::vjp(&self.body, self.body.arity())?;
        let seeds = self.results.iter().map(|(name, ty)| (format!("adj_{name}"), ty.clone()));
        Ok(Derived {
            name: format!("adj1_{}", self.name),
            arguments: self.arguments_with(seeds),
            results: self.arguments.iter().map(|(name, ty, _)| (format!("adj_{name}"), ty.clone())).collect(),
            body: derivatives(&both, self.body.arity()),
            symmetric: if self.body.has_rules() { 0 } else { self.body.arity() },
        })
    }

    fn forward(&self) -> Result<Derived> {
        let both = program::jvp(&self.body, self.body.arity())?;
        let seeds = self.arguments.iter().map(|(name, ty, _)| (format!("fwd_{name}"), ty.clone()));
        Ok(Derived {
            name: format!("fwd1_{}", self.name),
            arguments: self.arguments_with(seeds),
            results: self.results.iter().map(|(name, ty)| (format!("fwd_{name}"), ty.clone())).collect(),
            body: derivatives(&both, self.results.len()),
            symmetric: 0,
        })
    }

    /// The positions of the arguments that the program takes, in the order of its parameters.
    fn taken(&self) -> Vec<usize> {
        (0..self.arguments.len()).filter(|&at| self.arguments[at].2.is_some()).collect()
    }

    fn described(arguments: &[(String, Type, Option<usize>)]) -> Vec<CArray> {
        let array = |(name, ty, parameter): &(String, Type, Option<usize>)| match parameter {
            Some(_) => CArray::dense(name, ty),
            None => CArray::without_elements(name, ty),
        };
        arguments.iter().map(array).collect()
    }

    /// Writes the function.
    fn write(&self, file: &mut CFile<'_>) -> Result<()> {
        let results = self.results.iter().map(|(name, ty)| CArray::dense(name, ty)).collect();
        let interface = CInterface::new(&self.name, Derived::described(&self.arguments), results);
        let part = (self.body.without_marks(), self.taken(), (0..self.results.len()).collect());
        file.function(interface, vec![part])
    }

    /// Writes the function of its Jacobian, in blocks: those of the first result by all arguments, of the second, and so on.
    #[track_caller]
    fn write_jacobian(&self, file: &mut CFile<'_>) -> Result<()> {
        let arguments = self.arguments_with(std::iter::empty());
        let taken = self.taken();
        let (mut blocks, mut parts) = (Vec::new(), Vec::new());
        for (result, (of, ty)) in self.results.iter().enumerate() {
            for (by, own, parameter) in &self.arguments {
                let name = format!("jac_{of}_{by}");
                let found = match parameter {
                    Some(parameter) => self.block(result, *parameter)?.entries_by_columns(),
                    None => None,
                };
                let Some((pattern, entries)) = found else {
                    blocks.push(CArray::without_entries(&name, DType::F64, [own.size(), ty.size()]));
                    continue;
                };
                let parameter = parameter.expect("a block with entries");
                let order = first(parameter, taken.len()).map(|at| taken[at]).collect();
                parts.push((program::tidy(&entries.body.without_marks()), order, vec![blocks.len()]));
                blocks.push(CArray::sparse(&name, DType::F64, &pattern));
            }
        }
        let interface = CInterface::new(&format!("jac_{}", self.name), Derived::described(&arguments), blocks);
        file.function(interface, parts)
    }

    /// The derivative of a result by a parameter, which is the first of the program that finds it.
    #[track_caller]
    fn block(&self, result: usize, parameter: usize) -> Result<Compressed> {
        let count = self.body.arity();
        let order: Vec<usize> = first(parameter, count).collect();
        let types: Vec<Type> = order.iter().map(|&at| self.body.parameter_type(at).clone()).collect();
        let mut graph = Graph::new(&types, 0);
        let mut places = vec![0; count];
        order.iter().enumerate().for_each(|(place, &at)| places[at] = place as NodeId);
        let ids = graph.append(&self.body, places);
        let body = program::tidy(&graph.finish(&[ids[self.body.results[result] as usize]]));
        let unknown = types.into_iter().map(SparsityArray::unknown).collect();
        match result == parameter && result < self.symmetric {
            true => Compressed::hessian::<f64>(&body, 1, unknown),
            false => Compressed::jacobian::<f64>(&body, 1, unknown, None),
        }
    }
}

/// The nearest name that CasADi takes for a function: words between single `_`, and none of its own.
fn valid_name(name: &str) -> String {
    let words = name.split(|character: char| !character.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let name = words.collect::<Vec<&str>>().join("_");
    match &name[..] {
        "null" | "jac" | "hess" => format!("{name}_of_f"),
        _ => name,
    }
}

/// So many positions, but this one first.
fn first(first: usize, count: usize) -> impl Iterator<Item = usize> {
    std::iter::once(first).chain((0..count).filter(move |&at| at != first))
}
