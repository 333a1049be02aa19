//! Loops on devices.
