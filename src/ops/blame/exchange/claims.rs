//! What notes and records say of lines that `tw` knows no more of than their commit.
//!
//! Looked at, in this order: git-ai's note on the commit; the records of Agent Trace in a note on it, and in the file that the working
//! tree has of them. Each says what it says: where records disagree, all that they name are candidates. What cannot be read is told in
//! a sentence, and stops nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::agent_trace::{self, Record, Records};
use super::git_ai::Log;
use super::{Claim, Claimed, Format, LARGEST_NOTE, Lines, Writer};
use crate::error::Result;
use crate::git::Oid;
use crate::git::notes::note_on;
use crate::ops::Context;
use crate::ops::blame::graph::Node;
use crate::ops::blame::origin::{Candidate, Kind, Origin};
use crate::ops::blame::present;
use crate::ops::blame::trace::Spot;
use crate::store::Store;

/// More claims for one line are not told apart.
const MOST_CLAIMS: usize = 16;

/// A line by its commit, its file and its number there, from 0.
type LineOf = (Oid, Vec<u8>, usize);

/// What is said of lines.
#[derive(Debug, Default)]
pub struct Claims {
    by_line: HashMap<LineOf, (Format, Vec<Claim>)>,
    /// Sentences about what could not be read.
    pub notices: Vec<String>,
}

/// The lines that are asked for, by commit and file.
type Asked = BTreeMap<Oid, BTreeMap<Vec<u8>, BTreeSet<u32>>>;

