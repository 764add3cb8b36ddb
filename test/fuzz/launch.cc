// Fuzzes the readers of saved launches: of launch.json, which may come from an untrusted source, and of the recorder's
// files. Writing an accepted launch and reading it again must give the same launch.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "replay/launch_folder.h"
#include "replay/player.h"
#include "replay/saved_launch.h"
#include "replay/verdict.h"
#include "session/saved_results.h"

using namespace cudadiag;
using namespace cudadiag::replay;

namespace {

void use(const SavedLaunch& launch) {
  const std::string once = write_launch(launch);
  const auto again = parse_launch(once);
  if (!std::holds_alternative<SavedLaunch>(again)) __builtin_trap();
  if (write_launch(std::get<SavedLaunch>(again)) != once) __builtin_trap();
  for (const Block& block : launch.blocks) {
    if (block.contents && block.contents->file.find('/') != std::string::npos) __builtin_trap();
  }
  readme_of(launch);
  source_of(launch);
  Placement placement(launch.blocks);
  for (std::size_t i = 0; i < launch.blocks.size(); ++i) placement.put(i, 4096 * i);
  placement.rewritten(0x7f0000000000);
  granules(launch.blocks, std::vector<bool>(launch.blocks.size(), true), 1u << 21);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto launch = parse_launch(text); std::holds_alternative<SavedLaunch>(launch)) {
    use(std::get<SavedLaunch>(launch));
  }
  // The result is not written and read back, because writing replaces any character that is not UTF-8.
  read_description(std::as_bytes(std::span(data, size)));
  read_answer(text);
  session::parse_replay_tally(text);
  return 0;
}
