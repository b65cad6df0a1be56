#!/bin/sh
# The whole loop of an issue, with every command and what it says: friction is reported while work goes on; later somebody
# goes back to the very moment, reproduces, tries, comes home, and puts what worked into the present.
#
# Run it anywhere: it works in a temporary directory with a home of its own and leaves nothing behind.
#   TW=/path/to/tw    the binary, when it is not in PATH
set -eu
tw=${TW:-$(command -v tw)}
room=$(mktemp -d "${TMPDIR:-/tmp}/tw-loop-XXXXXX")
trap 'rm -rf "$room"' EXIT
tw() { "$tw" "$@"; }
export HOME="$room/home" GIT_CONFIG_NOSYSTEM=1 TW_NO_BACKGROUND=1
for role in AUTHOR COMMITTER; do
    export "GIT_${role}_NAME=Ada" "GIT_${role}_EMAIL=ada@example.com"
done

# Shows a command as one would type it, and runs it.
run() {
    printf '$ %s\n' "$1"
    eval "$1"
}
note() { printf '\n# %s\n' "$1"; }

mkdir "$HOME" "$room/ledger"
cd "$room/ledger"
git init -q -b main
cat >total.sh <<'END'
#!/bin/sh
# Adds up the amounts in a file, one a line.

sum=0
while read -r amount; do
    sum=$((sum + amount))
done <"$1"

echo "$sum"
END
chmod +x total.sh
git add total.sh
git commit -qm 'total.sh'

note 'A session starts. An agent that was set up with "tw init" tells of it by a hook.'
run "tw session start --agent claude --session 6f1c2a9e --hint 'add the amounts of March'"

note 'Work, and friction.'
run "printf '10\n20\n12' >march.txt"
run "./total.sh march.txt"

# What the agent has on disk of this conversation by now.
row='"sessionId":"6f1c2a9e","cwd":"'$PWD'","version":"2.0.0","isSidechain":false,"userType":"external"'
cat >"$room/session.jsonl" <<END
{"type":"user","uuid":"u1","parentUuid":null,$row,"message":{"role":"user","content":"Total the amounts of March. The ledger opens with LEDGER_PASSWORD=hunter2-Violet-77."}}
{"type":"assistant","uuid":"u2","parentUuid":"u1",$row,"message":{"role":"assistant","id":"m1","model":"a-model","content":[{"type":"text","text":"The total is 30: the last amount seems to be missing."}]}}
END

note 'Say it, and go on. The conversation comes from the agent itself, redacted.'
run "tw issue report --task-context 'totalling the amounts of March' --symptom 'total.sh leaves out the last amount' \\
    --success-criteria 'a file without a newline at its end is added up whole' --severity high \\
    --verify 'test \"\$(./total.sh march.txt)\" = 42' --transcript \"\$room/session.jsonl\""
run "sed -i 's/^# Adds/# usage: total.sh FILE. Adds/' total.sh && git commit -qam 'total.sh: usage'"
run "echo 'ask about April' >todo.txt"

note 'Later: which issue is next, and what was said?'
run "tw issue next"
id=$(tw -q issue next)
run "tw issue chat \$id"

note 'Back to the very state in which it was reported. It can be seen again.'
run "tw issue start \$id"
run "tw issue verify \$id || true"

note 'Try something here: nothing of it reaches the present.'
run "sed -i 's/^while read -r amount; do/while read -r amount || [ -n \"\$amount\" ]; do/' total.sh"
run "tw issue verify \$id"
run "tw issue experiment \$id --repro './total.sh march.txt says 30' --changes 'read also a last line without a newline' \\
    --validation 'tw issue verify' --result 'says 42' >experiment.out && grep -A2 '^## Result' experiment.out; rm experiment.out"

note 'Home again, exactly.'
run "tw return"
run "cat todo.txt && ./total.sh march.txt"

note 'Put what worked onto the present, which has moved on.'
run "tw issue apply \$id"
run "git diff"
run "tw issue verify \$id"
run "git commit -qam 'total.sh: count a last line without a newline'"
run "tw issue close \$id --status fixed --note 'read also a last line without a newline'"

note 'Everything is in the repository, for plain git, too.'
run "tw issue list --status all"
run "git for-each-ref --format='%(refname)' refs/notes/timewarp"
