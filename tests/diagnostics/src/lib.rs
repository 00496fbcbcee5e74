//! Cases of diagnostics: `tests/ui/<id>/<case>/`, each a mistake and the text that its author reads.

pub mod case;
pub mod deploy;
pub mod stage;
