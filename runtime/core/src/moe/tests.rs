//! Routing and experts against references in f64.

mod experts;
mod routing;
