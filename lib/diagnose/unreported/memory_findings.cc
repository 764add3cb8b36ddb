// Adds findings for operations that use the wrong bytes of memory, or at the wrong time: copies whose source the host
// changed, kernels that leave their allocations or whose threads race, and graphs that replay on memory of other
// tensors.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "diagnose/causes/case.h"
#include "diagnose/causes/rule.h"
#include "diagnose/explanation.h"
#include "diagnose/facts/kernel_name.h"
#include "diagnose/facts/place.h"
#include "diagnose/failure/finding_builder.h"
#include "diagnose/failure/tool_evidence.h"
#include "diagnose/hook_values.h"
#include "diagnose/line_resolver.h"
#include "diagnose/unreported/findings.h"
#include "diagnose/words.h"
#include "sass/kernel_accesses.h"
#include "session/session.h"
#include "symbolize/source_file.h"

namespace cudadiag::diagnose {
namespace {

using session::Process;

// Adds one finding for each row about a recorded process. A row that is the same as an earlier one, as far as a reader
// can see, is only counted.
template <typename Row, typename Build, typename Same>
void add_each(Diagnosis& report, const session::Session& session, const std::vector<Row>& rows, Build build,
              Same is_same) {
  std::vector<Finding> found;
  for (const Row& row : rows) {
    const Process* process = session::process_of(session.processes, row.pid);
    if (process == nullptr) continue;
    Finding finding = build(row, *process);
    const auto same = std::ranges::find_if(found, [&](const Finding& other) { return is_same(finding, other); });
    if (same == found.end()) {
      found.push_back(std::move(finding));
    } else if (finding.race) {
      same->race->times += finding.race->times;
    }
  }
  add_findings(report, std::move(found));
}

// Describes the allocation that a row names, and relates the line that allocated it.
template <typename Row>
PointedMemory memory_of(const Row& row, Finding& finding, const Process& process, const ResolveSite& resolve) {
  PointedMemory memory;
  memory.address = row.address;
  memory.bytes = row.bytes;
  if (row.allocated == 0) return memory;
  memory.allocated = resolve(process, row.allocated).first;
  finding.related.push_back({Role::allocated, *memory.allocated});
  return memory;
}

const std::string& kernel_name(const Process& process, std::uint32_t function) {
  static const std::string kUnknown;
  const std::string* name = session::by_id(process.record.functions, function);
  return name == nullptr ? kUnknown : *name;
}

class HostWriteBuilder {
 public:
  HostWriteBuilder(const session::Race& race, const Process& process, const ResolveSite& resolve, bool torch)
      : from_(race), process_(process), resolve_(resolve), torch_(torch) {}

  Finding build(const session::Session& session) {
    const char* reader = of_kernel() ? "a kernel" : in_graph() ? "a copy in a graph" : "a copy";
    finding_ =
        finding_in(process_, session, analyse::Kind::stream_race, fmt::format("race between {} and the host", reader));
    accesses();
    if (from_.bytes != 0) {
      PointedMemory& memory = finding_.race->allocation.emplace(memory_of(from_, finding_, process_, resolve_));
      memory.offset = from_.second.begin - from_.address;
    }
    words(session.manifest.working_directory);
    return std::move(finding_);
  }

 private:
  bool of_kernel() const { return from_.first.what == session::Work::kernel; }
  bool in_graph() const { return !of_kernel() && from_.first.node != 0; }
  const char* work() const { return of_kernel() ? "kernel" : in_graph() ? "graph" : "copy"; }

  // Sets the finding's location to the copy, because the line on the host is often unknown.
  void accesses() {
    ResolvedAccess copy, write;
    copy.operation = from_.first.what;
    copy.mode = from_.first.mode;
    copy.stream = from_.first.stream;
    copy.begin = from_.first.begin;
    copy.end = from_.first.end;
    copy.exact = from_.first.exact;
    copy.graph_node = from_.first.node;
    name_kernel(copy, kernel_name(process_, from_.first.function));
    std::tie(copy.location, copy.stack) = resolve_(process_, from_.first.site);
    lead_with(finding_, copy.location, copy.stack);
    if (from_.launched != 0) replay_ = resolve_(process_, from_.launched).first;
    if (replay_.line > 0) finding_.related.push_back({Role::replay, replay_});
    write.on_host = true;
    write.mode = from_.second.mode;
    write.begin = from_.second.begin;
    write.end = from_.second.end;
    write.exact = true;
    ResolvedRace& race = finding_.race.emplace();
    race.times = from_.times;
    race.accesses = {std::move(copy), std::move(write)};
  }

