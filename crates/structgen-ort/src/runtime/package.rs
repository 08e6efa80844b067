//! The pinned packages of ONNX Runtime: fetched through pip, checked, unpacked.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sha2::{Digest, Sha256};

use super::search::python;
use super::{RUNTIME_VERSION, RuntimeError};

/// A package of the pinned version for one platform.
pub(super) struct Package {
    name: &'static str,
    /// pip's name of the platform, to ask for wheels that the Python at hand would not take for itself.
    platform: &'static str,
    /// SHA-256 of the wheels for CPython 3.11 to 3.14, as the package index states them.
    hashes: &'static [&'static str],
    /// About how much room it takes, packed and unpacked.
    pub(super) megabytes: u32,
}

impl Package {
    pub(super) fn of(
        cuda: bool,
        os: &'static str,
        arch: &'static str,
    ) -> Result<Self, RuntimeError> {
        let name = if cuda {
            "onnxruntime-gpu"
        } else {
            "onnxruntime"
        };
        let (platform, hashes): (_, &[&str]) = match (cuda, os, arch) {
            (false, "linux", "x86_64") => (
                "manylinux_2_28_x86_64",
                &[
                    "5752bd508126ae7c49894d3b9d2e83f0c3d487319246d04c444b393308d7ad7f",
                    "1f3dea47f2f0e5117c2404cea7d21fd253ae7836a3bf167a501cdfbb2600d536",
                    "74a6a52994616c4d18b33db1e13c226333a70a6ba07480a5cab9c2a50dff1430",
                    "c20d7f15d84427db070b163f78c2c7146cc93edd6113fa7327671259a24184fe",
                ],
            ),
            (false, "linux", "aarch64") => (
                "manylinux_2_28_aarch64",
                &[
                    "da05378364c44d4407e463982d2bf8d5e4cfea873283757e48beeb41df97b7f3",
                    "0b9a492176886992e0e875f06bc0367e333f5fff11711a2d642e18b02f3009cc",
                    "dcaedc50333876f3829ab966b242147f0e548229e29c36fe44622ecf748c25ee",
                    "c878686b75cade1ed59131aa018ab004b1e64368b0d54041912450b9642cf04f",
                ],
            ),
            (false, "macos", "aarch64") => (
                "macosx_14_0_arm64",
                &[
                    "60b6b69bfe580eab576cacc5d132a0e9cf2a37fcfd18d46dd191042b1d1ed0d7",
                    "96dd2564b10ea7153ad9c207e7cd8e5917cb3ba521e0e0a62ac03486fdc8d56c",
                    "e4ad067d36e2220218e085d7223283b2ee1bc73d887e811fd14d21cf901a11ee",
                    "8536ac43682caa7492c46d6cfd4c3c8db288dcf0619508431a22170b670ee1d0",
                ],
            ),
            (false, "windows", "x86_64") => (
                "win_amd64",
                &[
                    "c3d91b5de31e2fc82d71bd65b2b22bddee8b49057a3a36338e9a868e0ea90c05",
                    "ae8a9a351efda685cc59a66226cdefaa37a126c1d66872ca23a2de9425326130",
                    "0558f29d5f6ac09957390c9c5495931485ee8ae7f0ce781ccee86a0ae5c2348b",
                    "0a3998e18cb667ef54287556bd62291a788ed235723dd90c83b2294b24e71d81",
                ],
            ),
            (true, "linux", "x86_64") => (
                "manylinux_2_28_x86_64",
                &[
                    "e26c475fe361b2015f45b4b824bd13f0bb20204e59b62814e6f0acd5f3d491a6",
                    "05d548956197b9d01f59b625de740e0d6be3593f874e241a12dc0362650ecdf7",
                    "f659529e07c21ec6b6179fd1bfaf82ffb7c3dc9c0916e18f6f313f9a690891be",
                    "52a9ec263f331678e8fcb4f71a6fa44e5f901f0aac0b61fbe5a61517f2b4cc7d",
                ],
            ),
            (true, "windows", "x86_64") => (
                "win_amd64",
                &[
                    "fd98341ba71c093153f0dcfc53eb69d57f706866fb45e94e5b0cde5d97a50dbf",
                    "2bb1e9373baba88f6415257f5b6a589d23e23c16004f7d89adf4344eada5749e",
                    "1a667241591c89c516b43689a0ae38c4d99d0cb45a2220e95a9f822aeb6887c4",
                    "f7ab9c9c6189b8bc477797148af699fc24f0dc550020c64099e1db7400b44621",
                ],
            ),
            _ => {
                return Err(RuntimeError::UnsupportedPlatform {
                    package: name,
                    os,
                    arch,
                });
            }
        };
        Ok(Self {
            name,
            platform,
            hashes,
            megabytes: if cuda { 800 } else { 100 },
        })
    }

