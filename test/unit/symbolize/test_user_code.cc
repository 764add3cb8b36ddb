#include <doctest/doctest.h>

#include "symbolize/library_paths.h"
#include "symbolize/user_code.h"

using namespace cudadiag::symbolize;

namespace {

NativeFrame native(std::string module, std::string function = "", std::string mangled = "", std::string file = "",
                   int line = 0) {
  NativeFrame frame;
  frame.module = std::move(module);
  frame.function = std::move(function);
  frame.mangled = std::move(mangled);
  frame.file = std::move(file);
  frame.line = line;
  return frame;
}

PythonFrame python(std::string file, int line) { return {std::move(file), line, "f"}; }

TrueLine true_line(SourceStack stack, std::string_view kernel = "") {
  mark_user_frames(stack, kernel);
  return find_true_line(stack, kernel);
}

const std::string kExe = "/home/u/fill", kSource = "/home/u/fill.cu", kStub = "/tmp/tmpxft_1_fill.cudafe1.stub.c";
const std::string kCrt = "/usr/local/cuda/targets/x86_64-linux/include/crt/device_functions.h";

// Frames inside CUDA with a shared and with a static runtime; the latter's internals are nameless when inlined away.
std::vector<NativeFrame> inside_shared() {
  return {native("/x/libcudadiag_record.so", "on_call"),
          native("/usr/lib/x86_64-linux-gnu/libcuda.so.1", "cuLaunchKernel"),
          native("/usr/local/cuda/lib64/libcudart.so.13", "cudaLaunchKernel")};
}
std::vector<NativeFrame> inside_static() {
  return {native("/x/libcudadiag_record.so"),
          native("/usr/lib/x86_64-linux-gnu/libcuda.so.1"),
          native(kExe),
          native(kExe, "libcudart_static_cd7c91532a"),
          native(kExe, "cudaLaunchKernel", "cudaLaunchKernel"),
          native(kExe, "__cudaLaunchKernel", "__cudaLaunchKernel")};
}

SourceStack stack_of(std::vector<NativeFrame> inside, const std::vector<NativeFrame>& outside) {
  inside.insert(inside.end(), outside.begin(), outside.end());
  return {{}, inside};
}

}  // namespace

TEST_CASE("whose Python files are") {
  for (const char* file : {"/home/u/train.py", "train.py", "<string>", "<stdin>", "<ipython-input-3-abc>",
                           "/tmp/ipykernel_12/345.py", "/opt/app/lib/pythonic/a.py", "/srv/lib/python/a.py"}) {
    INFO(file);
    CHECK(is_user_python(file));
  }
  for (const char* file :
       {"/usr/lib/python3.11/threading.py", "/opt/conda/lib/python3.12/site-packages/torch/nn/functional.py",
        "/usr/lib/python3/dist-packages/numpy/a.py", "<frozen runpy>", "<frozen importlib._bootstrap>",
        "<eval_with_key>.4", "/tmp/torchinductor_u/ab/cab.py", "/usr/lib/python312.zip/os.py",
        "/usr/local/lib/python3.13t/ast.py", "<__array_function__ internals>", ""}) {
    INFO(file);
    CHECK_FALSE(is_user_python(file));
  }
}

TEST_CASE("whose modules are") {
  for (const char* path :
       {"/home/u/fill", "/opt/solver/lib/libsmooth.so", "libcudakernels.so", "/home/u/libcudart_wrap.so",
        "/root/.cache/torch_extensions/py312_cu130/my/my.so", "/usr/local/bin/tool"}) {
    INFO(path);
    CHECK(is_user_module(path));
  }
  for (const char* path :
       {"/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib64/libcuda.so.1", "/home/u/env/lib/libcudart.so.12",
        "/x/libcudart-d0da41ae.so.11.0", "/x/libcublasLt.so.13", "/x/libcudnn_ops.so.9", "/x/libnccl.so.2",
        "/home/u/libtorch/lib/libtorch_cuda.so", "/home/u/libtorch/lib/libc10_cuda.so", "/opt/conda/lib/libffi.so.8",
        "/v/lib/python3.12/site-packages/a/_c.so", "/v/lib/python3.12/lib-dynload/_ctypes.so",
        "/x/libcudadiag_record.so", "/opt/conda/bin/python3.12", "/x/libpython3.11.so.1.0",
        "/usr/local/cuda-13.0/lib64/x.so", "[vdso]", ""}) {
    INFO(path);
    CHECK_FALSE(is_user_module(path));
  }
}

