//! What an instance was compiled for, compared with what the plan was compiled for.

use super::CudaError;

/// A parameter of an instance, as the plan has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name in TEMPLATE.toml.
    pub name: &'static str,
    /// Its number; of a name [`name_number`].
    pub number: u32,
    /// The name, where it is one.
    pub text: Option<&'static str>,
}

impl Parameter {
    /// A parameter that is a number.
    pub const fn number(name: &'static str, number: u32) -> Self {
        Self { name, number, text: None }
    }

    /// A parameter that is a name.
    pub const fn name(name: &'static str, text: &'static str) -> Self {
        Self { name, number: name_number(text), text: Some(text) }
    }
}

/// The number that stands for a name in a manifest: FNV-1a of 32 bits, as `manifest.cuh` computes it.
pub const fn name_number(text: &str) -> u32 {
    let (bytes, mut hash, mut i) = (text.as_bytes(), 2_166_136_261u32, 0);
    while i < bytes.len() {
        hash = (hash ^ bytes[i] as u32).wrapping_mul(16_777_619);
        i += 1;
    }
    hash
}

/// Compares the numbers that were compiled into an instance with the plan's.
pub(super) fn compare(instance: &str, planned: &[Parameter], compiled: &[u32]) -> Result<(), CudaError> {
    let refuse = |problem| Err(CudaError::Manifest { instance: instance.to_owned(), problem });
    if planned.len() != compiled.len() {
        return refuse(format!("it was compiled with {} parameters, and the plan has {}", compiled.len(), planned.len()));
    }
    for (parameter, &number) in planned.iter().zip(compiled) {
        if parameter.number != number {
            let Parameter { name, number: wanted, text } = parameter;
            return refuse(match text {
                Some(text) => format!(
                    "{name} is {text} (number {wanted:#010x}) in the plan, and it was compiled with number {number:#010x}"
                ),
                None => format!("{name} is {wanted} in the plan, and it was compiled with {number}"),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLANNED: [Parameter; 2] = [Parameter::number("dim", 576), Parameter::name("x_dtype", "bf16")];

    #[test]
    fn numbers_of_names_are_fnv() {
        // Known values of FNV-1a.
        assert_eq!(name_number(""), 0x811c_9dc5);
        assert_eq!(name_number("a"), 0xe40c_292c);
        assert_eq!(name_number("foobar"), 0xbf9c_f968);
    }

    #[test]
    fn the_same_numbers_are_accepted() {
        assert_eq!(compare("rms_norm_bf16_d576", &PLANNED, &[576, name_number("bf16")]), Ok(()));
        assert_eq!(compare("add", &[], &[]), Ok(()));
    }

    #[test]
    fn a_difference_names_instance_parameter_and_both_numbers() {
        let error = |compiled: &[u32]| compare("rms_norm_bf16_d576", &PLANNED, compiled).unwrap_err().to_string();
        let tail = ": the compiled kernels and the plan are of different builds; build again";
        assert_eq!(
            error(&[512, name_number("bf16")]),
            format!("kernel rms_norm_bf16_d576: dim is 576 in the plan, and it was compiled with 512{tail}")
        );
        assert_eq!(
            error(&[576, 7]),
            format!(
                "kernel rms_norm_bf16_d576: x_dtype is bf16 (number {:#010x}) in the plan, and it was compiled with number \
                 0x00000007{tail}",
                name_number("bf16")
            )
        );
        assert_eq!(
            error(&[576]),
            format!("kernel rms_norm_bf16_d576: it was compiled with 1 parameters, and the plan has 2{tail}")
        );
    }
}
