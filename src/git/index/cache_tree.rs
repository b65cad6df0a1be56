//! The cache tree: which tree objects git knows to equal parts of the index (the `TREE` extension).

use super::cursor::Cursor;
use crate::git::{ObjectFormat, Oid};

/// How deep directories may nest before this module leaves them to others: recursion stays within any stack.
pub(super) const MAX_DEPTH: usize = 1024;

/// The tree that equals a directory of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Valid {
    /// How many index entries it covers.
    pub entries: u32,
    /// The tree object.
    pub oid: Oid,
}

/// A directory in the cache tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CacheTree {
    /// The tree, unless something below changed since it was written.
    pub valid: Option<Valid>,
    /// Subdirectories, in git's order: by length of name, then by bytes.
    children: Vec<(Box<[u8]>, CacheTree)>,
}

impl CacheTree {
    /// A directory whose tree is known.
    #[cfg(test)]
    pub fn of(entries: u32, oid: Oid) -> Self {
        Self {
            valid: Some(Valid { entries, oid }),
            children: Vec::new(),
        }
    }

    /// The subdirectory `name`.
    pub fn child(&self, name: &[u8]) -> Option<&Self> {
        let at = self.find(name).ok()?;
        self.children.get(at).map(|(_, child)| child)
    }

    /// The subdirectory `name`, made when it is not there.
    pub fn child_mut(&mut self, name: &[u8]) -> &mut Self {
        let at = match self.find(name) {
            Ok(at) => at,
            Err(at) => {
                self.children.insert(at, (name.into(), Self::default()));
                at
            }
        };
        &mut self.children[at].1
    }

    /// The subdirectory `name`, to be changed.
    pub(super) fn child_if_there(&mut self, name: &[u8]) -> Option<&mut Self> {
        let at = self.find(name).ok()?;
        self.children.get_mut(at).map(|(_, child)| child)
    }

    /// Forgets the subdirectories whose names `keep` refuses.
    pub(super) fn retain_children(&mut self, keep: impl Fn(&[u8]) -> bool) {
        self.children.retain(|(name, _)| keep(name));
    }

    /// Subdirectories with their names.
    pub fn children(&self) -> impl ExactSizeIterator<Item = (&[u8], &Self)> {
        self.children.iter().map(|(name, child)| (&**name, child))
    }

    /// Subdirectories with their names, to be changed.
    pub(super) fn children_mut(&mut self) -> impl Iterator<Item = (&[u8], &mut Self)> {
        self.children
            .iter_mut()
            .map(|(name, child)| (&**name, child))
    }

    /// Forgets the trees of all directories above `path`, and the directory `path` itself.
    pub fn invalidate(&mut self, path: &[u8]) {
        let mut node = self;
        let mut components = path.split(|&byte| byte == b'/').peekable();
        while let Some(name) = components.next() {
            node.valid = None;
            let Ok(at) = node.find(name) else { return };
            if components.peek().is_none() {
                node.children.remove(at);
                return;
            }
            node = &mut node.children[at].1;
        }
    }

    fn find(&self, name: &[u8]) -> Result<usize, usize> {
        self.children
            .binary_search_by(|(other, _)| other.len().cmp(&name.len()).then((**other).cmp(name)))
    }

    /// Reads the extension's payload; none when it is malformed, or deeper than any path.
    pub(super) fn parse(payload: &[u8], format: ObjectFormat) -> Option<Self> {
        let mut rest = Cursor::new(payload);
        let (name, root) = Self::node(&mut rest, format, 0)?;
        (name.is_empty() && rest.is_empty()).then_some(root)
    }

