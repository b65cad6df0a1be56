use super::*;

/// The states as `git check-attr` prints them, for the oracle.
pub(in crate::worktree) fn printed(attributes: &DirAttributes, path: &[u8]) -> Vec<String> {
    let values = attributes.values(path);
    let print = |state: Option<&State>| match state {
        None | Some(State::Unspecified) => "unspecified".to_owned(),
        Some(State::Set) => "set".to_owned(),
        Some(State::Unset) => "unset".to_owned(),
        Some(State::Value(value)) => String::from_utf8_lossy(value).into_owned(),
    };
    values[..CONVERTING.len()]
        .iter()
        .map(|state| print(*state))
        .collect()
}

fn root(file: &str, converts_eol: bool) -> DirAttributes {
    let files = AttributeFiles {
        root: Some(file.as_bytes()),
        ..AttributeFiles::default()
    };
    let config = AttributeConfig {
        converts_eol,
        ignore_case: false,
    };
    DirAttributes::root(files, config)
}

#[test]
fn what_does_not_convert_is_trivial() {
    assert!(root("*.c diff=cpp\n*.x merge=ours linguist-generated", false).is_trivial());
    assert!(!root("*.c diff=cpp", true).is_trivial());
    assert!(!root("*.c text", false).is_trivial());
    assert!(!root("[attr]m ident\n*.c m", false).is_trivial());
    assert!(root("[attr]m ident\n*.c diff", false).is_trivial());
}

#[test]
fn a_conversion_names_its_cause() {
    let lfs = root("*.bin filter=lfs diff=lfs merge=lfs -text", false);
    let conversion = lfs.conversion(b"a.bin");
    assert_eq!(conversion.filter.as_deref(), Some(&b"lfs"[..]));
    assert!(!conversion.eol && !conversion.ident && !conversion.encoding);
    assert!(lfs.conversion(b"a.txt").is_none());
    let utf16 = root("*.rc working-tree-encoding=UTF-16", false);
    assert!(utf16.conversion(b"a.rc").encoding);
}

#[test]
fn line_ends_are_in_doubt_unless_a_file_is_binary() {
    for (file, config, expected) in [
        ("a text=auto", false, true),
        ("a eol=lf", false, true),
        ("a crlf", false, true),
        ("a ident", false, true),
        ("a -text eol=lf", false, false),
        ("a -text ident", false, true),
        ("a binary", true, false),
        ("a -crlf", true, false),
        ("a !text", true, true),
        ("", true, true),
        ("", false, false),
    ] {
        let found = root(file, config).conversion(b"a");
        let found = found.eol || found.ident;
        assert_eq!(found, expected, "{file:?}, config {config}");
    }
}

#[test]
fn deeper_files_win_and_cannot_define_macros() {
    let mut attributes = Attributes::new(root("*.txt text\n[attr]lf eol=lf", false), |dir| {
        Ok(match dir {
            b"sub" => Some(b"*.txt -text\n[attr]lf filter=x\n*.y lf".to_vec()),
            _ => None,
        })
    });
    let mut judge = |path: &str| attributes.conversion(path.as_bytes()).expect("loads");
    assert!(judge("other/a.txt").eol);
    assert!(judge("sub/deep/a.txt").is_none());
    assert_eq!(judge("sub/a.y").filter, None);
    assert!(judge("sub/a.y").eol);
}
