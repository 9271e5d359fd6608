//! A repository whose configuration, attributes, references, index and objects, or an environment,
//! tell git to run programs, to write files, or to look away: no program runs, nothing is written,
//! and the change is seen all the same.

use super::CODES;
use crate::faults::sweep::Sweep;
use crate::support::Project;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

/// A repository under attack.
struct Prey {
    project: Project,
    /// What leaves a file in `../marks/` when it is run.
    hook: String,
    /// The environment that vplan gets beside its usual one.
    env: BTreeMap<OsString, OsString>,
    /// Where vplan is started, from the root.
    dir: &'static str,
    /// Whether the change can be found at all.
    visible: bool,
}

impl Prey {
    fn new() -> Self {
        let project = Project::git_with(&[
            (
                "contracts/verify.vplan",
                "vplan 1\nwhenChangedAny \"d/*\" {\n  check a: true\n}\n",
            ),
            ("a.txt", "a\n"),
            ("d/c.txt", "1\n"),
            ("package.json", "{\"scripts\":{}}"),
        ]);
        project.git(&["checkout", "-q", "-b", "work"]);
        project.write("w.txt", "w\n").commit("work");
        project.mkdir("../marks");
        let marks = project.parent().join("marks");
        project.script(
            "../hook.sh",
            &format!(
                "#!/bin/sh\n: > \"{}/$$\"\ncat 2>/dev/null\n",
                marks.display()
            ),
        );
        let hook = project
            .parent()
            .join("hook.sh")
            .to_str()
            .unwrap()
            .to_owned();
        Self {
            project,
            hook,
            env: BTreeMap::new(),
            dir: "",
            visible: true,
        }
    }

    fn config(&self, key: &str) -> &Self {
        self.set(key, &self.hook)
    }

    fn set(&self, key: &str, value: &str) -> &Self {
        self.project.git(&["config", key, value]);
        self
    }

    fn attributes(&self, text: &str) -> &Self {
        self.project.write(".git/info/attributes", text);
        self
    }

    fn var(&mut self, name: &str, value: impl Into<OsString>) -> &mut Self {
        self.env.insert(name.into(), value.into());
        self
    }

    fn beside(&self, name: &str) -> PathBuf {
        self.project.parent().join(name)
    }

    /// A configuration file that runs programs.
    fn hostile_config(&self) -> String {
        let hook = &self.hook;
        format!(
            "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = {hook}\n\tpager = {hook}\n[filter \"evil\"]\n\tclean = {hook}\n\
             \tsmudge = {hook}\n\trequired = true\n[diff]\n\texternal = {hook}\n"
        )
    }

    fn hooks(&self, dir: &str) {
        for name in [
            "applypatch-msg",
            "pre-applypatch",
            "post-applypatch",
            "pre-commit",
            "prepare-commit-msg",
            "commit-msg",
            "post-commit",
            "post-checkout",
            "post-merge",
            "pre-push",
            "pre-auto-gc",
            "post-rewrite",
            "pre-rebase",
            "fsmonitor-watchman",
            "query-watchman",
            "post-index-change",
            "reference-transaction",
            "p4-changelist",
        ] {
            self.project.script(
                &format!("{dir}/{name}"),
                &format!("#!/bin/sh\nexec {} </dev/null\n", self.hook),
            );
        }
    }

    /// Another repository beside the project, with a hostile configuration.
    fn elsewhere(&self, dir: &str) -> PathBuf {
        let git = self.project.path(dir);
        self.project
            .git(&["init", "-q", "-b", "main", git.to_str().unwrap()]);
        self.project
            .write(format!("{dir}/.git/config"), self.hostile_config());
        self.project.write(
            format!("{dir}/.git/info/attributes"),
            "* filter=evil diff=evil\n",
        );
        git
    }

    fn marks(&self) -> Vec<PathBuf> {
        super::files(&self.beside("marks"))
    }
}

