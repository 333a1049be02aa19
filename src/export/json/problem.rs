//! Problems of documents, and where they are.

/// A mismatch, and the path to it from the outside.
pub(super) struct DocumentProblem {
    pub(super) text: String,
    pub(super) path: String,
}

pub(super) type DocumentResult<T> = std::result::Result<T, DocumentProblem>;

pub(super) fn problem<T>(text: impl Into<String>) -> DocumentResult<T> {
    Err(DocumentProblem { text: text.into(), path: String::new() })
}

/// A value read in a part of a document: its problems get the part's path.
pub(super) trait Within<T> {
    fn within(self, part: &str) -> DocumentResult<T>;
}

impl<T> Within<T> for DocumentResult<T> {
    fn within(self, part: &str) -> DocumentResult<T> {
        self.map_err(|DocumentProblem { text, path }| {
            let separator = if path.is_empty() || path.starts_with('[') { "" } else { "." };
            DocumentProblem { text, path: format!("{part}{separator}{path}") }
        })
    }
}

impl<T> Within<T> for std::result::Result<T, String> {
    fn within(self, part: &str) -> DocumentResult<T> {
        self.map_err(|text| DocumentProblem { text, path: part.into() })
    }
}
