// Uses the exception in a GPU core dump to narrow down the candidates of a failure. The dump names the kernel that
// failed.
#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "analyse/forward_launches.h"
#include "analyse/graph_nodes.h"
#include "analyse/operation_arguments.h"
#include "diagnose/facts/address_relation.h"
#include "diagnose/failure/tool_evidence.h"
#include "diagnose/line_resolver.h"
#include "session/process_record.h"
#include "wire/cuda_codes.h"

namespace cudadiag::diagnose {
namespace {

using analyse::Failure;
using evidence::DumpedFailure;
using session::ProcessRecord;

// Returns the CUDA error for an exception that is not a failed assertion; nullopt if CUDA has no specific error for it.
std::optional<std::uint32_t> own_error(const DumpedFailure& exception) {
  constexpr std::pair<std::string_view, std::uint32_t> kErrors[] = {
      {"Illegal Address", 700},     {"MMU Fault", 700},  {"Hardware Stack", 714},
      {"Illegal Instruction", 715}, {"Misaligned", 716}, {"Invalid Address Space", 717},
      {"Invalid PC", 718}};
  for (const auto& [name, error] : kErrors) {
    if (exception.exception_name.find(name) != std::string::npos) return error;
  }
  return std::nullopt;
}

// Returns whether CUDA can report the exception with this error code. CUDA uses the exception's own code, if it has
// one, or the general code 719.
bool fits(const DumpedFailure& exception, std::uint32_t code) {
  if (exception.asserted() || code == wire::cuda::kAssert) return exception.asserted() && code == wire::cuda::kAssert;
  const auto own = own_error(exception);
  return code == wire::cuda::kLaunchFailure || !own || code == *own;
}

// Treats an unknown value as equal.
bool may_be_same(const std::optional<session::Dim3>& there, const session::Dim3& here) {
  return !there || here == session::Dim3{} || *there == here;
}

// Returns the kernel that the candidate launches, or null if the candidate is a graph node or its kernel is unknown.
const std::string* launched_kernel(const ProcessRecord& record, const analyse::Candidate& candidate) {
  return candidate.node != nullptr ? nullptr : session::kernel_at(record, candidate.operation->site);
}

bool is_of_its_code(const DumpedFailure& exception, const ProcessRecord& record, const analyse::Candidate& candidate) {
  const std::string* kernel = launched_kernel(record, candidate);
  return kernel != nullptr && *kernel == exception.kernel;
}

bool is_its_kernel(const DumpedFailure& exception, const ProcessRecord& record, const analyse::Candidate& candidate) {
  const session::Operation& operation = *candidate.operation;
  return is_of_its_code(exception, record, candidate) && may_be_same(exception.grid, operation.grid) &&
         may_be_same(exception.block_dim, operation.block);
}

bool is_error_of_the_gpu(const Failure& failure) { return analyse::is_asynchronous(failure.kind) && failure.code != 0; }

// Returns whether a node of the graph may run the dump's kernel.
bool may_launch(const DumpedFailure& exception, const ProcessRecord& record, const session::Graph& graph) {
  if (!graph.whole || analyse::hides_nodes(graph)) return true;
  return std::ranges::any_of(graph.nodes, [&](const session::GraphNode& node) {
    const std::string* kernel = session::by_id(record.functions, session::kernel_id(record, node));
    return kernel == nullptr ? node.type == wire::graph_node::kKernel : *kernel == exception.kernel;
  });
}

// Returns false if the program may have given other kernels or dimensions to the nodes of the launched graph.
bool is_as_made(const analyse::Candidate& node) {
  const auto flags = node.operation->graph_flags;
  return (flags & wire::operation::kGraphUntold) == 0 &&
         ((flags & wire::operation::kGraphAltered) == 0 || node.changed == 0);
}

// Where processes of the first run launch the dump's kernel.
class KernelPlaces {
 public:
  KernelPlaces(const DumpedFailure& exception, std::span<const session::Process> processes,
               symbolize::Symbolizer& symbolizer)
      : exception_(exception), processes_(processes), symbolizer_(symbolizer) {}

