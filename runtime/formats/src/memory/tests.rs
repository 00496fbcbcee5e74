//! Tables, budgets, and that advice which is followed fits.

use std::borrow::Cow;

use super::*;

/// A model with everything: two dtypes, a state, rooms of both sorts.
fn needs() -> Needs {
    Needs {
        model: "m".to_owned(),
        weights: vec![
            HeldWeights { format: StorageFormat::Bf16, mapped: false, bytes: 5_000_000 },
            HeldWeights { format: StorageFormat::Bf16, mapped: true, bytes: 400_000 },
        ],
        kv: vec![KvNeed { dtype: "f32", bytes_per_token: 2304 }, KvNeed { dtype: "bf16", bytes_per_token: 1152 }],
        state_bytes: 100_000,
        vocab_size: 1024,
        max_context: 4096,
        workspace: Workspace {
            token_bytes: 8880,
            logit_row_bytes: 5632,
            fixed_bytes: 128,
            rooms: Cow::Borrowed(&[
                Room::Expanded { kv_lora_rank: 64, nope: 32, rope: 32, v: 32 },
                Room::Absorbed { heads: 4, kv_lora_rank: 64, rope: 32 },
                Room::Mamba2 { head_dim: 16, state: 16, chunk: 32 },
            ]),
        },
    }
}

const FLAGS: Flags = Flags {
    context: Some("--context"),
    sequences: Some("--sequences"),
    cache_tokens: Some("--cache-tokens"),
    snapshots: Some("--snapshots"),
    kv_cache_dtype: Some("--kv-cache-dtype"),
};

fn budget(bytes: u64) -> Budget {
    Budget { bytes, from: "--memory".to_owned() }
}

#[test]
fn a_table_is_the_sum_of_its_pools() {
    let settings = Settings { snapshots: 3, ..Settings::new(2048, 4, 2) };
    let table = needs().plan(&settings);
    assert_eq!(table.cache, 4 * 2048 * 2304);
    assert_eq!((table.state, table.snapshots, table.rollback), (400_000, 300_000, 0));
    assert_eq!(table.activations, 259 * 8880 + 4 * 5632 + 128);
    assert_eq!(table.sampling, 4 * 4096 + 4 * 16 * 1024 + 8 * 1024);
    let sum = table.weights + table.cache + table.state + table.snapshots + table.activations + table.rooms + table.sampling;
    assert_eq!(table.total(), sum);
    let text = table.text("  ");
    for line in [
        "  weights, bf16             4.8 MiB  as the kernels read them\n",
        "  KV cache                 18.0 MiB  128 pages x 64 tokens x 2,304 B (f32)\n",
        "  state pool              390.6 KiB  4 sequences x 100,000 B\n",
        "  snapshot pool           293.0 KiB  3 snapshots x 100,000 B\n",
        "  rollback ring                 0 B  no speculation\n",
    ] {
        assert!(text.contains(line), "{line}is not in\n{text}");
    }
    assert_eq!(table.title, "memory of m: context 2,048, 4 sequences, 3 snapshots, cache f32");
}

/// What frees snapshots frees nothing else, and the other way round: `--ssm-cache-slots 0` was once expected to free the states.
#[test]
fn each_setting_sizes_its_own_pool_and_no_other() {
    let settings = Settings { snapshots: 8, ..Settings::new(2048, 8, 2) };
    let (with, without) = (needs().plan(&settings), needs().plan(&Settings { snapshots: 0, ..settings }));
    assert_eq!((with.snapshots, without.snapshots), (800_000, 0));
    assert_eq!(with.total() - without.total(), 800_000);
    assert_eq!((with.state, with.cache), (without.state, without.cache));
    let shorter = needs().plan(&Settings { context: 1024, ..settings });
    assert_eq!((shorter.cache, shorter.state, shorter.snapshots), (with.cache / 2, with.state, with.snapshots));
    assert_eq!(with.total() - shorter.total(), with.cache / 2);
    let narrower = needs().plan(&Settings { kv: 1, ..settings });
    assert_eq!(with.total() - narrower.total(), with.cache / 2);
    let stateless = Needs { state_bytes: 0, ..needs() };
    assert!(stateless.plan(&settings).text("").contains("snapshot pool                 0 B  no recurrent layer"));
}

#[test]
fn rooms_are_shared_by_kernels_of_one_sort() {
    let expanded = Room::Expanded { kv_lora_rank: 64, nope: 32, rope: 32, v: 32 };
    // 256 rows of weights, 96 of latents, 64 of keys, 32 and 2 x 16 of values, 2 x 256 of sums; 256 running sums.
    let alone = 64 * (256 + 96 + 64 + 32 + 32 + 512) + 36 * 256;
    assert_eq!(Room::bytes(&[expanded], 256, 4), alone);
    assert_eq!(Room::bytes(&[expanded, expanded], 256, 4), alone);
    let mamba = Room::Mamba2 { head_dim: 16, state: 16, chunk: 32 };
    let vectors = (16 + 32 + 6) * 4 + (32 + 6) * 2 + 4 * 4;
    assert_eq!(Room::bytes(&[mamba], 256, 4), 32 * vectors);
    assert_eq!(Room::bytes(&[mamba, expanded], 256, 4), 32 * vectors + alone);
    assert_eq!(Room::bytes(&[], 256, 4), 0);
}

