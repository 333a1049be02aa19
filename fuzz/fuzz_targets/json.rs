//! Whatever the text: an error, or a program that is written and printed as it was read, compiles, and is written in other
//! languages.
#![no_main]

use deltaray::engine::cpu;
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
        // There may be no memory for it, and nothing else.
        let _ = cpu::Program::new(&program.body, &cpu::Cpu::default().threads(1));
        let _ = (export::rust(&program), export::c(&program), export::opencl(&program), export::stablehlo(&program));
    }
    if let Ok(program) = export::from_json_source(text) {
        let written = export::json_source(&program);
        let read = export::from_json_source(&written).expect("what is written is read back");
        assert_eq!(export::json_source(&read), written);
    }
});
