//! Packages for Python, called on NumPy arrays.

use deltaray::export::{Program, PythonPackage};
use deltaray::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A layer of a network.
#[derive(Tree, Clone)]
struct Layer<A: Algebra> {
    weights: Matrix<A, f64>,
    bias: Vector<A, f64>,
}

/// The mean squared distance of observations from a line.
#[differentiable]
fn loss(line: Vector<f64>, x: Vector<f64>, y: Vector<f64>) -> Scalar<f64> {
    (line[0] * x + line[1] - y).powi(2).mean()
}

/// The mean loss of two layers, of inputs that belong to classes.
#[differentiable]
fn network(layers: (Layer<A>, Layer<A>), inputs: Matrix<f64>, classes: Vector<i64>) -> Scalar<f64> {
    let hidden = (inputs.matmul(&layers.0.weights) + &layers.0.bias).tanh();
    let logits = hidden.matmul(&layers.1.weights) + &layers.1.bias;
    deltaray::functions::softmax_cross_entropy(&logits, &classes)
}

#[differentiable]
fn residuals(x: Vector<f64>) -> Vector<f64> {
    x[1..].powi(2) - x[..x.len() - 1]
}

/// Every element type, as a parameter and as a result.
#[differentiable]
fn types(
    single: Vector<f32>,
    short: Vector<i32>,
    long: Vector<i64>,
    mask: Vector<bool>,
) -> (Vector<f32>, Vector<i32>, Vector<i64>, Vector<bool>) {
    (single * 2.0, short + 1, mask.select(long, -long), !mask)
}

/// The Python that has NumPy and SciPy. Without one the test is skipped, but where `DELTARAY_TOOLS` is `required`.
fn python() -> Option<&'static str> {
    let has_arrays = |python: &&str| {
        let output = Command::new(python).args(["-c", "import numpy, scipy.sparse"]).output();
        output.is_ok_and(|output| output.status.success())
    };
    let found = ["python3", "/usr/bin/python3"].into_iter().find(has_arrays);
    if found.is_none() {
        let text = "no Python has NumPy and SciPy: `scripts/install-tools` installs them";
        assert!(std::env::var("DELTARAY_TOOLS").as_deref() != Ok("required"), "{text}");
        println!("skipped: {text}");
    }
    found
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("python-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the folder for temporary files can be written");
    folder
}

/// Runs a script beside packages, with a cache of its own.
fn run(python: &str, folder: &Path, script: &str) -> Output {
    let mut command = Command::new(python);
    command.args(["-W", "error", "-c", script]).current_dir(folder).env("XDG_CACHE_HOME", folder.join("cache"));
    command.env("CFLAGS", "-O1").env("PYTHONDONTWRITEBYTECODE", "1").output().expect("Python runs")
}

fn assert_runs(python: &str, folder: &Path, script: &str) {
    let output = run(python, folder, script);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}{errors}", String::from_utf8_lossy(&output.stdout));
}

/// The last line that a script that fails writes.
fn failure(python: &str, folder: &Path, script: &str) -> String {
    let output = run(python, folder, script);
    assert!(!output.status.success(), "{script} does not fail");
    String::from_utf8_lossy(&output.stderr).trim_end().lines().last().unwrap_or_default().to_string()
}

fn layer(rows: usize, columns: usize) -> Layer<Concrete> {
    Layer { weights: zeros((rows, columns)), bias: zeros(columns) }
}

fn package() -> deltaray::Result<PythonPackage> {
    let loss = stage(loss {}.closure(), (&zeros(2), &zeros(4), &zeros(4)))?;
    let network = stage(network {}.closure(), (&(layer(3, 5), layer(5, 2)), &zeros((4, 3)), &zeros(4)))?;
    let types = stage(types {}.closure(), (&zeros(3), &zeros(3), &zeros(3), &full(3, false)))?;
    let package = PythonPackage::new("models")
        .function(&loss)?
        .function(&loss.value_and_grad()?)?
        .function(&network)?
        .function(&network.value_and_grad()?)?
        .function(&types)?;
    with_jacobian(package)
}

