//! Kernels that do the same with other arrays, as for layers of one size: they are written and compiled once.

use super::KernelOperands;
use crate::source::text::Text;
use std::collections::HashMap;

/// A kernel that was written.
pub(super) struct WrittenKernel {
    pub(super) name: String,
    /// The names of its arrays.
    pub(super) parameters: Vec<String>,
}

/// Kernels by their text.
pub(super) type WrittenKernels = HashMap<String, WrittenKernel>;

/// The text of a kernel, independent of the names of its arrays.
pub(super) fn anonymous(head: &str, text: &Text, operands: &KernelOperands) -> String {
    let mut names: HashMap<String, String> = HashMap::new();
    for (number, (name, dtype, writes)) in operands.parameters.iter().enumerate() {
        names.insert(name.clone(), format!("<{number}:{dtype}:{writes}>"));
    }
    let mut all = String::from(head);
    for (number, _) in &operands.numbers {
        all += number;
        all.push('\n');
    }
    let text = text.finish();
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let mut rest = &text[..];
    while let Some(start) = rest.find(is_part) {
        let end = rest[start..].find(|character| !is_part(character)).map_or(rest.len(), |length| start + length);
        let word = &rest[start..end];
        all += &rest[..start];
        all += names.get(word).map_or(word, |name| name);
        rest = &rest[end..];
    }
    all + rest
}
