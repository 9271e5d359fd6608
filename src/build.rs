//! Links the program at a fixed address on Linux, as the released one is: 73,000 places are relocated
//! otherwise at each start, which takes longer than `vplan --version` itself.

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
