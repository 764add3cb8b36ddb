#include "narrow.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "analyse/allocations.h"
#include "analyse/eager.h"
#include "debugger_advice.h"
#include "replay.h"
#include "report/witnesses.h"
#include "report/words.h"
#include "rerun.h"
#include "session/session_folders.h"
#include "session/session_reader.h"
#include "supervise/reruns/device_pass.h"
#include "supervise/reruns/suspect_lines.h"
#include "supervise/tools/external_tools.h"
#include "symbolize/device_testimony.h"
#include "terminal.h"

namespace cudadiag::command {
namespace {

using analyse::Analysis;
using analyse::Reach;
using Outcome = analyse::Rerun::Outcome;

constexpr double kSlowest = 3;  // of a rerun, against the first run
constexpr double kSlowestSanitized = 30;
constexpr double kStartSeconds = 30;                       // that a rerun may take besides
constexpr double kValuesSeconds = 10, kValuesShare = 0.2;  // that taking values may take; of the first run
constexpr double kQuietSeconds = 5;                        // that it may issue nothing besides
constexpr double kSavingSeconds = 60;                      // where the failing call is saved too

bool is_async(const analyse::Failure& failure) { return analyse::is_asynchronous(failure.kind) && failure.code != 0; }

std::uint64_t operations_of(const session::Session& session) {
  std::uint64_t operations = 0;
  for (const session::Process& process : session.processes) {
    for (const session::Thread& thread : process.record.threads) operations += thread.operations;
  }
  return operations;
}

bool wants_proof(const Analysis& analysis) {
  return std::any_of(analysis.failures.begin(), analysis.failures.end(), [](const analyse::Failure& failure) {
    return is_async(failure) && failure.grade != analyse::Grade::proven;
  });
}

// One that was cut short and left no dump may tell more another time.
bool was_made(const session::Manifest& manifest, std::string_view pass) {
  return std::any_of(manifest.passes.begin(), manifest.passes.end(), [&](const session::Pass& each) {
    return each.name == pass && (each.cut_short.empty() || !each.dump.empty());
  });
}

// A device exception for whose dump no rerun was made yet.
bool wants_dump(const Analysis& analysis, const session::Manifest& manifest) {
  return !was_made(manifest, "device") &&
         std::any_of(analysis.failures.begin(), analysis.failures.end(),
                     [](const auto& failure) { return is_async(failure) && supervise::leaves_a_dump(failure.code); });
}

// A call that found no memory of the device, in a process with PyTorch's allocator.
bool wants_memory(const Analysis& analysis, const session::Manifest& manifest) {
  return !was_made(manifest, "memory") &&
         std::any_of(analysis.failures.begin(), analysis.failures.end(), [](const auto& failure) {
           if (failure.kind != analyse::Kind::out_of_memory || failure.reported == nullptr) return false;
           const auto& modules = failure.process->record.modules;
           return !analyse::wanted_host_memory(*failure.reported) &&
                  failure.process->record.properties.contains("python") &&
                  std::any_of(modules.begin(), modules.end(), [](const session::Module& module) {
                    return module.path.find("libc10_cuda") != std::string::npos;
                  });
         });
}

// The call that is saved is one of Python's.
bool may_have_inputs(const Analysis& analysis) {
  return std::any_of(analysis.failures.begin(), analysis.failures.end(), [](const analyse::Failure& failure) {
    return is_async(failure) && failure.process != nullptr && failure.process->record.properties.contains("python");
  });
}

// A failure in what torch.compile made of some lines, of which no rerun has shown what they do by themselves.
bool wants_eager(const Analysis& analysis, const session::Manifest& manifest) {
  return !was_made(manifest, "eager") &&
         std::any_of(analysis.failures.begin(), analysis.failures.end(),
                     [](const auto& failure) { return is_async(failure) && analyse::is_compiled(failure); });
}

bool wants_hang_dump(const Analysis& analysis, const session::Manifest& manifest) {
  const bool told = std::any_of(manifest.passes.begin(), manifest.passes.end(),
                                [](const session::Pass& pass) { return pass.name == "device" && !pass.dump.empty(); });
  // Without a limit to end it at, a rerun would hang as long as the first run.
  return manifest.hang && !told &&
         std::any_of(analysis.failures.begin(), analysis.failures.end(),
                     [](const analyse::Failure& failure) { return failure.kind == analyse::Kind::hang; });
}

bool memcheck_may_tell(const analyse::Failure& failure) {
  return is_async(failure) && report::memcheck_may_tell(failure.code);
}

// The newest pass with a dump that the debugger was not asked about.
template <typename Passes>
auto* unchecked_dump(Passes& passes) {
  const auto found = std::find_if(passes.rbegin(), passes.rend(), [](const auto& pass) { return !pass.dump.empty(); });
  return found == passes.rend() || found->debugger ? nullptr : &*found;
}

struct SuspectedKernels {
  std::vector<std::string> names;  // likeliest first
  bool all = true;                 // none but these can be the one
};

// That the first such failure may have happened in.
SuspectedKernels suspected_kernels(const Analysis& analysis) {
  constexpr std::size_t kMost = 8;
  SuspectedKernels kernels;
  for (const analyse::Failure& failure : analysis.failures) {
    if (!memcheck_may_tell(failure) || failure.process == nullptr || !kernels.names.empty()) continue;
    const session::ProcessRecord& record = failure.process->record;
    for (const analyse::Candidate& candidate : failure.candidates) {
      const session::Site* site = session::by_id(record.sites, candidate.operation->site);
      const std::uint32_t function = candidate.node != nullptr ? candidate.node->function
                                     : site != nullptr         ? site->function
                                                               : 0;
      const std::string* name = session::by_id(record.functions, function);
      const bool of_graph = candidate.operation->kind == wire::operation::Kind::graph;
      kernels.all &= !of_graph || (candidate.node != nullptr && candidate.alike && name != nullptr);
      if (name == nullptr || name->empty()) continue;
      if (std::find(kernels.names.begin(), kernels.names.end(), *name) == kernels.names.end()) {
        kernels.names.push_back(*name);
      }
    }
    kernels.all &= failure.unlisted == 0 && kernels.names.size() <= kMost;
  }
  return kernels;
}

bool wants_sanitizer(const Analysis& analysis, const session::Manifest& manifest) {
  return !was_made(manifest, "sanitize") && !suspected_kernels(analysis).names.empty();
}

class Narrowing {
 public:
  Narrowing(session::Session& session, session::SessionWriter& writer, launch::SignalRelay& relay,
            const NarrowOptions& options)
      : session_(session), writer_(writer), relay_(relay), options_(options), analysis_(analyse::analyse(session)) {}

