//! Random damage to real index files: an error or an index, never a panic, never memory out of proportion.

use std::fs;

use super::tests::Sandbox;
use super::*;
use crate::git::objects::{ObjectKind, hash};

/// A small generator of numbers, the same ones in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit.max(1) as u64).expect("below a usize")
    }

    /// Changes `bytes` at up to four places.
    fn damage(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(3) {
            let at = self.below(bytes.len());
            let byte = u8::try_from(self.below(256)).expect("a byte");
            match self.below(8) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, byte),
                2 if at < bytes.len() => drop(bytes.remove(at)),
                3 => {
                    let end = bytes.len().min(at + 4);
                    bytes[at.min(end)..end].fill(0xff);
                }
                4 => {
                    let end = bytes.len().min(at + self.below(200));
                    let part = bytes[at.min(end)..end].to_vec();
                    let to = self.below(bytes.len());
                    bytes.splice(to..to, part);
                }
                _ => {
                    if let Some(place) = bytes.get_mut(at) {
                        *place = byte;
                    }
                }
            }
        }
    }
}

/// Trees that stand under any id, damaged now and then.
struct Trees {
    format: ObjectFormat,
    content: Vec<u8>,
}

impl TreeSource for Trees {
    fn format(&self) -> ObjectFormat {
        self.format
    }

    fn tree(&self, oid: Oid) -> Result<Vec<u8>> {
        // The id decides, so that folded directories end.
        let len = usize::from(oid.as_bytes()[19]) * self.content.len() / 255;
        Ok(self.content[..len].to_vec())
    }
}

struct Nowhere(ObjectFormat);

impl TreeSink for Nowhere {
    fn has(&mut self, oid: Oid) -> bool {
        oid.as_bytes()[0] < 128
    }

    fn put(&mut self, content: &[u8]) -> Result<Oid> {
        hash(self.0, ObjectKind::Blob, content)
    }
}

/// Reads `bytes` and, when that works, uses everything there is to use.
fn exercise(bytes: Vec<u8>, git_dir: &Path, trees: &Trees) {
    let len = bytes.len();
    let Ok(index) = Index::parse(bytes, git_dir, trees, Checksum::Trust) else {
        return;
    };
    if !index.was_split && !index.was_sparse {
        assert!(index.entries.capacity() <= len / 64);
        assert!(index.paths.capacity() <= len * 128);
    }
    for (path, entry) in index.iter() {
        assert!(index.has_path(path));
        let place = index.position(path, entry.stage).expect("it is there");
        assert_eq!(index.path(&index.entries[place]), path);
    }
    let _ = build_tree(&index, &|_| Ok(None), &mut Nowhere(trees.format));
    let again = Index::parse(index.write_bytes(), git_dir, trees, Checksum::Verify);
    let again = again.expect("what is written is read");
    assert_eq!(again.len(), index.len());
    assert_eq!(again.cache_tree, index.cache_tree);
}

fn run(sandbox: &Sandbox, rounds: usize, seed: u64) {
    let mut random = Random(seed);
    let original = fs::read(sandbox.file()).expect("read");
    let root = sandbox.git(&["cat-file", "tree", "HEAD^{tree}"]);
    for _ in 0..rounds {
        let mut bytes = original.clone();
        random.damage(&mut bytes);
        let mut trees = Trees {
            format: sandbox.format,
            content: root.clone(),
        };
        if random.below(4) == 0 {
            random.damage(&mut trees.content);
        }
        exercise(bytes, &sandbox.git_dir(), &trees);
    }
}

#[test]
fn damaged_files_of_every_version_never_panic() {
    for format in ObjectFormat::ALL {
        damaged_files(&Sandbox::of(format).filled());
    }
}

fn damaged_files(sandbox: &Sandbox) {
    sandbox.write("d/intended", "");
    sandbox.git(&["add", "-N", "d/intended"]);
    sandbox.git(&["write-tree"]);
    run(sandbox, 1500, 0x9e37_79b9_7f4a_7c15);
    sandbox.git(&["update-index", "--index-version", "4"]);
    run(sandbox, 1500, 0xd1b5_4a32_d192_ed03);
}

#[test]
fn damaged_split_indexes_never_panic() {
    let sandbox = Sandbox::with_files();
    sandbox.git(&["config", "splitIndex.maxPercentChange", "100"]);
    sandbox.git(&["update-index", "--split-index"]);
    sandbox.write("d/one", "changed");
    sandbox.write("d/new", "new");
    sandbox.git(&["rm", "-q", "--cached", "a.txt"]);
    sandbox.git(&["add", "d"]);
    run(&sandbox, 3000, 0x2545_f491_4f6c_dd1d);

    // The shared file, its trailer left alone: that is what the link names.
    let files = fs::read_dir(sandbox.git_dir()).expect("read");
    let shared = files
        .map(|file| file.expect("read").path())
        .find(|path| path.to_string_lossy().contains("sharedindex."))
        .expect("split");
    let original = fs::read(&shared).expect("read");
    let (body, trailer) = original.split_last_chunk::<20>().expect("whole");
    let mut random = Random(0x0bad_cafe_dead_beef);
    let small = fs::read(sandbox.file()).expect("read");
    let trees = Trees {
        format: sandbox.format,
        content: Vec::new(),
    };
    for _ in 0..1000 {
        let mut bytes = body.to_vec();
        random.damage(&mut bytes);
        bytes.extend_from_slice(trailer);
        fs::write(&shared, bytes).expect("write");
        exercise(small.clone(), &sandbox.git_dir(), &trees);
    }
}

#[test]
fn damaged_sparse_indexes_never_panic() {
    let sandbox = Sandbox::with_files();
    sandbox.git(&[
        "sparse-checkout",
        "set",
        "--cone",
        "--sparse-index",
        "other",
    ]);
    run(&sandbox, 3000, 0x6a09_e667_f3bc_c908);
}
