// `cudadiag status`: shows what a run is waiting for now.
#include "diagnose/status.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>

#include "commands/commands.h"
#include "diagnose/session_state.h"
#include "options/shared_options.h"
#include "report/status/status_text.h"
#include "session/notes/unrecorded.h"
#include "session/ownership.h"
#include "session/session_reader.h"
#include "sessions/session_choice.h"
#include "symbolize/source_excerpt.h"
#include "terminal/terminal.h"

namespace cudadiag::command {
namespace {

struct StatusOptions {
  std::string session;
  std::optional<std::filesystem::path> output;
  report::Verbosity verbosity = report::Verbosity::normal;
  bool json = false;
};

int carry_out(const StatusOptions& options) {
  auto opened = choose_run(options.output, options.session);
  if (const auto* failure = std::get_if<base::Error>(&opened)) return say(*failure), kOwnFailure;
  auto& run = std::get<supervise::LiveRun>(opened);
  const auto read = run.read();
  if (const auto* failure = std::get_if<base::Error>(&read)) return say(*failure), kOwnFailure;
  const auto& session = std::get<session::Session>(read);
  if (session.processes.empty() && session::is_unused(session.folder)) {
    return say(session.folder.string() + ": " + session::why_unused(session.folder)), kOwnFailure;
  }
  const symbolize::WithheldSources withheld(!session::why_foreign(session).empty());
  diagnose::SessionState state(session);
  const bool is_over = !run.goes_on().value_or(true);
  const analyse::Analysis none;
  const diagnose::Status status =
      diagnose::build_status(session, is_over ? state.analysis() : none, run.goes_on(), state.symbolizer());
  report::TextOptions shown = text_options(options.verbosity, STDOUT_FILENO);
  // Does not wrap lines that are written to a pipe.
  if (::isatty(STDOUT_FILENO) == 0) shown.columns = std::numeric_limits<int>::max();
  const std::string text = options.json ? report::write_status_json(status) : report::write_status_text(status, shown);
  print(text);
  return 0;
}

}  // namespace

void add_status(CLI::App& app, int& status) {
  auto options = std::make_shared<StatusOptions>();
  auto* command = app.add_subcommand("status", "show what a run is waiting for now");
  add_input(command, options->session, options->output);
  command->add_flag_callback(
      "-v,--verbose", [options] { options->verbosity = report::Verbosity::verbose; }, "print all details");
  command->add_flag("--json", options->json, "print JSON");
  name_page(command);
  command->callback([options, &status] { status = carry_out(*options); });
}

}  // namespace cudadiag::command
