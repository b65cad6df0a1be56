#!/usr/bin/env bash
# A kill, and ENOSPC, EIO and EACCES, at every mutating system call of every command that changes something; then the next
# command. Prints a table; ends with 1 when anything was lost, half-way, littered or unsound. Needs strace.
#
#   TW=target/debug/tw        the binary
#   TW_FAULTS="KILL ENOSPC"   which faults (default: KILL ENOSPC EIO EACCES)
#   TW_COMMANDS="travel"      which commands (default: all)
#   TW_MAX=20                 at most so many calls of each kind per command (default: all)
#   TMPDIR=/dev/shm           where: a file system in memory makes it several times quicker
set -u
tw=$(realpath "${TW:-target/debug/tw}")
command -v strace >/dev/null || { echo "skipped: strace is not installed"; exit 0; }
faults=${TW_FAULTS:-KILL ENOSPC EIO EACCES}
commands=${TW_COMMANDS:-snapshot travel return restore revert apply undo recover prune label}
max=${TW_MAX:-100000}
calls=open,openat,write,pwrite64,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat,symlink,symlinkat,fchmod,fchmodat,chmod,fchown,fchownat,ftruncate,utimensat,fsync,fdatasync,rmdir,copy_file_range
room=$(mktemp -d "${TMPDIR:-/tmp}/tw-crash-XXXXXX")
trap 'rm -rf "$room"' EXIT
repo=$room/repo
export HOME=$room GIT_CONFIG_NOSYSTEM=1 LC_ALL=C TZ=UTC TW_NO_BACKGROUND=1
export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@t GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@t
# strace counts calls per thread: on one core there is one.
one=
command -v taskset >/dev/null && one="taskset -c $(($$ % $(nproc)))"
traced="$one strace -f -qq"

# Everything a round trip must bring back, in one text.
state() {
    cd "$repo" || exit 2
    find . -path ./.git -prune -o -printf '%p %y %m %l\n' | sort
    find . -path ./.git -prune -o -type f -print0 | sort -z | xargs -0 sha1sum
    git ls-files --stage -t -v
    cat .git/HEAD .git/MERGE_HEAD 2>/dev/null
    git for-each-ref --format='%(refname) %(objectname)' refs/heads refs/tags refs/timewarp/records/labels
    grep -o '"mode": "[a-z]*"' .git/timewarp/state.json 2>/dev/null || echo '"mode": "present"'
}

build() {
    rm -rf "$repo" && mkdir "$repo" && cd "$repo" && git init -q -b main || exit 2
    mkdir -p dir/sub && echo a >a && echo b >dir/b && echo c >dir/sub/c && ln -s a link && echo f >shape
    git add -A && git commit -qm base
    echo edited >a && git add a && mkdir notes && echo n >notes/n
    snapshot=$("$tw" -q snapshot)
    git reset -q --hard && rm -r notes dir/sub shape && mkdir shape && echo d >shape/d && echo now >a && echo new >new
    chmod 600 new && rm link && ln -s dir link
    held=
    case $1 in
    return) "$tw" -q travel "$snapshot" && echo past >a && echo made >made ;;
    revert)
        seq 9 >lines && "$tw" -q snapshot
        seq 9 | sed s/2/two/ >lines && mkdir -p made/deep && echo m >made/deep/m && rm new && chmod 755 a && echo more >a
        snapshot=$("$tw" -q snapshot)
        seq 9 | sed 's/2/two/; s/3/three/; s/8/eight/' >lines && echo later >later
        ;;
    apply)
        seq 9 >lines && echo t >shape/e && "$tw" -q snapshot
        "$tw" -q try -n 1 -- sh -c 'sed -i s/2/two/ lines; mkdir -p made/deep; echo m >made/deep/m; rm new; chmod 755 a; echo more >a; rm shape/e'
        seq 9 | sed 's/8/eight/' >lines && echo later >later
        "$tw" -q scratch gc
        ;;
    undo) "$tw" -q restore "$snapshot" ;;
    recover) TW_FAIL_POINT=apply-exchanged:2 "$tw" -q travel "$snapshot" ;;
    prune)
        for text in one two three; do echo $text >a && "$tw" -q snapshot; done
        git pack-refs --all
        for text in four five; do echo $text >a && held=$("$tw" -q snapshot); done
        "$tw" label "$held" held
        ;;
    esac >"$room/said" 2>&1
    [ "$1" != prune ] || held=$(git rev-parse refs/timewarp/records/labels/held)
}

rewind() { rm -rf "$repo" && cp -a "$room/saved" "$repo"; }

