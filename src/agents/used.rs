//! Which agents a person uses: those whose program is on PATH, and those that left a directory under HOME or in the project.
//!
//! Only looks. What each agent leaves where it is used is in its own folder: [`Agent::traces`].

use crate::git::fs::is_there;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::places::Places;
use super::{AGENTS, Agent};

/// What an agent leaves where it is used.
#[derive(Debug, Clone, Default)]
pub struct Traces {
    /// The names of its programs.
    pub programs: &'static [&'static str],
    /// Its user's directories.
    pub user: Vec<UserDirectory>,
    /// Its files and directories in a project.
    pub project: &'static [&'static str],
}

/// A directory of an agent's user: `name` in the one that `variable` names, else in `base` under HOME.
#[derive(Debug, Clone, Copy)]
pub struct UserDirectory {
    /// The variable.
    pub variable: &'static str,
    /// What it stands for where it is not set; empty for HOME itself.
    pub base: &'static str,
    /// The directory in there; empty for that one itself.
    pub name: &'static str,
}

impl UserDirectory {
    /// A directory under HOME, or wherever the variable says.
    pub fn moved_by(variable: &'static str, base: &'static str) -> Self {
        let name = "";
        Self {
            variable,
            base,
            name,
        }
    }

    fn path(&self, places: &Places) -> Option<PathBuf> {
        let moved = places.dir(self.variable);
        let base = moved.or_else(|| Some(places.home()?.join(self.base)))?;
        // An empty name would end the path in a slash, which people would see.
        Some(
            base.components()
                .chain(Path::new(self.name).components())
                .collect(),
        )
    }
}

/// An agent that is used, and what showed it.
pub struct UsedAgent {
    /// The agent.
    pub agent: &'static dyn Agent,
    /// Its programs and directories that were found.
    pub found: Vec<PathBuf>,
}

/// The agents that can be set up and are used, in the order of the table. `project` is the working tree, where there is one.
pub fn used(project: Option<&Path>, places: &Places) -> Vec<UsedAgent> {
    let installable = AGENTS.iter().filter(|agent| agent.setup().is_some());
    installable
        .map(|&agent| UsedAgent {
            found: found(agent, project, places),
            agent,
        })
        .filter(|used| !used.found.is_empty())
        .collect()
}

fn found(agent: &dyn Agent, project: Option<&Path>, places: &Places) -> Vec<PathBuf> {
    let traces = agent.traces();
    let programs = traces.programs.iter().filter_map(|name| {
        let mut named = programs(name, places).into_iter();
        named.find(|program| agent.is_its_program(program))
    });
    let user = traces.user.iter().filter_map(|dir| dir.path(places));
    let in_project = traces.project.iter();
    let project = in_project.filter_map(|name| Some(project?.join(name)));
    let mut all: Vec<PathBuf> = programs.collect();
    for path in user
        .chain(project)
        .filter(|path| is_there(path).unwrap_or(false))
    {
        // The working tree may be the home directory.
        if !all.contains(&path) {
            all.push(path);
        }
    }
    all
}

