//! Printed programs.
