//! Every agent's files, in and out again.

use super::*;
use crate::agents::edit::NO_FILE;
use crate::agents::hook::EventKind;

fn setups(scope: Scope) -> Vec<(&'static str, Setup)> {
    let places = Places::new(Some("/home/u".into()));
    installable()
        .into_iter()
        .map(|agent| {
            let setup = setup(
                agent,
                (scope, Steps::Reported),
                Path::new("/work"),
                Path::new("/home/u"),
                &places,
            );
            let mut setup = setup.expect("known");
            // What an earlier version had is nothing that is put in.
            let is_former = |piece: &Piece| matches!(piece, Piece::Former(_));
            setup
                .targets
                .retain(|target| !target.pieces.iter().all(is_former));
            (agent, setup)
        })
        .collect()
}

#[test]
fn the_project_s_files_are_those_that_the_agents_read() {
    let mut files: Vec<String> = Vec::new();
    for (agent, setup) in setups(Scope::Project) {
        for target in setup.targets {
            let path = target.path.display().to_string();
            if !path.ends_with("SKILL.md") {
                files.push(format!("{agent} {path}"));
            }
        }
    }
    assert_eq!(
        files,
        [
            "claude /work/.claude/settings.json",
            "claude /work/.mcp.json",
            "codex /work/.codex/hooks.json",
            "codex /home/u/.codex/config.toml",
            "gemini /work/.gemini/settings.json",
            "qwen /work/.qwen/settings.json",
            "kimi /home/u/.kimi/config.toml",
            "kimi /home/u/.kimi/mcp.json",
            "kimi-code /home/u/.kimi-code/config.toml",
            "kimi-code /home/u/.kimi-code/mcp.json",
            "pi /work/.pi/extensions/timewarp.js",
            "pi /work/.pi/mcp.json",
            "opencode /work/.agents/timewarp/opencode.js",
            "opencode /work/opencode.json",
            "cursor /work/.cursor/hooks.json",
            "cursor /work/.cursor/mcp.json",
            "copilot /work/.github/hooks/timewarp.json",
            "copilot /work/.github/mcp.json",
        ]
    );
}

#[test]
fn user_files_lie_under_home_or_where_a_variable_says() {
    for (agent, setup) in setups(Scope::User) {
        for target in setup.targets {
            assert!(
                target.path.starts_with("/home/u"),
                "{agent} {:?}",
                target.path
            );
        }
    }
    for (agent, variable, files) in [
        (
            "claude",
            "CLAUDE_CONFIG_DIR",
            &["settings.json", "skills/timewarp/SKILL.md"][..],
        ),
        ("codex", "CODEX_HOME", &["hooks.json"]),
        (
            "gemini",
            "GEMINI_CLI_HOME",
            &[".gemini/settings.json", ".agents/skills/timewarp/SKILL.md"],
        ),
        ("kimi", "KIMI_SHARE_DIR", &["config.toml", "mcp.json"]),
        ("kimi-code", "KIMI_CODE_HOME", &["config.toml", "mcp.json"]),
        ("copilot", "COPILOT_HOME", &["hooks/timewarp.json"]),
    ] {
        let places = Places::new(None).with_var(variable, "/elsewhere");
        let setup = setup(
            agent,
            (Scope::User, Steps::Silent),
            Path::new("/"),
            Path::new("/home/u"),
            &places,
        );
        let setup = setup.expect("known");
        for (target, file) in setup.targets.iter().zip(files) {
            assert_eq!(target.path, Path::new("/elsewhere").join(file), "{agent}");
        }
    }
}

