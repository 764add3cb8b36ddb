// Writes the intern heap (wire/intern.h), in which every name, module, code object, stack and site has a number.
// Look-ups take no lock. New entries take the interner's lock, which is never held during a call to other code.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "record/libc_substitutes.h"
#include "record/output/area_map.h"
#include "record/output/id_table.h"
#include "wire/intern.h"
#include "wire/operation.h"
#include "wire/site_key.h"

namespace cudadiag::record {

struct ModuleImage {
  std::uint64_t bias, begin, end;
  std::string_view path;
  std::span<const std::byte> build_id;
};

struct CodeObject {
  std::string_view file, qualified_name, line_table;
  std::uint32_t first_line, python_minor;
};

struct PythonFrame {
  std::uint32_t code;
  std::uint32_t offset;
};

struct NativeFrame {
  std::uint32_t module;
  std::uint32_t zero;
  std::uint64_t address;
};

// Maps the id of an interned entry to its key, which is the same in all runs (wire/site_key.h). The table must be
// in zeroed memory.
template <std::size_t N>
class KeyTable {
 public:
  void set(std::uint32_t id, wire::site_key::Key key) {
    if (id < N) keys_[id] = key;
  }
  wire::site_key::Key of(std::uint32_t id) const { return id < N ? keys_[id] : 0; }

 private:
  std::array<wire::site_key::Key, N> keys_;
};

struct GraphEdge {
  std::uint32_t from, to;
};

struct GraphChange {
  std::uint32_t node, site;
};

// Freed memory that a graph node points to.
struct StalePointer {
  std::uint32_t node, offset, flags;  // see wire/intern.h
  std::uint64_t address, allocation;  // `allocation` is the serial of the allocation
};

// All functions return 0 as the id if the heap or a table is full. These losses are counted in the area.
class Interner {
 public:
  void attach(AreaMap& area);

  std::uint32_t string(std::string_view text);
  std::uint32_t module(std::uint64_t key, const ModuleImage& image);
  std::uint32_t function(std::string_view mangled);
  // Returns wire::checks_its_data() for the function's name. The result was computed when the function was interned.
  bool checks_its_data(std::uint32_t function) const {
    return function < checking_functions_.size() && checking_functions_[function];
  }
  // Returns true once a kernel of NCCL has been interned.
  bool knows_nccl() const { return knows_nccl_.load(std::memory_order_relaxed); }
  std::uint32_t code(std::uint64_t key, const CodeObject& code);
  std::uint32_t python_stack(std::uint64_t key, std::span<const PythonFrame> frames, bool truncated);
  // Finds or adds the stack with these frames. `addresses` is the hash of its return addresses, by which
  // find_native_stack() later finds the stack. `stamp` is the number of unloads so far: after an unload, the same
  // addresses may belong to different code.
  std::uint32_t native_stack(std::uint64_t addresses, std::uint32_t stamp, std::span<const NativeFrame> frames,
                             bool truncated);
  std::uint32_t site(std::uint64_t key, std::uint32_t python, std::uint32_t native, std::uint32_t function,
                     wire::operation::Kind kind, std::uint16_t thread);

  // Returns the id of the graph with these contents, and adds the graph if it is new. `nodes` contains records in the
  // layout of wire/intern.h.
  std::uint32_t graph(std::uint32_t site, std::span<const std::byte> nodes, std::span<const GraphEdge> edges);

  // Returns the id of the graph that results from applying these changes to `before`. Adds the graph if it is new.
  std::uint32_t changed_graph(std::uint32_t site, std::uint32_t before, std::span<const GraphChange> changes);

  // Adds the parameters of a launch, in the layout of wire/intern.h.
  void arguments(std::uint16_t count, std::span<const std::byte> head, std::span<const std::byte> values);
  std::uint32_t node_type(std::string_view mangled);
  // Records that a graph launch was given a pointer to freed memory. `serial` identifies the launch.
  void stale_pointer(std::uint16_t thread, std::uint64_t serial, const StalePointer& stale);

  std::uint32_t find_module(std::uint64_t key) const { return modules_.find(key); }
  std::uint32_t find_code(std::uint64_t key) const { return codes_.find(key); }
  std::uint32_t find_python_stack(std::uint64_t key) const { return python_stacks_.find(key); }
  StampedId find_native_stack(std::uint64_t addresses) const { return native_addresses_.find_stamped(addresses); }

  // Starts keeping keys. Must be called before anything that needs a key is interned.
  void keep_keys() { keeps_keys_ = true; }
  wire::site_key::Key function_key(std::uint32_t function) const { return function_keys_.of(function); }
  wire::site_key::Key site_key(wire::operation::Kind kind, std::uint32_t python, std::uint32_t native,
                               std::uint32_t function) const {
    return wire::site_key::of_site(kind, python_keys_.of(python), native_keys_.of(native), function_keys_.of(function));
  }

  // Writes each note or property only once, even if it arises anew for every context.
  void note(std::string_view code, std::string_view text);
  void property(std::string_view key, std::string_view value);

 private:
  // Limits for all graphs together, so that room is left for stacks and names.
  static constexpr std::size_t kGraphBytes = 12u << 20, kChangeBytes = 1u << 20;
  static constexpr std::uint32_t kMostStalePointers = 256;

  // An entry of the heap. Its payload has two parts; the second may be empty.
  struct Entry {
    wire::intern::Tag tag;
    std::uint16_t count;
    std::span<const std::byte> first, second{};
  };
  // Returns the id of the new entry, or 0. Callers must hold the lock.
  std::uint32_t append(const Entry& entry);
  template <std::size_t N>
  std::uint32_t add(IdTable<N>& table, std::uint64_t key, const Entry& entry) {
    return add(table, key, entry, [](std::uint32_t) {});
  }
  // Calls `describe(id)` for a new entry before other threads can find it.
  template <std::size_t N, typename Describe>
  std::uint32_t add(IdTable<N>& table, std::uint64_t key, const Entry& entry, Describe describe);

  void add_pair(IdTable<1024>& table, wire::intern::Tag tag, std::uint32_t first, std::uint32_t second);

  AreaMap* area_ = nullptr;
  Mutex mutex_;
  std::uint32_t next_id_[wire::intern::kTags] = {};
  IdTable<32768> strings_;
  IdTable<4096> modules_;
  IdTable<16384> functions_;
  std::array<bool, 8192> checking_functions_;  // by id; must be zeroed, like the tables
  std::atomic<bool> knows_nccl_ = false;
  IdTable<32768> codes_;
  IdTable<131072> python_stacks_;
  IdTable<131072> native_stacks_;     // the key is the hash of the frames
  IdTable<131072> native_addresses_;  // the key is the hash of the return addresses
  IdTable<131072> sites_;
  bool keeps_keys_ = false;
  KeyTable<4096> module_keys_;
  KeyTable<16384> function_keys_;
  KeyTable<32768> code_keys_;
  KeyTable<131072> python_keys_, native_keys_;
  IdTable<4096> node_types_;
  IdTable<1024> notes_, properties_;
  IdTable<16384> graphs_;
  std::size_t graph_bytes_ = 0, change_bytes_ = 0;
};

}  // namespace cudadiag::record
