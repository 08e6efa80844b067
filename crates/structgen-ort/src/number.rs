//! The types of numbers in caches.

use std::fmt::Debug;

use ort::value::PrimitiveTensorElementType;

/// A number that a cache may consist of.
pub(crate) trait Number:
    PrimitiveTensorElementType + Copy + Default + Debug + 'static
{
}

impl Number for f32 {}
impl Number for half::f16 {}
impl Number for i8 {}
impl Number for u8 {}
