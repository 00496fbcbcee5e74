//! GGUF in several files: all of them together are the checkpoint, and a wrong one is named.

use super::*;

const TENSORS: [usize; 3] = [1, 3, 1];

/// The names of the parts.
fn name(no: usize) -> String {
    format!("tiny-{:05}-of-00003.gguf", no + 1)
}

fn keys(no: usize) -> Vec<(&'static str, GgufValue)> {
    let count = TENSORS.iter().sum::<usize>() as i32;
    vec![
        ("split.no", GgufValue::U16(no as u16)),
        ("split.count", GgufValue::U16(3)),
        ("split.tensors.count", GgufValue::I32(count)),
    ]
}

/// The tensors of a part.
fn of_part(no: usize) -> Vec<Tensor> {
    let start: usize = TENSORS[..no].iter().sum();
    tensors(&GGUF)[start..start + TENSORS[no]].to_vec()
}

/// The fitting checkpoint in three parts, with the metadata in the first.
fn parts() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for no in 0..3 {
        let metadata = if no == 0 { [metadata(), keys(0)].concat() } else { keys(no) };
        fs::write(dir.path().join(name(no)), write::gguf(&metadata, &of_part(no))).unwrap();
    }
    dir
}

/// What opening says when part `no` (from 0) is another file.
fn with_part(no: usize, metadata: &[(&str, GgufValue)], tensors: &[Tensor]) -> String {
    let dir = parts();
    let path = dir.path().join(name(no));
    fs::write(&path, write::gguf(metadata, tensors)).unwrap();
    let message = open_error(dir.path().join(name(0)));
    let start = format!("{}: ", path.display());
    message.strip_prefix(&start).unwrap_or_else(|| panic!("{message} does not begin with {start}")).to_owned()
}

fn changed(no: usize, key: &'static str, value: GgufValue) -> Vec<(&'static str, GgufValue)> {
    let mut keys = keys(no);
    keys.retain(|(k, _)| *k != key);
    keys.push((key, value));
    keys
}

#[test]
fn parts_load_by_the_first_and_by_their_directory() {
    let dir = parts();
    for path in [dir.path().join(name(0)), dir.path().to_owned()] {
        assert_eq!(differences(&path, &GGUF), [""; 0]);
        let checkpoint = Arc::new(Checkpoint::open(&path).unwrap());
        assert_eq!((checkpoint.path(), checkpoint.dir()), (&*dir.path().join(name(0)), dir.path()));
        assert_eq!(checkpoint.tensors().len(), 5);
        assert_eq!(checkpoint.gguf().unwrap().tensors, checkpoint.tensors());
        let whole = gguf_dir(&metadata(), &tensors(&GGUF));
        let whole = Checkpoint::open(whole.path()).unwrap();
        for (of_part, of_whole) in checkpoint.tensors().iter().zip(whole.tensors()) {
            assert_eq!((&of_part.name, checkpoint.data(of_part)), (&of_whole.name, whole.data(of_whole)));
        }
        let cpu = Cpu::new(1, Isa::Portable).unwrap();
        let from = Loader::new(&checkpoint, &cpu, GGUF.tensors, &GGUF.config).unwrap();
        from.linear(&GGUF_Q, 2).unwrap();
    }
}

#[test]
fn embeddings_are_tied_only_when_no_part_has_a_head() {
    let dir = parts();
    let head = Tensor::f32("output.weight", &[8, 32], &[0.0; 256]);
    let metadata = [metadata(), changed(0, "split.tensors.count", GgufValue::I32(6))].concat();
    fs::write(dir.path().join(name(0)), write::gguf(&metadata, &of_part(0))).unwrap();
    for no in [1, 2] {
        let tensors = if no == 2 { [of_part(2), vec![head.clone()]].concat() } else { of_part(no) };
        let keys = changed(no, "split.tensors.count", GgufValue::I32(6));
        fs::write(dir.path().join(name(no)), write::gguf(&keys, &tensors)).unwrap();
    }
    assert_eq!(Checkpoint::open(dir.path()).unwrap().config().bool("tie_word_embeddings"), Some(false));
}

#[test]
fn each_part_has_its_own_alignment() {
    let dir = parts();
    let keys = [keys(1), vec![("general.alignment", GgufValue::U32(128))]].concat();
    fs::write(dir.path().join(name(1)), write::gguf(&keys, &of_part(1))).unwrap();
    assert_eq!(differences(dir.path(), &GGUF), [""; 0]);
}

