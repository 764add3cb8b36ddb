#include "symbolize/file_time.h"

#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <tuple>
#include <utility>

#include "session/process_record.h"

namespace cudadiag::symbolize {
namespace {

constexpr double kGrain = 1;  // seconds; file timestamps are coarse, and the clocks of file servers may differ

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

std::string absolute_file(const std::string& file, const session::ProcessRecord& record) {
  if (file.empty() || file.starts_with('<') || file.starts_with('/')) return file;
  const std::string& cwd = session::value_of(record, session::Property::cwd);
  return cwd.empty() ? file : (std::filesystem::path(cwd) / file).lexically_normal().string();
}

std::vector<std::string> rewritten_files(const session::Session& session) {
  // A command may build a program and then run it, so compare only with the last process that used the file.
  std::map<std::string, std::pair<double, std::string>> last_had;
  for (const session::Process& process : session.processes) {
    const session::ProcessRecord& record = process.record;
    const std::uint64_t last = record.frozen_ticks != 0 ? record.frozen_ticks : record.clock_last;
    if (record.start_realtime == 0 || last < record.clock_start || record.seconds_per_tick <= 0) continue;
    const auto add = [&, ended = record.unix_seconds(last)](const std::string& name) {
      auto& [latest, file] = last_had[name];
      if (ended > latest) std::tie(latest, file) = std::pair(ended, absolute_file(name, record));
    };
    for (const session::Code& code : record.codes) add(code.file);
    for (const session::Module& module : record.modules) add(module.path);
  }
  std::vector<std::string> files;
  for (const auto& [name, had] : last_had) {
    const auto written = had.second.starts_with('/') ? time_written(had.second) : std::nullopt;
    if (written && *written > had.first) files.push_back(name);
  }
  return files;
}

}  // namespace cudadiag::symbolize
