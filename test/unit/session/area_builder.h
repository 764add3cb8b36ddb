// Builds an area by hand, field by field, in the layout of lib/wire. Its regions are as small as the test allows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "wire/area.h"
#include "wire/error.h"
#include "wire/intern.h"
#include "wire/operation.h"
#include "wire/tables.h"

namespace cudadiag::test {

struct AreaShape {
  std::size_t threads = 2, contexts = 1, streams = 2, errors = 4, sites = 32, held_per_stream = 2, ring = 4;
  std::size_t graph_words = 2, allocations = 4, intern_bytes = 4096;
  std::size_t layout_numbers = 16, parameter_slots = 1;  // the slots of each thread
  std::size_t communicators = 2, peers = 4, collectives = 4;
  std::size_t copied = 2;
};

class AreaBuilder {
 public:
  using Region = wire::area::Region;

  explicit AreaBuilder(const AreaShape& shape = {}) : shape_(shape) {
    namespace a = wire::area;
    const std::size_t sizes[a::kRegions] = {
        shape.threads * a::kThreadSize,
        shape.contexts * a::kContextSize,
        shape.streams * a::kStreamSize,
        shape.streams * a::kMarkerSize,
        shape.streams * a::kFrozenSize,
        shape.errors * a::kErrorSize,
        shape.sites * a::kSiteSize,
        shape.streams * shape.held_per_stream * a::kOperationSize,
        shape.threads * shape.ring * a::kOperationSize,
        shape.graph_words * a::kGraphWordSize,
        shape.allocations * a::kAllocationSize,
        shape.layout_numbers * 2,
        wire::launch_parameters::kThreads * shape.parameter_slots * wire::launch_parameters::kSlotSize,
        shape.intern_bytes,
        shape.communicators * wire::communicator::kSize,
        shape.peers * wire::peer::kSize,
        shape.collectives * wire::collective::kSize,
        shape.copied * wire::launch_parameters::copied::kSlotSize};
    std::size_t at = a::kHeaderSize;
    for (std::size_t i = 0; i < a::kRegions; ++i) {
      offsets_[i] = at;
      at += sizes[i];
    }
    words_.resize(at / 8);
    for (std::size_t i = 0; i < a::kRegions; ++i) {
      std::byte* entry = data() + a::kRegionTable + 16 * i;
      wire::store(entry, a::kRegionOffset, offsets_[i]);
      wire::store(entry, a::kRegionBytes, sizes[i]);
    }
    wire::store(data(), a::kMagic, a::kMagicValue);
    wire::store(data(), a::kVersion, a::kFormatVersion);
    state(a::State::recording);
    wire::store(data(), a::kPid, 4711u);
  }

  std::byte* data() { return reinterpret_cast<std::byte*>(words_.data()); }
  std::span<std::byte> bytes() { return {data(), words_.size() * 8}; }
  void state(wire::area::State value) { wire::store(data(), wire::area::kState, static_cast<std::uint32_t>(value)); }

  std::byte* thread(std::size_t i) { return at(Region::threads, i * wire::area::kThreadSize); }
  std::byte* context(std::size_t i) { return at(Region::contexts, i * wire::area::kContextSize); }
  std::byte* stream(std::size_t i) { return at(Region::streams, i * wire::area::kStreamSize); }
  std::byte* marker(std::size_t i) { return at(Region::markers, i * wire::area::kMarkerSize); }
  std::byte* frozen(std::size_t i) { return at(Region::frozen, i * wire::area::kFrozenSize); }
  // Makes entry i of `allocations` a live allocation. Returns the entry, so that the caller can set further fields.
  std::byte* allocation(std::size_t i, std::uint64_t address, std::uint64_t bytes) {
    namespace w = wire::allocation;
    std::byte* entry = at(Region::allocations, i * wire::area::kAllocationSize);
    wire::store(data(), wire::area::kAllocationsUsed, i + 1);
    wire::store(entry, w::kAddress, address);
    wire::store(entry, w::kBytes, bytes);
    wire::store(entry, w::kKind, static_cast<std::uint8_t>(w::Kind::device));
    wire::store(entry, w::kSerial, i + 1);
    return entry;
  }
  std::byte* communicator(std::size_t i) { return at(Region::communicators, i * wire::communicator::kSize); }
  std::byte* peer(std::size_t i) { return at(Region::peers, i * wire::peer::kSize); }
  std::byte* collective(std::size_t i) { return at(Region::collectives, i * wire::collective::kSize); }
  std::byte* error(std::size_t i) { return at(Region::errors, i * wire::area::kErrorSize); }
  std::byte* site_count(std::size_t i) {
    return at(Region::sites, wire::area::site_place(i, shape_.sites) * wire::area::kSiteSize);
  }
  std::byte* held(std::size_t stream, std::size_t place) {
    return at(Region::held, (stream * shape_.held_per_stream + place) * wire::area::kOperationSize);
  }
  std::byte* ring(std::size_t thread, std::size_t place) {
    return at(Region::rings, (thread * shape_.ring + place) * wire::area::kOperationSize);
  }

