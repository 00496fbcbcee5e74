//! Matrices whose scales stand in tensors of their own: found, compared, used, and missed.

use super::*;
use crate::rows::Rows;

const ALL: &[F] = &[F::Bf16, F::F32, F::Fp8E4m3, F::Nvfp4, F::Mxfp4];
const W: LinearSpec<144, 160> = LinearSpec::new("a.{layer}.w.weight", ALL);
const LAYER: [usize; 1] = [3];

fn raw(name: &str, shape: &[usize], format: &str, byte: impl FnMut(usize) -> u8) -> Tensor {
    let size = match format {
        "f32" => 4,
        "bf16" => 2,
        _ => 1,
    };
    let data = (0..size * shape.iter().product::<usize>()).map(byte).collect();
    Tensor { name: name.to_owned(), shape: shape.to_vec(), format: format.to_owned(), data }
}

/// A tensor of the matrix, by the last part of its name.
fn of(ending: &str, shape: &[usize], format: &str, byte: impl FnMut(usize) -> u8) -> Tensor {
    raw(&format!("a.3.w.{ending}"), shape, format, byte)
}

fn scale(ending: &str, shape: &[usize], values: &[f32]) -> Tensor {
    Tensor::f32(&format!("a.3.w.{ending}"), shape, values)
}

fn open(tensors: &[Tensor]) -> (TempDir, Arc<Checkpoint>) {
    let dir = hf_dir(&config(), tensors);
    let checkpoint = Arc::new(Checkpoint::open(dir.path()).unwrap());
    (dir, checkpoint)
}

/// The lines of the mismatch with a table of this matrix alone.
fn lines_of(spec: LinearSpec<144, 160>, tensors: &[Tensor]) -> Vec<String> {
    let (_dir, checkpoint) = open(tensors);
    let cpu = Cpu::new(1, Isa::Portable).unwrap();
    match Loader::new(&checkpoint, &cpu, &[spec.per_layer(&LAYER)], &CONTRACT) {
        Ok(_) => Vec::new(),
        Err(LoadError::Mismatch(mismatch)) => mismatch.differences,
        Err(other) => panic!("{other}"),
    }
}

fn lines(tensors: &[Tensor]) -> Vec<String> {
    lines_of(W, tensors)
}

/// The sums of the rows of the loaded matrix.
fn row_sums(tensors: &[Tensor]) -> Vec<f32> {
    assert_eq!(lines(tensors), [""; 0]);
    let (_dir, checkpoint) = open(tensors);
    let cpu = Cpu::new(2, Isa::Portable).unwrap();
    let from = Loader::new(&checkpoint, &cpu, &[W.per_layer(&LAYER)], &CONTRACT).unwrap();
    let w = from.linear(&W, 3).unwrap();
    let mut x = Rows::with_capacity(1);
    x.set_rows(1);
    x.as_mut_slice().fill(1.0);
    let mut out = Rows::with_capacity(1);
    w.forward::<1>(&cpu, &x, &mut out);
    out.row(0).to_vec()
}

fn load_error(tensors: &[Tensor]) -> String {
    let (_dir, checkpoint) = open(tensors);
    let cpu = Cpu::new(1, Isa::Portable).unwrap();
    let from = Loader::new(&checkpoint, &cpu, &[W.per_layer(&LAYER)], &CONTRACT).unwrap();
    from.linear(&W, 3).unwrap_err().to_string()
}

/// All elements 1.0.
fn ones() -> Tensor {
    of("weight", &[144, 160], "f8_e4m3", |_| 0x38)
}

#[test]
fn fp8_with_one_scale() {
    for (ending, shape) in [
        ("weight_scale", &[][..]),
        ("weight_scale", &[1]),
        ("weight_scale", &[1, 1]),
        ("qscale_weight", &[]),
        ("weight_scale_inv", &[]),
        ("weight_scale_inv", &[1]),
    ] {
        assert_eq!(row_sums(&[ones(), scale(ending, shape, &[0.25])]), [40.0; 144]);
    }
    for ending in ["input_scale", "activation_scale"] {
        let tensors = [ones(), scale("weight_scale", &[], &[0.25]), scale(ending, &[], &[7.0])];
        assert_eq!(row_sums(&tensors), [40.0; 144]);
    }
}

#[test]
fn fp8_with_a_scale_per_block() {
    let sums = row_sums(&[ones(), scale("weight_scale_inv", &[2, 2], &[1.0, 2.0, 4.0, 8.0])]);
    assert_eq!((sums[0], sums[127]), (128.0 + 64.0, 192.0));
    assert_eq!((sums[128], sums[143]), (4.0 * 128.0 + 8.0 * 32.0, 768.0));
    // Some checkpoints keep these scales in bf16.
    let half = of("weight_scale_inv", &[2, 2], "bf16", |i| [0x80, 0x3f][i % 2]);
    assert_eq!(row_sums(&[ones(), half]), [160.0; 144]);
}

