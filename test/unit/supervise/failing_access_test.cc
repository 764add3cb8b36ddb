#include <doctest/doctest.h>

#include "supervise/reruns/replays.h"
#include "wire/cuda_codes.h"

namespace cudadiag::supervise {
namespace {

constexpr std::uint64_t kTable = 0x7f0000000000, kOther = 0x7f0040000000, kMoved = 0x7e0000000000;
constexpr std::uint64_t kBytes = 16 << 20, kFar = std::uint64_t{11} << 30;
constexpr const char* kKernel = "_Z6gatherPKfPKl";

std::vector<std::byte> bytes_of(std::uint64_t value) {
  std::vector<std::byte> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

// A launch whose first parameter points to kTable, its replay, and what is known of the access that failed.
struct Replayed {
  Replayed() {
    launch.kernel = kKernel;
    launch.grid = {2, 1, 1};
    launch.block = {32, 1, 1};
    launch.parameters = {{0, bytes_of(kTable)}, {8, bytes_of(kOther)}};
    launch.blocks = {{kTable, kBytes, replay::MemoryKind::device, replay::Reach::parameter, replay::Unsaved::no,
                      replay::Contents{"memory-0", 0, kBytes}},
                     {kOther, kBytes, replay::MemoryKind::device, replay::Reach::nothing}};
    launch.failure = replay::SavedFailure{700, "", {}, replay::Instruction{kKernel, 0x90, {}}};
    answer.moved = {{0, kMoved}};
    log.errors = 1;
    add(kMoved + kFar);
    access.bytes = 4;
    access.parameter = 1;
  }

  evidence::InvalidAccess& add(std::uint64_t address) {
    evidence::InvalidAccess& invalid = log.accesses.emplace_back();
    invalid.space = "global";
    invalid.mode = "read";
    invalid.bytes = 4;
    invalid.function = invalid.kernel = kKernel;
    invalid.offset = 0x90;
    invalid.thread = {7, 0, 0};
    invalid.address = address;
    invalid.problem = "out of bounds";
    return invalid;
  }
  session::FoundAccess judged() const { return judged_access(launch, answer, log, access, misaligned); }

  replay::SavedLaunch launch;
  replay::Answer answer;
  evidence::SanitizerLog log;
  diagnose::Access access;
  bool misaligned = false;
};

TEST_CASE("the address is moved back to where the parameter's memory was when the launch was saved") {
  const session::FoundAccess found = Replayed().judged();
  CHECK(found.why.empty());
  CHECK(found.address == kTable + kFar);
  CHECK(found.pointer == kTable);
  CHECK(found.mode == "read");
  CHECK(found.bytes == 4);
  CHECK(found.function == kKernel);
  CHECK(found.offset == 0x90);
  CHECK(found.parameter == 1);
  CHECK(found.thread == std::array<std::uint32_t, 3>{7, 0, 0});
}

TEST_CASE("output that contradicts the failure gives no address") {
  Replayed unaligned;
  unaligned.log.accesses.clear();
  unaligned.add(kMoved + kFar + 1);
  CHECK_FALSE(unaligned.judged().why.empty());
  Replayed summary;
  summary.log.errors = 0;
  CHECK(summary.judged().why == "compute-sanitizer printed an invalid access, but counted no error");
  Replayed beyond_grid, beyond_block;
  beyond_grid.log.accesses[0].block = {2, 0, 0};
  CHECK_FALSE(beyond_grid.judged().why.empty());
  beyond_block.log.accesses[0].thread = {0, 1, 0};
  CHECK_FALSE(beyond_block.judged().why.empty());
}

TEST_CASE("an access that the hardware would have allowed is skipped") {
  Replayed replayed;
  replayed.launch.blocks[0].bytes = kBytes - 4096;
  replayed.launch.blocks[0].contents->bytes = kBytes - 4096;
  replayed.log.accesses.clear();
  replayed.add(kMoved + kBytes - 4096);    // in the last page of the table
  replayed.add(kMoved + kOther - kTable);  // in another block
  CHECK(replayed.judged().why == "no access of the failing instruction was certain to fail in the replay");
  replayed.add(kMoved + kFar);
  CHECK(replayed.judged().address == kTable + kFar);
}

TEST_CASE("an access far from all memory is preferred, because nearer ones may have succeeded") {
  Replayed replayed;
  replayed.log.accesses.clear();
  replayed.add(kMoved + kBytes);
  replayed.add(kMoved + kBytes + 4);
  CHECK(replayed.judged().address == kTable + kBytes);
  replayed.add(kMoved + kFar);
  replayed.add(kMoved + kFar + 4);
  CHECK(replayed.judged().address == kTable + kFar);
}

TEST_CASE("an access that contradicts what is known gives no address") {
  const auto contradicts = [](const auto& change) {
    Replayed replayed;
    change(replayed);
    const session::FoundAccess found = replayed.judged();
    return !found.why.empty() && found.address == 0;
  };
  CHECK(contradicts([](Replayed& replayed) { replayed.log.accesses[0].kernel = "_Z5otherv"; }));
  CHECK(contradicts([](Replayed& replayed) { replayed.log.accesses[0].offset = 0x80; }));
  CHECK(contradicts([](Replayed& replayed) { replayed.log.accesses[0].function = "_Z6calleev"; }));
  CHECK(contradicts([](Replayed& replayed) { replayed.log.accesses[0].mode = "write"; }));
  CHECK(contradicts([](Replayed& replayed) { replayed.log.accesses[0].bytes = 8; }));
  CHECK(contradicts([](Replayed& replayed) { replayed.log.accesses[0].problem = "misaligned"; }));
  CHECK(contradicts([](Replayed& replayed) { replayed.log.accesses[0].space = "shared"; }));
  CHECK(contradicts([](Replayed& replayed) { replayed.log.accesses[0].address.reset(); }));
  CHECK(contradicts([](Replayed& replayed) { replayed.log.errors.reset(); }));
  CHECK(contradicts([](Replayed& replayed) { replayed.log.accesses.clear(); }));
  CHECK(contradicts([](Replayed& replayed) {
    replayed.launch.blocks[0].unsaved = replay::Unsaved::limit;
    replayed.launch.blocks[0].contents->bytes = 4096;
  }));
  CHECK(contradicts([](Replayed& replayed) { replayed.launch.missing = {{replay::Missing::globals, 0}}; }));
  CHECK(contradicts([](Replayed& replayed) { replayed.access.parameter.reset(); }));
  CHECK(contradicts([](Replayed& replayed) { replayed.access.parameter = 3; }));
  CHECK(contradicts([](Replayed& replayed) { replayed.access.parameter_byte = 4; }));
  CHECK(contradicts([](Replayed& replayed) { replayed.access.parameter = 2; }));  // its memory is not in the replay
  CHECK(contradicts([](Replayed& replayed) { replayed.answer.moved.clear(); }));
  CHECK_FALSE(contradicts([](Replayed&) {}));
}

TEST_CASE("without a dump, the accesses before the certain one must be at one instruction") {
  Replayed replayed;
  replayed.launch.failure->instruction.reset();
  CHECK(replayed.judged().address == kTable + kFar);
  replayed.log.accesses.clear();
  replayed.add(kMoved + kBytes - 4);  // the hardware allows it
  replayed.add(kMoved + kFar).offset = 0x80;
  CHECK(replayed.judged().address == 0);
}

TEST_CASE("a pointer into no memory keeps its value in the replay") {
  constexpr std::uint64_t kFreed = 0x7f1000000000;
  Replayed replayed;
  replayed.launch.parameters[0].bytes = bytes_of(kFreed);
  replayed.log.accesses[0].address = kFreed + 64;
  CHECK(replayed.judged().address == kFreed + 64);
}

TEST_CASE("a misaligned address must be misaligned at its old place too") {
  Replayed replayed;
  replayed.misaligned = true;
  replayed.log.accesses[0].problem = "misaligned";
  replayed.log.accesses[0].address = kMoved + 6;
  CHECK(replayed.judged().address == kTable + 6);
  replayed.answer.moved[0] = kMoved + 2;
  CHECK(replayed.judged().address == 0);
}

}  // namespace
}  // namespace cudadiag::supervise
