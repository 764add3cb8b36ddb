// Tests the parser of compute-sanitizer's output. The texts have the format shown in its manual ("Example Use of
// Memcheck", memcheck_demo) and in published logs, for releases from 2021 to 2025.
#include <doctest/doctest.h>

#include <string>

#include "evidence/tool_text.h"

using namespace cudadiag::evidence;

namespace {

using Dim3 = std::array<std::uint32_t, 3>;

constexpr const char* kDemo = R"(========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at unaligned_kernel()+0x100 in memcheck_demo.cu:34
=========     by thread (0,0,0) in block (0,0,0)
=========     Address 0x7cc43aa00001 is misaligned
=========     and is inside the nearest allocation at 0x7cc43aa00000 of size 4 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: run_unaligned() [0xacd4] in memcheck_demo
=========         Host Frame: main [0xae61] in memcheck_demo
=========
========= Invalid __global__ write of size 4 bytes
=========     at out_of_bounds_function()+0xb0 in memcheck_demo.cu:39
=========     by thread (31,2,1) in block (5,0,7)
=========     Address 0x87654320 is out of bounds
=========     and is 137,179,965,340,896 bytes before the nearest allocation at 0x7cc43a800000 of size 1,024 bytes
=========         Device Frame: out_of_bounds_kernel()+0x30 in memcheck_demo.cu:44
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: main [0xae66] in memcheck_demo
=========
========= ERROR SUMMARY: 2 errors
)";

InvalidAccess only(const std::string& text) {
  const SanitizerLog log = sanitizer_log(text);
  REQUIRE(log.accesses.size() == 1);
  return log.accesses[0];
}

std::string record(const std::string& where, const std::string& problem, const std::string& nearest) {
  return "========= Invalid __global__ read of size 16 bytes\n=========     at " + where +
         "\n=========     by thread (1,0,0) in block (0,0,0)\n=========     " + problem + "\n=========     " + nearest +
         "\n=========\n";
}

}  // namespace

TEST_CASE("the manual's example") {
  const SanitizerLog log = sanitizer_log(kDemo);
  CHECK(log.errors == 2u);
  CHECK(log.complaint == "");
  REQUIRE(log.accesses.size() == 2);
  const InvalidAccess& first = log.accesses[0];
  CHECK(first.space == "global");
  CHECK(first.mode == "write");
  CHECK(first.bytes == 4);
  CHECK(first.function == "unaligned_kernel()");
  CHECK(first.kernel == "unaligned_kernel()");
  CHECK(first.offset == 0x100);
  CHECK(first.file == "memcheck_demo.cu");
  CHECK(first.line == 34);
  CHECK(first.address == 0x7cc43aa00001u);
  CHECK(first.problem == "misaligned");
  CHECK(sentence(first) ==
        "4-byte write at 0x7cc43aa00001 (misaligned), reaching past the end of the 4-byte allocation "
        "at 0x7cc43aa00000");
  const InvalidAccess& second = log.accesses[1];
  CHECK(second.function == "out_of_bounds_function()");
  CHECK(second.kernel == "out_of_bounds_kernel()");
  CHECK(second.line == 39);
  CHECK(second.thread == Dim3{31, 2, 1});
  CHECK(second.block == Dim3{5, 0, 7});
  REQUIRE(second.nearest);
  CHECK(second.nearest->address == 0x7cc43a800000u);
  CHECK(second.nearest->bytes == 1024);
  CHECK(sentence(second) ==
        "4-byte write at 0x87654320, 137,179,965,340,896 bytes before the 1,024-byte allocation at 0x7cc43a800000");
}

TEST_CASE("mangled names, code without lines, and the end of an access") {
  const InvalidAccess plain = only(record("_Z3addPfS_+0xa0", "Access to 0x403800010 is out of bounds",
                                          "and is inside the nearest allocation at 0x403800000 of size 28 bytes"));
  CHECK(plain.function == "_Z3addPfS_");
  CHECK(plain.file == "");
  CHECK(plain.line == 0);
  CHECK(sentence(plain) ==
        "16-byte read at 0x403800010, reaching past the end of the 28-byte allocation at 0x403800000");
  const auto said = [](const char* address, const char* nearest) {
    return sentence(only(record("k+0x10", "Access to " + std::string(address) + " is out of bounds", nearest)));
  };
  // compute-sanitizer calls the first byte after an allocation "1 bytes after" it.
  CHECK(said("0x1fa0", "and is 1 bytes after the nearest allocation at 0x1000 of size 4,000 bytes") ==
        "16-byte read at 0x1fa0, right after the 4,000-byte allocation at 0x1000");
  CHECK(said("0x1fa1", "and is 2 bytes after the nearest allocation at 0x1000 of size 4000 bytes") ==
        "16-byte read at 0x1fa1, 1 byte past the 4,000-byte allocation at 0x1000");
  CHECK(said("0x2010", "and is 17 bytes after the nearest allocation at 0x1000 of size 4,096 bytes") ==
        "16-byte read at 0x2010, 16 bytes past the 4,096-byte allocation at 0x1000");
  CHECK(said("0x2010", "nothing of use") == "16-byte read at 0x2010");
}

