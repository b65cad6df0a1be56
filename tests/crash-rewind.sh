#!/usr/bin/env bash
# A kill at every mutating system call of 'tw rewind N --both --note' and of 'tw context revert N --note'; then the next commands.
# The session file is as it was; a fork is whole or absent, and has its note; the working tree and the log are the old or the
# new ones; no byte is lost; the same command works afterwards. Ends with 1 when anything else was seen. Needs strace, python3.
#
#   TW=target/debug/tw              the binary
#   TW_COMMANDS="rewind context"    which commands (default: both)
#   TW_MAX=20                       at most so many calls of each kind per command (default: all)
#   TMPDIR=/dev/shm                 where: a file system in memory makes it several times quicker
set -u
tw=$(realpath "${TW:-target/debug/tw}")
for tool in strace python3; do
    command -v $tool >/dev/null || { echo "skipped: $tool is not installed"; exit 0; }
done
max=${TW_MAX:-100000}
# 'open' is what opens a file in a static binary, or by rustix.
calls=open,openat,write,pwrite64,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat,symlink,symlinkat,fchmod,fchmodat,chmod,fchown,fchownat,ftruncate,utimensat,fsync,fdatasync,rmdir,copy_file_range
room=$(mktemp -d "${TMPDIR:-/tmp}/tw-rewind-XXXXXX")
trap 'rm -rf "$room"' EXIT
repo=$room/live/repo
unset CLAUDE_CODE_SESSION_ID CLAUDE_CONFIG_DIR
export HOME=$room/live/home GIT_CONFIG_NOSYSTEM=1 LC_ALL=C TZ=UTC TW_NO_BACKGROUND=1
export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@t GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@t
session=5f0c1d2e-1111-4222-8333-444444444444
projects=$HOME/.claude/projects/-work
transcript=$projects/$session.jsonl
logs=$repo/.git/timewarp/contexts
# strace counts calls per thread: on one core there is one.
one=
command -v taskset >/dev/null && one="taskset -c $(($$ % $(nproc)))"
traced="$one strace -f -qq"

# What Claude Code writes into its session file. $1: type, $2: uuid, $3: the uuid before, $4: the message.
row() {
    parent=null
    [ -z "$3" ] || parent="\"$3\""
    printf '{"parentUuid":%s,"isSidechain":false,"userType":"external","cwd":"%s","sessionId":"%s","version":"2.1.200","gitBranch":"main","type":"%s","message":%s,"uuid":"%s","timestamp":"2026-02-28T15:30:00.000Z"}\n' \
        "$parent" "$repo" "$session" "$1" "$4" "$2" >>"$transcript"
}
asks() {
    printf '{"session_id":"%s","transcript_path":"%s","cwd":"%s","hook_event_name":"UserPromptSubmit","prompt":"%s"}' \
        "$session" "$transcript" "$repo" "$3" | "$tw" hook claude user-prompt-submit >/dev/null
    row user "$1" "$2" "{\"role\":\"user\",\"content\":\"$3\"}"
}
answers() {
    row assistant "$1" "$2" "{\"id\":\"m-$1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[$3],\"stop_reason\":\"end_turn\",\"usage\":{\"input_tokens\":900,\"output_tokens\":20,\"cache_read_input_tokens\":0,\"cache_creation_input_tokens\":0}}"
}
uses() { # A tool call and its result.
    answers "$1" "$2" "{\"type\":\"tool_use\",\"id\":\"call-$1\",\"name\":\"Bash\",\"input\":{\"command\":\"ls\"}}"
    row user "$1-result" "$1" "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"call-$1\",\"content\":\"a\"}]}"
}
starts() {
    printf '{"session_id":"%s","transcript_path":"%s","cwd":"%s","hook_event_name":"SessionStart","source":"%s"}' \
        "$1" "$transcript" "$repo" "$2" | "$tw" hook claude session-start
}

build_repo() {
    rm -rf "$room/live" && mkdir -p "$projects" "$repo" && cd "$repo" && git init -q -b main || exit 2
    mkdir -p dir/sub && echo a >a && echo b >dir/b && echo c >dir/sub/c && ln -s a link && echo f >shape
    git add -A && git commit -qm base
}

build_rewind() {
    build_repo
    starts $session startup
    asks u1 '' 'look around'
    uses a1 u1
    answers a2 a1-result '{"type":"text","text":"done"}'
    echo edited >a && git add a && mkdir notes && echo n >notes/n
    asks u2 a2 'make it faster'
    git reset -q --hard && rm -r notes dir/sub shape && mkdir shape && echo d >shape/d && echo now >a && echo new >new
    chmod 600 new && rm link && ln -s dir link
    uses a3 u2
    asks u3 a3-result 'why is it wrong?'
    answers a4 u3 '{"type":"text","text":"it is not"}'
}

build_context() {
    build_repo
    "$tw" -q context --session s append --role system-prompt 'be brief'
    "$tw" -q context --session s checkpoint
    "$tw" -q context --session s append --role user 'look around'
    "$tw" -q context --session s checkpoint
    "$tw" -q context --session s append '{"role":"assistant","content":"","tool_calls":[{"type":"function","id":"c1","function":{"name":"ls","arguments":"{}"}}]}'
    "$tw" -q context --session s append --role tool --tool-call-id c1 'a'
    "$tw" -q context --session s append --role user 'and now?'
} >/dev/null 2>&1

