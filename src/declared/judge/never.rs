//! The table of commands that are never proposed, by program and subcommand, with the reason.

use super::super::candidate::Reason;
use super::super::launch;
use super::super::tree::Tree;
use super::settings;
use super::words::{Call, is_tracked};
use crate::base::path::RepoPath;
use std::collections::BTreeMap;

/// Calls by reason: `PROGRAM [WORD…]`, separated by commas.
const CALLS: &[(Reason, &str)] = &[
    (
        Reason::Installs,
        "npm ci, npm install, npm i, npm add, npm install-test, npm it, npm uninstall, npm update, npm up, npm rebuild, npm link, npm prune, npm clean-install, \
         npm install-ci-test, npm cit, npm create, npm init, pnpm install, pnpm i, pnpm add, pnpm update, pnpm up, pnpm fetch, \
         pnpm import, pnpm rebuild, pnpm link, pnpm remove, pnpm rm, pnpm setup, pnpm env, pnpm self-update, pnpm create, pnpm ci, yarn install, yarn add, yarn upgrade, yarn up, yarn remove, \
         yarn link, yarn global, yarn create, yarn set, yarn plugin, yarn workspaces focus, bun install, bun i, bun add, bun update, bun remove, bun ci, bun create, \
         bun link, bun upgrade, pip install, pip uninstall, pip download, pip wheel, pipx install, pipx inject, pipx upgrade, pipx uninstall, \
         uv sync, uv pip install, uv pip sync, uv pip uninstall, uv tool install, uv tool upgrade, uv tool update-shell, uv python install, uv add, uv remove, uv venv, uv self, \
         uv init, poetry install, poetry add, poetry remove, poetry update, poetry sync, poetry self, pipenv install, pipenv sync, pipenv update, \
         pipenv uninstall, pdm install, pdm add, pdm remove, pdm sync, pdm update, hatch env create, rye sync, rye add, rye install, pixi install, pixi add, \
         pixi global, conda, mamba, micromamba, bundle install, bundle update, bundle add, bundle config, bundle, gem install, gem update, gem uninstall, \
         composer install, composer require, composer update, composer remove, composer global, composer create-project, composer self-update, composer i, \
         mix deps.get, mix deps.update, mix local.hex, mix local.rebar, mix archive.install, mix escript.install, mix setup, mix deps.compile, mix deps.clean, rebar3 get-deps, \
         go install, go get, go mod download, go work sync, go mod vendor, cargo install, cargo binstall, cargo add, cargo remove, cargo rm, cargo uninstall, cargo fetch, cargo vendor, cargo install-update, \
         rustup, rustup-init, apt, apt-get, aptitude, dnf, yum, pacman, apk, zypper, emerge, brew, port, choco, winget, scoop, snap, flatpak, dpkg, rpm, \
         playwright install, playwright install-deps, cypress install, puppeteer browsers, pre-commit install, pre-commit install-hooks, pre-commit autoupdate, \
         pre-commit uninstall, prek install, lefthook install, lefthook add, husky install, asdf install, asdf plugin, asdf global, mise install, mise i, mise use, mise trust, mise up, mise upgrade, mise settings, rtx install, \
         nvm, fnm, volta, n, corepack enable, corepack prepare, corepack install, corepack use, sdk, sdkman, pyenv install, rbenv install, goenv install, \
         dotnet restore, dotnet tool install, dotnet tool restore, dotnet tool update, dotnet workload, dotnet add, dotnet new, nuget install, nuget restore, swift package resolve, swift package update, \
         flutter pub, dart pub, flutter upgrade, flutter config, opam install, opam init, opam update, opam switch, opam pin, cabal update, cabal install, stack setup, stack upgrade, \
         luarocks install, cpan, cpanm, nimble install, shards install, raco pkg install, helm repo, helm plugin, helm dependency, vcpkg install, conan install, conan, \
         git lfs, cs install, coursier, jbang, krew, tfenv, terraform get, tflint --init, ansible-galaxy, gcloud components, \
         setup-envtest, mvn dependency:resolve, mvn dependency:go-offline, gradle publishToMavenLocal, pod, carthage, mint, rosdep, spack, nix-env, nix profile, \
         nix-channel, guix install, devbox add, devbox install, devcontainer, vsce install, code, ng add, expo install, lerna bootstrap, rush install, rush update, \
         dvc pull, ensurepip, easy_install, npm-check-updates, ncu, renovate, taze, yum-builddep, add-apt-repository, update-ca-certificates, elm install, rails db:setup, cargo-binstall, ivy, bower",
    ),
    (
        Reason::Network,
        "curl, wget, aria2c, http, https, nc, ncat, netcat, telnet, ftp, sftp, ssh, scp, rsync, ssh-keyscan, ssh-add, git clone, git fetch, git push, git pull, git submodule, \
         git ls-remote, git remote, lychee, markdown-link-check, linkchecker, linkinator, muffet, htmltest, htmlproofer, blc, broken-link-checker, awesome_bot, awesome-lint, cargo audit, \
         npm audit, pnpm audit, yarn audit, yarn npm audit, bun audit, pip-audit, safety, trivy, snyk, osv-scanner, grype, govulncheck, nancy, bundle audit, bundle-audit, bundler-audit, \
         composer audit, mix hex.audit, terraform init, terraform plan, terraform refresh, terraform import, tofu init, tofu plan, tofu refresh, terragrunt, \
         cargo semver-checks, cargo outdated, npm outdated, pnpm outdated, yarn outdated, npm view, npm info, npm ping, npm whoami, ping, dig, nslookup, host, \
         dependency-check, nuclei, wait-on, wait-for-it, w3m, lynx, npm login, nx-cloud fix-ci, nx-cloud start-ci-run, nx-cloud start-agent, nx-cloud stop-all-agents, nx-cloud complete-run, kcat, psql, mysql, mysqladmin, redis-cli, mongosh, mongo, nmap, dotnet list",
    ),
    (
        Reason::Publishes,
        "npm publish, npm version, npm deprecate, npm dist-tag, npm unpublish, npm pkg, npm stage, pnpm publish, pnpm version, pnpm deploy, yarn publish, yarn npm publish, yarn version, bun publish, cargo publish, cargo release, \
         cargo yank, cargo login, cargo owner, cargo smart-release, cargo dist, release-plz, cargo set-version, cargo workspaces, twine upload, twine register, flit publish, poetry publish, poetry version, hatch publish, hatch version, pdm publish, uv publish, uv version, maturin publish, maturin upload, gem push, \
         gem yank, rake release, nuget push, dotnet nuget, goreleaser, semantic-release, release-it, np, standard-version, commit-and-tag-version, changeset version, changeset publish, \
         changeset tag, changeset pre, changeset add, lerna version, lerna publish, nx release, git tag, git commit, git add, git send-email, git notes, gh, hub, glab, pkg-pr-new, auto, \
         release-please, git-cliff, conventional-changelog, standard-changelog, mvn deploy, mvn release:prepare, mvn release:perform, mvn versions:set, gradle publish, gradle publishPlugins, gradle release, \
         gradle uploadArchives, sbt publish, sbt publishSigned, sbt release, sbt ci-release, mix hex.publish, rebar3 hex, vsce publish, ovsx, jsr publish, deno publish, \
         dart pub publish, flutter pub publish, pod trunk, cabal upload, stack upload, luarocks upload, electron-builder, electron-forge publish, fastlane, helm push, helm package, oras, cosign, \
         crane, skopeo, ko, buf push, cargo xtask release, bump2version, bump-my-version, bumpversion, cz, tbump, versioneer, napi prepublish, elm publish, spago publish, sentry-cli, pub publish, dput, debuild, snapcraft, make publish, make release, \
         just publish, just release, rush publish, rush version, sonatype, jreleaser, composer publish, shipit, auto-changelog",
    ),
    (
        Reason::Deploys,
        "docker, docker-compose, podman, podman-compose, nerdctl, buildah, kubectl, oc, helm, helmfile, kind, minikube, k3d, k3s, k9s, microk8s, aws, awslocal, sam, cdk, cdklocal, copilot, eksctl, \
         gcloud, gsutil, bq, az, azd, func, fly, flyctl, heroku, vercel, now, netlify, wrangler, firebase, serverless, sls, sst, pulumi, ansible-playbook, ansible, terraform apply, \
         terraform destroy, terraform state, terraform taint, terraform workspace, tofu apply, tofu destroy, tofu state, mkdocs gh-deploy, mike, gh-pages, alembic, prisma migrate, prisma db, \
         prisma deploy, drizzle-kit push, drizzle-kit migrate, drizzle-kit drop, knex migrate:latest, knex, sequelize, typeorm, flask db, manage.py migrate, manage.py flush, manage.py loaddata, manage.py collectstatic, manage.py createsuperuser, \
         django-admin migrate, rails db:migrate, rails db:create, rails db:reset, rails db:drop, rails db:seed, rake db:migrate, rake db:create, rake db:reset, rake db:drop, rake db:setup, rake db:schema:load, \
         artisan migrate, mix ecto.create, mix ecto.migrate, mix ecto.reset, mix ecto.drop, mix ecto.setup, diesel, sqlx, sea-orm-cli, flyway, liquibase, dbmate, goose, migrate, atlas migrate, atlas schema, supabase, hasura, railway, render, \
         surge, ngrok, cloudflared, vagrant, packer build, nomad, consul, vault, skaffold, tilt, garden, devspace, okteto, argocd, flux, istioctl, doctl, linode-cli, hcloud, openstack, cf, dokku, kamal, cap, capistrano, eas, expo publish, \
         amplify, ecs-cli, eb, nixos-rebuild, deploy, cachix, attic, systemctl, terraform force-unlock, dotnet ef, make deploy, just deploy, localstack, act, lando, ddev, wp, drush, rush deploy",
    ),
    (
        Reason::NeverEnds,
        "cargo watch, cargo-watch, bacon, nodemon, watchexec, entr, watch, watchman, chokidar, onchange, air, gow, reflex, modd, realize, ts-node-dev, tsnd, tsx watch, vite dev, vite serve, vite preview, \
         next dev, next start, nuxt dev, nuxt start, nuxt preview, nuxi dev, nuxi preview, astro dev, astro preview, remix dev, remix vite:dev, gatsby develop, gatsby serve, webpack serve, webpack-dev-server, webpack watch, \
         ng serve, vue-cli-service serve, react-scripts start, craco start, storybook dev, storybook, start-storybook, sb dev, ladle serve, cypress open, playwright codegen, playwright open, playwright show-report, \
         playwright show-trace, prisma studio, drizzle-kit studio, mkdocs serve, mkdocs new, zensical serve, hugo server, hugo serve, jekyll serve, mdbook serve, mdbook watch, vitepress dev, vitepress serve, vitepress preview, \
         docusaurus start, docusaurus serve, sphinx-autobuild, http-server, serve, live-server, json-server, lite-server, browser-sync, parcel serve, parcel watch, esbuild-serve, rails server, rails s, rails console, rails c, artisan serve, \
         artisan tinker, flask run, uvicorn, gunicorn, hypercorn, daphne, fastapi dev, fastapi run, streamlit, jupyter, jupyter-lab, ipython, marimo edit, manage.py runserver, manage.py shell, manage.py dbshell, django-admin runserver, celery, trunk serve, trunk watch, \
         dx serve, leptosfmt-watch, cargo leptos, dotnet watch, mix phx.server, iex, irb, pry, ghci, ghcid, utop, bpython, gradle bootRun, gradle run, mvn spring-boot:run, mvn quarkus:dev, mvn jetty:run, meteor, electron, expo start, expo, \
         metro, react-native start, react-native run-android, react-native run-ios, wxt, tauri dev, vim, vi, nvim, nano, emacs, code-insiders, less, more, most, man, top, htop, btop, tmux, screen, gdb, lldb, pdb, dlv, lazygit, tig, \
         fzf, dialog, whiptail, read, select, yes, xdg-open, open, start, foreman, overmind, hivemind, honcho, pm2, supervisord, supervisor, start-server-and-test-dev, redis-server, postgres, mongod, mysqld, nginx, caddy, turbo dev, turbo watch, nx serve, moon watch, \
         deno serve, deno task dev, bun dev, zola serve, tsc-watch, gulp watch, wrangler dev, netlify dev, convex dev, python-http, buck2 kill, ngrok, gh-dash, commitizen, plop, hygen, yo, degit",
    ),
    (
        Reason::Changes,
        "sudo, doas, su, runuser, pkexec, rm, rmdir, unlink, shred, rimraf, del-cli, del, trash, git checkout, git reset, git clean, git stash, git apply, git am, git switch, git restore, git merge, git rebase, \
         git cherry-pick, git revert, git rm, git mv, git init, git worktree, git gc, git filter-branch, git filter-repo, git update-index, git update-ref, git replace, git prune, git branch, git symbolic-ref, git read-tree, git hash-object, git maintenance, git bisect, git reflog, patch, quilt, \
         make install, make uninstall, make clean, make distclean, make mrproper, make realclean, make maintainer-clean, make reset, ninja install, meson install, just clean, just install, cargo clean, \
         mix clean, go clean, dotnet clean, swapoff, swapon, sysctl, service, launchctl, mount, umount, losetup, mkfs, fdisk, parted, dd, useradd, userdel, usermod, groupadd, adduser, passwd, \
         chown, chgrp, setfacl, iptables, nft, ufw, ip, ifconfig, kill, pkill, killall, fuser, reboot, shutdown, poweroff, halt, crontab, at, modprobe, insmod, rmmod, update-alternatives, ldconfig, defaults, security, \
         diskutil, truncate, mkswap, setenforce, loginctl, hostnamectl, timedatectl, localectl, dpkg-reconfigure, visudo, rsyslogd, cargo init, cargo new, npm set, npm config, pnpm config, yarn config, git credential, git lfs-install, gpg, \
         ssh-keygen, chsh, gradle --stop, bazel clean, lerna clean, yarn cache, npm cache, pnpm store, pip cache, docker-clean, ccache -C, hdiutil, codesign, xattr, csrutil, pnpm prune, yarn autoclean, nx reset, nx migrate, go mod edit, go mod init, rename, stow, reset, lipo, mise prune",
    ),
    (
        Reason::Measures,
        "codecov, codecovcli, coveralls, goveralls, cargo bench, cargo criterion, cargo codspeed, cargo bloat, cargo llvm-lines, hyperfine, codspeed, criterion, asv, vitest bench, k6, wrk, ab, autocannon, lighthouse, lhci, \
         bundlewatch, bundlesize, size-limit-action, coverage report, coverage xml, coverage html, coverage json, coverage lcov, coverage combine, coverage erase, coverage annotate, nyc report, c8 report, grcov, lcov, genhtml, gcovr, gcov, \
         cargo llvm-cov, cargo tarpaulin, go tool cover, gocov, gocover-cobertura, sonar-scanner, dotnet-sonarscanner, sonar, percy, chromatic, backstop, allure, reviewdog, danger, \
         cloc, tokei, scc, du, twiggy, cargo-bloat, benchstat, pytest-benchmark, reportgenerator, junit2html, test-reporter, codeclimate, cc-test-reporter, codacy, deepsource, qlty coverage, flamegraph, \
         cargo flamegraph, source-map-explorer, webpack-bundle-analyzer, bencher, github-actions-cpu-cores, py-spy, scalene, make bench, make benchmark, nx-cloud start-ci-run, nx-cloud stop-all-agents, nx start-ci-run, nx fix-ci",
    ),
    (
        Reason::Machine,
        "cross, wine, wine64, qemu-system-x86_64, qemu-system-aarch64, qemu-aarch64, qemu-arm, xcodebuild, xcrun, pwsh, powershell, msbuild, adb, emulator, avdmanager, sdkmanager, nvidia-smi, nvcc, cmd, osascript, simctl, fvp, \
         renode, probe-rs, espflash, cargo ndk, cargo apk, cargo zigbuild, cargo xwin, cargo lipo, cargo embed, cargo flash, vcvarsall, reg, cscript, wsl, xbuild, cargo-zigbuild, binfmt, bochs",
    ),
    (
        Reason::Nothing,
        "echo, printf, ls, pwd, date, df, free, uname, whoami, id, hostname, nproc, lscpu, tree, which, type, sleep, git config, git status, git log, git show, git rev-parse, git describe, git ls-files, \
         git rev-list, git merge-base, git shortlog, git blame, git version, uv pip list, uv pip freeze, uv pip show, uv pip tree, pip list, pip freeze, pip show, npm ls, npm list, pnpm ls, pnpm list, yarn list",
    ),
];

