// Decodes the intern heap into the tables of a ProcessRecord.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "session/process_record.h"

namespace cudadiag::session {

// Copies strings of the intern heap into a record. Each reference to a string needs a copy. A hostile heap could refer
// to one long string a million times, so the copies have a limited total size. Copies beyond this limit are omitted and
// counted.
class InternStrings {
 public:
  void add(std::string text) { strings_.push_back(std::move(text)); }
  // Copies string `id` into `out`. Returns false if it does not exist; id 0 never exists.
  bool copy(std::uint32_t id, std::string& out);

 private:
  static constexpr std::size_t kBudget = 256u << 20;
  std::vector<std::string> strings_;
  std::size_t copied_ = 0;
};

// Fills these members of `record` from a heap: the functions, modules, codes, stacks, sites, graphs, notes and
// properties, and `damaged`. Returns the strings of the heap.
InternStrings read_intern_heap(std::span<const std::byte> heap, ProcessRecord& record);

}  // namespace cudadiag::session
