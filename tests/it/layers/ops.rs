//! Inside `ops`: verbs do not know each other, and a swap knows nothing above it.
//!
//! A verb is a module of `ops` with a command of its name. Nothing that a swap uses is a verb, or uses a swap. What breaks the other
//! rules today is counted, and the counts only fall: whoever takes one away writes the new count down.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{Source, sources};

/// Pairs of verbs of which one uses the other.
const VERBS_THAT_KNOW_VERBS: usize = 31;
/// Modules that use themselves by way of others.
const IN_CYCLES: usize = 8;

/// What each module of `ops` uses of the others.
type Graph = BTreeMap<String, BTreeSet<String>>;

fn graph(sources: &[Source]) -> Graph {
    let in_ops = |path: &[String]| (path.len() > 1 && path[0] == "ops").then(|| path[1].clone());
    let modules: BTreeSet<String> = sources
        .iter()
        .filter_map(|source| in_ops(&source.module()))
        .collect();
    let mut graph = Graph::new();
    for source in sources {
        let Some(own) = in_ops(&source.module()) else {
            continue;
        };
        let used = source.uses().into_iter().filter_map(|path| in_ops(&path));
        let others = used.filter(|used| *used != own && modules.contains(used));
        graph.entry(own.clone()).or_default().extend(others);
    }
    graph
}

/// Everything that a module uses, and what that uses.
fn reach(graph: &Graph, from: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut pending = vec![from];
    while let Some(at) = pending.pop() {
        for used in graph.get(at).into_iter().flatten() {
            if found.insert(used.clone()) {
                pending.push(used);
            }
        }
    }
    found
}

/// Every command, as its module is called.
fn verbs() -> BTreeSet<String> {
    let tree = timewarp::cli::args::tree();
    let names = tree.get_subcommands().map(clap::Command::get_name);
    names
        .map(|name| match name {
            "return" => "return_".to_owned(),
            name => name.replace('-', "_"),
        })
        .collect()
}

fn verbs_that_know_verbs(sources: &[Source], verbs: &BTreeSet<String>) -> Vec<String> {
    let mut found = Vec::new();
    for (from, used) in graph(sources) {
        let known = used.into_iter().filter(|to| verbs.contains(to));
        if verbs.contains(&from) {
            found.extend(known.map(|to| format!("{from} uses {to}")));
        }
    }
    found
}

/// What a swap uses, directly or not, that is a verb or uses a swap.
fn above_a_swap(sources: &[Source], verbs: &BTreeSet<String>) -> Vec<String> {
    let graph = graph(sources);
    let used = reach(&graph, "swap").into_iter();
    let is_above = |module: &String| {
        module != "swap" && (verbs.contains(module) || reach(&graph, module).contains("swap"))
    };
    used.filter(is_above).collect()
}

fn in_cycles(sources: &[Source]) -> Vec<String> {
    let graph = graph(sources);
    let turns = |module: &&String| reach(&graph, module).contains(*module);
    graph.keys().filter(turns).cloned().collect()
}

#[test]
fn no_more_of_ops_is_tangled_than_was() {
    let sources = sources();
    for (what, found, limit) in [
        (
            "verbs that know verbs",
            verbs_that_know_verbs(&sources, &verbs()),
            VERBS_THAT_KNOW_VERBS,
        ),
        ("in cycles", in_cycles(&sources), IN_CYCLES),
    ] {
        let count = found.len();
        assert!(
            count <= limit,
            "{what}: {count}, more than {limit}:\n{}",
            found.join("\n")
        );
    }
}

#[test]
fn a_swap_uses_nothing_above_it() {
    assert_eq!(above_a_swap(&sources(), &verbs()), [""; 0]);
}

#[test]
fn every_kind_of_tangle_is_found() {
    let made: Vec<Source> = [
        ("ops/travel.rs", "use super::undo; use super::swap::Swap;"),
        ("ops/undo.rs", "use crate::ops::shared::{a, b};"),
        ("ops/shared.rs", "use super::swap;"),
        ("ops/list.rs", "use crate::error;"),
        ("ops/swap/mod.rs", "use crate::error; mod plan;"),
        (
            "ops/swap/plan.rs",
            "use super::super::shared::a; use crate::ops::list;",
        ),
    ]
    .into_iter()
    .map(|(path, text)| Source::new(path, text))
    .collect();
    let verbs = ["list", "travel", "undo"].map(str::to_owned).into();
    assert_eq!(verbs_that_know_verbs(&made, &verbs), ["travel uses undo"]);
    assert_eq!(above_a_swap(&made, &verbs), ["list", "shared"]);
    assert_eq!(in_cycles(&made), ["shared", "swap"]);
}
