#include "races/launches.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <utility>

#include "races/access.h"
#include "wire/hash.h"
#include "wire/operation.h"

namespace cudadiag::races {
namespace {

namespace operation = wire::operation;

constexpr std::uint64_t kFarAbove4GiB = std::uint64_t{1} << 33;  // even near such an address, the upper half is never 0

// Zeroes the addresses in the launch's parameters, so that launches that differ only in their addresses are equal.
void zero_addresses(sass::LaunchValues& launch) {
  std::erase_if(launch.addresses, [&](std::uint32_t at) {
    std::uint64_t value = 0;
    if (at + sizeof value > launch.parameters.size()) return true;
    std::memcpy(&value, launch.parameters.data() + at, sizeof value);
    std::memset(launch.parameters.data() + at, 0, sizeof value);
    return value < kFarAbove4GiB;
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

// ---- races between the threads of one launch

namespace {

constexpr std::uint64_t kApart = std::uint64_t{1}
                                 << 44;  // from one allocation to the next, in place of the true addresses

session::RaceMode mode_of(sass::AccessKind kind) {
  if (kind == sass::AccessKind::atomic) return session::RaceMode::atomic;
  return kind == sass::AccessKind::store ? session::RaceMode::write : session::RaceMode::read;
}

}  // namespace

void KernelRaces::launched(const std::byte* record, const session::RaceAccess& access, std::string_view parameters,
                           bool are_known, const std::vector<Pointer>& pointers) {
  bool& checked = checked_.try_emplace(access.function, true).first->second;
  if (!are_known) return void(checked = false);
  Shape shape{values_of(record, parameters), access, pointers};
  sass::LaunchValues& values = shape.values;
  std::vector<std::uint64_t> homes;
  for (const Pointer& pointer : pointers) {
    if (pointer.offset + sizeof(std::uint64_t) > values.parameters.size()) continue;
    const auto home = std::ranges::find(homes, pointer.memory.begin);
    const auto which = static_cast<std::uint64_t>(home - homes.begin());
    if (home == homes.end()) homes.push_back(pointer.memory.begin);
    const std::uint64_t address = (which + 1) * kApart + (pointer.value - pointer.memory.begin);
    std::memcpy(values.parameters.data() + pointer.offset, &address, sizeof address);
    values.addresses.push_back(pointer.offset);
  }
  std::ranges::sort(values.addresses);
  std::string key = values.parameters;
  const auto append = [&key](std::uint32_t word) { key.append(reinterpret_cast<const char*>(&word), sizeof word); };
  append(access.function);
  append(access.site);
  for (const std::uint32_t each : values.addresses) append(each);
  for (const std::uint32_t each : values.grid) append(each);
  append(wire::load(record, wire::operation::kBlock));
  const auto known = known_.find(key);
  if (known != known_.end()) return void(++shapes_[known->second].times);
  std::size_t& count = of_kernel_[access.function];
  if (shapes_.size() >= kMostShapes || count >= kMostOfKernel) return void(checked = false);
  ++count;
  shape.times = 1;
  known_.emplace(std::move(key), shapes_.size());
  shapes_.push_back(std::move(shape));
}

void KernelRaces::judge() {
  constexpr std::chrono::seconds kPatience{10};
  const auto until = std::chrono::steady_clock::now() + kPatience;
  for (; judged_ < shapes_.size(); ++judged_) {
    Shape& shape = shapes_[judged_];
    std::chrono::steady_clock::now() < until ? judge(shape) : void(checked_[shape.access.function] = false);
  }
}

// Several kernels may have one name. We do not know which one was launched, so all of them must race.
void KernelRaces::judge(Shape& shape) {
  constexpr std::size_t kMostCodes = 4;
  bool& checked = checked_[shape.access.function];
  const Codes codes = code_of_(shape.access.function);
  if (codes.empty() || codes.size() > kMostCodes) return void(checked = false);
  std::vector<sass::ThreadRaces> all;
  for (const auto& code : codes) {
    all.push_back(code->thread_races(shape.values));
    checked &= all.back().all_checked;
    if (!all.back().found) return;
  }
  add(shape, *all.front().found);
}

void KernelRaces::add(const Shape& shape, const sass::ThreadRace& race) {
  if (found_.size() >= kMostFound) return;
  session::KernelRace to;
  to.launch = shape.access;
  to.times = shape.times;
  to.in_block = race.first.block == race.second.block;
  const auto use = [&](const sass::ThreadRace::Use& from) {
    session::ThreadAccess to_use;
    to_use.instruction = from.instruction;
    to_use.mode = mode_of(from.kind);
    to_use.block = from.block;
    to_use.thread = from.thread;
    to_use.begin = from.address;
    to_use.end = from.address + from.bytes;
    return to_use;
  };
  to.first = use(race.first);
  to.second = use(race.second);
  // Turns positions relative to the pointer's memory into addresses.
  const Pointer* nearest = nullptr;
  for (const Pointer& pointer : shape.pointers) {
    const std::uint64_t stands = shape.values.word(pointer.offset).value_or(0);
    if (stands / kApart == race.second.address / kApart) nearest = &pointer;
    if (nearest != &pointer) continue;
    const std::uint64_t shift = pointer.value - stands;
    for (session::ThreadAccess* each : {&to.first, &to.second}) {
      each->begin = (each == &to.first ? race.first : race.second).address + shift;
      each->end = each->begin + (each == &to.first ? race.first : race.second).bytes;
    }
  }
  if (nearest != nullptr) {
    to.address = nearest->memory.begin;
    to.bytes = nearest->memory.bytes;
    to.allocated = nearest->memory.site;
  }
  found_.push_back(std::move(to));
}

std::uint64_t KernelRaces::unchecked() const {
  return static_cast<std::uint64_t>(std::ranges::count_if(checked_, [](const auto& each) { return !each.second; }));
}

}  // namespace cudadiag::races
