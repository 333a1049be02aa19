//! The programs as pages: tags are balanced, links have targets, every node has a line, and nothing in a name is markup.

use super::all;
use crate::exported::Case;
use deltaray::export::{self, Program, Stages};
use deltaray::term::{Body, Build, Extension, Op};
use std::collections::{HashMap, HashSet};

/// Of so many programs one has its page made.
const STEP: usize = 8;

/// A tag of a page, with its attributes.
struct Tag {
    name: String,
    attributes: HashMap<String, String>,
}

/// The text of a page without its entities.
fn plain(text: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        result.push_str(&rest[..at]);
        let end = at + rest[at..].find(';').expect("an entity ends");
        result.push_str(match &rest[at..=end] {
            "&amp;" => "&",
            "&lt;" => "<",
            "&gt;" => ">",
            "&quot;" => "\"",
            "&#39;" => "'",
            other => panic!("{other} is no entity"),
        });
        rest = &rest[end + 1..];
    }
    result + rest
}

/// The tags of a page, whose balance is checked, and its text, which has no markup.
fn read(page: &str) -> (Vec<Tag>, String) {
    let mut rest = page.strip_prefix("<!DOCTYPE html>").expect("a page says that it is one");
    let (mut tags, mut open, mut text) = (Vec::new(), Vec::new(), String::new());
    while let Some(at) = rest.find('<') {
        let before = &rest[..at];
        assert!(!before.contains('>'), "a bracket in {before}");
        text.push_str(&plain(before));
        let end = at + rest[at..].find('>').expect("a tag ends");
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "tags are closed in their order");
            continue;
        }
        let alone = tag.ends_with('/');
        let tag = tag.trim_end_matches('/');
        let (name, mut list) = tag.split_once(' ').unwrap_or((tag, ""));
        assert!(name.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit()), "{name} is no tag");
        let mut attributes = HashMap::new();
        while !list.trim().is_empty() {
            let (attribute, value) = list.trim_start().split_once("=\"").expect("an attribute has a value");
            let (value, others) = value.split_once('"').expect("a value ends");
            assert!(attributes.insert(attribute.to_string(), plain(value)).is_none(), "{attribute} is there twice");
            list = others;
        }
        if name == "style" || name == "script" {
            let closing = format!("</{name}>");
            rest = &rest[rest.find(&closing).expect("it is closed") + closing.len()..];
            assert!(attributes.is_empty(), "nothing is read from elsewhere");
        } else if !alone {
            open.push(name.to_string());
        }
        tags.push(Tag { name: name.to_string(), attributes });
    }
    assert!(open.is_empty(), "{open:?} are not closed");
    (tags, text)
}

/// The number of nodes that have lines of their own; nested bodies count without their parameters.
fn shown<X: Extension>(body: &Body<X>) -> usize {
    body.nodes().iter().map(|node| 1 + nested(&node.op)).sum()
}

fn inner<X: Extension>(body: &Body<X>) -> usize {
    shown(body) - body.arity()
}

fn nested<X: Extension>(op: &Op<X>) -> usize {
    match op {
        Op::Extra(extra) => inner(&extra.as_build().body),
        Op::Scan(scan) => inner(&scan.body),
        Op::Branch(branch) => inner(&branch.then) + inner(&branch.otherwise),
        Op::Sweeps(sweeps) => sweeps.bodies().map(|body| inner(body)).sum(),
        Op::Custom(custom) => custom.bodies().map(|body| inner(body)).sum(),
        _ => 0,
    }
}

/// Checks a page; results in the lines of each stage.
fn check(name: &str, page: &str) -> Vec<Lines> {
    let (tags, _) = read(page);
    let ids: Vec<&String> = tags.iter().filter_map(|tag| tag.attributes.get("id")).collect();
    let distinct: HashSet<&str> = ids.iter().map(|id| id.as_str()).collect();
    assert_eq!(ids.len(), distinct.len(), "{name}: an id is there twice");
    let mut lines: Vec<Lines> = Vec::new();
    for tag in &tags {
        for (attribute, value) in &tag.attributes {
            let targets: Vec<&str> = match &attribute[..] {
                "href" => vec![value.strip_prefix('#').unwrap_or_else(|| panic!("{name}: {value} leaves the page"))],
                "data-n" | "data-c" => value.split(' ').collect(),
                "src" | "action" => panic!("{name}: {value} leaves the page"),
                _ => Vec::new(),
            };
            for target in targets {
                assert!(distinct.contains(target), "{name}: nothing has the id {target}");
            }
        }
        let class = tag.attributes.get("class").map_or("", String::as_str);
        match &tag.name[..] {
            "section" => lines.push(Lines { letter: tag.attributes["id"].clone(), ..Lines::default() }),
            "li" => {
                let stage = lines.last_mut().expect("a line stands in a stage");
                stage.nodes += usize::from(class == "n" || class == "n i");
                stage.outer += usize::from(class == "n");
                stage.is_outer = class == "n";
            }
            "a" => {
                let Some(stage) = lines.last_mut() else { continue };
                // Links within a stage go to names; the arrow to the next stage comes last in a line.
                let target = tag.attributes["href"].trim_start_matches('#');
                if stage.is_outer && target[..1] > *stage.letter {
                    stage.linked += 1;
                }
            }
            _ => {}
        }
    }
    lines
}

