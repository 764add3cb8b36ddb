#include "symbolize/file_time.h"

#include <sys/stat.h>

namespace cudadiag::symbolize {
namespace {

constexpr double kGrain = 1;  // seconds: clocks of file systems are coarse, and those of servers off

bool written_since(const std::string& file, double unix_seconds) {
  const auto written = time_written(file);
  return unix_seconds > 0 && written && *written > unix_seconds + kGrain;
}

}  // namespace

std::optional<double> time_written(const std::string& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return static_cast<double>(status.st_mtim.tv_sec) + static_cast<double>(status.st_mtim.tv_nsec) * 1e-9;
}

bool written_since_start(const std::string& file, const session::ProcessRecord& record) {
  return written_since(file, static_cast<double>(record.start_realtime) * 1e-9);
}

bool written_since_end(const std::string& file, const session::ProcessRecord& record) {
  const bool known = record.start_realtime != 0 && record.clock_last != 0 && record.seconds_per_tick > 0;
  return known && written_since(file, record.unix_seconds(record.clock_last));
}

}  // namespace cudadiag::symbolize
