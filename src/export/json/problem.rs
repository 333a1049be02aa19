//! Problems of documents, and where they are.

/// A mismatch, and the path to it from the outside.
pub(super) struct Problem {
    pub(super) text: String,
    pub(super) path: String,
}

pub(super) type Read<T> = std::result::Result<T, Problem>;

pub(super) fn problem<T>(text: impl Into<String>) -> Read<T> {
    Err(Problem { text: text.into(), path: String::new() })
}

/// A value read in a part of a document: its problems get the part's path.
pub(super) trait Within<T> {
    fn within(self, part: &str) -> Read<T>;
}

impl<T> Within<T> for Read<T> {
    fn within(self, part: &str) -> Read<T> {
        self.map_err(|Problem { text, path }| {
            let separator = if path.is_empty() || path.starts_with('[') { "" } else { "." };
            Problem { text, path: format!("{part}{separator}{path}") }
        })
    }
}

impl<T> Within<T> for std::result::Result<T, String> {
    fn within(self, part: &str) -> Read<T> {
        self.map_err(|text| Problem { text, path: part.into() })
    }
}
