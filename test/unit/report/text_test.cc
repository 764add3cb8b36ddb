#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "diagnose/failure/finding_builder.h"
#include "report/finding_text.h"
#include "report/text_layout.h"
#include "report/writers.h"
#include "unit/report/sample_reports.h"

namespace text_test {

using namespace cudadiag;
using namespace cudadiag::diagnose;
using namespace cudadiag::report;

namespace {

void check_golden(const std::string& written, const std::string& name) {
  const std::string expected = read_file(TEST_DATA "/report/" + name);
  CHECK(written.size() == expected.size());
  CHECK(written == expected);
}

const TextOptions kVerbose = [] {
  TextOptions options{Verbosity::verbose, false, 100, false};
  options.sanitizes = true;
  return options;
}();

}  // namespace

TEST_CASE("an asynchronous failure in Python") { check_golden(write_text(python_report(), {}), "python.txt"); }
TEST_CASE("an asynchronous failure in Python, verbose") {
  check_golden(write_text(python_report(), kVerbose), "python_verbose.txt");
}
TEST_CASE("a failure with a GPU core dump") { check_golden(write_text(device_report(), {}), "device.txt"); }
TEST_CASE("a failure with a GPU core dump, verbose") {
  check_golden(write_text(device_report(), kVerbose), "device_verbose.txt");
}
TEST_CASE("native code called through ctypes, several candidates") {
  check_golden(write_text(native_report(), {}), "native.txt");
}
TEST_CASE("a rejected launch in several processes") { check_golden(write_text(refused_report(), {}), "refused.txt"); }

TEST_CASE("the answer for a job leads, and ranks with equal findings share a line") {
  Diagnosis report = refused_report();
  for (int rank = 0; rank < 3; ++rank) report.findings[static_cast<std::size_t>(rank)].rank = rank;
  GroupsPart& groups = report.groups.emplace();
  groups.kind = cudadiag::analyse::GroupAnswer::Kind::absence;
  groups.title = "group tp1";
  groups.function = "all_reduce";
  groups.number = 481;
  const auto at = [](int line) {
    return Location{"/home/u/model.py", "forward", symbolize::Language::python, "", "", line};
  };
  groups.ranks = {{100, 0, 0, true, "all_reduce 481 of 64 float32", at(230), ""},
                  {102, 2, 1, false, "", at(212), "is on the host"}};
  const std::string sentence =
      "cudadiag: rank 2 never reached all_reduce 481 of group tp1: it is on the host at /home/u/model.py:212, "
      "forward\n";
  const TextOptions wide{Verbosity::normal, false, 200, false};
  const std::string text = write_text(report, wide);
  CHECK(text.starts_with(sentence + "cudadiag: invalid configuration (9)"));
  CHECK(text.find("Ranks   rank 0: all_reduce 481 of 64 float32 at /home/u/model.py:230, forward\n") != text.npos);
  CHECK(text.find("the same on ranks 1 and 2\n") != text.npos);
  CHECK(text.find("also:") == text.npos);
  report.findings[2].location.function = "shift";
  CHECK(write_text(report, wide).find("the same on rank 1\nalso: rank 2: invalid configuration (9) in shift") !=
        text.npos);
  CHECK(write_text(report, {Verbosity::quiet, false, 100, false}) == sentence);
  CHECK(write_text(report, {Verbosity::verbose, false, 200, false}).starts_with(sentence));
}

TEST_CASE("default streams are named without a handle") {
  Diagnosis report = native_report();
  const auto line = [&](std::uint64_t stream) {
    report.findings[0].launch->stream = stream;
    const std::string text = write_text(report, {});
    const std::size_t at = text.find("\nWhat") + 1;
    return text.substr(at, text.find('\n', at) - at);
  };
  CHECK(line(0x1) == "What    copy  default stream");
  CHECK(line(0x2) == "What    copy  per-thread default stream");
  CHECK(line(0x10) == "What    copy  stream A");
  CHECK(line(0) == "What    copy");
}

TEST_CASE("a broken capture: the line that began it, and the call that noticed") {
  Diagnosis report = python_report();
  Finding& finding = report.findings[0];
  finding.kind = cudadiag::analyse::Kind::capture_violation;
  finding.launch->operation = session::Work::call;
  finding.noticed.api = "cudaStreamEndCapture";
  finding.related = {{diagnose::Role::capture,
                      {"/home/u/train.py", "main", symbolize::Language::python, "with torch.cuda.graph(g):", "", 86}}};
  const auto section = [&](const std::string& label) {
    const std::string text = write_text(report, {});
    const std::size_t at = text.find("\n" + label);
    return at == text.npos ? "" : text.substr(at + 1, text.find('\n', at + 1) - at - 1);
  };
  CHECK(section("Capture") == "Capture begun at train.py:86, main");
  CHECK(section("Blamed") == "Blamed  train.py:88 loss.item() (cudaStreamEndCapture): innocent");
  CHECK(section("Call") == "");
  SUBCASE("only the call that broke it failed") {
    finding.noticed.at = finding.location;
    CHECK(section("Blamed") == "");
    CHECK(section("Call") == "Call    cudaStreamEndCapture");
  }
}

TEST_CASE("a changed node of a graph: the lines that created, changed and replayed it") {
  Diagnosis report = python_report();
  Finding& finding = report.findings[0];
  finding.kind = cudadiag::analyse::Kind::graph_node;
  finding.launch->graph_node = NodeNumber{3, 5, 1};
  finding.launch->replay = 2;
  finding.related = {{diagnose::Role::capture, {"/home/u/train.py", "record", symbolize::Language::python, "", "", 30}},
                     {diagnose::Role::update, {"/home/u/train.py", "forward", symbolize::Language::python, "", "", 41}},
                     {diagnose::Role::replay, {"/home/u/train.py", "main", symbolize::Language::python, "", "", 88}}};
  CHECK(write_text(report, {})
            .find("\nGraph   captured at train.py:30, record\n"
                  "        changed at train.py:41, forward\n"
                  "        replayed at train.py:88, main, replay 2\n") != std::string::npos);
}

TEST_CASE("the Why row has the cause with the values that prove it") {
  const std::string text = write_text(explained_report(), {});
  const std::size_t at = text.find("\nWhy") + 1;
  CHECK(text.substr(at, text.find("\nKnown") - at) ==
        "Why     idx[0,77] = 30050, but the table has 30000 rows\n"
        "        idx int64 [8,512] cuda:0, min 0, max 30050, 3 too large");
  CHECK(text.find("Means") == text.npos);
  const std::string verbose = write_text(explained_report(), kVerbose);
  CHECK(
      verbose.find("        parameter 0, at 0x7f0000001200, 512 bytes into 4,096 bytes freed at train.py:39, forward\n"
                   "Means   A kernel read or wrote memory that is not its own.\n"
                   "See     https://pytorch.org/docs\n") != verbose.npos);
}

TEST_CASE("indices outside on one side, or on both") {
  Diagnosis report = explained_report();
  Argument& index = report.findings[0].arguments[0];
  const auto line = [&] {
    const std::string text = write_text(report, {});
    const std::size_t at = text.find("        idx");
    return text.substr(at + 8, text.find('\n', at) - at - 8);
  };
  index.min = std::int64_t{-4};
  CHECK(line() == "idx int64 [8,512] cuda:0, min -4, max 30050, 3 not in 0..29999");
  index.max = std::int64_t{29999};
  CHECK(line() == "idx int64 [8,512] cuda:0, min -4, max 29999, 3 negative");
}

TEST_CASE("a CUDA library whose own status hides this error") {
  Diagnosis report = python_report();
  report.findings[0].noticed.library = "libcublas.so.13";
  const std::string text = write_text(report, {});
  CHECK(text.find("Blamed  train.py:88 loss.item() (cudaMemcpyAsync): innocent\n"
                  "        libcublas.so.13 issued that call; its own status hides this error\n") != text.npos);
}

TEST_CASE("the call that returned the error is innocent if the failed operation is known") {
  Diagnosis report = python_report();
  report.findings[0].launch.reset();
  CHECK(write_text(report, {}).find("(cudaMemcpyAsync): it returned the error;") != std::string::npos);
}

TEST_CASE("a kernel is only the likeliest if a graph is possible too") {
  Diagnosis report = python_report();
  Finding& finding = report.findings[0];
  CandidateLine graph;
  graph.launch.operation = session::Work::graph;
  finding.candidates = {{finding.location, *finding.launch, "next", 1}, graph};
  CHECK(possible_kernels(finding).several());
  const auto kernel_line = [&] {
    const std::string text = write_text(report, {});
    const std::size_t at = text.find("\nKernel");
    return text.substr(at + 1, text.find('\n', at + 1) - at - 1);
  };
  CHECK(kernel_line().ends_with("  the likeliest"));
  finding.candidates.pop_back();
  CHECK_FALSE(possible_kernels(finding).several());
  CHECK_FALSE(kernel_line().ends_with("  the likeliest"));
}

TEST_CASE("quiet is one line for each finding") {
  diagnose::Diagnosis report = python_report();
  report.findings.push_back(report.findings.front());
  const std::string two = write_text(report, {Verbosity::quiet, false, 100, false});
  report.findings.pop_back();
  const std::string one = write_text(report, {Verbosity::quiet, false, 100, false});
  CHECK(two == one + one);
}

TEST_CASE("quiet is one line for the same finding in several processes") {
  diagnose::Diagnosis report = python_report();
  report.findings.push_back(report.findings.front());
  ++report.findings.back().pid;
  CHECK(write_text(report, {Verbosity::quiet, false, 100, false}) ==
        "cudadiag: illegal memory access (700) in train.py:41, forward [bracketed], in 2 processes\n");
}

TEST_CASE("a long run: the time of the error") {
  Diagnosis report = python_report();
  CHECK(write_text(report, {}).find("\nTime ") == std::string::npos);
  report.findings[0].noticed.when->since_cuda = 18'120;
  CHECK(write_text(report, {}).find("\nTime    2026-11-21T10:15:41Z, 5 h 2 min after the process initialised CUDA\n") !=
        std::string::npos);
}

TEST_CASE("quiet is one line") {
  CHECK(write_text(python_report(), {Verbosity::quiet, false, 100, false}) ==
        "cudadiag: illegal memory access (700) in train.py:41, forward [bracketed]\n");
}

TEST_CASE("a clean session prints nothing unless asked") {
  CHECK(write_text(clean_report(), {}) == "");
  CHECK(write_text(clean_report(), {Verbosity::normal, false, 100, true}) ==
        "cudadiag: no CUDA failure in this session\n");
  CHECK(write_text(clean_report(), kVerbose) == "cudadiag: no CUDA failure in this session\n");
}

TEST_CASE("a failure takes at most 22 lines of 80 columns or more, and ends with the command to paste") {
  for (const int columns : {40, 60, 80, 100, 200}) {
    for (const Diagnosis& report :
         {python_report(), native_report(), refused_report(), device_report(), crowded_report()}) {
      const std::string text = write_text(report, {Verbosity::normal, false, columns, false});
      CHECK(std::count(text.begin(), text.end(), '\n') <= (columns < 80 ? 22 * 80 / columns : 22));
      for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find('\n', at);
        const std::string line = text.substr(at, end - at);
        if (at > 0 && line.find("cudadiag ") == line.npos) CHECK(line.size() <= static_cast<std::size_t>(columns));
        at = end + 1;
      }
      if (!report.session.empty()) CHECK(text.ends_with(" -v\n"));
    }
  }
}