  bool run() {
    confirm();
    if (options_.values && goes_on() && wants_memory(analysis_, session_.manifest)) memory();
    if (options_.save_limit > 0 && goes_on()) {
      const auto patience = std::chrono::milliseconds(static_cast<std::int64_t>(common().time_limit * 1000));
      replay(session_, writer_, analysis_, patience, relay_);
    }
    if (!options_.window && goes_on() && worth_naming(session_)) races();
    if (!options_.window && goes_on() && wants_eager(analysis_, session_.manifest)) eager();
    if (options_.device && goes_on() && wants_dump(analysis_, session_.manifest)) device();
    if (options_.hang_dump && goes_on() && wants_hang_dump(analysis_, session_.manifest)) device(true);
    if (options_.cross_check && !interrupted_) cross_check();
    if (options_.sanitize && goes_on() && !was_made(session_.manifest, "sanitize")) sanitize();
    return possible_;
  }

 private:
  // One that was kept from something on its way to the failure would be so again.
  bool goes_on() const { return possible_ && !interrupted_ && !kept_; }

  void confirm() {
    if (options_.window) {
      repeat(*options_.window);
      return;
    }
    if (!options_.reach && !wants_proof(analysis_) && options_.save_limit == 0) return;
    const Reach first = options_.reach.value_or(Reach::calls);
    const Reach last = options_.reach.value_or(Reach::everything);
    std::string done;
    for (int reach = static_cast<int>(first); reach <= static_cast<int>(last); ++reach) {
      const auto window = analyse::rerun_window(analysis_, static_cast<Reach>(reach));
      // Nothing to wait for, or nothing more than before.
      if (window.text.empty() || window.text == done) continue;
      done = window.text;
      if (!repeat(window)) return;
    }
  }

