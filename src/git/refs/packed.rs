//! The `packed-refs` file, read by binary search.
//!
//! Owns looking up one name and iterating over a prefix, by positioned reads of a few blocks, so that both cost the
//! same with ten refs and with a million. A `Packed` holds the open file: since every writer replaces it by rename,
//! what it sees is one version, whatever happens meanwhile. A file whose header does not say `sorted` is read through.
//! Rewriting is in `rewrite`.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Seek, SeekFrom};
use std::path::Path;

use crate::error::{Code, Error, Result, ResultExt};
use crate::git::Oid;
use crate::git::oid::{is_whole, leading_digits};

/// One version of `packed-refs`, or none when there is no such file.
#[derive(Debug)]
pub(super) struct Packed(Option<Table>);

#[derive(Debug)]
struct Table {
    file: BufReader<File>,
    /// Where the first record may begin.
    start: u64,
    end: u64,
    sorted: bool,
}

/// A line of the file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// `# …`
    Comment(&'a [u8]),
    /// `<id> <name>`
    Record(Oid, &'a [u8]),
    /// `^<id>`: what the tag in the line above peels to.
    Peeled,
}

/// Below this many bytes the search reads on line by line.
const SCAN: u64 = 2048;
/// Read at once where one record is looked for.
const LITTLE: usize = 512;
/// Read at once where there may be many.
const MUCH: usize = 64 << 10;

impl Packed {
    /// Opens the file in `common_dir`.
    pub(super) fn open(common_dir: &Path) -> Result<Self> {
        let file = match crate::git::regular::open(common_dir.join("packed-refs")) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self(None)),
            Err(error) => return Err(Error::from(error).while_doing("opening 'packed-refs'")),
        };
        let end = file.metadata()?.len();
        let mut file = BufReader::with_capacity(LITTLE, file);
        let mut line = Vec::new();
        file.read_until(b'\n', &mut line)?;
        let (start, sorted) = match line.strip_prefix(b"# pack-refs with:") {
            Some(traits) => (line.len() as u64, says_sorted(traits)),
            None => (0, false),
        };
        Ok(Self(Some(Table {
            file,
            start,
            end,
            sorted,
        })))
    }

    /// Calls `see` with every name that begins with `prefix`, in the file's order. Those that are not UTF-8 are left out.
    pub(super) fn each_name(&mut self, prefix: &str, mut see: impl FnMut(&str)) -> Result<()> {
        self.visit(prefix, MUCH, |record| {
            if let Ok(name) = std::str::from_utf8(record.name) {
                see(name);
            }
            true
        })
    }

    /// The value of one ref.
    pub(super) fn find(&mut self, name: &str) -> Result<Option<Oid>> {
        let mut found = None;
        // A name stands before all that it begins.
        let first_decides = self.0.as_ref().is_some_and(|table| table.sorted);
        self.visit(name, LITTLE, |record| {
            if record.name == name.as_bytes() {
                found = Some(record.oid());
            }
            found.is_none() && !first_decides
        })?;
        Ok(found)
    }

    /// Every ref whose name begins with `prefix`, in the file's order. Names that are not UTF-8 are left out.
    pub(super) fn list(&mut self, prefix: &str) -> Result<Vec<(String, Oid)>> {
        let mut refs = Vec::new();
        self.visit(prefix, MUCH, |record| {
            if let Ok(name) = std::str::from_utf8(record.name) {
                refs.push((name.to_owned(), record.oid()));
            }
            true
        })?;
        Ok(refs)
    }

    /// The first ref whose name begins with `prefix`.
    pub(super) fn first(&mut self, prefix: &str) -> Result<Option<String>> {
        let mut first = None;
        self.visit(prefix, LITTLE, |record| {
            first = Some(String::from_utf8_lossy(record.name).into_owned());
            false
        })?;
        Ok(first)
    }

    /// Calls `visit` with each record that begins with `prefix` until it says false. `at_once`: how many bytes are read.
    fn visit(
        &mut self,
        prefix: &str,
        at_once: usize,
        mut visit: impl FnMut(Record<'_>) -> bool,
    ) -> Result<()> {
        match &mut self.0 {
            Some(table) => table
                .visit(prefix.as_bytes(), at_once, &mut visit)
                .context(|| "reading 'packed-refs'"),
            None => Ok(()),
        }
    }
}

