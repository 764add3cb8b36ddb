#include "options/first_word.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "launch/command_path.h"
#include "options/command_line.h"

namespace cudadiag::command {
namespace {

// Verbs of other tools, and what to run instead.
constexpr std::pair<std::string_view, std::string_view> kForeignVerbs[] = {
    {"record", "to record a program: cudadiag run -- COMMAND"},
    {"memcheck", "to find an invalid access: cudadiag run -- COMMAND, then cudadiag bisect --sanitize"},
    {"racecheck",
     "to find races between streams: cudadiag races -- COMMAND; within a kernel: compute-sanitizer --tool racecheck "
     "COMMAND"},
    {"initcheck", "cudadiag does not look for uninitialised memory; use compute-sanitizer --tool initcheck COMMAND"},
    {"synccheck", "cudadiag does not check barriers in kernels; use compute-sanitizer --tool synccheck COMMAND"},
    {"show", "to print the report of a session: cudadiag report [SESSION]"},
    {"version", "to print the version: cudadiag --version"},
    {"trace", "cudadiag records no timeline; use nsys profile COMMAND. To find a failure: cudadiag run -- COMMAND"},
    {"profile", "cudadiag measures no times; use nsys profile COMMAND. To find a failure: cudadiag run -- COMMAND"},
};

}  // namespace

std::string wrong_first_word(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty()) return "no command was given; see cudadiag --help";
  const std::string& word = words.front();
  if (!app.get_subcommands([&](const CLI::App* command) { return command->get_name() == word; }).empty()) return "";
  for (const char* option : {"-h", "--help", "--help-all", "-V", "--version"}) {
    if (word == option) return "";
  }
  if (word == "--") return "no command was given before --; to run a program: cudadiag run -- PROGRAM";
  if (word.starts_with('-')) {
    return "no such option before a command: " + word + "; options follow the command: cudadiag COMMAND " + word;
  }
  if (word == "attach") return "cudadiag cannot attach to a running process; for what it can do: man cudadiag";
  for (const auto& [verb, hint] : kForeignVerbs) {
    if (word == verb) return "no such command " + word + "; " + std::string(hint);
  }
  std::vector<std::string> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); })) {
    commands.push_back(command->get_name());
  }
  const std::string meant = did_you_mean(word, commands);
  const bool program = !launch::find_command(word).path.empty(), script = word.ends_with(".py");
  if (program || script || word.find('/') != std::string::npos) {
    const char* interpreter = script && !program ? "python3 " : "";
    return "no such command " + word + "; to run a program: cudadiag run -- " + interpreter + word + " …";
  }
  return "no such command " + word + (meant.empty() ? "; see cudadiag --help" : meant);
}

std::vector<std::string> in_current_words(std::vector<std::string> words) {
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    words.resize(std::min<std::size_t>(words.size(), 1));
    words.emplace_back("--help");
  }
  if (!words.empty() && words.front() == "top") {
    words.front() = "--follow";
    words.insert(words.begin(), "status");
  }
  return words;
}

}  // namespace cudadiag::command
