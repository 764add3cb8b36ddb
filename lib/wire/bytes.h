// Typed fields at fixed byte offsets. Wire memory is read and written only through them.
//
// Every number is little-endian and naturally aligned inside its record, so that the recorder can publish it with a
// single store while another process reads. These functions do not check bounds: at least `Field::end` bytes of the
// record must be accessible. The session reader checks this once per record.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace cudadiag::wire {

static_assert(std::endian::native == std::endian::little, "the wire format is little-endian");

template <typename T, std::size_t Offset>
struct Field {
  static_assert(std::is_integral_v<T> && Offset % sizeof(T) == 0, "fields are aligned integers");
  using type = T;
  static constexpr std::size_t offset = Offset;
  static constexpr std::size_t end = Offset + sizeof(T);
};

template <typename T, std::size_t Offset>
T load(const std::byte* record, Field<T, Offset>) {
  T value;
  std::memcpy(&value, record + Offset, sizeof value);
  return value;
}

template <typename T, std::size_t Offset>
void store(std::byte* record, Field<T, Offset>, std::type_identity_t<T> value) {
  std::memcpy(record + Offset, &value, sizeof value);
}

// Returns an atomic view of a field that another thread, another process or the GPU may access at the same time.
template <typename T, std::size_t Offset>
std::atomic_ref<T> atomic(std::byte* record, Field<T, Offset>) {
  return std::atomic_ref<T>(*reinterpret_cast<T*>(record + Offset));
}

// The const_cast is safe although readers map the area read-only: an atomic load needs no write access on the supported
// targets.
template <typename T, std::size_t Offset>
T load_acquire(const std::byte* record, Field<T, Offset> field) {
  return atomic(const_cast<std::byte*>(record), field).load(std::memory_order_acquire);
}

template <typename T, std::size_t Offset>
void store_release(std::byte* record, Field<T, Offset> field, std::type_identity_t<T> value) {
  atomic(record, field).store(value, std::memory_order_release);
}

}  // namespace cudadiag::wire
