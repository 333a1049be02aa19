//! Instances are read as ADBench means them.

use super::*;
use tasks::Jacobian;

fn parse(line: &str) -> Result<Arguments, String> {
    Arguments::parse(line.split_whitespace().map(str::to_string))
}

/// The report on an instance.
fn report_on(task: fn(&Cpu, &mut read::Numbers) -> Result<Report, Box<dyn Error>>, instance: &str) -> Report {
    task(&Cpu::default(), &mut read::Numbers::new(instance)).expect("an instance")
}

fn dense(report: &Report) -> &[f64] {
    match &report.jacobian.measured.result {
        Jacobian::Dense(_, entries) => entries,
        Jacobian::Sparse(_) => panic!("a sparse Jacobian"),
    }
}

#[test]
fn an_objective_of_a_mixture_has_the_value_that_adbench_tests() {
    let instance = "2 3 1  -0.649014 1.181166 -0.758453  0.092339 0.186260  0.345561 0.396767  0.538817 0.419195 \
                    0.586443 -0.851887 0.800321  -1.509405 0.875874 -0.242790  0.166813 -1.965419 -1.270071 \
                    1.175171 2.029160  1.0 0";
    let report = report_on(tasks::gmm, instance);
    assert!((report.objective.measured.result[0] - 8.073_804_080_049_75).abs() < 1e-11);
    assert_eq!(dense(&report).len(), 18);
}

#[test]
fn a_generated_instance_is_one() {
    let (d, k, n) = (3, 2, 5);
    let instance = generate::gmm(d, k, n);
    assert!(instance.starts_with("3 2 5\n"));
    let report = report_on(tasks::gmm, &instance);
    let (objective, entries) = (&report.objective.measured.result, dense(&report));
    assert_eq!((objective.len(), entries.len()), (1, k * (d + 1) * (d + 2) / 2));
    // The gradient by the first weight, whose line is the second one, by a finite difference.
    let moved = |by: f64| {
        let lines = instance.lines().enumerate().map(|(at, line)| match at {
            1 => (line.parse::<f64>().expect("a number") + by).to_string(),
            _ => line.to_string(),
        });
        report_on(tasks::gmm, &lines.collect::<Vec<_>>().join("\n")).objective.measured.result[0]
    };
    assert!(((moved(1e-5) - moved(-1e-5)) / 2e-5 - entries[0]).abs() < 1e-6);
}

#[test]
fn values_are_written_as_adbench_writes_them() {
    let camera = "0.1 -0.2 0.3 0.5 0.4 -0.6 2.0 0.7 0.1 0.01 -0.02";
    let report = report_on(tasks::ba, &format!("2 1 2  {camera}  1.0 2.0 3.0  0.5  0.3 0.2"));
    let directory = std::env::temp_dir().join(format!("adbench-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    write::values(&directory, Path::new("scene.txt"), &report).expect("files");
    let read = |kind| std::fs::read_to_string(directory.join(format!("scene_{kind}_deltaray.txt"))).expect("a file");
    assert_eq!(read("F").lines().count(), 6);
    let jacobian = read("J");
    std::fs::remove_dir_all(&directory).expect("a directory");
    let lines: Vec<&str> = jacobian.lines().collect();
    assert_eq!(lines[..3], ["6\t27", "7", "0\t15\t30\t45\t60\t61\t62"]);
    assert_eq!((lines[3], lines[4].split('\t').count(), lines[5].split('\t').count()), ("62", 62, 62));
    assert!(lines[5].ends_with("\t-1\t-1"));
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (line, problem) in [
        ("--task sorting file", "there is no task `sorting`"),
        ("--task gmm", "which files?"),
        ("--generate ba 1 2 3 file", "instances of `ba` are not generated"),
        ("--task gmm --threads two file", "`two` is no number"),
        ("--task gmm --write", "`--write` wants a value"),
    ] {
        assert_eq!(parse(line).err().as_deref(), Some(problem), "{line}");
    }

    assert_eq!(
        parse("--generate gmm 3 2 5 file").map(|arguments| arguments.generate),
        Ok(Some(([3, 2, 5], "file".into())))
    );
    assert_eq!(parse("--task gmm --threads 1 one two").map(|arguments| arguments.files.len()), Ok(2));
    assert!(tasks::lstm(&Cpu::default(), &mut read::Numbers::new("2 10 14 0.5")).is_err());
}
