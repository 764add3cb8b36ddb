"""The page that `cudadiag report --html` writes."""

import os
import re

from harness import FAULT, expect, expect_in, expect_success, program
from targets import marked_line, plan


def _page(machine, *options):
    return expect_success(machine.cudadiag("report", "--html", "-", *options)).stdout


def _record(machine, target):
    machine.plan(plan(target))
    machine.run(machine.build / "targets" / target)


def page_quotes_ten_lines_around_the_line_and_the_blamed_one(machine):
    _record(machine, "third_of_ten")
    page = _page(machine)
    _, line = marked_line("third_of_ten", "TRUE LINE")
    quoted = [int(number) for number in re.findall(r"<i>(\d+)</i>", page)]
    expect(set(range(line - 5, line + 6)) <= set(quoted), True, f"lines around {line}, where there are {quoted}")
    expect_in("<em>failed</em><i>" + str(line) + "</i>", page, "true line")
    expect_in("<em>blamed</em>", page, "blamed line")


def page_draws_how_far_each_operation_got(machine):
    _record(machine, "third_of_ten")
    page = _page(machine)
    # The third of ten launches failed. These are the numbers of boxes that are drawn before and after it.
    drawn = {kind: len(re.findall(f'class="box {kind}"', page)) for kind in ("finished", "failed", "not-run", "suspected")}
    expect(drawn, {"finished": 2, "failed": 1, "not-run": 3, "suspected": 0}, "boxes")
    expect_in(">\u2026 4<", page, "the number of further operations")


def page_draws_every_operation_that_may_have_failed(machine):
    _record(machine, "two_streams")
    page = _page(machine)
    expect(len(re.findall('class="box suspected"', page)), 2, "suspected operations")
    expect('class="box failed"' in page, False, "an operation that is marked as failed")
    expect_in("<b>The likeliest line</b>", page, "heading")


def page_draws_memory_until_a_call_finds_none(machine):
    _record(machine, "three_holders")
    page = _page(machine)
    for words in ("<h3>Memory</h3>", "64.0 MiB in total", "32.0 MiB requested", "43.0 MiB held"):
        expect_in(words, page, "memory")


def page_shows_both_sides_of_a_race(machine):
    expect_success(machine.cudadiag("races", "--", machine.build / "targets/race_streams", "none"))
    page = _page(machine)
    for mark, heading in (("FIRST LINE", "First"), ("THEN LINE", "Then, on the other stream")):
        file, line = marked_line("race_streams", mark)
        expect_in(f"<b>{heading}</b>{file}:{line}, main</figcaption>", page, heading)
    expect_in(">nothing orders these two<", page, "the missing parts")


def page_leaves_out_home_and_host_unless_asked(machine):
    script = machine.folder / "at_home.py"
    source = program("ten_launches.py")[1].read_text(encoding="utf-8")
    script.write_text(source.replace("# TRUE LINE", '# api_key = "hunter2hunter2"'), encoding="utf-8")
    machine.plan(FAULT)
    machine.environment["PYTHONPATH"] = str(program("ten_launches.py")[1].parent)
    machine.run(program("ten_launches.py")[0], script)
    host = os.uname().nodename.partition(".")[0]
    named = _page(machine, "--keep-names")
    expect_in(str(machine.folder), named, "home folder with --keep-names")
    expect_in(host, named, "host with --keep-names")
    expect_in("# api_key = ", named, "a comment with --keep-names")
    expect("hunter2" in named, False, "a secret with --keep-names")
    page = _page(machine)
    expect(str(machine.folder) in page, False, "home folder")
    expect(f"host {host}" in page, False, "host")


def page_goes_to_a_file_and_a_session_is_not_taken_for_one(machine):
    _record(machine, "third_of_ten")
    (session,) = machine.sessions()
    written = expect_success(machine.cudadiag("report", session, "--html", "failure.html"))
    expect(written.stdout, "", "standard output")
    expect_in("cudadiag: wrote the page to failure.html, without home folders", written.stderr, "message")
    expect_in("<!DOCTYPE html>", (machine.folder / "failure.html").read_text(encoding="utf-8"), "file")
    expect((machine.folder / "failure.html").stat().st_mode & 0o077, 0, "rights of others")
    (machine.folder / "failure.html").chmod(0o644)
    expect_success(machine.cudadiag("report", session, "--html", "failure.html"))
    expect((machine.folder / "failure.html").stat().st_mode & 0o077, 0, "rights of others to a file that existed")
    refused = machine.cudadiag("report", "--html", session)
    expect(refused.returncode, 125, "status")
    expect_in(f"cudadiag report {session} --html FILE.html", refused.stderr, "what to type")


def file_of_a_session_that_is_the_working_folder_has_its_name(machine):
    _record(machine, "third_of_ten")
    (name,) = machine.sessions()
    folder = machine.state / "cudadiag" / name
    machine.environment["BROWSER"] = "true"
    for words, file in ((["--bundle"], f"cudadiag-{name}.tar.gz"), (["--open"], f"cudadiag-{name}.html")):
        expect_success(machine.cudadiag("report", ".", *words, cwd=folder))
        expect((folder / file).exists(), True, f"file of the working folder with {words}")


def page_is_shown_in_the_browser_that_the_user_chose(machine):
    _record(machine, "third_of_ten")
    (session,) = machine.sessions()
    shown = machine.folder / "shown"
    os.mkfifo(shown)
    browser = machine.folder / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" >{shown}\n', encoding="utf-8")
    browser.chmod(0o755)
    machine.environment["BROWSER"] = f"{browser}:nothing"
    reader = machine.start("cat", shown)
    expect_success(machine.cudadiag("report", "--open"))
    expect(reader.communicate()[0], f"{machine.folder}/cudadiag-{session}.html\n", "what the browser got")
    machine.environment["BROWSER"] = "no-such-browser"
    machine.environment["PATH"] = str(machine.folder)
    without = machine.cudadiag("report", "--open")
    expect(without.returncode, 0, "status without a browser, because the page was written")
    expect_in("no program that opens web pages was found", without.stderr, "message without a browser")
