//! Programs as source of C.

use super::{Case, PARTS, are_installed, compare, folder, inputs, run};
use deltaray::export::COptions;
use deltaray::shape::Type;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Compiles the programs as C, runs them, and compares, if there are compilers; in a folder of this name.
pub fn compute_what_the_interpreter_does(name: &str, cases: &[(usize, &Case)]) {
    // At this level gcc tracks values, and warns of what it finds, for two thirds of the time of `-O1`.
    if let Some(folder) = results(name, cases, COptions::default(), &["-Og"]) {
        compare(&folder, cases);
    }
}

/// Compiles the programs as C with options of gcc and runs them, if there are compilers. The folder has their results.
pub fn results(name: &str, cases: &[(usize, &Case)], options: COptions, for_gcc: &[&str]) -> Option<PathBuf> {
    if !are_installed(&["gcc", "clang"]) {
        return None;
    }
    let folder = folder(&format!("{name}-c"));
    let mut parts: Vec<(String, String)> = vec![Default::default(); PARTS];
    for &(number, case) in cases {
        let mut program = case.program.clone();
        program.name = format!("case{number}");
        let source = options.export(&program).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        inputs(&folder, number, case);
        let (sources, calls) = &mut parts[number % PARTS];
        // The header stands where it is included.
        let include = format!("#include \"{}.h\"\n", source.name);
        assert!(source.source.contains(&include));
        sources.push_str(&source.source.replace(&include, &source.header));
        let sizes = |types: Vec<&Type>| -> String {
            types.iter().map(|ty| format!("{}, ", ty.size() * ty.dtype.bytes())).collect::<String>() + "-1"
        };
        let body = &case.program.body;
        let arguments = sizes((0..body.arity()).map(|at| body.parameter_type(at)).collect());
        let results = sizes(body.result_types().collect());
        writeln!(
            calls,
            "    {{ static const long sizes_in[] = {{{arguments}}}, sizes_out[] = {{{results}}};\n      long long iw, w; \
             case{number}_work(0, 0, &iw, &w);\n      run(folder, {number}, sizes_in, sizes_out, iw, w, (function)(void (*)(void))case{number}); }}"
        )
        .unwrap();
    }
    std::thread::scope(|scope| {
        for (part, (sources, calls)) in parts.iter().enumerate() {
            let folder = &folder;
            scope.spawn(move || {
                let main = format!("{sources}{HARNESS}int main(int count, char **words)\n{{\n    const char *folder = words[count - 1];\n{calls}    return 0;\n}}\n");
                let path = folder.join(format!("part{part}.c"));
                fs::write(&path, main).expect("the folder for temporary files can be written");
                let program = folder.join(format!("part{part}"));
                let strict = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"];
                // The check of indentation takes gcc most of its time in files of this size; clang checks it too, in no time.
                let gcc = ["-Wno-misleading-indentation", "-o"];
                run(Command::new("gcc").args(strict).args(for_gcc).args(gcc).arg(&program).arg(&path).arg("-lm"));
                run(Command::new("clang").args(strict).arg("-fsyntax-only").arg(&path));
                run(Command::new(&program).arg(folder));
            });
        }
    });
    Some(folder)
}

/// Reads arguments, calls a function, and writes its results.
const HARNESS: &str = r#"
#include <stdio.h>
#include <stdlib.h>
typedef int (*function)(const void **, void **, long long *, double *, int);
static void run(const char *folder, int number, const long *sizes_in, const long *sizes_out, long long iw, long long w, function f)
{
    char path[4096];
    const void *arg[256];
    void *res[256];
    sprintf(path, "%s/%d.in", folder, number);
    FILE *file = fopen(path, "rb");
    for (int i = 0; sizes_in[i] >= 0; i++) {
        void *own = malloc(sizes_in[i] + 8);
        if (fread(own, 1, sizes_in[i], file) != (size_t)sizes_in[i]) exit(2);
        arg[i] = own;
    }
    fclose(file);
    for (int i = 0; sizes_out[i] >= 0; i++) res[i] = malloc(sizes_out[i] + 8);
    long long *integers = malloc(8 * iw + 8);
    double *floats = malloc(8 * w + 8);
    if (f(arg, res, integers, floats, 0) != 0) exit(3);
    sprintf(path, "%s/%d.out", folder, number);
    file = fopen(path, "wb");
    for (int i = 0; sizes_out[i] >= 0; i++) fwrite(res[i], 1, sizes_out[i], file);
    fclose(file);
    for (int i = 0; sizes_in[i] >= 0; i++) free((void *)arg[i]);
    for (int i = 0; sizes_out[i] >= 0; i++) free(res[i]);
    free(integers);
    free(floats);
}
"#;
