//! Writing a fork: complete and checked under a temporary name, then put in place, never over anything.

use std::fs::File;
use std::io::{BufWriter, Read as _, Seek as _, SeekFrom, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags};

use super::companion::private_file;
use super::validate::check;
use super::{Edit, FilePlan, ForkOutcome, ForkPlan, Relink, Rule, Segment, Validation, span};
use crate::error::{Code, Error, Result, ResultExt as _};
use crate::git::create;
use crate::git::process::Maker;

/// What a temporary name has after the session's id; then who writes it.
const TEMP: &str = ".tw-tmp-";

/// A fork that was written under a temporary name and checked. Dropped, it goes again.
pub struct StagedFork {
    plan: ForkPlan,
    new_id: String,
    dest: PathBuf,
    temporary: Temporary,
    validation: Validation,
}

/// Writes the fork of `plan` as session `new_id` under a temporary name beside `dest` (a file, or the session's directory for
/// agents that keep one) and checks it. The original is only read. On any error nothing is left behind.
///
/// # Errors
/// `WOULD_OVERWRITE` when something is at `dest`; `VERIFY_FAILED` when what was written does not pass the validator.
pub fn stage_fork(plan: &ForkPlan, new_id: &str, dest: &Path) -> Result<StagedFork> {
    if std::fs::symlink_metadata(dest).is_ok() {
        return Err(in_the_way(dest));
    }
    let directory = dest.parent().unwrap_or(Path::new("."));
    create::dirs(directory, 0o700)
        .context(|| format!("cannot create '{}'", directory.display()))?;
    let maker = Maker::this();
    // The maker in the name tells the next rewind a fork under way from one whose process died.
    let temporary = Temporary::new(directory.join(format!(".{new_id}{TEMP}{maker}")));
    let doing = || format!("cannot write a fork to '{}'", dest.display());
    write_files(plan, new_id, &temporary.path, dest).context(doing)?;
    let written = main_file(plan, &temporary.path);
    let validation = check(plan, &written, new_id)?;
    Ok(StagedFork {
        plan: plan.clone(),
        new_id: new_id.to_owned(),
        dest: dest.to_owned(),
        temporary,
        validation,
    })
}

impl StagedFork {
    /// The id of the session that it will be.
    pub fn session_id(&self) -> &str {
        &self.new_id
    }

    /// Puts it in place and makes it known to its agent.
    ///
    /// # Errors
    /// `WOULD_OVERWRITE` when something is there by now.
    pub fn place(self) -> Result<ForkOutcome> {
        let (plan, dest) = (&self.plan, self.dest.as_path());
        let directory = dest.parent().unwrap_or(Path::new("."));
        // The rename comes before the agent is told: what it is told of has to be there.
        put(&self.temporary.path, dest)?;
        sync_directory(directory)
            .context(|| format!("cannot write a fork to '{}'", dest.display()))?;
        let companion = plan.companion.as_ref();
        let announced = companion.map_or(Ok(()), |all| all.announce(&self.new_id, dest));
        if let Err(error) = announced {
            drop(Temporary::new(dest.to_owned()));
            return Err(error);
        }
        let path = main_file(plan, dest);
        Ok(ForkOutcome {
            agent: plan.agent,
            session_id: self.new_id.clone(),
            resume_command: crate::agents::by_name(plan.agent)
                .and_then(|agent| agent.resume_fork_command(&self.new_id, &path)),
            path,
            messages_kept: plan.messages_kept,
            messages_discarded: plan.messages_discarded,
            tokens_discarded: plan.tokens_discarded,
            tokens: plan.cut.tokens,
            validation: self.validation,
        })
    }
}

/// What a killed process left of a fork that it wrote. Dropped, it goes.
pub struct DeadFork {
    temporary: Temporary,
    session_id: String,
}

impl DeadFork {
    /// The session that never came to be; `None` when it was put in place all the same.
    pub fn unplaced(&self) -> Option<&str> {
        // Where a rename may replace, a fork has both names for a moment.
        let placed = std::fs::symlink_metadata(&self.temporary.path)
            .is_ok_and(|meta| meta.is_file() && meta.nlink() > 1);
        (!placed).then_some(&self.session_id)
    }
}

/// What killed processes left beside `dest`.
pub fn dead_forks(dest: &Path) -> Vec<DeadFork> {
    let directory = dest.parent().unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let (session_id, maker) = parse_temporary(entry.file_name().to_str()?)?;
            (!maker.is_alive()).then(|| DeadFork {
                temporary: Temporary::new(entry.path()),
                session_id,
            })
        })
        .collect()
}

/// The session and the maker in a temporary name.
fn parse_temporary(name: &str) -> Option<(String, Maker)> {
    let (id, maker) = name.strip_prefix('.')?.rsplit_once(TEMP)?;
    let (maker, rest) = Maker::parse(maker)?;
    rest.is_empty().then(|| (id.to_owned(), maker))
}

/// The session file of a fork at `root`.
fn main_file(plan: &ForkPlan, root: &Path) -> PathBuf {
    match plan.files.first() {
        Some(file) if !file.name.as_os_str().is_empty() => root.join(&file.name),
        _ => root.to_owned(),
    }
}

