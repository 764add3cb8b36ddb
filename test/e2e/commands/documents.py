"""Compares help, manual pages and completions with the options themselves."""

import re
import shutil

from harness import HERE, expect, expect_in, expect_success, skip

ROOT = HERE.parent.parent


def every_variable_is_in_the_man_page(machine):
    sources = [path for folder in ("lib", "cmd") for path in (ROOT / folder).rglob("*") if path.suffix in (".cc", ".h", ".py")]
    named = {name for path in sources for name in re.findall(r'"(CUDADIAG_[A-Z_]+)"', path.read_text())}
    assert "CUDADIAG_PASS" in named, named
    section = (ROOT / "man/cudadiag.1").read_text().partition(".SH ENVIRONMENT")[2].partition("\n.SH ")[0]
    described = re.findall(r"^\.B (CUDADIAG_[A-Z_]+)$", section, re.MULTILINE)
    # CUDADIAG_VERSION is a macro of the build.
    expect(sorted(described), sorted(named - {"CUDADIAG_VERSION"}), "variables in cudadiag(1), each once")


def _groups(text):
    groups = re.split(r"^(\S.*):\n", text, flags=re.MULTILINE)
    return {name: re.findall(r"^  (?:-\w, )?--([a-z-]+)", body, re.MULTILINE) for name, body in zip(groups[1::2], groups[2::2])}


def help_of_run_has_only_what_most_need(machine):
    text = expect_success(machine.cudadiag("run", "--help")).stdout
    expect({name: options for name, options in _groups(text).items() if options},
           {"Options": ["help", "help-all", "output", "quiet", "verbose", "once", "rerun", "error-exitcode", "hang-after",
                        "json"]}, "options")
    expect_in("\ncudadiag run --help-all lists more options: ", text, "the rest")
    expect_in("\nExample: cudadiag run -- python train.py --epochs 3\n", text, "example")


def help_has_groups_of_at_most_ten_and_fits_the_terminal(machine):
    for command in _commands(machine):
        brief, whole = (expect_success(machine.cudadiag(command, option)).stdout for option in ("--help", "--help-all"))
        for text in (brief, whole):
            expect([name for name, options in _groups(text).items() if len(options) > 10], [], f"large groups of {command}")
            wide = [line for line in text.splitlines() if len(line) > 80 and not line.startswith("Usage: ")]
            expect(wide, [], f"lines of {command} that are too long")
        expect("--help-all" in brief, len(whole) > len(brief), f"whether {command} mentions --help-all")


def old_options_work_but_are_not_listed(machine):
    text = "".join(expect_success(machine.cudadiag(*words)).stdout for words in
                   (("run", "--help-all"), ("completion", "for", "run", "--")))
    expect_in("--rerun\t", text, "completions")
    for option in ("--hang-report", "--hang-dump"):
        expect(option in text, False, f"whether {option} is listed")


def first_list_of_commands_omits_what_few_need(machine):
    brief, whole = (expect_success(machine.cudadiag(option)).stdout for option in ("--help", "--help-all"))
    listed = [set(re.findall(r"^  ([a-z]+)  ", text.partition("ubcommands:\n")[2], re.MULTILINE)) for text in (brief, whole)]
    expect(listed[1] - listed[0], {"replay", "dump", "completion"}, "commands that only --help-all lists")
    expect_in("\ncudadiag --help-all lists more subcommands\n", brief, "the rest")


def _options(machine, command):
    """Returns the long options of a subcommand, according to its help."""
    text = expect_success(machine.cudadiag(command, "--help-all")).stdout
    return set(re.findall(r"^  (?:-\w, )?(--[a-z-]+)", text, flags=re.MULTILINE))


def _commands(machine):
    text = expect_success(machine.cudadiag("--help-all")).stdout
    found = re.findall(r"^  ([a-z]+)  ", text.partition("ubcommands:\n")[2], flags=re.MULTILINE)
    assert {"run", "report", "completion"} <= set(found), text
    return found


def every_option_is_in_a_man_page_and_no_other_is(machine):
    described, commands = {}, _commands(machine)
    for page in (ROOT / "man").glob("*.1"):
        tags = re.findall(r"^\.(?:BR?I?|BI) .*", page.read_text().replace("\\-", "-"), flags=re.MULTILINE)
        described[page.stem] = {option for tag in tags for option in re.findall(r"--[a-z][a-z-]*", tag)}
    for command in commands:
        own = described.get(f"cudadiag-{command}", set())
        missing = _options(machine, command) - own - described["cudadiag"] - described["cudadiag-run"]
        missing -= described["cudadiag-bisect"] if command == "run" else set()
        expect(missing, set(), f"options of {command} that no page describes")
    page = (ROOT / "man/cudadiag-report.1").read_text().replace("\\-", "-").partition(".SH OPTIONS")[2]
    tags = {option for tag in re.findall(r"^\.TP\n\.B\S* (.*)", page, flags=re.MULTILINE)
            for option in re.findall(r"--[a-z][a-z-]*", tag)}
    expect(tags, _options(machine, "report") - {"--help", "--help-all"}, "options in cudadiag-report(1)")


