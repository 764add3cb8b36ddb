#include "progress.h"

#include <unistd.h>

#include <algorithm>

#include "report/words.h"
#include "terminal.h"

namespace cudadiag::command {

Progress::Progress(std::string what, std::uint64_t operations)
    : what_(std::move(what)),
      operations_(operations),
      started_(std::chrono::steady_clock::now()),
      terminal_(can_be_driven(STDERR_FILENO)) {}

Progress::~Progress() {
  if (shown_) write_error_text("\r\033[K");
}

void Progress::show(std::uint64_t done) {
  if (!terminal_) return;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
  std::string left;
  std::string text =
      "\r\033[Kcudadiag: rerun (" + what_ + "), " + report::duration(seconds) + ": " + report::thousands(done);
  if (operations_ > 0) {
    text += " of " + report::thousands(operations_);
    const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(operations_));
    if (share > 0.02 && share < 1) left = ", " + report::duration(seconds / share - seconds) + " left";
  }
  write_error_text(text + " operations" + left + "; Ctrl-C skips it");
  shown_ = true;
}

}  // namespace cudadiag::command
