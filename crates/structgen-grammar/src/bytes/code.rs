//! The encoding of values: numbers in groups of seven bits (LEB128), lists after their lengths, enums after a tag.

use std::sync::Arc;

use super::BytesError;

/// A value that can be encoded as bytes and decoded. Decoding yields a value of the type; whether it makes sense is
/// checked elsewhere.
pub(super) trait Coded: Sized {
    /// Appends the encoded value, which has at least one byte.
    fn put(&self, out: &mut Vec<u8>);

    /// Decodes a value.
    fn take(input: &mut Input<'_>) -> Result<Self, BytesError>;
}

/// The bytes that remain to be decoded.
pub(super) struct Input<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Input<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Checks that all bytes were read.
    pub(super) fn finish(&self) -> Result<(), BytesError> {
        match self.at == self.bytes.len() {
            true => Ok(()),
            false => Err(self.wrong("there is more than a grammar")),
        }
    }

    /// The error for the value that was just read.
    pub(super) fn wrong(&self, what: &'static str) -> BytesError {
        BytesError::Unreadable {
            offset: self.at,
            what,
        }
    }

    fn bytes(&mut self, length: usize) -> Result<&'b [u8], BytesError> {
        let end = self.at.checked_add(length);
        let Some(bytes) = end.and_then(|end| self.bytes.get(self.at..end)) else {
            return Err(self.wrong("it ends too early"));
        };
        self.at += length;
        Ok(bytes)
    }

    /// The length of a list, whose items have at least one byte each.
    pub(super) fn length(&mut self) -> Result<usize, BytesError> {
        let length = u64::take(self)?;
        match usize::try_from(length) {
            Ok(length) if length <= self.bytes.len() - self.at => Ok(length),
            _ => Err(self.wrong("it ends too early")),
        }
    }
}

/// Appends bytes after their length.
pub(super) fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    (bytes.len() as u64).put(out);
    out.extend_from_slice(bytes);
}

/// Reads bytes after their length.
pub(super) fn take_bytes<'b>(input: &mut Input<'b>) -> Result<&'b [u8], BytesError> {
    let length = input.length()?;
    input.bytes(length)
}

fn put_list<T: Coded>(items: &[T], out: &mut Vec<u8>) {
    (items.len() as u64).put(out);
    for item in items {
        item.put(out);
    }
}

impl Coded for u8 {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(*self);
    }

    fn take(input: &mut Input<'_>) -> Result<Self, BytesError> {
        Ok(input.bytes(1)?[0])
    }
}

impl Coded for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn take(input: &mut Input<'_>) -> Result<Self, BytesError> {
        match u8::take(input)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(input.wrong("a truth value that is neither 0 nor 1")),
        }
    }
}

impl Coded for u64 {
    fn put(&self, out: &mut Vec<u8>) {
        let mut rest = *self;
        while rest > 0x7F {
            out.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        out.push(rest as u8);
    }

    fn take(input: &mut Input<'_>) -> Result<Self, BytesError> {
        let mut value = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = u8::take(input)?;
            let bits = u64::from(byte & 0x7F);
            // Each number has exactly one encoding.
            if bits << shift >> shift != bits || (byte == 0 && shift > 0) {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(input.wrong("a number that is not written as it should be"))
    }
}

macro_rules! smaller {
    ($($number:ty),*) => {$(
        impl Coded for $number {
            fn put(&self, out: &mut Vec<u8>) {
                u64::from(*self).put(out);
            }

            fn take(input: &mut Input<'_>) -> Result<Self, BytesError> {
                let value = u64::take(input)?;
                Self::try_from(value).map_err(|_| input.wrong("a number out of range"))
            }
        }
    )*};
}

smaller!(u16, u32);

impl Coded for i64 {
    fn put(&self, out: &mut Vec<u8>) {
        // Zigzag encoding: numbers of small magnitude are short, whatever their sign.
        (((self << 1) ^ (self >> 63)) as u64).put(out);
    }

    fn take(input: &mut Input<'_>) -> Result<Self, BytesError> {
        let folded = u64::take(input)?;
        Ok((folded >> 1) as i64 ^ -((folded & 1) as i64))
    }
}

impl Coded for char {
    fn put(&self, out: &mut Vec<u8>) {
        u32::from(*self).put(out);
    }

    fn take(input: &mut Input<'_>) -> Result<Self, BytesError> {
        let code = u32::take(input)?;
        Self::from_u32(code).ok_or_else(|| input.wrong("no scalar value"))
    }
}

impl Coded for String {
    fn put(&self, out: &mut Vec<u8>) {
        put_bytes(self.as_bytes(), out);
    }

    fn take(input: &mut Input<'_>) -> Result<Self, BytesError> {
        let bytes = take_bytes(input)?;
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err(input.wrong("a text that is no UTF-8")),
        }
    }
}

impl Coded for Box<str> {
    fn put(&self, out: &mut Vec<u8>) {
        put_bytes(self.as_bytes(), out);
    }

    fn take(input: &mut Input<'_>) -> Result<Self, BytesError> {
        String::take(input).map(Self::from)
    }
}

impl<T: Coded> Coded for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        if let Some(value) = self {
            value.put(out);
        }
    }

    fn take(input: &mut Input<'_>) -> Result<Self, BytesError> {
        bool::take(input)?.then(|| T::take(input)).transpose()
    }
}

impl<T: Coded> Coded for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        put_list(self, out);
    }

    fn take(input: &mut Input<'_>) -> Result<Self, BytesError> {
        let length = input.length()?;
        // Memory grows with the items read, not with the length claimed.
        let mut items = Self::with_capacity(length.min(256));
        for _ in 0..length {
            items.push(T::take(input)?);
        }
        Ok(items)
    }
}

impl<T: Coded> Coded for Box<[T]> {
    fn put(&self, out: &mut Vec<u8>) {
        put_list(self, out);
    }

    fn take(input: &mut Input<'_>) -> Result<Self, BytesError> {
        Vec::take(input).map(Self::from)
    }
}

impl<T: Coded> Coded for Box<T> {
    fn put(&self, out: &mut Vec<u8>) {
        (**self).put(out);
    }

    fn take(input: &mut Input<'_>) -> Result<Self, BytesError> {
        T::take(input).map(Self::new)
    }
}

impl Coded for Arc<[u8]> {
    fn put(&self, out: &mut Vec<u8>) {
        put_bytes(self, out);
    }

    fn take(input: &mut Input<'_>) -> Result<Self, BytesError> {
        take_bytes(input).map(Self::from)
    }
}

/// Encodes a struct as its fields in order, and an enum as its tag and fields. A missing field does not compile.
macro_rules! coded {
    (struct $name:ty { $($field:tt),* $(,)? }) => {
        impl Coded for $name {
            fn put(&self, out: &mut Vec<u8>) {
                $(self.$field.put(out);)*
            }

            fn take(input: &mut Input<'_>) -> Result<Self, BytesError> {
                Ok(Self { $($field: Coded::take(input)?),* })
            }
        }
    };
    (enum $name:ty { $($tag:literal = $variant:ident { $($field:tt: $part:ident),* }),* $(,)? }) => {
        impl Coded for $name {
            fn put(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$variant { $($field: $part),* } => {
                        out.push($tag);
                        $($part.put(out);)*
                    })*
                }
            }

            fn take(input: &mut Input<'_>) -> Result<Self, BytesError> {
                match u8::take(input)? {
                    $($tag => Ok(Self::$variant { $($field: Coded::take(input)?),* }),)*
                    _ => Err(input.wrong("an unknown kind")),
                }
            }
        }
    };
}
pub(super) use coded;
