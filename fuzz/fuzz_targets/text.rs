//! Whatever the text: an error, or a program that prints as it was read.
#![no_main]

use deltaray::export;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(program) = export::parse(text) {
        let printed = export::text(&program);
        let read = export::parse(&printed).expect("what is printed is read back");
        assert_eq!(export::text(&read), printed);
    }
    if let Ok(program) = export::parse_source(text) {
        let printed = export::text_source(&program);
        let read = export::parse_source(&printed).expect("what is printed is read back");
        assert_eq!(export::text_source(&read), printed);
    }
});
