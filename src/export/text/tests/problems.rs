//! Wrong texts, and those that exceed limits.

use super::*;

/// The problem of an expression of `x: f64[3]`, `m: f64[3, 3]`, `n: i64` and `b: bool`, from its column.
fn problem_of(expression: &str) -> String {
    let problem =
        problem(&format!("program f(x: f64[3], m: f64[3, 3], n: i64, b: bool) -> f64[3]:\n    {expression}\n"));
    problem.strip_prefix("line 2, column ").map(str::to_string).unwrap_or(problem)
}

#[test]
fn what_does_not_fit_is_said_where_it_is() {
    let cases = [
        ("x + y", "9: nothing has the name y"),
        ("x + m", "7: add: shapes [3] and [3, 3] differ"),
        ("x + n", "7: add: shapes [3] and [] differ"),
        ("x +", "8: expected an expression, found the end of the line"),
        ("x + 1_f32", "7: add: element types f64 and f32 differ"),
        ("n + 1.5", "9: `1.5` is no i64"),
        ("x * (x + 1.0", "9: the bracket is not closed"),
        ("x]", "6: ] closes nothing"),
        ("(x]", "7: ] does not close ("),
        ("x ? x", "7: the language has no '?'"),
        ("exp", "8: expected an expression, found the end of the line"),
        ("exp x y", "11: expected an operator or the end of the line, found `y`"),
        ("foo(x)", "5: nothing has the name foo"),
        ("then x", "5: expected an expression, found `then`"),
        ("max(x)", "5: max takes 2 operands, not 1"),
        ("select(b, x, x)", "5: select: shapes [] and [3] differ"),
        ("x[3]", "6: position 3 is outside of shape [3], axis 0"),
        ("x[0, 0]", "6: 2 indices into shape [3]"),
        ("m[:, n]", "6: `:` stands beside literal positions only"),
        ("x[x]", "6: a position of type f64[3]: arrays of positions are for `gather`"),
        ("transpose[0, 0] m", "5: axes [0, 0] are no permutation of those of shape [3, 3]"),
        ("reverse[2] m", "5: there is no axis 2 in shape [3, 3]"),
        ("slice[0: 2..5] x", "5: the slice ends at 5, outside of shape [3], axis 0"),
        ("slice[0: 2..1] x", "14: a slice goes upwards"),
        ("stretch[0: 5] x", "5: axis 0 of shape [3] is not of extent 1"),
        ("diagonal x", "5: shape [3] has no diagonal of its first two axes"),
        ("replicate[3: 2] x", "5: there is no room for a new axis 3"),
        ("view [3] x ([i, j] -> [i])", "17: the map has 2 positions, but the shape has 1 axes"),
        ("view [3] x ([i] -> [k])", "25: k is no position of the map"),
        ("view [3] x ([i] -> [])", "5: the map has 0 rows and 0 offsets, but reads shape [3]"),
        ("view [3] x ([i] -> [9223372036854775807*i])", "5: the map reads further than 2^58 outside of shape [3]"),
        ("reshape [4] x", "5: reshape: sizes of shapes [3] and [4] differ"),
        ("sum[1, 0] m", "5: sum: axes [1, 0] are not ascending"),
        (
            "contract \"ij,jk->i\" m m",
            "14: a label stands in at least two of the three lists, and in each of them once",
        ),
        ("contract \"ij\" m m", "14: labels are written as in \"ij,jk->ik\""),
        ("contract \"ij,jk->ik m m", "14: the labels have no end: expected \""),
        ("full x [3]", "10: expected a number, which is what all elements are"),
        ("[1.0, [2.0]]", "11: expected a number, found `[`"),
        ("[[1.0, 2.0], [3.0]]", "22: a list of 1 beside lists of 2"),
        ("[1.0, true]", "11: `true` is no f64"),
        ("[]", "6: expected a number, found `]`"),
        ("x + 1e999", "9: `1e999` is no f64"),
        ("NaN#12", "5: `NaN` is no f64"),
        ("1.0.0", "8: expected an operator or the end of the line, found `.`"),
        ("99999999999999999999", "5: `99999999999999999999` is no i64"),
        ("iota 99999999999999999999", "10: 99999999999999999999 is too large"),
        (
            "full 1.0 [10000000000, 10000000000]",
            "10: constant: an array of type f64[10000000000, 10000000000] is too large for any memory: 800000000000000000000 bytes",
        ),
        ("powi[3000000000] x", "10: there is no powi of 3000000000"),
        ("powi [3] x", "10: expected `[` without a space before it, found `[`"),
        ("build [3] λ[i]. x[i]", "5: a bulk program has no `build`: this one is read as a source program"),
        ("scan[2] from (x) λ(s: f64[3]). s", "5: expected an expression, found `scan`"),
        ("m", "line 1, column 56: this result is f64[3, 3], not f64[3]"),
        ("(x, x)", "line 1, column 56: 1 types for 2 results"),
        ("let y: f64[4] = x\n    y", "9: y is f64[3] by its definition, not f64[4]"),
        ("let x: f64[3] = x\n    x", "9: the name x is taken"),
        ("let sum: f64[3] = x\n    x", "9: expected a name, which is no word of the language, found `sum`"),
        ("let (a: f64, b: f64) = n\n    x", "28: 2 names for 1 arrays"),
        ("let y: f64[3] = scan[2] from (x) λ(s: f64[3], t: f64). s\n    y", "38: 2 parameters for 1 values"),
        (
            "let y: f64[3] = scan[2] from (x) λ(s: f64[4]). s\n    y",
            "21: scan: the loop's body takes f64[4] at position 0, not f64[3]",
        ),
        (
            "let y: f64[3] = sweeps[2, every 0]\n        forwards from (x) λ(s: f64[3]). s\n    y",
            "21: sweeps: a loop has at least one checkpoint",
        ),
        (
            "let y: f64[3] = sweeps[2]\n        backwards from (x) λ(s: f64[3]). s\n    y",
            "line 3, column 9: expected `forwards`, found `backwards`",
        ),
        (
            "let y: f64[3] = sweeps[2]\n        forwards from (x) keep 18446744073709551615 λ(s: f64[3]). s\n    y",
            "21: sweeps: there are not so many values of a step that are kept",
        ),
        ("let y: f64[3] = custom (x) λ(s: f64[3]). s\n    y", "21: custom: has no derivative rule"),
        (
            "let y: f64[3] = custom (x) λ(s: f64[3]). s + x\n    y",
            "50: x is no parameter: functions with derivative rules refer to those only",
        ),
        ("let y: f64[3] = branch n then x else x\n    y", "21: branch: the condition is a rank-0 bool, not i64"),
    ];
    for (expression, expected) in cases {
        let found = problem_of(expression);
        assert_eq!(found, expected, "{expression}");
    }
    for (text, expected) in [
        ("", "line 1, column 1: expected `program`, found the end of the text"),
        ("program", "line 1, column 8: expected a name, found the end of the line"),
        ("program f() -> f64:\n", "line 2, column 1: expected a line further to the right, found the end of the text"),
        ("program f() -> f64:\n    1.0\n  2.0\n", "line 3, column 3: the line begins where no other line does"),
        ("program f() -> f64:\n\t1.0\n", "line 2, column 1: a tab: lines begin with spaces"),
        (
            "program f() -> f64:\n    1.0\nprogram g() -> f64:\n    1.0\n",
            "line 3, column 1: expected `constants`, or the end of the text, found `program`",
        ),
        (
            "program f(x: f16) -> f64:\n    1.0\n",
            "line 1, column 14: expected an element type: f32, f64, i32, i64 or bool, found `f16`",
        ),
    ] {
        assert_eq!(problem(text), expected);
    }
}

