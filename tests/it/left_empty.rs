//! Changes that are put onto the present leave the directories that they left, also those with nothing in them.

use crate::access_merged::{WAYS, put_onto};
use crate::sandbox::Sandbox;

#[test]
fn directories_that_a_change_left_empty_stay_and_others_go() {
    let changes = "rm a/y; rm b/y; mkdir b/logs; mv c/d/z c/zz; mv e ee; mkdir -p e/sub/sub; mv g gg; mkdir g; rm -r h; mv k/l/y kk; rmdir k/l k";
    for way in WAYS {
        let sandbox = Sandbox::new();
        let paths = ["a/y", "b/y", "c/d/z", "e/f", "g/f", "h/i/f", "k/l/y"];
        for path in paths {
            sandbox.write(path, format!("{path}\nand more\n"));
        }
        put_onto(&sandbox, way, changes, || {});
        for dir in ["a", "b/logs", "c/d", "e/sub/sub", "g"] {
            let mut inside = std::fs::read_dir(sandbox.path(dir))
                .unwrap_or_else(|error| panic!("{way}: {dir}: {error}"));
            assert!(inside.next().is_none(), "{way}: {dir}");
        }
        for path in ["c/zz", "ee/f", "gg/f", "kk"] {
            assert!(sandbox.exists(path), "{way}: {path}");
        }
        for path in paths.into_iter().chain(["h", "k"]) {
            assert!(!sandbox.exists(path), "{way}: {path}");
        }
    }
}
