//! The table of docs/semantics.md has no row without a test, and this one no row that is not in the table.

/// The table, and the files with the tests of its rows.
const TABLE: &str = include_str!("../../docs/semantics.md");
const TESTS: [&str; 7] = [
    include_str!("bad_input.rs"),
    include_str!("choices.rs"),
    include_str!("integers.rs"),
    include_str!("loops.rs"),
    include_str!("numbers.rs"),
    include_str!("positions.rs"),
    include_str!("written.rs"),
];

/// How each row begins, in order, and the tests of it.
const ROWS: &[(&str, &[&str])] = &[
    (
        "read out",
        &[
            "reads_out_of_bounds_are_0",
            "booleans_out_of_bounds_are_false",
            "axes_of_length_0_read_as_0",
            "positions_wrap",
            "positions_of_several_indices_wrap",
            "far_positions_of_matrices_wrap",
        ],
    ),
    ("a range", &["operands_that_do_not_fit"]),
    (
        "write out",
        &[
            "writes_out_of_bounds_are_ignored",
            "writes_out_of_bounds_are_ignored_in_every_mode",
            "elements_and_lines_out_of_bounds_are_not_written",
            "assignments_out_of_bounds_are_ignored",
        ],
    ),
    ("positions that are `masked`", &["positions_masked_out_are_outside"]),
    ("positions that are cast", &["positions_cast_from_nan_are_0"]),
    ("several `sc", &["the_last_write_to_a_position_wins"]),
    ("an array that", &["reads_in_the_statement_that_writes_see_the_array_before"]),
    ("slices in", &["slices_in_no_segment_have_no_influence"]),
    (
        "integer `/`",
        &["quotients_and_remainders", "overflow_wraps", "sums_wrap", "integers_that_are_cast_to_narrower_ones_wrap"],
    ),
    (
        "`cond`, ",
        &[
            "only_the_chosen_side_of_select_has_influence",
            "only_the_chosen_side_of_cond_has_influence",
            "zeros_that_are_not_cut_off_have_derivatives",
        ],
    ),
    ("comparisons", &["steps_have_derivative_0"]),
    ("integer and", &["integers_and_booleans_have_no_gradient"]),
    ("elementwise `min`", &["ties_of_two_go_to_a_literal_or_the_first"]),
    (
        "reductions `min`",
        &[
            "ties_of_reductions_go_to_the_first",
            "ties_of_segments_go_to_the_first",
            "ties_of_running_extremes_go_to_the_first",
            "ties_of_windows_go_to_the_first",
        ],
    ),
    ("`scatter_max`", &["ties_of_writes_go_to_what_is_there_then_to_the_first"]),
    ("`sort`", &["equal_elements_keep_their_order_when_sorted"]),
    ("products with", &["products_are_exact_where_elements_are_0"]),
    ("what softmax", &["what_is_subtracted_to_keep_exponentials_small_has_no_derivative"]),
    ("NaN", &["nan"]),
    ("zero", &["zero_has_no_sign"]),
    ("`abs` at", &["abs_at_0"]),
    ("`sqrt` at", &["sqrt_at_0"]),
    ("`pow(", &["pow"]),
    ("`cbrt`", &["infinite_slopes"]),
    ("`atan2`", &["infinite_slopes"]),
    ("`hypot`", &["hypot_logaddexp_and_xlogy"]),
    ("functions", &["slopes_where_values_are_no_numbers"]),
    ("`logaddexp`", &["hypot_logaddexp_and_xlogy"]),
    ("`xlogy", &["hypot_logaddexp_and_xlogy"]),
    ("`digamma`", &["gamma_functions_at_their_poles"]),
    ("shifts", &["bits"]),
    ("`x * x.ln", &["x_times_ln_x_at_0"]),
    ("`powi", &["powi"]),
    ("sum of nothing", &["reductions_of_nothing"]),
    ("empty arrays", &["empty_arrays_axes_of_length_1_and_rank_0"]),
    ("a slice whose", &["slices_have_ends_that_move"]),
    ("`rolled(start..end)`", &["ranges_of_steps_have_ends_that_are_arrays"]),
    ("a loop of no", &["few_steps", "endless_loops_that_are_not_reached"]),
    ("`while_loop`", &["endless_loops_that_are_not_reached"]),
    ("`Checkpoints`", &["few_steps"]),
    ("arrays that no", &["operands_that_do_not_fit"]),
    ("unused", &["unused_inputs_and_dead_code"]),
    ("f32 and", &["both_floats_keep_their_type"]),
];

#[test]
fn every_row_has_tests() {
    // The table after it states bounds of derivatives, which have tests beside the operation table.
    let (cases, _) = TABLE.split_once("## How exact derivatives are").expect("its heading");
    let lines = cases.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| case |"));
    let cases: Vec<&str> = lines.map(|line| &line[2..]).collect();
    for (position, case) in cases.iter().enumerate() {
        let (begins, tests) = ROWS.get(position).unwrap_or_else(|| panic!("no tests are named for the row: {case}"));
        assert!(case.starts_with(begins), "row {position} is {case}, and not {begins}");
        assert!(!tests.is_empty(), "no tests are named for the row: {case}");
        for test in *tests {
            let head = format!("#[test]\nfn {test}() {{");
            assert!(
                TESTS.iter().any(|file| file.contains(&head)),
                "{test} is no test; it is named for the row: {case}"
            );
        }
    }
    assert_eq!(cases.len(), ROWS.len(), "rows that are not in the table");
}
