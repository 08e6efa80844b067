//! Memory where the runtime's own way takes too much of it: for keys and values, and after a model is loaded.
//!
//! A cache that grows is new tensors in every run, a little longer than those of the run before. The runtime's arena
//! never has a free piece of the new size, so it takes more from the system, time and again, and keeps it all: about
//! three times what the cache needs. Here, sizes are powers of two. So the memory of the run before the last serves the
//! next, until the cache has doubled, and of a piece that is larger than its tensor the system gives only the pages
//! that are written to. Past and present are all that there is.
//!
//! A tensor over memory of one's own that is freed there is made by the runtime's C interface alone, to which an
//! allocator is a table of functions. For that, and for the C library's `malloc_trim`, `unsafe` is allowed here, and in
//! no other file. The tensors are values like any others: they own their memory, and may outlive whatever asked for
//! them.

#![allow(unsafe_code, reason = "C interfaces, behind two safe functions")]

use std::collections::{BTreeMap, VecDeque};
use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::{Mutex, MutexGuard, PoisonError};

use memmap2::MmapMut;
use ort::AsPointer;
use ort::memory::Allocator;
use ort::sys::{OrtAllocator, OrtMemoryInfo};
use ort::value::DynValue;
use structgen_decode::ModelError;

use crate::error::backend;
use crate::number::Number;

/// The smallest piece, in bytes: a page of most systems.
const SMALLEST: usize = 4096;

/// Free memory that is kept in any case, in bytes; beyond it, no more is kept than is in use.
const KEPT: usize = 16 << 20;

static POOL: Mutex<Pool> = Mutex::new(Pool::new());

/// How the runtime gives memory back. It never asks for any.
static ALLOCATOR: OrtAllocator = OrtAllocator {
    Free: Some(free),
    Info: Some(info),
    // SAFETY: a table without functions, which is a table of `None`.
    ..unsafe { OrtAllocator::default() }
};

/// A tensor in the processor's memory. Its numbers are zeros, or those of a tensor that is gone.
pub(crate) fn tensor<T: Number>(shape: &[usize]) -> Result<DynValue, ModelError> {
    let bytes = { shape.iter() }.try_fold(size_of::<T>(), |bytes, &size| bytes.checked_mul(size));
    let numbers = bytes.and_then(|bytes| Some((bytes, pool().take(bytes)?)));
    let (bytes, numbers) = numbers.ok_or_else(|| {
        let reason = format!("there is no memory for a cache of the shape {shape:?}");
        ModelError::Backend(reason.into())
    })?;
    let shape: Vec<i64> = shape.iter().map(|&size| size as i64).collect();
    let mut value = ptr::null_mut();
    // SAFETY: the numbers are as many bytes as is said, initialised, and belong to nobody else until they are freed by
    // the table, which is never written to and there to the end; the shape is read in the call.
    let made = unsafe {
        let status = (ort::api().CreateTensorWithDataAndDeleterAsOrtValue)(
            (&raw const ALLOCATOR).cast_mut(),
            numbers.as_ptr().cast(),
            bytes,
            shape.as_ptr(),
            shape.len(),
            T::into_tensor_element_type().into(),
            &mut value,
        );
        ort::Error::result_from_status(status)
    };
    match (made, NonNull::new(value)) {
        (Ok(()), Some(value)) => {
            // SAFETY: the runtime has just made the value, and nobody else has it.
            let value = unsafe { DynValue::from_ptr(value, Some(&Allocator::default())) };
            Ok(value)
        }
        (made, _) => {
            pool().give(numbers.addr().get());
            let nothing = || ort::Error::new("the runtime made no tensor");
            Err(backend(made.err().unwrap_or_else(nothing)))
        }
    }
}

/// Gives the system back what was freed since: loading a model frees as much as its weights take, and the GNU C library
/// keeps what lies below anything that is in use.
pub(crate) fn trim() {
    // SAFETY: it may be called at any time, by any thread.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    unsafe {
        libc::malloc_trim(0);
    }
}

unsafe extern "system" fn free(_: *mut OrtAllocator, numbers: *mut c_void) {
    pool().give(numbers.addr());
}

unsafe extern "system" fn info(_: *const OrtAllocator) -> *const OrtMemoryInfo {
    // The processor's, which the runtime has to the end.
    Allocator::default().memory_info().ptr()
}

fn pool() -> MutexGuard<'static, Pool> {
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Memory in use, and memory for the next tensors.
///
/// Each piece is a mapping of its own: between pieces that live on, the allocator of the process would keep holes that
/// the next, larger ones do not fit in.
#[derive(Debug)]
struct Pool {
    /// By address.
    used: BTreeMap<usize, MmapMut>,
    used_bytes: usize,
    /// Those that were freed first in front.
    free: VecDeque<MmapMut>,
    free_bytes: usize,
}

