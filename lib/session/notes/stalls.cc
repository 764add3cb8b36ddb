#include "session/notes/stalls.h"

#include <algorithm>
#include <utility>

#include "session/json_values.h"

namespace cudadiag::session {
namespace {

// Limits on what is read from a manifest. A report cannot usefully show more.
constexpr std::size_t kMostStalls = 256, kMostOperations = 16, kMostReasons = 16;

constexpr std::pair<const char*, std::uint32_t Operation::*> kNumbers[] = {
    {"site", &Operation::site},
    {"stream", &Operation::stream},
    {"ordinal", &Operation::ordinal},
    {"site_ordinal", &Operation::site_ordinal},
    {"graph", &Operation::graph},
    {"graph_changed", &Operation::graph_changed},
    {"replay", &Operation::replay},
    {"graph_flags", &Operation::graph_flags},
    {"shared_bytes", &Operation::shared_bytes},
};
constexpr std::pair<const char*, std::uint64_t Operation::*> kLongNumbers[] = {
    {"serial", &Operation::serial},           {"ticks", &Operation::ticks},
    {"argument", &Operation::argument},       {"value", &Operation::value},
    {"destination", &Operation::destination}, {"source", &Operation::source},
};
constexpr std::pair<const char*, Dim3 Operation::*> kShapes[] = {
    {"grid", &Operation::grid}, {"block", &Operation::block}, {"cluster", &Operation::cluster}};

Json to_json(const Operation& operation) {
  Json json = {{"kind", static_cast<unsigned>(operation.kind)},
               {"memory_operation", static_cast<unsigned>(operation.memory_operation)},
               {"flags", operation.flags},
               {"thread", operation.thread}};
  for (const auto& [name, member] : kNumbers) json[name] = operation.*member;
  for (const auto& [name, member] : kLongNumbers) json[name] = operation.*member;
  for (const auto& [name, member] : kShapes) json[name] = operation.*member;
  return json;
}

Operation operation_of(const Json& object) {
  Operation operation;
  const auto kind = integer_of<std::uint8_t>(object, "kind").value_or(0);
  if (kind <= static_cast<std::uint8_t>(wire::operation::Kind::memory_operation)) {
    operation.kind = static_cast<wire::operation::Kind>(kind);
  }
  const auto memory = integer_of<std::uint8_t>(object, "memory_operation").value_or(0);
  if (memory <= static_cast<std::uint8_t>(wire::operation::MemoryOperation::signal_semaphore)) {
    operation.memory_operation = static_cast<wire::operation::MemoryOperation>(memory);
  }
  take(object, "flags", operation.flags);
  take(object, "thread", operation.thread);
  for (const auto& [name, member] : kNumbers) take(object, name, operation.*member);
  for (const auto& [name, member] : kLongNumbers) take(object, name, operation.*member);
  for (const auto& [name, member] : kShapes) {
    const auto shape = object.find(name);
    for (std::size_t i = 0; shape != object.end() && shape->is_array() && i < std::min<std::size_t>(3, shape->size());
         ++i) {
      (operation.*member)[i] = integer<std::uint32_t>((*shape)[i]).value_or(0);
    }
  }
  return operation;
}

Json or_null(const std::optional<Operation>& operation) { return operation ? to_json(*operation) : Json(nullptr); }

std::optional<Operation> operation_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_object()) return std::nullopt;
  return operation_of(*found);
}

Json to_json(const Thread& thread) {
  return {{"tid", thread.tid}, {"name", thread.name}, {"call", thread.blocked.call}, {"outer", thread.blocked.outer}};
}

std::optional<Thread> thread_in(const Json& object) {
  const auto found = object.find("waiting");
  if (found == object.end() || !found->is_object()) return std::nullopt;
  Thread thread;
  take(*found, "tid", thread.tid);
  thread.name = short_text_of(*found, "name");
  thread.blocked.call = short_text_of(*found, "call");
  thread.blocked.outer = short_text_of(*found, "outer");
  return thread;
}

Stall stall_of(const Json& object) {
  Stall stall;
  take(object, "pid", stall.pid);
  take(object, "started", stall.started);
  if (const auto it = object.find("seconds"); it != object.end() && it->is_number()) stall.seconds = it->get<double>();
  if (const auto it = object.find("ended_after"); it != object.end() && it->is_number()) {
    stall.ended_after = it->get<double>();
  }
  stall.certain = bool_of(object, "certain");
  stall.interrupted = bool_of(object, "interrupted");
  if (const auto it = object.find("operations"); it != object.end() && it->is_array()) {
    for (const Json& each : *it) {
      if (each.is_object() && stall.operations.size() < kMostOperations) stall.operations.push_back(operation_of(each));
    }
  }
  if (const auto it = object.find("because"); it != object.end() && it->is_array()) {
    for (const Json& each : *it) {
      if (each.is_string() && stall.because.size() < kMostReasons) stall.because.push_back(short_text(each));
    }
  }
  stall.recorded = operation_in(object, "recorded");
  stall.write = operation_in(object, "write");
  stall.issues = operation_in(object, "issues");
  stall.thread = thread_in(object);
  take(object, "site", stall.site);
  return stall;
}

}  // namespace

std::string write_stalls(const std::vector<Stall>& stalls) {
  Json array = Json::array();
  for (const Stall& stall : stalls) {
    Json operations = Json::array();
    for (const Operation& operation : stall.operations) operations.push_back(to_json(operation));
    array.push_back({{"pid", stall.pid},
                     {"started", stall.started},
                     {"seconds", stall.seconds},
                     {"ended_after", stall.ended_after ? Json(*stall.ended_after) : Json(nullptr)},
                     {"operations", std::move(operations)},
                     {"because", stall.because},
                     {"certain", stall.certain},
                     {"interrupted", stall.interrupted},
                     {"recorded", or_null(stall.recorded)},
                     {"write", or_null(stall.write)},
                     {"waiting", stall.thread ? to_json(*stall.thread) : Json(nullptr)},
                     {"site", stall.site},
                     {"issues", or_null(stall.issues)}});
  }
  return json_text(array, -1);
}

std::vector<Stall> parse_stalls(const std::string& array) {
  std::vector<Stall> stalls;
  const Json document = parse_json(array);
  if (!document.is_array()) return stalls;
  for (const Json& each : document) {
    if (each.is_object() && stalls.size() < kMostStalls) stalls.push_back(stall_of(each));
  }
  return stalls;
}

}  // namespace cudadiag::session
