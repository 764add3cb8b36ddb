"""Command lines with misspelt words or unusable folders, and what the commands print about this machine."""

import json
import os
import re
import shlex
import shutil
import sys

from harness import DATA, FAULT, expect, expect_in, expect_success, expect_true_line, in_namespace, program, skip


def words_of_the_command_arrive_as_they_are(machine):
    words = ["[0,1]", "[]", "[3]", "[[1],[2]]", "--x=[a,b]", "-k[c]", "\x1f[d]", "[", "]", "", "a,b", "{e,f}", "--", "[ g ]"]
    show = [sys.executable, "-c", "import json, sys; print(json.dumps(sys.argv[1:]))"]
    for command in ("run", "races"):
        for mark in ((), ("--",)):
            result = machine.cudadiag(command, "--rerun=never", *mark, *show, *words)
            expect(json.loads(result.stdout), words, f"words that {command} hands on")


def option_in_the_wrong_place_is_named(machine):
    said = machine.cudadiag("run", "true", "--rerun=never", "--rerun-all", "--watch", "--json=x", "--once", "--").stderr
    expect(said, "".join(f"cudadiag: {name} follows the command, so the command gets it: options of cudadiag precede the "
                         "command\n" for name in ("--rerun", "--once")), "message")


def options_take_brackets_as_they_are(machine):
    machine.plan(FAULT)
    for i, name in enumerate((["-o", "[a]"], ["--output=[b]"], ["-o[c]"], ["-o", "[d,e]"])):
        machine.run(*program("ten_launches.py"), options=name)
        expect(len(list((machine.folder / "[a] [b] [c] [d,e]".split()[i]).glob("2*"))), 1, f"sessions of {name}")
    expect_in("[x", machine.cudadiag("report", "[x]").stderr, "message for a folder that is not a session")


def what_is_no_library_is_not_tried_as_cupti(machine):
    machine.environment["CUDADIAG_CUPTI"] = "/etc/passwd"
    expect(machine.run("true").stderr, "cudadiag: CUDADIAG_CUPTI names /etc/passwd, which is not a readable "
           "library: correct it, or unset it\n", "message")


def sessions_of_others_are_not_taken_for_the_newest_but_named(machine):
    machine.plan(FAULT)
    machine.run(*program("ten_launches.py"), options=["-o", "shared"])
    (session,) = (machine.folder / "shared").glob("2*")
    renamed = session.rename(session.with_name("of-monday"))
    for command in ("list", "report", "status"):
        result = machine.cudadiag(command, "-o", "shared")
        expect(result.returncode, 125, f"status of {command}")
        expect_in(f"give the path of one, such as shared/{renamed.name}", result.stderr, command)
    expect_in("[bracketed]", machine.cudadiag("report", "shared/of-monday").stdout, "the given session")


def sessions_of_the_second_folder_are_read_with_the_others(machine):
    machine.plan(FAULT)
    machine.run(*program("ten_launches.py", "first"))
    (machine.folder / "file").touch()
    machine.environment["XDG_STATE_HOME"] = str(machine.folder / "file")
    machine.run(*program("ten_launches.py", "second"))
    machine.environment["XDG_STATE_HOME"] = str(machine.state)
    expect(machine.report()["processes"][0]["argv"][-1], "second", "the newest of both")
    expect([line.split()[-1] for line in machine.cudadiag("list").stdout.splitlines()][1], "second", "first in list")
    machine.run(*program("ten_launches.py", "third"))
    expect(machine.report()["processes"][0]["argv"][-1], "third", "the newest of both")
    for name in ("", "/nowhere"):
        machine.environment["CUDADIAG_DIR"] = str(machine.folder / "file") + name
        expect(machine.report()["processes"][0]["argv"][-1], "second", "the newest if none can be kept")


def unwritable_folder_that_was_named_is_refused_before_anything_runs(machine):
    (machine.folder / "file").touch()
    remedy = "; choose a writable folder with -o FOLDER"
    for folder, message in (
            ("/proc/none", "cannot create the session folder /proc/none: No such file or directory"),
            ("file", f"{machine.folder}/file is not a folder"),
            ("file/below", f"cannot create the session folder {machine.folder}/file/below: Not a directory")):
        for command in ("run", "races"):
            expect(_refused(machine, command, "-o", folder, "--", "echo", "ran"), message + remedy, folder)
    machine.plan(FAULT)
    machine.run(*program("ten_launches.py"), options=["-o", "new/below"])
    expect_true_line(machine.report("-o", "new/below"), "ten_launches.py")


def _refused(machine, *words):
    """Returns the one-line message about a wrong command line."""
    result = machine.cudadiag(*words)
    expect((result.returncode, result.stdout, result.stderr.count("\n")), (125, "", 1), f"result of {words}")
    expect(result.stderr[:10], "cudadiag: ", "beginning of the message")
    return result.stderr[10:-1]


