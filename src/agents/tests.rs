//! Tests on transcripts of real agents, when they are there: `TW_TRANSCRIPTS`, else `../shared/transcripts` beside the
//! crate. Each turn is counted a second time, another way; every cut point is forked and validated.

use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::fork::{destination, new_session_id, plan_fork, validate_fork};
use super::testing::write_fork;
use super::transcript::{Cut, Detail, Transcript};
use crate::env::Moment;

const NOW: Moment = Moment(1_790_000_000_000_000_000);

fn samples(agent: &str) -> Vec<PathBuf> {
    let root = std::env::var_os("TW_TRANSCRIPTS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/transcripts"),
        PathBuf::from,
    );
    let mut found = Vec::new();
    let mut pending = vec![root.join(agent)];
    while let Some(directory) = pending.pop() {
        for entry in std::fs::read_dir(&directory)
            .into_iter()
            .flatten()
            .flatten()
        {
            let path = entry.path();
            if path.is_dir() {
                pending.push(path);
            } else if path
                .extension()
                .is_some_and(|ext| ext == "jsonl" || ext == "json")
            {
                found.push(path);
            }
        }
    }
    if found.is_empty() {
        crate::provided::skipped(
            "transcripts",
            &format!("no sample transcripts of {agent} here"),
        );
    }
    found.sort();
    found
}

fn records(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("a sample is readable");
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| serde_json::from_str(line).expect("samples are well-formed"))
        .collect()
}

fn hash(path: &Path) -> Vec<u8> {
    Sha256::digest(std::fs::read(path).expect("readable")).to_vec()
}

/// Copies a sample to where its agent would keep it, so that forks land beside the copy.
fn copy(sample: &Path, home: &Path) -> PathBuf {
    let path = home.join(sample.file_name().expect("a file has a name"));
    std::fs::copy(sample, &path).expect("copied");
    path
}

/// Forks at a cut and checks what came out; returns what was kept.
fn fork(transcript: &Transcript, cut: &Cut) -> Option<Transcript> {
    let plan = plan_fork(transcript, cut).expect("planned")?;
    let id = new_session_id(transcript.agent, NOW).expect("random bytes");
    let dest = destination(&plan, &id, NOW);
    let outcome = write_fork(&plan, &id, &dest).expect("written and valid");
    if cut.messages < 40 {
        let originals = [transcript.path.as_path()];
        let again = validate_fork(transcript.agent, &originals, &outcome.path);
        assert_eq!(again.expect("still valid"), outcome.validation);
    }
    assert_eq!(
        outcome.messages_kept + outcome.messages_discarded,
        transcript.messages.len()
    );
    let fork = super::read(&outcome.path, Detail::Full).expect("readable");
    assert_eq!(fork.session_id, id);
    assert_eq!(fork.agent, transcript.agent);
    assert_eq!(fork.skipped, 0);
    assert_eq!(fork.messages.len(), outcome.messages_kept);
    if dest.is_dir() {
        std::fs::remove_dir_all(&dest).expect("removed");
    } else {
        std::fs::remove_file(&dest).expect("removed");
    }
    Some(fork)
}

/// Forks at every prompt, and at some places in mid-turn.
fn fork_everywhere(transcript: &Transcript) {
    let before = hash(&transcript.path);
    for prompt in &transcript.prompts {
        let Some(cut) = &prompt.cut else { continue };
        let fork = fork(transcript, cut);
        let prompts = fork.as_ref().map_or(0, |fork| fork.prompts.len());
        assert_eq!(prompts, prompt.index, "{}", transcript.path.display());
        if let Some(fork) = fork {
            let texts = |of: &Transcript| -> Vec<String> {
                of.prompts
                    .iter()
                    .take(prompts)
                    .map(|p| p.text.clone())
                    .collect()
            };
            assert_eq!(texts(&fork), texts(transcript));
            // A message that was left out for its open call takes its usage along.
            if fork.messages.len() == cut.messages {
                assert_eq!(fork.tokens.context, cut.tokens.context);
            }
        }
    }
    let every = transcript.boundaries.len().div_ceil(6).max(1);
    for cut in transcript.boundaries.iter().step_by(every) {
        fork(transcript, cut);
    }
    assert_eq!(hash(&transcript.path), before, "the original was touched");
}

