//! Tries that are sent to a server in this process, without a run around them.

use super::reapi::Server;
use std::path::Path;
use std::time::Duration;
use vplan::arbitrary::run::step;
use vplan::away::answer::{LeftFile, StepAnswer};
use vplan::away::order::{VERSION, WorkOrder};
use vplan::base::canon::Digest;
use vplan::base::glob::{Glob, Item, ItemContent, Selection};
use vplan::base::path::RepoPath;
use vplan::base::word::Word;
use vplan::check::evidence::Evidence;
use vplan::effect::os::environment::{Environment, Grants};
use vplan::effect::os::process::program::Root;
use vplan::effect::os::process::stop::StopRequest;
use vplan::effect::os::stat_cache::StatCacheStats;
use vplan::effect::runner::remote::{
    CameBack, ReapiSettings, ReapiTransport, RemoteExecution, Sent, Transport,
};
use vplan::effect::store::grpc::{RemoteAddress, TlsIdentity};
use vplan::plan::Step;
use vplan::reuse::key::Print;

/// What a made-up step leaves, besides its exit code.
pub const MADE: &str = "made\n";

/// A repository, and what sends tries of its steps to a server.
pub struct Site {
    dir: tempfile::TempDir,
    root: Root,
    environment: Environment,
    transport: Transport,
}

/// Returns how a server is asked.
pub fn settings(server: &Server, binary: &Path) -> ReapiSettings {
    let (scheme, host) = server.url.split_once("://").unwrap();
    assert_eq!(scheme, "grpc");
    let (host, path) = host.split_once('/').unwrap();
    ReapiSettings {
        at: RemoteAddress {
            is_grpc: true,
            origin: format!("http://{host}"),
            path: format!("/{path}"),
            headers: Vec::new(),
            tls: TlsIdentity::default(),
        },
        insecure: false,
        binary: binary.to_owned(),
        properties: Vec::new(),
        queue: Duration::from_secs(600),
        pause: Duration::ZERO,
    }
}

impl Site {
    /// Makes one with a few files. `change`: what is other than usual about how the server is asked.
    pub fn new(server: &Server, change: impl FnOnce(&mut ReapiSettings)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("src/a", "ok\n"),
            ("src/b/c", "ok\n"),
            ("other-vplan", "it"),
        ] {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let mut settings = settings(server, &dir.path().join("other-vplan"));
        change(&mut settings);
        let root = Root::open(dir.path()).unwrap();
        Self {
            environment: Environment::of_this_process(&root, Grants::default()),
            root,
            transport: Transport::Reapi(Box::new(ReapiTransport::new(settings).unwrap())),
            dir,
        }
    }

    /// What executes steps there.
    pub fn away(&self) -> RemoteExecution<'_> {
        let most = (1, false);
        let stats = StatCacheStats::default();
        RemoteExecution::new(&self.root, &self.environment, &self.transport, most, stats).unwrap()
    }

    /// Executes a step there.
    pub fn execute(&self, step: &Step, stop: &StopRequest) -> CameBack {
        Self::execute_by(&self.away(), step, stop)
    }

    /// Executes a step by what may have executed others.
    pub fn execute_by(away: &RemoteExecution<'_>, step: &Step, stop: &StopRequest) -> CameBack {
        let plan = Digest::hash(b"plan");
        away.execute(&Sent {
            step,
            plan: &plan,
            limit_ms: 1_000,
            max_output: 1_000,
            stop,
            tree: None,
            keep_log: &|_| Ok(()),
            began: &|| {},
        })
    }

    /// Makes so many files that a step is sent with.
    pub fn fill(&self, count: usize) {
        for number in 0..count {
            let path = self
                .dir
                .path()
                .join(format!("src/{}/{number}", number % 100));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, format!("{number}\n")).unwrap();
        }
    }

    /// What the step left in the tree.
    pub fn made(&self) -> Option<String> {
        std::fs::read_to_string(self.dir.path().join("out/text")).ok()
    }

    /// The number of files that the step left in the tree.
    pub fn left(&self) -> usize {
        std::fs::read_dir(self.dir.path().join("out"))
            .unwrap()
            .count()
    }

    /// Removes what the step left.
    pub fn clear(&self) {
        let _ = std::fs::remove_dir_all(self.dir.path().join("out"));
    }
}

/// A step that ends with this exit code, and makes a file.
pub fn ends(code: i32) -> Step {
    let mut step = step("one");
    step.argv = Some(vec![
        Word::from("ends"),
        Word::from(code.to_string().as_str()),
    ]);
    let item = Item {
        not: false,
        what: ItemContent::Glob(Glob::parse("src/**").unwrap()),
    };
    step.inputs = Some(Selection { items: vec![item] });
    step.produces = vec![Glob::parse("out/**").unwrap()];
    step
}

/// Answers such a step truthfully.
pub fn truthful(order: &WorkOrder) -> (StepAnswer, Vec<Vec<u8>>) {
    let argv = order.step.argv.clone().unwrap();
    let code = std::str::from_utf8(argv[1].as_bytes())
        .unwrap()
        .parse()
        .unwrap();
    let left = LeftFile {
        path: RepoPath::parse(b"out/text").unwrap(),
        print: Print {
            content: Some(Digest::hash(MADE.as_bytes())),
            link: None,
            mode: 0o644,
        },
        size: MADE.len() as u64,
    };
    let answer = StepAnswer {
        changed: Vec::new(),
        confined: None,
        evidence: Evidence {
            exit: Some(code),
            ..Evidence::default()
        },
        inputs: None,
        logged: false,
        nonce: order.nonce.clone(),
        order: order.digest(),
        platform: "fake".to_owned(),
        products: if code == 0 { vec![left] } else { Vec::new() },
        program: None,
        survivors: 0,
        version: VERSION,
        vplan: env!("CARGO_PKG_VERSION").to_owned(),
    };
    (answer, vec![MADE.as_bytes().to_vec()])
}
