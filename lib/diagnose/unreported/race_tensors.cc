// The tensors that race: their names, the bytes that they share, and the races that a run found by following operators.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>
#include <tuple>

#include "base/text.h"
#include "diagnose/failure/finding_builder.h"
#include "diagnose/hook_values.h"
#include "diagnose/line_resolver.h"
#include "diagnose/unreported/findings.h"
#include "diagnose/words.h"
#include "session/session.h"
#include "symbolize/source_file.h"

namespace cudadiag::diagnose {
namespace {

constexpr std::uint64_t kMostPieces = 1u << 20;  // limit for the tensor that has fewer pieces
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 46;
constexpr std::size_t kMostDimensions = 16;

// Returns the size of an element: 4 for "float32", 2 for "bfloat16", 1 for "bool" and "float8_e4m3fn"; 0 if unknown.
std::uint64_t element_bytes(std::string_view type) {
  if (type == "bool") return 1;
  const std::size_t at = type.find_first_of("0123456789");
  if (at == type.npos) return 0;
  unsigned bits = 0;
  std::from_chars(type.data() + at, type.data() + type.size(), bits);
  return bits % 8 == 0 ? bits / 8 : 0;
}

std::uint64_t pieces(const StridedBytes& bytes) {
  std::uint64_t count = 1;
  for (const auto& dimension : bytes.dimensions) count *= dimension.count;
  return count;
}

// Counts the bytes of the `depth` innermost dimensions, placed at `begin`, that are in [first, last).
std::uint64_t count_in(const StridedBytes& bytes, std::uint64_t begin, std::size_t depth, std::uint64_t first,
                       std::uint64_t last) {
  if (depth == 0) {
    const std::uint64_t low = std::max(begin, first), high = std::min(begin + bytes.width, last);
    return high > low ? high - low : 0;
  }
  const auto [count, pitch] = bytes.dimensions[depth - 1];
  std::uint64_t span = bytes.width, whole = bytes.width;
  for (std::size_t i = 0; i + 1 < depth; ++i) {
    span += (bytes.dimensions[i].count - 1) * bytes.dimensions[i].pitch;
    whole *= bytes.dimensions[i].count;
  }
  // The parts of this dimension do not overlap. A part at an edge of the range may be only partly inside the range.
  if (last <= begin) return 0;
  const std::uint64_t from = first > begin ? std::min((first - begin) / pitch, count) : 0;
  const std::uint64_t to = std::min((last - begin - 1) / pitch + 1, count);  // end of the parts that begin in range
  std::uint64_t found = 0;
  for (std::uint64_t part = from; part < to; ++part) {
    const std::uint64_t at = begin + part * pitch;
    if (at >= first && at + span <= last) {
      // All parts that follow are in the range too, except possibly the last one.
      const std::uint64_t inside = std::max(part + 1, to - 1) - part;
      found += inside * whole;
      part += inside - 1;
      continue;
    }
    found += count_in(bytes, at, depth - 1, first, last);
  }
  return found;
}

std::uint64_t count_in(const StridedBytes& bytes, std::uint64_t first, std::uint64_t last) {
  return count_in(bytes, bytes.begin, bytes.dimensions.size(), first, last);
}

// first_in() returns the address of the first byte of `bytes` that is in [first, last). end_in() returns the address
// after the last of these bytes. At least one of the bytes must be in the range.
std::uint64_t first_in(const StridedBytes& bytes, std::uint64_t first, std::uint64_t last) {
  std::uint64_t none_before = first, one_before = last;
  while (one_before - none_before > 1) {
    const std::uint64_t middle = none_before + (one_before - none_before) / 2;
    (count_in(bytes, first, middle) > 0 ? one_before : none_before) = middle;
  }
  return one_before - 1;
}

std::uint64_t end_in(const StridedBytes& bytes, std::uint64_t first, std::uint64_t last) {
  const std::uint64_t all = count_in(bytes, first, last);
  std::uint64_t too_few = first, enough = last;
  while (enough - too_few > 1) {
    const std::uint64_t middle = too_few + (enough - too_few) / 2;
    (count_in(bytes, first, middle) == all ? enough : too_few) = middle;
  }
  return enough;
}

// Calls `visit` with the address of each piece, in ascending order.
template <typename Visit>
void each_piece(const StridedBytes& bytes, std::uint64_t begin, std::size_t depth, const Visit& visit) {
  if (depth == 0) return visit(begin);
  const auto [count, pitch] = bytes.dimensions[depth - 1];
  for (std::uint64_t i = 0; i < count; ++i) each_piece(bytes, begin + i * pitch, depth - 1, visit);
}

}  // namespace

std::uint64_t StridedBytes::end() const {
  std::uint64_t end = begin + width;
  for (const Dimension& dimension : dimensions) end += (dimension.count - 1) * dimension.pitch;
  return end;
}

std::optional<StridedBytes> strided_bytes(const RaceTensor& tensor) {
  const std::uint64_t element = element_bytes(tensor.dtype);
  if (element == 0 || tensor.shape.size() != tensor.strides.size() || tensor.shape.size() > kMostDimensions)
    return std::nullopt;
  StridedBytes bytes{tensor.begin, element, {}};
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    const std::int64_t count = tensor.shape[i], stride = tensor.strides[i];
    if (count < 1 || stride < 0) return std::nullopt;
    if (count == 1 || stride == 0) continue;  // an expanded dimension repeats the same bytes
    const auto wide = static_cast<std::uint64_t>(count), pitch = static_cast<std::uint64_t>(stride) * element;
    if (wide > kMostBytes || pitch > kMostBytes / wide) return std::nullopt;
    bytes.dimensions.push_back({wide, pitch});
  }
  std::ranges::sort(bytes.dimensions, [](const auto& a, const auto& b) {
    return std::tie(a.pitch, a.count) < std::tie(b.pitch, b.count);
  });
  std::vector<StridedBytes::Dimension> merged;
  for (const StridedBytes::Dimension& dimension : bytes.dimensions) {
    if (merged.empty() && dimension.pitch == bytes.width) {
      bytes.width *= dimension.count;
    } else if (!merged.empty() && dimension.pitch == merged.back().pitch * merged.back().count) {
      merged.back().count *= dimension.count;
    } else {
      // The parts of this dimension overlap, as the windows of unfold() do.
      if (dimension.pitch < StridedBytes{0, bytes.width, merged}.end()) return std::nullopt;
      merged.push_back(dimension);
    }
  }
  bytes.dimensions = std::move(merged);
  return bytes;
}