#[test]
fn claude_samples() {
    for sample in samples("claude") {
        let home = tempfile::tempdir().expect("a temporary directory");
        let path = copy(&sample, home.path());
        let transcript = super::read(&path, Detail::Full).expect("readable");
        assert_eq!(transcript.agent, "claude");
        let records = records(&sample);
        let typed = records
            .iter()
            .filter(|record| is_claude_turn(record))
            .count();
        assert_eq!(transcript.prompts.len(), typed, "{}", sample.display());
        assert_eq!(transcript.tokens.total, Some(claude_total(&records)));
        assert_eq!(transcript.skipped, 0);
        fork_everywhere(&transcript);
    }
}

/// A second opinion: by the raw text of the record.
fn is_claude_turn(record: &Value) -> bool {
    let raw = record.to_string();
    let content = record["message"]["content"].to_string();
    let text = content
        .trim_start_matches("[{\"text\":")
        .trim_start_matches("[{\"type\":\"text\",\"text\":")
        .trim_start_matches('"')
        .to_owned();
    record["type"] == "user"
        && !raw.contains("\"isMeta\":true")
        && !raw.contains("\"isSidechain\":true")
        && !raw.contains("\"isCompactSummary\":true")
        && !content.contains("\"type\":\"tool_result\"")
        && ![
            "<local-command-stdout>",
            "<local-command-caveat>",
            "<bash-stdout>",
            "<task-notification>",
            "Caveat: The messages below",
            "[Request interrupted by user",
        ]
        .iter()
        .any(|prefix| text.starts_with(prefix))
}

fn claude_total(records: &[Value]) -> u64 {
    let mut best: std::collections::BTreeMap<&str, (u64, u64)> = std::collections::BTreeMap::new();
    for record in records
        .iter()
        .filter(|record| record["type"] == "assistant")
    {
        let message = &record["message"];
        let count = |key: &str| message["usage"][key].as_u64().unwrap_or(0);
        let output = count("output_tokens");
        let sum = output
            + count("input_tokens")
            + count("cache_creation_input_tokens")
            + count("cache_read_input_tokens");
        let entry = best
            .entry(message["id"].as_str().expect("an id"))
            .or_default();
        if output >= entry.0 {
            *entry = (output, sum);
        }
    }
    best.values().map(|(_, sum)| sum).sum()
}

#[test]
fn codex_samples() {
    for sample in samples("codex") {
        let home = tempfile::tempdir().expect("a temporary directory");
        let path = copy(&sample, home.path());
        let transcript = super::read(&path, Detail::Full).expect("readable");
        assert_eq!(transcript.agent, "codex");
        let raw = std::fs::read_to_string(&sample).expect("text");
        let typed = raw
            .matches("\"payload\":{\"type\":\"user_message\"")
            .count();
        assert_eq!(transcript.prompts.len(), typed, "{}", sample.display());
        let calls = raw.matches("_call\",").count();
        let tools = transcript
            .messages
            .iter()
            .filter(|message| message.tool.is_some());
        assert_eq!(tools.count(), calls, "{}", sample.display());
        fork_everywhere(&transcript);
    }
}

#[test]
fn kimi_samples() {
    for sample in samples("kimi") {
        let home = tempfile::tempdir().expect("a temporary directory");
        let name = sample
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        if name == "state.json" || name == "wire.jsonl" {
            continue;
        }
        let session = home.path().join("session");
        std::fs::create_dir(&session).expect("a directory");
        let directory = sample.parent().expect("a directory");
        if name == "context.jsonl" {
            for file in ["wire.jsonl", "state.json"] {
                std::fs::copy(directory.join(file), session.join(file)).expect("copied");
            }
        }
        let path = copy(&sample, &session);
        let transcript = super::read(&path, Detail::Full).expect("readable");
        assert_eq!(transcript.agent, "kimi");
        let typed = match std::fs::read_to_string(session.join("wire.jsonl")) {
            Ok(wire) => wire.matches("\"type\": \"TurnBegin\"").count(),
            Err(_) => records(&sample)
                .iter()
                .filter(|record| record["role"] == "user")
                .count(),
        };
        assert_eq!(transcript.prompts.len(), typed, "{}", sample.display());
        assert!(transcript.prompts.iter().all(|prompt| prompt.cut.is_some()));
        fork_everywhere(&transcript);
    }
}

