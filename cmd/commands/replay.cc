// The subcommand replay, which repeats a saved launch in child processes.
#include <fmt/core.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "command_line.h"
#include "commands/commands.h"
#include "commands/replay_results.h"
#include "diagnose/words.h"
#include "launch/signals.h"
#include "replay/launch_folder.h"
#include "replay/player.h"
#include "session/session_reader.h"
#include "sessions/session_choice.h"
#include "shared_options.h"
#include "supervise/reruns/replays.h"
#include "supervise/reruns/rerun_table.h"
#include "supervise/toolkit_programs.h"
#include "terminal.h"

namespace cudadiag::command {
namespace {

namespace fs = std::filesystem;
using base::Error;
using replay::Outcome;
using supervise::SanitizerTool;

constexpr unsigned kMostTimes = 100'000;

struct ReplayPlan {
  std::vector<std::string> given;  // the options, as in session::Manifest
  unsigned times = 1;
  std::optional<unsigned> device;  // nullopt: the GPU on which the launch was saved
  std::optional<supervise::SanitizerTool> tool;
  bool minimise = false;
  std::string minimal;  // where to write the smallest failing launch; empty: nowhere
  bool compare = false;
  std::optional<unsigned> compared_device;
};

struct ReplayOptions {
  std::string folder;
  std::optional<fs::path> output;  // folder that contains the sessions
  ReplayPlan plan;
  double time_limit = 60;
  bool json = false, foreign = false;
};

// Returns the folder of the session's most recently saved launch.
fs::path folder_of_session(const fs::path& session) {
  const session::Session found = taken(session::open_session(session));
  const auto& passes = found.manifest.passes;
  for (std::size_t i = std::min(found.reruns.size() + 1, passes.size()); i-- > 1;) {
    for (const session::Process& process : found.reruns[i - 1]) {
      const fs::path folder = session::saved_launch_folder(session / passes[i].folder, process.pid);
      std::error_code error;
      if (fs::exists(folder / replay::kLaunchFile, error)) return folder;
    }
  }
  diagnose::SessionState state(found);
  const bool has_failed = std::ranges::any_of(state.analysis().failures, [](const analyse::Failure& failure) {
    return analyse::is_asynchronous(failure.kind) && failure.code != 0;
  });
  if (!has_failed) throw Error{"no launch was saved in " + session.string(), "the session has no failed GPU work"};
  const bool was_tried = supervise::was_made(found.manifest, session::PassKind::launch);
  throw Error{"no launch was saved in " + session.string(),
              was_tried ? "the notes of cudadiag report " + diagnose::shell_word(session.string()) + " -v may say why"
                        : "to save one: " + diagnose::bisect_command(session.string(), found.manifest.input_read,
                                                                     found.manifest.rerun_options, "--save-launch")};
}

replay::UnparsedLaunch find_launch(const ReplayOptions& options) {
  std::error_code error;
  if (!options.folder.empty() && fs::exists(fs::path(options.folder) / replay::kLaunchFile, error)) {
    return taken(replay::UnparsedLaunch::open(fs::absolute(options.folder, error)));
  }
  const fs::path folder = folder_of_session(choose_session(options.output, options.folder));
  return taken(replay::UnparsedLaunch::open(fs::absolute(folder, error)));
}

replay::LaunchFolder open_launch(const ReplayOptions& options) {
  replay::UnparsedLaunch unparsed = find_launch(options);
  if (!unparsed.why_foreign().empty() && !options.foreign) {
    throw Error{fmt::format("not run, because the launch may belong to another user: {}. A replay would run its "
                            "device code on your GPU",
                            unparsed.why_foreign()),
                "if you trust the launch, run: " + command_with(options.plan.given, "--foreign", unparsed.path())};
  }
  return taken(std::move(unparsed).parse());
}

// Returns the GPU of the first replay. On another host, the saved bus id may belong to a different GPU, so it is
// ignored.
replay::GpuChoice chosen_gpu(const replay::LaunchFolder& folder, const ReplayPlan& plan) {
  if (plan.device) return {static_cast<int>(*plan.device), {}, false, {}};
  return {0, folder.why_foreign().empty() ? folder.launch().gpu.bus : "", false, {}};
}

void announce(const replay::LaunchFolder& folder, const ReplayOptions& options) {
  const replay::SavedLaunch& launch = folder.launch();
  const std::string name = base::printable(launch.demangled.empty() ? launch.kernel : launch.demangled);
  const std::string& why = folder.why_foreign();
  say(fmt::format("running the device code in {} on GPU {}: {}{}", diagnose::shell_word(folder.path().string()),
                  words(chosen_gpu(folder, options.plan)), name, why.empty() ? "" : "; " + why));
}

constexpr unsigned kMostReplays = 2000;  // per search

// Returns the "========= " lines from the log of a tool for which we have no parser.
std::vector<std::string> record_lines(const std::string& log) {
  constexpr std::size_t kMost = 24;
  std::vector<std::string> lines;
  std::istringstream text(log);
  for (std::string line; std::getline(text, line) && lines.size() < kMost;) {
    const std::string_view start = "========= ";
    if (!line.starts_with(start) || line.find("COMPUTE-SANITIZER") != std::string::npos) continue;
    lines.push_back(line.substr(start.size()));
  }
  return lines;
}

// Replays the launch as the plan says: several times, under compute-sanitizer, with less memory, or to compare the
// memory afterwards.
class Replaying {
 public:
  Replaying(const replay::LaunchFolder& folder, const ReplayPlan& plan, supervise::LaunchPlayer& player)
      : folder_(folder), plan_(plan), player_(player) {
    result_.tally = replay::tally_for(folder.launch());
  }

