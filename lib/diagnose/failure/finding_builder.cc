#include "diagnose/failure/finding_builder.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "analyse/error_codes.h"
#include "analyse/forward_launches.h"
#include "analyse/operation_arguments.h"
#include "base/text.h"
#include "diagnose/causes/case.h"
#include "diagnose/changed_sources.h"
#include "diagnose/explanation.h"
#include "diagnose/facts/place.h"
#include "diagnose/hook_values.h"
#include "diagnose/line_resolver.h"
#include "diagnose/ranks.h"
#include "diagnose/status.h"
#include "diagnose/words.h"
#include "session/process_record.h"
#include "session/session.h"

namespace cudadiag::diagnose {
namespace {

using session::Process;

// Returns how Python called the native code, such as "ctypes, libsmooth.so", according to the modules on the stack.
std::string way_in(const symbolize::SourceStack& stack) {
  std::string bridge, module;
  for (const symbolize::NativeFrame& frame : stack.native) {
    const std::string name = base::file_name(frame.module);
    if (frame.user && module.empty()) module = name;
    if (name.starts_with("_ctypes") || name.starts_with("libffi")) bridge = "ctypes";
    if (name.starts_with("_cffi")) bridge = "cffi";
  }
  return bridge + (bridge.empty() || module.empty() ? "" : ", ") + module;
}

class FindingBuilder {
 public:
  FindingBuilder(const session::Session& session, const analyse::Failure& failure, symbolize::Symbolizer& symbolizer)
      : failure_(failure),
        process_(*failure.process),
        session_(session),
        symbolizer_(symbolizer),
        finding_(finding_in(process_, session, failure.kind, std::string(analyse::cuda_error(failure.code).title))) {}

  Finding build() {
    describe();
    failure_.candidates.empty() ? locate_call() : locate_candidates();
    const session::FailedCall* noticed = failure_.noticed != nullptr ? failure_.noticed : failure_.reported;
    if (noticed != nullptr) {
      report_of(*noticed);
      relate_capture(noticed->capture);
    }
    if (failure_.swallowed != nullptr) relate_swallowed(*failure_.swallowed);
    relate_fork();
    if (failure_.hang) add_hang(*failure_.hang);
    drop_changed_sources(finding_, process_.record, met_at(failure_));
    compare_rerun_source(finding_, failure_, session_, symbolizer_);
    add_hook_values(finding_, failure_);
    add_inputs(finding_, failure_, session_);
    add_saved_launch(finding_, failure_, session_);
    add_watched(finding_, failure_);
    finding_.fix = next_steps(failure_, session_.manifest);
    add_memory(finding_, failure_, session_.manifest, located_by(symbolizer_));
    add_tensor_memory(finding_, session_, symbolizer_);
    return std::move(finding_);
  }

 private:
  void describe() {
    const analyse::CudaError error = analyse::cuda_error(failure_.code);
    finding_.code = failure_.code;
    finding_.name = error.driver_name;
    finding_.runtime_name = error.runtime_name;
    finding_.text = error.meaning;
    if (failure_.code == 0) {
      finding_.title = "a CUDA graph is replayed with a pointer into freed memory";
      finding_.text =
          "A graph keeps the addresses that it was captured with; other data may be at those addresses now.";
    }
    // If the call itself failed, the driver's explanation may say more than the meaning of the error code.
    const bool own_words = !analyse::is_asynchronous(failure_.kind) && failure_.reported != nullptr;
    if (own_words && !failure_.reported->explanation.empty()) {
      const wire::error::Pool* pool = wire::error::pool_of(failure_.reported->call);
      finding_.text =
          fmt::format("{} says: {}", pool == nullptr ? "The driver" : pool->owner, failure_.reported->explanation);
    }
    finding_.evidence = failure_.evidence;
  }

