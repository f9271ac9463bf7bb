//! Archives as tests need them, in memory.
#![allow(clippy::unwrap_used, reason = "helpers of tests say what they expect by unwrapping it")]

use std::io::{Cursor, Write};
use std::path::Path;

use cfb::CompoundFile;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// A zip archive; `methods` are those of its members in turn.
pub fn zip(members: &[(&str, &[u8])], methods: &[CompressionMethod]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for ((name, bytes), &method) in members.iter().zip(methods.iter().cycle()) {
        writer.start_file(*name, SimpleFileOptions::default().compression_method(method)).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// An OLE compound file.
pub fn compound(streams: &[(&str, &[u8])]) -> Vec<u8> {
    let mut file = CompoundFile::create(Cursor::new(Vec::new())).unwrap();
    for (path, bytes) in streams {
        file.create_storage_all(Path::new(path).parent().unwrap()).unwrap();
        file.create_stream(path).unwrap().write_all(bytes).unwrap();
    }
    file.flush().unwrap();
    file.into_inner().into_inner()
}
