#include "analyse/first_failure.h"

#include <fmt/core.h>

#include <algorithm>

#include "session/process_record.h"

namespace cudadiag::analyse {
namespace {

using session::ProcessRecord;

constexpr std::uint32_t kNoContext = 0xffffffff;

struct Picture {
  explicit Picture(const ProcessRecord& of) : record(of), events(of), histories(stream_histories(of, events)) {
    for (const auto& history : histories) windows.push_back(candidate_window(history));
  }
  const ProcessRecord& record;
  EventLog events;
  std::vector<StreamHistory> histories;
  std::vector<CandidateWindow> windows;
};

const session::FailedCall* reporting_call(const ProcessRecord& record) {
  return session::by_id(record.errors, record.frozen_error);
}

// Returns the context that the error broke: that of the stream passed to the call, if any; otherwise the current one.
std::uint32_t failing_context(const ProcessRecord& record, const session::FailedCall* reported) {
  if (reported == nullptr) return kNoContext;
  if (reported->stream < record.streams.size()) return record.streams[reported->stream].context;
  return reported->context;
}

bool destroyed(const ProcessRecord& record, std::uint32_t context) {
  return context < record.contexts.size() && record.contexts[context].state == wire::context::State::destroyed;
}

struct FoundSuspects {
  std::vector<Suspect> suspects;
  std::uint32_t missing = 0;   // records lost in the windows that were searched
  bool lost_first = false;     // the record of the first operation of a window is lost
  bool other_context = false;  // nothing was running in the context that reported the error
  std::size_t streams = 0;     // how many streams have suspects
};

// Searches all live contexts, not only `context`. Contexts with access to each other's memory fail together, so the
// context that first reported the error may have done nothing wrong.
FoundSuspects search(const Picture& picture, std::uint32_t context, std::uint32_t code) {
  FoundSuspects found;
  for (std::size_t i = 0; i < picture.histories.size(); ++i) {
    const std::uint32_t own = picture.histories[i].stream->context;
    if (destroyed(picture.record, own)) continue;
    found.missing += picture.windows[i].missing;
    found.lost_first |= picture.windows[i].lost_first;
    auto suspects = suspects_of(picture.histories[i], picture.windows[i], code);
    for (Suspect& suspect : suspects) suspect.other_context = context != kNoContext && own != context;
    found.suspects.insert(found.suspects.end(), suspects.begin(), suspects.end());
  }
  drop_refused(found.suspects);
  drop_not_started(found.suspects, stream_starts(picture.histories, picture.windows, picture.events));
  drop_kinds_that_cannot_raise(found.suspects, code);
  prefer_checking_kernels(found.suspects, picture.record, code);
  prefer_stale_graphs(found.suspects, picture.record, code);
  prefer_own_kernels(found.suspects, picture.record, code);
  order_by_likelihood(found.suspects);
  found.other_context = std::ranges::all_of(found.suspects, &Suspect::other_context);
  std::vector<std::uint32_t> streams;
  for (const auto& suspect : found.suspects) streams.push_back(suspect.history->index);
  std::ranges::sort(streams);
  found.streams = static_cast<std::size_t>(std::unique(streams.begin(), streams.end()) - streams.begin());
  return found;
}

// In a rerun: returns the operation that ran alone on the devices when the error appeared. This operation cannot have
// finished, and all earlier operations must have finished. Returns null if earlier operations may still have been
// running because the recorder could not wait for them.
const Suspect* waited_for(const FoundSuspects& found) {
  const auto alone = std::ranges::find_if(
      found.suspects, [](const Suspect& suspect) { return suspect.operation->flags & wire::operation::kAlone; });
  if (alone == found.suspects.end() || found.missing > 0) return nullptr;
  const bool beside = std::ranges::any_of(
      found.suspects, [&](const Suspect& other) { return other.operation->ticks < alone->operation->ticks; });
  return beside ? nullptr : &*alone;
}

constexpr const char* kMayBeAnothers = "under MPS another process may have caused the fault";

// Returns why operations or markers may be missing from the recording; empty if none can be.
std::string gap(const ProcessRecord& record) {
  if (record.dropped_operations > 0 || record.dropped_streams > 0) return "not every operation could be recorded";
  return record.damaged > 0 ? "damaged parts of the recording were ignored" : "";
}

struct Doubt {
  Fact fact = Fact::context;
  std::string clause;  // empty if there is no doubt
};

// Returns why the failed operation may be missing from the candidates.
Doubt doubt(const ProcessRecord& record, const FoundSuspects& found) {
  const auto another = [](std::string clause) { return Doubt{Fact::may_be_another, std::move(clause)}; };
  const std::uint32_t context = found.suspects.empty() ? kNoContext : found.suspects.front().history->stream->context;
  if (found.other_context) return another("nothing was running in the context that reported the error");
  if (found.missing > 0) return another("the records of other operations that may have been running are lost");
  if (std::string its = gap(record); !its.empty()) return another(std::move(its));
  if (context >= record.contexts.size() || record.contexts[context].markers != wire::context::Markers::on) {
    return another("the context had no completion markers");
  }
  if (under_mps(record)) return {Fact::may_be_others, kMayBeAnothers};
  return {};
}

std::string progress(const Suspect& suspect) {
  const StreamHistory& history = *suspect.history;
  const std::string name = stream_phrase(*history.stream);
  if (history.completed == 0) return fmt::format("no operation of {} is known to have finished", name);
  return fmt::format("operation {} on {} had finished", history.completed, name);
}

std::string because_one(const Suspect& only, const std::string& doubt) {
  if (only.call == Suspect::Call::refused) {
    const std::string text = "the call itself returned the error, and everything issued before it had finished";
    return doubt.empty() ? text : text + ", but " + doubt;
  }
  const std::uint32_t operation = only.operation->ordinal;
  if (doubt.empty()) return fmt::format("{}; only operation {} could have been running", progress(only), operation);
  return fmt::format("{}; among the recorded operations, only operation {} could have been running, but {}",
                     progress(only), operation, doubt);
}

std::string because_several(const FoundSuspects& found, const std::string& doubt) {
  std::string text = fmt::format("{} operations", found.suspects.size());
  if (found.streams > 1) text += fmt::format(" on {} streams", found.streams);
  text += " may have been running, the likeliest first";
  if (found.suspects.size() > kMaxCandidates) {
    text += fmt::format("; {} of them are not listed", found.suspects.size() - kMaxCandidates);
  }
  return doubt.empty() ? text : text + "; " + doubt;
}

// Returns whether the recording lacks the call site of the operation.
bool place_lost(const ProcessRecord& record, const session::Operation& operation) {
  if (record.damaged == 0 && record.dropped_sites == 0) return false;
  const session::Site* site = session::by_id(record.sites, operation.site);
  if (site == nullptr) return true;
  const auto* python = session::by_id(record.python_stacks, site->python);
  const auto* native = session::by_id(record.native_stacks, site->native);
  return (python == nullptr || python->frames.empty()) && (native == nullptr || native->frames.empty());
}

// Returns whether the operation may have failed on an unknown stream. No marker shows whether such an operation has
// finished.
bool is_of_unknown_stream(const session::Operation& operation) {
  return operation.stream == wire::operation::kNoStream && wire::operation::can_fault(operation.kind) &&
         operation.result == 0 && (operation.flags & wire::operation::kCaptured) == 0;
}

std::string because_none(const ProcessRecord& record, const FoundSuspects& found) {
  if (record.damaged > 0) {
    return "the recording is damaged: the operations that may have been running are not in it";
  }
  if (found.lost_first && !found.suspects.empty()) {
    return "the records of the likeliest operations are lost";
  }
  if (found.missing > 0) return "the records of the operations that may have been running are lost";
  if (hooks_saw_nothing(record)) {
    return "hooks saw no operation: the program calls the driver through addresses that it looked up before it "
           "initialised CUDA (use --watch-by=cupti)";
  }
  if (std::ranges::any_of(record.operations, is_of_unknown_stream)) {
    return "the streams of operations that may have been running were not recorded";
  }
  return "every recorded operation had finished before the error appeared";
}

void weigh(Failure& failure, const ProcessRecord& record, FoundSuspects& found) {
  const Doubt doubtful = doubt(record, found);
  if (found.suspects.empty() || found.lost_first) {
    failure.evidence = {Fact::none_running, because_none(record, found)};
    // If the recording is damaged, the missing operations may be in the damaged part.
    failure.damaged = record.damaged > 0;
    found.suspects.clear();
  } else if (found.suspects.size() > 1) {
    failure.evidence = {Fact::several_running, because_several(found, doubtful.clause)};
  } else {
    failure.evidence = {Fact::one_running, because_one(found.suspects.front(), doubtful.clause)};
    failure.evidence.add(doubtful.fact);
  }
  // Without a call site, the report cannot show where the candidate was issued.
  if (!found.suspects.empty() && place_lost(record, *found.suspects.front().operation)) {
    failure.damaged = record.damaged > 0;
    failure.evidence.add(Fact::place_lost,
                         failure.damaged ? "the recording is damaged and lacks the place where the operation was issued"
                                         : "its call site was not recorded");
  }
  if (failure.reported != nullptr && failure.reported->flags & wire::error::kAtExit) {
    failure.evidence.add(
        "no watched call returned the error; cudadiag found it just before the process or its context ended");
  }
}

}  // namespace

bool under_mps(const ProcessRecord& record) { return session::value_of(record, session::Property::mps) == "1"; }

bool hooks_saw_nothing(const ProcessRecord& record) {
  return record.state == wire::area::State::frozen && record.damaged == 0 && record.operations_issued == 0 &&
         session::value_of(record, session::Property::watched_by) == "hooks";
}

std::optional<Failure> first_failure(const session::Process& process) {
  const ProcessRecord& record = process.record;
  if (record.state != wire::area::State::frozen) return std::nullopt;
  Failure failure;
  failure.process = &process;
  failure.reported = reporting_call(record);
  failure.code = record.frozen_code;

  const Picture picture(record);
  const std::uint32_t context = failing_context(record, failure.reported);
  FoundSuspects found = search(picture, context, failure.code);
  failure.records_lost = found.missing > 0 || !gap(record).empty();
  if (const Suspect* alone = waited_for(found); alone != nullptr) {
    failure.unproven = under_mps(record) ? kMayBeAnothers : gap(record);
    failure.evidence = {Fact::ran_alone,
                        "cudadiag waited for it while nothing else was running, and the error appeared"};
    if (!failure.unproven.empty()) {
      if (under_mps(record)) failure.evidence.add(Fact::may_be_others);
      if (!gap(record).empty()) failure.evidence.add(Fact::may_be_another);
      failure.evidence.append(", but " + failure.unproven);
    }
    found.suspects = {*alone};
  } else {
    weigh(failure, record, found);
  }

  const IssueOrder order(record);
  const std::size_t listed = std::min(found.suspects.size(), kMaxCandidates);
  failure.unlisted = found.suspects.size() - listed;
  for (std::size_t i = 0; i < listed; ++i) {
    const Suspect& suspect = found.suspects[i];
    failure.candidates.push_back({suspect.operation, reason(suspect), order.ordinal(*suspect.operation)});
  }
  return failure;
}

}  // namespace cudadiag::analyse
