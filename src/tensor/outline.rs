//! The outline of a tree: the parts of its structure that the type leaves open, and the places of its arrays.

/// One step of a walk over a tree, in the order of fields and positions.
#[derive(Clone, Debug, PartialEq, Eq)]
enum OutlineStep {
    /// How many parts a `Vec` or an `Option` has.
    Length(usize),
    /// Which variant an enum is.
    Variant(&'static str),
    /// Into a field of a struct.
    Field(&'static str),
    /// Into a part of a `Vec` or a Rust array.
    Position(usize),
    /// Into a map's entry of this name.
    Key(Box<str>),
    /// Into a part of a tuple.
    Part(usize),
    /// Into a fixed part.
    Fixed,
    /// Out of the field or part that was entered last.
    Leave,
    Array,
}

impl OutlineStep {
    /// How a step into something is called.
    fn name(&self) -> Option<String> {
        match self {
            OutlineStep::Field(name) => Some(name.to_string()),
            OutlineStep::Key(name) => Some(name.to_string()),
            OutlineStep::Position(position) | OutlineStep::Part(position) => Some(position.to_string()),
            OutlineStep::Length(_)
            | OutlineStep::Variant(_)
            | OutlineStep::Fixed
            | OutlineStep::Leave
            | OutlineStep::Array => None,
        }
    }
}

/// The outline of a tree of arrays: its lengths, the fields, and where the arrays are. See
/// [`Tree::outline`](crate::tensor::Tree::outline).
///
/// Trees of one type may differ in outline, by the lengths of `Vec`s and by which `Option`s are `Some`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    steps: Vec<OutlineStep>,
}

impl Outline {
    /// An array is here.
    ///
    /// ```
    /// let mut outline = deltaray::tensor::Outline::default();
    /// outline.array();
    /// assert_eq!(outline.names(), [""]);
    /// ```
    pub fn array(&mut self) {
        self.steps.push(OutlineStep::Array);
    }

    /// A list of `length` parts follows.
    ///
    /// ```
    /// let (mut one, mut two) = (deltaray::tensor::Outline::default(), deltaray::tensor::Outline::default());
    /// (one.length(1), two.length(2));
    /// assert_ne!(one, two);
    /// ```
    pub fn length(&mut self, length: usize) {
        self.steps.push(OutlineStep::Length(length));
    }

    /// The variant of this name follows.
    ///
    /// ```
    /// let (mut one, mut two) = (deltaray::tensor::Outline::default(), deltaray::tensor::Outline::default());
    /// (one.variant("Dense"), two.variant("Sparse"));
    /// assert_ne!(one, two);
    /// ```
    pub fn variant(&mut self, name: &'static str) {
        self.steps.push(OutlineStep::Variant(name));
    }

    /// Enters the field of this name.
    ///
    /// ```
    /// let mut outline = deltaray::tensor::Outline::default();
    /// outline.field("bias", |inside| inside.array());
    /// assert_eq!(outline.names(), ["bias"]);
    /// ```
    pub fn field(&mut self, name: &'static str, inside: impl FnOnce(&mut Outline)) {
        self.within(OutlineStep::Field(name), inside);
    }

    /// Enters a map's entry of this name.
    ///
    /// ```
    /// let mut outline = deltaray::tensor::Outline::default();
    /// outline.key("bias", |inside| inside.array());
    /// assert_eq!(outline.names(), ["bias"]);
    /// ```
    pub fn key(&mut self, name: &str, inside: impl FnOnce(&mut Outline)) {
        self.within(OutlineStep::Key(name.into()), inside);
    }

    /// Enters the element at this position of a list.
    ///
    /// ```
    /// let mut outline = deltaray::tensor::Outline::default();
    /// outline.field("layers", |list| list.position(2, |inside| inside.array()));
    /// assert_eq!(outline.names(), ["layers.2"]);
    /// ```
    pub fn position(&mut self, position: usize, inside: impl FnOnce(&mut Outline)) {
        self.within(OutlineStep::Position(position), inside);
    }

    /// Enters the part of a tuple at this position.
    ///
    /// ```
    /// let mut outline = deltaray::tensor::Outline::default();
    /// outline.field("pair", |tuple| tuple.part(1, |inside| inside.array()));
    /// assert_eq!(outline.names(), ["pair.1"]);
    /// ```
    pub fn part(&mut self, position: usize, inside: impl FnOnce(&mut Outline)) {
        self.within(OutlineStep::Part(position), inside);
    }

    /// Enters a fixed part: see [`Fixed`](crate::sparse::Fixed).
    ///
    /// ```
    /// let mut outline = deltaray::tensor::Outline::default();
    /// outline.field("table", |field| field.fixed(|inside| inside.array()));
    /// assert_eq!(outline.names(), ["table"]);
    /// ```
    pub fn fixed(&mut self, inside: impl FnOnce(&mut Outline)) {
        self.within(OutlineStep::Fixed, inside);
    }

    fn within(&mut self, step: OutlineStep, inside: impl FnOnce(&mut Outline)) {
        self.steps.push(step);
        inside(self);
        self.steps.push(OutlineStep::Leave);
    }

