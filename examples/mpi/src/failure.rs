//! The end of all ranks where one fails.

use mpi::topology::SimpleCommunicator;
use mpi::traits::*;

/// From now on a rank that panics ends all others: they would wait for it for ever.
pub fn end_all_on_panic() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        end_all("it panicked");
    }));
}

/// Says why this rank can't go on, and ends all of them.
pub fn end_all(problem: &str) -> ! {
    let world = SimpleCommunicator::world();
    say(&world, &format!("{problem}: all ranks end"));
    world.abort(1)
}

/// Prints a line of this rank, which those of others can't interrupt: it is written at once.
pub fn say(world: &SimpleCommunicator, text: &str) {
    let line = format!("rank {} of {}: {text}\n", world.rank(), world.size());
    eprint!("{line}");
}