/// Elements 2.0 and 0.5 by turns, scales of 16.
fn nvfp4(data: &str) -> [Tensor; 2] {
    [of(data, &[144, 80], "u8", |_| 0x14), of("weight_scale", &[144, 10], "f8_e4m3", |_| 0x58)]
}

#[test]
fn nvfp4_in_both_layouts() {
    let modelopt = [&nvfp4("weight")[..], &[scale("weight_scale_2", &[], &[0.125]), scale("input_scale", &[], &[3.0])]].concat();
    assert_eq!(row_sums(&modelopt), [160.0 * 1.25 * 16.0 / 8.0; 144]);
    let divided = [scale("weight_global_scale", &[1], &[8.0]), scale("input_global_scale", &[1], &[3.0])];
    let compressed = [&nvfp4("weight_packed")[..], &divided].concat();
    assert_eq!(row_sums(&compressed), [160.0 * 1.25 * 16.0 / 8.0; 144]);
}

#[test]
fn missing_companions_are_named() {
    assert_eq!(lines(&[ones()]), ["a.3.w.weight_scale_inv is missing, and so is one that ends in _scale: fp8_e4m3 needs either"]);
    assert_eq!(lines(&nvfp4("weight")), ["a.3.w.weight_scale_2 is missing"]);
    assert_eq!(lines(&nvfp4("weight_packed")), ["a.3.w.weight_global_scale is missing"]);
    assert_eq!(lines(&nvfp4("weight_packed")[..1]), ["a.3.w.weight_global_scale is missing", "a.3.w.weight_scale is missing"]);
    assert_eq!(lines(&[]), ["a.3.w.weight is missing"]);
}

#[test]
fn companions_of_another_shape_or_format() {
    assert_eq!(
        lines(&[ones(), scale("weight_scale_inv", &[2, 1], &[1.0; 2])]),
        ["a.3.w.weight_scale_inv: the spec needs [2, 2] or [], the checkpoint has [2, 1]"]
    );
    assert_eq!(
        lines(&[ones(), scale("weight_scale", &[144], &[1.0; 144])]),
        ["a.3.w.weight_scale: the spec needs [], the checkpoint has [144]"]
    );
    assert_eq!(
        lines(&[ones(), of("weight_scale", &[], "u8", |_| 0)]),
        ["a.3.w.weight_scale is u8, and it must be f32, f16 or bf16"]
    );
    let [data, _] = nvfp4("weight");
    let scales = of("weight_scale", &[144, 5], "u8", |_| 0x38);
    assert_eq!(
        lines(&[data, scales, scale("weight_scale_2", &[2], &[1.0; 2])]),
        [
            "a.3.w.weight_scale is u8, and it must be fp8_e4m3",
            "a.3.w.weight_scale: the spec needs [144, 10], the checkpoint has [144, 5]",
            "a.3.w.weight_scale_2: the spec needs [], the checkpoint has [2]",
        ]
    );
}

#[test]
fn scales_that_nothing_reads() {
    let plain = of("weight", &[144, 160], "bf16", |_| 0);
    assert_eq!(
        lines(&[plain, scale("weight_scale", &[], &[1.0])]),
        ["a.3.w.weight_scale is there, and the matrix beside it is bf16, which has no such scale"]
    );
    let both = [ones(), scale("weight_scale", &[], &[1.0]), scale("weight_scale_inv", &[2, 2], &[1.0; 4])];
    assert_eq!(lines(&both), ["a.3.w.weight_scale is there, and the matrix beside it is fp8_e4m3, which has no such scale"]);
}

#[test]
fn formats_that_the_spec_does_not_accept() {
    const PLAIN: LinearSpec<144, 160> = LinearSpec::new("a.{layer}.w.weight", &[F::Bf16]);
    let one = [ones(), scale("weight_scale", &[], &[1.0])];
    assert_eq!(lines_of(PLAIN, &one)[0], "a.3.w.weight is fp8_e4m3, and the spec accepts bf16");
    let packed = [&nvfp4("weight_packed")[..], &[scale("weight_global_scale", &[1], &[8.0])]].concat();
    assert_eq!(lines_of(PLAIN, &packed), ["a.3.w.weight_packed is nvfp4, and the spec accepts bf16"]);
}

