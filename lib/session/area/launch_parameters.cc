#include "session/area/launch_parameters.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "wire/intern.h"
#include "wire/launch_parameters.h"
#include "wire/operation.h"

namespace cudadiag::session {
namespace {

namespace wire_parameters = wire::launch_parameters;
using wire::area::Region;
using Slot = RecordCopy<wire_parameters::kSlotSize>;
constexpr std::size_t kMostCopied = 4096;  // slots; no recorder has more

class Reader {
 public:
  Reader(const AreaRegions& regions, ProcessRecord& record)
      : layouts_(regions.region(Region::layouts)), slots_(regions.region(Region::parameters)), record_(record) {
    per_thread_ = slots_.size() / wire_parameters::kSlotSize / wire_parameters::kThreads;
  }

  void add(const Operation& operation) {
    if (operation.thread >= wire_parameters::kThreads || per_thread_ == 0) return;
    const std::size_t place = operation.thread * per_thread_ + operation.serial % per_thread_;
    const auto slot =
        copy_serialised<wire_parameters::kSlotSize, std::uint32_t>(slots_.data() + place * wire_parameters::kSlotSize);
    if (!slot || wire::load(slot->data(), wire_parameters::kSerial) != static_cast<std::uint32_t>(operation.serial)) {
      return;
    }
    Arguments arguments{operation.serial, operation.thread, wire::load(slot->data(), wire_parameters::kFlags), {}};
    const std::size_t bytes = wire::load(slot->data(), wire_parameters::kBytes);
    if (bytes > wire_parameters::kMostBytes || !add_parameters(*slot, bytes, arguments)) {
      ++record_.damaged;
      return;
    }
    record_.arguments.push_back(std::move(arguments));
  }

 private:
  // Returns false if the layout is invalid.
  bool add_parameters(const Slot& slot, std::size_t bytes, Arguments& arguments) const {
    const char* values = reinterpret_cast<const char*>(slot.data()) + wire_parameters::kValues;
    const std::uint32_t layout = wire::load(slot.data(), wire_parameters::kLayout);
    if (layout == 0) {
      arguments.flags |= wire::intern::kBuffer;
      if (bytes > 0) arguments.parameters.push_back({0, std::string(values, bytes)});
      return true;
    }
    const auto count = number(layout);
    if (!count) return false;
    std::size_t end = 0;
    for (std::uint32_t i = 0; i < *count; ++i) {
      const auto offset = number(layout + 1 + 2 * i), size = number(layout + 2 + 2 * i);
      // Rejects parameters that overlap or are empty. Without this check, a few bytes could stand for a huge number of
      // parameters.
      if (!offset || !size || *offset < end || *size == 0) return false;
      end = std::size_t{*offset} + *size;
      if (end > bytes) return (arguments.flags & wire::intern::kCut) != 0;
      arguments.parameters.push_back({*offset, std::string(values + *offset, *size)});
    }
    return true;
  }

  std::optional<std::uint16_t> number(std::size_t index) const {
    std::uint16_t value = 0;
    if (index >= layouts_.size() / sizeof value) return std::nullopt;
    std::memcpy(&value, layouts_.data() + index * sizeof value, sizeof value);
    return value;
  }

  std::span<const std::byte> layouts_, slots_;
  ProcessRecord& record_;
  std::size_t per_thread_ = 0;
};

}  // namespace

// Adds the contents of a copy, if the area has the copy's own record.
void read_copied(const std::byte* bytes, ProcessRecord& record) {
  namespace copied = wire_parameters::copied;
  const auto slot = copy_serialised<copied::kSlotSize>(bytes);
  if (!slot) return;
  const std::uint64_t serial = wire::load(slot->data(), copied::kSerial);
  const std::uint32_t thread = wire::load(slot->data(), copied::kThread);
  const auto of_copy = [&](const Operation& operation) {
    return operation.thread == thread && operation.serial == serial && operation.kind == wire::operation::Kind::copy;
  };
  const auto copy = std::ranges::find_if(record.operations, of_copy);
  const std::size_t size = wire::load(slot->data(), copied::kBytes);
  if (copy == record.operations.end()) return;
  if (size > copied::kMostBytes || size > copy->argument) return void(++record.damaged);
  Arguments arguments{serial, thread, size < copy->argument ? wire::intern::kCut : 0u, {}};
  arguments.parameters.push_back(
      {0, std::string(reinterpret_cast<const char*>(slot->data()) + copied::kContents, size)});
  record.arguments.push_back(std::move(arguments));
}

void read_launch_parameters(const AreaRegions& regions, ProcessRecord& record) {
  Reader reader(regions, record);
  for (const Operation& operation : record.operations) {
    if (operation.kind == wire::operation::Kind::kernel && (operation.flags & wire::operation::kCaptured) == 0) {
      reader.add(operation);
    }
  }
  constexpr std::size_t kSlotSize = wire_parameters::copied::kSlotSize;
  const auto copied = regions.region(Region::copied);
  for (std::size_t i = 0; i < regions.count(Region::copied, kSlotSize, kMostCopied); ++i) {
    read_copied(copied.data() + i * kSlotSize, record);
  }
}

std::string parameter_bytes(const AreaRegions& regions, std::uint32_t thread, std::uint32_t serial) {
  const auto slots = regions.region(Region::parameters);
  const std::size_t per_thread = slots.size() / wire_parameters::kSlotSize / wire_parameters::kThreads;
  if (thread >= wire_parameters::kThreads || per_thread == 0) return "";
  // The lower half of the serial is enough to find the slot, because the number of slots is a power of 2.
  const std::size_t place = thread * per_thread + serial % per_thread;
  const auto slot =
      copy_serialised<wire_parameters::kSlotSize, std::uint32_t>(slots.data() + place * wire_parameters::kSlotSize);
  if (!slot || wire::load(slot->data(), wire_parameters::kSerial) != serial) return "";
  const std::size_t bytes = wire::load(slot->data(), wire_parameters::kBytes);
  if (bytes > wire_parameters::kMostBytes) return "";
  return {reinterpret_cast<const char*>(slot->data()) + wire_parameters::kValues, bytes};
}

}  // namespace cudadiag::session