def wrong_command_lines_are_explained(machine):
    (machine.folder / "file").touch()
    for words, message in (
            (["foo"], "no such command foo; see cudadiag --help"),
            (["RUN", "--", "true"], "no such command RUN; did you mean run?"),
            (["reprot"], "no such command reprot; did you mean report?"),
            (["report", "--verbos"], "no such option: --verbos; did you mean --verbose?"),
            (["env_", "x"], "no such command env_; did you mean env?"),
            (["sh", "-c", "true"], "no such command sh; to run a program: cudadiag run -- sh …"),
            (["./file"], "no such command ./file; to run a program: cudadiag run -- ./file …"),
            (["train.py"], "no such command train.py; to run a program: cudadiag run -- python3 train.py …"),
            (["bisect", "/bin/true"],
             "/bin/true is not a folder, so it is not a session; to run a program: cudadiag run -- /bin/true"),
            (["report", "file"], "file is not a folder, so it is not a session; to list all sessions: cudadiag list"),
            (["--quiet"], "no such option before a command: --quiet; options follow the command: cudadiag COMMAND --quiet"),
            ([], "no command was given; see cudadiag --help"),
            (["help", "foo"], "no such command foo; see cudadiag --help"),
            (["run", "--bogus", "--", "true"], "no such option: --bogus; see cudadiag run --help"),
            (["run"], "COMMAND is required; see cudadiag run --help"),
            (["run", "--json"], "--json needs FILE; see cudadiag run --help"),
            (["run", "--repeat"], "--repeat needs N, a number from 1 to 1000; see cudadiag run --help"),
            (["top", "-n"], "--count needs COUNT, a number from 1 to 1000000; see cudadiag status --help"),
            (["env", "--markers"], "--markers needs sparse|dense|off; see cudadiag env --help"),
            (["run", "--full-log=maybe"], "--full-log takes no value; see cudadiag run --help"),
            (["run", "--dry-run", "--", "true"],
             "no such option: --dry-run; to check this machine without a run: cudadiag doctor"),
            (["memcheck", "./app"],
             "no such command memcheck; to find an invalid access: cudadiag run -- COMMAND, then cudadiag bisect --sanitize"),
            (["report", "--bundle", "b.zip"], "--bundle b.zip: the file name must end in .tar.gz; use --bundle b.tar.gz"),
            (["list", "x"], "one argument too many: x; see cudadiag list --help"),
            (["report", "-q", "--json"], "--quiet cannot be combined with --json; see cudadiag report --help"),
            (["report", "--html", "--sarif"], "--sarif cannot be combined with --html; see cudadiag report --help"),
            (["report", "--sarif", "--bundle"], "--sarif cannot be combined with --bundle; see cudadiag report --help"),
            (["report", "--json", "--keep-names"], "--keep-names requires --html or --open; see cudadiag report --help"),
            (["races", "--tensors", "--full-log", "true"], "--full-log cannot be combined with --tensors; see cudadiag races --help"),
            (["run", "--save-limit", "5", "--", "echo", "ran"],
             "--save-limit requires --save-launch or --save-inputs; see cudadiag run --help")):
        expect(_refused(machine, *words), message, f"message for {words}")


def names_that_are_no_program_get_a_remedy(machine):
    for name in ("plain", "plain.py", "script"):
        (machine.folder / name).write_text("#!/nowhere/python\n")
    (machine.folder / "script").chmod(0o755)
    (machine.folder / "my programs").mkdir()
    for command, hint in (
            ("my programs/removed", "check the path of the program"),
            ("./script", "the file exists, but not the interpreter of its #! line"),
            ("plain", "PATH does not contain this folder; to run the file: ./plain"),
            ("plain.py", "PATH does not contain this folder; to run the file: python3 plain.py"),
            ("python3 plain.py", "it contains a space: remove the quotes around the whole command"),
            ("A=1 python3 plain.py", "remove the quotes around the whole command, and use env: env A=1 python3 plain.py"),
            ("A=1", "put the variable before cudadiag, or use env: env A=1 COMMAND"),
            ("echo a | cat", "only a shell can run such a line: put sh -c before it"),
            ("ll", "check its name, its interpreter (#! line) and PATH; to run an alias or a command of your shell: bash -ic ll")):
        expect(machine.run(command).stderr, f"cudadiag: {command}: no such command; {hint}\n", command)
    (machine.folder / "python3").symlink_to(sys.executable)
    machine.environment["PATH"] = str(machine.folder)
    expect(machine.run("python", "plain.py").stderr, "cudadiag: python: no such command; it is called python3 here\n", "python")