std::optional<RaceOverlap> overlap(const StridedBytes& a, const StridedBytes& b) {
  const StridedBytes &few = pieces(a) <= pieces(b) ? a : b, &many = &few == &a ? b : a;
  if (pieces(few) > kMostPieces) return std::nullopt;
  RaceOverlap found;
  each_piece(few, few.begin, few.dimensions.size(), [&](std::uint64_t begin) {
    const std::uint64_t end = begin + few.width, bytes = count_in(many, begin, end);
    if (bytes == 0) return;
    if (found.bytes == 0) found.begin = first_in(many, begin, end);
    found.end = end_in(many, begin, end);
    found.bytes += bytes;
  });
  return found;
}

namespace {

using session::by_id;
using session::DeliveredValue;
using session::Delivery;
using session::Process;

bool holds(const DeliveredValue& value, std::uint64_t address) {
  return value.pointer && value.extent && address >= *value.pointer && address - *value.pointer < *value.extent;
}

// Returns the value that contains `address`. Prefers a written value, then a value that begins at `address`.
const DeliveredValue* holder(const Delivery& delivery, std::uint64_t address) {
  const auto rank = [&](const DeliveredValue& value) {
    return std::pair(value.written == true, value.pointer == address);
  };
  const DeliveredValue* best = nullptr;
  for (const DeliveredValue& value : delivery.values) {
    if (holds(value, address) && (best == nullptr || rank(value) > rank(*best))) best = &value;
  }
  return best;
}

// Returns whether the operator writes the value. Schemas of PyTorch's own operators are reliable, except about the
// running statistics that a normalisation updates.
std::optional<bool> written(const Delivery& delivery, const DeliveredValue& value, const std::string& argument) {
  if (value.written == true) return true;
  const bool reliable = delivery.op.starts_with("aten::") && !argument.starts_with("running_");
  return value.written && reliable ? std::optional(false) : std::nullopt;
}

// Returns true if the elements cover the range from the first to the last without gaps or overlaps.
bool is_dense(const DeliveredValue& value) {
  if (value.shape.size() != value.strides.size() || value.shape.size() > 16) return false;
  std::vector<std::pair<std::int64_t, std::int64_t>> dimensions;
  for (std::size_t i = 0; i < value.shape.size(); ++i) {
    if (value.shape[i] != 1) dimensions.emplace_back(value.strides[i], value.shape[i]);
  }
  std::ranges::sort(dimensions);
  std::int64_t expected = 1;
  for (const auto& [stride, size] : dimensions) {
    if (stride != expected || size <= 0 || expected > (std::int64_t{1} << 46) / size) return false;
    expected *= size;
  }
  return true;
}

NamedAccess named(const Delivery& delivery, const DeliveredValue* value, std::uint64_t address,
                  std::uint64_t first_begin) {
  NamedAccess access;
  if (delivery.kind != session::DeliveryKind::line) {
    access.op = delivery.op + (delivery.overload.empty() ? "" : "." + delivery.overload);
    access.schema = delivery.schema;
  }
  if (value == nullptr) return access;
  RaceTensor& tensor = access.tensor.emplace();
  const bool is_variable = value->origin == session::NameSource::variable;
  if (is_variable) tensor.name = value->name;
  tensor.view = value->view;
  tensor.role = delivery.kind == session::DeliveryKind::line      ? TensorRole::variable
                : delivery.kind == session::DeliveryKind::results ? TensorRole::result
                                                                  : TensorRole::argument;
  if (tensor.role != TensorRole::variable) tensor.argument = is_variable ? value->in_schema : value->name;
  tensor.written = written(delivery, *value, tensor.argument);
  static_cast<session::TensorType&>(tensor) = *value;
  // Converts the tensor's addresses to those of the first run.
  tensor.begin = first_begin - (address - *value->pointer);
  tensor.end = tensor.begin + *value->extent;
  access.whole = tensor.role != TensorRole::variable && delivery.whole && is_dense(*value) && tensor.end > tensor.begin;
  return access;
}

// The messages that the hook sent before and after one operator call.
struct Call {
  const Delivery *before = nullptr, *behind = nullptr;
};
std::optional<Call> call_at(const Process& process, std::uint32_t tid, std::uint64_t ticks) {
  Call call;
  for (const Delivery& delivery : process.deliveries) {
    if (delivery.tid != tid) continue;
    if (delivery.kind == session::DeliveryKind::call && delivery.ticks <= ticks) call = {&delivery, nullptr};
    if (delivery.kind == session::DeliveryKind::results && call.before != nullptr && call.behind == nullptr)
      call.behind = &delivery;
  }
  if (call.behind == nullptr || call.behind->ticks < ticks || call.behind->op != call.before->op) return std::nullopt;
  return call;
}

}  // namespace

