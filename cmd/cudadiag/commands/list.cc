#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/printable.h"
#include "commands/commands.h"
#include "diagnose/words.h"
#include "options/command_line.h"
#include "options/shared_options.h"
#include "session/notes/unrecorded.h"
#include "session/session_reader.h"
#include "terminal/terminal.h"

namespace cudadiag::command {
namespace {

std::string ending(const session::Manifest& manifest, bool goes_on) {
  if (goes_on) return "goes on";
  if (manifest.passes.empty()) return "not finished";
  const session::ProcessEnd& end = manifest.passes.front().end;
  if (end.signal) return "signal " + std::to_string(*end.signal);
  return end.code ? "exit " + std::to_string(*end.code) : "not finished";
}

std::string joined(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + diagnose::shell_word(word);
  return line;
}

// Fit to be pasted, wherever the shell is then.
std::string named(const std::filesystem::path& folder) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(folder, error);
  return diagnose::shell_word((error ? folder : absolute).string());
}

// Without a manifest, what the launcher wrote when it began, or the recorded processes themselves say.
std::string command_line(const std::filesystem::path& path, const session::Manifest& manifest) {
  if (!manifest.command.empty()) return joined(manifest.command);
  const session::Manifest running = session::open_running_manifest(path);
  if (!running.command.empty()) return joined(running.command);
  const auto opened = session::open_session(path);
  if (const auto* failure = std::get_if<session::Failure>(&opened)) return "(" + base::printable(failure->what) + ")";
  for (const session::Process& process : std::get<session::Session>(opened).processes) {
    if (!process.argv.empty()) return joined(process.argv);
  }
  const session::Unrecorded left = session::unrecorded_in(path / session::kRecordFolder);
  const std::string why = left.processes > 0 ? session::nothing_recorded_of(left).what : session::why_unused(path);
  return "(command not known: " + base::printable(why) + ")";
}

int carry_out(const std::optional<std::string>& output) {
  std::optional<std::filesystem::path> folder;
  if (output) folder = *output;
  const std::vector<session::Root> roots = session::roots_to_read(folder);
  if (const auto failure = session::misnamed(roots)) return say(*failure), kOwnFailure;
  const std::vector<std::filesystem::path> sessions = session::sessions_in(roots);
  for (const std::filesystem::path& path : sessions) {
    const auto manifest = session::open_manifest(path);
    const bool goes_on = session::run_goes_on(path);
    std::printf("%s  %-12s  %s\n", named(path).c_str(), ending(manifest, goes_on).c_str(),
                command_line(path, manifest).c_str());
  }
  if (const auto failure = session::obstacle_to_reading(roots)) {
    return say(*failure), sessions.empty() ? kOwnFailure : 0;
  }
  if (sessions.empty()) say("there is no session yet; sessions come from failures: cudadiag run -- COMMAND");
  return 0;
}

}  // namespace

void add_list(CLI::App& app, int& status) {
  auto output = std::make_shared<std::optional<std::string>>();
  auto* command = app.add_subcommand("list", "list the sessions, newest first");
  add_output(command, *output);
  command->get_option("--output")->check(an_existing_folder());
  command->callback([output, &status] { status = carry_out(*output); });
}

}  // namespace cudadiag::command
