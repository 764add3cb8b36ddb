// `cudadiag dump`: prints every record of a session.
#include <CLI/CLI.hpp>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>
#include <utility>

#include "analyse/site_keys.h"
#include "base/printable.h"
#include "commands/commands.h"
#include "options/shared_options.h"
#include "session/area/operation_decoder.h"
#include "session/log/full_log.h"
#include "session/session_reader.h"
#include "sessions/session_choice.h"
#include "terminal/terminal.h"

namespace cudadiag::command {
namespace {

struct DumpOptions {
  std::string session;
  std::optional<std::filesystem::path> output;
};

using session::ProcessRecord;

void print_dim(const char* name, const session::Dim3& dim) {
  std::printf(" %s=%u,%u,%u", name, dim[0], dim[1], dim[2]);
}

void dump_process(const session::Process& process) {
  const ProcessRecord& r = process.record;
  std::printf("process pid=%u parent=%u state=%u start=%" PRIu64 " issued=%" PRIu64 " damaged=%" PRIu64
              " waits=%" PRIu64 " exit=%d\n",
              r.pid, r.parent_pid, static_cast<unsigned>(r.state), r.start_realtime, r.operations_issued, r.damaged,
              r.waits, r.exit_status.value_or(-1));
  std::printf("dropped operations=%" PRIu64 " sites=%" PRIu64 " interns=%" PRIu64 " streams=%" PRIu64 " held=%" PRIu64
              " markers=%" PRIu64 " graphs=%" PRIu64 " allocations=%" PRIu64 " forgotten_allocations=%" PRIu64 "\n",
              r.dropped_operations, r.dropped_sites, r.dropped_interns, r.dropped_streams, r.dropped_held,
              r.failed_markers, r.dropped_graphs, r.dropped_allocations, r.forgotten_allocations);
  std::printf("freeze error=%u code=%u ticks=%" PRIu64 "\n", r.frozen_error, r.frozen_code, r.frozen_ticks);
  for (const auto& [key, value] : r.properties) {
    std::printf("property %s=%s\n", base::printable(key).c_str(), base::printable(value).c_str());
  }
  for (const session::Note& note : r.notes) {
    std::printf("note %s: %s\n", base::printable(note.code).c_str(), base::printable(note.text).c_str());
  }
}

void dump_places(const ProcessRecord& r) {
  for (std::size_t i = 0; i < r.threads.size(); ++i) {
    const session::Thread& t = r.threads[i];
    if (t.state == wire::thread::State::free) continue;
    std::printf("thread %zu tid=%u state=%u name=%s published=%" PRIu64 " call=%u/%u\n", i, t.tid,
                static_cast<unsigned>(t.state), base::printable(t.name).c_str(), t.published,
                static_cast<unsigned>(t.call_domain), t.call_id);
  }
  for (std::size_t i = 0; i < r.contexts.size(); ++i) {
    const session::Context& c = r.contexts[i];
    if (c.state == wire::context::State::free) continue;
    std::printf("context %zu uid=%u state=%u handle=0x%" PRIx64 " device=%u markers=%u peers=0x%" PRIx64 "\n", i, c.uid,
                static_cast<unsigned>(c.state), c.handle, c.device, static_cast<unsigned>(c.markers), c.peers);
  }
  for (std::size_t i = 0; i < r.streams.size(); ++i) {
    const session::Stream& s = r.streams[i];
    if (s.state == wire::stream::State::free) continue;
    std::printf("stream %zu context=%u state=%u handle=0x%" PRIx64 " id=%" PRIu64
                " flags=%u issued=%u marker_issued=%u marker=%u host_completed=%u\n",
                i, s.context, static_cast<unsigned>(s.state), s.handle, s.stream_id, s.flags, s.issued, s.marker_issued,
                s.marker, s.host_completed);
  }
}

void dump_operation(const session::Operation& o) {
  std::printf("operation thread=%u serial=%" PRIu64
              " kind=%u flags=%u site=%u stream=%d ordinal=%u result=%u "
              "site_ordinal=%u ticks=%" PRIu64,
              o.thread, o.serial, static_cast<unsigned>(o.kind), o.flags, o.site, static_cast<int>(o.stream), o.ordinal,
              o.result, o.site_ordinal, o.ticks);
  if (o.origin.thread != 0) std::printf(" torch_thread=%u number=%u", o.origin.thread, o.origin.number);
  if (o.origin.node_thread != 0) {
    std::printf(" node=%u node_thread=%u node_type=%u graph_task=%u", o.origin.node, o.origin.node_thread,
                o.origin.node_type, o.origin.graph_task);
  }
  if (o.kind == wire::operation::Kind::kernel) {
    print_dim("grid", o.grid);
    print_dim("block", o.block);
    print_dim("cluster", o.cluster);
    std::printf(" shared=%u\n", o.shared_bytes);
  } else {
    std::printf(" argument=0x%" PRIx64, o.argument);
    if (o.began != 0) std::printf(" began=%" PRIu64, o.began);
    if (o.returned_at != 0) std::printf(" returned_at=%" PRIu64, o.returned_at);
    if (o.destination != 0 || o.source != 0) {
      std::printf(" destination=0x%" PRIx64 " source=0x%" PRIx64, o.destination, o.source);
    }
    if (o.kind == wire::operation::Kind::graph) {
      std::printf(" graph=%u changed=%u replay=%u graph_flags=%u words=%u", o.graph, o.graph_changed, o.replay,
                  o.graph_flags, o.graph_words);
    }
    std::printf("\n");
  }
}

// Prints the operations in the full log, roughly in issue order. Then prints the recent operations that are missing
// from the log.
void dump_operations(const session::Process& process) {
  using session::LogReader;
  const ProcessRecord& r = process.record;
  std::set<std::pair<std::uint16_t, std::uint64_t>> rest;
  for (const session::Operation& operation : r.operations) {
    if (!operation.logged) rest.emplace(operation.thread, operation.serial);
  }
  auto log = LogReader::open(process.log);
  for (auto item = LogReader::Item::lost; log && item != LogReader::Item::end;) {
    item = log->next();
    if (item == LogReader::Item::lost) std::printf("lost %" PRIu64 "\n", log->lost_count());
    if (item != LogReader::Item::record) continue;
    const auto operation = session::decode_operation(log->record(), log->serial(), r);
    if (!operation) continue;
    dump_operation(*operation);
    rest.erase({operation->thread, operation->serial});
  }
  for (const session::Operation& operation : r.operations) {
    if (rest.contains({operation.thread, operation.serial})) dump_operation(operation);
  }
}

void dump_errors(const ProcessRecord& r) {
  for (const session::FailedCall& e : r.errors) {
    std::printf("error serial=%" PRIu64
                " code=%u domain=%u flags=%u call=%s outer=%s outer_code=%u site=%u stream=%d "
                "context=%d tid=%u ticks=%" PRIu64,
                e.serial, e.code, static_cast<unsigned>(e.domain), e.flags, base::printable(e.call).c_str(),
                base::printable(e.outer).c_str(), e.outer_code, e.site, static_cast<int>(e.stream),
                static_cast<int>(e.context), e.tid, e.ticks);
    print_dim("grid", e.grid);
    print_dim("block", e.block);
    std::printf(" shared=%u bytes=%" PRIu64 " operation=%" PRIu64, e.shared_bytes, e.bytes, e.operation);
    if (e.of_call != 0) std::printf(" of_call=%" PRIu64, e.of_call);
    if (e.capture.began != 0) {
      std::printf(" capture_began=%" PRIu64 " capture_tid=%u capture_mode=%u capture_site=%u", e.capture.began,
                  e.capture.tid, e.capture.mode, e.capture.site);
    }
    if (e.device_total != 0) {
      std::printf(" device_free=%" PRIu64 " device_total=%" PRIu64, e.device_free, e.device_total);
    }
    std::printf(" started=%" PRIu64 "\n", e.started);
  }
}

void dump_memory(const ProcessRecord& r) {
  for (const session::Allocation& a : r.allocations) {
    std::printf("allocation %" PRIu64 " address=0x%" PRIx64 " bytes=%" PRIu64 " kind=%u flags=%u made=%" PRIu64
                " freed=%" PRIu64 " site=%u freed_site=%u thread=%u context=%d stream=%d freed_stream=%d\n",
                a.serial, a.address, a.bytes, static_cast<unsigned>(a.kind), a.flags, a.made, a.freed, a.site,
                a.freed_site, a.thread, static_cast<int>(a.context), static_cast<int>(a.stream),
                static_cast<int>(a.freed_stream));
  }
  for (const session::StalePointer& stale : r.stale_pointers) {
    std::printf("stale_pointer thread=%u serial=%" PRIu64 " node=%u offset=%u address=0x%" PRIx64 " allocation=%" PRIu64
                "\n",
                stale.thread, stale.serial, stale.node, stale.offset, stale.address, stale.allocation);
  }
  for (const session::Arguments& arguments : r.arguments) {
    std::printf("arguments thread=%u serial=%" PRIu64 " flags=%u\n", arguments.thread, arguments.serial,
                arguments.flags);
    for (const session::Parameter& parameter : arguments.parameters) {
      std::printf("parameter offset=%u bytes=%zu ", parameter.offset, parameter.bytes.size());
      for (const char byte : parameter.bytes) std::printf("%02x", static_cast<unsigned char>(byte));
      std::printf("\n");
    }
  }
}

void dump_interned(const ProcessRecord& r) {
  std::size_t id = 0;
  for (const auto& function : r.functions) std::printf("function %zu %s\n", ++id, base::printable(function).c_str());
  id = 0;
  for (const auto& m : r.modules) {
    std::printf("module %zu %s build_id=%s bias=0x%" PRIx64 " begin=0x%" PRIx64 " end=0x%" PRIx64 "\n", ++id,
                base::printable(m.path).c_str(), m.build_id.c_str(), m.bias, m.begin, m.end);
  }
  id = 0;
  for (const auto& c : r.codes) {
    std::printf("code %zu %s %s first_line=%u minor=%u table=%zu\n", ++id, base::printable(c.file).c_str(),
                base::printable(c.qualified_name).c_str(), c.first_line, c.python_minor, c.line_table.size());
  }
  id = 0;
  for (const auto& stack : r.python_stacks) {
    std::printf("python %zu%s", ++id, stack.truncated ? " truncated" : "");
    for (const auto& frame : stack.frames) std::printf(" %u+%u", frame.code, frame.offset);
    std::printf("\n");
  }
  id = 0;
  for (const auto& stack : r.native_stacks) {
    std::printf("native %zu%s", ++id, stack.truncated ? " truncated" : "");
    for (const auto& frame : stack.frames) std::printf(" %u+0x%" PRIx64, frame.module, frame.address);
    std::printf("\n");
  }
  id = 0;
  for (const auto& type : r.node_types) std::printf("node_type %zu %s\n", ++id, base::printable(type).c_str());
  const analyse::SiteKeys keys(r);
  std::uint32_t site = 0;
  for (const auto& s : r.sites) {
    ++site;
    std::printf("site %u python=%u native=%u function=%u kind=%u thread=%u operations=%" PRIu64 " key=%016" PRIx64
                " kernel_key=%016" PRIx64 "\n",
                site, s.python, s.native, s.function, static_cast<unsigned>(s.kind), s.thread, s.operations,
                keys.of_site(site), keys.of_kernel(site));
  }
}

void dump_collectives(const ProcessRecord& r) {
  for (std::size_t i = 0; i < r.communicators.size(); ++i) {
    const session::Communicator& c = r.communicators[i];
    std::printf("communicator %zu hash=%016" PRIx64 " name=%s rank=%d ranks=%d version=%d made=%" PRIu64
                " collectives=%" PRIu64 " captured=%" PRIu64 " finalized=%d\n",
                i, c.hash, base::printable(c.name).c_str(), c.rank, c.ranks, c.version, c.made, c.collectives,
                c.captured, c.finalized);
    for (const auto& [peer, calls] : c.sends) std::printf("sends %zu peer=%u calls=%" PRIu64 "\n", i, peer, calls);
    for (const auto& [peer, calls] : c.receives)
      std::printf("receives %zu peer=%u calls=%" PRIu64 "\n", i, peer, calls);
  }
  for (const session::Collective& c : r.collectives) {
    std::printf("collective %" PRIu64 " communicator=%u function=%s ordinal=%u of_function=%u count=%" PRIu64
                " type=%s peer=%d stream=0x%" PRIx64 " flags=%u thread=%u site=%u ticks=%" PRIu64 "\n",
                c.number, c.communicator,
                std::string(wire::collective::kFunctionNames[static_cast<std::size_t>(c.function)]).c_str(), c.ordinal,
                c.of_function, c.count,
                std::string(wire::collective::kTypeNames[static_cast<std::size_t>(c.type)]).c_str(), c.peer, c.stream,
                c.flags, c.thread, c.site, c.ticks);
  }
}

void dump_graphs(const ProcessRecord& r) {
  std::size_t id = 0;
  for (const session::Graph& graph : r.graphs) {
    std::printf("graph %zu site=%u nodes=%zu edges=%zu whole=%d\n", ++id, graph.site, graph.nodes.size(),
                graph.edges.size(), graph.whole);
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const session::GraphNode& node = graph.nodes[i];
      std::printf("node %zu.%zu type=%u site=%u function=%u parent=%u", id, i, node.type, node.site, node.function,
                  node.parent);
      print_dim("grid", node.grid);
      print_dim("block", node.block);
      std::printf(" shared=%u\n", node.shared_bytes);
    }
    for (const session::GraphEdge& edge : graph.edges) std::printf("edge %zu.%u %u\n", id, edge.from, edge.to);
    for (const session::GraphChange& change : graph.changes) {
      std::printf("change %zu.%u of=%u site=%u\n", id, change.node, graph.changed_from, change.site);
    }
  }
}

int carry_out(const DumpOptions& options) {
  const auto folder = choose_session(options.output, options.session);
  if (const auto* failure = std::get_if<base::Error>(&folder)) return say(*failure), kOwnFailure;
  const auto opened = session::open_session(std::get<std::filesystem::path>(folder));
  if (const auto* failure = std::get_if<base::Error>(&opened)) return say(*failure), kOwnFailure;
  const auto& session = std::get<session::Session>(opened);
  std::printf("session %s\n", session.folder.c_str());
  for (const std::string& note : session.manifest.notes)
    std::printf("note launcher: %s\n", base::printable(note).c_str());
  if (const std::string& why = session.manifest.unrecorded; !why.empty()) {
    std::printf("note unrecorded: %s\n", base::printable(why).c_str());
  }
  for (const std::uint32_t pid : session.manifest.outlived_by) std::printf("note outlived: %u\n", pid);
  for (const session::Process& process : session.processes) {
    dump_process(process);
    dump_places(process.record);
    dump_operations(process);
    dump_errors(process.record);
    dump_memory(process.record);
    dump_interned(process.record);
    dump_collectives(process.record);
    dump_graphs(process.record);
  }
  return 0;
}

}  // namespace

void add_dump(CLI::App& app, int& status) {
  auto options = std::make_shared<DumpOptions>();
  auto* command = app.add_subcommand("dump", "print every record of a session");
  add_input(command, options->session, options->output);
  command->callback([options, &status] { status = carry_out(*options); });
}

}  // namespace cudadiag::command
