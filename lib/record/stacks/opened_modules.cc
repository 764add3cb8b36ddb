#include "record/stacks/opened_modules.h"

#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include <algorithm>
#include <string_view>

#include "record/stacks/return_address.h"

namespace cudadiag::record {

namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr std::uintptr_t kPage = 4096;  // the smallest page size

std::uint64_t read_words(std::uintptr_t at) {
  std::uint64_t words = 0;
  memcpy(&words, reinterpret_cast<const void*>(at), sizeof words);
  return words;
}

bool is_cuda_s(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);
  return path.starts_with("libcu") || path.starts_with("libnv");
}

}  // namespace

void OpenedModules::start() {
  LoadedModule program;
  if (Modules::find(getauxval(AT_PHDR), program)) program_ = program.map;
}

// The modules up to the dynamic linker in the linker's list were loaded at program start, and are never unloaded. Some
// later modules are never unloaded either, but we cannot tell which.
bool OpenedModules::came_with_program(const LoadedModule& module) const {
  const std::uintptr_t linker = getauxval(AT_BASE);
  for (const link_map* each = linker == 0 ? nullptr : program_; each != nullptr; each = each->l_next) {
    if (each == module.map) return true;
    if (each->l_addr == linker) return false;
  }
  return true;
}

// Returns the entry of an earlier module at the same address. If there is none, returns a new entry. If all entries are
// used, returns the entry of a closed module, or the number of entries if no module is closed.
std::size_t OpenedModules::place_for(std::uintptr_t begin) const {
  const std::size_t count = count_.load(kRelaxed);
  for (std::size_t i = 0; i < count; ++i) {
    if (modules_[i].begin.load(kRelaxed) == begin) return i;
  }
  std::size_t place = count;
  if (count == modules_.size()) {
    for (place = 0; place < count && is_occupied(modules_[place]);) ++place;
  }
  return place;
}

void OpenedModules::met(const LoadedModule& module, std::uint64_t identity) {
  if (module.map == nullptr || is_cuda_s(module.map->l_name) || came_with_program(module)) return;
  const LockGuard lock(mutex_);
  const std::size_t place = place_for(module.begin);
  if (place == modules_.size()) return;
  modules_[place].begin.store(module.begin, kRelaxed);
  modules_[place].end.store(module.end, kRelaxed);
  modules_[place].identity.store(identity, kRelaxed);
  const auto words = reinterpret_cast<std::uintptr_t>(module.build_id.data());
  const bool near =
      module.build_id.size() >= sizeof(std::uint64_t) && words + sizeof(std::uint64_t) <= module.begin + kPage;
  modules_[place].words.store(near ? words : 0, kRelaxed);
  modules_[place].first_words.store(near ? read_words(words) : 0, kRelaxed);
  count_.store(std::max(count_.load(kRelaxed), place + 1), std::memory_order_release);
}

std::uint8_t OpenedModules::in(const StackShape& shape, std::uintptr_t stack_pointer) const {
  const std::size_t count = count_.load(std::memory_order_acquire);
  for (std::size_t frame = 0; count > 0 && frame < shape.frames; ++frame) {
    const std::uintptr_t address = return_address_at(stack_pointer + shape.offsets[frame]);
    for (std::size_t i = 0; i < count; ++i) {
      if (address > modules_[i].begin.load(kRelaxed) && address <= modules_[i].end.load(kRelaxed)) {
        return static_cast<std::uint8_t>(i + 1);
      }
    }
  }
  return 0;
}

// Returns true if a module of the same size, possibly a different one, is at the address now.
bool OpenedModules::is_occupied(const Module& place) {
  const std::uintptr_t begin = place.begin.load(kRelaxed);
  FoundObject now;
  return Modules::find_object(reinterpret_cast<const void*>(begin), now) &&
         reinterpret_cast<std::uintptr_t>(now.map_start) == begin &&
         reinterpret_cast<std::uintptr_t>(now.map_end) == place.end.load(kRelaxed);
}

// Reading the words is safe. The stack contains a return address into the module that is there now, so this module
// cannot be closed during the call.
bool OpenedModules::is_still_there(std::uint8_t module) const {
  const Module& known = modules_[module - 1];
  if (!is_occupied(known)) return false;
  const std::uintptr_t words = known.words.load(kRelaxed);
  if (words != 0) return read_words(words) == known.first_words.load(kRelaxed);
  LoadedModule now;
  return Modules::find(known.begin.load(kRelaxed), now) && Modules::identity(now) == known.identity.load(kRelaxed);
}

}  // namespace cudadiag::record
