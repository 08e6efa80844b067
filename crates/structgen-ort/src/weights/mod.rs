//! The weights of ONNX files: what is stored as which type, and the numbers of float tensors.
//!
//! Of a `TensorProto` the dimensions are field 1, the type 2, floats 4, the name 8, raw bytes 9, and the place in
//! another file 13 (`onnx.proto` of ONNX 1.23). Tensors are the initializers of a graph (field 5) and the values of its
//! constants. Their bytes are passed over until somebody asks for them.
//!
//! What the operators do with a tensor decides in which form the runtime holds it: of a `NodeProto` the inputs are
//! field 1, the operator 4 and the attributes 5, and of an attribute the name is field 1 and a number 3.

mod reader;

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

use reader::Reader;

/// The tensors that the ONNX files of a model store.
#[derive(Debug, Clone)]
pub struct Weights {
    files: Vec<PathBuf>,
    tensors: Vec<Tensor>,
    block_bits: Option<u64>,
}

/// A tensor that is stored in a model.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tensor {
    /// Its name in the graph.
    pub name: String,
    /// Its dimensions.
    pub dims: Vec<u64>,
    /// The type of its numbers.
    pub dtype: TensorType,
    /// Which of the files it is in.
    file: usize,
    place: Place,
    uses: Uses,
}

/// A type of numbers, by its code in ONNX.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TensorType(pub u64);

/// Where the bytes of a tensor are.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    /// In the model's file, little-endian, in the order of the dimensions.
    Here { at: u64, len: u64 },
    /// In another file of the folder.
    Beside {
        file: String,
        at: u64,
        len: Option<u64>,
    },
    /// In fields that are not read.
    Elsewhere,
}

/// What operators do with a tensor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Uses {
    /// Its rows are looked up, for which it stays as it is.
    looked_up: bool,
    /// It is computed with.
    computed_with: bool,
    /// It has the scales of blocks whose products are computed with int8.
    scales: bool,
}

impl Weights {
    /// Reads which tensors a file stores.
    ///
    /// # Errors
    /// When the file cannot be read or is no ONNX file.
    pub fn of_file(path: &Path) -> io::Result<Self> {
        Self::of_files([path])
    }

