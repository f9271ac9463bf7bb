//! Scopes of PIX and counters of programs on the command line.

use std::io::Cursor;

use highwater_dev::synth::{Options, Scenario, generate};

use crate::common::{highwater, json};

#[test]
fn scopes_have_what_their_threads_allocated_and_counters_their_numbers() {
    let options = Options { scenario: Scenario::Heap, events: 5000, live: 500, pix: true, ..Options::default() };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pix.etl");
    std::fs::write(&file, generate(&options, Cursor::new(Vec::new())).unwrap().into_inner()).unwrap();
    let file = file.to_str().unwrap();
    let answer = json(["scopes", "--json", file]);
    assert_eq!(answer["schema"], "highwater.scopes/1");
    let layer = &answer["layers"][0];
    assert_eq!(layer["layer"], "heap");
    let scopes = layer["scopes"].as_array().unwrap();
    assert_eq!(scopes.len(), 8, "four names in two processes");
    let of = |name: &str, key: &str| {
        let its = scopes.iter().filter(|scope| scope["scope"] == name);
        its.map(|scope| scope[key].as_u64().unwrap()).sum::<u64>()
    };
    let sizes = ["Frame", "Update", "Physics", "Render"].map(|name| of(name, "allocated_size"));
    assert!(sizes[0] > sizes[1] && sizes[1] > sizes[2] && sizes[0] >= sizes[1] + sizes[3] && sizes[2] > 0);
    assert_eq!(of("Frame", "count"), of("Physics", "count"));
    let csv = highwater(["scopes", "--csv", file, "--top", "1"]).out;
    assert!(
        csv.starts_with("layer,scope,provider,process,pid,process_start_s,count,length_s,allocated_count,allocated_size\r\n")
    );
    assert_eq!(csv.lines().count(), 2);
    assert!(highwater(["scopes", file]).out.contains("Physics"));
    assert_eq!(json(["marks", "--json", file, "--text", "pix", "--top", "1"])["marks"][0]["provider"], "PIX");
    let report = json(["report", "--json", file]);
    let counters = report["counters"].as_array().unwrap();
    assert_eq!(counters.len(), 2);
    assert!(counters.iter().all(|of| of["counter"] == "Heaps (MB)" && of["from"].is_null() && of["to"].as_f64().unwrap() > 0.0));
    assert!(highwater(["report", file, "--with", "counters"]).out.contains("Counters of programs"));
    let events = &json(["info", "--json", file])["events"];
    assert!(events["pix_counter"].as_u64().unwrap() > 300 && events["pix_timing"].as_u64().unwrap() > 500);
    let part = folder.path().join("part.etl");
    highwater(["cut", file, "-o", part.to_str().unwrap(), "--anonymise"]);
    let scopes = json(["scopes", "--json", part.to_str().unwrap()]);
    assert_eq!(scopes["layers"][0]["scopes"][0]["allocated_size"], layer["scopes"][0]["allocated_size"]);
    assert!(scopes["layers"][0]["scopes"][0]["scope"].as_str().unwrap().starts_with("mark-"));
}
