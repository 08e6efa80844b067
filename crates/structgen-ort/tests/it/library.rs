//! The library of a process that has loaded it already.

use structgen_ort::{Runtime, RuntimeError, Search};

use crate::support::runtime;

fn load_again(path: &std::path::Path) -> Result<&'static Runtime, RuntimeError> {
    Runtime::load(&Search::from_env(Some(path.to_owned())))
}

#[test]
fn a_library_that_is_loaded_is_known_by_its_file_and_by_its_folder() {
    let library = runtime().library();
    let folder = library.parent().unwrap();
    for path in [library, folder] {
        assert_eq!(load_again(path).unwrap().library(), library);
    }
    let other = tempfile::tempdir().unwrap();
    for path in [other.path().to_owned(), other.path().join("library.so")] {
        let error = load_again(&path).unwrap_err();
        assert!(matches!(error, RuntimeError::OtherLoaded { .. }), "{error}");
    }
}
