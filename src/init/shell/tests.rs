//! Tests of the splitter of shell text.

use super::*;
use proptest::prelude::*;

fn scope() -> ShellScope {
    let known = |text: &str| ShellValue::Known(text.to_owned());
    ShellScope {
        dir: RepoPath::root(),
        variables: [
            ("ONE".to_owned(), known("one")),
            ("TWO".to_owned(), known("x y")),
            ("NONE".to_owned(), known("")),
            ("TOKEN".to_owned(), ShellValue::Unknown),
        ]
        .into(),
    }
}

fn commands(text: &str) -> Vec<String> {
    let show = |command: SourceCommand| {
        let mut out = String::new();
        if !command.dir.is_root() {
            out.push_str(&format!("{}: ", command.dir));
        }
        for (name, value) in &command.env {
            out.push_str(&format!("{name}={value} "));
        }
        out.push_str(&command.words.join("_"));
        if let Some(unknown) = &command.unknown {
            out.push_str(&format!(" ?{unknown}"));
        }
        match &command.ending {
            CommandEnding::Counts => {}
            CommandEnding::Ignored(how) => out.push_str(&format!(" [{how}]")),
            CommandEnding::Background => out.push_str(" [&]"),
            CommandEnding::TreeCompared => out.push_str(" [tree]"),
        }
        out
    };
    split(text, &scope()).into_iter().map(show).collect()
}