/// Options that keep a command from ending.
const WATCHES: &[&str] = &[
    "--watch",
    "--watch-all",
    "--hot",
    "--serve",
    "--continuous",
    "--interactive",
    "-it",
    "--ui",
    "--debug-brk",
    "--inspect-brk",
    "--watch-path",
    "--headed",
];

/// Programs for which `-w` is `--watch`.
const SHORT_WATCH: &[&str] = &[
    "tsc",
    "vue-tsc",
    "rollup",
    "webpack",
    "mocha",
    "babel",
    "sass",
    "tailwindcss",
    "esbuild",
    "swc",
    "tsup",
    "tsdown",
    "dmypy",
    "ava",
    "elm-test",
    "stack",
    "svelte-package",
    "unbuild",
    "pyright",
    "basedpyright",
    "ghcid",
    "dune",
    "postcss",
    "cpx",
    "nodemon",
    "concurrently-watch",
];

/// The reason why a call is never proposed.
pub fn why(
    tree: &Tree,
    dir: &RepoPath,
    env: &BTreeMap<String, String>,
    call: &Call<'_>,
) -> Option<(Reason, String)> {
    let shown = || call.shown();
    if asks_only(call) {
        return None;
    }
    if let Some(reason) = special(tree, dir, env, call) {
        return Some(reason);
    }
    for (reason, calls) in CALLS {
        if !calls.split(',').any(|row| call.is(row.trim()).is_some()) {
            continue;
        }
        let dry = *reason == Reason::Publishes
            && call.has(&["--dry-run", "-n", "--draft-check"])
            && !matches!(call.name, "git" | "gh");
        if dry || is_allowed(call) {
            continue;
        }
        // Nothing prints: parts of scripts may.
        if *reason == Reason::Nothing {
            return None;
        }
        return Some((*reason, shown()));
    }
    if publishes(call) {
        return Some((Reason::Publishes, shown()));
    }
    if call.has(WATCHES) && !watch_is_known(call) {
        return Some((Reason::NeverEnds, shown()));
    }
    if call.has(&["-w"]) && SHORT_WATCH.contains(&call.name) {
        return Some((Reason::NeverEnds, shown()));
    }
    None
}

