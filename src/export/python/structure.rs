//! The structure of a function's arguments or results in Python, by the dots in the names of its arrays.

use super::quoted;
use std::fmt;

/// Labels of the results of derivatives, which are parts of a tuple.
const LABELS: [&str; 4] = ["value", "gradient", "tangent", "cotangent"];

/// An array, by its number, or parts with names. `Display` writes it as Python.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Structure {
    Array(usize),
    Tuple(Vec<Structure>),
    Dictionary(Vec<(String, Structure)>),
}

impl Structure {
    /// The structure of so many arrays by their names; those without one are called by this letter and their numbers.
    pub(super) fn of(names: &[String], count: usize, letter: &str) -> Structure {
        let mut parts = Vec::new();
        for at in 0..count {
            let name = names.get(at).map_or("", |name| &name[..]);
            let fallback = format!("{letter}{at}");
            let path: Vec<&str> = if name.is_empty() { vec![&fallback[..]] } else { name.split('.').collect() };
            insert(&mut parts, &path, at);
        }
        Structure::Dictionary(parts)
    }

    /// The structure of so many results. A single one that is no part of a tree stands alone, and so does what a derivative gives of
    /// a single parameter.
    pub(super) fn of_results(names: &[String], count: usize) -> Structure {
        if count == 1 && names.first().is_none_or(|name| !name.contains('.')) {
            return Structure::Array(0);
        }
        let unnamed = (0..count).all(|at| names.get(at).is_none_or(String::is_empty));
        if unnamed {
            return Structure::Tuple((0..count).map(Structure::Array).collect());
        }
        let parts = Structure::of(names, count, "r").into_parts();
        if !parts.iter().all(|(name, _)| LABELS.contains(&&name[..])) {
            return Structure::Dictionary(parts).with_tuples();
        }
        let mut all: Vec<Structure> = parts.into_iter().map(|(_, part)| part.without_single().with_tuples()).collect();
        if all.len() == 1 { all.remove(0) } else { Structure::Tuple(all) }
    }

    /// The parts with their names, whose own parts that are numbered are tuples.
    pub(super) fn into_parts(self) -> Vec<(String, Structure)> {
        match self {
            Structure::Dictionary(parts) => parts.into_iter().map(|(name, part)| (name, part.with_tuples())).collect(),
            other => vec![(String::new(), other)],
        }
    }

    /// The only part, if there is one.
    fn without_single(self) -> Structure {
        match self {
            Structure::Dictionary(mut parts) if parts.len() == 1 => parts.remove(0).1,
            Structure::Tuple(mut parts) if parts.len() == 1 => parts.remove(0),
            other => other,
        }
    }

    /// Parts that are numbered from 0 on become those of tuples.
    fn with_tuples(self) -> Structure {
        let Structure::Dictionary(parts) = self else { return self };
        let is_numbered = parts.iter().enumerate().all(|(at, (name, _))| *name == at.to_string());
        let parts = parts.into_iter().map(|(name, part)| (name, part.with_tuples()));
        match is_numbered {
            true => Structure::Tuple(parts.map(|(_, part)| part).collect()),
            false => Structure::Dictionary(parts.collect()),
        }
    }
}

/// Adds an array at a path. A name that is taken by an array, or by the parts that it would be, is changed.
fn insert(parts: &mut Vec<(String, Structure)>, path: &[&str], at: usize) {
    let (name, rest) = (path[0], &path[1..]);
    let is_taken = |parts: &[(String, Structure)], name: &str| parts.iter().any(|(other, _)| other == name);
    let found = parts.iter_mut().find(|(other, _)| other == name);
    match (found, rest) {
        (Some((_, Structure::Dictionary(inner))), [_, ..]) => return insert(inner, rest, at),
        (None, [_, ..]) => {
            let mut inner = Vec::new();
            insert(&mut inner, rest, at);
            return parts.push((name.to_string(), Structure::Dictionary(inner)));
        }
        _ => {}
    }
    let base = path.join("_");
    let mut name = if rest.is_empty() { name.to_string() } else { base.clone() };
    let mut copy = 1;
    while is_taken(parts, &name) {
        copy += 1;
        name = format!("{base}_{copy}");
    }
    parts.push((name, Structure::Array(at)));
}

impl fmt::Display for Structure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Structure::Array(at) => write!(f, "{at}"),
            Structure::Tuple(parts) => {
                f.write_str("(")?;
                parts.iter().try_for_each(|part| write!(f, "{part},"))?;
                f.write_str(")")
            }
            Structure::Dictionary(parts) => {
                let parts: Vec<String> = parts.iter().map(|(name, part)| format!("{}: {part}", quoted(name))).collect();
                write!(f, "{{{}}}", parts.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Structure;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| name.to_string()).collect()
    }

    #[test]
    fn dots_are_parts_and_numbers_are_tuples() {
        let found = |all: &[&str]| Structure::of(&names(all), all.len(), "p").into_parts();
        let text = |all: &[&str]| Structure::Dictionary(found(all)).to_string();
        assert_eq!(text(&["x", "y"]), r#"{"x": 0, "y": 1}"#);
        assert_eq!(text(&["params.w", "params.b", "x.0", "x.1"]), r#"{"params": {"w": 0, "b": 1}, "x": (2,3,)}"#);
        assert_eq!(text(&["", "x.1", "x.0"]), r#"{"p0": 0, "x": {"1": 1, "0": 2}}"#);
    }

    #[test]
    fn names_that_collide_are_told_apart() {
        let all = ["x", "x", "x.w", "y.w", "y", "y.w"];
        let structure = Structure::Dictionary(Structure::of(&names(&all), all.len(), "p").into_parts());
        assert_eq!(structure.to_string(), r#"{"x": 0, "x_2": 1, "x_w": 2, "y": {"w": 3, "w_2": 5}, "y_2": 4}"#);
    }

    #[test]
    fn results_of_derivatives_are_tuples() {
        let text = |all: &[&str]| Structure::of_results(&names(all), all.len()).to_string();
        assert_eq!(text(&[""]), "0");
        assert_eq!(text(&["entries"]), "0");
        assert_eq!(text(&["layer.w"]), r#"{"layer": {"w": 0}}"#);
        assert_eq!(text(&["", ""]), "(0,1,)");
        assert_eq!(text(&["w", "b"]), r#"{"w": 0, "b": 1}"#);
        assert_eq!(text(&["0", "1.w"]), r#"(0,{"w": 1},)"#);
        assert_eq!(text(&["gradient.x"]), "0");
        assert_eq!(text(&["value", "gradient.params.w", "gradient.params.b"]), r#"(0,{"w": 1, "b": 2},)"#);
        assert_eq!(text(&["value.0", "value.1", "gradient.x", "gradient.y"]), r#"((0,1,),{"x": 2, "y": 3},)"#);
    }
}
