#include <doctest/doctest.h>

#include <algorithm>

#include "report/writers.h"
#include "unit/report/sample_reports.h"

namespace html_test {

using namespace cudadiag;
using namespace cudadiag::diagnose;
using namespace cudadiag::report;

namespace {

std::size_t occurrences(const std::string& text, const std::string& of) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(of, at)) != text.npos; at += of.size()) ++count;
  return count;
}

}  // namespace

TEST_CASE("a page begins with the verdict, its line, its grade and the cause") {
  Diagnosis report = python_report();
  report.findings[0].cause = Cause{"id", "idx[0,77] = 30050, but the table has 30000 rows", {}, "", true, {}};
  const std::string page = write_html(report);
  CHECK(page.find("<title>cudadiag: illegal memory access (700) in train.py:41, forward [bracketed]</title>") !=
        page.npos);
  CHECK(page.find("<h1>illegal memory access in <code>train.py:41</code><small>, forward</small></h1>") != page.npos);
  CHECK(page.find("<span class=\"badge bracketed\" title=\"completion markers rule out all operations except one\">") !=
        page.npos);
  CHECK(page.find("<span class=\"badge\">CUDA_ERROR_ILLEGAL_ADDRESS (700)</span>") != page.npos);
  CHECK(page.find("<p class=\"lead\">idx[0,77] = 30050, but the table has 30000 rows</p>") != page.npos);
  CHECK(page.find("<span class=\"at\"><i>41</i>  y = self.emb(idx)</span>") != page.npos);
  CHECK(page.find("<li>check the pointers</li>") != page.npos);
  CHECK(page.find("void gather&lt;16, long&gt;(long*, int)  grid 4096,1,1") != page.npos);
  CHECK(page.find("<h2>The run</h2>\n<table class=\"facts\">\n<tr><th>Passes</th>") != page.npos);
}

TEST_CASE("processes that failed alike share an article, and others have separate ones") {
  Diagnosis report = refused_report();
  for (std::size_t i = 0; i < 3; ++i) report.findings[i].rank = static_cast<int>(i);
  std::string page = write_html(report);
  CHECK(occurrences(page, "<article") == 1);
  CHECK(page.find("<span class=\"badge\">ranks 0, 1 and 2 alike</span>") != page.npos);
  report.findings[2].code = 700;
  page = write_html(report);
  CHECK(occurrences(page, "<article") == 2);
  CHECK(page.find("ranks 0 and 1 alike") != page.npos);
  CHECK(page.find("<span class=\"badge\">rank 2</span>") != page.npos);
}

TEST_CASE("a line that is only likely is not called the line that failed") {
  Diagnosis report = python_report();
  const auto heading = [&](analyse::Fact fact) {
    report.findings[0].evidence.add(fact);
    const std::string page = write_html(report), before = "<figure class=\"own\"><figcaption><b>";
    const std::size_t begin = page.find(before) + before.size();
    return page.substr(begin, page.find("</b>", begin) - begin);
  };
  CHECK(heading(analyse::Fact::ran_alone) == "The line that failed");
  CHECK(heading(analyse::Fact::one_running) == "The line that failed");
  CHECK(heading(analyse::Fact::several_running) == "The likeliest line");
  CHECK(heading(analyse::Fact::rule) == "The suspected line");
}

namespace {

std::vector<symbolize::SourceLine> numbered(int from, int to) {
  std::vector<symbolize::SourceLine> lines;
  for (int number = from; number <= to; ++number) lines.push_back({number, "text " + std::to_string(number)});
  return lines;
}

FindingPictures quoting(const Finding& finding, int blamed) {
  FindingPictures pictures;
  pictures.own = Quotation{finding.location, numbered(36, 46)};
  Location at = finding.location;
  at.line = blamed;
  pictures.blamed = Quotation{at, numbered(blamed - 5, blamed + 5)};
  return pictures;
}

}  // namespace

