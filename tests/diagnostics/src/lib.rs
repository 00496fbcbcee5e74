//! What specs with a mistake in them meet: cases of diagnostics under `tests/ui/<id>/<case>/`, each with the text that its author
//! reads, and corruptions of the golden specs, of which none may compute something else.

pub mod apart;
pub mod case;
pub mod checkpoint;
pub mod corrupt;
pub mod deploy;
pub mod stage;
pub mod subjects;
pub mod verdict;