  base::Result<ReplayResult> run() && {
    const auto failure = plan_.tool ? sanitize(*plan_.tool) : plan_.compare ? compare() : repeat();
    if (failure) return *failure;
    return std::move(result_);
  }

 private:
  std::optional<Error> repeat() {
    for (unsigned i = 0; i < plan_.times && !launch::asked_to_end(); ++i) {
      const replay::Run done = player_.play();
      if (launch::asked_to_end()) break;  // the replay was cut short, so it shows nothing
      replay::add(result_.tally, done);
      if (i == 0) result_.first = done;
      if (done.outcome == Outcome::impossible) break;
    }
    const bool has_run = result_.tally.impossible == 0 && !launch::asked_to_end();
    return plan_.minimise && has_run ? minimise() : std::nullopt;
  }

  std::optional<Error> sanitize(SanitizerTool tool) {
    const std::string sanitizer = supervise::find_sanitizer();
    if (sanitizer.empty()) return Error{"compute-sanitizer is not installed here", "install the CUDA Toolkit"};
    std::string log;
    result_.first = player_.play_sanitized(tool, sanitizer, log);
    Sanitized found{tool, evidence::sanitizer_log(log), {}};
    if (tool != SanitizerTool::memcheck) found.lines = record_lines(log);
    result_.sanitized = std::move(found);
    return std::nullopt;
  }

  std::optional<Error> minimise() {
    const std::string times = fmt::format("--times={}", std::max(20u, std::min(plan_.times, kMostTimes / 10) * 10));
    if (result_.tally.as_it_did == 0)
      return Error{"cannot minimise the launch: the replay does not fail as the saved launch did",
                   "to replay it more often: " + command_with(plan_.given, times, folder_.path())};
    std::vector<std::uint32_t> blocks;
    for (std::size_t i = 0; i < folder_.launch().blocks.size(); ++i) {
      if (folder_.launch().blocks[i].contents) blocks.push_back(static_cast<std::uint32_t>(i));
    }
    const auto fails = [&](const std::vector<std::uint32_t>& without) {
      const bool failed = player_.play(without).outcome == Outcome::as_it_did;
      return launch::asked_to_end() ? std::nullopt : std::optional(failed);
    };
    result_.smallest = replay::smallest_set(blocks, fails, kMostReplays);
    if (plan_.minimal.empty()) return std::nullopt;
    replay::SavedLaunch smaller = folder_.launch();
    const auto& needed = result_.smallest->needed;
    for (std::size_t i = 0; i < smaller.blocks.size(); ++i) {
      if (!std::binary_search(needed.begin(), needed.end(), i)) smaller.blocks[i].contents.reset();
    }
    return replay::copy_folder(folder_, std::move(smaller), plan_.minimal);
  }

