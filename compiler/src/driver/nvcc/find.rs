//! Where nvcc is: `NVCC`, `CUDA_HOME`, `PATH`, the usual folder, or the `nvidia-cuda-nvcc` Python package.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fmt};

/// Where nvcc was looked for, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotFound(Vec<String>);

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "error[nvcc-missing]: no nvcc is here to compile CUDA")?;
        for place in &self.0 {
            writeln!(f, "   = {place}")?;
        }
        write!(
            f,
            "help: install the CUDA toolkit 13, or `pip install nvidia-cuda-nvcc==13.0.88 nvidia-nvvm==13.0.88 nvidia-cuda-crt==13.0.88 \
             nvidia-cuda-runtime==13.0.96 nvidia-cuda-cccl==13.0.85`, or set NVCC to its path"
        )
    }
}

/// The first nvcc that is there.
///
/// # Errors
/// Every place that has none.
pub fn find() -> Result<PathBuf, NotFound> {
    search(&|name| env::var_os(name), &python_paths)
}

fn search(variable: &dyn Fn(&str) -> Option<OsString>, python: &dyn Fn() -> Vec<PathBuf>) -> Result<PathBuf, NotFound> {
    let mut tried = Vec::new();
    // What somebody states is not replaced by something else.
    if let Some(stated) = variable("NVCC").filter(|v| !v.is_empty()) {
        let path = PathBuf::from(&stated);
        let found =
            if path.components().count() > 1 { Some(path.clone()).filter(|p| p.is_file()) } else { on_path(variable, &path) };
        return found.ok_or_else(|| NotFound(vec![format!("NVCC is {}, which is no file", path.display())]));
    }
    for name in ["CUDA_HOME", "CUDA_PATH"] {
        match variable(name).filter(|v| !v.is_empty()) {
            None => tried.push(format!("{name} is not set")),
            Some(home) => {
                let path = Path::new(&home).join("bin/nvcc");
                if path.is_file() {
                    return Ok(path);
                }
                tried.push(format!("{name}: there is no {}", path.display()));
            }
        }
    }
    if let Some(path) = on_path(variable, Path::new("nvcc")) {
        return Ok(path);
    }
    tried.push("no folder of PATH has it".to_owned());
    let usual = Path::new("/usr/local/cuda/bin/nvcc");
    if usual.is_file() {
        return Ok(usual.to_owned());
    }
    tried.push(format!("there is no {}", usual.display()));
    let packages = python();
    for folder in &packages {
        for toolkit in ["cu13", "cuda_nvcc"] {
            let path = folder.join("nvidia").join(toolkit).join("bin/nvcc");
            if path.is_file() {
                return Ok(path);
            }
        }
    }
    tried.push(format!("none of {} folders of python3 has the package nvidia-cuda-nvcc", packages.len()));
    Err(NotFound(tried))
}

fn on_path(variable: &dyn Fn(&str) -> Option<OsString>, name: &Path) -> Option<PathBuf> {
    let folders = variable("PATH")?;
    env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Where python3 looks for packages; none where there is no python3.
fn python_paths() -> Vec<PathBuf> {
    let output = Command::new("python3").args(["-c", "import sys; print('\\n'.join(sys.path))"]).output();
    let Ok(output) = output else { return Vec::new() };
    String::from_utf8_lossy(&output.stdout).lines().filter(|line| !line.is_empty()).map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn touch(path: &Path) -> PathBuf {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
        path.to_owned()
    }

    #[test]
    fn the_first_place_that_has_it_is_taken() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let package = touch(&root.join("site/nvidia/cu13/bin/nvcc"));
        let on_path = touch(&root.join("bin/nvcc"));
        let home = touch(&root.join("cuda/bin/nvcc"));
        let python = || vec![root.join("site")];
        let with = |set: &[(&str, PathBuf)]| {
            let set = set.to_vec();
            search(&move |name| set.iter().find(|(n, _)| *n == name).map(|(_, v)| v.clone().into_os_string()), &python)
        };
        assert_eq!(with(&[]).as_deref().ok(), Some(usual_or(&package)));
        assert_eq!(with(&[("PATH", root.join("bin"))]), Ok(on_path.clone()));
        assert_eq!(with(&[("PATH", root.join("bin")), ("CUDA_HOME", root.join("cuda"))]), Ok(home));
        assert_eq!(with(&[("NVCC", package.clone()), ("PATH", root.join("bin"))]), Ok(package.clone()));
        assert_eq!(with(&[("NVCC", "nvcc".into()), ("PATH", root.join("bin"))]), Ok(on_path));
        let error = with(&[("NVCC", root.join("none")), ("PATH", root.join("bin"))]).unwrap_err();
        assert!(error.to_string().contains("which is no file"), "{error}");
    }

    /// A machine with a toolkit in the usual folder finds that first.
    fn usual_or(package: &Path) -> &Path {
        let usual = Path::new("/usr/local/cuda/bin/nvcc");
        if usual.is_file() { usual } else { package }
    }

    #[test]
    fn nothing_found_says_where_it_was_looked_for_and_what_to_install() {
        if Path::new("/usr/local/cuda/bin/nvcc").is_file() {
            return;
        }
        let text = search(&|_| None, &Vec::new).unwrap_err().to_string();
        for part in ["CUDA_HOME is not set", "no folder of PATH", "0 folders of python3", "pip install nvidia-cuda-nvcc"] {
            assert!(text.contains(part), "{text}");
        }
    }
}