  // Reruns with this window until it fails. True if a wider one may tell more.
  bool repeat(const analyse::RerunWindow& window) {
    for (unsigned passed = 0; passed < options_.repeat;) {
      if (!pass(window)) return false;
      const Outcome outcome = analysis_.reruns.back().outcome;
      // Where every operation is waited for, none has so much to wait for.
      if (outcome == Outcome::failed || outcome == Outcome::given_up) return true;
      if (outcome != Outcome::did_not_fail && outcome != Outcome::not_reached) return false;
      // Whether it is for the values, one rerun without them says.
      if (!with_values_ && analysis_.reruns.back().disturbed) {
        with_values_ = outcome;
        without_values_ = true;
        continue;
      }
      without_values_ = without_values_ && outcome != with_values_;
      ++passed;
    }
    return false;
  }

  // False: there is no going on.
  bool pass(const analyse::RerunWindow& window) {
    RerunSpec spec = common();
    spec.window = with_patience(window.text, options_.patience);
    spec.waits = window.words;
    if (options_.values && !without_values_)
      spec.values = supervise::suspect_lines(session_, analysis_, seconds_for_values(), options_.save_limit);
    if (options_.tell_passes) {
      say(fmt::format("rerun {}: waits for {}{}", session_.reruns.size() + 1, spec.waits,
                      without_values_ ? ", and takes no values" : ""));
    }
    if (!add(spec)) return false;
    if (options_.tell_passes) tell_pass();
    return !interrupted_;
  }

  void memory() {
    RerunSpec spec = common();
    spec.kind = RerunSpec::Kind::memory;
    spec.values = fmt::format("{:.1f}\t0\n0\t0\tmemory\t\t", seconds_for_values());
    look(spec, "asks PyTorch's allocator");
  }

  void races() {
    RerunSpec spec = common();
    spec.kind = RerunSpec::Kind::races;
    spec.values = supervise::racing_lines(session_, seconds_for_values());
    look(spec, "looks who uses the racing memory");
  }

  void eager() {
    RerunSpec spec = common();
    spec.kind = RerunSpec::Kind::eager;
    look(spec, "without torch.compile");
    if (!options_.values || !goes_on()) return;
    const session::Session eager = analyse::eager_session(session_);
    const Analysis found = analyse::analyse(eager);
    const bool tells = std::any_of(found.failures.begin(), found.failures.end(), [&](const auto& again) {
      return std::any_of(analysis_.failures.begin(), analysis_.failures.end(),
                         [&](const auto& failure) { return analyse::tells_line_of(failure, again, eager); });
    });
    if (!tells) return;
    const auto window = analyse::rerun_window(found, Reach::calls);
    spec.window = with_patience(window.text, options_.patience);
    spec.waits = window.words;
    spec.values = supervise::suspect_lines(eager, found, seconds_for_values(), 0);
    if (!spec.values.empty()) look(spec, "without torch.compile, and takes the values there");
  }

  // A pass that waits for nothing, of which no more is told than that it ended.
  void look(const RerunSpec& spec, const char* what) {
    if (options_.tell_passes) say(fmt::format("rerun {}: {}", session_.reruns.size() + 1, what));
    if (add(spec) && options_.tell_passes) tell_end("it ended");
  }

