#include "session/manifest.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/text.h"
#include "session/json_values.h"

namespace cudadiag::session {
namespace {

constexpr std::pair<Deed, const char*> kDeeds[] = {
    {Deed::write, "write"},          {Deed::make, "make"},     {Deed::remove, "remove"},
    {Deed::rename, "rename"},        {Deed::link, "link"},     {Deed::change, "change"},
    {Deed::connect, "connect"},      {Deed::listen, "listen"}, {Deed::send, "send"},
    {Deed::signal, "signal"},        {Deed::trace, "trace"},   {Deed::share, "share"},
    {Deed::administer, "administer"}};

std::optional<Deed> deed_of(std::string_view name) {
  for (const auto& [deed, known] : kDeeds) {
    if (name == known) return deed;
  }
  return std::nullopt;
}

constexpr const char* kSchema = "cudadiag.session/1";
constexpr std::string_view kAnyVersion = "cudadiag.session/";

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json end_to_json(const ProcessEnd& end) { return {{"code", or_null(end.code)}, {"signal", or_null(end.signal)}}; }

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

std::vector<std::string> texts_of(const Json& object, const char* key) {
  std::vector<std::string> texts;
  const auto it = object.find(key);
  if (it == object.end() || !it->is_array()) return texts;
  for (const Json& element : *it) {
    if (element.is_string()) texts.push_back(element.get<std::string>());
  }
  return texts;
}

std::set<std::uint32_t> pids_of(const Json& object, const char* key) {
  std::set<std::uint32_t> pids;
  const auto it = object.find(key);
  if (it == object.end() || !it->is_array()) return pids;
  for (const Json& element : *it) {
    if (const auto pid = integer<std::uint32_t>(element)) pids.insert(*pid);
  }
  return pids;
}

// A rerun needs these values byte for byte. JSON cannot contain invalid UTF-8, so values with invalid UTF-8 are also
// written in hexadecimal.
constexpr const char *kCommandHex = "command_hex", *kDirectoryHex = "working_directory_hex";

void add_hex(const Manifest& manifest, Json& document) {
  if (!std::all_of(manifest.command.begin(), manifest.command.end(), is_utf8)) {
    Json words = Json::array();
    for (const std::string& word : manifest.command) words.push_back(hex_of_text(word));
    document[kCommandHex] = std::move(words);
  }
  if (!is_utf8(manifest.working_directory)) document[kDirectoryHex] = hex_of_text(manifest.working_directory);
}

void take_hex(const Json& document, Manifest& manifest) {
  const std::vector<std::string> words = texts_of(document, kCommandHex);
  for (std::size_t i = 0; words.size() == manifest.command.size() && i < words.size(); ++i) {
    if (auto bytes = text_of_hex(words[i])) manifest.command[i] = std::move(*bytes);
  }
  const std::string directory = text_of(document, kDirectoryHex);
  if (auto bytes = text_of_hex(directory); bytes && !directory.empty()) manifest.working_directory = std::move(*bytes);
}

template <typename Visit>
void each_object(const Json& object, const char* key, const Visit& visit) {
  const auto list = object.find(key);
  if (list == object.end() || !list->is_array()) return;
  for (const Json& element : *list) {
    if (element.is_object()) visit(element);
  }
}

Json host_stacks(const Manifest& manifest) {
  Json stacks = Json::array();
  for (const HostStack& stack : manifest.host_stacks) {
    Json frames = Json::array();
    for (const DeliveredFrame& frame : stack.frames) {
      frames.push_back({{"file", frame.file}, {"function", frame.function}, {"line", frame.line}});
    }
    stacks.push_back({{"pid", stack.pid}, {"tid", stack.tid}, {"frames", std::move(frames)}});
  }
  return stacks;
}

void take_host_stacks(const Json& document, Manifest& manifest) {
  each_object(document, "host_stacks", [&](const Json& object) {
    HostStack& stack = manifest.host_stacks.emplace_back();
    stack.pid = integer_of<std::uint32_t>(object, "pid").value_or(0);
    stack.tid = integer_of<std::uint32_t>(object, "tid").value_or(0);
    each_object(object, "frames", [&](const Json& frame) {
      stack.frames.push_back(
          {text_of(frame, "file"), text_of(frame, "function"), integer_of<int>(frame, "line").value_or(0)});
    });
  });
}

std::optional<double> double_of(const Json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end() || !it->is_number()) return std::nullopt;
  return it->get<double>();
}

ProcessEnd end_of(const Json& object) { return {integer_of<int>(object, "code"), integer_of<int>(object, "signal")}; }

std::optional<Witness> witness_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_object()) return std::nullopt;
  return Witness{end_of(*found), text_of(*found, "cut_short"), double_of(*found, "seconds").value_or(0)};
}

