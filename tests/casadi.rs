//! Functions that CasADi calls and differentiates.

use deltaray::Error;
use deltaray::export::{CSource, CasadiOptions};
use deltaray::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[allow(dead_code)]
#[path = "../examples/optimal_control/model.rs"]
mod model;

/// Arrays of all ranks, results that depend on some of them, and a name that CasADi has no functions of.
#[allow(non_snake_case)]
#[differentiable]
fn two__words(a: Matrix<f64>, b: Scalar<f64>, c: Vector<f64>) -> (Matrix<f64>, Scalar<f64>, Vector<f64>) {
    (a.sin() * b + c, a.powi(2).sum() * b, c[1..] * c[..c.len() - 1])
}

/// The Python that has CasADi. Without one the test is skipped, but where `DELTARAY_TOOLS` is `required`.
fn python() -> Option<String> {
    let found = std::env::var("DELTARAY_CASADI").ok();
    if found.is_none() {
        let text = "DELTARAY_CASADI does not name a Python with CasADi: `scripts/test` installs one";
        assert!(std::env::var("DELTARAY_TOOLS").as_deref() != Ok("required"), "{text}");
        println!("skipped: {text}");
    }
    found
}

/// Writes the files into an empty folder.
fn written(name: &str, files: &CSource) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("casadi-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the folder for temporary files can be written");
    for (end, text) in [("c", &files.source), ("h", &files.header)] {
        fs::write(folder.join(format!("{}.{end}", files.name)), text).expect("files can be written");
    }
    folder
}

fn assert_runs(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(output.status.success(), "{command:?}: {text}");
    println!("{text}");
}

fn general() -> CSource {
    let function = stage(two__words {}.closure(), (&zeros((2, 3)), &scalar(0.0), &zeros(3))).unwrap();
    CasadiOptions::default().forward(true).export(&function).unwrap()
}

#[test]
fn functions_of_several_arrays_agree_with_casadi() {
    let Some(python) = python() else { return };
    let files = general();
    assert_eq!(files.name, "two_words");
    let library = compiled("general", &files);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/casadi/general.py");
    assert_runs(Command::new(python).arg(script).arg(library));
}

#[test]
fn optimal_control_is_solved_with_exact_derivatives() {
    let Some(python) = python() else { return };
    let stages: usize = std::env::var("DELTARAY_STAGES").map_or(50, |stages| stages.parse().unwrap());
    let point = (&zeros(model::variables(stages)), &zeros(model::STATE));
    let problem = stage(model::chain {}.closure(), point).unwrap();
    let folder = written("chain", &CasadiOptions::default().export(&problem).unwrap());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/optimal_control/solve.py");
    assert_runs(Command::new(python).arg(script).arg(folder));
}

#[test]
fn only_the_functions_of_casadi_are_written() {
    let with = general();
    for name in ["two_words", "jac_two_words", "adj1_two_words", "jac_adj1_two_words", "fwd1_two_words"] {
        for end in ["", "_n_in", "_sparsity_out", "_work", "_checkout", "_release", "_incref", "_decref"] {
            assert!(with.header.contains(&format!("{name}{end}(")), "{name}{end}");
        }
    }
    let function = stage(two__words {}.closure(), (&zeros((2, 3)), &scalar(0.0), &zeros(3))).unwrap();
    assert!(!CasadiOptions::default().export(&function).unwrap().header.contains("fwd1"));
}

#[test]
fn text_grows_with_the_program_and_its_patterns() {
    let lines = |stages: usize| {
        let point = (&zeros(model::variables(stages)), &zeros(model::STATE));
        let problem = stage(model::chain {}.closure(), point).unwrap();
        let source = CasadiOptions::default().export(&problem).unwrap().source;
        // Loops, and lists of numbers.
        let is_number = |line: &&str| line.trim_start().starts_with(|first: char| first.is_ascii_digit());
        (source.lines().filter(|line| !is_number(line)).count(), source.len())
    };
    let [(few, short), (more, long)] = [10, 20].map(lines);
    assert!(more <= few + few / 20, "{few} lines, then {more}");
    assert!(long <= 2 * short, "{short} bytes, then {long}");
}

