//! Runs: transfers, reports, results in place, and what devices refuse.