#[test]
fn every_file_goes_in_and_out_again_byte_for_byte() {
    let json = [
        NO_FILE,
        "{}\n",
        "{\"version\": 1}\n",
        // Aligned by somebody, as ours is marked.
        "{\n  \"version\":  1\n}\n",
        "{\n  \"version\":  1,\n  \"hooks\":    {\"stop\": [{\"command\": \"mine\"}]}\n}\n",
        "{\n  \"version\": 1,\n  \"hooks\": {\n    \"SessionStart\": [{\"hooks\": [{\"command\": \"x\"}]}],\n    \"sessionStart\": [{\"command\": \"x\"}]\n  }\n}\n",
        "{\n  \"hooks\": {},\n  \"version\": 1\n}\n",
        "{\n  // mine\n  \"a\": 1,\n  \"mcpServers\": {\"o\": {}},\n}\n",
        "{\"hooks\":{\"stop\":[{\"command\":\"mine\"}]}}",
        "{\n  \"hooks\": {\n    \"stop\": [{\"command\": \"mine\"}]\n  },\n  \"a\": 1\n}\n",
        "{\"hooks\":{ /* keep */ }}",
        "{\n  \"hooks\": {\n    // ours go here, see wiki  \n  }\n}\n",
        "{\n  \"hooks\": { /* keep */ /* this */ },\n  \"mcpServers\": {\r\n  // too\r\n  }\n}\n",
        "{ /* nothing yet */ }",
        "{\"hooks\": {\"SessionStart\": [ /* mine */ ], \"sessionStart\": [/**/]}, \"mcpServers\": {/**/}}",
    ];
    let toml = [
        NO_FILE,
        "",
        "a = 1",
        "a = 1\n[x]\ny = 2 # z\n",
        "default_model = \"\"\nhooks = []\nmcp_servers = {}\n\n[models]\n",
    ];
    for scope in [Scope::Project, Scope::User] {
        for (agent, setup) in setups(scope) {
            for target in setup.targets {
                let texts: &[&str] = match &target.pieces[..] {
                    [Piece::Whole(_)] => &[NO_FILE],
                    [Piece::Block(_)] => &toml,
                    _ => &json,
                };
                for text in texts {
                    let made = put(text, &target.pieces).expect("room");
                    assert_ne!(&made, text, "{agent} {:?}", target.path);
                    let twice = put(&made, &target.pieces).expect("room");
                    assert_eq!(twice, made, "{agent} {:?}", target.path);
                    let left = take(&made, &target.pieces).expect("ours");
                    assert_eq!(&left, text, "{agent} {:?}:\n{made}", target.path);
                    assert_eq!(take(text, &target.pieces).as_deref(), Ok(*text));
                }
            }
        }
    }
}

#[test]
fn what_is_not_ours_is_left_and_named() {
    let server = [mcp_servers()];
    let other = "{\"mcpServers\": {\"tw\": {\"command\": \"twitter\"}}}";
    assert_eq!(put(other, &server), Err(Refusal::OtherServer));
    assert_eq!(take(other, &server).as_deref(), Ok(other));
    let whole = [Piece::Whole(SKILL.to_owned())];
    assert_eq!(put("mine\n", &whole), Err(Refusal::OtherFile));
    assert_eq!(take("mine\n", &whole), Err(Refusal::OtherFile));
    assert_eq!(put("{", &server), Err(Refusal::Unreadable));
    let block = [Piece::Block(
        "[[hooks]]\nevent = \"x\"\ncommand = \"tw hook kimi x\"\n".to_owned(),
    )];
    let inline = "hooks = [{event = \"x\", command = \"theirs\"}]\n";
    assert_eq!(put(inline, &block), Err(Refusal::Inline));
    assert_eq!(put("= 1", &block), Err(Refusal::Unreadable));
}

#[test]
fn what_somebody_wrote_by_hand_is_not_taken_out() {
    let server = [mcp_servers()];
    let hooks = grouped("codex", &[("SessionEnd", EventKind::SessionEnd, 3)]);
    let skill = [Piece::Whole(SKILL.to_owned())];
    for (text, pieces) in [
        (
            r#"{"mcpServers":{"tw":{"command":"tw","args":["mcp"],"env":{"X":"1"}},"z":{}}}"#,
            &server[..],
        ),
        (
            r#"{"mcpServers":{"tw":{"command":"tw","args":["mcp"],"timeout":9}}}"#,
            &server,
        ),
        (
            r#"{"hooks":{"SessionEnd":[{"hooks":[{"type":"command","command":"tw hook codex session-end","timeout":99}]}]}}"#,
            &hooks,
        ),
        (
            r#"{"hooks":{"SessionEnd":[{"matcher":"x","hooks":[{"command":"tw hook codex session-end"}]}]}}"#,
            &hooks,
        ),
        (&format!("{SKILL}and ours\n"), &skill),
    ] {
        assert_eq!(take(text, pieces).as_deref(), Ok(text));
        if !text.contains("env") {
            assert_eq!(put(text, pieces).as_deref(), Ok(text));
        }
    }
}

