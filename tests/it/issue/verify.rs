//! What a check printed.

use super::{id, ready, report};

#[test]
fn what_a_check_printed_is_kept_where_a_child_keeps_the_output_open() {
    let sandbox = ready();
    let id = id(&report(&sandbox, &[]));
    let check = "echo one; sleep 30 & echo two; exit 3";
    let ran = sandbox.tw(["--json", "issue", "verify", &id, "--", check]);
    let verified: serde_json::Value = serde_json::from_str(&ran.out()).unwrap();
    assert_eq!(verified["exit_status"], 3);
    assert_eq!(verified["output_tail"], "one\ntwo\n");
}
