// Fuzzes the parsers of single lines and option values. The first byte selects the parser: the location of a running
// recording, the window of a rerun, the driver's message about a failing call, or FILE:LINE.
#include <algorithm>

#include "record/calls/failures.h"
#include "record/operations/threads.h"
#include "record/rerun/window.h"
#include "record/this_thread.h"
#include "session/session_folders.h"
#include "supervise/hook_config.h"

using namespace cudadiag;

constinit thread_local record::ThisThread record::t_this{};

namespace {

void (*driver_says)(void*, int, char*, std::size_t) = nullptr;

CUresult keep_callback(void (*callback)(void*, int, char*, std::size_t), void*, void**) {
  driver_says = callback;
  return CUDA_SUCCESS;
}

void listen_to_driver(std::string text) {
  static record::ThreadState thread;
  record::t_this.state = &thread;
  record::DriverApi driver;
  driver.logs_register_callback = keep_callback;
  record::driver_log::start(driver);
  record::driver_log::forget();
  driver_says(nullptr, 0, text.data(), text.size());
  driver_says(nullptr, 0, text.data(), text.size() / 2);
  const std::string_view said = record::driver_log::explanation();
  if (said.size() > 512 || (!said.empty() && text.find(said) == text.npos)) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  if (data[0] % 4 == 0) {
    const auto place = session::parse_live_place(text);
    if (place && session::write_live_place(*place) !=
                     session::write_live_place(*session::parse_live_place(session::write_live_place(*place))))
      __builtin_trap();
  } else if (data[0] % 4 == 1) {
    record::Window window;
    if (!window.read(text) && !window.empty()) __builtin_trap();
    window.from_the_start();
    window.armed_from(1, 2);
  } else if (data[0] % 4 == 2) {
    listen_to_driver(text);
  } else if (text.find_first_of("\t\n") == std::string::npos) {  // otherwise the option is rejected
    const std::string lines = supervise::watched_lines({text, "train.py:41"});
    if (std::count(lines.begin(), lines.end(), '\n') != 2) __builtin_trap();
  }
  return 0;
}
