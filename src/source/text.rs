//! Source text under construction.

use std::collections::HashSet;

/// Lines of lists are at most this wide.
pub(crate) const WIDTH: usize = 110;

/// A line, and the name that it declares, if that is all that it does.
#[derive(Clone)]
struct TextLine {
    text: String,
    declares: Option<String>,
}

/// Lines, indented by the blocks that they are in.
#[derive(Clone, Default)]
pub(crate) struct Text {
    lines: Vec<TextLine>,
    depth: usize,
}

/// The names and numbers in a line.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|character: char| !character.is_ascii_alphanumeric() && character != '_').filter(|word| !word.is_empty())
}

impl Text {
    fn push(&mut self, line: &str, declares: Option<String>) {
        let indent = if line.is_empty() { 0 } else { 4 * self.depth };
        self.lines.push(TextLine { text: format!("{:indent$}{line}", ""), declares });
    }

    /// A line.
    pub(crate) fn line(&mut self, line: impl AsRef<str>) {
        self.push(line.as_ref(), None);
    }

    /// A line that gives something a name; without use of the name it is left out, see [`Text::tidy`].
    pub(crate) fn declare(&mut self, name: &str, line: impl AsRef<str>) {
        self.push(line.as_ref(), Some(name.to_string()));
    }

    /// Lines.
    pub(crate) fn lines(&mut self, lines: impl IntoIterator<Item = impl AsRef<str>>) {
        lines.into_iter().for_each(|line| self.line(line));
    }

    /// The head of a block, which opens it.
    pub(crate) fn open(&mut self, head: impl AsRef<str>) {
        let head = head.as_ref();
        self.line(if head.is_empty() { "{".to_string() } else { format!("{head} {{") });
        self.depth += 1;
    }

    /// Ends one block and begins another.
    pub(crate) fn between(&mut self, line: &str) {
        self.depth -= 1;
        self.line(line);
        self.depth += 1;
    }

    /// The end of a block.
    pub(crate) fn close(&mut self) {
        self.depth -= 1;
        self.line("}");
    }

    /// Another text's lines, at this depth.
    pub(crate) fn append(&mut self, other: Text) {
        let indent = 4 * self.depth;
        self.lines.extend(other.lines.into_iter().map(|line| {
            let indent = if line.text.is_empty() { 0 } else { indent };
            TextLine { text: format!("{:indent$}{}", "", line.text), ..line }
        }));
    }

    /// Leaves out the declarations of names that are not used later in their block.
    pub(crate) fn tidy(&mut self) {
        // From the end on, the words that occur in each block that is open.
        let mut open: Vec<HashSet<String>> = vec![HashSet::new()];
        let mut kept: Vec<bool> = vec![true; self.lines.len()];
        for (at, line) in self.lines.iter().enumerate().rev() {
            let text = line.text.trim();
            if let Some(name) = &line.declares {
                let used = open.last_mut().is_some_and(|words| words.remove(name));
                kept[at] = used;
                if !used {
                    continue;
                }
            }
            if text.starts_with('}') {
                open.push(HashSet::new());
            }
            let is_head = text.ends_with('{');
            if is_head && let Some(inner) = open.pop() {
                match open.last_mut() {
                    Some(outer) => outer.extend(inner),
                    None => open.push(inner),
                }
            }
            let found = words(text).filter(|&word| Some(word) != line.declares.as_deref()).map(str::to_string);
            if let Some(block) = open.last_mut() {
                block.extend(found);
            }
        }
        let mut kept = kept.into_iter();
        self.lines.retain(|_| kept.next().unwrap_or(true));
    }

    /// The whole text.
    pub(crate) fn finish(&self) -> String {
        self.lines.iter().fold(String::new(), |text, line| text + &line.text + "\n")
    }
}

/// Elements between a head and an end, in lines that are not too wide.
pub(crate) fn listed(head: &str, elements: &[String], end: &str) -> Vec<String> {
    let mut lines = vec![head.to_string()];
    let mut line = String::from("    ");
    for element in elements {
        if line.len() + element.len() + 2 > WIDTH {
            lines.push(line.trim_end().to_string());
            line = String::from("    ");
        }
        line.push_str(element);
        line.push_str(", ");
    }
    lines.push(line.trim_end().to_string());
    lines.push(end.to_string());
    lines
}

#[cfg(test)]
mod tests {
    use super::Text;

    #[test]
    fn unused_declarations_are_left_out_by_their_block() {
        let mut text = Text::default();
        text.open("f()");
        text.declare("a", "let a = 1;");
        text.declare("b", "let b = a;");
        text.declare("c", "let c = 3;");
        text.open("if b");
        text.declare("a", "let a = 2;");
        text.line("return c;");
        text.between("} else {");
        text.declare("c", "let c = 4;");
        text.line("return 0;");
        text.close();
        text.close();
        text.tidy();
        let expected = "f() {\n    let a = 1;\n    let b = a;\n    let c = 3;\n    if b {\n        return c;\n    } else {\n        return 0;\n    }\n}\n";
        assert_eq!(text.finish(), expected);
    }
}
