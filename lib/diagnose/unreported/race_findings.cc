// Adds findings for races between the streams of a process.
#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "diagnose/causes/rule.h"
#include "diagnose/changed_sources.h"
#include "diagnose/explanation.h"
#include "diagnose/facts/kernel_name.h"
#include "diagnose/failure/finding_builder.h"
#include "diagnose/unreported/findings.h"
#include "diagnose/words.h"
#include "session/session.h"

namespace cudadiag::diagnose {
namespace {

using session::by_id;
using session::Process;
using session::RaceMode;
using session::Work;

bool alters(const ResolvedAccess& access) { return session::alters(access.mode); }

std::string verb(const ResolvedAccess& access) {
  if (access.operation == Work::allocation) return "is allocated";
  if (access.operation == Work::free) return "is freed";
  if (access.mode == RaceMode::unknown) return "may be used";
  return access.mode == RaceMode::read ? "is read" : "is written";
}

// A race, and what a rerun adds to it.
struct Judged {
  session::Race race;
  NamedAccess first, second;
  bool first_by_schema = false, second_by_schema = false;
  std::string rerun;                     // says that the rerun did not show the race; else empty
  std::optional<RaceOverlap> overlap{};  // overlap of the two tensors

  bool by_schema() const { return first_by_schema || second_by_schema; }
};

// If the kernel's code does not show whether the kernel reads or writes the memory, uses the operator's schema and
// returns true.
bool judge(session::RaceAccess& access, const NamedAccess& name) {
  if (access.mode != RaceMode::unknown || !name.tensor || !name.tensor->written) return false;
  access.mode = *name.tensor->written ? RaceMode::write : RaceMode::read;
  return true;
}

// Returns nullopt if the bytes of either tensor are unknown.
std::optional<RaceOverlap> overlap_of(const NamedAccess& a, const NamedAccess& b) {
  if (!a.tensor || !b.tensor) return std::nullopt;
  const auto first = strided_bytes(*a.tensor), second = strided_bytes(*b.tensor);
  return first && second ? overlap(*first, *second) : std::nullopt;
}

// Returns whether the tensors are views of the same memory but have no byte in common.
bool is_apart(const Judged& judged) { return judged.overlap && judged.overlap->bytes == 0; }

Judged judged(const session::Race& race, const Process& process, RaceTensors& tensors) {
  Judged to{race, {}, {}, false, false, ""};
  if (!tensors.made()) return to;
  if (auto pair = tensors.find(race, process)) {
    to.first = std::move(pair->first);
    to.second = std::move(pair->second);
    to.overlap = overlap_of(to.first, to.second);
    to.first_by_schema = judge(to.race.first, to.first);
    to.second_by_schema = judge(to.race.second, to.second);
    const auto one = [&](RaceMode mode) { return to.race.first.mode == mode || to.race.second.mode == mode; };
    const bool disturb = one(RaceMode::write) || (one(RaceMode::atomic) && one(RaceMode::read));
    if (to.by_schema() && disturb) to.race.possible = race.uncertain;
    return to;
  }
  to.rerun = tensors.cut_short().empty()
                 ? "a rerun did not show the race again"
                 : fmt::format("a rerun that was cut short ({}) did not show the race again", tensors.cut_short());
  return to;
}

bool only_reads(const Judged& judged) {
  const auto reads = [](const session::RaceAccess& access) {
    return access.mode == RaceMode::read || access.mode == RaceMode::none;
  };
  return judged.by_schema() && reads(judged.race.first) && reads(judged.race.second);
}

class RaceBuilder {
 public:
  RaceBuilder(const Judged& judged, const Process& process, const ResolveSite& resolve, bool torch)
      : judged_(judged), from_(judged.race), process_(process), resolve_(resolve), torch_(torch) {}

