"""pytest --cudadiag: names the test that lost a CUDA context, and the source line that caused it.

The recorder is loaded into the test process, and the plugin waits for the GPU after each test. The tests after a lost
context run in a fresh process, or are skipped as "CUDA context lost in TEST".
"""

import contextlib
import os

import pytest

from . import command, context
from .fresh_process import Template, can_fork

SESSION = "CUDADIAG_PYTEST_SESSION"  # tells xdist workers the session's folder
PROPERTY = "cudadiag"
TOO_LATE = "cudadiag_too_late"  # tells xdist's controller a worker's value
UNRECORDED = "cudadiag_unrecorded"  # the same


def pytest_addoption(parser):
    group = parser.getgroup("cudadiag", "CUDA failures")
    # An optional value would take the next word, a file. argparse finds a whole word before it looks for a "=" in it.
    for option, mode, text in (
            ("--cudadiag", "fresh", "name the test and source line of each lost CUDA context; run later tests in a fresh process"),
            ("--cudadiag=fresh", "fresh", "the same as --cudadiag"),
            ("--cudadiag=skip", "skip", "like --cudadiag, but skip the tests after a lost context")):
        group.addoption(option, dest="cudadiag", action="store_const", const=mode, default=None, help=text)


def pytest_configure(config):
    mode = config.getoption("cudadiag")
    if mode is None:
        return
    is_worker = hasattr(config, "workerinput")
    if not is_worker:
        if context.is_initialized():
            raise pytest.UsageError("--cudadiag: a plugin or conftest.py has already initialised CUDA; the recorder "
                                    "must be loaded before CUDA is initialised")
        try:
            variables, session = command.prepare()
        except command.NoCommand as error:
            raise pytest.UsageError(f"--cudadiag: {error}") from None
        os.environ.update(variables)
        os.environ[SESSION] = str(session)
    config.pluginmanager.register(Plugin(config, mode, is_worker), "cudadiag-recording")


