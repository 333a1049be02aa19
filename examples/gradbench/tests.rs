//! Checks that every module's derivative belongs to its function, by finite differences where there is no closed form.

use super::*;
use std::cell::RefCell;

thread_local! {
    /// The programs of a test, which are made once for all of its evaluations.
    static PROGRAMS: RefCell<Programs> = RefCell::default();
}

/// The answer to an evaluation, which has to succeed.
fn evaluate(module: &str, function: &str, input: &Value) -> Value {
    let message = json!({ "id": 0, "kind": "evaluate", "module": module, "function": function, "input": input });
    let message = serde_json::from_value(message).expect("a message");
    let mut answer = PROGRAMS.with_borrow_mut(|programs| answer(message, programs));
    assert_eq!(answer["success"], true, "{answer}");
    assert_eq!(answer["timings"][1]["name"], "evaluate");
    answer["output"].take()
}

/// The numbers of a value, in the order of its lists.
fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(parts) => parts.iter().flat_map(numbers).collect(),
        value => vec![value.as_f64().expect("a number")],
    }
}

/// Calls back with every number of a value, in their order.
fn visit(value: &mut Value, visitor: &mut dyn FnMut(&mut Value)) {
    match value {
        Value::Array(parts) => parts.iter_mut().for_each(|part| visit(part, visitor)),
        number => visitor(number),
    }
}

/// The input with one number of a field moved.
fn moved(input: &Value, field: &str, at: usize, by: f64) -> Value {
    let (mut input, mut position) = (input.clone(), 0);
    visit(&mut input[field], &mut |number| {
        if position == at {
            *number = json!(number.as_f64().expect("a number") + by);
        }
        position += 1;
    });
    input
}

/// How all numbers that a function results in move with one number of a field.
fn difference(module: &str, function: &str, input: &Value, field: &str, at: usize) -> Vec<f64> {
    let step = 1e-5;
    let [above, below] = [step, -step].map(|by| numbers(&evaluate(module, function, &moved(input, field, at, by))));
    above.iter().zip(below).map(|(above, below)| (above - below) / (2.0 * step)).collect()
}

fn assert_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-6 * (1.0 + expected.abs()), "{found} is not {expected}");
    }
}

/// The gradient of the last number that a function results in, by these fields.
fn gradient(module: &str, function: &str, input: &Value, fields: &[&str]) -> Vec<f64> {
    let by_field = fields.iter().flat_map(|field| {
        let count = numbers(&input[field]).len();
        (0..count).map(|at| *difference(module, function, input, field, at).last().expect("a number"))
    });
    by_field.collect()
}

/// Numbers without a pattern, between 0 and 1.
fn draw(seed: usize, count: usize) -> Vec<f64> {
    (1..=count).map(|at| ((at * 7919 + seed * 104_729) as f64 * 0.618_033_988_749_895).fract()).collect()
}

fn rows(seed: usize, count: usize, width: usize) -> Vec<Vec<f64>> {
    draw(seed, count * width).chunks(width).map(<[f64]>::to_vec).collect()
}

#[test]
fn messages_are_answered() {
    let ask = |message: Value| answer(serde_json::from_value(message).expect("a message"), &mut Programs::new());
    assert_eq!(ask(json!({ "id": 0, "kind": "start", "eval": "hello" })), json!({ "tool": "deltaray" }));
    assert_eq!(ask(json!({ "id": 1, "kind": "define", "module": "hello" })), json!({ "success": true }));
    assert_eq!(ask(json!({ "id": 2, "kind": "define", "module": "none" }))["success"], false);
    assert_eq!(ask(json!({ "id": 3, "kind": "analysis", "of": 2, "valid": true })), json!({}));
    let evaluation = json!({ "id": 4, "kind": "evaluate", "module": "hello", "function": "triple", "input": 1.0 });
    assert_eq!(ask(evaluation)["error"], "there is no function `triple`");
    let runs = json!({ "x": [1.0], "min_runs": 3, "min_seconds": 0.0 });
    let evaluation = json!({ "id": 5, "kind": "evaluate", "module": "lse", "function": "primal", "input": runs });
    assert_eq!(ask(evaluation)["timings"].as_array().map(Vec::len), Some(4));
}

#[test]
fn gradients_are_those_of_their_functions() {
    for (module, input, field) in [
        ("llsq", json!({ "x": draw(0, 5), "n": 7 }), "x"),
        ("lse", json!({ "x": draw(1, 6) }), "x"),
        ("ode", json!({ "x": draw(2, 4), "s": 5 }), "x"),
        ("det", json!({ "A": draw(3, 16), "ell": 4 }), "A"),
        ("det", json!({ "A": [3.0], "ell": 1 }), "A"),
    ] {
        assert_close(&numbers(&evaluate(module, "gradient", &input)), &gradient(module, "primal", &input, &[field]));
    }
    assert_eq!(evaluate("hello", "double", &json!(3.0)), 6.0);
}

#[test]
fn the_polynomial_of_llsq_is_that_of_the_specification() {
    let x = draw(0, 3);
    let t = [-1.0f64, -0.5, 0.0, 0.5, 1.0];
    let square = |t: &f64| (if *t == 0.0 { 0.0 } else { t.signum() } - x[0] - x[1] * t - x[2] * t * t).powi(2);
    let expected = 0.5 * t.iter().map(square).sum::<f64>();
    assert_close(&numbers(&evaluate("llsq", "primal", &json!({ "x": x, "n": 5 }))), &[expected]);
}