impl Table {
    fn visit(
        &mut self,
        prefix: &[u8],
        at_once: usize,
        visit: &mut dyn FnMut(Record<'_>) -> bool,
    ) -> Result<()> {
        let from = if self.sorted {
            self.narrow(prefix)?
        } else {
            self.start
        };
        let mut file = self.file.get_ref();
        file.seek(SeekFrom::Start(from))?;
        let mut file = BufReader::with_capacity(at_once, file);
        let mut line = Vec::new();
        while next_line(&mut file, &mut line)? {
            let Some(record) = Record::of(&line)? else {
                continue;
            };
            if record.name.starts_with(prefix) {
                if !visit(record) {
                    return Ok(());
                }
            } else if self.sorted && record.name > prefix {
                return Ok(());
            }
        }
        Ok(())
    }

    /// A record's offset at or before the first name that is not below `key`, and close to it.
    fn narrow(&mut self, key: &[u8]) -> Result<u64> {
        let (mut low, mut high) = (self.start, self.end);
        let mut line = Vec::new();
        while high.saturating_sub(low) > SCAN {
            let middle = low + (high - low) / 2;
            let at = self.record_from(middle, &mut line)?;
            match parse_line(&line)? {
                Line::Record(_, name) if at < high && name < key => low = at,
                _ => high = middle,
            }
        }
        Ok(low)
    }

    /// The offset of the first record that begins at or after `offset`, its line in `line`; the end and an empty
    /// comment when there is none.
    fn record_from(&mut self, offset: u64, line: &mut Vec<u8>) -> Result<u64> {
        // From the byte before, which may be the end of a line: then a record begins at `offset` itself.
        self.file.seek(SeekFrom::Start(offset - 1))?;
        line.clear();
        let mut at = offset - 1 + self.file.read_until(b'\n', line)? as u64;
        while next_line(&mut self.file, line)? {
            if !line.starts_with(b"^") {
                return Ok(at);
            }
            at += line.len() as u64 + 1;
        }
        line.push(b'#');
        Ok(self.end)
    }
}

/// Reads a line without its newline. A last line that has none is a torn file.
fn next_line(file: &mut impl BufRead, line: &mut Vec<u8>) -> Result<bool> {
    line.clear();
    file.read_until(b'\n', line)?;
    match line.pop() {
        None => Ok(false),
        Some(b'\n') => Ok(true),
        Some(_) => Err(torn()),
    }
}

/// A record whose id is not yet read: lists of thousands of names have no use for it.
struct Record<'l> {
    /// The digits of an id.
    hex: &'l [u8],
    name: &'l [u8],
}

impl<'l> Record<'l> {
    /// The record in a line; nothing in another kind of line.
    fn of(line: &'l [u8]) -> Result<Option<Self>> {
        let (hex, rest) = leading_digits(line);
        match rest.strip_prefix(b" ") {
            Some(name) if is_whole(hex.len()) => Ok(Some(Self { hex, name })),
            // A comment, a peeled line, or an error.
            _ => parse_line(line).map(|_| None),
        }
    }

    fn oid(&self) -> Oid {
        Oid::from_hex_bytes(self.hex).expect("as many hex digits as an id has")
    }
}

fn says_sorted(traits: &[u8]) -> bool {
    traits
        .split(u8::is_ascii_whitespace)
        .any(|word| word == b"sorted")
}

fn torn() -> Error {
    Error::new(Code::CorruptRecord, "'packed-refs' ends in mid-line")
}

