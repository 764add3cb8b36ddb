// NCCL's interface to a profiler plugin, versions 1 to 6. Only the parts that the recorder uses are declared.
//
// A plugin exports a table for each version that it supports. NCCL uses the newest of these versions that it knows:
//
//   NCCL      2.23  2.24, 2.25  2.26  2.27  2.28  2.29 and later
//   version   1     2           3     4     5     6
//
// Our plugin only reads events and passes them on, so each event is declared only up to the last field that is read.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cudadiag::record::profiler {

// The type of an event is one of these bits. A mask of requested events combines several.
enum EventType : std::uint64_t {
  kGroup = 1 << 0,
  kCollective = 1 << 1,
  kPointToPoint = 1 << 2,
  kProxyOperation = 1 << 3,
  kProxyStep = 1 << 4,
  kProxyControl = 1 << 5,
  kKernelChannel = 1 << 6,
  kNetwork = 1 << 7,
  // Version 5 and later.
  kGroupCall = 1 << 8,
  kCollectiveCall = 1 << 9,
  kPointToPointCall = 1 << 10,
  kKernelLaunch = 1 << 11,
  // Version 6 and later.
  kCopyEngineCollective = 1 << 12,
  kCopyEngineSync = 1 << 13,
  kCopyEngineBatch = 1 << 14,
};

inline constexpr int kSuccess = 0;

// Events of all versions begin with these fields. The type is one byte up to version 4.
struct EventHead {
  std::uint64_t type;
  void* parent;
  int rank;
};

struct CollectiveEvent {  // version 4 and later
  EventHead head;
  std::uint64_t sequence;
  const char* function;
  const void* source;
  void* destination;
  std::size_t count;
  int root;
  const char* type;
};

struct PointToPointEvent {  // version 4 and later
  EventHead head;
  const char* function;
  void* buffer;
  const char* type;
  std::size_t count;
  int peer;
};

struct NamedCollectiveEvent {  // versions 2 and 3, whose init does not describe the communicator
  EventHead head;
  const char* communicator;
  std::uint64_t hash;
  std::uint64_t sequence;
  const char* function;
  const void* source;
  void* destination;
  std::size_t count;
  int root;
  const char* type;
};

struct NamedPointToPointEvent {  // versions 2 and 3
  EventHead head;
  const char* communicator;
  std::uint64_t hash;
  const char* function;
  void* buffer;
  const char* type;
  std::size_t count;
  int peer;
};

struct CollectiveCallEvent {  // version 5 and later
  EventHead head;
  const char* function;
  std::size_t count;
  const char* type;
  int root;
  void* stream;
  bool captured;
};

static_assert(sizeof(void*) == 8 && offsetof(CollectiveEvent, sequence) == 24 && offsetof(CollectiveEvent, type) == 72);
static_assert(offsetof(PointToPointEvent, function) == 24 && offsetof(PointToPointEvent, peer) == 56);
static_assert(offsetof(NamedCollectiveEvent, sequence) == 40 && offsetof(NamedCollectiveEvent, type) == 88);
static_assert(offsetof(NamedPointToPointEvent, function) == 40 && offsetof(NamedPointToPointEvent, peer) == 72);
static_assert(offsetof(CollectiveCallEvent, stream) == 56 && offsetof(CollectiveCallEvent, captured) == 64);

// The plugin's table. All functions return kSuccess or one of NCCL's error codes.
using Log = void (*)(int level, unsigned long flags, const char* file, int line, const char* format, ...);
using StartEvent = int (*)(void* context, void** handle, void* event);
using StopEvent = int (*)(void* handle);
using RecordState = int (*)(void* handle, int state, void* arguments);
using Finalize = int (*)(void* context);

using InitUnnamed = int (*)(void** context, int* mask);  // versions 2 and 3
using InitNamed = int (*)(void** context, int* mask, const char* name, std::uint64_t hash, int nodes, int ranks,
                          int rank, Log log);  // version 4
using InitById = int (*)(void** context, std::uint64_t hash, int* mask, const char* name, int nodes, int ranks,
                         int rank, Log log);  // version 5 and later

template <typename Init>
struct Table {
  const char* name;
  Init init;
  StartEvent start_event;
  StopEvent stop_event;
  RecordState record_state;
  Finalize finalize;
};

}  // namespace cudadiag::record::profiler