RaceTensors::RaceTensors(const session::Session& session, const ResolveSite& resolve) : resolve_(resolve) {
  for (std::size_t i = 0; i < session.rerun_races.size() && i < session.reruns.size(); ++i) {
    if (!session.rerun_races[i] || i + 1 >= session.manifest.passes.size()) continue;
    races_ = &*session.rerun_races[i];
    processes_ = &session.reruns[i];
    cut_short_ = word(session.manifest.passes[i + 1].cut_short);
  }
}

const analyse::SiteKeys& RaceTensors::keys(const Process& process) {
  return keys_.try_emplace(&process, process.record).first->second;
}

bool RaceTensors::same_side(const session::RaceAccess& a, const Process& of_a, const session::RaceAccess& b,
                            const Process& of_b) {
  if (a.what != b.what || a.parameter != b.parameter || (a.node == 0) != (b.node == 0)) return false;
  const auto kernel = [](const session::RaceAccess& access, const Process& process) {
    const std::string* name = by_id(process.record.functions, access.function);
    return name == nullptr ? std::string() : *name;
  };
  if (kernel(a, of_a) != kernel(b, of_b)) return false;
  const session::Site* site = by_id(of_b.record.sites, b.site);
  if (site == nullptr) return false;
  const auto key = keys(of_b).of_site(b.site);
  // In the rerun, the Python hook recorded the site, so the site has no native stack.
  return keys(of_a).of_site(a.site) == key || (site->native == 0 && keys(of_a).of_hooked_site(a.site) == key);
}