Json witness_to_json(const std::optional<Witness>& witness) {
  if (!witness) return nullptr;
  Json json = end_to_json(witness->end);
  json["cut_short"] = witness->cut_short;
  json["seconds"] = witness->seconds;
  return json;
}

// Returns "" for a name that leads out of the session's folder, because a session may come from anyone.
std::string name_of(const Json& object, const char* key) {
  const std::string name = text_of(object, key);
  const bool inside = name != "." && name != ".." && name.find_first_of(std::string_view("/\0", 2)) == name.npos;
  return inside ? name : std::string();
}

std::vector<KeptFrom> kept_from_of(const Json& object) {
  std::vector<KeptFrom> kept;
  each_object(object, "kept_from", [&](const Json& entry) {
    if (const auto deed = deed_of(text_of(entry, "deed"))) kept.push_back({*deed, text_of(entry, "object")});
  });
  return kept;
}

Json kept_from_to_json(const std::vector<KeptFrom>& kept) {
  Json list = Json::array();
  for (const KeptFrom& each : kept) list.push_back({{"deed", word(each.deed)}, {"object", each.object}});
  return list;
}

Pass pass_of(const Json& object) {
  Pass pass;
  pass.kind = pass_kind(text_of(object, "name")).value_or(PassKind::other);
  pass.folder = name_of(object, "folder");
  pass.waits = text_of(object, "waits");
  pass.values = bool_of(object, "values", false);
  pass.cut_short = cut_short(text_of(object, "cut_short"));
  pass.dump = name_of(object, "dump");
  pass.seconds = double_of(object, "seconds").value_or(0);
  pass.failed_after = double_of(object, "failed_after");
  pass.debugger = witness_of(object, "debugger");
  pass.replay = witness_of(object, "replay");
  pass.kernels = texts_of(object, "kernels");
  pass.rewritten = texts_of(object, "rewritten");
  pass.isolated = bool_of(object, "isolated", false);
  pass.kept_from = kept_from_of(object);
  const auto end = object.find("end");
  if (end != object.end() && end->is_object()) pass.end = end_of(*end);
  return pass;
}

}  // namespace

bool is_manifest(std::string_view text) {
  if (text.find(kAnyVersion) == text.npos) return false;
  const Json document = parse_json(text);
  return document.is_object() && text_of(document, "schema").starts_with(kAnyVersion);
}

std::string_view word(Deed deed) {
  for (const auto& [known, name] : kDeeds) {
    if (known == deed) return name;
  }
  return "change";
}

std::string iso_time(std::time_t time) { return base::utc_text(time, "%Y-%m-%dT%H:%M:%SZ"); }

