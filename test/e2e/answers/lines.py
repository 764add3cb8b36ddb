"""Lines of native code that have changed or are missing. Each function's name says what it tests."""

import os
import re
import shutil
import subprocess
import time

import targets
from harness import expect, expect_in, expect_success


def _plugin(machine):
    """Copies a program, and the library that it opens from its own folder. Returns their paths."""
    launcher, plugin = machine.folder / "dlopened_kernel", machine.folder / "libplugin.so"
    for made in (launcher, plugin):
        shutil.copy(machine.build / "targets" / made.name, made)
    machine.plan(targets.plan("dlopened_kernel"))
    return launcher, plugin


def executable_that_changed_since_is_said_to_have(machine):
    copy = machine.folder / "third"
    shutil.copy(machine.build / "targets/third_of_ten", copy)
    machine.plan(targets.plan("third_of_ten"))
    machine.run(copy)
    for change, why in ((lambda: shutil.copy("/bin/true", copy), "has been rebuilt since the run"),
                        (copy.unlink, "has been removed since the run")):
        change()
        shown = " ".join(expect_success(machine.cudadiag("report")).stdout.split())
        expect_in(f"(third {why}: its functions and lines are unknown)", shown, "report")
        expect_in(f"third {why}: record the program again to see its lines", shown, "fix")
        assert "-g," not in shown, shown


def line_of_a_program_is_found_whatever_its_path_holds(machine):
    for name in ("new\nline", "new\\012line", "a (deleted)"):
        copy = machine.folder / name / "third"
        copy.parent.mkdir()
        shutil.copy(machine.build / "targets/third_of_ten", copy)
        machine.plan(targets.plan("third_of_ten"))
        machine.run(copy)
        location = machine.report()["findings"][0]["location"]
        expect((location["file"], location["line"]), targets.marked_line("third_of_ten", "TRUE LINE"), name)


def nodes_in_the_body_of_a_conditional_node_are_told_where_they_are_known(machine):
    for name, mark in (("graph_conditional", "BODY LINE"), ("graph_conditional:cloned", "BRANCH LINE")):
        machine.plan(targets.plan(name))
        machine.run(*targets.command(machine.build, name))
        lines = [each["location"]["line"] for each in machine.report()["findings"][0]["candidates"]]
        expect(lines[1:], [targets.marked_line(name, mark)[1]], f"second candidate of {name}")


def line_around_a_plugin_without_lines_is_not_taken_for_its_own(machine):
    source = targets.TARGETS / "dlopened_kernel.cc"
    lines = source.read_text().splitlines()
    (called_from,) = [number for number, line in enumerate(lines, 1) if '"smooth"' in line]
    launcher, plugin = _plugin(machine)
    subprocess.run(["strip", "-g", plugin], check=True)
    machine.run(launcher)

    def expect_told(function, headline, why):
        shown = " ".join(expect_success(machine.cudadiag("report")).stdout.split())
        assert re.search(rf"in {headline} \(.*line unknown\) ", shown), shown
        expect_in(f"called from {source}:{called_from}, main ({why})", shown, "report")
        location = machine.report()["findings"][0]["location"]
        expect((location["file"], location["line"], location["function"]), (None, None, function), "location")
        expect(location["module"], str(plugin), "module")
        expect((location["called_from"]["file"], location["called_from"]["line"]), (str(source), called_from), "caller")

    expect_told("smooth", "smooth", "libplugin.so has no line information")
    shutil.copy("/bin/true", plugin)
    gone = ": its functions and lines are unknown"
    expect_told(None, r"libplugin.so\+0x[0-9a-f]+", "libplugin.so has been rebuilt since the run" + gone)
    plugin.unlink()
    expect_told(None, r"libplugin.so\+0x[0-9a-f]+", "libplugin.so has been removed since the run" + gone)


def source_that_was_written_after_its_library_was_built_is_said_to_have_been(machine):
    launcher, plugin = _plugin(machine)
    machine.run(launcher)
    words = "was modified after libplugin.so had been built: "
    for built, said in ((time.time(), False), (1e9, True)):
        os.utime(plugin, (built, built))
        shown = " ".join(expect_success(machine.cudadiag("report")).stdout.split())
        expect("(the file " + words in shown, said, "report")
        notes = [note["text"] for note in machine.report()["notes"] if note["code"] == "source-newer"]
        expect([words in note for note in notes], [True] if said else [], "notes")
