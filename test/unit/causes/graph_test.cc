#include <doctest/doctest.h>

#include <utility>

#include "unit/causes/failed_case.h"

using namespace cudadiag::causes;

TEST_CASE("each capture error has its own cause") {
  const std::pair<std::uint32_t, const char*> wanted[] = {
      {900, "capture-unsupported"}, {901, "capture-invalidated"}, {902, "capture-merge"},
      {903, "capture-unmatched"},   {904, "capture-unjoined"},    {905, "capture-isolation"},
      {906, "capture-implicit"},    {907, "captured-event"},      {908, "capture-wrong-thread"}};
  for (const auto& [code, id] : wanted) {
    CHECK(id_of(refused_call(code, "cudaStreamEndCapture")) == id);
    CHECK(id_of(gpu_error(code)) == "none");
  }
  CHECK(id_of(refused_call(910, "cudaGraphExecUpdate")) == "graph-update-failed");
  CHECK(!explain(refused_call(910, "cudaGraphExecUpdate"))->certain);
  CHECK(id_of(refused_call(909, "cudaStreamEndCapture")) == "none");
}

TEST_CASE("calls that are forbidden in a capture") {
  CHECK(id_of(refused_call(900, "cudaStreamBeginCapture")) == "capture-of-default-stream");
  CHECK(text_of(refused_call(900, "cudaStreamSynchronize")) ==
        "cudaStreamSynchronize waits for the GPU, but captured work runs only when the graph is launched");
  CHECK(explain(refused_call(900, "cudaMalloc"))->fix[0].find("cudaMallocAsync") != std::string::npos);
  Failed failed = refused_call(900, "cudaStreamSynchronize");
  failed.finding.location.source = "if loss.item() > best:";
  CHECK(id_of(failed) == "capture-reads-result");
  failed.finding.location.source = "if items > best:";
  CHECK(id_of(failed) == "capture-unsupported");
  failed.dialect.python = true;
  for (const char* source : {"print(loss)", "if bad: print (loss); print(loss)", "y = f(print(loss))"}) {
    failed.finding.location.source = source;
    CHECK(id_of(failed) == "capture-reads-result");
    CHECK(text_of(failed).starts_with("print() waits for the GPU"));
  }
  for (const char* source : {"h = self.fingerprint(x)", "blueprint(x)", "log.print(x)", "_print(x)", "print2(x)"}) {
    failed.finding.location.source = source;
    CHECK(id_of(failed) == "capture-unsupported");
  }
  failed.dialect.python = false;
  failed.finding.location.source = "print(loss);";
  CHECK(id_of(failed) == "capture-unsupported");
  failed = refused_call(900, "cudaMalloc");
  failed.finding.location.source = "y = torch.empty(n.item())";
  CHECK(id_of(failed) == "capture-unsupported");
}

TEST_CASE("a capture by a different thread") {
  Failed failed = refused_call(900, "cudaHostAlloc");
  failed.finding.refused->breaks_other_threads_capture = true;
  CHECK(id_of(failed) == "capture-by-another-thread");
  failed.finding.code = 901;
  CHECK(id_of(failed) == "capture-invalidated");
}
