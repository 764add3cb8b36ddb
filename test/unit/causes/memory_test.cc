#include <doctest/doctest.h>

#include "unit/causes/symptoms_builder.h"

using namespace cudadiag;
using namespace cudadiag::causes;

namespace {

Argument tensor(const std::string& dtype, std::vector<std::int64_t> shape, std::uint64_t pointer = 0x1000) {
  Argument argument;
  argument.name = "x";
  argument.origin = session::ValueOrigin::variable;
  argument.dtype = dtype;
  argument.shape = std::move(shape);
  argument.pointer = pointer;
  return argument;
}

}  // namespace

TEST_CASE("memory of a device to which the kernel's device has no access") {
  Symptoms symptoms = gpu_error(700);
  symptoms.device = 0;
  symptoms.arguments = {pointer_argument("near", 0x1000, "live"), pointer_argument("far", 0x5000, "live")};
  symptoms.arguments[1].allocation->device = 1;
  CHECK(id_of(symptoms) == "none");  // this GPU has access to the other device's memory
  symptoms.arguments[1].allocation->out_of_reach = true;
  const auto cause = explain(symptoms);
  REQUIRE(cause);
  CHECK(cause->id == "memory-of-another-gpu");
  CHECK(!cause->certain);
  CHECK(cause->text ==
        "far points into 4.0 KiB on device 1; the kernel probably used that memory on device 0, which has no access to "
        "it");
  CHECK(cause->proof == std::vector<std::size_t>{1});
  symptoms.arguments[1].allocation->allocated = diagnose::Location{.file = "train.py", .function = "main", .line = 7};
  CHECK(explain(symptoms)->text.find("on device 1, allocated at train.py:7, main; the") != std::string::npos);
  symptoms.device.reset();
  CHECK(id_of(symptoms) == "none");
}

TEST_CASE("freed memory is a certain cause only if no other pointer can be at fault") {
  Symptoms symptoms = gpu_error(700);
  symptoms.arguments = {pointer_argument("other", 0x7000, "freed"), pointer_argument("in", 0x5000, "freed")};
  symptoms.arguments[0].allocation->freed = diagnose::Location{.file = "train.py", .function = "forward", .line = 39};
  const auto cause = explain(symptoms);
  REQUIRE(cause);
  CHECK(cause->id == "use-after-free");
  CHECK(cause->certain);
  CHECK(cause->text ==
        "other points into 4.0 KiB that were freed at train.py:39, forward before this operation was issued");
  CHECK(cause->proof == std::vector<std::size_t>{0});

  SUBCASE("next to an unknown pointer it is only likely") {
    symptoms.arguments.push_back(pointer_argument("table", 0x9000, ""));
    CHECK(id_of(symptoms) == "use-after-free");
    CHECK(!explain(symptoms)->certain);
  }
  SUBCASE("a kernel can also index past the end of live memory") {
    symptoms.arguments.push_back(pointer_argument("out", 0x1000, "live"));
    CHECK(id_of(symptoms) == "use-after-free");
    CHECK(!explain(symptoms)->certain);
  }
  SUBCASE("a copy cannot index past the end") {
    symptoms.kernel = "";
    symptoms.arguments = {pointer_argument("destination", 0x1000, "live"), pointer_argument("source", 0x5000, "freed")};
    for (Argument& argument : symptoms.arguments) argument.bytes = 4096;
    CHECK(id_of(symptoms) == "use-after-free");
    CHECK(explain(symptoms)->certain);
  }
  SUBCASE("a rejected launch has other reasons") {
    symptoms = refused_launch(1, {1, 1, 1}, {2048, 1, 1});
    symptoms.arguments = {pointer_argument("in", 0x5000, "freed")};
    CHECK(id_of(symptoms) == "block-too-large");
  }
  SUBCASE("live memory is not a cause") {
    symptoms.arguments = {pointer_argument("out", 0x1000, "live")};
    CHECK(id_of(symptoms) == "none");
  }
  SUBCASE("another error has other causes") {
    symptoms.code = 716;
    CHECK(id_of(symptoms) == "none");
  }
}

TEST_CASE("a graph that uses freed memory") {
  Symptoms symptoms = gpu_error(700);
  symptoms.in_graph = true;
  symptoms.arguments = {pointer_argument("in", 0x5000, "freed")};
  CHECK(id_of(symptoms) == "stale-graph-pointer");
  CHECK(explain(symptoms)->certain);
  symptoms.pointer_in_doubt = true;  // another operation may have failed instead
  CHECK(id_of(symptoms) == "stale-graph-pointer");
  CHECK(!explain(symptoms)->certain);
  symptoms.pointer_in_doubt = false;
  symptoms.arguments.push_back(pointer_argument("out", 0x1000, "live"));
  CHECK(id_of(symptoms) == "stale-graph-pointer");
  CHECK(!explain(symptoms)->certain);
  symptoms.code = 0;  // nothing failed: only the stale pointer is reported
  CHECK(explain(symptoms)->certain);
  symptoms.code = 700;
  symptoms.arguments.pop_back();
  symptoms.in_graph = false;
  CHECK(id_of(symptoms) == "use-after-free");
  symptoms.in_graph = true;
  symptoms.arguments = {pointer_argument("in", 0x5000, "live")};
  CHECK(id_of(symptoms) == "none");
}

