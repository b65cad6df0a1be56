//! What the page asks for: one name, one JSON document in, one out.

use std::sync::TryLockError;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::act;
use super::http::{Request, Response};
use super::server::Shared;
use crate::error::{Error, Result};
use crate::ops::Context;
use crate::ops::timeline::{EntryKind, Filter};
use crate::ops::web::{self, ChangeKey, Key, Rest, ShownChange, Subject};
use crate::progress::Silent;
use crate::text::foreign_json;
use crate::wire;

/// This many entries are given at a time.
const ENTRIES: usize = 100;
/// This many hits of a search.
const HITS: &str = "300";
/// This many lines of a path.
const LINES: usize = 400;

/// What the page begins with.
pub fn begin(shared: &Shared) -> Value {
    let minutes = |idle: Duration| idle.as_secs().div_ceil(60);
    json!({
        "live": true,
        "allow_changes": shared.actions.is_some(),
        "idle_minutes": minutes(shared.serve.idle),
        "kinds": EntryKind::ALL,
        "limit": shared.serve.filter.limit,
    })
}

/// Which entries the page wants.
#[derive(Deserialize)]
struct Entries {
    /// Those after this one.
    after: Option<Key>,
    /// Those with this in their text.
    grep: Option<String>,
    /// Those of these kinds.
    #[serde(default)]
    kinds: Vec<EntryKind>,
}

/// An entry, or what it changed from this place on.
#[derive(Deserialize)]
struct One {
    #[serde(flatten)]
    of: Subject,
    #[serde(default)]
    from: usize,
    /// What all that it changed was, when it goes on.
    key: Option<ChangeKey>,
}

/// The lines of a change from this one on.
#[derive(Deserialize)]
struct Read {
    #[serde(flatten)]
    of: Subject,
    change: ShownChange,
    #[serde(default)]
    from: usize,
}

/// A search in what `tw search` looks at.
#[derive(Deserialize)]
struct Searched {
    text: String,
    place: Where,
}

/// Where to look.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Where {
    /// In the files of all snapshots.
    Content,
    /// In the lines that came and went.
    Diff,
    /// In all of the prompts.
    Prompt,
    /// In issues.
    Issue,
}

/// The snapshot that a hit names.
#[derive(Deserialize)]
struct Named {
    snapshot_id: String,
}

/// Answers one question. `touch` is called when a person asked, not the page by itself; `is_gone` tells whether the answer is still
/// awaited.
pub fn answer(
    name: &str,
    request: &Request,
    shared: &Shared,
    touch: impl Fn(),
    is_gone: &dyn Fn() -> bool,
) -> Response {
    let content_type = request.header("content-type").unwrap_or_default();
    if content_type.split(';').next().map(str::trim) != Some("application/json") {
        return Response::text(415, "application/json is needed");
    }
    if name != "place" {
        touch();
    }
    let body = request.body.as_slice();
    let done = match name {
        "place" => place(shared),
        "entries" => read(body).and_then(|asked| entries(shared, asked)),
        "entry" => read(body).and_then(|asked| entry(shared, &asked)),
        "lines" => read(body).and_then(|asked| lines(shared, &asked)),
        "search" => read(body).and_then(|asked| search(shared, &asked, is_gone)),
        "named" => read(body).and_then(|asked| named(shared, &asked)),
        "try" | "do" => match &shared.actions {
            None => {
                return Response::text(
                    403,
                    "this page only looks: 'tw web --allow-changes' lets it change something",
                );
            }
            Some(actions) if name == "try" => {
                read(body).and_then(|asked| actions.attempt(shared, &asked))
            }
            Some(actions) => read(body).and_then(|asked| actions.confirm(shared, &asked)),
        },
        _ => return Response::text(404, "there is nothing here"),
    };
    // What a person did may have taken long.
    if name == "do" {
        touch();
    }
    match done {
        Ok(document) => Response::json(200, document.to_string()),
        Err(error) => Response::json(400, wire::error(&error).to_string()),
    }
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T> {
    foreign_json::from_slice(body)
        .map_err(|error| Error::usage(format!("this question is not understood: {error}")))
}

/// Opens the repository anew: it may have changed since the last question.
pub fn open(shared: &Shared) -> Result<Context<'_>> {
    Context::open(&shared.serve.start, &shared.serve.env, &Silent)
}

fn place(shared: &Shared) -> Result<Value> {
    let context = open(shared)?;
    Ok(wire::value(&web::place(&context, &shared.serve.filter)?))
}

fn entries(shared: &Shared, asked: Entries) -> Result<Value> {
    let context = open(shared)?;
    let base = &shared.serve.filter;
    let filter = Filter {
        grep: asked
            .grep
            .map(|text| literal(&text))
            .or_else(|| base.grep.clone()),
        kinds: asked.kinds,
        limit: None,
        ..base.clone()
    };
    Ok(wire::value(&web::page(
        &context,
        &filter,
        asked.after.as_ref(),
        ENTRIES,
    )?))
}

/// The search box takes text, not regular expressions.
fn literal(text: &str) -> String {
    regex::escape(text)
}

fn entry(shared: &Shared, asked: &One) -> Result<Value> {
    let context = open(shared)?;
    let from = Rest {
        start: asked.from,
        key: asked.key.clone(),
    };
    Ok(match &asked.of {
        Subject::Entry(key) => {
            wire::value(&web::detail(&context, &shared.serve.filter, key, &from)?)
        }
        Subject::Pair(old, new) => wire::value(&web::compare(&context, (old, new), &from)?),
    })
}

fn lines(shared: &Shared, asked: &Read) -> Result<Value> {
    let context = open(shared)?;
    let Read { of, change, from } = asked;
    if let Subject::Pair(old, new) = of
        && new == web::PRESENT
    {
        let mut lines = web::lines_with_present(&context, old, change, (*from, LINES))?;
        lines.colour(change.path.as_bytes());
        return Ok(wire::value(&lines));
    }
    let change = web::change(&context, &shared.serve.filter, of, change)?;
    let objects = &context.store()?.objects;
    let mut lines = web::between(objects, &change, *from, LINES)?;
    lines.colour(&change.path);
    Ok(wire::value(&lines))
}

/// What `tw search` finds. It is run as such: it may take seconds and gigabytes, and ends with its process. One that was given up, for
/// another one or for something else, is ended.
fn search(shared: &Shared, asked: &Searched, is_gone: &dyn Fn() -> bool) -> Result<Value> {
    let place = match asked.place {
        Where::Content => "content",
        Where::Diff => "diff",
        Where::Prompt => "prompt",
        Where::Issue => "issue",
    };
    let words = [
        "search",
        "--fixed-strings",
        "--in",
        place,
        "--max-count",
        HITS,
    ];
    let pattern = format!("--regexp={}", asked.text);
    let words = act::plain(&[&words[..], &[&pattern]].concat());
    let _one_at_a_time = loop {
        match shared.searching.try_lock() {
            Ok(held) => break held,
            Err(TryLockError::Poisoned(held)) => break held.into_inner(),
            Err(TryLockError::WouldBlock) if is_gone() => {
                return Err(Error::usage("this search was given up"));
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(act::GLANCE),
        }
    };
    act::run_for(shared, &words, is_gone)
}

fn named(shared: &Shared, asked: &Named) -> Result<Value> {
    let context = open(shared)?;
    let key = web::entry_of(&context, &asked.snapshot_id)?;
    Ok(wire::value(&web::detail(
        &context,
        &shared.serve.filter,
        &key,
        &Rest::default(),
    )?))
}
