#include <doctest/doctest.h>

#include "unit/causes/failed_case.h"

using namespace cudadiag;
using namespace cudadiag::causes;

namespace {

Argument tensor(const std::string& dtype, std::vector<std::int64_t> shape, std::uint64_t pointer = 0x1000) {
  Argument argument;
  argument.name = "x";
  argument.origin = session::NameSource::variable;
  argument.dtype = dtype;
  argument.shape = std::move(shape);
  argument.pointer = pointer;
  return argument;
}

}  // namespace

TEST_CASE("memory of a device to which the kernel's device has no access") {
  Failed failed = gpu_error(700);
  failed.finding.launch->device = 0;
  failed.finding.arguments = {pointer_argument("near", 0x1000, "live"), pointer_argument("far", 0x5000, "live")};
  failed.finding.arguments[1].allocation->device = 1;
  CHECK(id_of(failed) == "none");  // this GPU has access to the other device's memory
  failed.finding.arguments[1].allocation->out_of_reach = true;
  const auto cause = explain(failed);
  REQUIRE(cause);
  CHECK(cause->id == "memory-of-another-gpu");
  CHECK(!cause->certain);
  CHECK(cause->text ==
        "far points into 4.0 KiB on device 1; the kernel probably used that memory on device 0, which has no access to "
        "it");
  CHECK(cause->proof == std::vector<std::size_t>{1});
  failed.finding.arguments[1].allocation->allocated =
      diagnose::Location{.file = "train.py", .function = "main", .line = 7};
  CHECK(explain(failed)->text.find("on device 1, allocated at train.py:7, main; the") != std::string::npos);
  failed.finding.launch->device.reset();
  CHECK(id_of(failed) == "none");
}

TEST_CASE("freed memory is a certain cause only if no other pointer can be at fault") {
  Failed failed = gpu_error(700);
  failed.finding.arguments = {pointer_argument("other", 0x7000, "freed"), pointer_argument("in", 0x5000, "freed")};
  failed.finding.arguments[0].allocation->freed =
      diagnose::Location{.file = "train.py", .function = "forward", .line = 39};
  const auto cause = explain(failed);
  REQUIRE(cause);
  CHECK(cause->id == "use-after-free");
  CHECK(cause->certain);
  CHECK(cause->text ==
        "other points into 4.0 KiB that were freed at train.py:39, forward before this operation was issued");
  CHECK(cause->proof == std::vector<std::size_t>{0});
  REQUIRE(cause->fix.size() == 2);
  CHECK(cause->fix[0].starts_with("issue this operation before the free, and free only once it has finished ("));

  SUBCASE("next to an unknown pointer it is only likely") {
    failed.finding.arguments.push_back(pointer_argument("table", 0x9000, ""));
    CHECK(id_of(failed) == "use-after-free");
    CHECK(!explain(failed)->certain);
  }
  SUBCASE("a kernel can also index past the end of live memory") {
    failed.finding.arguments.push_back(pointer_argument("out", 0x1000, "live"));
    CHECK(id_of(failed) == "use-after-free");
    CHECK(!explain(failed)->certain);
  }
  SUBCASE("a copy cannot index past the end") {
    failed.finding.launch->kernel = "";
    failed.finding.arguments = {pointer_argument("destination", 0x1000, "live"),
                                pointer_argument("source", 0x5000, "freed")};
    for (Argument& argument : failed.finding.arguments) argument.bytes = 4096;
    CHECK(id_of(failed) == "use-after-free");
    CHECK(explain(failed)->certain);
  }
  SUBCASE("a rejected launch has other reasons") {
    failed = refused_launch(1, {1, 1, 1}, {2048, 1, 1});
    failed.finding.arguments = {pointer_argument("in", 0x5000, "freed")};
    CHECK(id_of(failed) == "block-too-large");
  }
  SUBCASE("live memory is not a cause") {
    failed.finding.arguments = {pointer_argument("out", 0x1000, "live")};
    CHECK(id_of(failed) == "none");
  }
  SUBCASE("another error has other causes") {
    failed.finding.code = 716;
    CHECK(id_of(failed) == "none");
  }
}