/// Whether a call verifies nothing: it prints, or asks git.
pub fn is_noise(call: &Call<'_>) -> bool {
    let rows = CALLS
        .iter()
        .filter(|(reason, _)| *reason == Reason::Nothing);
    asks_only(call)
        || rows
            .flat_map(|(_, calls)| calls.split(','))
            .any(|row| call.is(row.trim()).is_some())
}

/// `X --version`, `X --help`.
fn asks_only(call: &Call<'_>) -> bool {
    let [_, one] = call.words else {
        return false;
    };
    matches!(one.as_str(), "--version" | "--help" | "-version" | "-vV")
        || (one == "-V" && call.name != "ctest")
        || (one == "version"
            && matches!(
                call.name,
                "go" | "deno" | "terraform" | "buf" | "helm" | "zig" | "golangci-lint"
            ))
        || (one == "-v"
            && matches!(
                call.name,
                "node" | "npm" | "yarn" | "pnpm" | "ruby" | "php" | "java" | "npx" | "bun"
            ))
}

/// Exceptions of the table.
fn is_allowed(call: &Call<'_>) -> bool {
    match call.name {
        // Checks of lock files and of what would be published.
        "npm" => call.is("npm pkg").is_some() && matches!(call.operand(1), "get"),
        "poetry" | "hatch" | "uv" => {
            (call.is("poetry version").is_some()
                || call.is("hatch version").is_some()
                || call.is("uv version").is_some())
                && call.operands.len() == 1
                && !call.has(&["--bump"])
        }
        "bundle" => matches!(call.operand(0), "exec" | "check" | "list" | "show" | "info"),
        "pip" => call.operand(0) == "check",
        "helm" => matches!(call.operand(0), "lint" | "template" | "unittest" | "show"),
        "goreleaser" => matches!(call.operand(0), "check" | "healthcheck"),
        "git" => {
            call.is("git stash")
                .is_some_and(|_| matches!(call.operand(1), "list" | "show"))
                || call
                    .is("git worktree")
                    .is_some_and(|_| call.operand(1) == "list")
                || call
                    .is("git remote")
                    .is_some_and(|_| matches!(call.operand(1), "" | "get-url" | "show"))
                || call
                    .is("git submodule")
                    .is_some_and(|_| call.operand(1) == "status")
                || call
                    .is("git apply")
                    .is_some_and(|_| call.has(&["--check", "--stat"]))
                || call.is("git branch").is_some_and(|_| {
                    call.operands.len() == 1 && call.has(&["--show-current", "--list", "-a", "-r"])
                })
                || call
                    .is("git lfs")
                    .is_some_and(|_| matches!(call.operand(1), "fsck" | "ls-files" | "status"))
                || call.is("git tag").is_some_and(|_| {
                    call.has(&["-l", "--list", "--points-at", "--contains"])
                        || call.operands.len() == 1
                })
                || call
                    .is("git symbolic-ref")
                    .is_some_and(|_| call.operands.len() == 2)
        }
        "docker" => {
            call.is("docker compose config").is_some()
                || call
                    .is("docker buildx bake")
                    .is_some_and(|_| call.has(&["--print"]))
        }
        "docker-compose" => call.operand(0) == "config",
        "kubectl" => call.operand(0) == "kustomize",
        "alembic" => matches!(call.operand(0), "check" | "heads" | "branches" | "history"),
        "prisma" => call.is("prisma migrate diff").is_some() && call.has(&["--exit-code"]),
        "goose" => call.operand(0) == "validate",
        "ansible-playbook" => call.has(&["--syntax-check"]),
        "atlas" => matches!(call.operand(1), "lint" | "validate"),
        "gpg" => call.has(&["--verify"]),
        "dotnet" => call.is("dotnet new").is_some() && call.has(&["--dry-run"]),
        "storybook" => matches!(call.operand(0), "build" | "doctor"),
        "expo" => matches!(call.operand(0), "lint" | "doctor" | "export"),
        "wxt" => matches!(call.operand(0), "build" | "zip" | "prepare"),
        "cargo" => {
            (call.is("cargo publish").is_some() && call.has(&["--dry-run", "-n"]))
                || (call.is("cargo workspaces").is_some() && call.operand(1) == "list")
                || (call.is("cargo outdated").is_some() && call.has(&["--offline"]))
                || (call.is("cargo vendor").is_some() && call.has(&["--offline"]))
        }
        "coverage" => {
            call.operand(0) == "report" && call.words.iter().any(|w| w.starts_with("--fail-under"))
        }
        "xattr" => call.operands.len() == 1,
        "celery" => call.operand(0) == "inspect",
        "wrangler" => {
            call.operand(0) == "types" && call.has(&["--check"])
                || call.has(&["--dry-run"]) && call.operand(0) == "deploy"
        }
        "terragrunt" => matches!(call.operand(0), "hclfmt" | "validate"),
        "changeset" => call.operand(0) == "status",
        _ => false,
    }
}

