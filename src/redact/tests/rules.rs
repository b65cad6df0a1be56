//! Every row of the table, tried on its example and its counter-example.

use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;

use serde::Deserialize;

use super::{Counts, Redactor};
use crate::redact::rules::{Form, Looks, ROWS, Row};

/// What shows that a row works.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Texts {
    /// Holds a secret of the row's format.
    pub(super) example: String,
    /// Looks like it and holds none.
    counter: String,
}

/// The texts of each row, by its id.
pub(super) static EXAMPLES: LazyLock<BTreeMap<String, Texts>> = LazyLock::new(|| {
    toml::from_str(&include_str!("examples.toml").replace('·', "")).expect("two texts a row")
});

/// A row as TOML has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    id: String,
    keywords: Vec<String>,
    form: String,
    pattern: String,
    entropy: f32,
    length: Option<usize>,
    looks: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    rule: Vec<Fields>,
}

#[test]
fn the_table_is_read_as_toml_has_it() {
    let table: Table = toml::from_str(include_str!("../rules.toml")).expect("TOML");
    assert_eq!(table.rule.len(), ROWS.len());
    for (row, ours) in table.rule.iter().zip(ROWS.iter()) {
        let rule = ours.rule();
        let form = match row.form.as_str() {
            "prefix" => Form::Prefix,
            "near" => Form::Near,
            "around" => Form::Around,
            other => panic!("{}: form '{other}'", row.id),
        };
        assert_eq!((row.id.as_str(), form), (rule.id, rule.form));
        assert!(ours.keywords().eq(row.keywords.iter()), "{}", row.id);
        assert_eq!(row.pattern, rule.pattern, "{}", row.id);
        assert_eq!(row.entropy.to_bits(), rule.entropy.to_bits(), "{}", row.id);
        assert_eq!(row.length.unwrap_or(0), rule.length, "{}", row.id);
        let looks = row
            .looks
            .as_deref()
            .map(|name| Looks::named(name).expect("known"));
        assert_eq!(looks.unwrap_or_default(), rule.looks, "{}", row.id);
        assert_eq!(row.length.is_some(), form == Form::Prefix, "{}", row.id);
    }
}

#[test]
fn there_are_many_kinds_and_every_pattern_compiles() {
    assert!(ROWS.len() > 500);
    let ids: HashSet<&str> = ROWS.iter().map(|row| row.rule().id).collect();
    assert_eq!(ids.len(), ROWS.len(), "an id stands twice");
    for rule in ROWS.iter().map(Row::rule) {
        assert_eq!(rule.find(b"", 0..0), None, "{}", rule.id);
    }
}

#[test]
fn every_row_has_its_examples() {
    let mut ids: Vec<&str> = ROWS.iter().map(|row| row.rule().id).collect();
    ids.sort_unstable();
    assert!(
        EXAMPLES.keys().eq(ids),
        "rules.toml and examples.toml differ"
    );
}

#[test]
fn every_row_finds_its_example() {
    let redactor = Redactor::new();
    let missed: Vec<&str> = EXAMPLES
        .iter()
        .filter(|(_, texts)| redactor.text(&texts.example).counts.is_empty())
        .map(|(id, _)| id.as_str())
        .collect();
    assert_eq!(missed, Vec::<&str>::new());
}

#[test]
fn every_row_leaves_its_counter_example() {
    let redactor = Redactor::new();
    let touched: Vec<(&str, String)> = EXAMPLES
        .iter()
        .map(|(id, texts)| (id.as_str(), texts, redactor.text(&texts.counter).text))
        .filter(|(_, texts, text)| *text != texts.counter)
        .map(|(id, _, text)| (id, text))
        .collect();
    assert_eq!(touched, Vec::new());
}

#[test]
fn nearly_every_row_gives_its_name() {
    let redactor = Redactor::new();
    let others: Vec<(&str, Counts)> = EXAMPLES
        .iter()
        .map(|(id, texts)| (id.as_str(), redactor.text(&texts.example).counts))
        .filter(|(id, counts)| !counts.contains_key(*id))
        .collect();
    assert!(others.len() * 20 < ROWS.len(), "{others:#?}");
}
