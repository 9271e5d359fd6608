use proc_macro::TokenStream;

#[proc_macro_derive(Name)]
pub fn name(input: TokenStream) -> TokenStream {
    let words: Vec<String> = input.into_iter().map(|token| token.to_string()).collect();
    let at = words.iter().position(|word| word == "struct").unwrap();
    let name = &words[at + 1];
    format!("impl {name} {{ pub fn name() -> &'static str {{ \"{name}\" }} }}").parse().unwrap()
}
