"""Ways to start programs, and which code is the user's in each. Each function's name says what it tests."""

import os
import re
import subprocess
import sys

from harness import HERE, expect, expect_in, expect_success, program, skip

SOURCE = HERE / "programs/stands_alone.py"
LINE = 1 + next(i for i, line in enumerate(SOURCE.read_text().splitlines()) if line.endswith("# TRUE LINE"))
FAULT = "fault kernel=rank_0 nth=2 code=700"


def _write(path, text, mode=0o600):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def _placed(machine, path):
    return _write(machine.folder / path, SOURCE.read_text())


def _leads(machine, file, line=LINE):
    location = machine.report()["findings"][0]["location"]
    expect((location["file"], location["line"]), (str(file), line), "true line")


def _fails(machine, *command, file, line=LINE, **options):
    """Expects the command to end as it does without cudadiag, and the report to give the line."""
    machine.plan(FAULT)
    result = machine.run(*command, **options)
    expect(result.returncode, 3, f"status of {command}, with stderr {result.stderr}")
    _leads(machine, file, line)
    return result


def a_path_that_is_no_text_is_shown_byte_for_byte(machine):
    folder = os.path.join(os.fsencode(machine.folder), b"b\xffd")
    try:
        os.mkdir(folder)
    except OSError:
        skip("the file system does not accept such names")
    file = os.path.join(folder, b"alone.py")
    with open(file, "wb") as copy:
        copy.write(SOURCE.read_bytes())
    machine.plan(FAULT)
    machine.run(sys.executable, os.fsdecode(file))
    shown = machine.cudadiag("report").stdout
    expect_in(f" in alone.py:{LINE}, main ", shown.partition("\n")[0], "the place")
    (stack,) = re.findall(r"^Stack   (.*)$", shown, re.MULTILINE)
    expect(re.sub(r" \(\+\d+ library frames?\)$", "", stack), "b\\xffd/alone.py:24 <module> > :%d main" % LINE, "the path")
    expect_in(f"  > {LINE:3} | ", shown, "the line")


def launch_has_the_name_of_the_call_that_the_program_made(machine):
    for way in "cupti", "hooks":
        machine.plan("")
        for target, words, api in (("unchecked_launch", [], "cudaLaunchKernel"), ("refused_launch", [], "cuLaunchKernel"),
                                   ("second_runtime", ["linked"], "cudaLaunchKernel")):
            machine.run(machine.build / "targets" / target, *words, options=[f"--watch-by={way}"])
            expect(machine.report()["findings"][0]["reported_at"]["api"], api, f"{way}: {target}")
        machine.plan("fail api=cuModuleLoadData nth=1 code=209")
        machine.run(machine.build / "targets/unchecked_launch", options=[f"--watch-by={way}"])
        finding = machine.report()["findings"][0]
        expect((finding["kind"], finding["reported_at"]["api"]), ("unchecked_error", "cudaLaunchKernel"),
               f"{way}: no GPU code")


def launches_are_heard_of_once_where_the_runtimes_hand_them_on(machine):
    for other, heard in (("libsolver.so.1", "left out"), ("12/libcudart.so.12", "heard")):
        library = machine.build / "sim" / other
        told = machine.run(*program("runtimes.py"), library, options=["--watch-by=cupti"]).stdout.splitlines()
        expect(told, ["launches of the runtime left out", f"launches of the runtime {heard}"], f"after {library.name}")
    told = machine.run(*program("runtimes.py"), library,
                       options=["--watch-by=cupti", "--no-native-stacks"]).stdout.splitlines()
    expect(told, ["launches of the runtime heard"] * 2, "where no stack is unwound")


def launches_of_a_runtime_that_is_linked_in_are_heard_of_once_as_well(machine):
    def ran(target, *words):
        result = machine.run(target, *words)
        finding = machine.report()["findings"][0]
        return result.stdout.split("the runtime ")[1].strip(), finding["reported_at"]["api"], finding["location"]["line"]

    built = machine.build / "targets/linked_runtime"
    line = 1 + next(i for i, text in enumerate((HERE / "../targets/linked_runtime.cc").read_text().splitlines())
                    if text.endswith("// TRUE LINE"))
    expect(ran(built), ("left out", "cudaLaunchKernel", line), "a runtime of CUDA 13")
    expect(ran(built, "direct")[:2], ("left out", "cuLaunchKernel"), "a driver call next to it")
    apart = machine.build / "targets/linked_runtime_apart"
    expect(ran(apart), ("left out", "cudaLaunchKernel", line), "in an executable with separate segments")
    for older in ("linked_runtime12", "linked_runtimes"):
        expect(ran(machine.build / "targets" / older), ("heard", "cudaLaunchKernel", line), older)
    stripped = machine.folder / "stripped"
    subprocess.run(["strip", "--strip-all", "-o", stripped, built], check=True)
    expect(ran(stripped)[:2], ("heard", "cudaLaunchKernel"), "without a symbol table, it is unknown")
    expect(ran(stripped, "shared")[:2], ("left out", "cudaLaunchKernel"), "after a shared one it is, by its look-ups")


