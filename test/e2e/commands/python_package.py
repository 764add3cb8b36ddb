"""The Python package: pytest --cudadiag on suites in which some tests lose the context, notebooks, the GitHub Action."""

import os
import re
import shlex
import subprocess
import sys
import xml.etree.ElementTree

from harness import FAULT, HERE, expect, expect_in, program, skip, true_line

PACKAGE = HERE.parent.parent / "lib/python"
LOSING = (20, 90, 150)
HEAD = """
import os, sys
sys.path.insert(0, {programs!r})
import cuda

started = []

def ready():
    if os.getpid() not in started:
        started.append(os.getpid())
        cuda.start()

"""
TEST = """
def test_{number:03}():
    ready()
    launch, parameters = cuda.kernel("{kernel}")
    launch(cuda.stream(), parameters, None)
"""


def _interpreter(*modules):
    """Returns an interpreter that has these modules: python3 from PATH, or the distribution's."""
    for interpreter in ("python3", "/usr/bin/python3"):
        asked = subprocess.run([interpreter, "-c", f"import sys, {', '.join(modules)}; print(sys.executable)"],
                               capture_output=True, text=True)
        if asked.returncode == 0:
            return asked.stdout.strip()
    return skip("no Python here has " + " and ".join(modules))


def _suite(machine, tests=200, losing=LOSING):
    machine.plan("; ".join(f"fault kernel=bad_{number} code=700" for number in losing))
    text = HEAD.format(programs=str(HERE / "programs"))
    for number in range(1, tests + 1):
        text += TEST.format(number=number, kernel=f"bad_{number}" if number in losing else "good")
    path = machine.folder / "test_suite.py"
    path.write_text(text)
    lines = text.splitlines()
    return {number: 4 + next(i for i, line in enumerate(lines, 1) if line == f"def test_{number:03}():") - 1
            for number in losing}


def _faulty_suite(machine, tests):
    """Writes a suite in which gpu("bad") loses the context. Leads `python3` to the package and the command."""
    machine.plan("fault kernel=bad nth=every code=700")
    machine.environment.update(PYTHONPATH=str(PACKAGE), PATH=f"{machine.build}/bin:{os.environ['PATH']}")
    text = HEAD.format(programs=str(HERE / "programs")) + """
def gpu(kernel):
    ready()
    launch, parameters = cuda.kernel(kernel)
    cuda.check(launch(cuda.stream(), parameters, None))

"""
    (machine.folder / "test_suite.py").write_text(text + tests)


def _pytest(machine, interpreter, *options):
    machine.environment.update(PYTHONPATH=str(PACKAGE), PATH=f"{machine.build}/bin:{os.environ['PATH']}")
    return machine.plain(interpreter, "-m", "pytest", "-p", "cudadiag.pytest_plugin", "-q", "--cudadiag", *options,
                         "--junitxml=results.xml", "test_suite.py")


def _expect_losses(machine, ended, lines, skipped=0):
    said = ended.stdout + ended.stderr
    total = re.search(r"(?:(\d+) failed, )?(\d+) passed(?:, (\d+) skipped)?", said)
    assert total, said
    expect([int(number or 0) for number in total.groups()], [len(lines), 200 - len(lines) - skipped, skipped], said)
    for number, line in lines.items():
        expect_in(f"test_suite.py::test_{number:03}: CUDA_ERROR_ILLEGAL_ADDRESS (700) in {machine.folder}/test_suite.py:{line}, "
                  f"test_{number:03} [bracketed]\n", said, "summary")
    cases = xml.etree.ElementTree.parse(machine.folder / "results.xml").iter("testcase")
    marked = {case.get("name"): [each.get("value") for each in case.iter("property")] for case in cases}
    expect(len(marked), 200, "tests in JUnit's file")
    expect({name: values for name, values in marked.items() if values},
           {f"test_{number:03}": [f"CUDA_ERROR_ILLEGAL_ADDRESS (700) in {machine.folder}/test_suite.py:{line}, "
                                  f"test_{number:03} [bracketed]"] for number, line in lines.items()}, "properties")


def pytest_names_test_and_line_of_each_lost_context(machine):
    interpreter = _interpreter("pytest")
    lines = _suite(machine)
    ended = _pytest(machine, interpreter)
    _expect_losses(machine, ended, lines)
    expect(ended.returncode, 1, "status")


def pytest_names_the_same_with_xdist(machine):
    interpreter = _interpreter("pytest", "xdist")
    lines = _suite(machine)
    _expect_losses(machine, _pytest(machine, interpreter, "-n", "4"), lines)