    fn node<'a>(
        rest: &mut Cursor<'a>,
        format: ObjectFormat,
        depth: usize,
    ) -> Option<(&'a [u8], Self)> {
        if depth > MAX_DEPTH {
            return None;
        }
        let name = rest.until_nul()?;
        let entries: i64 = number(rest.until(b' ')?)?;
        let count: u32 = number(rest.until(b'\n')?)?;
        let valid = match u32::try_from(entries) {
            Ok(entries) => Some(Valid {
                entries,
                oid: rest.id(format)?,
            }),
            Err(_) => None,
        };
        let mut children: Vec<(Box<[u8]>, Self)> = Vec::new();
        for _ in 0..count {
            let (name, child) = Self::node(rest, format, depth + 1)?;
            children.push((name.into(), child));
        }
        let mut node = Self { valid, children };
        node.settle()?;
        Some((name, node))
    }

    /// Puts the children in order; none when one comes twice or has no name.
    fn settle(&mut self) -> Option<()> {
        let order = |(name, _): &(Box<[u8]>, Self)| (name.len(), name.clone());
        if !self.children.is_sorted_by(|left, right| {
            left.0
                .len()
                .cmp(&right.0.len())
                .then(left.0.cmp(&right.0))
                .is_lt()
        }) {
            self.children.sort_by_key(order);
        }
        let twice = self.children.windows(2).any(|pair| pair[0].0 == pair[1].0);
        let unnamed = self
            .children
            .first()
            .is_some_and(|(name, _)| name.is_empty());
        (!twice && !unnamed).then_some(())
    }

    /// Appends the extension's payload.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        self.write_node(b"", out);
    }

    fn write_node(&self, name: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(name);
        out.push(0);
        match &self.valid {
            Some(valid) => out.extend_from_slice(valid.entries.to_string().as_bytes()),
            None => out.extend_from_slice(b"-1"),
        }
        out.push(b' ');
        out.extend_from_slice(self.children.len().to_string().as_bytes());
        out.push(b'\n');
        if let Some(valid) = &self.valid {
            out.extend_from_slice(valid.oid.as_bytes());
        }
        for (name, child) in &self.children {
            child.write_node(name, out);
        }
    }
}

fn number<T: std::str::FromStr>(digits: &[u8]) -> Option<T> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(format: ObjectFormat) -> CacheTree {
        let id = |byte| format.first_of(&[byte; 32]).expect("enough bytes");
        let mut root = CacheTree::of(4, id(1));
        *root.child_mut(b"long") = CacheTree::of(3, id(2));
        *root.child_mut(b"z") = CacheTree::of(1, id(3));
        *root.child_mut(b"long").child_mut(b"b") = CacheTree::of(2, id(4));
        root
    }

    fn parse(payload: &[u8]) -> Option<CacheTree> {
        CacheTree::parse(payload, ObjectFormat::Sha1)
    }

    #[test]
    fn a_payload_survives_the_round_trip_in_gits_order() {
        for format in ObjectFormat::ALL {
            let mut bytes = Vec::new();
            sample(format).write(&mut bytes);
            assert!(bytes.starts_with(b"\x004 2\n"));
            // Shorter names first, whatever their bytes.
            let z = bytes.windows(3).position(|part| part == b"z\x001");
            let long = bytes.windows(6).position(|part| part == b"long\x003");
            assert!(z.expect("z") < long.expect("long"));
            assert_eq!(CacheTree::parse(&bytes, format), Some(sample(format)));
        }
    }

    #[test]
    fn invalidating_a_path_forgets_its_directories_alone() {
        let mut root = sample(ObjectFormat::Sha1);
        root.invalidate(b"long/b/file");
        assert_eq!(root.valid, None);
        let long = root.child(b"long").expect("kept");
        assert_eq!(long.valid, None);
        assert_eq!(long.child(b"b").expect("kept").valid, None);
        assert!(root.child(b"z").expect("kept").valid.is_some());

        let mut root = sample(ObjectFormat::Sha1);
        root.invalidate(b"long");
        assert_eq!(
            root.child(b"long"),
            None,
            "a file took the directory's place"
        );
    }

    #[test]
    fn what_is_malformed_is_no_cache_tree() {
        let mut whole = Vec::new();
        sample(ObjectFormat::Sha1).write(&mut whole);
        for len in 0..whole.len() {
            assert_eq!(parse(&whole[..len]), None, "{len}");
        }
        whole.push(b'x');
        assert_eq!(parse(&whole), None);
        assert_eq!(parse(b"\x00-1 4294967295\n"), None);
        assert_eq!(parse(b"\x00-1 2\na\x00-1 0\na\x00-1 0\n"), None);
        let bottomless = [&b"\x00-1 1\n"[..], &b"d\x00-1 1\n".repeat(100_000)].concat();
        assert_eq!(parse(&bottomless), None);
    }
}
