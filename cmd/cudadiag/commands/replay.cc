// The subcommand replay, which repeats a saved launch in child processes.
#include <fmt/core.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "base/printable.h"
#include "commands/commands.h"
#include "diagnose/words.h"
#include "evidence/tools/sanitizer_text.h"
#include "options/command_line.h"
#include "options/shared_options.h"
#include "replay/launch_folder.h"
#include "replay/output_comparison.h"
#include "replay/player.h"
#include "replay/smallest_set.h"
#include "replays/replay_result.h"
#include "session/notes/replay_tally.h"
#include "session/session_reader.h"
#include "sessions/session_choice.h"
#include "supervise/replays/launch_player.h"
#include "supervise/tools/external_tools.h"
#include "terminal/terminal.h"

namespace cudadiag::command {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::Result;
using replay::Outcome;
using supervise::SanitizerTool;

struct ReplayOptions {
  std::string folder;
  std::optional<std::string> output;  // folder that contains the sessions
  unsigned times = 1;
  std::optional<unsigned> device;  // nullopt: the GPU on which the launch was saved
  double time_limit = 60;
  std::string tool;  // a tool of compute-sanitizer; empty: none
  bool minimise = false;
  std::string minimal;  // where to write the smallest failing launch; empty: nowhere
  bool compare = false;
  std::optional<unsigned> compared_device;
  bool json = false, foreign = false;
};

constexpr unsigned kMostReplays = 2000;  // per search

// Returns the folder of the session's most recently saved launch.
Result<fs::path> folder_of_session(const fs::path& session) {
  const auto opened = session::open_session(session);
  if (const auto* failure = std::get_if<Error>(&opened)) return *failure;
  const auto& found = std::get<session::Session>(opened);
  const auto& passes = found.manifest.passes;
  for (std::size_t i = std::min(found.reruns.size() + 1, passes.size()); i-- > 1;) {
    for (const session::Process& process : found.reruns[i - 1]) {
      const fs::path folder = session::saved_launch_folder(session / passes[i].folder, process.pid);
      std::error_code error;
      if (fs::exists(folder / replay::kLaunchFile, error)) return folder;
    }
  }
  return Error{"no launch was saved in " + session.string(),
               "to save one: cudadiag bisect --save-launch " + diagnose::shell_word(session.string())};
}

Result<replay::UnparsedLaunch> find_launch(const ReplayOptions& options) {
  std::error_code error;
  if (!options.folder.empty() && fs::exists(fs::path(options.folder) / replay::kLaunchFile, error)) {
    return replay::UnparsedLaunch::open(fs::absolute(options.folder, error));
  }
  const auto session = choose_session(options.output, options.folder);
  if (const auto* failure = std::get_if<Error>(&session)) return *failure;
  const auto folder = folder_of_session(std::get<fs::path>(session));
  if (const auto* failure = std::get_if<Error>(&folder)) return *failure;
  return replay::UnparsedLaunch::open(fs::absolute(std::get<fs::path>(folder), error));
}

Result<replay::LaunchFolder> open_launch(const ReplayOptions& options) {
  auto found = find_launch(options);
  if (const auto* failure = std::get_if<Error>(&found)) return *failure;
  auto& unparsed = std::get<replay::UnparsedLaunch>(found);
  if (!unparsed.why_foreign().empty() && !options.foreign) {
    return Error{
        fmt::format("not run, because the launch may belong to another user: {}. A replay would run its "
                    "device code on your GPU",
                    unparsed.why_foreign()),
        "if you trust the launch, run: cudadiag replay --foreign " + diagnose::shell_word(unparsed.path().string())};
  }
  return std::move(unparsed).parse();
}

// On another host, the saved bus id may belong to a different GPU, so it is ignored.
replay::GpuChoice chosen_gpu(const replay::LaunchFolder& folder, const ReplayOptions& options) {
  if (options.device) return {static_cast<int>(*options.device), {}, false, {}};
  return {0, folder.why_foreign().empty() ? folder.launch().gpu.bus : "", false, {}};
}

void announce(const replay::LaunchFolder& folder, const ReplayOptions& options) {
  const replay::SavedLaunch& launch = folder.launch();
  const std::string name = base::printable(launch.demangled.empty() ? launch.kernel : launch.demangled);
  const std::string& why = folder.why_foreign();
  say(fmt::format("running the device code in {} on GPU {}: {}{}", diagnose::shell_word(folder.path().string()),
                  words(chosen_gpu(folder, options)), name, why.empty() ? "" : "; " + why));
}

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

std::optional<SanitizerTool> tool_of(const std::string& given) {
  if (given == "true") return SanitizerTool::memcheck;  // CLI11 passes "true" for a flag without a value
  for (const auto tool :
       {SanitizerTool::memcheck, SanitizerTool::racecheck, SanitizerTool::initcheck, SanitizerTool::synccheck}) {
    if (given == word(tool)) return tool;
  }
  return std::nullopt;
}

class Replaying {
 public:
  Replaying(const replay::LaunchFolder& folder, const ReplayOptions& options, supervise::LaunchPlayer& player)
      : folder_(folder), options_(options), player_(player) {
    result_.tally = replay::tally_for(folder.launch());
  }

