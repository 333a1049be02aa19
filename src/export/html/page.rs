//! The page itself.

use super::stage::{LineKind, Stage, StageLine};
use crate::term::print::TextPiece;
use std::fmt::Write;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// The loops of kernels are open where they have no more lines than this together.
const OPEN: usize = 80;

/// So many lines are a list: browsers put lists off that are not in view.
const GROUP: usize = 64;

/// A text with its markup escaped.
fn escaped(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => result.push_str("&amp;"),
            '<' => result.push_str("&lt;"),
            '>' => result.push_str("&gt;"),
            '"' => result.push_str("&quot;"),
            '\'' => result.push_str("&#39;"),
            // HTML has no other control characters.
            control if control.is_control() && control != '\n' => result.push('\u{FFFD}'),
            other => result.push(other),
        }
    }
    result
}

/// A text whose words with arrows are not broken at their hyphens.
fn unbroken(text: &str) -> String {
    let arrow = "-&gt;";
    if !text.contains(arrow) {
        return text.to_string();
    }
    let word = |word: &str| if word.contains(arrow) { format!("<u>{word}</u>") } else { word.to_string() };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// The letter of a stage; the names of its lines are this letter and a number.
fn letters(stage: usize) -> char {
    char::from(b'a' + (stage % 26) as u8)
}

/// A count in few characters.
fn number(count: f64) -> String {
    const UNITS: [&str; 7] = ["", " k", " M", " G", " T", " P", " E"];
    if count < 100_000.0 {
        let digits = format!("{count:.0}");
        return match digits.len() {
            0..=3 => digits,
            length => format!("{},{}", &digits[..length - 3], &digits[length - 3..]),
        };
    }
    let (mut rest, mut unit) = (count, 0);
    while rest >= 1000.0 && unit + 1 < UNITS.len() {
        rest /= 1000.0;
        unit += 1;
    }
    match rest {
        rest if rest >= 1000.0 => format!("{count:.2e}"),
        rest if rest >= 100.0 => format!("{rest:.0}{}", UNITS[unit]),
        rest if rest >= 10.0 => format!("{rest:.1}{}", UNITS[unit]),
        rest => format!("{rest:.2}{}", UNITS[unit]),
    }
}

/// The totals of a stage, in two lines.
fn totals(stage: &Stage) -> String {
    let nodes = stage.nodes.map(|nodes| counted(nodes as f64, "node"));
    let kernels = stage.kernels.map(|kernels| counted(kernels as f64, "kernel"));
    let parts: Vec<String> = nodes.into_iter().chain(kernels).collect();
    format!(
        "<small>{}</small><small>{} · {}</small>",
        parts.join(" · "),
        counted(stage.operations, "flop"),
        counted(stage.bytes, "byte")
    )
}

/// The words for a count of things.
fn counted(count: f64, thing: &str) -> String {
    format!("{} {thing}{}", number(count), if count == 1.0 { "" } else { "s" })
}

/// The whole page: the program's name, its first line, and its stages.
pub(super) fn page(title: &str, head: &str, stages: &[Stage]) -> String {
    let mut text = String::new();
    let title = escaped(title);
    text.push_str("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n");
    text.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n");
    let _ = write!(text, "<title>{title}: every stage</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n");
    let _ = write!(text, "<header>\n<h1>{title}</h1>\n<p><code>{}</code></p>\n<nav>\n", escaped(head));
    for (number, stage) in stages.iter().enumerate() {
        let _ = writeln!(
            text,
            "<a href=\"#{}\"><strong>{}. {}</strong> {}</a>",
            letters(number),
            number + 1,
            escaped(stage.title),
            totals(stage)
        );
    }
    let legend =
        [("chosen", "chosen"), ("linked", "computes the same"), ("far", "contains it"), ("operand", "operand or user")];
    text.push_str("</nav>\n<p class=\"legend\">");
    for (class, meaning) in legend {
        let _ = write!(text, "<span class=\"{class}\">{meaning}</span> ");
    }
    text.push_str("<kbd>↑</kbd> <kbd>↓</kbd> in a stage, <kbd>←</kbd> <kbd>→</kbd> to linked lines, <kbd>1</kbd> to ");
    let _ = write!(text, "<kbd>{}</kbd> to a stage</p>\n</header>\n<main>\n", stages.len());
    let details = stages.iter().flat_map(|stage| &stage.lines).map(|line| line.detail.lines().count());
    let open = details.sum::<usize>() <= OPEN;
    let mut sources: Vec<Option<usize>> = Vec::new();
    for (number, stage) in stages.iter().enumerate() {
        let next = stages.get(number + 1).map_or(0, |next| next.lines.len());
        let mut next_sources: Vec<Option<usize>> = vec![None; next];
        section(&mut text, number, stage, &sources, open);
        for (at, line) in stage.lines.iter().enumerate() {
            line.links.iter().for_each(|&to| {
                next_sources[to].get_or_insert(at);
            });
        }
        sources = next_sources;
    }
    let _ = write!(text, "</main>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n");
    text
}

/// A stage, of whose lines those of the stage before are known that are linked to them first.
fn section(text: &mut String, number: usize, stage: &Stage, sources: &[Option<usize>], open: bool) {
    let letter = letters(number);
    let (what, bytes) = match stage.kernels {
        Some(_) => ("kernel", "bytes read and written"),
        None => ("node", "bytes of the result"),
    };
    let _ = write!(
        text,
        "<section id=\"{letter}\">\n<h2>{}. {}</h2>\n<p>{}</p>\n<div class=\"head\"><div>{what}</div>\
         <span title=\"operations on floats\">flops</span><span title=\"{bytes}\">bytes</span><span></span></div>\n",
        number + 1,
        escaped(stage.title),
        escaped(stage.about),
    );
    for (group, lines) in stage.lines.chunks(GROUP).enumerate() {
        text.push_str("<ol>\n");
        for (at, line) in lines.iter().enumerate() {
            let at = group * GROUP + at;
            item(text, number, at, line, sources.get(at).copied().flatten(), open);
        }
        text.push_str("</ol>\n");
    }
    text.push_str("</section>\n");
}

/// A line as an item of its stage's list.
fn item(text: &mut String, stage: usize, at: usize, line: &StageLine, source: Option<usize>, open: bool) {
    let (letter, next) = (letters(stage), letters(stage + 1));
    let class = match line.kind {
        LineKind::Node => "n",
        LineKind::Inner => "n i",
        LineKind::Delta => "d",
        LineKind::Kernel => "k",
        LineKind::InnerKernel => "k i",
        LineKind::Buffer => "b",
        LineKind::Result => "r",
        LineKind::Heading => "h",
    };
    let _ = write!(text, "<li id=\"{letter}{at}\" class=\"{class}\"");
    if line.links.len() > 1 {
        let links: Vec<String> = line.links.iter().map(|to| format!("{next}{to}")).collect();
        let _ = write!(text, " data-n=\"{}\"", links.join(" "));
    }
    if !line.constants.is_empty() {
        let constants: Vec<String> = line.constants.iter().map(|at| format!("{letter}{at}")).collect();
        let _ = write!(text, " data-c=\"{}\"", constants.join(" "));
    }
    let indentation = if line.depth == 0 { String::new() } else { format!(" style=\"--d:{}\"", line.depth) };
    let _ = write!(text, "><div{indentation}>");
    if line.kind == LineKind::Result {
        text.push_str("<i>results</i> ");
    }
    if !line.name.is_empty() {
        let _ = write!(text, "<b>{}</b>", escaped(&line.name));
    }
    if !line.types.is_empty() {
        let colon = if line.name.is_empty() { "" } else { ": " };
        let _ = write!(text, "<i>{colon}{}</i>", escaped(&line.types));
    }
    if !line.pieces.is_empty() {
        text.push_str(match (line.name.is_empty(), line.types.is_empty()) {
            (true, true) => "",
            (true, false) => " ",
            _ => " = ",
        });
    }
    for piece in &line.pieces {
        let _ = match piece {
            TextPiece::Text(part) => write!(text, "{}", unbroken(&escaped(part))),
            TextPiece::Name(name, to) => write!(text, "<a href=\"#{letter}{to}\">{}</a>", escaped(name)),
        };
    }
    if !line.detail.is_empty() {
        let open = if open { " open=\"open\"" } else { "" };
        let _ = write!(text, "<details{open}><summary>loops</summary><pre>{}</pre></details>", escaped(&line.detail));
    }
    let cell = |count: Option<f64>| count.filter(|&count| count > 0.0).map_or(String::new(), number);
    let _ = write!(text, "</div><span>{}</span><span>{}</span><span>", cell(line.operations), cell(line.bytes));
    if let Some(source) = source {
        let before = letters(stage - 1);
        let _ = write!(text, "<a href=\"#{before}{source}\">←</a>");
    }
    if let Some(to) = line.links.first() {
        let _ = write!(text, "<a href=\"#{next}{to}\">→</a>");
    }
    text.push_str("</span></li>\n");
}

#[cfg(test)]
mod tests {
    use super::{escaped, number};

    #[test]
    fn markup_is_escaped() {
        assert_eq!(
            escaped("<a href=\"x\" b='y'>&\u{1}\n</a>"),
            "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;\u{FFFD}\n&lt;/a&gt;"
        );
    }

    #[test]
    fn numbers_are_short() {
        let numbers = [0.0, 7.0, 999.0, 1000.0, 99_999.0, 100_000.0, 1_234_567.0, 3.4e10, 1e30].map(number);
        assert_eq!(numbers, ["0", "7", "999", "1,000", "99,999", "100 k", "1.23 M", "34.0 G", "1.00e30"]);
    }
}
