#include <doctest/doctest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "diagnose/causes/rule.h"
#include "unit/causes/failed_case.h"

using namespace cudadiag::causes;

namespace {

const std::vector<Rule>& (*const kFamilies[])() = {
    known_bug_rules, indexing_rules, numerics_rules, capture_rules,  pointer_rules, library_rules, allocation_rules,
    launch_rules,    stream_rules,   device_rules,   hardware_rules, kernel_rules,  hang_rules};

template <typename Check>
void each_rule(Check check) {
  for (const auto family : kFamilies) {
    for (const Rule& rule : family()) {
      CAPTURE(rule.id);
      check(rule);
    }
  }
}

}  // namespace

TEST_CASE("the texts of the uncertain rules, and no others, say often or probably") {
  each_rule([](const Rule& rule) {
    for (const std::string_view text : rule.texts) {
      CAPTURE(text);
      const bool unsure = text.find("often ") != text.npos || text.find("probably") != text.npos;
      CHECK(unsure == (rule.sure == Sure::often));
    }
  });
}

TEST_CASE("each rule has a text, a fix, a condition and a well-formed id") {
  each_rule([](const Rule& rule) {
    CHECK(!rule.texts.empty());
    CHECK(!rule.fix.empty());
    CHECK((!rule.codes.empty() || !rule.assertions.empty() || rule.when != nullptr));
    CHECK(std::regex_match(std::string(rule.id), std::regex("[a-z0-9]+(-[a-z0-9]+)*")));
    for (const bool torch : {false, true}) {
      const std::string link = in_dialect(rule.link, {false, torch, torch});
      CHECK((link.empty() || (link.starts_with("https://") && link.find('|') == link.npos)));
    }
  });
}

TEST_CASE("fixes mention calls of the API that the program uses") {
  CHECK(in_dialect("a {cuda:cudaFree|cuMemFree} b{torch:; PyTorch: c}{python:, d|, e}", {}) == "a cudaFree b, e");
  CHECK(in_dialect("a {cuda:cudaFree|cuMemFree} b{torch:; PyTorch: c}{python:, d|, e}", {true, true, true}) ==
        "a cuMemFree b; PyTorch: c, d");
  CHECK(in_dialect("{bytes} {torch", {}) == "{bytes} {torch");
  each_rule([](const Rule& rule) {
    for (const std::string_view step : rule.fix) {
      for (const bool driver : {false, true}) {
        for (const bool torch : {false, true}) {
          const std::string said = in_dialect(step, {driver, true, torch});
          CAPTURE(said);
          // Any of these shows that a text has an unmatched brace or bar.
          for (const char* raw : {"{cuda:", "{python:", "{torch:", "|"}) CHECK(said.find(raw) == said.npos);
        }
      }
    }
  });
}

TEST_CASE("a step for PyTorch is shown only to PyTorch programs") {
  Failed failed = refused_call(904, "cuStreamEndCapture");
  CHECK(explain(failed)->fix.size() == 1);
  failed.dialect.torch = true;
  CHECK(explain(failed)->fix.size() == 2);
}

TEST_CASE("without failed most codes have no cause") {
  CHECK(id_of(Failed()) == "none");
  for (std::uint32_t code = 0; code < 1000; ++code) {
    Failed failed;
    failed.finding.code = code;
    failed.finding.kind = analyse::Kind::async_error;
    const auto cause = explain(failed);
    // Only hardware errors and the last rules of the kernel family may match the error code alone.
    const std::set<std::uint32_t> telling = {214, 220, 226, 702, 714, 715, 717, 718, 721, 912};
    CAPTURE(code);
    CHECK((cause.has_value()) == (telling.count(code) > 0));
  }
}

TEST_CASE("the man page lists each cause exactly once") {
  std::ifstream file(MAN_PAGE);
  std::ostringstream page;
  page << file.rdbuf();
  const std::string text = page.str();
  std::multiset<std::string> listed;
  const std::regex entry("\n\\.TP\n\\.B ([a-z0-9\\\\-]+)\n");
  for (std::sregex_iterator at(text.begin(), text.end(), entry), end; at != end; ++at) {
    listed.insert(std::regex_replace((*at)[1].str(), std::regex("\\\\-"), "-"));
  }
  std::multiset<std::string> known;
  for (const std::string_view id : cause_ids()) known.insert(std::string(id));
  CHECK(listed == known);
}