  void lead_with_site(ResolvedSite site) {
    lead_with(finding_, located(site.line.location), std::move(site.stack));
    finding_.no_line.why = symbolizer_.why_no_line(site.line.location);
    finding_.no_line.lacks_information = symbolizer_.lacks_line_information(site.line.location);
    if (finding_.location.line == 0)
      finding_.no_line.module_unknown = symbolizer_.why_unknown(finding_.location.module);
    if (is_known(site.line.caller)) {
      finding_.caller = located(site.line.caller);
      finding_.related.push_back({Role::caller, *finding_.caller});
      finding_.via = way_in(finding_.stack);
    }
  }

  void locate_call() {
    // The call that reported an asynchronous failure did not cause it, so that call is not the finding's location.
    if (failure_.reported == nullptr || analyse::is_asynchronous(failure_.kind)) return;
    ResolvedSite site = resolve(symbolizer_, process_, failure_.reported->site);
    finding_.launch = launch_of(process_, *failure_.reported, site.mangled);
    finding_.refused = refused(*failure_.reported);
    lead_with_site(std::move(site));
  }

  std::optional<PointedMemory> freed_memory(const session::FailedCall& call) const {
    analyse::OperationArgument pointer;
    pointer.pointer = call.pointer;
    pointer.where = analyse::AllocationMap(process_.record, call.ticks).find(call.pointer);
    if (pointer.where.allocation == nullptr) return std::nullopt;
    // The host may use the addresses of pinned memory again, and these calls do not free memory of other kinds.
    using wire::allocation::Kind;
    constexpr Kind kPlain[] = {Kind::device, Kind::managed, Kind::ordered};
    const bool plain = std::ranges::find(kPlain, pointer.where.allocation->kind) != std::end(kPlain);
    if (!plain || call.call.starts_with("cuMemFreeHost")) return std::nullopt;
    return allocation_of(pointer, process_, located_by(symbolizer_));
  }

  RefusedCall refused(const session::FailedCall& call) const {
    RefusedCall refused;
    refused.name = session::visible_call(call);
    if (analyse::goes_to_host(call)) refused.host_side = "destination";
    if (analyse::comes_from_host(call)) refused.host_side = "source";
    refused.explanation = call.explanation;
    refused.bytes = call.bytes;
    if (call.device_total > 0) refused.free = call.device_free;
    refused.most_threads = call.most_threads;
    refused.most_shared = call.most_shared;
    if (call.pointer != 0 && analyse::knows_all_allocations(process_.record)) refused.freed = freed_memory(call);
    const session::Capture& capture = (failure_.noticed != nullptr ? *failure_.noticed : call).capture;
    refused.breaks_other_threads_capture = capture.began != 0 && capture.tid != call.tid;
    return refused;
  }

  void locate_candidates() {
    lead_with_replay();
    for (const analyse::Candidate& candidate : failure_.candidates) locate(candidate);
    finding_.unlisted = failure_.unlisted;
    finding_.candidates_lost = failure_.records_lost;
    if (failure_.candidates.size() == 1) {
      if (failure_.call_not_known) forget_call(failure_.lists_all());
      finding_.candidates.clear();
    } else {
      describe_several();
    }
  }

  // Sets the finding's location to the first candidate, unless lead_with_replay() has set it to the graph's launch.
  void locate(const analyse::Candidate& candidate) {
    const session::GraphNode* node = candidate.node;
    ResolvedSite site = resolve(symbolizer_, process_, candidate.site(),
                                node == nullptr ? 0 : session::kernel_id(process_.record, *node));
    if (!candidate.alike) site.mangled.clear();
    const Launch launch = node == nullptr ? launch_of(process_, candidate, site.mangled)
                                          : node_launch_of(process_, candidate, site.mangled);
    const bool leads = &candidate == &failure_.candidates.front();
    ForwardLine forward;
    if (node == nullptr) forward = forward_line(process_, *candidate.operation, site.stack, symbolizer_);
    if (leads) prove_forward_line(forward, failure_, symbolizer_);
    if (forward.location.known() && !forward.own_code) site.line = {forward.location, {}, true, false};
    const bool may_be_started =
        node == nullptr && failure_.stale == nullptr && !analyse::runs_node(*candidate.operation);
    if (leads && may_be_started) finding_.thread_start = lead_to_start(site.line, failure_, symbolizer_);
    fold({located(site.line.location), launch, candidate.because, candidate.nodes, kernels_of(candidate)});
    if (finding_.launch) return;
    finding_.launch = launch;
    const std::uint32_t issuer = candidate.operation->site;
    finding_.launch->counted = counted_calls(symbolizer_, process_, issuer, process_, {issuer});
    lead_with_site(std::move(site));
    if (node == nullptr && analyse::runs_node(*candidate.operation)) relate_backward(forward);
    if (finding_.thread_start) relate_start(*finding_.thread_start);
    if (node != nullptr || failure_.stale != nullptr) relate_replay(candidate);
  }

