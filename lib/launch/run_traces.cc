#include "launch/run_traces.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace cudadiag::launch {
namespace {

namespace fs = std::filesystem;

// Daemons may not have finished starting any earlier.
constexpr auto kPatience = std::chrono::seconds(10);
constexpr int kListening = 10;  // TCP_LISTEN, as /proc/net has it

std::int64_t written_by(const std::string& counters) {
  std::ifstream file(counters);
  std::string name;
  for (std::int64_t value = 0; file >> name >> value;) {
    if (name == "write_bytes:") return value;
  }
  return 0;
}

// The bytes that reaped processes wrote: those of this process without those of its threads.
std::int64_t written_by_reaped() {
  std::int64_t written = written_by("/proc/self/io");
  std::error_code error;
  for (fs::directory_iterator it("/proc/self/task", error), end; !error && it != end; it.increment(error)) {
    written -= written_by(it->path().string() + "/io");
  }
  return written;
}

bool writes_output_to_a_file() {
  for (const int number : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat status {};
    if (::fstat(number, &status) == 0 && S_ISREG(status.st_mode)) return true;
  }
  return false;
}

// Two lines a protocol: names, then numbers.
std::uint64_t counted_in(const char* table, const std::string& protocol, const std::set<std::string>& wanted) {
  std::ifstream file(table);
  std::uint64_t sum = 0;
  for (std::string names, numbers; std::getline(file, names) && std::getline(file, numbers);) {
    if (!names.starts_with(protocol)) continue;
    std::istringstream name(names), number(numbers);
    for (std::string key, value; name >> key && number >> value;) {
      if (wanted.contains(key)) sum += std::strtoull(value.c_str(), nullptr, 10);
    }
  }
  return sum;
}

std::uint64_t connections_so_far() {
  return counted_in("/proc/self/net/snmp", "Tcp:", {"ActiveOpens", "PassiveOpens"}) +
         counted_in("/proc/self/net/snmp", "Udp:", {"OutDatagrams"});
}

std::set<std::string> sockets_of(const std::vector<pid_t>& processes) {
  std::set<std::string> inodes;
  for (const pid_t process : processes) {
    std::error_code error;
    for (fs::directory_iterator it("/proc/" + std::to_string(process) + "/fd", error), end; !error && it != end;
         it.increment(error)) {
      std::error_code ignored;
      const std::string text = fs::read_symlink(it->path(), ignored).string();
      if (text.starts_with("socket:[")) inodes.insert(text.substr(8, text.size() - 9));
    }
  }
  return inodes;
}

// "0100007F:1F90"; the words of the address in this machine's order of bytes.
bool is_loopback(const std::string& hex) {
  if (hex.size() == 8) return hex.ends_with("7F");
  return hex == "00000000000000000000000001000000" || hex.starts_with("0000000000000000FFFF0000");
}

std::string network_use(const std::set<std::string>& sockets, const char* table) {
  std::ifstream file(table);
  std::string line;
  for (std::getline(file, line); std::getline(file, line);) {
    std::istringstream fields(line);
    std::string number, local, remote, state, queues, timer, retransmitted, user, timeout, inode;
    fields >> number >> local >> remote >> state >> queues >> timer >> retransmitted >> user >> timeout >> inode;
    if (!sockets.contains(inode)) continue;
    if (std::strtol(state.c_str(), nullptr, 16) == kListening) return "it listened on a port";
    const std::string address = remote.substr(0, remote.find(':'));
    if (address.find_first_not_of('0') != std::string::npos && !is_loopback(address)) {
      return "it was connected to another machine";
    }
  }
  return "";
}

}  // namespace

RunTraces::RunTraces(const fs::path& folder)
    : folder_(look_at_folder(folder)), connections_(connections_so_far()), written_(written_by_reaped()) {}

void RunTraces::look(const Target& target) {
  if (!network_.empty()) return;
  const std::set<std::string> sockets = sockets_of(target.processes());
  if (sockets.empty()) return;
  for (const char* table : {"/proc/self/net/tcp", "/proc/self/net/tcp6", "/proc/self/net/udp", "/proc/self/net/udp6"}) {
    network_ = network_use(sockets, table);
    if (!network_.empty()) return;
  }
}

void RunTraces::finish(Target& target, SignalRelay& relay) {
  const auto limit = std::chrono::steady_clock::now() + kPatience;
  while (true) {
    target.reap();
    const std::vector<pid_t> alive = target.processes();
    left_ = alive.empty() ? 0 : alive.front();
    if (alive.empty() || relay.interrupted() || std::chrono::steady_clock::now() > limit) break;
    relay.wait(50);
    relay.take_signals();
  }
  // Connections that were over before anybody looked are counted too, together with other programs'.
  if (network_.empty() && connections_so_far() != connections_) network_ = "something used the network meanwhile";
  // Output that the user redirected to a file is written to a disk too.
  wrote_ = !writes_output_to_a_file() && written_by_reaped() > written_;
}

}  // namespace cudadiag::launch
