fn double(text: &str) -> i64 {
    parser::parse(text).unwrap_or(0) * 2
}

fn main() {
    println!("{}", double("21"));
}

#[test]
fn doubles() {
    assert_eq!(double("21"), 42);
}
