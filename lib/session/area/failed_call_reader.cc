#include "session/area/failed_call_reader.h"

#include <algorithm>
#include <string>
#include <utility>

#include "session/area/call_name.h"
#include "wire/error.h"

namespace cudadiag::session {

using wire::area::Region;

namespace {

// A limit that no recorder exceeds. A larger table is truncated.
constexpr std::size_t kMostErrors = 65536;

void read_one(const std::byte* slot, InternStrings& strings, ProcessRecord& record) {
  namespace e = wire::error;
  const auto copy = copy_serialised<wire::area::kErrorSize>(slot);
  if (!copy) return;
  const std::byte* from = copy->data();
  const std::uint8_t domain = wire::load(from, e::kDomain);
  if (domain == 0 || domain > static_cast<std::uint8_t>(e::Domain::runtime)) {
    ++record.damaged;
    return;
  }
  FailedCall& error = record.errors.emplace_back();
  error.domain = static_cast<e::Domain>(domain);
  error.serial = wire::load(from, e::kSerial);
  error.ticks = wire::load(from, e::kTicks);
  error.code = wire::load(from, e::kCode);
  error.tid = wire::load(from, e::kTid);
  error.flags = wire::load(from, e::kFlags);
  error.call_id = wire::load(from, e::kCallId);
  const auto name = [&](std::uint32_t id, std::string& out) {
    if (!strings.copy(id, out) && id != 0) ++record.damaged;
  };
  name(wire::load(from, e::kCallName), error.call);
  error.call = written_name(std::move(error.call));
  name(wire::load(from, e::kOuterName), error.outer);
  name(wire::load(from, e::kExplanation), error.explanation);
  error.of_call = wire::load(from, e::kOfCall);
  error.outer_code = wire::load(from, e::kOuterCode);
  error.site = wire::load(from, e::kSite);
  if (error.site > record.sites.size()) error.site = 0;
  error.stream = wire::load(from, e::kStream);
  if (error.stream >= record.streams.size()) error.stream = wire::operation::kNoStream;
  error.context = wire::load(from, e::kContext);
  if (error.context >= record.contexts.size()) error.context = 0xffffffff;
  error.thread = wire::load(from, e::kThread);
  if (error.thread >= record.threads.size()) error.thread = 0xffffffff;
  error.grid = {wire::load(from, e::kGridX), wire::load(from, e::kGridY), wire::load(from, e::kGridZ)};
  error.block = {wire::load(from, e::kBlockX), wire::load(from, e::kBlockY), wire::load(from, e::kBlockZ)};
  error.shared_bytes = wire::load(from, e::kSharedBytes);
  error.bytes = wire::load(from, e::kBytes);
  error.device_free = wire::load(from, e::kDeviceFree);
  error.device_total = wire::load(from, e::kDeviceTotal);
  error.operation = wire::load(from, e::kOperation);
  error.started = wire::load(from, e::kStarted);
  error.capture = {wire::load(from, e::kCaptureBegan), wire::load(from, e::kCaptureTid),
                   wire::load(from, e::kCaptureMode), wire::load(from, e::kCaptureSite)};
  if (error.capture.site > record.sites.size()) error.capture.site = 0;
}

// Marks the record as frozen at its first sticky error, for a process that could not store this state itself. Another
// thread may have ended the process just after the failed call was recorded.
void freeze_at_lost_context(ProcessRecord& record) {
  const auto lost = std::find_if(record.errors.begin(), record.errors.end(),
                                 [](const FailedCall& error) { return (error.flags & wire::error::kSticky) != 0; });
  if (lost == record.errors.end()) return;
  record.state = wire::area::State::frozen;
  record.frozen_error = static_cast<std::uint32_t>(lost - record.errors.begin()) + 1;
  record.frozen_code = lost->code;
  record.frozen_ticks = lost->ticks;
  record.clock_last = std::max(record.clock_last, lost->ticks);
}

}  // namespace

void read_failed_calls(const AreaRegions& regions, InternStrings& strings, std::uint32_t frozen_slot,
                       ProcessRecord& record) {
  const std::size_t count = regions.count(Region::errors, wire::area::kErrorSize, kMostErrors);
  const std::byte* slots = regions.region(Region::errors).data();
  std::uint64_t frozen_serial = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t before = record.errors.size();
    read_one(slots + i * wire::area::kErrorSize, strings, record);
    if (record.errors.size() > before && i + 1 == frozen_slot) frozen_serial = record.errors.back().serial;
  }
  std::sort(record.errors.begin(), record.errors.end(),
            [](const FailedCall& a, const FailedCall& b) { return a.serial < b.serial; });
  const auto frozen = std::find_if(record.errors.begin(), record.errors.end(),
                                   [&](const FailedCall& error) { return error.serial == frozen_serial; });
  if (frozen_serial != 0) record.frozen_error = static_cast<std::uint32_t>(frozen - record.errors.begin()) + 1;
  if (record.state == wire::area::State::recording) freeze_at_lost_context(record);
}

}  // namespace cudadiag::session
