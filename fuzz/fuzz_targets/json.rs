//! Whatever the text: an error, or a program that is written and printed as it was read.
#![no_main]

use deltaray::export;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(program) = export::from_json(text) {
        let written = export::json(&program);
        let read = export::from_json(&written).expect("what is written is read back");
        assert_eq!(export::json(&read), written);
        let printed = export::text(&program);
        let read = export::parse(&printed).expect("what is printed is read back");
        assert_eq!(export::text(&read), printed);
    }
    if let Ok(program) = export::from_json_source(text) {
        let written = export::json_source(&program);
        let read = export::from_json_source(&written).expect("what is written is read back");
        assert_eq!(export::json_source(&read), written);
    }
});
