//! Inside `ops`: verbs do not know each other, and a swap knows nothing above it.
//!
//! A verb is a module of `ops` with a command of its name: no other module uses it. Nothing that a swap uses uses a swap, and
//! no module uses itself by way of others.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{Source, sources};

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

/// Modules that use a verb.
fn above_a_verb(sources: &[Source], verbs: &BTreeSet<String>) -> Vec<String> {
    let mut found = Vec::new();
    for (from, used) in graph(sources) {
        let known = used.into_iter().filter(|to| verbs.contains(to));
        found.extend(known.map(|to| format!("{from} uses {to}")));
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
fn no_module_uses_a_verb() {
    assert_eq!(above_a_verb(&sources(), &verbs()), [""; 0]);
}

#[test]
fn no_module_uses_itself_by_way_of_others() {
    assert_eq!(in_cycles(&sources()), [""; 0]);
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
    assert_eq!(
        above_a_verb(&made, &verbs),
        ["swap uses list", "travel uses undo"]
    );
    assert_eq!(above_a_swap(&made, &verbs), ["list", "shared"]);
    assert_eq!(in_cycles(&made), ["shared", "swap"]);
}
