#!/bin/sh
# A directory of notes without git: its history is kept, it is moved, and it is found again. No git program is on the PATH.
#
# Run it anywhere: it works in a temporary directory with a home of its own, and leaves nothing behind.
#   TW=/path/to/tw    the binary, when it is not in PATH
set -eu
tw=${TW:-$(command -v tw)}
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
mkdir "$room/bin" "$room/home"
for tool in rm mv ls sed mkdir; do ln -s "$(command -v $tool)" "$room/bin/$tool"; done
tw() { "$tw" "$@"; }
export HOME="$room/home" XDG_STATE_HOME= GIT_CEILING_DIRECTORIES="$room" PATH="$room/bin" TW_NO_BACKGROUND=1
cd "$HOME"

run() {
    printf '$ %s\n' "$1"
    eval "$1" 2>&1 | sed "s|$HOME|/home/me|g; s|/directories/[0-9a-z-]*|/directories/…|; s|^[0-9a-f]*-[0-9a-z-]*  /|KEY  /|; s|[0-9.]* KiB|N KiB|"
    echo
}

mkdir notes
cd notes
echo 'buy milk' >todo.md
run 'tw snapshot || true'
run 'tw init --here -y'
run 'ls -A'
id=$(tw -q snapshot -m 'before tidying up')
echo 'buy bread' >todo.md
run 'tw diff latest'
run 'tw travel latest'
run 'tw return'
cd ..
mv notes journal
cd journal
run 'tw list || true'
run 'tw doctor || true'
run 'tw init -y --here'
run 'tw list'
run 'tw init --here --list'
run 'tw init --here --remove -y'