#[test]
fn commands_of_texts() {
    let cases: &[(&str, &[&str])] = &[
        ("", &[]),
        ("# nothing\n\n", &[]),
        ("a b; c && d\ne", &["a_b", "c", "d", "e"]),
        ("a \\\n  b\nc", &["a_b", "c"]),
        ("a 'x y' \"p; q\" r\\ s # t", &["a_x y_p; q_r s"]),
        ("a\r\nb\r\n", &["a", "b"]),
        (
            "cat > f <<EOF\nrm x\nEOF\nb",
            &["cat ?its input is << EOF", "b"],
        ),
        (
            "cat <<-'EOF'\n\trm x\n\tEOF\nb",
            &["cat ?its input is <<- 'EOF'", "b"],
        ),
        ("a > f 2>&1 && b >/dev/null", &["a", "b"]),
        ("a & b", &["a [&]", "b"]),
        (
            "if [ $ONE = two ]; then V=a; a; elif [[ x == x ]]; then V=b; b $V; else c; fi; d $V",
            &["b_b", "d_b"],
        ),
        (
            "if [ $ONE != two ]; then a; else b; fi; if [ $TOKEN = x ]; then c; else d; fi",
            &["a", "c", "d"],
        ),
        (
            "if [ $ONE = one ] && x; then a; else b; fi",
            &["x [it only decides what runs next]", "a", "b"],
        ),
        // Folders.
        ("cd x && a; cd ..; b", &["x: a", "b"]),
        ("(cd x; a); b", &["x: a", "b"]),
        ("cd x; cd -; a", &["a"]),
        ("pushd x; a; popd; b", &["x: a", "b"]),
        ("cd /tmp; a", &["a ?it runs in `/tmp`"]),
        ("cd x*; a", &["a ?it runs in `x*`"]),
        (
            "a; d=$(git diff); [ -n \"$d\" ] && exit 1",
            &["a [tree]", "git"],
        ),
        ("cd $TOKEN/x; a", &["a ?it runs in `$TOKEN`"]),
        (
            "cd x; a --root $GITHUB_WORKSPACE/y $PWD",
            &["x: a_--root_../y_."],
        ),
        // Variables.
        ("a $ONE ${TWO} \"$TWO\" $NONE b", &["a_one_x_y_x y_b"]),
        ("a $UNSET b \"$UNSET\"", &["a_b"]),
        ("a --x=$UNSET", &["a_--x=$UNSET ?$UNSET"]),
        ("a $TOKEN", &["a_$TOKEN ?$TOKEN"]),
        (
            "a ${{ secrets.X }} b",
            &["a_${{ secrets.X }}_b ?${{ secrets.X }}"],
        ),
        ("a ${ONE} ${UNSET:-z}", &["a_one_${UNSET:-z} ?${UNSET:-z}"]),
        ("X=1; a $X", &["a_1"]),
        ("X=$(date); a $X", &["a_$X ?$X"]),
        ("X=1 a; b", &["X=1 a", "b"]),
        ("export X=1 Y; a; unset X; b", &["X=1 a", "b"]),
        ("X=(a b)\na \"${X[@]}\"", &["a_${X[@]} ?${X[@]}"]),
        ("make -j$(nproc) x", &["make_-j4_x"]),
        ("a x~y ~/z", &["a_x~y_~/z ?~/z"]),
        ("a $HOME", &["a_$HOME ?$HOME"]),
        ("[ $TOKEN ] && X=1; a $X", &["a_$X ?$X"]),
        // A shell expands these.
        ("a *.sh 'b c'", &["sh_-c_a *.sh 'b c'"]),
        (
            "a $(git ls-files '*.sh')",
            &["sh_-c_a $(git ls-files '*.sh')"],
        ),
        (
            "find . -name x | xargs -0 a",
            &["sh_-c_find . -name x | xargs -0 a"],
        ),
        ("a '*.sh'", &["a_*.sh"]),
        ("find . | xargs a & b", &["sh_-c_find . | xargs a [&]", "b"]),
        ("X=$(date # it's\n)\na $X; b", &["a_$X ?$X", "b"]),
        ("[[ (x || y) ]] && a; b", &["a", "b"]),
        // Endings.
        ("a || true", &["a [|| true]"]),
        (
            "a && b || echo x; c",
            &["a [|| echo x]", "b [|| echo x]", "c"],
        ),
        ("a || exit 1", &["a"]),
        ("a || exit 0", &["a [|| exit 0]"]),
        ("a || { echo x; exit 1; }", &["a"]),
        ("a || failed=1; b || code=$((code + $?))", &["a", "b"]),
        ("a || a", &["a"]),
        (
            "a && git diff --exit-code",
            &["a [tree]", "git_diff_--exit-code"],
        ),
        (
            "a\nif [ -n \"$(git status --porcelain)\" ]; then exit 1; fi",
            &["a [tree]", "test"],
        ),
        (
            "a | tee log",
            &["a", "tee_log ?it reads the output of another command"],
        ),
        ("! a", &["a ?it must fail"]),
        // Conditions.
        ("if [ -f x ]; then a; else b; fi; c", &["a", "b", "c"]),
        (
            "if [[ x && y ]]; then a; elif [ -z $NONE ]; then b; else c || true; fi",
            &["a", "b", "c [|| true]"],
        ),
        ("if ! a; then exit 1; fi", &["a"]),
        (
            "if a; then b; fi",
            &["a [it only decides what runs next]", "b"],
        ),
        ("[ -n \"$NONE\" ] && a; b", &["a", "b"]),
        ("[ -f x ] || a", &["a"]),
        // Loops.
        (
            "for i in 1 2; do a && break; done; b",
            &["a ?a loop is not read", "b"],
        ),
        (
            "until a; do sleep 1; done",
            &["a ?a loop is not read", "sleep_1 ?a loop is not read"],
        ),
        ("for i in *; do a $i; done", &["a_$i ?a loop is not read"]),
        (
            "for i in *; do a; b; X=$(ruff check $i | wc); done",
            &[
                "a ?a loop is not read",
                "b ?a loop is not read",
                "ruff_check_$i ?a loop is not read",
            ],
        ),
        (
            "X=$(ruff check .); Y=$(date)",
            &["ruff_check_. ?its output is put into a variable"],
        ),
        (
            "test -z \"$(gofmt -l .)\"; [ `date` = x ]",
            &["gofmt_-l_. ?its output is compared"],
        ),
        (
            "while read -r f; do a \"$f\"; done < x",
            &["a_$f ?a loop is not read"],
        ),
        (
            "case $1 in\n a) b;;\n (c|d) X=1 ;;\nesac\nf $X",
            &[" ?a `case` is not read", "f_$X ?$X"],
        ),
        ("f() {\n a\n}\nb", &[" ?a function is not read", "b"]),
        ("function f { a; }; b", &[" ?a function is not read", "b"]),
    ];
    for (text, want) in cases {
        let got = commands(text);
        let got: Vec<&str> = got.iter().map(String::as_str).collect();
        assert_eq!(got, *want, "{text:?}");
    }
}

