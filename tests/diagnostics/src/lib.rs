//! Cases of diagnostics: `tests/ui/<id>/<case>/`, each a mistake and the text that its author reads.

pub mod against;
pub mod case;
pub mod corrupt;
pub mod stage;
pub mod verdict;