/// The package with a function more, whose result is sparse.
fn with_jacobian(package: PythonPackage) -> deltaray::Result<PythonPackage> {
    let x = Vector::from(vec![1.0, 2.0, 3.0, 4.0]);
    let jacobian = stage(residuals, &x)?.sparse_jacobian()?.compressed(&x)?;
    let entries = jacobian.entries().expect("there are entries").with_name("jacobian");
    package.sparse_function(entries, &[(0, jacobian.pattern())])
}

#[test]
fn functions_take_and_give_arrays_and_trees() {
    let Some(python) = python() else { return };
    let folder = folder("functions");
    package().unwrap().write(&folder).unwrap();
    assert_runs(python, &folder, include_str!("python/functions.py"));
    // The second time nothing is compiled.
    let all = || fs::read_dir(folder.join("cache/deltaray")).unwrap();
    let libraries = || fs::read_dir(folder.join("cache/deltaray")).unwrap().count();
    assert_eq!(libraries(), 1);
    assert_runs(python, &folder, "import models; models.jacobian([1] * 4)");
    assert_eq!(libraries(), 1);
    // A library that was cut off is compiled again.
    let library = all().next().unwrap().unwrap().path();
    fs::write(&library, &fs::read(&library).unwrap()[..100]).unwrap();
    assert_runs(python, &folder, "import models; assert models.loss([1, 0], [1] * 4, [1] * 4) == 0");
}

/// The Python that has JAX too: that of an environment which `scripts/test --long` makes.
fn python_with_jax() -> Option<String> {
    let python = std::env::var("DELTARAY_JAX").ok();
    if python.is_none() {
        println!("skipped: DELTARAY_JAX names no Python that has JAX");
    }
    python
}

/// Packages in a folder for the script `in_jax.py`.
fn folder_for_jax(name: &str) -> PathBuf {
    let folder = folder(name);
    let loss = stage(loss {}.closure(), (&zeros(2), &zeros(4), &zeros(4))).unwrap();
    let network = stage(network {}.closure(), (&(layer(3, 5), layer(5, 2)), &zeros((4, 3)), &zeros(4))).unwrap();
    let types = stage(types {}.closure(), (&zeros(3), &zeros(3), &zeros(3), &full(3, false))).unwrap();
    let several = stage(|x: &Vector<_, f64>| (x.sin(), (x.exp().sum(), iota(3))), &zeros(3)).unwrap();
    let package = PythonPackage::new("models")
        .differentiable(&loss)
        .and_then(|package| package.differentiable(&network))
        .and_then(|package| package.differentiable(&types))
        .and_then(|package| package.differentiable(&several))
        .and_then(|package| package.function(Program::from(&loss).with_name("plain")))
        .and_then(with_jacobian)
        .unwrap();
    package.write(&folder).unwrap();
    let powers = [2, 3].map(|n| stage(move |x: &Vector<_, f64>| x.powi(n), &zeros(2)).unwrap());
    let [square, cube] = powers.each_ref().map(Program::from);
    for (name, [np, functools]) in [("other", [&square, &cube]), ("another", [&cube, &square])] {
        let package = PythonPackage::new(name).function(np.clone().with_name("np"));
        let package = package.and_then(|package| package.function(functools.clone().with_name("functools")));
        package.unwrap().write(&folder).unwrap();
    }
    PythonPackage::new("empty").write(&folder).unwrap();
    folder
}

/// Runs the script with the packages' module of this name.
fn jax_differentiates(module: &str) {
    let Some(python) = python_with_jax() else { return };
    let folder = folder_for_jax(module);
    let script = concat!(include_str!("python/fails.py"), include_str!("python/in_jax.py"));
    assert_runs(&python, &folder, &format!("module = '{module}'\n{script}"));
}