impl Pool {
    const fn new() -> Self {
        Self {
            used: BTreeMap::new(),
            used_bytes: 0,
            free: VecDeque::new(),
            free_bytes: 0,
        }
    }

    /// Memory of at least this many bytes; `None` where the system has none.
    fn take(&mut self, bytes: usize) -> Option<NonNull<u8>> {
        let size = rounded(bytes)?;
        let fits = |piece: &MmapMut| piece.len() == size;
        // What was freed last may still be in the processor's cache.
        let found = { self.free.iter().rposition(fits) }.and_then(|at| self.free.remove(at));
        let mut piece = match found {
            Some(piece) => {
                self.free_bytes -= piece.len();
                piece
            }
            None => {
                // The cache has outgrown what is free.
                let rest = self.free_bytes.saturating_sub(size);
                self.release_down_to(rest);
                MmapMut::map_anon(size).ok()?
            }
        };
        self.used_bytes += piece.len();
        let address = NonNull::new(piece.as_mut_ptr())?;
        self.used.insert(address.addr().get(), piece);
        Some(address)
    }

    /// Takes memory back.
    fn give(&mut self, address: usize) {
        if let Some(piece) = self.used.remove(&address) {
            self.used_bytes -= piece.len();
            self.free_bytes += piece.len();
            self.free.push_back(piece);
            self.release_down_to(self.used_bytes.max(KEPT));
        }
    }

    /// Returns to the system what was freed first, until at most this many bytes are free.
    fn release_down_to(&mut self, bytes: usize) {
        while self.free_bytes > bytes {
            let released = self.free.pop_front();
            self.free_bytes -= released.map_or(self.free_bytes, |piece| piece.len());
        }
    }
}

/// The size of the piece for this many bytes.
fn rounded(bytes: usize) -> Option<usize> {
    bytes.max(SMALLEST).checked_next_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_that_grows_takes_two_pieces_for_each_tensor() {
        let mut pool = Pool::new();
        let tensors = 12;
        let mut past: Vec<_> = (0..tensors).map(|_| pool.take(0).unwrap()).collect();
        let mut made = 0;
        for len in 1..1_000 {
            let bytes = len * 256;
            let before = pool.free.len();
            let present: Vec<_> = (0..tensors).map(|_| pool.take(bytes).unwrap()).collect();
            made += usize::from(pool.free.len() == before);
            assert!(present.iter().all(|address| !past.contains(address)));
            past.drain(..)
                .for_each(|address| pool.give(address.addr().get()));
            past = present;
            let all = pool.used_bytes + pool.free_bytes;
            let needed = 2 * tensors * rounded(bytes).unwrap();
            assert!(all <= needed, "{all} bytes for {needed}");
        }
        assert!(made < 20, "new memory in {made} runs");
        past.into_iter()
            .for_each(|address| pool.give(address.addr().get()));
        assert_eq!(pool.used_bytes, 0);
        assert!(pool.used.is_empty() && pool.free_bytes <= KEPT);
    }

    #[test]
    fn no_more_is_kept_than_is_in_use() {
        let mut pool = Pool::new();
        let pieces: Vec<_> = (0..8).map(|_| pool.take(KEPT).unwrap()).collect();
        for (given, address) in pieces.into_iter().enumerate() {
            pool.give(address.addr().get());
            assert!(pool.free_bytes <= ((7 - given) * KEPT).max(KEPT));
        }
    }

    #[test]
    fn tensors_outlive_the_thread_that_made_them() {
        crate::ensure_runtime(|_| {}).unwrap();
        let mut tensors = Vec::new();
        for round in 0..3 {
            let made = (0..4).map(|at| {
                std::thread::spawn(move || {
                    let shape = [1, at + 1, 100 * round + 1, 16];
                    let mut value = tensor::<f32>(&shape).unwrap();
                    let (_, numbers) = value.try_extract_tensor_mut::<f32>().unwrap();
                    numbers.fill(at as f32);
                    value
                })
            });
            tensors = made.map(|thread| thread.join().unwrap()).collect();
            for (at, value) in tensors.iter().enumerate() {
                let (_, numbers) = value.try_extract_tensor::<f32>().unwrap();
                assert_eq!(numbers.len(), (at + 1) * (100 * round + 1) * 16);
                assert!(numbers.iter().all(|&number| number == at as f32));
            }
        }
        drop(tensors);
        assert!(tensor::<f32>(&[usize::MAX, 2]).is_err());
        assert!(tensor::<f32>(&[1 << 60]).is_err());
    }
}
