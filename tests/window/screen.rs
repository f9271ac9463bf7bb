//! A screen of its own under Xvfb with the program on it, its pointer and its keys (`xdotool`).

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Something on the screen.
#[derive(Clone, Debug)]
pub struct Widget {
    pub role: String,
    pub x: i32,
    pub y: i32,
    pub width: i32,
    pub height: i32,
    pub name: String,
}

impl Widget {
    fn parse(line: &str) -> Option<Self> {
        let mut parts = line.splitn(3, '\t');
        let role = parts.next()?.to_owned();
        let numbers: Vec<i32> = parts.next()?.split(' ').filter_map(|n| n.parse().ok()).collect();
        let [x, y, width, height] = numbers[..] else { return None };
        Some(Self { role, x, y, width, height, name: parts.next()?.to_owned() })
    }

    pub fn center(&self) -> (i32, i32) {
        (self.x + self.width / 2, self.y + self.height / 2)
    }
}

/// A screen of its own with the program on it.
pub struct Screen {
    xvfb: Child,
    program: Option<Child>,
    display: String,
    pub folder: tempfile::TempDir,
}

impl Drop for Screen {
    fn drop(&mut self) {
        for child in self.program.iter_mut().chain([&mut self.xvfb]) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Screen {
    /// A new screen, or `None` where a tool is missing.
    pub fn new() -> Option<Self> {
        for tool in ["Xvfb", "xdotool", "import"] {
            let found = Command::new("which").arg(tool).stdout(Stdio::null()).status().is_ok_and(|s| s.success());
            if !found {
                println!("skipped: no {tool}");
                return None;
            }
        }
        let mut xvfb = Command::new("Xvfb")
            .args(["-displayfd", "1", "-screen", "0", "1280x800x24", "+extension", "GLX"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("Xvfb starts");
        let mut number = String::new();
        BufReader::new(xvfb.stdout.take().expect("stdout is piped")).read_line(&mut number).expect("Xvfb tells its display");
        let folder = tempfile::tempdir().expect("a temporary folder");
        Some(Self { xvfb, program: None, display: format!(":{}", number.trim()), folder })
    }

    pub fn start(&mut self, args: &[&str]) {
        self.start_in(args, &[]);
    }

    /// The same with something in its environment.
    pub fn start_in(&mut self, args: &[&str], environment: &[(&str, &OsStr)]) {
        let program = Command::new(env!("CARGO_BIN_EXE_highwater"))
            .args(args)
            .args(["--size", "1280x800"])
            .env("DISPLAY", &self.display)
            .env_remove("WAYLAND_DISPLAY")
            .env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere") // no dialog of the desktop, but a field for the path
            .env("HIGHWATER_SETTINGS_DIR", self.folder.path())
            .env("HIGHWATER_UI_DUMP", self.dump())
            .envs(environment.iter().copied())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        self.program = Some(program);
        self.wait_for("the start page or a trace", |all| !all.is_empty());
        self.xdotool(&["search", "--sync", "--onlyvisible", "--name", "highwater", "windowfocus", "--sync"]);
    }

    /// Waits until the program has ended; returns whether it ended well.
    pub fn wait_for_end(&mut self) -> bool {
        let program = self.program.as_mut().expect("the program was started");
        let start = Instant::now();
        loop {
            if let Some(status) = program.try_wait().expect("the program is a child") {
                return status.success();
            }
            assert!(start.elapsed() < Duration::from_secs(120), "the program does not end");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub fn dump(&self) -> PathBuf {
        self.folder.path().join("ui.txt")
    }

    /// What is on the screen, as it is read: from the top, each line from the left. The dump
    /// has no order.
    pub fn widgets(&self) -> Vec<Widget> {
        let text = fs::read_to_string(self.dump()).unwrap_or_default();
        let mut all: Vec<Widget> = text.lines().filter_map(Widget::parse).collect();
        all.sort_by_key(|widget| (widget.y, widget.x));
        all
    }

    /// Waits until `found` gives something on what is on the screen.
    pub fn wait<T>(&self, what: &str, found: impl Fn(&[Widget]) -> Option<T>) -> T {
        let start = Instant::now();
        loop {
            let widgets = self.widgets();
            if let Some(it) = found(&widgets) {
                return it;
            }
            let names: Vec<&str> = widgets.iter().map(|w| w.name.as_str()).filter(|n| !n.is_empty()).collect();
            assert!(start.elapsed() < Duration::from_secs(60), "waited in vain for {what}; on the screen: {names:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub fn wait_for(&self, what: &str, holds: impl Fn(&[Widget]) -> bool) {
        self.wait(what, |all| holds(all).then_some(()));
    }

    pub fn find(&self, name: &str) -> Widget {
        self.wait(name, |all| all.iter().find(|w| w.name == name).cloned())
    }

    /// Does something, and waits until frames have been drawn since: on a busy machine they
    /// take long, and what comes within one is not what a person does.
    pub fn xdotool(&self, args: &[&str]) {
        let before = self.frame();
        let done = Command::new("xdotool").args(args).env("DISPLAY", &self.display).stdout(Stdio::null()).status();
        assert!(done.is_ok_and(|s| s.success()), "xdotool {args:?}");
        // The first may have begun before; a second does not always come.
        for (frames, patience) in [(1, 3000), (2, 200)] {
            let start = Instant::now();
            while self.frame() < before + frames && start.elapsed() < Duration::from_millis(patience) {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }

    /// The number of the frame that was drawn last.
    fn frame(&self) -> u64 {
        let text = fs::read_to_string(self.dump()).unwrap_or_default();
        text.lines().next().and_then(|line| line.strip_prefix("Frame\t")?.parse().ok()).unwrap_or(0)
    }

    pub fn move_to(&self, (x, y): (i32, i32)) {
        self.xdotool(&["mousemove", &x.to_string(), &y.to_string()]);
    }

    pub fn click_on(&self, name: &str) {
        self.click_what(name, |widget| widget.name == name);
    }

    /// Clicks on the first thing of this kind, as soon as it stays where it is under the pointer:
    /// what comes from workers can move it.
    pub fn click_what(&self, what: &str, is_it: impl Fn(&Widget) -> bool) {
        let place = || self.wait(what, |all| all.iter().find(|w| is_it(w)).map(Widget::center));
        loop {
            let at = place();
            self.move_to(at);
            if place() == at {
                self.xdotool(&["click", "1"]);
                return;
            }
        }
    }

    pub fn drag(&self, from: (i32, i32), to: (i32, i32)) {
        self.move_to(from);
        self.xdotool(&["mousedown", "1"]);
        for i in 1..=4 {
            self.move_to((from.0 + (to.0 - from.0) * i / 4, from.1 + (to.1 - from.1) * i / 4));
        }
        self.xdotool(&["mouseup", "1"]);
    }

    pub fn key(&self, key: &str) {
        self.xdotool(&["key", key]);
    }

    /// Texts on the line of the table that begins with `name`, from left to right.
    pub fn line(&self, all: &[Widget], name: &str) -> Option<Vec<String>> {
        let top = all.iter().find(|w| w.name == "Search")?.y;
        let first = all.iter().find(|w| w.name == name && w.role == "Label" && w.y > top)?;
        let mut line: Vec<&Widget> = all
            .iter()
            .filter(|w| w.role == "Label" && w.y > top && (w.center().1 - first.center().1).abs() <= 3 && w.x >= first.x)
            .collect();
        line.sort_by_key(|w| w.x);
        Some(line.iter().map(|w| w.name.clone()).collect())
    }

    /// Waits for numbers on a line: count, impacting size and size.
    pub fn wait_for_line(&self, name: &str, count: &str, impacting: &str, size: &str) {
        let wanted = [name, count, impacting, size];
        self.wait_for(&format!("the line {wanted:?}"), |all| {
            self.line(all, name).is_some_and(|line| line.len() >= 4 && line[..4] == wanted)
        });
    }

    /// The interval that the tools show: what it is, from and to in seconds.
    pub fn interval(&self) -> (String, f64, f64) {
        self.wait("the interval", |all| {
            let text = all.iter().map(|w| w.name.as_str()).find(|n| n.starts_with("View: ") || n.starts_with("Selection: "))?;
            let (what, rest) = text.split_once(": ")?;
            let mut words = rest.split(' ');
            let from = words.next()?.parse().ok()?;
            let to = words.nth(2)?.parse().ok()?;
            Some((what.to_owned(), from, to))
        })
    }

    pub fn picture(&self, name: &str) {
        std::thread::sleep(Duration::from_millis(900)); // tooltips fade, peaks arrive
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("screenshots").join(name);
        let _ = fs::create_dir_all(path.parent().expect("the file is in a folder"));
        let done = Command::new("import")
            .args(["-window", "root", "-strip", "-define", "png:compression-level=9"])
            .arg(&path)
            .env("DISPLAY", &self.display)
            .status();
        assert!(done.is_ok_and(|s| s.success()), "a picture of the screen");
        let bytes = fs::metadata(&path).map_or(0, |m| m.len());
        assert!(bytes > 20_000, "{name} is blank: {bytes} bytes");
        assert!(bytes <= 300 << 10, "{name} is too large: {bytes} bytes");
    }
}