  void device(bool hangs = false) {
    RerunSpec spec = common();
    spec.kind = RerunSpec::Kind::device;
    if (hangs) {
      // By then the first run had long stood still.
      spec.dump_after = session_.manifest.passes.front().seconds;
      if (!options_.time_limit) spec.time_limit = std::max(spec.time_limit, kStartSeconds + *spec.dump_after);
    }
    if (options_.tell_passes) say(fmt::format("rerun {}: for a GPU core dump", session_.reruns.size() + 1));
    // Of a hang it had to be asked for: that it is waited for, and did not come, is told in any case.
    if (hangs) {
      say(fmt::format("running the command again for a GPU core dump of its kernels: {} at most (--time-limit)",
                      report::duration(spec.time_limit)));
    }
    if (!add(spec)) return;
    const session::Pass& pass = session_.manifest.passes.back();
    if (hangs && pass.dump.empty()) {
      return say(fmt::format("no GPU core dump came, after {}: {}", report::duration(pass.seconds), why_no_dump(pass)));
    }
    if (options_.tell_passes) {
      tell_end(!pass.dump.empty()                                  ? "a GPU core dump was written"
               : analysis_.reruns.back().failed_unwatched == false ? "did not fail"
                                                                   : "no GPU core dump was written");
    }
  }

  // Of a hang.
  std::string why_no_dump(const session::Pass& pass) const {
    if (interrupted_) return "the rerun was interrupted";
    if (dump_asked_) return "the driver was asked for one and wrote none";
    return pass.cut_short.empty()
               ? "the program ended before one could be asked for"
               : "no process could be asked for one: only NVIDIA's driver takes such requests, for work on a GPU";
  }

  void cross_check() {
    if (const std::string obstacle = obstacle_to_cross_check(session_.manifest); !obstacle.empty())
      return say(obstacle);
    session::Pass* pass = unchecked_dump(session_.manifest.passes);
    const std::filesystem::path folder = writer_.folder() / pass->folder;
    const auto patience =
        std::chrono::milliseconds(options_.time_limit ? static_cast<std::int64_t>(*options_.time_limit * 1000)
                                                      : supervise::kDebuggerPatience.count());
    const supervise::ToolRun run =
        supervise::run_debugger(folder / pass->dump, std::min(patience, supervise::kDebuggerPatience), relay_);
    if (!run.obstacle.empty()) {
      return say(run.obstacle + "; " + debugger_advice(folder / pass->dump));
    }
    const auto text = std::string_view(run.output).substr(0, symbolize::kDebuggerTextKept);
    if (const auto failure = writer_.store_text(folder / session::kDebuggerFile, text)) return say(*failure);
    pass->debugger = session::Witness{run.end, run.cut_short, run.seconds};
    if (const auto failure = writer_.store_manifest(session_.manifest)) say(*failure);
  }

  void sanitize() {
    RerunSpec spec = common();
    spec.kind = RerunSpec::Kind::sanitize;
    SuspectedKernels kernels = suspected_kernels(analysis_);
    if (kernels.names.empty()) {
      const auto& failures = analysis_.failures;
      const bool wanted = std::any_of(failures.begin(), failures.end(), memcheck_may_tell);
      if (wanted) say("no rerun under compute-sanitizer: no kernel is suspected by name");
      return;
    }
    if (kernels.all) spec.kernels = std::move(kernels.names);
    spec.sanitizer = supervise::find_sanitizer();
    if (spec.sanitizer.empty()) {
      return say("compute-sanitizer is not installed here; cudadiag report -v has the command for a machine with it");
    }
    spec.time_limit = options_.time_limit.value_or(kStartSeconds + kSlowestSanitized * expected_seconds(session_));
    look(spec, "under compute-sanitizer");
  }

  double seconds_for_values() const {
    const double least = options_.save_limit > 0 ? kSavingSeconds : kValuesSeconds;
    return std::max(least, kValuesShare * expected_seconds(session_));
  }