def launches_that_wait_or_should_have_are_noted(machine):
    machine.plan("fault kernel=smooth nth=3 code=700")

    def noted(*words):
        machine.run(*program("ten_launches.py", *words))
        return [note["code"] for note in machine.report()["notes"] if note["code"].startswith("launch-blocking")]

    expect(noted(), [], "notes")
    expect(noted("block-early"), ["launch-blocking"], "set before CUDA starts")
    expect(noted("block-late"), ["launch-blocking-late"], "set after CUDA starts")
    machine.environment["CUDA_LAUNCH_BLOCKING"] = "1"
    expect(noted("block-late"), ["launch-blocking"], "set in the environment")


def a_package_by_its_name(machine):
    file = _placed(machine, "package/__main__.py")
    _fails(machine, sys.executable, "-m", "package", file=file)
    _fails(machine, sys.executable, machine.folder / "package", file=file)


def a_zipped_program(machine):
    _placed(machine, "app/__main__.py")
    expect_success(machine.plain(sys.executable, "-m", "zipapp", "app"))
    result = _fails(machine, sys.executable, "app.pyz", file=machine.folder / "app.pyz/__main__.py")
    expect_in("(code inside " + str(machine.folder / "app.pyz") + ")", result.stderr, "report")


def code_that_has_no_file(machine):
    result = _fails(machine, sys.executable, "-c", SOURCE.read_text(), file="<string>")
    expect_in("(code from a string or from python -c)", result.stderr, "report")
    with SOURCE.open() as source:
        _fails(machine, sys.executable, "-", stdin=source, file="<stdin>")


def cells_of_a_notebook(machine):
    run_cell = ("import runpy\nsource = open('cell.py').read()\n"
                "exec(compile(source, '/tmp/ipykernel_12/345.py', 'exec'), {'__name__': '__main__'})\n")
    _placed(machine, "cell.py")
    kernel = _write(machine.folder / "site-packages/ipykernel_launcher.py", run_cell)
    result = _fails(machine, sys.executable, kernel, file="/tmp/ipykernel_12/345.py")
    expect_in(f"in cell ipykernel_12/345.py:{LINE}, main", result.stderr, "report")
    expect_in("(a notebook cell, whose text is not on disk)", result.stderr, "report")


def a_cell_at_the_place_in_memory_of_one_that_is_gone(machine):
    """The code object of a cell is freed after it has run, and the next one of the same size may get its address."""
    _write(machine.folder / "cells.py", (
        f"import sys\nsys.path.insert(0, {str(HERE / 'programs')!r})\nimport cuda\ncuda.start()\n"
        "launch, parameters = cuda.kernel('smooth')\n"
        "names = {'launch': launch, 'with_what': (cuda.stream(), parameters, None)}\n"
        "files = [f'/tmp/ipykernel_12/{100 + cell}.py' for cell in range(40)]\n"
        "for file in files:\n    exec(compile('\\nlaunch(*with_what)\\n', file, 'exec'), names)\n"
        "sys.exit(3 if cuda.driver.cuCtxSynchronize() else 0)\n"))
    machine.plan("fault kernel=smooth nth=40 code=700")
    expect(machine.run(sys.executable, "cells.py").returncode, 3, "status")
    _leads(machine, "/tmp/ipykernel_12/139.py", 2)


def switches_of_the_interpreter(machine):
    for switch in ("-I", "-S", "-E", "-O", "-B", "-u", "-Xdev"):
        _fails(machine, sys.executable, switch, SOURCE, file=SOURCE)


def scripts_of_a_shell(machine):
    for body in ("exec {0} {1}\n", "{0} {1}\n", "{0} {1} | cat\nexit 3\n", "({0} {1})\n"):
        script = _write(machine.folder / "start.sh", "#!/bin/sh\n" + body.format(sys.executable, SOURCE), 0o700)
        _fails(machine, script, file=SOURCE)