  void words(const std::string& directory) {
    const std::string stream = stream_phrase(from_.first.stream);
    const std::string replayed = replay_.line > 0 ? ", replayed at " + place(replay_, directory) + "," : "";
    const std::string reader = of_kernel()  ? "kernel"
                               : in_graph() ? fmt::format("copy in node {} of the graph", from_.first.node)
                                            : "copy";
    finding_.text = fmt::format(
        "the {} on {}{} reads memory that the host changed before the {} {}: {}{} B, the first at byte {} of {}",
        reader, stream, replayed, work(), from_.after_begin || from_.before_marker ? "had finished" : "began",
        from_.sampled ? "at least " : "", thousands(from_.changed),
        thousands(from_.second.begin - std::min(from_.first.begin, from_.second.begin)),
        of_kernel() ? "what it reads" : "the source");
    finding_.text += add_host_line(finding_, from_, process_, resolve_, directory);
    finding_.race->missing = fmt::format("the host did not wait for the {} before it wrote", work());
    const causes::Dialect dialect = dialect_of(process_, finding_.stack, torch_);
    const std::string calls =
        dialect.python
            ? "event.record(stream) and event.synchronize()"
            : causes::in_dialect("{cuda:cudaEventRecord and cudaEventSynchronize|cuEventRecord and cuEventSynchronize}",
                                 dialect);
    finding_.fix.push_back(
        fmt::format("record an event after the {}, and wait for it before filling this memory again: {}",
                    in_graph() ? "graph's launch" : work(), calls));
    finding_.fix.push_back("or fill a different buffer in the meantime");
    if (from_.second.exact) {
      finding_.evidence = {
          analyse::Fact::measured,
          fmt::format(
              "the bytes changed while cudadiag delayed the {0}, after all work ordered before the {0} had finished",
              work())};
    } else if (from_.before_marker) {
      finding_.evidence = {
          analyse::Fact::matched,
          fmt::format("the bytes changed after the {0} was issued and before the GPU wrote the completion marker after "
                      "it, and no operation that could run meanwhile had an address of this memory",
                      work())};
    } else {
      finding_.evidence = {
          analyse::Fact::matched,
          fmt::format("the bytes changed after the {} {}, and cudadiag recorded no operation that wrote them", work(),
                      from_.after_begin ? "had begun and before it had finished" : "was issued and before it began")};
    }
  }

