//! What committed memory is for, as a report says it.

use serde_json::Value;

use crate::common::{highwater, json};

/// The number of an entry.
fn number(entry: &Value, key: &str) -> u64 {
    entry[key].as_u64().unwrap()
}

#[test]
fn the_parts_add_up_to_the_commit_of_the_report() {
    for to in ["12", "30"] {
        let report = json(["report", "demo:", "--to", to, "--by", "process", "--json"]);
        let groups = report["groups"].as_array().unwrap();
        let commit = report["commit"].as_array().unwrap();
        assert!(!commit.is_empty());
        for entry in commit {
            let is_it = |group: &&Value| ["process", "pid", "process_start_s"].iter().all(|key| group[key] == entry[key]);
            let group = groups.iter().filter(is_it).find(|group| group["layer"] == "commit").unwrap();
            assert_eq!(number(entry, "known_bytes"), number(group, "outstanding_to"), "{entry}");
            let sum: u64 = entry["parts"].as_array().unwrap().iter().map(|part| number(part, "bytes")).sum();
            assert_eq!(number(entry, "known_bytes"), sum, "{entry}");
            assert_eq!(entry["at_s"], report["interval"]["to_s"]);
        }
        let alive = groups.iter().filter(|group| group["layer"] == "commit" && number(group, "outstanding_to") > 0).count();
        assert_eq!(commit.len(), alive);
    }
}

#[test]
fn the_text_says_it_when_it_is_asked() {
    let asked = highwater(["report", "demo:", "--process", "MemoryTestApp.exe", "--to", "30", "--with", "commit"]).out;
    assert!(asked.contains("\nCommit\nMemoryTestApp.exe at 30 s. Known: "), "{asked}");
    let usual = highwater(["report", "demo:", "--to", "30"]).out;
    assert!(!usual.contains("Known: "), "{usual}");
}