#[test]
fn places_and_texts_are_of_the_source() {
    let commands = split("a\n\nX=1 b \\\n  c  # d\ncd x\ne", &ShellScope::default());
    let got: Vec<(u32, &str)> = commands.iter().map(|c| (c.place.line, &*c.text)).collect();
    assert_eq!(got, [(0, "a"), (2, "X=1 b c"), (5, "e")]);
}

#[test]
fn later_steps_have_what_a_script_sets() {
    let text = "echo \"A=b c\" >> $GITHUB_ENV\necho \"T=$(date)\" >> \"$GITHUB_ENV\"";
    let want = [
        ("A".to_owned(), ShellValue::Known("b c".to_owned())),
        ("T".to_owned(), ShellValue::Unknown),
    ];
    assert_eq!(read(text, &ShellScope::default()).sets, want);
}

#[test]
fn loops_in_loops_end() {
    let text = "for i in 1 2 3 4 5 6 7 8; do x $i; ".repeat(40);
    assert!(commands(&text).len() <= MAX_COMMANDS);
}

#[test]
fn deep_and_open_texts_end() {
    for part in [
        "(", "$(", "`", "{ ", "if ", "${x:-", "\"$(", "for ", "case ", "f() ", "! ", "'", "<<a",
    ] {
        let _ = commands(&part.repeat(3000));
    }
}

fn fragments() -> impl Strategy<Value = String> {
    let one = proptest::sample::select(vec![
        "a",
        "b c",
        " ",
        "\n",
        ";",
        "&&",
        "||",
        "|",
        "&",
        "'x; y'",
        "\"p && q\"",
        "\"$(r; s)\"",
        "$(t)",
        "`u`",
        "${v:-w}",
        "(",
        ")",
        "{",
        "}",
        "if",
        "then",
        "fi",
        "for x in y",
        "do",
        "done",
        "case x in",
        "esac",
        ";;",
        "<<E",
        "\nE\n",
        "> f",
        "2>&1",
        "\\\n",
        "\\",
        "'",
        "\"",
        "#",
        "é",
        "${{ a || 'b' }}",
        "$((",
        "))",
        "[[",
        "]]",
        "!",
        "f()",
        "=",
        "x=(",
        "\r\n",
        "cd",
        "until",
    ]);
    proptest::collection::vec(one, 0..40).prop_map(|v| v.join(" ").replace("  ", ""))
}

proptest! {
    #[test]
    fn any_text_is_split(text in fragments()) {
        let lines = text.matches('\n').count();
        for command in split(&text, &scope()) {
            prop_assert!(command.place.line as usize <= lines);
            prop_assert!(!command.text.contains('\n'));
        }
    }

    #[test]
    fn any_characters_are_split(text in "\\PC{0,60}") {
        let _ = split(&text, &ShellScope::default());
    }

    #[test]
    fn quotes_hold_what_is_in_them(inner in "[^'\0\r]{1,20}", after in "[a-z]{1,9}") {
        let commands = split(&format!("a '{inner}'; {after}x"), &ShellScope::default());
        prop_assert_eq!(commands.len(), 2);
        prop_assert_eq!(&commands[0].words[1], &inner);
    }
}