    /// Downloads the package into a folder, checks its hash, and returns the folder with its shared libraries.
    pub(super) fn fetch(&self, staging: &Path) -> Result<PathBuf, RuntimeError> {
        let wheel = download(self, staging)?;
        let hash = sha256(&wheel).map_err(|source| RuntimeError::Io {
            action: "reading",
            path: wheel.clone(),
            source,
        })?;
        if !self.hashes.contains(&hash.as_str()) {
            return Err(RuntimeError::Fetch {
                step: "checking the package's hash",
                output: format!(
                    "{} has SHA-256 {hash}, which is not pinned",
                    wheel.display()
                ),
            });
        }
        let libraries = staging.join("libraries");
        unpack(self, &wheel, &libraries)?;
        Ok(libraries)
    }

    fn requirement(&self) -> String {
        let hashes = self.hashes.iter();
        let hashes: String = hashes.map(|h| format!(" --hash=sha256:{h}")).collect();
        format!("{}=={RUNTIME_VERSION}{hashes}\n", self.name)
    }

    pub(super) fn disk_full(&self, folder: &Path) -> RuntimeError {
        RuntimeError::DiskFull {
            folder: folder.to_owned(),
            megabytes: self.megabytes,
        }
    }
}

/// Downloads the wheel into `dir` and returns its path.
fn download(package: &Package, dir: &Path) -> Result<PathBuf, RuntimeError> {
    let requirements = dir.join("requirements.txt");
    let wheels = dir.join("wheels");
    let prepared =
        fs::write(&requirements, package.requirement()).and_then(|()| fs::create_dir(&wheels));
    prepared.map_err(|source| match source.kind() {
        io::ErrorKind::StorageFull => package.disk_full(dir),
        _ => RuntimeError::Io {
            action: "writing",
            path: requirements.clone(),
            source,
        },
    })?;
    // A Python that the pinned wheels are not for can still fetch one of them: only its libraries are used.
    let foreign = [
        "--platform",
        package.platform,
        "--python-version",
        "3.12",
        "--implementation",
        "cp",
        "--abi",
        "cp312",
    ];
    let mut outcome = Ok(());
    for extra in [&[][..], &foreign[..]] {
        let mut arguments = vec![
            "-m",
            "pip",
            "download",
            "--no-deps",
            "--require-hashes",
            "--only-binary=:all:",
            "--no-input",
            "--disable-pip-version-check",
            "--quiet",
        ];
        arguments.extend(extra);
        outcome = run_python(
            package,
            "downloading the package with pip",
            dir,
            |command| {
                command.args(&arguments).arg("--dest").arg(&wheels);
                command.arg("--requirement").arg(&requirements);
            },
        );
        match &outcome {
            Err(RuntimeError::Fetch { output, .. })
                if output.contains("No matching distribution") => {}
            _ => break,
        }
    }
    outcome?;
    let entries = fs::read_dir(&wheels).map_err(|source| RuntimeError::Io {
        action: "reading",
        path: wheels.clone(),
        source,
    })?;
    let mut files = entries.filter_map(Result::ok).map(|entry| entry.path());
    files
        .find(|path| path.extension().is_some_and(|e| e == "whl"))
        .ok_or_else(|| RuntimeError::Fetch {
            step: "downloading the package with pip",
            output: "pip left no wheel behind".into(),
        })
}