def report_in_every_format_names_the_line(machine):
    schema = expect_success(machine.cudadiag("report", "--schema")).stdout  # before any session exists
    expect(json.loads(schema)["title"], "cudadiag.report/1", "title of the schema")
    command = program("ten_launches.py")
    machine.plan(FAULT)
    machine.run(*command)
    line = machine.report()["findings"][0]["location"]["line"]
    for words, said in ((["-v"], f"{command[1]}:{line}"), (["--html"], f"{command[1]}:{line}"),
                        (["--sarif"], f'"uri": "file://{command[1]}"')):
        expect_in(said, expect_success(machine.cudadiag("report", *words)).stdout, str(words))
    (run,) = json.loads(machine.cudadiag("report", "--sarif").stdout)["runs"]
    (at,) = run["results"][0]["locations"]
    expect(at["physicalLocation"]["region"]["startLine"], line, "line of the result")


def older_report_is_not_taken_for_one_of_a_run_that_wrote_none(machine):
    report = machine.folder / "report.json"
    link = machine.folder / "link.json"
    link.symlink_to(report)
    for words, status, left in ((["no_such_command"], 127, ""), (["true"], 0, "inconclusive")):
        for given in (report, link):
            report.write_text("older")
            expect(machine.run(*words, options=["--json", given]).returncode, status, words)
            found = report.read_text()
            expect(json.loads(found)["verdict"] if found else found, left, f"file of {words}")
    report.write_text("older")
    expect(machine.cudadiag("run", "--json", report, "--repeat=0", "--", "true").returncode, 125, "refused")
    expect(report.read_text(), "older", "file after invalid requests")


def wrong_values_are_refused_before_anything_runs(machine):
    for value, message in (
            ("--rerun=foo", "--rerun: expected one of ask, auto, always, never, got foo"),
            ("--rerun=1", "--rerun: expected one of ask, auto, always, never, got 1"),
            ("--markers=2", "--markers: expected one of sparse, dense, off, got 2"),
            ("--wait-limit=nan", "--wait-limit: expected a number from 0.01 to 86400, got nan"),
            ("--time-limit=nan", "--time-limit: expected a number of seconds from 0.1 to 10000000, got nan"),
            ("--repeat=0x1", "--repeat: expected a number from 1 to 1000, got 0x1"),
            ("--error-exitcode=256", "--error-exitcode: expected a number from 0 to 255, got 256")):
        expect(_refused(machine, "run", value, "--", "echo", "ran"), message, value)
    for option, kind in (("--json", "FILE"), ("--arm", "SESSION"), ("--output", "FOLDER")):
        expect(_refused(machine, "run", option, "", "--", "echo", "ran"), f'{option}: "" is not a {kind}', option)
    for words in (["--json", "--"], ["--json=", "--"]):
        expect(_refused(machine, "run", *words, "echo", "ran"), "--json: the FILE is missing", "no value")
    for option, wanted in (("--markers", "one of sparse, dense, off"), ("--rerun", "one of ask, auto, always, never"),
                           ("--repeat", "a number from 1 to 1000"), ("--hang-after", "a number of seconds from 0.1 to 10000000")):
        for words in ([option, "--"], [option + "=", "--"], [option, "", "--"]):
            expect(_refused(machine, "run", *words, "echo", "ran"), f"{option}: the value is missing: expected {wanted}", words)
    expect(_refused(machine, "run", "--watch=", "--", "echo"), "--watch: the FILE:LINE is missing", "no line")
    expect(_refused(machine, "run", "-o", "a", "-o", "b", "--", "echo", "ran"),
           "--output can be given only once; see cudadiag run --help", "a second folder")
    (machine.folder / "empty").touch()
    expect(_refused(machine, "core", "empty"),
           "empty is empty; to make the driver write one, set CUDA_ENABLE_COREDUMP_ON_EXCEPTION=1", "an empty dump")
    expect(_refused(machine, "report", "--bundle=-"), "--bundle=-: a bundle must go to a file; use --bundle=FILE.tar.gz", "no file")
    for option, value, message in (
            ("--window", "1", "expected one of calls, sites, all, got 1"), ("--kernel", "", '"" is not a REGEX'),
            ("--site", ":5", ":5 is not FILE:LINE, for example train.py:41"),
            ("--site", "a.py:0", "a.py:0 is not FILE:LINE, for example train.py:41"),
            ("--launch", "-1", "expected a number of at least 1, got -1"), ("--launch", "0", "expected a number of at least 1, got 0")):
        expect(_refused(machine, "bisect", option, value), f"{option}: {message}", value)
    for command in ("list", "report", "dump", "bisect"):
        expect(_refused(machine, command, "-o", "gone"), "--output: the folder gone does not exist", command)


