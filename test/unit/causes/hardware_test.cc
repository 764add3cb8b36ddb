#include <doctest/doctest.h>

#include <utility>

#include "unit/causes/failed_case.h"

using namespace cudadiag::causes;

TEST_CASE("causes in the hardware") {
  const std::pair<std::uint32_t, const char*> wanted[] = {
      {214, "ecc"}, {220, "nvlink"}, {226, "memory-contained"}, {702, "launch-timeout"}};
  for (const auto& [code, id] : wanted) {
    CHECK(id_of(gpu_error(code)) == id);
    CHECK(explain(gpu_error(code))->certain);
  }
  CHECK(text_of(gpu_error(702)).find("display") == std::string::npos);  // data centre GPUs drive no display
  CHECK(id_of(gpu_error(719)) == "none");
  CHECK(id_of(gpu_error(700)) == "none");
}

TEST_CASE("under MPS another program may have caused the fault") {
  Failed failed = gpu_error(700);
  failed.may_be_another_client = true;
  CHECK(id_of(failed) == "mps-client");
  CHECK(!explain(failed)->certain);
  failed.vanished_when_serialised = true;
  CHECK(id_of(failed) == "mps-client");
  CHECK(text_of(failed).find("nothing shows that this one did") != std::string::npos);
  failed.finding.foreign_exception = "Warp Illegal Address";
  CHECK(text_of(failed).find("Warp Illegal Address came from code that this program had not loaded") !=
        std::string::npos);
  failed.finding.arguments = {pointer_argument("in", 0x5000, "freed")};
  CHECK(id_of(failed) == "use-after-free");
  CHECK(id_of(gpu_error(710)) == "none");
}
