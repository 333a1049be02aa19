//! The waiting between queues, observed through the events: gates, which are opened by hand, keep queues from going on.

use super::*;
use crate::derivative::{Compiled, OnDevice};
use crate::engine::opencl::OpenCl;
use crate::engine::opencl::array::DeviceArray;
use crate::engine::opencl::driver::living;
use crate::engine::opencl::memory::Common;
use crate::engine::opencl::tests::own_device;
use crate::prelude::*;
use crate::tensor::Family;
use std::sync::mpsc;
use std::time::Duration;

/// An event for which a queue waits until it is opened, which it is at the latest when it is dropped.
struct Gate(Event);

impl Gate {
    fn in_front_of(queue: &Queue, common: &Common) -> Gate {
        let gate = Gate(Event::by_hand(&common.context).unwrap());
        queue.barrier(&[&gate.0]).unwrap();
        gate
    }

    fn open(self) {}
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.0.set_by_hand(0).unwrap();
    }
}

/// Whether an action ends while gates are closed. If it doesn't in this time, it never would.
fn ends<T: Send>(act: impl FnOnce() -> T + Send, gate: Gate) -> (Option<T>, Option<Gate>) {
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        scope.spawn(move || sender.send(act()));
        match receiver.recv_timeout(Duration::from_secs(60)) {
            Ok(found) => (Some(found), Some(gate)),
            // The thread must end for the test to fail.
            Err(_) => {
                gate.open();
                (None, None)
            }
        }
    })
}

/// Whether the elements of an array are there, as its event says.
fn is_there(array: &DeviceArray) -> bool {
    array.place.memory.work().written.as_ref().is_none_or(|written| written.is_complete().unwrap())
}

/// Checks that elements are absent, and stay so while other commands would have time to write them wrongly.
fn stays_away(array: &DeviceArray) {
    for _ in 0..20 {
        assert!(!is_there(array));
        std::thread::sleep(Duration::from_millis(1));
    }
}

type Doubling = Compiled<VectorFamily, VectorFamily, OpenCl>;
type VectorFamily = <Vector<Concrete, f64> as crate::tensor::Tree<Concrete>>::Family;

const COUNT: usize = 1000;

fn numbers(first: f64) -> Vector<Concrete, f64> {
    Vector::from((0..COUNT).map(|at| first + at as f64).collect::<Vec<f64>>())
}

/// A program that doubles, on a device of a test's own.
fn doubling(number: u64) -> Option<Doubling> {
    let device = own_device(number)?;
    Some(stage(|x: &Vector<_, f64>| x + x, &numbers(0.0)).unwrap().compile(OpenCl::on(&device)).unwrap())
}

fn common<In: Family, Out: Family>(compiled: &Compiled<In, Out, OpenCl>) -> &Common {
    &compiled.program().shared().common
}

fn array(tree: &OnDevice<VectorFamily>) -> &DeviceArray {
    &tree.arrays()[0]
}

fn elements(tree: &OnDevice<VectorFamily>) -> Vec<f64> {
    tree.download().unwrap().to_vec()
}

#[test]
fn a_download_waits_for_no_run_that_was_launched_later() {
    let Some(program) = doubling(10) else { return };
    let x = program.upload(&numbers(1.0)).unwrap();
    let early = program.call_on_device(&x).unwrap();
    let gate = Gate::in_front_of(&common(&program).queues.compute, common(&program));
    let late = program.call_on_device(&early).unwrap();
    std::thread::scope(|scope| {
        // One that waits for the later run keeps no other from the earlier one's result.
        let waiting = scope.spawn(|| elements(&late));
        let (found, gate) = ends(|| (elements(&early), elements(&x)), gate);
        let (doubled, given) = found.expect("the download waits for the later run");
        assert_eq!((doubled[0], doubled[COUNT - 1], given[0]), (2.0, 2000.0, 1.0));
        assert!(!is_there(array(&late)));
        gate.expect("it is closed").open();
        assert_eq!(waiting.join().unwrap()[0], 4.0);
    });
    late.wait().unwrap();
    assert!(is_there(array(&late)));
}

#[test]
fn the_upload_of_a_batch_waits_for_no_run_of_an_earlier_one() {
    let Some(program) = doubling(11) else { return };
    let first = program.upload(&numbers(1.0)).unwrap();
    first.wait().unwrap();
    let gate = Gate::in_front_of(&common(&program).queues.compute, common(&program));
    let of_first = program.call_on_device(&first).unwrap();
    // The memory waits, but the run that is not done uses it.
    drop(first);
    let before = program.program().allocations();
    let second = program.upload(&numbers(2.0)).unwrap();
    assert_eq!(program.program().allocations(), before + 1);
    let (arrived, gate) = ends(|| second.wait().unwrap(), gate);
    arrived.expect("the upload waits for the run");
    let of_second = program.call_on_device(&second).unwrap();
    assert_eq!(program.program().allocations(), before + 1, "the result is where the first batch was");
    drop((second, of_second));
    // Two wait, and runs use both: the upload waits for one of them.
    let third = program.upload(&numbers(3.0)).unwrap();
    assert_eq!(program.program().allocations(), before + 1);
    stays_away(array(&third));
    assert!(!is_there(array(&of_first)));
    let of_third = program.call_on_device(&third).unwrap();
    gate.expect("it is closed").open();
    for (tree, first) in [(&of_first, 1.0), (&of_third, 3.0)] {
        let found = elements(tree);
        assert_eq!((found[0], found[COUNT - 1]), (2.0 * first, 2.0 * (first + COUNT as f64 - 1.0)));
    }
    // Memory that no run uses any more is used again.
    drop((third, of_first, of_third));
    let before = program.program().allocations();
    for number in 0..10 {
        let x = program.upload(&numbers(f64::from(number))).unwrap();
        assert_eq!(elements(&program.call_on_device(&x).unwrap())[0], 2.0 * f64::from(number));
    }
    assert_eq!(program.program().allocations(), before);
}

