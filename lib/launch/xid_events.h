// Receives the Xids of the machine's GPUs: the errors that NVIDIA's kernel driver reports. Uses NVML in this process. If
// NVML is missing or grants no right to receive events, there are none.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cudadiag::launch {

class XidEvents {
 public:
  // Starts to listen, on a separate thread, because NVML may take long to start.
  XidEvents();
  XidEvents(const XidEvents&) = delete;
  XidEvents& operator=(const XidEvents&) = delete;
  ~XidEvents();

  // Returns a sentence for each event since the last call. An event does not name the process that caused it.
  std::vector<std::string> take();

 private:
  struct Listener;
  std::shared_ptr<Listener> listener_;
  std::optional<bool> receives_;  // nullopt until NVML has started
};

}  // namespace cudadiag::launch