type Trap = (&'static str, fn(&mut Prey));

const TRAPS: &[Trap] = &[
    ("fsmonitor", |p| _ = p.config("core.fsmonitor")),
    ("fsmonitor of git's own", |p| {
        _ = p
            .set("core.fsmonitor", "true")
            .set("core.useBuiltinFSMonitor", "true")
    }),
    ("hooks path", |p| {
        p.hooks("../hooks");
        p.set("core.hooksPath", p.beside("hooks").to_str().unwrap());
    }),
    ("hooks", |p| p.hooks(".git/hooks")),
    ("pager", |p| {
        p.config("core.pager").config("interactive.diffFilter");
        for command in [
            "rev-parse",
            "diff-index",
            "ls-files",
            "merge-base",
            "cat-file",
            "ls-tree",
            "for-each-ref",
            "config",
        ] {
            p.config(&format!("pager.{command}"));
        }
    }),
    ("editor", |p| {
        _ = p.config("core.editor").config("sequence.editor")
    }),
    ("ssh", |p| {
        _ = p.config("core.sshCommand").set("ssh.variant", "simple")
    }),
    ("askpass", |p| {
        _ = p
            .config("core.askPass")
            .set("credential.interactive", "true")
    }),
    ("proxy", |p| {
        _ = p
            .config("core.gitProxy")
            .set("http.proxy", "http://127.0.0.1:1")
    }),
    ("alternate references", |p| {
        _ = p.config("core.alternateRefsCommand")
    }),
    ("external diff", |p| {
        _ = p.config("diff.external").set("diff.trustExitCode", "true")
    }),
    ("diff driver", |p| {
        _ = p.config("diff.evil.command").attributes("* diff=evil\n")
    }),
    ("textconv", |p| {
        _ = p
            .config("diff.evil.textconv")
            .set("diff.evil.cachetextconv", "true")
            .attributes("* diff=evil\n")
    }),
    ("clean", |p| {
        p.config("filter.evil.clean")
            .set("filter.evil.required", "true")
            .attributes("* filter=evil\n");
    }),
    ("smudge", |p| {
        _ = p
            .config("filter.evil.smudge")
            .set("filter.evil.required", "true")
            .attributes("* filter=evil\n")
    }),
    ("filter process", |p| {
        _ = p
            .config("filter.evil.process")
            .attributes("* filter=evil\n")
    }),
    ("large files", |p| {
        p.config("filter.lfs.clean")
            .config("filter.lfs.smudge")
            .config("filter.lfs.process");
        p.set("filter.lfs.required", "true")
            .project
            .write(".gitattributes", "* filter=lfs diff=lfs merge=lfs -text\n");
    }),
    ("merge driver", |p| {
        _ = p
            .config("merge.evil.driver")
            .set("merge.default", "evil")
            .attributes("* merge=evil\n")
    }),
    ("signatures", |p| {
        p.config("gpg.program")
            .config("gpg.ssh.program")
            .config("gpg.ssh.defaultKeyCommand")
            .config("gpg.x509.program");
        p.set("log.showSignature", "true")
            .set("commit.gpgSign", "true")
            .set("merge.verifySignatures", "true");
    }),
    ("credential helper", |p| {
        let hook = p.hook.clone();
        p.set("credential.helper", &format!("!{hook}"))
            .set("credential.https://h.helper", &hook);
    }),
    ("upload pack", |p| {
        _ = p
            .config("uploadpack.packObjectsHook")
            .config("remote.origin.uploadpack")
    }),
    ("alias", |p| {
        let hook = p.hook.clone();
        for command in [
            "rev-parse",
            "diff-index",
            "ls-files",
            "merge-base",
            "cat-file",
            "ls-tree",
            "status",
            "diff",
            "x",
        ] {
            p.set(&format!("alias.{command}"), &format!("!{hook}"));
        }
    }),
    ("include", |p| {
        p.project.write("../included", p.hostile_config());
        p.set("include.path", p.beside("included").to_str().unwrap())
            .attributes("* filter=evil\n");
    }),
    ("conditional include", |p| {
        p.project.write(".git/included", p.hostile_config());
        p.set("includeIf.gitdir:**.path", "included")
            .set("includeIf.onbranch:**.path", "included")
            .attributes("* filter=evil\n");
    }),
    ("configuration of the work tree", |p| {
        p.set("extensions.worktreeConfig", "true");
        p.project.write(".git/config.worktree", p.hostile_config());
        p.attributes("* filter=evil\n");
    }),
    ("work tree elsewhere", |p| {
        _ = p.set("core.worktree", p.beside("home").to_str().unwrap())
    }),
    ("attributes elsewhere", |p| {
        p.project
            .write("../attributes", "* filter=evil diff=evil\n");
        p.config("filter.evil.clean").config("diff.evil.command");
        p.set(
            "core.attributesFile",
            p.beside("attributes").to_str().unwrap(),
        );
    }),
    ("trace", |p| {
        for (key, name) in [
            ("trace2.eventTarget", "e"),
            ("trace2.normalTarget", "n"),
            ("trace2.perfTarget", "p"),
        ] {
            p.set(key, p.beside("marks").join(name).to_str().unwrap());
        }
    }),
    ("command of a submodule", |p| {
        let hook = p.hook.clone();
        p.project.write(
            ".gitmodules",
            format!("[submodule \"s\"]\n\tpath = s\n\turl = ./s\n\tupdate = !{hook}\n"),
        );
        p.set("submodule.s.update", &format!("!{hook}"))
            .set("submodule.s.active", "true")
            .set("submodule.recurse", "true");
        p.elsewhere("s");
    }),
    ("a submodule's own configuration", |p| {
        p.elsewhere("s");
        p.project.write("s/f", "1\n");
        p.project.git(&[
            "-C",
            "s",
            "-c",
            "core.fsmonitor=false",
            "-c",
            "core.attributesFile=",
            "config",
            "filter.evil.required",
            "false",
        ]);
        let commit = p.project.git(&["rev-parse", "HEAD"]);
        p.project
            .write("s/.git/refs/heads/main", format!("{commit}\n"));
        p.project.git(&[
            "update-index",
            "--add",
            "--cacheinfo",
            &format!("160000,{commit},s"),
        ]);
        p.project.write("s/f", "2\n");
    }),
    ("a submodule whose repository is elsewhere", |p| {
        let other = p.elsewhere("../other");
        p.project.write(
            "s/.git",
            format!("gitdir: {}\n", other.join(".git").display()),
        );
        let commit = p.project.git(&["rev-parse", "HEAD"]);
        p.project.git(&[
            "update-index",
            "--add",
            "--cacheinfo",
            &format!("160000,{commit},s"),
        ]);
    }),
    ("a repository inside", |p| drop(p.elsewhere("inner"))),
    ("started in a bare repository inside", |p| {
        p.project
            .write("inner/HEAD", "ref: refs/heads/main\n")
            .write("inner/config", p.hostile_config());
        p.project
            .write("inner/objects/info/x", "")
            .write("inner/refs/heads/x", "");
        (p.dir, p.visible) = ("inner", false);
    }),
    ("references that are options", |p| {
        let commit = p.project.git(&["rev-parse", "HEAD"]);
        let target = p.beside("marks").join("output");
        for name in [
            "--output=x".to_owned(),
            format!("--output={}", target.display()),
            "--upload-pack=x".into(),
            "-h".into(),
        ] {
            p.project
                .write(format!(".git/refs/heads/{name}"), format!("{commit}\n"));
            p.project.write(
                format!(".git/refs/remotes/origin/{name}"),
                format!("{commit}\n"),
            );
        }
    }),
    ("HEAD is an option", |p| {
        let commit = p.project.git(&["rev-parse", "HEAD"]);
        p.project.write(
            ".git/packed-refs",
            format!(
                "# pack-refs with: peeled fully-peeled sorted\n{commit} refs/heads/--output=y\n"
            ),
        );
        p.project.write(".git/HEAD", "ref: refs/heads/--output=y\n");
    }),
    ("a remote that is a command", |p| {
        let hook = p.hook.clone();
        p.set("protocol.ext.allow", "always")
            .set("remote.origin.url", &format!("ext::{hook} %S"));
        p.set("url.ext::sh -c x.insteadOf", "file:")
            .set("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*");
    }),
    ("objects that a command promises", |p| {
        let hook = p.hook.clone();
        let blob = p.project.git(&["rev-parse", "HEAD:package.json"]);
        p.set("core.repositoryformatversion", "1")
            .set("extensions.partialClone", "origin");
        p.set("remote.origin.promisor", "true")
            .set("protocol.ext.allow", "always");
        p.set("remote.origin.url", &format!("ext::{hook} %S"));
        p.project
            .remove(&format!(".git/objects/{}/{}", &blob[..2], &blob[2..]));
        p.visible = false;
    }),
    ("a tree that a command promises", |p| {
        let hook = p.hook.clone();
        let tree = p.project.git(&["rev-parse", "HEAD:d"]);
        p.set("core.repositoryformatversion", "1")
            .set("extensions.partialClone", "origin");
        p.set("remote.origin.promisor", "true")
            .set("protocol.ext.allow", "always");
        p.set("remote.origin.url", &format!("ext::{hook} %S"));
        p.project
            .remove(&format!(".git/objects/{}/{}", &tree[..2], &tree[2..]));
        p.visible = false;
    }),
    ("grafts and alternates", |p| {
        let commit = p.project.git(&["rev-parse", "HEAD"]);
        p.project
            .write(".git/info/grafts", format!("{commit}\n"))
            .write(".git/objects/info/alternates", "/nonexistent\n../../..\n");
        p.project.write(".git/shallow", format!("{commit}\n"));
        p.visible = false;
    }),
    ("index extensions", |p| {
        p.set("core.untrackedCache", "true")
            .set("core.splitIndex", "true")
            .set("index.sparse", "true");
        p.project
            .git(&["update-index", "--split-index", "--untracked-cache"]);
        p.project.write("more.txt", "").git(&["add", "more.txt"]);
    }),
    // Git itself loses entries of such an index: no answer is the right one.
    ("an index that git breaks", |p| {
        p.set("core.splitIndex", "true")
            .set("index.skipHash", "true");
        p.project.git(&["update-index", "--split-index"]);
        p.project.write("more.txt", "").git(&["add", "more.txt"]);
        p.visible = false;
    }),
    ("a file as .git", |p| {
        std::fs::rename(p.project.path(".git"), p.beside("moved")).unwrap();
        p.project
            .write(".git", format!("gitdir: {}\n", p.beside("moved").display()));
        p.set("core.fsmonitor", &p.hook)
            .config("core.sshCommand")
            .set("core.worktree", p.beside("home").to_str().unwrap());
    }),
    ("a symlink as .git", |p| {
        std::fs::rename(p.project.path(".git"), p.beside("moved")).unwrap();
        std::os::unix::fs::symlink("../moved", p.project.path(".git")).unwrap();
        p.config("core.fsmonitor")
            .config("filter.evil.clean")
            .attributes("* filter=evil\n");
    }),
    ("a common directory elsewhere", |p| {
        p.elsewhere("../other");
        p.project.write(".git/commondir", "../../other/.git\n");
        p.visible = false;
    }),
    ("bare, it says", |p| {
        _ = p.set("core.bare", "true").config("core.fsmonitor")
    }),
    ("a format of the future", |p| {
        p.config("core.fsmonitor")
            .set("core.repositoryformatversion", "99");
        p.visible = false;
    }),
    ("no configuration at all", |p| {
        p.project
            .write(".git/config", "[core\nfsmonitor = \"\n\0[[[");
        p.visible = false;
    }),
    ("safe, it says", |p| {
        _ = p
            .set("safe.directory", "*")
            .set("safe.bareRepository", "all")
            .config("core.fsmonitor")
    }),
    ("assumed unchanged", |p| {
        drop(
            p.project
                .git(&["update-index", "--assume-unchanged", "d/c.txt"]),
        )
    }),
    ("sparse", |p| {
        p.set("core.sparseCheckout", "true")
            .project
            .write(".git/info/sparse-checkout", "/a.txt\n");
    }),
    ("looks the other way", |p| {
        for (key, value) in [
            ("core.fileMode", "false"),
            ("core.ignoreCase", "true"),
            ("core.trustctime", "false"),
            ("core.checkStat", "minimal"),
            ("status.showUntrackedFiles", "no"),
            ("diff.ignoreSubmodules", "all"),
            ("core.quotePath", "true"),
            ("core.autocrlf", "true"),
            ("core.eol", "crlf"),
            ("core.symlinks", "false"),
            ("diff.noprefix", "true"),
            ("diff.orderFile", "/dev/stdin"),
            ("color.ui", "always"),
            ("column.ui", "always"),
            ("core.abbrev", "4"),
            ("core.precomposeUnicode", "true"),
            ("diff.renames", "copies"),
            ("grep.extendRegexp", "true"),
        ] {
            p.set(key, value);
        }
    }),
    ("programs called git in the repository", |p| {
        let hook = format!("#!/bin/sh\nexec {} </dev/null\n", p.hook);
        for name in [
            "git",
            "gitt",
            "git-diff-index",
            "git-ls-files",
            "git-cat-file",
            "sh",
            "true",
            "git-remote-https",
        ] {
            p.project
                .script(&format!("bin/{name}"), &hook)
                .script(name, &hook);
        }
        let mut path = OsString::from("bin:.::");
        path.push(p.project.path("bin"));
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap());
        p.var("PATH", path);
    }),
    ("configuration in the environment", |p| {
        let hook = p.hook.clone();
        p.var("GIT_CONFIG_COUNT", "2")
            .var("GIT_CONFIG_KEY_0", "core.fsmonitor")
            .var("GIT_CONFIG_VALUE_0", &hook);
        p.var("GIT_CONFIG_KEY_1", "filter.evil.clean")
            .var("GIT_CONFIG_VALUE_1", &hook);
        p.var(
            "GIT_CONFIG_PARAMETERS",
            format!("'core.fsmonitor'='{hook}'"),
        );
        p.project.write("../included", p.hostile_config());
        let included = p.beside("included");
        p.var("GIT_CONFIG_GLOBAL", &included)
            .var("GIT_CONFIG_SYSTEM", &included)
            .var("GIT_CONFIG", &included);
        p.attributes("* filter=evil\n");
    }),
    ("another repository in the environment", |p| {
        let other = p.elsewhere("../other").join(".git");
        p.var("GIT_DIR", &other)
            .var("GIT_WORK_TREE", "/")
            .var("GIT_INDEX_FILE", "/nonexistent");
        p.var("GIT_OBJECT_DIRECTORY", "/nonexistent")
            .var("GIT_COMMON_DIR", &other)
            .var("GIT_NAMESPACE", "x");
        p.var("GIT_ALTERNATE_OBJECT_DIRECTORIES", "/nonexistent")
            .var("GIT_SHALLOW_FILE", "/nonexistent");
        let above = p.project.parent().to_owned();
        p.var("GIT_CEILING_DIRECTORIES", above)
            .var("GIT_DISCOVERY_ACROSS_FILESYSTEM", "0");
    }),
    ("programs in the environment", |p| {
        let hook = p.hook.clone();
        for name in [
            "GIT_EXTERNAL_DIFF",
            "GIT_PAGER",
            "PAGER",
            "GIT_EDITOR",
            "EDITOR",
            "VISUAL",
            "GIT_SEQUENCE_EDITOR",
            "GIT_SSH",
            "GIT_SSH_COMMAND",
            "GIT_ASKPASS",
            "SSH_ASKPASS",
            "GIT_PROXY_COMMAND",
            "GIT_TRACE_CURL",
            "BROWSER",
            "SHELL",
        ] {
            p.var(name, &hook);
        }
        p.var("GIT_TEMPLATE_DIR", p.beside("hooks"))
            .var("GIT_ATTR_SOURCE", "HEAD");
    }),
    ("git's own programs elsewhere", |p| {
        let hook = format!("#!/bin/sh\nexec {} </dev/null\n", p.hook);
        for name in [
            "git",
            "git-diff-index",
            "git-remote-file",
            "git-upload-pack",
            "git-sh-setup",
            "git-remote-ext",
        ] {
            p.project.script(&format!("../exec/{name}"), &hook);
        }
        p.var("GIT_EXEC_PATH", p.beside("exec"));
    }),
    ("traces in the environment", |p| {
        let marks = p.beside("marks");
        for name in [
            "GIT_TRACE",
            "GIT_TRACE2",
            "GIT_TRACE2_EVENT",
            "GIT_TRACE2_PERF",
            "GIT_TRACE_SETUP",
            "GIT_TRACE_PACKET",
        ] {
            p.var(name, marks.join(name));
        }
        p.var("GIT_REDIRECT_STDOUT", marks.join("r"))
            .var("GIT_TRACE_REFS", marks.join("refs"));
    }),
    ("time stamps of the future", |p| {
        p.config("filter.evil.clean")
            .config("core.fsmonitor")
            .set("filter.evil.required", "true")
            .attributes("* filter=evil\n");
        let future = std::time::SystemTime::now() + std::time::Duration::from_secs(1_000_000);
        for name in ["a.txt", "d/c.txt", "package.json", ".git/index"] {
            std::fs::File::options()
                .append(true)
                .open(p.project.path(name))
                .unwrap()
                .set_modified(future)
                .unwrap();
        }
    }),
];

