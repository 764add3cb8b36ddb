// `cudadiag env`: prints the variables that record a program without `cudadiag run`.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <memory>

#include "commands/commands.h"
#include "diagnose/words.h"
#include "launch/environment.h"
#include "launch/libraries.h"
#include "session/retention.h"
#include "session/session_folders.h"
#include "session/session_writer.h"
#include "sessions/session_choice.h"
#include "sessions/session_list.h"
#include "shared_options.h"
#include "terminal.h"
#include "wire/environment.h"

namespace cudadiag::command {
namespace {

struct EnvOptions {
  std::optional<std::filesystem::path> output;
  wire::RecordOptions record;
};

// Quotes text for any POSIX shell. Within single quotes, only a single quote needs an escape.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

int carry_out(const EnvOptions& options) {
  const std::filesystem::path found = taken(launch::usable_recorder(options.record.once));
  const session::SessionWriter created = taken(session::SessionWriter::create(
      session::roots(options.output), static_cast<std::uint32_t>(::getpid()), std::time(nullptr)));
  if (const std::string dropped = launch::dropped_injection(found); !dropped.empty()) say(dropped);
  if (options.record.once) std::printf("unset %s\n", wire::environment::kInjection);
  for (const std::string& missing : launch::missing_cupti()) say(missing + ": " + launch::kCorrectCupti);
  for (const launch::Variable& variable : launch::recording_variables(found, {"", created.pass_folder(), "record", ""},
                                                                      launch::find_cupti({}), options.record)) {
    std::printf("export %s=%s\n", variable.name.c_str(), quoted(variable.value).c_str());
  }
  // Quotes the name, because the shell would execute everything after a newline in it. Omits ".incomplete", which looks
  // like a failure.
  const std::string name = diagnose::shell_word(session::finished_name(created.folder()).string());
  std::printf("# afterwards: cudadiag report %s\n", name.c_str());
  if (::isatty(STDOUT_FILENO) == 0) say("afterwards: cudadiag report " + name);  // `eval` drops comments
  if (created.root().asked_for) return 0;
  print_removed(session::retain(created.root().folder, created.folder(), {}), created.root().folder);
  return 0;
}

}  // namespace

void add_env(CLI::App& app, int& status) {
  auto options = std::make_shared<EnvOptions>();
  auto* command = app.add_subcommand("env", "print the export commands that record a program without cudadiag run");
  add_output(command, options->output);
  add_recording(command, options->record);
  add_check_copies(command, options->record);
  command
      ->add_flag("--once", options->record.once,
                 "get a GPU core dump of the process, and end it at its first GPU exception")
      ->excludes(command->get_option("--watch-by"));
  command->add_flag("--end-on-failure", options->record.end_on_failure, "end a process after its first sticky error");
  // A command started inside the program would share its descriptors, and end as a child that the program does not
  // know.
  command
      ->add_option_function<std::string>("--on-failure",
                                         [](const std::string&) {
                                           throw base::Error{
                                               "--on-failure needs cudadiag run, which watches the program",
                                               "let your watchdog run the command when cudadiag status --check 60 "
                                               "exits with 1: man cudadiag-status"};
                                         })
      ->group("");
  command->callback([options, &status] { status = carry_out(*options); });
}

}  // namespace cudadiag::command