TEST_CASE("the interpreter by its name") {
  for (const char* path : {"/usr/bin/python3.12", "/opt/bin/python", "/b/python3", "/l/libpython3.10.so.1.0"}) {
    CHECK(is_interpreter(path));
  }
  for (const char* path : {"/home/u/pythonify", "/home/u/mypython3", "/home/u/libpy.so"})
    CHECK_FALSE(is_interpreter(path));
}

TEST_CASE("who calls functions by their names") {
  for (const char* path : {"/usr/lib/x86_64-linux-gnu/libffi.so.8.1.2", "/v/cffi.libs/libffi-9c61262e.so.8.1.0",
                           "/p/lib-dynload/_ctypes.cpython-312-x86_64-linux-gnu.so", "/usr/bin/python3.12"}) {
    INFO(path);
    CHECK(is_foreign_function_interface(path));
  }
  CHECK_FALSE(is_foreign_function_interface("/home/u/libffigure.so"));
}

TEST_CASE("a launch in main(), not optimised, with either runtime") {
  for (const auto& inside : {inside_shared(), inside_static()}) {
    const auto line = true_line(
        stack_of(inside,
                 {native(kExe, "cudaError cudaLaunchKernel<char>(char*, dim3, dim3)", "_Z16cudaLaunchKernelIcE",
                         "/home/u/toolkit/include/cuda_runtime.h", 200),
                  native(kExe, "__cudaLaunchKernel_helper(CUkern_st*)", "_ZL25__cudaLaunchKernel_helperP9CUkern_st",
                         kCrt, 2963),
                  native(kExe, "__device_stub__Z4fillPii(int*, int)", "_Z24__device_stub__Z4fillPiiPii", kStub, 14),
                  native(kExe, "fill(int*, int)", "_Z4fillPii", kSource, 2),
                  native(kExe, "step(int*)", "_ZL4stepPi", kSource, 6), native(kExe, "main", "main", kSource, 14)}),
        "_Z4fillPii");
    CHECK(line.user);
    CHECK(line.location.function == "step(int*)");
    CHECK(line.location.line == 6);
    CHECK_FALSE(line.caller.known());
  }
}

TEST_CASE("a templated launch, stub and kernel inlined into main()") {
  const auto line = true_line(stack_of(
      inside_static(),
      {native(kExe, "__device_stub__Z5scaleIfEvPT_S0_(float*, float)", "_ZL32__device_stub__Z5scale", kCrt, 2963),
       native(kExe, "__wrapper__device_stub_scale<float>", "", kStub, 2),
       native(kExe, "void scale<float>(float*, float)", "_Z5scaleIfEvPT_S0_", kSource, 8),
       native(kExe, "main", "main", kSource, 15)}));
  CHECK(line.location.line == 15);
}

TEST_CASE("the host side of a static kernel has another mangled name") {
  const SourceStack stack = stack_of(inside_shared(), {native(kExe, "fill(int*)", "_ZL4fillPi", kSource, 1),
                                                       native(kExe, "main", "main", kSource, 12)});
  CHECK(true_line(stack, "_Z4fillPi").location.line == 12);
  CHECK(true_line(stack, "_Z5otherPi").location.line == 1);
}

TEST_CASE("the host side of a static kernel, inlined, has no mangled name; its overload is the user's") {
  NativeFrame host = native(kExe, "n::fill<3>", "", kSource, 1), overload = native(kExe, "fill", "", kSource, 6);
  host.inlined = overload.inlined = true;
  const auto line = true_line(stack_of(inside_static(), {native(kExe, "__device_stub__ZN1n4fillILi3EEEvPi(int*)",
                                                                "_ZL34__device_stub__ZN1n4fill", kStub, 14),
                                                         host, overload, native(kExe, "main", "main", kSource, 12)}),
                              "_ZN1n4fillILi3EEEvPi");
  CHECK(line.location.line == 6);
}