RaceTensors::Match RaceTensors::match(const session::Race& race, const Process& process) {
  for (const auto* list : {&races_->found, &races_->unjudged}) {
    for (const session::Race& other : *list) {
      const Process* there = process_of(*processes_, other.pid);
      if (there == nullptr) continue;
      for (const bool swapped : {false, true}) {
        const session::RaceAccess& first = swapped ? other.second : other.first;
        const session::RaceAccess& second = swapped ? other.first : other.second;
        const bool same =
            same_side(race.first, process, first, *there) && same_side(race.second, process, second, *there);
        if (same) return {&other, there, swapped};
      }
    }
  }
  return {};
}

NamedAccess RaceTensors::name(const session::RaceAccess& access, const Process& process, std::uint64_t first_begin) {
  const session::Site* site = by_id(process.record.sites, access.site);
  if (site == nullptr || access.thread >= process.record.threads.size()) return {};
  const bool of_operator = site->native == 0;
  const bool of_graph = access.node != 0;
  const std::uint32_t tid = process.record.threads[access.thread].tid;
  const symbolize::SourceStack stack = resolve_(process, access.site).second;
  const auto is_of_line = [&](const Delivery& delivery) {
    return std::ranges::any_of(stack.python, [&](const symbolize::PythonFrame& frame) {
      return frame.line == delivery.line && base::file_name(frame.file) == base::file_name(delivery.file);
    });
  };
  if (of_operator && !of_graph) {
    if (const auto call = call_at(process, tid, access.ticks); call && is_of_line(*call->before)) {
      for (const Delivery* delivery : {call->before, call->behind}) {
        if (const auto* value = holder(*delivery, access.begin)) {
          return named(*delivery, value, access.begin, first_begin);
        }
      }
      return named(*call->before, nullptr, access.begin, first_begin);
    }
  }
  // The hook did not report this call: it had nothing new to report, or the operation belongs to a graph that was
  // captured earlier. The answer is certain only if all reported uses of the address at this line are alike.
  const auto alike = [](const NamedAccess& a, const NamedAccess& b) {
    return a.schema == b.schema && std::tie(a.tensor->argument, a.tensor->name, a.tensor->dtype, a.tensor->shape) ==
                                       std::tie(b.tensor->argument, b.tensor->name, b.tensor->dtype, b.tensor->shape);
  };
  std::optional<NamedAccess> found;
  for (const Delivery& delivery : process.deliveries) {
    if (delivery.kind == session::DeliveryKind::untold) return {};
    const bool is_operator =
        delivery.kind == session::DeliveryKind::call || delivery.kind == session::DeliveryKind::results;
    if ((!is_operator && delivery.kind != session::DeliveryKind::line) || is_operator != of_operator) continue;
    if ((delivery.tid != tid && !of_graph) || !is_of_line(delivery)) continue;
    const DeliveredValue* value = holder(delivery, access.begin);
    if (value == nullptr) continue;
    NamedAccess one = named(delivery, value, access.begin, first_begin);
    if (found && !alike(*found, one)) return {};
    found = std::move(one);
  }
  return found.value_or(NamedAccess{});
}

std::optional<RaceTensors::Pair> RaceTensors::find(const session::Race& race, const Process& process) {
  if (races_ == nullptr) return std::nullopt;
  const Match found = match(race, process);
  if (found.race == nullptr) return std::nullopt;
  const session::RaceAccess& first = found.swapped ? found.race->second : found.race->first;
  const session::RaceAccess& second = found.swapped ? found.race->first : found.race->second;
  return Pair{name(first, *found.process, race.first.begin), name(second, *found.process, race.second.begin)};
}

