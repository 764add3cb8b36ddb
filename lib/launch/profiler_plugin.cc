#include "launch/profiler_plugin.h"

#include <strings.h>

#include <cstdlib>
#include <fstream>
#include <optional>

#include "base/environment_value.h"
#include "launch/own_libraries.h"
#include "wire/names/environment.h"

namespace cudadiag::launch {
namespace {

namespace fs = std::filesystem;
namespace names = wire::environment;
using base::environment_value;

// Parses the file as NCCL does: each line is a variable and its value, and spaces are not stripped.
std::optional<std::string> setting_in(const fs::path& file, const std::string& name) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.starts_with(name + "=")) return line.substr(name.size() + 1);
  }
  return std::nullopt;
}

std::string in_files_of_settings() {
  const std::string named = environment_value("NCCL_CONF_FILE"), home = environment_value("HOME");
  std::optional<std::string> value;
  if (!named.empty()) {
    value = setting_in(named, names::kProfilerPlugin);
  } else if (!home.empty()) {
    value = setting_in(fs::path(home) / ".nccl.conf", names::kProfilerPlugin);
  }
  if (!value) value = setting_in("/etc/nccl.conf", names::kProfilerPlugin);
  return value.value_or("");
}

// Returns true if the plugin is a recorder, which an outer cudadiag may have set.
bool is_recorder(const std::string& plugin, const fs::path& recorder) {
  return fs::path(plugin).filename() == recorder.filename();
}

// Returns the plugin that NCCL would load without cudadiag; "" for NCCL's default plugin.
std::string wanted_profiler(const fs::path& recorder) {
  const char* set = std::getenv(names::kProfilerPlugin);
  const std::string wanted = set == nullptr ? in_files_of_settings() : set;
  return is_recorder(wanted, recorder) ? environment_value(names::kProfiler) : wanted;
}

}  // namespace

std::optional<base::Error> fault_in_profiler(const fs::path& recorder) {
  const std::string wanted = wanted_profiler(recorder);
  if (wanted.find('/') == std::string::npos) return std::nullopt;  // NCCL searches for it
  return fault_in_foreign(wanted, std::string("correct ") + names::kProfilerPlugin);
}

std::vector<Variable> profiler_variables(const fs::path& recorder) {
  std::string wanted = wanted_profiler(recorder);
  if (::strcasecmp(wanted.c_str(), "none") == 0) return {};
  if (fault_in_profiler(recorder)) wanted.clear();
  std::vector<Variable> variables = {{names::kProfilerPlugin, recorder.string()}};
  if (!wanted.empty() || std::getenv(names::kProfiler) != nullptr) variables.push_back({names::kProfiler, wanted});
  return variables;
}

}  // namespace cudadiag::launch
