// Decides whether a rerun's failure proves a failure of the first run, by the code that issued the operations.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "analyse/error_codes.h"
#include "analyse/first_failure.h"
#include "analyse/reruns.h"
#include "analyse/site_keys.h"
#include "session/process_record.h"
#include "wire/cuda_codes.h"

namespace cudadiag::analyse {

using wire::site_key::Key;

namespace {

// Returns whether the operation was issued through the Python hook, whose sites have no native stack.
bool is_hooked(const Failure& failure) {
  const auto& record = failure.process->record;
  const auto* site = session::by_id(record.sites, failure.candidates.front().operation->site);
  return site != nullptr && site->native == 0 && session::has(record, session::Property::python_hook);
}

// A library may take a different path in the next run, because of what an earlier run left in a cache. If neither run
// has an exact match, operations reached from the same lines of the program count as the same.
class SameLines {
 public:
  SameLines(const Failure& failure, const Failure& again) : first_(failure), again_(again) {}

  bool are(const Candidate& candidate, const Candidate& again) {
    const std::uint32_t site = candidate.operation->site, site_again = again.operation->site;
    const Key lines = first_.lines(site);
    if (lines == 0 || lines != again_.lines(site_again)) return false;
    const Key key_again = again_.whole(site_again);
    return !first_.has(key_again) && !first_.has_hooked(key_again) && !again_.has(first_.whole(site)) &&
           !again_.has(first_.hooked(site));
  }

 private:
  // The keys of one run's call sites.
  class Run {
   public:
    explicit Run(const Failure& failure) : record_(failure.process->record), keys_(record_) {}
    Key whole(std::uint32_t site) const { return keys_.of_site(site); }
    Key hooked(std::uint32_t site) const { return keys_.of_hooked_site(site); }
    Key lines(std::uint32_t site) {
      const auto [at, is_new] = lines_.try_emplace(site, 0);
      if (is_new) at->second = keys_.of_own_lines(site);
      return at->second;
    }
    bool has(Key key) {
      fill();
      return whole_.contains(key);
    }
    // Returns whether a site has this key when its native stack is ignored.
    bool has_hooked(Key key) {
      fill();
      return hooked_.contains(key);
    }

   private:
    void fill() {
      if (!whole_.empty()) return;
      for (std::uint32_t site = 1; site <= record_.sites.size(); ++site) {
        whole_.insert(whole(site));
        hooked_.insert(hooked(site));
      }
    }

    const session::ProcessRecord& record_;
    const SiteKeys keys_;
    std::map<std::uint32_t, Key> lines_;
    std::set<Key> whole_, hooked_;
  };

