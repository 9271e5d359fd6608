//! Files that options name: nothing else is overwritten, and what cannot be written is said.

use crate::support::Project;

const CONTRACT: &str = "vplan 1\ncheck a: touch ran\n";

/// Every option that writes a file, with a command that it belongs to.
const OPTIONS: &[(&str, &str)] = &[
    ("run --all", "--junit"),
    ("run --all", "--sarif"),
    ("run --all", "--events"),
    ("report", "--html"),
    ("plan --all", "-o"),
    ("emit github", "-o"),
];

fn words<'a>(command: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    command.split(' ').chain(more.iter().copied()).collect()
}

fn ending(option: &str) -> &'static [&'static str] {
    match option {
        "-o" => &["out.json", "out.kdl"],
        _ => &["out"],
    }
}

#[test]
fn a_file_of_the_user_is_not_overwritten() {
    for (command, option) in OPTIONS {
        for place in ending(option) {
            let project = Project::contract(CONTRACT);
            project.run(&["run", "--all"]).exits(0);
            project.remove("ran");
            let args = words(command, &[option, place]);
            for text in [
                "the user's\n",
                " ",
                "{}",
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"pytest tests\">\n",
                "{\"runs\":[{\"tool\":{\"driver\":{\"name\":\"other\"}}}]}",
                "<!DOCTYPE html>\n<title>other</title>\n",
                "plan {\n}\n",
                "\0\0",
            ] {
                project.write(place, text);
                let ran = project.run(&args);
                ran.exits(2).warns(place).warns("--force");
                assert_eq!(project.read(place), text, "{args:?}");
                assert!(!project.exists("ran"), "nothing runs before: {args:?}");
            }
            project.run(&[&args[..], &["--force"]].concat()).exits(0);
            assert_ne!(project.read(place), "\0\0", "{args:?}");
        }
    }
}

#[test]
fn what_the_same_option_wrote_is_overwritten() {
    for (command, option) in OPTIONS {
        for place in ending(option) {
            let project = Project::contract(CONTRACT);
            project.run(&["run", "--all"]).exits(0);
            let args = words(command, &[option, place]);
            project.run(&args).exits(0);
            let first = project.read(place);
            assert!(!first.is_empty());
            project.run(&args).exits(0);
            project.write(place, "");
            project.run(&args).exits(0);
            assert!(!project.read(place).is_empty(), "an empty one is filled");
            // A document of another option is a file of the user's.
            for (command, other) in OPTIONS.iter().filter(|(_, other)| *other != "-o") {
                if other != option {
                    project.run(&words(command, &[other, place])).exits(2);
                }
            }
        }
    }
}

#[test]
fn what_is_no_regular_file() {
    let project = Project::contract(CONTRACT);
    project.run(&["run", "--all"]).exits(0);
    project.mkdir("folder").symlink("broken", "nowhere");
    project.write("users", "text\n").symlink("link", "users");
    for (command, option) in OPTIONS.iter().filter(|(_, option)| *option != "-o") {
        for (place, exit) in [("folder", 2), ("broken", 2), ("link", 2), ("/dev/null", 0)] {
            let ran = project.run(&words(command, &[option, place]));
            assert_eq!(ran.exit, Some(exit), "{option} {place}: {}", ran.err());
        }
    }
    assert_eq!(project.read("users"), "text\n");
    assert!(!project.exists("nowhere"));
}

/// A step writes where a report is to go: it is not lost, and the run says that its report is.
#[test]
fn a_file_that_appears_meanwhile_is_not_overwritten() {
    let project = Project::contract("vplan 1\ncheck a: sh -c 'echo mine > out.xml'\n");
    let ran = project.run(&["run", "--all", "--junit", "out.xml"]);
    ran.exits(1).warns("out.xml");
    assert_eq!(project.read("out.xml"), "mine\n");
}

#[test]
fn events_that_cannot_be_written_are_no_pass() {
    for (contract, exit) in [(CONTRACT, 1), ("vplan 1\ncheck a: false\n", 40)] {
        let project = Project::contract(contract);
        let ran = project.run(&["run", "--all", "--events", "/dev/full"]);
        ran.exits(exit)
            .warns("the events cannot be written to `/dev/full`");
        let full = "exec \"$0\" \"$@\" > /dev/full";
        let ran = project.vplan(&["run", "--all", "--events", "-"]);
        let ran = ran.under(&["sh", "-c", full]).run();
        ran.exits(exit).warns("the events cannot be written");
    }
    let project = Project::contract(CONTRACT);
    // A reader that has gone away is no failure.
    let gone = "\"$0\" \"$@\" | :; test -e ran";
    let ran = project.vplan(&["run", "--all", "--events", "-"]);
    ran.under(&["sh", "-c", gone]).run().exits(0);
}
