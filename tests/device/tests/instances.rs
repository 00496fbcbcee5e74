//! Instances spoilt by hand, given to the real nvcc: what a static_assert says, and what stands in the machine code's manifest where none
//! fires. Without an nvcc there is nothing to ask, and the tests say that they were skipped.

use std::path::{Path, PathBuf};

use tenon_compiler::driver::nvcc::{self, FailureKind, Job, Nvcc};
use tenon_device_cases::{Param, Params};
use tenon_device_tests::instance::Instance;
use tenon_device_tests::template::Template;

fn templates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel-templates")
}

/// nvcc, with a cache that the tests share.
fn compiler() -> Option<Nvcc> {
    match nvcc::find() {
        Ok(path) => Some(Nvcc::new(&path, &Path::new(env!("CARGO_TARGET_TMPDIR")).join("cubins")).expect("nvcc runs")),
        Err(_) => {
            println!("skipped: no nvcc");
            None
        }
    }
}

/// An instance of a template, and its code.
fn instance(template: &str, name: &str, params: &[(&str, Param)]) -> (Template, Instance, String) {
    let template = Template::read(&templates().join(template)).unwrap().expect("a template of a GPU");
    let params = Params(params.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect());
    let instance = Instance { name: name.to_owned(), template: 0, params };
    let text = instance.render(&template).unwrap();
    (template, instance, text)
}

/// The instance that most models decode with.
fn decode() -> (Template, Instance, String) {
    let numbers = [("head_dim", 128), ("group", 2), ("tile_kv", 64)].map(|(name, n)| (name, Param::Int(n)));
    let params: Vec<_> = [("kv_dtype", Param::Name("bf16".to_owned()))].into_iter().chain(numbers).collect();
    instance("attention_decode", "attention_decode_bf16_hd128_g2_tk64", &params)
}

/// The code with one text in place of another that stands in it once.
fn spoilt(text: &str, find: &str, replace: &str) -> String {
    assert_eq!(text.matches(find).count(), 1, "`{find}` stands once in {text}");
    text.replace(find, replace)
}

fn job(template: &Template, instance: &Instance, source: String) -> Job {
    let include = vec![template.folder.clone(), templates().join("include")];
    let name = instance.name.clone();
    Job { name, source, include, max_spill_bytes: template.max_spill_bytes, dynamic_shared_bytes: 0 }
}

#[test]
fn a_static_assert_refuses_dimensions_that_the_kernel_cannot_have() {
    let Some(nvcc) = compiler() else { return };
    let (template, instance, text) = decode();
    let spoilings = [
        // No vector of 16 bytes ends where such a row does.
        ("HEAD_DIM = 128", "HEAD_DIM = 100", "rows of whole 16-byte units, and at most 16 warps"),
        ("HEAD_DIM = 128", "HEAD_DIM = 1024", "rows of whole 16-byte units, and at most 16 warps"),
        ("GROUP = 2", "GROUP = 0", "query heads of a key-value head"),
    ];
    let jobs = spoilings.map(|(find, replace, _)| job(&template, &instance, spoilt(&text, find, replace)));
    for (result, (_, replace, said)) in nvcc.each(&jobs, 2).into_iter().zip(spoilings) {
        let failure = result.expect_err(replace);
        assert_eq!(failure.name, instance.name);
        let FailureKind::Refused(output) = &failure.kind else { panic!("{replace}: {failure}") };
        assert!(output.contains("static assertion failed with"), "{replace}: {output}");
        assert!(output.contains(said), "{replace}: {output}");
    }
}

