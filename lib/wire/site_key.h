// Keys that identify a call site in all runs of one program. Two sites have the same key if the same code, called the
// same way, issues the same kernel. The analysis computes keys from a recorded session. In a rerun, the recorder
// computes them to find the operations to wait for. Keys do not depend on anything that changes from run to run
// (addresses, ids, threads).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "wire/hash.h"
#include "wire/name_patterns.h"
#include "wire/operation.h"

namespace cudadiag::wire::site_key {

// 0 means no key.
using Key = std::uint64_t;

inline Key of_text(std::string_view text) { return hash_bytes(text.data(), text.size()) | 1; }

// If part of the file name is random, the key also includes the line table, to distinguish files with similar names.
inline Key of_code(std::string_view file, std::string_view qualified_name, std::uint32_t first_line,
                   std::string_view line_table) {
  Key key = kHashSeed;
  if (temporary_file::visit_lasting(file, [&](std::string_view part) { key = mix(key, of_text(part)); })) {
    key = mix(key, of_text(line_table));
  }
  return mix(mix(key, of_text(qualified_name)), first_line) | 1;
}

// Frames of these modules are not part of a stack's key. The driver and CUPTI stand between a call and the recorder
// only if CUPTI observes the program.
inline constexpr Key kLeftOut = 2;

inline Key of_module(std::string_view path, std::span<const std::byte> build_id) {
  const std::string_view name = library_paths::stem_of(path);
  if (name == "libcuda" || name == "libcupti") return kLeftOut;
  if (build_id.empty()) return of_text(path);
  return of_text({reinterpret_cast<const char*>(build_id.data()), build_id.size()});
}

// Computes the key of a stack from its frames, innermost first.
class Stack {
 public:
  void add_python(Key code, std::uint32_t offset) { key_ = mix(mix(key_, code), offset); }
  // `module` is 0 if the code belongs to no module. The key then omits the address, which differs from run to run.
  void add_native(Key module, std::uint64_t address) {
    if (module != kLeftOut) key_ = mix(mix(key_, module), module == 0 ? 0 : address);
  }
  Key key() const { return key_ | 1; }

 private:
  Key key_ = kHashSeed;
};

// Returns the key of a kernel, which does not depend on where the kernel is launched.
inline Key of_function(std::string_view mangled) { return mix(of_text(mangled), 'k') | 1; }

// `python`, `native` and `function` are keys, or 0 if there is none.
inline Key of_site(operation::Kind kind, Key python, Key native, Key function) {
  return mix(mix(mix(mix(kHashSeed, static_cast<std::uint64_t>(kind)), python), native), function) | 1;
}

}  // namespace cudadiag::wire::site_key
