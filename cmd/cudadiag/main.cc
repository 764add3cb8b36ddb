// The list of subcommands.
#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands/commands.h"
#include "launch/process.h"
#include "launch/standard_descriptors.h"
#include "launch/supervised/supervision.h"
#include "launch/supervised/supervisor.h"
#include "options/command_line.h"
#include "options/first_word.h"
#include "options/help_text.h"
#include "options/version.h"
#include "own_stack.h"
#include "terminal/terminal.h"

namespace {

using namespace cudadiag;
using namespace cudadiag::command;

// The subcommands, in the order in which --help lists them.
constexpr void (*kCommands[])(CLI::App& app, int& status) = {
    add_run,  add_races, add_nans, add_bisect, add_report, add_status, add_ranks,  add_replay,
    add_list, add_keep,  add_rm,   add_dump,   add_core,   add_env,    add_doctor, add_completion,
};

int dispatch(std::vector<std::string> words) {
  CLI::App app("Names the CUDA operation that failed first, and the source line that issued it.", "cudadiag");
  set_help_format(app);
  app.set_help_flag("-h,--help", "print this help");
  app.set_help_all_flag("--help-all", "also list what is rarely needed");
  app.set_version_flag("-V,--version", version_text(), "print the version");
  app.require_subcommand(1);
  app.footer("See also: man cudadiag");
  int status = 0;
  for (const auto& add : kCommands) add(app, status);
  for (const char* rare : {"replay", "dump", "completion"}) app.get_subcommand(rare)->group(kRareCommands);
  words = in_current_words(std::move(words));
  if (const std::string wrong = wrong_first_word(app, words); !wrong.empty()) return say(wrong), kOwnFailure;
  try {
    parse(app, std::move(words));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return say(complaint(app, error)), kOwnFailure;
  }
  return status;
}

int run_command_line(int argc, char** argv) {
  // If the parent ignored SIGCHLD, the kernel would reap children, and this process could not learn how they ended.
  launch::use_default_action_here(SIGCHLD);
  if (argc > 1 && std::string_view(argv[1]) == launch::supervision::kCommand) return launch::supervise(argc, argv);
  launch::occupy_standard_descriptors();
  try {
    const int status = dispatch({argv + std::min(argc, 1), argv + argc});
    return command::output_arrived() ? status : command::kOwnFailure;
  } catch (const std::exception& error) {
    command::say(std::string("internal error: ") + error.what());
    return command::kOwnFailure;
  }
}

}  // namespace

int main(int argc, char** argv) { return command::on_ample_stack(run_command_line, argc, argv); }
