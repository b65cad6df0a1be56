#!/usr/bin/env bash
# A kill, and ENOSPC, EIO and EACCES, at every mutating system call of every command that changes something; then the next
# command. Prints a table; ends with 1 when anything was lost, half-way, littered or unsound. Needs strace.
#
#   TW=target/debug/tw        the binary
#   TW_FAULTS="KILL ENOSPC"   which faults (default: KILL ENOSPC EIO EACCES)
#   TW_COMMANDS="travel"      which commands (default: all)
#   TW_MAX=20                 at most so many calls of each kind per command (default: all)
set -u
tw=$(realpath "${TW:-target/debug/tw}")
command -v strace >/dev/null || { echo "skipped: strace is not installed"; exit 0; }
faults=${TW_FAULTS:-KILL ENOSPC EIO EACCES}
commands=${TW_COMMANDS:-snapshot travel return restore undo recover}
max=${TW_MAX:-100000}
calls=openat,write,pwrite64,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat,symlinkat,fchmod,chmod,fchown,ftruncate,fsync,fdatasync,rmdir,copy_file_range
room=$(mktemp -d "${TMPDIR:-/tmp}/tw-crash-XXXXXX")
trap 'rm -rf "$room"' EXIT
repo=$room/repo
export HOME=$room GIT_CONFIG_NOSYSTEM=1 LC_ALL=C TZ=UTC
export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@t GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@t

# Everything a round trip must bring back, in one text.
state() {
    cd "$repo" || exit 2
    find . -path ./.git -prune -o -printf '%p %y %m %l\n' | sort
    find . -path ./.git -prune -o -type f -print0 | sort -z | xargs -0 sha1sum
    git ls-files --stage -t -v
    cat .git/HEAD .git/MERGE_HEAD 2>/dev/null
    git for-each-ref --format='%(refname) %(objectname)' refs/heads refs/tags
    grep -o '"mode": "[a-z]*"' .git/timewarp/state.json 2>/dev/null || echo '"mode": "present"'
}

build() {
    rm -rf "$repo" && mkdir "$repo" && cd "$repo" && git init -q -b main || exit 2
    mkdir -p dir/sub && echo a >a && echo b >dir/b && echo c >dir/sub/c && ln -s a link && echo f >shape
    git add -A && git commit -qm base
    echo edited >a && git add a && mkdir notes && echo n >notes/n
    snapshot=$("$tw" -q snapshot)
    git reset -q --hard && rm -r notes dir/sub shape && mkdir shape && echo d >shape/d && echo now >a && echo new >new
    case $1 in
    return) "$tw" -q travel "$snapshot" && echo past >a && echo made >made ;;
    undo) "$tw" -q restore "$snapshot" ;;
    recover) TW_FAIL_POINT=apply-exchanged:2 "$tw" -q travel "$snapshot" ;;
    esac >/dev/null 2>&1
}

rewind() { rm -rf "$repo" && cp -a "$room/saved" "$repo"; }

blobs() { cd "$repo" && find . -path ./.git -prune -o -type f -print0 | xargs -0 git hash-object --no-filters -- | sort -u; }

bad=0 hits=0
printf '%-9s %-7s %-16s %7s %7s %7s\n' command fault call points hit bad
for command in $commands; do
    build "$command"
    args=$command
    case $command in travel | restore) args="$command $snapshot" ;; esac
    state >"$room/old"; blobs >"$room/bytes"
    rm -rf "$room/saved" && cp -a "$repo" "$room/saved"
    strace -f -qq -e trace=$calls -o "$room/trace" "$tw" -q $args >/dev/null 2>&1
    state >"$room/new"; blobs >>"$room/bytes"
    if [ "$command" = recover ]; then
        rewind; "$tw" -q recover --forward >/dev/null 2>&1; state >"$room/old"
    fi
    for fault in $faults; do
        case $fault in KILL) inject=signal=KILL ;; *) inject=error=$fault ;; esac
        for call in ${calls//,/ }; do
            count=$(grep -cE "^[0-9]+ +$call\(" "$room/trace")
            [ "$count" -gt 0 ] || continue
            [ "$call" = openat ] && [ "$fault" != KILL ] && continue
            tried=0 hit=0 wrong=0
            for ((n = 1; n <= count && n <= max; n++)); do
                rewind; cd "$repo" || exit 2
                # strace injects only into calls that it traces.
                { strace -f -qq -e trace="$call" -e inject="$call:$inject:when=$n" -o "$room/hit" "$tw" -q $args; } >/dev/null 2>&1
                tried=$((tried + 1)) why=
                # A fault that did not happen shows nothing: it is not counted as survived.
                grep -qE 'INJECTED|killed by SIGKILL' "$room/hit" || continue
                hit=$((hit + 1))
                if ((n % 2)); then next=recover; else next=snapshot; fi
                "$tw" -q $next >"$room/said" 2>&1 || why="$next failed: $(head -1 "$room/said")"
                state >"$room/now"
                cmp -s "$room/now" "$room/old" || cmp -s "$room/now" "$room/new" || why="$why; half-way"
                litter=$(find "$repo" \( -name '.tw-*' -o -name '*.lock' -o -name journal.json -o -name 'index.before' -o -name '*.tmp-*' \) | head -3)
                [ "$next" = recover ] && litter="$litter$(find "$repo/.git" -name '*.keep' | head -1)"
                [ -z "$litter" ] || why="$why; litter: $litter"
                { blobs; git rev-list --objects --all | cut -d' ' -f1; } | sort -u >"$room/kept"
                [ -z "$(sort -u "$room/bytes" | comm -23 - "$room/kept")" ] || why="$why; bytes lost"
                git fsck --strict --no-dangling --no-progress >"$room/said" 2>&1 && [ ! -s "$room/said" ] || why="$why; fsck"
                if [ -n "$why" ]; then
                    wrong=$((wrong + 1)) bad=$((bad + 1))
                    echo "  $command $fault $call:$n then $next: $why" >&2
                fi
            done
            printf '%-9s %-7s %-16s %7d %7d %7d\n' "$command" "$fault" "$call" "$tried" "$hit" "$wrong"
            hits=$((hits + hit))
        done
    done
done
echo "$hits faults, $bad bad"
# Without a single fault nothing was tried.
[ "$hits" -gt 0 ] || { echo "no fault was injected" >&2; exit 1; }
exit $((bad > 0))