  Finding build(const session::Session& session) {
    finding_ = finding_in(process_, session, analyse::Kind::stream_race,
                          fmt::format("{}race {}", from_.possible ? "possible " : "",
                                      is_in_one_stream() ? "in one stream" : "between two streams"));
    ResolvedRace& race = finding_.race.emplace();
    race.possible = from_.possible;
    race.times = from_.times;
    race.accesses = {access(from_.first, judged_.first, judged_.first_by_schema),
                     access(from_.second, judged_.second, judged_.second_by_schema)};
    race.rerun = judged_.rerun;
    race.overlap = judged_.overlap;
    // The missing wait belongs before the later access.
    lead_with(finding_, race.accesses[1].location, race.accesses[1].stack);
    drop_changed_sources(finding_, process_.record, heard_until(process_.record));
    if (from_.bytes != 0) allocation();
    words();
    return std::move(finding_);
  }

 private:
  // Equal handles are not enough: CUDA may give a new stream the handle of a destroyed one.
  bool is_in_one_stream() const { return from_.second.out_of_order && from_.first.stream == from_.second.stream; }

  ResolvedAccess access(const session::RaceAccess& from, const NamedAccess& known, bool by_schema) {
    ResolvedAccess to;
    to.op = known.op;
    to.schema = known.schema;
    to.tensor = known.tensor;
    to.judged_by_schema = by_schema;
    to.operation = from.what;
    to.mode = from.mode;
    to.stream = from.stream;
    to.begin = from.begin;
    to.end = from.end;
    to.exact = from.exact;
    to.somewhere = from.somewhere;
    to.array = from.array;
    if (!from.exact && known.whole) {
      to.begin = known.tensor->begin;
      to.end = known.tensor->end;
      to.exact = true;
    }
    to.graph_node = from.node;
    if (from.what == Work::kernel) {
      const session::Site* site = by_id(process_.record.sites, from.site);
      const std::uint32_t function = from.function != 0 || site == nullptr ? from.function : site->function;
      if (const std::string* name = by_id(process_.record.functions, function)) name_kernel(to, *name);
    }
    std::tie(to.location, to.stack) = resolve_(process_, from.site);
    return to;
  }

  void allocation() {
    PointedMemory& to = finding_.race->allocation.emplace();
    to.address = from_.address;
    to.bytes = from_.bytes;
    to.offset = std::max(from_.first.begin, from_.second.begin) - from_.address;
    if (from_.allocated == 0) return;
    auto [location, stack] = resolve_(process_, from_.allocated);
    const auto of_torch = [](const symbolize::NativeFrame& frame) {
      return !frame.user && base::file_name(frame.module).starts_with("libc10_cuda");
    };
    if (std::ranges::any_of(stack.native, of_torch)) to.owner = "PyTorch's caching allocator";
    finding_.related.push_back({Role::allocated, location});
    to.allocated = std::move(location);
  }

  void words() {
    const ResolvedAccess& first = finding_.race->accesses[0];
    const ResolvedAccess& second = finding_.race->accesses[1];
    const std::string a = stream_phrase(first.stream);
    const bool alike = first.stream == second.stream && !from_.one_graph && !is_in_one_stream();
    const std::string b = alike ? other_stream_phrase(second.stream) : stream_phrase(second.stream);
    const bool named =
        first.tensor && second.tensor && !first.tensor->name.empty() && first.tensor->name == second.tensor->name;
    const std::string memory = named                         ? first.tensor->name
                               : first.array != 0            ? fmt::format("array {:#x}", first.array)
                               : first.exact && second.exact ? "memory"
                                                             : fmt::format("{:#x}", meeting_point());
    finding_.text =
        is_in_one_stream()
            ? fmt::format("{} {} on {} and {} by a later copy on the same stream, and nothing orders the two", memory,
                          verb(first), a, verb(second))
            : fmt::format("{} {} on {} and {} on {}, and nothing orders the two", memory, verb(first), a, verb(second),
                          b);
    std::string& missing = finding_.race->missing;
    if (from_.second.out_of_order) {
      missing =
          "the copy may read its source out of stream order (its srcAccessOrder permits this), and the host did not "
          "wait for the first operation";
    } else if (from_.one_graph) {
      missing = "the two nodes are on branches of one graph, and neither depends on the other";
    } else {
      missing =
          fmt::format("{} {} {}", b, from_.waited_before ? "waited only for earlier work on" : "never waited for", a);
    }
    if (from_.uncertain)
      missing +=
          "; something that the driver does not report (a word in memory, another process, "
          "a host function) may order them";
    fixes(first, second, a, b);
    weigh(first, second);
  }

