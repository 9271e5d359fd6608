pub fn parse(text: &str) -> Option<i64> {
    text.trim().parse().ok()
}

#[test]
fn numbers() {
    assert_eq!(parse(" 4 "), Some(4));
    assert_eq!(parse("four"), None);
}