def pytest_skips_the_tests_after_a_lost_context_if_asked(machine):
    interpreter = _interpreter("pytest")
    lines = _suite(machine, losing=(20,))
    ended = _pytest(machine, interpreter, "--cudadiag=skip", "-rs")
    _expect_losses(machine, ended, lines, skipped=180)
    expect_in("CUDA context lost in test_suite.py::test_020\n", ended.stdout, "reason")


def pytest_leaves_nothing_of_a_suite_that_loses_no_context(machine):
    interpreter = _interpreter("pytest")
    _suite(machine, losing=())
    ended = _pytest(machine, interpreter)
    expect((ended.returncode, machine.sessions()), (0, []), ended.stdout + ended.stderr)
    # pytest prints the path of its own file, which is in this test's folder.
    assert "cudadiag" not in ended.stdout.replace(str(machine.folder), ""), ended.stdout


def pytest_says_that_its_tests_are_not_recorded(machine):
    interpreter = _interpreter("pytest")
    _suite(machine, tests=3, losing=())
    said = "cudadiag: CUDA was initialised without cudadiag's recorder"
    assert said not in _pytest(machine, interpreter).stdout
    machine.folder.joinpath("conftest.py").write_text(
        "import os\ndef pytest_collection_modifyitems(): os.environ.pop('CUDA_INJECTION64_PATH')\n")
    ended = _pytest(machine, interpreter)
    expect((ended.returncode, ended.stdout.count(said)), (0, 1), f"status and lines in {ended.stdout}")


def pytest_skips_a_test_in_a_fresh_process(machine):
    interpreter = _interpreter("pytest")
    _faulty_suite(machine, """
import pytest

def test_loses(): gpu("bad")
def test_skips(): pytest.skip("not today")
def test_ends(): gpu("good")
""")
    ended = _pytest(machine, interpreter, "-rs")
    said = ended.stdout + ended.stderr
    expect_in("1 failed, 1 passed, 1 skipped", said, "result")
    expect_in("SKIPPED [1] test_suite.py:23: not today\n", said, "reason")
    skipped = xml.etree.ElementTree.parse(machine.folder / "results.xml").iter("skipped")
    expect([each.get("message") for each in skipped], ["not today"], "reason in JUnit's file")


def pytest_fails_a_test_that_runs_again_in_the_process_without_a_context(machine):
    interpreter = _interpreter("pytest")
    _faulty_suite(machine, """
def test_loses(): gpu("bad")
""")
    # Runs a failed test again as pytest-rerunfailures does.
    (machine.folder / "conftest.py").write_text("""
import pytest
from _pytest.runner import runtestprotocol

def pytest_runtest_protocol(item, nextitem):
    for reports in (runtestprotocol(item, nextitem=nextitem, log=False) for attempt in range(2)):
        if not any(report.failed for report in reports):
            break
        item._initrequest()
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    return True
""")
    for options in ([], ["--cudadiag=skip"]):
        ended = _pytest(machine, interpreter, *options)
        said = ended.stdout + ended.stderr
        expect(ended.returncode, 1, said)
        expect_in("an earlier attempt of this test lost the CUDA context", said, "reason")


def pytest_option_leaves_the_next_word_alone(machine):
    interpreter = _interpreter("pytest")
    _faulty_suite(machine, """
def test_loses(): gpu("bad")
def test_follows(): gpu("good")
""")
    command = [interpreter, "-m", "pytest", "-p", "cudadiag.pytest_plugin", "-q"]
    for options, result in ((["--cudadiag"], "1 failed, 1 passed"), (["--cudadiag=fresh"], "1 failed, 1 passed"),
                            (["--cudadiag=skip"], "1 failed, 1 skipped")):
        ended = machine.plain(*command, *options, "test_suite.py")
        expect_in(result, ended.stdout, f"{options}, with stderr {ended.stderr}")
    wrong = machine.plain(*command, "--cudadiag=skp", "test_suite.py")
    expect((wrong.returncode, "--cudadiag" in wrong.stderr), (4, True), wrong.stderr)
    expect_in("--cudadiag=skip", machine.plain(*command, "--help").stdout, "help")


def pytest_ends_if_a_test_in_a_fresh_process_says_so(machine):
    interpreter = _interpreter("pytest")
    for line, status, said in (("pytest.exit('enough', 7)", 7, "Exit: enough"), ("raise KeyboardInterrupt", 2, "KeyboardInterrupt")):
        _faulty_suite(machine, f"""
import pytest

@pytest.fixture(scope="session")
def server():
    yield
    open("downs", "a").write("down ")

def test_loses(): gpu("bad")
def test_ends(server): {line}
def test_never(): open("never", "w")
""")
        ended = _pytest(machine, interpreter)
        expect(ended.returncode, status, ended.stdout + ended.stderr)
        expect_in(said, ended.stdout + ended.stderr, "reason")
        assert not (machine.folder / "never").exists(), ended.stdout
    expect((machine.folder / "downs").read_text(), "down down ", "fixtures that were torn down")