/// Takes the shared libraries out of a wheel, which is a zip archive, and lays them side by side.
fn unpack(package: &Package, wheel: &Path, to: &Path) -> Result<(), RuntimeError> {
    const SCRIPT: &str = "\
import os, shutil, sys, zipfile
wheel, to = sys.argv[1:]
os.makedirs(to)
with zipfile.ZipFile(wheel) as archive:
    for member in archive.infolist():
        folder, _, name = member.filename.rpartition('/')
        plain = name.startswith(('libonnxruntime', 'onnxruntime')) and 'pybind' not in name
        if folder == 'onnxruntime/capi' and plain and ('.so' in name or name.endswith(('.dylib', '.dll'))):
            with archive.open(member) as source, open(os.path.join(to, name), 'wb') as target:
                shutil.copyfileobj(source, target)
";
    let dir = wheel.parent().unwrap_or(to);
    run_python(package, "unpacking the package", dir, |command| {
        command.args(["-I", "-c", SCRIPT]).arg(wheel).arg(to);
    })
}

/// Runs Python in `dir`, with its temporary files there; the end of its output on failure.
fn run_python(
    package: &Package,
    step: &'static str,
    dir: &Path,
    arguments: impl Fn(&mut Command),
) -> Result<(), RuntimeError> {
    let mut missing = None;
    for name in python() {
        let mut command = Command::new(name);
        arguments(&mut command);
        // Python looks for modules in the current folder first, and from version 3.11 on can be told not to. `-I` would
        // keep it from pip where that is one of the user's own packages.
        command
            .current_dir(dir)
            .env("PYTHONSAFEPATH", "1")
            .stdin(Stdio::null())
            .env("TMPDIR", dir)
            .env("TEMP", dir)
            .env("TMP", dir);
        let output = match command.output() {
            Ok(output) => output,
            Err(source) => {
                let tried = (*name).to_owned();
                missing.get_or_insert(RuntimeError::NoPython { tried, source });
                continue;
            }
        };
        if output.status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&output.stderr);
        if text.contains("No space left on device") || text.contains("[Errno 28]") {
            return Err(package.disk_full(dir.parent().unwrap_or(dir)));
        }
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        let mut output = lines[lines.len().saturating_sub(6)..].join("\n");
        if output.contains("from versions: none") {
            output.push_str(
                "\npip saw no version at all: is the network, or its package index, out of reach?",
            );
        }
        return Err(RuntimeError::Fetch { step, output });
    }
    Err(missing.unwrap_or(RuntimeError::NoCacheFolder))
}

fn sha256(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let n = file.read(&mut buffer)?;
        if n == 0 {
            break;
        }
        hasher.update(&buffer[..n]);
    }
    Ok(hasher
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_platform_has_hashes_of_the_right_form_or_is_refused_by_name() {
        for (cuda, os, arch) in [
            (false, "linux", "x86_64"),
            (false, "linux", "aarch64"),
            (false, "macos", "aarch64"),
            (false, "windows", "x86_64"),
            (true, "linux", "x86_64"),
            (true, "windows", "x86_64"),
        ] {
            let package = Package::of(cuda, os, arch).unwrap();
            assert_eq!(package.hashes.len(), 4);
            for hash in package.hashes {
                assert!(hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit()));
            }
        }
        let error = Package::of(true, "macos", "aarch64").err().unwrap();
        expect_test::expect!["no ONNX Runtime package onnxruntime-gpu is pinned for macos on aarch64; set ORT_DYLIB_PATH to a library of version 1.24 or later"].assert_eq(&error.to_string());
    }

    #[test]
    fn hashes_are_of_the_content() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "abc").unwrap();
        assert_eq!(
            sha256(file.path()).unwrap(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
