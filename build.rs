//! Links icon, version and manifest to the Windows programs of this package.

#[path = "assets/resources.rs"]
mod resources;

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    resources::link("assets", "highwater: where did the memory go?")
}