# Everything a round trip must bring back, in one text.
state() {
    cd "$repo" || exit 2
    find . -path ./.git -prune -o -printf '%p %y %m %l\n' | sort
    find . -path ./.git -prune -o -type f -print0 | sort -z | xargs -0 sha1sum
    git ls-files --stage -t -v
    cat .git/HEAD
    git for-each-ref --format='%(refname) %(objectname)' refs/heads refs/tags
}

blobs() { cd "$repo" && find . -path ./.git -prune -o -type f -print | git hash-object --no-filters --stdin-paths | sort -u; }

back() { rm -rf "$room/live" && cp -a "$room/saved" "$room/live" && cd "$repo" || exit 2; }

# The places of a call in the trace that change something: of the many openings only those that may create.
places() {
    awk -v call="$1" '$2 ~ "^" call "\\(" { n++; if (call !~ /^open/ || /O_CREAT/) print n }' "$room/trace"
}

forks() { find "$projects" -name '*.jsonl' ! -name "$session.jsonl"; }

# A fork with its own id taken out.
neutral() { sed "s/$(basename "$1" .jsonl)/FORK/g" "$1"; }

# Every line is a document, one chain, the session's own id, and each tool call has its result.
sound() {
    python3 - "$1" <<'END'
import json, os, sys
rows = [json.loads(line) for line in open(sys.argv[1], newline="\n")]
own = os.path.basename(sys.argv[1])[:-len(".jsonl")]
calls, results, before = set(), set(), None
for row in rows:
    assert row["sessionId"] == own and row["parentUuid"] == before, row
    before = row["uuid"]
    content = row["message"]["content"]
    for part in content if isinstance(content, list) else []:
        if part["type"] == "tool_use": calls.add(part["id"])
        if part["type"] == "tool_result": results.add(part["tool_use_id"])
assert rows and calls and calls == results, (calls, results)
END
}

unsound_git() {
    git fsck --strict --no-dangling --no-progress >"$room/said" 2>&1 && [ ! -s "$room/said" ] || printf '; fsck'
    git for-each-ref >/dev/null || printf '; refs'
}

rewind=(rewind 1 --both --note 'it is the cache' --session "$session")

# The uninterrupted rewind, which the others are compared with.
look_rewind() {
    fork=$(forks)
    sound "$fork" || { echo "the fork is not sound without any kill" >&2; exit 2; }
    neutral "$fork" >"$room/fork"
    starts "$(basename "$fork" .jsonl)" resume | grep -q 'it is the cache' || { echo "no note without any kill" >&2; exit 2; }
    cmp -s "$transcript" "$room/original" || { echo "the session file is changed without any kill" >&2; exit 2; }
}

judge_rewind() {
    cmp -s "$transcript" "$room/original" || printf '; the session file is changed'
    for fork in $(forks); do
        neutral "$fork" | cmp -s - "$room/fork" || printf '; a fork is not whole'
    done
    if ((tried % 2)); then next=recover; else next=snapshot; fi
    "$tw" -q $next >"$room/said" 2>&1 || printf '; %s failed: %s' $next "$(head -1 "$room/said")"
    state >"$room/now"
    tree=half-way
    cmp -s "$room/now" "$room/old" && tree=old
    cmp -s "$room/now" "$room/new" && tree=new
    [ $tree != half-way ] || printf '; the working tree is half-way'
    # The files go back before the fork gets its name.
    [ $tree = new ] || [ -z "$(forks)" ] || printf '; a fork, but the files did not go back'
    { blobs; git rev-list --objects --all | cut -d' ' -f1; } | sort -u >"$room/kept"
    [ -z "$(sort -u "$room/bytes" | comm -23 - "$room/kept")" ] || printf '; bytes lost'
    litter=$(find "$repo" \( -name '.tw-*' -o -name '*.lock' -o -name journal.json -o -name 'index.before' -o -name 'index.after' \
        -o -name 'tmp_*' ! -name 'tmp_object_git2_*' -o -name 'packed-refs.new' \) -printf ' %P')
    [ -z "$litter" ] || printf '; litter:%s' "$litter"
    unsound_git
    for fork in $(forks); do
        starts "$(basename "$fork" .jsonl)" resume 2>&1 | grep -q 'it is the cache' || printf '; a fork without its note'
    done
    had=$(forks | wc -l)
    "$tw" -q "${rewind[@]}" >"$room/said" 2>&1 || printf '; the next rewind failed: %s' "$(head -1 "$room/said")"
    [ "$(forks | wc -l)" = $((had + 1)) ] || printf '; the next rewind made no fork'
    state | cmp -s - "$room/new" || printf '; the next rewind did not put the files back'
    for fork in $(forks); do
        neutral "$fork" | cmp -s - "$room/fork" || printf '; a later fork is not whole'
    done
    cmp -s "$transcript" "$room/original" || printf '; the session file is changed later'
    litter=$(find "$projects" -name '.*' -type f -printf ' %f')
    [ -z "$litter" ] || printf '; beside the session:%s' "$litter"
    # The forks before were started; the last one's note waits.
    [ "$(find "$repo/.git/timewarp/sessions" -name '*.note' | wc -l)" = 1 ] || printf '; a note for no fork'
    # The half-written objects of a record have a name that does not say whose they are; git's own prune clears them.
    git prune --expire=now >"$room/said" 2>&1
    [ -z "$(find "$repo/.git/objects" -name 'tmp_*')" ] || printf '; git prune leaves temporary objects'
    unsound_git
    echo "$tree $had" >"$room/outcome"
}

