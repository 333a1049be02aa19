//! The checks of every row.

use super::laws;
use super::row::Row;
use crate::random::arrays::{elements, full, numbers};
use crate::random::derivatives::{gradient, only_floats};
use crate::random::pipelines::kernels;
use crate::random::reference::{self, is_single};
use deltaray::concrete::{Array, Concrete};
use deltaray::derivative::program;
use deltaray::dual::{self, Dual, DualArray};
use deltaray::shape::{Type, Value};
use deltaray::simplify::{fold_constants, simplify};
use deltaray::staged;
use deltaray::term::interpret::interpret;
use deltaray::term::{Body, Build, interpret_source};
use deltaray::vectorise::{push_reads, vectorise};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// The problem, if there is one.
pub type Finding = Result<(), String>;

/// How closely the numbers of a row are compared.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// The relative tolerance.
    pub relative: f64,
    /// The largest intermediate.
    pub largest: f64,
}

impl Scale {
    /// Whether two numbers are as close as rounding allows, where the numbers around them are as large as `around`. NaN
    /// equals itself.
    pub fn close(&self, a: f64, b: f64, around: f64) -> bool {
        a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= self.relative * (1.0 + self.largest.max(around))
    }
}

/// A row with the data that all checks need.
pub struct Subject<'a> {
    /// The row.
    pub row: &'a Row,
    /// Its program, staged.
    pub source: Body<Build>,
    /// The same in bulk form.
    pub bulk: Body,
    /// The program of values and cotangents, not simplified.
    pub reverse: Body,
    /// The same, simplified.
    pub tidied: Body,
    /// How closely numbers are compared.
    pub scale: Scale,
}

/// The largest finite magnitude of float arrays.
pub fn magnitude(arrays: &[Array]) -> f64 {
    let floats = arrays.iter().filter(|array| array.dtype().is_float()).flat_map(numbers);
    floats.filter(|x| x.is_finite()).fold(0.0, |largest, x| largest.max(x.abs()))
}

/// The first difference between arrays that should be equal.
pub fn compare(expected: &[Array], found: &[Array], scale: &Scale) -> Finding {
    if expected.len() != found.len() {
        return Err(format!("{} arrays instead of {}", found.len(), expected.len()));
    }
    let around = magnitude(expected);
    for (position, (want, have)) in expected.iter().zip(found).enumerate() {
        if want.ty() != have.ty() {
            return Err(format!("array {position} is of type {} instead of {}", have.ty(), want.ty()));
        }
        for (at, (a, b)) in elements(want).into_iter().zip(elements(have)).enumerate() {
            let equal = match a {
                Value::F32(_) | Value::F64(_) => scale.close(a.to_f64(), b.to_f64(), around),
                _ => a == b,
            };
            if !equal {
                return Err(format!("array {position}, element {at}, is {b:?} instead of {a:?}"));
            }
        }
    }
    Ok(())
}

/// Compares with known elements.
fn compare_known(known: &[f64], found: &[Array], row: &Row, scale: &Scale) -> Finding {
    let found: Vec<f64> = found.iter().flat_map(numbers).collect();
    if known.len() != found.len() {
        return Err(format!("{} elements {found:?} instead of {}", found.len(), known.len()));
    }
    for (at, (&a, &b)) in known.iter().zip(&found).enumerate() {
        if !(scale.close(a, b, 0.0) || (a - b).abs() <= row.digits * a.abs()) {
            return Err(format!("element {at} is {b:?} instead of the known {a:?}; all: {found:?}"));
        }
    }
    Ok(())
}

/// The arguments of a program of values and cotangents: the inputs, and ones.
pub fn with_ones(row: &Row, body: &Body) -> Vec<Array> {
    let mut arguments = row.inputs.clone();
    arguments.extend(body.result_types().map(|ty| full(ty, 1.0)));
    arguments
}

fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let text = payload.downcast_ref::<String>().cloned();
        let text = text.or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_string()));
        format!("panics: {}", text.unwrap_or_default())
    })
}

/// Stages a row's program.
pub fn stage(row: &Row) -> Body<Build> {
    let types: Vec<Type> = row.inputs.iter().map(Array::ty).collect();
    staged::stage(&types, |variables| row.program.staged(variables)).unwrap_or_else(|error| panic!("{error}"))
}

