// Writes the corpus that fuzzing starts from. Usage: seeds FOLDER.
#include <filesystem>
#include <fstream>

#include "unit/evidence/sample_dump.h"

using namespace cudadiag::evidence;

namespace {

void write(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

// Builds a dump without threads, as after a failed store whose warp has already exited.
ElfBuilder without_threads() {
  ElfBuilder dump = sample_dump();
  for (const std::uint32_t table : {SampleSections::grids, SampleSections::ctas, SampleSections::warps,
                                    SampleSections::lanes, SampleSections::backtrace}) {
    dump.part(table).data.clear();
  }
  return dump;
}

// Builds a dump with predicates, as drivers since r400 write them.
ElfBuilder with_predicates() {
  constexpr std::uint32_t kKind = 0x80000000;
  ElfBuilder dump = sample_dump();
  dump.add({.name = ".cudbg.pred",
            .type = kKind + 17,
            .data = std::string(32, '\1'),
            .entry_size = 4,
            .link = SampleSections::lanes,
            .info = 1});
  dump.add({.name = ".cudbg.uregs",
            .type = kKind + 19,
            .data = std::string(16, '\2'),
            .entry_size = 4,
            .link = SampleSections::warps});
  dump.add({.name = ".cudbg.param", .type = kKind + 18, .data = "12345678", .link = SampleSections::grids});
  return dump;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::filesystem::path folder = argv[1];
  write(folder / "sample", sample_dump().bytes());
  write(folder / "oldest_rows", sample_dump(kOldestRows).bytes());
  write(folder / "future_rows", sample_dump(kFutureRows).bytes());
  write(folder / "reversed", sample_dump().reversed().bytes());
  write(folder / "predicates", with_predicates().bytes());
  write(folder / "exited", without_threads().bytes());
  return 0;
}
