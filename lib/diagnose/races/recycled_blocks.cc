#include "diagnose/races/recycled_blocks.h"

#include <fmt/core.h>

#include <utility>

#include "diagnose/captured_values.h"
#include "diagnose/causes/argument_facts.h"
#include "diagnose/facts/place.h"
#include "diagnose/launch.h"
#include "diagnose/lines.h"
#include "symbolize/source_excerpt.h"

namespace cudadiag::diagnose {
namespace {

using session::DeliveredRecycled;
using session::Process;

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
  Finding finding;
  finding.kind = analyse::Kind::graph_stale_pointer;
  finding.title = "a CUDA graph is replayed with memory that belongs to another tensor";
  finding.text = "A graph keeps the addresses that it was captured with; other data is at this address now.";
  finding.pid = process.pid;
  finding.rank = process.rank;
  finding.host = session.manifest.host;
  finding.location = located(site.line.location);
  if (const Location& shown = finding.location.nearest(); shown.line > 0)
    finding.excerpt = symbolize::source_excerpt(shown.file, shown.line, 1);
  finding.launch = node_launch_of(process, *node, site.mangled);
  // It is unknown which of the recorded launches this was.
  finding.launch->process_ordinal = finding.launch->stream_ordinal = finding.launch->site_ordinal = std::nullopt;
  finding.launch->replay = std::nullopt;
  finding.stack = std::move(site.stack);
  const Location freed = line(from.freed), taken = line(from.taken);
  relate(finding, Role::replay, line(from.replay));
  relate(finding, Role::freed, freed);
  relate(finding, Role::taken, taken);
  explain(finding, from, freed, taken, session.manifest.working_directory);
  finding.evidence = {analyse::Fact::rule,
                      fmt::format("PyTorch's allocator reported both, and the node has the address {:#x} in its "
                                  "parameters; it is unknown whether the kernel uses it",
                                  from.address)};
  return finding;
}

}  // namespace

void add_recycled_blocks(Diagnosis& report, const session::Session& session, symbolize::Symbolizer& symbolizer) {
  for (const Process& process : session.processes) {
    for (const session::Delivery& delivery : process.deliveries) {
      if (!delivery.recycled) continue;
      auto finding = finding_of(*delivery.recycled, process, session, symbolizer);
      if (!finding) continue;
      report.verdict = analyse::Verdict::cuda_failure;
      report.findings.push_back(std::move(*finding));
    }
  }
}

}  // namespace cudadiag::diagnose