/// Over many deployments and budgets: each way out fits, is the largest of its sort, and changes nothing else.
#[test]
fn advice_that_is_followed_fits() {
    let needs = needs();
    let (mut refused, mut several, mut hopeless) = (0, 0, 0);
    for context in [64_u64, 100, 2048, 4096] {
        for sequences in [1, 2, 7, 32] {
            for (snapshots, cache) in [(0, None), (5, None), (0, Some(1)), (5, Some(3))] {
                for kv in [0, 1] {
                    let cache_tokens = cache.map(|contexts| contexts * context.next_multiple_of(64));
                    let settings = Settings { snapshots, kv, cache_tokens, ..Settings::new(context, sequences, 2) };
                    for bytes in (1..60).map(|i| 2_500_000 * i) {
                        let Err(refusal) = needs.fit(&settings, &budget(bytes), &FLAGS) else {
                            assert!(needs.plan(&settings).total() <= bytes);
                            continue;
                        };
                        refused += 1;
                        hopeless += usize::from(refusal.ways_out.is_empty());
                        for (flags, way) in &refusal.ways_out {
                            several += usize::from(flags.matches("--").count() > 1);
                            follows(&needs, &settings, flags, way, bytes);
                        }
                        if refusal.ways_out.is_empty() {
                            assert!(refusal.smallest > bytes, "{settings:?} in {bytes}: {} would fit", refusal.smallest);
                            assert!(refusal.helps()[0].starts_with("no setting makes it fit"), "{:?}", refusal.helps());
                        }
                    }
                }
            }
        }
    }
    assert!(
        refused > 500 && several > 10 && hopeless > 10,
        "{refused} refused, {several} with several flags, {hopeless} without"
    );
}

/// The settings are those that the flags ask for, they fit, and one more of what was made smaller would not.
fn follows(needs: &Needs, from: &Settings, flags: &str, way: &Settings, bytes: u64) {
    let mut followed = *from;
    let words: Vec<&str> = flags.split(' ').collect();
    for pair in words.chunks(2) {
        let number = || pair[1].parse::<u64>().unwrap();
        match pair[0] {
            "--context" => followed.context = number(),
            "--sequences" => followed.sequences = number(),
            "--cache-tokens" => followed.cache_tokens = Some(number()),
            "--snapshots" => followed.snapshots = number(),
            "--kv-cache-dtype" => followed.kv = needs.kv.iter().position(|kv| kv.dtype == pair[1]).unwrap(),
            other => panic!("{other} is no flag"),
        }
    }
    assert_eq!(followed, *way, "{flags}");
    assert!(way.pages() >= way.context_pages(), "{flags} leaves no room for a context");
    assert!(needs.plan(way).total() <= bytes, "{flags} does not fit");
    let more = match words[words.len() - 2] {
        "--context" => Settings { context: way.context + way.page_size, ..*way },
        "--cache-tokens" => Settings { cache_tokens: way.cache_tokens.map(|tokens| tokens + way.page_size), ..*way },
        "--sequences" if way.sequences + 1 < from.sequences => Settings { sequences: way.sequences + 1, ..*way },
        "--snapshots" => Settings { snapshots: way.snapshots + 1, ..*way },
        _ => return,
    };
    assert!(needs.plan(&more).total() > bytes, "{flags}: {more:?} fits as well");
}

#[test]
fn a_cache_that_sequences_share_has_its_own_size() {
    let settings = Settings { cache_tokens: Some(3000), ..Settings::new(2048, 4, 2) };
    assert_eq!((settings.pages(), settings.context_pages()), (47, 32));
    let (shared, whole) = (needs().plan(&settings), needs().plan(&Settings { cache_tokens: None, ..settings }));
    assert_eq!((shared.cache, whole.cache), (47 * 64 * 2304, 4 * 2048 * 2304));
    assert_eq!(whole.total() - shared.total(), whole.cache - shared.cache, "and nothing else changes");
    assert!(shared.text("").contains("47 pages x 64 tokens x 2,304 B (f32)"), "{}", shared.text(""));
}

#[test]
fn snapshots_are_as_many_as_are_useful_and_fit() {
    let (needs, settings) = (needs(), Settings::new(2048, 4, 2));
    let without = needs.plan(&settings).total();
    let of = |bytes: u64| needs.useful_snapshots(&settings, Some(&budget(bytes)));
    assert_eq!([without - 1, without, without + 250_000, u64::MAX].map(of), [0, 0, 2, 8]);
    assert_eq!(needs.useful_snapshots(&settings, None), 8);
    assert_eq!(Needs { state_bytes: 0, ..needs }.useful_snapshots(&settings, None), 0);
}

