fn main() {
    println!("cargo::rerun-if-changed=schema.txt");
    let schema = std::fs::read_to_string("schema.txt").unwrap();
    let out = std::env::var("OUT_DIR").unwrap();
    let fields = schema.lines().count();
    std::fs::write(format!("{out}/schema.rs"), format!("pub const FIELDS: usize = {fields};")).unwrap();
}
