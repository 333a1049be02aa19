//! Long programs are exported: whatever is written of them is linear in their length, and nothing recurses over it.

use super::chains::{KINDS, chain};
use super::size;
use deltaray::export::{self, Program};

/// A way out, and the text that it writes.
type Writer = fn(&Program) -> String;

fn rust(program: &Program) -> String {
    export::rust(program).unwrap()
}

fn c(program: &Program) -> String {
    let source = export::c(program).unwrap();
    source.header + &source.source
}

fn opencl(program: &Program) -> String {
    let source = export::opencl(program).unwrap();
    source.kernels + &source.plan
}

fn stablehlo(program: &Program) -> String {
    export::stablehlo(program).unwrap()
}

fn dot(program: &Program) -> String {
    export::dot(program)
}

fn text(program: &Program) -> String {
    let text = export::text(program);
    let read = export::parse(&text).unwrap();
    assert!(export::text(&read) == text, "what is read back prints alike");
    text
}

const WRITERS: &[(&str, Writer)] =
    &[("Rust", rust), ("C", c), ("OpenCL C", opencl), ("StableHLO", stablehlo), ("DOT", dot), ("text", text)];

#[cfg(feature = "json")]
fn json(program: &Program) -> String {
    let json = export::json(program);
    let read = export::from_json(&json).unwrap();
    assert!(export::json(&read) == json, "what is read back is written alike");
    json
}

#[cfg(not(feature = "json"))]
const MORE: &[(&str, Writer)] = &[];
#[cfg(feature = "json")]
const MORE: &[(&str, Writer)] = &[("JSON", json)];

/// Bytes of the stack that is enough.
const STACK: usize = 1 << 20;

#[test]
fn chains_of_very_many_nodes_are_written_line_by_line() {
    // A quarter, and all.
    const NODES: [usize; 2] = [size(25_000, 1_250), size(100_000, 5_000)];
    let work = || {
        for (name, step) in KINDS {
            let programs = NODES.map(|nodes| chain("chain", step, nodes));
            for (language, write) in WRITERS.iter().chain(MORE) {
                let start = std::time::Instant::now();
                let [short, long] = [&programs[0], &programs[1]].map(|program| {
                    let text = write(program);
                    (text.lines().count() as f64, text.len() as f64, start.elapsed().as_secs_f64())
                });
                println!(
                    "{name} as {language}: {} lines, {} bytes, {:.2} s of which {:.2} s for a quarter",
                    long.0, long.1, long.2, short.2
                );
                // Numbers become longer; in text, lines that are then too wide are several.
                let most = if *language == "text" { 10.0 } else { 4.1 };
                assert!(long.0 <= most * short.0 + 10.0, "{name} as {language}: {} and {} lines", short.0, long.0);
                assert!(long.1 <= 4.6 * short.1 + 1000.0, "{name} as {language}: {} and {} bytes", short.1, long.1);
            }
        }
    };
    std::thread::Builder::new().stack_size(STACK).spawn(work).expect("a thread").join().expect("no panic");
}
