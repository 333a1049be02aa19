//! The names of a function's parameters, for who stages it: types have the names of functions alone.

use std::cell::Cell;

/// The path of an item in a function's body, and its parameters in order; the name of one that is a pattern is empty.
pub(crate) type ItemNames = (&'static str, &'static [&'static str]);

thread_local! {
    /// The listener, and the first names that it received.
    static HEARD: Cell<Option<Option<ItemNames>>> = const { Cell::new(None) };
}

/// Called by a function as it is entered; `inside` is an item in its body, whose path is the function's and one name.
pub fn entered<F>(_inside: F, parameters: &'static [&'static str]) {
    if HEARD.get() == Some(None) {
        HEARD.set(Some(Some((std::any::type_name::<F>(), parameters))));
    }
}

/// Runs a function, and gives the names that the first function entered reported, if one did.
pub(crate) fn listening<R>(run: impl FnOnce() -> R) -> (R, Option<ItemNames>) {
    /// Restores the state of the enclosing listener, even if the function panics.
    struct Around(Option<Option<ItemNames>>);
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
        fn before() {}
        fn inner() {}
        fn first() {}
        fn second() {}
        let path = |name: &str| format!("{}::the_first_function_is_heard_by_those_who_listen::{name}", module_path!());
        entered(before, &[]);
        let ((), heard) = listening(|| {
            let ((), heard) = listening(|| entered(inner, &["x"]));
            assert_eq!(heard, Some((&path("inner")[..], &["x"][..])));
            entered(first, &["a", "b"]);
            entered(second, &[]);
        });
        assert_eq!(heard, Some((&path("first")[..], &["a", "b"][..])));
        assert_eq!(listening(|| ()).1, None);
    }
}