    /// Reads which tensors the files of a model store, those of [`ModelFolder::files`](crate::ModelFolder::files).
    ///
    /// # Errors
    /// When a file cannot be read or is no ONNX file.
    pub fn of_files<'p>(paths: impl IntoIterator<Item = &'p Path>) -> io::Result<Self> {
        let mut weights = Self {
            files: Vec::new(),
            tensors: Vec::new(),
            block_bits: None,
        };
        for path in paths {
            let file = File::open(path)?;
            let len = file.metadata()?.len();
            let reader = Reader::read(BufReader::new(file), len)?;
            let at = weights.files.len();
            weights.files.push(path.to_owned());
            weights.block_bits = weights.block_bits.or(reader.block_bits);
            for mut tensor in reader.tensors {
                tensor.file = at;
                tensor.uses = reader.uses.get(&tensor.name).copied().unwrap_or_default();
                weights.tensors.push(tensor);
            }
        }
        Ok(weights)
    }

    /// The tensors, in the order of the files.
    #[must_use]
    pub fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    /// The bits of a weight where operators such as `MatMulNBits` unpack them from bytes.
    #[must_use]
    pub fn block_bits(&self) -> Option<u64> {
        self.block_bits
    }

    /// The bytes that tensors of each type take, the most first.
    #[must_use]
    pub fn bytes_by_type(&self) -> Vec<(TensorType, u64)> {
        let mut found: Vec<(TensorType, u64)> = Vec::new();
        for tensor in &self.tensors {
            let bytes = tensor.bytes();
            match found.iter_mut().find(|(dtype, _)| *dtype == tensor.dtype) {
                Some((_, sum)) => *sum = sum.saturating_add(bytes),
                None => found.push((tensor.dtype, bytes)),
            }
        }
        found.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        found
    }

    /// The bytes of all tensors.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let bytes = self.tensors.iter().map(Tensor::bytes);
        bytes.fold(0, u64::saturating_add)
    }

    /// The bytes that the weights take in a process that runs the model on the processor, as far as files tell.
    ///
    /// On x86-64, ONNX Runtime computes with float32: float16 weights are widened, except for tables that are only
    /// looked up. And where `MatMulNBits` computes with int8 (`accuracy_level` 4), it packs a float32 scale and the
    /// float32 sum of each block beside the file's scales (MLAS, `qnbitgemm`). Other processors may hold less.
    #[must_use]
    pub fn bytes_on_processor(&self) -> u64 {
        let bytes = { self.tensors.iter() }.map(|tensor| {
            let uses = tensor.uses;
            let float32 = tensor.len().saturating_mul(size_of::<f32>() as u64);
            let (kept, added) = match tensor.dtype.name() {
                _ if !cfg!(target_arch = "x86_64") => (true, 0),
                "float16" if uses.computed_with => (uses.looked_up, float32),
                _ if uses.scales => (true, float32.saturating_mul(2)),
                _ => (true, 0),
            };
            added.saturating_add(if kept { tensor.bytes() } else { 0 })
        });
        bytes.fold(0, u64::saturating_add)
    }

    /// How the weights are stored, in a word: the type of most bytes, or the bits that operators unpack from bytes.
    #[must_use]
    pub fn quantization(&self) -> String {
        match (self.block_bits, self.bytes_by_type().first()) {
            (Some(bits), Some((dtype, _))) if dtype.name() == "uint8" => format!("int{bits}"),
            (_, Some((dtype, _))) => dtype.name().to_owned(),
            (_, None) => "none".to_owned(),
        }
    }

    /// The numbers of a float tensor; none for other types and where its bytes are not in a known place.
    ///
    /// # Errors
    /// When the file ends before the tensor does, or its bytes are said to be outside of the folder.
    pub fn floats(&self, tensor: &Tensor) -> io::Result<Option<Vec<f32>>> {
        let width = match tensor.dtype.name() {
            "float32" => 4,
            "float16" | "bfloat16" => 2,
            _ => return Ok(None),
        };
        let bytes = tensor.bytes();
        let (path, at) = match &tensor.place {
            Place::Here { at, len } if *len == bytes => (self.file(tensor)?.to_owned(), *at),
            Place::Beside { file, at, len } if len.is_none_or(|len| len == bytes) => {
                (beside(self.file(tensor)?, file)?, *at)
            }
            _ => return Ok(None),
        };
        let mut file = File::open(path)?;
        let left = file.metadata()?.len().saturating_sub(at);
        if left < bytes {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        file.seek(SeekFrom::Start(at))?;
        let mut raw = vec![0; bytes as usize];
        file.read_exact(&mut raw)?;
        let is_bfloat = tensor.dtype.name() == "bfloat16";
        let number = |bytes: &[u8]| match *bytes {
            [a, b, c, d] => f32::from_le_bytes([a, b, c, d]),
            [a, b] if is_bfloat => f32::from_bits(u32::from(u16::from_le_bytes([a, b])) << 16),
            [a, b] => half::f16::from_le_bytes([a, b]).to_f32(),
            _ => 0.0,
        };
        Ok(Some(raw.chunks_exact(width).map(number).collect()))
    }

    /// The file that a tensor is in, or that names the one that it is in.
    fn file(&self, tensor: &Tensor) -> io::Result<&Path> {
        let file = self.files.get(tensor.file).map(PathBuf::as_path);
        file.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// A file of the model's folder: a model from elsewhere does not get to name others.
fn beside(model: &Path, file: &str) -> io::Result<PathBuf> {
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if !Path::new(file).components().all(is_plain) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok(model.parent().unwrap_or(Path::new(".")).join(file))
}

impl Tensor {
    /// How many numbers it has.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.dims
            .iter()
            .fold(1, |product: u64, &dim| product.saturating_mul(dim))
    }

    /// Whether it has no number.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes that its numbers take as they are stored.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let bits = u128::from(self.len()) * u128::from(self.dtype.bits());
        u64::try_from(bits.div_ceil(8)).unwrap_or(u64::MAX)
    }
}

