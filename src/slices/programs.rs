//! The programs of a function over slices, each made and compiled when it is first asked for.

use crate::array::Array;
use crate::derivative::program;
use crate::engine::cpu::{CompiledAtFirstCall, Cpu, Program};
use crate::error::{Error, Result};
use crate::shape::Type;
use crate::sparse::{Compressed, Pattern, SparsityArray};
use crate::tensor::{Float, Outline};
use crate::term::Body;
use std::panic::Location;
use std::sync::{Arc, OnceLock};

/// The programs of a function, by their results.
pub(super) struct Programs {
    /// In the form that derivatives are taken of.
    pub(super) body: Arc<Body>,
    /// The number of the first argument's arrays.
    pub(super) active: usize,
    /// The outline of the data.
    pub(super) outline: Outline,
    /// For each array of the data its elements, if they are fixed.
    pub(super) fixed: Vec<Option<Array>>,
    options: Cpu,
    results: CompiledAtFirstCall,
    gradient: CompiledAtFirstCall,
    jvp: CompiledAtFirstCall,
    vjp: CompiledAtFirstCall,
    hvp: CompiledAtFirstCall,
    jacobian: OnceLock<MatrixProgram>,
    hessian: OnceLock<MatrixProgram>,
}

/// A sparse matrix: the pattern, and the program of its entries unless there are none.
pub(super) struct MatrixProgram {
    pub(super) pattern: Arc<Pattern>,
    pub(super) entries: Option<Program>,
}

impl Programs {
    pub(super) fn new(
        body: Arc<Body>,
        active: usize,
        outline: Outline,
        fixed: Vec<Option<Array>>,
        options: Cpu,
    ) -> Programs {
        let [results, gradient, jvp, vjp, hvp] = Default::default();
        let (jacobian, hessian) = Default::default();
        Programs { body, active, outline, fixed, options, results, gradient, jvp, vjp, hvp, jacobian, hessian }
    }

    pub(super) fn size_of_arguments(&self) -> usize {
        parameter_types(&self.body, 0..self.active).map(Type::size).sum()
    }

    pub(super) fn size_of_results(&self) -> usize {
        self.body.result_types().map(Type::size).sum()
    }

    /// Checks that the function results in one number.
    pub(super) fn check_loss(&self, operation: &str, place: &Location<'_>) -> Result<()> {
        let mut types = self.body.result_types();
        match (types.next(), types.next()) {
            (Some(ty), None) if ty.rank() == 0 => Ok(()),
            _ => {
                let types: Vec<&Type> = self.body.result_types().collect();
                let problem = format!("the function must result in one float without axes, but results in {types:?}");
                Err(Error::operands(operation, problem, place))
            }
        }
    }

    #[track_caller]
    pub(super) fn results(&self) -> Result<&Program> {
        self.results.get(&self.options, || Ok(as_it_runs(&self.body)))
    }

    #[track_caller]
    pub(super) fn gradient(&self) -> Result<&Program> {
        let body = || Ok(as_it_runs(&program::value_and_gradient(&self.body, self.active)?));
        self.gradient.get(&self.options, body)
    }

    #[track_caller]
    pub(super) fn jvp(&self) -> Result<&Program> {
        self.jvp.get(&self.options, || after(program::jvp(&self.body, self.active)?, self.body.results.len()))
    }

    #[track_caller]
    pub(super) fn vjp(&self) -> Result<&Program> {
        self.vjp.get(&self.options, || after(program::vjp(&self.body, self.active)?, self.body.results.len()))
    }

    #[track_caller]
    pub(super) fn hvp(&self) -> Result<&Program> {
        self.hvp.get(&self.options, || after(program::jvp(&self.gradient_body()?, self.active)?, self.active))
    }

    /// The gradient alone, in the form that derivatives are taken of.
    #[track_caller]
    fn gradient_body(&self) -> Result<Body> {
        Ok(program::tidy(&program::value_and_gradient(&self.body, self.active)?.with_results_from(1)))
    }

    /// The parameters as far as a pattern may depend on them.
    fn known(&self) -> Vec<SparsityArray> {
        let types = parameter_types(&self.body, 0..self.body.parameters);
        let fixed = std::iter::repeat_n(&None, self.active).chain(&self.fixed);
        let of = |(ty, fixed): (&Type, &Option<Array>)| match fixed {
            Some(array) => SparsityArray::known(array.clone()),
            None => SparsityArray::unknown(ty.clone()),
        };
        types.zip(fixed).map(of).collect()
    }

    #[track_caller]
    fn matrix<'a>(
        &'a self,
        kept: &'a OnceLock<MatrixProgram>,
        compressed: impl FnOnce() -> Result<Compressed>,
    ) -> Result<&'a MatrixProgram> {
        if let Some(matrix) = kept.get() {
            return Ok(matrix);
        }
        let compressed = compressed()?;
        let entries = match compressed.entries() {
            Some(entries) => Some(Program::new(&as_it_runs(&entries.body), &self.options)?),
            None => None,
        };
        Ok(kept.get_or_init(|| MatrixProgram { pattern: compressed.pattern().clone(), entries }))
    }

    #[track_caller]
    pub(super) fn jacobian<E: Float>(&self) -> Result<&MatrixProgram> {
        self.matrix(&self.jacobian, || Compressed::jacobian::<E>(&self.body, self.active, self.known(), None))
    }

    #[track_caller]
    pub(super) fn hessian<E: Float>(&self) -> Result<&MatrixProgram> {
        let compressed = || {
            let gradient = self.gradient_body()?;
            match self.body.has_rules() {
                true => Compressed::jacobian::<E>(&gradient, self.active, self.known(), None),
                false => Compressed::hessian::<E>(&gradient, self.active, self.known()),
            }
        };
        self.matrix(&self.hessian, compressed)
    }
}

/// A program that is not differentiated any more.
fn as_it_runs(body: &Body) -> Body {
    program::tidy(&body.without_marks())
}

fn after(body: Body, position: usize) -> Result<Body> {
    Ok(as_it_runs(&body.with_results_from(position)))
}

/// The types of some parameters.
pub(super) fn parameter_types(body: &Body, positions: std::ops::Range<usize>) -> impl Iterator<Item = &Type> {
    positions.map(|position| body.parameter_type(position))
}
