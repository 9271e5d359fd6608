//! Tests of lowering.

use super::*;
use vplan_base::command::{Command, Piece};
use vplan_base::index::Index as _;
use vplan_base::source::Source;
use vplan_base::word::Word;
use vplan_check::request::{Assertion, FileType};
use vplan_contract::draft::SelKind;
use vplan_contract::draft::Written;

fn lower_text(text: &str) -> (Draft, Vec<(String, String)>) {
    let mut sources = Sources::default();
    let id = sources.add(Source::new("contracts/verify.vplan", text));
    let mut sink = Diagnostics::default();
    let draft = lower(&sources, id, &ParserCaps::default(), &mut sink);
    let source = sources.get(id).unwrap();
    let show = |d: vplan_base::diagnostic::Diagnostic| {
        (
            d.code.0.replace("vplan::lang::", ""),
            source.slice(d.labels[0].place.span).to_owned(),
        )
    };
    (draft, sink.sorted().into_iter().map(show).collect())
}

#[test]
fn a_whole_contract() {
    let text = r#"vplan 1
contract "storefront"
paths api = "apps/api/**" !prose "!**/*.md"
defaults {
  timeout 5m
}
check lint: CI=1 pnpm run lint {changed}
byRole tester reviewer {
  tier 1 {
    check unit {
      test pnpm run test
      report junit "reports/unit.xml"
      exit 0 3
      env A='x y'
    }
  }
  whenChangedAny api {
    use lint
  }
}
check bundle {
  file "dist/app.js" {
    exists
    size 1B..2MiB
    size ..1KB
    type dir
  }
  needs lint
}
risk auth tier 1 "**/auth/**"
sequence lint, unit -> *
role docser {
  only docs-safe
  max-checks 3
}
limits {
  budget 10m
}
"#;
    let (draft, messages) = lower_text(text);
    assert_eq!(messages, []);
    assert_eq!(draft.path, "contracts/verify.vplan");
    assert!(draft.digest.is_some());
    assert_eq!(draft.names[0].value, "storefront");
    let items = &draft.paths[0].items;
    assert_eq!(items[0].what.value, SelKind::Glob("apps/api/**".to_owned()));
    assert_eq!(items[0].inner.map(|i| &text[i..i + 4]), Some("apps"));
    assert_eq!(
        (items[1].not, &items[1].what.value),
        (true, &SelKind::Name("prose".to_owned()))
    );
    assert_eq!(items[2].inner.map(|i| &text[i..i + 2]), Some("**"));
    assert_eq!(draft.defaults[0].value, Setting::new(Row::Timeout, 300_000));
    assert_eq!(draft.conditions.len(), 2);
    let [
        CheckEntry::Check(lint),
        CheckEntry::Check(unit),
        CheckEntry::Use {
            names,
            conditions,
            tier_block,
            ..
        },
        CheckEntry::Check(bundle),
    ] = draft.entries.as_slice()
    else {
        panic!("{:?}", draft.entries)
    };
    let Verb::Command(Kind::Run, Command::Argv { env, pieces }) = &lint.verbs[0].value else {
        panic!("{lint:?}")
    };
    assert_eq!(env.get("CI"), Some(&Word::from("1")));
    assert_eq!(pieces.last(), Some(&Piece::Changed));
    assert_eq!(
        (
            unit.conditions.as_slice(),
            unit.tier_block.as_ref().map(|t| t.value)
        ),
        (&[ConditionIndex::new(0)][..], Some(1))
    );
    assert_eq!(unit.settings.len(), 3);
    assert_eq!(
        unit.settings[2].value,
        Setting::new(
            Row::Env,
            Written::Variable("A".to_owned(), Word::from("x y"))
        )
    );
    assert_eq!(
        (names[0].value.as_str(), conditions.as_slice(), tier_block),
        ("lint", &[0, 1].map(ConditionIndex::new)[..], &None)
    );
    let Verb::File { path, assertions } = &bundle.verbs[0].value else {
        panic!("{bundle:?}")
    };
    assert_eq!(path.value, "dist/app.js");
    let assertions: Vec<&Assertion> = assertions.iter().map(|a| &a.value).collect();
    assert_eq!(
        assertions,
        [
            &Assertion::Exists,
            &Assertion::Size {
                max: Some(2 << 20),
                min: Some(1)
            },
            &Assertion::Size {
                max: Some(1000),
                min: None
            },
            &Assertion::Type(FileType::Dir),
        ]
    );
    assert_eq!(draft.risks[0].tier.value, 1);
    let groups: Vec<&Group> = draft.sequences[0].groups.iter().map(|g| &g.value).collect();
    assert!(matches!(groups.as_slice(), [Group::Names(names), Group::Rest] if names.len() == 2));
    assert_eq!(draft.roles[0].max_checks[0].value, 3);
    assert_eq!(draft.policy[0].value, Policy::Budget(600_000));
}

#[test]
fn wrong_values() {
    for (line, code, at) in [
        ("timeout 5", "bad_duration", "5"),
        ("timeout 0s", "bad_duration", "0s"),
        ("timeout 5d", "bad_duration", "5d"),
        ("retries -1", "bad_number", "-1"),
        ("retries 1.5", "bad_number", "1.5"),
        ("exit 256", "bad_number", "256"),
        ("tier 3", "bad_number", "3"),
        ("severity fatal", "unknown_word", "fatal"),
        ("sandbox locked", "unknown_word", "locked"),
        ("network local", "unknown_word", "local"),
        ("report html \"a\"", "unknown_word", "html"),
        ("report junit \"!a\"", "excluding_glob", "\"!a\""),
        ("produces \"!a\"", "excluding_glob", "\"!a\""),
        ("pass-env A* *", "bad_variable", "*"),
        ("pass-env A-B", "bad_variable", "A-B"),
        (
            "max-errors 9007199254740992",
            "bad_number",
            "9007199254740992",
        ),
        ("file \"x\" {\n size 10B\n}", "bad_size", "10B"),
        ("file \"x\" {\n size ..\n}", "bad_size", ".."),
        (
            "file \"x\" {\n size 2KiB..1KiB\n}",
            "bad_size",
            "2KiB..1KiB",
        ),
        ("file \"x\" {\n size 1..10B\n}", "bad_size", "1..10B"),
        ("file \"x\" {\n type png\n}", "unknown_word", "png"),
    ] {
        let (_, messages) = lower_text(&format!("vplan 1\ncheck a {{\n  {line}\n}}\n"));
        assert_eq!(messages, [(code.to_owned(), at.to_owned())], "{line}");
    }
    let (_, messages) =
        lower_text("vplan 1\ngate {\n  on-exhausted retry\n  confirmations 0\n}\ntier 9 {\n}\n");
    let codes: Vec<&str> = messages.iter().map(|m| m.0.as_str()).collect();
    assert_eq!(codes, ["unknown_word", "bad_number", "bad_number"]);
}

#[test]
fn what_is_broken_is_not_reported_twice() {
    // A check whose verb could not be read has one all the same, and its name is known.
    let (draft, messages) = lower_text(
        "vplan 1\ncheck a {\n  frobnicate the thing\n}\ncheck b: x | y\ncheck c {\n  run z\n  fil\n}\n",
    );
    assert_eq!(messages.len(), 3);
    for entry in &draft.entries {
        let CheckEntry::Check(check) = entry else {
            panic!("{entry:?}")
        };
        assert!(check.name.is_some());
        assert_eq!(check.verbs.len(), 1);
    }
    assert!(draft.digest.is_none());
}
