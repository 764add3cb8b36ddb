#include "analyse/failed_calls.h"

#include <fmt/core.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "analyse/error_codes.h"
#include "analyse/stream_history.h"
#include "session/user_or_library.h"
#include "wire/cuda_codes.h"

namespace cudadiag::analyse {
namespace {

using session::FailedCall;
using session::ProcessRecord;
using session::visible_call;
using Errors = std::vector<const FailedCall*>;
using Failures = std::vector<Failure>;

struct Probe {
  std::string_view call;  // a prefix that matches all versions of an entry point
  std::uint32_t code;
};

// 4 and 709: shutting down; 5 to 8: profiler switches; 600: not ready; 704 and 708: already enabled or active.
constexpr std::uint32_t kAnswersOfAnyCall[] = {4, 5, 6, 7, 8, 600, 704, 708, 709};

constexpr Probe kProbes[] = {
    {"cuPointerGetAttribute", 1},  // is this a device pointer?
    {"cudaPointerGetAttributes", 1},
    {"cuCtxGetDevice", 201},  // is there a context yet?
    {"cuCtxGetFlags", 201},
    {"cuCtxGetApiVersion", 201},
    {"cuGetProcAddress", 500},  // does the driver or module have this symbol?
    {"cudaGetDriverEntryPoint", 500},
    {"cuModuleGet", 500},
    {"cuLibraryGet", 500},
    {"cuStreamIsCapturing", 906},  // a query of the default stream; does not affect the capture
    {"cudaStreamIsCapturing", 906},
    {"cuStreamGetCaptureInfo", 906},
    {"cudaStreamGetCaptureInfo", 906},
    {"cuGraphExecUpdate", 910},  // can the graph be updated, or must it be instantiated again?
    {"cudaGraphExecUpdate", 910},
};

constexpr std::uint32_t kNoDevice[] = {3, 34, 35, 100, 803, 804, 999};
constexpr std::string_view kStarts[] = {"cuInit", "cudaGetDeviceCount", "cuDeviceGetCount", "cudaSetDevice"};

}  // namespace

bool is_benign(const FailedCall& error) {
  if (std::ranges::find(kAnswersOfAnyCall, error.code) != std::end(kAnswersOfAnyCall)) return true;
  return std::ranges::any_of(kProbes, [&](const Probe& probe) {
    return error.code == probe.code && (error.call.starts_with(probe.call) || error.outer.starts_with(probe.call));
  });
}

bool found_no_device(const FailedCall& error, const ProcessRecord& record) {
  const auto is_unused = [](const session::Context& context) { return context.state == wire::context::State::free; };
  // A process that has had a context found a GPU. Later calls may return the same codes for other reasons.
  if (std::ranges::find(kNoDevice, error.code) == std::end(kNoDevice) ||
      !std::ranges::all_of(record.contexts, is_unused))
    return false;
  const auto starts_cuda = [](const std::string& call) {
    const auto begins = [&](std::string_view start) { return call.starts_with(start); };
    return session::written_name(call) == "cudaFree" || std::ranges::any_of(kStarts, begins);
  };
  return starts_cuda(error.call) || starts_cuda(error.outer);
}

namespace {

// Returns whether the call looked up a kernel that its module does not have. The look-up is usually a probe, so it
// matters only if nothing else explains the failure.
bool found_no_function(const FailedCall& error) {
  constexpr std::uint32_t kNotFound = 500;
  const auto asks = [&](const char* part) { return error.call.find(part) != std::string::npos; };
  return error.code == kNotFound && (asks("GetFunction") || asks("GetKernel"));
}

// Returns whether the call changes nothing because what it asks for is done already, or cannot be done this way. Most
// programs expect this, so it matters only if nothing else explains the failure.
bool found_nothing_to_do(const FailedCall& error) {
  return error.code == wire::cuda::kPeerAccessAlreadyEnabled || error.code == wire::cuda::kSetOnActiveProcess ||
         (error.code == wire::cuda::kGraphExecUpdateFailure && is_benign(error));
}

// Returns whether the error is neither benign nor the echo of an asynchronous failure. If the call only returned the
// error of an earlier call, checks the earlier call instead.
bool is_worth_looking_at(const FailedCall& error, const ProcessRecord& record) {
  if (error.of_call != 0) {
    const auto of = std::ranges::find(record.errors, error.of_call, &FailedCall::serial);
    return of != record.errors.end() && of->of_call == 0 && is_worth_looking_at(*of, record);
  }
  return !(error.flags & wire::error::kSticky) && !is_benign(error);
}

bool is_of_capture(const FailedCall& error) { return wire::error::is_of_capture(error.code); }

Kind kind_of(const FailedCall& error, Kind otherwise) {
  if (is_of_capture(error)) return Kind::capture_violation;
  return error.code == 2 ? Kind::out_of_memory : otherwise;
}

Errors worth_looking_at(const ProcessRecord& record) {
  Errors errors;
  for (const auto& error : record.errors) {
    if (is_worth_looking_at(error, record)) errors.push_back(&error);
  }
  return errors;
}

bool name_has(const FailedCall& error, std::initializer_list<std::string_view> parts) {
  const std::string name = visible_call(error);
  return std::ranges::any_of(parts, [&](auto part) { return name.find(part) != name.npos; });
}

// A program that is shutting down may release objects that it never acquired.
bool releases(const FailedCall& error) {
  return name_has(error, {"Free", "Destroy", "Unload", "Unregister", "Release", "Unmap"});
}

bool is_question(const FailedCall& error) { return name_has(error, {"Get", "Query", "IsCapturing", "CanAccess"}); }

// The driver rejects every call in a forked child. Keeps only the first rejected call, and skips calls that look for a
// GPU or release an object of the parent, as destructors do.
void keep_first_refusal(Errors& errors) {
  constexpr std::uint32_t kNotInitialised = 3;
  bool kept = false;
  std::erase_if(errors, [&](const FailedCall* error) {
    if (error->code != kNotInitialised) return false;
    return is_question(*error) || releases(*error) || std::exchange(kept, true);
  });
}

// Returns whether the call failed after the program had called exit(). Destructors make such calls, and the exit status
// was already chosen.
bool is_after_exit(const FailedCall& error, const ProcessRecord& record, const Ending& end) {
  return record.state == wire::area::State::finished && record.clock_last != 0 && error.ticks > record.clock_last &&
         end.signal == 0 && record.exit_status == end.status;
}

// A context that no longer exists, or never did, refuses every call. A program that only releases its objects late is
// not affected, but another program may die of such a call.
bool is_of_lost_context(const FailedCall& error) {
  return error.code == wire::cuda::kContextIsDestroyed && error.of_call == 0 && !releases(error);
}

// Returns the last failed call of each thread, if no later call on that thread succeeded.
Errors last_words(const Errors& errors) {
  std::map<std::uint32_t, const FailedCall*> last;
  for (const FailedCall* error : errors) {
    const FailedCall*& word = last[error->tid];
    const bool on_the_way_out = word != nullptr && !(word->flags & wire::error::kThenWorked) && releases(*error);
    if (!on_the_way_out) word = error;
  }
  Errors result;
  for (const auto& [tid, error] : last) {
    if (!(error->flags & wire::error::kThenWorked)) result.push_back(error);
  }
  return result;
}

bool is_often_expected(const FailedCall& error) { return found_no_function(error) || found_nothing_to_do(error); }

// A program may look up a function that need not exist, or enable what is enabled already. Such a call counts as the
// reason for the exit only if it failed once, and if no later CUDA call is known.
const FailedCall* last_expected(const ProcessRecord& record) {
  if (record.errors.empty() || !is_often_expected(record.errors.back())) return nullptr;
  const FailedCall& last = record.errors.back();
  const bool went_on = std::ranges::any_of(
      record.threads, [&](const session::Thread& thread) { return thread.call_ticks > last.ticks; });
  const bool again = std::ranges::any_of(record.errors, [&](const FailedCall& error) {
    return error.serial < last.serial && error.site == last.site && is_often_expected(error);
  });
  const bool watched = last.thread < record.threads.size() && !(last.flags & wire::error::kThenWorked);
  return watched && !went_on && !again ? &last : nullptr;
}

// Says how many times a call failed. `complete`: the recording contains every failed call.
std::string times(std::size_t count, bool complete, std::string_view one, std::string_view many) {
  return fmt::format("{}{} {}", complete ? "" : "at least ", count, count == 1 ? one : many);
}

bool is_runtimes(const FailedCall& error) {
  return error.domain == wire::error::Domain::runtime || !error.outer.empty();
}

// Returns whether the code went to a script: the call was made by ctypes, or by a binding that returns or raises each
// code. Nobody queries the last error there, so that it was not queried means nothing.
bool is_returned_to_script(const FailedCall& error, const ProcessRecord& record) {
  const session::Site* site = session::by_id(record.sites, error.site);
  const auto* stack = site == nullptr ? nullptr : session::by_id(record.native_stacks, site->native);
  if (stack == nullptr) return false;
  for (const session::RawNativeFrame& frame : stack->frames) {
    const session::Module* module = session::by_id(record.modules, frame.module);
    if (module == nullptr) return false;
    if (session::is_cuda_module(module->path)) continue;
    return session::is_foreign_function_interface(module->path) || session::is_cuda_binding(module->path);
  }
  return false;
}

// Returns whether the program should have queried the last error. A driver call returns its error only to its caller,
// so a program need not query it. Launches are different, because a program that misses a failed launch continues with
// wrong data. Captures are different, too, because a failed capture produces no graph.
bool should_have_been_looked_at(const FailedCall& error, const ProcessRecord& record) {
  const bool runtime = is_runtimes(error);
  if (is_of_capture(error)) return !is_question(error) && (runtime || !(error.flags & wire::error::kThenWorked));
  if (error.flags & wire::error::kLaunch) return true;
  if (!runtime || is_question(error)) return false;
  return error.code != 2 && !found_no_device(error, record);  // programs check the pointer or the device count
}

// Reasons to doubt that a failed call made the program fail.
struct ExitDoubt {
  std::optional<Fact> fact;  // nullopt if there is no doubt
  double lived_on = 0;       // seconds from the error to the end; 0 if an exit may take that long
  std::string why;           // "; other threads continued in between"; may be empty
  bool handled = false;      // the process continued after the error, or chose its exit status
};

// Returns whether some thread that satisfies `is_one` queued GPU work after the error.
template <typename IsOne>
bool went_on(const ProcessRecord& record, const FailedCall& error, const IsOne& is_one) {
  return std::ranges::any_of(record.operations, [&](const session::Operation& operation) {
    return operation.ticks > error.ticks && operation.thread < record.threads.size() &&
           is_one(record.threads[operation.thread].tid) && was_queued(operation);
  });
}

// Returns whether the main thread queued GPU work, or made another call that failed, after an error in another thread.
// If so, the program may have handled the error, or the main thread may have raised it again later.
bool main_thread_went_on(const ProcessRecord& record, const FailedCall& error) {
  if (error.tid == record.pid) return false;
  const auto failed = [&](const FailedCall& other) {
    return other.ticks > error.ticks && other.tid == record.pid && is_worth_looking_at(other, record);
  };
  return went_on(record, error, [&](std::uint32_t tid) { return tid == record.pid; }) ||
         std::ranges::any_of(record.errors, failed);
}

// Returns whether Python exited with a status other than 1, the status after an uncaught exception. The program then
// chose to exit, perhaps because of something other than `error`.
bool python_chose_to_end(const ProcessRecord& record, const FailedCall& error, const Ending& end) {
  constexpr int kUncaught = 1;
  const session::Site* site = session::by_id(record.sites, error.site);
  return end.signal == 0 && end.status != kUncaught && site != nullptr && site->python != 0;
}

double lived_on(const ProcessRecord& record, const FailedCall& error) {
  // Seconds that a program may take to exit after an error: it prints a traceback, closes files, waits for workers.
  constexpr double kWayOut = 10;
  if (record.clock_last <= error.ticks) return 0;  // unknown
  const double seconds = record.seconds(record.clock_last) - record.seconds(error.ticks);
  return seconds > kWayOut ? seconds : 0;
}

// Returns the doubt raised by what happened after the error: how the process continued, and how it ended.
ExitDoubt doubt_of_what_followed(const FailedCall& error, const ProcessRecord& record, const Ending& end) {
  constexpr std::uint64_t kEver = ~std::uint64_t{0};
  const auto handled = [](const char* why) { return ExitDoubt{Fact::may_be_handled, 0, why, true}; };
  if (was_given_memory(record, error, kEver)) return handled("; a later allocation of its thread succeeded");
  if (end.signal == 0 && main_thread_went_on(record, error)) return handled("; the main thread continued in between");
  if (python_chose_to_end(record, error, end)) {
    return handled("; Python exits with status 1 after an uncaught exception");
  }
  if (end.signal == 0 && !record.exit_status && record.state == wire::area::State::recording) {
    return {Fact::may_be_handled, 0, "; it ended without exit(), or replaced itself with another program (exec)"};
  }
  if (error.flags & wire::error::kAskedBefore) {
    return {Fact::went_on, 0, "; its thread had already queried this error, and continued"};
  }
  // The program ends with its main thread, even if its workers continue.
  const bool others = error.tid != record.pid && went_on(record, error, [&](auto tid) { return tid != error.tid; });
  return others ? ExitDoubt{Fact::went_on, 0, "; other threads continued in between"} : ExitDoubt{};
}

// `error`: the last call that returned the error to the process.
ExitDoubt exit_doubt(const FailedCall& error, const ProcessRecord& record, const Ending& end) {
  if (!end.of_process) return {Fact::may_be_handled, 0, "; it is unknown how this process ended"};
  ExitDoubt doubt = doubt_of_what_followed(error, record, end);
  doubt.lived_on = lived_on(record, error);
  if (doubt.lived_on > 0 && !doubt.fact) doubt.fact = Fact::went_on;
  return doubt;
}

Failure failure_at(const session::Process& process, const FailedCall& error, Kind kind) {
  Failure failure;
  failure.kind = kind_of(error, kind);
  failure.code = error.code;
  failure.process = &process;
  failure.reported = &error;
  return failure;
}

// Says how a failed call became visible. `noticed` is the call that returned the error to the program. It differs from
// `call` if the thread queried the error late, or if `call` broke a capture.
std::string story_of(const FailedCall& call, const FailedCall& noticed) {
  if (noticed.of_call != 0) {
    return fmt::format("the call itself returned the error, and so did {} after its thread had continued",
                       visible_call(noticed));
  }
  if (call.code == wire::cuda::kStreamCaptureInvalidated) {
    return "an earlier, unknown call broke the capture: that call was not watched, or returned no error";
  }
  if (const wire::error::Pool* pool = wire::error::pool_of(call.call)) {
    return fmt::format("{}'s memory pool refused the request{}", pool->owner,
                       pool->may_raise_later ? ", perhaps for an earlier line" : "");
  }
  if (&call == &noticed) return "the call itself returned the error";
  const std::string whose = call.tid == noticed.capture.tid ? "the" : "another thread's";
  return fmt::format("{} itself returned the error and broke {} capture, so {} returned {}", visible_call(call), whose,
                     visible_call(noticed), noticed.code);
}

// `noticed` is the call that returned the error to the program, as in story_of().
Failure fatal(const session::Process& process, const FailedCall& error, const FailedCall& noticed, const Ending& end) {
  Failure failure = failure_at(process, error, Kind::sync_error);
  if (&noticed != &error) failure.noticed = &noticed;
  const std::string who = end.of_process ? "the program" : "the command";
  const ExitDoubt doubt = exit_doubt(noticed, process.record, end);
  if (found_no_device(error, process.record) && !session::is_fork(process.record)) {
    failure.evidence = {
        Fact::rule,
        fmt::format("CUDA found no usable driver or GPU, and {} ended with {} afterwards: check nvidia-smi, "
                    "CUDA_VISIBLE_DEVICES, and that a container was started with its GPUs",
                    who, end.text)};
    return failure;
  }
  if (is_undocumented(error.code)) {
    failure.evidence = {Fact::rule,
                        fmt::format("{} returned the error, and {} ended with {} afterwards; this error code does not "
                                    "show whether the call itself or earlier GPU work failed",
                                    visible_call(error), who, end.text)};
    return failure;
  }
  if (is_often_expected(error)) {
    failure.evidence = {
        Fact::unchecked,
        fmt::format(
            "the call itself returned the error, cudadiag saw no later call, and {} ended with {} afterwards{}; "
            "programs also {}",
            who, end.text, doubt.why,
            found_no_function(error) ? "look up functions that need not exist" : "expect this error, and continue")};
    return failure;
  }
  failure.evidence = {Fact::returned,
                      fmt::format("{}, and {} ended with {}{}afterwards{}", story_of(error, noticed), who, end.text,
                                  doubt.lived_on > 0 ? fmt::format(", {:.0f} s ", doubt.lived_on) : " ", doubt.why)};
  const wire::error::Pool* pool = wire::error::pool_of(error.call);
  const bool raised_later = pool != nullptr && pool->may_raise_later;
  if (raised_later || error.code == wire::cuda::kStreamCaptureInvalidated) failure.evidence.add(Fact::may_be_earlier);
  if (doubt.fact) failure.evidence.add(*doubt.fact);
  // If the process was killed, something other than the error may have ended it.
  if (end.killed()) failure.evidence.add(Fact::may_be_handled);
  return failure;
}

// Counts handled errors by code: "3 calls of cudaMalloc returned out of memory (2) and the program continued".
class HandledCalls {
 public:
  void add(const FailedCall& error) {
    auto& entry = by_code_[error.code];
    ++entry.count;
    entry.all_worked &= (error.flags & wire::error::kThenWorked) != 0;
    entry.calls.insert(visible_call(error));
    if (std::ranges::find(entry.sites, error.site) == entry.sites.end()) {
      entry.sites.push_back(error.site);
    }
  }

