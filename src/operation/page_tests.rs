//! The page on adding an operation shows the library's own code, and names all files that know the operations that it follows.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const PAGE: &str = include_str!("../../docs/adding-an-operation.md");

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Lines without their margins.
fn packed(text: &str) -> String {
    text.lines().map(|line| line.trim().to_string() + "\n").collect()
}

/// The files that a text names.
fn files(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).filter(|name| name.starts_with("src/") && name.ends_with(".rs")).collect()
}

#[test]
fn blocks_are_code_of_the_file_before_them() {
    let parts: Vec<&str> = PAGE.split("```").collect();
    assert_eq!(parts.len() % 2, 1, "a block is not closed");
    for pair in parts.chunks_exact(2) {
        let block = pair[1].strip_prefix("text\n").expect("blocks are text");
        let file = files(pair[0]).pop().expect("a file is named before a block");
        let code = fs::read_to_string(root().join(file)).unwrap();
        assert!(packed(&code).contains(&packed(block)), "{file} does not contain\n{block}");
    }
}

/// The files of the library, but for tests, with one of these words.
fn with_words(words: &[&str]) -> BTreeSet<String> {
    fn visit(folder: &Path, found: &mut dyn FnMut(&Path)) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { visit(&path, found) } else { found(&path) }
        }
    }
    let mut found = BTreeSet::new();
    visit(&root().join("src"), &mut |path| {
        let name = path.strip_prefix(root()).unwrap().to_str().unwrap().replace('\\', "/");
        let text = fs::read_to_string(path).unwrap_or_default();
        if !name.contains("tests") && words.iter().any(|word| text.contains(word)) {
            found.insert(name);
        }
    });
    found
}

#[test]
fn all_files_that_know_the_operations_are_named() {
    let (row, structural) = PAGE.split_once("## A structural operation").unwrap();
    let mut found = with_words(&["Softplus", "softplus", "SOFTPLUS"]);
    // A formula of its own, which few operations have, and a function for users that is made of it.
    found.retain(|file| !file.starts_with("src/elementary/") && !file.starts_with("src/functions/"));
    let steps: BTreeSet<String> =
        row.split("\n\n").filter(|part| part.starts_with("**")).flat_map(files).map(String::from).collect();
    assert_eq!(steps, found);
    assert!(row.contains("is a row: three files") && found.len() == 3);
    let rows = structural.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let named: BTreeSet<String> = rows.flat_map(files).map(String::from).collect();
    assert_eq!(named, with_words(&["ArgSort", "arg_sort", "\"argsort\""]));
    assert!(structural.contains("a few arms: twelve files") && named.len() == 12);
}
