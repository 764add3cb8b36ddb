#include <doctest/doctest.h>
#include <signal.h>

#include <filesystem>
#include <set>
#include <string>

#include "supervise/kernel_code.h"
#include "unit/scratch_folder.h"

// The launcher handles SIGCHLD, and a failing program often ends while its code is being disassembled.
TEST_CASE("a child that ends does not interrupt the disassembler") {
  const cudadiag::test::ScratchFolder folder;
  const auto tool = folder.file("nvdisasm",
                                "#!/bin/sh\n"
                                "for i in 1 2 3 4 5 6 7 8; do kill -CHLD $PPID; /bin/true; done\n"
                                "echo '/*0000*/ EXIT ;'\n");
  std::filesystem::permissions(tool, std::filesystem::perms::owner_all);
  struct sigaction before {
  }, handled{};
  handled.sa_handler = [](int) {};
  handled.sa_flags = SA_RESTART;
  ::sigaction(SIGCHLD, &handled, &before);
  const std::string text = cudadiag::supervise::disassembled(tool, "SM90a", std::string(16, 'x'));
  ::sigaction(SIGCHLD, &before, nullptr);
  CHECK(text == "/*0000*/ EXIT ;\n");
}

TEST_CASE("a block's shared memory is known, unless blocks form clusters") {
  const std::string file = cudadiag::supervise::read_cubin(TEST_DATA "/sass/shared.sm90.cubin", 1 << 20);
  const auto image = cudadiag::evidence::ElfImage::read({file.data(), file.size()});
  REQUIRE(image);
  const auto shared_bytes = [&](const char* kernel) {
    const auto code = cudadiag::supervise::kernel_code(*image, kernel);
    return code ? code->shared_bytes : ~0u;
  };
  CHECK(shared_bytes("alone") == 1024 + 256 * 4);
  CHECK(shared_bytes("grouped") == 0);
  CHECK(shared_bytes("without") == 0);
}

TEST_CASE("instructions that change when the code is loaded are marked in its text") {
  const std::string file = cudadiag::supervise::read_cubin(TEST_DATA "/sass/relocated.sm90.cubin", 1 << 20);
  const auto image = cudadiag::evidence::ElfImage::read({file.data(), file.size()});
  REQUIRE(image);
  auto code = cudadiag::supervise::kernel_code(*image, "mark");
  REQUIRE(code);
  CHECK(code->relocated == std::set<std::uint64_t>{0x30, 0x70});
  const cudadiag::test::ScratchFolder folder;
  const auto tool = folder.file("nvdisasm",
                                "#!/bin/sh\n"
                                "echo '/*0020*/ NOP ;'\n"
                                "echo '/*0030*/ UMOV UR4, 0x0 ;'\n"
                                "echo '/*0070*/ @!UP0 UMOV UR4, 0x0 ;'\n"
                                "echo '/*0170*/ NOP;'\n");
  std::filesystem::permissions(tool, std::filesystem::perms::owner_all);
  CHECK(cudadiag::supervise::disassembled(*code, tool) ==
        "/*0020*/ NOP ;\n"
        "/*0030*/ UMOV.RELOCATED UR4, 0x0 ;\n"
        "/*0070*/ @!UP0 UMOV.RELOCATED UR4, 0x0 ;\n"
        "/*0170*/ NOP;\n");
  code->relocated.insert(0x60);
  CHECK(cudadiag::supervise::disassembled(*code, tool).empty());
}