impl TensorType {
    /// The name of the type.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self.0 {
            1 => "float32",
            2 => "uint8",
            3 => "int8",
            4 => "uint16",
            5 => "int16",
            6 => "int32",
            7 => "int64",
            8 => "string",
            9 => "bool",
            10 => "float16",
            11 => "float64",
            12 => "uint32",
            13 => "uint64",
            16 => "bfloat16",
            17..=20 => "float8",
            21 => "uint4",
            22 => "int4",
            23 => "float4",
            _ => "another type",
        }
    }

    /// The bits of a number of the type; 0 where they are not known.
    #[must_use]
    pub fn bits(self) -> u32 {
        match self.0 {
            7 | 11 | 13 => 64,
            1 | 6 | 12 => 32,
            4 | 5 | 10 | 16 => 16,
            2 | 3 | 9 | 17..=20 => 8,
            21..=23 => 4,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixture(name: &str) -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("tests/fixtures")
            .join(name)
    }

    fn weights(name: &str) -> Weights {
        Weights::of_file(&fixture(name)).unwrap()
    }

    #[test]
    fn weights_are_counted_by_type() {
        let plain = weights("optimum/model.onnx");
        assert_eq!(plain.quantization(), "float32");
        let file = std::fs::metadata(fixture("optimum/model.onnx"))
            .unwrap()
            .len();
        assert!(
            plain.bytes() < file && plain.bytes() > file / 2,
            "{} of {file}",
            plain.bytes()
        );
        assert_eq!(weights("dynamic_int8/model.onnx").quantization(), "int8");
        assert_eq!(
            weights("shared_float16/model.onnx").quantization(),
            "float16"
        );
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn weights_that_the_runtime_holds_in_another_form_take_more() {
        let plain = weights("optimum/model.onnx");
        assert_eq!(plain.bytes_on_processor(), plain.bytes());
        // Everything but the table of embeddings becomes twice as wide.
        let half = weights("shared_float16/model.onnx");
        let float16 = { half.tensors().iter() }.filter(|tensor| tensor.dtype.name() == "float16");
        let table = float16.clone().max_by_key(|tensor| tensor.len()).unwrap();
        let all: u64 = float16.map(Tensor::bytes).sum();
        let added = half.bytes_on_processor() - half.bytes();
        assert!(
            added >= all - table.bytes() && added <= all,
            "{added} of {all}"
        );
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn scales_of_blocks_are_packed_where_products_are_of_int8() {
        // A field of a message: its number, and what it has.
        let field = |number: u8, content: &[u8]| {
            let len = u8::try_from(content.len()).unwrap();
            [&[number << 3 | 2, len], content].concat()
        };
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("model.onnx");
        // Eight float32 numbers.
        let scales = [&[0x08, 8, 0x10, 1], &field(8, b"scales")[..]].concat();
        for (accuracy, bytes) in [(4, 3 * 32), (1, 32)] {
            let level = [&field(1, b"accuracy_level")[..], &[0x18, accuracy]].concat();
            let inputs = ["x", "weight", "scales"].map(|name| field(1, name.as_bytes()));
            let operator = field(4, b"MatMulNBits");
            let node = [inputs.concat(), operator, field(5, &level)].concat();
            let graph = [field(1, &node), field(5, &scales)].concat();
            std::fs::write(&path, field(7, &graph)).unwrap();
            let weights = Weights::of_file(&path).unwrap();
            assert_eq!((weights.bytes(), weights.bytes_on_processor()), (32, bytes));
        }
    }

    #[test]
    fn floats_are_read_from_the_file_and_from_beside_it() {
        for name in ["optimum/model.onnx", "external_data/model.onnx"] {
            let weights = weights(name);
            let largest = weights
                .tensors()
                .iter()
                .max_by_key(|tensor| tensor.len())
                .unwrap();
            let floats = weights.floats(largest).unwrap().unwrap();
            assert_eq!(floats.len() as u64, largest.len(), "{name}");
            assert!(
                floats
                    .iter()
                    .all(|number| number.is_finite() && number.abs() < 100.0)
            );
            assert!(floats.iter().any(|&number| number != 0.0));
        }
    }

    #[test]
    fn a_place_outside_of_the_folder_is_refused() {
        let mut tensor = Tensor::nameless();
        tensor.dtype = TensorType(1);
        tensor.dims = vec![1];
        for path in ["../secret", "/etc/passwd"] {
            tensor.place.note("location", path);
            let refused = weights("optimum/model.onnx").floats(&tensor);
            assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        }
    }

    #[test]
    fn damaged_files_are_errors_or_harmless() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("model.onnx");
        let whole = std::fs::read(fixture("optimum/model.onnx")).unwrap();
        for cut in (0..whole.len().min(2_000)).step_by(13) {
            std::fs::write(&path, &whole[..cut]).unwrap();
            drop(Weights::of_file(&path));
            let mut flipped = whole.clone();
            flipped[cut] ^= 0xff;
            std::fs::write(&path, &flipped).unwrap();
            if let Ok(weights) = Weights::of_file(&path) {
                for tensor in weights.tensors().iter().take(20) {
                    drop(weights.floats(tensor));
                }
            }
        }
    }
}
