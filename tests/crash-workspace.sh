#!/usr/bin/env bash
# A kill, and ENOSPC and EIO, at every mutating system call of a travel, a return and an undo over three repositories; then the next
# command in one of them. Prints a table; ends with 1 when not all are on one side, or anything is lost, littered or unsound.
# Needs a C compiler, Linux and x86-64.
#
#   TW=target/debug/tw        the binary
#   TW_FAULTS="KILL"          which faults (default: KILL ENOSPC EIO)
#   TW_COMMANDS="travel"      which commands (default: travel return undo)
#   TW_EVERY=7                only every seventh call (default: 1)
#   TMPDIR=/dev/shm           where: a file system in memory makes it several times quicker
set -u
tw=$(realpath "${TW:-target/debug/tw}")
room=$(mktemp -d "${TMPDIR:-/tmp}/tw-crash-XXXXXX")
trap 'rm -rf "$room"' EXIT
case $(uname -sm) in 'Linux x86_64') ;; *) echo "skipped: not Linux on x86-64"; exit 0 ;; esac
cc -O2 -o "$room/nth-call" "$(dirname "$0")/nth-call.c" || exit 2
every=${TW_EVERY:-1}
export HOME=$room GIT_CONFIG_NOSYSTEM=1 LC_ALL=C TZ=UTC TW_NO_BACKGROUND=1
export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@t GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@t
base=$room/base head=$room/base/head
repos="$base/head $base/head/nested $base/lib"

# Everything that a round trip must bring back in all three, in one text.
state() {
    for repo in $repos; do
        cd "$repo" || exit 2
        echo "== $repo"
        find . -name .git -prune -o -printf '%p %y %m %l\n' | sort
        find . -name .git -prune -o -type f -print0 | sort -z | xargs -0 sha1sum
        git ls-files --stage -t -v
        cat .git/HEAD
        git for-each-ref --format='%(refname) %(objectname)' refs/heads refs/tags
        grep -o '"mode": "[a-z]*"' .git/timewarp/state.json 2>/dev/null || echo '"mode": "present"'
    done
}

build() {
    rm -rf "$base" && mkdir -p $repos && cd "$base" || exit 2
    for repo in $repos; do
        cd "$repo" && git init -q -b main && mkdir -p dir && echo a >a && echo b >dir/b && ln -s a link && echo f >shape
        git add a dir link shape && git commit -qm base && echo edited >a && git add a && echo n >new
    done
    cd "$head" && "$tw" -q workspace add nested ../lib && snapshot=$("$tw" -q snapshot)
    for repo in $repos; do
        cd "$repo" && git reset -q --hard && rm -r dir shape new && mkdir shape && echo d >shape/d && echo now >a && chmod 600 a
    done
    cd "$head"
    case $1 in
    return) "$tw" -q travel "$snapshot" && for repo in $repos; do echo past >"$repo/a"; done ;;
    undo) "$tw" -q travel "$snapshot" ;;
    esac
}

rewind() { rm -rf "$base" && cp -a "$room/saved" "$base"; }

blobs() {
    for repo in $repos; do
        cd "$repo" && find . -name .git -prune -o -type f -print | git hash-object --no-filters --stdin-paths | sed "s|^|$repo |"
    done | sort -u
}

# What is wrong after the next command, if anything.
judge() {
    state >"$room/now"
    cmp -s "$room/now" "$room/old" || cmp -s "$room/now" "$room/new" || printf '; not all on one side'
    for repo in $repos; do
        cd "$repo" || exit 2
        git rev-list --objects --all | cut -d' ' -f1 | sed "s|^|$repo |"
        git fsck --strict --no-dangling --no-progress >"$room/said" 2>&1 && [ ! -s "$room/said" ] || printf '; fsck' >&4
        find . \( -name '.tw-*' -o -name '*.lock' -o -name journal.json -o -name together.json -o -name 'index.before' \
            -o -name 'tmp_*' -o -name '*.tmp-*' \) ! -path './nested/*' -printf "; litter: $repo/%P" >&4
    done 4>"$room/wrong" >"$room/kept"
    { cat "$room/kept"; blobs; } | sort -u | comm -23 "$room/bytes" - | grep -q . && printf '; bytes lost'
    cat "$room/wrong"
}

bad=0 hits=0 began=$SECONDS turn=0
printf '%-8s %-7s %7s %7s %7s\n' command fault calls hit bad
for command in ${TW_COMMANDS:-travel return undo}; do
    build "$command" >/dev/null 2>&1
    args=$command
    [ "$command" != travel ] || args="travel $snapshot"
    state >"$room/old"; blobs >"$room/bytes"
    rm -rf "$room/saved" && cp -a "$base" "$room/saved"
    cd "$head" && calls=$("$room/nth-call" 0 KILL "$tw" -q $args 3>&1 >/dev/null | cut -d' ' -f1)
    state >"$room/new"
    for fault in ${TW_FAULTS:-KILL ENOSPC EIO}; do
        case $fault in KILL) number=KILL ;; ENOSPC) number=28 ;; EIO) number=5 ;; esac
        hit=0 wrong=0
        for ((n = 1; n <= calls; n += every)); do
            rewind; cd "$head" || exit 2
            which=$("$room/nth-call" $n $number "$tw" -q $args 3>&1 >/dev/null 2>"$room/out")
            code=$? why=
            [ "${which#* }" != none ] || continue
            hit=$((hit + 1))
            [ $code != 0 ] || { state | cmp -s - "$room/new" || why="; it said it was done"; }
            turn=$(((turn + 1) % 3))
            set -- $repos; shift $turn
            "$tw" -q -C "$1" recover >"$room/said" 2>&1 || why="$why; recover failed: $(head -1 "$room/said")"
            why="$why$(judge)"
            if [ -n "$why" ]; then
                wrong=$((wrong + 1)) bad=$((bad + 1))
                echo "  $command $fault $n (${which#* }, exit $code: $(head -1 "$room/out")), then recover in ${1##*/}$why" >&2
            fi
        done
        printf '%-8s %-7s %7d %7d %7d\n' "$command" "$fault" "$calls" "$hit" "$wrong"
        hits=$((hits + hit))
    done
done
echo "$hits faults, $bad bad, $((SECONDS - began)) s"
[ $bad = 0 ]
