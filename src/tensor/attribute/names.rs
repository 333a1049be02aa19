//! The names of a function's parameters, for who stages it: types have the names of functions alone.

use std::cell::Cell;

/// What a function is called, and its parameters in order; the name of one that is a pattern is empty.
pub(crate) type Names = (&'static str, &'static [&'static str]);

thread_local! {
    /// Who listens, and what they heard first.
    static HEARD: Cell<Option<Option<Names>>> = const { Cell::new(None) };
}

/// Said by a function as it is entered.
pub fn entered(name: &'static str, parameters: &'static [&'static str]) {
    if HEARD.get() == Some(None) {
        HEARD.set(Some(Some((name, parameters))));
    }
}

/// Runs a function, and says which was entered first, if one was that says so.
pub(crate) fn listening<R>(run: impl FnOnce() -> R) -> (R, Option<Names>) {
    /// Gives back what those around heard, also where the function panics.
    struct Around(Option<Option<Names>>);
    impl Drop for Around {
        fn drop(&mut self) {
            HEARD.set(self.0);
        }
    }
    let _around = Around(HEARD.replace(Some(None)));
    let result = run();
    (result, HEARD.get().flatten())
}

#[cfg(test)]
mod tests {
    use super::{entered, listening};

    #[test]
    fn the_first_function_is_heard_by_those_who_listen() {
        entered("before", &[]);
        let ((), heard) = listening(|| {
            let ((), inner) = listening(|| entered("inner", &["x"]));
            assert_eq!(inner, Some(("inner", &["x"][..])));
            entered("first", &["a", "b"]);
            entered("second", &[]);
        });
        assert_eq!(heard, Some(("first", &["a", "b"][..])));
        assert_eq!(listening(|| ()).1, None);
    }
}
