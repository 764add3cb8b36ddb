// The list of subcommands, and the stack on which they run.
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "command_line.h"
#include "commands/commands.h"
#include "launch/spawn.h"
#include "launch/standard_descriptors.h"
#include "launch/supervised_rerun.h"
#include "terminal.h"

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
  if (words.size() > 2 && words[0] == "completion" && words[1] == "for") {
    for (const std::string& each : completions(app, {words.begin() + 2, words.end()})) print(each + "\n");
    return 0;
  }
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
  } catch (const base::Error& failure) {
    command::say(failure);
    return command::kOwnFailure;
  } catch (const std::exception& error) {
    command::say(std::string("internal error: ") + error.what());
    return command::kOwnFailure;
  }
}

constexpr std::size_t kUsual = 8 << 20;  // the stack limit on most systems, in bytes

// Global, because makecontext() can pass only integers to the function that it starts.
struct Work {
  int (*function)(int, char**);
  int argc;
  char** argv;
  int status;
};
Work the_work;

void do_the_work() { the_work.status = the_work.function(the_work.argc, the_work.argv); }

bool is_small() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < kUsual;
}

void enlarge_stacks_of_threads() {
  pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) != 0) return;
  if (::pthread_attr_setstacksize(&attributes, kUsual) == 0) ::pthread_setattr_default_np(&attributes);
  ::pthread_attr_destroy(&attributes);
}

// Maps a stack whose lowest page is a guard page. Returns null on failure.
std::byte* make_stack() {
  void* memory =
      ::mmap(nullptr, kUsual, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  ::mprotect(memory, static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)), PROT_NONE);
  return static_cast<std::byte*>(memory);
}

// Gives the main thread a stack of the usual size, even if the stack limit is lower. `work` and its threads then get
// stacks of 8 MB, or less if memory is limited.
//
// libdw needs more than 160 kB of stack to read debug information. `ulimit -s 64` leaves less. Moving the work to
// another thread would not help. The target is killed when the thread that started it exits, and signal handlers would
// still run on the small stack. The main thread therefore switches to a new stack. It leaves the limit unchanged,
// because the target inherits it.
int on_ample_stack(int (*work)(int, char**), int argc, char** argv) {
  std::byte* stack = is_small() ? make_stack() : nullptr;
  static ucontext_t here, there;  // static, because they need 1 kB each, which the small stack may not have
  if (stack == nullptr || ::getcontext(&there) != 0) return work(argc, argv);
  enlarge_stacks_of_threads();
  the_work = {work, argc, argv, 0};
  there.uc_stack.ss_sp = stack;
  there.uc_stack.ss_size = kUsual;
  there.uc_link = &here;
  ::makecontext(&there, do_the_work, 0);
  if (::swapcontext(&here, &there) != 0) return work(argc, argv);
  return the_work.status;
}

}  // namespace

int main(int argc, char** argv) { return on_ample_stack(run_command_line, argc, argv); }