TEST_CASE("the time and the command of the run are shown on request, in one line") {
  TextOptions options;
  CHECK(write_text(python_report(), options).find("\nRun     ") == std::string::npos);
  options.show_run = true;
  Diagnosis report = python_report();
  report.started = "2026-11-21T10:15:00Z";
  report.command = {"python", "train.py", "two words"};
  CHECK(write_text(report, options).find("\nRun     2026-11-21T10:15:00Z  python train.py 'two words'\nNext    ") !=
        std::string::npos);
  report.command.push_back(std::string(200, 'x'));
  const std::string cut = write_text(report, options);
  CHECK(cut.find("xxx...\nNext    ") != std::string::npos);
  report.command.clear();  // recorded without a launcher
  report.processes = {{1, 0, {"sh"}, {}, {}, {}}, {report.findings[0].pid, 1, {"python", "serve.py"}, {}, {}, {}}};
  CHECK(write_text(report, options).find("\nRun     2026-11-21T10:15:00Z  python serve.py\n") != std::string::npos);
}

TEST_CASE("README shows its example as it is printed") {
  TextOptions options;
  options.is_latest = options.show_run = true;
  const std::string shown = write_text(example_report(), options);
  CAPTURE(shown);
  CHECK(read_file(TEST_DATA "/../../README.md").find("\n" + shown + "```\n") != std::string::npos);
}

