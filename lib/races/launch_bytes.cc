// Which bytes launches use through their parameters.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "races/access.h"
#include "races/launches.h"
#include "wire/hash.h"
#include "wire/operation.h"

namespace cudadiag::races {
namespace {

namespace operation = wire::operation;

constexpr std::uint64_t kLowestAddress = std::uint64_t{1} << 33;  // the upper half of such an address is never 0

// Zeroes the addresses in the launch's parameters, so that launches that differ only in their addresses are equal.
void zero_addresses(sass::LaunchValues& launch) {
  std::erase_if(launch.addresses, [&](std::uint32_t at) {
    std::uint64_t value = 0;
    if (at + sizeof value > launch.parameters.size()) return true;
    std::memcpy(&value, launch.parameters.data() + at, sizeof value);
    std::memset(launch.parameters.data() + at, 0, sizeof value);
    return value < kLowestAddress;
  });
}

sass::LaunchValues launch_of(const std::byte* record, std::string_view parameters, LaunchBytes::Memory memory) {
  sass::LaunchValues launch = values_of(record, parameters);
  launch.addresses = std::move(memory.addresses);
  std::ranges::sort(launch.addresses);
  zero_addresses(launch);
  launch.images = std::move(memory.images);
  std::ranges::sort(launch.images);
  launch.images.erase(std::unique(launch.images.begin(), launch.images.end()), launch.images.end());
  launch.tensors = std::move(memory.tensors);
  std::ranges::sort(launch.tensors);
  return launch;
}

// Returns the bytes that the launch uses; empty if unknown, or if the kernels use different bytes.
std::vector<sass::ParameterBytes> bytes_of(const Codes& codes, const sass::LaunchValues& launch) {
  std::vector<sass::ParameterBytes> bytes = codes.front()->of(launch);
  const bool agree =
      std::all_of(codes.begin() + 1, codes.end(), [&](const auto& code) { return code->of(launch) == bytes; });
  if (!agree) bytes.clear();
  return bytes;
}

}  // namespace

sass::LaunchValues values_of(const std::byte* record, std::string_view parameters) {
  sass::LaunchValues launch;
  launch.grid = {wire::load(record, operation::kGridX), wire::load(record, operation::kGridY),
                 wire::load(record, operation::kGridZ)};
  const std::uint32_t block = wire::load(record, operation::kBlock);
  launch.block = {operation::Block::x(block), operation::Block::y(block), operation::Block::z(block)};
  launch.parameters = parameters;
  return launch;
}

const std::vector<sass::ParameterBytes> LaunchBytes::kNone;

const std::vector<sass::ParameterBytes>& LaunchBytes::of(const std::byte* record, std::uint32_t function,
                                                         std::string_view parameters, Memory memory) {
  const bool cut = (wire::load(record, operation::kFlags) & operation::kSaturated) != 0;
  if (parameters.empty() || cut || wire::load(record, operation::kCluster) != 0) return kNone;
  Codes codes = code_of_(function);
  if (codes.empty() || codes.size() > kMostCodes) return kNone;
  Launch launch{function, launch_of(record, parameters, std::move(memory))};
  const auto known = known_.find(launch);
  if (known != known_.end() && known->second.codes == codes) return known->second.bytes;
  int& failures = failures_[codes];
  if (failures >= kMostFailures) return kNone;
  if (known_.size() >= kMostKnown) known_.clear();
  std::vector<sass::ParameterBytes> bytes = bytes_of(codes, launch.values);
  failures = bytes.empty() ? failures + 1 : 0;
  return (known_[std::move(launch)] = {std::move(codes), std::move(bytes)}).bytes;
}

// Leaves out images and tensors: launches rarely differ in these alone.
std::size_t LaunchBytes::HashOfLaunch::operator()(const Launch& launch) const {
  const sass::LaunchValues& values = launch.values;
  std::uint64_t hash = wire::mix(wire::hash_bytes(values.parameters.data(), values.parameters.size()), launch.function);
  for (const std::uint32_t size : values.grid) hash = wire::mix(hash, size);
  for (const std::uint32_t size : values.block) hash = wire::mix(hash, size);
  return hash;
}

std::vector<sass::HandleUse> LaunchBytes::handles(std::uint32_t function) {
  if (function == 0) return {};
  const Codes codes = code_of_(function);
  if (codes.empty() || codes.size() > kMostCodes) return {};
  const auto& first = codes.front()->accesses().handles;
  const bool agree = std::ranges::all_of(codes, [&](const auto& code) { return code->accesses().handles == first; });
  if (!agree) return {};
  return {first.begin(), first.end()};
}

bool LaunchBytes::may_wait_for_host(std::uint32_t function) const {
  const Codes codes = code_of_(function);
  return codes.empty() || std::ranges::any_of(codes, [](const auto& code) { return code->uses_system_scope(); });
}

bool LaunchBytes::may_write(std::uint32_t function, std::uint32_t parameter) const {
  const Codes codes = code_of_(function);
  return codes.empty() ||
         std::ranges::any_of(codes, [&](const auto& code) { return may_alter(code->accesses().mode(parameter)); });
}

bool LaunchBytes::may_write_elsewhere(std::uint32_t function) {
  const auto known = writes_elsewhere_.find(function);
  if (known != writes_elsewhere_.end()) return known->second;
  const Codes codes = code_of_(function);
  if (codes.empty()) return true;  // not stored, because the code may become known
  return writes_elsewhere_[function] = std::ranges::any_of(
             codes, [](const auto& code) { return !code->accesses().known || code->accesses().writes_elsewhere; });
}

}  // namespace cudadiag::races
