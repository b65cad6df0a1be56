//! Merging, by properties: any edits on any number of repositories, in any order of exchange, end in the same bytes everywhere.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::fields::{Fields, Kind};
use super::record::{Author, Shared, Unreadable};
use crate::env::Moment;

const ID: &str = "i_20260228_153012_ab12cd";

fn author(number: usize) -> Author {
    Author {
        by: format!("repository{number}"),
        name: Some(format!("P{number}")),
    }
}

/// One repository: its record as its commands see it, and what it shares.
#[derive(Debug, Clone, Default)]
struct Place {
    fields: Fields,
    shared: Shared,
    is_deleted: bool,
}

#[derive(Debug, Clone)]
enum Step {
    Set {
        place: usize,
        field: usize,
        value: u8,
        at: i64,
    },
    Remove {
        place: usize,
        field: usize,
    },
    Delete {
        place: usize,
    },
    /// `place` knows no more what was exchanged.
    Forget {
        place: usize,
    },
    /// What `place` has not shared yet becomes an edit, and it takes in what `from` has shared.
    Take {
        place: usize,
        from: usize,
    },
}

const FIELDS: [&str; 8] = [
    "symptom",
    "severity",
    "experiment/repro",
    "comments/c_1",
    "comments/c_2",
    "updated_at",
    "runs/r_1",
    "base_verify",
];
const PLACES: usize = 4;

fn step() -> impl Strategy<Value = Step> {
    let place = 0..PLACES;
    prop_oneof![
        6 => (place.clone(), 0..FIELDS.len(), 0..4u8, 0..4i64)
            .prop_map(|(place, field, value, at)| Step::Set { place, field, value, at }),
        2 => (place.clone(), 0..FIELDS.len()).prop_map(|(place, field)| Step::Remove { place, field }),
        1 => place.clone().prop_map(|place| Step::Delete { place }),
        1 => place.clone().prop_map(|place| Step::Forget { place }),
        6 => (place.clone(), place).prop_map(|(place, from)| Step::Take { place, from }),
    ]
}

impl Place {
    fn share(&mut self, number: usize, at: i64) {
        let at = Moment::of_seconds(1_772_292_600 + at);
        if self.is_deleted {
            if self.shared != Shared::default() && self.shared.deletion().is_none() {
                self.shared.delete(at, &author(number));
            }
            return;
        }
        self.shared.edit([(&self.fields, at)], &author(number));
    }

    fn forget(&mut self, number: usize, at: i64) {
        let at = Moment::of_seconds(1_772_292_600 + at);
        self.shared = Shared::forgotten(&self.fields, at, &author(number));
    }

    fn take(&mut self, other: &Shared) {
        self.shared = self.shared.merge(other);
        if self.shared.deletion().is_none() {
            self.fields = self.shared.view();
            self.is_deleted = false;
        }
    }
}

fn run(steps: &[Step]) -> Vec<Place> {
    let mut places = vec![Place::default(); PLACES];
    for (number, step) in steps.iter().enumerate() {
        let now = i64::try_from(number).expect("few steps");
        match step {
            Step::Set {
                place,
                field,
                value,
                at,
            } => {
                let name = FIELDS[*field];
                places[*place]
                    .fields
                    .insert(name.to_owned(), json!(format!("{value}")));
                places[*place].is_deleted = false;
                // Every other edit waits for the next exchange.
                if at % 2 == 0 {
                    places[*place].share(*place, *at);
                }
            }
            Step::Remove { place, field } => drop(places[*place].fields.remove(FIELDS[*field])),
            Step::Delete { place } => places[*place].is_deleted = true,
            Step::Forget { place } => places[*place].forget(*place, now),
            Step::Take { place, from } => {
                places[*place].share(*place, now);
                let other = places[*from].shared.clone();
                places[*place].take(&other);
            }
        }
    }
    places
}