  Location line_of(const session::Process& process, const analyse::Candidate& candidate) const {
    return line_of(process, candidate.site());
  }

  // Returns whether the processes launch the kernel only at the line of this candidate, and in no graph.
  bool is_only_at(const session::Process& process, const analyse::Candidate& candidate) const {
    // In a backward pass, the same kernel has a different line for each autograd node.
    if (candidate.node == nullptr && analyse::runs_node(*candidate.operation)) return false;
    return are_among({line_of(process, candidate)}, candidate.node != nullptr);
  }

  // `in_graphs`: nodes of graphs may run the kernel too, if they come from these lines.
  bool are_among(const std::vector<Location>& lines, bool in_graphs) const {
    return std::ranges::all_of(lines, [](const Location& line) { return line.nearest().line > 0; }) &&
           std::ranges::all_of(processes_, [&](const session::Process& each) {
             const auto sites = sites_of(each, in_graphs);
             return sites && std::ranges::all_of(*sites, [&](std::uint32_t site) {
                      const Location line = line_of(each, site);
                      return std::ranges::any_of(lines, [&](const Location& other) { return same_line(line, other); });
                    });
           });
  }

 private:
  Location line_of(const session::Process& process, std::uint32_t site) const {
    return located(resolve(symbolizer_, process, site).line.location);
  }

  // Returns the call sites that launch the kernel or make a node run it; nullopt if some are unknown.
  std::optional<std::set<std::uint32_t>> sites_of(const session::Process& process, bool in_graphs) const {
    constexpr std::size_t kMostLookedAt = 64;
    const ProcessRecord& record = process.record;
    const bool lost = record.dropped_sites + record.dropped_interns + record.dropped_graphs + record.damaged > 0;
    if (lost || std::ranges::any_of(record.operations, [](const session::Operation& operation) {
          return operation.kind == wire::operation::Kind::graph && !analyse::keeps_nodes(operation);
        })) {
      return std::nullopt;
    }
    std::set<std::uint32_t> sites;
    for (const session::Graph& graph : record.graphs) {
      if (!may_launch(exception_, record, graph)) continue;
      if (!in_graphs || !graph.whole || analyse::hides_nodes(graph)) return std::nullopt;
      for (const session::GraphNode& node : graph.nodes) {
        if (is_its_code(record, session::kernel_id(record, node))) sites.insert(node.site);
      }
      for (const session::GraphChange& change : graph.changes) sites.insert(change.site);
    }
    for (std::uint32_t id = 1; id <= record.sites.size(); ++id) {
      const session::Site& site = record.sites[id - 1];
      if (site.function == 0 && site.kind == wire::operation::Kind::kernel) return std::nullopt;
      if (is_its_code(record, site.function)) sites.insert(id);
    }
    return sites.size() > kMostLookedAt ? std::nullopt : std::optional(std::move(sites));
  }

  bool is_its_code(const ProcessRecord& record, std::uint32_t function) const {
    const std::string* kernel = session::by_id(record.functions, function);
    return kernel != nullptr && *kernel == exception_.kernel;
  }

