// Which threads of one launch race.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "races/launches.h"
#include "wire/operation.h"

namespace cudadiag::races {
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