def tools_that_start_the_program(machine):
    """Tools that replace themselves (`uv run` and `conda run` on Linux), or start a child (`accelerate launch`)."""
    for start in ("os.execvp(sys.argv[1], sys.argv[1:])",
                  "sys.exit(subprocess.run(sys.argv[1:]).returncode)",
                  "sys.exit(subprocess.run(sys.argv[1:], start_new_session=True, close_fds=True).returncode)"):
        tool = _write(machine.folder / "tool", f"#!{sys.executable}\nimport os, subprocess, sys\n{start}\n", 0o700)
        _fails(machine, tool, sys.executable, SOURCE, file=SOURCE)


def workers_of_a_job(machine):
    """As under torchrun: each worker is in a separate process session, and gets its rank in the environment."""
    launcher = _write(machine.folder / "launcher.py", (
        "import os, subprocess, sys\n"
        "start = lambda rank: subprocess.Popen(sys.argv[1:], env={**os.environ, 'RANK': rank}, start_new_session=True)\n"
        "sys.exit(max(worker.wait() for worker in [start('0'), start('1')]))\n"))
    machine.plan("fault kernel=rank_1 nth=2 code=700")
    expect(machine.run(sys.executable, launcher, sys.executable, SOURCE).returncode, 3, "status")
    _leads(machine, SOURCE)
    report = machine.report()
    expect([finding["process"]["rank"] for finding in report["findings"]], [1], "ranks that failed")
    expect(sorted(process["rank"] for process in report["processes"]), [0, 1], "ranks")


def _environment(machine):
    """Creates a virtual environment inside the project. Returns it, and the folder of its packages."""
    folder = machine.folder / "project/env"
    expect_success(machine.plain(sys.executable, "-m", "venv", "--without-pip", folder))
    return folder, next(folder.glob("lib/python*/site-packages"))


def a_virtual_environment_inside_the_project(machine):
    folder, packages = _environment(machine)
    _write(packages / "library.py", SOURCE.read_text())
    script = _write(machine.folder / "project/train.py", "import library\n\nlibrary.main()\n")
    result = _fails(machine, folder / "bin/python", script, file=script, line=3)
    expect_in("project/train.py:3 <module> (+", result.stderr, "report")


def a_command_that_a_package_installs(machine):
    folder, packages = _environment(machine)
    _write(packages / "library.py", SOURCE.read_text() + "\n\ndef run():\n    import plugin\n    plugin.work(main)\n")
    stub = _write(folder / "bin/tool", f"#!{folder}/bin/python\nimport sys\nfrom library import main, run\n"
                  "if __name__ == '__main__':\n    sys.exit(run() if sys.argv[1:] else main())\n", 0o700)
    plugin = _write(machine.folder / "project/plugin.py", "def work(main):\n    main()\n")
    machine.environment["PYTHONPATH"] = str(plugin.parent)
    _fails(machine, stub, "plugin", file=plugin, line=2)
    _fails(machine, stub, file=packages / "library.py")
    users = [frame["file"] for frame in machine.report()["findings"][0]["stack"]["python"] if frame["user"]]
    expect(users, [], "files of the user's")


def the_user_says_whose_code_it_is(machine):
    folder, packages = _environment(machine)
    library = _write(packages / "library.py", SOURCE.read_text())
    script = _write(machine.folder / "project/train.py", "import library\n\nlibrary.main()\n")
    command = (folder / "bin/python", script)
    _fails(machine, *command, options=["--user-code", packages], file=library)
    _leads(machine, library)  # later commands use the options that the session stored
    for words, file, line in ((["--not-user-code", library], script, 3),
                              (["--not-user-code", packages, "--user-code", packages], library, LINE),
                              (["--user-code", packages, "--not-user-code", packages], script, 3)):
        location = machine.report(*words)["findings"][0]["location"]
        expect((location["file"], location["line"]), (str(file), line), f"true line with {words}")
    _fails(machine, *command, options=["--not-user-code=train.py"], cwd=script.parent, file=library)


def paths_of_code_that_is_nowhere(machine):
    refused = machine.run("true", options=["--user-code", "nowhere"])
    expect((refused.returncode, refused.stderr.count("\n")), (125, 1), "refusal")
    expect_in(f"--user-code: found no file or folder {machine.folder / 'nowhere'}", refused.stderr, "message")
    _fails(machine, sys.executable, SOURCE, file=SOURCE)
    for command in ("report", "bisect"):
        refused = machine.cudadiag(command, "--not-user-code", "/no/where")
        expect(refused.returncode, 125, f"status of {command}")
        expect_in("/no/where, and the session has no code from there", refused.stderr, "message")