  std::vector<Note> notes(const session::Process& process, bool complete, const Ending& end) const {
    std::vector<Note> notes;
    for (const auto& [code, entry] : by_code_) {
      const std::string name = entry.calls.size() == 1 ? " of " + *entry.calls.begin() : "";
      std::string then = " and the program continued";
      if (!entry.all_worked && !end.of_process) then = "; it is unknown how this process ended";
      if (!entry.all_worked && end.of_process && end.bad && end.command_succeeded) {
        then = fmt::format("; process {} ended with {}, but the command succeeded", process.pid, end.text);
      }
      const std::string calls = times(entry.count, complete, "call", "calls") + name;
      notes.push_back({NoteCode::error_handled,
                       fmt::format("{} returned {} ({}){}{}", calls, cuda_error(code).title, code, then,
                                   end.asked_for() ? " until " + end.text : ""),
                       // If the program ends normally, lines are not looked up, because looking them up delays the
                       // exit.
                       end.bad && !end.command_succeeded
                           ? std::optional(NotedCalls{&process, entry.sites, calls.size()})
                           : std::nullopt});
    }
    return notes;
  }

 private:
  struct Entry {
    std::size_t count = 0;
    std::set<std::string> calls;
    std::vector<std::uint32_t> sites;  // in the order of their first calls
    bool all_worked = true;            // after each of these calls, its thread issued work that succeeded
  };
  std::map<std::uint32_t, Entry> by_code_;
};

// Combines repeated failures at one place into a single finding.
class UncheckedCalls {
 public:
  explicit UncheckedCalls(const SameCall& same) : same_(same) {}