def bash_completes_every_option_of_every_command(machine):
    for command in _commands(machine):
        helps = {"--help", "--help-all"}
        expect(set(_in_bash(machine, [command], "--")) | helps, _options(machine, command) | helps, command)


def version_names_commit_and_formats(machine):
    lines = dict(line.split(None, 1) if line.startswith("cudadiag ") else re.split("  +", line, maxsplit=1)
                 for line in expect_success(machine.cudadiag("--version")).stdout.splitlines())
    header = (ROOT / "lib/wire/area.h").read_text()
    expect(lines["session format"], re.search(r"kFormatVersion = (\d+)", header)[1], "session format")
    expect(re.search(r"VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text().partition("project(")[2])[1],
           lines["cudadiag"], "version")
    for name in ("commit", "report format", "CUDA driver", "CUPTI"):
        assert lines[name], lines


def every_page_and_the_changelog_name_the_version(machine):
    (version,) = re.findall(r"^project\(cudadiag VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)
    for page in (ROOT / "man").iterdir():
        expect_in(f'"cudadiag {version}"', page.read_text().partition(".ad l")[0], page.name)
    expect_in(f"\n## [{version}] - ", (ROOT / "CHANGELOG.md").read_text(), "changelog")


def _in_bash(machine, words, current):
    """Returns what bash offers for the last word."""
    script = machine.folder / "completion.bash"
    script.write_text(expect_success(machine.cudadiag("completion", "bash")).stdout)
    expect(machine.cudadiag("completion").stdout, script.read_text(), "completions without the name of a shell")
    ask = ('compopt() { :; }; cudadiag() { "$CUDADIAG" "$@"; }; source "$1"; shift; COMP_WORDS=("$@"); '
           'COMP_CWORD=$(($# - 1)); _cudadiag; printf "%s\\n" "${COMPREPLY[@]}"')
    machine.environment["CUDADIAG"] = str(machine.build / "bin/cudadiag")
    return machine.plain("bash", "-c", ask, "bash", script, "cudadiag", *words, current).stdout.split()


def bash_completes_commands_options_words_and_programs(machine):
    for words, current, offered in (
            ([], "ra", ["races", "ranks"]),
            (["help"], "bis", ["bisect"]),
            (["run"], "--rer", ["--rerun"]),
            (["run", "--rerun"], "a", ["ask", "auto", "always"]),
            (["run", "--rerun", "="], "ne", ["never"]),
            (["completion"], "f", ["fish"]),
            (["run", "-o", "x", "-q"], "--full", ["--full-log"])):
        expect(_in_bash(machine, words, current), offered, f"after {words} {current}")
    for before in (["run"], ["run", "--"], ["run", "-q", "--json", "x", "--"], ["run", "--rerun", "=", "never"]):
        expect_in("mkfifo", _in_bash(machine, before, "mkfif"), f"programs after {before}")
    expect(_in_bash(machine, ["run", "--", "true"], "--rer"), [], "options after the command, which are its own")


def fish_completes_commands_options_and_words(machine):
    if shutil.which("fish") is None:
        skip("fish is not installed")
    folder = machine.folder / ".config/fish/completions"
    folder.mkdir(parents=True)
    (folder / "cudadiag.fish").write_text(expect_success(machine.cudadiag("completion", "fish")).stdout)
    machine.environment["PATH"] = f"{machine.build}/bin:{machine.environment['PATH']}"
    for line, offered in (("cudadiag ra", ["races", "ranks"]), ("cudadiag run --rer", ["--rerun"]),
                          ("cudadiag run --rerun a", ["always", "ask", "auto"]), ("cudadiag completion z", ["zsh"]),
                          ("cudadiag run -q -- mkfif", ["mkfifo"])):
        said = machine.plain("fish", "-c", f"complete -C '{line}'")
        expect(sorted(row.split("\t")[0] for row in said.stdout.splitlines()), offered, line)
        expect(said.stderr, "", f"messages for {line}")


def zsh_reads_its_completion(machine):
    if shutil.which("zsh") is None:
        skip("zsh is not installed")
    script = machine.folder / "_cudadiag"
    script.write_text(expect_success(machine.cudadiag("completion", "zsh")).stdout)
    expect(machine.plain("zsh", "-n", script).stderr, "", "syntax")
    loaded = machine.plain("zsh", "-f", "-c", "autoload -U compinit && compinit -D && source $0 && print $_comps[cudadiag]",
                           script)
    expect((loaded.stdout, loaded.stderr), ("_cudadiag\n", ""), "the completion function of cudadiag")