TEST_CASE("recorded allocations explain a failed call") {
  Symptoms symptoms = refused_call(1, "cudaMemcpy");
  symptoms.host_side = "source";
  symptoms.arguments = {pointer_argument("destination", 0x5000, "freed"), pointer_argument("source", 0x9000, "")};
  CHECK(id_of(symptoms) == "use-after-free");
  CHECK(explain(symptoms)->certain);  // certain, because the source is host memory
  symptoms.host_side = "";
  CHECK(id_of(symptoms) == "use-after-free");
  CHECK(!explain(symptoms)->certain);
  symptoms.arguments = {pointer_argument("destination", 0x1000, "live"), pointer_argument("source", 0x9000, "")};
  symptoms.arguments[0].bytes = 8192;
  CHECK(text_of(symptoms) == "the destination of 8.0 KiB reaches 4.0 KiB past the end of an allocation of 4.0 KiB");
  symptoms.arguments[0].bytes = 4096;
  CHECK(id_of(symptoms) == "none");
  symptoms.code = 400;
  symptoms.arguments[0].allocation->is_freed = true;
  CHECK(id_of(symptoms) == "none");
}

TEST_CASE("a copy whose host side is device memory") {
  Symptoms symptoms = refused_call(1, "cudaMemcpy");
  symptoms.host_side = "destination";
  symptoms.arguments = {pointer_argument("destination", 0x1000, "live"), pointer_argument("source", 0x9000, "")};
  CHECK(id_of(symptoms) == "copy-direction");
  CHECK(!explain(symptoms)->certain);
  CHECK(
      text_of(symptoms).starts_with("cudaMemcpy copies to the host, but its destination points into 4.0 KiB of device "
                                    "memory, often because the addresses are swapped"));
  symptoms.arguments[0].allocation->allocated = diagnose::Location{.file = "a.cc", .function = "main", .line = 9};
  CHECK(text_of(symptoms).find("device memory allocated at a.cc:9, main, often because") != std::string::npos);
  symptoms.host_side = "source";
  CHECK(id_of(symptoms) == "none");
  symptoms.arguments = {pointer_argument("destination", 0x9000, ""), pointer_argument("source", 0x1000, "live")};
  CHECK(text_of(symptoms).starts_with("cudaMemcpy copies from the host, but its source points into"));
  symptoms.host_side = "";
  CHECK(id_of(symptoms) == "none");
}

TEST_CASE("pointers past their allocation, and null pointers") {
  Symptoms symptoms = gpu_error(700);
  symptoms.arguments = {pointer_argument("end", 0x2000, "live", 4096, 4096)};
  CHECK(id_of(symptoms) == "none");  // a kernel may receive a pointer to the end of a range
  symptoms.arguments = {pointer_argument("end", 0x2004, "live", 4096, 4100)};
  CHECK(text_of(symptoms).starts_with("end points 4 bytes past the end of an allocation of 4.0 KiB"));
  symptoms.arguments = {pointer_argument("parameter 1", 0, "")};
  CHECK(id_of(symptoms) == "null-pointer");
  CHECK(!explain(symptoms)->certain);
  CHECK(text_of(symptoms) == "parameter 1 is a null pointer, and the kernel probably dereferenced it");
  symptoms.swallowed = "cuMemAlloc_v2";
  CHECK(text_of(symptoms) ==
        "parameter 1 is a null pointer, and the kernel probably dereferenced it; cuMemAlloc_v2 had failed earlier on "
        "this thread");
  CHECK(!explain(symptoms)->certain);
  symptoms.arguments[0].pointer.reset();
  CHECK(id_of(symptoms) == "none");
}

TEST_CASE("an odd pointer is not blamed if an index into another one may be at fault") {
  Symptoms symptoms = gpu_error(700, "pool(float*, float*)");
  const Argument live = pointer_argument("parameter 1", 0x7f0000001000, "live", 4096, 0);
  symptoms.arguments = {live, pointer_argument("parameter 2", 0, "")};
  CHECK(id_of(symptoms) == "none");  // null may be intended, for example for optional weights
  symptoms.swallowed = "cudaMalloc";
  CHECK(id_of(symptoms) == "null-pointer");  // an allocation failed earlier
  symptoms.swallowed = "";
  symptoms.arguments = {live, pointer_argument("parameter 2", 0x7f0000003004, "live", 4096, 4100)};
  CHECK(id_of(symptoms) == "none");
}