class Plugin:
    def __init__(self, config, mode, is_worker):
        self.config = config
        self.mode = mode
        self.is_worker = is_worker
        self.session = os.environ[SESSION]
        self.lost_in = None   # the test that lost the context of this process
        self.template = None
        self.channel = None   # a connection to the fresh process that runs the tests
        self.too_late = False  # whether CUDA was initialised before a fresh process could be prepared
        self.unrecorded = False  # whether a test process initialised CUDA without being recorded
        self.losses = []      # (test, headline) of each loss, for the summary
        self.items = []

    # Tests in this process

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item):
        if self.lost_in == item.nodeid:  # for example with pytest-rerunfailures
            pytest.fail("an earlier attempt of this test lost the CUDA context; another attempt needs a new process", pytrace=False)
        if self.lost_in is not None:
            pytest.skip(f"CUDA context lost in {self.lost_in}")

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item, call):
        outcome = yield
        report = outcome.get_result()
        if self.lost_in is not None:
            return
        code = context.lost_with()
        if not code:
            return
        self.lost_in = item.nodeid
        headline, text = self._answer(code)
        item.user_properties.append((PROPERTY, headline))
        report.user_properties = list(item.user_properties)
        report.sections.append(("cudadiag", text))
        if report.outcome != "failed":
            report.outcome = "failed"
            report.longrepr = text

    def _answer(self, code):
        unknown = f"the CUDA context was lost (error {code}); the source line is unknown"
        try:
            findings = command.report(self.session)["findings"]
        except (command.NoCommand, ValueError) as error:
            return unknown, f"{unknown}: {error}"
        own = [finding for finding in findings if (finding["process"] or {}).get("pid") == os.getpid()]
        if not own:
            return unknown, unknown
        finding = own[0]
        headline = command.headline(finding)
        lines = [headline]
        source = (finding["location"] or {}).get("source")
        if source:
            lines.append(f"  > {source.strip()}")
        if finding["cause"]:
            lines.append("Why  " + finding["cause"]["text"])
        lines += ["Fix  " + fix for fix in finding["fix"]]
        lines.append(f"Full report: cudadiag report -v {self.session}")
        return headline, "\n".join(lines)

    # Tests in a fresh process

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session, config, items):
        self.items = items

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session):
        runs_tests = self.is_worker or not self.config.getoption("numprocesses", None)
        if runs_tests and self.mode == "fresh" and can_fork():
            self.too_late = context.is_initialized()
            if self.is_worker:
                self.config.workeroutput[TOO_LATE] = self.too_late
            if not self.too_late:
                self.items = session.items
                self.template = Template(self._serve)
        yield
        if self.channel is not None:
            self.channel.close()
        if self.template is not None:
            self.template.close()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        if self.lost_in is None or self.template is None:
            return None
        try:
            self._run_in_fresh_process(item, nextitem)
        except OSError:
            self.template = None  # the remaining tests are skipped
            return None
        return True

    def _run_in_fresh_process(self, item, nextitem):
        if self.channel is None:
            self.channel = self.template.fresh()
        where = {each: number for number, each in enumerate(self.items)}
        hook = item.ihook
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        self.channel.send([where[item], where.get(nextitem)])
        while True:
            message = self.channel.receive()
            if message is None:
                hook.pytest_runtest_logreport(report=_died(item))
            elif "report" in message:
                report = self.config.hook.pytest_report_from_serializable(config=self.config, data=message["report"])
                if isinstance(report.longrepr, list):
                    report.longrepr = tuple(report.longrepr)  # a skip's place and reason, of which JSON makes a list
                hook.pytest_runtest_logreport(report=report)
                continue
            if message != {"lost": False}:
                self.channel.close()
                self.channel = None
            if message and "exit" in message:
                raise pytest.exit.Exception(*message["exit"])
            if message and "interrupted" in message:
                raise KeyboardInterrupt
            break
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    def _serve(self, channel):
        """The main loop of a fresh process: runs the tests whose numbers arrive on the channel."""
        from _pytest.runner import pytest_sessionfinish

        self.template, self.lost_in = None, None
        try:
            last = self._serve_tests(channel)
        except pytest.exit.Exception as error:
            last = {"exit": [error.msg, error.returncode]}
        except KeyboardInterrupt:
            last = {"interrupted": True}
        with contextlib.suppress(BaseException):  # a fixture may need the lost context
            pytest_sessionfinish(self.items[0].session)  # tears down the fixtures that are left
        channel.send(last)

    def _serve_tests(self, channel):
        from _pytest.runner import runtestprotocol

        while (message := channel.receive()) is not None:
            number, following = message
            item = self.items[number]
            for report in runtestprotocol(item, log=False, nextitem=None if following is None else self.items[following]):
                data = self.config.hook.pytest_report_to_serializable(config=self.config, report=report)
                channel.send({"report": data})
            if self.lost_in is not None:
                break
            channel.send({"lost": False})
        return {"lost": True}

    # The summary

    def pytest_runtest_logreport(self, report):
        for name, headline in report.user_properties:
            if name == PROPERTY and (report.nodeid, headline) not in self.losses:
                self.losses.append((report.nodeid, headline))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self):
        self.unrecorded |= context.is_unrecorded(self.session)
        if self.is_worker:
            self.config.workeroutput[UNRECORDED] = self.unrecorded

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node):
        self.unrecorded |= getattr(node, "workeroutput", {}).get(UNRECORDED, False)
        self.too_late |= getattr(node, "workeroutput", {}).get(TOO_LATE, False)

    def pytest_terminal_summary(self, terminalreporter):
        if self.unrecorded:
            terminalreporter.line(f"cudadiag: {context.UNRECORDED}")
        if not self.losses:
            return
        terminalreporter.section("lost CUDA contexts")
        for test, headline in self.losses:
            terminalreporter.line(f"{test}: {headline}")
        if self.too_late:
            terminalreporter.line("tests after a lost context are skipped: a test module initialised CUDA while pytest imported it")
        terminalreporter.line(f"cudadiag report -v {self.session}")

    def pytest_unconfigure(self):
        if not self.is_worker and not self.losses:
            command.remove(self.session)


def _died(item):
    text = "the process ended while running this test; later tests run in a new process"
    return pytest.TestReport(item.nodeid, item.location, {}, "failed", text, "call")
