//! The rows of the corpus as functions for CasADi, whose sparse derivatives are compared with dense ones, found a column at a time.

use crate::corpus::row::Row;
use crate::corpus::{self, check};
use crate::exported::folder;
use crate::random::arrays::numbers;
use crate::sparsity::{columns, is_f64, is_small};
use deltaray::algebra::Algebra;
use deltaray::concrete::Array;
use deltaray::derivative::program::{bulk, tidy, vjp};
use deltaray::export::CasadiOptions;
use deltaray::prelude::*;
use deltaray::shape::DType;
use deltaray::staged::Staged;
use deltaray::term::Op;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// A row as a function of all its floats in one vector, to those of all its results.
fn flat(row: &Row, x: &Vector<Staged, f64>) -> Vector<Staged, f64> {
    let mut first = 0;
    let parts = row.inputs.iter().map(|input| {
        if input.dtype() != DType::F64 {
            return Staged::constant(input.clone());
        }
        let part = x.slice(0, first..first + input.size());
        first += input.size();
        Staged::bind(&Op::Reshape(input.ty().shape), [part.into_array()].into_iter().collect())
    });
    let results = row.program.staged(parts.collect());
    let is_float = |result: &_| Staged::type_of(result).dtype == DType::F64;
    let results = results.into_iter().filter(is_float).map(|result| {
        let size = Staged::type_of(&result).size();
        let vector = Staged::bind(&Op::Reshape([size].into_iter().collect()), [result].into_iter().collect());
        Vector::from_array(vector).expect("a vector of floats")
    });
    concatenate(0, &results.collect::<Vec<Vector<Staged, f64>>>())
}

/// Numbers as Python's, or nothing where there is one that is not finite.
fn literal(columns: &[Vec<f64>]) -> Option<String> {
    columns.iter().flatten().all(|x| x.is_finite()).then(|| format!("{columns:?}"))
}

/// Writes a row's function into a folder of its own, and its point, results and derivatives into the script's text.
fn write(row: &Row, folder: &Path, text: &mut String) -> Option<()> {
    let floats: Vec<f64> = row.inputs.iter().filter(|input| input.dtype() == DType::F64).flat_map(numbers).collect();
    let x = Vector::from(floats.clone());
    let point = [Array::from_vec(&[floats.len()], floats.clone())];
    let source = check::stage(row);
    if !row.differentiable || floats.is_empty() || !is_f64(&bulk(&source)) || !is_small(&bulk(&source), &row.inputs) {
        return None;
    }
    let function = stage(|x: &Vector<Staged, f64>| flat(row, x), &x).ok()?;
    let body = function.differentiable();
    let results = function.call(&x).unwrap().to_vec();
    let reverse = vjp(body, 1).unwrap();
    let gradient = tidy(&reverse.with_results(&reverse.results()[1..]));
    let along = [point[0].clone(), Array::from_vec(&[results.len()], vec![1.0; results.len()])];
    let hessian = if row.twice { literal(&columns(&gradient, &along)[..floats.len()]) } else { None };
    let [x, y] = [floats, results].map(|vector| literal(&[vector]));
    let (x, y, jacobian) = (x?, y?, literal(&columns(body, &point))?);
    let files = CasadiOptions::default().export(&function).unwrap_or_else(|error| panic!("{}: {error}", row.name));
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join(format!("{}.c", files.name)), files.source).unwrap();
    std::fs::write(folder.join(format!("{}.h", files.name)), files.header).unwrap();
    let hessian = hessian.unwrap_or("None".into());
    writeln!(text, "({:?}, {folder:?}, {:?}, {x}, {y}, {jacobian}, {hessian}),", row.name, files.name).unwrap();
    Some(())
}

/// The results of several compilers, then of CasADi.
const SCRIPT: &str = r#"
import subprocess
from concurrent.futures import ThreadPoolExecutor
import casadi as ca
import numpy as np

def compiled(case):
    _, folder, name, *_ = case
    options = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O0", "-shared", "-fPIC"]
    subprocess.run(["cc", *options, "-o", folder + "/library.so", folder + "/" + name + ".c", "-lm"], check=True)

with ThreadPoolExecutor(2) as pool:
    list(pool.map(compiled, cases))
findings = []
for row, folder, name, (x,), (y,), jacobian, hessian in cases:
    f = ca.external(name, folder + "/library.so")
    n, m = len(x), len(y)
    found = [f(x), f.jacobian()(x, np.zeros(m)), f.reverse(1).jacobian().call([x, np.zeros(m), np.ones(m), np.zeros(n)])[0]]
    expected = [np.reshape(y, (m, 1)), np.reshape(jacobian, (n, m)).T, None if hessian is None else np.reshape(hessian, (n, n)).T]
    for kind, found, expected in zip(["value", "jacobian", "hessian"], found, expected):
        if expected is not None:
            # An empty vector has neither rows nor columns.
            found = np.reshape(found, expected.shape)
            if not np.all(np.abs(found - expected) <= 1e-8 * (1 + np.abs(expected).max(initial=0))):
                findings.append(f"{row}: {kind} is {found}, not {expected}")
print(len(cases), "rows")
assert not findings, "\n".join(findings)
"#;

#[test]
#[ignore = "takes minutes; `scripts/test --long` runs it"]
fn casadi_has_the_derivatives_of_all_rows() {
    let Ok(python) = std::env::var("DELTARAY_CASADI") else {
        println!("skipped: DELTARAY_CASADI does not name a Python with CasADi");
        return;
    };
    let folder = folder("casadi");
    let wanted = std::env::var("DELTARAY_ROW").unwrap_or_default();
    let mut text = String::from("cases = [\n");
    for (number, row) in corpus::all().iter().enumerate().filter(|(_, row)| row.name.contains(&wanted)) {
        write(row, &folder.join(number.to_string()), &mut text);
    }
    std::fs::write(folder.join("script.py"), text + "]\n" + SCRIPT).unwrap();
    let output = Command::new(python).arg(folder.join("script.py")).output().expect("Python runs");
    let printed = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(output.status.success(), "{printed}");
    println!("{printed}");
}