/// Every way to make vplan ask git; `false` where the change of the work tree is not what is asked
/// for.
const COMMANDS: &[(&[&str], bool)] = &[
    (&["plan", "--format", "json"], true),
    (&["plan", "--format", "json", "--base", "main"], true),
    (&["plan", "--base", "auto"], false),
    (&["plan", "--staged"], false),
    (&["plan", "--all"], false),
    (&["plan", "--base", "--output=x"], false),
    (&["explain"], false),
    (&["check"], false),
    (&["explain", "--contract-from", "HEAD"], false),
    (&["explain", "--contract-from", "--output=x"], false),
    (&["diff", "HEAD~1", "HEAD"], false),
    (&["diff", "--output=x", "HEAD"], false),
    (&["run"], false),
    (&["status"], false),
    (&["verify"], false),
    (&["init", "--stdout"], false),
    (&["test"], false),
    (&["lock"], false),
    (
        &["gate", "record", "--subject", "a", "--status", "continue"],
        false,
    ),
    (&["plan", "--mode", "fallback"], false),
];

/// What a person would type: does the trap bite there?
fn bites(prey: &Prey) -> bool {
    for args in [
        &["status"][..],
        &["diff"],
        &["log", "-p", "-1"],
        &["x"],
        &["add", "-A"],
        &["commit", "--allow-empty", "-qm", "x"],
        &["checkout", "-q", "-f", "HEAD~1"],
        &["-c", "protocol.ext.allow=always", "fetch", "-q"],
        &["cat-file", "-p", "HEAD:package.json"],
    ] {
        let mut git = std::process::Command::new("timeout");
        git.args(["-k", "1", "2", "git"])
            .args(args)
            .current_dir(prey.project.path(prey.dir))
            .stdin(std::process::Stdio::null());
        git.env("HOME", prey.beside("home"))
            .env("GIT_AUTHOR_NAME", "a")
            .env("GIT_AUTHOR_EMAIL", "a")
            .envs(&prey.env);
        git.env("GIT_COMMITTER_NAME", "a")
            .env("GIT_COMMITTER_EMAIL", "a");
        let _ = git.output();
    }
    !prey.marks().is_empty()
}