/// `* publish`, `* release` of any program, without `--dry-run`.
fn publishes(call: &Call<'_>) -> bool {
    // Their operands are other words.
    const ASK: &[&str] = &[
        "test", "[", "echo", "grep", "rg", "printf", "cargo", "go", "pytest", "node", "python",
        "python3", "sh", "bash", "dotnet", "cmake", "ls", "cd", "mkdir", "cp", "cat",
    ];
    let named = |w: &str| {
        let last = w.rsplit([':', '/']).next().unwrap_or(w);
        matches!(last, "publish" | "release" | "deploy" | "upload")
            || matches!(w.split([':', '-', '_']).next(), Some("publish" | "deploy"))
    };
    let script = match call.name {
        "sh" | "bash" | "python" | "python3" | "node" | "ruby" | "tsx" | "zsh" => call.operand(0),
        _ => call
            .words
            .first()
            .filter(|w| w.contains('/'))
            .map_or("", String::as_str),
    };
    let stem = script.rsplit('/').next().unwrap_or_default();
    let stem = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
    if matches!(stem, "publish" | "release" | "deploy" | "upload") {
        return true;
    }
    if stem == "setup"
        && call
            .operand_words()
            .any(|w| matches!(w, "upload" | "register"))
    {
        return true;
    }
    if ASK.contains(&call.name) || call.has(&["--dry-run"]) {
        return false;
    }
    let task = match call.name {
        "npm" | "pnpm" | "yarn" | "bun" => call.operand_words().find(|w| {
            !matches!(
                *w,
                "run" | "run-script" | "exec" | "workspace" | "workspaces" | "foreach"
            )
        }),
        _ => Some(call.operand(0)),
    };
    task.is_some_and(named) || matches!(call.name, "publish" | "release" | "deploy")
}

