//! Files that repeat others, as the tab *Trace* tells of them.

use crate::common::trace::small;
use crate::driver::{give, has_containing, settle, window_of};
use highwater::load::Input;

#[test]
fn the_tab_trace_says_which_file_is_a_copy() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["one.etl", "two.etl"].map(|name| folder.path().join(name));
    paths.iter().for_each(|path| std::fs::write(path, small(false)).unwrap());
    let mut window = window_of(paths.map(Input::File).to_vec());
    settle(&mut window);
    give(&mut window, "tabs: trace");
    settle(&mut window);
    let one = folder.path().join("one.etl");
    assert!(has_containing(&window, &format!("two.etl: copy of {}", one.display())), "{:?}", crate::driver::labels(&window));
    assert!(has_containing(&window, "Events recorded more than once"));
}