#[test]
fn arrays_of_other_types_are_an_error() {
    let function = stage(|x: &Vector<_, f32>| x * 2.0, &zeros(3)).unwrap();
    let Err(Error::Export { target, problem, .. }) = CasadiOptions::default().export(&function) else {
        panic!("an export of f32")
    };
    assert_eq!((target, &problem[..]), ("CasADi", "p0 is f32[3], but all arrays of CasADi are of f64"));
}

/// Compiles a function's files without warnings, to a library in an empty folder.
fn compiled(name: &str, files: &CSource) -> PathBuf {
    let folder = written(name, files);
    let library = folder.join("library.so");
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O1", "-shared", "-fPIC", "-o"]);
    assert_runs(compiler.arg(&library).arg(folder.join(format!("{}.c", files.name))).arg("-lm"));
    library
}

/// Compiles a function's files without warnings, and runs a script with the library's path and the function's name as its
/// arguments.
fn assert_script(name: &str, files: &CSource, script: &str) {
    let library = compiled(name, files);
    if let Some(python) = python() {
        assert_runs(Command::new(python).args(["-c", script]).arg(library).arg(&files.name));
    }
}

#[test]
fn functions_without_arguments_or_results_have_no_warnings() {
    let none =
        stage(|_: &Vec<Vector<_, f64>>| full::<_, f64, _>(2, 3.0), &Vec::<Vector<Concrete, f64>>::new()).unwrap();
    assert_script("arity", &CasadiOptions::default().export(&none).unwrap(), "");
    let nothing = stage(|_: &Vector<_, f64>| Vec::<Vector<_, f64>>::new(), &zeros(2)).unwrap();
    assert_script("nothing", &CasadiOptions::default().export(&nothing).unwrap(), "");
    let files = deltaray::export::c(&nothing).unwrap();
    assert_script("nothing-plain", &files, "");
}

#[test]
fn hessians_beside_arrays_without_elements_are_found() {
    let f = stage(|(x, y): &(Vector<_, f64>, Vector<_, f64>)| (x.sum() + y.powi(3), x * 2.0), (&zeros(0), &zeros(3)));
    let files = CasadiOptions::default().export(&f.unwrap()).unwrap();
    let script = "
import sys, casadi as ca, numpy as np
f = ca.external('f', sys.argv[1])
x, y = ca.MX.sym('x', *f.size_in(0)), ca.MX.sym('y', 3)
h, g = ca.hessian(ca.sum1(f(x, y)[0]), y)
assert np.allclose(ca.Function('h', [x, y], [h])(np.zeros(f.size_in(0)), [1, 2, 3]), np.diag([6, 12, 18]))";
    assert_script("empty", &files, script);
}

/// By a rule that is no derivative, so that the derivative of the rule is no symmetric matrix.
#[test]
fn derivatives_of_rules_need_not_be_symmetric() {
    #[derive(Clone, Copy)]
    struct Product;
    impl ArrayFn for Product {
        type In = Vector<Concrete, f64>;
        type Out = Scalar<Concrete, f64>;
        fn call<A: Algebra>(&self, x: &Vector<A, f64>) -> Scalar<A, f64> {
            x.at(0) * x.at(1)
        }
    }
    #[derive(Clone, Copy)]
    struct Rule;
    impl ArrayFn for Rule {
        type In = (Vector<Concrete, f64>, Scalar<Concrete, f64>, Scalar<Concrete, f64>);
        type Out = Vector<Concrete, f64>;
        fn call<A: Algebra>(&self, (x, _, c): &<Self::In as Family>::At<A>) -> Vector<A, f64> {
            stack(&[x.at(1) * c, 0.0 * c, 0.0 * c])
        }
    }
    let f = stage(|x: &Vector<_, f64>| custom_vjp(&Product, &Rule, x) * x.at(2), &zeros(3)).unwrap();
    let script = "
import sys, casadi as ca, numpy as np
f = ca.external('f', sys.argv[1])
found = np.array(f.reverse(1).jacobian().call([[2, 3, 5], 0, 1, [0, 0, 0]])[0])
assert np.allclose(found, [[0, 5, 3], [0, 0, 0], [3, 0, 0]]), found";
    assert_script("rule", &CasadiOptions::default().export(&f).unwrap(), script);
    let f = stage(|x: &Vector<_, f64>| x.at(0).stop_gradient() * x.at(1) * x.at(2), &zeros(3)).unwrap();
    let script = script.replace("[0, 5, 3], [0, 0, 0], [3, 0, 0]", "[0, 0, 0], [0, 0, 2], [0, 2, 0]");
    assert_script("constant", &CasadiOptions::default().export(&f).unwrap(), &script);
}