def pytest_tears_down_the_fixtures_of_a_fresh_process_that_loses_its_context(machine):
    interpreter = _interpreter("pytest")
    _faulty_suite(machine, """
import pytest

def log(word): open("log", "a").write(word + " ")

@pytest.fixture(scope="session")
def server():
    log("up")
    yield
    log("down")
    sys.exit("error of the lost context")

def test_loses(): gpu("bad")
def test_loses_again(server): gpu("bad")
def test_ends(server): gpu("good")
def test_needs_no_server(): log("last")
""")
    ended = _pytest(machine, interpreter)
    expect_in("2 failed, 2 passed", ended.stdout, ended.stderr)
    expect((machine.folder / "log").read_text(), "up down up last down ", "fixture")


def pytest_forks_a_fresh_process_without_a_warning_about_threads(machine):
    machine.environment["PYTHONPATH"] = str(PACKAGE)
    # Warns as Python 3.12 does if there are several threads.
    ended = machine.plain(sys.executable, "-W", "always", "-c", """
import os, warnings
from cudadiag.fresh_process import Template

fork = os.fork
def warn():
    warnings.warn("This process (pid=1) is multi-threaded, use of fork() may lead to deadlocks in the child.", DeprecationWarning)
    return fork()
os.fork = warn
Template(lambda channel: None).close()
os.fork()
""")
    expect((ended.returncode, ended.stderr.count("multi-threaded")), (0, 1), ended.stderr)


def pytest_says_why_there_is_no_fresh_process(machine):
    interpreter = _interpreter("pytest")
    _faulty_suite(machine, """
ready()

def test_loses(): gpu("bad")
def test_is_skipped(): gpu("good")
def test_is_skipped_too(): gpu("good")
""")
    said = "tests after a lost context are skipped: a test module initialised CUDA while pytest imported it"
    ended = _pytest(machine, interpreter)
    expect((ended.stdout.count(said), "1 failed, 2 skipped" in ended.stdout), (1, True), ended.stdout + ended.stderr)
    expect(_pytest(machine, interpreter, "--cudadiag=skip", "-p", "no:cacheprovider").stdout.count(said), 0, "as asked")


def pytest_says_why_a_worker_of_xdist_has_no_fresh_process(machine):
    interpreter = _interpreter("pytest", "xdist")
    _faulty_suite(machine, """
ready()

def test_loses(): gpu("bad")
def test_is_skipped(): gpu("good")
""")
    ended = _pytest(machine, interpreter, "-n", "1")
    expect_in("tests after a lost context are skipped: a test module initialised CUDA", ended.stdout, ended.stderr)


def pytest_loses_the_context_with_the_same_errors_as_a_recording(machine):
    rows = (PACKAGE.parent / "wire/cuda_codes.def").read_text().split("\nCUDA_CODE(")[1:]
    # A row begins with the code, three names and the traits; the names may be empty.
    traits = dict(re.match(r'(\d+),\s*"\w*",\s*"\w*",\s*\w+,\s*([^,]+),', row).groups() for row in rows)
    sys.path.insert(0, str(PACKAGE))
    from cudadiag import context
    expect(context.STICKY, {int(code) for code, words in traits.items() if re.search(r"\bsticky\b", words)},
           "sticky errors of the plugin")


def _notebook(machine, *cells):
    """Runs the cells in a shell of IPython. Prints whether each succeeded, and the beginning of each displayed page."""
    interpreter = _interpreter("IPython")
    _faulty_suite(machine, "")
    script = """
import sys
from IPython.core import displaypub
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
shell.display_pub.publish = lambda data, **_: print("displayed", data["text/html"][:15], data["text/plain"])
for cell in sys.argv[1:]:
    print("success", shell.run_cell(cell).success)
"""
    return machine.plain(interpreter, "-c", script, "%load_ext cudadiag", "import test_suite", *cells)


def notebook_shows_the_page_under_the_cell_that_fails(machine):
    ended = _notebook(machine, "test_suite.gpu('bad')", "raise ValueError('later')", "raise ValueError('again')")
    said = ended.stdout + ended.stderr
    expect(ended.stdout.count("displayed <!DOCTYPE html> cudadiag: illegal memory access (700) in "), 1, said)