/// Programs whose watching form is replaced by one that ends.
fn watch_is_known(call: &Call<'_>) -> bool {
    match call.name {
        "jest" | "vitest" => !call.has(&["--ui", "--inspect-brk"]),
        // Options of theirs, or text.
        "echo" | "printf" | "test" | "[" | "grep" | "rg" | "git" | "codespell" | "pip"
        | "cargo" | "make" | "turbo" => true,
        _ => false,
    }
}

/// Calls for which a table of names is not enough.
fn special(
    tree: &Tree,
    dir: &RepoPath,
    env: &BTreeMap<String, String>,
    call: &Call<'_>,
) -> Option<(Reason, String)> {
    let shown = call.shown();
    let first = call.words.first().map_or("", String::as_str);
    match call.name {
        "yarn" if call.words.len() == 1 || call.operands.is_empty() => {
            Some((Reason::Installs, shown))
        }
        "bundle" if call.operands.is_empty() => Some((Reason::Installs, shown)),
        // It makes the environments, and runs nothing in them.
        "tox" if call.has(&["--notest", "-n"]) => Some((Reason::Installs, shown)),
        "npx" | "pnpx" | "bunx" | "dlx" | "uvx" | "pnpm" | "yarn" | "bun" | "npm" | "pipx"
        | "uv" => fetched(tree, dir, call),
        "vite"
            if call.operands.is_empty()
                || (!matches!(call.operand(0), "build" | "optimize")
                    && call.operands.len() == 1
                    && !call.has(&["build"])) =>
        {
            Some((Reason::NeverEnds, shown))
        }
        "karma"
            if call.is("karma start").is_some() && !call.has(&["--single-run", "--singleRun"]) =>
        {
            Some((Reason::NeverEnds, shown))
        }
        "ng" if call.is("ng test").is_some()
            && !call
                .words
                .iter()
                .any(|w| w == "--watch=false" || w == "--no-watch") =>
        {
            Some((Reason::NeverEnds, shown))
        }
        "php" if call.has(&["-S", "-a"]) => Some((Reason::NeverEnds, shown)),
        "python" | "python3"
            if call
                .words
                .iter()
                .any(|w| matches!(w.as_str(), "http.server" | "SimpleHTTPServer" | "pdb")) =>
        {
            Some((Reason::NeverEnds, shown))
        }
        "python" | "python3" | "node" | "ruby" | "perl" | "irb" if call.words.len() == 1 => {
            Some((Reason::NeverEnds, shown))
        }
        "tail" if call.has(&["-f", "-F", "--follow"]) => Some((Reason::NeverEnds, shown)),
        "sleep" if call.operand(0) == "infinity" => Some((Reason::NeverEnds, shown)),
        "mix"
            if call
                .is("mix test")
                .is_some_and(|_| call.has(&["--listen-on-stdin", "--stale-watch"])) =>
        {
            Some((Reason::NeverEnds, shown))
        }
        "sbt" if call.operand_words().any(|w| w.starts_with('~')) => {
            Some((Reason::NeverEnds, shown))
        }
        "gradle" if call.has(&["-t"]) => Some((Reason::NeverEnds, shown)),
        "start-server-and-test" => Some((Reason::NeverEnds, shown)),
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" | "fish" if reads_commands(call) => Some((
            Reason::Unknown,
            format!("`{first}` reads its commands from elsewhere"),
        )),
        "sed" | "gsed"
            if call.has(&["-i", "--in-place"])
                || call.words.iter().any(|w| w.starts_with("-i")) =>
        {
            Some((Reason::Changes, shown))
        }
        "perl" | "ruby"
            if call
                .words
                .iter()
                .any(|w| w.starts_with("-i") || (w.starts_with("-p") && w.contains('i'))) =>
        {
            Some((Reason::Changes, shown))
        }
        "awk" | "gawk"
            if call
                .words
                .windows(2)
                .any(|w| matches!(w, [a, b] if a == "-i" && b == "inplace")) =>
        {
            Some((Reason::Changes, shown))
        }
        "sponge" | "tee" if call.operand_words().any(|w| is_tracked(tree, dir, w)) => {
            Some((Reason::Changes, shown))
        }
        "find" | "fd" if call.has(&["-delete"]) => Some((Reason::Changes, shown)),
        "cp" | "ln" | "install" | "mv" => {
            let target = call
                .operand_words()
                .last()
                .filter(|_| call.operands.len() > 1);
            let file = |w: &str| {
                dir.join(w.as_bytes())
                    .is_ok_and(|path| tree.files.contains(&path))
            };
            let onto = target.is_some_and(file);
            let into = target.is_some_and(|target| {
                call.operand_words().rev_all_but_last().any(|source| {
                    file(&format!(
                        "{}/{}",
                        target.trim_end_matches('/'),
                        source
                            .trim_end_matches('/')
                            .rsplit('/')
                            .next()
                            .unwrap_or(source)
                    ))
                })
            });
            let moved = call.name == "mv"
                && call
                    .operand_words()
                    .rev_all_but_last()
                    .any(|w| is_tracked(tree, dir, w));
            let outside = target.is_some_and(|w| {
                (w.starts_with('/') && !w.starts_with("/tmp/"))
                    || w.starts_with('~')
                    || w.starts_with("$HOME")
            });
            (onto || into || moved || outside).then_some((Reason::Changes, shown))
        }
        "chmod" if call.operand_words().any(|w| w.starts_with(['/', '~'])) => {
            Some((Reason::Changes, shown))
        }
        "go" if call.is("go test").is_some()
            && call
                .words
                .iter()
                .any(|w| w.starts_with("-bench") || w.starts_with("--bench")) =>
        {
            Some((Reason::Measures, shown))
        }
        "go" if call.is("go test").is_some()
            && call
                .words
                .iter()
                .any(|w| w.starts_with("-fuzz=") || w == "-fuzz")
            && !call.words.iter().any(|w| w.starts_with("-fuzztime")) =>
        {
            Some((Reason::NeverEnds, shown))
        }
        "go" if env.get("GOOS").is_some_and(|v| v != "linux")
            || env
                .get("GOARCH")
                .is_some_and(|v| !matches!(v.as_str(), "amd64" | "arm64")) =>
        {
            Some((Reason::Machine, shown))
        }
        "cargo" => cargo(call),
        "make" if call.has(&["-i", "--ignore-errors"]) => {
            Some((Reason::CannotFail, "`--ignore-errors`".to_owned()))
        }
        "make" if call.has(&["-n", "--dry-run", "--just-print", "-q", "-t", "--touch"]) => {
            Some((Reason::Nothing, shown))
        }
        "pytest" if call.words.iter().any(|w| w.starts_with("--benchmark-only")) => {
            Some((Reason::Measures, shown))
        }
        "pytest" if call.has(&["--pdb", "--trace"]) => Some((Reason::NeverEnds, shown)),
        "playwright" if call.has(&["--ui", "--debug", "--headed"]) => {
            Some((Reason::NeverEnds, shown))
        }
        "cypress" if call.has(&["--headed"]) => Some((Reason::NeverEnds, shown)),
        "cargo-insta" => Some((Reason::Writes, shown)),
        "nix"
            if matches!(
                call.operand(0),
                "run" | "profile" | "copy" | "store" | "upgrade-nix" | "registry"
            ) =>
        {
            let fine = call.operand(0) == "run" && call.operand(1).starts_with(['.', '#']);
            (!fine).then_some((Reason::Installs, shown))
        }
        "terraform" | "tofu"
            if call.is("terraform test").is_some() || call.is("tofu test").is_some() =>
        {
            Some((Reason::Network, shown))
        }
        _ => zero(call),
    }
}

