// Options as all subcommands have them: what they accept, how --help shows them, and how a refusal reads.
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cudadiag::command {

// Parses the command line; callbacks of `app` run inside. Throws what CLI11 throws.
void parse(CLI::App& app, std::vector<std::string> words);

// The error in the command line, for say().
std::string complaint(const CLI::App& app, const CLI::ParseError& error);

// The word that was probably meant, if one differs by few letters or by case alone; else empty.
std::string closest(std::string_view given, const std::vector<std::string>& words);
// "; did you mean report?", or empty.
std::string did_you_mean(std::string_view given, const std::vector<std::string>& words);

// Help that shows only the name of a type, and defaults in words. Subcommands that are added later get it too.
void set_help_format(CLI::App& app);

// The heading that --help itself is under, the first of each help.
inline constexpr const char* kMainGroup = "Options";

// Puts these options of `command` under one heading of its help, in the order in which they were added.
void group(CLI::App* command, const std::string& heading, const std::vector<std::string>& options);

// Refuses empty text: it comes from a variable of a script that was never set.
CLI::Option* add_text(CLI::App* command, const std::string& name, std::string& text, const std::string& type,
                      const std::string& description);
CLI::Option* add_text(CLI::App* command, const std::string& name, std::optional<std::string>& text,
                      const std::string& type, const std::string& description);

// Once or more, one text each time.
CLI::Option* add_texts(CLI::App* command, const std::string& name, const std::string& type,
                       const std::string& description);

// FILE:LINE.
CLI::Validator a_line();
// A file that can be written, or made; "-" is none.
CLI::Validator a_writable_file();
CLI::Validator an_existing_folder();

// Any value. `wanted` says in messages what it may be.
CLI::Validator a_value(const std::string& wanted);

template <typename Value>
using Words = std::vector<std::pair<std::string, Value>>;

// One of these words; the present `value` is the default.
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

// The numbers that an option takes, and how help and errors write them: "number from 1 to 1000".
template <typename Value>
struct NumberRange {
  Value least, most;
  std::string text;
};

// A decimal number: no hexadecimal, no sign, no infinity, nothing that is not a number.
template <typename Value, typename Target>
CLI::Option* add_number(CLI::App* command, const std::string& name, Target& value, const NumberRange<Value>& range,
                        const std::string& type, const std::string& description) {
  auto* option = command->add_option_function<std::string>(
      name,
      [=, &value](const std::string& given) {
        Value number{};
        const char* end = given.data() + given.size();
        const auto [rest, error] = std::from_chars(given.data(), end, number);
        const bool inside = number >= range.least && number <= range.most;  // false for what is not a number
        if (error != std::errc() || rest != end || !inside) {
          throw CLI::ValidationError(name.substr(name.find("--")), "expected a " + range.text + ", got " + given);
        }
        value = number;
      },
      description);
  return option->type_name(type)->check(a_value("a " + range.text));
}

}  // namespace cudadiag::command