/// A path that is removed again unless it was renamed away.
struct Temporary {
    path: PathBuf,
}

impl Temporary {
    fn new(path: PathBuf) -> Self {
        Self { path }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Best effort: a leftover has a name that no agent reads, and the next rewind clears it.
        let _ = std::fs::remove_file(&self.path).or_else(|_| std::fs::remove_dir_all(&self.path));
    }
}

fn write_files(plan: &ForkPlan, new_id: &str, root: &Path, dest: &Path) -> Result<()> {
    let single = !plan.is_directory();
    if !single {
        create::new_dir(root, 0o700)?;
    }
    for file in &plan.files {
        let path = main_path(root, &file.name);
        if let Some(parent) = path.parent().filter(|_| !single) {
            create::dirs(parent, 0o700)?;
        }
        write_file(plan, file, new_id, &path)?;
    }
    match &plan.companion {
        Some(companion) => companion.write(root, dest),
        None => Ok(()),
    }
}

fn main_path(root: &Path, name: &Path) -> PathBuf {
    if name.as_os_str().is_empty() {
        root.to_owned()
    } else {
        root.join(name)
    }
}

fn write_file(plan: &ForkPlan, file: &FilePlan, new_id: &str, path: &Path) -> Result<()> {
    let mut sources = Vec::new();
    for source in &file.sources {
        sources.push(
            crate::git::regular::open(source)
                .context(|| format!("cannot read '{}'", source.display()))?,
        );
    }
    let mut out = BufWriter::with_capacity(1 << 16, private_file(path)?);
    let mut buffer = Vec::new();
    for segment in &file.segments {
        let Some(source) = sources.get_mut(usize::from(segment.source)) else {
            continue;
        };
        read_segment(source, segment, &mut buffer)?;
        match changed(segment, &buffer, new_id, &plan.origin) {
            Some(bytes) => out.write_all(&bytes)?,
            None => out.write_all(&buffer)?,
        }
        if file.lines {
            out.write_all(b"\n")?;
        }
    }
    out.write_all(&file.tail)?;
    let file = out
        .into_inner()
        .map_err(std::io::IntoInnerError::into_error)?;
    file.sync_all()?;
    Ok(())
}

fn read_segment(source: &mut File, segment: &Segment, buffer: &mut Vec<u8>) -> Result<()> {
    source.seek(SeekFrom::Start(segment.offset))?;
    buffer.clear();
    source.take(segment.len).read_to_end(buffer)?;
    // The plan was made from what was there before: the agent may have cut its file since.
    if buffer.len() as u64 != segment.len {
        return Err(Error::new(
            Code::Io,
            "the session file became shorter meanwhile",
        ));
    }
    Ok(())
}

/// A kept line with its ids changed; `None` when it stays as it is.
fn changed(segment: &Segment, line: &[u8], new_id: &str, origin: &str) -> Option<Vec<u8>> {
    let mut edits = Vec::new();
    match segment.rule {
        Rule::Verbatim => {}
        Rule::Ids(paths) => {
            edits.extend(
                paths
                    .iter()
                    .filter_map(|path| replace_id(line, path, new_id)),
            );
        }
        Rule::OwnIds(paths) => {
            let own = quoted(Some(origin));
            let is_own = |edit: &Edit| line.get(edit.0.clone()) == Some(own.as_bytes());
            let edits_of_all = paths
                .iter()
                .filter_map(|path| replace_id(line, path, new_id));
            edits.extend(edits_of_all.filter(is_own));
        }
        Rule::Header { ids, origin: key } => {
            edits.extend(ids.iter().filter_map(|id| replace_id(line, id, new_id)));
            let first = ids.first();
            edits.extend(first.and_then(|id| name_origin(line, id, key, origin)));
        }
        Rule::Edits(edits_of) => edits.extend(edits_of(line, new_id)),
    }
    if let Some(Relink { key, parent }) = &segment.relink
        && let Some(range) = span::find(line, &[key])
    {
        edits.push((range, quoted(parent.as_deref())));
    }
    if edits.is_empty() {
        return None;
    }
    edits.sort_by_key(|(range, _)| range.start);
    let mut out = Vec::with_capacity(line.len() + 64);
    let mut done = 0;
    for (range, text) in edits {
        out.extend_from_slice(line.get(done..range.start).unwrap_or_default());
        out.extend_from_slice(text.as_bytes());
        done = range.end;
    }
    out.extend_from_slice(line.get(done..).unwrap_or_default());
    Some(out)
}

fn replace_id(line: &[u8], path: &[&str], new_id: &str) -> Option<Edit> {
    let range = span::find(line, path)?;
    (line.get(range.start) == Some(&b'"')).then(|| (range, quoted(Some(new_id))))
}