  const DumpedFailure& exception_;
  std::span<const session::Process> processes_;
  symbolize::Symbolizer& symbolizer_;
};

// ---- nodes of a graph

bool are_nodes_of_one_launch(const Failure& failure) {
  const auto& candidates = failure.candidates;
  return !candidates.empty() && failure.has_one_operation() &&
         std::ranges::all_of(candidates, [&](const analyse::Candidate& each) { return each.node != nullptr; });
}

bool is_of_its_node(const DumpedFailure& exception, const ProcessRecord& record, const analyse::Candidate& candidate) {
  const std::string* kernel = session::by_id(record.functions, session::kernel_id(record, *candidate.node));
  return kernel != nullptr && *kernel == exception.kernel && may_be_same(exception.grid, candidate.node->grid) &&
         may_be_same(exception.block_dim, candidate.node->block);
}

bool was_given(const DumpedFailure& exception, std::uint64_t pointer) {
  const std::string given = exception.state ? exception.state->parameters : "";
  const evidence::Bytes bytes(given.data(), given.size());
  for (std::size_t at = 0; at + sizeof(pointer) <= given.size(); at += sizeof(pointer)) {
    if (bytes.u64(at) == pointer) return true;
  }
  return false;
}

// Returns whether the dump's kernel may have been given these parameters. The addresses in the dump of a rerun are
// other ones. Structures may have undefined bytes between their members, so they are not compared.
bool may_have_parameters(const DumpedFailure& exception, const session::Arguments& kept) {
  const std::string& given = exception.state->parameters;
  const auto is_address = [](std::string_view bytes) {
    return bytes.size() == sizeof(std::uint64_t) && may_be_address(evidence::Bytes(bytes.data(), bytes.size()).u64(0));
  };
  return std::ranges::all_of(kept.parameters, [&](const session::Parameter& parameter) {
    const std::string_view mine = parameter.bytes;
    if (mine.size() > sizeof(std::uint64_t)) return true;
    const auto its = std::string_view(given).substr(parameter.offset, mine.size());
    return mine == its || (is_address(mine) && is_address(its));
  });
}

// Finds the node of a failed graph that ran the dump's kernel.
class NodeByDump {
 public:
  // `places`: of every process that may have left the dump. `certain`: it shows the failed launch.
  // `stale`: the freed memory to which the graph points; may be null.
  NodeByDump(Failure& failure, const DumpedFailure& exception, const KernelPlaces& places, bool certain,
             const session::StalePointer* stale)
      : failure_(failure), exception_(exception), places_(places), certain_(certain), stale_(stale) {}

  // If only one line created nodes that may have run the dump's kernel in the failed launch, keeps one candidate for
  // them and returns true.
  bool name(std::string_view dump) const {
    if (!are_nodes_of_one_launch(failure_)) return false;
    std::vector<analyse::Candidate> candidates = failure_.candidates;
    const auto others = std::stable_partition(candidates.begin(), candidates.end(),
                                              [&](const auto& each) { return is_of_it(each) || !is_known(each); });
    const auto named = others - candidates.begin();
    if (named == 0 || !can_tell(std::span(candidates.begin(), others))) return false;
    const bool known =
        std::all_of(candidates.begin(), others, [&](const auto& each) { return is_of_it(each) && is_as_made(each); });
    analyse::Candidate& first = candidates.front();
    const bool one_line = std::all_of(candidates.begin(), others, [&](const analyse::Candidate& each) {
      return &each == &first || same_line(line_of(each), line_of(first));
    });
    if (!known || !one_line) {
      failure_.evidence.add(
          named == 1 ? fmt::format("a node of the line listed first may run the kernel shown in the {}", dump)
                     : fmt::format("{} lines created nodes that {} the kernel shown in the {}", named,
                                   known ? "run" : "may run", dump));
      failure_.candidates = std::move(candidates);
      return false;
    }
    for (auto each = candidates.begin() + 1; each != others; ++each) first.nodes += each->nodes;
    failure_.candidates = {std::move(first)};
    analyse::Candidate& only = failure_.candidates.front();
    failure_.evidence.add(fmt::format("only the node{} of this line {} the kernel shown in the {}",
                                      only.nodes > 1 ? "s" : "", only.nodes > 1 ? "run" : "runs", dump));
    if (only.nodes > 1) name_by_parameters(only, dump);
    failure_.kind = analyse::Kind::graph_node;
    if (points_to_freed())
      analyse::blame_node(failure_, *stale_);
    else
      failure_.stale = nullptr;
    return true;
  }

