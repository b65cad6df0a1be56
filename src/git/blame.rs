//! Where git says that lines come from: `git blame`, over its own history or over one that is told to it.
//!
//! Owns the command and its answer. What the user has set for blame holds but for a list of commits to ignore that is not there,
//! of which git makes an error. Content is taken as it is stored: no program converts it. Writes nothing.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use crate::git::Oid;

use super::command::Git;
use super::path::unquoted;
use super::regular;
use super::repo::Repo;
use crate::error::{Code, Error, Result};
use crate::text::typed_path;

/// More pieces of a file than this are not asked for one by one.
const PIECES: usize = 200;

/// How lines are followed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Follow {
    /// Lines that differ in white space alone are the same.
    pub ignores_space: bool,
    /// Lines that moved within the file are followed.
    pub moved: bool,
    /// Lines that were copied from other files changed in the same step are followed.
    pub copied: bool,
}

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The file as this commit has it.
    pub commit: Oid,
    /// The file.
    pub path: &'a [u8],
    /// Its lines that are asked for, from 0, in order. Others may be answered, too.
    pub lines: &'a [Range<usize>],
    /// Other parents than the commits name: a line for each commit, its id and theirs.
    pub parents: Option<&'a str>,
    /// Commits that are passed over, as far as lines of theirs have ones before them.
    pub ignored: &'a [Oid],
    /// How.
    pub follow: Follow,
}

/// Lines that came with a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The commit.
    pub commit: Oid,
    /// The file there.
    pub path: Vec<u8>,
    /// The first of them there, from 0.
    pub origin: usize,
    /// They in the file that was asked for, from 0.
    pub lines: Range<usize>,
}

/// What git says of a commit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct About {
    /// Who wrote it.
    pub author: String,
    /// The author's address, in angle brackets.
    pub author_mail: String,
    /// When, in seconds.
    pub author_time: i64,
    /// The author's zone, as `+0100`.
    pub author_zone: String,
    /// Who committed it.
    pub committer: String,
    /// That one's address, in angle brackets.
    pub committer_mail: String,
    /// When it was committed, in seconds.
    pub committer_time: i64,
    /// The committer's zone.
    pub committer_zone: String,
    /// The first line of its message.
    pub title: String,
}

/// The answer.
#[derive(Debug, Default)]
pub struct Blame {
    /// In no order.
    pub pieces: Vec<Piece>,
    /// By commit.
    pub about: HashMap<Oid, About>,
}

/// Runs `git blame` and reads what it says.
///
/// # Errors
/// When git fails: the commit does not have the file, or an object is missing; a map of authors is no file.
pub fn blame(repo: &Repo, question: &Question<'_>) -> Result<Blame> {
    check_mailmaps(repo)?;
    let mut git = Git::new(repo).args(["blame", "--incremental", "--no-textconv"]);
    // The lists that the user names and that are there, in a form that every git knows.
    git = git.arg("--no-ignore-revs-file");
    for list in repo.config_paths("blame.ignoreRevsFile") {
        if list.is_file() {
            git = git.arg("--ignore-revs-file").arg(list);
        }
    }
    for (wanted, flag) in [
        (question.follow.ignores_space, "-w"),
        (question.follow.moved, "-M"),
        (question.follow.copied, "-C"),
    ] {
        if wanted {
            git = git.arg(flag);
        }
    }
    for commit in question.ignored {
        git = git.arg("--ignore-rev").arg(commit.to_string());
    }
    if question.lines.len() <= PIECES {
        for piece in question.lines {
            git = git.arg(format!("-L{},{}", piece.start + 1, piece.end));
        }
    }
    if let Some(parents) = question.parents {
        git = git.args(["-S", "/dev/stdin"]).stdin(parents);
    }
    let path = std::os::unix::ffi::OsStrExt::from_bytes(question.path);
    let path: &std::ffi::OsStr = path;
    let said = git
        .arg(question.commit.to_string())
        .arg("--")
        .arg(path)
        .run()
        .map_err(|error| {
            if !repo.is_partial_clone() {
                return error;
            }
            error.hint(format!(
                "what this partial clone has not fetched comes with 'git blame {} -- {}'",
                question.commit,
                typed_path(Path::new(path))
            ))
        })?;
    parse(&said)
}

/// Refuses when a map of authors, the repository's or the user's, is a pipe or the like: git would wait for whoever writes to it.
fn check_mailmaps(repo: &Repo) -> Result<()> {
    regular::check(&repo.worktree_root().join(".mailmap"))?;
    for file in repo.config_paths("mailmap.file") {
        regular::check(&file)?;
    }
    Ok(())
}

fn parse(said: &[u8]) -> Result<Blame> {
    let mut blame = Blame::default();
    let mut open: Option<(Oid, usize, Range<usize>)> = None;
    for line in said.split(|byte| *byte == b'\n') {
        let Some((commit, origin, lines)) = &open else {
            if !line.is_empty() {
                open = Some(header(line).ok_or_else(|| not_understood(line))?);
            }
            continue;
        };
        let (word, rest) = split(line);
        let text = || String::from_utf8_lossy(rest).into_owned();
        let number = || text().parse().unwrap_or(0);
        if word == b"filename" {
            blame.pieces.push(Piece {
                commit: *commit,
                path: unquoted(rest),
                origin: *origin,
                lines: lines.clone(),
            });
            open = None;
            continue;
        }
        let about = blame.about.entry(*commit).or_default();
        match word {
            b"author" => about.author = text(),
            b"author-mail" => about.author_mail = text(),
            b"author-time" => about.author_time = number(),
            b"author-tz" => about.author_zone = text(),
            b"committer" => about.committer = text(),
            b"committer-mail" => about.committer_mail = text(),
            b"committer-tz" => about.committer_zone = text(),
            b"committer-time" => about.committer_time = number(),
            b"summary" => about.title = text(),
            _ => {}
        }
    }
    Ok(blame)
}