std::string write_manifest(const Manifest& manifest) {
  Json passes = Json::array();
  for (const Pass& pass : manifest.passes) {
    passes.push_back({{"name", word(pass.kind)},
                      {"folder", pass.folder},
                      {"waits", pass.waits},
                      {"values", pass.values},
                      {"cut_short", word(pass.cut_short)},
                      {"dump", pass.dump},
                      {"seconds", pass.seconds},
                      {"end", end_to_json(pass.end)},
                      {"failed_after", or_null(pass.failed_after)},
                      {"debugger", witness_to_json(pass.debugger)},
                      {"replay", witness_to_json(pass.replay)},
                      {"kernels", pass.kernels},
                      {"rewritten", pass.rewritten},
                      {"isolated", pass.isolated},
                      {"kept_from", kept_from_to_json(pass.kept_from)}});
  }
  Json ends = Json::array();
  for (const auto& [pid, end] : manifest.ends) {
    Json entry = end_to_json(end);
    entry["pid"] = pid;
    ends.push_back(std::move(entry));
  }
  Json gpu_processes = Json::array();
  for (const GpuProcess& process : manifest.gpu_processes) {
    gpu_processes.push_back(
        {{"device", process.device}, {"pid", process.pid}, {"name", process.name}, {"bytes", process.bytes}});
  }
  Json rules = Json::array();
  for (const CodeRule& rule : manifest.code_rules) rules.push_back({{"path", rule.path}, {"user", rule.user}});
  Json document = {{"schema", kSchema},
                   {"command", manifest.command},
                   {"working_directory", manifest.working_directory},
                   {"host", manifest.host},
                   {"started", manifest.started},
                   {"passes", std::move(passes)},
                   {"python_stacks", manifest.python_stacks},
                   {"native_stacks", manifest.native_stacks},
                   {"watch_by", manifest.watch_by},
                   {"ends", std::move(ends)},
                   {"hang", or_null(manifest.hang)},
                   {"stalls", parse_json(write_stalls(manifest.stalls))},
                   {"asked_to_end", manifest.asked_to_end},
                   {"ended_before_hang", manifest.ended_before_hang},
                   {"host_stacks", host_stacks(manifest)},
                   {"outlived_by", manifest.outlived_by},
                   {"unrecorded", manifest.unrecorded},
                   {"input_read", manifest.input_read},
                   {"whole", manifest.whole},
                   {"notes", manifest.notes},
                   {"gpu_processes", std::move(gpu_processes)},
                   {"code_rules", std::move(rules)}};
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
  manifest.command = texts_of(document, "command");
  manifest.working_directory = text_of(document, "working_directory");
  take_hex(document, manifest);
  manifest.host = text_of(document, "host");
  manifest.started = text_of(document, "started");
  manifest.notes = texts_of(document, "notes");
  manifest.python_stacks = bool_of(document, "python_stacks", true);
  manifest.native_stacks = bool_of(document, "native_stacks", true);
  manifest.watch_by = text_of(document, "watch_by");
  manifest.input_read = bool_of(document, "input_read");
  manifest.hang = double_of(document, "hang");
  if (const auto stalls = document.find("stalls"); stalls != document.end()) {
    manifest.stalls = parse_stalls(stalls->dump(-1, ' ', true, Json::error_handler_t::replace));
  }
  manifest.asked_to_end = bool_of(document, "asked_to_end");
  manifest.ended_before_hang = pids_of(document, "ended_before_hang");
  manifest.outlived_by = pids_of(document, "outlived_by");
  take_host_stacks(document, manifest);
  manifest.unrecorded = text_of(document, "unrecorded");
  manifest.whole = bool_of(document, "whole", true);
  each_object(document, "code_rules", [&](const Json& rule) {
    const auto user = rule.find("user");
    if (user != rule.end() && user->is_boolean())
      manifest.code_rules.push_back({text_of(rule, "path"), user->get<bool>()});
  });
  each_object(document, "passes", [&](const Json& pass) { manifest.passes.push_back(pass_of(pass)); });
  each_object(document, "gpu_processes", [&](const Json& process) {
    const auto pid = integer_of<std::uint32_t>(process, "pid");
    const auto bytes = process.find("bytes");
    if (!pid || bytes == process.end() || !bytes->is_number_unsigned()) return;
    manifest.gpu_processes.push_back(
        {text_of(process, "device"), *pid, text_of(process, "name"), bytes->get<std::uint64_t>()});
  });
  each_object(document, "ends", [&](const Json& end) {
    if (const auto pid = integer_of<std::uint32_t>(end, "pid")) manifest.ends[*pid] = end_of(end);
  });
  return manifest;
}

}  // namespace cudadiag::session