#[test]
fn what_is_no_number() {
    let out = "the file is damaged, or was made from damaged weights; compare its checksum with the source's, and download or \
               quantise it again";
    let one = || scale("weight_scale", &[], &[1.0]);
    let nan = of("weight", &[144, 160], "f8_e4m3", |i| if i == 165 { 0xff } else { 0 });
    assert_eq!(load_error(&[nan, one()]), format!("a.3.w.weight: row 1, column 5 is NaN: {out}"));
    let infinite = scale("weight_scale", &[], &[f32::INFINITY]);
    assert_eq!(load_error(&[ones(), infinite]), format!("a.3.w.weight_scale: row 0, column 0 is infinite: {out}"));
    let [data, _] = nvfp4("weight_packed");
    let scales = || of("weight_scale", &[144, 10], "f8_e4m3", |i| if i == 12 { 0x7f } else { 0x38 });
    let global = |x| scale("weight_global_scale", &[1], &[x]);
    assert_eq!(load_error(&[data.clone(), scales(), global(1.0)]), format!("a.3.w.weight_scale: row 1, column 2 is NaN: {out}"));
    let [data, scales] = nvfp4("weight_packed");
    let error = load_error(&[data, scales, global(0.0)]);
    assert_eq!(error, format!("a.3.w.weight_global_scale: row 0, column 0 is a divisor of 0: {out}"));
}

#[test]
fn other_tensors_do_not_take_scales() {
    const LIKE: EmbeddingSpec<144, 160> = EmbeddingSpec::new("a.3.w.weight", ALL);
    let (_dir, checkpoint) = open(&[ones(), scale("weight_scale", &[], &[1.0])]);
    let cpu = Cpu::new(1, Isa::Portable).unwrap();
    let from = Loader::new(&checkpoint, &cpu, &[W.per_layer(&LAYER)], &CONTRACT).unwrap();
    let error = from.embedding(&LIKE).unwrap_err().to_string();
    assert!(error.contains("a.3.w.weight is fp8_e4m3, and the spec accepts bf16, f32, mxfp4"), "{error}");
}

/// The projection of latents is read with its scales too.
#[test]
fn latent_projections_take_scales() {
    const KV_B: LatentUpSpec<3, 20, 28, 160> = LatentUpSpec::new("a.{layer}.w.weight", ALL);
    let elements = 144 * 160;
    let held = |tensors: &[Tensor]| {
        let (_dir, checkpoint) = open(tensors);
        let cpu = Cpu::new(1, Isa::Portable).unwrap();
        let from = Loader::new(&checkpoint, &cpu, &[KV_B.per_layer(&LAYER)], &CONTRACT).unwrap();
        let up = from.latent_up(&KV_B, 3).unwrap();
        (up.format(), up.bytes())
    };
    assert_eq!(held(&[ones(), scale("weight_scale_inv", &[2, 2], &[1.0; 4])]), (F::Fp8E4m3, elements + 16));
    assert_eq!(held(&[ones(), scale("weight_scale", &[], &[1.0])]), (F::Fp8E4m3, elements + 16));
    let modelopt = [&nvfp4("weight")[..], &[scale("weight_scale_2", &[], &[0.125])]].concat();
    assert_eq!(held(&modelopt), (F::Nvfp4, 2 * elements));
    assert_eq!(held(&[of("weight", &[144, 160], "bf16", |_| 0)]), (F::Bf16, 2 * elements));
}

/// On a device every fp8 matrix has a table of scales, rows are padded, and latents are bf16.
#[test]
fn weights_of_a_device_are_counted_from_headers() {
    const KV_B: LatentUpSpec<3, 20, 28, 160> = LatentUpSpec::new("a.{layer}.w.weight", ALL);
    const MATRIX: CheckpointNeeds =
        CheckpointNeeds { kind: CheckpointKind::Hf, tensors: &[W.per_layer(&LAYER)], config: &CONTRACT };
    const LATENT: CheckpointNeeds = CheckpointNeeds { tensors: &[KV_B.per_layer(&LAYER)], ..MATRIX };
    let held = |needs: CheckpointNeeds, tensors: &[Tensor]| {
        let (_dir, checkpoint) = open(tensors);
        let held = needs.held_on_device(&checkpoint).unwrap();
        assert!(held.iter().all(|h| !h.mapped) && held.len() == 1, "{held:?}");
        (held[0].format, held[0].bytes)
    };
    let fp8 = (F::Fp8E4m3, 144 * 160 + 4 * 2 * 2);
    assert_eq!(held(MATRIX, &[ones(), scale("weight_scale_inv", &[2, 2], &[1.0; 4])]), fp8);
    assert_eq!(held(MATRIX, &[ones(), scale("weight_scale", &[], &[1.0])]), fp8);
    let modelopt = [&nvfp4("weight")[..], &[scale("weight_scale_2", &[], &[0.125])]].concat();
    // 80 bytes of elements, and 10 scales in 16.
    assert_eq!(held(MATRIX, &modelopt), (F::Nvfp4, 144 * 96));
    assert_eq!(held(LATENT, &modelopt), (F::Bf16, 2 * 144 * 160));
}
