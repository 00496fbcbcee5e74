//! Mixtures of experts: which experts a token goes to, and the experts.
//!
//! A router's logits become [`Routes`] ([`route`](crate::cpu::route), [`route_biased`](crate::cpu::route_biased)), and
//! [`GatedExperts`] or [`PlainExperts`] compute them expert by expert. What a token gets is summed in the order of its own routes,
//! so that it does not depend on the other tokens of a batch.

mod experts;
mod router;
mod routes;
mod scratch;
#[cfg(test)]
mod tests;

pub use self::experts::{Activation, GatedExperts, Gelu, GeluTanh, PlainExperts, Relu2, Silu};
pub(crate) use self::experts::{Biases, Experts};
pub use self::router::{GroupScore, Router, RouterScores};
pub use self::routes::Routes;
pub use self::scratch::ExpertRows;
