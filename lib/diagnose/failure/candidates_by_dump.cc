// Uses the exception in a GPU core dump to narrow down the candidates of a failure. The dump names the kernel that
// failed.
#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>

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
    return kernel != nullptr && *kernel == exception.kernel;
  });
}

class Weighing {
 public:
  Weighing(const DumpedFailure& exception, const session::Session& session, symbolize::Symbolizer& symbolizer)
      : exception_(exception), session_(session), symbolizer_(symbolizer) {}

  // `alone`: no other failure can have caused the dump.
  void weigh(Failure& failure, bool alone) const {
    if (!is_open(failure) || !fits(exception_, failure.code)) return;
    const ProcessRecord& record = failure.process->record;
    const auto others = std::stable_partition(
        failure.candidates.begin(), failure.candidates.end(),
        [&](const analyse::Candidate& candidate) { return is_its_kernel(exception_, record, candidate); });
    const auto named = others - failure.candidates.begin();
    if (named == 0) return;
    failure.stale = nullptr;
    failure.kind = analyse::Kind::async_error;
    std::string clause =
        fmt::format("in a rerun without waits, {} came from the kernel of ", exception_.exception_name);
    if (alone && is_launched_at_one_line(*failure.process, *failure.candidates.front().operation)) {
      clause += "this line, and no other line launches that kernel";
      failure.evidence.add(analyse::Fact::raised, std::move(clause));
      // In the first run, a launch with a different grid may have failed instead.
      failure.call_not_known =
          failure.unlisted > 0 || std::any_of(others, failure.candidates.end(), [&](const auto& other) {
            return is_of_its_code(exception_, record, other);
          });
      failure.candidates.erase(others, failure.candidates.end());
    } else {
      failure.evidence.add(clause + (named == 1 ? "the candidate listed first" : "the candidates listed first"));
    }
  }

 private:
  // Returns whether more evidence can change the answer. If the answer is a graph node, it can change only if the node
  // was inferred from its stale pointer and another operation may have failed.
  static bool is_open(const Failure& failure) {
    if (failure.evidence.names_one() || failure.evidence.is_guess() || failure.again != nullptr ||
        failure.candidates.size() < 2) {
      return false;
    }
    if (failure.stale != nullptr) return !failure.has_one_operation();
    return failure.kind == analyse::Kind::async_error && failure.candidates.front().node == nullptr;
  }

  bool is_launched_at_one_line(const session::Process& process, const session::Operation& operation) const {
    // In a backward pass, the same kernel has a different line for each autograd node.
    if (analyse::runs_node(operation)) return false;
    const Location line = located(resolve(symbolizer_, process, operation.site).line.location);
    return line.nearest().line > 0 && std::ranges::all_of(session_.processes, [&](const session::Process& each) {
             return launches_only_at(each, line);
           });
  }

  bool launches_only_at(const session::Process& process, const Location& line) const {
    constexpr int kMostLookedAt = 64;
    const ProcessRecord& record = process.record;
    const bool lost = record.dropped_sites + record.dropped_interns + record.dropped_graphs + record.damaged > 0;
    if (lost || std::ranges::any_of(record.graphs, [&](const session::Graph& graph) {
          return may_launch(exception_, record, graph);
        })) {
      return false;
    }
    int looked_at = 0;
    for (const session::Site& site : record.sites) {
      const std::string* kernel = session::by_id(record.functions, site.function);
      if (kernel == nullptr || *kernel != exception_.kernel) continue;
      if (++looked_at > kMostLookedAt) return false;
      const auto id = static_cast<std::uint32_t>(&site - record.sites.data()) + 1;
      if (!same_line(located(resolve(symbolizer_, process, id).line.location), line)) return false;
    }
    return true;
  }

  const DumpedFailure& exception_;
  const session::Session& session_;
  symbolize::Symbolizer& symbolizer_;
};

// ---- nodes of a graph