TEST_CASE("a graph that uses freed memory") {
  Failed failed = gpu_error(700);
  failed.finding.launch->graph_node = diagnose::NodeNumber{1, 2};
  failed.finding.arguments = {pointer_argument("in", 0x5000, "freed")};
  CHECK(id_of(failed) == "stale-graph-pointer");
  CHECK(explain(failed)->certain);
  failed.pointer_in_doubt = true;  // another operation may have failed instead
  CHECK(id_of(failed) == "stale-graph-pointer");
  CHECK(!explain(failed)->certain);
  failed.pointer_in_doubt = false;
  failed.finding.arguments.push_back(pointer_argument("out", 0x1000, "live"));
  CHECK(id_of(failed) == "stale-graph-pointer");
  CHECK(!explain(failed)->certain);
  failed.finding.code = 0;  // nothing failed: only the stale pointer is reported
  CHECK(explain(failed)->certain);
  failed.finding.code = 700;
  failed.finding.arguments.pop_back();
  failed.finding.launch->graph_node.reset();
  CHECK(id_of(failed) == "use-after-free");
  failed.finding.launch->graph_node = diagnose::NodeNumber{1, 2};
  failed.finding.arguments = {pointer_argument("in", 0x5000, "live")};
  CHECK(id_of(failed) == "none");
}

TEST_CASE("recorded allocations explain a failed call") {
  Failed failed = refused_call(1, "cudaMemcpy");
  failed.finding.refused->host_side = "source";
  failed.finding.arguments = {pointer_argument("destination", 0x5000, "freed"), pointer_argument("source", 0x9000, "")};
  CHECK(id_of(failed) == "use-after-free");
  CHECK(explain(failed)->certain);  // certain, because the source is host memory
  failed.finding.refused->host_side = "";
  CHECK(id_of(failed) == "use-after-free");
  CHECK(!explain(failed)->certain);
  failed.finding.arguments = {pointer_argument("destination", 0x1000, "live"), pointer_argument("source", 0x9000, "")};
  failed.finding.arguments[0].bytes = 8192;
  CHECK(text_of(failed) == "the destination of 8.0 KiB reaches 4.0 KiB past the end of an allocation of 4.0 KiB");
  failed.finding.arguments[0].bytes = 4096;
  CHECK(id_of(failed) == "none");
  failed.finding.code = 400;
  failed.finding.arguments[0].allocation->is_freed = true;
  CHECK(id_of(failed) == "none");
}

TEST_CASE("a memset of host memory") {
  Failed failed = refused_call(1, "cudaMemset");
  failed.finding.arguments = {pointer_argument("destination", 0x7ffc12345678, "")};
  CHECK(text_of(failed) == "cudaMemset sets GPU memory, and its destination is an address in the host's stack");
  failed.reads_host_memory = true;
  CHECK(id_of(failed) == "none");
  failed.finding.arguments = {pointer_argument("destination", 0x7f1234567000, "")};
  CHECK(id_of(failed) == "none");
}

TEST_CASE("calls that accept only some memory") {
  CHECK(id_of(refused_call(12, "cudaMemcpy2D")) == "pitch-below-width");
  CHECK(id_of(refused_call(1, "cudaMemcpy2D")) == "none");
  CHECK(id_of(refused_call(1, "cudaMalloc3DArray")) == "array-too-large");
  CHECK(id_of(refused_call(1, "cudaMalloc3D")) == "none");
  CHECK(id_of(refused_call(1, "cudaIpcGetMemHandle")) == "memory-without-ipc-handle");
  CHECK(id_of(refused_call(1, "cudaIpcGetEventHandle")) == "none");
}