 private:
  bool is_of_it(const analyse::Candidate& node) const {
    return is_of_its_node(exception_, failure_.process->record, node);
  }

  // Returns whether the kernel and dimensions of all nodes of the candidate are known.
  bool is_known(const analyse::Candidate& node) const {
    const ProcessRecord& record = failure_.process->record;
    const bool has_name = node.node->type != wire::graph_node::kKernel ||
                          session::by_id(record.functions, session::kernel_id(record, *node.node)) != nullptr;
    return has_name && node.alike && node.same_shape && is_as_made(node) &&
           node.node->type != wire::graph_node::kConditional;
  }

  // Returns whether no other launch, and no node that is not listed, can have run the dump's kernel.
  bool can_tell(std::span<const analyse::Candidate> nodes) const {
    if (certain_ && failure_.lists_all() && failure_.candidates.size() < analyse::kMaxCandidates) return true;
    std::vector<Location> lines;
    for (const analyse::Candidate& node : nodes) lines.push_back(line_of(node));
    return places_.are_among(lines, true);
  }

  // Returns whether the recording and the dump have all of these parameters.
  bool are_comparable(const session::Arguments& kept) const {
    const auto is_whole = [&](const session::Parameter& each) {
      return each.offset + each.bytes.size() <= exception_.state->parameters.size();
    };
    return (kept.flags & wire::intern::kCut) == 0 && std::ranges::all_of(kept.parameters, is_whole);
  }

  // Names the node if only one of those that run the kernel may have been given the dump's parameters.
  void name_by_parameters(analyse::Candidate& named, std::string_view dump) const {
    const ProcessRecord& record = failure_.process->record;
    const session::Graph* graph = session::by_id(record.graphs, named.operation->graph);
    if (graph == nullptr || !analyse::keeps_nodes(*named.operation) || !exception_.state) return;
    std::optional<analyse::Candidate> found;
    for (std::size_t i = 0; i < graph->nodes.size(); ++i) {
      analyse::Candidate node = named;
      node.node = &graph->nodes[i];
      node.node_index = static_cast<std::uint32_t>(i) + 1;
      node.nodes = 1;
      node.changed = session::changed_at(record, *node.operation, static_cast<std::uint32_t>(i));
      if (!is_of_it(node)) continue;
      const session::Arguments* kept = analyse::kept_arguments(record, *node.operation, node);
      if (kept == nullptr || !are_comparable(*kept)) return;
      if (!may_have_parameters(exception_, *kept)) continue;
      if (found) return;
      found = std::move(node);
    }
    if (!found) return;
    named = *found;
    failure_.evidence.add(fmt::format("only one of them has the parameters shown in the {}", dump));
  }

  // Returns whether the named node is the one with the stale pointer.
  bool points_to_freed() const {
    if (stale_ == nullptr) return false;
    const analyse::Candidate& named = failure_.candidates.front();
    const bool given = was_given(exception_, stale_->address);
    if (named.nodes == 1) {
      const bool unknown = !exception_.state || exception_.state->parameters.empty();
      return named.node_index == stale_->node + 1 && (given || unknown);
    }
    const analyse::Candidate node = analyse::node_of(failure_, *stale_);
    return given && node.node != nullptr && is_of_it(node) && same_line(line_of(node), line_of(named));
  }

  Location line_of(const analyse::Candidate& node) const { return places_.line_of(*failure_.process, node); }