#[test]
fn gemini_samples() {
    for sample in samples("gemini") {
        let home = tempfile::tempdir().expect("a temporary directory");
        let path = copy(&sample, home.path());
        let transcript = super::read(&path, Detail::Full).expect("readable");
        assert_eq!(transcript.agent, "gemini");
        let raw = std::fs::read_to_string(&sample).expect("text");
        let typed = raw.matches("\"type\": \"user\"").count();
        assert_eq!(transcript.prompts.len(), typed, "{}", sample.display());
        let totals = raw
            .lines()
            .filter_map(|line| line.trim().strip_prefix("\"total\": "));
        let total: u64 = totals.filter_map(|total| total.parse::<u64>().ok()).sum();
        assert_eq!(transcript.tokens.total, Some(total));
        fork_everywhere(&transcript);
    }
}

#[test]
fn pi_samples() {
    for sample in samples("pi") {
        let home = tempfile::tempdir().expect("a temporary directory");
        let path = copy(&sample, home.path());
        let transcript = super::read(&path, Detail::Full).expect("readable");
        assert_eq!(transcript.agent, "pi");
        let raw = std::fs::read_to_string(&sample).expect("text");
        let typed = raw.matches("\"message\":{\"role\":\"user\"").count();
        assert_eq!(transcript.prompts.len(), typed, "{}", sample.display());
        let unanswered = transcript
            .messages
            .iter()
            .filter(|message| {
                message
                    .tool
                    .as_ref()
                    .is_some_and(|tool| tool.output.is_none())
            })
            .count();
        let calls = raw.matches("\"type\":\"toolCall\"").count();
        let results = raw.matches("\"message\":{\"role\":\"toolResult\"").count();
        assert_eq!(unanswered, calls - results);
        fork_everywhere(&transcript);
    }
}

#[test]
fn kimi_code_samples() {
    for sample in samples("kimi-code") {
        let home = tempfile::tempdir().expect("a temporary directory");
        let main = home.path().join("sessions/wd_x_0/session_old/agents/main");
        std::fs::create_dir_all(&main).expect("a directory");
        let path = main.join("wire.jsonl");
        std::fs::copy(&sample, &path).expect("copied");
        let transcript = super::read(&path, Detail::Full).expect("readable");
        assert_eq!(transcript.agent, "kimi-code");
        assert_eq!(transcript.session_id, "session_old");
        let raw = std::fs::read_to_string(&sample).expect("text");
        let typed = raw.matches("\"type\":\"turn.prompt\"").count();
        assert_eq!(transcript.prompts.len(), typed, "{}", sample.display());
        fork_everywhere(&transcript);
    }
}

/// A file that is torn anywhere is read up to there, and forked before its last prompt.
#[test]
fn torn_samples() {
    for agent in ["claude", "codex", "pi", "kimi-code"] {
        for sample in samples(agent) {
            let whole = std::fs::read(&sample).expect("readable");
            for part in [1, 3, 5, 7] {
                let home = tempfile::tempdir().expect("a temporary directory");
                let main = home.path().join("sessions/wd_x_0/session_old/agents/main");
                std::fs::create_dir_all(&main).expect("a directory");
                let path = main.join("wire.jsonl");
                let mut text = whole
                    .get(..whole.len() * part / 8)
                    .unwrap_or_default()
                    .to_vec();
                // And a line in the middle is lost to a bad sector.
                if let Some(bytes) = text
                    .get_mut(whole.len() * part / 16..)
                    .and_then(|rest| rest.get_mut(..50))
                {
                    bytes.fill(0xfe);
                }
                std::fs::write(&path, &text).expect("written");
                let agent = super::by_name(agent).expect("known");
                let transcript = agent.read(&path, Detail::Outline).expect("readable");
                assert!(transcript.skipped <= 3, "{}", sample.display());
                let Some(cut) = transcript
                    .prompts
                    .iter()
                    .rev()
                    .find_map(|prompt| prompt.cut)
                else {
                    continue;
                };
                if let Some(plan) = plan_fork(&transcript, &cut).expect("planned") {
                    let id = new_session_id(agent.name(), NOW).expect("random bytes");
                    write_fork(&plan, &id, &destination(&plan, &id, NOW)).expect("valid");
                }
                assert_eq!(std::fs::read(&path).expect("readable"), text);
            }
        }
    }
}