TEST_CASE("what is unknown on the GPU, and the passes, have rows only with -v") {
  for (const char* row : {"\nDevice", "\nPasses"}) {
    CHECK(write_text(python_report(), {}).find(row) == std::string::npos);
    CHECK(write_text(python_report(), kVerbose).find(row) != std::string::npos);
  }
}

TEST_CASE("streams are A, B and C in the order in which the report mentions them, and addresses with -v") {
  Diagnosis report = native_report();
  report.findings[0].evidence.retell("stream 0x2f00 waits for stream 0x1f00, and stream 0x2f00 does not end");
  report.findings[0].source.excerpt = {{12, "puts(\"stream 0x1f00\");"}};
  const std::string text = write_text(report, {});
  CHECK(text.find("stream A waits for stream B, and stream A does not end") != text.npos);
  CHECK(text.find("\nWhat    copy  stream B\n") != text.npos);
  CHECK(text.find("puts(\"stream 0x1f00\");") != text.npos);
  CHECK(write_text(report, kVerbose).find("stream 0x2f00 waits for stream 0x1f00") != text.npos);
}

TEST_CASE("the title has the file's name, and a row has the path unless the stack shows it") {
  Diagnosis report = python_report();
  Finding& finding = report.findings[0];
  const std::string path = "/a/folder/whose/name/is/rather/long/as/those/of/temporary/folders/often/are/model.py";
  finding.location.file = path;
  const TextOptions narrow{Verbosity::normal, false, 80, false};
  std::string text = write_text(report, narrow);
  CHECK(text.starts_with("cudadiag: illegal memory access (700) in model.py:41, forward        [bracketed]\nFile    " +
                         path + "\n"));
  finding.stack.python[0].file = path;
  text = write_text(report, narrow);
  CHECK(text.find("\nFile ") == text.npos);
  CHECK(text.find("        " + path + ":41\n        forward") != text.npos);
  CHECK(write_text(report, kVerbose).starts_with("cudadiag: illegal memory access (700) in model.py:41, forward  ["));
}

