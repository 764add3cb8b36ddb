#include "supervise/reruns/rerun_policy.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "analyse/first_failure.h"
#include "analyse/process_ending.h"
#include "diagnose/words.h"
#include "launch/gpu_usage.h"
#include "launch/isolation/isolation.h"
#include "session/session_folders.h"
#include "session/session_trust.h"
#include "wire/environment.h"

namespace cudadiag::supervise {
namespace {

using Kind = RerunObstacle::Kind;
using Advice = RerunDecision::Advice;

constexpr double kCheapSeconds = 120;

int number_in(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::atoi(value);
}

bool spans_nodes() { return number_in("SLURM_JOB_NUM_NODES", 1) > 1; }

// `cudadiag env` sets some of these variables in the user's shell. A shell is not a launcher, because it cannot rerun
// the command.
bool under_another_launcher() {
  const char* pass = std::getenv(wire::environment::kPass);
  if (pass == nullptr) return false;
  return pass != std::string_view(session::kRecordFolder) || std::getenv(wire::environment::kArena) != nullptr ||
         std::getenv(wire::environment::kSession) == nullptr;
}

// A shell exits with 128 + N if signal N killed its command, but a program may choose this status too. The kernel does
// not reveal who sent the signal, which may be the program itself. `sent`: the signals that cudadiag passed on.
std::optional<RerunObstacle> end_by_signal(const session::ProcessEnd& end, const std::set<int>& sent) {
  const int status = end.code.value_or(0);
  const int signal = end.signal.value_or(status > 128 ? status - 128 : 0);
  if (!sent.contains(signal) && !analyse::ending({std::nullopt, signal}).killed()) return std::nullopt;
  return RerunObstacle{Kind::ended_by_signal, analyse::ending(end).text};
}

// A folder that was removed before the run has no path. Only a rerun that is not isolated can inherit it.
std::optional<RerunObstacle> removed_folder(const session::Session& session, const RerunRequest& request) {
  const std::string& folder = session.manifest.working_directory;
  std::error_code error;
  const bool inherits = request.mode == RerunMode::always || !request.isolated;
  if (folder.empty() ? inherits : std::filesystem::is_directory(folder, error)) return std::nullopt;
  return RerunObstacle{Kind::no_folder, folder};
}

std::optional<RerunObstacle> exposure(const session::Session& session) {
  const auto exposed = session::exposed_folder(session.folder.parent_path());
  return exposed ? std::optional(RerunObstacle{Kind::exposed, exposed->string()}) : std::nullopt;
}

std::optional<RerunObstacle> one_rank(const session::Session& session) {
  return session.manifest.ranks > 1 ? std::optional(RerunObstacle{Kind::one_rank}) : std::nullopt;
}

// Returns why the run must not be rerun, even if the user agrees; nullopt if it may be rerun.
std::optional<RerunObstacle> obstacle_in_run(const session::Session& session, const RerunRequest& request) {
  if (under_another_launcher()) return RerunObstacle{Kind::under_another_launcher};
  if (auto rank = one_rank(session)) return rank;
  if (const auto& at = session.manifest.passes.front().cut_short) {
    return RerunObstacle{Kind::ended_early, std::string(word(*at))};
  }
  if (session.manifest.hang) return RerunObstacle{Kind::hung};
  if (auto signal = end_by_signal(session.manifest.passes.front().end, request.signals)) return signal;
  const double seconds = expected_seconds(session);
  if (seconds > kCheapSeconds) {
    const bool failed = session.manifest.passes.front().failed_after.has_value();
    return RerunObstacle{failed ? Kind::failed_late : Kind::took_long, {}, seconds};
  }
  if (spans_nodes()) return RerunObstacle{Kind::several_nodes};
  return exposure(session);
}

// The same without asking the user.
std::optional<RerunObstacle> obstacle_unasked(const session::Session& session, const launch::Input& input,
                                              const RerunRequest& request) {
  if (auto obstacle = obstacle_in_run(session, request)) return obstacle;
  if (may_end_other_programs(session)) return RerunObstacle{Kind::mps};
  if (std::string obstacle = input.obstacle(); !obstacle.empty()) return RerunObstacle{Kind::input, obstacle};
  if (!request.isolated) return RerunObstacle{Kind::not_isolated, launch::missing_isolation().value_or("")};
  return std::nullopt;
}

std::optional<Kind> obstacle_to_asking(const RerunRequest& request) {
  const TerminalState& terminal = request.terminal;
  if (!terminal.input_is_terminal || !terminal.errors_are_terminal) return Kind::no_terminal;
  if (terminal.in_ci) return Kind::in_ci;
  if (request.quiet) return Kind::quiet;
  if (!terminal.in_foreground) return Kind::in_background;
  if (terminal.dumb) return Kind::dumb_terminal;
  if (!terminal.lines_are_read) return Kind::raw_terminal;
  return std::nullopt;
}

Advice bisect_for(const RerunRequest& request) { return request.isolated ? Advice::bisect_isolated : Advice::bisect; }

RerunDecision decline(const RerunObstacle& obstacle, const RerunRequest& request) {
  // A rerun would start one rank without the others.
  const bool of_job = obstacle.kind == Kind::one_rank || obstacle.kind == Kind::several_nodes;
  const Advice advice = of_job                              ? Advice::once
                        : obstacle.kind == Kind::exposed    ? Advice::other_folder
                        : obstacle.kind == Kind::descriptor ? Advice::file
                                                            : bisect_for(request);
  return {RerunDecision::Kind::decline, obstacle, advice};
}

}  // namespace

int ranks_of_job() {
  constexpr int kMostRanks = 1 << 30;
  for (const auto& [size, rank] : wire::kRankVariables) {
    const int least = std::clamp(number_in(rank, 0), 0, kMostRanks - 1) + 1;
    const int ranks = std::getenv(rank) == nullptr ? 1 : number_in(size, least);
    if (ranks > 1) return ranks;
  }
  return 1;
}

bool may_end_other_programs(const session::Session& session) {
  const auto shares = [](const session::Process& process) { return analyse::under_mps(process.record); };
  return std::any_of(session.processes.begin(), session.processes.end(), shares) || launch::may_use_mps();
}

RerunDecision decide_rerun(const session::Session& session, const launch::Input& input, const RerunRequest& request) {
  if (request.interrupted) return decline({Kind::interrupted}, request);
  if (const auto obstacle = removed_folder(session, request)) return decline(*obstacle, request);
  if (std::string name = diagnose::descriptor_in(session.manifest.command); !name.empty()) {
    return decline({Kind::descriptor, std::move(name)}, request);
  }
  if (request.mode == RerunMode::always) return {};
  if (request.for_hang_dump) {
    const auto rank = one_rank(session);
    const auto obstacle = rank ? rank : exposure(session);
    return obstacle ? decline(*obstacle, request) : RerunDecision{};
  }
  const bool may_ask = request.mode == RerunMode::ask || request.mode == RerunMode::standard;
  const bool at_terminal = request.terminal.input_is_terminal && request.terminal.errors_are_terminal;
  if (request.mode == RerunMode::ask || (may_ask && at_terminal)) {
    if (const auto obstacle = obstacle_in_run(session, request)) return decline(*obstacle, request);
    if (input.was_read() && at_terminal) return decline({Kind::input, input.obstacle()}, request);
    if (const auto obstacle = obstacle_to_asking(request)) return decline({*obstacle}, request);
    return {RerunDecision::Kind::ask, {}, bisect_for(request)};
  }
  const auto obstacle = obstacle_unasked(session, input, request);
  if (!obstacle) return {};
  const bool is_input = obstacle->kind == Kind::input;
  const bool hidden = is_input && may_ask && request.terminal.input_is_terminal;
  return decline(hidden ? RerunObstacle{Kind::no_terminal_for_errors} : *obstacle, request);
}

double expected_seconds(const session::Session& session) {
  if (session.manifest.passes.empty()) return 0;
  const session::Pass& first = session.manifest.passes.front();
  // The recorded time may be wrong: it comes from the recorded program, and the clock may have been changed during the
  // run.
  const double failed_after = first.failed_after.value_or(first.seconds);
  return failed_after >= 0 && failed_after <= first.seconds ? failed_after : first.seconds;
}

double longest_pause(const session::Session& session) {
  const double whole = expected_seconds(session);
  double longest = 0;
  for (const session::Process& process : session.processes) {
    const session::ProcessRecord& record = process.record;
    if (record.state != wire::area::State::frozen) continue;
    // If records are lost, a longer pause may be among them, so this returns the whole duration.
    if (record.dropped_operations > 0 || record.operations_issued > record.operations.size()) return whole;
    // The recording begins only when CUDA is initialised, so the time before that counts as a pause.
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

std::string with_patience(const std::string& window, double seconds) {
  if (seconds == RerunOptions().patience) return window;
  return fmt::format("{},patience={}", window, static_cast<unsigned>(seconds * 1000));
}

}  // namespace cudadiag::supervise