  void live_thread(std::size_t i, std::uint32_t tid, std::uint64_t published) {
    wire::store(thread(i), wire::thread::kState, static_cast<std::uint32_t>(wire::thread::State::live));
    wire::store(thread(i), wire::thread::kTid, tid);
    wire::store(thread(i), wire::thread::kPublished, published);
  }
  void live_stream(std::size_t i) {
    wire::store(stream(i), wire::stream::kState, static_cast<std::uint32_t>(wire::stream::State::live));
  }

  // Writes a kernel to its slot in the ring of `thread`. Returns the record, so that the caller can set further fields.
  std::byte* kernel(std::size_t thread, std::uint64_t serial, std::uint32_t stream, std::uint64_t ticks) {
    return write_kernel(ring(thread, (serial - 1) % shape_.ring), thread, serial, stream, ticks);
  }
  static std::byte* write_kernel(std::byte* record, std::size_t thread, std::uint64_t serial, std::uint32_t stream,
                                 std::uint64_t ticks) {
    namespace o = wire::operation;
    wire::store(record, o::kKind, static_cast<std::uint8_t>(o::Kind::kernel));
    wire::store(record, o::kThread, static_cast<std::uint8_t>(thread));
    wire::store(record, o::kStream, static_cast<std::uint16_t>(stream));
    wire::store(record, o::kTicks, ticks);
    wire::store(record, o::kSerial, static_cast<std::uint32_t>(serial));
    return record;
  }

  // Writes numbers to `layouts`, starting at `index`.
  void layout(std::size_t index, const std::vector<std::uint16_t>& numbers) {
    std::memcpy(at(Region::layouts, index * 2), numbers.data(), numbers.size() * 2);
  }
  // Fills the parameter slot of a launch. Returns the slot, so that the caller can set further fields.
  std::byte* parameters(std::size_t thread, std::uint64_t serial, std::uint32_t layout, const std::string& values) {
    namespace p = wire::launch_parameters;
    const std::size_t place = thread * shape_.parameter_slots + serial % shape_.parameter_slots;
    std::byte* slot = at(Region::parameters, place * p::kSlotSize);
    wire::store(slot, p::kBytes, static_cast<std::uint16_t>(values.size()));
    wire::store(slot, p::kLayout, layout);
    std::memcpy(slot + p::kValues, values.data(), values.size());
    wire::store(slot, p::kSerial, static_cast<std::uint32_t>(serial));
    return slot;
  }

  std::byte* copied(std::size_t place, std::uint32_t thread, std::uint64_t serial, const std::string& contents) {
    namespace c = wire::launch_parameters::copied;
    std::byte* slot = at(Region::copied, place * c::kSlotSize);
    wire::store(slot, c::kThread, thread);
    wire::store(slot, c::kBytes, static_cast<std::uint32_t>(contents.size()));
    std::memcpy(slot + c::kContents, contents.data(), contents.size());
    wire::store(slot, c::kSerial, serial);
    return slot;
  }

  std::uint32_t string(const std::string& text) {
    raw_entry(wire::intern::Tag::string, static_cast<std::uint16_t>(text.size()), text);
    return ++strings_;
  }
  // Appends an entry whose payload is the 32-bit `words`, followed by the bytes of `rest`.
  void entry(wire::intern::Tag tag, std::uint16_t count, const std::vector<std::uint32_t>& words,
             const std::string& rest = {}) {
    std::string payload(reinterpret_cast<const char*>(words.data()), words.size() * 4);
    raw_entry(tag, count, payload + rest);
  }
  void raw_entry(wire::intern::Tag tag, std::uint16_t count, const std::string& payload) {
    const std::size_t size = (wire::intern::kHeaderSize + payload.size() + 7) / 8 * 8;
    std::byte* record = at(Region::intern, intern_used_);
    wire::store(record, wire::intern::kSize, static_cast<std::uint32_t>(size));
    wire::store(record, wire::intern::kTag, static_cast<std::uint16_t>(tag));
    wire::store(record, wire::intern::kCount, count);
    std::memcpy(record + wire::intern::kHeaderSize, payload.data(), payload.size());
    intern_used_ += size;
    wire::store(data(), wire::area::kInternUsed, intern_used_);
  }

 private:
  std::byte* at(Region region, std::size_t offset) {
    return data() + offsets_[static_cast<std::size_t>(region)] + offset;
  }

  AreaShape shape_;
  std::uint64_t offsets_[wire::area::kRegions] = {};
  std::vector<std::uint64_t> words_;  // 8-byte words, so that the area is aligned like a mapping
  std::uint64_t intern_used_ = 0;
  std::uint32_t strings_ = 0;
};

}  // namespace cudadiag::test