  Failure& failure_;
  const DumpedFailure& exception_;
  const KernelPlaces& places_;
  bool certain_;
  const session::StalePointer* stale_;
};

// ---- the first run's own dump

bool has_own_dump(const Failure& failure) {
  return is_error_of_the_gpu(failure) && session::left_core_dump(failure.process->record);
}

// Returns true if the candidate's kernel, or its graph node's kernel, is the one in the dump and has the same
// dimensions.
bool is_its_launch(const DumpedFailure& exception, const ProcessRecord& record, const analyse::Candidate& candidate) {
  return candidate.node == nullptr ? is_its_kernel(exception, record, candidate)
                                   : is_of_its_node(exception, record, candidate);
}

// Returns whether the candidate is a launch of a graph and no node is chosen yet.
bool is_of_graph(const analyse::Candidate& candidate) {
  return candidate.node == nullptr && candidate.operation->kind == wire::operation::Kind::graph;
}

// Returns whether every candidate is a launch of a kernel with a known name.
bool launch_known_kernels(const Failure& failure) {
  const ProcessRecord& record = failure.process->record;
  return std::ranges::all_of(failure.candidates, [&](const analyse::Candidate& candidate) {
    const std::string* kernel = launched_kernel(record, candidate);
    return kernel != nullptr && !kernel->empty();
  });
}

bool may_have_run_it(const DumpedFailure& exception, const ProcessRecord& record, const analyse::Candidate& candidate) {
  const session::Operation& operation = *candidate.operation;
  if (!is_of_graph(candidate)) {
    const bool unknown = candidate.node == nullptr && operation.kind == wire::operation::Kind::kernel &&
                         launched_kernel(record, candidate) == nullptr;
    return unknown || is_its_launch(exception, record, candidate);
  }
  const session::Graph* graph = session::by_id(record.graphs, operation.graph);
  return graph == nullptr || !analyse::keeps_nodes(operation) || may_launch(exception, record, *graph);
}

// The first run's own dump is better evidence than a rerun that failed elsewhere.
void prove(Failure& failure, std::string clause = "") {
  failure.evidence = failure.evidence.without(analyse::Fact::contradicted);
  failure.evidence.add(analyse::Fact::raised, std::move(clause));
}

// Narrows the candidates down to nodes of the graph. Requires that all candidates launch the graph at one line, and
// that nothing else can have run the dump's kernel.
void prove_in_graph(Failure& failure, const DumpedFailure& exception, const KernelPlaces& places,
                    const session::StalePointer* stale) {
  auto& candidates = failure.candidates;
  failure.call_not_known = candidates.size() > 1;
  candidates.erase(candidates.begin() + 1, candidates.end());
  analyse::name_graph_nodes(failure);
  failure.evidence.retell(
      fmt::format("the GPU core dump of this run shows {} in a kernel that only this graph could have run",
                  exception.exception_name));
  if (NodeByDump(failure, exception, places, true, stale).name("GPU core dump of this run")) prove(failure);
}

// Keeps the candidates that may have run the kernel in the first run's own dump.
void prove_by_own_dump(Failure& failure, const DumpedFailure& exception, symbolize::Symbolizer& symbolizer) {
  const KernelPlaces places(exception, std::span(failure.process, 1), symbolizer);
  failure.code = exception.asserted() ? wire::cuda::kAssert : own_error(exception).value_or(wire::cuda::kLaunchFailure);
  if (exception.kernel.empty() || exception.from_kernel || failure.candidates.empty()) return;
  if (are_nodes_of_one_launch(failure)) {
    if (NodeByDump(failure, exception, places, true, failure.stale).name("GPU core dump of this run")) {
      prove(failure);
    }
    return;
  }
  const session::StalePointer* stale = failure.stale;
  analyse::forget_stale_pointer(failure);
  const ProcessRecord& record = failure.process->record;
  auto& candidates = failure.candidates;
  const session::Operation* launch = candidates.front().operation;
  const auto others = std::stable_partition(candidates.begin(), candidates.end(), [&](const auto& candidate) {
    return may_have_run_it(exception, record, candidate);
  });
  const auto named = others - candidates.begin();
  if (std::none_of(candidates.begin(), others, [&](const auto& candidate) {
        return is_of_graph(candidate) || is_its_launch(exception, record, candidate);
      })) {
    if (!launch_known_kernels(failure)) return;
    failure.evidence.add(analyse::Fact::contradicted);
    failure.evidence.retell(
        fmt::format("the GPU core dump of this run shows {} in a kernel that none of the operations known to have been "
                    "running launches",
                    exception.exception_name));
    return;
  }
  const analyse::Candidate& first = candidates.front();
  if (first.operation != launch) stale = nullptr;  // another graph points to that memory
  const bool one_line =
      std::all_of(candidates.begin(), others, [&](const auto& each) { return each.site() == first.site(); });
  const bool one_graph = std::all_of(candidates.begin(), others, [&](const auto& each) {
    return is_of_graph(each) && each.operation->graph == first.operation->graph;
  });
  const bool all_known = failure.lists_all();
  candidates.erase(others, candidates.end());
  if (one_line && one_graph && all_known) return prove_in_graph(failure, exception, places, stale);
  failure.evidence.retell(
      fmt::format("the GPU core dump of this run shows {} in a kernel with this name and these dimensions",
                  exception.exception_name));
  const bool only_kernels = std::ranges::none_of(candidates, is_of_graph);
  if (one_line && only_kernels && all_known) {
    prove(failure, named == 1 ? "no other such launch could have been running"
                              : fmt::format("it is unknown which of {} launches on this line failed", named));
    failure.call_not_known = named > 1;
  } else if (one_line && first.node == nullptr && places.is_only_at(*failure.process, first)) {
    prove(failure, "no other line launches that kernel");
    failure.call_not_known = true;
  } else {
    failure.evidence.add(fmt::format("{} such launches could have been running", named));
    if (failure.records_lost) failure.evidence.add("the records of others are lost");
  }
}

// ---- the dump of a rerun

class Weighing {
 public:
  // `alone`: no other failure can have caused the dump.
  Weighing(const DumpedFailure& exception, const session::Pass* pass, const session::Session& session,
           const KernelPlaces& places, bool alone)
      : exception_(exception), pass_(pass), session_(session), places_(places), alone_(alone) {}

