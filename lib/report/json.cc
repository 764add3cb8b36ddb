// Writes the report as JSON, according to the contract "cudadiag.report/1", and the contract as a JSON Schema.
#include "diagnose/ranks.h"
#include "diagnose/words.h"
#include "report/json_schema.h"
#include "report/writers.h"
#include "session/session.h"

namespace cudadiag::report {

static void add_line(Members& to, const diagnose::Location& at) {
  to.text("file", at.file);
  to.line("line", at.line);
  to.text("function", at.function);
  to.text("language", diagnose::word(at.language));
  to.text("source", at.source);
}

static void add_location(Members& to, const diagnose::Location& at) {
  add_line(to, at);
  to.text("module", at.module, "the module of native code without a line");
  const bool called = !at.called_from.empty();
  to.object_or_null(
      "called_from", "line_of_source", called,
      [&](Members& caller) { add_line(caller, called ? at.called_from.front() : diagnose::Location{}); },
      "the next outer line of the user's own code, if this location has no line; not the line of the operation");
}

static void list(Members& to, const diagnose::Location& at) {
  to.type("location");
  add_location(to, at);
}

static void list(Members& to, const diagnose::Moment& moment) {
  to.type("moment");
  to.add("time", session::iso_time(static_cast<std::time_t>(moment.unix_seconds)),
         "in UTC, such as 2026-11-21T10:15:00Z");
  to.add("seconds_since_cuda", moment.since_cuda, "since the process initialised CUDA");
}

static void list(Members& to, const diagnose::Related& related) {
  to.type("related");
  to.one_of("role", diagnose::word(related.role),
            {"forward", "backward", "started", "eager",     "source",    "called", "capture",
             "update",  "replay",   "caller",  "swallowed", "allocated", "freed",  "taken",
             "written", "fork",     "used",    "infinite",  "unchanged", "changed"});
  add_location(to, related.location);
  to.one_of("grade", related.known_by ? diagnose::word(grade(*related.known_by)) : "", {"proven", "inferred"}, nullptr,
            true);
}

static void list(Members& to, const diagnose::Launch& launch) {
  to.type("launch");
  to.one_of("operation", word(launch.operation), {"kernel", "graph", "copy", "memset", "host function", "call"});
  to.text("kernel", launch.kernel);
  to.text("mangled", launch.mangled);
  to.add("grid", launch.grid, "0, 0, 0 if it is not a kernel, or if unknown");
  to.add("block", launch.block, "0, 0, 0 if it is not a kernel, or if unknown");
  to.add("shared_bytes", launch.shared_bytes);
  to.address("stream", launch.stream);
  to.add("device", launch.device);
  to.add("process_ordinal", launch.process_ordinal);
  to.add("stream_ordinal", launch.stream_ordinal);
  to.add("site_ordinal", launch.site_ordinal);
  to.one_of("watched_by", launch.by_hooks ? "hooks" : "cupti", {"cupti", "hooks"});
  to.add("thread", launch.thread);
  const diagnose::NodeNumber node = launch.graph_node.value_or(diagnose::NodeNumber{});
  to.object_or_null("graph_node", "graph_node", launch.graph_node && node.nodes <= 1, [&](Members& number) {
    number.limited("index", node.index, "minimum", 1);
    number.limited("of", node.of, "minimum", 1);
    number.add("replay", launch.replay);
  });
}

static void list(Members& to, const symbolize::PythonFrame& frame) {
  to.type("python_frame");
  to.text("file", frame.file);
  to.line("line", frame.line);
  to.text("function", frame.function);
  to.add("user", frame.user);
}

static void list(Members& to, const symbolize::NativeFrame& frame) {
  to.type("native_frame");
  to.text("module", frame.module);
  to.text("function", frame.function);
  to.text("file", frame.file);
  to.line("line", frame.line);
  to.add("user", frame.user);
}

static void list(Members& to, const symbolize::SourceStack& stack) {
  to.type("stack");
  to.add("python", stack.python);
  to.add("native", stack.native);
}

static void list(Members& to, const diagnose::Device& device) {
  to.type("device");
  to.text("exception", device.exception);
  to.text("function", device.function);
  to.text("file", device.file);
  to.line("line", device.line);
  to.add("block", device.block);
  to.add("thread", device.thread);
  to.text("message", device.message);
}

static void list(Members& to, const diagnose::PointedMemory& memory) {
  to.type("allocation");
  to.address("address", memory.address);
  to.add("bytes", memory.bytes);
  to.add("offset", memory.offset);
  to.add("device", memory.device);
  to.add("out_of_reach", memory.out_of_reach);
  to.one_of("state", memory.is_freed ? "freed" : "live", {"live", "freed"});
  to.text("owner", memory.owner);
  to.add("allocated", memory.allocated);
  to.add("freed", memory.freed);
}

// JSON has no infinity or NaN. `nan` and `inf` count these values.
static void list(Members& to, const diagnose::Argument& argument) {
  to.type("argument");
  to.add("name", argument.name);
  to.one_of("origin", word(argument.origin), {"operator", "variable", "kernel"});
  to.text("dtype", argument.dtype);
  to.add("shape", argument.shape);
  to.add("strides", argument.strides);
  to.text("device", argument.device);
  to.text("value", argument.value);
  to.add("min", argument.min);
  to.add("max", argument.max);
  to.add("nan", argument.nan);
  to.add("inf", argument.inf);
  to.add("bound", argument.bound);
  to.add("outside", argument.outside);
  to.add("first_outside", argument.first_outside);
  to.add("first_value", argument.first_value);
  to.address("pointer", argument.pointer);
  to.add("bytes", argument.bytes);
  to.add("allocation", argument.allocation);
}

struct TracedStep : diagnose::OriginStep {
  std::vector<std::int64_t> element{};  // for the first step
  analyse::Fact known_by = analyse::Fact::matched;
};

static std::vector<TracedStep> traced_steps(const std::optional<diagnose::ValueOrigin>& origin) {
  std::vector<TracedStep> steps;
  if (!origin) return steps;
  for (const diagnose::OriginStep& step : origin->steps) {
    steps.push_back({step, steps.empty() ? origin->index : std::vector<std::int64_t>{}, origin->known_by});
  }
  return steps;
}

static void list(Members& to, const TracedStep& step) {
  to.type("origin_step");
  add_location(to, step.location);
  to.one_of("role", word(step.role), {"made", "passed", "copied", "loaded"},
            "produced by an operator, passed to an operator as a number, copied from data outside PyTorch, or loaded "
            "from a file or by a data loader");
  to.text("operator", step.op);
  to.add("value", step.value, "null if the value was different at this line, or is unknown");
  to.add("index", step.element, "For the first step: the index of the element in the failing operator's argument.");
  to.add("batch", step.batch);
  to.add("sample", step.sample, "its index in the data set");
  to.one_of("grade", diagnose::word(grade(step.known_by)), {"proven", "inferred"});
}

static void list(Members& to, const diagnose::Watched& watched) {
  to.type("watched");
  to.text("file", watched.location.file);
  to.line("line", watched.location.line);
  to.add("visit", watched.visit);
  to.add("thread", watched.thread);
  to.add("arguments", watched.arguments);
}

static void list(Members& to, const diagnose::SavedLaunch& saved) {
  const session::ReplayTally& tally = saved.tally;
  to.type("alone");
  to.add("folder", saved.folder);
  to.add("text", session::sentence(tally, saved.failed_alone));
  to.add("runs", tally.made());
  to.add("as_it_did", tally.as_it_did);
  to.add("otherwise", tally.otherwise + tally.hung + tally.crashed);
  to.add("did_not_fail", tally.did_not_fail);
}

static void list(Members& to, const diagnose::Inputs& inputs) {
  to.type("inputs");
  to.add("folder", inputs.folder);
  to.add("operator", inputs.op);
  to.add("bytes", inputs.bytes);
  to.add("tensors", inputs.tensors);
  to.add("missing", inputs.missing);
  to.one_of("replay", inputs.outcome, {"reproduces", "does not reproduce", "could not be run", "not run"});
}

static void list(Members& to, const diagnose::MemoryHolder& holder) {
  to.type("memory_holder");
  to.add("bytes", holder.bytes);
  to.add("count", holder.count);
  to.text("owner", holder.owner);
  to.add("location", holder.location);
}

static void list(Members& to, const diagnose::OtherProcess& other) {
  to.type("other_process");
  to.add("pid", other.pid);
  to.text("name", other.name);
  to.add("bytes", other.bytes);
}

static void list(Members& to, const diagnose::TensorMemory::Exception& exception) {
  to.type("memory_exception");
  to.add("type", exception.type);
  to.add("location", exception.location);
  to.add("bytes", exception.bytes);
}

static void list(Members& to, const diagnose::TensorMemory& memory) {
  to.type("tensor_memory");
  to.add("reserved", memory.reserved);
  to.add("allocated", memory.allocated);
  to.add("largest_free", memory.largest_free);
  to.add("times", memory.times);
  to.add("holders", memory.holders);
  to.add("exceptions", memory.exceptions);
}

static void list(Members& to, const diagnose::MemoryUse& memory) {
  to.type("memory_use");
  to.one_of("of", memory.of_host ? "host" : "device", {"device", "host"});
  to.unless_zero("asked", memory.asked);
  to.add("free", memory.free);
  to.add("total", memory.total);
  to.add("held", memory.held);
  to.add("peak", memory.peak);
  to.add("whole", memory.whole);
  to.add("holders", memory.holders);
  to.add("others", memory.others);
  to.add("tensors", memory.tensors);
}

static void list(Members& to, const diagnose::RaceTensor& tensor) {
  to.type("tensor");
  to.text("name", tensor.name);
  to.add("view", tensor.view);
  to.one_of("role", diagnose::word(tensor.role), {"argument", "result", "variable"});
  to.text("argument", tensor.argument);
  to.add("written", tensor.written);
  to.text("dtype", tensor.dtype);
  to.text("device", tensor.device);
  to.add("shape", tensor.shape);
  to.add("strides", tensor.strides);
  to.range("range", tensor.begin, tensor.end);
}

static void list(Members& to, const diagnose::ResolvedAccess& access) {
  to.type("racing_access");
  to.text("operator", access.op);
  to.text("schema", access.schema);
  to.add("tensor", access.tensor);
  to.one_of("operation", word(access.operation), {"kernel", "copy", "memset", "allocation", "free", "call"},
            "call means code on the host");
  to.text("kernel", access.kernel);
  to.one_of("mode", word(access.mode), {"read", "write", "atomic", "unknown"});
  to.address("stream", access.on_host ? std::nullopt : std::optional(access.stream), "null for code on the host");
  to.range("range", access.begin, access.end);
  to.add("exact", access.exact,
         "false: only the first byte is known, or, in an array or texture, it uses an unknown part of the range");
  to.address("array", access.array != 0 ? std::optional(access.array) : std::nullopt,
             "the CUarray that the range counts from; null if the range consists of addresses");
  to.unless_zero("graph_node", access.graph_node);
  to.add("block", access.block, "For kernel_race; null otherwise, as is `thread`.");
  to.add("thread", access.thread);
  to.add("location", access.location, "For kernel_race, a line of device code.");
  to.add("stack", access.stack);
}

static void list(Members& to, const diagnose::RaceOverlap& overlap) {
  to.type("overlap");
  to.range("range", overlap.begin, overlap.end);
  to.add("bytes", overlap.bytes, "Fewer than the range if it has gaps.");
}

static void list(Members& to, const diagnose::Cause& cause) {
  to.type("cause");
  to.add("id", cause.id);
  to.add("text", cause.text);
  to.add("facts", cause.facts);
  to.text("link", cause.link);
  to.add("certain", cause.certain);
}

static void list(Members& to, const diagnose::Memory& memory) {
  to.type("memory");
  to.text("space", memory.space);
  to.text("mode", memory.mode);
  to.add("bytes", memory.bytes);
  to.address("address", memory.address);
  to.text("problem", memory.problem);
  to.object_or_null("nearest", "nearest", memory.allocation && memory.allocation_bytes, [&](Members& nearest) {
    nearest.address("address", memory.allocation.value_or(0));
    nearest.add("bytes", memory.allocation_bytes.value_or(0));
  });
  to.add("text", memory.text);
  to.text("function", memory.function);
  to.text("file", memory.file);
  to.line("line", memory.line);
  to.add("block", memory.block);
  to.add("thread", memory.thread);
  to.add("accesses", memory.accesses);
}

static void list(Members& to, const diagnose::Access& access) {
  using Dimensions = std::array<std::uint32_t, 3>;
  const std::optional<std::uint32_t> none, parameter = access.parameter,
                                           byte = parameter ? std::optional(access.parameter_byte) : none;
  const bool loaded = !access.loaded.empty();  // the pointer came from memory, to which the parameter only leads
  to.type("access");
  to.one_of("kind", diagnose::word(access.kind), {"load", "store", "atomic", "copy"});
  to.unless_zero("bytes", access.bytes);
  to.address("address", access.address);
  to.add("parameter", loaded ? none : parameter);
  to.add("parameter_byte", loaded ? none : byte);
  to.text("parameter_name", access.parameter_name);
  to.text("variable", access.variable, "the __device__ variable from whose address the access was computed");
  to.object_or_null(
      "loaded_from", "loaded_from", loaded,
      [&](Members& from) {
        from.add("parameter", parameter);
        from.add("parameter_byte", byte);
        from.add("bytes", access.loaded);
      },
      "where the kernel read the pointer: `bytes` are the offsets of the loads, the first one counts from the address "
      "in the parameter");
  to.add("allocation", access.allocation);
  to.add("distance", access.distance);
  to.one_of("space", diagnose::word(access.space), {"global", "shared", "local", "generic"});
  to.one_of("relation", diagnose::word(access.relation),
            {"past_end", "before", "inside", "freed", "null", "never_allocated", "other_device", "host", "misaligned",
             "unknown"});
  to.object_or_null("first", "first_thread", access.block && access.thread, [&](Members& first) {
    first.add("block", access.block.value_or(Dimensions{}));
    first.add("thread", access.thread.value_or(Dimensions{}));
  });
  to.unless_zero("threads", access.threads);
  to.add("inferred", access.by_code);
  to.add("replayed", access.by_replay, "measured by compute-sanitizer, which repeated the saved launch");
}

static void list(Members& to, const diagnose::CandidateLine& candidate) {
  to.type("candidate");
  to.add("location", candidate.location);
  to.add("launch", candidate.launch);
  to.add("because", candidate.because);
}

static void list(Members& to, const analyse::Evidence& evidence) {
  to.type("evidence");
  to.one_of("grade", diagnose::word(evidence.grade()), {"proven", "bracketed", "inferred", "suspected"});
  to.add("because", evidence.text());
}

static void list(Members& to, const diagnose::Finding& finding) {
  to.type("finding");
  to.one_of("kind", diagnose::word(finding.kind),
            {"async_error", "sync_error", "unchecked_error", "graph_node", "graph_stale_pointer", "capture_violation",
             "stream_race", "kernel_race", "out_of_memory", "hang", "non_finite", "out_of_bounds"});
  to.object("error", "error", [&](Members& error) {
    error.add("code", finding.code);
    error.text("name", finding.name);
    error.text("runtime_name", finding.runtime_name);
    error.add("text", finding.text);
  });
  to.add("location", finding.location);
  to.object_or_null("reported_at", "reported_at", finding.noticed.at.has_value(), [&](Members& call) {
    add_location(call, finding.noticed.at.value_or(diagnose::Location{}));
    call.text("api", finding.noticed.api);
  });
  to.add("noticed", finding.noticed.when, "when a call returned the error, if one did");
  to.add("related", finding.related);
  to.add("launch", finding.launch);
  to.add("arguments", finding.arguments);
  to.add("origin", traced_steps(finding.origin),
         "The origin of an argument's bad value, then the lines that passed it on. Empty if unknown.");
  to.add("watched", finding.watched);
  to.add("inputs", finding.inputs);
  to.add("alone", finding.saved_launch);
  to.object_or_null("hang", "hang", finding.hang.has_value(), [&](Members& hang) {
    const diagnose::Hang found = finding.hang.value_or(diagnose::Hang{});
    hang.add("seconds", found.seconds, "How long the operation had been unfinished when cudadiag reported it.");
    hang.add("while_running", found.stall.has_value() && !found.interrupted,
             "cudadiag reported it while the program continued (--on-hang=report).");
    hang.add("interrupted", found.interrupted,
             "The operation was unfinished when a signal, for example from Ctrl-C, asked the program to end.");
    hang.add("ended_after", found.ended_after,
             "Seconds after which the operation finished on its own; null if it did not.");
  });
  to.add("memory_use", finding.memory_use);
  const diagnose::ResolvedRace race = finding.race.value_or(diagnose::ResolvedRace{});
  to.add("overlap", race.overlap, "For a race: the bytes that the tensors of both accesses share, in the first run.");
  to.add("accesses", race.accesses);
  to.add("stack", finding.stack);
  to.add("device", finding.device);
  to.add("access", finding.access);
  to.add("memory", finding.tools.memory);
  to.add("witnesses", finding.tools.witnesses);
  to.add("candidates", finding.candidates);
  to.add("cause", finding.cause);
  to.add("fix", finding.fix);
  to.add("evidence", finding.evidence);
  to.object("process", "finding_process", [&](Members& process) {
    process.add("pid", finding.pid);
    process.limited("rank", finding.rank, "minimum", 0);
    process.text("host", finding.host);
  });
}

static void list(Members& to, const analyse::Note& note) {
  to.type("note");
  to.add("code", word(note.code));
  to.add("text", note.text);
}

static void list(Members& to, const diagnose::ProcessLine& process) {
  to.type("process");
  to.add("pid", process.pid);
  to.add("parent", process.parent);
  to.add("argv", process.argv);
  to.limited("rank", process.rank, "minimum", 0);
  to.object("exit", "exit", [&](Members& exit) {
    exit.limited("code", process.code, "minimum", 0);
    exit.limited("signal", process.signal, "minimum", 0);
  });
}

static void list(Members& to, const diagnose::RankLine& rank) {
  to.type("rank",
          "location, kernel, grid and seconds describe its call, or its last operation if it has not called this "
          "collective. seconds: from then to the end of the process. ended: how it ended before the others.");
  to.limited("rank", rank.rank, "minimum", 0);
  to.add("pid", rank.pid);
  to.add("collectives", rank.issued);
  to.add("has_come", rank.has_come);
  to.add("location", rank.location);
  to.text("kernel", rank.kernel);
  to.add("grid", rank.grid);
  to.limited("seconds", rank.seconds, "minimum", 0);
  to.add("ended", rank.ended);
}

static void list(Members& to, const diagnose::RanksPart::Uneven& uneven) {
  to.type(
      "uneven",
      "Between the previous collective and this one (collective), this rank launched at least 1.5 times as many "
      "kernels as any other rank. It may have skipped a collective there; cudadiag then matched its next collective "
      "from the same line with the skipped one.");
  to.limited("collective", uneven.number, "minimum", 1);
  to.limited("rank", uneven.rank, "minimum", 0);
  to.add("pid", uneven.pid);
  to.add("kernels", uneven.kernels);
  to.add("of_others", uneven.of_others);
}

static void list(Members& to, const diagnose::RanksPart& part) {
  to.type("ranks",
          "For a job that hung in a collective, or failed: where its ranks diverge. This is the first collective that "
          "some ranks have not called (absence), or that they call at different lines, with different kernels or with "
          "different numbers of blocks. none: all ranks made the same calls in the same way.");
  to.limited("collective", part.number, "minimum", 1);
  to.limited("first_compared", part.first, "minimum", 1);
  to.one_of("difference", diagnose::word(part.difference), {"absence", "line", "kernel", "blocks", "none"});
  to.limited("ranks", part.ranks, "minItems", 2);
  to.add("uneven", part.uneven);
}

static void list(Members& to, const diagnose::GroupRank& rank) {
  to.type("group_rank",
          "A rank of the group. call: its call; null if it has not made the call, or if the record is lost. does: for "
          "a rank that has not made the call, what it does instead. location: the line of that call or activity.");
  to.limited("rank", rank.rank, "minimum", 0);
  to.add("pid", rank.pid);
  to.limited("group_rank", rank.group_rank, "minimum", 0);
  to.add("has_come", rank.has_come);
  to.text("call", rank.call);
  to.text("does", rank.does);
  to.add("location", rank.location);
}

static void list(Members& to, const diagnose::GroupWait& wait) {
  to.type("group_wait");
  to.limited("rank", wait.rank, "minimum", 0);
  to.add("pid", wait.pid);
  to.limited("for_rank", wait.for_rank, "minimum", 0);
  to.add("for_pid", wait.for_pid);
  to.add("call", wait.call);
  to.add("location", wait.location);
}

static void list(Members& to, const session::KeptFrom& kept) {
  to.type("kept_from");
  to.one_of("deed", session::word(kept.deed),
            {"write", "make", "remove", "rename", "link", "change", "connect", "listen", "send", "signal", "trace",
             "share", "administer"});
  to.add("object", kept.object);
}

static void list(Members& to, const diagnose::PassLine& pass) {
  to.type("pass");
  to.add("name", word(pass.kind));
  to.limited("seconds", pass.seconds, "minimum", 0);
  to.add("operations", pass.operations);
  to.add("dropped", pass.dropped);
  to.add("outcome", pass.outcome);
  to.add("isolated", pass.isolated, "The rerun was isolated: it could not change anything.");
  to.add("kept_from", pass.kept_from,
         "What an isolated rerun tried to change and was kept from changing, each thing once.");
}

static void list(Members& to, const diagnose::Diagnosis& report) {
  to.type("report");
  to.one_of("schema", "cudadiag.report/1", {"cudadiag.report/1"});
  to.one_of("verdict", diagnose::word(report.verdict), {"cuda_failure", "no_cuda_failure", "inconclusive"},
            "cuda_failure: the report has findings, including races between streams; kind tells them apart. Findings "
            "of kind non_finite do not count, because NaN is not a failure of CUDA. inconclusive: there is no finding, "
            "but the recording is missing or incomplete, or cudadiag did not see the end of a process; the first note "
            "has the reason.");
  to.add("findings", report.findings);
  to.add("notes", report.notes);
  to.add("processes", report.processes);
  to.add("passes", report.passes);
  to.add("ranks", report.ranks);
  const diagnose::GroupsPart part = report.groups.value_or(diagnose::GroupsPart{});
  to.object_or_null(
      "groups", "groups", report.groups.has_value(),
      [&](Members& groups) {
        groups.add("sentence", diagnose::job_sentence(report));
        groups.one_of("kind", diagnose::word(part.kind), {"absence", "mismatch", "circle", "present"});
        groups.one_of("difference", diagnose::word(part.difference),
                      {"none", "function", "count", "type", "root", "line"});
        groups.text("group", part.group);
        groups.address("id", part.hash);
        groups.unless_zero("size", static_cast<std::uint64_t>(std::max(part.size, 0)));
        groups.add("function", part.function);
        groups.add("number", part.number);
        groups.add("ranks", part.ranks);
        groups.limited("not_recorded", part.unseen, "minimum", 0);
        groups.add("circle", part.circle);
        groups.add("dumps", part.dumps, "the PyTorch Flight Recorder files that show this; empty if NCCL reported it");
        groups.one_of("grade", part.known_by() ? diagnose::word(grade(*part.known_by())) : "", {"inferred"},
                      "null if NCCL reported it", true);
      },
      "Why the ranks of a job are blocked, according to NCCL's communicators: some have not made a call of their group "
      "(absence), they call it differently (mismatch; difference says how), each waits for the next one (circle), or "
      "all have made the call and it never finishes (present). null if they are not blocked, or if the communicators "
      "are unknown; see ranks then.");
  to.object("environment", "environment", [&](Members& environment) {
    environment.text("driver", report.driver);
    environment.text("cuda", report.cuda);
    environment.text("cupti", report.cupti);
    environment.add("gpus", report.gpus);
    environment.text("python", report.python);
    environment.text("torch", report.torch);
    environment.text("triton", report.triton);
    environment.text("cudnn", report.cudnn);
    environment.text("nccl", report.nccl);
  });
  to.object(
      "run", "run",
      [&](Members& run) {
        run.add("command", report.command);
        run.text("folder", report.working_directory);
        run.text("started", report.started, "ISO 8601, UTC");
        run.text("session", report.session, "the session's folder");
      },
      "The command that was run. Without a launcher, command is empty, and started is when the first process "
      "initialised CUDA.");
}

std::string write_json(const diagnose::Diagnosis& report) { return Members::document(report); }

std::string write_schema() {
  Json types = Json::object();
  Members(&types).of(diagnose::Diagnosis{});
  const Json schema = {
      {"$schema", "https://json-schema.org/draft/2020-12/schema"},
      {"title", "cudadiag.report/1"},
      {"description",
       "The output of `cudadiag report --json`. Every member is present; unknown members are null or empty."},
      {"$ref", "#/$defs/report"},
      {"$defs", std::move(types)}};
  return schema.dump(2) + '\n';
}

}  // namespace cudadiag::report
