//! The processes of generated traces, with their threads and modules, and their events in a merged trace (starts,
//! ends, rundowns, image identities).

use super::Options;
use super::image::{PDB_AGE, fnv};
use super::images::{self, Image, Pdb};
use super::timeline::{Entry, What, record};
use crate::etl::{Guid, SessionHeader, mode};
use crate::events::encode::{Extra, Style, system};
use crate::events::{Event, ImageChange, ImageFile, ImageId, ImageInfo, ProcessChange, ProcessInfo, hook};
use crate::units::{Pid, PointerSize, Tid};

/// Clock value at the start of every generated trace: some nine hours after the machine's start.
pub const START_TICKS: i64 = 335_417_820_000;
/// Start of every generated trace, FILETIME: 2026-03-17 09:41:07 UTC.
pub const START_TIME: i64 = 134_182_140_670_000_000;
/// Ticks per second of every generated trace.
pub const FREQUENCY: i64 = 10_000_000;

/// An image of a process and the identity of its PDB.
#[derive(Clone, Debug)]
pub(super) struct Module {
    pub(super) path: String,
    pub(super) base: u64,
    pub(super) size: u64,
    pub(super) time_stamp: u32,
    pub(super) pdb: String,
    pub(super) guid: Guid,
}

impl Module {
    /// An image whose identity is derived from its name.
    pub(super) fn new(folder: &str, file: &str, base: u64, size: u64) -> Self {
        let Pdb { name, guid, .. } = images::pdb_of(file);
        let time_stamp = 0x6500_0000 | (fnv(file) >> 40) as u32;
        Self { path: format!("{folder}{file}"), base, size, time_stamp, pdb: name, guid }
    }

    fn info(&self, change: ImageChange) -> ImageInfo {
        // Rundowns do not have the time stamp.
        let time_stamp = if change == ImageChange::Rundown { 0 } else { self.time_stamp };
        ImageInfo { base: self.base, size: self.size, checksum: 0, time_stamp, path: self.path.clone() }
    }

    /// The events of an image; if it is mapped, the events of its identities come just before.
    fn entries(&self, pid: u32, tid: Tid, change: ImageChange, time: i64, processor: u16, style: Style) -> Vec<Entry> {
        let mut all = Vec::with_capacity(3);
        if change != ImageChange::Unload {
            let name = self.path.rsplit('\\').next().unwrap_or_default().to_owned();
            let file = ImageFile { base: self.base, size: self.size, time_stamp: self.time_stamp, name };
            let id = ImageId { base: self.base, guid: self.guid, age: PDB_AGE, pdb: self.pdb.clone() };
            all.push(Entry::record(processor, record(time, pid, Tid::NONE.0, Event::ImageFile(Box::new(file)))));
            all.push(Entry::record(processor, record(time, pid, tid.0, Event::ImageId(Box::new(id)))));
        }
        let event = Event::Image(change, Box::new(self.info(change)));
        all.push(Entry { style, ..Entry::record(processor, record(time, pid, tid.0, event)) });
        all
    }
}

/// A process.
#[derive(Clone, Debug)]
pub(super) struct Process {
    pub(super) pid: u32,
    pub(super) parent: u32,
    pub(super) name: String,
    pub(super) command_line: String,
    pub(super) sid: &'static [u8],
    pub(super) threads: Vec<Tid>,
    pub(super) modules: Vec<Module>,
}

impl Process {
    fn info(&self) -> Event {
        let name = self.name.clone();
        let key = 0xFFFF_C28A_0000_0080 | u64::from(self.pid) << 12 | (fnv(&name) & 0xFFF) << 32;
        Event::Process(
            ProcessChange::Rundown,
            Box::new(ProcessInfo { key, parent: self.parent, name, command_line: self.command_line.clone() }),
        )
    }

    fn change(&self, change: ProcessChange, time: i64, processor: u16, tid: Tid, at_end: bool) -> Entry {
        let mut event = self.info();
        if let Event::Process(as_what, _) = &mut event {
            *as_what = change;
        }
        let style = Style { sid: self.sid, at_end, ..Style::default() };
        Entry { style, ..Entry::record(processor, record(time, self.pid, tid.0, event)) }
    }

    fn main_thread(&self) -> Tid {
        self.threads.first().copied().unwrap_or(Tid(self.pid + 4))
    }