#[test]
fn nesting_is_bounded_and_what_is_allowed_fits_the_stack() {
    let brackets = |count: usize| format!("{}x{}", "(".repeat(count), ")".repeat(count));
    let whole = |expression: &str| format!("program f(x: f64) -> f64:\n    {expression}\n");
    assert!(parse(&whole(&brackets(64))).is_ok());
    assert_eq!(problem(&whole(&brackets(65))), "line 2, column 69: brackets are nested more than 64 deep");
    for bracket in ["(", "[", "x[", "exp (", "(-", "build [3] λ["] {
        assert!(problem(&whole(&bracket.repeat(100_000))).ends_with("nested more than 64 deep"), "{bracket}");
    }
    let lines: String =
        (1..100_000).map(|at| format!("{}let y: f64 = branch b then\n", " ".repeat(at % 200))).collect();
    assert!(parse(&lines).is_err());
    // Lines, brackets and builds in each other, as deep as they may be.
    let nested = |lines: usize, depth: usize, builds: usize| {
        let mut text = "program f(x: f64, b: bool) -> f64:\n".to_string();
        for at in 1..lines {
            text.push_str(&format!("{}let y{at}: f64 = branch b then\n", " ".repeat(at)));
        }
        let opened = |at: usize| format!("{}build [1] λ[j{at}]. ", if at < depth { "(" } else { "" });
        let opened: String = (0..builds).map(opened).collect();
        let index = if builds > 0 { format!("[{}]", vec!["0"; builds].join(", ")) } else { String::new() };
        text.push_str(&format!("{}({opened}x{}){index}\n", " ".repeat(lines), ")".repeat(depth)));
        for at in (1..lines).rev() {
            let margin = " ".repeat(at);
            text.push_str(&format!("{margin}else\n{margin} x\n{margin}y{at}\n"));
        }
        text
    };
    for (lines, depth, builds) in [(64, 0, 0), (1, 62, 63), (32, 31, 32), (63, 1, 1)] {
        let read = parse_source(&nested(lines, depth, builds)).unwrap_or_else(|error| panic!("{lines}: {error}"));
        let again = parse_source(&text_source(&read)).unwrap();
        assert_eq!(text_source(&again), text_source(&read));
    }
    for (lines, depth, builds) in [(65, 0, 0), (1, 63, 63), (1, 0, 64), (32, 0, 33)] {
        let problem = parse_source(&nested(lines, depth, builds)).unwrap_err().to_string();
        assert!(problem.ends_with("nested more than 64 deep"), "{problem}");
    }
}