TEST_CASE("the blamed line is quoted next to the true one, or in the same excerpt if it is near") {
  const Diagnosis report = python_report();
  std::string page = write_html(report, {quoting(report.findings[0], 88)});
  CHECK(occurrences(page, "<figure class=\"own\">") == 1);
  CHECK(occurrences(page, "<figure class=\"blamed\">") == 1);
  CHECK(page.find("<span class=\"at\"><i>88</i>text 88</span>") != page.npos);
  page = write_html(report, {quoting(report.findings[0], 44)});
  CHECK(occurrences(page, "<figure class=\"blamed\">") == 0);
  CHECK(page.find("<span class=\"at\"><em>failed</em><i>41</i>text 41</span>") != page.npos);
  CHECK(page.find("<span class=\"other\"><em>blamed</em><i>44</i>text 44</span>") != page.npos);
  CHECK(occurrences(page, "<i>46</i>") == 1);
  CHECK(occurrences(page, "<i>49</i>") == 1);
}

TEST_CASE("a timeline has a box for each operation in the order of issue, and the markers") {
  const Diagnosis report = python_report();
  FindingPictures pictures;
  Timeline& timeline = pictures.timeline.emplace();
  timeline.columns = 3;
  DrawnOperation first, second, other;
  first.column = 0;
  first.work = second.work = session::Work::kernel;
  first.progress = DrawnProgress::finished;
  first.marked = first.marker_written = true;
  second.column = 2;
  second.kernel = "void scale(int)";
  second.progress = DrawnProgress::failed;
  second.marked = true;
  other.column = 1;
  other.work = session::Work::copy;
  timeline.streams = {{"the default stream", 0, 7, {first, second}}, {"stream 0x10", 1234, 0, {other}}};
  const std::string page = write_html(report, {pictures});
  CHECK(occurrences(page, "class=\"box finished\"") == 1);
  CHECK(occurrences(page, "class=\"box failed\"") == 1);
  CHECK(occurrences(page, "class=\"box not-known\"") == 1);
  const std::size_t a = page.find("class=\"box finished\""), b = page.find("class=\"box failed\"");
  CHECK(page.rfind("x=\"44.0\"", a) > page.rfind("<rect", a));
  CHECK(page.rfind("x=\"216.0\"", b) > page.rfind("<rect", b));
  CHECK(occurrences(page, "completion marker, written") == 1);
  CHECK(occurrences(page, "completion marker, never written") == 1);
  CHECK(page.find(">1,234 …<") != page.npos);
  CHECK(page.find(">… 7<") != page.npos);
}

TEST_CASE("names of people, hosts and home folders are removed on request") {
  Diagnosis report = python_report();
  report.findings[0].location.file = "/home/ann/train.py";
  report.working_directory = "/";
  CHECK(write_html(report).find("node7") != std::string::npos);
  const Redaction names({"/home/ann"}, {"ann"}, {"node7"});
  const std::string page = write_html(report, {}, {&names, "1.0.0"});
  CHECK(page.find("node7") == page.npos);
  CHECK(page.find("/home/ann") == page.npos);
  CHECK(page.find("Written by cudadiag 1.0.0") != page.npos);
}