#[test]
fn jax_differentiates_compiled_functions_in_all_its_ways() {
    jax_differentiates("jax");
}

#[test]
fn jax_differentiates_stablehlo_in_all_its_ways() {
    jax_differentiates("xla");
}

#[test]
fn jax_says_what_it_can_not_compile() {
    let Some(python) = python_with_jax() else { return };
    let folder = folder("jax-fails");
    package().unwrap().write(&folder).unwrap();
    let path = folder.join("models/loss.mlir");
    fs::write(&path, fs::read_to_string(&path).unwrap().replace("stablehlo.", "stablehlo.un")).unwrap();
    assert_runs(&python, &folder, concat!(include_str!("python/fails.py"), include_str!("python/jax_fails.py")));
}

#[test]
fn arguments_that_do_not_fit_are_errors_that_name_the_parameter() {
    let Some(python) = python() else { return };
    let folder = folder("arguments");
    package().unwrap().write(&folder).unwrap();
    assert_runs(python, &folder, concat!(include_str!("python/fails.py"), include_str!("python/arguments.py")));
}

#[test]
fn what_is_missing_is_said_when_a_function_is_called() {
    let Some(python) = python() else { return };
    let folder = folder("missing");
    package().unwrap().write(&folder).unwrap();
    let call = "import models; models.loss([0] * 2, [0] * 4, [0] * 4)";
    let found = failure(python, &folder, &format!("import os; os.environ['PATH'] = ''; {call}"));
    assert!(found.contains("no C compiler was found: install gcc or clang"), "{found}");
    assert!(found.ends_with("the module xla has the same functions for JAX, without C"), "{found}");
    let found = failure(python, &folder, &format!("import os; os.environ['CC'] = 'nothing-of-that-name'; {call}"));
    assert!(found.contains("the compiler that CC names was not found: nothing-of-that-name"), "{found}");
    let found = failure(python, &folder, &format!("import os; os.environ['CC'] = 'true'; {call}"));
    assert!(found.contains("it made no library"), "{found}");
    let found = failure(python, &folder, &format!("import os; os.environ['CFLAGS'] = \"'\"; {call}"));
    assert!(found.contains("the variable CFLAGS is no list of options"), "{found}");
    // A child that ends leaves its parent's functions alone, where there is no cache but for the process.
    let forked = "import os, pathlib, tempfile; os.environ['XDG_CACHE_HOME'] = '/proc/nothing'; tempfile.tempdir = '.'\n\
                  from models import runtime; folder = runtime._cache()\n\
                  child = os.fork()\nif child == 0: runtime._cache(); raise SystemExit\n\
                  os.waitpid(child, 0); assert folder.exists()";
    assert_runs(python, &folder, forked);
    // A package whose files belong to different programs.
    let init = folder.join("models/__init__.py");
    let text = fs::read_to_string(&init).unwrap();
    fs::write(&init, text.replace("(4,)", "(5,)")).unwrap();
    let found = failure(python, &folder, call);
    assert!(found.contains("loss: the compiled function takes or gives ['f64[2]', 'f64[4]', 'f64[4]']"), "{found}");
}

#[test]
fn names_that_mean_something_else_are_changed() {
    let Some(python) = python() else { return };
    let folder = folder("names");
    let square = stage(|x: &Vector<_, f64>| x.powi(2), &zeros(2)).unwrap();
    let program = |name: &str, parameter: &str, result: &str| {
        let program = Program::from(&square);
        program.with_name(name).with_parameters([parameter]).with_results([result])
    };
    let package = PythonPackage::new("λ package")
        .function(program("lambda", "class", ""))
        .and_then(|package| package.function(program("runtime", "self", "\"\\\n'''\"\"\".x")))
        .and_then(|package| package.function(program("exp", "exp.0", "ö.\u{1F600}")))
        .and_then(|package| package.function(program("print", "print", "None")))
        .unwrap();
    assert_eq!(package.name(), "v___package");
    package.write(&folder).unwrap();
    assert_runs(python, &folder, include_str!("python/names.py"));
    let error = package.function(program("Lambda", "x", "")).unwrap_err().to_string();
    assert!(
        error.contains("Lambda: no export for Python: package v___package has the function lambda, and can't have the function Lambda too"),
        "{error}"
    );
}

