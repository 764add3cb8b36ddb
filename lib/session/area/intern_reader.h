// Decodes the intern heap into the tables of a ProcessRecord.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "session/process_record.h"

namespace cudadiag::session {

// The heap's strings are shared by reference on the wire and copied into the record. A hostile heap could name
// one long string a million times, so the copies have a budget; beyond it they are left out and counted.
class InternStrings {
 public:
  void add(std::string text) { strings_.push_back(std::move(text)); }
  // Copies string `id` into `out`; false if there is none (0 is none, too).
  bool copy(std::uint32_t id, std::string& out);

 private:
  static constexpr std::size_t kBudget = 256u << 20;
  std::vector<std::string> strings_;
  std::size_t copied_ = 0;
};

// Fills functions, modules, codes, stacks, sites, graphs, notes, properties and `damaged`.
InternStrings read_intern_heap(std::span<const std::byte> heap, ProcessRecord& record);

}  // namespace cudadiag::session
