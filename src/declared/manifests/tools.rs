//! The commands that a language's own tool has for "is it right": at most a few for each manifest.

use super::super::candidate::{Belief, Candidate, Work};
use super::super::kind::Kind;
use super::super::tree::Syntax;
use super::Reader;
use crate::base::path::RepoPath;
use crate::front::tree::Node;

/// A manifest and the commands of its tool.
struct Tool {
    /// Names of the manifest, of which the first that is there speaks.
    files: &'static [&'static str],
    family: &'static str,
    commands: &'static [(Kind, &'static str)],
    /// A manifest below another one of this kind belongs to that.
    nested: bool,
}

const TOOLS: &[Tool] = &[
    Tool {
        files: &["go.mod"],
        family: "go",
        commands: &[(Kind::Lint, "go vet ./..."), (Kind::Test, "go test ./...")],
        nested: false,
    },
    Tool {
        files: &["mix.exs"],
        family: "mix",
        commands: &[
            (Kind::Format, "mix format --check-formatted"),
            (Kind::Test, "mix test"),
        ],
        nested: true,
    },
    Tool {
        files: &["Package.swift"],
        family: "swift",
        commands: &[(Kind::Test, "swift test")],
        nested: true,
    },
    Tool {
        files: &["build.zig"],
        family: "zig",
        commands: &[
            (Kind::Format, "zig fmt --check ."),
            (Kind::Test, "zig build test"),
        ],
        nested: true,
    },
    Tool {
        files: &["stack.yaml"],
        family: "haskell",
        commands: &[(Kind::Test, "stack test")],
        nested: true,
    },
    Tool {
        files: &["cabal.project"],
        family: "haskell",
        commands: &[
            (Kind::Build, "cabal build all"),
            (Kind::Test, "cabal test all"),
        ],
        nested: true,
    },
    Tool {
        files: &["deno.json", "deno.jsonc"],
        family: "deno",
        commands: &[
            (Kind::Format, "deno fmt --check"),
            (Kind::Lint, "deno lint"),
            (Kind::Test, "deno test"),
        ],
        nested: true,
    },
    Tool {
        files: &["pubspec.yaml"],
        family: "dart",
        commands: &[(Kind::Lint, "dart analyze"), (Kind::Test, "dart test")],
        nested: false,
    },
];

