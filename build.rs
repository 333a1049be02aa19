//! Tells the crate whether it is compiled without any optimisation.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=DELTARAY_VECTOR_FUNCTIONS");
    println!("cargo::rustc-check-cfg=cfg(unoptimized)");
    // The project's own tests look at the vector functions in every build.
    let is_wanted = std::env::var_os("DELTARAY_VECTOR_FUNCTIONS").is_some();
    if std::env::var("OPT_LEVEL").as_deref() == Ok("0") && !is_wanted {
        println!("cargo::rustc-cfg=unoptimized");
    }
}