  const session::Race& from_;
  const Process& process_;
  const ResolveSite& resolve_;
  const bool torch_;
  Location replay_;  // of the graph; without a line if the copy is not in a graph
  Finding finding_;
};

bool is_on_same_line(const Finding& a, const Finding& b) {
  return a.pid == b.pid && a.location.nearest().line > 0 && same_line(a.location, b.location);
}

}  // namespace

void add_host_writes(Diagnosis& report, const session::Session& session, const ResolveSite& resolve) {
  std::vector<session::Race> races;
  if (session.races) races = session.races->found;
  for (const Process& process : session.processes) {
    std::ranges::move(session::changed_sources(process.record, process.pid), std::back_inserter(races));
  }
  std::erase_if(races, [](const session::Race& race) { return !race.second.on_host; });
  const auto build = [&](const session::Race& race, const Process& process) {
    return HostWriteBuilder(race, process, resolve, !report.torch.empty()).build(session);
  };
  add_each(report, session, races, build, is_on_same_line);
}

namespace {

using session::DeliveredRecycled;

// Returns the node, with some recorded launch of its graph; nullopt if one of them is not recorded.
std::optional<analyse::Candidate> node_of(const DeliveredRecycled& from, const session::ProcessRecord& record) {
  const session::Graph* graph = session::by_id(record.graphs, from.graph);
  if (graph == nullptr || from.node >= graph->nodes.size()) return std::nullopt;
  analyse::Candidate candidate;
  candidate.node = &graph->nodes[from.node];
  candidate.node_index = from.node + 1;
  candidate.nodes_of_graph = static_cast<std::uint32_t>(graph->nodes.size());
  for (const session::Operation& operation : record.operations) {
    if (operation.kind == wire::operation::Kind::graph && operation.graph == from.graph)
      candidate.operation = &operation;
  }
  return candidate.operation == nullptr ? std::nullopt : std::optional(candidate);
}

// Returns whether the kernel's code uses the word at this offset of its parameters as an address.
bool is_used(const std::vector<session::KernelCode>& codes, const std::string& kernel, std::uint32_t offset) {
  bool known = false;
  for (const session::KernelCode& code : codes) {
    if (code.kernel != kernel) continue;
    const auto calls = code.harmless_calls ? sass::Calls::harmless : sass::Calls::anything;
    const auto found = sass::read_sass(code.text, {code.bank_offset, code.bank_size}, calls);
    known = std::ranges::any_of(found.accesses, [&](const sass::CodeAccess& access) {
      return std::ranges::count(access.origins, offset, &sass::Origin::offset) > 0;
    });
    if (!known) return false;
  }
  return known;
}

void relate(Finding& finding, Role role, const Location& location) {
  if (location.line > 0) finding.related.push_back({role, location});
}

void explain(Finding& finding, const DeliveredRecycled& from, const Location& freed, const Location& taken,
             const std::string& directory) {
  const auto at = [&](const Location& location) {
    return location.line > 0 ? " at " + place(location, directory) : "";
  };
  Cause& cause = finding.cause.emplace();
  cause.id = "recycled-graph-memory";
  cause.certain = true;
  cause.text = fmt::format(
      "node {} of the graph uses {} that were given back to PyTorch's allocator{} after the capture, and that belong "
      "to "
      "another tensor, which was allocated{}",
      from.node + 1, causes::size_text(from.bytes), at(freed), at(taken));
  cause.facts = {{"node", std::to_string(from.node + 1)}, {"bytes", std::to_string(from.bytes)}};
  finding.fix = {
      "keep the tensors that the graph uses for as long as the graph is replayed, and copy new data into them "
      "(tensor.copy_()) instead of resizing or replacing them",
      "or capture the graph again after the memory has moved"};
}

std::optional<Finding> finding_of(const DeliveredRecycled& from, const Process& process,
                                  const session::Session& session, symbolize::Symbolizer& symbolizer) {
  const auto node = node_of(from, process.record);
  if (!node) return std::nullopt;
  const auto line = [&](const std::vector<session::DeliveredFrame>& frames) {
    return located(line_of_user(symbolizer.stack(process, frames)));
  };
  ResolvedSite site = resolve(symbolizer, process, node->site(), session::kernel_id(process.record, *node->node));
  if (from.may_be_leftover && !is_used(session.kernel_code, site.mangled, from.offset)) return std::nullopt;
  Finding finding = finding_in(process, session, analyse::Kind::graph_stale_pointer,
                               "a CUDA graph is replayed with memory that belongs to another tensor");
  finding.text = "A graph keeps the addresses that it was captured with; other data is at this address now.";
  lead_with(finding, located(site.line.location), std::move(site.stack));
  finding.launch = node_launch_of(process, *node, site.mangled);
  // It is unknown which of the recorded launches this was.
  finding.launch->process_ordinal = finding.launch->stream_ordinal = finding.launch->site_ordinal = std::nullopt;
  finding.launch->replay = std::nullopt;
  const Location freed = line(from.freed), taken = line(from.taken);
  relate(finding, Role::replay, line(from.replay));
  relate(finding, Role::freed, freed);
  relate(finding, Role::taken, taken);
  explain(finding, from, freed, taken, session.manifest.working_directory);
  finding.evidence = {from.may_be_leftover ? analyse::Fact::matched : analyse::Fact::rule,
                      fmt::format("PyTorch's allocator reported both, and the node has the address {:#x} in its "
                                  "parameters; {}",
                                  from.address,
                                  from.may_be_leftover ? "according to its code, the kernel uses it"
                                                       : "it is unknown whether the kernel uses it")};
  return finding;
}

}  // namespace

void add_recycled_blocks(Diagnosis& report, const session::Session& session, symbolize::Symbolizer& symbolizer) {
  for (const Process& process : session.processes) {
    std::set<std::uint32_t> graphs;  // one finding for each
    for (const session::Delivery& delivery : process.deliveries) {
      if (!delivery.recycled || graphs.contains(delivery.recycled->graph)) continue;
      auto finding = finding_of(*delivery.recycled, process, session, symbolizer);
      if (!finding) continue;
      graphs.insert(delivery.recycled->graph);
      add_findings(report, {std::move(*finding)});
    }
  }
}

namespace {

// A graph used the program's own memory, which no longer existed.
class EndedMemoryBuilder {
 public:
  explicit EndedMemoryBuilder(const session::EndedMemory& ended) : from_(ended) {}

