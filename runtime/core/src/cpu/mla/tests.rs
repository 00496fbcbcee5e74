//! Latent attention.