#[test]
fn names_of_derivatives_are_said_to_be_theirs() {
    let square = stage(|x: &Vector<_, f64>| x.powi(2), &zeros(2)).unwrap();
    let own = Program::from(&square).with_name("F_vjp");
    let package = || PythonPackage::new("package");
    let error = package().function(own.clone()).unwrap().differentiable(&square).unwrap_err().to_string();
    assert!(error.contains("the function F_vjp, and can't have the derivative f_vjp of f too"), "{error}");
    let error = package().differentiable(&square).unwrap().function(own).unwrap_err().to_string();
    assert!(error.contains("the derivative f_vjp of f, and can't have the function F_vjp too"), "{error}");
}

#[test]
fn a_package_without_functions_needs_no_compiler() {
    let Some(python) = python() else { return };
    let folder = folder("empty");
    PythonPackage::new("empty").write(&folder).unwrap();
    assert_runs(python, &folder, "import os; os.environ['PATH'] = ''; import empty; assert empty.__all__ == []");
}

/// The programs of the page about packages.
mod page {
    use deltaray::prelude::*;

    #[derive(Tree, Clone)]
    pub struct Plane<A: Algebra> {
        pub slopes: Vector<A, f64>,
        pub height: Scalar<A, f64>,
    }

    /// The mean squared distance of points from a plane.
    #[differentiable]
    pub fn loss(plane: Plane<A>, points: Matrix<f64>, z: Vector<f64>) -> Scalar<f64> {
        (points.dot(&plane.slopes) + plane.height - z).powi(2).mean()
    }

    /// Rosenbrock's function is the sum of the squares of these.
    #[differentiable]
    pub fn residuals(x: Vector<f64>) -> Vector<f64> {
        let last = x.len() - 1;
        concatenate(0, &[10.0 * (x[1..] - x[..last].powi(2)), 1.0 - x[..last]])
    }
}

/// The packages of the page `docs/python.md` in a folder.
fn folder_of_page(name: &str) -> deltaray::Result<PathBuf> {
    let folder = folder(name);
    let line = stage(loss {}.closure(), (&zeros(2), &zeros(4), &zeros(4)))?;
    PythonPackage::new("fit").differentiable(&line)?.function(&line.value_and_grad()?)?.write(&folder)?;
    let plane = page::Plane { slopes: zeros(2), height: scalar(0.0) };
    let plane = stage(page::loss {}.closure(), (&plane, &zeros((4, 2)), &zeros(4)))?;
    PythonPackage::new("plane").function(&plane.value_and_grad()?)?.write(&folder)?;
    let x = zeros(100);
    let residuals = stage(page::residuals, &x)?;
    let jacobian = residuals.sparse_jacobian()?.compressed(&x)?;
    let entries = jacobian.entries().expect("it has entries").with_name("jacobian");
    let package = PythonPackage::new("valley").function(&residuals)?;
    package.sparse_function(entries, &[(0, jacobian.pattern())])?.write(&folder)?;
    Ok(folder)
}

/// A script that runs the blocks of the page that this condition holds for.
fn script_of_page(chosen: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/python.md");
    format!("{}\n\nassert run_page({path:?}, lambda block: {chosen}) > 0", include_str!("python/page.py"))
}

#[test]
fn the_page_says_what_python_prints() {
    let Some(python) = python() else { return };
    assert_runs(python, &folder_of_page("page").unwrap(), &script_of_page("'jax' not in block"));
}

#[test]
fn the_page_says_what_jax_prints() {
    let Some(python) = python_with_jax() else { return };
    assert_runs(&python, &folder_of_page("jax-page").unwrap(), &script_of_page("'jax' in block"));
}
