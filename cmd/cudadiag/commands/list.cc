// `cudadiag list`: lists the sessions.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commands/commands.h"
#include "options/shared_options.h"
#include "session/session_reader.h"
#include "sessions/session_list.h"
#include "terminal/terminal.h"

namespace cudadiag::command {
namespace {

struct ListOptions {
  std::optional<std::filesystem::path> output;
  bool json = false;
};

int carry_out(const ListOptions& options) {
  const std::vector<session::Root> roots = session::roots_to_read(options.output);
  if (const auto failure = session::misnamed(roots)) return say(*failure), kOwnFailure;
  const std::vector<ListedSession> sessions = listed_sessions(session::listed_in(roots));
  if (options.json) {
    print(list_json(sessions));
  } else if (!sessions.empty()) {
    print(list_text(sessions, columns_of(STDOUT_FILENO)));
  }
  if (const auto failure = session::obstacle_to_reading(roots)) {
    return say(*failure), sessions.empty() ? kOwnFailure : 0;
  }
  if (sessions.empty()) say("no session was found; cudadiag run -- COMMAND keeps one if something fails");
  return 0;
}

}  // namespace

void add_list(CLI::App& app, int& status) {
  auto options = std::make_shared<ListOptions>();
  auto* command = app.add_subcommand("list", "list the sessions, newest first");
  add_existing_output(command, options->output);
  command->add_flag("--json", options->json, "print JSON");
  command->callback([options, &status] { status = carry_out(*options); });
}

}  // namespace cudadiag::command
