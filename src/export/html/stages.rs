//! The content of a page: a program, and the choice of its gradient.

use super::kernels;
use super::links::link;
use super::seen::Seen;
use super::stage::{Stage, delta, program};
use super::values::point;
use crate::derivative::Function;
use crate::derivative::program::{dual_form, tidy, value_and_gradient};
use crate::error::{Error, Result};
use crate::export::Program;
use crate::shape::{DType, Type};
use crate::tensor::Family;
use crate::term::{Body, Build};
use crate::vectorise::vectorise;
use std::panic::Location;

/// A program as it was written, for [`html`](super::html) to show it at every stage.
///
/// It is made from a staged function, whose gradient is shown with respect to its first argument if it results in one float
/// without axes; or from a program of [`Build`] form, without a gradient unless [`Stages::gradient`] asks for one.
#[derive(Clone, Debug)]
pub struct Stages {
    source: Program<Build>,
    active: Option<usize>,
}

impl Stages {
    /// The same with the gradient of the first result, with respect to so many of the first parameters.
    pub fn gradient(self, active: usize) -> Stages {
        Stages { active: Some(active.min(self.source.body.arity())), ..self }
    }

    /// The title of the page.
    pub(super) fn title(&self) -> String {
        if self.source.name.is_empty() { "program".into() } else { self.source.name.clone() }
    }

    /// The program's name, parameters and results, with their types.
    pub(super) fn head(&self) -> String {
        self.source.printer().head()
    }

    /// All stages, linked.
    pub(super) fn shown(&self, place: &Location<'_>) -> Result<Vec<Stage>> {
        let source = &*self.source.body;
        if let Err(problem) = source.validate_given() {
            return Err(Error::IllFormed { problem, place: place.to_string() });
        }
        if let Some(active) = self.active {
            check(source, active, place)?;
        }
        let mut bodies: Vec<(StageText, Body<Build>)> = Vec::new();
        let mut add = |title, about, body: Body<Build>| bodies.push((StageText { title, about, delta: None }, body));
        add("Staged", "as the function was written: it ran once, on variables", source.clone());
        let bulk = vectorise(source);
        add("Vectorised", "the bulk-operation transform: no build is left", bulk.widen());
        let simple = tidy(&bulk);
        add("Simplified", "rewritten by directional rules", simple.widen());
        let names = self.source.printer().parameter_names();
        let runs = match self.active {
            None => simple,
            Some(active) => {
                let names: Vec<&str> = names[..active].iter().map(String::as_str).collect();
                let (primal, text) = dual_form(&simple, &names)?;
                let delta = Some((text, simple.results.len()));
                let about = "in dual arrays: values, and the Delta of the first";
                bodies.push((StageText { title: "Dual", about, delta }, primal.widen()));
                let gradient = value_and_gradient(&simple, active)?;
                let about = "the Delta transposed, before any input is known";
                bodies.push((StageText { title: "Transposed", about, delta: None }, gradient.widen()));
                tidy(&gradient)
            }
        };
        let final_program = if runs.has_marks() { tidy(&runs.without_marks()) } else { runs };
        let has_gradient = self.active.is_some();
        if has_gradient || Some(&final_program.widen()) != bodies.last().map(|(_, body)| body) {
            let title = if has_gradient { "Gradient" } else { "Runs" };
            let about = if has_gradient { "simplified: value and gradient, as they run" } else { "without marks" };
            bodies.push((StageText { title, about, delta: None }, final_program.widen()));
        }
        let inputs = point(source);
        let mut stages = Vec::with_capacity(bodies.len() + 1);
        let mut seen: Vec<Seen> = Vec::with_capacity(bodies.len());
        for (number, (written, body)) in bodies.iter().enumerate() {
            let results = self.result_names(number, bodies.len(), body.results.len(), &names);
            let printed = Program { results, ..self.source.clone() };
            let (mut stage, found) = program(written.title, written.about, &printed, body, &inputs);
            if let Some((text, values)) = &written.delta {
                delta(&mut stage, body, text, *values, &names);
            }
            stages.push(stage);
            seen.push(found);
        }
        for at in 1..stages.len() {
            link(&mut stages[at - 1], &seen[at - 1], &seen[at]);
        }
        let last = stages.len() - 1;
        let kernels = kernels::stage(&final_program, &names, &inputs, &mut stages[last], &seen[last]);
        stages.push(kernels);
        Ok(stages)
    }

    /// The names of a stage's results.
    fn result_names(&self, stage: usize, stages: usize, results: usize, parameters: &[String]) -> Vec<String> {
        let values = self.source.body.results.len();
        let mut names: Vec<String> =
            (0..values).map(|at| self.source.results.get(at).cloned().unwrap_or_default()).collect();
        let Some(active) = self.active else { return names };
        if stage >= 3 && names[0].is_empty() {
            names[0] = "value".into();
        }
        if stage + 2 >= stages && stage > 3 {
            names.extend(parameters[..active].iter().map(|name| format!("gradient.{name}")));
        } else if stage == 3 {
            names.extend((values..results).map(|at| format!("a{}", at - values)));
        }
        names
    }
}

/// The text about a stage.
struct StageText {
    title: &'static str,
    about: &'static str,
    /// The Delta as text, and the number of results before its operands.
    delta: Option<(String, usize)>,
}

/// Checks that there is a gradient.
fn check(body: &Body<Build>, active: usize, place: &Location<'_>) -> Result<()> {
    let first = body.result_types().next();
    match first {
        Some(loss) if loss.dtype.is_float() && loss.rank() == 0 => {}
        _ => {
            let found = first.map_or_else(|| "nothing".into(), Type::to_string);
            let problem = format!("a gradient is that of a float without axes, but the first result is {found}");
            return Err(Error::operands("html", problem, place));
        }
    }
    match (0..active).any(|at| body.parameter_type(at).dtype.is_float()) {
        true => Ok(()),
        false => {
            let problem = "a gradient is one with respect to floats, but none of the parameters is of them";
            Err(Error::operands("html", problem, place))
        }
    }
}

/// Whether a function has a gradient to be shown.
fn is_loss(body: &Body<Build>, active: usize) -> bool {
    let types: Vec<&Type> = body.result_types().collect();
    let is_float = |dtype: DType| dtype.is_float();
    matches!(types[..], [loss] if is_float(loss.dtype) && loss.rank() == 0)
        && (0..active).any(|at| is_float(body.parameter_type(at).dtype))
}

impl<In: Family, Out: Family, First: Family> From<&Function<In, Out, First>> for Stages {
    fn from(function: &Function<In, Out, First>) -> Stages {
        let active = function.active();
        let is_loss = is_loss(function.source(), active);
        Stages { source: function.into(), active: is_loss.then_some(active) }
    }
}

impl From<Program<Build>> for Stages {
    fn from(source: Program<Build>) -> Stages {
        Stages { source, active: None }
    }
}

impl From<&Program<Build>> for Stages {
    fn from(source: &Program<Build>) -> Stages {
        Stages { source: source.clone(), active: None }
    }
}

impl From<Program> for Stages {
    fn from(program: Program) -> Stages {
        let Program { name, parameters, results, body } = program;
        Stages::from(Program { name, parameters, results, body: body.widen().into() })
    }
}

impl From<&Program> for Stages {
    fn from(program: &Program) -> Stages {
        Stages::from(program.clone())
    }
}
