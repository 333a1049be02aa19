//! Programs as graphs: the output is valid Graphviz, and every edge has two ends.

use super::all;
use deltaray::export;
use std::collections::HashSet;

/// The words and signs of a graph; texts in quotes are one word each, with the quotes.
fn tokens(graph: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = graph.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '"' => {
                let mut text = String::from("\"");
                loop {
                    match rest.next().expect("quotes are closed") {
                        '"' => break,
                        '\\' => {
                            let escaped = rest.next().expect("something is escaped");
                            assert!(['"', '\\', 'n'].contains(&escaped), "escaped {escaped}");
                            text.push(escaped);
                        }
                        '\n' => panic!("a text goes on in the next line: {text}"),
                        other => text.push(other),
                    }
                }
                tokens.push(text);
            }
            '-' => {
                assert_eq!(rest.next(), Some('>'));
                tokens.push("->".into());
            }
            '{' | '}' | '[' | ']' | '=' | ',' | ';' => tokens.push(character.into()),
            space if space.is_whitespace() => {}
            first => {
                assert!(first.is_ascii_alphabetic(), "a word begins with {first:?}");
                let mut word = String::from(first);
                while let Some(next) = rest.next_if(|&next| next.is_ascii_alphanumeric() || next == '_') {
                    word.push(next);
                }
                tokens.push(word);
            }
        }
    }
    tokens
}

/// Reads `[name=value, ..];`; the list may be missing.
fn attributes<'a>(tokens: &mut impl Iterator<Item = &'a str>, mut next: Option<&'a str>) {
    if next == Some("[") {
        loop {
            let name = tokens.next().expect("an attribute has a name");
            assert!(name.starts_with(|first: char| first.is_ascii_lowercase()), "{name}");
            assert_eq!(tokens.next(), Some("="));
            assert!(tokens.next().is_some_and(|value| value.len() > 1), "an attribute has a value");
            match tokens.next() {
                Some(",") => {}
                end => break assert_eq!(end, Some("]")),
            }
        }
        next = tokens.next();
    }
    assert_eq!(next, Some(";"));
}

/// Reads a graph; results in its nodes and its edges.
fn read(graph: &str) -> (HashSet<String>, Vec<(String, String)>) {
    let tokens = tokens(graph);
    let mut tokens = tokens.iter().map(String::as_str);
    assert_eq!(tokens.next(), Some("digraph"));
    assert!(tokens.next().is_some_and(|name| name.starts_with('"')));
    assert_eq!(tokens.next(), Some("{"));
    let (mut nodes, mut edges, mut clusters, mut open) = (HashSet::new(), Vec::new(), HashSet::new(), 1);
    while open > 0 {
        match tokens.next().expect("the graph is closed") {
            "}" => open -= 1,
            "subgraph" => {
                let name = tokens.next().unwrap_or_default();
                assert!(name.starts_with("cluster_") && clusters.insert(name.to_string()), "{name}");
                assert_eq!(tokens.next(), Some("{"));
                open += 1;
            }
            "label" => {
                assert_eq!(tokens.next(), Some("="));
                assert!(tokens.next().is_some_and(|label| label.starts_with('"')));
                assert_eq!(tokens.next(), Some(";"));
            }
            "node" | "edge" => {
                let next = tokens.next();
                attributes(&mut tokens, next);
            }
            name => match tokens.next() {
                Some("->") => {
                    let end = tokens.next().expect("an edge has an end");
                    edges.push((name.to_string(), end.to_string()));
                    let next = tokens.next();
                    attributes(&mut tokens, next);
                }
                next => {
                    assert!(nodes.insert(name.to_string()), "{name} is drawn twice");
                    attributes(&mut tokens, next);
                }
            },
        }
    }
    assert_eq!(tokens.next(), None);
    (nodes, edges)
}

#[test]
fn edges_of_graphs_have_two_ends() {
    for case in all() {
        let (nodes, edges) = read(&export::dot(&case.program));
        for (start, end) in &edges {
            assert!(nodes.contains(start) && nodes.contains(end), "{}: {start} -> {end}", case.name);
        }
        let body = &case.program.body;
        assert!(nodes.len() >= body.nodes().len() + body.results().len(), "{}", case.name);
        let operands: usize = body.nodes().iter().map(|node| node.args.len()).sum();
        assert!(edges.len() >= operands + body.results().len(), "{}", case.name);
    }
}
