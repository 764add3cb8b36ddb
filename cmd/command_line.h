// Parses the command line: the subcommand, option values and error messages. Writes the texts that --help, --help-all
// and --version print.
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cudadiag::command {

// Parses the command line and runs the callbacks of `app`. Throws CLI11's exceptions.
void parse(CLI::App& app, std::vector<std::string> words);

// Returns the text to pass to say() for a command-line error.
std::string complaint(const CLI::App& app, const CLI::ParseError& error);

// Returns the word in `words` that the user probably meant: one that differs only in case, or by a few letters. Returns
// "" if there is none.
std::string closest(std::string_view given, const std::vector<std::string>& words);
// Returns text such as "; did you mean report?"; empty if no word is similar.
std::string did_you_mean(std::string_view given, const std::vector<std::string>& words);

// Rejects empty text, which usually comes from an unset variable in a script.
CLI::Option* add_text(CLI::App* command, const std::string& name, std::string& text, const std::string& type,
                      const std::string& description);
CLI::Option* add_text(CLI::App* command, const std::string& name, std::optional<std::string>& text,
                      const std::string& type, const std::string& description);

// Adds an option that can be given more than once, with one text each time.
CLI::Option* add_texts(CLI::App* command, const std::string& name, const std::string& type,
                       const std::string& description);

CLI::Validator a_line();
// Accepts a file that can be created or written. Rejects "-".
CLI::Validator a_writable_file();
// Rejects a regular file that is standard output or standard error, because the command also writes to it.
CLI::Validator not_an_output_of_the_command();
CLI::Validator an_existing_folder();

// Rejects empty text. An unset variable in a script must not select the default.
CLI::Validator some_text(const std::string& type);
// Accepts any text. `wanted` describes the value in error messages.
CLI::Validator a_value(const std::string& wanted);

template <typename Value>
using Words = std::vector<std::pair<std::string, Value>>;

// Adds an option that accepts one of `words`. The default is the initial content of `value`.
template <typename Value, typename Target>
CLI::Option* add_word(CLI::App* command, const std::string& name, Target& value, const Words<Value>& words,
                      const std::string& description) {
  std::string alternatives, listed;
  for (const auto& [word, meaning] : words) {
    alternatives += (alternatives.empty() ? "" : "|") + word;
    listed += (listed.empty() ? "" : ", ") + word;
  }
  auto* option = command->add_option_function<std::string>(
      name,
      [=, &value](const std::string& given) {
        for (const auto& [word, meaning] : words) {
          if (word == given) return void(value = meaning);
        }
        throw CLI::ValidationError(name, "expected one of " + listed + ", got " + given);
      },
      description);
  for (const auto& [word, meaning] : words) {
    if (value == meaning) option->default_str(word);
  }
  return option->type_name(alternatives)->check(a_value("one of " + listed).name(""));
}

// The numbers that an option accepts. `text` is the description in help and errors, such as "number from 1 to 1000".
template <typename Value>
struct NumberRange {
  Value least, most;
  std::string text;
};

// Adds an option that accepts a decimal number without a sign. Rejects hexadecimal numbers, infinity and NaN.
template <typename Value, typename Target>
CLI::Option* add_number(CLI::App* command, const std::string& name, Target& value, const NumberRange<Value>& range,
                        const std::string& type, const std::string& description) {
  auto* option = command->add_option_function<std::string>(
      name,
      [=, &value](const std::string& given) {
        Value number{};
        const char* end = given.data() + given.size();
        const auto [rest, error] = std::from_chars(given.data(), end, number);
        const bool inside = number >= range.least && number <= range.most;  // false for NaN
        if (error != std::errc() || rest != end || !inside) {
          throw CLI::ValidationError(name.substr(name.find("--")), "expected a " + range.text + ", got " + given);
        }
        value = number;
      },
      description);
  return option->type_name(type)->check(a_value("a " + range.text));
}

// Returns an error message if the first word is not a subcommand; empty if it is one. CLI11's own message does not name
// the word. Names cudadiag's command for a verb of another tool.
std::string wrong_first_word(const CLI::App& app, const std::vector<std::string>& words);

// Turns "help run" into "run --help", and "top" into "status --follow".
std::vector<std::string> in_current_words(std::vector<std::string> words);

// The group of subcommands that only --help-all lists.
inline constexpr const char* kRareCommands = "Rarely needed";

// Makes --help show the value type and the default of each option, also for subcommands added later. --help lists the
// options without a heading. --help-all lists all except those in the group "".
void set_help_format(CLI::App& app);

// Lists these options of `command` under one heading of --help-all, in the order in which they were added.
void group(CLI::App* command, const std::string& heading, const std::vector<std::string>& options);

// The commit that this program was built from, or "unknown". Defined by the file that commit.cmake writes.
extern const char* const kCommit;

// Returns the text of --version, whose first line is like "cudadiag 1.2.3".
std::string version_text();

}  // namespace cudadiag::command