TEST_CASE("calls that the driver refuses for one reason") {
  CHECK(text_of(refused_call(713, "cudaHostUnregister")) ==
        "the host memory given to cudaHostUnregister is not registered (pinned)");
  CHECK(id_of(refused_call(713, "cudaMalloc")) == "none");
  CHECK(id_of(refused_call(26, "cudaCreateTextureObject")) == "texture-refused");
  CHECK(id_of(refused_call(1, "cudaMemcpyToSymbol")) == "size-of-variable");
  CHECK_FALSE(explain(refused_call(1, "cudaMemcpyToSymbol"))->certain);
}

TEST_CASE("a free of memory that the recording knows") {
  Failed failed = refused_call(1, "cudaFree");
  CHECK(text_of(failed).find("already freed, points into the middle") != std::string::npos);
  diagnose::PointedMemory& memory = failed.finding.refused->freed.emplace();
  memory.bytes = 64 << 20;
  CHECK(text_of(failed).find("already freed, points into the middle") != std::string::npos);
  memory.offset = 1 << 20;
  CHECK(text_of(failed) ==
        "cudaFree was given an address that is 1.0 MiB after the beginning of its allocation (64.0 MiB)");
  memory.is_freed = true;
  CHECK(text_of(failed).find("already freed, points into the middle") != std::string::npos);
  memory.offset = 0;
  memory.freed = diagnose::Location{.file = "pool.cu", .function = "clear", .line = 9};
  CHECK(text_of(failed) == "cudaFree was given memory that had been freed at pool.cu:9, clear: 64.0 MiB");
}

TEST_CASE("a copy whose host side is device memory") {
  Failed failed = refused_call(1, "cudaMemcpy");
  failed.finding.refused->host_side = "destination";
  failed.finding.arguments = {pointer_argument("destination", 0x1000, "live"), pointer_argument("source", 0x9000, "")};
  CHECK(id_of(failed) == "copy-direction");
  CHECK(!explain(failed)->certain);
  CHECK(
      text_of(failed).starts_with("cudaMemcpy copies to the host, but its destination points into 4.0 KiB of device "
                                  "memory, often because the addresses are swapped"));
  failed.finding.arguments[0].allocation->allocated = diagnose::Location{.file = "a.cc", .function = "main", .line = 9};
  CHECK(text_of(failed).find("device memory allocated at a.cc:9, main, often because") != std::string::npos);
  failed.finding.refused->host_side = "source";
  CHECK(id_of(failed) == "none");
  failed.finding.arguments = {pointer_argument("destination", 0x9000, ""), pointer_argument("source", 0x1000, "live")};
  CHECK(text_of(failed).starts_with("cudaMemcpy copies from the host, but its source points into"));
  failed.finding.refused->host_side = "";
  CHECK(id_of(failed) == "none");
}

TEST_CASE("pointers past their allocation, and null pointers") {
  Failed failed = gpu_error(700);
  failed.finding.arguments = {pointer_argument("end", 0x2000, "live", 4096, 4096)};
  CHECK(text_of(failed) ==
        "end points to the end of an allocation of 4.0 KiB, and the kernel probably dereferenced it");
  // Another pointer may begin a range, and this one may mark its end.
  failed.finding.arguments.push_back(pointer_argument("begin", 0x1000, "live", 4096, 0));
  CHECK(id_of(failed) == "none");
  failed.finding.arguments = {pointer_argument("end", 0x2004, "live", 4096, 4100)};
  CHECK(text_of(failed).starts_with("end points 4 bytes past the end of an allocation of 4.0 KiB"));
  failed.finding.arguments = {pointer_argument("parameter 1", 0, "")};
  CHECK(id_of(failed) == "null-pointer");
  CHECK(!explain(failed)->certain);
  CHECK(text_of(failed) == "parameter 1 is a null pointer, and the kernel probably dereferenced it");
  failed.finding.swallowed = "cuMemAlloc_v2";
  CHECK(text_of(failed) ==
        "parameter 1 is a null pointer, and the kernel probably dereferenced it; cuMemAlloc_v2 had failed earlier on "
        "this thread");
  CHECK(!explain(failed)->certain);
  failed.finding.arguments[0].pointer.reset();
  CHECK(id_of(failed) == "none");
}