#[test]
fn functions_of_one_number_have_hessians_beside_forward_derivatives() {
    let f = stage(|x: &Scalar<_, f64>| x.powi(3), &scalar(0.0)).unwrap();
    let script = "
import sys, casadi as ca
f = ca.external('f', sys.argv[1], {'jac_penalty': -1})
x = ca.MX.sym('x')
assert float(ca.Function('h', [x], [ca.hessian(f(x), x)[0]])(2)) == 12";
    assert_script("number", &CasadiOptions::default().forward(true).export(&f).unwrap(), script);
}

/// Results whose names end as those of parameters begin.
#[derive(Tree, Clone)]
struct Results<A: Algebra> {
    a: Vector<A, f64>,
    a_b: Vector<A, f64>,
}

#[differentiable]
fn parts(b_c: Vector<f64>, c: Vector<f64>) -> Results<A> {
    Results { a: b_c * c, a_b: b_c * 2.0 }
}

#[differentiable]
fn seeded(x: Vector<f64>, adj_x: Vector<f64>) -> Vector<f64> {
    x * adj_x
}

#[allow(non_snake_case)]
#[differentiable]
fn doubled(out_out_0: Vector<f64>, x__y: Vector<f64>) -> Vector<f64> {
    out_out_0 * x__y
}

#[test]
fn names_that_meet_are_told_apart() {
    let script = "
import sys, casadi as ca, numpy as np
f = ca.external(sys.argv[2], sys.argv[1], {'jac_penalty': -1})
x, y = ca.MX.sym('x', 2), ca.MX.sym('y', 2)
result = f.call([x, y])[0]
j = ca.Function('j', [x, y], [ca.jacobian(result, x), ca.jacobian(ca.gradient(ca.sum1(result), x), y)])
found = j([2, 3], [5, 7])
assert np.allclose(found[0], np.diag([5, 7])) and np.allclose(found[1], np.eye(2)), found";
    let point = (&zeros(2), &zeros(2));
    let options = CasadiOptions::default().forward(true);
    assert_script("parts", &options.export(&stage(parts {}.closure(), point).unwrap()).unwrap(), script);
    assert_script("seeded", &options.export(&stage(seeded {}.closure(), point).unwrap()).unwrap(), script);
    assert_script("doubled", &options.export(&stage(doubled {}.closure(), point).unwrap()).unwrap(), script);
}

/// The program of the page `docs/casadi.md`.
mod page {
    use deltaray::prelude::*;

    /// The potential energy of a chain with steps of equal width, and how far its ends are from where they are held.
    #[differentiable]
    pub fn chain(heights: Vector<f64>, ends: Vector<f64>) -> (Scalar<f64>, Vector<f64>) {
        let n = heights.len();
        let steps = heights[1..] - heights[..n - 1];
        let lengths = (1.0 + steps * steps).sqrt();
        let middles = 0.5 * (heights[1..] + heights[..n - 1]);
        ((middles * lengths).sum(), concatenate(0, &[heights[..1] - ends[..1], heights[n - 1..] - ends[1..]]))
    }
}

#[test]
fn the_page_says_what_casadi_prints() {
    let chain = stage(page::chain {}.closure(), (&zeros(20), &zeros(2))).unwrap();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/casadi.md");
    let script = format!(
        "{}\nimport os, shutil, sys\nos.chdir(os.path.dirname(sys.argv[1]))\nshutil.copy('library.so', 'chain.so')\n\
         assert run_page({page:?}, lambda block: True) == 1",
        include_str!("python/page.py")
    );
    assert_script("page", &CasadiOptions::default().export(&chain).unwrap(), &script);
}