fn merged<'a>(shared: impl Iterator<Item = &'a Shared>) -> Shared {
    shared.fold(Shared::default(), |merged, one| merged.merge(one))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_edits_in_any_order_end_in_the_same_bytes(
        steps in prop::collection::vec(step(), 0..60),
        order in Just((0..PLACES).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let mut places = run(&steps);
        for (number, place) in places.iter_mut().enumerate() {
            place.share(number, 100);
        }
        // Everybody hears of everybody, each in an order of its own, some of them twice.
        let mut ends = Vec::new();
        for (number, place) in places.iter().enumerate() {
            let mut heard = place.clone();
            for at in 0..2 * PLACES {
                heard.take(&places[order[(at * (number + 1)) % PLACES]].shared);
            }
            for from in &order {
                heard.take(&places[*from].shared);
            }
            ends.push(heard);
        }
        for kind in Kind::ALL {
            let bytes: Vec<Vec<u8>> = ends.iter().map(|end| end.shared.encode(kind, ID)).collect();
            prop_assert!(bytes.windows(2).all(|pair| pair[0] == pair[1]));
        }
        // And nobody has an edit to make of what it then has.
        for (number, end) in ends.iter_mut().enumerate() {
            let before = end.shared.clone();
            if before.deletion().is_none() && before != Shared::default() {
                end.share(number, 200);
                prop_assert_eq!(&before, &end.shared);
            }
        }
    }

    #[test]
    fn merging_is_commutative_associative_and_idempotent(steps in prop::collection::vec(step(), 0..60)) {
        let places = run(&steps);
        let all: Vec<&Shared> = places.iter().map(|place| &place.shared).collect();
        for a in &all {
            prop_assert_eq!(&a.merge(a), *a);
            for b in &all {
                let both = a.merge(b);
                prop_assert_eq!(&both, &b.merge(a));
                prop_assert_eq!(&both.merge(a), &both);
                for c in &all {
                    prop_assert_eq!(&both.merge(c), &a.merge(&b.merge(c)));
                }
            }
        }
    }

    #[test]
    fn what_is_written_is_read_again(steps in prop::collection::vec(step(), 0..60)) {
        for place in run(&steps) {
            if place.shared == Shared::default() {
                continue;
            }
            for kind in Kind::ALL {
                let bytes = place.shared.encode(kind, ID);
                let read = Shared::decode(kind, ID, &bytes);
                prop_assert_eq!(read.as_ref(), Ok(&place.shared));
            }
        }
    }

    #[test]
    fn no_value_that_was_set_last_is_lost(steps in prop::collection::vec(step(), 0..60)) {
        let mut places = run(&steps);
        let before: Vec<Fields> = places.iter().map(|place| place.shared.view()).collect();
        let knew: Vec<Shared> = places.iter().map(|place| place.shared.clone()).collect();
        for (number, place) in places.iter_mut().enumerate() {
            place.share(number, 100);
        }
        let all = merged(places.iter().map(|place| &place.shared));
        let view = all.view();
        for (number, place) in places.iter().enumerate() {
            if place.is_deleted {
                continue;
            }
            for (name, value) in &place.fields {
                // Set here just now, so that nobody can have replaced it.
                let is_fresh = before[number].get(name) != Some(value) && knew[number] != place.shared;
                let is_kept = all.conflicts().iter().any(|lost| lost.field == name && lost.value == value);
                let is_greatest = name == "updated_at";
                prop_assert!(!is_fresh || is_greatest || is_kept || view.get(name) == Some(value), "{} {}", name, value);
            }
        }
    }

    #[test]
    fn bytes_from_anybody_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(Shared::decode(Kind::Issue, ID, &bytes).is_err());
    }
}

fn at(seconds: i64) -> Moment {
    Moment::of_seconds(1_772_292_600 + seconds)
}

fn fields(pairs: &[(&str, &str)]) -> Fields {
    let pairs = pairs.iter();
    pairs
        .map(|(name, value)| ((*name).to_owned(), json!(value)))
        .collect()
}

fn made(pairs: &[(&str, &str)]) -> Shared {
    let mut shared = Shared::default();
    shared.edit([(&fields(pairs), at(0))], &author(0));
    assert!(shared.says(&fields(pairs)));
    shared
}

#[test]
fn an_unchanged_side_loses_and_nothing_is_a_conflict() {
    let base = made(&[("symptom", "s"), ("severity", "low")]);
    let (mut one, mut other) = (base.clone(), base.clone());
    one.edit(
        [(&fields(&[("symptom", "one"), ("severity", "low")]), at(9))],
        &author(1),
    );
    other.edit(
        [(&fields(&[("symptom", "s"), ("severity", "high")]), at(5))],
        &author(2),
    );
    let both = one.merge(&other);
    assert_eq!(
        both.view(),
        fields(&[("symptom", "one"), ("severity", "high")])
    );
    assert!(both.conflicts().is_empty());
}

#[test]
fn the_higher_revision_wins_then_the_time_then_the_id_and_the_other_is_kept() {
    let base = made(&[("symptom", "s")]);
    let (mut one, mut other) = (base.clone(), base.clone());
    one.edit([(&fields(&[("symptom", "first")]), at(1))], &author(1));
    one.edit([(&fields(&[("symptom", "second")]), at(2))], &author(1));
    other.edit([(&fields(&[("symptom", "late")]), at(9))], &author(2));
    let both = one.merge(&other);
    assert_eq!(both.view(), fields(&[("symptom", "second")]));
    let lost: Vec<(&str, &Value)> = both
        .conflicts()
        .iter()
        .map(|lost| (lost.field, lost.value))
        .collect();
    assert_eq!(lost, [("symptom", &json!("late"))]);

    let mut third = base.clone();
    third.edit([(&fields(&[("symptom", "early")]), at(3))], &author(3));
    let both = other.merge(&third);
    assert_eq!(
        both.view(),
        fields(&[("symptom", "late")]),
        "of one revision the later"
    );

    // Who knows both and sets the field again has decided.
    let mut decided = both;
    decided.edit([(&fields(&[("symptom", "early")]), at(20))], &author(3));
    assert!(decided.merge(&other).merge(&third).conflicts().is_empty());
}

