//! `Decay`: how fast the state of each recurrent head fades.

use tenon_formats::StorageFormat;

use super::{PackError, RowOrder, decode_vector};

/// `-exp(A_log)` of `N` heads: the rate at which a state fades per unit of time, strictly negative and finite.
#[derive(Clone, Debug)]
pub struct Decay<const N: usize>(Box<[f32; N]>);

impl<const N: usize> Decay<N> {
    /// Decodes `N` logarithms in f32, f16 or bf16.
    ///
    /// # Errors
    /// When `data` has another length or a quantised format, or a decay would not be below 0 and finite.
    pub fn decode(format: StorageFormat, data: &[u8]) -> Result<Self, PackError> {
        let mut values: Box<[f32; N]> = decode_vector(format, data, RowOrder::Stored)?;
        for (index, value) in values.iter_mut().enumerate() {
            let log = *value;
            *value = -(f64::from(log).exp() as f32);
            // Not `>= 0`, so that NaN is refused too.
            if !(*value < 0.0 && value.is_finite()) {
                return Err(PackError::Decay { index, log: log.to_string() });
            }
        }
        Ok(Self(values))
    }

    /// The decays.
    pub fn values(&self) -> &[f32; N] {
        &self.0
    }

    /// Bytes held.
    pub const fn bytes(&self) -> usize {
        size_of::<[f32; N]>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decay<const N: usize>(logs: [f32; N]) -> Result<Decay<N>, PackError> {
        let bytes: Vec<u8> = logs.iter().flat_map(|x| x.to_le_bytes()).collect();
        Decay::decode(StorageFormat::F32, &bytes)
    }

    #[test]
    fn is_minus_the_exponential() {
        let decay = decay([0.0, 1.0, 2.772_588_7, -69.077_55]).unwrap();
        let [one, e, sixteen, tiny] = *decay.values();
        assert_eq!(one, -1.0);
        assert!((e + std::f32::consts::E).abs() < 1e-6 && (sixteen + 16.0).abs() < 1e-5, "{e} {sixteen}");
        assert!(tiny < 0.0 && tiny > -1.1e-30, "{tiny}: as slow as 1e-30 is a decay");
        assert_eq!(decay.bytes(), 16);
    }

    #[test]
    fn no_decay_and_an_infinite_one_are_refused() {
        for (log, shown) in [(-110.0, "-110"), (89.0, "89"), (f32::NAN, "NaN"), (f32::INFINITY, "inf")] {
            let error = decay([0.0, log]).unwrap_err();
            let text = format!("element 1 is {shown}: the decay is -exp of it, which must be below 0 and finite");
            assert_eq!(error.to_string(), text);
        }
        assert!(matches!(Decay::<2>::decode(StorageFormat::F32, &[0; 4]), Err(PackError::Length { .. })));
    }
}
