//! What packages are made of agrees with the manifest, a release is whole or changes nothing, and the version is the commit's.

use std::path::Path;

use globset::Glob;
use toml::{Table, Value};

use crate::sandbox::{Kind, Sandbox};

#[path = "../../build.rs"]
#[allow(dead_code, reason = "cargo calls the rest")]
mod build;

use build::{FEATURES, MadeOf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn source(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn manifest() -> Table {
    source("Cargo.toml").parse().unwrap()
}

/// The texts of a list, or the first text of each list in it.
fn texts(value: &Value) -> Vec<&str> {
    let each = value.as_array().unwrap().iter();
    each.map(|one| one.as_str().unwrap_or_else(|| one[0].as_str().unwrap()))
        .collect()
}

fn names_in(dir: &str) -> Vec<String> {
    let entries = std::fs::read_dir(root().join(dir)).unwrap();
    entries
        .map(|entry| format!("{dir}/{}", entry.unwrap().file_name().to_str().unwrap()))
        .collect()
}

#[test]
fn the_version_names_every_feature() {
    let manifest = manifest();
    let features = manifest["features"].as_table().unwrap();
    let names: Vec<&String> = features.keys().filter(|name| *name != "default").collect();
    assert_eq!(names, FEATURES.iter().collect::<Vec<_>>());
    assert_eq!(texts(&features["default"]), FEATURES);
    let has = [
        cfg!(feature = "mcp"),
        cfg!(feature = "ui"),
        cfg!(feature = "web"),
    ];
    let built: Vec<&str> = FEATURES
        .into_iter()
        .zip(has)
        .filter(|one| one.1)
        .map(|one| one.0)
        .collect();
    let sandbox = Sandbox::bare_room();
    let version = env!("CARGO_PKG_VERSION");
    let commit = env!("TW_BUILD");
    let built = if built.is_empty() {
        "none".to_owned()
    } else {
        built.join(", ")
    };
    assert_eq!(
        sandbox.ok(["--version"]),
        format!("tw {version}{commit}\nfeatures: {built}\n")
    );
    assert_eq!(sandbox.ok(["-V"]), format!("tw {version}\n"));
}

#[test]
fn what_packages_say_of_tw_is_what_the_manifest_says() {
    let manifest = manifest();
    let package = manifest["package"].as_table().unwrap();
    let text = |name: &str| package[name].as_str().unwrap();
    let (description, license) = (text("description"), text("license"));
    assert_eq!(license, "MIT OR Apache-2.0");
    for path in [
        "packaging/action/action.yml",
        "packaging/homebrew/timewarp.rb.in",
        "flake.nix",
    ] {
        assert!(source(path).contains(description), "{path}");
    }
    assert!(
        source("packaging/homebrew/timewarp.rb.in")
            .contains("license any_of: [\"MIT\", \"Apache-2.0\"]")
    );
    assert!(source("flake.nix").contains("license = with pkgs.lib.licenses; [ mit asl20 ];"));
    let wheel: Table = source("packaging/wheel/pyproject.toml").parse().unwrap();
    assert_eq!(wheel["project"]["license"].as_str(), Some(license));
    assert_eq!(wheel["project"]["keywords"], package["keywords"]);
    let keywords = texts(&package["keywords"]).join("', '");
    assert!(source("packaging/npm/manifests").contains(&format!("keywords: ['{keywords}']")));
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        assert!(!source(licence).is_empty());
    }
    // Every manual page names the version that is released.
    let version = text("version");
    for page in names_in("man") {
        assert!(
            source(&page).contains(&format!("\"tw {version}\"")),
            "{page}"
        );
    }
}

#[test]
fn what_is_packed_has_all_that_is_built_and_installed() {
    let manifest = manifest();
    let package = manifest["package"].as_table().unwrap();
    let globs = |patterns: Vec<&str>| {
        let patterns = patterns
            .into_iter()
            .map(|pattern| pattern.trim_start_matches('/'));
        patterns
            .map(|pattern| Glob::new(pattern).unwrap().compile_matcher())
            .collect::<Vec<_>>()
    };
    let packed = globs(texts(&package["include"]));
    let pages = names_in("man");
    assert!(pages.len() > 50);
    let others = [
        "build.rs",
        "src/main.rs",
        "README.md",
        "CHANGELOG.md",
        "LICENSE-MIT",
        "LICENSE-APACHE",
    ];
    let needed = pages
        .iter()
        .cloned()
        .chain(names_in("completions"))
        .chain(others.map(str::to_owned));
    for path in needed {
        assert!(
            packed.iter().any(|glob| glob.is_match(&path)),
            "{path} is not in the crate"
        );
    }
    for path in [
        "tests/it/main.rs",
        "bench/run",
        "docs/packages.md",
        "packaging/build",
    ] {
        assert!(
            !packed.iter().any(|glob| glob.is_match(path)),
            "{path} is in the crate"
        );
    }
    let deb = &package["metadata"]["deb"];
    let assets = texts(&deb["assets"]);
    let installed = globs(assets.clone());
    for page in &pages {
        assert!(
            installed.iter().any(|glob| glob.is_match(page)),
            "{page} is not in the .deb"
        );
    }
    // What is made by the build is not there yet.
    let made = |path: &&str| path.starts_with("target/") || path.contains('*');
    for path in assets.iter().filter(|path| !made(path)) {
        assert!(root().join(path).is_file(), "{path}");
    }
}

#[test]
fn sources_are_named_after_their_own_commit_alone() {
    let sandbox = Sandbox::unborn();
    let none = MadeOf::default();
    let room = sandbox.root();
    assert_eq!(MadeOf::find(&room), none, "outside of git");
    assert_eq!(MadeOf::find(&sandbox.repo()), none, "no commit yet");
    sandbox.write("src/main.rs", "fn main() {}\n");
    sandbox.write("vendor/tw/src/main.rs", "fn main() {}\n");
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "first"]);
    let id = sandbox.git(["rev-parse", "--short=10", "HEAD"]);
    let id = id.trim_end();
    let found = MadeOf::find(&sandbox.repo());
    assert_eq!(found.commit, format!("{id} 2026-02-28"));
    let log = if sandbox.has_reftable() {
        ".git/reftable/tables.list"
    } else {
        ".git/logs/HEAD"
    };
    assert_eq!(found.watched, ["src", log]);
    assert_eq!(
        MadeOf::find(&sandbox.path("vendor/tw")),
        none,
        "somebody else's repository"
    );
    sandbox.write("notes.txt", "goes into no program\n");
    assert_eq!(MadeOf::find(&sandbox.repo()), found);
    sandbox.write("src/new.rs", "\n");
    assert_eq!(
        MadeOf::find(&sandbox.repo()).commit,
        format!("{id}-modified 2026-02-28")
    );
    // As cargo writes it into a package.
    let info = "{\n  \"git\": {\n    \"sha1\": \"0123456789abcdef0123456789abcdef01234567\"\n  },\n  \"path_in_vcs\": \"\"\n}";
    let package = room.join("package");
    std::fs::create_dir(&package).unwrap();
    let write = |text: &str| std::fs::write(package.join(".cargo_vcs_info.json"), text).unwrap();
    write(info);
    assert_eq!(MadeOf::find(&package).commit, "0123456789");
    write(&info.replace("67\"\n", "67\",\n    \"dirty\": true\n"));
    assert_eq!(MadeOf::find(&package).commit, "0123456789-modified");
    write("{}");
    assert_eq!(MadeOf::find(&package), none);
}