  // Compares the memory contents after the first replay with those after each later replay.
  std::optional<Error> compare() {
    const base::ScratchFolder scratch("outputs");
    if (scratch.path().empty()) return Error{"cannot create a temporary folder", "set TMPDIR to a writable folder"};
    const auto outputs = [&](unsigned number) { return scratch.path() / std::to_string(number); };
    std::error_code error;
    const replay::GpuChoice here = chosen_gpu(folder_, plan_);
    const replay::GpuChoice there =
        plan_.compared_device ? replay::GpuChoice{static_cast<int>(*plan_.compared_device), {}, false, {}} : here;
    const auto play = [&](unsigned number, const replay::GpuChoice& gpu) {
      fs::create_directory(outputs(number), error);
      const replay::Run done = player_.play_for_outputs(outputs(number), gpu);
      if (!launch::asked_to_end()) replay::add(result_.tally, done);
      return done;
    };
    result_.first = play(0, here);
    const unsigned times = std::max(plan_.times, 2u);
    for (unsigned i = 1; i < times && result_.tally.impossible == 0 && !launch::asked_to_end(); ++i) {
      const replay::Run done = play(i, there);
      if (launch::asked_to_end()) break;
      Compared compared{there, {}, {}};
      compared.obstacle = obstacle_to_comparing(done, here, there);
      if (compared.obstacle.empty()) {
        compared.comparison = replay::compare_outputs(folder_.launch(), outputs(0), outputs(i));
        if (!compared.comparison) compared.obstacle = "the memory contents after the launch could not be read";
      }
      scratch.remove(std::to_string(i));
      result_.compared.push_back(std::move(compared));
    }
    return std::nullopt;
  }

  // Returns why the outputs of `done` and the first replay cannot be compared; empty if they can.
  std::string obstacle_to_comparing(const replay::Run& done, const replay::GpuChoice& here,
                                    const replay::GpuChoice& there) const {
    const replay::Run& first = result_.first;
    if (done.outcome == Outcome::impossible) return fmt::format("{}: {}", replay::word(done.outcome), done.why);
    if (done.outcome != first.outcome) {
      return fmt::format("on GPU {} the launch {}, but on GPU {} it {}", words(there), replay::word(done.outcome),
                         words(here), replay::word(first.outcome));
    }
    for (const replay::Run* run : {&first, &done}) {
      if (run->answer.outputs) continue;
      if (run->outcome != Outcome::did_not_fail) return "a launch that fails leaves no memory to compare";
      return "the memory contents after the launch could not be stored: " + run->answer.cannot;
    }
    return "";
  }

  const replay::LaunchFolder& folder_;
  const ReplayPlan& plan_;
  supervise::LaunchPlayer& player_;
  ReplayResult result_;
};

// Returns true if the failure happened again.
bool reproduced(const ReplayPlan& plan, const ReplayResult& result) {
  if (result.sanitized) return result.sanitized->log.errors.value_or(0) > 0 || !result.sanitized->log.accesses.empty();
  if (plan.compare) {
    return std::any_of(result.compared.begin(), result.compared.end(),
                       [](const Compared& each) { return each.comparison && each.comparison->different > 0; });
  }
  return result.tally.as_it_did > 0;
}

int carry_out(const ReplayOptions& options) {
  const ReplayPlan& plan = options.plan;
  std::error_code error;
  if (!plan.minimal.empty() && fs::exists(plan.minimal, error)) {
    throw Error{plan.minimal + " already exists", "choose a new folder for --write"};
  }
  const replay::LaunchFolder folder = open_launch(options);
  announce(folder, options);
  launch::SignalRelay relay;
  const supervise::PlaySettings settings{
      chosen_gpu(folder, plan), std::chrono::milliseconds(static_cast<std::int64_t>(options.time_limit * 1000))};
  supervise::LaunchPlayer player(folder, relay, settings);
  const ReplayResult result = taken(Replaying(folder, plan, player).run());
  print(options.json ? replay_json(folder, result) : replay_text(folder.launch(), result));
  if (const int signal = launch::ending_signal(); signal != 0) return kSignalled + signal;
  if (result.first.outcome == replay::Outcome::impossible || (plan.compare && result.tally.impossible > 0))
    return kOwnFailure;
  return reproduced(plan, result) ? 0 : 1;
}

// ---- Child process

struct ChildOptions {
  std::string folder, answer, outputs, dump, bus;
  int device = 0;
  std::optional<std::string> visible;
  bool tight = false, fixed = false;
  std::vector<std::uint32_t> without;
};

// The addresses of libraries are chosen at program start, so this restarts the program without randomisation.
void start_without_randomised_addresses() {
  const int now = ::personality(0xffffffff);
  if (now < 0 || (now & ADDR_NO_RANDOMIZE) != 0 ||
      ::personality(static_cast<unsigned long>(now) | ADDR_NO_RANDOMIZE) < 0) {
    return;
  }
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size(); at += words.back().size() + 1) words.emplace_back(text.c_str() + at);
  ::execv("/proc/self/exe", base::c_strings(words).data());
}

int play_in_this_process(const ChildOptions& options) {
  if (options.fixed) start_without_randomised_addresses();
  // No injected tool or recorder may affect the launch.
  ::unsetenv("CUDA_INJECTION64_PATH");
  const replay::LaunchFolder folder = taken(replay::LaunchFolder::open(options.folder));
  if (options.visible) {
    *options.visible == supervise::kEveryGpu ? ::unsetenv("CUDA_VISIBLE_DEVICES")
                                             : ::setenv("CUDA_VISIBLE_DEVICES", options.visible->c_str(), 1);
  }
  const replay::GpuChoice gpu{options.device, options.bus, false, {}};
  const replay::PlayOrder order{gpu, options.tight, options.without, options.outputs, options.dump};
  return replay::play(folder, order, options.answer);
}

void add_child(CLI::App& app, int& status) {
  auto options = std::make_shared<ChildOptions>();
  auto* child = app.add_subcommand(supervise::kReplayChild)->group("");
  child->add_option("folder", options->folder)->required();
  child->add_option("--answer", options->answer)->required();
  child->add_option("--device", options->device);
  child->add_option("--bus", options->bus);
  child->add_option("--visible", options->visible);
  child->add_option("--outputs", options->outputs);
  child->add_option("--dump", options->dump);
  child->add_option("--without", options->without);
  child->add_flag("--tight", options->tight);
  child->add_flag("--fixed", options->fixed);
  child->callback([options, &status] { status = play_in_this_process(*options); });
}

// The name of the tool must follow an equals sign. A separate word is parsed as the name of the saved launch.
CLI::Option* add_sanitize(CLI::App* command, std::optional<SanitizerTool>& tool) {
  std::vector<std::string> words;
  for (const auto& [each, word] : supervise::kSanitizerTools) words.emplace_back(word);
  const auto read = [&tool, expected = diagnose::joined(words, ", ")](const std::string& given) -> std::string {
    // CLI11 passes "true" for a flag without a value.
    tool = given == "true" ? SanitizerTool::memcheck : base::value_of(supervise::kSanitizerTools, given);
    return tool ? "" : "expected one of " + expected + ", got " + given;
  };
  words.front() += " (the default)";
  const std::string help = "run it once under compute-sanitizer; TOOL is " + diagnose::joined(words, " or ");
  return command->add_flag("--sanitize", help)->type_name("[=TOOL]")->check(CLI::Validator(read, ""));
}

}  // namespace

