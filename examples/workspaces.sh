#!/bin/sh
# An application, a library beside it and a repository inside it: they go back and come home together.
#
# Run it anywhere: it works in a temporary directory with a home of its own, and leaves nothing behind.
#   TW=/path/to/tw    the binary, when it is not in PATH
set -eu
tw=${TW:-$(command -v tw)}
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
tw() { "$tw" "$@"; }
export HOME="$room/home" XDG_CONFIG_HOME= GIT_CONFIG_NOSYSTEM=1 TW_NO_BACKGROUND=1
mkdir "$HOME"
git config --global user.name me
git config --global user.email me@example.com
cd "$HOME"

run() {
    printf '$ %s\n' "$1"
    eval "$1" 2>&1 | sed "s|$HOME|/home/me|g"
    echo
}

for dir in app app/nested lib; do
    git init -q -b main "$dir"
    echo one >"$dir/a.txt"
    git -C "$dir" add a.txt
    git -C "$dir" commit -q -m first
done
cd app
run 'tw workspace add nested ../lib'
run 'tw snapshot'
run 'tw show | grep members'
for dir in . nested ../lib; do
    echo two >"$dir/a.txt"
    echo new >"$dir/new.txt"
done
run 'tw travel latest'
run 'tw -C ../lib return || true'
run 'tw return'
run 'tw undo --dry-run'
mv ../lib ../elsewhere
run 'tw travel latest || true'
mv ../elsewhere ../lib
run 'tw workspace remove ../lib'
run 'tw -C nested workspace off'