def options_that_rule_each_other_out_are_refused_before_anything_runs(machine):
    for option in ("--sanitize", "--save-launch", "--save-inputs", "--cross-check", "--keep-core"):
        expect(_refused(machine, "run", option, "--rerun=never", "--", "echo", "ran"),
               f"{option} needs a rerun, but --rerun=never forbids reruns; use only one of the two options", option)
    for option in ("--cross-check", "--keep-core"):
        expect(_refused(machine, "run", "--no-device-pass", option, "--", "echo", "ran"),
               f"{option} needs the GPU core dump of a rerun, but --no-device-pass prevents that rerun; use only one of the two options",
               option)
        for mode in ("--rerun=never", "--no-device-pass"):
            result = machine.cudadiag("run", mode, option, "--hang-after", "60", "--hang-dump", "--", "echo", "ran")
            expect((result.returncode, result.stdout), (0, "ran\n"), f"{option} with {mode}, for the dump of a hang")


def _commands(machine):
    overview = expect_success(machine.cudadiag("--help-all")).stdout
    # The descriptions are wrapped; a continuation is indented deeper.
    commands = re.findall(r"^  (\S+)  ", overview.partition("Subcommands:\n")[2], re.MULTILINE)
    assert "run" in commands and len(commands) > 5, overview
    return commands


def every_option_is_in_its_man_page(machine):
    folder = DATA.parent.parent / "man"
    for command in _commands(machine):
        own = folder / f"cudadiag-{command}.1"
        page = (own if own.exists() else folder / "cudadiag.1").read_text().replace("\\-", "-")
        text = expect_success(machine.cudadiag(command, "--help-all")).stdout
        options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)) - {"--help", "--help-all"}
        missing = {option for option in options if not re.search(re.escape(option) + r"(?![\w-])", page)}
        expect(missing, set(), f"options of {command} that its page lacks")


def every_command_has_help(machine):
    for command in _commands(machine):
        text = expect_success(machine.cudadiag(command, "--help")).stdout
        expect(expect_success(machine.cudadiag("help", command)).stdout, text, "help " + command)
        expect_in(f"Usage: cudadiag {command} [options]", text, "usage")
        expect_in(": man cudadiag", text.splitlines()[-1], "last line")
        for raw in ("ENUM", "UINT", "TEXT", "{", " in [", "[]"):
            assert raw not in text, f"{raw} in {text}"
    for command, usage in (("run", "Usage: cudadiag run [options] -- COMMAND...\n"), ("rm", "Usage: cudadiag rm [options] SESSION...\n"),
                           ("replay", "\n  --sanitize[=TOOL] "), ("top", "Usage: cudadiag status [options] [SESSION]\n")):
        expect_in(usage, expect_success(machine.cudadiag("help", command)).stdout, command)


def reader_of_the_latest_session_says_that_a_newer_run_goes_on(machine):
    machine.plan(FAULT)
    machine.run(*program("ten_launches.py"))
    (older,) = machine.sessions()
    expect(machine.cudadiag("report").stderr, "", "stderr without a newer run")
    # Session names have a resolution of one second, so the first session gets an older name.
    finished = machine.state / "cudadiag" / older
    older = finished.with_name("20200101-000000-1")
    finished.rename(older)
    run = machine.start(*machine.command("run", "--", "sh", "-c", "echo ready; read line"))
    expect(run.stdout.readline(), "ready\n", "first line")
    for command, part in (("report", "illegal memory access (700)"), ("dump", str(older))):
        shown = expect_success(machine.cudadiag(command))
        expect_in("a newer run has not ended and has no report yet (to see its state: cudadiag status ", shown.stderr, command)
        expect_in(f"; using {older} instead\n", shown.stderr, command)
        expect_in(part, shown.stdout, command)
    # An older session may have a different command, which bisect must not run unless the user asks for it.
    refused = machine.cudadiag("bisect")
    expect((refused.stdout, refused.returncode), ("", 125), "bisect")
    expect_in(f"; to choose an older session instead: cudadiag bisect {older}\n", refused.stderr, "what bisect suggests")
    expect_in("[proven]", expect_success(machine.cudadiag("bisect", older)).stdout, "bisect with a session")
    shutil.rmtree(older)
    for command in ("report", "dump", "bisect"):
        expect_in("a newer run has not ended", machine.cudadiag(command).stderr, command + " without a finished one")
    run.communicate("\n")


def session_of_a_run_that_goes_on_is_said_to_be_one(machine):
    run = machine.start(*machine.command("run", "--", "sh", "-c", "echo ready; read line"))
    expect(run.stdout.readline(), "ready\n", "first line")
    (name,) = machine.sessions()
    session = machine.state / "cudadiag" / name.removesuffix(".incomplete")
    shown = expect_success(machine.cudadiag("report", session.name)).stdout
    expect(shown, "cudadiag: cannot tell whether CUDA failed in this session: its run has not ended; to see its state: cudadiag status "
           f"{session}\n", "report")
    expect(_refused(machine, "bisect", session.name), "the run of this session has not ended; to see its state: "
           f"cudadiag status {session}; once it has ended, run: cudadiag bisect {session}", "bisect")
    run.communicate("\n")