/// `<commit> <line there> <line here> <lines>`.
fn header(line: &[u8]) -> Option<(Oid, usize, Range<usize>)> {
    let text = std::str::from_utf8(line).ok()?;
    let mut words = text.split(' ');
    let commit = Oid::from_hex(words.next()?).ok()?;
    let mut number = || words.next()?.parse::<usize>().ok();
    let (origin, line, lines) = (number()?, number()?, number()?);
    let first = line.checked_sub(1)?;
    Some((commit, origin.checked_sub(1)?, first..first + lines))
}

fn split(line: &[u8]) -> (&[u8], &[u8]) {
    match line.iter().position(|byte| *byte == b' ') {
        Some(at) => (&line[..at], &line[at + 1..]),
        None => (line, b""),
    }
}

fn not_understood(line: &[u8]) -> Error {
    let line = String::from_utf8_lossy(line);
    Error::new(Code::Io, format!("'git blame' answered with '{line}'"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::repo::testing::TestRepo;

    #[test]
    fn lines_and_commits_are_read_and_other_parents_count() {
        let test = TestRepo::new();
        for text in ["a\nb\n", "a\nB\n", "a\nB\nc\n"] {
            test.write("x\"y.txt", text);
            test.git(&["add", "."]);
            test.git(&["commit", "-qm", text]);
        }
        let repo = test.open();
        let commit = |name: &str| {
            let id = test.git(&["rev-parse", name]);
            Oid::from_hex(id.trim()).expect("an id")
        };
        let (head, first) = (commit("HEAD"), commit("HEAD~2"));
        let ask = |lines: &[Range<usize>], parents: Option<&str>| {
            let question = Question {
                commit: head,
                path: b"x\"y.txt",
                lines,
                parents,
                ignored: &[],
                follow: Follow::default(),
            };
            let mut answer = blame(&repo, &question).expect("answered");
            answer.pieces.sort_by_key(|piece| piece.lines.start);
            answer
        };
        let answer = ask(&[], None);
        let commits: Vec<Oid> = answer.pieces.iter().map(|piece| piece.commit).collect();
        assert_eq!(commits, [first, commit("HEAD~1"), head]);
        assert_eq!(answer.pieces[1].path, b"x\"y.txt");
        assert_eq!(
            (answer.pieces[1].origin, &answer.pieces[1].lines),
            (1, &(1..2))
        );
        assert_eq!(answer.about[&first].title, "a");
        let second = 1..2;
        assert_eq!(ask(&[second], None).pieces.len(), 1);
        let cut = ask(&[], Some(&format!("{head}\n")));
        assert_eq!(cut.pieces.len(), 1, "a commit without parents has all");
        let skip = ask(&[], Some(&format!("{head} {first}\n")));
        let commits: Vec<Oid> = skip.pieces.iter().map(|piece| piece.commit).collect();
        assert_eq!(commits, [first, head]);
    }

    #[test]
    fn a_list_that_is_not_there_stops_nothing() {
        let test = TestRepo::new();
        test.write("a", "1\n");
        test.git(&["add", "."]);
        test.git(&["commit", "-qm", "one"]);
        test.git(&["config", "blame.ignoreRevsFile", ".git-blame-ignore-revs"]);
        let repo = test.open();
        let commit = Oid::from_hex(test.git(&["rev-parse", "HEAD"]).trim()).expect("an id");
        let question = Question {
            commit,
            path: b"a",
            lines: &[],
            parents: None,
            ignored: &[],
            follow: Follow::default(),
        };
        assert_eq!(blame(&repo, &question).expect("answered").pieces.len(), 1);
    }

    #[test]
    fn the_lists_that_are_there_count_however_they_are_named() {
        let test = TestRepo::new();
        for text in ["1\n", " 1\n"] {
            test.write("a", text);
            test.git(&["add", "."]);
            test.git(&["commit", "-qm", text]);
        }
        let commit = |name: &str| {
            let id = test.git(&["rev-parse", name]);
            Oid::from_hex(id.trim()).expect("an id")
        };
        test.write("list", &format!("{}\n", commit("HEAD")));
        let absent = test.dir().join("absent").display().to_string();
        test.git(&["config", "blame.ignoreRevsFile", &absent]);
        let list = format!(":(optional){}/list", test.dir().display());
        let key = "blame.ignoreRevsFile";
        test.git(&["config", "--add", key, &list]);
        let asked = || {
            let repo = test.open();
            let question = Question {
                commit: commit("HEAD"),
                path: b"a",
                lines: &[],
                parents: None,
                ignored: &[],
                follow: Follow::default(),
            };
            blame(&repo, &question).expect("answered").pieces[0].commit
        };
        assert_eq!(asked(), commit("HEAD~1"));
        test.git(&["config", "--add", key, ""]);
        assert_eq!(asked(), commit("HEAD"), "an empty value forgets the list");
    }
}
