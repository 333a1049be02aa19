//! Whatever the text: an error, or a program that prints as it was read, compiles, and is written in other languages.
#![no_main]

use deltaray::engine::cpu;
use deltaray::export;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(program) = export::parse(text) {
        let printed = export::text(&program);
        let read = export::parse(&printed).expect("what is printed is read back");
        assert_eq!(export::text(&read), printed);
        // There may be no memory for it, and nothing else.
        let _ = cpu::Program::new(&program.body, &cpu::Cpu::default().threads(1));
        let _ = (export::rust(&program), export::c(&program), export::opencl(&program), export::stablehlo(&program));
    }
    if let Ok(program) = export::parse_source(text) {
        let printed = export::text_source(&program);
        let read = export::parse_source(&printed).expect("what is printed is read back");
        assert_eq!(export::text_source(&read), printed);
    }
});