def _expect_no_session(machine, message):
    listed = expect_success(machine.cudadiag("list"))
    expect((listed.stdout, listed.stderr), ("", f"cudadiag: no session was found: {message}\n"), "list")
    expect(json.loads(expect_success(machine.cudadiag("list", "--json")).stdout)["sessions"], [], "JSON")


def folders_that_cannot_be_read_are_named(machine):
    (machine.folder / "file").touch()
    (machine.folder / "link").symlink_to("nowhere")
    commands = ("list", "report", "bisect", "dump", "status", "top")
    of_variable = "; correct it, or give the folder of the sessions with -o FOLDER"
    of_missing = "; cudadiag run creates it; if the name is wrong, correct it, or give the folder of the sessions with -o FOLDER"
    of_default = "; give the folder of the sessions with -o FOLDER or CUDADIAG_DIR"
    for variables, message in (
            ({"CUDADIAG_DIR": f"{machine.folder}/gone"},
             f"CUDADIAG_DIR names {machine.folder}/gone, which does not exist" + of_missing),
            ({"CUDADIAG_DIR": "gone/below"}, "CUDADIAG_DIR names gone/below, which does not exist" + of_missing),
            ({"CUDADIAG_DIR": f"{machine.folder}/file"},
             f"CUDADIAG_DIR names {machine.folder}/file, which is not a folder" + of_variable),
            ({"CUDADIAG_DIR": f"{machine.folder}/file/below"},
             f"CUDADIAG_DIR names {machine.folder}/file/below, which cannot be read: Not a directory" + of_variable),
            ({"CUDADIAG_DIR": f"{machine.folder}/link"},
             f"CUDADIAG_DIR cannot be used: {machine.folder}/link is not a folder" + of_variable),
            ({"CUDADIAG_DIR": "/proc/none"},
             "CUDADIAG_DIR cannot be used: /proc/none cannot be created: /proc is not writable" + of_variable),
            ({"XDG_STATE_HOME": f"{machine.folder}/file"},
             f"{machine.folder}/file/cudadiag cannot be read: Not a directory" + of_default)):
        before = dict(machine.environment)
        machine.environment.update(variables)
        for command in commands:
            if command == "list" and "does not exist" in message:
                _expect_no_session(machine, message)
                continue
            expect(_refused(machine, command), message, f"{command} with {variables}")
        expect(_refused(machine, "report", "20200101-000000-1"), message, f"a session's name with {variables}")
        machine.environment = before
    machine.plan(FAULT)
    second = machine.folder / f"cudadiag-{os.geteuid()}"
    machine.run(*program("ten_launches.py"), options=["-o", second])
    for name in ("gone", f"{machine.folder}/gone"):
        machine.environment["CUDADIAG_DIR"] = name
        for command in commands:
            message = f"CUDADIAG_DIR names {name}, which does not exist" + of_missing
            if command == "list":
                _expect_no_session(machine, message)
                continue
            expect(_refused(machine, command), message, f"{command} where another folder has sessions")
    del machine.environment["CUDADIAG_DIR"]
    shutil.rmtree(second)
    expect(expect_success(machine.cudadiag("list")).stderr,
           "cudadiag: no session was found; cudadiag run -- COMMAND keeps one if something fails\n", "default folder")
    machine.state.mkdir()
    (machine.state / "cudadiag").touch()
    expect(_refused(machine, "list"), f"{machine.state}/cudadiag is not a folder" + of_default, "a file in its place")
    for command in commands:
        expect(_refused(machine, command, "-o", "file"), "--output: file is not a folder", command)


def bundle_is_not_given_the_name_of_a_session(machine):
    machine.plan(FAULT)
    machine.run(*program("ten_launches.py"))
    (name,) = machine.sessions()
    folder = machine.state / "cudadiag" / name
    for session in (name, folder, f"{folder}/", "latest"):
        expect(_refused(machine, "report", "--bundle", session), f"--bundle {session}: this names a session, not an "
               f"output file; to pack it: cudadiag report {session} --bundle", "a session where a file belongs")
        expect_success(machine.cudadiag("report", session, "--bundle"))
        (machine.folder / f"cudadiag-{name}.tar.gz").unlink()
    expect_in("--bundle [FILE]", expect_success(machine.cudadiag("report", "--help")).stdout, "help")


