// Writes a session in all output formats. No output may contain control characters that a terminal would interpret.
#pragma once

#include <string>

#include "diagnose/session_state.h"
#include "diagnose/status.h"
#include "report/status.h"
#include "report/writers.h"

namespace cudadiag::test {

inline void expect_plain(const std::string& text) {
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f) __builtin_trap();
  }
  // U+0080 to U+009F: some terminals interpret these as escape sequences.
  for (std::size_t at = 0; (at = text.find('\xc2', at)) != text.npos; ++at) {
    if (at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) < 0xa0) __builtin_trap();
  }
}

inline void put_on_paper(const session::Session& session) {
  diagnose::SessionState state(session);
  const diagnose::Diagnosis& report = state.diagnosis();
  const report::TextOptions verbose = {.verbosity = report::Verbosity::verbose};
  expect_plain(report::write_text(report, verbose));
  report::write_json(report);
  expect_plain(report::write_sarif(report, "1"));
  expect_plain(report::write_html(report, diagnose::pictures_of(state)));
  const diagnose::Status status = diagnose::build_status(session, state.analysis(), true, state.symbolizer());
  expect_plain(report::write_status_text(status, verbose));
  expect_plain(report::write_status_text(status, {}));
  report::write_status_json(status);
  report::ActivityWatch watch;
  watch.look(session);
  expect_plain(report::write_activity("cudadiag: running", watch.look(session), 40, 100));
}

}  // namespace cudadiag::test