#[test]
fn a_run_waits_for_the_uploads_of_its_arguments_once() {
    let Some(program) = doubling(12) else { return };
    let queues = &common(&program).queues;
    let gate = Gate::in_front_of(&queues.uploads, common(&program));
    let x = program.upload(&numbers(1.0)).unwrap();
    let waits = || array(&x).place.memory.work().upload().is_some();
    assert!(waits());
    let found = program.call_on_device(&x).unwrap();
    assert!(!waits(), "the queue for computing waits for it");
    let again = program.call_on_device(&x).unwrap();
    stays_away(array(&found));
    gate.open();
    assert_eq!((elements(&found)[7], elements(&again)[7]), (16.0, 16.0));
}

#[test]
fn results_wait_for_uploads_that_nobody_holds_any_more() {
    let Some(program) = doubling(13) else { return };
    let x = program.upload(&numbers(1.0)).unwrap();
    x.wait().unwrap();
    let gate = Gate::in_front_of(&common(&program).queues.uploads, common(&program));
    // Elements, and one value for all of them, which the device writes itself.
    let results = [numbers(50.0), zeros(COUNT)].map(|dropped| {
        let before = program.program().allocations();
        drop(program.upload(&dropped).unwrap());
        let found = program.call_on_device(&x).unwrap();
        assert_eq!(program.program().allocations(), before + 1, "the result is where the upload goes");
        stays_away(array(&found));
        found
    });
    gate.open();
    for found in &results {
        assert_eq!((elements(found)[0], elements(found)[COUNT - 1]), (2.0, 2000.0));
    }
}

#[test]
fn a_measured_run_waits_for_uploads_and_leaves_nothing_to_wait_for() {
    let Some(device) = own_device(14) else { return };
    let compiled = stage(|x: &Vector<_, f64>| x + x, &numbers(0.0)).unwrap();
    let compiled = compiled.compile(OpenCl::on(&device).profile(true)).unwrap();
    let gate = Gate::in_front_of(&common(&compiled).queues.uploads, common(&compiled));
    let x = compiled.upload(&numbers(1.0)).unwrap();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| compiled.call_on_device(&x).unwrap());
        stays_away(array(&x));
        assert!(!running.is_finished());
        gate.open();
        let found = running.join().unwrap();
        assert!(array(&found).place.memory.work().run().is_none() && is_there(array(&found)));
        assert_eq!(elements(&found)[3], 8.0);
    });
}

#[test]
fn there_are_no_more_events_than_arrays_whatever_number_of_runs() {
    let Some(program) = doubling(15) else { return };
    let mut state = program.upload(&numbers(0.0)).unwrap();
    for step in 0..100 {
        // A batch that comes and goes in every step, and one that is never run on.
        let batch = program.upload(&numbers(f64::from(step))).unwrap();
        drop(program.call_on_device(&batch).unwrap());
        drop(program.upload(&numbers(0.5)).unwrap());
        program.update(&mut state, ()).unwrap();
        if step % 10 == 0 {
            // Once uploads have arrived only memory has events, two of each at most.
            program.upload(&numbers(0.25)).unwrap().wait().unwrap();
            program.program().shared().forget_uploads().unwrap();
            let (events, allocations) = (living::of("event"), program.program().allocations() as i64);
            assert!(events <= 2 * allocations, "step {step}: {events} events of {allocations} stretches of memory");
            assert!(allocations <= 10, "step {step}: {allocations} allocations");
        }
    }
    let found = elements(&state);
    assert_eq!(found[1], 2f64.powi(100));
    drop((state, program));
    // Arrays of the host that the last uploads are of are let go of by the next to come.
    assert!(living::of("event") <= 2, "{} events without any memory", living::of("event"));
}

/// A failure of an upload is told once, and memory that it was to is used again.
#[test]
fn memory_of_an_upload_that_failed_is_used_again() {
    let Some(program) = doubling(16) else { return };
    let x = program.upload(&numbers(1.0)).unwrap();
    x.wait().unwrap();
    let lost = program.upload(&numbers(2.0)).unwrap();
    let failed = Arc::new(Event::by_hand(&common(&program).context).unwrap());
    failed.set_by_hand(-5).unwrap();
    lost.wait().unwrap();
    array(&lost).place.memory.work().set_upload(failed);
    assert!(lost.wait().is_err());
    drop(lost);
    let before = program.program().allocations();
    assert_eq!(elements(&program.call_on_device(&x).unwrap())[0], 2.0);
    assert_eq!(program.program().allocations(), before);
}
