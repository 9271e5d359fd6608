include!(concat!(env!("OUT_DIR"), "/schema.rs"));
pub const GREETING: &str = include_str!("../data/greeting.txt");
#[derive(derive::Name)]
pub struct Person;