/// Reports checks that took long.
fn report_slow(name: &str, start: Instant) {
    let seconds = start.elapsed().as_secs_f64();
    if seconds > 1.0 {
        println!("{name}: {seconds:.1} s");
    }
}

struct Findings {
    row: &'static str,
    all: Vec<String>,
}

impl Findings {
    /// Notes the finding of a check of the given name.
    fn note(&mut self, name: &str, check: impl FnOnce() -> Finding) {
        let start = Instant::now();
        if let Err(problem) = caught(check).unwrap_or_else(Err) {
            self.all.push(format!("{}: {name}: {problem}", self.row));
        }
        report_slow(&format!("{}: {name}", self.row), start);
    }
}

/// Checks all rows of a theme.
pub fn check(rows: Vec<Row>) {
    let wanted = std::env::var("DELTARAY_ROW").ok();
    let mut findings = Vec::new();
    for row in rows {
        match &wanted {
            Some(word) if !row.name.contains(word.as_str()) => continue,
            Some(_) => show(&row),
            None => {}
        }
        let start = Instant::now();
        findings.extend(check_row(&row));
        report_slow(row.name, start);
    }
    assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), findings.join("\n"));
}

fn show(row: &Row) {
    let shown = caught(|| {
        let source = stage(row);
        println!("-- {}\n{source}", row.name);
        let bulk = program::bulk(&source);
        println!("{bulk}");
        println!("{}", program::tidy(&reverse(&bulk)));
    });
    if let Err(problem) = shown {
        println!("{}: {problem}", row.name);
    }
}

fn reverse(body: &Body) -> Body {
    program::vjp(body, body.arity()).expect("well-formed programs can be differentiated")
}

fn prepare(row: &Row) -> (Subject<'_>, Vec<Array>) {
    let source = stage(row);
    assert!(source.is_well_formed(), "the source program is not well-formed");
    let bulk = program::bulk(&source);
    let reverse = reverse(&bulk);
    let tidied = program::tidy(&reverse);
    let expected = match row.large {
        true => interpret::<Concrete>(&bulk, row.inputs.clone()),
        false => row.program.plain(row.inputs.clone()),
    };
    let mut largest = magnitude(&expected);
    if !row.large && !row.heavy {
        largest = largest.max(reference::evaluate(&source, &row.inputs).1.largest);
    }
    let relative = if is_single(&source) { 1e-4 } else { 1e-9 };
    (Subject { row, source, bulk, reverse, tidied, scale: Scale { relative, largest } }, expected)
}

fn check_row(row: &Row) -> Vec<String> {
    let mut findings = Findings { row: row.name, all: Vec::new() };
    match caught(|| prepare(row)) {
        Err(problem) => findings.all.push(format!("{}: staging and running: {problem}", row.name)),
        Ok((subject, expected)) => {
            check_values(&mut findings, &subject, &expected);
            check_gradients(&mut findings, &subject, &expected);
            for law in laws::ALL {
                let applies = (row.differentiable || !law.of_derivatives)
                    && (row.smooth || !law.of_smooth)
                    && (row.twice || !law.of_second)
                    && !(row.large && law.element_by_element)
                    && (!row.heavy || law.of_texts);
                if applies {
                    findings.note(law.name, || (law.judge)(&subject));
                }
            }
        }
    }
    findings.all
}

fn run(body: &Body, arguments: Vec<Array>) -> Vec<Array> {
    interpret::<Concrete>(body, arguments)
}

