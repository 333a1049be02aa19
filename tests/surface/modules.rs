//! The public modules: the library's documentation lists each of them once, for users or for extending the library.

use std::fs;
use std::path::Path;

/// The sentence with which a module's documentation says that it is for extending the library.
const EXTENDING: &str = "This module is for extending the library, and may change between minor versions.";

/// The names of the list that follows a line of the documentation; a path is the module that it begins with, and its rest.
fn listed<'t>(documentation: &[&'t str], heading: &str) -> Vec<&'t str> {
    let rest = documentation.iter().skip_while(|line| !line.starts_with(heading)).skip(2);
    let items = rest.map_while(|line| line.strip_prefix("- [`"));
    items.map(|item| item.split('`').next().expect("a name between backticks")).collect()
}

/// The first paragraph of a module's documentation, in one line.
fn first_paragraph(source: &Path, module: &str) -> String {
    let path = source.join(module.replace("::", "/"));
    let text = fs::read_to_string(path.join("mod.rs")).or_else(|_| fs::read_to_string(path.with_extension("rs")));
    let text = text.expect("the file of a module");
    let lines: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("//! ")).collect();
    lines.join(" ")
}

#[test]
fn every_public_module_is_for_users_or_for_extending_the_library() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let root = fs::read_to_string(source.join("lib.rs")).expect("the root");
    let documentation: Vec<&str> = root.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim).collect();
    let users = listed(&documentation, "For users:");
    let extending = listed(&documentation, "For extending the library.");

    let mut public: Vec<&str> =
        root.lines().filter_map(|line| line.strip_prefix("pub mod ")?.split(&[';', ' ']).next()).collect();
    let mut grouped: Vec<&str> = users.iter().chain(&extending).copied().filter(|name| !name.contains("::")).collect();
    public.sort_unstable();
    grouped.sort_unstable();
    assert_eq!(grouped, public, "the two lists have every public module once");

    for module in users {
        assert!(!first_paragraph(&source, module).contains(EXTENDING), "`{module}` is for users");
    }
    for module in extending {
        assert!(first_paragraph(&source, module).ends_with(EXTENDING), "`{module}` is for extending the library");
    }
}
