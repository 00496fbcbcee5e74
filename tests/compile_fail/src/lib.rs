//! Wirings that must not compile: see `cases/` and `tests/compile_fail.rs`.