TEST_CASE("an odd pointer is not blamed if an index into another one may be at fault") {
  Failed failed = gpu_error(700, "pool(float*, float*)");
  const Argument live = pointer_argument("parameter 1", 0x7f0000001000, "live", 4096, 0);
  failed.finding.arguments = {live, pointer_argument("parameter 2", 0, "")};
  CHECK(id_of(failed) == "none");  // null may be intended, for example for optional weights
  failed.finding.swallowed = "cudaMalloc";
  CHECK(id_of(failed) == "null-pointer");  // an allocation failed earlier
  failed.finding.swallowed = "";
  failed.finding.arguments = {live, pointer_argument("parameter 2", 0x7f0000003004, "live", 4096, 4100)};
  CHECK(id_of(failed) == "none");
}

TEST_CASE("an address of the host's heap or stack") {
  Failed failed = gpu_error(700, "scale(float*, long)");
  const auto cause = [&](const char* name, std::uint64_t address) {
    failed.finding.arguments = {pointer_argument("parameter 1", 0x7f0000001000, "live", 4096, 0),
                                pointer_argument(name, address, "")};
    return id_of(failed);
  };
  failed.finding.launch->kernel = "scale(float*, float*, long)";
  CHECK(cause("parameter 2", 0x55aa00001000) == "host-pointer");
  CHECK(text_of(failed).starts_with("parameter 2 is an address in the host's heap"));
  CHECK(cause("parameter 2", 0x7ffd00001000) == "host-pointer");
  CHECK(cause("parameter 2", 0x7f1200001000) == "none");  // GPU memory can be at such an address, too
  CHECK(cause("parameter 3", 0x55aa00001000) == "none");  // this parameter is a number
  failed.reads_host_memory = true;
  CHECK(cause("parameter 2", 0x55aa00001000) == "none");
}

TEST_CASE("a function of the host") {
  Failed failed = gpu_error(700, "activate(float (*)(float), float*)");
  Argument& function = failed.finding.arguments.emplace_back();
  function.name = "function (parameter 1)";
  function.origin = session::NameSource::kernel;
  function.parameter = 1;
  function.pointer = 0x55ecec5fdd10;
  CHECK(id_of(failed) == "host-function");
  CHECK(text_of(failed).starts_with("function (parameter 1) is the address of a function on the host"));
  CHECK_FALSE(explain(failed)->certain);
  failed.reads_host_memory = true;
  CHECK(id_of(failed) == "host-function");  // no GPU runs the host's code
  function.pointer = 0x7f0000001000;
  CHECK(id_of(failed) == "none");
  function.pointer = 0x55ecec5fdd10;
  failed.finding.launch->kernel = "activate(float, float*)";
  CHECK(id_of(failed) == "none");
  failed.finding.launch->kernel = "activate(Map<float (*)(float)>, float*)";
  CHECK(id_of(failed) == "none");
}

TEST_CASE("memory that is pinned twice, and a texture that is refused") {
  CHECK(id_of(refused_call(712, "cudaHostRegister")) == "already-pinned");
  const auto texture = explain(refused_call(1, "cudaCreateTextureObject"));
  REQUIRE(texture);
  CHECK(texture->id == "texture-refused");
  CHECK_FALSE(texture->certain);
  CHECK(id_of(refused_call(1, "cudaDestroyTextureObject")) == "none");
}