TEST_CASE("releases before 2023") {
  const InvalidAccess access = only(
      "========= Invalid __global__ atomic of size 4 bytes\n"
      "=========     at 0x270 in /usr/include/cooperative_groups/details/sync.h:81:_ZN2cg10atomic_addEPVjj\n"
      "=========     by thread (0,0,0) in block (0,0,0)\n"
      "=========     Address 0x7fcccea00204 is out of bounds\n"
      "=========     and is 5 bytes after the nearest allocation at 0x7fcccea00000 of size 512 bytes\n"
      "=========     Device Frame:/usr/include/cg.h:331:cg::v1::grid_group::sync() const [0x50]\n"
      "=========     Device Frame:/home/me/test.cu:14:kernel(int) [0x10]\n"
      "=========     Saved host backtrace up to driver entry point at kernel launch time\n");
  CHECK(access.mode == "atomic");
  CHECK(access.file == "/usr/include/cooperative_groups/details/sync.h");
  CHECK(access.line == 81);
  CHECK(access.function == "_ZN2cg10atomic_addEPVjj");
  CHECK(access.offset == 0x270);
  CHECK(access.kernel == "kernel(int)");
}

TEST_CASE("templates, shared memory, and records of other kinds") {
  const InvalidAccess shared = only(
      "========= Invalid __shared__ write of size 4 bytes\n"
      "=========     at void tile<(unsigned int)6, (bool)1>(const uint2 *, int)+0x6c0 in back ward.cu:469\n"
      "=========     by thread (0,10,0) in block (1,42,0)\n"
      "=========     Address 0x400000 is out of bounds\n=========\n");
  CHECK(shared.function == "void tile<(unsigned int)6, (bool)1>(const uint2 *, int)");
  CHECK(shared.file == "back ward.cu");
  CHECK(sentence(shared) == "4-byte write of shared memory at 0x400000");
  const InvalidAccess other = only(
      "========= Stack overflow\n=========     at deep(int *, int)+0x10 in faults.cu:11\n"
      "=========     by thread (0,0,0) in block (0,0,0)\n=========\n");
  CHECK(other.mode == "");
  CHECK(sentence(other) == "Stack overflow");
}

TEST_CASE("texts that are not findings") {
  const SanitizerLog clean = sanitizer_log("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n");
  CHECK(clean.accesses.empty());
  CHECK(clean.errors == 0u);
  const SanitizerLog failed = sanitizer_log(
      "========= COMPUTE-SANITIZER\n========= Error: Target application terminated before first instrumented API call\n"
      "========= Program hit CUDA_ERROR_NOT_FOUND (error 500) due to \"named symbol not found\" on CUDA API call\n"
      "=========     Saved host backtrace up to driver entry point at error\n=========\n");
  CHECK(failed.accesses.empty());
  CHECK(!failed.errors);
  CHECK(failed.complaint == "Error: Target application terminated before first instrumented API call");
  // Text that the program itself printed is ignored.
  CHECK(sanitizer_log("Invalid __global__ write of size 4 bytes\n at f+0x1\n by thread (0,0,0) in block (0,0,0)\n")
            .accesses.empty());
}

TEST_CASE("any text is handled, and truncated records are ignored") {
  const std::string text = kDemo;
  for (std::size_t size = 0; size < text.size(); ++size) {
    CHECK(sanitizer_log(text.substr(0, size)).accesses.size() <= 2);
    sanitizer_log(text.substr(size));
  }
  for (const char* part : {"(4294967296,0,0)", "(1,1)", "(-1,0,0)", "(1,1,1", "", "(,,)"}) {
    CHECK(sanitizer_log("========= Invalid __global__ read of size 4 bytes\n=========     at f+0x1\n"
                        "=========     by thread " +
                        std::string(part) + " in block (0,0,0)\n=========\n")
              .accesses.empty());
  }
  std::string many;
  for (int i = 0; i < 1000; ++i) many += record("k+0x1", "Access to 0x10 is out of bounds", "");
  CHECK(sanitizer_log(many).accesses.size() == kMostAccesses);
  CHECK(only(record(std::string(5000, 'k') + "+0x1", "", "")).function.size() == 4096);
  CHECK(sanitizer_log(record(std::string(1 << 20, 'k'), "", "")).accesses.empty());
  const InvalidAccess edge = only(record("k+0x1", "Access to 0xffffffffffffffff is out of bounds",
                                         "and is 9 bytes after the nearest allocation at 0xfffffffffffffff0 of size "
                                         "18446744073709551615 bytes"));
  CHECK(sentence(edge).find("inside") != std::string::npos);
}
