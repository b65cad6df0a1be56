//! libgit2's own route, in a process of its own: this program again, as `libgit2`.

use std::ffi::OsString;
use std::path::Path;

use git2::build::CheckoutBuilder;
use git2::{Error, Index, IndexAddOption, Oid, Repository, Signature};

/// `save INDEX`: everything into a private index that is kept, a tree, a commit, a ref. `put INDEX COMMIT`: the files of it.
pub fn run(words: &[OsString]) -> Result<(), String> {
    let done = match words {
        [verb, index] if verb == "save" => save(Path::new(index)),
        [verb, index, commit] if verb == "put" => put(Path::new(index), &commit.to_string_lossy()),
        _ => return Err("save INDEX, or put INDEX COMMIT".to_owned()),
    };
    done.map_err(|error| error.to_string())
}

fn open(index: &Path) -> Result<(Repository, Index), Error> {
    let repo = Repository::open(".")?;
    let mut index = Index::open(index)?;
    repo.set_index(&mut index)?;
    Ok((repo, index))
}

fn save(index: &Path) -> Result<(), Error> {
    let (repo, mut index) = open(index)?;
    index.add_all(["*"], IndexAddOption::DEFAULT, None)?;
    // Deletions.
    index.update_all(["*"], None)?;
    index.write()?;
    let tree = repo.find_tree(index.write_tree()?)?;
    let head = repo.head()?.peel_to_commit()?;
    let who = Signature::now("bench", "bench@localhost")?;
    let commit = repo.commit(None, &who, &who, "s", &tree, &[&head])?;
    repo.reference("refs/bench/libgit2", commit, true, "")?;
    Ok(())
}

fn put(index: &Path, commit: &str) -> Result<(), Error> {
    let (repo, mut index) = open(index)?;
    let commit = repo.find_commit(Oid::from_str(commit)?)?;
    let mut how = CheckoutBuilder::new();
    how.force().remove_untracked(true);
    repo.checkout_tree(commit.as_object(), Some(&mut how))?;
    index.write()
}
