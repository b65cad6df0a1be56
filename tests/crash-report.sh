#!/usr/bin/env bash
# A kill at every mutating system call of 'tw issue report' with a conversation; then the next commands. The issue is whole,
# with its chat, or absent; a chat without an issue is no issue. Ends with 1 when anything else was seen. Needs strace.
#
#   TW=target/debug/tw   the binary
#   TW_MAX=20            at most so many calls of each kind (default: all)
set -u
tw=$(realpath "${TW:-target/debug/tw}")
command -v strace >/dev/null || { echo "skipped: strace is not installed"; exit 0; }
max=${TW_MAX:-100000}
calls=open,openat,write,pwrite64,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat,fchmod,chmod,ftruncate,fsync,fdatasync,rmdir
room=$(mktemp -d "${TMPDIR:-/tmp}/tw-report-XXXXXX")
trap 'rm -rf "$room"' EXIT
repo=$room/repo
export HOME=$room/home GIT_CONFIG_NOSYSTEM=1 LC_ALL=C TZ=UTC TW_NO_BACKGROUND=1
export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@t GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@t

mkdir "$HOME" "$repo" && cd "$repo" && git init -q -b main && echo one >a && git add a && git commit -qm a || exit 2
"$tw" -q session start --session one >/dev/null || exit 2
row='"sessionId":"one","cwd":"'$repo'","version":"2.0.0","isSidechain":false,"userType":"external"'
cat >"$room/session.jsonl" <<END
{"type":"user","uuid":"u1","parentUuid":null,$row,"message":{"role":"user","content":"do it"}}
{"type":"assistant","uuid":"u2","parentUuid":"u1",$row,"message":{"role":"assistant","id":"m1","model":"m","content":[{"type":"text","text":"done"}]}}
END
report=(--json issue report --task-context t --symptom s --success-criteria c --transcript "$room/session.jsonl")
rm -rf "$room/saved" && cp -a "$repo" "$room/saved"
strace -f -qq -e trace=$calls -o "$room/trace" "$tw" "${report[@]}" >/dev/null 2>&1

bad=0 hits=0 whole=0 absent=0
printf '%-12s %7s %7s %7s %7s %7s\n' call points hit whole absent bad
for call in ${calls//,/ }; do
    count=$(grep -cE "^[0-9]+ +$call\(" "$room/trace")
    [ "$count" -gt 0 ] || continue
    tried=0 hit=0 wrong=0 seen=0 none=0
    for ((n = 1; n <= count && n <= max; n++)); do
        rm -rf "$repo" && cp -a "$room/saved" "$repo" && cd "$repo" || exit 2
        { strace -f -qq -e trace="$call" -e inject="$call:signal=KILL:when=$n" -o "$room/hit" "$tw" "${report[@]}"; } >/dev/null 2>&1
        tried=$((tried + 1)) why=
        grep -q 'killed by SIGKILL' "$room/hit" || continue
        hit=$((hit + 1))
        "$tw" --json issue list >"$room/list" 2>&1 || why="list failed"
        case $(grep -o '"count":[0-9]*' "$room/list") in
        '"count":0') none=$((none + 1)) ;;
        '"count":1')
            seen=$((seen + 1))
            id=$(grep -o '"issue_id":"[^"]*"' "$room/list" | head -1 | cut -d'"' -f4)
            "$tw" --json issue get "$id" | grep -q '"symptom":"s"' || why="$why; half an issue"
            "$tw" --json issue chat "$id" | grep -q '"total":2' || why="$why; no chat"
            ;;
        *) why="$why; $(head -c 200 "$room/list")" ;;
        esac
        "$tw" "${report[@]}" >"$room/said" 2>&1 || why="$why; the next report failed: $(head -c 200 "$room/said")"
        litter=$(find "$repo/.git" -name '*.lock' -size +0 -not -path '*/timewarp/*' | head -2)
        [ -z "$litter" ] || why="$why; litter: $litter"
        git fsck --strict --no-dangling --no-progress >"$room/said" 2>&1 && [ ! -s "$room/said" ] || why="$why; fsck"
        git for-each-ref >/dev/null || why="$why; refs"
        if [ -n "$why" ]; then
            wrong=$((wrong + 1)) bad=$((bad + 1))
            echo "  $call:$n: $why" >&2
        fi
    done
    printf '%-12s %7d %7d %7d %7d %7d\n' "$call" "$tried" "$hit" "$seen" "$none" "$wrong"
    hits=$((hits + hit)) whole=$((whole + seen)) absent=$((absent + none))
done
echo "$hits kills: $whole whole, $absent absent, $bad bad"
[ "$hits" -gt 0 ] || { echo "nothing was killed" >&2; exit 1; }
exit $((bad > 0))
