//! What the machine of this process has left: what Linux calls available, and the limits of the control groups that hold it.
//!
//! The files are read by the caller, since nothing here does IO: `read` gives the text of a path, or nothing.

use super::Budget;

/// Memory that this process may still take, and who says so: the smaller of what the machine has available and what each control group
/// of the process leaves. `None` where the system does not say.
pub fn available(read: impl Fn(&str) -> Option<String>) -> Option<Budget> {
    let machine = read("/proc/meminfo").and_then(|text| mem_available(&text));
    let machine = machine.map(|bytes| Budget { bytes, from: "what this machine has available".to_owned() });
    let group = groups(&read).map(|bytes| Budget { bytes, from: "what the control group of this process leaves".to_owned() });
    machine.into_iter().chain(group).min_by_key(|budget| budget.bytes)
}

fn mem_available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The files of one version of control groups.
struct Names {
    limit: &'static str,
    usage: &'static str,
    /// Pages of files that the kernel takes back when it needs them.
    reclaimable: [&'static str; 2],
}

const V2: Names = Names { limit: "memory.max", usage: "memory.current", reclaimable: ["inactive_file", "active_file"] };
const V1: Names = Names {
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    reclaimable: ["total_inactive_file", "total_active_file"],
};

/// The least that any group on the way from that of this process to the root leaves.
fn groups(read: &impl Fn(&str) -> Option<String>) -> Option<u64> {
    let own = read("/proc/self/cgroup")?;
    let mut least = None;
    for line in own.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let (mount, names) = match controllers {
            "" => ("/sys/fs/cgroup", &V2),
            list if list.split(',').any(|c| c == "memory") => ("/sys/fs/cgroup/memory", &V1),
            _ => continue,
        };
        let mut path = path.trim_end_matches('/');
        // In a container, the path may be one of the host, which is not mounted here: the root of the mount is then its own group.
        loop {
            least = least.into_iter().chain(left(read, &format!("{mount}{path}"), names)).min();
            let Some(slash) = path.rfind('/') else { break };
            path = &path[..slash];
        }
    }
    least
}

/// What one group leaves; nothing where it has no limit.
fn left(read: &impl Fn(&str) -> Option<String>, group: &str, names: &Names) -> Option<u64> {
    let number = |name: &str| read(&format!("{group}/{name}"))?.trim().parse::<u64>().ok();
    // `max` is no number; version 1 writes the largest multiple of a page instead.
    let limit = number(names.limit).filter(|&limit| limit < 1 << 60)?;
    let stat = read(&format!("{group}/memory.stat")).unwrap_or_default();
    let of = |key: &str| stat.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok()).unwrap_or(0);
    let files: u64 = names.reclaimable.iter().map(|key| of(&format!("{key} "))).sum();
    let used = number(names.usage).unwrap_or(0).saturating_sub(files);
    Some(limit.saturating_sub(used))
}
