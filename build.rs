//! Windows keeps icon, version and manifest in the program itself; other systems
//! have no use for them.

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("windows") {
        return Ok(());
    }
    if std::env::var("CARGO_CFG_TARGET_ENV").as_deref() == Ok("msvc") {
        // Libraries that the elevated program is linked to come from System32 only; see src/recorder.rs.
        println!("cargo::rustc-link-arg-bin=highwater-recorder=/DEPENDENTLOADFLAG:0x800");
    }
    println!("cargo::rerun-if-changed=assets/highwater.ico");
    println!("cargo::rerun-if-changed=assets/highwater.manifest");
    winresource::WindowsResource::new()
        .set_icon("assets/highwater.ico")
        .set_manifest_file("assets/highwater.manifest")
        .set("ProductName", "highwater")
        .set("FileDescription", "highwater: where did the memory go?") // what Explorer and Task Manager show
        .set("CompanyName", "The highwater authors")
        .set("LegalCopyright", "MIT OR Apache-2.0")
        .compile()
}