TEST_CASE("commands need no session if it is the latest one, and name no missing tool") {
  Diagnosis report = python_report();
  TextOptions options{Verbosity::normal, false, 80, false};
  options.is_latest = true;
  const auto next = [&] {
    const std::string text = write_text(report, options);
    return text.substr(text.find("\nNext") + 1);
  };
  CHECK(next() == "Next    cudadiag bisect  # about 62 s a rerun; it can write files\n        cudadiag report -v\n");
  report.passes.push_back({cudadiag::session::PassKind::confirm, "proven", 66, 0, 0});
  CHECK(next() == "Next    cudadiag report -v\n");
  options.sanitizes = true;
  CHECK(next() ==
        "Next    cudadiag bisect --sanitize  # runs it under compute-sanitizer\n        cudadiag report -v\n");
}

TEST_CASE("a suggested rerun names the risk under MPS, and an exposed session is recorded again") {
  Diagnosis report = python_report();
  report.session = "/open/20261121-101500-4711";
  TextOptions options{Verbosity::normal, false, 200, false};
  const auto next = [&] {
    const std::string text = write_text(report, options);
    const std::size_t begin = text.find("\nNext    ") + 9;
    return text.substr(begin, text.find("\n", begin) - begin);
  };
  report.notes.push_back({cudadiag::analyse::NoteCode::mps, "shared"});
  CHECK(next() ==
        "cudadiag bisect /open/20261121-101500-4711  # about 62 s a rerun; it can write files; under MPS, it can "
        "end other programs");
  report.notes.clear();
  report.exposed = "/open";
  CHECK(next().starts_with(
      "cudadiag run -o FOLDER -- python train.py --name 'two words'  # about 62 s a rerun; it can "));
  CHECK(next().ends_with(" write files; FOLDER must be one that only you can write to"));
}

TEST_CASE("a run with --once is not followed by the advice to use --once") {
  Diagnosis report = python_report();
  report.is_one_rank = true;
  CHECK(write_text(report, {}).find("--once") != std::string::npos);
  report.asked_for_dump = true;
  CHECK(write_text(report, {}).find("--once") == std::string::npos);
}

TEST_CASE("a program that cudadiag did not start is not rerun, so the next run should leave a core dump") {
  Diagnosis report = python_report();
  report.command.clear();
  report.passes.clear();
  const std::string text = write_text(report, {});
  CHECK(text.find("\nNext    eval \"$(cudadiag env --once)\"  # gets a GPU core dump from the next run\n") !=
        text.npos);
}

