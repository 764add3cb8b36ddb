#include "command_line.h"

#include <cuda.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>

#include "diagnose/words.h"
#include "launch/spawn.h"
#include "report/text_layout.h"
#include "wire/area.h"

namespace cudadiag::command {

namespace {

// CLI11 parses "--json -- true" and "--json= -- true" as if "--" were the option's value.
bool is_none(const std::string& given) { return given == "--"; }

template <typename Text>
CLI::Option* add_any_text(CLI::App* command, const std::string& name, Text& text, const std::string& type,
                          const std::string& description) {
  return command->add_option(name, text, description)->type_name(type)->check(some_text(type));
}

// Returns the first option of `given` that `others` links to an option called `name`, by its own name.
std::string hidden_name(const std::vector<const CLI::Option*>& given, const std::string& name,
                        std::set<CLI::Option*> (CLI::Option::*others)() const) {
  for (const CLI::Option* option : given) {
    for (const CLI::Option* other : (option->*others)()) {
      if (other->get_name() == name) return "--" + option->get_lnames().front();
    }
  }
  return "";
}

// CLI11 leaves out the name of an option that the help omits: " requires --hang-after", "--on-hang excludes ". Returns
// the text with the name of the option that was given.
std::string with_hidden_name(const std::string& text, const std::vector<CLI::App*>& selected) {
  constexpr std::string_view kRequires = " requires ", kExcludes = " excludes ";
  if (selected.empty()) return text;
  std::vector<const CLI::Option*> given;
  for (const CLI::Option* option : selected.front()->get_options()) {
    const bool hidden = option->get_group().empty() && !option->get_lnames().empty();
    if (hidden && option->count() > 0) given.push_back(option);
  }
  if (text.starts_with(kRequires)) {
    return hidden_name(given, text.substr(kRequires.size()), &CLI::Option::get_needs) + text;
  }
  if (text.starts_with(kExcludes)) {
    return hidden_name(given, text.substr(kExcludes.size()), &CLI::Option::get_excludes) + text;
  }
  if (text.ends_with(kExcludes)) {
    return text + hidden_name(given, text.substr(0, text.size() - kExcludes.size()), &CLI::Option::get_excludes);
  }
  return text;
}

// Rewords three of CLI11's messages: "--json: 1 required FILE missing", "--output: At Most 1 required but received 2"
// ("At most" since CLI11 2.6) and "races was given a disallowed flag override".
std::string in_plain_words(std::string text, const std::vector<CLI::App*>& selected) {
  if (text.find("ost 1 required but received ") != std::string::npos) {
    return text.substr(0, text.find(": At ")) + " can be given only once";
  }
  if (const std::size_t at = text.find(" was given a disallowed"); at != std::string::npos) {
    return "--" + text.substr(0, at) + " takes no value";
  }
  text = with_hidden_name(text, selected);
  constexpr std::string_view excludes = " excludes ";
  if (const std::size_t at = text.find(excludes); at != std::string::npos) {
    return text.replace(at, excludes.size(), " cannot be combined with ");
  }
  constexpr std::string_view before = ": 1 required ", after = " missing";
  const std::size_t at = text.find(before);
  if (at == std::string::npos || !text.ends_with(after)) return text;
  CLI::Option* option = selected.empty() ? nullptr : selected.front()->get_option_no_throw(text.substr(0, at));
  // parse() inserts unmarked() as validator 0, so validator 1 describes the value.
  const std::string wanted = option == nullptr ? "" : option->get_validator(1)->get_name();
  text.resize(text.size() - after.size());
  return text.replace(at, before.size(), " needs ") + (wanted.empty() ? "" : ", " + wanted);
}

// CLI11 takes a value such as [a,b] for a list, and splits it. A mark in front of each value prevents this, and is
// removed after parsing.
constexpr char kMark = '\x1f';

// Returns the index at which the value starts in "--name=value", "-nvalue" and "value".
std::size_t value_of(std::string_view word) {
  if (!word.starts_with('-')) return 0;
  if (!word.starts_with("--")) return std::min<std::size_t>(2, word.size());
  const std::size_t equals = word.find('=');
  return equals == std::string_view::npos ? word.size() : equals + 1;
}

std::string lower(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(), [](unsigned char c) { return std::tolower(c); });
  return small;
}

// Returns how many edits turn `a` into `b`. An edit inserts, removes or replaces a letter, or swaps two neighbouring
// letters.
std::size_t edits(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before, row(b.size() + 1), last;
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (exchanged) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::vector<std::string> options_of(const std::vector<CLI::App*>& selected) {
  std::vector<std::string> names;
  if (selected.empty()) return names;
  for (const CLI::Option* option : selected.front()->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

bool is_list(std::string_view value) {
  const std::size_t bracket = value.find_first_not_of(kMark);
  return bracket != std::string_view::npos && value[bracket] == '[' && value.ends_with(']');
}

std::string marked(std::string word) {
  const std::size_t at = value_of(word);
  if (is_list(std::string_view(word).substr(at))) word.insert(at, 1, kMark);
  return word;
}

std::string unmarked(std::string word) {
  const std::size_t at = value_of(word);
  const std::string_view value = std::string_view(word).substr(at);
  if (value.starts_with(kMark) && is_list(value)) word.erase(at, 1);
  return word;
}

}  // namespace

void parse(CLI::App& app, std::vector<std::string> words) {
  for (CLI::App* command : app.get_subcommands({})) {
    for (CLI::Option* option : command->get_options()) {
      if (option->get_items_expected_max() > 0) option->transform(unmarked);
      // A flag accepts a value after "=" only if it has a type name. Without a value, the flag's default applies.
      if (option->get_items_expected_max() == 0 && option->get_type_name().empty()) option->disable_flag_override();
    }
  }
  // CLI11 expects the words in reverse order.
  std::transform(words.begin(), words.end(), words.begin(), marked);
  std::ranges::reverse(words);
  app.parse(std::move(words));
}

std::string closest(std::string_view given, const std::vector<std::string>& words) {
  const std::string wanted = lower(given);
  std::string best;
  std::size_t least = given.size() / 3 + 1;
  for (const std::string& word : words) {
    const std::size_t distance = edits(wanted, lower(word));
    if (distance >= least) continue;
    least = distance;
    best = word;
  }
  return best;
}

std::string did_you_mean(std::string_view given, const std::vector<std::string>& words) {
  const std::string word = closest(given, words);
  return word.empty() ? "" : "; did you mean " + word + "?";
}

std::string complaint(const CLI::App& app, const CLI::ParseError& error) {
  const auto selected = app.get_subcommands();
  const std::string help = "; see cudadiag " + (selected.empty() ? "" : selected.front()->get_name() + " ") + "--help";
  for (const std::string& word : app.remaining(true)) {
    if (word == "--") continue;
    const std::string given = unmarked(word);
    if (!word.starts_with('-')) return "one argument too many: " + given + help;
    if (given == "--dry-run") return "no such option: --dry-run; to check this machine without a run: cudadiag doctor";
    const std::string meant = did_you_mean(given.substr(0, given.find('=')), options_of(selected));
    return "no such option: " + given + (meant.empty() ? help : meant);
  }
  std::string text = error.what();
  const CLI::App& command = selected.empty() ? app : *selected.front();
  for (const CLI::Option* option : command.get_options()) {
    const std::string prefix = option->get_name() + ": ";
    const char* value = option->get_envname().empty() ? nullptr : std::getenv(option->get_envname().c_str());
    if (value == nullptr || !text.starts_with(prefix) || !text.ends_with(std::string(" ") + value)) continue;
    text.replace(0, prefix.size(), option->get_envname() + ": ");
  }
  return in_plain_words(text, selected) + (error.get_name() == "ValidationError" ? "" : help);
}

CLI::Option* add_text(CLI::App* command, const std::string& name, std::string& text, const std::string& type,
                      const std::string& description) {
  return add_any_text(command, name, text, type, description);
}

CLI::Option* add_text(CLI::App* command, const std::string& name, std::optional<std::string>& text,
                      const std::string& type, const std::string& description) {
  return add_any_text(command, name, text, type, description);
}

CLI::Option* add_texts(CLI::App* command, const std::string& name, const std::string& type,
                       const std::string& description) {
  return command->add_option(name, description)
      ->type_name(type)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->check(some_text(type));
}

CLI::Validator some_text(const std::string& type) {
  return {[type](const std::string& given) -> std::string {
            if (is_none(given)) return "the " + type + " is missing";
            return given.empty() ? '"' + given + "\" is not a " + type : "";
          },
          ""};
}

CLI::Validator a_value(const std::string& wanted) {
  return {[wanted](const std::string& given) -> std::string {
            return is_none(given) || given.empty() ? "the value is missing: expected " + wanted : "";
          },
          "", wanted};
}

CLI::Validator a_line() {
  return {[](const std::string& given) -> std::string {
            const std::size_t colon = given.rfind(':');
            const std::string line = colon == std::string::npos ? "" : given.substr(colon + 1);
            const bool number = !line.empty() && line.find_first_not_of("0123456789") == std::string::npos &&
                                line.find_first_not_of('0') != std::string::npos;
            // Tabs and newlines separate the fields of a request to the hook, so a file name must not contain them.
            const bool plain = given.find_first_of("\t\n") == std::string::npos;
            return colon != 0 && number && plain ? "" : given + " is not FILE:LINE, for example train.py:41";
          },
          ""};
}

CLI::Validator a_writable_file() {
  return {[](const std::string& given) -> std::string {
            const std::filesystem::path file(given);
            const std::string other = ": choose another file";
            std::error_code error;
            if (given == "-") return "standard output belongs to the command: give a file";
            if (std::filesystem::is_directory(file, error)) return given + " is a folder" + other;
            if (std::filesystem::exists(file, error)) {
              return ::access(file.c_str(), W_OK) == 0 ? "" : given + " cannot be written" + other;
            }
            const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
            if (!std::filesystem::is_directory(folder, error)) {
              return "the folder " + folder.string() + " does not exist: create it, or choose another file";
            }
            if (::access(folder.c_str(), W_OK) == 0) return "";
            return "the folder " + folder.string() + " cannot be written to" + other;
          },
          ""};
}

CLI::Validator not_an_output_of_the_command() {
  return {[](const std::string& given) -> std::string {
            struct stat file {};
            struct stat output {};
            if (::stat(given.c_str(), &file) != 0 || !S_ISREG(file.st_mode)) return "";
            for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
              if (::fstat(descriptor, &output) != 0) continue;
              if (file.st_dev != output.st_dev || file.st_ino != output.st_ino) continue;
              return given + " receives the output of the command: choose another file";
            }
            return "";
          },
          ""};
}

CLI::Validator an_existing_folder() {
  return {[](const std::string& given) -> std::string {
            std::error_code error;
            if (std::filesystem::is_directory(given, error)) return "";
            if (error && error != std::errc::no_such_file_or_directory && error != std::errc::not_a_directory) {
              return "the folder " + given + " cannot be read: " + error.message();
            }
            return std::filesystem::exists(given, error) ? given + " is not a folder"
                                                         : "the folder " + given + " does not exist";
          },
          ""};
}

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
    return "no such command " + word + "; to run a program: cudadiag run -- " + interpreter +
           diagnose::shell_word(word) + " …";
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

namespace {

constexpr std::size_t kDescriptions = 36;  // the column in which descriptions begin
constexpr std::size_t kHelpColumns = 80;

bool takes_the_rest(const CLI::Option* option) {
  return option->get_expected_max() >= CLI::detail::expected_max_vector_size;
}

std::string usage_of(const CLI::Option* positional) {
  const std::string name = positional->get_name(true) + (takes_the_rest(positional) ? "..." : "");
  if (!positional->get_required()) return "[" + name + "]";
  return name == "COMMAND..." ? "-- " + name : name;  // the command has options of its own
}

std::string value_of(const CLI::Option* option) {
  const std::string type = option->get_type_name();
  if (option->get_items_expected_max() == 0) {  // a flag, which may take a value such as "[=TOOL]"
    return type.starts_with('[') ? type : "";
  }
  return option->get_items_expected_min() == 0 ? " [" + type + "]" : " " + type;
}

std::string row(const std::string& left, const std::string& description) {
  std::string text = "  " + left;
  if (text.size() < kDescriptions) {
    text.resize(kDescriptions, ' ');
  } else {
    text += "\n" + std::string(kDescriptions, ' ');
  }
  std::string indent;
  for (const std::string& line : report::wrapped(description, kHelpColumns - kDescriptions)) {
    text += indent + line + "\n";
    indent.assign(kDescriptions, ' ');
  }
  return text;
}

std::string names_of(const CLI::Option* option) {
  std::string names = option->get_name(false, true);
  if (const std::size_t comma = names.find(','); comma != std::string::npos) names.insert(comma + 1, " ");
  return names;
}

std::string row(const CLI::Option* option) {
  const std::string standard = option->get_default_str();
  const std::string left = option->get_positional() ? option->get_name(true) + (takes_the_rest(option) ? "..." : "")
                                                    : names_of(option) + value_of(option);
  return row(left, option->get_description() + (standard.empty() ? "" : "; default: " + standard));
}

// Returns the headings of the options that only --help-all lists. --help lists the options without a heading.
std::vector<std::string> rare_headings(const CLI::App* app) {
  std::vector<std::string> headings;
  for (const std::string& heading : app->get_groups()) {
    if (!heading.empty() && heading != CLI::OptionDefaults().get_group()) headings.push_back(heading);
  }
  return headings;
}

bool is_rare(const CLI::App* command) { return command->get_group() == kRareCommands; }

// The layout is our own, because CLI11's layout depends on its version.
class HelpText : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    const bool all = mode == CLI::AppFormatMode::All;
    const auto commands = app->get_subcommands(
        [&](const CLI::App* command) { return !command->get_group().empty() && (all || !is_rare(command)); });
    const std::vector<std::string> rare = rare_headings(app);
    const auto positionals = app->get_options([](const CLI::Option* option) { return option->get_positional(); });
    std::string text = app->get_description() + "\nUsage: " + name + " [options]";
    for (const CLI::Option* option : positionals) text += " " + usage_of(option);
    text += commands.empty() ? "\n" : " COMMAND ...\n";
    text += section("Positionals", positionals);
    const bool has_more = !rare.empty() || !app->get_subcommands(is_rare).empty();
    text += section("Options", app->get_options([&](const CLI::Option* option) {
      return option->nonpositional() && option->get_group() == CLI::OptionDefaults().get_group() &&
             (has_more || option != app->get_help_all_ptr());
    }));
    for (const std::string& heading : all ? rare : std::vector<std::string>()) {
      text += section(heading, app->get_options([&](const CLI::Option* option) {
        return option->nonpositional() && option->get_group() == heading;
      }));
    }
    if (!commands.empty()) text += "\nSubcommands:\n";
    for (const CLI::App* command : commands) text += row(command->get_name(), command->get_description());
    if (!all && has_more) text += "\n" + rest(name, rare);
    return text + "\n" + app->get_footer() + "\n";
  }

 private:
  // Names the command that lists the rest.
  static std::string rest(const std::string& name, const std::vector<std::string>& headings) {
    std::string text = name + " --help-all lists more " + (headings.empty() ? "subcommands" : "options: ");
    for (const std::string& heading : headings) text += (&heading == &headings.front() ? "" : "; ") + heading;
    std::string lines;
    for (const std::string& line : report::wrapped(text, kHelpColumns, 2)) lines += line + "\n";
    return lines;
  }
  static std::string section(const std::string& heading, const std::vector<const CLI::Option*>& options) {
    if (options.empty()) return "";
    std::string text = "\n" + heading + ":\n";
    for (const CLI::Option* option : options) text += row(option);
    return text;
  }
};

}  // namespace

void set_help_format(CLI::App& app) { app.formatter(std::make_shared<HelpText>()); }

void group(CLI::App* command, const std::string& heading, const std::vector<std::string>& options) {
  for (const std::string& option : options) command->get_option(option)->group(heading);
}

std::string version_text() {
  return fmt::format(
      "cudadiag {}\n"
      "commit          {}\n"
      "session format  {}\n"
      "report format   cudadiag.report/1\n"
      "CUDA driver     12 or 13\n"
      "CUPTI           12 or 13, not newer than the driver; built with the headers of CUDA {}.{}",
      CUDADIAG_VERSION, kCommit, wire::area::kFormatVersion, CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10);
}

}  // namespace cudadiag::command
