// Measures how long the race search takes for ten million records. The programs are a training loop on two streams, and
// a program with a thousand streams. Usage: bench_races [MILLIONS]. The goal is ten seconds for ten million.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include "races/race_detector.h"
#include "unit/session/area_builder.h"
#include "wire/race_record.h"

using namespace cudadiag;
namespace operation = wire::operation;
namespace race = wire::race;
using operation::Kind;

namespace {

class Program {
 public:
  Program(std::size_t streams, std::size_t buffers) : area_(shape(streams)), streams_(streams), buffers_(buffers) {
    for (std::size_t i = 0; i < streams; ++i) {
      area_.live_stream(i);
      wire::store(area_.stream(i), wire::stream::kFlags, static_cast<std::uint32_t>(wire::stream::kNonBlocking));
    }
    std::byte* record = blank(Kind::memory_made, 0xffff);
    wire::store(record, race::kWord0, kBase);
    wire::store(record, race::kWord1, buffers * 4096);
    detector_.record(record);
  }

  // Adds kernels with three buffers each, an event every 16 kernels, and a host wait every 100,000 records.
  double run(std::uint64_t records) {
    const std::clock_t started = std::clock();
    std::uint64_t seed = 1;
    for (std::uint64_t done = 0; done < records; done += 2) {
      const std::size_t stream = done / 32 % streams_;
      std::byte* record = blank(Kind::parameters, 0xffff);
      wire::store(record, operation::kSite, static_cast<decltype(operation::kSite)::type>(1 + done % 500));
      const auto address = [&] {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        // Each stream uses its own share of the buffers.
        const std::size_t own = (seed >> 33) % (buffers_ / streams_) + stream * (buffers_ / streams_);
        return kBase + own * 4096;
      };
      wire::store(record, race::kWord0, address());
      wire::store(record, race::kWord1, address());
      wire::store(record, race::kWord2, address());
      detector_.record(record);
      detector_.record(blank(Kind::kernel, stream));
      if (done % 32 == 30) {
        wire::store(blank(Kind::event_record, stream), operation::kArgument, stream);
        detector_.record(bytes_);
        wire::store(blank(Kind::event_wait, (stream + 1) % streams_), operation::kArgument, stream);
        detector_.record(bytes_);
      }
      if (done % 100000 == 0) {
        detector_.record(blank(Kind::host_saw_context, 0xffff));
      }
    }
    return static_cast<double>(std::clock() - started) / CLOCKS_PER_SEC;
  }

 private:
  static constexpr std::uint64_t kBase = 0x7f0000000000;
  static test::AreaShape shape(std::size_t streams) {
    test::AreaShape shape;
    shape.streams = streams;
    return shape;
  }
  std::byte* blank(Kind kind, std::size_t stream) {
    std::memset(bytes_, 0, sizeof bytes_);
    wire::store(bytes_, operation::kKind, static_cast<std::uint8_t>(kind));
    wire::store(bytes_, operation::kStream, static_cast<decltype(operation::kStream)::type>(stream));
    wire::store(bytes_, operation::kTicks, ++ticks_);
    return bytes_;
  }

  test::AreaBuilder area_;
  std::size_t streams_, buffers_;
  std::uint64_t ticks_ = 0;
  alignas(8) std::byte bytes_[wire::area::kOperationSize];
  races::Detector detector_{area_.bytes(), [](std::uint32_t function, std::uint32_t, const auto&) {
                              return std::optional(function % 2 == 0 ? races::Mode::write : races::Mode::read);
                            }};
};

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t records = (argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10) * 1000000;
  for (const std::size_t streams : {2, 1000}) {
    const double seconds = Program(streams, 20000).run(records);
    std::printf("%zu streams: %.2f s of processor time for %.1f million records, %.0f ns each\n", streams, seconds,
                static_cast<double>(records) * 1e-6, seconds * 1e9 / static_cast<double>(records));
  }
}