def file_after_json_or_sarif_is_explained(machine):
    machine.plan(FAULT)
    machine.run(*program("ten_launches.py"))
    for option, file in (("--json", "o.json"), ("--sarif", "x.sarif")):
        hint = f"{option} prints to standard output: cudadiag report {option} > {file}"
        expect(_refused(machine, "report", option, file), f"session {file} does not exist; {hint}", file)
        (machine.folder / file).touch()
        expect(_refused(machine, "report", option, file), f"{file} is not a folder, so it is not a session; {hint}", file)
        expect(_refused(machine, "report", option, "gone"), "session gone does not exist; to list all sessions: cudadiag list",
               f"no file after {option}")
    expect(_refused(machine, "report", "o.json"), "o.json is not a folder, so it is not a session; "
           "to list all sessions: cudadiag list", "without --json")


def bundle_goes_to_a_file_whose_name_ends_like_that_of_a_bundle(machine):
    machine.plan(FAULT)
    machine.run(*program("ten_launches.py"))
    for file in ("2", "out", "out.zip"):
        hint = ("; use --bundle out.tar.gz" if file == "out.zip" else
                f". Put a session before the option: cudadiag report {file} --bundle FILE.tar.gz")
        expect(_refused(machine, "report", "--bundle", file), f"--bundle {file}: the file name must end in .tar.gz{hint}", file)
        expect((machine.folder / file).exists(), False, f"whether {file} was written")
    for file in ("out.tar.gz", "out.tgz"):
        expect_success(machine.cudadiag("report", "--bundle", file))
        expect((machine.folder / file).exists(), True, f"whether {file} was written")


def what_a_killed_launcher_recorded_is_said_to_be_lost(machine):
    machine.plan(FAULT)
    machine.run(*program("ten_launches.py"))
    (older,) = machine.sessions()
    finished = machine.state / "cudadiag" / older
    older = finished.with_name("20200101-000000-1")
    finished.rename(older)
    expect_success(machine.cudadiag("env"))  # no program uses this session, so no message mentions it
    run = machine.start(*machine.command("run", "--json=report.json", "-q", "--", "sh", "-c", "echo ready; read line"))
    expect(run.stdout.readline(), "ready\n", "first line")
    run.kill()
    run.communicate()
    for command in ("report", "status"):
        said = expect_success(machine.cudadiag(command)).stderr
        expect_in("a newer run is incomplete: cudadiag run was killed", said, command)
        expect_in(f"; using {older} instead\n", said, command)
    newest = machine.state / "cudadiag" / machine.sessions()[-1]
    expect_in("cudadiag run was killed", machine.cudadiag("report", "latest").stderr, newest)
    expect(machine.cudadiag("report", older).stderr, "", "stderr with a given session")
    lost = "cudadiag run was killed, and the recording is lost"
    expect(expect_success(machine.cudadiag("report", newest)).stdout,
           f"cudadiag: cannot tell whether CUDA failed in this session: {lost}\n", "report of the lost session")
    expect(_refused(machine, "bisect", newest), "the cudadiag run that recorded this session was killed, and the "
           f"recording is lost; to record the program again, with reruns: cd {machine.folder} && "
           "cudadiag run -- sh -c 'echo ready; read line'", "bisect of the lost session")
    for command in ("status", "top"):
        expect(_refused(machine, command, newest), f"the run recorded in {newest} is incomplete: {lost}; cudadiag list shows "
               "the other sessions", command)


def folder_of_a_session_is_named_as_it_is(machine):
    machine.plan(FAULT)
    (machine.folder / "below/further").mkdir(parents=True)
    (machine.folder / "link").symlink_to("below/further")
    for given, meant in (("./below/./kept", "below/kept"), ("below/../kept", "kept"), ("link/../kept", "below/kept")):
        said = machine.run(*program("ten_launches.py"), options=["-o", given]).stderr
        expect_in(f"\nNext    cudadiag bisect {machine.folder}/{meant}/2", said, given)


def manifest_that_cannot_be_read_can_be_done_without(machine):
    machine.plan(FAULT)
    machine.run(*program("ten_launches.py"))
    manifest = machine.state / "cudadiag/latest/manifest.json"
    manifest.unlink()
    manifest.mkdir()
    expect_in("manifest.json: it cannot be read, or is not a regular file; move it away to read", machine.cudadiag("report").stderr, "message")
    manifest.rename(machine.folder / "away")
    expect_true_line(machine.report(), "ten_launches.py")