impl Claims {
    /// Looks up what is said of lines that came with commits which were not made here.
    pub fn read<'s>(
        ctx: &Context<'_>,
        store: &Store,
        spots: impl Iterator<Item = &'s Spot>,
    ) -> Self {
        let mut asked = Asked::new();
        for spot in spots {
            if let (Node::End(commit), Ok(line)) = (spot.node, u32::try_from(spot.line + 1)) {
                let files = asked.entry(commit).or_default();
                files.entry(spot.path.clone()).or_default().insert(line);
            }
        }
        let mut claims = Self::default();
        if asked.is_empty() {
            return claims;
        }
        claims.read_logs(store, &mut asked);
        asked.retain(|_, files| files.values().any(|lines| !lines.is_empty()));
        if !asked.is_empty() {
            claims.read_records(ctx, store, &mut asked);
        }
        claims
    }

    fn read_logs(&mut self, store: &Store, asked: &mut Asked) {
        for (commit, note) in self.notes(store, Format::GitAi, asked.keys()) {
            let log = match Log::parse(&note) {
                Ok(log) => log,
                Err(error) => {
                    let reason = error.message();
                    let notice = format!("git-ai's note on {commit} cannot be read: {reason}");
                    self.notices.push(notice);
                    continue;
                }
            };
            for (path, lines) in asked.get_mut(&commit).into_iter().flatten() {
                let claims = Format::GitAi.name(path).map(|path| log.claims(path));
                let found = first_of(claims.unwrap_or_default(), lines);
                self.take(commit, path, Format::GitAi, found);
            }
        }
    }

    fn read_records(&mut self, ctx: &Context<'_>, store: &Store, asked: &mut Asked) {
        let mut by_commit: HashMap<Oid, Vec<Record>> = HashMap::new();
        let mut add = |bytes: &[u8], noted_on: Option<Oid>| {
            let wanted = |record: &Record| {
                let commit = record.commit(noted_on);
                let is_right = noted_on.is_none() || noted_on == commit;
                is_right && commit.is_some_and(|commit| asked.contains_key(&commit))
            };
            let found = Records::parse(bytes, wanted);
            for record in found.records {
                if let Some(commit) = record.commit(noted_on) {
                    by_commit.entry(commit).or_default().push(record);
                }
            }
            found.invalid
        };
        let mut notices = Vec::new();
        for (commit, note) in self.notes(store, Format::AgentTrace, asked.keys()) {
            let invalid = add(&note, Some(commit));
            if invalid > 0 {
                notices.push(format!(
                    "{invalid} of the records in Agent Trace's note on {commit} cannot be read"
                ));
            }
        }
        let file = String::from_utf8_lossy(agent_trace::FILE);
        match present::read(ctx, agent_trace::FILE) {
            Ok(Some(bytes)) => {
                let invalid = add(&bytes, None);
                if invalid > 0 {
                    notices.push(format!(
                        "{invalid} of the records in '{file}' cannot be read"
                    ));
                }
            }
            Ok(None) => {}
            Err(error) => notices.push(format!("'{file}' cannot be read: {}", error.message())),
        }
        self.notices.append(&mut notices);
        for (commit, records) in by_commit {
            for (path, lines) in asked.get_mut(&commit).into_iter().flatten() {
                let Some(name) = Format::AgentTrace.name(path) else {
                    continue;
                };
                let claims = records.iter().flat_map(|record| record.claims(name));
                let found = all_of(claims.collect(), lines);
                self.take(commit, path, Format::AgentTrace, found);
            }
        }
    }

    /// The notes of a format on these commits.
    fn notes<'c>(
        &mut self,
        store: &Store,
        format: Format,
        commits: impl Iterator<Item = &'c Oid>,
    ) -> Vec<(Oid, Vec<u8>)> {
        let name = format.notes_ref();
        let read = || -> Result<Vec<(Oid, Vec<u8>)>> {
            let Some(tip) = store.refs.read(name)? else {
                return Ok(Vec::new());
            };
            let mut notes = Vec::new();
            for commit in commits {
                let Some(blob) = note_on(&store.objects, tip, *commit)? else {
                    continue;
                };
                match store.objects.read_blob_up_to(blob, LARGEST_NOTE)? {
                    Some(bytes) => notes.push((*commit, bytes)),
                    None => self
                        .notices
                        .push(format!("the note on {commit} is too large")),
                }
            }
            Ok(notes)
        };
        read().unwrap_or_else(|error| {
            let reason = error.message();
            self.notices
                .push(format!("'{name}' cannot be read: {reason}"));
            Vec::new()
        })
    }

    fn take(&mut self, commit: Oid, path: &[u8], format: Format, found: ClaimedLines) {
        for (line, claims) in found {
            let key = (commit, path.to_vec(), line as usize - 1);
            self.by_line.insert(key, (format, claims));
        }
    }

    /// Says of a line that came with a commit what is claimed of it.
    pub fn tell(&self, spot: &Spot, commit: Oid, origin: &mut Origin) {
        let key = (commit, spot.path.clone(), spot.line);
        let Some((format, claims)) = self.by_line.get(&key) else {
            return;
        };
        match &claims[..] {
            // The commit's author, or whoever that was given by.
            [Claim::Person] => return,
            [Claim::Agent(writer)] => {
                origin.kind = Kind::Imported;
                origin.session_id.clone_from(&writer.session_id);
                origin.agent.clone_from(&writer.agent);
                origin.model.clone_from(&writer.model);
            }
            several => {
                origin.kind = Kind::Ambiguous;
                for claim in several {
                    for candidate in candidates(claim) {
                        if !origin.candidates.contains(&candidate) {
                            origin.candidates.push(candidate);
                        }
                    }
                }
            }
        }
        origin.imported_from = Some(*format);
    }
}

fn candidates(claim: &Claim) -> Vec<Candidate> {
    let of = |kind, writer: Option<&Writer>| Candidate {
        kind,
        session_id: writer.and_then(|writer| writer.session_id.clone()),
        agent: writer.and_then(|writer| writer.agent.clone()),
        checkpoint_id: None,
        prompt: None,
        at: None,
    };
    match claim {
        Claim::Agent(writer) => vec![of(Kind::Imported, Some(writer))],
        Claim::Mixed(writer) => vec![of(Kind::Imported, Some(writer)), of(Kind::Commit, None)],
        Claim::Person => vec![of(Kind::Commit, None)],
    }
}

/// Lines with what is said of them.
type ClaimedLines = Vec<(u32, Vec<Claim>)>;