fn check_values(findings: &mut Findings, subject: &Subject<'_>, expected: &[Array]) {
    let Subject { row, source, bulk, scale, .. } = subject;
    if let Some(known) = &row.value {
        findings.note("value", || compare_known(known, expected, row, scale));
    }
    findings.note("bulk", || compare(expected, &run(bulk, row.inputs.clone()), scale));
    findings.note("kernels(bulk)", || compare(expected, &kernels(bulk, &row.inputs), scale));
    findings.note("fold_constants(bulk)", || compare(expected, &run(&fold_constants(bulk), row.inputs.clone()), scale));
    if row.large || row.heavy {
        return;
    }
    findings.note("reference", || {
        let (found, watch) = reference::evaluate(source, &row.inputs);
        // The reference is meant for finite numbers: rows state the results for NaN and infinity.
        if watch.finite { compare(expected, &found, scale) } else { Ok(()) }
    });
    findings.note("source", || compare(expected, &interpret_source::<Concrete>(source, row.inputs.clone()), scale));
    let Ok(vectorised) = caught(|| vectorise(source)) else {
        return findings.all.push(format!("{}: vectorise panics", row.name));
    };
    findings.note("vectorise", || compare(expected, &run(&vectorised, row.inputs.clone()), scale));
    for (name, pass) in [("simplify(vectorise)", simplify as fn(&Body) -> Body), ("push_reads(vectorise)", push_reads)]
    {
        findings.note(name, || {
            let body = pass(&vectorised);
            assert!(body.is_well_formed(), "the program is not well-formed");
            compare(expected, &run(&body, row.inputs.clone()), scale)
        });
    }
    findings.note("dual arrays of vectorise", || compare(expected, &dual_values(&vectorised, row), scale));
    findings.note("vjp(vectorise)", || {
        let found = run(&reverse(&vectorised), with_ones(row, bulk));
        compare(expected, &found[..expected.len()], scale)?;
        let eager = eager_gradient(row);
        if row.differentiable { compare(&eager, &only_floats(found[expected.len()..].to_vec()), scale) } else { Ok(()) }
    });
}

fn dual_values(body: &Body, row: &Row) -> Vec<Array> {
    let on_duals = |inputs: Vec<DualArray<Concrete>>| interpret::<Dual<Concrete>>(body, inputs);
    dual::vjp::<Concrete>(&on_duals, row.inputs.clone()).0
}

/// The gradient of the function as written.
fn eager_gradient(row: &Row) -> Vec<Array> {
    only_floats(gradient::<Concrete>(&|inputs| row.program.dual(inputs), row.inputs.clone()))
}

fn check_gradients(findings: &mut Findings, subject: &Subject<'_>, values: &[Array]) {
    let Subject { row, source, bulk, reverse, tidied, scale } = subject;
    let count = values.len();
    let cotangents = |body: &Body| only_floats(run(body, with_ones(row, bulk))[count..].to_vec());
    let compute = || if row.large { cotangents(tidied) } else { eager_gradient(row) };
    let expected = match caught(compute) {
        Ok(expected) => expected,
        Err(problem) => return findings.all.push(format!("{}: gradient: {problem}", row.name)),
    };
    if let Some(known) = &row.gradient {
        findings.note("known gradient", || compare_known(known, &expected, row, scale));
    }
    // Gradients must be computed even where they are not defined.
    let same = |found: Vec<Array>| if row.differentiable { compare(&expected, &found, scale) } else { Ok(()) };
    let both_by = |body: &Body, run: fn(&Body, &[Array]) -> Vec<Array>| {
        let mut found = run(body, &with_ones(row, bulk));
        let cotangents = only_floats(found.split_off(count));
        compare(values, &found, scale).map_err(|problem| format!("values: {problem}"))?;
        same(cotangents)
    };
    let both = |body: &Body| both_by(body, |body, inputs| run(body, inputs.to_vec()));
    findings.note("tidy(vjp(bulk))", || both(tidied));
    findings.note("kernels(tidy(vjp(bulk)))", || both_by(tidied, kernels));
    if row.heavy {
        return;
    }
    findings.note("vjp(bulk)", || both(reverse));
    findings.note("dual arrays of bulk", || {
        let on_duals = |inputs: Vec<DualArray<Concrete>>| interpret::<Dual<Concrete>>(bulk, inputs);
        same(only_floats(gradient::<Concrete>(&on_duals, row.inputs.clone())))
    });
    if !row.large {
        findings.note("values of dual arrays", || {
            let on_duals = |inputs: Vec<DualArray<Concrete>>| row.program.dual(inputs);
            compare(values, &dual::vjp::<Concrete>(&on_duals, row.inputs.clone()).0, scale)
        });
        findings.note("dual arrays of the source", || {
            let on_duals = |inputs: Vec<DualArray<Concrete>>| interpret_source::<Dual<Concrete>>(source, inputs);
            same(only_floats(gradient::<Concrete>(&on_duals, row.inputs.clone())))
        });
    }
}
