#[test]
fn adds() {
    assert_eq!(kestrel_core::add(2), 3);
}
