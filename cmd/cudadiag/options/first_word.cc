#include "options/first_word.h"

#include <algorithm>

#include "launch/command_path.h"
#include "options/command_line.h"

namespace cudadiag::command {

std::string wrong_first_word(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty()) return "no command was given; see cudadiag --help";
  const std::string& word = words.front();
  if (!app.get_subcommands([&](const CLI::App* command) { return command->get_name() == word; }).empty()) return "";
  if (word == "-h" || word == "--help" || word == "-V" || word == "--version") return "";
  if (word == "--") return "no command was given before --; to run a program: cudadiag run -- PROGRAM";
  if (word.starts_with('-')) {
    return "no such option before a command: " + word + "; options follow the command: cudadiag COMMAND " + word;
  }
  if (word == "attach") return "cudadiag cannot attach to a running process; for what it can do: man cudadiag";
  std::vector<std::string> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); })) {
    commands.push_back(command->get_name());
  }
  const std::string meant = did_you_mean(word, commands);
  const bool program = !launch::find_command(word).path.empty();
  if (program) return "no such command " + word + "; to run a program: cudadiag run -- " + word + " …";
  return "no such command " + word + (meant.empty() ? "; see cudadiag --help" : meant);
}

std::vector<std::string> with_help_at_the_end(std::vector<std::string> words) {
  if (words.empty() || words.front() != "help") return words;
  words.erase(words.begin());
  words.resize(std::min<std::size_t>(words.size(), 1));
  words.emplace_back("--help");
  return words;
}

}  // namespace cudadiag::command
