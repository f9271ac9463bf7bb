//! The images in generated traces, and the places of functions in them. Frames of the demo's stacks are return
//! addresses inside these functions.
//!
//! `MemoryTestApp.exe` is a real image ([`program`]): its sources are in `assets/demo`, and the shipped program
//! carries its PDB. The others are made up, including their identities.

pub use super::image::{Build, Call, Function};
use super::image::{PDB_AGE, fnv};
use super::program;
use crate::etl::Guid;
use crate::random::Random;

/// An image.
#[derive(Clone, Copy, Debug)]
pub struct Image {
    /// File name.
    pub file: &'static str,
    /// NT path of its folder, with a backslash at the end.
    pub folder: &'static str,
    /// Its base address, the same in every process that has it.
    pub base: u64,
    /// Bytes mapped.
    pub size: u64,
    /// Functions by rising address, without overlap.
    pub functions: &'static [Function],
    /// Its build; `None` if it is made up.
    pub build: Option<&'static Build>,
    /// Its calls, each pair of caller and callee once; none if it is made up.
    pub calls: &'static [Call],
}

/// Identity of an image's PDB, as its RSDS record tells it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pdb {
    /// File name.
    pub name: String,
    /// GUID.
    pub guid: Guid,
    /// Age.
    pub age: u32,
}

impl Image {
    /// Identity of its PDB; that of a made-up image is derived from its name.
    pub fn pdb(&self) -> Pdb {
        let made_up = pdb_of(self.file);
        match self.build {
            Some(build) => Pdb { guid: Guid::from_bytes(build.guid), ..made_up },
            None => made_up,
        }
    }

    /// A function by its name.
    pub fn function(&self, name: &str) -> Option<&'static Function> {
        self.functions.iter().find(|f| f.name == name)
    }

    /// The return address of a call in one of its functions, from its base. In a made-up image each callee has an
    /// address of its own in the caller.
    pub(super) fn return_address(&self, caller: &str, callee: &str) -> Option<u32> {
        if self.build.is_some() {
            return self.calls.iter().find(|call| call.caller == caller && call.callee == callee).map(|call| call.returns_to);
        }
        let function = self.function(caller)?;
        // A call has five bytes or so, and something follows it.
        let offset = 5 + fnv(callee) % u64::from(function.size.saturating_sub(6).max(1));
        Some(function.rva + offset as u32)
    }
}

/// Identity of the PDB of an image file, made up from its name.
pub(super) fn pdb_of(file: &str) -> Pdb {
    let mut random = Random::new(fnv(file));
    let mut guid = [0; 16];
    guid[..8].copy_from_slice(&random.bits().to_le_bytes());
    guid[8..].copy_from_slice(&random.bits().to_le_bytes());
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    Pdb { name: format!("{stem}.pdb"), guid: Guid::from_bytes(guid), age: PDB_AGE }
}

const SYSTEM32: &str = r"\Device\HarddiskVolume3\Windows\System32\";

const fn f(name: &'static str, rva: u32, size: u32) -> Function {
    Function { name, rva, size }
}

/// Libraries of every process, in the order in which they are loaded after the program.
pub(crate) const LIBRARIES: [&Image; 4] = [&NTDLL, &KERNEL32, &KERNELBASE, &UCRTBASE];

/// All images that have functions.
pub const IMAGES: [&Image; 10] =
    [&APP, &SERVICE, &CMD, &NTDLL, &KERNEL32, &KERNELBASE, &UCRTBASE, &NTOSKRNL, &THUMBNAILS, &CORECLR];

/// The program of the exercise.
pub const APP: Image = Image {
    file: "MemoryTestApp.exe",
    folder: r"\Device\HarddiskVolume3\Test\",
    base: 0x7FF6_3A40_0000,
    size: program::SIZE,
    functions: program::FUNCTIONS,
    build: Some(&program::BUILD),
    calls: program::CALLS,
};