  void add(const FailedCall& error, const FailedCall& noticed) {
    auto place = std::ranges::find_if(places_, [&](const Place& at) { return same_(*at.first, error); });
    if (place == places_.end()) place = places_.insert(place, Place{&error, &noticed});
    ++place->count;
  }

  std::vector<Failure> failures(const session::Process& process, bool complete) const {
    std::vector<Failure> failures;
    for (const Place& place : places_) {
      Failure failure = failure_at(process, *place.first, Kind::unchecked_error);
      if (place.noticed != place.first) failure.noticed = place.noticed;
      std::string story = story_of(*place.first, *place.noticed);
      if (is_of_capture(*place.first)) {
        story += ", and nothing checked for the error";
      } else if (place.noticed->of_call != 0) {
        story += ", and its thread then did nothing more";
      } else {
        story = is_runtimes(*place.first)
                    ? "the call failed, and its thread continued without querying the last error; it is unknown "
                      "whether the program checked what the call returned"
                    : "the call failed; it is unknown whether the program checked what it returned";
      }
      failure.evidence = {Fact::unchecked, std::move(story)};
      if (place.count > 1) failure.evidence.add("it failed " + times(place.count, complete, "time", "times"));
      failures.push_back(std::move(failure));
    }
    return failures;
  }

 private:
  struct Place {
    const FailedCall *first, *noticed;
    std::size_t count = 0;
  };
  const SameCall& same_;
  std::vector<Place> places_;
};

// A failed call and the later failures that it caused, sorted by serial. Usually, `calls` contains only the failed call
// itself.
struct Story {
  const FailedCall* cause = nullptr;
  Errors calls;