/// Reads one line, newline taken off.
pub(super) fn parse_line(line: &[u8]) -> Result<Line<'_>> {
    let parsed = match line.first() {
        Some(b'#') => Some(Line::Comment(line)),
        Some(b'^') => Some(Line::Peeled),
        _ => Oid::leading(line)
            .and_then(|(oid, rest)| Some((oid, rest.strip_prefix(b" ")?)))
            .map(|(oid, name)| Line::Record(oid, name)),
    };
    parsed.ok_or_else(|| {
        let shown = crate::git::path::display(line);
        Error::new(
            Code::CorruptRecord,
            format!("unexpected line in 'packed-refs': '{shown}'"),
        )
    })
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    fn oid(number: usize) -> Oid {
        Oid::from_hex(&format!("{number:040x}")).expect("hex")
    }

    fn open(text: &str) -> (tempfile::TempDir, Packed) {
        let dir = tempfile::tempdir().expect("temporary directory");
        std::fs::write(dir.path().join("packed-refs"), text).expect("write");
        let packed = Packed::open(dir.path()).expect("open");
        (dir, packed)
    }

    /// Names of very different lengths, some with peeled lines, so that probes land everywhere in a record.
    fn sorted_file(count: usize) -> (String, Vec<(String, Oid)>) {
        let mut refs: Vec<_> = (1..=count)
            .map(|n| {
                let long = "x".repeat(if n % 50 == 0 { 3000 } else { n % 17 });
                (format!("refs/{}/{n}{long}", n % 7), oid(n))
            })
            .collect();
        refs.sort();
        let mut text = "# pack-refs with: peeled fully-peeled sorted \n".to_owned();
        for (at, (name, oid)) in refs.iter().enumerate() {
            writeln!(text, "{oid} {name}").expect("string");
            if at % 3 == 0 {
                writeln!(text, "^{oid}").expect("string");
            }
        }
        (text, refs)
    }

    #[test]
    fn every_name_is_found_and_no_other() {
        for count in [0, 1, 2, 40, 700] {
            let (text, refs) = sorted_file(count);
            let (_dir, mut packed) = open(&text);
            for (name, oid) in &refs {
                assert_eq!(packed.find(name).expect("find"), Some(*oid), "{name}");
                assert_eq!(packed.find(&format!("{name}~")).expect("find"), None);
                assert_eq!(packed.find(&name[..name.len() - 1]).expect("find"), {
                    let shorter = &name[..name.len() - 1];
                    refs.iter().find(|(name, _)| name == shorter).map(|r| r.1)
                });
            }
            assert_eq!(packed.find("a").expect("find"), None);
            assert_eq!(packed.find("zzz").expect("find"), None);
            for prefix in ["refs/", "refs/3/", "refs/3/1", "refs/9/", ""] {
                let wanted: Vec<_> = refs
                    .iter()
                    .filter(|(name, _)| name.starts_with(prefix))
                    .cloned()
                    .collect();
                assert_eq!(packed.list(prefix).expect("list"), wanted, "{prefix}");
            }
        }
    }

    #[test]
    fn an_unsorted_file_is_read_through() {
        let text = format!("{} refs/b\n{} refs/a\n{} refs/c\n", oid(1), oid(2), oid(3));
        let (_dir, mut packed) = open(&text);
        assert_eq!(packed.find("refs/a").expect("find"), Some(oid(2)));
        assert_eq!(packed.list("refs/").expect("list").len(), 3);
        let (_dir, mut packed) = open(&format!("# pack-refs with: peeled \n{text}"));
        assert_eq!(packed.find("refs/a").expect("find"), Some(oid(2)));
    }

    #[test]
    fn a_torn_or_strange_file_is_an_error_not_an_absence() {
        let torn = format!("{} refs/a\n{}", oid(1), &oid(2).to_string()[..20]);
        for text in [torn.as_str(), "nonsense\n", "\n"] {
            let (_dir, mut packed) = open(text);
            let error = packed.find("refs/b").expect_err("strange");
            assert_eq!(error.code(), Code::CorruptRecord);
        }
    }

    #[test]
    fn of_a_sorted_file_only_the_first_record_is_asked_whether_it_is_the_name() {
        // Thousands of refs lie below such a name; a line that cannot be read shows how far was read.
        let text = format!("# pack-refs with: sorted \n{} refs/a/1\nnonsense\n", oid(1));
        let (_dir, mut packed) = open(&text);
        assert_eq!(packed.find("refs/a").expect("find"), None);
        assert_eq!(packed.find("refs/a/1").expect("find"), Some(oid(1)));
        packed.list("refs/a/").expect_err("read on");
    }

    #[test]
    fn no_file_holds_nothing() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let mut packed = Packed::open(dir.path()).expect("open");
        assert_eq!(packed.find("refs/a").expect("find"), None);
        assert_eq!(packed.first("refs/").expect("first"), None);
    }
}