/// The second program of the demo.
pub const SERVICE: Image = Image {
    file: "TelemetryService.exe",
    folder: r"\Device\HarddiskVolume3\Program Files\Telemetry\",
    base: 0x7FF7_52B0_0000,
    size: 0x000A_4000,
    functions: &[
        f("operator new", 0x1020, 0x44),
        f("operator delete", 0x1070, 0x2C),
        f("std::string::reserve", 0x2200, 0x0D2),
        f("SampleCache::Insert", 0x8A40, 0x1F6),
        f("SampleCache::Evict", 0x8C40, 0x104),
        f("History::Load", 0x9310, 0x25C),
        f("History::Rotate", 0x9570, 0x1B0),
        f("ReportBuilder::AddSection", 0xA120, 0x20E),
        f("ReportBuilder::Serialize", 0xA330, 0x2AA),
        f("ReportBuilder::Build", 0xA5E0, 0x31C),
        f("Compressor::Compress", 0xB010, 0x1EE),
        f("Uploader::Send", 0xB800, 0x174),
        f("Arena::Commit", 0xC120, 0x09E),
        f("CollectorThread", 0xD400, 0x0F8),
        f("ReporterThread", 0xD500, 0x122),
    ],
    build: None,
    calls: &[],
};

/// The third program of the demo.
pub(crate) const THUMBNAILS_EXE: Image = Image {
    file: "ThumbnailServer.exe",
    folder: r"\Device\HarddiskVolume3\Program Files\Thumbnails\",
    base: 0x7FF7_8C40_0000,
    size: 0x0002_A000,
    functions: &[],
    build: None,
    calls: &[],
};

/// Code that the .NET runtime compiles for it: no image that is loaded.
pub(crate) const THUMBNAILS: Image = Image {
    file: "ThumbnailServer.dll",
    folder: THUMBNAILS_EXE.folder,
    base: 0x7FFC_1A30_0000,
    size: 0x0001_0000,
    functions: &[
        f("Server.Run", 0x1A40, 0x0F2),
        f("Server.ReadFolder", 0x1B60, 0x21C),
        f("FolderIndex.Add", 0x1DA0, 0x0B8),
        f("ThumbnailCache.Add", 0x1E80, 0x14A),
    ],
    build: None,
    calls: &[],
};

/// The .NET runtime.
pub(crate) const CORECLR: Image = Image {
    file: "coreclr.dll",
    folder: r"\Device\HarddiskVolume3\Program Files\dotnet\shared\Microsoft.NETCore.App\8.0.3\",
    base: 0x7FFC_6E10_0000,
    size: 0x004D_0000,
    functions: &[f("ThreadNative::KickOffThread", 0x8_6A20, 0x05B4)],
    build: None,
    calls: &[],
};

/// The shell that starts the program.
pub(crate) const CMD: Image = Image {
    file: "cmd.exe",
    folder: SYSTEM32,
    base: 0x7FF6_B1D0_0000,
    size: 0x0006_F000,
    functions: &[
        f("main", 0x1_6A10, 0x5B2),
        f("Dispatch", 0x1_9C40, 0x2F0),
        f("FindFixAndRun", 0x1_A2E0, 0x4A8),
        f("ECWork", 0x1_A8C0, 0x122),
        f("ExecPgm", 0x1_AA30, 0x7D4),
        f("__mainCRTStartup", 0x1_F320, 0x16A),
    ],
    build: None,
    calls: &[],
};

/// The lowest library.
pub const NTDLL: Image = Image {
    file: "ntdll.dll",
    folder: SYSTEM32,
    base: 0x7FFC_A1C0_0000,
    size: 0x0026_5000,
    functions: &[
        f("RtlpAllocateHeap", 0x1_A2C0, 0x0C60),
        f("RtlpAllocateHeapInternal", 0x1_B0D0, 0x0A1C),
        f("RtlpFindAndCommitPages", 0x1_C450, 0x0392),
        f("RtlpExtendHeap", 0x1_CA10, 0x0610),
        f("RtlAllocateHeap", 0x2_2E60, 0x0062),
        f("RtlCreateHeap", 0x2_8B40, 0x0C2A),
        f("RtlCreateUserStack", 0x3_1770, 0x02B4),
        f("EtwEventWriteTransfer", 0x3_6F80, 0x0236),
        f("LdrpInitializeProcess", 0x7_A4C0, 0x1D6E),
        f("_LdrpInitialize", 0x7_C860, 0x01F4),
        f("LdrpInitialize", 0x7_CA80, 0x0052),
        f("LdrInitializeThunk", 0x7_CB00, 0x0016),
        f("RtlUserThreadStart", 0x8_D700, 0x0042),
        f("NtAllocateVirtualMemory", 0x9_F2E0, 0x0018),
        f("NtCreateUserProcess", 0xA_0D60, 0x0018),
        f("NtCreateThreadEx", 0xA_0E40, 0x0018),
        f("NtTraceEvent", 0xA_1560, 0x0018),
    ],
    build: None,
    calls: &[],
};

