//! Rooms import in one direction: the order of the top-level modules, which the library's documentation states, held against
//! every file of `src/`.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The top-level modules in the order of the documentation, and the rooms of what the root hands on by other names.
struct House {
    order: Vec<String>,
    handed_on: HashMap<String, String>,
}

impl House {
    /// From the text of `lib.rs`: the order is the block under "Which room knows which", without what follows a colon.
    fn new(root: &str) -> House {
        let mut documentation = root.lines().map(|line| line.strip_prefix("//!").unwrap_or("").trim());
        documentation.find(|line| *line == "# Which room knows which").expect("a section on the order");
        let block = documentation.skip_while(|line| *line != "```text").skip(1).take_while(|line| *line != "```");
        let names = block.flat_map(|line| line.split(':').next().unwrap_or("").split(','));
        let order: Vec<String> = names.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect();
        let code = code(root);
        let mut declared: Vec<String> = after(&code, "mod ").map(|(_, rest)| word(rest).to_owned()).collect();
        let mut sorted = order.clone();
        declared.sort();
        sorted.sort();
        assert_eq!(declared, sorted, "the order names every top-level module once");
        let mut handed_on = HashMap::new();
        for (_, rest) in after(&code, "pub use ") {
            let (room, names) = rest.split_once("::").expect("a path of the root");
            let names = names.split(';').next().unwrap_or("").split(|c: char| !is_word(c));
            handed_on.extend(names.filter(|name| !name.is_empty()).map(|name| (name.to_owned(), room.to_owned())));
        }
        House { order, handed_on }
    }

    fn place(&self, name: &str) -> Option<usize> {
        let room = self.handed_on.get(name).map_or(name, String::as_str);
        self.order.iter().position(|other| other == room)
    }

    /// The imports of a file from later rooms: the line, and the room. `depth` is the number of modules that the file's
    /// module is within, the root among them.
    fn wrong_arrows(&self, room: &str, depth: usize, text: &str) -> Vec<(usize, String)> {
        let code = code(text);
        let to_root = ["crate::".to_owned(), "deltaray::".to_owned(), "super::".repeat(depth)];
        let own = self.place(room).unwrap_or_else(|| panic!("`{room}` is a top-level module"));
        let mut arrows = Vec::new();
        for (at, rest) in to_root.iter().flat_map(|path| after(&code, path)) {
            let line = 1 + code[..at].matches('\n').count();
            for name in first_names(rest) {
                let other = self.place(name).filter(|&other| other > own);
                arrows.extend(other.map(|other| (line, self.order[other].clone())));
            }
        }
        arrows.sort();
        arrows
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn word(text: &str) -> &str {
    &text[..text.find(|c| !is_word(c)).unwrap_or(text.len())]
}

/// Where a text stands, if not as the end of a longer path or word, and what follows it.
fn after<'t>(code: &'t str, text: &str) -> impl Iterator<Item = (usize, &'t str)> {
    let starts = code.match_indices(text).map(|(at, found)| (at, &code[at + found.len()..]));
    starts.filter(|(at, _)| !code[..*at].ends_with(|c| is_word(c) || c == ':'))
}

/// The names with which the paths of a tree of imports begin: of `{a::b, c::{d, e}}`, `a` and `c`.
fn first_names(rest: &str) -> Vec<&str> {
    let Some(tree) = rest.strip_prefix('{') else { return vec![word(rest)] };
    let (mut depth, mut names, mut begins) = (0, Vec::new(), true);
    for (at, c) in tree.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => begins = true,
            c if begins && is_word(c) => {
                names.push(word(&tree[at..]));
                begins = false;
            }
            _ => {}
        }
    }
    names
}

/// The attribute of an item that is there for tests alone.
const TESTS: &str = "#[cfg(test)]";