  // A dump of another failure says nothing about this one.
  void name_node(Failure& failure) const {
    if (failure.kind != analyse::Kind::async_error || !fits(exception_, failure.code)) return;
    if (!alone_ && !shows_proof_of(failure)) return;
    NodeByDump(failure, exception_, places_, shows_proof_of(failure), failure.stale).name("core dump of a rerun");
  }

  void weigh(Failure& failure) const {
    if (!fits(exception_, failure.code)) return;
    settle_shared_gpu(failure);
    if (is_open(failure)) weigh_candidates(failure);
  }

 private:
  // Returns whether the dump is from the rerun in which the failed operation ran alone.
  bool shows_proof_of(const Failure& failure) const {
    if (pass_ == nullptr || failure.again == nullptr || session::rerun_of(session_, failure.again_process) != pass_)
      return false;
    const ProcessRecord& record = failure.again_process->record;
    return failure.evidence.without(analyse::Fact::may_be_others).proves() && record.dropped_operations == 0 &&
           record.dropped_streams == 0;
  }

  // Returns whether more evidence can change the answer. If the answer is a graph node, it can change only if the node
  // was inferred from its stale pointer and another operation may have failed.
  static bool is_open(const Failure& failure) {
    if (failure.evidence.names_one() || failure.evidence.is_guess() || failure.again != nullptr ||
        failure.candidates.empty()) {
      return false;
    }
    if (failure.stale != nullptr) return !failure.has_one_operation();
    return failure.kind == analyse::Kind::async_error && failure.candidates.front().node == nullptr;
  }