/// Sets `key` beside the id to the origin: its value when it is there, else a new member after the id.
fn name_origin(line: &[u8], id: &[&str], key: &str, origin: &str) -> Option<Edit> {
    let (_, parents) = id.split_last()?;
    let beside: Vec<&str> = parents.iter().copied().chain([key]).collect();
    if let Some(range) = span::find(line, &beside) {
        return Some((range, quoted(Some(origin))));
    }
    let after = span::find(line, id)?.end;
    let member = format!(",{}:{}", quoted(Some(key)), quoted(Some(origin)));
    Some((after..after, member))
}

fn quoted(text: Option<&str>) -> String {
    serde_json::Value::from(text).to_string()
}

/// Renames into place, never over anything.
fn put(from: &Path, to: &Path) -> Result<()> {
    use rustix::io::Errno;
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        Err(Errno::EXIST) => Err(in_the_way(to)),
        // Not every file system can refuse to replace: then claim the name first.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => put_by_claim(from, to),
        Err(errno) => Err(errno).context(|| format!("cannot create '{}'", to.display())),
    }
}

fn put_by_claim(from: &Path, to: &Path) -> Result<()> {
    let doing = || format!("cannot create '{}'", to.display());
    let claimed = if from.is_dir() {
        create::new_dir(to, 0o700)
    } else {
        std::fs::hard_link(from, to)
    };
    match claimed {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Err(in_the_way(to)),
        Err(error) => Err(error).context(doing),
        // A rename over the empty directory just made; the link needs none.
        Ok(()) if from.is_dir() => std::fs::rename(from, to).context(doing),
        Ok(()) => std::fs::remove_file(from).context(doing),
    }
}

fn in_the_way(path: &Path) -> Error {
    Error::new(
        Code::WouldOverwrite,
        format!("'{}' is there already", path.display()),
    )
}

fn sync_directory(directory: &Path) -> std::io::Result<()> {
    crate::git::fs::sync_dir(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(rule: Rule, relink: Option<Relink>) -> Segment {
        Segment {
            source: 0,
            offset: 0,
            len: 0,
            rule,
            relink,
        }
    }

    fn text(segment: &Segment, line: &str) -> String {
        let bytes = changed(segment, line.as_bytes(), "new", "old");
        bytes.map_or_else(
            || line.to_owned(),
            |bytes| String::from_utf8(bytes).expect("text stays text"),
        )
    }

    #[test]
    fn only_the_ids_change() {
        let ids = segment(Rule::Ids(&[&["sessionId"]]), None);
        assert_eq!(
            text(
                &ids,
                r#"{ "a":"sessionId", "sessionId" : "old","x":[1 ,2]}"#
            ),
            r#"{ "a":"sessionId", "sessionId" : "new","x":[1 ,2]}"#
        );
        assert_eq!(text(&ids, r#"{"sessionId":null}"#), r#"{"sessionId":null}"#);
        let parent = Some(Relink {
            key: "parentUuid",
            parent: Some("p".into()),
        });
        assert_eq!(
            text(
                &segment(Rule::Verbatim, parent),
                r#"{"parentUuid":"gone","b":1}"#
            ),
            r#"{"parentUuid":"p","b":1}"#
        );
    }

    #[test]
    fn a_temporary_name_says_who_writes() {
        let maker = Maker::this();
        let parsed = parse_temporary(&format!(".a-b.tw-tmp-{maker}"));
        assert_eq!(parsed, Some(("a-b".to_owned(), maker.clone())));
        for other in [
            "a.tw-tmp-1-2",
            ".a.tw-tmp",
            ".a.tw-tmp-1",
            ".a.tw-tmp-x-2",
            ".a.jsonl",
        ] {
            assert_eq!(parse_temporary(other), None, "{other}");
        }
    }

    #[test]
    fn a_header_names_its_origin_once() {
        let header = segment(
            Rule::Header {
                ids: &[&["payload", "id"], &["payload", "session_id"]],
                origin: "forked_from_id",
            },
            None,
        );
        assert_eq!(
            text(&header, r#"{"id":"x","payload":{"id":"old","cwd":"/"}}"#),
            r#"{"id":"x","payload":{"id":"new","forked_from_id":"old","cwd":"/"}}"#
        );
        assert_eq!(
            text(&header, r#"{"payload":{"session_id":"old","id":"old"}}"#),
            r#"{"payload":{"session_id":"new","id":"new","forked_from_id":"old"}}"#
        );
        assert_eq!(
            text(
                &header,
                r#"{"payload":{"forked_from_id":"older","id":"old"}}"#
            ),
            r#"{"payload":{"forked_from_id":"old","id":"new"}}"#
        );
    }

    #[test]
    fn nothing_is_replaced() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        std::fs::write(&from, "new").expect("written");
        std::fs::write(&to, "old").expect("written");
        assert_eq!(
            put(&from, &to).expect_err("refused").code(),
            Code::WouldOverwrite
        );
        assert_eq!(
            put_by_claim(&from, &to).expect_err("refused").code(),
            Code::WouldOverwrite
        );
        assert_eq!(std::fs::read(&to).expect("readable"), b"old");
        put_by_claim(&from, &dir.path().join("free")).expect("placed");
        assert!(!from.exists());
    }
}
