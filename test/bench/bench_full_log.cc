// Measures a full log of ten million launches from ten thousand sites: its size, the time to write it, and the time and
// memory to analyse it. Usage: bench_full_log [MILLIONS [FILE]]; a row for bench.json is added to FILE. The goal is two
// seconds and 300 MB.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "analyse/analysis.h"
#include "session/area_reader.h"
#include "session/full_log.h"
#include "session/session_reader.h"
#include "unit/scratch_folder.h"
#include "unit/session/area_builder.h"

using namespace cudadiag;
namespace o = wire::operation;

namespace {

constexpr std::size_t kStreams = 8, kThreads = 2, kSites = 10000;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// A training loop: each step launches from all sites in turn. The kernels run on one stream. Another stream waits for
// them, and then copies data. Each backward kernel belongs to the autograd node of a forward kernel. The last 500
// launches have not finished.
class Program {
 public:
  Program() : area_({.threads = kThreads, .streams = kStreams, .ring = 4096, .intern_bytes = 1u << 20}) {
    const std::uint32_t name = area_.string("_Z6kernelPfi");
    area_.entry(wire::intern::Tag::function, 0, {name, 0});
    for (std::uint32_t i = 0; i < kSites; ++i) area_.entry(wire::intern::Tag::site, 0, {0, 0, 1, 1});
    for (std::size_t i = 0; i < kStreams; ++i) area_.live_stream(i);
  }

  void run(std::uint64_t launches, session::LogWriter& log) {
    for (std::uint64_t i = 0; i < launches; ++i) {
      const auto site = static_cast<std::uint32_t>(i % kSites);
      const bool backward = site >= kSites / 2;
      issue(i, site, backward, log);
    }
    log.flush_through({serials_[0], serials_[1]});
    for (std::size_t i = 0; i < kThreads; ++i) {
      area_.live_thread(i, static_cast<std::uint32_t>(100 + i), serials_[i]);
      wire::store(area_.thread(i), wire::thread::kOperations, serials_[i]);
    }
    for (std::size_t i = 0; i < kStreams; ++i) {
      wire::store(area_.stream(i), wire::stream::kIssued, ordinals_[i]);
      wire::store(area_.marker(i), wire::marker::kCompleted, ordinals_[i] - std::min(ordinals_[i], 500u));
      wire::store(area_.frozen(i), wire::frozen::kMarker, ordinals_[i] - std::min(ordinals_[i], 500u));
    }
    wire::store(area_.error(0), wire::error::kSerial, 1);
    wire::store(area_.error(0), wire::error::kDomain, 1);
    wire::store(area_.error(0), wire::error::kCode, 700);
    wire::store(area_.data(), wire::area::kFrozenError, 1);
    wire::store(area_.data(), wire::area::kFrozenCode, 700);
    area_.state(wire::area::State::frozen);
  }
  std::span<const std::byte> area() { return area_.bytes(); }

 private:
  void issue(std::uint64_t i, std::uint32_t site, bool backward, session::LogWriter& log) {
    const std::size_t thread = backward ? 1 : 0, stream = i % 97 == 0 ? 1 + i % (kStreams - 1) : 0;
    const std::uint64_t serial = ++serials_[thread];
    ticks_ += 6000 + i * 2654435761 % 4000;
    std::byte* record = area_.ring(thread, (serial - 1) % 4096);
    std::memset(record, 0, wire::area::kOperationSize);
    AreaBuilder::write_kernel(record, thread, serial, static_cast<std::uint32_t>(stream), ticks_);
    wire::store(record, o::kFlags, static_cast<std::uint8_t>(o::kReturned | (i % 16 == 0 ? o::kMarked : 0)));
    wire::store(record, o::kOrdinal, ++ordinals_[stream]);
    wire::store(record, o::kSite, static_cast<decltype(o::kSite)::type>(1 + site));
    wire::store(record, o::kSiteOrdinal, static_cast<std::uint32_t>(1 + i / kSites));
    wire::store(record, o::kGridX, 1 + site * 37);
    wire::store(record, o::kBlock, 256u);
    const auto node = static_cast<std::uint32_t>(i / kSites * kSites / 4 + (backward ? kSites - site : site) / 2);
    wire::store(record, o::kOwnThread, static_cast<std::uint8_t>(1 + thread));
    if (!backward) wire::store(record, o::kNumber, node + 1);
    if (backward) wire::store(record, o::kNode, node);
    if (backward) wire::store(record, o::kNodeThread, std::uint8_t{1});
    if (backward) wire::store(record, o::kGraphTask, static_cast<std::uint16_t>(i / kSites));
    log.record(record);
  }

  using AreaBuilder = test::AreaBuilder;
  AreaBuilder area_;
  std::uint64_t serials_[kThreads] = {}, ticks_ = 1;
  std::uint32_t ordinals_[kStreams] = {};
};

// Runs in a separate process, so that the peak memory is that of the analysis.
int analyse_log(Program& program, const std::filesystem::path& folder) {
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t processor = std::clock();
  session::Session session;
  session.processes.push_back(session::describe_process(session::read_area(program.area()).record, session.manifest));
  session::attach_logs(folder, session.processes);
  const auto& record = session.processes.front().record;
  const analyse::Analysis analysis = analyse::analyse(session);
  const double seconds = seconds_since(start);
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  if (!record.log || !record.log->whole() || analysis.failures.empty() ||
      analysis.failures.front().candidates.empty()) {
    std::printf("the log was not read to its end\n");
    return 1;
  }
  std::printf("analysed in %.2f s (%.2f of processor time) with %ld MB, %zu operations kept\n", seconds,
              static_cast<double>(std::clock() - processor) / CLOCKS_PER_SEC, usage.ru_maxrss / 1024,
              record.operations.size());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto launches = static_cast<std::uint64_t>((argc > 1 ? std::strtod(argv[1], nullptr) : 10) * 1e6);
  const test::ScratchFolder folder;
  auto made = session::LogWriter::create(folder.path(), 4711, 0);
  Program program;
  const auto start = std::chrono::steady_clock::now();
  program.run(launches, std::get<session::LogWriter>(made));
  const double written = seconds_since(start);
  const auto bytes = static_cast<double>(std::filesystem::file_size(folder.path() / "4711.log"));
  const auto each = 1 / static_cast<double>(launches);
  std::printf("%.1f million launches: %.1f bytes and %.0f ns each to write\n", static_cast<double>(launches) * 1e-6,
              bytes * each, written * 1e9 * each);
  std::fflush(stdout);
  if (std::FILE* file = argc > 2 ? std::fopen(argv[2], "w") : nullptr) {
    std::fprintf(file,
                 R"({"rows": [{"case": "full log", "what": "per launch", "median": %.2f, "min": %.2f, "max": %.2f, )"
                 R"("unit": "bytes", "ratio_to_plain": null}]})",
                 bytes * each, bytes * each, bytes * each);
    std::fclose(file);
  }
  const pid_t child = ::fork();
  if (child == 0) {
    const int status = analyse_log(program, folder.path());
    std::fflush(stdout);
    ::_exit(status);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  return status == 0 ? 0 : 1;
}