  Finding build(const session::Session& session, const Process& process, const ResolveSite& resolve,
                const std::string& variable) const {
    Finding finding = finding_in(process, session, analyse::Kind::graph_stale_pointer,
                                 "a CUDA graph is replayed with host memory that no longer exists");
    auto [location, stack] = resolve(process, from_.access.site);
    lead_with(finding, std::move(location), std::move(stack));
    const Location replay = from_.launched == 0 ? Location() : resolve(process, from_.launched).first;
    relate(finding, Role::replay, replay);
    const std::string replayed =
        replay.line > 0 ? ", replayed at " + place(replay, session.manifest.working_directory) + "," : "";
    if (from_.freed != 0) relate(finding, Role::freed, resolve(process, from_.freed).first);
    finding.text = fmt::format("{} of the graph{} {} {}, {}", node(), replayed, use(), memory(variable), end());
    finding.fix = {"keep this memory for as long as the graph is replayed: give it to the object that owns the graph",
                   "or set the node's parameters before each replay"};
    finding.evidence = {from_.how == How::returned ? analyse::Fact::matched : analyse::Fact::measured, how_known()};
    return finding;
  }

 private:
  using How = session::EndedMemory::How;

  std::string node() const {
    const session::Work what = from_.access.what;
    const char* operation = what == session::Work::copy     ? "the copy"
                            : what == session::Work::memset ? "the memset"
                                                            : "the host function";
    return fmt::format("{} in node {}", operation, from_.access.node);
  }
  const char* use() const {
    return from_.access.what == session::Work::host_function ? "gets"
           : from_.access.mode == session::RaceMode::read    ? "reads"
                                                             : "writes";
  }
  std::string memory(const std::string& variable) const {
    const std::uint64_t bytes = from_.access.end - from_.access.begin;
    const std::string size = bytes == 0 ? "" : fmt::format("{} B of ", thousands(bytes));
    if (from_.how == How::freed) return fmt::format("{}the block at {:#x}", size, from_.access.begin);
    return size + (variable.empty() ? "a local variable" : "the local variable " + variable);
  }
  const char* end() const {
    return from_.how == How::returned       ? "whose function has returned"
           : from_.how == How::thread_ended ? "whose thread has ended"
                                            : "which was freed";
  }
  const char* how_known() const {
    return from_.how == How::returned       ? "the function's return address was no longer on the stack at the replay"
           : from_.how == How::thread_ended ? "the variable is on the stack of a thread that ended before the replay"
                                            : "the program freed the block before the replay";
  }

  const session::EndedMemory& from_;
};

}  // namespace

void add_ended_memory(Diagnosis& report, const session::Session& session, const ResolveSite& resolve,
                      symbolize::Symbolizer& symbolizer) {
  if (!session.races) return;
  const auto build = [&](const session::EndedMemory& ended, const Process& process) {
    const std::string variable = symbolizer.variable(process, ended.access.site, ended.frame, ended.below);
    return EndedMemoryBuilder(ended).build(session, process, resolve, variable);
  };
  add_each(report, session, session.races->ended, build, is_on_same_line);
}

namespace {

using session::RaceMode;

class KernelRaceBuilder {
 public:
  KernelRaceBuilder(const session::KernelRace& race, const Process& process)
      : from_(race), mangled_(kernel_name(process, race.launch.function)) {}