blobs() { cd "$repo" && find . -path ./.git -prune -o -type f -print | git hash-object --no-filters --stdin-paths | sort -u; }

# The places of a call in the trace that change something: of the many openings only those that may create.
places() {
    awk -v call="$1" 'index($0, " " call "(") && $2 ~ "^" call "\\(" { n++; if (call !~ /^open/ || /O_CREAT/) print n }' "$room/trace"
}

# What is wrong after the next command, if anything.
judge() {
    state >"$room/now"
    cmp -s "$room/now" "$room/old" || cmp -s "$room/now" "$room/new" || printf '; half-way'
    litter=$(find "$repo" \( -name '.tw-*' -o -name '*.lock' -o -name journal.json -o -name 'index.before' -o -name 'index.after' \
        -o -name '*.tmp-*' -o -name 'tmp_*' -o -name 'packed-refs.new' -o -path '*/timewarp/*lock*-*' \) -printf ' %P')
    [ "$1" = recover ] && litter="$litter$(find "$repo/.git" -name '*.keep' -printf ' %P')"
    [ -z "$litter" ] || printf '; litter:%s' "$litter"
    { blobs; git rev-list --objects --all | cut -d' ' -f1; } | sort -u >"$room/kept"
    [ -z "$(sort -u "$room/bytes" | comm -23 - "$room/kept")" ] || printf '; bytes lost'
    git fsck --strict --no-dangling --no-progress >"$room/said" 2>&1 && [ ! -s "$room/said" ] || printf '; fsck'
    [ -z "$held" ] || [ -n "$(git for-each-ref --points-at="$held" refs/timewarp/snapshots)" ] || printf '; what was held is gone'
}

bad=0 hits=0 began=$SECONDS
printf '%-9s %-7s %-16s %7s %7s %7s\n' command fault call points hit bad
for command in $commands; do
    build "$command"
    args=$command
    case $command in
    travel | restore | revert) args="$command $snapshot" ;;
    label) args="$command $snapshot named" ;;
    apply) args="try apply latest" ;;
    prune) args="$command --keep-days 0 --keep-last 0" ;;
    esac
    state >"$room/old"; blobs >"$room/bytes"
    rm -rf "$room/saved" && cp -a "$repo" "$room/saved"
    $traced -e trace=$calls -o "$room/trace" "$tw" -q $args >/dev/null 2>&1
    state >"$room/new"
    # What a merge makes is nobody's work until it is in place.
    case $command in revert | apply) ;; *) blobs >>"$room/bytes" ;; esac
    if [ "$command" = recover ]; then
        rewind; "$tw" -q recover --forward >/dev/null 2>&1; state >"$room/old"
    fi
    for fault in $faults; do
        case $fault in KILL) inject=signal=KILL ;; *) inject=error=$fault ;; esac
        for call in ${calls//,/ }; do
            tried=0 hit=0 wrong=0
            for n in $(places "$call" | head -n "$max"); do
                rewind; cd "$repo" || exit 2
                # strace injects only into calls that it traces.
                { $traced -e trace="$call" -e inject="$call:$inject:when=$n" -o "$room/hit" "$tw" -q $args; } >"$room/out" 2>&1
                code=$? why=
                tried=$((tried + 1))
                # A fault that did not happen shows nothing: it is not counted as survived.
                grep -qE 'INJECTED|killed by SIGKILL' "$room/hit" || continue
                hit=$((hit + 1))
                # What was said to be done is done.
                if [ $code = 0 ]; then
                    case $command in
                    snapshot) git rev-parse -q --verify "refs/timewarp/snapshots/$(cat "$room/out")" >/dev/null || why="; no such snapshot" ;;
                    recover | prune) ;;
                    *) state | cmp -s - "$room/new" || why="; it was not done" ;;
                    esac
                fi
                if ((tried % 2)); then next=recover; else next=snapshot; fi
                "$tw" -q $next >"$room/said" 2>&1 || why="$why; $next failed: $(head -1 "$room/said")"
                why="$why$(judge $next)"
                if [ -n "$why" ]; then
                    wrong=$((wrong + 1)) bad=$((bad + 1))
                    echo "  $command $fault $call:$n (exit $code), then $next$why" >&2
                fi
            done
            [ "$tried" = 0 ] || printf '%-9s %-7s %-16s %7d %7d %7d\n' "$command" "$fault" "$call" "$tried" "$hit" "$wrong"
            hits=$((hits + hit))
        done
    done
done
echo "$hits faults, $bad bad, $((SECONDS - began)) s"
# Without a single fault nothing was tried.
[ "$hits" -gt 0 ] || { echo "no fault was injected" >&2; exit 1; }
exit $((bad > 0))
