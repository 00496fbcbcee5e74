//! Devices that a deployment can be planned for without having one.

/// One device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// As the command line spells it.
    pub name: &'static str,
    /// Bytes of its memory, as the vendor states them.
    pub bytes: u64,
}

const GB: u64 = 1_000_000_000;
const GIB: u64 = 1 << 30;

/// Memory of the vendors' data sheets. What drivers and other processes take is not in these numbers.
pub const DEVICES: [Device; 8] = [
    Device { name: "rtx-4090", bytes: 24 * GIB },
    Device { name: "rtx-5090", bytes: 32 * GIB },
    Device { name: "l40s", bytes: 48 * GIB },
    Device { name: "a100-40", bytes: 40 * GIB },
    Device { name: "a100-80", bytes: 80 * GIB },
    Device { name: "h100", bytes: 80 * GIB },
    Device { name: "h200", bytes: 141 * GB },
    Device { name: "b200", bytes: 180 * GB },
];

/// The device of a name.
pub fn device(name: &str) -> Option<&'static Device> {
    DEVICES.iter().find(|device| device.name == name)
}