TEST_CASE("a C++ function of the user's may be named like CUDA's") {
  const auto line = true_line(stack_of(inside_shared(), {native(kExe, "cudaCheck(int)", "_Z9cudaChecki", kSource, 5)}));
  CHECK(line.location.function == "cudaCheck(int)");
}

TEST_CASE("without line information the internals of a static runtime are still not the user's") {
  const auto line =
      true_line(stack_of(inside_static(), {native(kExe, "solve(int)", "_Z5solvei"), native(kExe, "main", "main")}));
  CHECK(line.user);
  CHECK(line.location.function == "solve(int)");
  CHECK(line.location.module == kExe);
}

TEST_CASE("headers of toolkits and frameworks in the user's module are not the user's") {
  for (const char* header :
       {"/usr/local/cuda/include/thrust/for_each.h", "/usr/include/c++/12/vector",
        "/v/lib/python3.12/site-packages/torch/include/ATen/ops/add.h", "/c/targets/x86_64-linux/include/x.h"}) {
    INFO(header);
    const auto line = true_line(stack_of(
        inside_shared(), {native(kExe, "lib()", "_Z3libv", header, 9), native(kExe, "main", "main", kSource, 30)}));
    CHECK(line.location.line == 30);
  }
}

TEST_CASE("between Python and native code") {
  SourceStack stack;
  stack.python = {python("/usr/lib/python3.12/ctypes/__init__.py", 3), python("/home/u/solver.py", 27)};
  SUBCASE("the native line leads and the Python line follows") {
    stack.native = {native("/home/u/libsmooth.so", "smooth_step", "smooth_step", "/home/u/smooth.cu", 11)};
    const auto line = true_line(stack);
    CHECK(line.location.file == "/home/u/smooth.cu");
    CHECK(line.location.module == "");
    CHECK(line.caller.file == "/home/u/solver.py");
    CHECK(line.caller.line == 27);
  }
  SUBCASE("native code without lines leaves the lead to Python") {
    stack.native = {native("/home/u/libsmooth.so", "smooth_step", "smooth_step")};
    const auto line = true_line(stack);
    CHECK(line.location.line == 27);
    CHECK_FALSE(line.caller.known());
  }
  SUBCASE("without any Python it is all there is") {
    const auto line = true_line({{}, {native("/home/u/libsmooth.so", "smooth_step", "smooth_step")}});
    CHECK(line.user);
    CHECK(line.location.function == "smooth_step");
    CHECK(line.location.module == "/home/u/libsmooth.so");
    CHECK(line.location.line == 0);
  }
  SUBCASE("a user line further out leads before a library without lines") {
    const auto line = true_line({{}, {native("/home/u/libsmooth.so"), native(kExe, "main", "main", kSource, 30)}});
    CHECK(line.location.line == 30);
  }
}

TEST_CASE("code without a file is the user's only where no frame has one") {
  SourceStack generated{{python("<string>", 5), python("/home/u/train.py", 10)}, {}};
  mark_user_frames(generated, "");
  CHECK(find_true_line(generated, "").location.line == 10);
  SourceStack command{{python("<string>", 5), python("<string>", 1)}, {}};
  mark_user_frames(command, "");
  CHECK(find_true_line(command, "").location.line == 5);
}

TEST_CASE("no frame is the user's: the innermost one that is known outside CUDA") {
  const auto python_only =
      true_line({{python("<frozen runpy>", 0), python("/usr/lib/python3.12/runpy.py", 88)}, inside_shared()});
  CHECK_FALSE(python_only.user);
  CHECK(python_only.location.line == 88);
  const auto native_only =
      true_line({{}, {native("/x/libcuda.so.1", "cuMemAlloc"), native("/usr/lib/libfoo.so", "foo")}});
  CHECK_FALSE(native_only.user);
  CHECK(native_only.location.function == "foo");
  CHECK_FALSE(true_line({{}, inside_shared()}).location.known());
}
