#include "launch/environment.h"

#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "base/processes.h"
#include "base/text.h"
#include "launch/libraries.h"

namespace cudadiag::launch {

namespace {

namespace fs = std::filesystem;
namespace names = wire::environment;
using base::environment_value;

std::string joined(const std::vector<fs::path>& paths) {
  std::string out;
  for (const fs::path& path : paths) out += (out.empty() ? "" : ":") + path.string();
  return out;
}

// The driver writes no core dumps while an injection library is loaded, so we preload a library instead. It is loaded
// before the user's preloaded libraries, and forwards all calls. GCC's address sanitizer accepts this only with
// verify_asan_link_order=0.
std::vector<Variable> preloading(const fs::path& recorder) {
  const std::string others = environment_value("LD_PRELOAD"), sanitizer = environment_value("ASAN_OPTIONS");
  const std::string own = preload_library(recorder).string();
  return {{"LD_PRELOAD", others.empty() ? own : own + ":" + others},
          {"ASAN_OPTIONS", (sanitizer.empty() ? "" : sanitizer + ":") + "verify_asan_link_order=0"}};
}

bool is_a_recorder(const fs::path& library) { return library.filename() == "libcudadiag_record.so"; }

// Returns the library in CUDA_INJECTION64_PATH. Returns "" if it is a recorder, because two recorders would write to
// the same session.
std::string earlier_injection(const fs::path& recorder) {
  const std::string earlier = environment_value(names::kInjection);
  return earlier == recorder || is_a_recorder(earlier) ? "" : earlier;
}

wire::RecordOptions as_recorded(wire::RecordOptions options) {
  options.watch_by = wire::way_of(options);
  return options;
}

}  // namespace

std::vector<Variable> recording_variables(const fs::path& recorder, const RecordingPlace& place,
                                          const std::vector<fs::path>& cupti, const wire::RecordOptions& options) {
  std::vector<Variable> variables;
  if (options.once) {
    variables = preloading(recorder);
  } else {
    variables.push_back({names::kInjection, recorder.string()});
  }
  const std::string earlier = earlier_injection(recorder);
  if (!earlier.empty()) variables.push_back({names::kEarlierInjection, earlier});
  variables.push_back({names::kPass, place.pass});
  if (!place.arena.empty()) variables.push_back({names::kArena, place.arena});
  if (!place.pass_folder.empty()) variables.push_back({names::kSession, place.pass_folder.string()});
  if (!place.window.empty()) variables.push_back({names::kWindow, place.window});
  if (!place.values.empty()) variables.push_back({names::kValues, place.values});
  if (!cupti.empty()) variables.push_back({names::kCupti, joined(cupti)});
  if (options.nccl) {
    for (Variable& profiler : profiler_variables(recorder)) variables.push_back(std::move(profiler));
  }
  variables.push_back({names::kRecord, wire::encode(as_recorded(options))});
  return variables;
}

std::vector<std::string> environment_with(const std::vector<Variable>& changes) {
  std::vector<std::string> result;
  for (const std::string& text : base::own_environment()) {
    const std::string_view name = std::string_view(text).substr(0, text.find('='));
    const auto changed = [&](const Variable& change) { return change.name == name; };
    // Drops the settings of an outer launcher, because they apply only to that launcher's target.
    if (name == names::kArena || name == names::kSession || name == names::kWindow || name == names::kValues ||
        name == names::kNans || name == names::kOrigins || name == names::kTensorRaces || name == names::kGraphMemory) {
      continue;
    }
    if (std::ranges::none_of(changes, changed)) result.push_back(text);
  }
  for (const Variable& change : changes) result.push_back(change.name + "=" + change.value);
  return result;
}

std::vector<std::string> environment_without_injection(const std::vector<Variable>& changes) {
  std::vector<std::string> result = environment_with(changes);
  const std::string name = std::string(names::kInjection) + "=";
  std::erase_if(result, [&](const std::string& entry) { return entry.starts_with(name); });
  return result;
}

std::string dropped_injection(const fs::path& recorder) {
  const std::string earlier = environment_value(names::kInjection);
  if (earlier.empty() || earlier == recorder) return {};
  if (!is_a_recorder(earlier)) return {};
  return std::string(names::kInjection) + "=" + earlier +
         " is ignored in this run, because it belongs to another copy of cudadiag";
}

namespace {

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