TEST_CASE("an interrupted hang is a sentence with its line and time") {
  Diagnosis report = python_report();
  Finding& finding = report.findings[0];
  finding.kind = cudadiag::analyse::Kind::hang;
  finding.code = 0;
  finding.title = "hang";
  diagnose::Hang& hang = finding.hang.emplace();
  hang.seconds = 6.2;
  hang.stall = 0;
  hang.interrupted = true;
  const std::string sentence = "cudadiag: interrupted while gather<16, long> (train.py:41) had been running for 6.2 s";
  CHECK(write_text(report, {}).starts_with(sentence));
  CHECK(write_text(report, {Verbosity::quiet, false, 100, false}) == sentence + " [bracketed]\n");
  finding.launch->operation = session::Work::call;
  CHECK(write_text(report, {}).starts_with("cudadiag: interrupted while a call (train.py:41) had been unfinished for"));
}

TEST_CASE("no row of prose is wider than the terminal") {
  for (Diagnosis report : {python_report(), native_report(), refused_report(), device_report(), crowded_report(),
                           explained_report(), undetailed_report(), parted_ranks_report(), clean_report()}) {
    report.working_directory.clear();  // makes paths longer
    for (const int columns : {60, 80, 100, 140}) {
      TextOptions options{Verbosity::normal, false, columns, true};
      options.to_terminal = true;
      std::istringstream text(write_text(report, options));
      for (std::string line; std::getline(text, line);) {
        CAPTURE(line);
        const std::string row = line.substr(std::min(line.find_first_not_of(' ', kLabelWidth), line.size()));
        const bool is_one_piece = row.find(' ') == row.npos || row.starts_with("cudadiag ");
        CHECK((line.size() <= static_cast<std::size_t>(columns) || is_one_piece));
      }
    }
  }
}

TEST_CASE("no cause, fix or blame loses a word to long paths") {
  const std::string folder = "/home/somebody/projects/2026/language_models/experiments/training/version_two/";
  for (Diagnosis report : {python_report(), native_report(), device_report(), explained_report(), example_report()}) {
    Finding& finding = report.findings[0];
    for (Location* location : {&finding.location, finding.noticed.at ? &*finding.noticed.at : &finding.location}) {
      location->file = folder + "model.py";
    }
    for (symbolize::PythonFrame& frame : finding.stack.python) frame.file = folder + "model.py";
    for (CandidateLine& candidate : finding.candidates) candidate.location.file = folder + "other.py";
    finding.launch->replay = 37;
    finding.related.push_back({Role::capture, finding.location});
    finding.related.push_back({Role::replay, finding.location});
    finding.fix = {"check that the pointer is still valid when the kernel runs, and that nothing freed its memory",
                   "or wait for the stream before you free the memory"};
    report.working_directory = "/";
    std::istringstream written(write_text(report, {Verbosity::normal, false, 80, false}));
    std::string label;
    for (std::string line; std::getline(written, line);) {
      if (!line.starts_with(' ')) label = line.substr(0, line.find(' '));
      CAPTURE(line);
      if (label == "Why" || label == "Fix" || label == "Blamed") CHECK_FALSE(line.ends_with(" ..."));
    }
  }
}

TEST_CASE("a source line is cut only at the terminal's width, and never with -v") {
  Diagnosis report = python_report();
  const std::string source = "  y = self.emb(idx) + " + std::string(110, 'x');
  report.findings[0].source.excerpt[1].text = source;
  const std::string call = "  call 1,847 of this line\n";
  CHECK(write_text(report, {Verbosity::normal, false, 180, false}).find(source + call) != std::string::npos);
  CHECK(write_text(report, kVerbose).find(source + call) != std::string::npos);
  const std::string narrow = write_text(report, {Verbosity::normal, false, 120, false});
  CHECK(narrow.find("xxx..." + call) != std::string::npos);
  CHECK(narrow.find("xxx" + call) == std::string::npos);
}

