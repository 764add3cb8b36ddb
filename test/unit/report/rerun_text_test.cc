#include <doctest/doctest.h>

#include "report/writers.h"
#include "unit/report/sample_reports.h"

namespace rerun_text_test {

using namespace cudadiag;
using namespace cudadiag::diagnose;
using namespace cudadiag::report;

namespace {

// Returns python_report() after `reruns`, each of 3 s, of which the last one has `last`'s outcome.
Diagnosis after(int reruns, PassLine last) {
  Diagnosis report = python_report();
  last.kind = session::PassKind::confirm;
  last.seconds = 3;
  for (int i = 0; i < reruns; ++i) report.passes.push_back(last);
  return report;
}

std::string first_sentence(int reruns, const PassLine& last) {
  Diagnosis before = python_report();
  before.session = "7";
  const auto messages = RerunText(before, {}).finish(after(reruns, last));
  return messages.empty() ? "" : messages.front().text;
}

PassLine interrupted() {
  PassLine line;
  line.outcome = "interrupted";
  line.cut_short = session::CutShort::interrupted;
  return line;
}

PassLine kept_from_writing() {
  PassLine line;
  line.outcome = "was kept from writing ckpt/";
  line.ended_at_that = line.isolated = true;
  return line;
}

}  // namespace

TEST_CASE("after a rerun that could write files, the command that can write files is suggested") {
  CHECK(first_sentence(1, interrupted()) ==
        "a rerun (3.0 s): interrupted; the first answer remains  [bracketed]; to prove it: cudadiag bisect 7"
        "  # not isolated: it can write files");
}

TEST_CASE("after a rerun that failed in another way, its last line is quoted in at most 80 columns") {
  PassLine line;
  line.outcome = "ended before it reached this call";
  line.last_printed = "FileExistsError: [Errno 17] File exists: 'out\x1b[1m" + std::string(80, 'x');
  const auto messages = RerunText(python_report(), {}).finish(after(2, line));
  REQUIRE(messages.size() == 3);
  CHECK(messages[0].text ==
        "2 reruns (6.0 s): ended before it reached this call; the first answer remains  [bracketed]");
  CHECK(messages[1].text ==
        "the rerun's last line: FileExistsError: [Errno 17] File exists: 'out\\x1b[1m" + std::string(25, 'x') + "...");
}

TEST_CASE("after an isolated rerun, an isolated one is suggested") {
  PassLine line = interrupted();
  line.isolated = true;
  CHECK(
      first_sentence(1, line) ==
      "a rerun (3.0 s): interrupted; the first answer remains  [bracketed]; to prove it: cudadiag bisect 7 --isolated");
  line.cut_short = session::CutShort::time_limit;
  CHECK(first_sentence(1, line).ends_with("to prove it: cudadiag bisect 7 --isolated --time-limit SECONDS"));
}

TEST_CASE("after a rerun that files of the first run may have prevented, an isolated one is suggested") {
  PassLine line;
  line.outcome = "ended before it reached this call";
  line.judged = analyse::Rerun::Outcome::not_reached;
  Diagnosis before = python_report();
  before.session = "7";
  TextOptions options;
  options.isolates = true;
  const auto ending = [&] { return RerunText(before, options).finish(after(1, line)).front().text; };
  CHECK(
      ending().ends_with("[bracketed]; files of the first run may be in its way; to prove it: cudadiag bisect 7 "
                         "--isolated"));
  options.isolates = false;
  CHECK(ending().ends_with("[bracketed]"));
}

TEST_CASE("an isolated rerun is suggested if files of the first run may be in the way of one that was not isolated") {
  Diagnosis report = python_report();
  report.session = "/s";
  TextOptions options;
  const auto suggests = [&] {
    return write_text(report, options).find("Next    cudadiag bisect /s --keep-core --isolated  # ") !=
           std::string::npos;
  };
  report.rerun_options = {"--keep-core"};
  report.passes.push_back({session::PassKind::confirm, "ended before it reached this call", 3, 0, 0});
  report.passes.back().judged = analyse::Rerun::Outcome::not_reached;
  CHECK_FALSE(suggests());
  options.isolates = true;
  CHECK(suggests());
  report.passes.back().isolated = true;
  CHECK_FALSE(suggests());
  // A rerun does not have this descriptor.
  report.passes.back().isolated = false;
  report.command = {"python", "/dev/fd/63"};
  CHECK_FALSE(suggests());
}

TEST_CASE("a first rerun is isolated if the machine can isolate it, and a later one is not") {
  Diagnosis report = python_report();
  report.session = "/s";
  TextOptions options;
  options.verbosity = Verbosity::verbose;
  options.isolates = true;
  const auto names = [&](const char* command) {
    return write_text(report, options).find(command) != std::string::npos;
  };
  CHECK(names("Next    cudadiag bisect /s --isolated  # about 62 s a rerun; it changes no files\n"));
  CHECK_FALSE(names("it can write files"));
  report.passes.push_back({session::PassKind::confirm, "was kept from writing mine.log", 3, 0, 0});
  report.passes.back().leaves_proof_open = true;
  CHECK(names("Next    cudadiag bisect /s  # about 62 s a rerun; it can write files\n"));
  CHECK_FALSE(names("--isolated"));
  report.rerun_options = {"--write-limit=10"};
  report.passes.back().reached_write_limit = true;
  CHECK(names("Next    cudadiag bisect /s --isolated --write-limit MIB  # about 62 s a rerun; it changes no files\n"));
}

TEST_CASE("after the reruns, only the rows that changed are printed") {
  Diagnosis proven = device_report();
  proven.passes.push_back({session::PassKind::confirm, "proven", 3, 0, 0});
  proven.passes.back().judged = analyse::Rerun::Outcome::proven;
  proven.findings[0].evidence = {analyse::Fact::ran_alone, "in a rerun, call 1,847 of this line ran alone and failed"};
  TextOptions options{Verbosity::normal, false, 80, false};
  options.is_latest = true;
  RerunText text(python_report(), options);
  const auto messages = text.finish(proven);
  REQUIRE(messages.size() == 3);
  CHECK(messages[0].text == "confirmed by a rerun (3.0 s): proven");
  CHECK(messages[1].text ==
        "Known   in a rerun, call 1,847 of this line ran alone and failed\n"
        "Device  IndexKernelUtils.cu:16  block 77,0,0 thread 3,0,0; 576 threads, one\n"
        "        assertion\n"
        "        assertion `ind >= 0 && ind < size` failed\n"
        "        Warp Assert in a rerun; same kernel, grid and block\n");
  CHECK(messages[2].text == "the command ran 3 times in all");
}

TEST_CASE("after a rerun that finds another line, the whole report is printed") {
  Diagnosis moved = after(1, {});
  moved.findings[0].location.line = 39;
  const auto messages = RerunText(python_report(), {}).finish(moved);
  REQUIRE(messages.size() == 3);
  CHECK(messages[0].text == "a rerun corrects the first answer: train.py:39  [bracketed]");
  CHECK(messages[1].text == "\n" + write_text(moved, {}));
}

TEST_CASE("isolation stopped the last of several reruns") {
  CHECK(
      first_sentence(1, kept_from_writing()).starts_with("not confirmed: a rerun (3.0 s) was kept from writing ckpt/"));
  CHECK(first_sentence(2, kept_from_writing())
            .starts_with("not confirmed: 2 reruns (6.0 s); the last one was kept from writing ckpt/"));
}

TEST_CASE("after a rerun that wrote too much, an isolated one that may write more is suggested") {
  PassLine line = kept_from_writing();
  CHECK(first_sentence(1, line).ends_with("; to allow it: cudadiag bisect 7"));
  line.reached_write_limit = true;
  CHECK(first_sentence(1, line).ends_with("; to allow it: cudadiag bisect 7 --isolated --write-limit MIB"));
}

TEST_CASE("a proof names its line if there are several") {
  Diagnosis before = python_report();
  before.findings.push_back(before.findings.front());
  before.findings.back().location.line = 60;
  ++before.findings.back().pid;
  Diagnosis proven = before;
  proven.passes.push_back({session::PassKind::confirm, "proven", 3, 0, 0});
  proven.passes.back().judged = analyse::Rerun::Outcome::proven;
  proven.findings[0].evidence = {analyse::Fact::ran_alone, "it ran alone and failed"};
  CHECK(RerunText(before, {}).finish(proven).front().text == "confirmed by a rerun (3.0 s): train.py:41 is proven");
}

}  // namespace rerun_text_test
