//! What Windows keeps in a program itself: icon, version and manifest. Part of the build scripts of the packages with
//! programs that are shipped; other systems have no use for it.

/// Links the resources to the programs of the package, if they are built for Windows. `assets` is this folder, seen
/// from the package; Explorer and Task Manager show the description.
pub fn link(assets: &str, description: &str) -> std::io::Result<()> {
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("windows") {
        return Ok(());
    }
    let [icon, manifest] = ["highwater.ico", "highwater.manifest"].map(|name| format!("{assets}/{name}"));
    println!("cargo::rerun-if-changed={icon}");
    println!("cargo::rerun-if-changed={manifest}");
    winresource::WindowsResource::new()
        .set_icon(&icon)
        .set_manifest_file(&manifest)
        .set("ProductName", "highwater")
        .set("FileDescription", description)
        .set("CompanyName", "The highwater authors")
        .set("LegalCopyright", "MIT OR Apache-2.0")
        .compile()
}
