//! What do the vectors of `output` say about readings? Their counts and findings, without what a
//! check makes of them.

use serde::Deserialize as _;
use serde_json::Value;
use vplan::base::vocabulary::FormatName;
use vplan::check::Kind;
use vplan::check::output;

/// What is wrong with what is read from a vector's text.
fn disagreement(case: &Value) -> Option<String> {
    let (input, expected) = (&case["input"], &case["expected"]);
    let kind: Kind = serde_json::from_value(input["kind"].clone()).unwrap();
    let formats = output::resolve_name(FormatName::deserialize(&input["format"]).unwrap(), kind);
    let bytes = match (input["text"].as_str(), input["textHex"].as_str()) {
        (Some(text), _) => text.as_bytes().to_vec(),
        (_, Some(hex)) => (0..hex.len() / 2)
            .map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap())
            .collect(),
        _ => return None,
    };
    // `auto` is for the command's words to decide.
    if formats.is_empty() {
        return None;
    }
    let (out, err) = if input["stream"] == "stderr" {
        (&b""[..], &bytes[..])
    } else {
        (&bytes[..], &b""[..])
    };
    let Some(reading) = output::read(&formats, out, err) else {
        let silent = bytes.iter().all(u8::is_ascii_whitespace);
        let counts = ["errors", "warnings"]
            .iter()
            .any(|key| expected[key].as_u64().is_some_and(|n| n > 0));
        let wanted = expected["tests"].is_object() || counts || !silent && expected["pass"] == true;
        return wanted.then(|| "is not recognised".to_owned());
    };
    let got = serde_json::to_value(&reading).unwrap();
    for key in ["errors", "warnings"] {
        if expected[key].is_u64() && expected[key] != got[key] {
            return Some(format!("{key}: {}, not {}", got[key], expected[key]));
        }
    }
    for (key, want) in expected["tests"].as_object().into_iter().flatten() {
        if *want != got["tests"][key] {
            return Some(format!("{key}: {}, not {want}", got["tests"][key]));
        }
    }
    for severity in ["error", "warning"] {
        let of = |all: &Value| -> Vec<Value> {
            all.as_array()
                .into_iter()
                .flatten()
                .filter(|f| f["severity"] == severity)
                .cloned()
                .collect()
        };
        let found = of(&got["findings"]);
        let mut rest = found.iter();
        for want in of(&expected["diagnostics"]) {
            if !rest.any(|got| agrees(got, &want)) {
                return Some(format!("not found in this order: {want} among {found:?}"));
            }
        }
    }
    None
}

/// A path may be longer or shorter by leading directories.
fn agrees(got: &Value, want: &Value) -> bool {
    want.as_object().unwrap().iter().all(|(key, want)| {
        match (key.as_str(), want.as_str(), got[key].as_str()) {
            ("file", Some(want), Some(got)) => got.ends_with(want) || want.ends_with(got),
            _ => got[key] == *want,
        }
    })
}

#[test]
fn vectors_are_read() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("vectors/output.json")).unwrap();
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|case| {
            disagreement(case)
                .map(|wrong| format!("{} ({}): {wrong}", case["id"], case["input"]["format"]))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
