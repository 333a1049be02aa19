//! Matrix products on devices.