/// Gives each line the first claim that names it, and takes the lines that have one out of those asked for.
fn first_of(claims: Vec<Claimed>, asked: &mut BTreeSet<u32>) -> ClaimedLines {
    let mut found = ClaimedLines::new();
    for (claim, ranges) in claims {
        for (first, last) in ranges.into_iter().filter(|(first, last)| first <= last) {
            let named: Vec<u32> = asked.range(first..=last).copied().collect();
            for line in named {
                asked.remove(&line);
                found.push((line, vec![claim.clone()]));
            }
        }
    }
    found
}

/// Gives each line all claims that name it, and takes the lines that have one out of those asked for. A claim's ranges are put together
/// first, and a line has this many at most, so that the work stays in proportion whatever they are.
fn all_of(claims: Vec<Claimed>, asked: &mut BTreeSet<u32>) -> ClaimedLines {
    let mut order: Vec<Claim> = Vec::new();
    let mut by_claim: HashMap<Claim, Vec<Lines>> = HashMap::new();
    for (claim, ranges) in claims {
        if !by_claim.contains_key(&claim) {
            order.push(claim.clone());
        }
        by_claim.entry(claim).or_default().extend(ranges);
    }
    let mut open = asked.clone();
    let mut found: BTreeMap<u32, Vec<Claim>> = BTreeMap::new();
    for claim in order {
        let ranges = by_claim.remove(&claim).unwrap_or_default();
        for (first, last) in together(ranges) {
            let named: Vec<u32> = open.range(first..=last).copied().collect();
            for line in named {
                let all = found.entry(line).or_default();
                all.push(claim.clone());
                if all.len() >= MOST_CLAIMS {
                    open.remove(&line);
                }
            }
        }
    }
    asked.retain(|line| !found.contains_key(line));
    found.into_iter().collect()
}

/// Ranges in order, none of which touches another.
fn together(mut ranges: Vec<Lines>) -> Vec<Lines> {
    ranges.retain(|(first, last)| first <= last);
    ranges.sort_unstable();
    let mut all: Vec<Lines> = Vec::new();
    for (first, last) in ranges {
        match all.last_mut() {
            Some((_, end)) if first <= end.saturating_add(1) => *end = last.max(*end),
            _ => all.push((first, last)),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(name: &str) -> Claim {
        Claim::Agent(Writer {
            agent: Some(name.to_owned()),
            ..Writer::default()
        })
    }

    fn said(found: ClaimedLines) -> Vec<(u32, usize)> {
        let counted = found.into_iter().map(|(line, claims)| (line, claims.len()));
        let mut counted: Vec<_> = counted.collect();
        counted.sort_unstable();
        counted
    }

    #[test]
    fn of_claims_the_first_counts_or_all_do() {
        let claims = vec![
            (agent("a"), vec![(1, 2), (9, 3)]),
            (agent("b"), vec![(2, u32::MAX)]),
            (agent("a"), vec![(2, 4), (4, 4)]),
        ];
        let all = || BTreeSet::from([0, 1, 2, 4, 8]);
        let mut asked = all();
        let found = first_of(claims.clone(), &mut asked);
        assert_eq!(asked, BTreeSet::from([0]));
        let of = |line| found.iter().find(|one| one.0 == line).unwrap().1.clone();
        assert_eq!((of(2), of(4)), (vec![agent("a")], vec![agent("b")]));
        let mut asked = all();
        let found = all_of(claims, &mut asked);
        assert_eq!(asked, BTreeSet::from([0]));
        assert_eq!(said(found), [(1, 1), (2, 2), (4, 2), (8, 1)]);
        assert_eq!(together(vec![(4, 6), (1, 2), (3, 3), (6, 5)]), [(1, 6)]);
    }

    #[test]
    fn a_million_claims_for_every_line_take_no_longer_than_they_are_long() {
        let claims = |count: u32| (0..count).map(|n| (agent(&n.to_string()), vec![(1, u32::MAX)]));
        let mut asked: BTreeSet<u32> = (1..1000).collect();
        let found = all_of(claims(100_000).collect(), &mut asked);
        assert!(found.iter().all(|(_, claims)| claims.len() == MOST_CLAIMS));
        let same = vec![(agent("a"), vec![(1, u32::MAX); 1_000_000])];
        let mut asked: BTreeSet<u32> = (1..1000).collect();
        assert_eq!(all_of(same, &mut asked).len(), 999);
    }
}
