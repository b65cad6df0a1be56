//! Where git's own directories may lie, other worktrees and repositories inside this one, and directories laid out by `tw open`.

mod lent;
mod nested;
mod opened;
mod own;
mod submodules;
mod toplevel;
mod worktrees;
