#!/usr/bin/env bash
# Snapshots, issues, and trips into the past and back, while `git gc --prune=now` runs in a loop beside them and an editor changes
# files, also those that a trip is just moving out: every snapshot and issue that was acknowledged has its refs and is whole
# afterwards, every later gc ends well, and fsck has nothing to say. Ends with 1 when not.
#
#   TW=target/debug/tw   the binary
#   TW_SNAPSHOTS=30      how many snapshots
#   TW_ISSUES=30         how many issues
#   TW_TRIPS=5           how many trips
set -u
tw=$(realpath "${TW:-target/debug/tw}")
count=${TW_SNAPSHOTS:-30}
issues=${TW_ISSUES:-30}
trips=${TW_TRIPS:-5}
room=$(mktemp -d "${TMPDIR:-/tmp}/tw-race-XXXXXX")
trap 'rm -rf "$room"' EXIT
export HOME=$room GIT_CONFIG_NOSYSTEM=1 LC_ALL=C TZ=UTC TW_NO_BACKGROUND=1
export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@t GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@t
mkdir "$room/repo" && cd "$room/repo" && git init -q -b main || exit 2
for ((n = 0; n < 200; n++)); do mkdir -p d$((n % 10)) && echo $n >d$((n % 10))/f$n; done
git add -A && git commit -qm base

touch "$room/go"
collect() { while [ -e "$room/go" ]; do git reflog expire --expire=now --all; git gc -q --prune=now; done; }
edit() {
    for ((n = 0; ; n++)); do
        [ -e "$room/go" ] || return
        echo "edit $n $RANDOM" >d$((n % 10))/f$((n % 200)); echo $n >new$((n % 20)); sleep 0.01
    done
}
collect >/dev/null 2>&1 & collector=$!
edit & editor=$!
refused=0
for ((n = 0; n < count; n++)); do
    "$tw" -q snapshot >>"$room/ids" || refused=$((refused + 1))
done
for ((n = 0; n < issues; n++)); do
    "$tw" -q issue report --snapshot latest --task-context "task $n" --symptom "symptom $n" \
        --success-criteria "criteria $n" >>"$room/issues" || refused=$((refused + 1))
done
first=$(head -1 "$room/ids")
home=$(git rev-parse HEAD)
for ((n = 0; n < trips; n++)); do
    "$tw" -q travel "$first" >/dev/null 2>&1 || refused=$((refused + 1))
    "$tw" -q return >/dev/null 2>&1 || "$tw" -q recover -y >/dev/null 2>&1
done
rm "$room/go"
wait $collector $editor
"$tw" -q return >/dev/null 2>&1

broken=0
while read -r id; do
    git rev-list --objects "refs/timewarp/snapshots/$id" >/dev/null 2>&1 || broken=$((broken + 1))
done <"$room/ids"
while read -r id; do
    "$tw" issue get "$id" >/dev/null 2>&1 || broken=$((broken + 1))
    git rev-list --objects "refs/timewarp/records/issues/$id" >/dev/null 2>&1 || broken=$((broken + 1))
done <"$room/issues"
[ "$(git rev-parse HEAD)" = "$home" ] || broken=$((broken + 1))
git gc -q --prune=now || broken=$((broken + 1))
git fsck --strict --no-dangling --no-progress >"$room/fsck" 2>&1 || broken=$((broken + 1))
[ ! -s "$room/fsck" ] || { broken=$((broken + 1)); head -5 "$room/fsck"; }
echo "$(wc -l <"$room/ids") snapshots and $(wc -l <"$room/issues") issues acknowledged, $refused refused, $broken broken"
[ "$broken" = 0 ] && [ -s "$room/ids" ]