#[test]
fn a_determinant_is_alternating() {
    let a = json!({ "A": [0.0, 0.0, 2.0, 3.0, 0.0, 7.0, 1.0, 5.0, 4.0], "ell": 3 });
    assert_eq!(evaluate("det", "primal", &a), 30.0);
}

#[test]
fn parameters_of_models_come_in_the_order_of_the_input() {
    let mixture = json!({
        "d": 3, "k": 2, "n": 5, "x": rows(0, 5, 3), "m": 2, "gamma": 1.5,
        "alpha": draw(1, 2), "mu": rows(2, 2, 3), "q": rows(3, 2, 3), "l": rows(4, 2, 3),
    });
    let jacobian = evaluate("gmm", "jacobian", &mixture);
    for field in ["alpha", "mu", "q", "l"] {
        assert_close(&numbers(&jacobian[field]), &gradient("gmm", "objective", &mixture, &[field]));
    }
    let network = json!({
        "main_params": rows(0, 4, 8), "extra_params": rows(1, 3, 2), "state": rows(2, 4, 2), "sequence": rows(3, 5, 2),
    });
    let expected = gradient("lstm", "objective", &network, &["main_params", "extra_params"]);
    assert_close(&numbers(&evaluate("lstm", "jacobian", &network)), &expected);
}

#[test]
fn newtons_step_goes_to_the_means_of_clusters() {
    let points = [[0.0, 0.0], [1.0, 0.5], [5.0, 5.0], [7.0, 5.0], [6.0, 8.0]];
    let input = json!({ "points": points, "centroids": [[1.0, 1.0], [6.0, 5.0]] });
    assert_close(&numbers(&evaluate("kmeans", "cost", &input)), &[2.0 + 0.25 + 1.0 + 1.0 + 9.0]);
    assert_close(&numbers(&evaluate("kmeans", "dir", &input)), &[0.5, 0.75, 0.0, -1.0]);
}

#[test]
fn entries_of_bundle_adjustment_are_where_they_belong() {
    let camera = json!([0.1, -0.2, 0.3, 0.5, 0.4, -0.6, 2.0, 0.7, 0.1, 0.01, -0.02]);
    let input = json!({ "n": 1, "m": 1, "p": 1, "cam": camera, "x": [1.0, 2.0, 3.0], "w": 0.5, "feat": [0.3, 0.2] });
    let jacobian = evaluate("ba", "jacobian", &input);
    let values = numbers(&jacobian["vals"]);
    let objective = |field, at| {
        let values = [1e-5, -1e-5].map(|by| evaluate("ba", "objective", &moved(&input, field, at, by)));
        let [above, below] = values.map(|value| numbers(&value["reproj_error"]["elements"]));
        [0, 1].map(|row| (above[row] - below[row]) / 2e-5)
    };
    let columns = (0..11).map(|at| ("cam", at)).chain((0..3).map(|at| ("x", at))).chain([("w", 0)]);
    let columns: Vec<[f64; 2]> = columns.map(|(field, at)| objective(field, at)).collect();
    for row in 0..2 {
        assert_close(&values[15 * row..][..15], &columns.iter().map(|column| column[row]).collect::<Vec<_>>());
    }
    assert_eq!((values.len(), values[30]), (31, -1.0));
    assert_eq!(numbers(&jacobian["rows"]), [0.0, 15.0, 30.0, 31.0, 31.0]);
    assert_eq!(numbers(&jacobian["cols"])[30], 14.0);
}

#[test]
fn a_hand_moves_with_all_of_its_parameters() {
    let bones = 22;
    let transforms: Vec<_> = (0..bones).map(|bone| rows(bone, 4, 4)).collect();
    let model = json!({
        "parents": (0..bones as i64).map(|bone| if bone % 4 == 2 { 1 } else { bone - 1 }).collect::<Vec<_>>(),
        "base_relatives": transforms, "inverse_base_absolutes": transforms, "is_mirrored": false,
        "base_positions": rows(1, 6, 4), "weights": rows(2, 6, bones), "triangles": [[0, 1, 2], [3, 5, 4]],
    });
    for (us, correspondences) in [(vec![], [4, 1]), (rows(3, 2, 2), [1, 0])] {
        let data = json!({ "model": model, "correspondences": correspondences, "points": rows(4, 2, 3) });
        let theta: Vec<f64> = draw(5, 26).iter().map(|angle| angle / 3.0).collect();
        let input = json!({ "theta": theta, "us": us, "data": data });
        let jacobian = evaluate("ht", "jacobian", &input);
        let column =
            |at: usize| -> Vec<f64> { (0..6).map(|row| jacobian[row][at].as_f64().expect("a number")).collect() };
        let places = if us.is_empty() { 0 } else { 2 };
        for at in 0..26 {
            assert_close(&column(places + at), &difference("ht", "objective", &input, "theta", at));
        }
        for at in 0..places {
            // The positions of both points; each point moves only its own errors.
            let [first, second] = [at, 2 + at].map(|at| difference("ht", "objective", &input, "us", at));
            assert_close(&column(at), &[&first[..3], &second[3..]].concat());
        }
    }
}

#[test]
fn derivatives_inside_of_gradient_descent_find_the_saddle() {
    for function in ["fr", "rf"] {
        let found = numbers(&evaluate("saddle", function, &json!({ "start": [1.0, 1.0] })));
        assert_eq!(found.len(), 4);
        assert!(found.iter().all(|x| (x - 8.246_324_826_140_356e-6).abs() < 1e-9), "{found:?}");
    }
}

#[test]
fn every_module_prints_its_programs() {
    for module in MODULES {
        let programs = (module.print)().expect("programs");
        assert!(programs.contains("program "), "{}", module.name);
    }
}