#[test]
fn what_was_taken_out_stays_out_and_what_was_added_stays_in() {
    let base = made(&[("comments/c_1", "1"), ("comments/c_2", "2")]);
    let (mut one, mut other) = (base.clone(), base.clone());
    one.edit([(&fields(&[("comments/c_1", "1")]), at(1))], &author(1));
    other.edit(
        [(
            &fields(&[
                ("comments/c_1", "1"),
                ("comments/c_2", "2"),
                ("comments/c_3", "3"),
            ]),
            at(2),
        )],
        &author(2),
    );
    let expected = fields(&[("comments/c_1", "1"), ("comments/c_3", "3")]);
    assert_eq!(one.merge(&other).view(), expected);
    assert_eq!(one.merge(&other).merge(&base).view(), expected);
}

#[test]
fn an_edit_beside_or_after_a_deletion_brings_the_record_back_with_a_mark() {
    let base = made(&[("symptom", "s")]);
    let mut deleted = base.clone();
    deleted.delete(at(5), &author(1));
    assert!(deleted.deletion().is_some());
    assert!(
        base.merge(&deleted).deletion().is_some(),
        "who changed nothing loses"
    );

    let mut beside = base.clone();
    beside.edit([(&fields(&[("symptom", "t")]), at(1))], &author(2));
    let mut after = deleted.clone();
    after.edit([(&fields(&[("symptom", "u")]), at(9))], &author(2));
    for revived in [deleted.merge(&beside), after] {
        assert!(revived.deletion().is_none());
        assert_eq!(revived.revived_from().len(), 1);
        let text = String::from_utf8(revived.encode(Kind::Issue, ID)).expect("text");
        assert!(
            text.contains("\"revived\"") && !text.contains("\"deleted\""),
            "{text}"
        );
    }
}

#[test]
fn fields_of_the_file_that_are_not_known_are_kept_and_a_newer_version_is_refused() {
    let shared = made(&[("symptom", "s")]);
    let bytes = shared.encode(Kind::Issue, ID);
    let mut file: BTreeMap<String, Value> = serde_json::from_slice(&bytes).expect("an object");
    file.insert("later".to_owned(), json!({"a": 1}));
    let with_more = serde_json::to_vec(&file).expect("bytes");
    let read = Shared::decode(Kind::Issue, ID, &with_more).expect("a record");
    let merged = shared.merge(&read).encode(Kind::Issue, ID);
    assert!(
        String::from_utf8(merged)
            .expect("text")
            .contains("\"later\"")
    );

    file.insert("version".to_owned(), json!(2));
    let newer = serde_json::to_vec(&file).expect("bytes");
    assert_eq!(
        Shared::decode(Kind::Issue, ID, &newer),
        Err(Unreadable::Newer(2))
    );
}

#[test]
fn what_is_no_record_is_refused() {
    let bytes = made(&[("symptom", "s")]).encode(Kind::Issue, ID);
    let good: Value = serde_json::from_slice(&bytes).expect("an object");
    let edit = good["edits"]
        .as_object()
        .expect("edits")
        .keys()
        .next()
        .expect("one")
        .clone();
    let spoil = |change: &dyn Fn(&mut Value)| {
        let mut bad = good.clone();
        change(&mut bad);
        let bytes = serde_json::to_vec(&bad).expect("bytes");
        Shared::decode(Kind::Issue, ID, &bytes).is_err()
    };
    assert!(!spoil(&|_| {}));
    assert!(spoil(&|bad| bad["id"] = json!("i_20260228_153012_ab12ce")));
    assert!(spoil(&|bad| bad["kind"] = json!("chat")));
    assert!(spoil(&|bad| bad["edits"] = json!({})));
    assert!(spoil(
        &|bad| bad["edits"][&edit]["revision"] = json!(u64::MAX)
    ));
    assert!(spoil(&|bad| bad["edits"][&edit]["at"] = json!("9999")));
    assert!(spoil(
        &|bad| bad["edits"]["../../etc"] = bad["edits"][&edit].clone()
    ));
    assert!(spoil(
        &|bad| bad["fields"]["symptom"]["edits"] = json!(["0000000000000000"])
    ));
    assert!(spoil(&|bad| bad["fields"]["symptom"] = json!("s")));
    assert!(spoil(
        &|bad| bad["fields"]["x".repeat(1000)] = bad["fields"]["symptom"].clone()
    ));
    assert!(spoil(
        &|bad| bad["deletions"] = json!({"0000000000000000": []})
    ));
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let text = String::from_utf8(bytes)
        .expect("text")
        .replace("\"s\"", &deep);
    assert!(Shared::decode(Kind::Issue, ID, text.as_bytes()).is_err());
}