    fn thread(&self, hook: u16, tid: Tid, time: i64, processor: u16) -> Entry {
        let extra = Extra::Thread { hook, pid: Pid(self.pid), tid, name: String::new() };
        Entry::new(time, processor, What::Extra(extra))
    }

    /// The events of a rundown.
    pub(super) fn rundown(&self, time: i64, processor: u16, at_end: bool) -> Vec<Entry> {
        let style = Style { at_end, ..Style::default() };
        let hook = if at_end { hook::THREAD_RUNDOWN_END } else { hook::THREAD_RUNDOWN_START };
        let mut all = vec![self.change(ProcessChange::Rundown, time, processor, Tid::NONE, at_end)];
        all.extend(self.threads.iter().map(|tid| self.thread(hook, *tid, time, processor)));
        let images = self
            .modules
            .iter()
            .flat_map(|module| module.entries(self.pid, Tid::NONE, ImageChange::Rundown, time, processor, style));
        all.extend(images);
        all
    }

    /// The events of its start: by a thread of its parent, its first thread, and its images `step` ticks apart.
    pub(super) fn start(&self, time: i64, processor: u16, parent_thread: Tid, step: i64) -> Vec<Entry> {
        let tid = self.main_thread();
        let mut all = vec![
            self.change(ProcessChange::Start, time, processor, parent_thread, false),
            self.thread(hook::THREAD_START, tid, time + 2, processor),
        ];
        for (module, at) in self.modules.iter().zip(1..) {
            let time = time + 2 + at * step;
            all.extend(module.entries(self.pid, tid, ImageChange::Load, time, processor, Style::default()));
        }
        all
    }

    /// The events of its end: its images are unloaded and it ends, `step` ticks between two events.
    pub(super) fn end(&self, time: i64, processor: u16, step: i64) -> Vec<Entry> {
        let tid = self.main_thread();
        let mut all = Vec::new();
        for (module, at) in self.modules.iter().zip(0..) {
            all.extend(module.entries(self.pid, tid, ImageChange::Unload, time + at * step, processor, Style::default()));
        }
        let end = time + self.modules.len() as i64 * step;
        all.push(self.change(ProcessChange::End, end, processor, tid, false));
        all
    }
}

/// The session header of a merged trace.
pub(super) fn session(processors: u16, compressed: bool) -> SessionHeader {
    SessionHeader {
        processors: processors.into(),
        mode: mode::SEQUENTIAL | mode::RELOG | if compressed { mode::COMPRESSED } else { 0 },
        frequency: FREQUENCY as u64,
        start_ticks: START_TICKS,
        start_time: START_TIME,
        boot_time: START_TIME - START_TICKS, // both have 10 MHz
        logger: "Relogger".to_owned(),
        ..SessionHeader::default()
    }
}

