// Writes the corpus that fuzzing starts from: seeds FOLDER.
#include <filesystem>
#include <fstream>

#include "unit/evidence/sample_dump.h"

using namespace cudadiag::evidence;

namespace {

void write(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

// As after a store whose warp has exited.
ElfBuilder without_threads() {
  ElfBuilder dump = sample_dump();
  for (const std::uint32_t table : {SampleSections::grids, SampleSections::ctas, SampleSections::warps,
                                    SampleSections::lanes, SampleSections::backtrace}) {
    dump.part(table).data.clear();
  }
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
  write(folder / "exited", without_threads().bytes());
  return 0;
}
