// Fuzzes everything that reads a recording: reader, analysis, symbols, text and JSON. An input holds one or two areas.
// The second area is read as a rerun, and again as a second rank that hangs in a collective. Each area begins with its
// size in words, as two bytes. The other bytes are XORed into a valid area: into the fields of its header, the table of
// regions, and everything after the header.
#include <algorithm>

#include "fuzz/reported.h"
#include "session/area_reader.h"
#include "session/session_reader.h"
#include "unit/session/busy_area.h"

using namespace cudadiag;

namespace {

namespace area = wire::area;

constexpr std::size_t kFields = 192;  // bytes at the start of the header
constexpr std::size_t kTable = 16 * area::kRegions;
constexpr std::size_t kMost = 16384;

// Takes the bytes of one area from the input. They are XORed into a valid area, so that most of the area stays valid.
session::ProcessRecord take_record(std::span<const std::uint8_t>& input) {
  const std::size_t wanted = (input[0] | input[1] << 8) * std::size_t{8};
  input = input.subspan(2);
  const auto part = input.first(std::min({wanted, input.size(), kMost}));
  input = input.subspan(part.size());
  test::AreaBuilder builder = test::busy_area();
  const auto lay = [&](std::size_t at, std::size_t most, std::size_t from) {
    if (from >= part.size()) return;
    const std::size_t count = std::min({most, part.size() - from, builder.bytes().size() - at});
    for (std::size_t i = 0; i < count; ++i) builder.data()[at + i] ^= std::byte{part[from + i]};
  };
  lay(0, kFields, 0);
  lay(area::kRegionTable, kTable, kFields);
  lay(area::kHeaderSize, kMost, kFields + kTable);
  return session::read_area(builder.bytes()).record;
}

// Turns the processes of both areas into ranks of one job, and all their kernels into collectives.
session::Session job_of(session::Session session) {
  session.processes.push_back(std::move(session.reruns.front().front()));
  session.reruns.clear();
  session.manifest.passes.resize(1);
  session.manifest.hang = 60;
  int rank = 0;
  for (session::Process& process : session.processes) {
    process.rank = rank++;
    for (std::string& function : process.record.functions) function.insert(0, "ncclDevKernel_");
  }
  return session;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::span<const std::uint8_t> input(data, size);
  session::Session session;
  session.manifest.working_directory = "/nowhere";
  session.manifest.passes = {{.kind = session::PassKind::record, .folder = "record"}};
  if (input.size() > 2) session.processes.push_back(session::describe_process(take_record(input), session.manifest));
  if (input.size() > 2) {
    session.manifest.passes.push_back({.kind = session::PassKind::confirm, .folder = "confirm"});
    session.reruns.emplace_back().push_back(session::describe_process(take_record(input), session.manifest));
  }
  test::put_on_paper(session);
  if (!session.reruns.empty()) test::put_on_paper(job_of(std::move(session)));
  return 0;
}
