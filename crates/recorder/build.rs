//! Links icon, version and manifest to the Windows program, and restricts where its libraries come from.

#[path = "../../assets/resources.rs"]
mod resources;

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("windows")
        && std::env::var("CARGO_CFG_TARGET_ENV").as_deref() == Ok("msvc")
    {
        // Libraries that the elevated program is linked to come from System32 only; see src/main.rs.
        println!("cargo::rustc-link-arg-bins=/DEPENDENTLOADFLAG:0x800");
    }
    resources::link("../../assets", "highwater: the part of recording with administrator rights")
}