  Finding build(const session::Session& session, const Process& process, const ResolveSite& resolve) {
    finding_ =
        finding_in(process, session, analyse::Kind::kernel_race,
                   from_.in_block ? "race between two warps of one block" : "race between two blocks of one launch");
    std::tie(finding_.location, finding_.stack) = resolve(process, from_.launch.site);
    ResolvedRace& race = finding_.race.emplace();
    race.times = from_.times;
    race.accesses = {access(from_.first), access(from_.second)};
    const Location* shown = &race.accesses[0].location;
    if (shown->line == 0) shown = &finding_.location.nearest();
    finding_.source.excerpt = symbolize::source_excerpt(shown->file, shown->line, 1);
    if (from_.bytes != 0) {
      race.allocation = memory_of(from_, finding_, process, resolve);
      race.allocation->offset = std::max(from_.first.begin, from_.second.begin) - from_.address;
    }
    words();
    return std::move(finding_);
  }

 private:
  ResolvedAccess access(const session::ThreadAccess& from) const {
    ResolvedAccess to;
    to.operation = session::Work::kernel;
    name_kernel(to, mangled_);
    to.mode = from.mode;
    to.stream = from_.launch.stream;
    to.begin = from.begin;
    to.end = from.end;
    to.exact = true;
    to.block = from.block;
    to.thread = from.thread;
    to.location = device_line(from.lines);
    return to;
  }

  Location device_line(const std::vector<session::ThreadAccess::Line>& from) const {
    std::vector<evidence::SourceLine> lines;
    for (const auto& line : from) lines.push_back({line.function, line.file, line.line});
    if (lines.empty()) lines.push_back({mangled_, "", 0});
    const evidence::SourceLine& leads = lines[leading_line(lines)];
    symbolize::Location at;
    at.file = leads.file;
    at.line = static_cast<int>(leads.line);
    at.function = base::demangle(leads.function);
    at.language = symbolize::Language::cuda;
    return located(at);
  }

  static const char* verb(RaceMode mode) {
    return mode == RaceMode::read ? "reads" : mode == RaceMode::atomic ? "updates" : "writes";
  }

  void words() {
    const std::string kernel = mangled_.empty() ? "a kernel" : short_kernel_name(base::demangle(mangled_), 40);
    const std::uint64_t begin = std::max(from_.first.begin, from_.second.begin),
                        end = std::min(from_.first.end, from_.second.end);
    finding_.text = fmt::format("{}: one {} {} {} B at {:#x}, another {} {} them, and nothing orders the two", kernel,
                                from_.in_block ? "warp" : "block", verb(from_.first.mode), end - begin, begin,
                                from_.in_block ? "warp" : "block", verb(from_.second.mode));
    const bool atomic = from_.first.mode == RaceMode::atomic && from_.second.mode == RaceMode::atomic;
    finding_.race->missing = from_.in_block ? "no barrier of the block is between the two accesses"
                             : atomic       ? "the scope of an atomic operation is one block"
                                            : "blocks of a launch run in any order, or at the same time";
    std::vector<std::string>& fix = finding_.fix;
    if (from_.in_block) {
      fix.push_back("call __syncthreads() between the two accesses");
    } else if (atomic) {
      fix.push_back("use an atomic operation without the suffix _block");
    } else {
      fix.push_back("give each block bytes of its own, or let each launch do one of the two accesses");
      fix.push_back("or add up by atomic operations");
    }
    if (finding_.race->accesses[0].location.line == 0)
      fix.push_back("to see the two lines, compile with nvcc -lineinfo");
    finding_.evidence = {analyse::Fact::matched,
                         "the bytes follow from the kernel's code, grid and parameters, and both threads make these "
                         "accesses whatever the memory contains"};
  }