  void describe_several() {
    const analyse::Candidate& first = failure_.candidates.front();
    // True if all candidates are nodes in the same launch of a graph.
    const bool of_nodes = first.node != nullptr && failure_.has_one_operation();
    if (calls_of_line(finding_) == failure_.candidates.size() && !of_nodes && failure_.lists_all()) {
      finding_.evidence.add(fmt::format("the {} is known, but not which of {} launches failed",
                                        finding_.location.line > 0 ? "line" : "function", failure_.candidates.size()));
    }
    const std::string range = range_of_calls();
    if (!of_nodes || failure_.call_not_known) leave_open_which();
    for (CandidateLine& candidate : finding_.candidates) {
      if (candidate.launches > 1 && !candidate.launch.graph_node)
        candidate.because += fmt::format(" ({} launches on this {}{})", candidate.launches,
                                         candidate.location.line > 0 ? "line" : "function", range);
    }
  }

  // Returns text such as ", calls 25 to 40"; empty unless all candidates are consecutive calls of the only call site on
  // their line.
  std::string range_of_calls() const {
    const auto& all = failure_.candidates;
    const session::Operation& first = *all.front().operation;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const session::Operation& operation = *all[i].operation;
      if (operation.site != first.site || operation.site_ordinal != first.site_ordinal + i) return "";
    }
    const bool known = first.site_ordinal != 0 && finding_.launch && finding_.launch->counted.starts_with("of this");
    return known ? fmt::format(", calls {} to {}", thousands(first.site_ordinal),
                               thousands(first.site_ordinal + all.size() - 1))
                 : "";
  }

  // Clears the members that differ between the possible calls.
  void leave_open_which() {
    if (calls_of_line(finding_) <= 1) return;
    const auto on_same_stream = [&](const analyse::Candidate& candidate) {
      return candidate.operation->stream == failure_.candidates.front().operation->stream;
    };
    forget_call(std::ranges::all_of(failure_.candidates, on_same_stream));
  }

  // Clears the members that are true of only one call.
  void forget_call(bool stream_is_known) {
    if (!finding_.launch) return;
    Launch& launch = *finding_.launch;
    launch.process_ordinal = launch.stream_ordinal = launch.site_ordinal = std::nullopt;
    launch.replay = std::nullopt;
    if (!stream_is_known) launch.stream = 0;
    forget_shape(launch);
  }

  // Clears the launch shape if it differs between the possible calls. If a rerun proved the line, then uses the shape
  // from that rerun.
  void forget_shape(Launch& launch) const {
    if (failure_.candidates.size() == 1 && failure_.lists_all()) return;
    if (!finding_.candidates.empty() && !finding_.candidates.front().launch.shape_known()) launch.forget_shape();
    if (!failure_.call_not_known || failure_.again == nullptr || launch.graph_node) return;
    launch.grid = failure_.again->grid;
    launch.block = failure_.again->block;
    launch.shared_bytes = failure_.again->shared_bytes;
  }

  // The failing node is unknown, but the line that launched the graph is known.
  void lead_with_replay() {
    const analyse::Candidate& first = failure_.candidates.front();
    if (failure_.kind != analyse::Kind::async_error || first.node == nullptr) return;
    finding_.launch = launch_of(process_, first, "");
    lead_with_site(resolve(symbolizer_, process_, first.operation->site));
  }