/// The code of a file, line by line where it was: no comments, no texts, and nothing that is there for tests alone.
fn code(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let skipped = match c {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '"' => quoted(rest),
            'r' if !kept.ends_with(is_word) && rest[1..].trim_start_matches('#').starts_with('"') => {
                let hashes = rest[1..].find('"').unwrap_or(0);
                let end = format!("\"{}", "#".repeat(hashes));
                let from = 2 + hashes;
                rest[from..].find(&end).map_or(rest.len(), |at| from + at + end.len())
            }
            // A character, and no lifetime.
            '\'' if rest[1..].starts_with('\\') => 4 + rest[3..].find('\'').unwrap_or(0),
            '\'' if rest.chars().nth(2) == Some('\'') => 2 + rest.chars().nth(1).map_or(0, char::len_utf8),
            _ => 0,
        };
        if skipped == 0 {
            kept.push(c);
            rest = &rest[c.len_utf8()..];
        } else {
            kept.extend(rest[..skipped].matches('\n'));
            rest = &rest[skipped..];
        }
    }
    while let Some(at) = kept.find(TESTS) {
        let end = at + item(&kept[at..]);
        let lines = "\n".repeat(kept[at..end].matches('\n').count());
        kept.replace_range(at..end, &lines);
    }
    kept
}

/// The length of a text in quotation marks.
fn quoted(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.char_indices().skip(1).find(|&(_, c)| {
        let ends = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}

/// The length of an item with its attributes: up to a semicolon, or the end of its block.
fn item(text: &str) -> usize {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => {
                depth -= 1;
                if depth == 0 && c == '}' {
                    return at + 1;
                }
            }
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The files of a folder that holds a module, but for those that are there for tests alone.
fn files(folder: &Path, module: &Path, found: &mut Vec<PathBuf>) {
    let declarations = fs::read_to_string(module).expect("the file of a module");
    let for_tests: Vec<&str> = after(&declarations, TESTS).map(|(_, rest)| &rest[..item(rest)]).collect();
    for entry in fs::read_dir(folder).expect("a folder of the library") {
        let path = entry.expect("an entry of it").path();
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or("").to_owned();
        let is_for_tests = for_tests
            .iter()
            .any(|item| item.contains(&format!("mod {name};")) || item.contains(&format!("{name}.rs\"")));
        if path.is_dir() {
            let inside = [path.join("mod.rs"), path.with_extension("rs")].into_iter().find(|file| file.exists());
            if let (Some(inside), false) = (inside, is_for_tests) {
                files(&path, &inside, found);
            }
        } else if !is_for_tests && path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn rooms_import_from_rooms_before_them() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let house = House::new(&fs::read_to_string(source.join("lib.rs")).expect("the root"));
    let mut paths = Vec::new();
    files(&source, &source.join("lib.rs"), &mut paths);
    assert!(paths.len() > house.order.len(), "{} files", paths.len());
    let mut wrong = String::new();
    for path in paths.iter().filter(|path| !path.ends_with("lib.rs")) {
        let inside = path.strip_prefix(&source).expect("a file of the library").with_extension("");
        let mut modules: Vec<&str> = inside.iter().filter_map(|part| part.to_str()).collect();
        modules.pop_if(|last| *last == "mod");
        let text = fs::read_to_string(path).expect("a file of the library");
        for (line, other) in house.wrong_arrows(modules[0], modules.len(), &text) {
            wrong += &format!("{}:{line}: {} imports from {other}, a later room\n", path.display(), modules[0]);
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn an_arrow_back_is_found() {
    let root = "\
//! # Which room knows which
//!
//! ```text
//! shape, term: numbers
//! engine:      runs
//! ```
pub mod engine;
pub mod shape;
pub(crate) mod term;
pub use engine::device;
";
    let house = House::new(root);
    let text = "\
use crate::shape::{Shape, size};
// use crate::engine::Cpu;
const TEXT: &str = \"crate::engine\";
const QUOTES: [char; 2] = ['\\n','\"'];
use crate::{shape::Type, engine::{Cpu, Program}};
fn run() { crate::device::open(); super::super::engine::run() }
#[cfg(test)]
mod tests {
    use crate::engine::Cpu;
}
";
    let engine = |line: usize| (line, "engine".to_owned());
    assert_eq!(house.wrong_arrows("term", 2, text), [engine(5), engine(6), engine(6)]);
    assert_eq!(house.wrong_arrows("shape", 2, "use crate::term::Op;"), [(1, "term".to_owned())]);
    assert_eq!(house.wrong_arrows("engine", 2, text), []);
}
