#include "session/hook_output.h"

#include <fcntl.h>

#include <algorithm>
#include <deque>
#include <iterator>

#include "base/files.h"
#include "base/text.h"
#include "session/json_fields.h"
#include "session/session_files.h"
#include "wire/rerun.h"

namespace cudadiag::session {
namespace {

constexpr base::Words<NameSource, 3> kOrigins = {{
    {NameSource::schema, "operator"},
    {NameSource::variable, "variable"},
    {NameSource::kernel, "kernel"},
}};

constexpr base::Words<DeliveryKind, 14> kDeliveries = {{
    {DeliveryKind::call, "operator"},
    {DeliveryKind::results, "results"},
    {DeliveryKind::line, "line"},
    {DeliveryKind::watched, "watched"},
    {DeliveryKind::forward, "forward"},
    {DeliveryKind::started, "started"},
    {DeliveryKind::memory, "memory"},
    {DeliveryKind::untold, "untold"},
    {DeliveryKind::non_finite, "non_finite"},
    {DeliveryKind::origin, "origin"},
    {DeliveryKind::race, "race"},
    {DeliveryKind::recycled, "recycled"},
    {DeliveryKind::note, "note"},
    {DeliveryKind::checking, "checking"},
}};

using OriginRole = DeliveredOrigin::Role;
constexpr base::Words<OriginRole, 4> kOriginRoles = {{
    {OriginRole::made, "made"},
    {OriginRole::passed, "passed"},
    {OriginRole::copied, "copied"},
    {OriginRole::loaded, "loaded"},
}};

using State = DeliveredNonFinite::State;
constexpr base::Words<State, 4> kStates = {{
    {State::candidate, "candidate"},
    {State::found, "found"},
    {State::asked, "asked"},
    {State::asked_last, "asked last"},
}};

using ValueRole = DeliveredNonFinite::Role;
constexpr base::Words<ValueRole, 4> kValueRoles = {{
    {ValueRole::made, "made"},
    {ValueRole::passed, "passed"},
    {ValueRole::loaded, "loaded"},
    {ValueRole::uninitialised, "uninitialised"},
}};

using Use = DeliveredNonFinite::Use;
constexpr base::Words<Use, 11> kUses = {{
    {Use::other, ""},
    {Use::parameter, "parameter"},
    {Use::loss, "loss"},
    {Use::number, "number"},
    {Use::printed, "printed"},
    {Use::saved, "saved"},
    {Use::array, "array"},
    {Use::gradient, "gradient"},
    {Use::exception, "exception"},
    {Use::compared, "compared"},
    {Use::refused, "refused"},
}};

constexpr std::size_t kMostLines = 8192;
constexpr std::size_t kMostValues = 64, kMostDimensions = 64;
constexpr std::size_t kMostStacks = 8, kMostFrames = 64;

std::optional<Number> number_of(const Json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end() || !it->is_number()) return std::nullopt;
  if (const auto exact = integer<std::int64_t>(*it)) return *exact;
  return it->get<double>();
}

template <typename T = std::int64_t>
std::vector<T> integers_of(const Json& object, const char* key) {
  std::vector<T> found;
  for (const Json& each : list_of(object, key)) {
    const auto value = integer<T>(each);
    if (!value || found.size() == kMostDimensions) break;
    found.push_back(*value);
  }
  return found;
}

// Returns "float32" for "<f4", the notation of __cuda_array_interface__.
std::string type_name(std::string text) {
  constexpr std::pair<char, const char*> kKinds[] = {
      {'i', "int"}, {'u', "uint"}, {'f', "float"}, {'c', "complex"}, {'b', "bool"}};
  const bool numbered = text.size() > 2 && text.size() < 5 &&
                        std::string_view("<>|=").find(text[0]) != std::string_view::npos &&
                        text.find_first_not_of("0123456789", 2) == std::string::npos;
  for (const auto& [letter, kind] : kKinds) {
    if (!numbered || text[1] != letter) continue;
    return letter == 'b' ? kind : kind + std::to_string(8 * std::stoi(text.substr(2)));
  }
  return text;
}

DeliveredValue value_of(const Json& object) {
  DeliveredValue value;
  value.name = short_text_of(object, "name");
  value.origin = base::value_of(kOrigins, short_text_of(object, "origin")).value_or(NameSource::schema);
  if (value.origin == NameSource::kernel) value.origin = NameSource::schema;
  value.in_schema = short_text_of(object, "parameter");
  value.dtype = type_name(short_text_of(object, "dtype"));
  value.device = short_text_of(object, "device");
  value.value = short_text_of(object, "value");
  value.shape = integers_of(object, "shape");
  value.strides = integers_of(object, "strides");
  value.first_outside = integers_of(object, "first_outside");
  value.min = number_of(object, "min");
  value.max = number_of(object, "max");
  value.first_value = number_of(object, "first_value");
  value.nan = integer_of<std::uint64_t>(object, "nan");
  value.inf = integer_of<std::uint64_t>(object, "inf");
  value.outside = integer_of<std::uint64_t>(object, "outside");
  value.pointer = integer_of<std::uint64_t>(object, "pointer");
  value.bound = integer_of<std::int64_t>(object, "bound");
  value.extent = integer_of<std::uint64_t>(object, "bytes");
  if (object.contains("written")) value.written = bool_of(object, "written");
  value.view = bool_of(object, "view");
  return value;
}

std::vector<DeliveredFrame> frames_of(const Json& stack) {
  std::vector<DeliveredFrame> frames;
  for (const Json& frame : stack) {
    if (!frame.is_array() || frame.size() != 3 || !frame[0].is_string() || !frame[2].is_string()) continue;
    if (frames.size() == kMostFrames) break;
    frames.push_back({short_text(frame[0]), short_text(frame[2]), integer<std::int32_t>(frame[1]).value_or(0)});
  }
  return frames;
}

DeliveredMemory memory_of(const Json& object) {
  DeliveredMemory memory;
  memory.asked = count_of(object, "asked");
  memory.reserved = count_of(object, "reserved");
  memory.allocated = count_of(object, "allocated");
  memory.largest_free = count_of(object, "largest_free");
  for (const Json& holder : list_of(object, "holders")) {
    const auto frames = holder.find("frames");
    if (memory.holders.size() == kMostValues || frames == holder.end() || !frames->is_array()) continue;
    memory.holders.push_back({count_of(holder, "bytes"), count_of(holder, "count"), frames_of(*frames)});
  }
  for (const Json& each : list_of(object, "exceptions")) {
    if (!each.is_object() || memory.exceptions.size() == kMostStacks) continue;
    memory.exceptions.push_back({short_text_of(each, "type"), short_text_of(each, "file"),
                                 integer_of<std::int32_t>(each, "line").value_or(0), count_of(each, "bytes")});
  }
  return memory;
}

// Returns the table's first value for an unknown word.
template <typename Value, std::size_t size>
Value value_of_word(const Json& object, const char* key, const base::Words<Value, size>& words) {
  return base::value_of(words, short_text_of(object, key)).value_or(words.front().first);
}

std::vector<DeliveredFrame> frames(const Json& from, const char* key) { return frames_of(list_of(from, key)); }

DeliveredOrigin origin_of(const Json& object) {
  DeliveredOrigin origin;
  origin.index = integers_of(object, "index");
  origin.value = number_of(object, "value");
  origin.certain = bool_of(object, "certain");
  origin.stack = frames(object, "stack");
  for (const Json& step : list_of(object, "origin")) {
    if (!step.is_object() || origin.steps.size() == kMostStacks) break;
    origin.steps.push_back({value_of_word(step, "role", kOriginRoles), short_text_of(step, "operator"),
                            number_of(step, "value"), integer_of<std::int64_t>(step, "batch"),
                            integer_of<std::int64_t>(step, "sample"), frames(step, "stack")});
  }
  return origin;
}

DeliveredRace::Access race_access_of(const Json& object, const char* key) {
  DeliveredRace::Access access;
  const auto it = object.find(key);
  if (it == object.end() || !it->is_object()) return access;
  access.op = short_text_of(*it, "operator");
  access.tensor = value_of(*it);
  access.stream = count_of(*it, "stream");
  access.on_host = bool_of(*it, "on_host");
  access.stack = frames(*it, "stack");
  return access;
}

DeliveredRace delivered_race(const Json& object) {
  return {race_access_of(object, "first"), race_access_of(object, "second"), bool_of(object, "waited_before"),
          count_of(object, "begin"),       count_of(object, "end"),          count_of(object, "bytes")};
}

// Returns nullopt if a stack is missing.
std::optional<DeliveredRecycled> recycled_of(const Json& object) {
  const auto small = [&](const char* key) { return integer_of<std::uint32_t>(object, key).value_or(0); };
  const auto stacks = object.find("stacks");
  if (stacks == object.end() || !stacks->is_array() || stacks->size() != 3) return std::nullopt;
  for (const Json& each : *stacks) {
    if (!each.is_array()) return std::nullopt;
  }
  return DeliveredRecycled{small("graph"),
                           small("node"),
                           small("offset"),
                           count_of(object, "address"),
                           count_of(object, "begin"),
                           count_of(object, "bytes"),
                           bool_of(object, "may_be_leftover"),
                           frames_of((*stacks)[0]),
                           frames_of((*stacks)[1]),
                           frames_of((*stacks)[2])};
}

DeliveredNonFinite non_finite_of(const Json& object) {
  DeliveredNonFinite found;
  found.state = value_of_word(object, "state", kStates);
  found.role = value_of_word(object, "role", kValueRoles);
  found.root = count_of(object, "root");
  found.use = value_of_word(object, "used", kUses);
  found.node = short_text_of(object, "node");
  if (object.contains("module")) found.module = short_text_of(object, "module");
  found.module_class = short_text_of(object, "module_class");
  found.dtype = short_text_of(object, "dtype");
  found.step = count_of(object, "step");
  found.shape = integers_of(object, "shape");
  found.index = integers_of(object, "index");
  found.bad = integer_of<std::uint64_t>(object, "bad");
  for (const Json& each : list_of(object, "elements")) {
    if (!each.is_object() || found.elements.size() == kMostValues) continue;
    found.elements.emplace_back(short_text_of(each, "name"), short_text_of(each, "value"));
  }
  found.stack = frames(object, "stack");
  found.forward = frames(object, "forward_stack");
  found.backward = frames(object, "backward_stack");
  found.uses = frames(object, "used_stack");
  found.forward_certain = bool_of(object, "forward_certain", true);
  if (const auto infinite = object.find("infinite"); infinite != object.end() && infinite->is_object()) {
    found.infinite = short_text_of(*infinite, "operator");
    found.infinite_stack = frames(*infinite, "stack");
  }
  return found;
}

std::optional<Delivery> parse(std::string_view text) {
  Delivery delivery;
  if (!base::take_number(text, delivery.tid, ' ') || !base::take_number(text, delivery.ticks, ' ')) return std::nullopt;
  const Json object = parse_json(text);
  if (!object.is_object()) return std::nullopt;
  delivery.kind = base::value_of(kDeliveries, short_text_of(object, "kind")).value_or(DeliveryKind::other);
  delivery.op = short_text_of(object, "operator");
  delivery.overload = short_text_of(object, "overload");
  delivery.schema = short_text_of(object, "schema");
  delivery.whole = bool_of(object, "whole");
  delivery.file = short_text_of(object, "file");
  delivery.visit = count_of(object, "visit");
  delivery.visits = integers_of<std::uint64_t>(object, "visits");
  delivery.milliseconds = count_of(object, "milliseconds");
  delivery.line = integer_of<std::int32_t>(object, "line").value_or(0);
  if (delivery.kind == DeliveryKind::memory) {
    delivery.memory = memory_of(object);
    return delivery;
  }
  if (delivery.kind == DeliveryKind::forward || delivery.kind == DeliveryKind::started) {
    const auto stacks = object.find("stacks");
    if (stacks == object.end() || !stacks->is_array()) return std::nullopt;
    delivery.node = short_text_of(object, "node");
    delivery.pool = bool_of(object, "pool");
    delivery.number = count_of(object, "number");
    for (const Json& stack : *stacks) {
      if (stack.is_array() && delivery.stacks.size() < kMostStacks) delivery.stacks.push_back(frames_of(stack));
    }
    return delivery;
  }
  if (delivery.kind == DeliveryKind::race) {
    delivery.race = delivered_race(object);
    return delivery;
  }
  if (delivery.kind == DeliveryKind::recycled) {
    delivery.recycled = recycled_of(object);
    return delivery.recycled ? std::optional(std::move(delivery)) : std::nullopt;
  }
  if (delivery.kind == DeliveryKind::origin) {
    delivery.origin = origin_of(object);
    return delivery;
  }
  if (delivery.kind == DeliveryKind::non_finite) delivery.non_finite = non_finite_of(object);
  delivery.text = short_text_of(object, delivery.kind == DeliveryKind::checking ? "torch" : "text");
  const auto values = object.find("arguments");
  if (values == object.end() && delivery.non_finite) return delivery;
  if (values == object.end() || !values->is_array()) return std::nullopt;
  for (const Json& value : *values) {
    if (value.is_object() && delivery.values.size() < kMostValues) delivery.values.push_back(value_of(value));
  }
  return delivery;
}

}  // namespace

std::string_view word(NameSource origin) { return base::word_of(kOrigins, origin); }

std::string_view word(DeliveredOrigin::Role role) { return base::word_of(kOriginRoles, role); }

std::string_view word(DeliveredNonFinite::Role role) { return base::word_of(kValueRoles, role); }

std::string_view word(DeliveredNonFinite::Use use) { return base::word_of(kUses, use); }

std::string_view word(DeliveryKind kind) { return base::word_of(kDeliveries, kind); }

std::vector<Delivery> read_deliveries(const std::filesystem::path& file) {
  const auto text = read_plain_file(file, 2 * wire::delivery::kMostBytes);
  return text ? parse_deliveries(*text) : std::vector<Delivery>{};
}

std::vector<Delivery> parse_deliveries(std::string_view text) {
  std::deque<std::string_view> lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.size() > 2 * wire::delivery::kMostLine) continue;
    lines.push_back(line);
    if (lines.size() > kMostLines) lines.pop_front();
  }
  std::vector<Delivery> deliveries;
  for (const std::string_view line : lines) {
    if (auto delivery = parse(line)) deliveries.push_back(std::move(*delivery));
  }
  return deliveries;
}

}  // namespace cudadiag::session