  // A server that nobody asks, or a program that waits for what only the first run was given, has nothing to show.
  double quiet_limit() const {
    return options_.isolated ? kQuietSeconds + options_.patience + kSlowest * longest_pause(session_) : 0;
  }

  RerunSpec common() const {
    RerunSpec spec;
    spec.time_limit = options_.time_limit.value_or(kStartSeconds + kSlowest * expected_seconds(session_));
    spec.operations = operations_of(session_);
    spec.expected_seconds = expected_seconds(session_);
    spec.show = options_.show;
    spec.input = options_.input;
    spec.isolated = options_.isolated;
    spec.quiet_limit = quiet_limit();
    return spec;
  }

  // Runs a pass and adds it to the session. False: it could not be run.
  bool add(const RerunSpec& spec) {
    auto done = rerun(spec, session_, writer_, relay_);
    if (const auto* failure = std::get_if<session::Failure>(&done)) {
      say("the rerun was not possible: " + failure->what);
      possible_ = false;
      return false;
    }
    auto& result = std::get<RerunResult>(done);
    interrupted_ = result.interrupted;
    dump_asked_ = result.dump_asked;
    session_.manifest.passes.push_back(std::move(result.pass));
    session_.reruns.push_back(std::move(result.processes));
    session_.rerun_races.push_back(std::move(result.races));
    if (const auto failure = writer_.store_manifest(session_.manifest)) say(*failure);
    analysis_ = analyse::analyse(session_);
    kept_ = analysis_.reruns.back().outcome == Outcome::kept_from;
    if (options_.after_rerun) options_.after_rerun(analysis_);
    return true;
  }

  // `what` came of the newest pass, if it was not cut short.
  void tell_end(const std::string& what) const {
    const session::Pass& pass = session_.manifest.passes.back();
    say(fmt::format("rerun {}: {}, after {}", session_.reruns.size(), pass.cut_short.empty() ? what : pass.cut_short,
                    report::duration(pass.seconds)));
  }

  void tell_pass() const {
    const session::Pass& pass = session_.manifest.passes.back();
    const std::string what =
        pass.cut_short.empty() ? std::string(report::word(analysis_.reruns.back().outcome)) : pass.cut_short;
    const std::uint64_t waits = analysis_.reruns.back().waits;
    say(fmt::format("rerun {}: {}, after {}; {} operation{} waited for", session_.reruns.size(), what,
                    report::duration(pass.seconds), report::thousands(waits), waits == 1 ? " was" : "s were"));
    if (!came_to_nothing()) return;
    const auto printed = session_.folder / pass.folder / session::kOutputFile;
    say("it had not used CUDA when it ended; what it printed is in " + report::shell_word(printed.string()) +
        ", and what the first run was given, its environment too, it may need again");
  }

  // The newest rerun ended by itself, badly, and had not begun to use CUDA.
  bool came_to_nothing() const {
    const analyse::Rerun& rerun = analysis_.reruns.back();
    return rerun.outcome == Outcome::not_reached && rerun.end.bad && session_.reruns.back().empty();
  }

