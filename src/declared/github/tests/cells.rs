//! Tests of the cells of a matrix.

use super::*;

fn matrix(axes: &str, steps: &str) -> String {
    let axes: String = axes.lines().map(|line| format!("    {line}\n")).collect();
    job(&format!(
        "runs-on: ${{{{ matrix.os || 'ubuntu-latest' }}}}\nstrategy:\n  matrix:\n{axes}steps:\n{steps}"
    ))
}

#[test]
fn r19_one_cell_is_chosen() {
    let run = "  - run: x ${{ matrix.python }}${{ matrix.v }}\n  - uses: actions/setup-python@v5\n    with: { python-version: '${{ matrix.v }}' }";
    let axis = "- axis `python` of job `j`: matrix";
    for (axes, files, want) in [
        (
            "python: ['3.9', '3.13', '3.10']",
            &[][..],
            &["x 3.13 (one of 3 cells: python 3.13)", axis][..],
        ),
        (
            "python: ['3.13', '3.14-dev', 'pypy-3.11', '3.14t']",
            &[],
            &["x 3.13 (one of 4 cells: python 3.13)", axis],
        ),
        (
            "python: ['3.9', '3.13']",
            &[(".python-version", "3.9\n")],
            &["x 3.9 (one of 2 cells: python 3.9)", axis],
        ),
        (
            "v: [a1, a2]",
            &[],
            &[
                "x a2 (one of 2 cells: v a2)",
                "- axis `v` of job `j`: matrix",
            ],
        ),
        (
            "os: [windows-latest, ubuntu-latest]\npython: ['3.12']",
            &[],
            &[
                "x 3.12 (one of 2 cells: python 3.12)",
                "- axis `os` of job `j`: matrix",
            ],
        ),
        (
            "os: [windows-latest, macos-15]",
            &[],
            &[
                "machine x ${{ matrix.python }}${{ matrix.v }}",
                "- job `j`: machine",
            ],
        ),
        (
            "python: ['3.12', '3.13']\nexclude:\n  - python: '3.13'",
            &[],
            &["x 3.12"],
        ),
        (
            "python: ['3.12']\ninclude:\n  - python: '3.14'\n    experimental: true\n  - python: '3.12'\n    extra: 1",
            &[],
            &["x 3.12 (one of 2 cells: python 3.12)", axis],
        ),
        (
            "include:\n  - { os: macos-15, v: 1 }\n  - { os: ubuntu-24.04, v: 2 }",
            &[],
            &[
                "x 2 (one of 2 cells: v 2)",
                "- axis `os` of job `j`: matrix",
                "- axis `v` of job `j`: matrix",
            ],
        ),
    ] {
        check("R19", &matrix(axes, run), files, want);
    }
    for (file, text, key, values, want) in [
        (".nvmrc", "v20\n", "node", "[18, 20, 22]", "20"),
        (
            ".node-version",
            "18.1.0\n",
            "node-version",
            "[18, 20]",
            "18",
        ),
        (
            "go.mod",
            "module x\n\ngo 1.23.4\n",
            "go",
            "['1.23', '1.24', stable]",
            "1.23",
        ),
        (
            "rust-toolchain.toml",
            "[toolchain]\nchannel = \"1.80\"\n",
            "rust",
            "[stable, '1.80', nightly]",
            "1.80",
        ),
        (
            "rust-toolchain",
            "beta\n",
            "toolchain",
            "[stable, beta]",
            "beta",
        ),
        (
            ".ruby-version",
            "ruby-3.3.1\n",
            "ruby",
            "['3.3', '3.4']",
            "3.3",
        ),
        (".java-version", "17\n", "java", "[17, 21]", "17"),
        (
            ".tool-versions",
            "nodejs 18.2.0\n",
            "node",
            "[18, 20]",
            "18",
        ),
        (
            "mise.toml",
            "[tools]\npython = \"3.11\"\n",
            "py",
            "['3.11', '3.12']",
            "3.11",
        ),
        (
            "none",
            "",
            "rust",
            "['1.80', stable, beta, nightly]",
            "stable",
        ),
        ("none", "", "node", "[18, 'lts/*', 20]", "lts/*"),
        ("none", "", "php-version", "['8.1', '8.4', '8.5-rc']", "8.4"),
    ] {
        let run = format!("  - run: x ${{{{ matrix.{key} }}}}");
        let workflow = matrix(&format!("{key}: {values}"), &run);
        let got = shown(&found(&[(CI, &workflow), (file, text)]));
        let command = got.first().unwrap();
        assert!(
            command.starts_with(&format!("x {want} (one of")),
            "{key} {values}: {got:?}"
        );
        assert!(
            got.iter().skip(1).all(|line| line.starts_with("- axis")),
            "{got:?}"
        );
    }
}

