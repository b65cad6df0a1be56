#!/bin/sh
# Checkpoints made by hooks, edits made by the shell, a rewind of both with a note, and the way back.
#
# Run it anywhere: it works in a temporary directory with a home of its own, plays the agent itself, and leaves nothing behind.
#   TW=/path/to/tw    the binary, when it is not in PATH
set -eu
tw=${TW:-$(command -v tw)}
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
tw() { "$tw" "$@"; }
export HOME="$room/home" GIT_CONFIG_NOSYSTEM=1 TW_NO_BACKGROUND=1
unset CLAUDE_CODE_SESSION_ID CLAUDE_CONFIG_DIR || true
session=5f0c1d2e-1111-4222-8333-444444444444
transcript="$HOME/.claude/projects/-work/$session.jsonl"
mkdir -p "$(dirname "$transcript")" "$room/work"
cd "$room/work"

run() {
    printf '$ %s\n' "$1"
    eval "$1" 2>&1 | sed "s|$room|~|g"
    echo
}

# What Claude Code writes into its session file. $1: type, $2: uuid, $3: the uuid before, $4: the message.
row() {
    parent=null
    [ -z "$3" ] || parent="\"$3\""
    printf '{"parentUuid":%s,"isSidechain":false,"userType":"external","cwd":"%s","sessionId":"%s","version":"2.1.200","gitBranch":"main","type":"%s","message":%s,"uuid":"%s","timestamp":"2026-02-28T15:30:00.000Z"}\n' \
        "$parent" "$PWD" "$session" "$1" "$4" "$2" >>"$transcript"
}
asks() { # The hook runs before the agent writes the prompt down.
    printf '{"session_id":"%s","transcript_path":"%s","cwd":"%s","hook_event_name":"UserPromptSubmit","prompt":"%s"}' \
        "$session" "$transcript" "$PWD" "$3" | tw hook claude user-prompt-submit
    row user "$1" "$2" "{\"role\":\"user\",\"content\":\"$3\"}"
}
answers() {
    row assistant "$1" "$2" "{\"id\":\"m-$1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[{\"type\":\"text\",\"text\":\"$3\"}],\"stop_reason\":\"end_turn\",\"usage\":{\"input_tokens\":$4,\"output_tokens\":20,\"cache_read_input_tokens\":0,\"cache_creation_input_tokens\":0}}"
}
starts() {
    printf '{"session_id":"%s","transcript_path":"%s","cwd":"%s","hook_event_name":"SessionStart","source":"%s"}' \
        "$1" "$(dirname "$transcript")/$1.jsonl" "$PWD" "$2" | tw hook claude session-start
}

git init -q -b main .
printf 'def parse(text):\n    return text.split(",")\n' >parser.py
git add parser.py
git -c user.name=You -c user.email=you@example.com commit -q -m 'first'

starts "$session" startup
asks u1 '' 'explain the parser'
answers a1 u1 'It splits at commas.' 900
asks u2 a1 'make it faster'
printf 'import functools\n\n@functools.cache\ndef parse(text):\n    return text.split(",")\n' >parser.py
answers a2 u2 'It has a cache now.' 2400
asks u3 a2 'why is it wrong now?'
echo 'debugging' >scratch.txt
answers a3 u3 'The cache hands out one list twice.' 5200
before=$(sha256sum <"$transcript")

run 'tw checkpoint list'
run 'tw rewind 1 --both --dry-run'
run "tw rewind 1 --both --note 'a cache hands out the same list twice: copy it' --rationale 'went astray'"
run 'git status --short; cat parser.py'

fork=$(tw --json checkpoint list | sed 's/.*"fork":{"session_id":"\([^"]*\)".*/\1/')
echo '# Claude Code resumes the fork, its session-start hook runs:'
echo "$ tw hook claude session-start"
starts "$fork" resume
echo
[ "$before" = "$(sha256sum <"$transcript")" ] && echo 'the original session file is as it was'
echo
run "tw rewind --undo --session $session"
run 'git status --short; tail -n 2 parser.py'
run 'tw session list'
