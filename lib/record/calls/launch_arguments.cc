#include "record/calls/launch_arguments.h"

#include <cstring>

namespace cudadiag::record {

namespace intern = wire::intern;

void LaunchArguments::attach(Interner& interner, const DriverApi& driver) {
  interner_ = &interner;
  driver_ = &driver;
}

// Tries both queries, because the program may have passed a CUkernel as a CUfunction. Each query rejects handles of the
// other type.
bool LaunchArguments::layout_of(CUfunction function, std::size_t parameter, std::size_t& offset,
                                std::size_t& size) const {
  if (driver_->func_get_param_info != nullptr &&
      driver_->func_get_param_info(function, parameter, &offset, &size) == CUDA_SUCCESS) {
    return true;
  }
  return driver_->kernel_get_param_info != nullptr &&
         driver_->kernel_get_param_info(reinterpret_cast<CUkernel>(function), parameter, &offset, &size) ==
             CUDA_SUCCESS;
}

bool LaunchArguments::add(std::size_t offset, const void* value, std::size_t size) {
  const std::size_t left = values_.size() - bytes_;
  if (count_ == kMostParameters || left == 0) {
    flags_ |= intern::kCut;
    return false;
  }
  if (size > left) flags_ |= intern::kCut;
  const std::size_t kept = size < left ? size : left;
  std::memcpy(values_.data() + bytes_, value, kept);
  head_.parameters[count_++] = {static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(kept)};
  bytes_ += (kept + 7) / 8 * 8;
  return kept == size;
}

// Reads the array `extra`: { POINTER, buffer, SIZE, &size, END }.
void LaunchArguments::read_buffer(CUfunction function, void* const* extra) {
  const std::byte* buffer = nullptr;
  std::size_t size = 0;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = static_cast<const std::byte*>(extra[1]);
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1] != nullptr)
      size = *static_cast<const std::size_t*>(extra[1]);
    if (extra[0] != CU_LAUNCH_PARAM_BUFFER_POINTER && extra[0] != CU_LAUNCH_PARAM_BUFFER_SIZE) return;
  }
  if (buffer == nullptr || size == 0) return;
  std::size_t at = 0, bytes = 0;
  for (std::size_t i = 0; layout_of(function, i, at, bytes); ++i) {
    if (at > size || bytes > size - at || !add(at, buffer + at, bytes)) return;
  }
  if (count_ > 0) return;
  flags_ |= intern::kBuffer;
  add(0, buffer, size);
}

void LaunchArguments::read(const Call& launch) {
  has_ = true;
  flags_ = 0;
  count_ = bytes_ = 0;
  const RelaxedCapture relaxed(*driver_);
  if (launch.parameters == nullptr) {
    if (launch.extra != nullptr) read_buffer(launch.function, launch.extra);
    return;
  }
  const bool can = driver_->func_get_param_info != nullptr || driver_->kernel_get_param_info != nullptr;
  if (!can && !noted_) {
    noted_ = true;
    interner_->note("arguments-not-read",
                    "the driver is too old to report kernel parameters (needs CUDA 12.4 or later)");
  }
  std::size_t offset = 0, size = 0;
  for (std::size_t i = 0; can && layout_of(launch.function, i, offset, size); ++i) {
    if (launch.parameters[i] == nullptr || !add(offset, launch.parameters[i], size)) return;
  }
}

void LaunchArguments::keep(std::uint16_t thread, std::uint64_t serial) {
  if (!has_ || count_ == 0) return;
  has_ = false;
  head_.serial = serial;
  head_.thread = thread;
  head_.flags = flags_;
  const auto* head = reinterpret_cast<const std::byte*>(&head_);
  interner_->arguments(static_cast<std::uint16_t>(count_), {head, 16 + 8 * count_}, {values_.data(), bytes_});
}

}  // namespace cudadiag::record
