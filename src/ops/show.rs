//! `tw show`: one snapshot, whole.

use super::Context;
use super::address;
use super::outcome::Shown;
use super::snapshots::view;
use crate::error::Result;

/// Shows one snapshot whole, long lists included.
pub fn show(ctx: &Context<'_>, wanted: &str) -> Result<Shown> {
    let store = ctx.store()?;
    let stored = address::resolve(ctx, store, wanted)?;
    let mut view = view(store, &stored)?;
    let mut whole = stored.record.clone();
    let lists = store.lists(&stored)?;
    whole.set_lists_whole(&lists);
    if let Ok(serde_json::Value::Object(map)) = serde_json::to_value(&whole) {
        let unproven = view.json.get("seeds_unproven").cloned();
        for (key, value) in map {
            view.json.insert(key, value);
        }
        // Known better by now than when it was recorded.
        match unproven {
            Some(count) => view.json.insert("seeds_unproven".into(), count),
            None => view.json.remove("seeds_unproven"),
        };
    }
    Ok(Shown { snapshot: view })
}
