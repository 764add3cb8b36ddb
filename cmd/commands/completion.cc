// `cudadiag completion`: prints the completion script for a shell.
//
// The scripts ask cudadiag itself what may follow: `cudadiag completion for WORD...`, with the words of the command
// line up to the cursor. The answer has a row for each candidate, with its description after a tab. If the shell
// completes the word better, the answer is only ":files", ":folders", or ":command N": a command begins at the Nth of
// these words.
#include <CLI/CLI.hpp>
#include <memory>
#include <string_view>
#include <utility>

#include "command_line.h"
#include "commands/commands.h"
#include "session/session_reader.h"
#include "terminal.h"

namespace cudadiag::command {
namespace {

// bash splits --option=value into three words.
constexpr const char* kBash = R"sh(# bash completion for cudadiag; printed by: cudadiag completion bash
_cudadiag() {
  local current=${COMP_WORDS[COMP_CWORD]} rows row at
  [[ $current == = ]] && current=
  COMPREPLY=()
  mapfile -t rows < <(cudadiag completion for "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  case ${rows[0]} in
    :files) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
    :folders) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
    :command*)
      at=${rows[0]#:command }
      if declare -F _command_offset >/dev/null; then
        _command_offset "$at"
      elif ((COMP_CWORD == at)); then
        mapfile -t COMPREPLY < <(compgen -c -- "$current")
      else
        compopt -o default
      fi ;;
    *) for row in "${rows[@]}"; do COMPREPLY+=("${row%%$'\t'*}"); done ;;
  esac
}
complete -F _cudadiag cudadiag
)sh";

constexpr const char* kZsh = R"sh(#compdef cudadiag
# zsh completion for cudadiag; printed by: cudadiag completion zsh
_cudadiag() {
  local -a rows
  local at
  rows=("${(@f)$(cudadiag completion for "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  case $rows[1] in
    :files) compset -P '*='; _files ;;
    :folders) compset -P '*='; _files -/ ;;
    :command*) at=${rows[1]#:command }; shift $at words; ((CURRENT -= at)); _normal ;;
    ?*) rows=("${(@)rows//:/\\:}"); rows=("${(@)rows/$'\t'/:}"); _describe -V -t values value rows ;;
  esac
}
if [[ $funcstack[1] == _cudadiag ]]; then _cudadiag "$@"; else compdef _cudadiag cudadiag; fi
)sh";

constexpr const char* kFish = R"sh(# fish completion for cudadiag; printed by: cudadiag completion fish
function __cudadiag
  set -l words (commandline -opc) (commandline -ct)
  set -l rows (cudadiag completion for $words[2..-1] 2>/dev/null)
  switch "$rows[1]"
    case :files
      __fish_complete_path (string replace -r '^--[^=]*=' '' -- $words[-1])
    case :folders
      __fish_complete_directories (string replace -r '^--[^=]*=' '' -- $words[-1])
    case ':command*'
      set -l at (math (string replace ':command ' '' -- $rows[1]) + 1)
      complete -C (string join ' ' -- (string escape -- $words[$at..-2]) $words[-1])
    case '?*'
      printf '%s\n' $rows
  end
end
complete -c cudadiag -f -a '(__cudadiag)'
)sh";

using Candidates = std::vector<std::string>;

std::string candidate(const std::string& word, const std::string& description) { return word + "\t" + description; }

Candidates subcommands(const CLI::App& app) {
  Candidates rows;
  for (const CLI::App* each : app.get_subcommands([](const CLI::App* any) { return !any->get_group().empty(); })) {
    rows.push_back(candidate(each->get_name(), each->get_description()));
  }
  return rows;
}

// `at` is the number of words before the value.
Candidates values_of(const CLI::Option& option, std::size_t at) {
  const std::string type = option.get_type_name();
  Candidates rows;
  if (type.find('|') != std::string::npos) {
    rows = CLI::detail::split(type, '|');
  } else if (type == "FILE" || type == "PATH" || type == "FILE:LINE") {
    rows = {":files"};
  } else if (type == "FOLDER") {
    rows = {":folders"};
  } else if (type == "SESSION") {
    const auto sessions = session::listed_in(session::roots_to_read(std::nullopt));
    for (std::size_t i = 0; i < sessions.size(); ++i) {
      rows.push_back(candidate(std::to_string(i + 1), sessions[i].filename().string()));
    }
  } else if (option.get_name(true) == "COMMAND") {
    rows = {":command " + std::to_string(at + 1)};
  }
  return rows;
}

Candidates starting_with(std::string_view start, Candidates rows, const std::string& before = "") {
  if (!rows.empty() && rows.front().starts_with(':')) return rows;
  std::erase_if(rows, [&](const std::string& each) { return !each.starts_with(start); });
  for (std::string& each : rows) each.insert(0, before);
  return rows;
}

Candidates options_of(const CLI::App& command) {
  Candidates rows;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_snames())
      rows.push_back(candidate("-" + name, option->get_description()));
    for (const std::string& name : option->get_lnames())
      rows.push_back(candidate("--" + name, option->get_description()));
  }
  return rows;
}

// Completes the last word of a subcommand's command line.
Candidates in_command(const CLI::App& command, const std::vector<std::string>& words) {
  const std::size_t last = words.size() - 1;
  const CLI::Option* valued = nullptr;  // the option whose value comes next
  std::size_t at = 1;
  for (; at < last; ++at) {
    // bash splits --option=value into three words.
    if (words[at] == "=") continue;
    if (std::exchange(valued, nullptr) != nullptr) continue;
    if (words[at] == "--" || !words[at].starts_with('-')) break;
    const CLI::Option* option = command.get_option_no_throw(words[at]);
    if (option != nullptr && option->get_items_expected_max() > 0) valued = option;
  }
  const std::string current = words[last] == "=" ? "" : words[last];
  if (valued != nullptr) return starting_with(current, values_of(*valued, last));
  if (at == last && current.starts_with('-')) {
    const std::size_t equals = current.find('=');
    if (equals == current.npos) return starting_with(current, options_of(command));
    const CLI::Option* option = command.get_option_no_throw(current.substr(0, equals));
    if (option == nullptr) return {};
    return starting_with(current.substr(equals + 1), values_of(*option, last), current.substr(0, equals + 1));
  }
  if (at < last && words[at] == "--") ++at;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional()) return starting_with(current, values_of(*option, at));
  }
  return {};
}

}  // namespace

Candidates completions(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty()) return {};
  Candidates commands = subcommands(app);
  if (words.size() == 2 && words[0] == "help") return starting_with(words[1], commands);
  if (words.size() == 1) {
    for (const char* each : {"help", "--help", "--version"}) commands.emplace_back(each);
    return starting_with(words[0], commands);
  }
  const auto named = app.get_subcommands([&](const CLI::App* each) { return each->get_name() == words[0]; });
  return named.empty() ? Candidates() : in_command(*named.front(), words);
}

void add_completion(CLI::App& app, int& status) {
  auto script = std::make_shared<const char*>(kBash);
  auto* command = app.add_subcommand("completion", "print the completion script for a shell");
  const Words<const char*> scripts = {{"bash", kBash}, {"zsh", kZsh}, {"fish", kFish}};
  add_word(command, "SHELL", *script, scripts, "the shell");
  command->footer("For bash, without a package: eval \"$(cudadiag completion bash)\"\nSee also: man cudadiag");
  command->callback([script, &status] {
    print(*script);
    status = 0;
  });
}

}  // namespace cudadiag::command
