#!/bin/sh
# Two people share an issue over a remote: one reports, the other comments, both set one field at once, and a secret is stopped.
#
# Run it anywhere: it works in a temporary directory with a home of its own, and leaves nothing behind.
#   TW=/path/to/tw    the binary, when it is not in PATH
set -eu
tw=${TW:-$(command -v tw)}
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
tw() { "$tw" "$@"; }
export HOME="$room/home" GIT_CONFIG_NOSYSTEM=1 TW_NO_BACKGROUND=1
mkdir -p "$HOME"
cd "$room"

run() {
    printf '$ %s\n' "$1"
    eval "$1" 2>&1 | sed "s|$room|~|g"
    echo
}

git init -q --bare hub.git
for name in ann ben; do
    git init -q -b main "$name"
    cd "$name"
    git config user.name "$name"
    git config user.email "$name@example.com"
    git remote add origin "$room/hub.git"
    echo 'one' >a.txt
    git add a.txt
    git commit -q -m 'first'
    cd ..
done

cd ann
id=$(tw -q issue report --task-context 'releasing' --symptom 'the build hangs on Mondays' --success-criteria 'it ends' --verify 'make release')
run 'tw share init origin'
run 'tw share status'
run 'tw push'
cd ../ben
tw share init origin >/dev/null 2>&1
run 'tw pull'
run 'tw issue list'
tw issue comment "$id" -m 'here, too' >/dev/null 2>&1
tw push >/dev/null 2>&1
tw issue edit "$id" --suspected-cause 'the cache is full' >/dev/null 2>&1
tw push >/dev/null 2>&1
cd ../ann
tw issue edit "$id" --suspected-cause 'a lock that nobody frees' >/dev/null 2>&1
run 'tw pull -v'
run 'tw issue show "$id"'
echo 'DEPLOY_TOKEN=Kite-Violet-4471-Zebra' >.env
tw issue edit "$id" --task-context 'releasing' >/dev/null 2>&1
git notes --ref="timewarp/issues/$id" list >"$room/note"
read -r blob on <"$room/note"
git cat-file blob "$blob" | sed 's/"releasing"/"releasing with Kite-Violet-4471-Zebra"/' >"$room/changed.json"
git notes --ref="timewarp/issues/$id" add -f -F "$room/changed.json" "$on" 2>/dev/null
run 'tw push || echo "exit status $?"'
tw issue edit "$id" --task-context 'releasing at night' >/dev/null 2>&1
run 'tw push -v'
tw session start --agent claude >/dev/null 2>&1
tw try -n 1 -- sh -c 'echo two >>a.txt' >/dev/null 2>&1
tw push >/dev/null 2>&1
cd ..
run 'git -C hub.git for-each-ref'
run 'git -C hub.git ls-tree -r --name-only refs/timewarp-shared/v1 | sort -t/ -k3'
cd ben
tw pull >/dev/null 2>&1
run 'tw session list'
run 'tw try list'
run 'tw list --kind experiment'
