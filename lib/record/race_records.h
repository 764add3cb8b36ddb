// Writes what wire/race_record.h describes, where races are looked for; off, it costs a test of a flag.
#pragma once

#include <cupti.h>

#include <cstdint>

#include "record/calls.h"
#include "record/memory_calls.h"
#include "record/parameter_words.h"
#include "record/streams.h"
#include "record/threads.h"

namespace cudadiag::record {

class RaceRecords {
 public:
  void attach(const DriverApi& driver, Streams& streams);
  bool on() const { return on_; }

  // ENTER, before the operation's own record.
  void before_kernel(ThreadState& thread, const Call& call, std::uint32_t function);
  void before_rows(ThreadState& thread, const Call& call);
  // EXIT of calls that succeeded.
  void host_saw_stream(ThreadState& thread, std::uint32_t stream);
  void host_saw_context(ThreadState& thread, std::uint32_t context);
  void returned(ThreadState& thread, std::uint32_t id, const CUpti_CallbackData& data);
  void memory(ThreadState& thread, std::uint32_t id, const MemoryCall& call, std::uint32_t stream,
              std::uint32_t context, std::uint32_t site);
  void module_unloaded() { words_.module_unloaded(); }

 private:
  std::byte* begin(ThreadState& thread, wire::operation::Kind kind, std::uint32_t stream);

  bool on_ = false;
  Streams* streams_ = nullptr;
  ParameterWords words_;
};

// A call that returns when the data of its copy have arrived, or may at least be taken to have: what the program's host
// code does next, it does after it. A copy to the host says so by its own record.
bool waits_for_copy(std::uint32_t id);
// wire::race::Direction of a stream's operation on a word in memory.
std::uint32_t word_direction(std::uint32_t id);

}  // namespace cudadiag::record