#[test]
fn many_axes_are_bounded_by_the_length_of_the_text() {
    let extents = vec!["1"; 50_000].join(", ");
    let text = format!("program f(x: f64[{extents}]) -> f64[{extents}]:\n    view [{extents}] x ([i] -> [i])\n");
    assert!(problem(&text).contains("positions"));
    let text = format!("program f(x: f64[{extents}]) -> f64[{extents}]:\n    reverse[0] x\n");
    assert!(problem(&text).ends_with("the program's types and maps have too many axes for its length"));
    // Every body around a name has a parameter of its type.
    let bodies: String = (0..60).map(|at| format!("build [1] λ[i{at}_]. ")).collect();
    let bodies = vec![format!("{bodies}x"); 8].join(", ");
    let text = format!("program f(x: f64[{extents}]) -> f64:\n    ({bodies})\n");
    let problem_of_bodies = parse_source(&text).unwrap_err().to_string();
    assert!(problem_of_bodies.ends_with("too many axes for its length"));
    let sum = vec!["x"; 2000].join(" + ");
    let text = format!("program f(x: f64[{extents}]) -> f64[{extents}]:\n    {sum}\n");
    assert!(problem(&text).ends_with("the program's types and maps have too many axes for its length"));
}

#[test]
fn every_prefix_of_a_program_is_an_error() {
    let written = "\
program f(x: f64, b: bool) -> (f64, value: f64[2]):
    let (m1: f64, m2: f64[2]) = scan[2, reverse] from (x) over ([1.0, -2.5]) λ(s1: f64, e1: f64).
        let m3: f64 = s1 * e1 + x
        (m3, exp m3)
    let m4: f64 = branch b then m1 else -x
    (m4, view [2] m2 ([i] -> [1 - i]))
";
    let end = written.trim_end().len();
    assert!(parse(&written[..end]).is_ok(), "a line end is not needed at the end");
    for cut in (0..end).filter(|&cut| written.is_char_boundary(cut)) {
        assert!(parse(&written[..cut]).is_err(), "{}", &written[..cut]);
    }
    // With the line ends of other systems, blank lines, and more room.
    let other = written.replace('\n', "\r\n").replace("    let m4", "\r\n    \r\n    let m4").replace(" + ", "  +   ");
    let printed = text(parse(written).unwrap());
    assert_eq!(text(parse(&other).unwrap()), printed);
}
