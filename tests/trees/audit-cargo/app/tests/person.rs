#[test]
fn person() {
    assert_eq!(app::Person::name(), "Person");
    assert_eq!(app::FIELDS, 2);
    assert_eq!(app::GREETING, "hello\n");
    let case = std::fs::read_to_string("tests/case.json").unwrap();
    assert!(case.contains("42"));
}
