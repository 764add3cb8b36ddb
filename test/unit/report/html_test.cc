#include "report/html.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "unit/report/sample_reports.h"

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

TEST_CASE("a page has its findings, each with headline, source and rows, and then the run") {
  const std::string page = write_html(python_report());
  CHECK(page.find("<title>cudadiag: illegal memory access (700) in train.py:41, forward [bracketed]</title>") !=
        page.npos);
  CHECK(page.find("<h2>cudadiag: illegal memory access (700) in train.py:41, forward  [bracketed]</h2>") != page.npos);
  CHECK(page.find("\n<mark>  &gt;  41 |   y = self.emb(idx) ") != page.npos);
  CHECK(page.find("<tr><th>Fix</th><td><div>check the pointers</div></td></tr>") != page.npos);
  CHECK(page.find("void gather&lt;16, long&gt;(long*, int)  grid 4096,1,1") != page.npos);
  CHECK(page.find("<article>\n<table>\n<tr><th>Passes</th><td><div>record 62 s bracketed</div>") != page.npos);
  CHECK(occurrences(page, "<article>") == 2);
  CHECK(occurrences(write_html(refused_report()), "<article>") == 4);
}

TEST_CASE("long stacks are folded, and links are links") {
  Diagnosis report = python_report();
  CHECK(write_html(report).find("<details>") == std::string::npos);
  report.findings[0].stack.python.assign(9, {"/home/u/deep.py", 7, "deeper", true});
  report.findings[0].cause = Cause{"id", "why", {}, "https://example.org/a?b=1&c=2", true, {}};
  const std::string page = write_html(report);
  CHECK(page.find("<tr><th>Python</th><td class=\"fact\"><details><summary>9 lines</summary><div>* ") != page.npos);
  CHECK(page.find(
            R"(<a href="https://example.org/a?b=1&amp;c=2" rel="noreferrer">https://example.org/a?b=1&amp;c=2</a>)") !=
        page.npos);
}

TEST_CASE("a clean session's page says so") {
  const std::string page = write_html(clean_report());
  CHECK(page.find("<title>cudadiag: no CUDA failure in this session</title>") != page.npos);
  CHECK(page.find("<pre>cudadiag: no CUDA failure in this session\n</pre>") != page.npos);
}

TEST_CASE("what the program says is text, whatever it looks like") {
  const std::string attack = "</div><script>alert(\"1\")</script><img src='x' onerror=y>\x1b[2J";
  Diagnosis report = native_report();
  Finding& finding = report.findings[0];
  for (std::string* text : {&finding.title, &finding.text, &finding.via, &finding.location.file,
                            &finding.location.function, &finding.candidates[1].because}) {
    *text = attack;
  }
  finding.because = attack;
  finding.excerpt = {{12, attack}};
  finding.fix = {attack, "https://example.org/\"onclick=\"y"};
  finding.stack.python = {{attack, 1, attack, true}};
  report.notes = {{analyse::NoteCode::launcher, attack}};
  report.command = {attack};
  report.gpus = {attack};
  std::string page = write_html(report);
  page.erase(0, page.find("</style>"));
  CHECK(page.find("script>") == page.npos);
  CHECK(page.find("<script") == page.npos);
  CHECK(page.find("<img") == page.npos);
  CHECK(page.find("onclick=\"") == page.npos);
  CHECK(page.find("\x1b") == page.npos);
  CHECK(page.find("&lt;script&gt;alert(&quot;1&quot;)") != page.npos);
}

TEST_CASE("only links of ours are links, and the command is without its secrets") {
  Diagnosis report = python_report();
  report.findings[0].fix = {"https://evil.example/x"};
  report.notes = {{analyse::NoteCode::launcher, "https://evil.example/y"}};
  report.command = {"python", "--token", "s3cr3t"};
  report.processes = {{7, 1, {"python", "--password=s3cr3t"}, {}, {}, {}}};
  const std::string page = write_html(report);
  CHECK(page.find("<a href") == std::string::npos);
  CHECK(page.find("s3cr3t") == std::string::npos);
  CHECK(page.find("--token REDACTED") != std::string::npos);
}

TEST_CASE("a page of a session that may be somebody else's says why it has no source, and offers no rerun") {
  Diagnosis report = python_report();
  report.session = "/s";
  CHECK(write_html(report).find("cudadiag bisect") != std::string::npos);
  report.foreign = "it was recorded on another host (evilbox)";
  const std::string page = write_html(report);
  CHECK(page.find("another host (evilbox). If you trust it, add --foreign") != std::string::npos);
  CHECK(page.find("cudadiag bisect") == std::string::npos);
}