impl Reader<'_> {
    pub(super) fn tools(&mut self, dir: &RepoPath) {
        self.cargo(dir);
        for tool in TOOLS {
            let Some(file) = tool.files.iter().find(|file| self.tree.has(dir, file)) else {
                continue;
            };
            if tool.nested && tool.files.iter().any(|file| self.has_above(dir, file)) {
                continue;
            }
            for (kind, command) in tool.commands {
                self.own(dir, file, 1, command, *kind, tool.family);
            }
        }
        self.python(dir);
        self.jvm(dir);
        self.dotnet(dir);
        self.ruby(dir);
        self.composer(dir);
        self.native(dir);
    }

    /// Adds a tool's own command, unless a task that maintainers wrote does this work here.
    fn own(
        &mut self,
        dir: &RepoPath,
        file: &str,
        line: u32,
        command: &str,
        kind: Kind,
        family: &'static str,
    ) {
        if self.is_said(dir, kind, family) {
            return;
        }
        let Ok(path) = dir.join(file.as_bytes()) else {
            return;
        };
        let words: Vec<&str> = command.split(' ').collect();
        let origin = Self::origin(&path, line, file);
        self.add(origin, dir, &words, kind, Some(family));
    }

    /// Whether a directory above has this file too.
    fn has_above(&self, dir: &RepoPath, file: &str) -> bool {
        if dir.is_root() {
            return false;
        }
        let above = dir.ancestors();
        self.tree.has(&RepoPath::root(), file)
            || above
                .iter()
                .any(|above| above != dir && self.tree.has(above, file))
    }

    fn cargo(&mut self, dir: &RepoPath) {
        const FILE: &str = "Cargo.toml";
        if !self.tree.has(dir, FILE) || self.is_member(dir) {
            return;
        }
        for (kind, command) in [
            (Kind::Format, "cargo fmt --all --check"),
            (Kind::Test, "cargo test --workspace"),
        ] {
            self.own(dir, FILE, 1, command, kind, "cargo");
        }
    }

    /// Whether a Cargo package belongs to a workspace above, which goes through its members.
    fn is_member(&self, dir: &RepoPath) -> bool {
        if dir.is_root() {
            return false;
        }
        let mut above = vec![RepoPath::root()];
        above.extend(dir.ancestors().into_iter().filter(|a| a != dir));
        let own = dir
            .join(b"Cargo.toml")
            .ok()
            .and_then(|f| self.tree.read(&f, Syntax::Toml).ok());
        if own.is_some_and(|doc| doc.root.get("workspace").is_some()) {
            return false;
        }
        above.iter().any(|at| {
            let file = at.join(b"Cargo.toml").ok();
            let Some(doc) = file.and_then(|f| self.tree.read(&f, Syntax::Toml).ok()) else {
                return false;
            };
            let Some(workspace) = doc.root.get("workspace") else {
                return false;
            };
            let excluded = workspace.get("exclude").map_or(&[][..], Node::list).iter();
            let mut excluded = excluded.filter_map(|e| at.join(e.text()?.as_bytes()).ok());
            !excluded.any(|e| *dir == e || dir.below(&e).is_some())
        })
    }

    fn python(&mut self, dir: &RepoPath) {
        const FILE: &str = "pyproject.toml";
        let speaks = [FILE, "setup.py", "setup.cfg", "pytest.ini", "tox.ini"];
        if !speaks.iter().any(|file| self.tree.has(dir, file)) {
            return;
        }
        let doc = dir
            .join(FILE.as_bytes())
            .ok()
            .filter(|f| self.tree.files.contains(f));
        let doc = match doc.map(|file| (self.tree.read(&file, Syntax::Toml), file)) {
            Some((Ok(doc), _)) => Some(doc),
            Some((Err(why), file)) => {
                self.unread(&file, why);
                None
            }
            None => None,
        };
        let table = |tool: &str| {
            let doc = doc.as_ref()?;
            let node = doc.root.get("tool")?.get(tool)?;
            Some((FILE, doc.line(node)))
        };
        let text = self.tree.text(dir, FILE).map_or("", |(_, text)| text);
        let requires = text.lines().zip(1_u32..).find(|(line, _)| {
            let line = line.trim_start();
            !line.starts_with('#') && (line.contains("\"pytest") || line.contains("'pytest"))
        });
        let section = |file: &'static str, name: &str| {
            let text = self.tree.text(dir, file)?.1;
            let found = text
                .lines()
                .zip(1_u32..)
                .find(|(line, _)| line.trim() == name)?;
            Some((file, found.1))
        };
        let named = |files: &[&'static str]| {
            let found = files.iter().find(|file| self.tree.has(dir, file))?;
            Some((*found, 1))
        };
        let pytest = table("pytest")
            .or_else(|| requires.map(|(_, line)| (FILE, line)))
            .or_else(|| section("setup.cfg", "[tool:pytest]"))
            .or_else(|| section("tox.ini", "[pytest]"))
            .or_else(|| {
                named(&[
                    "pytest.ini",
                    ".pytest.ini",
                    "conftest.py",
                    "tests/conftest.py",
                ])
            });
        let ruff = table("ruff").or_else(|| named(&["ruff.toml", ".ruff.toml"]));
        let format = doc.as_ref().and_then(|doc| {
            let node = doc.root.get("tool")?.get("ruff")?.get("format")?;
            Some((FILE, doc.line(node)))
        });
        let mypy = table("mypy").or_else(|| named(&["mypy.ini", ".mypy.ini"]));
        let black = table("black");
        // The lock that decides is the nearest one, as for packages of a workspace.
        let locked = |file: &str| self.tree.has(dir, file) || self.has_above(dir, file);
        let prefix = [
            ("uv.lock", "uv run "),
            ("poetry.lock", "poetry run "),
            ("pdm.lock", "pdm run "),
        ]
        .into_iter()
        .find(|(file, _)| locked(file))
        .map_or("", |(_, prefix)| prefix);
        for (place, kind, command) in [
            (ruff, Kind::Lint, "ruff check"),
            (format, Kind::Format, "ruff format --check"),
            (black, Kind::Format, "black --check ."),
            (mypy, Kind::Types, "mypy ."),
            (pytest, Kind::Test, "pytest"),
        ] {
            let Some((file, line)) = place else { continue };
            if self.is_said(dir, kind, "python") {
                continue;
            }
            let Ok(path) = dir.join(file.as_bytes()) else {
                continue;
            };
            let command = format!("{prefix}{command}");
            let words = command.split(' ').map(str::to_owned).collect();
            let origin = Self::origin(&path, line, file);
            let mut candidate =
                Candidate::new(origin, Belief::Manifest, Work::Words(words), dir.clone());
            if prefix.is_empty() {
                candidate.tool_path = vec![".venv/bin".to_owned(), "venv/bin".to_owned()];
            }
            self.push(candidate, kind, Some("python"));
        }
    }

    fn jvm(&mut self, dir: &RepoPath) {
        for (files, wrapper, program, rest) in [
            (&["pom.xml"][..], "mvnw", "mvn", "-B verify"),
            (
                &["build.gradle", "build.gradle.kts"],
                "gradlew",
                "gradle",
                "check",
            ),
        ] {
            let Some(file) = files.iter().find(|file| self.tree.has(dir, file)) else {
                continue;
            };
            if files.iter().any(|file| self.has_above(dir, file)) {
                continue;
            }
            let program = if self.tree.has(dir, wrapper) {
                format!("./{wrapper}")
            } else {
                program.to_owned()
            };
            self.own(
                dir,
                file,
                1,
                &format!("{program} {rest}"),
                Kind::Test,
                "jvm",
            );
        }
    }

    fn dotnet(&mut self, dir: &RepoPath) {
        if !dir.is_root() {
            return;
        }
        let ends = |file: &&RepoPath, ending: &str| file.name().ends_with(ending.as_bytes());
        let here = |file: &&RepoPath| file.segments().count() == 1;
        let solution = self
            .tree
            .files
            .iter()
            .find(|f| here(f) && (ends(f, ".sln") || ends(f, ".slnx")));
        let file = solution
            .and_then(|f| std::str::from_utf8(f.name()).ok())
            .map(str::to_owned);
        if let Some(file) = file {
            self.own(
                dir,
                &file,
                1,
                "dotnet build --no-restore",
                Kind::Build,
                "dotnet",
            );
            self.own(
                dir,
                &file,
                1,
                "dotnet test --no-restore",
                Kind::Test,
                "dotnet",
            );
        }
    }

    fn ruby(&mut self, dir: &RepoPath) {
        let Some((_, text)) = self.tree.text(dir, "Rakefile") else {
            return;
        };
        // `task default: :spec`, `task default: %w[test rubocop]`, `task :default => [:test]`.
        let default = text.lines().zip(1_u32..).find(|(line, _)| {
            let line = line.trim_start();
            line.starts_with("task") && line.contains("default")
        });
        let tests = |line: &str| {
            ["test", "spec", "features"]
                .iter()
                .any(|word| line.contains(word))
        };
        let Some((_, number)) = default.filter(|(line, _)| tests(line)) else {
            return;
        };
        let command = if self.tree.has(dir, "Gemfile") {
            "bundle exec rake"
        } else {
            "rake"
        };
        self.own(dir, "Rakefile", number, command, Kind::Test, "ruby");
    }

    fn composer(&mut self, dir: &RepoPath) {
        const FILE: &str = "composer.json";
        let Some(file) = dir
            .join(FILE.as_bytes())
            .ok()
            .filter(|f| self.tree.files.contains(f))
        else {
            return;
        };
        let doc = match self.tree.read(&file, Syntax::Json) {
            Ok(doc) => doc,
            Err(why) => return self.unread(&file, why),
        };
        self.own(dir, FILE, 1, "composer validate", Kind::Dependencies, "php");
        let scripts = doc.root.get("scripts").map_or(&[][..], Node::entries);
        for (key, value) in scripts {
            let kind = match key.name.as_str() {
                "test" | "tests" | "phpunit" => Kind::Test,
                "phpstan" | "psalm" | "analyse" | "analyze" | "stan" => Kind::Types,
                "cs" | "lint" | "cs-check" | "check-style" => Kind::Lint,
                _ => continue,
            };
            let line = doc.line(value);
            let words = ["composer", "run-script", &key.name];
            let origin = Self::origin(&file, line, &format!("script `{}`", key.name));
            if !self.is_said(dir, kind, "php") {
                self.add(origin, dir, &words, kind, Some("php"));
            }
        }
    }

    /// CMake, Meson and autotools: a step that configures, then the build and the tests.
    fn native(&mut self, dir: &RepoPath) {
        type Commands = &'static [(Kind, &'static str)];
        let rows: [(&str, &str, Commands); 3] = [
            (
                "CMakeLists.txt",
                "cmake -B build",
                &[
                    (Kind::Build, "cmake --build build"),
                    (Kind::Test, "ctest --test-dir build"),
                ],
            ),
            (
                "meson.build",
                "meson setup build",
                &[(Kind::Test, "meson test -C build")],
            ),
            ("configure.ac", "./configure", &[(Kind::Test, "make check")]),
        ];
        for (file, configure, commands) in rows {
            if !self.tree.has(dir, file) || self.has_above(dir, file) {
                continue;
            }
            // Without a configure script that is checked in, only a developer's tools can make one.
            if file == "configure.ac" && !self.tree.has(dir, "configure") {
                continue;
            }
            // One that names no tests has none.
            let text = self.tree.text(dir, file).map_or("", |(_, text)| text);
            let tests = file == "configure.ac"
                || ["enable_testing", "include(CTest)", "add_test", "test("]
                    .iter()
                    .any(|w| text.contains(w));
            let open = commands.iter().filter(|(kind, _)| {
                (*kind != Kind::Test || tests)
                    && !self.is_said(dir, *kind, "c")
                    && !self.is_done(dir, *kind, Some("c"))
            });
            let open: Vec<(Kind, &str)> = open.copied().collect();
            let Ok(path) = dir.join(file.as_bytes()) else {
                continue;
            };
            if open.is_empty() {
                continue;
            }
            let words = configure.split(' ').map(str::to_owned).collect();
            let origin = Self::origin(&path, 1, file);
            let mut setup =
                Candidate::new(origin, Belief::Manifest, Work::Words(words), dir.clone());
            setup.setup = true;
            if file != "configure.ac" {
                let below = if dir.is_root() {
                    "build/**".to_owned()
                } else {
                    format!("{dir}/build/**")
                };
                setup.produces = vec![below];
            }
            let mut last = self.found.candidates.len();
            self.found.candidates.push(setup);
            for (kind, command) in open {
                let words = command.split(' ').map(str::to_owned).collect();
                let origin = Self::origin(&path, 1, file);
                let mut one =
                    Candidate::new(origin, Belief::Manifest, Work::Words(words), dir.clone());
                one.needs = vec![last];
                last = self.found.candidates.len();
                self.push(one, kind, Some("c"));
            }
        }
    }
}
