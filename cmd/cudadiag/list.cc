#include <cstdio>
#include <filesystem>

#include "commands.h"
#include "session/session_reader.h"
#include "terminal.h"

namespace cudadiag::command {
namespace {

std::string ending(const session::Manifest& manifest) {
  if (manifest.passes.empty()) return "not finished";
  const session::ProcessEnd& end = manifest.passes.front().end;
  if (end.signal) return "signal " + std::to_string(*end.signal);
  return end.code ? "exit " + std::to_string(*end.code) : "not finished";
}

std::string command_line(const session::Manifest& manifest) {
  std::string line;
  for (const std::string& word : manifest.command) line += (line.empty() ? "" : " ") + word;
  return line.empty() ? "(started without cudadiag run)" : harmless(line);
}

}  // namespace

int list(const std::optional<std::string>& output) {
  std::optional<std::filesystem::path> folder;
  if (output) folder = *output;
  bool any = false;
  for (const session::Root& root : session::roots(folder)) {
    for (const std::filesystem::path& path : session::sessions_in(root.folder)) {
      any = true;
      const auto manifest = session::open_manifest(path);
      std::printf("%s  %-12s  %s\n", path.string().c_str(), ending(manifest).c_str(), command_line(manifest).c_str());
    }
  }
  if (!any) say("there is no session yet; sessions come from failures: cudadiag run -- COMMAND");
  return 0;
}

}  // namespace cudadiag::command