TEST_CASE("zeros that are not pointers, or that are null by design") {
  Failed failed =
      gpu_error(700, "void at::shift<float, 4>(float*, std::array<char*, 1ul>, long, int (*)(float), int*)");
  const auto cause = [&](const char* name) {
    failed.finding.arguments = {pointer_argument(name, 0, "")};
    return id_of(failed);
  };
  CHECK(cause("parameter 1") == "null-pointer");
  CHECK(cause("parameter 2") == "none");
  CHECK(cause("parameter 3") == "none");
  CHECK(cause("parameter 5") == "null-pointer");
  CHECK(cause("parameter 6") == "none");
  CHECK(cause("parameter 1 at byte 8") == "none");
  CHECK(cause("x") == "none");
  failed.finding.launch->kernel = "cudapy::__main__::store[abi:v1](Array<float, 1, C, mutable, aligned>, long long)";
  CHECK(cause("parameter 1") == "none");
  failed.finding.launch->kernel =
      "increment";  // Triton's kernel names list no types, and the last two parameters are scratch
                    // pointers
  CHECK(cause("parameter 7") == "null-pointer");
  CHECK(text_of(failed) == "parameter 7 is 0: if it is a pointer, the kernel probably dereferenced it");
  failed.finding.swallowed = "cuMemAlloc_v2";
  CHECK(text_of(failed).ends_with("; cuMemAlloc_v2 had failed earlier on this thread"));
  failed.finding.stack.python = {{"/site-packages/triton/runtime/jit.py", 0, "run", false}};
  CHECK(cause("parameter 7") == "none");
  CHECK(cause("x_ptr (parameter 1)") == "null-pointer");
  failed.finding.stack.python = {{"/site-packages/numba/cuda/dispatcher.py", 0, "call", false}};
  CHECK(cause("x (parameter 1)") == "none");
  failed.finding.stack.python = {{"/home/me/train.py", 3, "main", true}};
  CHECK(cause("parameter 1") == "null-pointer");
  failed.finding.launch->kernel = "scale(float*)";
  failed.finding.arguments = {pointer_argument("empty", 0, "")};
  failed.finding.arguments[0].origin = session::NameSource::variable;  // a tensor without elements has a null pointer
  CHECK(id_of(failed) == "none");
}

TEST_CASE("32-bit offsets") {
  Failed failed = gpu_error(700);
  failed.finding.arguments = {tensor("float16", {262144, 8960})};
  CHECK(id_of(failed) == "index-overflow-32");
  CHECK(text_of(failed).find("2348810240 elements") != std::string::npos);
  failed.finding.code = 717;
  CHECK(id_of(failed) == "index-overflow-32");
  failed.finding.code = 700;
  failed.finding.arguments = {tensor("float16", {2147483647})};
  CHECK(id_of(failed) == "none");
  SUBCASE("a view may span more memory than it has elements") {
    failed.finding.arguments = {tensor("float16", {2, 8})};
    failed.finding.arguments[0].strides = {2147483648, 1};
    CHECK(id_of(failed) == "index-overflow-32");
  }
  SUBCASE("an expanded tensor spans less") {
    failed.finding.arguments = {tensor("float16", {1000000, 8960})};
    failed.finding.arguments[0].strides = {0, 1};
    CHECK(id_of(failed) == "none");
  }
}

TEST_CASE("misaligned addresses") {
  Failed failed = gpu_error(716);
  failed.finding.arguments = {tensor("float32", {64}, 0x1002)};
  CHECK(id_of(failed) == "misaligned-for-type");
  CHECK(explain(failed)->certain);
  failed.finding.arguments = {tensor("float16", {64}, 0x1002)};
  CHECK(id_of(failed) == "misaligned-view");
  CHECK(!explain(failed)->certain);
  failed.finding.arguments = {tensor("float16", {64}, 0x1010)};
  CHECK(id_of(failed) == "none");
  CHECK(id_of(gpu_error(716)) == "none");

  failed.finding.arguments = {tensor("float16", {64}, 0x1002)};
  CHECK(explain(failed)->fix[0].find("clone") == std::string::npos);
  failed.dialect.torch = true;
  CHECK(explain(failed)->fix[0].find(".clone()") != std::string::npos);
  failed.finding.launch->kernel = "k(float*, unsigned long)";
  failed.finding.arguments = {pointer_argument("parameter 1", 0x1000, ""), pointer_argument("parameter 2", 1001, "")};
  CHECK(id_of(failed) == "none");  // the value is probably a number
  failed.finding.arguments[0].pointer = 0x1004;
  CHECK(id_of(failed) == "misaligned-view");
}