/// Options after which a failure is a success.
fn zero(call: &Call<'_>) -> Option<(Reason, String)> {
    if call.has(&[
        "--exit-zero",
        "--no-fail",
        "--no-error-on-unmatched",
        "--continue-on-error",
    ]) && call.name != "echo"
        && !call.has(&["--no-fail-fast"])
    {
        return Some((Reason::CannotFail, "`--exit-zero`".to_owned()));
    }
    let zero = call.words.windows(2).any(|pair| {
        matches!(pair, [a, b] if matches!(a.as_str(), "--issues-exit-code" | "--exit-code" | "--failure-exit-code") && b == "0")
    }) || call
        .words
        .iter()
        .any(|w| matches!(w.as_str(), "--issues-exit-code=0" | "--exit-code=0" | "--failure-exit-code=0"));
    zero.then(|| (Reason::CannotFail, call.shown()))
}

fn cargo(call: &Call<'_>) -> Option<(Reason, String)> {
    let shown = call.shown();
    if call.is("cargo deny").is_some() {
        let checks: Vec<&str> = call
            .operand_words()
            .skip_while(|w| *w != "check")
            .skip(1)
            .collect();
        let network = checks.contains(&"advisories") && checks.len() == 1;
        return (network || call.operand(1) == "fetch").then_some((Reason::Network, shown));
    }
    if call.is("cargo miri setup").is_some()
        || call
            .is("cargo nextest")
            .is_some_and(|_| call.operand(1) == "self")
    {
        return Some((Reason::Installs, shown));
    }
    if call
        .is("cargo insta")
        .is_some_and(|_| matches!(call.operand(1), "accept" | "review" | "reject"))
    {
        return Some((Reason::Writes, shown));
    }
    if call
        .is("cargo fuzz")
        .is_some_and(|_| call.operand(1) == "run")
        && !call
            .words
            .iter()
            .any(|w| w.starts_with("-max_total_time") || w.starts_with("-runs"))
    {
        return Some((Reason::NeverEnds, shown));
    }
    if call
        .words
        .iter()
        .any(|w| w.starts_with("-Zbuild-std") || w == "build-std")
    {
        return Some((Reason::Machine, shown));
    }
    let target = call.words.iter().enumerate().find_map(|(at, w)| {
        w.strip_prefix("--target=").or_else(|| {
            (w == "--target").then(|| call.words.get(at + 1).map_or("", String::as_str))
        })
    });
    let own = |t: &str| {
        matches!(
            t,
            "x86_64-unknown-linux-gnu" | "aarch64-unknown-linux-gnu" | "host-tuple"
        )
    };
    if target.is_some_and(|t| !t.is_empty() && !own(t)) {
        return Some((Reason::Machine, shown));
    }
    zero(call)
}