  session::Session& session_;
  session::SessionWriter& writer_;
  launch::SignalRelay& relay_;
  const NarrowOptions& options_;
  Analysis analysis_;
  std::optional<Outcome> with_values_;  // of a rerun that may have gone another way for the values taken
  bool without_values_ = false;         // the next one takes none
  bool interrupted_ = false;
  bool kept_ = false;
  bool dump_asked_ = false;
  bool possible_ = true;
};

}  // namespace

void follow(const RerunOptions& given, NarrowOptions& options) {
  options.repeat = given.repeat;
  options.patience = given.patience;
  options.time_limit = given.time_limit;
  options.device = given.device;
  options.hang_dump = given.hang_dump;
  options.cross_check = given.cross_check;
  options.sanitize = given.sanitize;
  options.values = given.values;
  options.save_limit = given.save_inputs ? std::uint64_t{given.save_limit} << 20 : 0;
  options.show = given.show;
}

bool narrow(session::Session& session, session::SessionWriter& writer, launch::SignalRelay& relay,
            const NarrowOptions& options) {
  return Narrowing(session, writer, relay, options).run();
}

unsigned planned_reruns(const session::Session& session, const NarrowOptions& options) {
  const Analysis analysis = analyse::analyse(session);
  const session::Manifest& manifest = session.manifest;
  const bool wanted[] = {wants_proof(analysis) || options.save_limit > 0,
                         options.values && wants_memory(analysis, manifest),
                         worth_naming(session),
                         wants_eager(analysis, manifest),
                         options.device && wants_dump(analysis, manifest),
                         options.hang_dump && wants_hang_dump(analysis, manifest),
                         options.sanitize && wants_sanitizer(analysis, manifest)};
  const auto runs = static_cast<unsigned>(std::count(std::begin(wanted), std::end(wanted), true));
  // The values of the line that fails without torch.compile take a rerun of their own.
  return options.values && wants_eager(analysis, manifest) ? runs + 1 : runs;
}

bool worth_narrowing(const analyse::Analysis& analysis, const session::Manifest& manifest,
                     const RerunOptions& options) {
  return wants_proof(analysis) || (options.save_inputs && may_have_inputs(analysis)) ||
         wants_eager(analysis, manifest) || (options.hang_dump && wants_hang_dump(analysis, manifest)) ||
         (options.device && wants_dump(analysis, manifest)) || (options.values && wants_memory(analysis, manifest)) ||
         (options.cross_check && unchecked_dump(manifest.passes) != nullptr) ||
         (options.sanitize && wants_sanitizer(analysis, manifest));
}

std::string obstacle_to_cross_check(const session::Manifest& manifest) {
  if (unchecked_dump(manifest.passes) != nullptr) return "";
  const bool asked = std::any_of(manifest.passes.begin(), manifest.passes.end(),
                                 [](const session::Pass& pass) { return pass.debugger.has_value(); });
  return asked ? "cuda-gdb was asked about its GPU core dump already"
               : "there is no GPU core dump in the session that cuda-gdb could be asked about";
}

bool worth_naming(const session::Session& session) {
  return !was_made(session.manifest, "races") && !supervise::racing_lines(session, 0).empty();
}

std::string with_patience(const std::string& window, double seconds) {
  if (seconds == NarrowOptions().patience) return window;
  return fmt::format("{},patience={}", window, static_cast<unsigned>(seconds * 1000));
}

double longest_pause(const session::Session& session) {
  const double whole = expected_seconds(session);
  double longest = 0;
  for (const session::Process& process : session.processes) {
    const session::ProcessRecord& record = process.record;
    if (record.state != wire::area::State::frozen) continue;
    // In what was not kept there may have been any.
    if (record.dropped_operations > 0 || record.operations_issued > record.operations.size()) return whole;
    // Until CUDA is initialised nothing is recorded.
    longest = std::max(longest, whole - record.seconds(record.frozen_ticks));
    std::uint64_t before = record.clock_start;
    const auto look = [&](std::uint64_t ticks) {
      if (ticks <= before) return;
      longest = std::max(longest, record.seconds(ticks) - record.seconds(before));
      before = ticks;
    };
    for (const session::Operation& operation : record.operations) look(operation.ticks);
    look(record.frozen_ticks);
  }
  return longest > 0 ? std::min(longest, whole) : whole;
}

double expected_seconds(const session::Session& session) {
  if (session.manifest.passes.empty()) return 0;
  const session::Pass& first = session.manifest.passes.front();
  // The recorded program's own words, and the clock may have been set meanwhile.
  const double failed_after = first.failed_after.value_or(first.seconds);
  return failed_after >= 0 && failed_after <= first.seconds ? failed_after : first.seconds;
}

}  // namespace cudadiag::command
