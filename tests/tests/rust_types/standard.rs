//! Types of the standard library and of serde_json.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::ffi::{CString, OsString};
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::num::*;
use std::ops::{Bound, Range, RangeInclusive};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8};
use std::time::{Duration, SystemTime};

use crate::{Case, kept, refused};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = numbers();
    cases.extend(others());
    cases.extend(maps());
    cases
}

fn numbers() -> Vec<Case> {
    vec![
        kept::<i8>(),
        kept::<i16>(),
        kept::<i32>(),
        kept::<i64>(),
        kept::<i128>(),
        kept::<isize>(),
        kept::<u8>(),
        kept::<u16>(),
        kept::<u32>(),
        kept::<u64>(),
        kept::<u128>(),
        kept::<usize>(),
        kept::<NonZeroI8>(),
        kept::<NonZeroI16>(),
        kept::<NonZeroI32>(),
        kept::<NonZeroI64>(),
        kept::<NonZeroI128>(),
        kept::<NonZeroIsize>(),
        kept::<NonZeroU8>(),
        kept::<NonZeroU16>(),
        kept::<NonZeroU32>(),
        kept::<NonZeroU64>(),
        kept::<NonZeroU128>(),
        kept::<NonZeroUsize>(),
        kept::<Wrapping<u8>>(),
        kept::<AtomicBool>(),
        kept::<AtomicI64>(),
        kept::<AtomicU8>(),
        kept::<f32>(),
        kept::<f64>(),
        kept::<Vec<f32>>(),
        kept::<Vec<f64>>(),
    ]
}

fn others() -> Vec<Case> {
    vec![
        kept::<()>(),
        kept::<bool>(),
        kept::<char>(),
        kept::<String>(),
        kept::<Box<str>>(),
        kept::<Cow<'static, str>>(),
        kept::<Box<i32>>(),
        kept::<Option<char>>(),
        kept::<Option<Vec<Option<u8>>>>(),
        kept::<PhantomData<u8>>(),
        kept::<(u8,)>(),
        kept::<(u8, String, Option<bool>)>(),
        kept::<[u8; 0]>(),
        kept::<[(u8, char); 3]>(),
        kept::<Vec<char>>(),
        kept::<VecDeque<i16>>(),
        kept::<LinkedList<i16>>(),
        kept::<BinaryHeap<i16>>(),
        kept::<BTreeSet<u8>>(),
        kept::<HashSet<String>>(),
        kept::<Result<u8, String>>(),
        kept::<Result<String, Vec<Result<i64, bool>>>>(),
        kept::<Bound<i32>>(),
        kept::<(Bound<u8>, Bound<u8>)>(),
        kept::<Range<i64>>(),
        kept::<RangeInclusive<f64>>(),
        kept::<Duration>(),
        kept::<SystemTime>(),
        kept::<IpAddr>(),
        kept::<Vec<IpAddr>>(),
        kept::<Ipv4Addr>(),
        kept::<Ipv6Addr>(),
        kept::<PathBuf>(),
        kept::<CString>(),
        kept::<serde_json::Value>(),
        kept::<serde_json::Map<String, serde_json::Value>>(),
        kept::<serde_json::Number>(),
        kept::<Box<serde_json::value::RawValue>>(),
        // Their schema is that of any string.
        refused::<SocketAddr>("#"),
        refused::<Option<SocketAddrV4>>("#"),
        refused::<Vec<SocketAddrV6>>("#/items"),
        // Each system takes a tag of its own.
        refused::<OsString>("#"),
    ]
}

fn maps() -> Vec<Case> {
    vec![
        kept::<HashMap<String, u8>>(),
        kept::<BTreeMap<u8, bool>>(),
        kept::<BTreeMap<u16, bool>>(),
        kept::<BTreeMap<u32, bool>>(),
        kept::<HashMap<u64, f64>>(),
        kept::<BTreeMap<u128, bool>>(),
        kept::<BTreeMap<usize, bool>>(),
        kept::<BTreeMap<i8, bool>>(),
        kept::<BTreeMap<i16, bool>>(),
        kept::<BTreeMap<i32, bool>>(),
        kept::<HashMap<i64, String>>(),
        kept::<BTreeMap<i128, bool>>(),
        kept::<BTreeMap<NonZeroU8, bool>>(),
        kept::<BTreeMap<NonZeroI64, bool>>(),
        kept::<(BTreeMap<u64, bool>, BTreeMap<i8, BTreeMap<u16, u8>>)>(),
        // Their keys' schema is that of any string.
        refused::<HashMap<char, u8>>("#/additionalProperties"),
        refused::<BTreeMap<bool, u8>>("#"),
        refused::<Vec<BTreeMap<IpAddr, u8>>>("#/items/additionalProperties"),
    ]
}
