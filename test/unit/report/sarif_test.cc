#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/writers.h"
#include "unit/report/sample_reports.h"

namespace sarif_test {

using namespace cudadiag;
using namespace cudadiag::diagnose;
using namespace cudadiag::report;
using nlohmann::json;

namespace {

json run_of(const Diagnosis& report) { return json::parse(write_sarif(report, "1.2.3"))["runs"][0]; }

// Returns the SARIF artifact location of a finding in this file.
json physical(const std::string& file, const std::string& directory) {
  Diagnosis report = python_report();
  report.working_directory = directory;
  report.findings[0].location.file = file;
  const json location = run_of(report)["results"][0]["locations"][0];
  return location.contains("physicalLocation") ? location["physicalLocation"]["artifactLocation"] : json();
}

std::vector<std::string> related(const Diagnosis& report) {
  std::vector<std::string> texts;
  const json run = run_of(report);
  for (const json& location : run["results"][0]["relatedLocations"]) {
    texts.push_back(location["message"]["text"].get<std::string>());
  }
  return texts;
}

}  // namespace

// When this test was written, its output was checked against the OASIS SARIF schema.
TEST_CASE("a finding in Python") {
  const std::string expected = read_file(TEST_DATA "/report/python.sarif");
  const std::string written = write_sarif(python_report(), "1.2.3");
  CHECK(written.size() == expected.size());
  CHECK(written == expected);
}

TEST_CASE("files are URIs, relative to the working directory inside it") {
  CHECK(physical("/home/u/a b/c%d#e.py", "/home/u") == json{{"uri", "a%20b/c%25d%23e.py"}, {"uriBaseId", "SRCROOT"}});
  CHECK(physical("/home/u/x.py", "/home/u/") == json{{"uri", "x.py"}, {"uriBaseId", "SRCROOT"}});
  CHECK(physical("/home/user/x.py", "/home/u") == json{{"uri", "file:///home/user/x.py"}});
  CHECK(physical("/home/u/x.py", "/") == json{{"uri", "file:///home/u/x.py"}});
  CHECK(physical("/home/u/x.py", "") == json{{"uri", "file:///home/u/x.py"}});
  CHECK(physical("//evil.host/share/x.py", "/home/u") == json{{"uri", "file:///evil.host/share/x.py"}});
  CHECK(physical("/home/u//evil.host/x.py", "/home/u") == json{{"uri", "evil.host/x.py"}, {"uriBaseId", "SRCROOT"}});
  CHECK(physical("sub/x.py", "/home/u") == json{{"uri", "sub/x.py"}, {"uriBaseId", "SRCROOT"}});
  CHECK(physical("a:b.py", "/home/u") == json{{"uri", "./a%3Ab.py"}, {"uriBaseId", "SRCROOT"}});
  CHECK(physical("/home/u/\xc3\xa9\xff.py", "/home/u") == json{{"uri", "%C3%A9%FF.py"}, {"uriBaseId", "SRCROOT"}});
}

TEST_CASE("pseudo files are named, and unknown parts are omitted") {
  Diagnosis report = python_report();
  report.findings[0].location.file = "<string>";
  CHECK(run_of(report)["results"][0]["locations"] ==
        json::array({{{"logicalLocations",
                       json::array({{{"fullyQualifiedName", "<string>:41, forward"}, {"kind", "function"}}})}}}));
  report.findings[0].location = {};
  CHECK(!run_of(report)["results"][0].contains("locations"));
  CHECK(run_of(clean_report())["results"].empty());
}

TEST_CASE("the rules are causes or, without one, errors, each once; a suspected finding is a warning") {
  Diagnosis report = refused_report();
  report.findings[1].cause = Cause{"empty-grid", "a grid of 0", {}, "https://example.org/x", true, {}};
  report.findings[2].name = "CUDA_ERROR_INVALID_VALUE";
  report.findings.push_back(report.findings[1]);
  report.findings[3].evidence.add(cudadiag::analyse::Fact::ran_alone);
  const json run = run_of(report);
  std::vector<std::string> rules;
  for (const json& rule : run["tool"]["driver"]["rules"]) rules.push_back(rule["id"].get<std::string>());
  CHECK(rules == std::vector<std::string>{"unchecked_error", "empty-grid", "CUDA_ERROR_INVALID_VALUE"});
  CHECK(run["tool"]["driver"]["rules"][1]["helpUri"] == "https://example.org/x");
  std::vector<std::size_t> indices;
  for (const json& result : run["results"]) indices.push_back(result["ruleIndex"].get<std::size_t>());
  CHECK(indices == std::vector<std::size_t>{0, 1, 2, 1});
  CHECK(run["results"][0]["level"] == "warning");
  CHECK(run["results"][3]["level"] == "error");
}

TEST_CASE("other lines of a finding are related locations") {
  CHECK(related(native_report()) == std::vector<std::string>{"caller", "another candidate: next on the other stream"});
  Diagnosis report = python_report();
  report.findings[0].related = {{Role::forward, report.findings[0].location, cudadiag::analyse::Fact::matched}};
  report.ranks = RanksPart{3, RanksDifference::absence, {{}, {}}};
  report.ranks->ranks[0].rank = 0;
  report.ranks->ranks[0].has_come = true;
  report.ranks->ranks[1].pid = 4712;
  CHECK(related(report) == std::vector<std::string>{"blamed: train.py:88 loss.item() (cudaMemcpyAsync): innocent",
                                                    "forward (inferred)", "rank 0 is here",
                                                    "process 4712 has not reached the collective; it was here"});
}

TEST_CASE("a calling line is marked as such, and the other access of a race is a related location") {
  Diagnosis report = python_report();
  Finding& finding = report.findings[0];
  finding.noticed.at.reset();
  Location around = {"/home/u/train.py", "main", symbolize::Language::python, "", "", 9};
  finding.related = {
      {diagnose::Role::capture, {"", "", symbolize::Language::cplusplus, "", "/home/u/lib.so", 0, 0x10, {around}}}};
  finding.race = ResolvedRace{};
  finding.race->accesses = {{}, {}};
  finding.race->accesses[0].operation = session::Work::kernel;
  finding.race->accesses[0].mode = session::RaceMode::write;
  CHECK(related(report) == std::vector<std::string>{"capture, called from here",
                                                    "the earlier kernel, unordered with this one: write access"});
  const json run = run_of(report);
  CHECK(run["results"][0]["relatedLocations"][0]["physicalLocation"]["region"]["startLine"] == 9);
}

TEST_CASE("data from the program is ASCII, without control sequences") {
  Diagnosis report = native_report();
  const std::string attack = "a\x1b[2J\xff\n\xc2\x9b\xe2\x80\xae";
  Finding& finding = report.findings[0];
  for (std::string* text : {&finding.title, &finding.text, &finding.location.function, &finding.location.source,
                            &finding.candidates[1].because}) {
    *text = attack;
  }
  finding.evidence.retell(attack);
  finding.stack.native = {{attack, attack, attack, attack, 1, false, true}};
  report.notes = {{analyse::NoteCode::launcher, attack}};
  const std::string written = write_sarif(report, "1.2.3");
  CHECK(std::all_of(written.begin(), written.end(), [](char c) { return c == '\n' || (c >= 0x20 && c < 0x7f); }));
  const json run = json::parse(written)["runs"][0];
  CHECK(run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"] == "a\\x1b[2J\\xff\\n\\u009b\\u202e");
}

TEST_CASE("a library's relative path is not a source of the user's") {
  Diagnosis report = python_report();
  report.findings[0].stack.native.resize(2);
  report.findings[0].stack.native[0].file = "src/mine.cc";
  report.findings[0].stack.native[0].user = true;
  report.findings[0].stack.native[1].file = "sysdeps/nptl/libc_start_call_main.h";
  report.findings[0].stack.native[1].function = "__libc_start_call_main";
  const json stacks = run_of(report)["results"][0]["stacks"];
  const json& frames = stacks.back()["frames"];
  CHECK(frames[0]["location"]["physicalLocation"]["artifactLocation"]["uri"] == "src/mine.cc");
  CHECK(!frames[1]["location"].contains("physicalLocation"));
  CHECK(frames[1]["location"]["logicalLocations"][0]["fullyQualifiedName"] == "__libc_start_call_main");
}

TEST_CASE("the command has no secrets") {
  Diagnosis report = python_report();
  report.command = {"python", "--token", "s3cr3t", "--password=s3cr3t"};
  const std::string text = write_sarif(report, "1.2.3");
  CHECK(text.find("s3cr3t") == std::string::npos);
  CHECK(text.find("--password=REDACTED") != std::string::npos);
}

}  // namespace sarif_test