TEST_CASE("the verbose report also names the commands that can find more, a plain rerun first") {
  Diagnosis report = python_report();
  report.session = "/s";
  report.findings[0].tools.not_run = {{"compute-sanitizer --tool memcheck", true}};
  report.command = {"python", "train.py"};
  const auto next = [&] {
    const std::string text = write_text(report, kVerbose);
    const std::size_t at = text.find("\nNext    ");
    return at == text.npos ? "" : text.substr(at + 9, text.find("\nRun", at) - at - 9);
  };
  CHECK(next() == "cudadiag bisect /s  # about 62 s a rerun; it can write files");
  report.passes.push_back({cudadiag::session::PassKind::confirm, "interrupted", 3, 0, 0});
  report.passes.back().cut_short = cudadiag::session::CutShort::interrupted;
  CHECK(next() == "cudadiag bisect /s  # about 62 s a rerun; it can write files");
  CHECK(write_text(report, {}).find("Next    cudadiag bisect /s  #") != std::string::npos);
  report.passes.push_back({cudadiag::session::PassKind::confirm, "proven", 66, 0, 0});
  CHECK(next() ==
        "cudadiag bisect /s --sanitize  # runs it under compute-sanitizer\n"
        "        compute-sanitizer --tool memcheck python train.py");
  report.input_read = true;
  CHECK(next().ends_with("compute-sanitizer --tool memcheck python train.py <INPUT"));
  report.input_read = false;
  // compute-sanitizer checks only kernels.
  report.findings[0].launch->mangled.clear();
  report.findings[0].candidates.clear();
  report.findings[0].tools.not_run.clear();
  CHECK(next().empty());
}

TEST_CASE("a plain rerun is named first if the last rerun could not prove the answer") {
  const auto next = [](const Diagnosis& report) {
    const std::string text = write_text(report, kVerbose);
    const std::size_t at = text.find("\nNext    ");
    return at == text.npos ? "" : text.substr(at + 9, text.find("\nRun", at) - at - 9);
  };
  const std::string sanitize = "cudadiag bisect /s --sanitize  # runs it under compute-sanitizer";
  const std::string plain = "cudadiag bisect /s  # about 62 s a rerun; it can write files";
  Diagnosis report = python_report();
  report.session = "/s";
  report.passes.push_back({cudadiag::session::PassKind::confirm, "was kept from writing mine.log", 3, 0, 0});
  CHECK(next(report) == sanitize);
  report.passes.back().leaves_proof_open = true;
  CHECK(next(report) == plain + "\n        " + sanitize);

  Diagnosis proven = report;
  proven.findings[0].evidence.add(cudadiag::analyse::Fact::ran_alone);
  CHECK(next(proven) == sanitize);
  Diagnosis foreign = report;
  foreign.foreign = "it belongs to another user";
  CHECK(next(foreign).find("bisect") == std::string::npos);
  // A later rerun waited for every operation, so a plain rerun would add nothing.
  report.passes.push_back({cudadiag::session::PassKind::confirm, "failed", 3, 0, 0});
  CHECK(next(report) == sanitize);
}

TEST_CASE("a code that does not say what failed leads to a rerun that waits for every operation") {
  Diagnosis report = python_report();
  report.session = "/s";
  report.findings[0].kind = cudadiag::analyse::Kind::sync_error;
  report.findings[0].evidence.add(cudadiag::analyse::Fact::rule);
  const auto named = [&] {
    return write_text(report, kVerbose)
               .find("\nNext    cudadiag bisect /s --window all  # shows whether earlier GPU work failed;") !=
           std::string::npos;
  };
  for (const auto& [code, expected] : {std::pair(999u, true), std::pair(123456u, true), std::pair(1u, false)}) {
    report.findings[0].code = code;
    CHECK(named() == expected);
  }
  report.findings[0].code = 999;
  report.passes.push_back({cudadiag::session::PassKind::confirm, "did not fail", 3, 0, 0});
  CHECK_FALSE(named());
}

TEST_CASE("a narrow terminal loses no part of a sentence") {
  Diagnosis report = python_report();
  report.findings[0].fix = {
      "check the pointers, indices and sizes that this operation works with, and that its memory "
      "still lives",
      "and then look at the second step"};
  for (const int columns : {40, 60, 80, 120}) {
    std::istringstream written(write_text(report, {Verbosity::normal, false, columns, false}));
    std::string text, word;
    while (written >> word) text += word + ' ';
    CAPTURE(text);
    for (const std::string& step : report.findings[0].fix) CHECK(text.find(step) != text.npos);
    CHECK(text.find("Blamed train.py:88 loss.item() (cudaMemcpyAsync): innocent") != text.npos);
    if (columns >= 60) CHECK(text.find("...") == text.npos);
    CHECK(text.find("A kernel read or wrote memory that is not its own.") != text.npos);
  }
}