/// A repository with what a release changes, and the script.
fn released() -> Sandbox {
    // A tag is kept from being made by a directory in its place.
    let sandbox = Sandbox::unborn_of(Kind::ref_files());
    let copied = [
        "Cargo.toml",
        "Cargo.lock",
        "packaging/release",
        "man/tw.1",
        "man/tw-travel.1",
    ];
    for path in copied {
        sandbox.write(path, source(path));
    }
    sandbox.chmod("packaging/release", 0o755);
    sandbox.write("CHANGELOG.md", "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- A thing.\n\n## [0.0.9] - 2026-01-01\n\n- Older.\n");
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "first"]);
    sandbox.git(["config", "user.name", "ann"]);
    sandbox.git(["config", "user.email", "ann@localhost"]);
    sandbox
}

fn release(sandbox: &Sandbox, version: &str) -> (i32, String) {
    let mut command = sandbox.command(sandbox.path("packaging/release"));
    let ran = command.arg(version).output().unwrap();
    let text = [ran.stdout, ran.stderr].concat();
    (ran.status.code().unwrap(), String::from_utf8(text).unwrap())
}

/// All that a release could change: refs, index, and the files.
fn all(sandbox: &Sandbox) -> String {
    [
        sandbox.git(["for-each-ref"]),
        sandbox.git(["symbolic-ref", "-q", "HEAD"]),
        sandbox.git(["ls-files", "--stage"]),
        sandbox.git(["status", "--porcelain"]),
        sandbox.git(["diff"]),
    ]
    .concat()
}