TEST_CASE("an address of the host's heap or stack") {
  Symptoms symptoms = gpu_error(700, "scale(float*, long)");
  const auto cause = [&](const char* name, std::uint64_t address) {
    symptoms.arguments = {pointer_argument("parameter 1", 0x7f0000001000, "live", 4096, 0),
                          pointer_argument(name, address, "")};
    return id_of(symptoms);
  };
  symptoms.kernel = "scale(float*, float*, long)";
  CHECK(cause("parameter 2", 0x55aa00001000) == "host-pointer");
  CHECK(text_of(symptoms).starts_with("parameter 2 is an address in the host's heap"));
  CHECK(cause("parameter 2", 0x7ffd00001000) == "host-pointer");
  CHECK(cause("parameter 2", 0x7f1200001000) == "none");  // GPU memory can be at such an address, too
  CHECK(cause("parameter 3", 0x55aa00001000) == "none");  // this parameter is a number
}

TEST_CASE("zeros that are not pointers, or that are null by design") {
  Symptoms symptoms =
      gpu_error(700, "void at::shift<float, 4>(float*, std::array<char*, 1ul>, long, int (*)(float), int*)");
  const auto cause = [&](const char* name) {
    symptoms.arguments = {pointer_argument(name, 0, "")};
    return id_of(symptoms);
  };
  CHECK(cause("parameter 1") == "null-pointer");
  CHECK(cause("parameter 2") == "none");
  CHECK(cause("parameter 3") == "none");
  CHECK(cause("parameter 5") == "null-pointer");
  CHECK(cause("parameter 6") == "none");
  CHECK(cause("parameter 1 at byte 8") == "none");
  CHECK(cause("x") == "none");
  symptoms.kernel = "cudapy::__main__::store[abi:v1](Array<float, 1, C, mutable, aligned>, long long)";
  CHECK(cause("parameter 1") == "none");
  symptoms.kernel = "increment";  // Triton's kernel names list no types, and the last two parameters are scratch
                                  // pointers
  CHECK(cause("parameter 7") == "null-pointer");
  CHECK(text_of(symptoms) == "parameter 7 is 0: if it is a pointer, the kernel probably dereferenced it");
  symptoms.swallowed = "cuMemAlloc_v2";
  CHECK(text_of(symptoms).ends_with("; cuMemAlloc_v2 had failed earlier on this thread"));
  symptoms.python = {{"/site-packages/triton/runtime/jit.py", 0, "run", false}};
  CHECK(cause("parameter 7") == "none");
  symptoms.kernel = "scale(float*)";
  symptoms.arguments = {pointer_argument("empty", 0, "")};
  symptoms.arguments[0].origin = session::ValueOrigin::variable;  // a tensor without elements has a null pointer
  CHECK(id_of(symptoms) == "none");
}

TEST_CASE("32-bit offsets") {
  Symptoms symptoms = gpu_error(700);
  symptoms.arguments = {tensor("float16", {262144, 8960})};
  CHECK(id_of(symptoms) == "index-overflow-32");
  CHECK(text_of(symptoms).find("2348810240 elements") != std::string::npos);
  symptoms.code = 717;
  CHECK(id_of(symptoms) == "index-overflow-32");
  symptoms.code = 700;
  symptoms.arguments = {tensor("float16", {2147483647})};
  CHECK(id_of(symptoms) == "none");
  SUBCASE("a view may span more memory than it has elements") {
    symptoms.arguments = {tensor("float16", {2, 8})};
    symptoms.arguments[0].strides = {2147483648, 1};
    CHECK(id_of(symptoms) == "index-overflow-32");
  }
  SUBCASE("an expanded tensor spans less") {
    symptoms.arguments = {tensor("float16", {1000000, 8960})};
    symptoms.arguments[0].strides = {0, 1};
    CHECK(id_of(symptoms) == "none");
  }
}

TEST_CASE("misaligned addresses") {
  Symptoms symptoms = gpu_error(716);
  symptoms.arguments = {tensor("float32", {64}, 0x1002)};
  CHECK(id_of(symptoms) == "misaligned-for-type");
  CHECK(explain(symptoms)->certain);
  symptoms.arguments = {tensor("float16", {64}, 0x1002)};
  CHECK(id_of(symptoms) == "misaligned-view");
  CHECK(!explain(symptoms)->certain);
  symptoms.arguments = {tensor("float16", {64}, 0x1010)};
  CHECK(id_of(symptoms) == "none");
  CHECK(id_of(gpu_error(716)) == "none");

  symptoms.arguments = {tensor("float16", {64}, 0x1002)};
  CHECK(explain(symptoms)->fix[0].find("clone") == std::string::npos);
  symptoms.dialect.torch = true;
  CHECK(explain(symptoms)->fix[0].find(".clone()") != std::string::npos);
  symptoms.kernel = "k(float*, unsigned long)";
  symptoms.arguments = {pointer_argument("parameter 1", 0x1000, ""), pointer_argument("parameter 2", 1001, "")};
  CHECK(id_of(symptoms) == "none");  // the value is probably a number
  symptoms.arguments[0].pointer = 0x1004;
  CHECK(id_of(symptoms) == "misaligned-view");
}