  void weigh_candidates(Failure& failure) const {
    const ProcessRecord& record = failure.process->record;
    const auto others = std::stable_partition(
        failure.candidates.begin(), failure.candidates.end(),
        [&](const analyse::Candidate& candidate) { return is_its_kernel(exception_, record, candidate); });
    const auto named = others - failure.candidates.begin();
    if (named == 0) return;
    failure.stale = nullptr;
    failure.kind = analyse::Kind::async_error;
    const bool waited = pass_ != nullptr && pass_->kind != session::PassKind::device;
    const std::string clause = fmt::format("in a rerun{}, {} came from the kernel of ", waited ? "" : " without waits",
                                           exception_.exception_name);
    analyse::Evidence proof = failure.evidence;
    proof.add(analyse::Fact::raised, clause + "this line, and no other line launches that kernel");
    if (proof.proves() && alone_ && places_.is_only_at(*failure.process, failure.candidates.front())) {
      failure.evidence = std::move(proof);
      // In the first run, a launch with a different grid may have failed instead.
      failure.call_not_known =
          !failure.lists_all() || std::any_of(others, failure.candidates.end(), [&](const auto& other) {
            return is_of_its_code(exception_, record, other);
          });
      failure.candidates.erase(others, failure.candidates.end());
    } else if (failure.candidates.size() > 1) {
      failure.evidence.add(clause + (named == 1 ? "the candidate listed first" : "the candidates listed first"));
    }
  }

  // Under MPS, another process may have caused the failure. If that is the only doubt, the kernel that raised the
  // exception settles it: the kernel for which the rerun waited, or one that only this line launches.
  void settle_shared_gpu(Failure& failure) const {
    if (failure.candidates.size() != 1 || failure.evidence.names_one() ||
        !failure.evidence.without(analyse::Fact::may_be_others).names_one()) {
      return;
    }
    const analyse::Candidate& only = failure.candidates.front();
    if (!is_its_launch(exception_, failure.process->record, only)) return;
    if (!shows_proof_of(failure) && !(alone_ && places_.is_only_at(*failure.process, only))) return;
    failure.evidence.add(analyse::Fact::raised,
                         "in a rerun, this operation's kernel raised the exception, so no other process under MPS "
                         "caused the failure");
  }

  const DumpedFailure& exception_;
  const session::Pass* pass_;  // that left the dump; null if unknown
  const session::Session& session_;
  const KernelPlaces& places_;
  bool alone_;
};

}  // namespace

void weigh_by_dump(std::vector<Failure>& failures, const symbolize::ToolResults& results,
                   const session::Session& session, symbolize::Symbolizer& symbolizer) {
  if (!results.of_first_run.empty()) {
    for (Failure& failure : failures) {
      const auto own = results.of_first_run.find(failure.process);
      failure.dumped = own != results.of_first_run.end() && has_own_dump(failure);
      if (failure.dumped) {
        prove_by_own_dump(failure, own->second, symbolizer);
      } else if (has_own_dump(failure)) {
        failure.evidence.add("the error's code is unknown, because the GPU core dump of this run was not read");
      }
    }
    return;
  }
  if (!results.failure || results.failure->kernel.empty() || results.failure->from_kernel) return;
  const auto& passes = session.manifest.passes;
  const auto last =
      std::find_if(passes.rbegin(), passes.rend(), [](const session::Pass& each) { return !each.dump.empty(); });
  const session::Pass* pass = last == passes.rend() ? nullptr : &*last;
  // If the rerun ran another version of the source, a kernel's name proves nothing about the lines of the first run.
  if (pass != nullptr && !pass->rewritten.empty()) return;
  const auto is_proven = [](const Failure& failure) {
    return is_error_of_the_gpu(failure) && failure.evidence.proves();
  };
  const bool alone = std::ranges::count_if(failures, is_error_of_the_gpu) == 1;
  const KernelPlaces places(*results.failure, session.processes, symbolizer);
  const Weighing weighing(*results.failure, pass, session, places, alone);
  for (Failure& failure : failures) weighing.name_node(failure);
  if (std::ranges::any_of(failures, is_proven)) return;
  for (Failure& failure : failures) {
    if (is_error_of_the_gpu(failure)) weighing.weigh(failure);
  }
}

}  // namespace cudadiag::diagnose