#[test]
fn what_has_no_flag_is_not_advised() {
    let settings = Settings::new(4096, 4, 2);
    let refusal =
        needs().fit(&settings, &budget(20_000_000), &Flags { context: Some("--context"), ..Flags::default() }).unwrap_err();
    let [(flags, _)] = &refusal.ways_out[..] else { panic!("{:?}", refusal.ways_out) };
    assert!(flags.starts_with("--context "), "{flags}");
    assert!(refusal.message("m").starts_with("`m` needs 44.0 MiB and may take 19.1 MiB: 25.0 MiB"), "{}", refusal.message("m"));
    assert!(refusal.table_text("").ends_with("available                19.1 MiB  --memory\n"), "{}", refusal.table_text(""));
    let hopeless = needs().fit(&settings, &budget(5_000_000), &FLAGS).unwrap_err();
    assert!(hopeless.helps()[0].contains("smallest deployment takes"), "{:?}", hopeless.helps());
}

#[test]
fn numbers_that_no_machine_holds_do_not_wrap() {
    let settings = Settings { snapshots: u64::MAX, ..Settings::new(u64::MAX, u64::MAX, u64::MAX) };
    assert_eq!(needs().plan(&settings).total(), u64::MAX);
    assert!(needs().fit(&settings, &budget(30_000_000), &FLAGS).is_err());
}

#[test]
fn sizes_are_read_and_written() {
    for (text, bytes) in
        [("24GiB", 24 << 30), ("512 MiB", 512 << 20), ("1.5GB", 1_500_000_000), ("640", 640), ("1kB", 1000), ("7B", 7)]
    {
        assert_eq!(parse_size(text), Ok(bytes), "{text}");
    }
    for text in ["", "GiB", "-1GiB", "1e9", "ten", "0", "0.1B", "99999999999TiB", "1.2.3MB", "1 G", "inf", "NaN"] {
        assert!(parse_size(text).is_err(), "{text}");
    }
    let shown: Vec<String> = [0, 1023, 1024, (1 << 20) - 1, 1 << 20, 3 << 29, 141_000_000_000].map(shown_size).into();
    assert_eq!(shown, ["0 B", "1023 B", "1.0 KiB", "1.0 MiB", "1.0 MiB", "1.5 GiB", "131.3 GiB"]);
    assert_eq!([0, 999, 1000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
}

#[test]
fn packed_rows_are_whole_tiles() {
    assert_eq!(packed_bytes(StorageFormat::Bf16, 9, 10, false), Some(16 * 20));
    assert_eq!(packed_bytes(StorageFormat::Q8_0, 8, 64, false), Some(8 * 68));
    assert_eq!(packed_bytes(StorageFormat::Q8_0, 8, 65, false), None);
    assert_eq!(
        [256, 80, 10].map(|inputs| packed_bytes(StorageFormat::Fp8E4m3, 8, inputs, true)),
        [Some(8 * 264), Some(8 * 100), Some(8 * 80)]
    );
}

fn files<'a>(files: &'a [(&str, &str)]) -> impl Fn(&str) -> Option<String> + 'a {
    |path| files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned())
}

#[test]
fn the_machine_says_what_it_has() {
    let meminfo = ("/proc/meminfo", "MemTotal:       100 kB\nMemAvailable:     40 kB\n");
    let found = machine::available(files(&[meminfo])).unwrap();
    assert_eq!((found.bytes, found.from.as_str()), (40 * 1024, "what this machine has available"));
    assert_eq!(machine::available(files(&[])), None);

    // Version 2: the group of the process has no limit, one above it has; pages of files do not count as used.
    let second = [
        meminfo,
        ("/proc/self/cgroup", "0::/a.slice/b\n"),
        ("/sys/fs/cgroup/a.slice/b/memory.max", "max\n"),
        ("/sys/fs/cgroup/a.slice/memory.max", "30000\n"),
        ("/sys/fs/cgroup/a.slice/memory.current", "20000\n"),
        ("/sys/fs/cgroup/a.slice/memory.stat", "anon 1\nfile 9\ninactive_file 3000\nactive_file 2000\n"),
    ];
    let found = machine::available(files(&second)).unwrap();
    assert_eq!((found.bytes, found.from.as_str()), (15000, "what the control group of this process leaves"));

    // Version 1, in a container that sees its own group as the root of the mount.
    let first = [
        meminfo,
        ("/proc/self/cgroup", "3:cpu,cpuacct:/x\n2:memory:/docker/0123\n"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9000\n"),
        ("/sys/fs/cgroup/memory/memory.usage_in_bytes", "8000\n"),
        ("/sys/fs/cgroup/memory/memory.stat", "inactive_file 1\ntotal_inactive_file 500\ntotal_active_file 0\n"),
    ];
    assert_eq!(machine::available(files(&first)).unwrap().bytes, 1500);
    // No limit in version 1 is the largest multiple of a page.
    let unlimited = [meminfo, first[1], ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")];
    assert_eq!(machine::available(files(&unlimited)).unwrap().bytes, 40 * 1024);
}

#[test]
fn devices_have_names_of_their_own() {
    for device in &device::DEVICES {
        assert_eq!(device::device(device.name), Some(device));
        assert!(device.bytes > 20 << 30, "{device:?}");
    }
    assert_eq!(device::device("h300"), None);
}