TEST_CASE("addresses out of range in shared memory") {
  Symptoms symptoms = gpu_error(719);
  symptoms.exception = "Warp Out-of-range Address";
  CHECK(id_of(symptoms) == "shared-out-of-range");
  CHECK(!explain(symptoms)->certain);  // a double that is used as a pointer gives the same error
  CHECK(explain(symptoms)->fix[1].find("cudaLimitStackSize") != std::string::npos);  // endless recursion also gives the
                                                                                     // same error
  symptoms.exception = "Warp Illegal Address";
  CHECK(id_of(symptoms) == "none");
}

TEST_CASE("out of memory, by call and size") {
  Symptoms symptoms = refused_call(2, "cudaMalloc");
  CHECK(id_of(symptoms) == "none");  // the requested size is unknown
  symptoms.bytes = 12884901888;
  CHECK(id_of(symptoms) == "out-of-memory");
  CHECK(text_of(symptoms) == "cudaMalloc requested 12.0 GiB, but the device had less free memory");
  CHECK(explain(symptoms)->fix.size() == 1);
  symptoms.versions = {{"torch", "2.11.0"}};
  CHECK(explain(symptoms)->fix.size() == 3);
  symptoms.bytes = 18446744073709547520ull;
  CHECK(id_of(symptoms) == "absurd-allocation");
  CHECK(!explain(symptoms)->certain);
  symptoms.bytes = (1ull << 44) - 1;
  CHECK(id_of(symptoms) == "out-of-memory");
  symptoms.call = "cudaHostAlloc";
  CHECK(id_of(symptoms) == "no-pinned-memory");
  symptoms.call = "cudaMallocManaged";
  CHECK(id_of(symptoms) == "out-of-memory");
  CHECK(!explain(symptoms)->certain);  // a device with paging may allocate more than its memory
  CHECK(id_of(refused_call(2, "cuDevicePrimaryCtxRetain")) == "no-memory-for-the-context");
  CHECK(id_of(refused_call(2, "cudaLaunchKernel")) == "none");
}

TEST_CASE("out of memory inside a library") {
  Symptoms symptoms = refused_call(2, "cudaMalloc");
  symptoms.library = "libcublas.so.13";
  symptoms.bytes = 8 << 20;
  CHECK(id_of(symptoms) == "library-out-of-memory");
  symptoms.library = "libnccl.so.2";
  CHECK(id_of(symptoms) == "out-of-memory");
}

TEST_CASE("freeing a pointer that is not allocated") {
  CHECK(id_of(refused_call(1, "cudaFree")) == "invalid-free");
  CHECK(id_of(refused_call(1, "cuMemFree_v2")) == "invalid-free");
  CHECK(explain(refused_call(1, "cudaFree"))->certain);
  CHECK(id_of(refused_call(1, "cudaMemcpy")) == "none");
  for (const char* call : {"cudaFreeAsync", "cuMemFreeAsync"}) {  // only memory of a graph can be freed during a
                                                                  // capture
    CHECK(id_of(refused_call(1, call)) == "invalid-free");
    CHECK(!explain(refused_call(1, call))->certain);
  }
}

TEST_CASE("a copy that is longer than its destination") {
  Symptoms symptoms = gpu_error(700);
  symptoms.arguments = {pointer_argument("destination", 0x1000, "live", 4096, 1024),
                        pointer_argument("source", 0x5000, "live", 8192)};
  symptoms.arguments[0].bytes = symptoms.arguments[1].bytes = 3072;
  CHECK(id_of(symptoms) == "none");
  symptoms.arguments[0].bytes = symptoms.arguments[1].bytes = 4096;
  const auto cause = explain(symptoms);
  REQUIRE(cause);
  CHECK(cause->id == "copy-past-allocation");
  CHECK(cause->certain);
  CHECK(cause->text == "the destination of 4.0 KiB reaches 1.0 KiB past the end of an allocation of 4.0 KiB");
  symptoms.arguments[0].allocation->allocated = diagnose::Location{.file = "a.cc", .function = "main", .line = 9};
  CHECK(explain(symptoms)->text ==
        "the destination of 4.0 KiB reaches 1.0 KiB past the end of the 4.0 KiB allocated at a.cc:9, main");
}