  std::optional<Error> run() {
    if (const auto tool = tool_of(options_.tool)) return sanitize(*tool);
    if (options_.compare) return compare();
    for (unsigned i = 0; i < options_.times && !launch::asked_to_end(); ++i) {
      const replay::Run done = player_.play();
      replay::add(result_.tally, done);
      if (i == 0) result_.first = done;
      if (done.outcome == Outcome::impossible) break;
    }
    return options_.minimise ? minimise() : std::nullopt;
  }

  const ReplayResult& result() const { return result_; }
  // Returns true if the failure happened again.
  bool reproduced() const {
    if (result_.sanitized)
      return result_.sanitized->log.errors.value_or(0) > 0 || !result_.sanitized->log.accesses.empty();
    if (options_.compare) {
      return std::any_of(result_.compared.begin(), result_.compared.end(),
                         [](const Compared& each) { return each.comparison && each.comparison->different > 0; });
    }
    return result_.tally.as_it_did > 0;
  }

 private:
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
    if (result_.tally.as_it_did == 0)
      return Error{"cannot minimise the launch: the replay does not fail as the saved launch did",
                   "to replay it more often: cudadiag replay --times 20"};
    std::vector<std::uint32_t> blocks;
    for (std::size_t i = 0; i < folder_.launch().blocks.size(); ++i) {
      if (folder_.launch().blocks[i].contents) blocks.push_back(static_cast<std::uint32_t>(i));
    }
    const auto fails = [&](const std::vector<std::uint32_t>& without) {
      return !launch::asked_to_end() && player_.play(without).outcome == Outcome::as_it_did;
    };
    result_.smallest = replay::smallest_set(blocks, fails, kMostReplays);
    if (options_.minimal.empty()) return std::nullopt;
    replay::SavedLaunch smaller = folder_.launch();
    const auto& needed = result_.smallest->needed;
    for (std::size_t i = 0; i < smaller.blocks.size(); ++i) {
      if (!std::binary_search(needed.begin(), needed.end(), i)) smaller.blocks[i].contents.reset();
    }
    return replay::copy_folder(folder_, std::move(smaller), options_.minimal);
  }

