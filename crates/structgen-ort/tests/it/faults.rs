//! Models that are damaged, hostile or broken: an error each, and what was open goes on.

use std::fs;
use std::path::Path;

use structgen_decode::{
    GenerateError, GenerateOptions, Request, SamplingParams, Scheduler, Unconstrained,
};
use structgen_ort::{LoadError, ModelSource, OrtModel};
use structgen_vocab::TokenMask;

use crate::support::{WIDTH, copied_folder, fresh, golden, options, runtime, vocabulary};

fn open(folder: &Path) -> Result<OrtModel, LoadError> {
    OrtModel::open(runtime(), folder, &options())
}

/// Replaces bytes of a file that are there once.
fn patch(file: &Path, from: &[u8], to: &[u8]) {
    let mut bytes = fs::read(file).unwrap();
    let places: Vec<usize> = (0..bytes.len() - from.len())
        .filter(|&at| bytes[at..].starts_with(from))
        .collect();
    assert!(!places.is_empty() && from.len() == to.len());
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
    fs::write(file, bytes).unwrap();
}

#[test]
fn an_opset_that_the_runtime_does_not_know_is_refused() {
    let folder = copied_folder("optimum");
    let file = folder.path().join("model.onnx");
    let mut bytes = fs::read(&file).unwrap();
    // The version of the operators is the last field of the file.
    let version = bytes.last_mut().unwrap();
    assert_eq!(*version, 17);
    *version = 127;
    fs::write(&file, bytes).unwrap();
    let error = open(folder.path()).unwrap_err().to_string();
    assert!(
        error.contains("model.onnx") && error.contains("127"),
        "{error}"
    );
}

#[test]
fn weights_outside_of_the_folder_are_not_read() {
    let folder = copied_folder("external_data");
    let inner = folder.path().join("model");
    fs::create_dir(&inner).unwrap();
    for name in ["model.onnx", "config.json"] {
        fs::rename(folder.path().join(name), inner.join(name)).unwrap();
    }
    let data = folder.path().join("weights.data");
    fs::rename(folder.path().join("model.onnx_data"), data).unwrap();
    patch(
        &inner.join("model.onnx"),
        b"model.onnx_data",
        b"../weights.data",
    );
    let error = open(&inner).unwrap_err();
    assert!(matches!(error, LoadError::Session { .. }), "{error}");
    assert!(error.to_string().contains("../weights.data"), "{error}");
    // An absolute path, too.
    patch(
        &inner.join("model.onnx"),
        b"../weights.data",
        b"/etc/os-release",
    );
    assert!(matches!(open(&inner), Err(LoadError::Session { .. })));
}

#[test]
fn weights_that_were_cut_are_refused() {
    let folder = copied_folder("external_data");
    let data = folder.path().join("model.onnx_data");
    let whole = fs::read(&data).unwrap();
    for len in [0, 100, whole.len() - 4] {
        fs::write(&data, &whole[..len]).unwrap();
        let error = open(folder.path()).unwrap_err();
        assert!(matches!(error, LoadError::Session { .. }), "{error}");
    }
    fs::write(&data, whole).unwrap();
    open(folder.path()).unwrap();
}

#[test]
fn logits_that_are_no_numbers_are_an_error_with_the_step() {
    let folder = copied_folder("external_data");
    let data = folder.path().join("model.onnx_data");
    let len = fs::metadata(&data).unwrap().len() as usize;
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        fs::write(&data, bad.to_le_bytes().repeat(len / 4)).unwrap();
        let mut scheduler = Scheduler::new(open(folder.path()).unwrap(), vocabulary());
        for temperature in [0.0, 1.0] {
            let sampling = SamplingParams {
                temperature,
                ..SamplingParams::default()
            };
            let options = GenerateOptions {
                max_new_tokens: Some(5),
                sampling,
                ..GenerateOptions::default()
            };
            let free = Unconstrained::new(TokenMask::full(WIDTH), &[]);
            let prompt = golden("external_data").prompt;
            let request = Request::new(&prompt[..], free).with_options(options);
            let error = scheduler.run(request).unwrap_err();
            assert!(
                matches!(
                    error,
                    GenerateError::NoFiniteLogit {
                        step: 0,
                        allowed: WIDTH
                    }
                ),
                "{bad} {error}"
            );
        }
    }
}

#[test]
fn a_session_that_cannot_be_made_leaves_those_that_were() {
    let folder = copied_folder("external_data");
    let source = ModelSource::folder(folder.path(), &options()).unwrap();
    let mut first = source.open(runtime()).unwrap();
    let golden = golden("external_data");
    let expected = fresh(&mut first, &golden.prompt);
    fs::remove_file(folder.path().join("model.onnx_data")).unwrap();
    let error = source.open(runtime()).unwrap_err();
    assert!(error.to_string().contains("model.onnx_data"), "{error}");
    fs::remove_file(folder.path().join("model.onnx")).unwrap();
    assert!(source.open(runtime()).is_err());
    assert_eq!(fresh(&mut first, &golden.prompt), expected);
}
