#include "analyse/failed_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "analyse/benign_calls.h"
#include "analyse/cuda_errors.h"

namespace cudadiag::analyse {
namespace {

using session::Error;
using session::ProcessRecord;
using Errors = std::vector<const Error*>;

const std::string& visible_call(const Error& error) { return error.outer.empty() ? error.call : error.outer; }

bool breaks_capture(const Error& error) { return error.code >= 900 && error.code <= 908; }

Kind kind_of(const Error& error, Kind otherwise) {
  if (breaks_capture(error)) return Kind::capture_violation;
  return error.code == 2 ? Kind::out_of_memory : otherwise;
}

Errors worth_looking_at(const ProcessRecord& record) {
  Errors errors;
  for (const auto& error : record.errors) {
    if (!(error.flags & wire::error::kSticky) && !is_benign(error)) errors.push_back(&error);
  }
  return errors;
}

// The first call that broke a capture is the cause, what follows up to the capture's end returns its consequence.
std::map<const Error*, const Error*> capture_causes(const Errors& errors) {
  std::map<const Error*, const Error*> causes;
  const Error* first = nullptr;
  for (const Error* error : errors) {
    if (!breaks_capture(*error)) continue;
    if (first == nullptr) first = error;
    causes[error] = first;
    if (visible_call(*error).find("EndCapture") != std::string::npos) first = nullptr;
  }
  return causes;
}

// The last failing call of each thread, if nothing worked on that thread afterwards.
Errors last_words(const Errors& errors) {
  std::map<std::uint32_t, const Error*> last;
  for (const Error* error : errors) last[error->tid] = error;
  Errors result;
  for (const auto& [tid, error] : last) {
    if (!(error->flags & wire::error::kThenWorked)) result.push_back(error);
  }
  return result;
}

// A direct driver call hands its error to the caller alone: not asking for the last error says nothing. Launches and
// transfers are the exception, as a program that misses their failure goes on with wrong data.
bool should_have_been_looked_at(const Error& error) {
  if (error.flags & wire::error::kLaunch || breaks_capture(error)) return true;
  const std::string& call = visible_call(error);
  constexpr std::string_view kQuestions[] = {"Get", "Query", "IsCapturing", "CanAccess"};
  for (const auto question : kQuestions) {
    if (call.find(question) != std::string::npos) return false;
  }
  if (error.code == 2 || found_no_device(error)) return false;  // a null pointer or a count of 0 is looked at
  if (error.domain == wire::error::Domain::runtime || !error.outer.empty()) return true;
  return call.starts_with("cuMemcpy") || call.starts_with("cuMemset") || call.starts_with("cuMemPrefetch");
}

Failure failure_at(const session::Process& process, const Error& error, Kind kind) {
  Failure failure;
  failure.kind = kind_of(error, kind);
  failure.code = error.code;
  failure.runtime_code = error.domain == wire::error::Domain::runtime;
  failure.process = &process;
  failure.reported = &error;
  return failure;
}

Failure fatal(const session::Process& process, const Error& error, const Ending& end) {
  Failure failure = failure_at(process, error, Kind::sync_error);
  const std::string who = end.of_process ? "the program" : "the command";
  if (found_no_device(error)) {
    failure.grade = Grade::suspected;
    failure.because = fmt::format(
        "CUDA found no usable driver or GPU, and {} ended with {} afterwards: check nvidia-smi, CUDA_VISIBLE_DEVICES, "
        "and that a container was started with its GPUs",
        who, end.text);
    return failure;
  }
  failure.grade = end.of_process ? Grade::proven : Grade::inferred;
  failure.because = fmt::format("the call itself returned it, and {} ended with {} afterwards", who, end.text);
  return failure;
}

// Counts per code what was handled: "3 calls of cudaMalloc returned out of memory (2) and the program went on".
class HandledCalls {
 public:
  void add(const Error& error) {
    auto& entry = by_code_[error.code];
    ++entry.count;
    entry.calls.insert(visible_call(error));
  }

  std::vector<Note> notes() const {
    std::vector<Note> notes;
    for (const auto& [code, entry] : by_code_) {
      const std::string name = entry.calls.size() == 1 ? " of " + *entry.calls.begin() : "";
      notes.push_back({"error-handled", fmt::format("{} call{}{} returned {} ({}) and the program went on", entry.count,
                                                    entry.count == 1 ? "" : "s", name, cuda_error(code).title, code)});
    }
    return notes;
  }

 private:
  struct Entry {
    std::size_t count = 0;
    std::set<std::string> calls;
  };
  std::map<std::uint32_t, Entry> by_code_;
};

// Calls that fail again and again at one place are one finding.
class UncheckedCalls {
 public:
  void add(const Error& error) {
    ++counts_.try_emplace({error.code, error.site, error.call}, &error, 0).first->second.second;
  }

  std::vector<Failure> failures(const session::Process& process) const {
    std::vector<Failure> failures;
    for (const auto& [place, entry] : counts_) {
      Failure failure = failure_at(process, *entry.first, Kind::unchecked_error);
      failure.grade = Grade::suspected;
      failure.because = "the call failed, and its thread never asked for the error";
      if (entry.second > 1) failure.because += fmt::format("; it failed {} times", entry.second);
      failures.push_back(std::move(failure));
    }
    return failures;
  }

 private:
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::string>, std::pair<const Error*, std::size_t>> counts_;
};

}  // namespace

CallFindings failed_calls(const session::Process& process, const Ending& end) {
  const Errors errors = worth_looking_at(process.record);
  const auto causes = capture_causes(errors);
  const auto lead = [&](const Error* error) {
    const auto found = causes.find(error);
    return found == causes.end() ? error : found->second;
  };
  // A sticky error explains the end by itself.
  const bool died_here = end.bad && process.record.state != wire::area::State::frozen;

  CallFindings findings;
  std::set<const Error*> fatal_leads;
  if (died_here) {
    for (const Error* last : last_words(errors)) {
      if (fatal_leads.insert(lead(last)).second) findings.failures.push_back(fatal(process, *lead(last), end));
    }
  }
  HandledCalls handled;
  UncheckedCalls unchecked;
  for (const Error* error : errors) {
    const bool consequence = lead(error) != error;
    if (consequence || fatal_leads.count(error) || found_no_device(*error)) continue;
    const bool looked_at = error->flags & wire::error::kLookedAt;
    if (looked_at || !should_have_been_looked_at(*error)) {
      handled.add(*error);
    } else {
      unchecked.add(*error);
    }
  }
  for (auto& failure : unchecked.failures(process)) findings.failures.push_back(std::move(failure));
  std::stable_sort(findings.failures.begin(), findings.failures.end(),
                   [](const Failure& a, const Failure& b) { return a.reported->ticks < b.reported->ticks; });
  findings.notes = handled.notes();
  return findings;
}

}  // namespace cudadiag::analyse