  std::uint64_t meeting_point() const { return std::max(from_.first.begin, from_.second.begin); }

  void fixes(const ResolvedAccess& first, const ResolvedAccess& second, const std::string& a, const std::string& b) {
    const causes::Dialect dialect = dialect_of(process_, second.stack, torch_);
    const bool allocator = finding_.race->allocation && !finding_.race->allocation->owner.empty();
    std::vector<std::string>& fix = finding_.fix;
    if (from_.second.out_of_order) {
      fix.push_back(
          causes::in_dialect(std::string("set srcAccessOrder of this copy to {cuda:cudaMemcpySrcAccessOrderStream|"
                                         "CU_MEMCPY_SRC_ACCESS_ORDER_STREAM}") +
                                 (is_in_one_stream() ? "" : " and make " + b + " wait for " + a + " with an event") +
                                 ", or wait on the host until the first operation has finished",
                             dialect));
    } else if (from_.one_graph) {
      fix.push_back("make one node depend on the other, or capture both on one stream");
    } else if (dialect.python) {
      fix.push_back(causes::in_dialect("before this line, make " + b + " wait for " + a +
                                           "{torch:: stream.wait_stream(other), or an event| with an event}",
                                       dialect));
    } else {
      fix.push_back(causes::in_dialect(
          "call {cuda:cudaEventRecord|cuEventRecord}(event, first) after the first operation and "
          "{cuda:cudaStreamWaitEvent(second, event)|cuStreamWaitEvent(second, event, 0)} before the second; first is " +
              a + ", second is " + b,
          dialect));
    }
    if (allocator && alters(second)) {
      fix.push_back(
          "if the tensor was freed while the other stream still used it: tensor.record_stream(stream) keeps its memory "
          "until that use ends");
    }
    if (first.operation == Work::free || second.operation == Work::free) {
      fix.push_back("free the memory on the stream that uses it last, or after waiting for that stream");
    }
  }

  const char* doubt(const ResolvedAccess& first, const ResolvedAccess& second) const {
    if (from_.uncertain) return "no recorded call orders them";
    if (first.mode == RaceMode::write || second.mode == RaceMode::write) {
      return "nothing orders them, but one of them may use the address only as the base or the end of a range";
    }
    return alters(first) || alters(second) ? "nothing orders them, but both may be atomic"
                                           : "nothing orders them, but it is unknown whether either of them writes";
  }

  void weigh(const ResolvedAccess& first, const ResolvedAccess& second) {
    using analyse::Fact;
    analyse::Evidence& evidence = finding_.evidence;
    const bool by_tensors = first.exact != from_.first.exact || second.exact != from_.second.exact;
    if (from_.possible) {
      evidence = {Fact::rule, doubt(first, second)};
    } else if (first.exact && second.exact) {
      evidence = {Fact::measured,
                  by_tensors
                      ? "no stream, event or host wait orders the two, either in this run or in a rerun, and the "
                        "operators use every element of their tensors"
                      : "no stream, event or host wait orders the two, and their byte ranges overlap"};
    } else {
      evidence = {
          Fact::matched,
          first.somewhere || second.somewhere
              ? "no stream, event or host wait orders the two; a kernel uses an unknown part of a texture or "
                "surface, and the other operation uses all of it"
              : "no stream, event or host wait orders the two; the address that a kernel uses is known, but not "
                "how many bytes it accesses there"};
    }
    if (first.judged_by_schema || second.judged_by_schema) {
      evidence.add("the operator's schema, not the kernel's code, shows whether the kernel writes");
    }
    if (!judged_.rerun.empty()) evidence.add(judged_.rerun);
  }

