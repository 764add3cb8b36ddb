#include "options/help_text.h"

#include <cstddef>
#include <memory>

namespace cudadiag::command {
namespace {

constexpr std::size_t kDescriptions = 36;  // the column in which descriptions begin

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
  return text + description + "\n";
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

// The layout is our own, because CLI11's layout depends on its version.
class HelpText : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode) const override {
    const auto commands = app->get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
    const auto positionals = app->get_options([](const CLI::Option* option) { return option->get_positional(); });
    std::string text = app->get_description() + "\nUsage: " + name + " [options]";
    for (const CLI::Option* option : positionals) text += " " + usage_of(option);
    text += commands.empty() ? "\n" : " COMMAND ...\n";
    text += section("Positionals", positionals);
    const std::string main_group = CLI::OptionDefaults().get_group();
    for (const std::string& heading : app->get_groups()) {
      text += section(heading == main_group ? "Options" : heading, app->get_options([&](const CLI::Option* option) {
        return option->nonpositional() && option->get_group() == heading;
      }));
    }
    if (!commands.empty()) text += "\nSubcommands:\n";
    for (const CLI::App* command : commands) text += row(command->get_name(), command->get_description());
    return text + "\n" + app->get_footer() + "\n";
  }

 private:
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

}  // namespace cudadiag::command
