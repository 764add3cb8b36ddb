#include "analyse/confirmation.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "analyse/reruns/same_code.h"
#include "analyse/site_keys.h"
#include "session/process_record.h"
#include "wire/cuda_codes.h"

namespace cudadiag::analyse {
namespace {

using wire::site_key::Key;

// Returns the replay number of a graph, or the call number of another operation at its call site; 0 if unknown.
std::uint32_t number_of(const Candidate& candidate) {
  const session::Operation& operation = *candidate.operation;
  return operation.replay != 0 ? operation.replay : operation.site_ordinal;
}

bool expects_dump(const session::ProcessRecord& record) {
  return session::awaited_core_dump(record) || session::left_core_dump(record);
}

constexpr const char* kSomeCall = "this line's operation";

// Returns "call 20 of this line (call 50 in the first run)". `first`: the calls of one line that may have failed in the
// first run. `complete`: all such calls are in `first`. `failure`: from a rerun.
std::string which_call(const std::vector<Candidate>& first, bool complete, Key site, const Failure& failure) {
  const Candidate& again = failure.candidates.front();
  const bool is_replay = again.operation->replay != 0;
  const std::uint32_t number = is_replay ? again.operation->replay : ordinal_again(failure, site);
  if (number == 0) return kSomeCall;
  const char* word = is_replay ? "replay" : "call";
  const std::string call = fmt::format("{} {} of {}", word, number, is_replay ? "the graph" : "this line");
  if (!complete) return call;
  const auto [least, most] = std::minmax_element(
      first.begin(), first.end(), [](const auto& a, const auto& b) { return number_of(a) < number_of(b); });
  const std::uint32_t from = number_of(*least), to = number_of(*most);
  if (from == number && to == number) return call;
  return from == to ? fmt::format("{} ({} {} in the first run)", call, word, from)
                    : fmt::format("{} (one of {}s {} to {} in the first run)", call, word, from, to);
}

}  // namespace

std::string rewritten_of(const Failure& failure, const session::Pass& pass) {
  if (pass.rewritten.empty() || failure.process == nullptr) return "";
  const auto is_rewritten = [&](const std::string& file) {
    return std::find(pass.rewritten.begin(), pass.rewritten.end(), file) != pass.rewritten.end();
  };
  const session::ProcessRecord& record = failure.process->record;
  for (const Candidate& candidate : failure.candidates) {
    const auto* site = session::by_id(record.sites, candidate.operation->site);
    const auto* python = site == nullptr ? nullptr : session::by_id(record.python_stacks, site->python);
    const auto* native = site == nullptr ? nullptr : session::by_id(record.native_stacks, site->native);
    for (std::size_t i = 0; python != nullptr && i < python->frames.size(); ++i) {
      const auto* code = session::by_id(record.codes, python->frames[i].code);
      if (code != nullptr && is_rewritten(code->file)) return code->file;
    }
    for (std::size_t i = 0; native != nullptr && i < native->frames.size(); ++i) {
      const auto* module = session::by_id(record.modules, native->frames[i].module);
      if (module != nullptr && is_rewritten(module->path)) return module->path;
    }
  }
  return "";
}

bool confirm(Failure& failure, const Failure& again, const session::Pass& pass) {
  // Edited source may behave differently, even at the same line.
  if (!rewritten_of(failure, pass).empty()) return false;
  if (again.candidates.empty() || again.evidence.is_guess()) return false;
  // Accepts an unproven failure only if the rerun waited for its operation. The rerun may have read values there that
  // explain the failure.
  if (!again.evidence.names_one() && again.unproven.empty()) return false;
  auto [kept, very_call, other_way] = same_code(failure, again);
  if (kept.empty()) return false;
  if (!again.evidence.proves() && again.evidence.names_one() && failure.evidence.names_one()) return true;
  // While a GPU core dump is expected, code 719 may stand for any exception.
  const bool unknown_code = again.code == wire::cuda::kLaunchFailure && expects_dump(again.process->record);
  const std::string error = again.code == failure.code || unknown_code ? "" : fmt::format(" with code {}", again.code);
  const std::size_t candidates = failure.candidates.size() + failure.unlisted;
  const std::string those = candidates == 1 ? "" : fmt::format("one of {} candidates: ", candidates);
  if (again.evidence.proves()) {
    const Key site = SiteKeys(failure.process->record).of_site(kept.front().operation->site);
    const std::string which = other_way ? kSomeCall : which_call(kept, failure.unlisted == 0, site, again);
    failure.evidence = {Fact::ran_alone,
                        fmt::format("{}in a rerun, {} ran alone on the GPU and failed{}", those, which, error)};
    if (other_way) failure.evidence.add("in the rerun, libraries reached the operation by a different path");
  } else if (!again.unproven.empty()) {
    failure.evidence = {Fact::ran_alone,
                        fmt::format("{}in a rerun, the same operation failed while cudadiag waited for it, but {}",
                                    those, again.unproven)};
    failure.evidence.add(Fact::may_be_another);
  } else {
    failure.evidence = {Fact::one_running,
                        fmt::format("{}in a rerun, only this operation could have been running", those)};
  }
  failure.call_not_known = !very_call;
  failure.candidates = std::move(kept);
  failure.again = again.candidates.front().operation;
  failure.again_process = again.process;
  return true;
}

void doubt(Failure& failure, const Failure& again) {
  const bool all_known = !again.candidates.empty() && again.unlisted == 0;
  const bool one_left = failure.evidence.names_one() && !failure.evidence.proves();
  if (!one_left || !all_known || shares_code(failure, again)) return;
  failure.evidence.add(Fact::contradicted, "but when a rerun failed, this operation could not have been running");
}

}  // namespace cudadiag::analyse