#[test]
fn a_part_that_is_not_there() {
    for no in 0..3 {
        let dir = parts();
        let path = dir.path().join(name(no));
        fs::remove_file(&path).unwrap();
        let expected =
            format!("{} is part {} of 3, and it is not there: download it into the folder of the others", path.display(), no + 1);
        assert_eq!(open_error(dir.path()), expected);
    }
}

#[test]
fn another_part_than_the_first() {
    let dir = parts();
    let path = dir.path().join(name(1));
    let expected = format!(
        "{} is part 2 of 3; give the first one, tiny-00001-of-00003.gguf, and the others are found beside it",
        path.display()
    );
    assert_eq!(open_error(&path), expected);
}

#[test]
fn a_part_under_another_name() {
    for other in ["tiny.gguf", "tiny-00001-of-00002.gguf", "tiny-00002-of-00003.gguf"] {
        let dir = parts();
        let path = dir.path().join(other);
        fs::rename(dir.path().join(name(0)), &path).unwrap();
        let expected = format!(
            "{} says that it is part 1 of 3, and its name must end in -00001-of-00003.gguf, by which the others are found: \
             rename it back",
            path.display()
        );
        assert_eq!(open_error(&path), expected);
    }
}

#[test]
fn two_models_in_one_directory() {
    let dir = parts();
    fs::write(dir.path().join("other.gguf"), "").unwrap();
    assert!(open_error(dir.path()).contains(" holds 4 .gguf files (other.gguf, tiny-00001-of-00003.gguf, "));
    fs::rename(dir.path().join("other.gguf"), dir.path().join("other-00001-of-00003.gguf")).unwrap();
    assert!(open_error(dir.path()).contains(" holds 4 .gguf files (other-00001-of-00003.gguf, "));
}

#[test]
fn a_part_of_another_model() {
    let ending = "the file belongs to another model, or was renamed";
    assert_eq!(with_part(2, &keys(1), &of_part(2)), format!("metadata `split.no` is 1, and for part 3 it must be 2: {ending}"));
    assert_eq!(
        with_part(1, &changed(1, "split.count", GgufValue::U16(4)), &of_part(1)),
        format!("metadata `split.count` is 4, and for part 2 it must be 3: {ending}")
    );
    assert_eq!(
        with_part(1, &changed(1, "split.tensors.count", GgufValue::I32(6)), &of_part(1)),
        format!("metadata `split.tensors.count` is 6, and for part 2 it must be 5: {ending}")
    );
    assert_eq!(
        with_part(1, &changed(1, "general.name", GgufValue::String("other".into())), &of_part(1)),
        "metadata `general.name` is not what it is in the first part: the file belongs to another model"
    );
    assert_eq!(with_part(1, &metadata(), &of_part(1)), "metadata `split.no` is missing, and a part of a split file has it");
    assert_eq!(with_part(2, &keys(2), &of_part(0)), "tensor `output_norm.weight` is a duplicate: part 1 holds it too");
}

#[test]
fn counts_that_do_not_add_up() {
    let dir = parts();
    fs::write(dir.path().join(name(2)), write::gguf(&keys(2), &[])).unwrap();
    let expected = format!(
        "{}: metadata `split.tensors.count` is 5, and there are 4 tensors: a part belongs to another model",
        dir.path().join(name(0)).display()
    );
    assert_eq!(open_error(dir.path()), expected);
}

#[test]
fn counts_that_no_file_can_have() {
    for (count, rest) in [
        (GgufValue::U64(1 << 63), "says that it is part 1 of 9223372036854775808, and its name must end in -00001-of-92233"),
        (GgufValue::U64(u64::MAX), "says that it is part 1 of 18446744073709551615, and its name must end in -00001-of-18"),
        (GgufValue::I32(-3), "metadata `split.count` is I32(-3), and it must be a count"),
        (GgufValue::String("3".into()), "metadata `split.count` is String(\"3\"), and it must be a count"),
    ] {
        let metadata = [metadata(), changed(0, "split.count", count)].concat();
        let dir = parts();
        fs::write(dir.path().join(name(0)), write::gguf(&metadata, &of_part(0))).unwrap();
        let message = open_error(dir.path());
        assert!(message.contains(rest), "{message}");
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m-00001-of-18446744073709551615.gguf");
    let keys = [changed(0, "split.count", GgufValue::U64(u64::MAX)), metadata()].concat();
    fs::write(&path, write::gguf(&keys, &of_part(0))).unwrap();
    assert!(open_error(&path).ends_with(
        "m-00002-of-18446744073709551615.gguf is part 2 of 18446744073709551615, and it is not there: \
         download it into the folder of the others"
    ));
}
