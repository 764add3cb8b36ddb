#include "supervise/unrecorded_watch.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/processes.h"
#include "launch/gpu_usage.h"
#include "launch/libraries.h"
#include "supervise/recorded_processes.h"
#include "wire/area.h"
#include "wire/environment.h"

namespace cudadiag::supervise {
namespace {

namespace fs = std::filesystem;
namespace names = wire::environment;
using std::chrono::milliseconds;

constexpr milliseconds kFirstPause{10}, kLongestPause{1000};
// A check may take a hundredth of the launcher's time.
constexpr int kCostShare = 100;
// The driver opens the GPU before it loads the recorder. It maps this file for the first context, which the program
// creates later. Measured with driver 580 on an H200.
constexpr const char* kMappedForContexts = "/dev/nvidia-uvm";
// A process may take this long to become recorded. Without a context, the driver may still be starting, which takes
// seconds on a machine with many GPUs.
constexpr milliseconds kStart{1000}, kLongestStart{30'000};
constexpr std::size_t kNamed = 4;
constexpr const char* kPreload = "LD_PRELOAD";

std::string in_proc(pid_t process, const std::string& name) { return "/proc/" + std::to_string(process) + "/" + name; }

// Returns the time for which this thread has used a processor. On a busy machine, a check takes much longer.
std::chrono::nanoseconds processor_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// The environment with which the process's program was started.
class StartEnvironment {
 public:
  explicit StartEnvironment(pid_t process) {
    std::ostringstream content;
    content << std::ifstream(in_proc(process, "environ")).rdbuf();
    text_ = '\0' + content.str();
  }
  bool known() const { return text_.size() > 1; }
  std::optional<std::string> value(const std::string& name) const {
    const std::string begin = '\0' + name + "=";
    const std::size_t found = text_.find(begin);
    if (found == std::string::npos) return std::nullopt;
    return std::string(text_.c_str() + found + begin.size());
  }

 private:
  std::string text_;  // every variable follows a zero
};

// What /proc/PID/status says.
struct Identity {
  std::uint32_t own_pid = 0;  // in the process's own pid namespace
  uid_t user = 0;             // the effective user
};

Identity identity_of(pid_t process) {
  Identity identity{static_cast<std::uint32_t>(process), ::geteuid()};
  std::ifstream status(in_proc(process, "status"));
  for (std::string line; std::getline(status, line);) {
    std::istringstream words(line);
    std::string key;
    words >> key;
    if (key == "Uid:") words >> identity.user >> identity.user;
    if (key == "NSpid:") {
      while (words >> identity.own_pid) continue;
    }
  }
  return identity;
}

// Returns whether the process itself hid all GPUs.
bool hides_gpus(const StartEnvironment& environment) {
  const auto visible = environment.value("CUDA_VISIBLE_DEVICES");
  return visible && (visible->empty() || visible->front() == '-');
}

const std::string* value_in(const std::vector<launch::Variable>& variables, const char* name) {
  const auto found = std::ranges::find(variables, name, &launch::Variable::name);
  return found == variables.end() ? nullptr : &found->value;
}

}  // namespace

struct UnrecordedWatch::Why {
  base::Error reason;
  milliseconds patience{0};  // how long it must have been so
};

UnrecordedWatch::UnrecordedWatch(const launch::Target& target, Recording& recording)
    : target_(target), recording_(recording), next_(Clock::now() + kFirstPause), pause_(kFirstPause) {}

milliseconds UnrecordedWatch::interval() const {
  const auto left = std::chrono::ceil<milliseconds>(next_ - Clock::now());
  return std::max(left, milliseconds(1));
}

std::vector<std::string> UnrecordedWatch::look() {
  std::vector<std::string> news;
  const Clock::time_point begin = Clock::now();
  if (begin < next_) return news;
  const Clock::duration used = processor_time();
  for (const pid_t process : target_.seen_processes()) {
    if (auto text = look_at(process, begin)) news.push_back(std::move(*text));
  }
  pause_ = std::min<Clock::duration>(2 * pause_, kLongestPause);
  next_ = Clock::now() + std::max<Clock::duration>(pause_, kCostShare * (processor_time() - used));
  return news;
}

std::optional<std::string> UnrecordedWatch::look_at(pid_t process, Clock::time_point now) {
  if (recorded_.contains(static_cast<std::uint32_t>(process)) || !launch::has_opened_gpu(process)) return std::nullopt;
  const Key key{process, base::state_of(process).start};
  if (told_.contains(key)) return std::nullopt;
  // Read before the areas: the process may become recorded, and then create a context, during this check.
  const bool has_context = launch::has_mapped(process, kMappedForContexts);
  const std::uint32_t own_pid = identity_of(process).own_pid;
  if (is_recorded(own_pid)) return std::nullopt;
  const auto why = why_unreached(process);
  // If the process has ended meanwhile, its environment is empty, and its area may belong to another process.
  if (!why || !launch::has_opened_gpu(process)) return std::nullopt;
  std::string text = "process " + std::to_string(process) + " (" + base::process_name(process) +
                     ") uses a GPU but is not recorded: " + why->reason.what;
  if (!why->reason.hint.empty()) text += "; " + why->reason.hint;
  Suspect& suspect = suspects_.emplace(key, Suspect{now, own_pid}).first->second;
  const bool may_be_starting = why->patience > milliseconds(0) && !has_context;
  // A stopped process does not start.
  if (may_be_starting && base::life_of(process) == base::Life::stopped) suspect.since = now;
  // The start can take longer on a machine under load. Such a process is named at the end, if it is not recorded then.
  if (has_context || now - suspect.since >= kLongestStart) suspect.text = text;
  if (may_be_starting || now - suspect.since < why->patience) return std::nullopt;
  return name(key, std::move(text));
}

std::vector<std::string> UnrecordedWatch::finish() {
  std::vector<std::string> news;
  for (const auto& [key, suspect] : suspects_) {
    if (suspect.text.empty() || told_.contains(key) || is_recorded(suspect.own_pid)) continue;
    if (auto text = name(key, suspect.text)) news.push_back(std::move(*text));
  }
  return news;
}

std::optional<std::string> UnrecordedWatch::name(const Key& key, std::string text) {
  told_.insert(key);
  if (told_.size() > kNamed) return ++unnamed_, std::nullopt;
  return text;
}

bool UnrecordedWatch::is_recorded(std::uint32_t own_pid) {
  const launch::Arena* arena = recording_.arena();
  // Reads every area again, because the process may have taken over the area of an earlier one (wire/area.h).
  for (std::size_t index = 0; arena != nullptr && index < arena->claimed(); ++index) {
    const launch::LiveArea area(*arena, index);
    if (area.bytes().empty()) continue;
    // 0 until the process has filled in its header.
    if (const std::uint32_t pid = wire::load(area.bytes().data(), wire::area::kPid); pid != 0) recorded_.insert(pid);
  }
  if (recorded_.contains(own_pid)) return true;
  if (recording_.writer() == nullptr) return false;
  // Names are PID.area, PID-2.area, or PID.values.
  std::error_code error;
  fs::directory_iterator files(recording_.writer()->pass_folder(), error), end;
  for (; !error && files != end; files.increment(error)) {
    if (std::strtoul(files->path().filename().c_str(), nullptr, 10) == own_pid) return true;
  }
  return false;
}

bool UnrecordedWatch::descends_from_recorded(pid_t process) {
  const pid_t own = ::getpid();
  for (pid_t parent = base::state_of(process).parent; parent > 1 && parent != own;) {
    if (is_recorded(identity_of(parent).own_pid)) return true;
    parent = base::state_of(parent).parent;
  }
  return false;
}

std::optional<UnrecordedWatch::Why> UnrecordedWatch::why_unreached(pid_t process) {
  const std::vector<launch::Variable>& set = recording_.variables();
  if (set.empty()) return Why{{recording_.manifest().unrecorded, ""}};
  const StartEnvironment environment(process);
  if (!environment.known() ? ::access(in_proc(process, "environ").c_str(), R_OK) != 0 : hides_gpus(environment)) {
    return std::nullopt;
  }
  if (environment.value("CUDADIAG_REPORT")) return std::nullopt;  // the command of --on-failure
  for (const char* place : {names::kArena, names::kSession}) {
    const std::string* own = value_in(set, place);
    const auto theirs = environment.value(place);
    if (own != nullptr && theirs && *theirs != *own) return std::nullopt;  // another cudadiag records it
  }
  for (const char* name : {names::kSession, names::kArena, names::kNans, names::kTensorRaces}) {
    if (value_in(set, name) == nullptr || environment.value(name)) continue;
    return Why{{"its environment lacks cudadiag's variables",
                "start cudadiag where the environment is complete (env -i … cudadiag run -- COMMAND), or keep the "
                "variables CUDADIAG_*, CUDA_INJECTION64_PATH and LD_PRELOAD"}};
  }
  if (recording_.recorder().empty()) {
    return Why{{"its operators are not checked: it has not imported PyTorch, or its Python ignores the environment",
                "run Python without -I, -E and -S"},
               kStart};
  }
  const std::string recorder = recording_.recorder().string();
  const std::string* preloaded = value_in(set, kPreload);
  const char* variable = preloaded != nullptr ? kPreload : names::kInjection;
  const std::string library = preloaded != nullptr ? launch::preload_library(recorder).string() : recorder;
  const std::string theirs = environment.value(variable).value_or("");
  if (preloaded != nullptr ? theirs.find(library) == std::string::npos : theirs != library) {
    const std::string now = theirs.empty() ? " was removed from its environment" : " was changed to " + theirs;
    return Why{{variable + now, "keep " + library + " in it"}};
  }
  struct stat status {};
  if (::stat((in_proc(process, "root") + library).c_str(), &status) != 0 && errno != EACCES) {
    return Why{{library + " is not visible in its root folder or mount namespace",
                "start cudadiag there, or make the folder visible there (mount --bind)"}};
  }
  return why_not_loaded(process, library);
}

std::optional<UnrecordedWatch::Why> UnrecordedWatch::why_not_loaded(pid_t process, const std::string& library) {
  const bool loaded = launch::has_mapped(process, recording_.recorder().filename().string());
  // A fork of a recorded process has its libraries and files, but cannot use CUDA.
  const bool is_orphan = process != target_.pid() && base::state_of(process).parent == ::getpid();
  if (loaded && (is_orphan || descends_from_recorded(process))) return std::nullopt;
  const uid_t user = identity_of(process).user;
  if (user != ::geteuid()) {
    return Why{{"it runs as user " + std::to_string(user) + ", who " +
                    (loaded ? "cannot reach the recording of user " + std::to_string(::geteuid())
                            : "may not be able to read " + library),
                "start cudadiag as that user"},
               kStart};
  }
  if (!loaded) {
    return Why{{"the CUDA driver did not load the recorder, or the program changed its own environment",
                "check the driver: cudadiag doctor"},
               kStart};
  }
  // A recorder that cannot start says so itself.
  if (left_unrecorded(recording_.arena(), recording_.writer())) return std::nullopt;
  if (recording_.arena() != nullptr && recording_.arena()->turned_away() > 0) return std::nullopt;
  return Why{{"the recorder can reach neither cudadiag's memory nor the session's folder",
              "choose a folder that is visible to the process: -o FOLDER"},
             kStart};
}

}  // namespace cudadiag::supervise
