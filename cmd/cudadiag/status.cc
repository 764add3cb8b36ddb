#include "diagnose/status.h"

#include <unistd.h>

#include <cstdio>
#include <limits>

#include "commands.h"
#include "report/status_text.h"
#include "session/ownership.h"
#include "session/session_reader.h"
#include "session/unrecorded.h"
#include "session_choice.h"
#include "symbolize/source_excerpt.h"
#include "symbolize/symbolizer.h"
#include "terminal.h"

namespace cudadiag::command {

int status(const StatusOptions& options) {
  auto opened = choose_run(options.output, options.session);
  if (const auto* failure = std::get_if<session::Failure>(&opened)) return say(*failure), kOwnFailure;
  auto& run = std::get<supervise::LiveRun>(opened);
  const auto read = run.read();
  if (const auto* failure = std::get_if<session::Failure>(&read)) return say(*failure), kOwnFailure;
  const auto& session = std::get<session::Session>(read);
  if (session.processes.empty() && session::is_unused(session.folder)) {
    return say(session.folder.string() + ": " + session::why_unused(session.folder)), kOwnFailure;
  }
  const symbolize::WithheldSources withheld(!session::why_foreign(session).empty());
  symbolize::Symbolizer symbolizer(session);
  const diagnose::Status status = diagnose::build_status(session, run.goes_on(), symbolizer);
  report::TextOptions shown = text_options(options.verbosity, STDOUT_FILENO);
  // A pipe's lines are not broken.
  if (::isatty(STDOUT_FILENO) == 0) shown.columns = std::numeric_limits<int>::max();
  const std::string text = options.json ? report::write_status_json(status) : report::write_status_text(status, shown);
  print(text);
  return 0;
}

}  // namespace cudadiag::command