  Run first_, again_;
};

bool is_observed_by_cupti(const Failure& failure) {
  return session::has(failure.process->record, session::Property::cupti_path);
}

// Returns whether the process launches the kernel at a single place, perhaps on several threads.
bool has_one_place(const session::ProcessRecord& record, const SiteKeys& keys, Key kernel) {
  Key only = 0;
  for (std::uint32_t site = 1; kernel != 0 && site <= record.sites.size(); ++site) {
    if (keys.of_kernel(site) != kernel) continue;
    if (only != 0 && only != keys.of_site(site)) return false;
    only = keys.of_site(site);
  }
  return only != 0;
}

// Returns the key of the kernel of `again`, if this kernel identifies the place in both runs; otherwise 0.
Key identifying_kernel(const Failure& failure, const SiteKeys& keys, const Failure& again, const SiteKeys& keys_again,
                       const Candidate& of) {
  if (is_observed_by_cupti(failure) == is_observed_by_cupti(again)) return 0;
  const Key kernel = keys_again.of_kernel(of.operation->site);
  const bool identifies =
      has_one_place(failure.process->record, keys, kernel) && has_one_place(again.process->record, keys_again, kernel);
  return identifies ? kernel : 0;
}

}  // namespace

bool are_identified_by_kernels(const Failure& failure) {
  const SiteKeys keys(failure.process->record);
  return std::ranges::all_of(failure.candidates, [&](const Candidate& candidate) {
    return has_one_place(failure.process->record, keys, keys.of_kernel(candidate.operation->site));
  });
}

Key lead_key(const Failure& failure) {
  if (failure.candidates.empty()) return 0;
  return SiteKeys(failure.process->record).of_site(failure.candidates.front().operation->site);
}

namespace {

// Returns the sites of the failing call's code: its own, and those of calls that were made before the hook began to
// read values. They have the key `whole`, unless native stacks are not recorded. `keys`: of the rerun.
std::vector<std::uint32_t> sites_again(const Failure& again, const SiteKeys& keys, Key whole) {
  std::vector<std::uint32_t> sites = {again.candidates.front().operation->site};
  if (!is_hooked(again) || whole == keys.of_site(sites.front())) return sites;
  for (std::uint32_t site = 1; site <= again.process->record.sites.size(); ++site) {
    if (keys.of_site(site) == whole) sites.push_back(site);
  }
  return sites;
}

// Returns the number of the failing call at its sites, counted from the start of the rerun.
std::uint32_t ordinal_again(const Failure& again, const std::vector<std::uint32_t>& sites) {
  std::uint64_t ordinal = again.candidates.front().operation->site_ordinal;
  for (std::size_t i = 1; i < sites.size(); ++i) ordinal += again.process->record.sites[sites[i] - 1].operations;
  return static_cast<std::uint32_t>(ordinal);
}

struct SameCode {
  std::vector<Candidate> candidates;
  bool very_call = false;  // the only candidate is exactly the call that failed again
  // The candidates share only the program's own lines with `again`, because libraries took a different path in the
  // rerun. The call numbers of the two paths cannot be compared.
  bool other_way = false;
};

// Returns the candidates that were issued by the same code as `again`. If some have the same call number as `again`,
// returns only those, one for each thread. Call numbers may differ between runs if the program uses threads or random
// data.
SameCode same_code(const Failure& failure, const Failure& again) {
  const SiteKeys keys(failure.process->record), keys_again(again.process->record);
  const Candidate& lead = again.candidates.front();
  const Key key = keys_again.of_site(lead.operation->site);
  const Key kernel = identifying_kernel(failure, keys, again, keys_again, lead);
  const auto is_of_code = [&](std::uint32_t site) {
    return keys.of_site(site) == key || (is_hooked(again) && keys.of_hooked_site(site) == key) ||
           (kernel != 0 && keys.of_kernel(site) == kernel);
  };
  SameCode found;
  std::vector<Candidate> very_calls;
  std::map<Key, std::uint32_t> ordinals;  // keyed by call site
  for (const Candidate& candidate : failure.candidates) {
    const std::uint32_t site = candidate.operation->site;
    if (!is_of_code(site)) continue;
    const auto [ordinal, is_new] = ordinals.try_emplace(keys.of_site(site), 0);
    if (is_new) ordinal->second = ordinal_again(again, sites_again(again, keys_again, ordinal->first));
    if (candidate.operation->site_ordinal == ordinal->second) very_calls.push_back(candidate);
    found.candidates.push_back(candidate);
  }
  if (!very_calls.empty()) {
    // Each thread counts its own calls of the code, so a candidate that is not listed may have the same number.
    const auto& sites = failure.process->record.sites;
    std::size_t counts = 0;
    for (std::uint32_t site = 1; !failure.lists_all() && site <= sites.size(); ++site) counts += is_of_code(site);
    found.very_call = very_calls.size() == 1 && counts <= 1;
    found.candidates = std::move(very_calls);
  }
  if (!found.candidates.empty() || !again.evidence.proves()) return found;
  SameLines lines(failure, again);
  std::copy_if(failure.candidates.begin(), failure.candidates.end(), std::back_inserter(found.candidates),
               [&](const Candidate& candidate) { return lines.are(candidate, lead); });
  found.other_way = !found.candidates.empty();
  return found;
}

}  // namespace

bool shares_code(const Failure& failure, const Failure& again) {
  const SiteKeys keys(failure.process->record), keys_again(again.process->record);
  SameLines lines(failure, again);
  return std::ranges::any_of(again.candidates, [&](const Candidate& other) {
    const Key key = keys_again.of_site(other.operation->site);
    const Key kernel = identifying_kernel(failure, keys, again, keys_again, other);
    return std::ranges::any_of(failure.candidates, [&](const Candidate& candidate) {
      const std::uint32_t site = candidate.operation->site;
      return keys.of_site(site) == key || keys.of_hooked_site(site) == key || lines.are(candidate, other) ||
             (kernel != 0 && keys.of_kernel(site) == kernel);
    });
  });
}

namespace {

// Returns the replay number of a graph, or the call number of another operation at its call site; 0 if unknown.
std::uint32_t number_of(const Candidate& candidate) {
  const session::Operation& operation = *candidate.operation;
  return operation.replay != 0 ? operation.replay : operation.site_ordinal;
}

bool expects_dump(const session::ProcessRecord& record) {
  return session::awaited_core_dump(record) || session::left_core_dump(record);
}

// Returns "call 20 of this line (call 50 in the first run)". `first`: the calls of one line of `process` that may have
// failed in the first run. `complete`: all such calls are in `first`. `failure`: from a rerun.
std::string which_call(const session::Process& process, const std::vector<Candidate>& first, bool complete,
                       const Failure& failure, const CountedCalls& counted) {
  const Candidate& again = failure.candidates.front();
  const std::uint32_t site = first.front().operation->site;
  const bool is_replay = again.operation->replay != 0;
  const auto sites = sites_again(failure, SiteKeys(failure.process->record), SiteKeys(process.record).of_site(site));
  const std::uint32_t number = is_replay ? again.operation->replay : ordinal_again(failure, sites);
  const std::string what = is_replay              ? "of the graph"
                           : is_compiled(failure) ? "with this stack"
                           : counted              ? counted(process, site, *failure.process, sites)
                                                  : "of this line";
  if (number == 0 || what.empty()) return "a call from the same code";
  const char* word = is_replay ? "replay" : "call";
  const std::string call = fmt::format("{} {} {}", word, number, what);
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
    return std::ranges::find(pass.rewritten, file) != pass.rewritten.end();
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

namespace {

// Returns what isolation denied the rerun, or an empty string. Programs survive if they cannot change anything in
// /proc.
std::string denied(const session::Pass& pass) {
  const auto kept = std::ranges::find_if(
      pass.kept_from, [](const session::KeptFrom& each) { return !each.object.starts_with("/proc/"); });
  return kept == pass.kept_from.end() ? "" : kept->object;
}

}  // namespace

bool are_of_one_kind(const Failure& failure, const Failure& again) {
  // Until a GPU core dump is read, code 719 may stand for any exception.
  const auto is_open = [](const Failure& each) {
    return each.code == wire::cuda::kLaunchFailure && expects_dump(each.process->record);
  };
  const auto is_exception = [](const Failure& each) { return wire::cuda::has(each.code, wire::cuda::leaves_dump); };
  if (is_open(failure) || is_open(again)) return is_exception(failure) && is_exception(again);
  return analyse::are_of_one_kind(failure.code, again.code);
}

bool confirm(Failure& failure, const Failure& again, const session::Pass& pass, const CountedCalls& counted) {
  // Edited source may behave differently, even at the same line.
  if (!rewritten_of(failure, pass).empty()) return false;
  if (again.candidates.empty() || again.evidence.is_guess()) return false;
  // Accepts an unproven failure only if the rerun waited for its operation. The rerun may have read values there that
  // explain the failure.
  if (!again.evidence.names_one() && again.unproven.empty()) return false;
  auto [kept, very_call, other_way] = same_code(failure, again);
  if (kept.empty()) return false;
  if (!are_of_one_kind(failure, again)) {
    const std::string clause = fmt::format(
        "in a rerun, this line's operation ran alone on the GPU and failed with another kind of error ({}), which "
        "proves nothing about this one",
        again.code);
    const auto& told = failure.evidence.clauses();
    const bool is_new = std::ranges::find(told, clause) == told.end();
    if (again.evidence.proves() && is_new) failure.evidence.add(clause);
    return true;
  }
  if (!again.evidence.proves() && again.evidence.names_one() && failure.evidence.names_one()) return true;
  // While a GPU core dump is expected, code 719 may stand for any exception.
  const bool unknown_code = again.code == wire::cuda::kLaunchFailure && expects_dump(again.process->record);
  const std::string error = again.code == failure.code || unknown_code ? "" : fmt::format(" with code {}", again.code);
  const std::size_t candidates = failure.candidates.size() + failure.unlisted;
  const std::string those = candidates == 1 ? "" : fmt::format("one of {} candidates: ", candidates);
  if (again.evidence.proves()) {
    const std::string which =
        other_way ? "this line's operation" : which_call(*failure.process, kept, failure.lists_all(), again, counted);
    failure.evidence = {Fact::ran_alone,
                        fmt::format("{}in a rerun, {} ran alone on the GPU and failed{}", those, which, error)};
    if (other_way) failure.evidence.add("in the rerun, libraries reached the operation by a different path");
  } else if (!again.unproven.empty()) {
    failure.evidence = {Fact::ran_alone,
                        fmt::format("{}in a rerun, the same operation failed while cudadiag waited for it, but {}",
                                    those, again.unproven)};
    if (under_mps(again.process->record)) failure.evidence.add(Fact::may_be_others);
    if (!under_mps(again.process->record) || again.records_lost) failure.evidence.add(Fact::may_be_another);
  } else {
    failure.evidence = {Fact::one_running,
                        fmt::format("{}in a rerun, only this operation could have been running", those)};
  }
  const bool several = candidates > 1 || failure.records_lost;
  if (const std::string object = denied(pass); several && !object.empty()) {
    failure.evidence.add(Fact::may_be_another,
                         fmt::format("but isolation denied the rerun {}, so it may have failed elsewhere", object));
  } else if (several && !pass.otherwise.empty()) {
    failure.evidence.add(
        Fact::may_be_another,
        fmt::format("but the first run changed {}, so the rerun may have failed elsewhere", pass.otherwise.front()));
  }
  failure.call_not_known = !very_call;
  failure.candidates = std::move(kept);
  failure.again = again.candidates.front().operation;
  failure.again_process = again.process;
  return true;
}

void doubt(Failure& failure, const Failure& again, const session::Pass& pass) {
  if (!denied(pass).empty() || failure.evidence.proves() || failure.candidates.empty()) return;
  if (again.candidates.empty() || !again.lists_all() || !are_of_one_kind(failure, again)) return;
  const bool one = failure.has_one_operation();
  if ((!one && !failure.lists_all()) || shares_code(failure, again)) return;
  failure.evidence.add(Fact::contradicted,
                       one ? "but when a rerun failed, this operation could not have been running"
                           : "but when a rerun failed, none of these operations could have been running");
}

}  // namespace cudadiag::analyse
