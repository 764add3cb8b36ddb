#include "shared_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "command_line.h"
#include "diagnose/words.h"
#include "terminal.h"

namespace cudadiag::command {
namespace {

constexpr const char* kSession =
    "session: number in cudadiag list, name, beginning of the name, or folder; default: the latest";

// Where the session and the report go, and what is printed.
const std::vector<std::string> kOutputs = {"--output", "--json", "--quiet", "--verbose", "--color"};
// More options that other programs have too.
const std::vector<std::string> kCommon = {"--help", "--repeat", "--watch", "--time-limit", "--history"};
const std::vector<std::string> kReruns = {"--repeat",         "--wait-limit", "--time-limit", "--write-limit",
                                          "--no-device-pass", "--no-values",  "--show-rerun"};
const std::vector<std::string> kMoreEvidence = {"--keep-core",   "--cross-check", "--sanitize", "--save-launch",
                                                "--save-inputs", "--save-limit",  "--origin"};

CLI::Option* add_folder(CLI::App* command, std::optional<std::filesystem::path>& output) {
  const auto set = [&output](const std::string& given) { output = given; };
  return command->add_option_function<std::string>("-o,--output", set, "folder that holds the sessions")
      ->type_name("FOLDER")
      ->check(some_text("FOLDER"));
}

}  // namespace

void add_output(CLI::App* command, std::optional<std::filesystem::path>& output) { add_folder(command, output); }

void add_existing_output(CLI::App* command, std::optional<std::filesystem::path>& output) {
  add_folder(command, output)->check(an_existing_folder());
}

void add_input(CLI::App* command, std::string& session, std::optional<std::filesystem::path>& output) {
  add_text(command, "SESSION", session, "SESSION", kSession);
  add_existing_output(command, output);
}

void name_page(CLI::App* command, const std::string& example) {
  const std::string page = "cudadiag-" + command->get_name();
  command->footer((example.empty() ? "" : "Example: " + example + "\n") + "See also: man " + page);
}

void add_colour(CLI::App* command) {
  const Words<Colour> words = {{"auto", Colour::automatic}, {"always", Colour::always}, {"never", Colour::never}};
  add_word(command, "--color", colour_choice, words, "whether to print colours")->group(kOutput);
}

CLI::Option* add_verbosity(CLI::App* command, report::Verbosity& verbosity) {
  add_colour(command);
  auto* quiet = command->add_flag_callback(
      "-q,--quiet", [&] { verbosity = report::Verbosity::quiet; }, "print one line for each failure");
  command
      ->add_flag_callback(
          "-v,--verbose", [&] { verbosity = report::Verbosity::verbose; }, "print all details")
      ->excludes(quiet);
  return quiet;
}

void add_recording(CLI::App* command, wire::RecordOptions& record) {
  const Words<wire::Markers> markers = {
      {"sparse", wire::Markers::sparse}, {"dense", wire::Markers::dense}, {"off", wire::Markers::off}};
  add_word(command, "--markers", record.markers, markers, "how often the GPU writes completion markers");
  const Words<wire::WatchBy> watch_by = {
      {"auto", wire::WatchBy::automatic}, {"cupti", wire::WatchBy::cupti}, {"hooks", wire::WatchBy::hooks}};
  add_word(command, "--watch-by", record.watch_by, watch_by, "how to observe CUDA calls");
  command->add_flag_callback(
      "--no-python-stacks", [&] { record.python_stacks = false; }, "record no Python stacks");
  command->add_flag_callback(
      "--no-native-stacks", [&] { record.native_stacks = false; }, "record no native stacks");
  group(command, "Recording", {"--watch-by", "--markers", "--no-python-stacks", "--no-native-stacks"});
}

CLI::Option* add_check_copies(CLI::App* command, wire::RecordOptions& record) {
  return add_number(command, "--check-copies", record.check_copies,
                    NumberRange<unsigned>{1u, 10'000u, "number from 1 to 10000"}, "N",
                    "find out whether the host changes pinned memory too early, for one host-to-device copy in N");
}

void add_reruns(CLI::App* command, supervise::RerunOptions& rerun, bool origin) {
  add_number(command, "--repeat", rerun.repeat, NumberRange<unsigned>{1u, 1000u, "number from 1 to 1000"}, "N",
             "stop after N reruns without a failure")
      ->default_str(std::to_string(rerun.repeat));
  command->add_flag("--show-rerun", rerun.show, "show the output of reruns on standard error");
  command->add_flag_callback(
      "--no-device-pass", [&] { rerun.device = false; }, "do not rerun the command for a GPU core dump");
  auto* no_values = command->add_flag_callback(
      "--no-values", [&] { rerun.values = false; }, "read no values from the program's variables");
  auto* save_inputs =
      command
          ->add_flag("--save-inputs", rerun.save_inputs, "save the failing PyTorch call, with a script that replays it")
          ->excludes(no_values);
  auto* save_launch = command->add_flag("--save-launch", rerun.save_launch,
                                        "save the failing kernel launch with its memory, and repeat it on its own");
  auto* save_limit = add_number(command, "--save-limit", rerun.save_limit,
                                NumberRange<unsigned>{1u, 1u << 20, "number from 1 to 1048576"}, "MIB",
                                "maximum amount of memory to save for the launch or the tensors")
                         ->default_str(std::to_string(rerun.save_limit));
  command->parse_complete_callback([=] {
    if (save_limit->count() > 0 && save_inputs->count() == 0 && save_launch->count() == 0) {
      throw CLI::RequiresError("--save-limit", "--save-launch or --save-inputs");
    }
  });
  command->add_flag("--keep-core", rerun.keep_core, "keep the GPU core dump even if it is large");
  command->add_flag("--cross-check", rerun.cross_check,
                    "also read the GPU core dump with cuda-gdb, and compare the answers");
  command->add_flag("--sanitize", rerun.sanitize, "rerun the command under compute-sanitizer");
  add_number(command, "--wait-limit", rerun.patience, NumberRange<double>{0.01, 86400.0, "number from 0.01 to 86400"},
             "SECONDS", "how long a rerun waits for one operation")
      ->default_str(fmt::format("{}", rerun.patience));
  add_number(command, "--time-limit", rerun.time_limit,
             NumberRange<double>{0.1, 1e7, "number of seconds from 0.1 to 10000000"}, "SECONDS",
             "how long one rerun may take");
  add_number(command, "--write-limit", rerun.write_limit,
             NumberRange<unsigned>{0u, 1u << 20, "number from 0 to 1048576"}, "MIB",
             "how much an isolated rerun may write; everything that it writes is thrown away");
  if (origin) {
    command->add_flag("--origin", rerun.origin, "trace the bad value of a PyTorch operator back to its origin")
        ->excludes(no_values);
  }
  group(command, "Reruns", kReruns);
  for (const std::string& name : kMoreEvidence) {
    if (origin || name != "--origin") group(command, "More evidence from reruns", {name});
  }
}

void add_full_log(CLI::App* command, bool& full_log) {
  command->add_flag("--full-log", full_log, "keep every operation of the run in the session")->group("Recording");
}

void add_rerun_mode(CLI::App* command, supervise::RerunMode& mode, const char* what) {
  const Words<supervise::RerunMode> modes = {{"ask", supervise::RerunMode::ask},
                                             {"auto", supervise::RerunMode::automatic},
                                             {"always", supervise::RerunMode::always},
                                             {"never", supervise::RerunMode::never}};
  add_word(command, "--rerun", mode, modes, what)
      ->default_str("ask at a terminal, otherwise auto")
      ->envname("CUDADIAG_RERUN");
  // CLI11 reads the variables of a subcommand without this callback for every command line, and refuses a wrong value.
  command->parse_complete_callback([] {});
}

CLI::Option* add_stop_on_race(CLI::App* command, bool& stop) {
  return command->add_flag("--stop-on-race", stop, "end the program (SIGTERM) at the first race");
}

void add_error_exit_status(CLI::App* command, std::optional<int>& status) {
  add_number(command, "--error-exitcode", status, NumberRange<int>{0, 255, "number from 0 to 255"}, "STATUS",
             "exit status if there are findings");
}

void add_json_file(CLI::App* command, std::string& file) {
  add_text(command, "--json", file, "FILE", "also write the report to this file, as JSON")
      ->check(a_writable_file())
      ->check(not_an_output_of_the_command());
}

void add_command(CLI::App* command, std::vector<std::string>& words) {
  // Everything after the command's first word belongs to the command, including options. An option with the name of one
  // of ours is probably in the wrong place, unless many programs have one of this name.
  const auto say_whose = [command](const std::string& word) {
    const std::string name = word.substr(0, word.find('='));
    if (!name.starts_with("--") || command->get_option_no_throw(name) == nullptr) return;
    if (std::ranges::count(kOutputs, name) + std::ranges::count(kCommon, name) > 0) return;
    say(fmt::format("{} follows the command, so the command gets it: options of cudadiag precede the command", name));
  };
  command->add_option("COMMAND", words, "the command and its arguments")->required()->each(say_whose);
  command->positionals_at_end();
}

void add_foreign(CLI::App* command, bool& foreign, const char* help) { command->add_flag("--foreign", foreign, help); }

std::vector<std::string> given_options(const CLI::App& command, bool of_reruns) {
  std::vector<std::string> words;
  if (!of_reruns) words.push_back(command.get_name());
  std::map<const CLI::Option*, std::size_t> taken;
  for (const CLI::Option* option : command.parse_order()) {
    const std::size_t number = taken[option]++;
    if (option->get_lnames().empty()) continue;
    const std::string name = "--" + option->get_lnames().front();
    const bool is_of_reruns = std::ranges::count(kReruns, name) + std::ranges::count(kMoreEvidence, name) > 0;
    if (of_reruns ? !is_of_reruns : std::ranges::count(kOutputs, name) > 0) continue;
    const bool is_flag = option->get_items_expected_max() == 0;
    words.push_back(is_flag ? name : name + '=' + option->results().at(number));
  }
  return words;
}

std::string command_with(std::vector<std::string> given, const std::string& added, const std::filesystem::path& place) {
  const auto name = [](const std::string& word) { return word.substr(0, word.find('=')); };
  std::erase_if(given, [&](const std::string& word) { return name(word) == name(added); });
  given.insert(given.end(), {added, place.string()});
  return "cudadiag " + diagnose::shell_line(given);
}

namespace {

constexpr const char *kUsers = "--user-code", *kNotUsers = "--not-user-code";

std::string absolute(const std::string& path) {
  std::error_code ignored;
  std::string text = std::filesystem::absolute(path, ignored).lexically_normal().string();
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

bool is_within(std::string_view file, std::string_view path) {
  return file.starts_with(path) && (file.size() == path.size() || file[path.size()] == '/');
}

bool has_code_in(const session::Session& session, const std::string& path) {
  return std::ranges::any_of(session.processes, [&](const session::Process& process) {
    const auto& codes = process.record.codes;
    const auto& modules = process.record.modules;
    return std::ranges::any_of(codes, [&](const auto& code) { return is_within(code.file, path); }) ||
           std::ranges::any_of(modules, [&](const auto& module) { return is_within(module.path, path); });
  });
}

}  // namespace

void add_code_rules(CLI::App* command) {
  const auto add = [&](const char* name, const char* description) {
    add_texts(command, name, "PATH", description)->group("Which code is yours (the most specific path wins)");
  };
  add(kUsers, "treat this folder or file as your own code");
  add(kNotUsers, "treat this folder or file as a library");
}

std::vector<session::CodeRule> code_rules(const CLI::App& command) {
  std::vector<session::CodeRule> rules;
  std::map<const CLI::Option*, std::size_t> taken;
  for (const CLI::Option* option : command.parse_order()) {
    const bool user = option->get_name() == kUsers;
    if (!user && option->get_name() != kNotUsers) continue;
    const std::string path = absolute(option->results().at(taken[option]++));
    rules.push_back({path, user});
    std::error_code error;
    const std::string real = std::filesystem::canonical(path, error).string();
    if (!error && real != path) rules.push_back({real, user});
  }
  return rules;
}

std::optional<base::Error> unknown_path(const std::vector<session::CodeRule>& rules, const session::Session* session) {
  for (const session::CodeRule& rule : rules) {
    std::error_code ignored;
    if (std::filesystem::exists(rule.path, ignored) || (session != nullptr && has_code_in(*session, rule.path)))
      continue;
    return base::Error{std::string(rule.user ? kUsers : kNotUsers) + ": found no file or folder " + rule.path +
                           (session != nullptr ? ", and the session has no code from there" : ""),
                       "give a folder, a Python file, a source file or a library"};
  }
  return std::nullopt;
}

std::optional<base::Error> add_rules(const std::vector<session::CodeRule>& rules, session::Session& session) {
  if (auto unknown = unknown_path(rules, &session)) return unknown;
  session.manifest.code_rules.insert(session.manifest.code_rules.end(), rules.begin(), rules.end());
  return std::nullopt;
}

}  // namespace cudadiag::command
