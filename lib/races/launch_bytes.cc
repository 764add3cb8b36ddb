#include "races/launch_bytes.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "wire/operation.h"

namespace cudadiag::races {
namespace {

namespace operation = wire::operation;

constexpr std::uint64_t kLowestAddress = std::uint64_t{1} << 33;  // the upper half of such an address is never 0

template <typename T>
void append(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

const std::vector<sass::ParameterBytes> LaunchBytes::kNone;

const std::vector<sass::ParameterBytes>& LaunchBytes::of(const std::byte* record, std::uint32_t function,
                                                         std::string_view parameters, Memory memory) {
  const bool cut = (wire::load(record, operation::kFlags) & operation::kSaturated) != 0;
  if (parameters.empty() || cut || wire::load(record, operation::kCluster) != 0 || !code_of_) return kNone;
  Codes codes = code_of_(function);
  if (codes.empty() || codes.size() > kMostCodes) return kNone;
  sass::LaunchValues launch;
  launch.grid = {wire::load(record, operation::kGridX), wire::load(record, operation::kGridY),
                 wire::load(record, operation::kGridZ)};
  const std::uint32_t block = wire::load(record, operation::kBlock);
  launch.block = {operation::Block::x(block), operation::Block::y(block), operation::Block::z(block)};
  launch.parameters = parameters;
  launch.addresses = std::move(memory.addresses);
  launch.images = std::move(memory.images);
  std::sort(launch.images.begin(), launch.images.end());
  launch.tensors = std::move(memory.tensors);
  std::sort(launch.tensors.begin(), launch.tensors.end());
  launch.images.erase(std::unique(launch.images.begin(), launch.images.end()), launch.images.end());
  std::sort(launch.addresses.begin(), launch.addresses.end());
  std::erase_if(launch.addresses, [&](std::uint32_t at) {
    std::uint64_t value = 0;
    if (at + sizeof value > launch.parameters.size()) return true;
    std::memcpy(&value, launch.parameters.data() + at, sizeof value);
    std::memset(launch.parameters.data() + at, 0, sizeof value);
    return value < kLowestAddress;
  });
  std::string key;
  append(key, function);
  append(key, launch.grid);
  append(key, launch.block);
  append(key, launch.addresses.size());
  for (const std::uint32_t at : launch.addresses) append(key, at);
  append(key, launch.images.size());
  for (const sass::Image& image : launch.images) {
    for (const std::uint64_t each : {std::uint64_t{image.parameter}, image.width, image.pitch, image.rows, image.layers,
                                     image.slice, image.element}) {
      append(key, each);
    }
  }
  append(key, launch.tensors.size());
  for (const sass::TensorMap& map : launch.tensors) {
    append(key, map.parameter);
    append(key, map.dimensions.size());
    for (const auto& [size, step, box] : map.dimensions) append(key, size), append(key, step), append(key, box);
  }
  key += launch.parameters;
  const auto known = known_.find(key);
  if (known != known_.end() && known->second.codes == codes) return known->second.bytes;
  int& failures = failures_[codes];
  if (failures >= kMostFailures) return kNone;
  if (known_.size() >= kMostKnown) known_.clear();
  std::vector<sass::ParameterBytes> bytes = codes.front()->of(launch);
  const bool agree =
      std::all_of(codes.begin() + 1, codes.end(), [&](const auto& code) { return code->of(launch) == bytes; });
  if (!agree) bytes.clear();
  Known& fresh = known_[key] = {std::move(codes), std::move(bytes)};
  failures = fresh.bytes.empty() ? failures + 1 : 0;
  return fresh.bytes;
}

std::vector<sass::HandleUse> LaunchBytes::handles(std::uint32_t function) {
  if (function == 0 || !code_of_) return {};
  const Codes codes = code_of_(function);
  if (codes.empty() || codes.size() > kMostCodes) return {};
  const auto& first = codes.front()->accesses().handles;
  const bool agree =
      std::all_of(codes.begin(), codes.end(), [&](const auto& code) { return code->accesses().handles == first; });
  if (!agree) return {};
  return {first.begin(), first.end()};
}

bool LaunchBytes::may_write_elsewhere(std::uint32_t function) {
  if (!code_of_) return true;
  const auto known = writes_elsewhere_.find(function);
  if (known != writes_elsewhere_.end()) return known->second;
  const Codes codes = code_of_(function);
  if (codes.empty()) return true;  // not stored, because the code may become known
  return writes_elsewhere_[function] = std::any_of(codes.begin(), codes.end(), [](const auto& code) {
           return !code->accesses().known || code->accesses().writes_elsewhere;
         });
}

}  // namespace cudadiag::races