  void relate_backward(const ForwardLine& forward) {
    const bool known = forward.location.known();
    finding_.backward = Backward{forward.node, forward.because, known && !forward.own_code};
    if (known) {
      finding_.related.push_back(
          {Role::forward, located(forward.location), forward.proven ? analyse::Fact::noted : analyse::Fact::matched});
      finding_.evidence.add(
          forward.proven ? "PyTorch recorded the forward-pass line when it created the autograd node"
                         : "the forward-pass line is inferred from the sequence numbers of PyTorch's autograd nodes");
    }
    if (forward.called.known()) finding_.related.push_back({Role::backward, located(forward.called)});
  }

  void relate_start(const ThreadStart& start) {
    finding_.related.push_back({Role::started, finding_.location});
    finding_.evidence.add(
        fmt::format("the operation was issued at {}, on a thread that runs none of your code; the line shown {}",
                    place(start.issued, session_.manifest.working_directory),
                    start.pool ? "submitted this work to the thread's pool" : "started that thread"));
  }

  // Returns the kernels of the nodes that the candidate's line created or changed.
  std::vector<std::string> kernels_of(const analyse::Candidate& candidate) const {
    std::vector<std::string> kernels;
    if (candidate.node == nullptr || candidate.alike) return kernels;
    const session::Graph& graph = *session::by_id(process_.record.graphs, candidate.operation->graph);
    for (std::uint32_t index = 0; index < graph.nodes.size(); ++index) {
      if (session::site_at(process_.record, *candidate.operation, graph, index) != candidate.site()) continue;
      const std::uint32_t kernel = session::kernel_id(process_.record, graph.nodes[index]);
      if (const std::string* name = session::by_id(process_.record.functions, kernel)) kernels.push_back(*name);
    }
    return kernels;
  }

  void relate(Role role, std::uint32_t site) {
    finding_.related.push_back({role, located(resolve(symbolizer_, process_, site).line.location)});
  }

  void relate_replay(const analyse::Candidate& candidate) {
    if (candidate.changed == 0) {
      finding_.related.push_back({Role::capture, finding_.location});
    } else {
      if (candidate.node->site != 0 && !candidate.made_apart) relate(Role::capture, candidate.node->site);
      finding_.related.push_back({Role::update, finding_.location});
    }
    relate(Role::replay, candidate.operation->site);
  }

  void fold(CandidateLine candidate) {
    const auto same = std::ranges::find_if(finding_.candidates, [&](const CandidateLine& other) {
      return same_line(other.location, candidate.location) && other.launch.mangled == candidate.launch.mangled &&
             other.launch.operation == candidate.launch.operation;
    });
    if (same == finding_.candidates.end()) return finding_.candidates.push_back(std::move(candidate));
    same->launches += candidate.launches;
    if (!same->launch.has_shape_of(candidate.launch)) same->launch.forget_shape();
  }

  void report_of(const session::FailedCall& error) {
    const std::uint64_t ticks = std::max(error.ticks, process_.record.clock_start);
    finding_.noticed.when = Moment{process_.record.unix_seconds(ticks), process_.record.seconds(ticks)};
    if ((error.flags & wire::error::kOwnWait) != 0) {
      finding_.noticed.by_wait = true;
      return;
    }
    if ((error.flags & wire::error::kAtExit) != 0) {
      finding_.noticed.at_exit = true;
      return;
    }
    finding_.noticed.api = session::visible_call(error);
    const ResolvedSite site = resolve(symbolizer_, process_, error.site);
    finding_.noticed.at = located(site.line.location);
    finding_.noticed.library = causes::cuda_library(site.stack);
  }

  void add_hang(const analyse::Standstill& hang) {
    Hang& found = finding_.hang.emplace();
    found.seconds = hang.seconds;
    finding_.name = finding_.runtime_name = "";
    finding_.title = "hang";
    finding_.text = "GPU work did not finish, and nothing else in the program made progress.";
    if (hang.stall != nullptr) add_stall(*hang.stall, found);
    if (hang.thread != nullptr) {
      const session::Thread::Blocked& call = hang.thread->blocked;
      finding_.noticed.api = session::visible_call(call);
      if (hang.issues != nullptr) found.issues = work_of(*hang.issues);
      finding_.noticed.at = located(resolve(symbolizer_, process_, hang.site).line.location);
    }
    if (!hang.wait) return;
    found.waits_for = hang.wait->what;
    found.write_queued = hang.wait->write != nullptr;
    found.wait = wait_text(process_, *hang.wait, symbolizer_, session_.manifest.working_directory);
  }

