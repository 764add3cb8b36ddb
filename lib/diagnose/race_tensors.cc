#include "diagnose/race_tensors.h"

#include <algorithm>
#include <filesystem>
#include <tuple>
#include <utility>

#include "session/processes.h"

namespace cudadiag::diagnose {
namespace {

using session::by_id;
using session::DeliveredValue;
using session::Delivery;
using session::Process;

bool holds(const DeliveredValue& value, std::uint64_t address) {
  return value.pointer && value.bytes && address >= *value.pointer && address - *value.pointer < *value.bytes;
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
  std::sort(dimensions.begin(), dimensions.end());
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
  const bool is_variable = value->origin == session::ValueOrigin::variable;
  if (is_variable) tensor.name = value->name;
  tensor.view = value->view;
  tensor.role = delivery.kind == session::DeliveryKind::line      ? TensorRole::variable
                : delivery.kind == session::DeliveryKind::results ? TensorRole::result
                                                                  : TensorRole::argument;
  if (tensor.role != TensorRole::variable) tensor.argument = is_variable ? value->parameter : value->name;
  tensor.written = written(delivery, *value, tensor.argument);
  tensor.dtype = value->dtype;
  tensor.device = value->device;
  tensor.shape = value->shape;
  tensor.strides = value->strides;
  // Converts the tensor's addresses to those of the first run.
  tensor.begin = first_begin - (address - *value->pointer);
  tensor.end = tensor.begin + *value->bytes;
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
    return std::any_of(stack.python.begin(), stack.python.end(), [&](const symbolize::PythonFrame& frame) {
      return frame.line == delivery.line &&
             std::filesystem::path(frame.file).filename() == std::filesystem::path(delivery.file).filename();
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

}  // namespace cudadiag::diagnose
