// `cudadiag dump`: prints every record of a session.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <set>
#include <utility>

#include "analyse/site_keys.h"
#include "base/text.h"
#include "commands/commands.h"
#include "session/area_reader.h"
#include "session/full_log.h"
#include "session/session_reader.h"
#include "sessions/session_choice.h"
#include "shared_options.h"
#include "terminal.h"

namespace cudadiag::command {
namespace {

struct DumpOptions {
  std::string session;
  std::optional<std::filesystem::path> output;
};

using session::ProcessRecord;

template <typename... Values>
void put(fmt::format_string<Values...> text, Values&&... values) {
  print(fmt::format(text, std::forward<Values>(values)...));
}

template <typename Enum>
unsigned number(Enum value) {
  return static_cast<unsigned>(value);
}

void print_dim(const char* name, const session::Dim3& dim) { put(" {}={},{},{}", name, dim[0], dim[1], dim[2]); }

void dump_process(const session::Process& process) {
  const ProcessRecord& r = process.record;
  put("process pid={} parent={} state={} start={} issued={} damaged={} waits={} exit={}\n", r.pid, r.parent_pid,
      number(r.state), r.start_realtime, r.operations_issued, r.damaged, r.waits, r.exit_status.value_or(-1));
  put("dropped operations={} sites={} interns={} streams={} held={} markers={} graphs={} allocations={} "
      "forgotten_allocations={}\n",
      r.dropped_operations, r.dropped_sites, r.dropped_interns, r.dropped_streams, r.dropped_held, r.failed_markers,
      r.dropped_graphs, r.dropped_allocations, r.forgotten_allocations);
  put("freeze error={} code={} ticks={}\n", r.frozen_error, r.frozen_code, r.frozen_ticks);
  for (const auto& [key, value] : r.properties) {
    put("property {}={}\n", base::printable(key), base::printable(value));
  }
  for (const session::Note& note : r.notes) {
    put("note {}: {}\n", base::printable(note.code), base::printable(note.text));
  }
}

void dump_places(const ProcessRecord& r) {
  for (std::size_t i = 0; i < r.threads.size(); ++i) {
    const session::Thread& t = r.threads[i];
    if (t.state == wire::thread::State::free) continue;
    put("thread {} tid={} state={} name={} published={} call={}/{}\n", i, t.tid, number(t.state),
        base::printable(t.name), t.published, number(t.call_domain), t.call_id);
  }
  for (std::size_t i = 0; i < r.contexts.size(); ++i) {
    const session::Context& c = r.contexts[i];
    if (c.state == wire::context::State::free) continue;
    put("context {} uid={} state={} handle={:#x} device={} markers={} peers={:#x}\n", i, c.uid, number(c.state),
        c.handle, c.device, number(c.markers), c.peers);
  }
  for (std::size_t i = 0; i < r.streams.size(); ++i) {
    const session::Stream& s = r.streams[i];
    if (s.state == wire::stream::State::free) continue;
    put("stream {} context={} state={} handle={:#x} id={} flags={} issued={} marker_issued={} marker={} "
        "host_completed={}\n",
        i, s.context, number(s.state), s.handle, s.stream_id, s.flags, s.issued, s.marker_issued, s.marker,
        s.host_completed);
  }
}

void dump_operation(const session::Operation& o) {
  put("operation thread={} serial={} kind={} flags={} site={} stream={} ordinal={} result={} site_ordinal={} ticks={}",
      o.thread, o.serial, number(o.kind), o.flags, o.site, static_cast<int>(o.stream), o.ordinal, o.result,
      o.site_ordinal, o.ticks);
  if (o.origin.thread != 0) put(" torch_thread={} number={}", o.origin.thread, o.origin.number);
  if (o.origin.node_thread != 0) {
    put(" node={} node_thread={} node_type={} graph_task={}", o.origin.node, o.origin.node_thread, o.origin.node_type,
        o.origin.graph_task);
  }
  if (o.kind == wire::operation::Kind::kernel) {
    print_dim("grid", o.grid);
    print_dim("block", o.block);
    print_dim("cluster", o.cluster);
    put(" shared={}\n", o.shared_bytes);
  } else {
    put(" argument={:#x}", o.argument);
    if (o.began != 0) put(" began={}", o.began);
    if (o.returned_at != 0) put(" returned_at={}", o.returned_at);
    if (o.destination != 0 || o.source != 0) {
      put(" destination={:#x} source={:#x}", o.destination, o.source);
    }
    if (o.kind == wire::operation::Kind::graph) {
      put(" graph={} changed={} replay={} graph_flags={} words={}", o.graph, o.graph_changed, o.replay, o.graph_flags,
          o.graph_words);
    }
    put("\n");
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
    if (item == LogReader::Item::lost) put("lost {}\n", log->lost_count());
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
    put("error serial={} code={} domain={} flags={} call={} outer={} outer_code={} site={} stream={} context={} tid={} "
        "ticks={}",
        e.serial, e.code, number(e.domain), e.flags, base::printable(e.call), base::printable(e.outer), e.outer_code,
        e.site, static_cast<int>(e.stream), static_cast<int>(e.context), e.tid, e.ticks);
    print_dim("grid", e.grid);
    print_dim("block", e.block);
    put(" shared={} bytes={} operation={}", e.shared_bytes, e.bytes, e.operation);
    if (e.of_call != 0) put(" of_call={}", e.of_call);
    if (e.capture.began != 0) {
      put(" capture_began={} capture_tid={} capture_mode={} capture_site={}", e.capture.began, e.capture.tid,
          e.capture.mode, e.capture.site);
    }
    if (e.device_total != 0) {
      put(" device_free={} device_total={}", e.device_free, e.device_total);
    }
    put(" started={}\n", e.started);
  }
}

void dump_memory(const ProcessRecord& r) {
  for (const session::Allocation& a : r.allocations) {
    put("allocation {} address={:#x} bytes={} kind={} flags={} made={} freed={} site={} freed_site={} thread={} "
        "context={} stream={} freed_stream={}\n",
        a.serial, a.address, a.bytes, number(a.kind), a.flags, a.made, a.freed, a.site, a.freed_site, a.thread,
        static_cast<int>(a.context), static_cast<int>(a.stream), static_cast<int>(a.freed_stream));
  }
  for (const session::StalePointer& stale : r.stale_pointers) {
    put("stale_pointer thread={} serial={} node={} offset={} address={:#x} allocation={}\n", stale.thread, stale.serial,
        stale.node, stale.offset, stale.address, stale.allocation);
  }
  for (const session::Arguments& arguments : r.arguments) {
    put("arguments thread={} serial={} flags={}\n", arguments.thread, arguments.serial, arguments.flags);
    for (const session::Parameter& parameter : arguments.parameters) {
      put("parameter offset={} bytes={} ", parameter.offset, parameter.bytes.size());
      for (const char byte : parameter.bytes) put("{:02x}", static_cast<unsigned char>(byte));
      put("\n");
    }
  }
}

void dump_interned(const ProcessRecord& r) {
  std::size_t id = 0;
  for (const auto& function : r.functions) put("function {} {}\n", ++id, base::printable(function));
  id = 0;
  for (const auto& m : r.modules) {
    put("module {} {} build_id={} bias={:#x} begin={:#x} end={:#x}\n", ++id, base::printable(m.path), m.build_id,
        m.bias, m.begin, m.end);
  }
  id = 0;
  for (const auto& c : r.codes) {
    put("code {} {} {} first_line={} minor={} table={}\n", ++id, base::printable(c.file),
        base::printable(c.qualified_name), c.first_line, c.python_minor, c.line_table.size());
  }
  id = 0;
  for (const auto& stack : r.python_stacks) {
    put("python {}{}", ++id, stack.truncated ? " truncated" : "");
    for (const auto& frame : stack.frames) put(" {}+{}", frame.code, frame.offset);
    put("\n");
  }
  id = 0;
  for (const auto& stack : r.native_stacks) {
    put("native {}{}", ++id, stack.truncated ? " truncated" : "");
    for (const auto& frame : stack.frames) put(" {}+{:#x}", frame.module, frame.address);
    put("\n");
  }
  id = 0;
  for (const auto& type : r.node_types) put("node_type {} {}\n", ++id, base::printable(type));
  const analyse::SiteKeys keys(r);
  std::uint32_t site = 0;
  for (const auto& s : r.sites) {
    ++site;
    put("site {} python={} native={} function={} kind={} thread={} operations={} key={:016x} kernel_key={:016x}\n",
        site, s.python, s.native, s.function, number(s.kind), s.thread, s.operations, keys.of_site(site),
        keys.of_kernel(site));
  }
}

void dump_collectives(const ProcessRecord& r) {
  for (std::size_t i = 0; i < r.communicators.size(); ++i) {
    const session::Communicator& c = r.communicators[i];
    put("communicator {} hash={:016x} name={} rank={} ranks={} version={} made={} collectives={} captured={} "
        "finalized={:d}\n",
        i, c.hash, base::printable(c.name), c.rank, c.ranks, c.version, c.made, c.collectives, c.captured, c.finalized);
    for (const auto& [peer, calls] : c.sends) put("sends {} peer={} calls={}\n", i, peer, calls);
    for (const auto& [peer, calls] : c.receives) put("receives {} peer={} calls={}\n", i, peer, calls);
  }
  for (const session::Collective& c : r.collectives) {
    put("collective {} communicator={} function={} ordinal={} of_function={} count={} type={} peer={} stream={:#x} "
        "flags={} thread={} site={} ticks={}\n",
        c.number, c.communicator, wire::collective::kFunctionNames[static_cast<std::size_t>(c.function)], c.ordinal,
        c.of_function, c.count, wire::collective::kTypeNames[static_cast<std::size_t>(c.type)], c.peer, c.stream,
        c.flags, c.thread, c.site, c.ticks);
  }
}

void dump_graphs(const ProcessRecord& r) {
  std::size_t id = 0;
  for (const session::Graph& graph : r.graphs) {
    put("graph {} site={} nodes={} edges={} whole={:d}\n", ++id, graph.site, graph.nodes.size(), graph.edges.size(),
        graph.whole);
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const session::GraphNode& node = graph.nodes[i];
      put("node {}.{} type={} site={} function={} parent={}", id, i, node.type, node.site, node.function, node.parent);
      print_dim("grid", node.grid);
      print_dim("block", node.block);
      put(" shared={}\n", node.shared_bytes);
    }
    for (const session::GraphEdge& edge : graph.edges) put("edge {}.{} {}\n", id, edge.from, edge.to);
    for (const session::GraphChange& change : graph.changes) {
      put("change {}.{} of={} site={}\n", id, change.node, graph.changed_from, change.site);
    }
  }
}

int carry_out(const DumpOptions& options) {
  const session::Session session = taken(session::open_session(choose_session(options.output, options.session)));
  put("session {}\n", session.folder.string());
  for (const std::string& note : session.manifest.notes) put("note launcher: {}\n", base::printable(note));
  if (const std::string& why = session.manifest.unrecorded; !why.empty()) {
    put("note unrecorded: {}\n", base::printable(why));
  }
  for (const std::uint32_t pid : session.manifest.outlived_by) put("note outlived: {}\n", pid);
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