// Returns whether the candidates are nodes of one launch, and include all nodes that may have failed.
bool are_nodes_of_one_launch(const Failure& failure) {
  const auto& candidates = failure.candidates;
  return !candidates.empty() && failure.unlisted == 0 && !failure.records_lost && failure.has_one_operation() &&
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
  // `stale`: the freed memory to which the graph points; may be null.
  NodeByDump(Failure& failure, const DumpedFailure& exception, symbolize::Symbolizer& symbolizer,
             const session::StalePointer* stale)
      : failure_(failure), exception_(exception), symbolizer_(symbolizer), stale_(stale) {}

  // If the candidates that run the dump's kernel were created at only one line, keeps one of them and returns true.
  bool name(std::string_view dump) const {
    if (!are_nodes_of_one_launch(failure_)) return false;
    const auto may_be = [&](const analyse::Candidate& candidate) {
      return !candidate.alike || !candidate.same_shape || is_of_it(candidate);
    };
    auto& candidates = failure_.candidates;
    const auto others = std::stable_partition(candidates.begin(), candidates.end(), may_be);
    const auto named = others - candidates.begin();
    if (named == 0) return false;
    analyse::Candidate& first = candidates.front();
    if (named == 1 && !is_of_it(first)) {
      failure_.evidence.add(fmt::format("a node of the line listed first may run the kernel shown in the {}", dump));
      return false;
    }
    // A function that creates nodes may be called from several lines.
    const bool one_line = std::all_of(candidates.begin(), others, [&](const analyse::Candidate& each) {
      return &each == &first || (is_of_it(each) && same_line(line_of(each), line_of(first)));
    });
    if (!one_line) {
      failure_.evidence.add(fmt::format("{} lines created nodes that run the kernel shown in the {}", named, dump));
      return false;
    }
    for (auto each = candidates.begin() + 1; each != others; ++each) first.nodes += each->nodes;
    candidates.erase(candidates.begin() + 1, candidates.end());
    failure_.evidence.add(fmt::format("only the node{} of this line {} the kernel shown in the {}",
                                      first.nodes > 1 ? "s" : "", first.nodes > 1 ? "run" : "runs", dump));
    if (first.nodes > 1) name_by_parameters(first, dump);
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

  Location line_of(const analyse::Candidate& node) const {
    return located(resolve(symbolizer_, *failure_.process, node.site()).line.location);
  }

  Failure& failure_;
  const DumpedFailure& exception_;
  symbolize::Symbolizer& symbolizer_;
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
  if (!is_of_graph(candidate)) return is_its_launch(exception, record, candidate);
  const session::Graph* graph = session::by_id(record.graphs, candidate.operation->graph);
  return graph == nullptr || may_launch(exception, record, *graph);
}

// Narrows the candidates down to nodes of the graph. Requires that all candidates launch the graph at one line, and
// that nothing else can have run the dump's kernel.
void prove_in_graph(Failure& failure, const DumpedFailure& exception, symbolize::Symbolizer& symbolizer,
                    const session::StalePointer* stale) {
  auto& candidates = failure.candidates;
  failure.call_not_known = candidates.size() > 1;
  candidates.erase(candidates.begin() + 1, candidates.end());
  analyse::name_graph_nodes(failure);
  failure.evidence.retell(
      fmt::format("the GPU core dump of this run shows {} in a kernel that only this graph could have run",
                  exception.exception_name));
  if (NodeByDump(failure, exception, symbolizer, stale).name("GPU core dump of this run")) {
    failure.evidence.add(analyse::Fact::raised);
  }
}

// Keeps the candidates that may have run the kernel in the first run's own dump.
void prove_by_own_dump(Failure& failure, const DumpedFailure& exception, symbolize::Symbolizer& symbolizer) {
  failure.code = exception.asserted() ? wire::cuda::kAssert : own_error(exception).value_or(wire::cuda::kLaunchFailure);
  if (exception.kernel.empty() || exception.from_kernel || failure.candidates.empty()) return;
  if (are_nodes_of_one_launch(failure)) {
    if (NodeByDump(failure, exception, symbolizer, failure.stale).name("GPU core dump of this run")) {
      failure.evidence.add(analyse::Fact::raised);
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
  if (named == 0) {
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
  const bool all_known = failure.unlisted == 0 && !failure.records_lost;
  candidates.erase(others, candidates.end());
  if (one_line && one_graph && all_known) return prove_in_graph(failure, exception, symbolizer, stale);
  failure.evidence.retell(
      fmt::format("the GPU core dump of this run shows {} in a kernel with this name and these dimensions",
                  exception.exception_name));
  const bool only_kernels = std::ranges::none_of(candidates, is_of_graph);
  if (one_line && only_kernels && all_known) {
    failure.evidence.add(analyse::Fact::raised,
                         named == 1 ? "no other such launch could have been running"
                                    : fmt::format("it is unknown which of {} launches on this line failed", named));
    failure.call_not_known = named > 1;
  } else {
    failure.evidence.add(fmt::format("{} such launches could have been running", named));
  }
}

// Returns true if the last rerun for a dump ran a different version of the source. If so, a kernel's name proves
// nothing about the lines of the first run.
bool ran_another_text(const session::Session& session) {
  const auto& passes = session.manifest.passes;
  const auto pass =
      std::find_if(passes.rbegin(), passes.rend(), [](const session::Pass& each) { return !each.dump.empty(); });
  return pass != passes.rend() && !pass->rewritten.empty();
}

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
  if (ran_another_text(session)) return;
  for (Failure& failure : failures) {
    const bool open = failure.kind == analyse::Kind::async_error;
    if (open && fits(*results.failure, failure.code)) {
      NodeByDump(failure, *results.failure, symbolizer, failure.stale).name("core dump of a rerun");
    }
  }
  const auto is_proven = [](const Failure& failure) {
    return is_error_of_the_gpu(failure) && failure.evidence.proves();
  };
  if (std::ranges::any_of(failures, is_proven)) return;
  const bool alone = std::ranges::count_if(failures, is_error_of_the_gpu) == 1;
  const Weighing weighing(*results.failure, session, symbolizer);
  for (Failure& failure : failures) {
    if (is_error_of_the_gpu(failure)) weighing.weigh(failure, alone);
  }
}

}  // namespace cudadiag::diagnose