/// The events at the start of a merged trace: flags, build, directories, volume.
pub(super) fn preamble(time: i64) -> Vec<Entry> {
    // Processes, threads, images and VirtualAlloc; heap events have a provider of their own.
    const FLAGS: u32 = 0x4007;
    let extras = [
        Extra::GroupMasks([FLAGS, 0x8000, 0x20, 0, 0, 0, 0, 0]),
        Extra::BuildInfo {
            installed: START_TIME - 0x2_0000_0000_0000,
            lab: "26100.1.amd64fre.ge_release.240331-1435".to_owned(),
            product: "Windows 11 Pro".to_owned(),
        },
        Extra::SystemPaths(r"C:\Windows\system32".to_owned(), r"C:\Windows".to_owned()),
    ];
    let volume = Event::Volume(Box::new((r"\Device\HarddiskVolume3\".to_owned(), r"C:\".to_owned())));
    let mut all: Vec<Entry> = extras.into_iter().map(|extra| Entry::new(time, 0, What::Extra(extra))).collect();
    all.push(Entry::record(0, record(time, Pid::NONE.0, Tid::NONE.0, volume)));
    all
}

/// The module for an image of the tables.
pub(super) fn module(image: &Image) -> Module {
    let made_up = Module::new(image.folder, image.file, image.base, image.size);
    let time_stamp = image.build.map_or(made_up.time_stamp, |build| build.time_stamp);
    Module { guid: image.pdb().guid, time_stamp, ..made_up }
}

/// The libraries that every process has, at the same address in each.
pub(super) fn libraries() -> Vec<Module> {
    images::LIBRARIES.map(module).to_vec()
}

/// The system process, whose images are the kernel's.
pub(super) fn kernel() -> Process {
    let hal = Module::new(images::NTOSKRNL.folder, "hal.dll", images::NTOSKRNL.base - 0x0010_0000, 0x6000);
    Process {
        pid: 4,
        parent: 0,
        name: "System".to_owned(),
        command_line: String::new(),
        sid: system::SID_SYSTEM,
        threads: vec![Tid(8)],
        modules: vec![module(&images::NTOSKRNL), hal],
    }
}

/// Processes of no interest that every trace has; the last is the shell.
pub(super) fn bystanders() -> Vec<Process> {
    const LIST: [(u32, u32, &str, &str, bool); 6] = [
        (392, 4, "smss.exe", "", true),
        (612, 392, "csrss.exe", "", true),
        (940, 700, "services.exe", "", true),
        (1244, 940, "svchost.exe", r"C:\Windows\system32\svchost.exe -k netsvcs -p", true),
        (3620, 3500, "explorer.exe", r"C:\Windows\Explorer.EXE", false),
        (3988, 3620, "cmd.exe", r#""C:\Windows\system32\cmd.exe""#, false),
    ];
    let process = |(pid, parent, name, command_line, system): (u32, u32, &str, &str, bool)| {
        let program = match name {
            "cmd.exe" => module(&images::CMD),
            _ => Module::new(images::CMD.folder, name, 0x7FF7_0000_0000 | u64::from(pid) << 16, 0x0006_F000),
        };
        let mut modules = vec![program];
        modules.extend(libraries());
        Process {
            pid,
            parent,
            name: name.to_owned(),
            command_line: command_line.to_owned(),
            sid: if system { system::SID_SYSTEM } else { system::SID_USER },
            threads: vec![Tid(pid + 8)],
            modules,
        }
    };
    LIST.into_iter().map(process).collect()
}

/// The programs of a generated trace: with the same libraries, but each with its own image, and with as many threads
/// as the options say.
pub(super) fn programs(options: &Options) -> Vec<Process> {
    let pid = |n: u32| 6000 + 64 * (n % 1000) * 4 + n / 1000 * 4;
    let process = |n: u32| match options.pointer(n) {
        PointerSize::Four => Process { modules: narrow_modules(n), ..program(n, pid(n), options.threads) },
        PointerSize::Eight => program(n, pid(n), options.threads),
    };
    (0..options.processes).map(process).collect()
}

/// The modules of a 32-bit program: below 4 GB, with libraries from their own folder.
fn narrow_modules(number: u32) -> Vec<Module> {
    const FOLDER: &str = r"\Device\HarddiskVolume3\Windows\SysWOW64\";
    const LIBRARIES: [(&str, u64, u64); 5] = [
        ("ntdll.dll", 0x77A0_0000, 0x001B_2000),
        ("KERNEL32.DLL", 0x7660_0000, 0x000F_0000),
        ("KERNELBASE.dll", 0x75C0_0000, 0x0027_9000),
        ("ucrtbase.dll", 0x7580_0000, 0x0011_2000),
        ("engine.dll", 0x1000_0000, 0x0080_0000),
    ];
    let mut modules: Vec<Module> = LIBRARIES.iter().map(|(file, base, size)| Module::new(FOLDER, file, *base, *size)).collect();
    modules.push(Module::new(PROGRAMS, &format!("app{number}.exe"), 0x0040_0000, 0x0030_0000));
    modules
}

const PROGRAMS: &str = r"\Device\HarddiskVolume3\Program Files\Synth\";

/// The program with this number and this id.
pub(super) fn program(number: u32, pid: u32, threads: u32) -> Process {
    let name = format!("app{number}.exe");
    let base = 0x7FF6_0000_0000 + u64::from(number) * 0x0100_0000;
    let mut modules = libraries();
    modules.push(Module::new(PROGRAMS, &name, base, 0x0040_0000));
    modules.push(Module::new(PROGRAMS, "engine.dll", 0x7FFC_8000_0000, 0x0120_0000));
    Process {
        pid,
        parent: 3988,
        command_line: format!("\"C:\\Program Files\\Synth\\{name}\""),
        name,
        sid: system::SID_USER,
        threads: (1..=threads).map(|n| Tid(pid + 4 * n)).collect(),
        modules,
    }
}
