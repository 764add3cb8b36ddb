#include "narrow.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "device_pass.h"
#include "report/words.h"
#include "rerun.h"
#include "session/session_reader.h"
#include "terminal.h"

namespace cudadiag::command {
namespace {

using analyse::Analysis;
using analyse::Reach;
using Outcome = analyse::Rerun::Outcome;

constexpr double kSlowest = 3;        // of a rerun, against the first run
constexpr double kStartSeconds = 30;  // that a rerun may take besides

bool is_async(const analyse::Failure& failure) { return analyse::is_asynchronous(failure.kind); }

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

// A device exception for whose dump no rerun was made yet.
bool wants_dump(const Analysis& analysis, const session::Manifest& manifest) {
  const bool told = std::any_of(manifest.passes.begin(), manifest.passes.end(),
                                [](const session::Pass& pass) { return pass.name == "device"; });
  return !told && std::any_of(analysis.failures.begin(), analysis.failures.end(),
                              [](const auto& failure) { return is_async(failure) && leaves_a_dump(failure.code); });
}

class Narrowing {
 public:
  Narrowing(session::Session& session, session::SessionWriter& writer, launch::SignalRelay& relay,
            const NarrowOptions& options)
      : session_(session), writer_(writer), relay_(relay), options_(options), analysis_(analyse::analyse(session)) {}

  bool run() {
    confirm();
    const bool go_on = possible_ && !interrupted_;
    if (options_.device && go_on && wants_dump(analysis_, session_.manifest)) device();
    return possible_;
  }

 private:
  void confirm() {
    if (options_.window) {
      repeat(*options_.window);
      return;
    }
    if (!options_.reach && !wants_proof(analysis_)) return;
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
      if (outcome == Outcome::failed) return true;
      if (outcome != Outcome::did_not_fail) return false;
      ++passed;
    }
    return false;
  }

  // False: there is no going on.
  bool pass(const analyse::RerunWindow& window) {
    RerunSpec spec = common();
    spec.window = with_patience(window.text, options_.patience);
    spec.waits = window.words;
    if (options_.tell_passes) say(fmt::format("rerun {}: waits for {}", session_.reruns.size() + 1, spec.waits));
    if (!add(spec)) return false;
    if (options_.tell_passes) tell_pass();
    return !interrupted_;
  }

  void device() {
    RerunSpec spec = common();
    spec.kind = RerunSpec::Kind::device;
    if (options_.tell_passes) say(fmt::format("rerun {}: for a GPU core dump", session_.reruns.size() + 1));
    if (!add(spec) || !options_.tell_passes) return;
    const session::Pass& pass = session_.manifest.passes.back();
    const std::string what = pass.dump.empty() ? "no GPU core dump was written" : "a GPU core dump was written";
    say(fmt::format("rerun {}: {}, after {}", session_.reruns.size(), pass.cut_short.empty() ? what : pass.cut_short,
                    report::duration(pass.seconds)));
  }

  RerunSpec common() const {
    RerunSpec spec;
    spec.time_limit = options_.time_limit.value_or(kStartSeconds + kSlowest * expected_seconds(session_));
    spec.operations = operations_of(session_);
    spec.show = options_.show;
    spec.input = options_.input;
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
    session_.manifest.passes.push_back(std::move(result.pass));
    session_.reruns.push_back(std::move(result.processes));
    if (const auto failure = writer_.store_manifest(session_.manifest)) say(*failure);
    analysis_ = analyse::analyse(session_);
    return true;
  }

  void tell_pass() const {
    const session::Pass& pass = session_.manifest.passes.back();
    const std::string what =
        pass.cut_short.empty() ? std::string(report::word(analysis_.reruns.back().outcome)) : pass.cut_short;
    say(fmt::format("rerun {}: {}, after {}; {} operations were waited for", session_.reruns.size(), what,
                    report::duration(pass.seconds), report::thousands(analysis_.reruns.back().waits)));
  }

  session::Session& session_;
  session::SessionWriter& writer_;
  launch::SignalRelay& relay_;
  const NarrowOptions& options_;
  Analysis analysis_;
  bool interrupted_ = false;
  bool possible_ = true;
};

}  // namespace

void follow(const RerunOptions& given, NarrowOptions& options) {
  options.repeat = given.repeat;
  options.patience = given.patience;
  options.time_limit = given.time_limit;
  options.device = given.device;
  options.show = given.show;
}

bool narrow(session::Session& session, session::SessionWriter& writer, launch::SignalRelay& relay,
            const NarrowOptions& options) {
  return Narrowing(session, writer, relay, options).run();
}

bool worth_narrowing(const analyse::Analysis& analysis, const session::Manifest& manifest, bool device) {
  return wants_proof(analysis) || (device && wants_dump(analysis, manifest));
}

std::string with_patience(const std::string& window, double seconds) {
  if (seconds == NarrowOptions().patience) return window;
  return fmt::format("{},patience={}", window, static_cast<unsigned>(seconds * 1000));
}

double expected_seconds(const session::Session& session) {
  if (session.manifest.passes.empty()) return 0;
  const session::Pass& first = session.manifest.passes.front();
  return first.failed_after.value_or(first.seconds);
}

}  // namespace cudadiag::command