/// A shell without a script: its commands come from a pipe or a here-document.
fn reads_commands(call: &Call<'_>) -> bool {
    if matches!(call.words, [_, one] if one == "--version" || one == "-n") {
        return false;
    }
    let peeled = launch::peel(call.words);
    peeled.text.is_none()
        && (call.operand_words().all(|w| w == "-") && !call.words.iter().any(|w| w == "--")
            || call.has(&["-s"]))
}

/// A program that a package manager downloads, because no manifest names it.
fn fetched(tree: &Tree, dir: &RepoPath, call: &Call<'_>) -> Option<(Reason, String)> {
    let peeled = launch::peel(call.words);
    let program = peeled
        .starts
        .get(1)
        .and_then(|at| call.words.get(*at))
        .map(String::as_str);
    let from = call.words.iter().enumerate().find_map(|(at, w)| {
        matches!(w.as_str(), "--from" | "-p" | "--package" | "--spec")
            .then(|| call.words.get(at + 1).map_or("", String::as_str))
    });
    let (fetches, node) = match call.name {
        "npx" => (!call.has(&["--no-install", "--no"]), true),
        "pnpx" | "bunx" | "dlx" => (true, true),
        "npm" => (
            matches!(call.operand(0), "exec" | "x") && !call.has(&["--no-install", "--no"]),
            true,
        ),
        "bun" => (call.operand(0) == "x", true),
        "pnpm" | "yarn" => (call.operand_words().any(|w| w == "dlx"), true),
        "uvx" => (true, false),
        "pipx" => (call.operand(0) == "run", false),
        "uv" => (call.is("uv tool run").is_some(), false),
        _ => (false, true),
    };
    if !fetches {
        return None;
    }
    let Some(program) = program else {
        return Some((Reason::Installs, call.shown()));
    };
    let package = from.unwrap_or(program);
    // What a text starts is judged by itself.
    if peeled.text.is_some() && from.is_none() {
        return None;
    }
    let local = package.starts_with('.') || package.contains("node_modules");
    let known = local || settings::names(tree, dir, node, package);
    (!known).then(|| (Reason::Installs, format!("`{package}` is in no manifest")))
}

/// All but the last of some words.
trait AllButLast<'a> {
    fn rev_all_but_last(self) -> std::vec::IntoIter<&'a str>;
}

impl<'a, I: Iterator<Item = &'a str>> AllButLast<'a> for I {
    fn rev_all_but_last(self) -> std::vec::IntoIter<&'a str> {
        let mut all: Vec<&str> = self.collect();
        all.pop();
        all.into_iter()
    }
}