#[test]
fn a_release_is_a_version_a_changelog_a_commit_and_a_tag() {
    let sandbox = released();
    let (code, said) = release(&sandbox, "3.14.15");
    assert_eq!(
        (code, said.lines().next()),
        (0, Some("v3.14.15 is committed on main and tagged"))
    );
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
    assert_eq!(
        sandbox.git(["log", "-1", "--format=%an: %s"]),
        "ann: release: 3.14.15\n"
    );
    assert_eq!(
        sandbox.git(["rev-parse", "v3.14.15^{commit}"]),
        sandbox.git(["rev-parse", "HEAD"])
    );
    let notes = sandbox.git(["tag", "--list", "--format=%(contents)", "v3.14.15"]);
    assert_eq!(notes.trim_end(), "tw 3.14.15\n\n### Added\n\n- A thing.");
    let changed: Table = sandbox.text("Cargo.toml").parse().unwrap();
    let mut expected = manifest();
    expected["package"]["version"] = "3.14.15".into();
    assert_eq!(changed, expected);
    let lock: Table = sandbox.text("Cargo.lock").parse().unwrap();
    let mut expected: Table = source("Cargo.lock").parse().unwrap();
    let packages = expected["package"].as_array_mut().unwrap();
    let ours = packages
        .iter_mut()
        .find(|one| one["name"].as_str() == Some("timewarp"));
    ours.unwrap()["version"] = "3.14.15".into();
    assert_eq!(lock, expected);
    for page in ["man/tw.1", "man/tw-travel.1"] {
        let version = concat!("\"tw ", env!("CARGO_PKG_VERSION"), "\"");
        assert_eq!(
            sandbox.text(page),
            source(page).replace(version, "\"tw 3.14.15\"")
        );
    }
    let changelog = sandbox.text("CHANGELOG.md");
    let heading = changelog.lines().nth(4).unwrap().to_owned();
    assert!(heading.starts_with("## [3.14.15] - 20"), "{heading}");
    assert_eq!(
        changelog.replace(&heading, "## [X]"),
        "# Changelog\n\n## [Unreleased]\n\n## [X]\n\n### Added\n\n- A thing.\n\n## [0.0.9] - 2026-01-01\n\n- Older.\n"
    );
    // Nothing new was said since.
    let (code, said) = release(&sandbox, "3.14.16");
    assert_eq!(
        (code, said.as_str()),
        (1, "error: CHANGELOG.md says nothing under [Unreleased]\n")
    );
}

#[test]
fn a_release_that_cannot_be_made_changes_nothing() {
    let sandbox = released();
    let before = all(&sandbox);
    let refused = |version: &str, why: &str| {
        let (code, said) = release(&sandbox, version);
        assert_eq!((code, said.lines().next()), (1, Some(why)));
        assert_eq!(all(&sandbox), before, "{why}");
    };
    refused(
        "v1.0.0",
        "error: 'v1.0.0' is no version; give three numbers, such as 1.2.3",
    );
    refused(
        "0.0.1",
        concat!("error: 0.0.1 is before ", env!("CARGO_PKG_VERSION")),
    );
    sandbox.git(["config", "--unset", "user.email"]);
    refused("9.0.0", "error: git does not know who commits");
    sandbox.git(["config", "user.email", "ann@localhost"]);
    // What a hook refuses, after the files were changed; and what cannot be tagged, after the commit.
    let hook = ".git/hooks/pre-commit";
    sandbox.program(hook, "#!/bin/sh\nexit 1\n");
    refused(
        "9.0.0",
        "error: there is no release; everything is as it was",
    );
    let script = "#!/bin/sh\nmkdir -p .git/refs/tags/v9.0.0.lock\n";
    sandbox.program(hook, script);
    let (code, said) = release(&sandbox, "9.0.0");
    assert!(
        code != 0 && said.ends_with("error: there is no release; everything is as it was\n"),
        "{said}"
    );
    assert_eq!(all(&sandbox), before);
    sandbox.remove(hook);
    sandbox.remove(".git/refs/tags/v9.0.0.lock");
    sandbox.write("man/tw.1", "edited\n");
    let edited = all(&sandbox);
    let (code, said) = release(&sandbox, "9.0.0");
    assert_eq!(
        (code, said.lines().next()),
        (1, Some("error: the working tree differs from its commit"))
    );
    assert_eq!(all(&sandbox), edited);
    sandbox.git(["checkout", "-q", "man"]);
    sandbox.git(["tag", "v9.0.0"]);
    let tagged = all(&sandbox);
    assert_eq!(
        release(&sandbox, "9.0.0"),
        (1, "error: the tag v9.0.0 exists\n".to_owned())
    );
    assert_eq!(all(&sandbox), tagged);
}