context=(context --session s revert 1 --note 'it is the cache')

look_context() { cp "$logs/s.jsonl" "$room/log.new"; }

# Whatever stays beside the log is the whole of the old one.
rotated() {
    for file in "$logs"/s_*.jsonl; do
        [ ! -e "$file" ] || cmp -s "$file" "$room/log.old" || printf '; %s is not the old log' "${file##*/}"
    done
}

judge_context() {
    log=half-way
    cmp -s "$logs/s.jsonl" "$room/log.old" && log=old
    cmp -s "$logs/s.jsonl" "$room/log.new" && log=new
    [ $log != half-way ] || printf '; the log is half-way'
    [ $log = old ] || [ -e "$logs/s_1.jsonl" ] || printf '; the old log is gone'
    rotated
    "$tw" --json context --session s show >"$room/said" 2>&1 || printf '; show failed: %s' "$(head -1 "$room/said")"
    cp "$logs/s.jsonl" "$room/log"
    "$tw" -q context --session s append --role user next >"$room/said" 2>&1 || printf '; the next append failed: %s' "$(head -1 "$room/said")"
    head -c "$(stat -c %s "$room/log")" "$logs/s.jsonl" | cmp -s - "$room/log" || printf '; the append changed what was there'
    [ "$(tail -n 1 "$logs/s.jsonl" | grep -c next)" = 1 ] || printf '; the append added nothing'
    rotated
    cp "$logs/s.jsonl" "$room/log"
    if [ $log = old ]; then before=s_1; else before=s_2; fi
    "$tw" -q "${context[@]}" >"$room/said" 2>&1 || printf '; the next revert failed: %s' "$(head -1 "$room/said")"
    cmp -s "$logs/s.jsonl" "$room/log.new" || printf '; the next revert did not go back'
    cmp -s "$logs/$before.jsonl" "$room/log" || printf '; the next revert lost the log'
    litter=$(find "$logs" -name '.*' -type f -printf ' %f')
    [ -z "$litter" ] || printf '; litter:%s' "$litter"
    state | cmp -s - "$room/old" || printf '; the working tree is changed'
    unsound_git
    echo "$log 0" >"$room/outcome"
}

bad=0 hits=0 began=$SECONDS
printf '%-8s %-12s %7s %7s %7s %7s %7s %7s\n' command call points hit old new forks bad
for command in ${TW_COMMANDS:-rewind context}; do
    build_"$command"
    declare -n args=$command
    state >"$room/old"; blobs >"$room/bytes"
    cp "$transcript" "$room/original" 2>/dev/null
    cp "$logs/s.jsonl" "$room/log.old" 2>/dev/null
    rm -rf "$room/saved" && cp -a "$room/live" "$room/saved"
    back
    $traced -e trace=$calls -o "$room/trace" "$tw" -q "${args[@]}" >"$room/said" 2>&1 || { cat "$room/said" >&2; exit 2; }
    state >"$room/new"; blobs >>"$room/bytes"
    look_"$command"
    for call in ${calls//,/ }; do
        tried=0 hit=0 wrong=0 olds=0 news=0 forked=0
        for n in $(places "$call" | head -n "$max"); do
            back
            { $traced -e trace="$call" -e inject="$call:signal=KILL:when=$n" -o "$room/hit" "$tw" -q "${args[@]}"; } >/dev/null 2>&1
            tried=$((tried + 1))
            # A kill that did not happen shows nothing: it is not counted as survived.
            grep -q 'killed by SIGKILL' "$room/hit" || continue
            hit=$((hit + 1))
            judge_"$command" >"$room/why"
            read -r side had <"$room/outcome"
            case $side in old) olds=$((olds + 1)) ;; new) news=$((news + 1)) ;; esac
            forked=$((forked + had))
            if [ -s "$room/why" ]; then
                wrong=$((wrong + 1)) bad=$((bad + 1))
                echo "  $command $call:$n$(cat "$room/why")  [$(grep -F "$call(" "$room/hit" | tail -n 1 | cut -c1-160)]" >&2
            fi
        done
        [ "$tried" = 0 ] || printf '%-8s %-12s %7d %7d %7d %7d %7d %7d\n' "$command" "$call" "$tried" "$hit" "$olds" "$news" "$forked" "$wrong"
        hits=$((hits + hit))
    done
done
echo "$hits kills, $bad bad, $((SECONDS - began)) s"
[ "$hits" -gt 0 ] || { echo "nothing was killed" >&2; exit 1; }
exit $((bad > 0))
