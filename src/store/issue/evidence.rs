//! What checks say of an issue: which of them counts, whose it is, and what of it proves that the issue is solved.

use serde_json::Value;

use super::{Issue, Proof, ProofKind, Run, Status};
use crate::store::records::Json;

impl Issue {
    /// The numbers of the runs that show how it was closed, now and before.
    pub fn proofs(&self) -> Vec<u64> {
        let before = self.resolutions.iter().map(|earlier| &earlier.resolution);
        let all = self.resolution.iter().chain(before);
        all.filter_map(|how| how.proof.as_ref()?.issue_run)
            .collect()
    }

    /// Who is said to have made the run that a proof names; None: it was made here.
    pub fn claimant(&self, proof: &Proof) -> Option<&str> {
        let run = self
            .runs
            .iter()
            .find(|run| Some(run.run) == proof.issue_run);
        run?.claimed_by()
    }

    /// What shows that it is solved, if its last check does; one that was made here rather than one of which others say so.
    pub fn proof(&self) -> Option<Proof> {
        let (_, last) = self.evidence().filter(|(passed, _)| *passed)?;
        if self.claimant(&last).is_none() {
            return Some(last);
        }
        let here = self.evidence_of(&|run| run.claimed_by().is_none());
        let here = here.filter(|(passed, _)| *passed);
        Some(here.map_or(last, |(_, proof)| proof))
    }

    /// The last check that says something of the issue, and whether it passed; None: there was none. Of a try that is the run that
    /// was put onto the present, else its best.
    pub fn evidence(&self) -> Option<(bool, Proof)> {
        self.evidence_of(&|_| true)
    }

    /// Whether it counted as fixed until a replay in which its check failed opened it again, and nobody has closed it since.
    pub fn is_broken_fix(&self) -> bool {
        let last = self.resolutions.iter().max_by_key(|earlier| &earlier.until);
        last.is_some_and(|last| {
            let mut runs = self.runs.iter().filter(|run| run.has_reopened());
            !self.status.is_closed()
                && last.status == Status::Fixed
                && runs.any(|run| run.counts_since() >= last.resolution.at.as_str())
        })
    }

    fn evidence_of(&self, counts: &dyn Fn(&Run) -> bool) -> Option<(bool, Proof)> {
        let runs = self.runs.iter().filter(|run| counts(run));
        let checked = runs.filter(|run| run.passed().is_some());
        // A replay that fails says something of its command, not of what was done about the issue, unless it had passed before.
        let says = |run: &&Run| run.replay_id().is_none() || run.passed() == Some(true);
        let checked = checked.filter(|run| says(run) || run.has_reopened());
        let counts = checked.filter(|run| run.try_id().is_none_or(|id| self.stands_for(run, id)));
        // The later of those at the same second.
        let last = counts.max_by_key(|run| run.counts_since().to_owned())?;
        Some((last.passed()?, last.proof()?))
    }

    /// Whether a run is the one of its try that counts.
    fn stands_for(&self, run: &Run, id: &str) -> bool {
        let of_try = || self.runs.iter().filter(|other| other.try_id() == Some(id));
        let applied = of_try().filter(|other| other.applied_at().is_some());
        let best = || of_try().find(|other| other.other.contains_key("best"));
        let chosen = applied.max_by_key(|other| other.applied_at().map(str::to_owned));
        let chosen = chosen.or_else(best).or_else(|| of_try().next_back());
        chosen.is_some_and(|chosen| chosen.run == run.run)
    }
}

impl Run {
    fn text(&self, name: &str) -> Option<&str> {
        self.other.get(name).and_then(Value::as_str)
    }

    /// The replay that it was a run of.
    pub fn replay_id(&self) -> Option<&str> {
        self.text("replay_id")
    }

    /// Notes that it failed where it had passed, so that the issue was opened again.
    pub fn set_reopened(&mut self) {
        self.other.insert("reopened".to_owned(), true.into());
    }

    fn has_reopened(&self) -> bool {
        self.other.get("reopened") == Some(&Value::Bool(true))
    }

    /// When what it made was put onto the present.
    pub fn applied_at(&self) -> Option<&str> {
        self.text("applied_at")
    }

    /// Who is said to have made it; None: it was made here.
    pub fn claimed_by(&self) -> Option<&str> {
        self.text("claimed_by")
    }

    /// Whether it is no more than checks of the present that were made here: no stay in the past, no try, no replay.
    pub fn holds_checks_alone(&self) -> bool {
        let is_of_tree = self.backup_id.is_some() || self.experiment_id.is_some();
        let is_of_others = self.try_id().is_some() || self.replay_id().is_some();
        !is_of_tree && !is_of_others && self.claimed_by().is_none() && self.diff_stat.is_none()
    }

    /// Notes that what it made is in the present now.
    pub fn set_applied(&mut self, at: &str) {
        self.other.insert("applied_at".to_owned(), at.into());
    }

    /// Whether its last check passed; None: there was none.
    pub fn passed(&self) -> Option<bool> {
        self.verify.last().map(|check| check.exit_status == 0)
    }

    fn counts_since(&self) -> &str {
        let ended = self.applied_at().or(self.ended_at.as_deref());
        ended.unwrap_or(&self.started_at)
    }

    /// It as what shows how the issue stands; None without a check.
    fn proof(&self) -> Option<Proof> {
        let (kind, id, number) = match (self.try_id(), self.replay_id()) {
            (Some(id), _) => (ProofKind::Try, Some(id), "try_run"),
            (None, Some(id)) => (ProofKind::Replay, Some(id), "replay_run"),
            (None, None) => (ProofKind::Verify, None, "run"),
        };
        Some(Proof {
            kind,
            id: id.map(str::to_owned),
            run: self
                .other
                .get(number)
                .and_then(Value::as_u64)
                .unwrap_or(self.run),
            issue_run: Some(self.run),
            experiment_id: self.experiment_id.clone(),
            command: self.verify.last()?.command.clone(),
            at: self.counts_since().to_owned(),
            other: Json::new(),
        })
    }
}