    /// For each array the fields and positions that lead to it, joined by dots: `layers.0.weights`; empty where no field does.
    /// Parts of a tuple are named inside of fields only: arguments are told apart by their contents.
    ///
    /// ```
    /// let mut outline = deltaray::tensor::Outline::default();
    /// outline.field("layers", |list| (0..2).for_each(|at| list.position(at, |inside| inside.array())));
    /// assert_eq!(outline.names(), ["layers.0", "layers.1"]);
    /// ```
    pub fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut walk = OutlineWalk::default();
        for step in &self.steps {
            if *step == OutlineStep::Array {
                let field = walk.path.iter().any(|step| matches!(step, OutlineStep::Field(_) | OutlineStep::Key(_)));
                names.push(if field { walk.name() } else { String::new() });
            }
            walk.take(step);
        }
        names
    }

    /// For each array all fields and positions that lead to it, joined by dots, parts of tuples included.
    pub(crate) fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        let mut walk = OutlineWalk::default();
        for step in &self.steps {
            if *step == OutlineStep::Array {
                let names: Vec<String> = walk.path.iter().filter_map(OutlineStep::name).collect();
                paths.push(names.join("."));
            }
            walk.take(step);
        }
        paths
    }

    /// The outline of nothing, which keeps its memory for another.
    pub(crate) fn clear(&mut self) {
        self.steps.clear();
    }

    /// For each array the position of the argument that it is in, where these are the arguments of a function, and the
    /// fields and positions that lead to it there, joined by dots.
    pub(crate) fn arguments(&self) -> Vec<(usize, String)> {
        let mut places = Vec::new();
        let mut walk = OutlineWalk::default();
        for step in &self.steps {
            if *step == OutlineStep::Array {
                let path: Vec<&OutlineStep> = walk.path.iter().filter(|step| **step != OutlineStep::Fixed).collect();
                let (argument, inside) = match path[..] {
                    [OutlineStep::Part(argument), ref inside @ ..] => (*argument, inside),
                    _ => (0, &path[..]),
                };
                let names: Vec<String> = inside.iter().filter_map(|step| step.name()).collect();
                places.push((argument, names.join(".")));
            }
            walk.take(step);
        }
        places
    }

    /// For each array, whether it is inside of a fixed part.
    pub(crate) fn fixed_arrays(&self) -> Vec<bool> {
        let mut fixed = Vec::new();
        let mut walk = OutlineWalk::default();
        for step in &self.steps {
            if *step == OutlineStep::Array {
                fixed.push(walk.path.contains(&OutlineStep::Fixed));
            }
            walk.take(step);
        }
        fixed
    }

    /// Where two outlines first differ, and how.
    pub(crate) fn difference(&self, other: &Outline) -> Option<String> {
        // Most often the outlines are equal.
        if self == other {
            return None;
        }
        let mut walk = OutlineWalk::default();
        for (at, step) in self.steps.iter().enumerate() {
            match other.steps.get(at) {
                Some(found) if found == step => walk.take(step),
                Some(found) => {
                    let difference = match (found, step) {
                        (OutlineStep::Length(1), OutlineStep::Length(expected)) => {
                            format!("1 part instead of {expected}")
                        }
                        (OutlineStep::Length(found), OutlineStep::Length(expected)) => {
                            format!("{found} parts instead of {expected}")
                        }
                        (OutlineStep::Key(found), OutlineStep::Key(expected)) => {
                            format!("`{found}` instead of `{expected}`")
                        }
                        (OutlineStep::Variant(found), OutlineStep::Variant(expected)) => {
                            format!("`{found}` instead of `{expected}`")
                        }
                        _ => break,
                    };
                    let place = walk.name();
                    return Some(if place.is_empty() { difference } else { format!("`{place}`: {difference}") });
                }
                None => break,
            }
        }
        Some("another structure".to_string())
    }
}

/// The way from a tree's root to where a walk is.
#[derive(Default)]
struct OutlineWalk {
    path: Vec<OutlineStep>,
}

impl OutlineWalk {
    fn take(&mut self, step: &OutlineStep) {
        match step {
            OutlineStep::Length(_) | OutlineStep::Variant(_) | OutlineStep::Array => {}
            OutlineStep::Field(_)
            | OutlineStep::Key(_)
            | OutlineStep::Position(_)
            | OutlineStep::Part(_)
            | OutlineStep::Fixed => {
                self.path.push(step.clone());
            }
            OutlineStep::Leave => {
                let left = self.path.pop();
                debug_assert!(left.is_some(), "what is left was entered");
            }
        }
    }

    fn name(&self) -> String {
        // Parts of a tuple are named inside of fields and lists only.
        let unnamed = |step: &&OutlineStep| {
            !matches!(step, OutlineStep::Field(_) | OutlineStep::Key(_) | OutlineStep::Position(_))
        };
        let names: Vec<String> = self.path.iter().skip_while(unnamed).filter_map(OutlineStep::name).collect();
        names.join(".")
    }
}
