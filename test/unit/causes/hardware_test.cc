#include <doctest/doctest.h>

#include <utility>

#include "unit/causes/symptoms_builder.h"

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
  Symptoms symptoms = gpu_error(700);
  symptoms.may_be_another_client = true;
  CHECK(id_of(symptoms) == "mps-client");
  CHECK(!explain(symptoms)->certain);
  symptoms.vanished_when_serialised = true;
  CHECK(id_of(symptoms) == "mps-client");
  CHECK(text_of(symptoms).find("nothing shows that this one did") != std::string::npos);
  symptoms.foreign_exception = "Warp Illegal Address";
  CHECK(text_of(symptoms).find("Warp Illegal Address came from code that this program had not loaded") !=
        std::string::npos);
  symptoms.arguments = {pointer_argument("in", 0x5000, "freed")};
  CHECK(id_of(symptoms) == "use-after-free");
  CHECK(id_of(gpu_error(710)) == "none");
}