void add_replay(CLI::App& app, int& status) {
  auto replay = std::make_shared<ReplayOptions>();
  auto* command = app.add_subcommand("replay", "repeat a saved launch on its own");
  add_input(command, replay->folder, replay->output);
  auto* times = add_number(command, "--times", replay->plan.times,
                           NumberRange<unsigned>{1u, kMostTimes, "number from 1 to 100000"}, "N",
                           "how many times to repeat the launch")
                    ->default_str("1");
  add_number(command, "--device", replay->plan.device, NumberRange<unsigned>{0u, 1023u, "number from 0 to 1023"}, "N",
             "the GPU to use; default: the one on which the launch was saved");
  add_number(command, "--time-limit", replay->time_limit,
             NumberRange<double>{0.1, 1e7, "number of seconds from 0.1 to 10000000"}, "SECONDS",
             "how long one replay may take")
      ->default_str("60");
  auto* sanitize = add_sanitize(command, replay->plan.tool)->excludes(times);
  auto* minimise = command
                       ->add_flag("--minimise", replay->plan.minimise,
                                  "find the smallest set of memory blocks with which the launch fails")
                       ->excludes(sanitize);
  add_text(command, "--write", replay->plan.minimal, "FOLDER",
           "write a copy of the launch without the contents that --minimise found unnecessary")
      ->needs(minimise);
  auto* compare =
      command->add_flag("--compare", replay->plan.compare, "compare the memory after each replay, byte by byte")
          ->excludes(sanitize)
          ->excludes(minimise);
  add_number(command, "--with-device", replay->plan.compared_device,
             NumberRange<unsigned>{0u, 1023u, "number from 0 to 1023"}, "N",
             "run all replays except the first on this GPU")
      ->needs(compare);
  command->add_flag("--json", replay->json, "print JSON");
  add_foreign(command, replay->foreign, "also run a launch that another user or host saved");
  group(command, "Minimising and comparing", {"--minimise", "--write", "--compare", "--with-device"});
  name_page(command);
  command->callback([replay, &status, command] {
    replay->plan.given = given_options(*command, false);
    status = carry_out(*replay);
  });
  add_child(app, status);
}

}  // namespace cudadiag::command
