#include "record/calls/failures.h"

#include <string.h>

#include <algorithm>

#include "record/graphs/captures.h"
#include "record/this_thread.h"

namespace cudadiag::record {

namespace area = wire::area;
namespace error = wire::error;

void Failures::attach(AreaMap& map, Interner& interner, Streams& streams) {
  area_ = &map;
  interner_ = &interner;
  streams_ = &streams;
}

namespace {

// The first half of the region keeps the first failures, and the second half keeps the latest ones.
std::uint32_t index_of(std::uint64_t serial) {
  constexpr std::uint64_t kHalf = area::kErrors / 2;
  return static_cast<std::uint32_t>(serial <= kHalf ? serial - 1 : kHalf + (serial - 1) % kHalf);
}

std::uint8_t flags_of(const FailedCall& failed, bool capturing) {
  return static_cast<std::uint8_t>((is_sticky(failed.code) ? error::kSticky : 0) |
                                   (failed.at_exit ? error::kAtExit : 0) | (failed.own_wait ? error::kOwnWait : 0) |
                                   (failed.launch ? error::kLaunch : 0) | (failed.of_call != 0 ? error::kLookedAt : 0) |
                                   (capturing ? error::kInCapture : 0));
}

void write_arguments(std::byte* to, const FailedCall& failed) {
  const Call none;
  const Call& call = failed.call == nullptr ? none : *failed.call;
  wire::store(to, error::kGridX, call.grid[0]);
  wire::store(to, error::kGridY, call.grid[1]);
  wire::store(to, error::kGridZ, call.grid[2]);
  wire::store(to, error::kBlockX, call.block[0]);
  wire::store(to, error::kBlockY, call.block[1]);
  wire::store(to, error::kBlockZ, call.block[2]);
  wire::store(to, error::kSharedBytes, call.shared_bytes);
  wire::store(to, error::kBytes, failed.launch ? 0 : failed.bytes != 0 ? failed.bytes : call.argument);
}

void write_capture(std::byte* to, const Capture& capture) {
  wire::store(to, error::kCaptureSite, capture.site);
  wire::store(to, error::kCaptureBegan, capture.began);
  wire::store(to, error::kCaptureTid, capture.tid);
  wire::store(to, error::kCaptureMode, static_cast<std::uint32_t>(capture.mode));
}

void remember(ThreadState& thread, std::uint64_t serial) {
  auto& recent = thread.recent;
  if (thread.recent_errors == recent.size()) {
    std::move(recent.begin() + 1, recent.end(), recent.begin());
    --thread.recent_errors;
    if (thread.recent_worked > 0) --thread.recent_worked;
    if (thread.recent_looked > 0) --thread.recent_looked;
  }
  recent[thread.recent_errors++] = serial;
}

}  // namespace

std::byte* Failures::record(std::uint32_t index) const {
  return area_->region(area::Region::errors) + index * area::kErrorSize;
}

std::byte* Failures::find(std::uint64_t serial) const {
  std::byte* known = record(index_of(serial));
  return wire::load(known, error::kSerial) == serial ? known : nullptr;
}

std::uint64_t Failures::add(ThreadState* thread, const FailedCall& failed) {
  if (frozen()) return 0;
  const std::uint32_t name = interner_->string(failed.name);
  const std::uint32_t explanation = failed.explanation.empty() ? 0 : interner_->string(failed.explanation);
  const char* outer = failed.domain == error::Domain::driver ? t_this.runtime_call : nullptr;
  if (outer == nullptr) outer = failed.outer;
  const std::uint32_t outer_name = outer == nullptr ? 0 : interner_->string(outer);
  const LockGuard lock(mutex_);
  const std::uint64_t serial = count_.fetch_add(1) + 1;
  const std::uint32_t index = index_of(serial);
  std::byte* to = record(index);
  wire::store_release(to, error::kSerial, 0);
  std::atomic_thread_fence(std::memory_order_release);
  wire::store(to, error::kTicks, ticks());
  wire::store(to, error::kCode, failed.code);
  wire::store(to, error::kTid, failed.tid != 0 ? failed.tid : thread_id());
  wire::store(to, error::kDomain, static_cast<std::uint8_t>(failed.domain));
  wire::store(to, error::kFlags, flags_of(failed, streams_->capture_going_on()));
  wire::store(to, error::kCallId, static_cast<std::uint16_t>(failed.id));
  wire::store(to, error::kCallName, name);
  wire::store(to, error::kOuterName, outer_name);
  wire::store(to, error::kOuterCode, 0);
  wire::store(to, error::kSite, failed.site);
  wire::store(to, error::kStream, failed.stream);
  wire::store(to, error::kContext, failed.context);
  write_arguments(to, failed);
  const bool refused = failed.launch && failed.code != CUDA_ERROR_OUT_OF_MEMORY;
  const std::uint64_t of_memory = failed.pointer != 0 ? failed.pointer : failed.device_free;
  wire::store(to, error::kDeviceFree, refused ? failed.most_threads : of_memory);
  wire::store(to, error::kDeviceTotal, refused ? failed.most_shared : failed.device_total);
  wire::store(to, error::kOperation, thread == nullptr ? 0 : thread->serial);
  wire::store(to, error::kThread, thread == nullptr ? 0xffffffff : thread->index);
  write_capture(to, failed.capture == nullptr ? Capture{} : *failed.capture);
  wire::store(to, error::kStarted, failed.started);
  wire::store(to, error::kExplanation, explanation);
  wire::store(to, error::kOfCall, static_cast<std::uint32_t>(failed.of_call));
  wire::store_release(to, error::kSerial, serial);
  wire::store_release(area_->header(), area::kErrorCount, serial);
  if (is_sticky(failed.code)) {
    freeze(index + 1, failed.code);
  } else if (thread != nullptr) {
    remember(*thread, serial);
  }
  return serial;
}

void Failures::freeze(std::uint32_t record, std::uint32_t code) {
  if (frozen_.exchange(true)) return;
  streams_->freeze();
  area_->calibrate();
  wire::store(area_->header(), area::kFrozenError, record);
  wire::store(area_->header(), area::kFrozenCode, code);
  wire::store(area_->header(), area::kFrozenTicks, ticks());
  area_->set_state(area::State::frozen);
  area_->wake_launcher();
}

void Failures::set_outer_code(std::uint64_t serial, std::uint32_t code) {
  const LockGuard lock(mutex_);
  if (std::byte* known = find(serial)) wire::store(known, error::kOuterCode, code);
}

void Failures::add_flag(std::uint64_t serial, std::uint8_t flag) {
  if (std::byte* known = find(serial)) {
    wire::atomic(known, error::kFlags).fetch_or(flag, std::memory_order_release);
  }
}

// Returns true if this failure made `code` the thread's last error. Only runtime calls set the last error. A runtime
// launch may have no callback, so its code may be missing, and we then assume that it set the error.
bool Failures::left_behind(std::uint64_t serial, std::uint32_t code) const {
  std::byte* known = find(serial);
  if (known == nullptr) return false;
  const bool runtime = wire::load(known, error::kDomain) == static_cast<std::uint8_t>(error::Domain::runtime);
  if (runtime) return wire::load(known, error::kCode) == code;
  if (wire::load(known, error::kOuterName) == 0) return false;
  const std::uint32_t outer = wire::load(known, error::kOuterCode);
  return outer != 0 ? outer == code : (wire::load(known, error::kFlags) & error::kLaunch) != 0;
}

bool Failures::failed_alike(std::uint64_t one, std::uint64_t other) const {
  const std::byte *a = find(one), *b = find(other);
  return a != nullptr && b != nullptr && wire::load(a, error::kSite) == wire::load(b, error::kSite) &&
         wire::load(a, error::kCode) == wire::load(b, error::kCode) &&
         wire::load(a, error::kCallName) == wire::load(b, error::kCallName);
}

std::uint64_t Failures::looked_at(ThreadState& thread, std::uint32_t code) {
  if (thread.recent_errors == 0) return 0;
  const LockGuard lock(mutex_);
  const std::uint8_t unasked = thread.recent_looked;
  for (; thread.recent_looked < thread.recent_errors; ++thread.recent_looked) {
    add_flag(thread.recent[thread.recent_looked], error::kLookedAt);
  }
  if (thread.recent_worked < thread.recent_errors) return 0;
  // The thread has issued work after each of these failures, so the recorder stops tracking them.
  const std::uint64_t latest = thread.recent[thread.recent_errors - 1];
  const std::uint8_t recent = thread.recent_errors;
  thread.recent_errors = thread.recent_worked = thread.recent_looked = 0;
  if (is_answer(code) || !left_behind(latest, code)) return 0;
  std::byte* known = find(latest);
  if (wire::load(known, error::kOfCall) != 0) {
    // cudaPeekAtLastError does not clear the error, so the thread has queried the same error again.
    add_flag(latest, error::kAskedBefore);
    wire::atomic(known, error::kFlags).fetch_and(static_cast<std::uint8_t>(~error::kThenWorked));
    remember(thread, latest);
    thread.recent_looked = 1;
    return 0;
  }
  for (std::uint32_t i = unasked; i < recent; ++i) {
    if (failed_alike(thread.recent[i], latest)) return thread.recent[i];
  }
  return 0;
}

bool Failures::lacks_memory(const ThreadState& thread) {
  if (thread.recent_errors == 0 || thread.recent_worked == thread.recent_errors) return false;
  const LockGuard lock(mutex_);
  const std::byte* latest = find(thread.recent[thread.recent_errors - 1]);
  return latest != nullptr && wire::load(latest, error::kCode) == CUDA_ERROR_OUT_OF_MEMORY;
}

bool Failures::lack_memory() {
  const LockGuard lock(mutex_);
  const auto kept = static_cast<std::uint32_t>(std::min<std::uint64_t>(count_.load(), area::kErrors));
  for (std::uint32_t index = 0; index < kept; ++index) {
    const std::byte* known = record(index);
    const bool worked = (wire::load(known, error::kFlags) & error::kThenWorked) != 0;
    if (wire::load(known, error::kCode) == CUDA_ERROR_OUT_OF_MEMORY && !worked) return true;
  }
  return false;
}

void Failures::worked(ThreadState& thread) {
  const LockGuard lock(mutex_);
  for (; thread.recent_worked < thread.recent_errors; ++thread.recent_worked) {
    add_flag(thread.recent[thread.recent_worked], error::kThenWorked);
  }
}

namespace driver_log {

namespace {

// Strips the prefix of a line of the driver's log: "[08:28:00.739][140398069522432][CUDA][E] One or more …".
std::string_view without_head(std::string_view line) {
  while (line.starts_with('[')) {
    const std::size_t end = line.find(']');
    if (end == line.npos) break;
    line.remove_prefix(end + 1);
  }
  while (line.starts_with(' ')) line.remove_prefix(1);
  while (line.ends_with('\n')) line.remove_suffix(1);
  return line;
}

void say(void*, int, char* message, std::size_t length) {
  const std::string_view line = without_head({message, strnlen(message, length)});
  // Skips lines such as "Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuLaunchKernel", which repeat what the record of
  // the call contains. The first remaining line gives the cause.
  if (t_this.inside || t_this.explained || line.empty() || line.starts_with("Returning ")) return;
  if (t_this.state == nullptr) return;
  auto& said = t_this.state->said;
  const std::size_t size = std::min(line.size(), said.size() - 1);
  memcpy(said.data(), line.data(), size);
  said[size] = '\0';
  t_this.explained = true;
}

}  // namespace

void start(const DriverApi& driver) {
  void* handle = nullptr;
  if (driver.logs_register_callback != nullptr) driver.logs_register_callback(say, nullptr, &handle);
}

void forget() { t_this.explained = false; }

std::string_view explanation() { return t_this.explained ? t_this.state->said.data() : std::string_view(); }

}  // namespace driver_log

}  // namespace cudadiag::record