  // Returns the last call that noticed the failure, preferably on the thread that owns the capture.
  const FailedCall& noticed() const {
    const auto own = std::find_if(calls.rbegin(), calls.rend(), [](const FailedCall* call) {
      return call->capture.began != 0 && call->tid == call->capture.tid;
    });
    return own == calls.rend() ? *calls.back() : **own;
  }
};

// Returns one story for each cause, sorted by the serial of their first calls.
std::vector<Story> stories_of(const Errors& errors, const SameCall& same) {
  const BrokenCaptures captures(errors);
  const LateErrorChecks looks(errors, same);
  std::vector<Story> stories;
  for (const FailedCall* error : errors) {
    const FailedCall* late = looks.cause(error);
    const FailedCall* cause = late != nullptr ? late : captures.cause(error);
    auto story = std::ranges::find(stories, cause, &Story::cause);
    if (story == stories.end()) story = stories.insert(story, {cause, {}});
    story->calls.push_back(error);
  }
  return stories;
}

// Returns the failed calls that may explain how the process ended. If `errors` lacks one of them, because it seldom
// matters, adds it.
Errors last_calls(const ProcessRecord& record, const Ending& end, Errors& errors) {
  // If the process had a sticky error, or a signal asked it to end, no failed call is needed to explain its end.
  if (!end.bad || end.asked_for() || record.state == wire::area::State::frozen) return {};
  Errors seen = errors;
  for (const FailedCall& error : record.errors) {
    if (is_of_lost_context(error)) seen.push_back(&error);
  }
  std::erase_if(seen, [&](const FailedCall* error) { return is_after_exit(*error, record, end); });
  const auto is_earlier = [](const FailedCall* a, const FailedCall* b) { return a->serial < b->serial; };
  std::ranges::sort(seen, is_earlier);
  Errors last = last_words(seen);
  if (last.empty() && end.of_process && !end.killed()) {
    if (const FailedCall* expected = last_expected(record)) last.push_back(expected);
  }
  std::copy_if(last.begin(), last.end(), std::back_inserter(errors),
               [&](const FailedCall* error) { return std::ranges::find(errors, error) == errors.end(); });
  std::ranges::sort(errors, is_earlier);
  return last;
}

// Returns the story with only those calls that are in `calls`.
Story part_of(const Story& story, const Errors& calls) {
  Story part{story.cause, {}};
  std::copy_if(story.calls.begin(), story.calls.end(), std::back_inserter(part.calls),
               [&](const FailedCall* call) { return std::ranges::find(calls, call) != calls.end(); });
  return part;
}

// If a program queries an error only after the thread has continued, it rarely handles the error.
bool is_noticed_in_vain(const Story& story, const ProcessRecord& record, const Ending& end) {
  const FailedCall& noticed = story.noticed();
  return !end.bad && noticed.of_call != 0 && !(noticed.flags & wire::error::kThenWorked) &&
         record.state != wire::area::State::frozen && should_have_been_looked_at(*story.cause, record);
}

// If the thread of the fatal call ignored earlier errors, one of those may have ended the program instead. Notes this
// doubt, and removes earlier failures of the same call from `missed`.
void leave_open_which(Failure& fatal, Failures& missed, const SameCall& same) {
  const FailedCall& last = *fatal.reported;
  const auto is_before = [&](const Failure& other) {
    // Excludes captures, because the program may have abandoned a broken capture and begun another one.
    return other.reported->tid == last.tid && other.reported->ticks < last.ticks &&
           other.kind != Kind::capture_violation;
  };
  std::erase_if(missed, [&](const Failure& other) { return is_before(other) && same(*other.reported, last); });
  if (!fatal.evidence.proves() || std::ranges::none_of(missed, is_before)) return;
  fatal.evidence.add(
      Fact::may_be_earlier,
      "an earlier call of its thread had also failed, and it is unknown which of the two ended the program");
  for (Failure& other : missed) {
    if (!is_before(other)) continue;
    other.evidence.add(Fact::then_failed);
    other.evidence.append(", and the program failed afterwards");
  }
}

}  // namespace

CallFindings failed_calls(const session::Process& process, const Ending& end, const SameLine& same_line) {
  Errors errors = worth_looking_at(process.record);
  if (session::is_fork(process.record)) keep_first_refusal(errors);
  const Errors last = last_calls(process.record, end, errors);
  const bool complete = process.record.error_count <= process.record.errors.size();

  CallFindings findings;
  HandledCalls handled;
  const SameCall same = same_call(process, same_line);
  UncheckedCalls unchecked(same);
  for (const Story& story : stories_of(errors, same)) {
    const Story ending = part_of(story, last);
    const FailedCall& noticed = story.noticed();
    const auto each_call = [&](auto add) {
      for (const FailedCall* call : story.calls) {
        if (call->of_call == 0 && same(*call, *story.cause)) add(*call);
      }
    };
    const bool is_answer_to_parent =
        !ending.calls.empty() && end.command_succeeded && exit_doubt(ending.noticed(), process.record, end).handled;
    const bool is_handled = is_answer_to_parent || is_returned_to_script(*story.cause, process.record);
    if (!ending.calls.empty() && !is_answer_to_parent) {
      findings.failures.push_back(fatal(process, *story.cause, ending.noticed(), end));
    } else if (found_no_device(*story.cause, process.record)) {
      continue;
    } else if (!is_handled && is_noticed_in_vain(story, process.record, end)) {
      each_call([&](const FailedCall& call) { unchecked.add(call, noticed); });
    } else if (is_handled || noticed.flags & wire::error::kLookedAt ||
               !should_have_been_looked_at(noticed, process.record)) {
      noticed.of_call == 0 ? handled.add(*story.cause) : each_call([&](const FailedCall& call) { handled.add(call); });
    } else {
      unchecked.add(*story.cause, noticed);
    }
  }
  Failures missed = unchecked.failures(process, complete);
  for (Failure& failure : findings.failures) leave_open_which(failure, missed, same);
  std::move(missed.begin(), missed.end(), std::back_inserter(findings.failures));
  for (Failure& failure : findings.failures) {
    if (failure.kind != Kind::capture_violation)
      failure.swallowed = swallowed_before(*failure.reported, process.record);
  }
  std::ranges::stable_sort(findings.failures,
                           [](const Failure& a, const Failure& b) { return a.reported->ticks < b.reported->ticks; });
  findings.notes = handled.notes(process, complete, end);
  return findings;
}

}  // namespace cudadiag::analyse