#[test]
fn r21_words_of_a_matrix_are_kept() {
    let run = "  - run: x ${{ matrix.part }}\n  - run: same";
    check(
        "R21",
        &matrix("part: [a, b]", run),
        &[],
        &[
            "x a (one of 2 cells: part a)",
            "same (one of 2 cells: part a)",
            "x b tier 1 (one of 2 cells: part b)",
        ],
    );
    check(
        "R21",
        &matrix("part: [a, b, c, d, e]", run),
        &[],
        &[
            "x a (one of 5 cells: part a)",
            "same (one of 5 cells: part a)",
            "- axis `part` of job `j`: matrix",
        ],
    );
    check(
        "R21 with a known action",
        &matrix(
            "part: [advisories, bans]",
            "  - uses: EmbarkStudios/cargo-deny-action@v2\n    with: { command: 'check ${{ matrix.part }}' }",
        ),
        &[],
        &[
            "cargo deny check bans tier 1 (one of 2 cells: part bans)",
            "- action `EmbarkStudios/cargo-deny-action`: network",
        ],
    );
    check(
        "R21 name only",
        &matrix("name: [a, b]", "  - name: ${{ matrix.name }}\n    run: x"),
        &[],
        &["x"],
    );
}

#[test]
fn r22_shards_are_joined() {
    let run = "  - run: x --shard ${{ matrix.shard }}/3 y\n  - run: x --shard=${{ matrix.shard }}/3\n    env: { S: '${{ matrix.shard }}' }";
    check(
        "R22",
        &matrix("shard: [1, 2, 3]", run),
        &[],
        &[
            "x y (all shards at once)",
            "x (all shards at once)",
            "- axis `shard` of job `j`: matrix",
        ],
    );
    for (text, want) in [
        ("a --partition count:1/3 b", "a b"),
        ("a --num-shards 3 --shard-id 1", "a"),
        ("pytest --splits 3 --group 1 t", "pytest t"),
        ("a --group 1", "a --group 1"),
        ("a --shard\nb", "a\nb"),
        ("a --shard 1/2 \\\n  b", "a \\\n  b"),
        ("a --shard=1/2", "a"),
        ("", ""),
    ] {
        assert_eq!(matrix::without_shards(text).0, want, "{text:?}");
    }
}

#[test]
fn r23_other_machines() {
    for (run, want) in [
        ("cargo build --target wasm32-unknown-unknown", "machine"),
        ("cargo test --target=aarch64-apple-darwin", "machine"),
        ("cargo test --target x86_64-unknown-linux-gnu", ""),
        ("cross test", "machine"),
        ("wine x.exe", "machine"),
        ("qemu-aarch64 ./x", "machine"),
        ("cargo build -Zbuild-std", "machine"),
        ("npm run build --target x-y", ""),
        ("cargo test --target-dir x-y", ""),
    ] {
        let want = format!("{want} {run}");
        check(
            "R23",
            &steps(&format!("  - run: {run}")),
            &[],
            &[want.trim()],
        );
    }
    let text = "runs-on: windows-latest\nsteps:\n  - run: x";
    check(
        "machine",
        &job(text),
        &[],
        &["machine x", "- job `j`: machine"],
    );
    let text = "runs-on: [self-hosted, gpu]\nsteps:\n  - run: x";
    check(
        "machine",
        &job(text),
        &[],
        &["machine x", "- job `j`: machine"],
    );
}

#[test]
fn r24_a_matrix_from_json() {
    let run = "  - run: x ${{ matrix.part }}";
    let known = job(&format!(
        "strategy:\n  matrix: ${{{{ fromJson('{{\"part\":[\"a\"]}}') }}}}\nsteps:\n{run}"
    ));
    check("R24", &known, &[], &["x a"]);
    let unknown = job(&format!(
        "strategy:\n  matrix: ${{{{ fromJson(needs.c.outputs.m) }}}}\nsteps:\n{run}"
    ));
    check("R24", &unknown, &[], &["x ${{ matrix.part }}"]);
    let axis = job(&format!(
        "strategy:\n  matrix:\n    part: ${{{{ fromJson(needs.c.outputs.m) }}}}\nsteps:\n{run}"
    ));
    check("R24", &axis, &[], &["x ${{ matrix.part }}"]);
}

#[test]
fn a_large_matrix_has_an_end() {
    let values: Vec<String> = (0..100).map(|n| n.to_string()).collect();
    let values = values.join(", ");
    let axes: String = ["a", "b", "c", "d", "e"]
        .iter()
        .map(|k| format!("{k}: [{values}]\n"))
        .collect();
    let found = found(&[(CI, &matrix(&axes, "  - run: x ${{ matrix.a }}"))]);
    assert!(found.candidates.len() <= 4, "{}", found.candidates.len());
}