#[test]
fn whatever_git_is_told() {
    assert!(TRAPS.len() >= 40);
    let whole = (TRAPS.len() * COMMANDS.len()) as u64;
    let mut sweep = Sweep::new(
        "faults::hostile::git::whatever_git_is_told",
        12,
        whole.div_ceil(4),
    );
    while let Some(mut case) = sweep.next() {
        let (index, first) = if sweep.whole() {
            (
                case.number as usize % TRAPS.len(),
                case.number as usize / TRAPS.len() * 4,
            )
        } else {
            (
                case.below(TRAPS.len() as u64) as usize,
                case.below(COMMANDS.len() as u64) as usize,
            )
        };
        let (name, set) = TRAPS[index];
        let mut prey = Prey::new();
        set(&mut prey);
        // Of the same length, so that only its content tells.
        prey.project.write("d/c.txt", "2\n");
        sweep.count("traps set", 1);
        let before = super::files(prey.project.parent());
        for at in first..first + 4 {
            let (args, sees) = COMMANDS[at % COMMANDS.len()];
            let mut run = prey
                .project
                .vplan(args)
                .within(prey.dir)
                .env("GITHUB_BASE_REF", "main");
            for (name, value) in &prey.env {
                run = run.env(name.to_str().unwrap(), value);
            }
            let ran = run.run();
            assert!(
                ran.exit.is_some_and(|code| CODES.contains(&code)),
                "{name}: {ran:?}"
            );
            assert_eq!(
                prey.marks(),
                Vec::<PathBuf>::new(),
                "{name}: {args:?} ran a program: {ran:?}"
            );
            if sees && ran.exit == Some(0) {
                assert!(
                    ran.out().contains("\"d/c.txt\""),
                    "{name}: {args:?} does not see the change: {ran:?}"
                );
                sweep.count("changes seen", 1);
            }
            assert!(
                !sees || !prey.visible || ran.exit == Some(0),
                "{name}: {args:?}: {ran:?}"
            );
            sweep.count("commands", 1);
            sweep.count(
                if ran.exit == Some(0) {
                    "answered"
                } else {
                    "refused"
                },
                1,
            );
        }
        // Nothing is written but what vplan says it writes.
        let own = |path: &PathBuf| {
            let path = path.strip_prefix(prey.project.parent()).unwrap();
            path.starts_with("repo/.vplan")
                || path.starts_with("home")
                || path.ends_with("verify.lock.kdl")
        };
        let after = super::files(prey.project.parent());
        let new: Vec<_> = after
            .iter()
            .filter(|f| !before.contains(f) && !own(f))
            .collect();
        assert!(new.is_empty(), "{name}: {new:?}");
        if sweep.whole() && case.number < TRAPS.len() as u64 && bites(&prey) {
            sweep.count("traps that bite git itself", 1);
        }
        case.held();
    }
    assert!(super::alone() || sweep.seen("changes seen") > 0 || !sweep.whole());
    assert!(super::alone() || sweep.seen("traps that bite git itself") > 0 || !sweep.whole());
}

/// What is withstood above does bite git itself, or it would prove nothing.
#[test]
fn the_traps_are_real_ones() {
    for name in ["fsmonitor", "clean", "alias", "hooks"] {
        let (_, set) = TRAPS.iter().find(|(n, _)| *n == name).unwrap();
        let mut prey = Prey::new();
        set(&mut prey);
        prey.project.write("d/c.txt", "2\n");
        assert!(bites(&prey), "{name}");
    }
}