  // Compares the memory contents after the first replay with those after each later replay.
  std::optional<Error> compare() {
    std::error_code error;
    std::string pattern = (fs::temp_directory_path(error) / "cudadiag-outputs-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
      return Error{"cannot create a temporary folder", "set TMPDIR to a writable folder"};
    const fs::path scratch = pattern;
    const replay::GpuChoice here = chosen_gpu(folder_, options_);
    const replay::GpuChoice there =
        options_.compared_device ? replay::GpuChoice{static_cast<int>(*options_.compared_device), {}, false, {}} : here;
    const auto play = [&](unsigned number, const replay::GpuChoice& gpu) {
      const fs::path folder = scratch / std::to_string(number);
      fs::create_directory(folder, error);
      const replay::Run done = player_.play_for_outputs(folder, gpu);
      replay::add(result_.tally, done);
      return done;
    };
    result_.first = play(0, here);
    const unsigned times = std::max(options_.times, 2u);
    for (unsigned i = 1; i < times && result_.tally.impossible == 0 && !launch::asked_to_end(); ++i) {
      const replay::Run done = play(i, there);
      Compared compared{there, {}, {}};
      compared.obstacle = obstacle_to_comparing(done, here, there);
      if (compared.obstacle.empty()) {
        compared.comparison = replay::compare_outputs(folder_.launch(), scratch / "0", scratch / std::to_string(i));
        if (!compared.comparison) compared.obstacle = "the memory contents after the launch could not be read";
      }
      fs::remove_all(scratch / std::to_string(i), error);
      result_.compared.push_back(std::move(compared));
    }
    fs::remove_all(scratch, error);
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
  const ReplayOptions& options_;
  supervise::LaunchPlayer& player_;
  ReplayResult result_;
};

int carry_out(const ReplayOptions& options) {
  if (!options.tool.empty() && !tool_of(options.tool)) {
    say("--sanitize: expected one of memcheck, racecheck, initcheck, synccheck, got " + options.tool);
    return kOwnFailure;
  }
  std::error_code error;
  if (!options.minimal.empty() && fs::exists(options.minimal, error)) {
    say(Error{options.minimal + " already exists", "choose a new folder for --write"});
    return kOwnFailure;
  }
  auto opened = open_launch(options);
  if (const auto* failure = std::get_if<Error>(&opened)) return say(*failure), kOwnFailure;
  const auto& folder = std::get<replay::LaunchFolder>(opened);
  announce(folder, options);
  launch::SignalRelay relay;
  const supervise::PlaySettings settings{
      chosen_gpu(folder, options), std::chrono::milliseconds(static_cast<std::int64_t>(options.time_limit * 1000))};
  supervise::LaunchPlayer player(folder, relay, settings);
  Replaying replaying(folder, options, player);
  if (const auto failure = replaying.run()) return say(*failure), kOwnFailure;
  const ReplayResult& result = replaying.result();
  print(options.json ? replay_json(folder, result) : replay_text(folder.launch(), result));
  if (result.first.outcome == Outcome::impossible || (options.compare && result.tally.impossible > 0))
    return kOwnFailure;
  return replaying.reproduced() ? 0 : 1;
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
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv("/proc/self/exe", arguments.data());
}

int play_in_this_process(const ChildOptions& options) {
  if (options.fixed) start_without_randomised_addresses();
  // No injected tool or recorder may affect the launch.
  ::unsetenv("CUDA_INJECTION64_PATH");
  const auto folder = replay::LaunchFolder::open(options.folder);
  if (const auto* failure = std::get_if<Error>(&folder)) return say(*failure), kOwnFailure;
  if (options.visible) {
    *options.visible == supervise::kEveryGpu ? ::unsetenv("CUDA_VISIBLE_DEVICES")
                                             : ::setenv("CUDA_VISIBLE_DEVICES", options.visible->c_str(), 1);
  }
  const replay::GpuChoice gpu{options.device, options.bus, false, {}};
  const replay::PlayOrder order{gpu, options.tight, options.without, options.outputs, options.dump};
  return replay::play(std::get<replay::LaunchFolder>(folder), order, options.answer);
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
void add_sanitize(CLI::App* command, ReplayOptions& replay) {
  command
      ->add_flag(
          "--sanitize", replay.tool,
          "run it once under compute-sanitizer; TOOL is memcheck (the default), racecheck, initcheck or synccheck")
      ->type_name("[=TOOL]");
}

}  // namespace

void add_replay(CLI::App& app, int& status) {
  auto replay = std::make_shared<ReplayOptions>();
  auto* command = app.add_subcommand("replay", "repeat a saved launch on its own");
  add_input(command, replay->folder, replay->output);
  add_number(command, "--times", replay->times, NumberRange<unsigned>{1u, 100'000u, "number from 1 to 100000"}, "N",
             "how many times to repeat the launch")
      ->default_str("1");
  add_number(command, "--device", replay->device, NumberRange<unsigned>{0u, 1023u, "number from 0 to 1023"}, "N",
             "the GPU to use; default: the one on which the launch was saved");
  add_number(command, "--time-limit", replay->time_limit, NumberRange<double>{0.1, 1e7, "number from 0.1 to 10000000"},
             "SECONDS", "how long one replay may take")
      ->default_str("60");
  add_sanitize(command, *replay);
  command->add_flag("--minimise", replay->minimise,
                    "find the smallest set of memory blocks with which the launch fails");
  add_text(command, "--write", replay->minimal, "FOLDER",
           "write a copy of the launch without the contents that --minimise found unnecessary")
      ->needs("--minimise");
  auto* compare = command->add_flag("--compare", replay->compare, "compare the memory after each replay, byte by byte");
  add_number(command, "--with-device", replay->compared_device,
             NumberRange<unsigned>{0u, 1023u, "number from 0 to 1023"}, "N",
             "run all replays except the first on this GPU")
      ->needs(compare);
  command->add_flag("--json", replay->json, "print JSON");
  add_foreign(command, replay->foreign, "also run a launch that another user or host saved");
  name_page(command);
  command->callback([replay, &status] { status = carry_out(*replay); });
  add_child(app, status);
}

}  // namespace cudadiag::command