#[test]
fn a_time_of_former_days_makes_way() {
    let pieces = grouped("codex", &[("SessionEnd", EventKind::SessionEnd, 3)]);
    let old = grouped("codex", &[("SessionEnd", EventKind::SessionEnd, 5)]);
    let mine = "{\"hooks\":{\"SessionEnd\":[{\"hooks\":[{\"command\":\"x\"}]}]}}";
    let made = put(&put(mine, &old).expect("room"), &pieces).expect("room");
    assert_eq!(made, put(mine, &pieces).expect("room"));
    assert_eq!(take(&made, &pieces).as_deref(), Ok(mine));
}

#[test]
fn an_older_command_of_ours_is_replaced() {
    let pieces = grouped("claude", &[("SessionStart", EventKind::SessionStart, 30)]);
    let old = r#"{"hooks":{"SessionStart":[{"hooks":[{"command":"tw hook session-start"}]},{"hooks":[{"command":"x"}]}]}}"#;
    let made = put(old, &pieces).expect("room");
    assert_eq!(made.matches("tw hook").count(), 1, "{made}");
    assert!(made.contains("tw hook claude session-start") && made.contains("\"x\""));
}

#[test]
fn the_skill_is_short_and_begins_as_skills_do() {
    // About four characters make a token of English.
    assert!(SKILL.len() / 4 < 1500, "{} characters", SKILL.len());
    assert!(SKILL.starts_with("---\nname: timewarp\ndescription: "));
}

#[test]
fn steps_are_told_only_where_they_are_asked_for() {
    let places = Places::new(Some("/home/u".into()));
    let text = |agent: &str, steps: Steps| {
        let what = (Scope::Project, steps);
        let setup = setup(
            agent,
            what,
            Path::new("/work"),
            Path::new("/home/u"),
            &places,
        );
        format!("{:?}", setup.expect("known").targets)
    };
    for agent in installable() {
        let word = match agent {
            "opencode" => "tool.execute.after".to_owned(),
            "pi" => "post-tool-use".to_owned(),
            agent => format!("tw hook {agent} post-tool-use"),
        };
        assert!(text(agent, Steps::Reported).contains(&word), "{agent}");
        assert!(!text(agent, Steps::Silent).contains(&word), "{agent}");
    }
}

#[test]
fn settings_against_hooks_are_told() {
    for (agent, text, is_silenced) in [
        ("claude", "{}", false),
        ("claude", "{\"disableAllHooks\": false}", false),
        ("claude", "{ // why\n \"disableAllHooks\": true,}", true),
        ("gemini", "{\"hooksConfig\": {\"enabled\": true}}", false),
        ("gemini", "{\"hooksConfig\": {\"enabled\": false}}", true),
        (
            "gemini",
            "{\"hooksConfig\": {\"disabled\": [\"x\", \"tw hook gemini stop\"]}}",
            true,
        ),
        (
            "gemini",
            "{\"hooksConfig\": {\"disabled\": [\"x\"]}}",
            false,
        ),
        ("codex", "[features]\nhooks = true", false),
        ("codex", "[features]\nhooks = false", true),
        ("codex", "[features]\ncodex_hooks = false", true),
        ("codex", "[features", true),
        (
            "kimi-code",
            "[[hooks]]\nevent = \"Stop\"\ncommand = \"x\"\ntimeout = 3",
            false,
        ),
        (
            "kimi-code",
            "[[hooks]]\nevent = \"Stop\"\nasync = true",
            true,
        ),
        ("kimi", "[[hooks]]\nevent = \"Stop\"\nasync = true", false),
    ] {
        assert_eq!(
            by_name(agent).expect("known").silenced(text).is_some(),
            is_silenced,
            "{agent} {text}"
        );
    }
}
