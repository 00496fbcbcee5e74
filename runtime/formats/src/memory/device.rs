//! Devices that a deployment can be planned for without having one.

/// One device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// As the command line spells it.
    pub name: &'static str,
    /// Bytes of its memory, as the vendor states them.
    pub bytes: u64,
    /// Bytes per second that it reads from that memory, as the vendor states them.
    pub bandwidth: u64,
}

const GB: u64 = 1_000_000_000;
const GIB: u64 = 1 << 30;

/// Memory and bandwidth of the vendors' data sheets. What drivers and other processes take is not in these numbers.
pub const DEVICES: [Device; 8] = [
    Device { name: "rtx-4090", bytes: 24 * GIB, bandwidth: 1_008 * GB },
    Device { name: "rtx-5090", bytes: 32 * GIB, bandwidth: 1_792 * GB },
    Device { name: "l40s", bytes: 48 * GIB, bandwidth: 864 * GB },
    Device { name: "a100-40", bytes: 40 * GIB, bandwidth: 1_555 * GB },
    Device { name: "a100-80", bytes: 80 * GIB, bandwidth: 2_039 * GB },
    Device { name: "h100", bytes: 80 * GIB, bandwidth: 3_350 * GB },
    Device { name: "h200", bytes: 141 * GB, bandwidth: 4_800 * GB },
    Device { name: "b200", bytes: 180 * GB, bandwidth: 8_000 * GB },
];

/// The device of a name.
pub fn device(name: &str) -> Option<&'static Device> {
    DEVICES.iter().find(|device| device.name == name)
}