/// The lines of a stage that are nodes.
#[derive(Default)]
struct Lines {
    letter: String,
    /// All of them.
    nodes: usize,
    /// The nodes outside of bodies.
    outer: usize,
    /// Those of the outer nodes with links to the next stage.
    linked: usize,
    is_outer: bool,
}

/// The source of a case, or the program itself for a gradient.
fn stages(case: &Case) -> (Stages, usize) {
    match &case.source {
        Some(source) => (Stages::from(source), shown(&source.body)),
        None => (Stages::from(case.program.clone()), shown(&case.program.body)),
    }
}

#[test]
fn pages_are_well_formed() {
    let start = std::time::Instant::now();
    let (mut pages, mut gradients, mut all_nodes, mut all_linked, mut largest) = (0, 0, 0, 0, 0);
    for case in all().iter().step_by(if all().len() < 8 * STEP { 1 } else { STEP }) {
        let (stages, count) = stages(case);
        let own = std::time::Instant::now();
        let page = export::html(stages.clone()).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        let lines = check(&case.name, &page);
        assert_eq!(lines[0].nodes, count, "{}", case.name);
        pages += 1;
        all_nodes += lines.iter().map(|stage| stage.outer).sum::<usize>();
        all_linked += lines.iter().map(|stage| stage.linked).sum::<usize>();
        largest = largest.max(page.len());
        if own.elapsed().as_secs_f64() > 2.0 {
            println!("{}: {:.1} s, {} bytes", case.name, own.elapsed().as_secs_f64(), page.len());
        }
        let Some(source) = &case.source else { continue };
        let is_float = |at: usize| source.body.parameter_type(at).dtype.is_float();
        let loss = source.body.result_types().next();
        if loss.is_some_and(|ty| ty.dtype.is_float() && ty.rank() == 0) && (0..source.body.arity()).any(is_float) {
            let page = export::html(stages.gradient(source.body.arity()));
            let page = page.unwrap_or_else(|error| panic!("gradient of {}: {error}", case.name));
            let lines = check(&case.name, &page);
            assert_eq!((lines.len(), lines[0].nodes), (7, count), "{}", case.name);
            gradients += 1;
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{pages} pages, {gradients} with gradients, {all_linked} of {all_nodes} outer nodes linked, {largest} bytes, {seconds:.1} s"
    );
    assert!(pages > 0);
    if std::env::var("DELTARAY_ROW").is_err() {
        assert!(pages >= 200 && gradients >= 20);
        // Nodes that become a part of another operation, or are no longer needed, have no link.
        assert!(all_linked * 10 > all_nodes * 8, "{all_linked} of {all_nodes}");
    }
}

#[test]
fn names_are_no_markup() {
    let Some(case) = all().iter().find(|case| case.source.is_some() && case.program.body.arity() > 0) else { return };
    let source = case.source.clone().expect("of a row");
    let hostile = "</title></script><script>alert('x')</script>\" onload=\"y\" <!-- & \u{0} &lt;";
    let names = vec![hostile; source.body.arity().max(source.body.results().len())];
    let program: Program<Build> = source.with_name(hostile).with_parameters(names.clone()).with_results(names);
    let page = export::html(program).expect("a page");
    let (tags, text) = read(&page);
    assert_eq!(tags.iter().filter(|tag| tag.name == "script").count(), 1);
    assert!(tags.iter().all(|tag| !tag.attributes.contains_key("onload")));
    assert!(!page.contains("<!--"));
    assert!(
        text.contains("</title></script><script>alert('x')</script>\" onload=\"y\" <!-- & \u{FFFD} &lt;: every stage")
    );
}

#[test]
fn functions_without_a_gradient_are_told_apart() {
    let integers = |case: &&Case| {
        let float = |ty: &deltaray::shape::Type| ty.dtype.is_float() && ty.rank() == 0;
        case.source.as_ref().is_some_and(|source| !source.body.result_types().next().is_some_and(float))
    };
    let Some(case) = all().iter().find(integers) else { return };
    let source = case.source.clone().expect("of a row");
    let count = source.body.arity();
    let error = export::html(Stages::from(source).gradient(count)).expect_err("there is no gradient").to_string();
    assert!(error.starts_with("html: a gradient is that of a float without axes, but the first result is "), "{error}");
    assert!(error.contains("html.rs"), "{error}");
}
