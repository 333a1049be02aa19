//! The outline of a tree: what of its structure the type does not say, and where its arrays are.

use std::fmt;

/// One step of a walk over a tree, in the order of fields and positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// How many parts a `Vec` or an `Option` has.
    Length(usize),
    /// Into a field of a struct.
    Field(&'static str),
    /// Into a part of a `Vec` or a Rust array.
    Position(usize),
    /// Out of the field or part that was entered last.
    Leave,
    Array,
}

/// The outline of a tree of arrays: its lengths, the fields, and where the arrays are. See
/// [`Tree::outline`](crate::tensor::Tree::outline).
///
/// Trees of one type may differ in it, by the lengths of `Vec`s and by what is there of `Option`s.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    steps: Vec<Step>,
}

impl Outline {
    /// An array is here.
    pub fn array(&mut self) {
        self.steps.push(Step::Array);
    }

    /// A list of `length` parts follows.
    pub fn length(&mut self, length: usize) {
        self.steps.push(Step::Length(length));
    }

    /// What is inside a field of this name.
    pub fn field(&mut self, name: &'static str, inside: impl FnOnce(&mut Outline)) {
        self.within(Step::Field(name), inside);
    }

    /// What is inside the part at this position of a list.
    pub fn position(&mut self, position: usize, inside: impl FnOnce(&mut Outline)) {
        self.within(Step::Position(position), inside);
    }

    fn within(&mut self, step: Step, inside: impl FnOnce(&mut Outline)) {
        self.steps.push(step);
        inside(self);
        self.steps.push(Step::Leave);
    }

    /// For each array the fields and positions that lead to it, joined by dots: `layers.0.weights`; empty where no field
    /// does.
    pub fn names(&self) -> Vec<String> {
        let (mut names, mut path, mut fields) = (Vec::new(), Vec::<(String, bool)>::new(), 0);
        for &step in &self.steps {
            match step {
                Step::Length(_) => {}
                Step::Field(name) => {
                    path.push((name.to_string(), true));
                    fields += 1;
                }
                Step::Position(position) => path.push((position.to_string(), false)),
                Step::Leave => {
                    let left = path.pop();
                    debug_assert!(left.is_some(), "what is left was entered");
                    fields -= usize::from(left.is_some_and(|(_, field)| field));
                }
                Step::Array if fields == 0 => names.push(String::new()),
                Step::Array => {
                    let parts: Vec<&str> = path.iter().map(|(part, _)| &part[..]).collect();
                    names.push(parts.join("."));
                }
            }
        }
        names
    }
}

/// The lengths, which are what trees of one type may differ in.
impl fmt::Display for Outline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lengths = self.steps.iter().filter_map(|step| match step {
            Step::Length(length) => Some(length),
            _ => None,
        });
        f.debug_list().entries(lengths).finish()
    }
}