def session_that_nothing_was_run_with_is_called_that(machine):
    name = shlex.split(expect_success(machine.cudadiag("env")).stdout.splitlines()[-1])[-1]
    expect(name.endswith(".incomplete"), False, "whether the name looks broken: " + name)
    sentence = ("nothing has been recorded yet with the environment that cudadiag env printed: no program has initialised "
                "CUDA with it, or the recording could not be written here")
    for given in (name, name + ".incomplete"):
        expect(expect_success(machine.cudadiag("report", given)).stdout,
               f"cudadiag: cannot tell whether CUDA failed in this session: {sentence}\n", "report")
        expect(json.loads(machine.cudadiag("report", given, "--json").stdout)["notes"],
               [{"code": "launcher", "text": sentence}], "notes")
        status = machine.cudadiag("status", given)
        expect((status.stderr, status.stdout), (f"cudadiag: {name}: {sentence}\n", ""), "status")


def doctor_prints_its_rows_as_json(machine):
    rows = expect_success(machine.cudadiag("doctor")).stdout
    found = json.loads(expect_success(machine.cudadiag("doctor", "--json")).stdout)
    expect((found["schema"], found["healthy"]), ("cudadiag.doctor/1", True), "verdict")
    marks = {"ok": "OK", "problem": "PROBLEM", "note": ""}
    for check in found["checks"]:
        assert any(row.startswith(f"{marks[check['result']]:7} ") and row.endswith(" " + check["found"])
                   for row in rows.splitlines()), (check, rows)
    machine.environment["CUDADIAG_RECORDER"] = "/nowhere"
    shown = machine.cudadiag("doctor", "--json")
    (problem,) = [check for check in json.loads(shown.stdout)["checks"] if check["result"] == "problem"]
    expect((shown.returncode, problem["name"], bool(problem["fix"])), (1, "recorder", True), "a problem")


def doctor_says_why_a_planted_fault_raised_no_error(machine):
    shown = machine.cudadiag("doctor", "--gpu").stdout
    expect_in("the planted fault raised no error\n        ", shown, "what is wrong")
    expect_in("fix: a real GPU faults when a kernel stores through a null pointer, but a simulated GPU, or a GPU without", shown, "fix")
    expect_in("\n        core dumps        not tested: the planted fault raised no error\n", shown, "dump")
    expect(shown.count("PROBLEM "), 1, "the listed problems")
    assert "debugger" not in shown, shown


def doctor_names_no_problem_that_follows_from_another(machine):
    for variables, lacking in (({"CUDADIAG_RECORDER": "/nowhere"}, "working recorder"),
                               ({"CUDADIAG_RECORDER": "/etc/passwd"}, "working recorder"),
                               ({"CUDADIAG_SIM_PLAN": "devices=0"}, "working driver")):
        before = dict(machine.environment)
        machine.environment.update(variables)
        shown = machine.cudadiag("doctor", "--gpu")
        expect((shown.returncode, shown.stdout.count("PROBLEM ")), (1, 1), f"status and problems in {shown.stdout}")
        expect_in(f"        planted fault     not tested: no {lacking}\n", shown.stdout, "the planted fault")
        expect_in(f"/libcupti.so.13 (not tested: no {lacking})\n", shown.stdout, "CUPTI")
        machine.environment = before


def doctor_says_that_wsl_has_the_driver_of_windows(machine):
    release = machine.folder / "release"
    release.write_text("5.15.167.4-microsoft-standard-WSL2\n", encoding="ascii")
    bind = f"mount --bind {release} /proc/sys/kernel/osrelease || exit 77"
    shown = in_namespace(machine, ["--mount"], bind, *machine.command("doctor")).stdout
    expect_in("\n        WSL2              5.15.167.4-microsoft-standard-WSL2: cudadiag has never been tested on WSL2; ", shown, "kernel")
    machine.environment["LD_LIBRARY_PATH"] = ""
    shown = in_namespace(machine, ["--mount"], bind, *machine.command("doctor")).stdout
    expect_in("fix: install NVIDIA's driver in Windows, not in Linux", shown, "without a driver")


def cupti_that_the_user_names_comes_before_what_the_loader_finds(machine):
    copy = machine.folder / "libcupti.so.13"
    shutil.copy(machine.build / "sim/libcupti.so.13", copy)
    machine.environment["CUDADIAG_CUPTI"] = str(copy)
    shown = expect_success(machine.cudadiag("doctor")).stdout
    expect_in(f"OK      CUPTI             {copy} (version 130001) is used: CUDADIAG_CUPTI names it", shown, "which and why")