/// The library behind most of the Windows API.
pub const KERNELBASE: Image = Image {
    file: "KERNELBASE.dll",
    folder: SYSTEM32,
    base: 0x7FFC_9F2A_0000,
    size: 0x003B_E000,
    functions: &[
        f("VirtualAlloc", 0x3_4B20, 0x005A),
        f("HeapCreate", 0x5_0F70, 0x0074),
        f("CreateRemoteThreadEx", 0x6_3C40, 0x03B0),
        f("CreateProcessInternalW", 0x7_1E50, 0x1C9C),
        f("CreateProcessW", 0x7_3B90, 0x006A),
    ],
    build: None,
    calls: &[],
};

/// The library that starts threads.
pub const KERNEL32: Image = Image {
    file: "KERNEL32.DLL",
    folder: SYSTEM32,
    base: 0x7FFC_A0B3_0000,
    size: 0x000C_8000,
    functions: &[
        f("BaseThreadInitThunk", 0x1_5A80, 0x002E),
        f("CreateThreadStub", 0x1_F5B0, 0x0050),
        f("CreateProcessWStub", 0x1_F990, 0x006C),
    ],
    build: None,
    calls: &[],
};

/// The C runtime.
pub(crate) const UCRTBASE: Image = Image {
    file: "ucrtbase.dll",
    folder: SYSTEM32,
    base: 0x7FFC_9EC2_0000,
    size: 0x0014_B000,
    functions: &[
        f("_malloc_base", 0x1_0A80, 0x0044),
        f("_calloc_base", 0x1_0AD0, 0x0068),
        f("_realloc_base", 0x1_1C30, 0x00A2),
        f("_configure_narrow_argv", 0x1_DE20, 0x0182),
        f("_initialize_narrow_environment", 0x1_E450, 0x00F6),
        f("_register_onexit_function", 0x2_0310, 0x010A),
        f("thread_start<unsigned int (__cdecl*)(void *),1>", 0x2_6B10, 0x0098),
        f("_beginthreadex", 0x2_6C00, 0x00E4),
    ],
    build: None,
    calls: &[],
};

/// The kernel.
pub(crate) const NTOSKRNL: Image = Image {
    file: "ntoskrnl.exe",
    folder: r"\SystemRoot\system32\",
    base: 0xFFFF_F803_12A0_0000,
    size: 0x0145_0000,
    functions: &[
        f("KiSystemServiceCopyEnd", 0x41_8330, 0x0028),
        f("MiAllocateVirtualMemory", 0x61_0040, 0x0D90),
        f("NtAllocateVirtualMemory", 0x61_0E00, 0x0186),
        f("MiCreatePebOrTeb", 0x6A_2110, 0x048A),
        f("MmCreatePeb", 0x6A_2640, 0x0514),
        f("PspSetupUserStack", 0x6B_7C50, 0x02DA),
        f("PspAllocateProcess", 0x6B_9100, 0x1A3C),
        f("NtCreateUserProcess", 0x6B_E470, 0x2C14),
    ],
    build: None,
    calls: &[],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_lie_in_their_image_and_not_in_each_other() {
        for image in IMAGES {
            let mut end = 0x1000;
            for function in image.functions {
                assert!(function.rva >= end, "{}!{}", image.file, function.name);
                end = function.rva + function.size;
            }
            assert!(u64::from(end) <= image.size, "{}", image.file);
        }
        let mut ranges: Vec<_> = IMAGES.iter().map(|i| (i.base, i.base + i.size)).collect();
        ranges.sort_unstable();
        assert!(ranges.windows(2).all(|w| w[0].1 <= w[1].0));
    }

    #[test]
    fn every_image_has_its_own_identity() {
        assert_eq!(APP.pdb().name, "MemoryTestApp.pdb");
        assert_ne!(APP.pdb().guid, SERVICE.pdb().guid);
    }
}