TEST_CASE("long rows and stacks are folded, and links are links") {
  Diagnosis report = python_report();
  report.findings[0].stack.python.assign(9, {"/home/u/deep.py", 7, "deeper", true});
  report.findings[0].cause = Cause{"id", "why", {}, "https://example.org/a?b=1&c=2", true, {}};
  const std::string page = write_html(report);
  CHECK(page.find("<details><summary>Python, 9 lines</summary><pre>* ") != page.npos);
  CHECK(page.find(
            R"(<a href="https://example.org/a?b=1&amp;c=2" rel="noreferrer">https://example.org/a?b=1&amp;c=2</a>)") !=
        page.npos);
}

TEST_CASE("a page without a failure says so, and repeats nothing") {
  CHECK(write_html(clean_report()).find("<h1>no CUDA failure in this session</h1>") != std::string::npos);
  Diagnosis report = clean_report();
  report.verdict = analyse::Verdict::inconclusive;
  report.notes = {{analyse::NoteCode::launcher, "the recording is damaged"}, {analyse::NoteCode::launcher, "and old"}};
  const std::string page = write_html(report);
  CHECK(
      page.find(
          "<h1>cannot tell whether CUDA failed in this session</h1>\n<p class=\"lead\">the recording is damaged</p>") !=
      page.npos);
  CHECK(occurrences(page.substr(page.find("</title>")), "the recording is damaged") == 1);
  CHECK(page.find("and old") != page.npos);
}

// For any input, the page contains no scripts and no references to other files.
TEST_CASE("a page has no script and loads nothing") {
  for (const Diagnosis& report : {python_report(), native_report(), crowded_report(), explained_report(),
                                  clean_report(), parted_ranks_report()}) {
    const std::string page = write_html(report, {quoting(python_report().findings[0], 88)});
    for (const char* none : {"<script", "javascript:", "src=", "url(", "@import", "<link", "<iframe", "<object", "<img",
                             "http-equiv=\"refresh"}) {
      CHECK_MESSAGE(page.find(none) == page.npos, none);
    }
    CHECK(page.find("default-src 'none'; style-src 'unsafe-inline'") != page.npos);
  }
}

TEST_CASE("data from the program stays text, whatever it contains") {
  const std::string attack = "</div><script>alert(\"1\")</script><img src='x' onerror=y>\x1b[2J";
  Diagnosis report = native_report();
  Finding& finding = report.findings[0];
  for (std::string* text : {&finding.title, &finding.text, &finding.via, &finding.location.file,
                            &finding.location.function, &finding.candidates[1].because}) {
    *text = attack;
  }
  finding.evidence.retell(attack);
  finding.source.excerpt = {{12, attack}};
  finding.fix = {attack, "https://example.org/\"onclick=\"y"};
  finding.stack.python = {{attack, 1, attack, true}};
  report.notes = {{analyse::NoteCode::launcher, attack}};
  report.command = {attack};
  report.gpus = {attack};
  FindingPictures pictures;
  pictures.own = Quotation{finding.location, {{12, attack}}};
  pictures.blamed = Quotation{{attack, attack, symbolize::Language::python, attack, "", 3}, {{3, attack}}};
  Timeline& timeline = pictures.timeline.emplace();
  timeline.columns = 1;
  DrawnOperation operation;
  operation.kernel = attack;
  operation.location = finding.location;
  timeline.streams = {{attack, 0, 0, {operation}}};
  std::string page = write_html(report, {pictures});
  page.erase(0, page.find("</style>"));
  CHECK(page.find("script>") == page.npos);
  CHECK(page.find("<script") == page.npos);
  CHECK(page.find("<img") == page.npos);
  CHECK(page.find("onclick=\"") == page.npos);
  CHECK(page.find("\x1b") == page.npos);
  CHECK(page.find("&lt;script&gt;alert(&quot;1&quot;)") != page.npos);
}

TEST_CASE("only cudadiag's own links can be clicked, and the command has no secrets") {
  Diagnosis report = python_report();
  report.findings[0].fix = {"https://evil.example/x"};
  report.findings[0].noticed.at->source = "https://evil.example/z";
  report.notes = {{analyse::NoteCode::launcher, "https://evil.example/y"}};
  report.command = {"python", "--token", "s3cr3t"};
  report.processes = {{7, 1, {"python", "--password=s3cr3t"}, {}, {}, {}}};
  const std::string page = write_html(report);
  CHECK(page.find("<a href") == std::string::npos);
  CHECK(page.find("s3cr3t") == std::string::npos);
  CHECK(page.find("--token REDACTED") != std::string::npos);
}

TEST_CASE("a page on a session that may belong to another user says why it has no source, and offers no rerun") {
  Diagnosis report = python_report();
  report.session = "/s";
  CHECK(write_html(report).find("cudadiag bisect") != std::string::npos);
  report.foreign = "it was recorded on another host (evilbox)";
  const std::string page = write_html(report);
  CHECK(page.find("another host (evilbox). If you trust the session, add --foreign") != std::string::npos);
  CHECK(page.find("cudadiag bisect") == std::string::npos);
}

}  // namespace html_test