  void add_stall(const session::Stall& stall, Hang& found) {
    const auto& stalls = session_.manifest.stalls;
    found.stall = static_cast<std::size_t>(&stall - stalls.data());
    found.ended_after = stall.ended_after;
    found.interrupted = stall.interrupted;
    if (stall.interrupted) finding_.title = "interrupted";
    finding_.text =
        stall.interrupted
            ? "Work on the GPU had not finished when a signal asked the program to end. It may only be slow."
            : "While the program ran, work on the GPU was unfinished for far longer than usual.";
    if (stall.ended_after) {
      finding_.evidence.add(fmt::format("it finished on its own after {}", duration(*stall.ended_after)));
    }
  }

  void relate_swallowed(const session::FailedCall& earlier) {
    const symbolize::Location line = resolve(symbolizer_, process_, earlier.site).line.location;
    const Location at = located(line);
    const session::FailedCall* refused = analyse::is_asynchronous(failure_.kind) ? nullptr : failure_.reported;
    // The recorder's count of operations includes an operation that the driver refused, although it was never queued.
    const bool counted = refused != nullptr && refused->domain == wire::error::Domain::driver;
    const bool issued_since = refused != nullptr && refused->operation > earlier.operation + (counted ? 1 : 0);
    finding_.evidence.add(fmt::format("earlier, {} had returned {} ({}){}{}", session::visible_call(earlier),
                                      earlier.code, analyse::cuda_error(earlier.code).title,
                                      is_known(line) ? " in " + place(at, session_.manifest.working_directory) : "",
                                      issued_since ? "" : ", and the thread had issued nothing since"));
    finding_.swallowed = session::visible_call(earlier);
    finding_.related.push_back({Role::swallowed, at});
  }

  void relate_fork() {
    const auto origin = session::fork_origin(session_, process_);
    if (!origin || origin->site == 0) return;
    const symbolize::Location line = resolve(symbolizer_, *origin->parent, origin->site).line.location;
    if (is_known(line)) finding_.related.push_back({Role::fork, located(line)});
  }

  void relate_capture(const session::Capture& capture) {
    if (failure_.kind != analyse::Kind::capture_violation || capture.site == 0) return;
    const symbolize::Location begun = resolve(symbolizer_, process_, capture.site).line.location;
    if (is_known(begun)) finding_.related.push_back({Role::capture, located(begun)});
  }

  const analyse::Failure& failure_;
  const Process& process_;
  const session::Session& session_;
  symbolize::Symbolizer& symbolizer_;
  Finding finding_;
};

}  // namespace

Finding finding_in(const Process& process, const session::Session& session, analyse::Kind kind, std::string title) {
  Finding finding;
  finding.kind = kind;
  finding.title = std::move(title);
  finding.pid = process.pid;
  finding.rank = process.rank;
  finding.host = session.manifest.host;
  return finding;
}

void lead_with(Finding& finding, Location location, symbolize::SourceStack stack) {
  finding.location = std::move(location);
  finding.stack = std::move(stack);
  const Location& shown = finding.location.nearest();
  finding.source.excerpt = symbolize::source_excerpt(shown.file, shown.line, 1);
}

void add_findings(Diagnosis& report, std::vector<Finding> found) {
  if (!found.empty()) report.verdict = analyse::Verdict::cuda_failure;
  std::ranges::move(found, std::back_inserter(report.findings));
}

Finding finding_of(const analyse::Failure& failure, const session::Session& session,
                   symbolize::Symbolizer& symbolizer) {
  return FindingBuilder(session, failure, symbolizer).build();
}

}  // namespace cudadiag::diagnose
