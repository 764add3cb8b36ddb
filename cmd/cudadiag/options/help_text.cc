#include "options/help_text.h"

#include <cuda.h>
#include <fmt/core.h>

#include <cstddef>
#include <memory>

#include "report/page.h"
#include "wire/area.h"

namespace cudadiag::command {

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
