//! Paths and files that are no checkpoint.

use super::*;

mod directories {
    use super::*;

    #[test]
    fn that_do_not_exist() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("none");
        let expected = format!("{} does not exist; give a checkpoint's directory or a .gguf file", path.display());
        assert_eq!(open_error(&path), expected);
    }

    #[test]
    fn without_weights() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().display();
        let expected = format!("{path} holds no weights: neither model.safetensors nor its index nor a .gguf file is there");
        assert_eq!(open_error(dir.path()), expected);
    }

    #[test]
    fn without_config() {
        let dir = hf_dir(&config(), &tensors(&HF));
        fs::remove_file(dir.path().join("config.json")).unwrap();
        let path = dir.path().display();
        let expected = format!(
            "{path} holds safetensors and no config.json, which says what they are: \
             download it from where the weights come from"
        );
        assert_eq!(open_error(dir.path()), expected);
    }

    #[test]
    fn with_two_ggufs() {
        let dir = gguf_dir(&metadata(), &tensors(&GGUF));
        fs::copy(dir.path().join("tiny.gguf"), dir.path().join("other.gguf")).unwrap();
        let path = dir.path().display();
        let expected = format!("{path} holds 2 .gguf files (other.gguf, tiny.gguf); give the path of the one to load");
        assert_eq!(open_error(dir.path()), expected);
    }

    #[test]
    fn with_safetensors_under_another_name() {
        let dir = hf_dir(&config(), &tensors(&HF));
        fs::rename(dir.path().join("model.safetensors"), dir.path().join("consolidated.safetensors")).unwrap();
        let path = dir.path().display();
        let expected = format!(
            "{path} holds consolidated.safetensors, and neither model.safetensors nor model.safetensors.index.json, \
             which would say which files are the model"
        );
        assert_eq!(open_error(dir.path()), expected);
        let file = dir.path().join("consolidated.safetensors");
        let expected = format!("{} is one file of a checkpoint; give the directory, which has config.json too", file.display());
        assert_eq!(open_error(&file), expected);
    }

    #[test]
    fn whose_index_names_what_is_not_there() {
        let dir = sharded();
        fs::remove_file(dir.path().join("b.safetensors")).unwrap();
        let index = dir.path().join("model.safetensors.index.json");
        let expected =
            format!("{} puts 3 tensors into b.safetensors, and that file is not beside it: download it", index.display());
        assert_eq!(open_error(dir.path()), expected);
    }

    #[test]
    fn whose_index_leads_out_of_them() {
        let dir = sharded();
        let outside = dir.path().join("outside.safetensors");
        fs::write(&outside, write::safetensors(&[])).unwrap();
        for shard in ["../outside.safetensors", outside.to_str().unwrap(), "sub/../../outside.safetensors"] {
            let path = dir.path().join("model.safetensors.index.json");
            fs::write(&path, json!({"weight_map": {"w": shard}}).to_string()).unwrap();
            let expected = format!(
                "{}: `weight_map`: tensor `w` is in `{shard}`, and a shard is a file name in the index's own directory",
                path.display()
            );
            assert_eq!(open_error(dir.path()), expected);
        }
    }

    #[test]
    fn where_files_belong() {
        let dir = hf_dir(&config(), &tensors(&HF));
        for file in ["config.json", "model.safetensors"] {
            let dir = hf_dir(&config(), &tensors(&HF));
            let path = dir.path().join(file);
            fs::remove_file(&path).unwrap();
            fs::create_dir(&path).unwrap();
            assert_eq!(open_error(dir.path()), format!("{} is not a regular file", path.display()));
        }
        let index = dir.path().join("model.safetensors.index.json");
        fs::create_dir(dir.path().join("a.safetensors")).unwrap();
        fs::write(&index, json!({"weight_map": {"w": "a.safetensors"}}).to_string()).unwrap();
        assert!(open_error(dir.path()).ends_with("a.safetensors is not a regular file"));
    }

    #[cfg(unix)]
    #[test]
    fn with_a_pipe_nobody_writes_to() {
        let dir = gguf_dir(&metadata(), &tensors(&GGUF));
        let path = dir.path().join("tiny.gguf");
        fs::remove_file(&path).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        assert_eq!(open_error(&path), format!("{} is not a regular file", path.display()));
    }

    #[test]
    fn whose_index_is_of_another_checkpoint() {
        let cases = [
            ("model.norm.weight", json!("b.safetensors"), "belongs into b.safetensors and is in a.safetensors"),
            ("model.norm.weight", Value::Null, "is in a.safetensors and not in the index"),
            ("model.extra", json!("a.safetensors"), "belongs into a.safetensors and is not there"),
        ];
        for (tensor, shard, problem) in cases {
            let dir = sharded();
            let path = dir.path().join("model.safetensors.index.json");
            let mut index: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            let map = index["weight_map"].as_object_mut().unwrap();
            if shard.is_null() {
                map.remove(tensor)
            } else {
                map.insert(tensor.to_owned(), shard)
            };
            fs::write(&path, index.to_string()).unwrap();
            let expected = format!("{}: `{tensor}` {problem}: index and shards are of different checkpoints", path.display());
            assert_eq!(open_error(dir.path()), expected);
        }
    }
}

mod files {
    use super::*;

    #[test]
    fn that_are_cut_off_name_themselves() {
        let dir = gguf_dir(&metadata(), &tensors(&GGUF));
        let path = dir.path().join("tiny.gguf");
        let file = fs::read(&path).unwrap();
        fs::write(&path, &file[..file.len() - 1]).unwrap();
        let message = open_error(&path);
        let start = format!("{}: tensor `blk.2.attn_q.weight`: its 4096 bytes begin at byte ", path.display());
        assert!(message.starts_with(&start) && message.ends_with("the file is cut off"), "{message}");
        fs::write(&path, "").unwrap();
        let expected = format!("{}: not a GGUF file: it does not begin with \"GGUF\"", path.display());
        assert_eq!(open_error(&path), expected);

        let dir = hf_dir(&config(), &tensors(&HF));
        let path = dir.path().join("model.safetensors");
        fs::write(&path, "").unwrap();
        let expected = format!(
            "{}: the file has 0 bytes, and a safetensors file begins with 8 bytes that say how long its header is",
            path.display()
        );
        assert_eq!(open_error(dir.path()), expected);
    }

    #[test]
    fn whose_config_is_broken() {
        let dir = hf_dir(&config(), &tensors(&HF));
        let path = dir.path().join("config.json");
        fs::write(&path, "{\"a\": 1, \"a\": 2}").unwrap();
        let expected = format!("{}: duplicate key `a` at line 1 column 12", path.display());
        assert_eq!(open_error(dir.path()), expected);
    }
}
