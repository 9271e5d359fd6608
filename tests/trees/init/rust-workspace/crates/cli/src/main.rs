fn main() {
    println!("{}", kestrel_core::add(0));
}