  const session::KernelRace& from_;
  const std::string& mangled_;
  Finding finding_;
};

bool is_same_kernel_race(const Finding& a, const Finding& b) {
  const auto &x = a.race->accesses, &y = b.race->accesses;
  return a.pid == b.pid && x[0].mangled == y[0].mangled && same_line(a.location, b.location) &&
         same_line(x[0].location, y[0].location) && same_line(x[1].location, y[1].location);
}

}  // namespace

void add_kernel_races(Diagnosis& report, const session::Session& session, const ResolveSite& resolve) {
  if (!session.races) return;
  const auto build = [&](const session::KernelRace& race, const Process& process) {
    return KernelRaceBuilder(race, process).build(session, process, resolve);
  };
  add_each(report, session, session.races->inside, build, is_same_kernel_race);
}

namespace {

class OverrunBuilder {
 public:
  explicit OverrunBuilder(const session::Overrun& overrun) : from_(overrun) {}

  Finding build(const session::Session& session, const Process& process, const ResolveSite& resolve) {
    finding_ = finding_in(process, session, analyse::Kind::out_of_bounds, "bytes out of bounds");
    auto [location, stack] = resolve(process, from_.access.site);
    lead_with(finding_, std::move(location), std::move(stack));
    Launch& launch = finding_.launch.emplace();
    launch.operation = session::Work::kernel;
    launch.stream = from_.access.stream;
    name_kernel(launch, kernel_name(process, from_.access.function));
    access();
    finding_.access->allocation = memory_of(from_, finding_, process, resolve);
    words();
    return std::move(finding_);
  }

 private:
  std::uint64_t end() const { return from_.address + from_.bytes; }
  bool past_end() const { return finding_.access->relation == Relation::past_end; }

  void access() {
    Access& to = finding_.access.emplace();
    const RaceMode mode = from_.access.mode;
    to.kind = mode == RaceMode::write    ? sass::AccessKind::store
              : mode == RaceMode::atomic ? sass::AccessKind::atomic
                                         : sass::AccessKind::load;
    // Each byte of the range is accessed by some thread.
    const auto first = static_cast<std::int64_t>(from_.access.begin);
    const auto last = static_cast<std::int64_t>(from_.access.end - 1);
    to.relation = where_in({first, last, 1}, from_.address, from_.bytes).relation;
    to.address = past_end() ? std::max(end(), from_.access.begin) : from_.access.begin;
    const auto at = static_cast<std::int64_t>(*to.address);
    to.distance = where_in({at, at, 1}, from_.address, from_.bytes).distance;
  }

  void words() {
    const std::uint64_t outside = past_end() ? from_.access.end - end() : from_.address - from_.access.begin;
    const std::string kernel =
        finding_.launch->kernel.empty() ? "a kernel" : short_kernel_name(finding_.launch->kernel, 40);
    const char* verb = from_.access.mode == RaceMode::read ? "reads" : "writes";
    finding_.text =
        fmt::format("{} {} {:#x}..{:#x}: up to {} B {} of the allocation {:#x}..{:#x} ({} B)", kernel, verb,
                    from_.access.begin, from_.access.end, thousands(outside),
                    past_end() ? "past the end" : "before the beginning", from_.address, end(), thousands(from_.bytes));
    if (from_.times > 1) finding_.text += fmt::format("; {} launches do this", thousands(from_.times));
    finding_.fix.push_back("compare the size passed to the kernel with the size of the allocation");
    finding_.evidence = {analyse::Fact::rule,
                         "these bytes follow from the kernel's code, grid and parameters; no error was reported"};
  }

  const session::Overrun& from_;
  Finding finding_;
};

bool is_same_overrun(const Finding& a, const Finding& b) {
  return a.pid == b.pid && a.launch->mangled == b.launch->mangled && a.location.nearest().line > 0 &&
         a.location.nearest().line == b.location.nearest().line &&
         a.location.nearest().file == b.location.nearest().file;
}

}  // namespace

void add_overruns(Diagnosis& report, const session::Session& session, const ResolveSite& resolve) {
  if (!session.races) return;
  const auto build = [&](const session::Overrun& overrun, const Process& process) {
    return OverrunBuilder(overrun).build(session, process, resolve);
  };
  add_each(report, session, session.races->overruns, build, is_same_overrun);
}

}  // namespace cudadiag::diagnose