#[test]
fn tiles_that_do_not_fit_in_shared_memory_are_refused() {
    let Some(nvcc) = compiler() else { return };
    let numbers =
        [("qk_nope_head_dim", 128), ("qk_rope_head_dim", 64), ("v_head_dim", 128)].map(|(name, n)| (name, Param::Int(n)));
    let params: Vec<_> = numbers.into_iter().chain([("phase", Param::Name("prefill".to_owned()))]).collect();
    let name = "mla_prefill_expanded_qnhd128_qrhd64_vhd128_prefill";
    let (template, instance, text) = instance("mla_prefill_expanded", name, &params);
    let job = job(&template, &instance, spoilt(&text, "NOPE = 128", "NOPE = 1024"));
    let failure = nvcc.compile(&[job], 1).expect_err("keys of 1088 elements").remove(0);
    let FailureKind::Refused(output) = &failure.kind else { panic!("{failure}") };
    assert!(output.contains("keys of a head are too wide for shared memory"), "{output}");
}

/// Where no assertion fires, the code is that of another plan, and says so: nothing is launched for which the manifest was not compared.
#[test]
fn an_instance_for_another_head_dim_says_so_in_its_manifest() {
    let Some(nvcc) = compiler() else { return };
    let (template, instance, text) = decode();
    let right = job(&template, &instance, text.clone());
    let wrong = job(&template, &instance, spoilt(&text, "HEAD_DIM = 128", "HEAD_DIM = 256"));
    let cubins = nvcc.compile(&[right, wrong], 2).unwrap_or_else(|failures| panic!("{failures:?}"));
    let planned = instance.manifest();
    assert_eq!(manifest(&cubins[0].bytes, &instance.name), planned);
    let other: Vec<u32> = planned.iter().map(|&number| if number == 128 { 256 } else { number }).collect();
    assert_ne!(other, planned);
    assert_eq!(manifest(&cubins[1].bytes, &instance.name), other);
    #[cfg(feature = "cuda")]
    refused_at_load(&other);
}

/// What the loader says of it.
#[cfg(feature = "cuda")]
fn refused_at_load(compiled: &[u32]) {
    use tenon_core::cuda::{Instance, Parameter};
    const PLANNED: Instance = Instance {
        name: "attention_decode_bf16_hd128_g2_tk64",
        cubin: &[],
        manifest: &[
            Parameter::name("kv_dtype", "bf16"),
            Parameter::number("head_dim", 128),
            Parameter::number("group", 2),
            Parameter::number("tile_kv", 64),
        ],
        shared_bytes: 0,
    };
    let told = PLANNED.compare(compiled).unwrap_err().to_string();
    let wanted = "kernel attention_decode_bf16_hd128_g2_tk64: head_dim is 128 in the plan, and it was compiled with 256";
    assert!(told.starts_with(wanted), "{told}");
}

/// The array `<name>_manifest` of a cubin, which is a 64-bit ELF file: found by its symbol, as the driver finds it.
fn manifest(cubin: &[u8], name: &str) -> Vec<u32> {
    let number = |at: usize, bytes: usize| cubin[at..at + bytes].iter().rev().fold(0usize, |n, &byte| n << 8 | usize::from(byte));
    let text = |at: usize| cubin[at..].split(|&byte| byte == 0).next().unwrap_or_default();
    let (headers, size, count) = (number(0x28, 8), number(0x3a, 2), number(0x3c, 2));
    let section = |index: usize| headers + index * size;
    let (kind, offset, length, link) = (0x04, 0x18, 0x20, 0x28);
    let symbol = format!("{name}_manifest");
    for table in (0..count).map(section).filter(|&at| number(at + kind, 4) == 2) {
        let names = number(section(number(table + link, 4)) + offset, 8);
        let entries = number(table + offset, 8)..number(table + offset, 8) + number(table + length, 8);
        let found = entries.step_by(24).find(|&entry| text(names + number(entry, 4)) == symbol.as_bytes());
        if let Some(entry) = found {
            let (within, value, bytes) = (number(entry + 6, 2), number(entry + 8, 8), number(entry + 16, 8));
            let begin = number(section(within) + offset, 8) + value;
            return (begin..begin + bytes).step_by(4).map(|at| number(at, 4) as u32).collect();
        }
    }
    panic!("the cubin has no {symbol}");
}
