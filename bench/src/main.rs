//! Measures `tw` against other ways to keep a working tree. See `bench/run`.
#![allow(
    clippy::disallowed_methods,
    reason = "a tool for a developer: it reads its environment and writes its report by itself"
)]

mod case;
mod libgit2;
mod measure;
mod report;
mod route;
mod tree;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use case::{Bench, Change, NONE, Result_};
use measure::Background;
use route::{Lab, ROUTES, Route, sh, words};

struct Options {
    tw: PathBuf,
    out: PathBuf,
    dir: Option<PathBuf>,
    trees: Vec<usize>,
    big: bool,
    runs: usize,
    cases: Vec<String>,
    routes: Vec<String>,
}

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let measured = words.first().and_then(|word| Background::of(word));
    let done = match (words.split_first(), measured) {
        (Some((_, rest)), Some(background)) => {
            measure::inner(rest, background).map_err(|error| error.to_string())
        }
        (Some((first, rest)), None) if first == "libgit2" => libgit2::run(rest),
        _ => options(&words).and_then(|options| run(&options)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn options(words: &[OsString]) -> Result<Options, String> {
    let mut options = Options {
        tw: "tw".into(),
        out: "performance.md".into(),
        dir: None,
        trees: vec![10_000, 90_000],
        big: false,
        runs: 5,
        cases: Vec::new(),
        routes: Vec::new(),
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let word = word.to_string_lossy();
        if word == "--big" {
            options.big = true;
            continue;
        }
        let value = words
            .next()
            .ok_or(format!("'{word}' is not known, or lacks its value"))?;
        let text = value.to_string_lossy();
        let list = || text.split(',').map(str::to_owned).collect::<Vec<_>>();
        let number = |text: &str| {
            text.parse::<usize>()
                .map_err(|_| format!("'{text}' is no number"))
        };
        match &*word {
            "--tw" => options.tw = value.into(),
            "--out" => options.out = value.into(),
            "--dir" => options.dir = Some(value.into()),
            "--runs" => options.runs = number(&text)?.max(1),
            "--cases" => options.cases = list(),
            "--routes" => options.routes = list(),
            "--trees" => {
                options.trees = list()
                    .iter()
                    .map(|text| number(text))
                    .collect::<Result<_, _>>()?
            }
            _ => return Err(format!("'{word}' is not known; see the top of bench/run")),
        }
    }
    options.tw = options
        .tw
        .canonicalize()
        .map_err(|error| format!("{}: {error}", options.tw.display()))?;
    Ok(options)
}

fn run(options: &Options) -> Result<(), String> {
    let say = |error: std::io::Error| error.to_string();
    let temporary = std::env::temp_dir().join(format!("tw-bench-{}", std::process::id()));
    let dir = options.dir.clone().unwrap_or_else(|| temporary.clone());
    fs::create_dir_all(&dir).map_err(say)?;
    let registry = tree::registry();
    let home = dir.join("home");
    fs::create_dir_all(&home).map_err(say)?;
    fs::write(
        home.join(".gitconfig"),
        "[user]\nname = bench\nemail = bench@localhost\n[gc]\nauto = 0\n[timewarp]\nmaxFileSize = 2g\n",
    )
    .map_err(say)?;
    // SAFETY: no other thread runs yet.
    unsafe {
        std::env::set_var("HOME", &home);
        std::env::set_var("GIT_CONFIG_NOSYSTEM", "1");
        std::env::set_var("TW_NO_BACKGROUND", "1");
    }
    let mut text = String::from(HEAD);
    for route in ROUTES {
        let _ = writeln!(text, "* **{}**: {}", route.name(), route.says());
    }
    let mut machine = String::new();
    let big = options.big.then_some((500_000, true));
    for (count, made_up) in options.trees.iter().map(|count| (*count, false)).chain(big) {
        let lab = Lab {
            tree: dir.join(format!("tree-{count}")),
            side: dir.join(format!("side-{count}")),
            tw: options.tw.clone(),
        };
        let (results, source) = tree(
            options,
            &lab,
            count,
            registry.as_deref().filter(|_| !made_up),
        )?;
        let table = report::table(&results);
        println!("{count} files\n{table}");
        let _ = write!(text, "\n## {count} files\n\n{source}.\n\n{table}");
        machine = report::machine(&lab);
    }
    if options.wants("many") {
        let lab = Lab {
            tree: dir.join("many"),
            side: dir.join("side-many"),
            tw: options.tw.clone(),
        };
        let table = report::table(&many(options, &lab)?);
        println!("10,000 snapshots\n{table}");
        let _ = write!(
            text,
            "\n## 10,000 snapshots kept\n\nOf a tree of 20 files.\n\n{table}"
        );
    }
    let _ = write!(text, "\n## The machine\n\n{machine}\n");
    // Above this line everything is written by the run, below it nothing is.
    let old = fs::read_to_string(&options.out).unwrap_or_default();
    if let Some(at) = old.find(BY_HAND) {
        let _ = write!(text, "\n{}", &old[at..]);
    }
    fs::write(&options.out, text).map_err(say)?;
    if options.dir.is_none() {
        fs::remove_dir_all(&temporary).map_err(say)?;
    }
    Ok(())
}

/// What follows it in the file is kept.
const BY_HAND: &str = "<!-- written by hand -->";

const HEAD: &str = "# Speed

Written by `bench/run`; run it to have the figures of your own machine. Each cell: wall ms / processor ms / peak MiB of the
largest process, medians of whole processes; in bold how many times the wall time of `tw` that is (then the processor time),
the median of paired runs: in every round all routes run in turn, each after an unmeasured run of its own on the same base. What was written
before a travel or return is on disk; the processor time of those of `tw` is with that of the process which they leave in the background. The stat
floor is the time to `lstat` every file with all cores, taken in the same rounds. Every state that was recorded or restored
is compared with what git alone finds there; a wrong one would have ended the run.

S0: nothing changed. S1: 10 files changed, 5 new. S2: 1,000 changed. S3: 20,000 new files; S3B: one new file of 500 MB. first: the
first snapshot of a clean clone. R1, R2, R3: 10, 1,000 and 20,000 files differ.

";

impl Options {
    fn wants(&self, case: &str) -> bool {
        self.cases.is_empty() || self.cases.iter().any(|wanted| wanted == case)
    }
}

/// Makes a repository of a tree, once for each directory.
fn lay_out(
    lab: &Lab,
    fill: impl FnOnce(&Path) -> std::io::Result<tree::Tree>,
) -> Result<tree::Tree, String> {
    let fresh = !lab.tree.join(".git").exists();
    fs::create_dir_all(&lab.tree)
        .and_then(|()| fs::create_dir_all(&lab.side))
        .map_err(|error| error.to_string())?;
    let tree = fill(&lab.tree).map_err(|error| error.to_string())?;
    if fresh {
        sh(
            lab,
            "git init -q -b main && git add -A && git commit -q -m base && git repack -adq && git update-index -q --refresh",
        )?;
    }
    Ok(tree)
}

fn tree(
    options: &Options,
    lab: &Lab,
    count: usize,
    registry: Option<&Path>,
) -> Result<(Vec<Result_>, String), String> {
    eprintln!("making {count} files");
    let fill = |root: &Path| tree::fill(root, count, registry);
    let tree = lay_out(lab, fill)?;
    let named = |route: &Route| {
        options.routes.is_empty() || options.routes.iter().any(|name| name == route.name())
    };
    let routes: Vec<_> = ROUTES
        .into_iter()
        .filter(|route| named(route) && route.is_installed())
        .collect();
    for route in &routes {
        route.prepare(lab)?;
    }
    let bench = Bench {
        lab,
        tree: &tree,
        routes,
        runs: options.runs,
    };
    let few = Bench {
        lab,
        tree: &tree,
        routes: bench.routes.clone(),
        runs: options.runs.min(3),
    };
    let changed = |changed, added, large| Change {
        changed,
        added,
        large,
    };
    let many = 20_000.min(count);
    let mut results = Vec::new();
    let mut note = |case: &str, made: Result<Vec<Result_>, String>| {
        eprintln!("{count}: {case}");
        made.map(|made| results.extend(made))
            .map_err(|error| format!("{case}: {error}"))
    };
    let one = |result: Result<Result_, String>| result.map(|result| vec![result]);
    if options.wants("first") {
        note("first", one(bench.first()))?;
    }
    if options.wants("S0") {
        note("S0", one(bench.snapshots("S0", NONE)))?;
    }
    if options.wants("S1") {
        note("S1", one(bench.snapshots("S1", changed(10, 5, 0))))?;
    }
    if options.wants("S2") {
        note(
            "S2",
            one(bench.snapshots("S2", changed(1000.min(count), 0, 0))),
        )?;
    }
    if options.wants("R1") {
        note("R1", bench.travels("R1", changed(10, 0, 0)))?;
    }
    if options.wants("R2") {
        note("R2", bench.travels("R2", changed(1000.min(count), 0, 0)))?;
    }
    if options.wants("hook") && words(lab, "\"$TW\" hook --help").is_ok() {
        note("hook", one(bench.hook()))?;
    } else if options.wants("hook") {
        eprintln!("{count}: hook: this tw has none yet, left out");
    }
    if options.wants("R3") && count < 200_000 {
        note("R3", few.travels("R3", changed(many, 0, 0)))?;
    }
    if options.wants("S3") && count < 200_000 {
        note("S3", one(few.snapshots("S3", changed(0, 20_000, 0))))?;
    }
    if options.wants("S3B") && count < 200_000 {
        note("S3B", one(few.snapshots("S3B", changed(0, 0, 500))))?;
    }
    Ok((results, tree.source.clone()))
}

/// What grows with the number of snapshots kept must not.
fn many(options: &Options, lab: &Lab) -> Result<Vec<Result_>, String> {
    eprintln!("taking 10,000 snapshots");
    let tree = lay_out(lab, |root| tree::synthetic(root, 20))?;
    let bench = Bench {
        lab,
        tree: &tree,
        routes: vec![Route::Tw],
        runs: options.runs,
    };
    let mut results = Vec::new();
    for (count, upkeep) in [(10, false), (10_000, false), (10_000, true)] {
        let kept = words(lab, "git for-each-ref refs/timewarp/snapshots | wc -l")?;
        let kept: usize = kept.parse().unwrap_or(0);
        sh(
            lab,
            &format!(
                "n={kept}; while [ $n -lt {count} ]; do \"$TW\" -q snapshot >/dev/null; n=$((n + 1)); done"
            ),
        )?;
        if upkeep {
            // What stands in the background otherwise: here it would be measured with whatever runs beside it.
            sh(lab, "\"$TW\" __background")?;
        }
        let id = Route::Tw.last(lab)?;
        for args in [
            &["-q", "snapshot"][..],
            &["list", "-n", "20"],
            &["list", "-n", "1000000"],
            &["show", &id],
        ] {
            let case = format!(
                "{count} kept{}: {}",
                if upkeep { ", refs packed" } else { "" },
                args.join(" ").replace(&id, "ID").replace("1000000", "all")
            );
            results.push(bench.tw_alone(&case, args)?);
        }
    }
    Ok(results)
}
