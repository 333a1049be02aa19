//! Names in printed programs: unique, and numbered in order of appearance.

use crate::operation::{BINARY_ROWS, MatrixOperation, SparseKind, UNARY_NAMES};
use crate::shape::DType;
use std::collections::HashSet;
use std::rc::Rc;

/// A name; cheap to clone.
pub(super) type Name = Rc<str>;

/// Words of the grammar besides the elementwise operations and the element types.
pub(super) const KEYWORDS: &[&str] = &[
    "program",
    "let",
    "true",
    "false",
    "inf",
    "NaN",
    "full",
    "constant",
    "iota",
    "select",
    "cast",
    "view",
    "accumulate",
    "transpose",
    "reverse",
    "slice",
    "by",
    "replicate",
    "stretch",
    "diagonal",
    "pad",
    "reshape",
    "concatenate",
    "gather",
    "scatter",
    "scatter_set",
    "sum",
    "argmax",
    "argmin",
    "argsort",
    "argsort_descending",
    "contract",
    "scan",
    "from",
    "over",
    "sweeps",
    "while",
    "forwards",
    "backwards",
    "read",
    "keep",
    "every",
    "snapshots",
    "bytes",
    "branch",
    "then",
    "else",
    "custom",
    "vjp",
    "jvp",
    "build",
    "alias",
    "mark",
];

pub(crate) const DTYPES: [DType; 5] = [DType::F32, DType::F64, DType::I32, DType::I64, DType::Bool];

/// Whether a word means something in the grammar.
pub(crate) fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word)
        || MatrixOperation::named(word).is_some()
        || SparseKind::named(word).is_some()
        || UNARY_NAMES.contains(&word)
        || BINARY_ROWS.iter().any(|op| op.name() == word)
        || DTYPES.iter().any(|dtype| dtype.name() == word)
        || word.split_once('_').is_some_and(|(number, ending)| {
            // Literals with an element type.
            matches!(number, "inf" | "NaN") && DTYPES.iter().any(|dtype| dtype.name() == ending)
        })
}

/// The nearest name that the grammar allows: a letter, then letters, digits and `_`, in parts joined by dots.
pub(super) fn sanitised(name: &str) -> String {
    let mut result = String::new();
    for character in name.chars() {
        let allowed = character.is_alphanumeric() && character != 'λ';
        result.push(if allowed || character == '.' { character } else { '_' });
    }
    // A dot joins two parts: it neither begins nor ends a name, nor follows another dot.
    let parts: Vec<&str> = result.split('.').filter(|part| !part.is_empty()).collect();
    let mut result = parts.join(".");
    if !result.chars().next().is_some_and(char::is_alphabetic) {
        result.insert_str(0, "v_");
    }
    if is_keyword(&result) {
        result.push('_');
    }
    result
}

/// The names that are taken, and the counters of generated ones.
#[derive(Default)]
pub(super) struct Names {
    reserved: HashSet<Name>,
    lets: usize,
    carries: usize,
    slices: usize,
    indices: usize,
}

impl Names {
    /// A name that the caller chose, made legal and unique.
    pub(super) fn reserve(&mut self, wanted: &str) -> Name {
        let base = sanitised(wanted);
        let mut name: Name = base.as_str().into();
        let mut copy = 1;
        while !self.reserved.insert(name.clone()) {
            copy += 1;
            name = format!("{base}_{copy}").into();
        }
        name
    }

    fn fresh(reserved: &HashSet<Name>, counter: &mut usize, spelling: impl Fn(usize) -> String) -> Name {
        loop {
            *counter += 1;
            let name = spelling(*counter);
            // `i32` is a word.
            if !reserved.contains(name.as_str()) && !is_keyword(&name) {
                return name.into();
            }
        }
    }

    /// The next name of a let: `m1`, `m2`, ..
    pub(super) fn binder(&mut self) -> Name {
        Names::fresh(&self.reserved, &mut self.lets, |n| format!("m{n}"))
    }

    /// The next name of a loop's carry: `s1`, `s2`, ..
    pub(super) fn carry(&mut self) -> Name {
        Names::fresh(&self.reserved, &mut self.carries, |n| format!("s{n}"))
    }

    /// The next name of one slice of a loop's input: `e1`, `e2`, ..
    pub(super) fn slice(&mut self) -> Name {
        Names::fresh(&self.reserved, &mut self.slices, |n| format!("e{n}"))
    }

    /// The next name of a build's index: `i`, `j`, `k`, `l`, `i5`, .. by how many are in scope.
    pub(super) fn index(&mut self) -> Name {
        Names::fresh(&self.reserved, &mut self.indices, |n| match ["i", "j", "k", "l"].get(n - 1) {
            Some(letter) => letter.to_string(),
            None => format!("i{n}"),
        })
    }

    /// How many indices are in scope, to be given back to [`Names::close_indices`].
    pub(super) fn open_indices(&self) -> usize {
        self.indices
    }

    /// Ends the scope of the indices named since.
    pub(super) fn close_indices(&mut self, open: usize) {
        self.indices = open;
    }

    /// How many lets have been named, to be given back to [`Names::forget_lets`].
    pub(super) fn let_count(&self) -> usize {
        self.lets
    }

    /// Takes back the names of lets that were not written after all.
    pub(super) fn forget_lets(&mut self, count: usize) {
        self.lets = count;
    }
}
