//! A reader of CSV that detects a quoted field without an end: for CSV parsers, the rest of the file is that field.

use std::io::{self, Read};

use anyhow::bail;

pub(crate) struct Quotes<R> {
    from: R,
    /// The number of the current line, from 1.
    line: u64,
    state: State,
}

#[derive(Clone, Copy)]
enum State {
    FieldStart,
    Field,
    /// In a quoted field, with the line in which it begins.
    Quoted(u64),
    /// After a quote in a quoted field: the end of the field, or the first of two quotes.
    Quote(u64),
}

impl<R> Quotes<R> {
    pub(crate) fn new(from: R) -> Self {
        Self {
            from,
            line: 1,
            state: State::FieldStart,
        }
    }

    /// Returns the inner reader.
    ///
    /// # Errors
    /// If what was read ends in a quoted field.
    pub(crate) fn finish(self) -> anyhow::Result<R> {
        match self.state {
            State::Quoted(line) => {
                bail!("the quoted field that begins in line {line} is not closed")
            }
            _ => Ok(self.from),
        }
    }

    fn step(&mut self, byte: u8) {
        self.state = match (self.state, byte) {
            (State::FieldStart, b'"') => State::Quoted(self.line),
            (State::Quoted(line), b'"') => State::Quote(line),
            (State::Quoted(line), _) | (State::Quote(line), b'"') => State::Quoted(line),
            (_, b',' | b'\n' | b'\r') => State::FieldStart,
            _ => State::Field,
        };
        self.line += u64::from(byte == b'\n');
    }
}

impl<R: Read> Read for Quotes<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(buffer)?;
        buffer[..read].iter().for_each(|byte| self.step(*byte));
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use csv::{ByteRecord, ReaderBuilder};

    use super::*;

    fn is_closed(csv: &str) -> bool {
        let mut quotes = Quotes::new(csv.as_bytes());
        io::copy(&mut quotes, &mut io::sink()).unwrap();
        quotes.finish().is_ok()
    }

    /// Whether csv reads what is appended to a text as part of its last quoted field.
    fn is_closed_for_csv(csv: &str) -> bool {
        let longer = format!("{csv}x\"");
        let mut reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .from_reader(longer.as_bytes());
        let last: ByteRecord = reader.byte_records().last().unwrap().unwrap();
        last[last.len() - 1].ends_with(b"\"")
    }

    #[test]
    fn quotes_are_closed_where_csv_closes_them() {
        let symbols = ["", "a", "\"", ",", "\n", "\r"];
        for number in 0..symbols.len().pow(6) {
            let symbol = |place| symbols[number / symbols.len().pow(place) % symbols.len()];
            let csv: String = (0..6).map(symbol).collect();
            assert_eq!(is_closed(&csv), is_closed_for_csv(&csv), "{csv:?}");
        }
    }
}