def notebook_says_once_that_it_is_not_recorded(machine):
    ended = _notebook(machine, "import os; del os.environ['CUDA_INJECTION64_PATH']", "test_suite.gpu('good')", "1 + 1")
    expect(ended.stdout.count("cudadiag: CUDA was initialised without cudadiag's recorder"), 1, f"lines in {ended.stdout}")


def notebook_shows_the_page_later_if_it_could_not_before(machine):
    ended = _notebook(machine, "from cudadiag import command; page, command.page = command.page, None", "test_suite.gpu('bad')",
                      "raise ValueError('unseen')", "command.page = page", "raise ValueError('seen')", "raise ValueError('again')")
    expect(ended.stdout.count("displayed <!DOCTYPE html>"), 1, ended.stdout + ended.stderr)


def notebook_cell_that_raises_under_the_magic_fails(machine):
    ended = _notebook(machine, "%%cudadiag\nraise ValueError('mine')", "%%cudadiag\n1", "%%cudadiag\ntest_suite.gpu('bad')")
    said = ended.stdout + ended.stderr
    expect(re.findall("^success .*|^displayed", ended.stdout, re.MULTILINE)[2:],
           ["success False", "success True", "displayed", "success False"], said)


def page_of_a_session_is_html(machine):
    machine.plan(FAULT)
    machine.run(*program("ten_launches.py"))
    machine.environment.update(PYTHONPATH=str(PACKAGE), PATH=f"{machine.build}/bin:{os.environ['PATH']}")
    session = machine.state / "cudadiag" / machine.sessions()[0]
    ended = machine.plain(sys.executable, "-c", f"from cudadiag import command; print(command.page({str(session)!r}))")
    expect(ended.stdout[:15], "<!DOCTYPE html>", ended.stderr)


def _action(machine, workspace, words, sarif="x.sarif"):
    machine.environment.update(PYTHONPATH=str(PACKAGE), PATH=f"{machine.build}/bin:{os.environ['PATH']}",
                               GITHUB_WORKSPACE=str(workspace), RUNNER_TEMP=str(machine.folder),
                               GITHUB_OUTPUT=str(machine.folder / "output"), GITHUB_STEP_SUMMARY=str(machine.folder / "summary"))
    return machine.plain(sys.executable, "-m", "cudadiag.github", words, sarif)


def github_action_annotates_the_line_and_keeps_the_status(machine):
    machine.plan(FAULT)
    path, line = true_line("ten_launches.py")
    ended = _action(machine, os.path.dirname(path), shlex.join(map(str, program("ten_launches.py"))))
    expect(ended.returncode, 3, "status: the command's own")
    expect_in(f"::error title=cudadiag,file=ten_launches.py,line={line}::CUDA_ERROR_ILLEGAL_ADDRESS (700) in ", ended.stdout,
              "annotation")
    expect((machine.folder / "output").read_text(), "verdict=cuda_failure\n", "output")
    summary = (machine.folder / "summary").read_text()
    expect_in(f" in ten_launches.py:{line}, <module> ", summary, "headline of the summary")
    expect_in(f"\nStack   {path}:{line} <module> ", summary, "path in the summary")
    expect_in("2.1.0", (machine.folder / "x.sarif").read_text(), "SARIF")


def github_action_ends_at_the_first_line_that_fails(machine):
    ended = _action(machine, machine.folder, "echo first\nfalse | cat\necho second\n")
    expect((ended.returncode, "first" in ended.stdout, "second" in ended.stdout), (1, True, False), ended.stdout + ended.stderr)
    expect((machine.folder / "output").read_text(), "verdict=inconclusive\n", "output of a command that recorded nothing")


def github_action_writes_sarif_where_it_can(machine):
    machine.plan(FAULT)
    words = shlex.join(map(str, program("ten_launches.py")))
    ended = _action(machine, machine.folder, words, "new/folder/x.sarif")
    expect(ended.returncode, 3, ended.stderr)
    expect_in("2.1.0", (machine.folder / "new/folder/x.sarif").read_text(), "SARIF")
    expect_in("::error title=cudadiag::CUDA_ERROR_ILLEGAL_ADDRESS (700) in ", ended.stdout, "annotation outside of the workspace")
    ended = _action(machine, machine.folder, words, "/dev/null/x.sarif")
    expect(ended.returncode, 3, ended.stderr)
    expect_in("::warning title=cudadiag::", ended.stdout, "warning")
    expect_in("::error title=cudadiag::", ended.stdout, "annotation without SARIF")