TEST_CASE("addresses out of range in shared memory") {
  Failed failed = gpu_error(719);
  failed.finding.device->exception = "Warp Out-of-range Address";
  CHECK(id_of(failed) == "shared-out-of-range");
  CHECK(!explain(failed)->certain);  // a double that is used as a pointer gives the same error
  CHECK(explain(failed)->fix[1].find("cudaLimitStackSize") != std::string::npos);  // endless recursion also gives the
                                                                                   // same error
  failed.finding.device->exception = "Warp Illegal Address";
  CHECK(id_of(failed) == "none");
}

TEST_CASE("out of memory, by call and size") {
  Failed failed = refused_call(2, "cudaMalloc");
  CHECK(id_of(failed) == "none");  // the requested size is unknown
  failed.finding.refused->bytes = 12884901888;
  CHECK(id_of(failed) == "out-of-memory");
  CHECK(text_of(failed) == "cudaMalloc requested 12.0 GiB, but the device had less free memory");
  CHECK(explain(failed)->fix.size() == 1);
  failed.report.torch = "2.11.0";
  CHECK(explain(failed)->fix.size() == 3);
  failed.finding.refused->bytes = 18446744073709547520ull;
  CHECK(id_of(failed) == "absurd-allocation");
  CHECK(!explain(failed)->certain);
  failed.finding.refused->bytes = (1ull << 44) - 1;
  CHECK(id_of(failed) == "out-of-memory");
  failed.finding.refused->name = "cudaHostAlloc";
  CHECK(id_of(failed) == "no-pinned-memory");
  failed.finding.refused->name = "cudaMallocManaged";
  CHECK(id_of(failed) == "out-of-memory");
  CHECK(!explain(failed)->certain);  // a device with paging may allocate more than its memory
  CHECK(id_of(refused_call(2, "cuDevicePrimaryCtxRetain")) == "no-memory-for-the-context");
  CHECK(id_of(refused_call(2, "cudaLaunchKernel")) == "none");
}

TEST_CASE("out of memory inside a library") {
  Failed failed = refused_call(2, "cudaMalloc");
  symbolize::NativeFrame& frame = failed.finding.stack.native.emplace_back();
  frame.module = "/v/nvidia/lib/libcublas.so.13";
  failed.finding.refused->bytes = 8 << 20;
  CHECK(id_of(failed) == "library-out-of-memory");
  frame.module = "/v/nvidia/lib/libnccl.so.2";
  CHECK(id_of(failed) == "out-of-memory");
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
  Failed failed = gpu_error(700);
  failed.finding.arguments = {pointer_argument("destination", 0x1000, "live", 4096, 1024),
                              pointer_argument("source", 0x5000, "live", 8192)};
  failed.finding.arguments[0].bytes = failed.finding.arguments[1].bytes = 3072;
  CHECK(id_of(failed) == "none");
  failed.finding.arguments[0].bytes = failed.finding.arguments[1].bytes = 4096;
  const auto cause = explain(failed);
  REQUIRE(cause);
  CHECK(cause->id == "copy-past-allocation");
  CHECK(cause->certain);
  CHECK(cause->text == "the destination of 4.0 KiB reaches 1.0 KiB past the end of an allocation of 4.0 KiB");
  failed.finding.arguments[0].allocation->allocated = diagnose::Location{.file = "a.cc", .function = "main", .line = 9};
  CHECK(explain(failed)->text ==
        "the destination of 4.0 KiB reaches 1.0 KiB past the end of the 4.0 KiB allocated at a.cc:9, main");
}