def doctor_says_which_cupti_is_taken_and_what_tools_there_are(machine):
    copy = machine.folder / "libcupti.so.12"
    copy.write_bytes(b"\x7fELF")
    machine.environment["CUDADIAG_CUPTI"] = str(copy)
    tool = machine.folder / "tools/cuda-gdb"
    tool.parent.mkdir()
    tool.touch(0o755)
    machine.environment["PATH"] = f"{tool.parent}:{machine.environment['PATH']}"
    lines = expect_success(machine.cudadiag("doctor")).stdout.splitlines()
    expect(lines[-1], "cudadiag should work here; to test it: cudadiag doctor --gpu", "verdict")
    taken = [line for line in lines if line.startswith("OK      CUPTI ")]
    expect(len(taken), 1, f"lines of CUPTI in {lines}")
    expect_in(f" {machine.build}/sim/libcupti.so.13 (version 130001) is used: it was found through LD_LIBRARY_PATH", taken[0],
              "the library, and the reason")
    expect_in(f" {copy} is not used", "\n".join(lines), "the other library")
    machine.environment["CUDADIAG_CUPTI"] = f"{copy}:/no/libcupti.so.13"
    slip = "CUDADIAG_CUPTI names /no/libcupti.so.13, which is not a file"
    expect_in(slip, machine.cudadiag("doctor").stdout, "doctor")
    for command in (("run", "true"), ("env",)):
        expect_in(f"cudadiag: {slip}: correct it, or unset it\n", expect_success(machine.cudadiag(*command)).stderr,
                  command[0])
    machine.environment["CUDADIAG_CUPTI"] = str(copy)
    expect_in(f"OK      cuda-gdb          {tool}", lines, "an installed tool")
    machine.environment["PATH"] = str(tool.parent)
    lines = machine.cudadiag("doctor").stdout.splitlines()
    if not os.path.exists("/usr/local/cuda/bin/compute-sanitizer"):
        expect_in("        compute-sanitizer not found: --sanitize needs it; install the CUDA Toolkit", lines, "a missing tool")
    fixes = {}
    for plan in ("cupti=too-new", "cupti=held"):
        machine.plan(plan)
        lines = expect_success(machine.cudadiag("doctor")).stdout.splitlines()
        (cupti,) = [line for line in lines if line.startswith("        CUPTI ")]
        expect_in("; without it, cudadiag misses errors inside statically linked CUDA runtimes", cupti, "what happens without CUPTI")
        fixes[plan] = cupti.partition("CUDA runtimes; ")[2]
        expect_in("; " + fixes[plan] + "\n", machine.run(machine.build / "targets/healthy",
                                                    options=["--watch-by=cupti"]).stderr, "the fix in a run")
    expect_in("another profiler uses CUPTI", fixes["cupti=held"], "fix")
    expect_in("not newer than the driver", fixes["cupti=too-new"], "fix")


def doctor_says_how_reruns_are_kept_apart(machine):
    for wrapper, found in (("without_landlock.py", "not isolated (no Landlock), so cudadiag reruns a command only on request; use cudadiag bisect\n"),
                           ("without_namespaces.py", "isolated, but without a network, because ")):
        machine.wrapper = program(wrapper)
        expect_in("        reruns            " + found, machine.cudadiag("doctor").stdout, "doctor")


def doctor_proves_the_planted_fault(machine):
    machine.plan("fault kernel=planted nth=3 code=700")
    out = machine.cudadiag("doctor", "--gpu").stdout
    for what in ("recorder", "driver", "CUPTI", "memory", "captures", "markers", "first failure"):
        assert any(line.split()[:2] == ["OK", what.split()[0]] for line in out.splitlines()), what + " in " + out


def doctor_says_that_the_disk_of_the_sessions_is_full(machine):
    machine.state.mkdir()
    shown = in_namespace(machine, ["--mount"], f"mount -t tmpfs -o size=1M none {machine.state} || exit 77", *machine.command("doctor")).stdout
    expect_in("PROBLEM sessions ", shown, "row")
    expect("sessions go to" in shown, False, f"whether another folder is named, in {shown}")
    expect_in(f"{machine.state} is on a disk without room for the 64 MB recording", shown, "why")
    expect_in("fix: free some space, or choose a folder on another disk with CUDADIAG_DIR", shown, "remedy")


def disassembler_in_the_python_of_cudadiag_is_found(machine):
    installed = machine.folder / "venv"
    tool = installed / "lib/python3.12/site-packages/nvidia/cu13/bin/nvdisasm"
    for folder in ("bin", tool.parent.relative_to(installed)):
        (installed / folder).mkdir(parents=True)
    shutil.copy(machine.build / "bin/cudadiag", installed / "bin")
    shutil.copy(machine.build / "lib/libcudadiag_record.so", installed / "lib")
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    (installed / "bin/python3").symlink_to(sys.executable)
    said = machine.plain(installed / "bin/cudadiag", "doctor").stdout
    if "nvdisasm" in said and str(machine.folder) not in said:
        skip("this machine has an nvdisasm that comes first")
    expect_in(str(tool), said, "doctor")
    tool.parent.chmod(0o777)
    said = machine.plain(installed / "bin/cudadiag", "doctor").stdout
    expect(str(tool) in said, False, "whether a program that anyone can replace is used")