/// The programs of this name that a shell would start, best first.
fn programs(name: &str, places: &Places) -> Vec<PathBuf> {
    let path = places.dir("PATH").unwrap_or_default();
    // A relative directory is another one in each working directory, and nobody's proof.
    let dirs = std::env::split_paths(&path).filter(|dir| dir.is_absolute());
    let can_start = |file: &PathBuf| {
        let meta = file.metadata();
        meta.is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    dirs.map(|dir| dir.join(name)).filter(can_start).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A home directory, a project, and a directory of programs.
    struct Room(tempfile::TempDir);

    impl Room {
        fn new() -> Self {
            let room = Self(tempfile::tempdir().expect("a temporary directory"));
            for dir in ["home", "project", "bin"] {
                std::fs::create_dir(room.path(dir)).expect("made");
            }
            room
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn program(&self, name: &str, mode: u32) {
            let path = self.path(&format!("bin/{name}"));
            std::fs::write(&path, "#!/bin/sh\n").expect("written");
            let bits = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(path, bits).expect("set");
        }

        fn places(&self) -> Places {
            let path = format!("bin:/nowhere:{}", self.path("bin").display());
            Places::new(Some(self.path("home"))).with_var("PATH", path)
        }

        /// The names of those that are used, and what showed it.
        fn used(&self) -> Vec<String> {
            let all = used(Some(&self.path("project")), &self.places());
            let shown = |used: UsedAgent| {
                let found = used.found.iter().map(|path| {
                    let path = path.strip_prefix(self.0.path()).expect("within");
                    path.display().to_string()
                });
                let found: Vec<String> = found.collect();
                format!("{}: {}", used.agent.name(), found.join(" "))
            };
            all.into_iter().map(shown).collect()
        }
    }

    #[test]
    fn every_agent_that_can_be_set_up_leaves_traces() {
        for agent in AGENTS {
            let traces = agent.traces();
            assert_eq!(
                agent.setup().is_some(),
                !traces.programs.is_empty() && !traces.user.is_empty(),
                "{}",
                agent.name()
            );
            for name in traces.programs.iter().chain(traces.project) {
                assert!(!name.is_empty(), "{}", agent.name());
            }
        }
    }

    #[test]
    fn nothing_is_used_where_nothing_is() {
        let room = Room::new();
        assert_eq!(room.used(), [""; 0]);
        std::fs::create_dir(room.path("project/.github")).expect("made");
        room.program("claude", 0o644);
        std::fs::create_dir(room.path("bin/codex")).expect("made");
        assert_eq!(
            room.used(),
            [""; 0],
            "no program, and everybody's directory"
        );
    }

    #[test]
    fn each_agent_is_found_by_each_of_its_traces() {
        for agent in AGENTS.iter().filter(|agent| agent.setup().is_some()) {
            let name = agent.name();
            let traces = agent.traces();
            for program in traces.programs {
                let room = Room::new();
                room.program(program, 0o755);
                assert_eq!(room.used(), [format!("{name}: bin/{program}")]);
            }
            let under_home = |dir: &UserDirectory| {
                let path = Path::new("home").join(dir.base).join(dir.name);
                path.to_string_lossy().trim_end_matches('/').to_owned()
            };
            let user = traces.user.iter().map(under_home);
            let project = traces.project.iter().map(|dir| format!("project/{dir}"));
            for dir in user.chain(project) {
                let room = Room::new();
                std::fs::create_dir_all(room.path(&dir)).expect("made");
                assert_eq!(room.used(), [format!("{name}: {dir}")]);
            }
            for dir in traces.user.iter().filter(|dir| !dir.variable.is_empty()) {
                let room = Room::new();
                std::fs::create_dir_all(room.path(&under_home(dir))).expect("made");
                let elsewhere = room.path("elsewhere");
                let places = room.places().with_var(dir.variable, &elsewhere);
                let count = || found(*agent, None, &places).len();
                let before = count();
                std::fs::create_dir_all(elsewhere.join(dir.name)).expect("made");
                assert_eq!((before, count()), (0, 1), "{name}: it is moved");
            }
        }
    }

    #[test]
    fn directories_on_path_may_have_any_name() {
        use std::os::unix::ffi::OsStrExt as _;
        let room = Room::new();
        let odd = room
            .path("bin")
            .join(std::ffi::OsStr::from_bytes(b"o\xffd"));
        std::fs::create_dir(&odd).expect("made");
        room.program("claude", 0o755);
        std::fs::rename(room.path("bin/claude"), odd.join("claude")).expect("moved");
        let places = Places::new(None).with_var("PATH", &odd);
        assert_eq!(used(None, &places).len(), 1);
    }

    #[test]
    fn a_program_that_two_agents_have_is_the_one_s_whose_other_program_stands_beside_it() {
        let room = Room::new();
        room.program("kimi", 0o755);
        assert_eq!(room.used(), ["kimi-code: bin/kimi"]);
        room.program("kimi-cli", 0o755);
        assert_eq!(room.used(), ["kimi: bin/kimi-cli"]);
    }

    #[test]
    fn a_project_in_the_home_directory_is_named_once() {
        let room = Room::new();
        let home = room.path("home");
        std::fs::create_dir(home.join(".claude")).expect("made");
        let all = used(Some(&home), &room.places());
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].found, [home.join(".claude")]);
    }
}
