// `cudadiag list`: lists the sessions.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "commands/commands.h"
#include "options/command_line.h"
#include "options/shared_options.h"
#include "session/session_reader.h"
#include "sessions/session_list.h"
#include "terminal/terminal.h"

namespace cudadiag::command {
namespace {

struct ListOptions {
  std::optional<std::filesystem::path> output;
  bool json = false;
  std::optional<std::size_t> count;  // how many sessions to list; nullopt: all
};

int carry_out(const ListOptions& options) {
  const std::vector<session::Root> roots = session::roots_to_read(options.output);
  // The sessions of the default folder are not those that the user asked for.
  const auto missing = session::misnamed(roots);
  auto folders = missing ? std::vector<std::filesystem::path>() : session::listed_in(roots);
  if (options.count && *options.count < folders.size()) folders.resize(*options.count);
  const std::vector<ListedSession> sessions = listed_sessions(folders);
  if (options.json) {
    print(list_json(sessions));
  } else if (!sessions.empty()) {
    print(list_text(sessions, columns_of(STDOUT_FILENO)));
  }
  if (missing) return say(base::Error{"no session was found: " + missing->what, missing->hint}), 0;
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
  add_number(command, "-n,--count", options->count, NumberRange<std::size_t>{1, 1000000, "number from 1 to 1000000"},
             "COUNT", "list only the newest COUNT sessions");
  command->add_flag("--json", options->json, "print JSON");
  command->callback([options, &status] { status = carry_out(*options); });
}

}  // namespace cudadiag::command
