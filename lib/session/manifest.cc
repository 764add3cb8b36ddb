// Reads and writes manifest.json, in which the launcher stores what it knows about a session. The format is
// "cudadiag.session/1".
#include <algorithm>
#include <span>
#include <utility>

#include "base/text.h"
#include "session/json_fields.h"
#include "session/session.h"

namespace cudadiag::session {
namespace {

constexpr base::Words<PassKind, 9> kPassKinds = {{
    {PassKind::record, "record"},
    {PassKind::confirm, "confirm"},
    {PassKind::device, "device"},
    {PassKind::eager, "eager"},
    {PassKind::sanitize, "sanitize"},
    {PassKind::memory, "memory"},
    {PassKind::races, "races"},
    {PassKind::origin, "origin"},
    {PassKind::launch, "launch"},
}};

constexpr base::Words<CutShort, 6> kReasons = {{
    {CutShort::interrupted, "interrupted"},
    {CutShort::time_limit, "time limit"},
    {CutShort::first_race, "first race"},
    {CutShort::first_failure, "first failure"},
    {CutShort::issued_nothing, "it issued nothing for too long"},
    {CutShort::asked_terminal, "it asked the terminal"},
}};

constexpr base::Words<Deed, 13> kDeeds = {{
    {Deed::write, "write"},
    {Deed::make, "make"},
    {Deed::remove, "remove"},
    {Deed::rename, "rename"},
    {Deed::link, "link"},
    {Deed::change, "change"},
    {Deed::connect, "connect"},
    {Deed::listen, "listen"},
    {Deed::send, "send"},
    {Deed::signal, "signal"},
    {Deed::trace, "trace"},
    {Deed::share, "share"},
    {Deed::administer, "administer"},
}};

constexpr const char* kSchema = "cudadiag.session/1";
constexpr std::string_view kAnyVersion = "cudadiag.session/";

bool is_utf8(const std::string& text) {
  try {
    return Json(text).dump().size() >= text.size();
  } catch (const Json::type_error&) {
    return false;
  }
}

std::string hex_of_text(std::string_view text) { return base::hex_of(std::as_bytes(std::span(text))); }

std::optional<std::string> text_of_hex(std::string_view digits) {
  const auto bytes = base::bytes_of_hex(digits);
  if (!bytes) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

// A rerun needs these values byte for byte. JSON cannot contain invalid UTF-8, so values with invalid UTF-8 are also
// written in hexadecimal.
constexpr const char *kCommandHex = "command_hex", *kDirectoryHex = "working_directory_hex";

void add_hex(const Manifest& manifest, Json& document) {
  if (!std::ranges::all_of(manifest.command, is_utf8)) {
    Json words = Json::array();
    for (const std::string& word : manifest.command) words.push_back(hex_of_text(word));
    document[kCommandHex] = std::move(words);
  }
  if (!is_utf8(manifest.working_directory)) document[kDirectoryHex] = hex_of_text(manifest.working_directory);
}

void take_hex(const Json& document, Manifest& manifest) {
  std::vector<std::string> words;
  FieldReader{document}(kCommandHex, words);
  for (std::size_t i = 0; words.size() == manifest.command.size() && i < words.size(); ++i) {
    if (auto bytes = text_of_hex(words[i])) manifest.command[i] = std::move(*bytes);
  }
  const std::string directory = text_of(document, kDirectoryHex);
  if (auto bytes = text_of_hex(directory); bytes && !directory.empty()) manifest.working_directory = std::move(*bytes);
}

// Clears a name that leads out of the session's folder, because a session may come from anyone.
void keep_inside(std::string& name) {
  if (name == "." || name == ".." || name.find_first_of(std::string_view("/\0", 2)) != name.npos) name.clear();
}

// Limits on what is read of stalls. A report cannot usefully show more.
constexpr std::size_t kMostStalls = 256, kMostOperations = 16, kMostReasons = 16;

}  // namespace

std::string_view word(PassKind kind) { return base::word_of(kPassKinds, kind, "other"); }

std::optional<PassKind> pass_kind(std::string_view word) { return base::value_of(kPassKinds, word); }

std::string_view word(CutShort reason) { return base::word_of(kReasons, reason, "other"); }

std::string_view word(const std::optional<CutShort>& reason) { return reason ? word(*reason) : ""; }

std::optional<CutShort> cut_short(std::string_view word) {
  if (word.empty()) return std::nullopt;
  return base::value_of(kReasons, word).value_or(CutShort::other);
}

std::string_view word(Deed deed) { return base::word_of(kDeeds, deed); }

void fields(ProcessEnd& end, auto& field) {
  field("code", end.code);
  field("signal", end.signal);
}

void fields(Witness& witness, auto& field) {
  fields(witness.end, field);
  field("cut_short", witness.cut_short);
  field("seconds", witness.seconds);
}

void fields(FoundAccess& access, auto& field) {
  field("why", access.why);
  field("kernel", access.kernel);
  field("function", access.function);
  field("offset", access.offset);
  field("mode", access.mode);
  field("address", access.address);
  field("bytes", access.bytes);
  field("misaligned", access.misaligned);
  field("parameter", access.parameter);
  field("word", access.word);
  field("byte", access.byte);
  field("pointer", access.pointer);
  field("block", access.block);
  field("thread", access.thread);
  field("seconds", access.seconds);
}

// Clears the object if this version does not know what was prevented.
void fields(KeptFrom& kept, auto& field) {
  field("object", kept.object);
  std::string deed(word(kept.deed));
  field("deed", deed);
  const auto known = base::value_of(kDeeds, deed);
  known ? void(kept.deed = *known) : kept.object.clear();
}

void fields(Pass& pass, auto& field) {
  field("name", pass.kind, [](std::string_view word) { return pass_kind(word).value_or(PassKind::other); });
  field("folder", pass.folder);
  field("waits", pass.waits);
  field("values", pass.values);
  field("cut_short", pass.cut_short, cut_short);
  field("dump", pass.dump);
  field("seconds", pass.seconds);
  field("end", pass.end);
  field("failed_after", pass.failed_after);
  field("debugger", pass.debugger);
  field("replay", pass.replay);
  field("access", pass.access);
  field("kernels", pass.kernels);
  field("rewritten", pass.rewritten);
  field("otherwise", pass.otherwise);
  field("isolated", pass.isolated);
  field("kept_from", pass.kept_from);
}

void fields(GpuProcess& process, auto& field) {
  field("device", process.device);
  field("pid", process.pid);
  field("name", process.name);
  field("bytes", process.bytes);
}

void fields(CodeRule& rule, auto& field) {
  field("path", rule.path);
  field("user", rule.user);
}

void fields(DeliveredFrame& frame, auto& field) {
  field("file", frame.file);
  field("function", frame.function);
  field("line", frame.line);
}

void fields(HostStack& stack, auto& field) {
  field("pid", stack.pid);
  field("tid", stack.tid);
  field("frames", stack.frames);
}

void fields(Operation& operation, auto& field) {
  using wire::operation::Kind;
  using wire::operation::MemoryOperation;
  auto kind = static_cast<std::uint8_t>(operation.kind), memory = static_cast<std::uint8_t>(operation.memory_operation);
  field("kind", kind);
  field("memory_operation", memory);
  if (kind <= static_cast<std::uint8_t>(Kind::memory_operation)) operation.kind = static_cast<Kind>(kind);
  if (memory <= static_cast<std::uint8_t>(MemoryOperation::signal_semaphore)) {
    operation.memory_operation = static_cast<MemoryOperation>(memory);
  }
  field("flags", operation.flags);
  field("thread", operation.thread);
  field("site", operation.site);
  field("stream", operation.stream);
  field("ordinal", operation.ordinal);
  field("site_ordinal", operation.site_ordinal);
  field("graph", operation.graph);
  field("graph_changed", operation.graph_changed);
  field("replay", operation.replay);
  field("graph_flags", operation.graph_flags);
  field("shared_bytes", operation.shared_bytes);
  field("serial", operation.serial);
  field("ticks", operation.ticks);
  field("argument", operation.argument);
  field("value", operation.value);
  field("destination", operation.destination);
  field("source", operation.source);
  field("grid", operation.grid);
  field("block", operation.block);
  field("cluster", operation.cluster);
}

void fields(Thread& thread, auto& field) {
  field("tid", thread.tid);
  field("name", thread.name);
  field("call", thread.blocked.call);
  field("outer", thread.blocked.outer);
}

void fields(Stall& stall, auto& field) {
  field("pid", stall.pid);
  field("started", stall.started);
  field("seconds", stall.seconds);
  field("ended_after", stall.ended_after);
  field("operations", stall.operations, kMostOperations);
  field("because", stall.because, kMostReasons);
  field("certain", stall.certain);
  field("interrupted", stall.interrupted);
  field("recorded", stall.recorded);
  field("write", stall.write);
  field("waiting", stall.thread);
  field("site", stall.site);
  field("issues", stall.issues);
}

// `ends` is not among them, because JSON has no keys that are numbers.
void fields(Manifest& manifest, auto& field) {
  field("command", manifest.command);
  field("options", manifest.options);
  field("rerun_options", manifest.rerun_options);
  field("working_directory", manifest.working_directory);
  field("host", manifest.host);
  field("started", manifest.started);
  field("passes", manifest.passes);
  field("python_stacks", manifest.python_stacks);
  field("native_stacks", manifest.native_stacks);
  field("watch_by", manifest.watch_by);
  field("hang", manifest.hang);
  field("stalls", manifest.stalls, kMostStalls);
  field("asked_to_end", manifest.asked_to_end);
  field("ended_before_hang", manifest.ended_before_hang);
  field("host_stacks", manifest.host_stacks);
  field("outlived_by", manifest.outlived_by);
  field("unrecorded", manifest.unrecorded);
  field("ranks", manifest.ranks);
  field("input_read", manifest.input_read);
  field("whole", manifest.whole);
  field("notes", manifest.notes);
  field("gpu_processes", manifest.gpu_processes);
  field("code_rules", manifest.code_rules);
}

bool is_manifest(std::string_view text) {
  if (text.find(kAnyVersion) == text.npos) return false;
  const Json document = parse_json(text);
  return document.is_object() && text_of(document, "schema").starts_with(kAnyVersion);
}

std::string iso_time(std::time_t time) { return base::utc_text(time, "%Y-%m-%dT%H:%M:%SZ"); }

std::string write_manifest(Manifest manifest) {
  Json document = FieldWriter::written(manifest), ends = Json::array();
  document["schema"] = kSchema;
  for (auto& [pid, end] : manifest.ends) {
    ends.push_back(FieldWriter::written(end));
    ends.back()["pid"] = pid;
  }
  document["ends"] = std::move(ends);
  add_hex(manifest, document);
  // Replaces invalid UTF-8 in arguments and folders. Without this handler, dump() would throw.
  return json_text(document, 2) + "\n";
}

base::Result<Manifest> parse_manifest(std::string_view text) {
  const Json document = parse_json(text);
  if (!document.is_object()) return base::Error{"it is not valid JSON", kMoveManifestAway};
  const std::string schema = text_of(document, "schema");
  if (schema != kSchema) {
    return base::Error{"it is in format \"" + schema + "\"; this cudadiag reads \"" + kSchema + "\"",
                       "open it with the version of cudadiag that wrote it"};
  }
  Manifest manifest;
  FieldReader::read(document, manifest);
  take_hex(document, manifest);
  for (Pass& pass : manifest.passes) {
    keep_inside(pass.folder);
    keep_inside(pass.dump);
    std::erase_if(pass.kept_from, [](const KeptFrom& kept) { return kept.object.empty(); });
  }
  for (const Json& end : list_of(document, "ends")) {
    if (const auto pid = integer_of<std::uint32_t>(end, "pid")) FieldReader::read(end, manifest.ends[*pid]);
  }
  return manifest;
}

}  // namespace cudadiag::session
