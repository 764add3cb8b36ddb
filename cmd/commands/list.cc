// The subcommands list, keep and rm, which list, protect and remove sessions.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "command_line.h"
#include "commands/commands.h"
#include "diagnose/words.h"
#include "session/retention.h"
#include "session/session_reader.h"
#include "session/session_trust.h"
#include "session/session_writer.h"
#include "sessions/session_list.h"
#include "shared_options.h"
#include "terminal.h"

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

namespace {

namespace fs = std::filesystem;
using base::Error;

struct Selection {
  std::vector<std::string> wanted;
  std::optional<fs::path> output;
  bool force = false;  // remove sessions even if they are protected
  bool undo = false;   // remove the protection
};

using Deed = std::optional<Error> (*)(const fs::path& session, const Selection& selection);

std::optional<Error> keep_one(const fs::path& folder, const Selection& selection) {
  if (selection.undo ? session::unkeep(folder) : session::keep(folder)) return std::nullopt;
  return Error{"cannot change the protection of " + folder.string() + ": " + std::strerror(errno), ""};
}

std::optional<Error> remove_one(const fs::path& folder, const Selection& selection) {
  if (session::is_being_written(folder)) {
    return Error{folder.string() + " was not removed: its run is in progress", "remove it once the run has ended"};
  }
  if (session::is_kept(folder) && !selection.force) {
    return Error{folder.string() + " was not removed: cudadiag keep protects it",
                 "to remove it: cudadiag rm --force " + diagnose::shell_word(folder.string())};
  }
  const bool whole = session::remove_session(folder);
  session::mend_latest(folder.parent_path());
  if (whole) return say("removed " + folder.string()), std::nullopt;
  return Error{"not all of " + folder.string() + " was removed: it holds files that cudadiag did not write",
               "check them, then remove the folder with rm -r"};
}

// Returns true if the user gave a folder of sessions rather than a session. Other subcommands then use the folder's
// newest session. Doing so here could remove the wrong session.
bool is_folder_of(const std::string& wanted, const fs::path& session) {
  std::error_code error;
  return fs::is_directory(wanted, error) && fs::equivalent(wanted, session.parent_path(), error);
}

// Returns the path with the session's name, and with the folder that holds the session. The user may have given only
// the name, or "." for the working folder.
fs::path whole_path(const fs::path& session) {
  std::error_code error;
  const bool is_named = session.filename() != "." && session.filename() != "..";
  const fs::path whole = is_named ? fs::absolute(session, error) : fs::canonical(session, error);
  return error ? session : whole;
}

// Finds all sessions before removing any, because each removal renumbers the remaining sessions.
int carry_out(const Selection& selection, Deed deed) {
  const auto roots = session::roots_to_read(selection.output);
  std::vector<fs::path> folders;
  for (const std::string& wanted : selection.wanted) {
    const fs::path folder = whole_path(taken(session::find_session(roots, wanted)));
    if (!session::is_session(folder)) {
      throw Error{folder.string() + " is not one of your sessions", "to list all sessions: cudadiag list"};
    }
    if (is_folder_of(wanted, folder)) {
      throw Error{wanted + " is a folder of sessions, not a session",
                  "to list its sessions: cudadiag list -o " + diagnose::shell_word(wanted)};
    }
    if (std::ranges::find(folders, folder) == folders.end()) folders.push_back(folder);
  }
  int status = 0;
  for (const fs::path& folder : folders) {
    if (const auto failure = deed(folder, selection)) say(*failure), status = kOwnFailure;
  }
  return status;
}

std::shared_ptr<Selection> add(CLI::App& app, int& status, const char* name, const char* what, Deed deed) {
  auto selection = std::make_shared<Selection>();
  auto* command = app.add_subcommand(name, what);
  command
      ->add_option("SESSION", selection->wanted,
                   "sessions: number in cudadiag list, name, beginning of the name, or folder")
      ->type_name("SESSION")
      ->check(some_text("SESSION"))
      ->required();
  add_existing_output(command, selection->output);
  command->callback([selection, deed, &status] { status = carry_out(*selection, deed); });
  return selection;
}

}  // namespace

void add_keep(CLI::App& app, int& status) {
  const auto selection = add(app, status, "keep", "protect sessions from removal", keep_one);
  app.get_subcommand("keep")->add_flag("--undo", selection->undo, "no longer protect them");
}

void add_rm(CLI::App& app, int& status) {
  const auto selection = add(app, status, "rm", "remove sessions", remove_one);
  app.get_subcommand("rm")->add_flag("-f,--force", selection->force, "also remove protected sessions");
}

}  // namespace cudadiag::command
