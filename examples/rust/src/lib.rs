//! The client under test would stand here; see `tests/capture.rs`.
