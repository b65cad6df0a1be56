//! What came back from a stash into a file that others had changed meanwhile.
//!
//! git keeps no trace of a stash that was taken back. But HEAD's reflog tells when files were reset to HEAD: where all lines that went
//! with that come back later in one step, they come from the state before the reset. Several stashes may come back in one step.

use super::graph::Links;
use crate::git::Oid;
use crate::git::textdiff::{LARGEST, same_lines};

/// The states before resets all of whose lost lines came back between two states, the latest first.
pub fn sources(links: &Links<'_>, before: usize, at: usize) -> Vec<usize> {
    let place = links.states.all[at].place;
    let taken = &links.states.chains[place.chain].states;
    let resets = links.reset.iter().rev();
    let earlier = resets.filter(|reset| reset.chain == place.chain && reset.at < place.at);
    let after = links.past.contents(links.states.all[at].place);
    let were = links.past.contents(links.states.all[before].place);
    let found = earlier.filter_map(|reset| {
        let (kept, lost) = (taken.get(reset.at.checked_sub(1)?)?, taken.get(reset.at)?);
        let has = links.past.contents(links.states.all[*kept].place);
        let left = links.past.contents(links.states.all[*lost].place);
        let came_back = (0..links.past.len()).any(|path| {
            let of = |contents: &[Option<Oid>]| contents.get(path).copied().flatten();
            let all = of(&has).zip(of(&left)).zip(of(&were)).zip(of(&after));
            all.is_some_and(|(((has, left), was), is)| {
                has != left && was != is && returns(links, [has, left, was, is]).unwrap_or(false)
            })
        });
        came_back.then_some(*kept)
    });
    found.collect()
}

/// Whether all lines that the first content has more than the second are among those that the last has more than the third.
fn returns(links: &Links<'_>, contents: [Oid; 4]) -> Option<bool> {
    let read = |oid| {
        links
            .store
            .objects
            .read_blob_up_to(oid, LARGEST)
            .ok()
            .flatten()
    };
    let [has, left, was, is] = contents.map(read);
    let (lost, came) = (more(&left?, &has?)?, more(&was?, &is?)?);
    let mut came: Vec<&Vec<u8>> = came.iter().collect();
    let all = lost.iter().all(|line| {
        let found = came.iter().position(|other| *other == line);
        found.map(|at| came.swap_remove(at)).is_some()
    });
    Some(all && lost.iter().any(|line| !line.trim_ascii().is_empty()))
}

/// The lines that a text has more than another one.
fn more(less: &[u8], text: &[u8]) -> Option<Vec<Vec<u8>>> {
    let same = same_lines(less, text, false).ok()?;
    let lines = text.split_inclusive(|byte| *byte == b'\n').zip(same);
    let more = lines.filter(|(_, same)| same.is_none());
    Some(more.map(|(line, _)| line.to_vec()).collect())
}