  const Judged& judged_;
  const session::Race& from_;
  const Process& process_;
  const ResolveSite& resolve_;
  const bool torch_;
  Finding finding_;
};

bool same_pair(const Finding& a, const Finding& b) {
  const auto& x = a.race->accesses;
  const auto& y = b.race->accesses;
  const auto both = [&](std::size_t i, std::size_t j) {
    return same_line(x[0].location, y[i].location) && same_line(x[1].location, y[j].location);
  };
  return a.race->possible == b.race->possible && a.pid == b.pid && (both(0, 1) || both(1, 0)) &&
         x[0].location.nearest().line > 0 && x[1].location.nearest().line > 0;
}

// Before a capture begins, PyTorch fills the seed and the offset of its generators on the capturing stream. Each replay
// fills them again on its own stream, and PyTorch does not order the two.
bool is_of_torch_generator(const ResolvedRace& race) {
  return std::any_of(race.accesses.begin(), race.accesses.end(), [](const ResolvedAccess& access) {
    const auto& frames = access.stack.python;
    return !frames.empty() && frames[0].function == "CUDAGraph.capture_begin" &&
           frames[0].file.ends_with("/torch/cuda/graphs.py");
  });
}

// Adds only one finding for each pair of lines: the one with the most known tensors.
void add(std::vector<Finding>& found, Finding finding) {
  const auto same = std::ranges::find_if(found, [&](const Finding& other) { return same_pair(finding, other); });
  if (same == found.end()) return found.push_back(std::move(finding));
  const auto tensors = [](const Finding& of) {
    return std::ranges::count_if(of.race->accesses,
                                 [](const ResolvedAccess& access) { return access.tensor.has_value(); });
  };
  finding.race->times += same->race->times;
  tensors(finding) > tensors(*same) ? void(*same = std::move(finding)) : void(same->race->times = finding.race->times);
}

void note_gaps(Diagnosis& report, const session::RaceCounts& counts) {
  if (counts.lost > 0) {
    report.notes.push_back({analyse::NoteCode::races_gap,
                            fmt::format("pid {}: {} record{} lost in {} gap{}; races across a gap are not reported",
                                        counts.pid, thousands(counts.lost), counts.lost == 1 ? " was" : "s were",
                                        thousands(counts.gaps), counts.gaps == 1 ? "" : "s")});
  }
  if (counts.forgotten > 0) {
    report.notes.push_back(
        {analyse::NoteCode::races_forgotten,
         fmt::format("pid {}: {} access{} dropped for lack of room, so races with {} are not reported", counts.pid,
                     thousands(counts.forgotten), counts.forgotten == 1 ? " was" : "es were",
                     counts.forgotten == 1 ? "it" : "them")});
  }
  if (counts.unlisted > 0) {
    report.notes.push_back({analyse::NoteCode::races_unlisted,
                            fmt::format("pid {}: {} further race{} not listed", counts.pid, thousands(counts.unlisted),
                                        counts.unlisted == 1 ? " is" : "s are")});
  }
}

}  // namespace

namespace {

constexpr const char* kNoDisassembler = "the code of no kernel could be read";

}  // namespace

std::string disassembler_remedy(const session::Races& races) {
  if (races.kernels.disassembler || (unjudged_text(races).empty() && unchecked_text(races).empty())) return "";
  return "nvdisasm, which reads kernel code, was not found: run pip install nvidia-cuda-nvdisasm, or add the CUDA "
         "Toolkit's bin folder to PATH";
}

std::string unjudged_text(const session::Races& races, std::uint64_t settled) {
  std::uint64_t pairs = 0;
  for (const session::RaceCounts& counts : races.counts) pairs += counts.unjudged;
  pairs -= std::min(pairs, settled);
  if (pairs == 0) return "";
  const std::string text = fmt::format(
      "{} unordered pair{} of kernels on the same memory {} not reported, because it is unknown whether one of them "
      "writes, or where",
      thousands(pairs), pairs == 1 ? "" : "s", pairs == 1 ? "is" : "are");
  if (!races.kernels.disassembler) return text + ": " + kNoDisassembler;
  if (races.kernels.understood >= races.kernels.wanted) return text;
  return text + fmt::format(": the code of only {} of {} kernels could be read", thousands(races.kernels.understood),
                            thousands(races.kernels.wanted));
}

std::string unchecked_text(const session::Races& races) {
  std::uint64_t kernels = 0, unchecked = 0;
  for (const session::RaceCounts& counts : races.counts) {
    kernels += counts.kernels;
    unchecked += counts.unchecked;
  }
  if (unchecked == 0) return "";
  return fmt::format("{} of {} kernel{} {} not completely checked for races between {} own threads, because {}",
                     thousands(unchecked), thousands(kernels), kernels == 1 ? "" : "s", unchecked == 1 ? "was" : "were",
                     unchecked == 1 ? "its" : "their",
                     races.kernels.disassembler
                         ? "an access or its condition depends on the contents of memory, or the code is unknown or "
                           "takes too long to follow"
                         : kNoDisassembler);
}

void add_races(Diagnosis& report, const session::Session& session, const ResolveSite& resolve) {
  if (!session.races) return;
  for (const session::RaceCounts& counts : session.races->counts) note_gaps(report, counts);
  std::vector<Finding> found;
  const auto tell = [&](const Judged& judged, const Process& process) {
    Finding finding = RaceBuilder(judged, process, resolve, !report.torch.empty()).build(session);
    if (!is_of_torch_generator(*finding.race)) add(found, std::move(finding));
  };
  RaceTensors tensors(session, resolve);
  std::uint64_t dismissed = 0, apart = 0, settled = 0;
  for (const session::Race& race : session.races->found) {
    const Process* process = process_of(session.processes, race.pid);
    if (process == nullptr || race.second.on_host) continue;
    const Judged now = judged(race, *process, tensors);
    // Keeps a race that represents several pairs of accesses, because only one of these pairs was checked.
    if (is_apart(now) && race.possible && !race.several) {
      ++apart;
    } else if (only_reads(now) && race.possible && !race.several) {
      ++dismissed;
    } else {
      tell(now, *process);
    }
  }
  for (session::Race pair : session.races->unjudged) {
    const Process* process = process_of(session.processes, pair.pid);
    if (process == nullptr) continue;
    pair.possible = true;
    const Judged now = judged(pair, *process, tensors);
    if (!now.by_schema()) continue;
    settled += pair.times;
    if (!only_reads(now)) tell(now, *process);
  }
  const std::string remedy = disassembler_remedy(*session.races), more = remedy.empty() ? "" : "; " + remedy;
  std::string unjudged = unjudged_text(*session.races, settled), unchecked = unchecked_text(*session.races);
  if (!unchecked.empty()) unchecked += more;
  if (!unjudged.empty()) {
    if (unchecked.empty()) unjudged += more;
    report.notes.push_back({analyse::NoteCode::races_unjudged, std::move(unjudged)});
  }
  if (!unchecked.empty()) report.notes.push_back({analyse::NoteCode::races_unchecked, std::move(unchecked)});
  if (dismissed > 0) {
    report.notes.push_back(
        {analyse::NoteCode::races_dismissed,
         fmt::format("{} possible race{} ruled out: according to the operators' schemas, both operations only read",
                     dismissed, dismissed == 1 ? " is" : "s are")});
  }
  if (apart > 0) {
    report.notes.push_back({analyse::NoteCode::races_dismissed,
                            fmt::format("{} possible race{} ruled out: the tensors of the two operations share no byte",
                                        apart, apart == 1 ? " is" : "s are")});
  }
  std::stable_partition(found.begin(), found.end(), [](const Finding& finding) { return !finding.race->possible; });
  add_findings(report, std::move(found));
}

}  // namespace cudadiag::diagnose