namespace {

using session::DeliveredRace;

constexpr std::uint64_t kDefaultStream = 1;  // CU_STREAM_LEGACY of cuda.h; PyTorch calls this stream 0

RaceTensor tensor_of(const session::DeliveredValue& value) {
  RaceTensor tensor;
  tensor.name = value.name;
  tensor.view = value.view;
  tensor.argument = value.in_schema;
  tensor.role = value.in_schema.starts_with("result") ? TensorRole::result : TensorRole::argument;
  tensor.written = value.written;
  static_cast<session::TensorType&>(tensor) = value;
  tensor.begin = value.pointer.value_or(0);
  tensor.end = tensor.begin + value.extent.value_or(0);
  return tensor;
}

ResolvedAccess resolved(const DeliveredRace::Access& from, const Process& process,
                        const symbolize::Symbolizer& symbolizer) {
  ResolvedAccess access;
  access.operation = from.on_host ? session::Work::call : session::Work::kernel;
  access.mode = from.tensor.written == true ? session::RaceMode::write : session::RaceMode::read;
  access.stream = from.stream == 0 ? kDefaultStream : from.stream;
  access.on_host = from.on_host;
  access.exact = true;
  access.op = from.op;
  access.tensor = tensor_of(from.tensor);
  access.begin = access.tensor->begin;
  access.end = access.tensor->end;
  access.judged_by_schema = true;
  access.stack = symbolizer.stack(process, from.stack);
  access.location = located(line_of_user(access.stack));
  return access;
}

std::string actor_of(const ResolvedAccess& access) {
  return access.on_host ? "the host" : stream_phrase(access.stream);
}

const char* use_verb(const ResolvedAccess& access) { return session::alters(access.mode) ? "is written" : "is read"; }

// If both lines use the same variable, returns its name, else "memory".
std::string memory_of(const ResolvedRace& race) {
  const RaceTensor &first = *race.accesses[0].tensor, &second = *race.accesses[1].tensor;
  if (!first.name.empty() && first.name == second.name) return first.name;
  return "memory";
}

void describe(Finding& finding, const DeliveredRace& from) {
  ResolvedRace& race = *finding.race;
  const ResolvedAccess &first = race.accesses[0], &second = race.accesses[1];
  const std::string a = actor_of(first);
  const bool alike = first.stream == second.stream && !first.on_host && !second.on_host;
  const std::string b = alike ? other_stream_phrase(second.stream) : actor_of(second);
  finding.text = fmt::format("{} {} on {} and {} on {}, and nothing orders the two", memory_of(race), use_verb(first),
                             a, use_verb(second), b);
  race.missing =
      fmt::format("{} {} {}", b, from.waited_before ? "waited only for earlier work on" : "never waited for", a);
  finding.fix.push_back(second.on_host ? "before this line, wait for " + a + ": stream.synchronize(), or an event"
                                       : "before this line, make " + b + " wait for " + a +
                                             ": stream.wait_stream(other), or an event");
  finding.evidence = {analyse::Fact::matched,
                      "no PyTorch event or wait orders the two, and their tensors share these bytes; cudadiag does not "
                      "see waits by other libraries"};
}

Finding finding_of(const DeliveredRace& from, const Process& process, const session::Session& session,
                   const symbolize::Symbolizer& symbolizer) {
  Finding finding = finding_in(process, session, analyse::Kind::stream_race, "race between two streams");
  ResolvedRace& race = finding.race.emplace();
  race.accesses = {resolved(from.first, process, symbolizer), resolved(from.second, process, symbolizer)};
  race.overlap = RaceOverlap{from.begin, from.end, from.bytes};
  lead_with(finding, race.accesses[1].location, race.accesses[1].stack);
  describe(finding, from);
  return finding;
}

bool same_lines(const Finding& a, const Finding& b) {
  const auto &x = a.race->accesses, &y = b.race->accesses;
  const auto both = [&](std::size_t first, std::size_t second) {
    return same_line(x[0].location, y[first].location) && same_line(x[1].location, y[second].location);
  };
  return both(0, 1) || both(1, 0);
}

}  // namespace

void add_tensor_races(Diagnosis& report, const session::Session& session, const symbolize::Symbolizer& symbolizer) {
  std::vector<Finding> found;
  for (const Process& process : session.processes) {
    for (const session::Delivery& delivery : process.deliveries) {
      if (!delivery.race) continue;
      Finding finding = finding_of(*delivery.race, process, session, symbolizer);
      const auto& accesses = finding.race->accesses;
      const bool has_lines = accesses[0].location.line > 0 && accesses[1].location.line > 0;
      const auto same = std::ranges::find_if(found, [&](const Finding& other) { return same_lines(other, finding); });
      if (!has_lines) continue;
      same == found.end() ? found.push_back(std::move(finding)) : void(++same->race->times);
    }
  }
  add_findings(report, std::move(found));
}

}  // namespace cudadiag::diagnose
