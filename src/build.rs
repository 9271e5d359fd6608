//! Links the program at a fixed address on Linux (`-no-pie`), as the released binary is: otherwise the
//! loader relocates 73,000 places at each start, a quarter of what `vplan --version` takes.

#![allow(
    clippy::disallowed_methods,
    reason = "what builds a crate is not of it"
)]

fn main() {
    println!("cargo:rerun-if-changed=src/build.rs");
    let is = |key: &str, value: &str| std::env::var(key).is_ok_and(|it| it == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
