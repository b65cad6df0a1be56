//! Files that are torn, hostile or of the future.

use super::*;

/// An index file of git's, with its trailer taken off.
fn body(version: &str) -> Vec<u8> {
    let sandbox = Sandbox::with_files();
    sandbox.git(&["update-index", "--index-version", version]);
    let mut bytes = fs::read(sandbox.file()).expect("read");
    bytes.truncate(bytes.len() - 20);
    bytes
}

/// Whether `body` is read, its checksum made to fit.
fn read(mut body: Vec<u8>) -> Result<Index> {
    body.extend_from_slice(&[0; 20]);
    parse(body)
}

fn code(result: Result<Index>) -> Option<Code> {
    result.err().map(|error| error.code())
}

#[test]
fn a_torn_file_is_named_and_refused_wherever_it_ends() {
    let sandbox = Sandbox::with_files();
    let bytes = fs::read(sandbox.file()).expect("read");
    for len in 0..bytes.len() {
        let torn = bytes[..len].to_vec();
        assert_eq!(code(parse(torn)), Some(Code::CorruptRecord), "{len}");
    }
    fs::write(sandbox.file(), &bytes[..bytes.len() / 2]).expect("write");
    let error = sandbox.try_read().expect_err("torn");
    assert_eq!(error.code(), Code::CorruptRecord);
    assert!(error.message().contains(".git/index'"), "{error}");
}

#[test]
fn a_flipped_bit_fails_the_checksum_when_asked_for() {
    let sandbox = Sandbox::with_files();
    let mut bytes = fs::read(sandbox.file()).expect("read");
    bytes[20] ^= 1;
    assert_eq!(code(parse(bytes.clone())), Some(Code::CorruptRecord));
    let trusted = Index::parse(
        bytes,
        &sandbox.git_dir(),
        &NoTrees(ObjectFormat::Sha1),
        Checksum::Trust,
    );
    assert_eq!(trusted.expect("only the stat data differ").len(), 9);
}

#[test]
fn extensions_unknown_and_optional_are_skipped_mandatory_ones_refused() {
    let with = |name: &[u8]| {
        let mut bytes = body("2");
        bytes.extend_from_slice(name);
        bytes.extend_from_slice(&[0, 0, 0, 3, 1, 2, 3]);
        bytes
    };
    assert_eq!(read(with(b"XTRA")).expect("skipped").len(), 9);
    let refused = Some(Code::UnsupportedRepository);
    assert_eq!(code(read(with(b"xtra"))), refused);
    assert_eq!(code(read(with(b"\x1b[0m"))), refused);
    let mut cut = with(b"XTRA");
    cut.pop();
    assert_eq!(code(read(cut)), Some(Code::CorruptRecord));
}

#[test]
fn versions_and_entry_formats_of_the_future_are_refused() {
    let mut bytes = body("2");
    bytes[7] = 5;
    assert_eq!(code(read(bytes)), Some(Code::UnsupportedRepository));

    let mut index = read(body("2")).expect("git's own");
    for entry in &mut index.entries {
        entry.flags = Flags::SKIP_WORKTREE;
    }
    let mut bytes = index.write_bytes();
    bytes.truncate(bytes.len() - 20);
    assert!(read(bytes.clone()).is_ok());
    bytes[12 + 62] |= 0x80;
    assert_eq!(code(read(bytes)), Some(Code::UnsupportedRepository));
}

#[test]
fn counts_beyond_the_file_allocate_nothing() {
    for version in ["2", "4"] {
        let mut bytes = body(version);
        bytes[8..12].copy_from_slice(&u32::MAX.to_be_bytes());
        assert_eq!(code(read(bytes)), Some(Code::CorruptRecord));
    }
}

#[test]
fn names_that_grow_without_end_are_refused() {
    // One name of a million bytes, and thousands of entries that repeat all of it at 64 bytes each.
    let mut index = Index::new(ObjectFormat::Sha1);
    index.version = 4;
    let mut builder = Builder::edit(index);
    let entry = Entry::new(0o100_644, Oid::from(&[1; 20]));
    builder
        .push(&vec![b'n'; 1_000_000], entry)
        .expect("one long name");
    let mut bytes = builder.finish().write_bytes();
    bytes.truncate(bytes.len() - 20);
    let count = 10_000u32;
    bytes[8..12].copy_from_slice(&(count + 1).to_be_bytes());
    let fixed = bytes[12..74].to_vec();
    for _ in 0..count {
        bytes.extend_from_slice(&fixed);
        bytes.extend_from_slice(b"\x00n\x00");
    }
    assert_eq!(code(read(bytes)), Some(Code::CorruptRecord));
}

#[test]
fn disorder_is_refused() {
    let entry = |stage| Entry {
        stage,
        ..Entry::new(0o100_644, Oid::from(&[1; 20]))
    };
    // Written as given, for the builder would sort.
    let written = |list: &[(&[u8], u8)]| {
        let mut index = Index::new(ObjectFormat::Sha1);
        for &(path, stage) in list {
            let span = index.paths.add(path).expect("small");
            index.entries.push(Entry {
                span,
                ..entry(stage)
            });
        }
        index.write_bytes()
    };
    assert!(parse(written(&[(b"a", 1), (b"a", 3), (b"b", 0)])).is_ok());
    for list in [
        &[(&b"b"[..], 0), (b"a", 0)][..],
        &[(b"a", 0), (b"a", 0)],
        &[(b"a", 0), (b"a", 2)],
        &[(b"a", 3), (b"a", 2)],
        &[(b"", 0)],
    ] {
        let result = parse(written(list));
        assert_eq!(code(result), Some(Code::CorruptRecord), "{list:?}");
    }
}

#[test]
fn a_folded_directory_must_be_one() {
    for (path, stage) in [(&b"d"[..], 0), (b"/", 0), (b"d/", 1)] {
        let mut builder = Builder::new(ObjectFormat::Sha1);
        let entry = Entry {
            stage,
            ..Entry::new(0o040_000, Oid::from(&[1; 20]))
        };
        builder.push(path, entry).expect("small");
        let result = parse(builder.finish().write_bytes());
        assert_eq!(code(result), Some(Code::CorruptRecord));
    }
}

#[test]
fn a_link_to_nothing_leaves_the_index_whole() {
    let mut bytes = body("2");
    bytes.extend_from_slice(b"link\0\0\0\x14");
    bytes.extend_from_slice(&[0; 20]);
    let index = read(bytes).expect("read");
    assert_eq!((index.len(), index.was_split), (9, false));
}