TEST_CASE("a narrow terminal shows causes and steps whole") {
  Diagnosis report = explained_report();
  const std::string sentence = "a long sentence that goes on and on, as those of causes and of the steps do, and on ";
  report.findings[0].cause->text = sentence + sentence + "end of it";
  report.findings[0].evidence.retell(sentence + sentence + "end of that");
  report.findings[0].fix = {sentence + "end of the first", sentence + "end of the second"};
  const std::string text = write_text(report, {Verbosity::normal, false, 40, false});
  for (const char* end : {"end of it", "end of that", "end of the first", "end of the second"}) {
    CAPTURE(text);
    std::istringstream written(text);
    std::string joined, word;
    while (written >> word) joined += word + ' ';
    CHECK(joined.find(end) != joined.npos);
  }
}

TEST_CASE("a narrow terminal still names error and line") {
  std::istringstream written(write_text(python_report(), {Verbosity::normal, false, 40, false}));
  std::string joined, word;
  while (written >> word && word != "40") joined += word + ' ';
  CHECK(joined == "cudadiag: illegal memory access (700) in train.py:41 [bracketed] ");
}

TEST_CASE("no member of a report reaches the terminal unescaped") {
  const std::string attack = "a\x1b[2J\xff\n\xc2\x9b";
  Diagnosis report = native_report();
  Finding& finding = report.findings[0];
  for (std::string* text :
       {&finding.title, &finding.text, &finding.via, &finding.host, &finding.location.file, &finding.location.function,
        &finding.caller->function, &finding.candidates[1].because, &finding.candidates[1].location.file}) {
    *text = attack;
  }
  finding.evidence.retell(attack);
  finding.launch->kernel = attack;
  finding.launch->operation = session::Work::kernel;
  finding.fix = {attack};
  finding.noticed.library = attack;
  finding.arguments = explained_report().findings[0].arguments;
  finding.arguments[0].name = finding.arguments[0].dtype = finding.arguments[0].device = attack;
  finding.arguments[0].value = finding.arguments[1].allocation->freed->file = attack;
  finding.cause = Cause{attack, attack, {{attack, attack}}, attack, true, {0, 1}};
  finding.source.excerpt = {{12, attack}};
  Device device;
  device.exception = device.function = device.message = device.join = attack;
  device.callers = {{attack, attack, symbolize::Language::unknown, attack, attack, 1}};
  finding.device_unknown = attack;
  finding.thread_start = ThreadStart{
      {attack, attack, symbolize::Language::unknown, attack, attack, 1}, false, {{attack, 1, attack, true}}};
  finding.stack.python = {{attack, 1, attack, true}};
  finding.stack.native = {{attack, attack, attack, attack, 1, false, true}};
  report.notes = {{analyse::NoteCode::launcher, attack}};
  report.processes = {{1, 0, {attack}, {}, {}, {}}};
  report.passes = {{cudadiag::session::PassKind::confirm, attack, 1, 0, 0}};
  report.gpus = {attack};
  report.driver = report.session = attack;
  for (int with_device = 0; with_device < 2; ++with_device) {
    if (with_device != 0) finding.device = device;
    for (const Verbosity verbosity : {Verbosity::quiet, Verbosity::normal, Verbosity::verbose}) {
      const std::string text = write_text(report, {verbosity, false, 100, false});
      CHECK(std::all_of(text.begin(), text.end(), [](char c) { return c == '\n' || (c >= 0x20 && c < 0x7f); }));
      CHECK(text.find("\n\xc2") == std::string::npos);
    }
  }
}

TEST_CASE("the call of a hang that has no name is described by the work that it issues") {
  Finding finding;
  finding.hang.emplace().seconds = 3;
  finding.noticed.at.emplace().file = "a.cc";
  finding.noticed.at->line = 9;
  CHECK(blamed_text(finding, "") == "a.cc:9 (a call): it only waits");
  finding.hang->issues = session::Work::kernel;
  CHECK(blamed_text(finding, "") == "a.cc:9 (a call that issues a kernel): it only waits");
  finding.noticed.api = "cuCtxSynchronize";
  CHECK(blamed_text(finding, "") == "a.cc:9 (cuCtxSynchronize): it only waits");
}

}  // namespace text_test
