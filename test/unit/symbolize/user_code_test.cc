#include "symbolize/user_code.h"

#include <doctest/doctest.h>

#include "session/user_or_library.h"

using namespace cudadiag::symbolize;
using cudadiag::session::is_foreign_function_interface, cudadiag::session::is_interpreter,
    cudadiag::session::is_library_source;

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

// Frames inside CUDA with a shared and with a static runtime. Internal functions of a static runtime have no names.
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

TEST_CASE("which Python files are the user's") {
  for (const char* file :
       {"/home/u/train.py", "train.py", "<string>", "<stdin>", "<ipython-input-3-abc>", "<python-input-0>",
        "<timeit-src>", "<script>", "/tmp/ipykernel_12/345.py", "/opt/app/lib/pythonic/a.py", "/srv/lib/python/a.py"}) {
    INFO(file);
    CHECK(UserCode().python(std::string_view(file)));
  }
  for (const char* file :
       {"/usr/lib/python3.11/threading.py", "/opt/conda/lib/python3.12/site-packages/torch/nn/functional.py",
        "/usr/lib/python3/dist-packages/numpy/a.py", "<frozen runpy>", "<frozen importlib._bootstrap>",
        "<eval_with_key>.4", "/tmp/torchinductor_u/ab/cab.py", "/usr/lib/python312.zip/os.py",
        "/usr/local/lib/python3.13t/ast.py", "<__array_function__ internals>", "/home/u/cupy/cuda/memory.pyx", ""}) {
    INFO(file);
    CHECK_FALSE(UserCode().python(std::string_view(file)));
  }
}

TEST_CASE("which modules are the user's") {
  for (const char* path :
       {"/home/u/fill", "/opt/solver/lib/libsmooth.so", "libcudakernels.so", "/home/u/libcudart_wrap.so",
        "/root/.cache/torch_extensions/py312_cu130/my/my.so", "/usr/local/bin/tool", "/home/u/libcuda-kernels.so",
        "/home/u/librt-engine.so", "/home/u/librt-add.so", "/home/u/libpython_ops.so", "/home/u/libtorch_myops.so",
        "/home/u/libnpplus.so", "/home/u/libcudnn_ext.so", "/home/u/libnvidia_app.so",
        "/home/u/libonnxruntime_custom.so"}) {
    INFO(path);
    CHECK(UserCode().module(path));
  }
  for (const char* path : {"/lib/x86_64-linux-gnu/libc.so.6",
                           "/usr/lib64/libcuda.so.1",
                           "/home/u/env/lib/libcudart.so.12",
                           "/x/libcudart-d0da41ae.so.11.0",
                           "/x/libcublasLt.so.13",
                           "/x/libcudnn_ops.so.9",
                           "/x/libnccl.so.2",
                           "/home/u/libtorch/lib/libtorch_cuda.so",
                           "/home/u/libtorch/lib/libc10_cuda.so",
                           "/x/libnppc.so.13",
                           "/x/libnppial.so.13",
                           "/x/libonnxruntime_providers_cuda.so",
                           "/opt/conda/lib/libffi.so.8",
                           "/v/lib/python3.12/site-packages/a/_c.so",
                           "/v/lib/python3.12/lib-dynload/_ctypes.so",
                           "/x/libcudadiag_record.so",
                           "/opt/conda/bin/python3.12",
                           "/x/libpython3.11.so.1.0",
                           "/x/libpython3.so",
                           "/x/libnvidia-ml.so.1",
                           "/x/libnvrtc-builtins.so.13.0",
                           "/x/libc-2.31.so",
                           "/x/ld-linux-x86-64.so.2",
                           "/x/libgomp-a34b3233.so.1",
                           "linux-vdso.so.1",
                           "/usr/local/cuda-13.0/lib64/x.so",
                           "[vdso]",
                           ""}) {
    INFO(path);
    CHECK_FALSE(UserCode().module(path));
  }
}

TEST_CASE("the interpreter is recognised by name") {
  for (const char* path : {"/usr/bin/python3.12", "/opt/bin/python", "/b/python3", "/l/libpython3.10.so.1.0",
                           "/l/libpython3.so", "/l/libpython2.7.so"}) {
    CHECK(is_interpreter(path));
  }
  for (const char* path : {"/home/u/pythonify", "/home/u/mypython3", "/home/u/libpy.so", "/home/u/libpython_ops.so"})
    CHECK_FALSE(is_interpreter(path));
}

TEST_CASE("libraries that call functions by name") {
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

TEST_CASE("a program that calls the driver may use the kernel's name for its own function") {
  const SourceStack stack = {
      {},
      {native("/usr/lib/x86_64-linux-gnu/libcuda.so.1", "cuLaunchKernel"),
       native(kExe, "scale(float*, int)", "_Z5scalePfi", kSource, 6), native(kExe, "main", "main", kSource, 12)}};
  CHECK(true_line(stack, "_Z5scalePfi").location.line == 6);
  CHECK(launch_frames(stack.native, "_Z5scalePfi").count == 1);
}

TEST_CASE("the inlined host side of a static kernel has no mangled name, and its overload is the user's") {
  NativeFrame host = native(kExe, "n::fill<3>", "", kSource, 1), overload = native(kExe, "fill", "", kSource, 6);
  host.inlined = overload.inlined = true;
  const auto line = true_line(stack_of(inside_static(), {native(kExe, "__device_stub__ZN1n4fillILi3EEEvPi(int*)",
                                                                "_ZL34__device_stub__ZN1n4fill", kStub, 14),
                                                         host, overload, native(kExe, "main", "main", kSource, 12)}),
                              "_ZN1n4fillILi3EEEvPi");
  CHECK(line.location.line == 6);
}

TEST_CASE("a kernel that receives a lambda has another name on the host") {
  const std::string kernel = "_ZN3par6forallIZN27_INTERNAL_3d0_6_pool_cu_run5remapEvEUliE_EEviT_";
  const std::string wrapped = "I17__nv_dl_wrapper_tI11__nv_dl_tagIPFvvEXadL_ZL5remapvEELj1EEJEEEEv";
  const NativeFrame stub =
      native(kExe, "__device_stub__ZN3par6forallIZN27_INTERNAL_3d0_6_pool_cu_run5remapEvEUnvdl0_PFvvES0_EEviT_(int)",
             "_ZL97__device_stub__ZN3par6forall", kStub, 14);
  const NativeFrame host =
      native(kExe, "void par::forall<__nv_dl_wrapper_t<__nv_dl_tag<void (*)(), &remap, 1u>> >(int)",
             "_ZN3parL6forall" + wrapped + "iT_", kSource, 22);
  const NativeFrame overload =
      native(kExe, "void par::forall<__nv_dl_wrapper_t<__nv_dl_tag<void (*)(), &remap, 1u>> >(CUstream_st*, int)",
             "_ZN3par6forall" + wrapped + "P11CUstream_stiT_", kSource, 31);
  const auto line = true_line(
      stack_of(inside_static(), {stub, host, overload, native(kExe, "remap()", "_ZL5remapv", kSource, 80)}), kernel);
  CHECK(line.location.line == 31);
}

TEST_CASE("a user's C++ function may have the name of a CUDA function") {
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

TEST_CASE("headers of toolkits and frameworks in the user's module are not the user's code") {
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
  SUBCASE("a library without lines leaves the lead to Python") {
    stack.native = {native("/home/u/libsmooth.so", "smooth_step", "smooth_step")};
    CHECK(true_line(stack).location.line == 27);
    CHECK_FALSE(true_line(stack).caller.known());
  }
  SUBCASE("without Python, it is all there is") {
    const auto line = true_line({{}, {native("/home/u/libsmooth.so", "smooth_step", "smooth_step")}});
    CHECK(line.user);
    CHECK(line.location.function == "smooth_step");
    CHECK(line.location.module == "/home/u/libsmooth.so");
    CHECK(line.location.line == 0);
    CHECK_FALSE(line.location.known());
  }
  SUBCASE("a user line further out does not replace that of a library without lines") {
    NativeFrame nameless = native("/home/u/libsmooth.so");
    nameless.offset = 0x1138;
    const auto line = true_line({{}, {nameless, native(kExe, "main", "main", kSource, 30)}});
    CHECK(line.location.line == 0);
    CHECK(line.location.offset == 0x1138);
    CHECK(line.location.nearest().line == 30);
  }
  SUBCASE("and does not replace that of a call for which the compiler wrote no line") {
    stack.native = {native(kExe, "step()", "_Z4stepv", "/home/u/step.cc", 0),
                    native(kExe, "main", "main", kSource, 30)};
    const auto line = true_line(stack);
    CHECK(line.location.line == 0);
    CHECK(line.location.file == "/home/u/step.cc");
    CHECK(line.location.nearest().line == 30);
    CHECK(line.caller.line == 27);
  }
}

TEST_CASE("CUDA code linked into a program without lines is not the user's") {
  std::vector<NativeFrame> inside = inside_static();
  inside.push_back(native(kExe));
  inside.push_back(native(kExe, "cublasSgemm_v2", "cublasSgemm_v2"));
  CHECK(true_line(stack_of(inside, {native(kExe, "main", "main", kSource, 30)})).location.line == 30);
  const NativeFrame header =
      native(kExe, "cudaError cudaLaunchKernel<char>(char const*, dim3, dim3)", "_ZL16cudaLaunchKernelIcE9cudaError");
  CHECK(true_line(stack_of(inside_shared(), {header, native(kExe, "solve(int)", "_Z5solvei")})).location.function ==
        "solve(int)");
}

TEST_CASE("an installed library without lines is not the user's") {
  const UserCode code({}, {"/opt/conda/bin"});
  const auto lead = [&](std::string file, int line, const char* module = "/opt/conda/lib/libfaiss.so") {
    SourceStack stack{
        {},
        {native(module, "search()", "_Z6searchv", std::move(file), line), native(kExe, "main", "main", kSource, 9)}};
    mark_user_frames(stack, "", code);
    return find_true_line(stack, "").location.line;
  };
  CHECK(lead("", 0) == 9);
  CHECK(lead("", 0, "/usr/local/lib/libopencv_core.so") == 9);
  CHECK(lead("", 0, "/opt/faiss/lib/libfaiss.so") == 0);
  CHECK(lead("/home/u/faiss/search.cc", 4) == 4);
}

TEST_CASE("code without a file is the user's only if no frame has one") {
  SourceStack generated{{python("<string>", 5), python("/home/u/train.py", 10)}, {}};
  mark_user_frames(generated, "");
  CHECK(find_true_line(generated, "").location.line == 10);
  SourceStack command{{python("<string>", 5), python("<string>", 1)}, {}};
  mark_user_frames(command, "");
  CHECK(find_true_line(command, "").location.line == 5);
}

TEST_CASE("if no frame is the user's, the innermost known one outside CUDA counts") {
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

namespace {

const char* kInductor = "/scratch/me/kernels/ab/cab4q2z7x5nq2z7x5nab4q2z7x5nq2z7x5nab4q2z7x5nq2z7x5n.py";

struct WhoseFile {
  const char* what;
  const char* users;
  const char* not_users;
};

}  // namespace

TEST_CASE("if no frame is the user's, code that forwards calls is not their origin") {
  SourceStack stack;
  stack.python = {python("/v/site-packages/library.py", 19)};
  stack.native = {
      native("/usr/lib/python3.12/lib-dynload/_ctypes.cpython-312.so", "call", "call", "/build/callproc.c", 923)};
  CHECK(true_line(stack).location.line == 19);
  stack.native[0].module = "/v/site-packages/library.so";
  CHECK(true_line(stack).location.line == 923);
}

TEST_CASE("the owner of a file, rule by rule, with counterexamples") {
  for (const WhoseFile& rule : std::initializer_list<WhoseFile>{
           {"a virtual environment inside the project", "/home/u/proj/src/net.py",
            "/home/u/proj/.venv/lib/python3.12/site-packages/torch/nn/modules/linear.py"},
           {"editable installs", "/home/u/mylib/src/mylib/model.py",
            "/home/u/.venv/lib/python3.12/site-packages/__editable___mylib_0_1_finder.py"},
           {"namespace packages", "/home/u/ns/pkg/a.py", "/v/lib/python3.12/site-packages/google/ns/a.py"},
           {"conda environments", "/opt/conda/work/train.py", "/opt/conda/envs/ml/lib/python3.12/functools.py"},
           {"Debian's packages", "/srv/dist/packages/a.py", "/usr/lib/python3/dist-packages/cupy/a.py"},
           {"interpreters of uv", "/home/u/uv/train.py",
            "/home/u/.local/share/uv/python/cpython-3.12.3-linux-x86_64-gnu/lib/python3.12/asyncio/runners.py"},
           {"the cache of uv", "/home/u/.cache/mine/a.py",
            "/home/u/.cache/uv/archive-v0/x1/lib/python3.12/site-packages/jax/_src/a.py"},
           {"runfiles", "/c/execroot/_main/bazel-out/k8-opt/bin/app.runfiles/_main/app/train.py",
            "/c/execroot/_main/bazel-out/k8-opt/bin/app.runfiles/rules_python~~pip~torch/site-packages/torch/a.py"},
           {"the bootstrap of runfiles", "/c/app.runfiles/_main/app/bootstrap.py",
            "/c/app.runfiles/_main/app/_train_stage2_bootstrap.py"},
           {"packed environments", "/home/u/.pex/unzipped_pexes/0/train.py",
            "/home/u/.pex/installed_wheels/0/torch-2.4.0-cp312-linux_x86_64.whl/torch/a.py"},
           {"eggs", "/home/u/eggs/a.py", "/home/u/eggs/numba-0.60-py3.12.egg/numba/a.py"},
           {"packages beside the project", "/home/u/p/packages/a.py", "/home/u/p/__pypackages__/3.12/lib/cupy/a.py"},
           {"zipped modules", "/home/u/app.pyz/__main__.py", "/usr/lib/python312.zip/runpy.py"},
           {"downloaded models", "/home/u/hub/model.py",
            "/home/u/.cache/huggingface/modules/transformers_modules/org/m/modeling.py"},
           {"downloaded repositories", "/home/u/torch/hub/model.py", "/home/u/.cache/torch/hub/org_repo_main/net.py"},
           {"Inductor's modules", "/home/u/ab/cabinet.py", "/tmp/torchinductor_u/ab/cabq.py"},
           {"Inductor's modules in a folder of the user's choice", "/home/u/ab/cab.py", kInductor},
           {"generated functions", "<string>", "<eval_with_key>.4"},
           {"generated methods", "<stdin>", "<attrs generated init model.Config>"},
           {"cells", "<ipython-input-3-0a1b>", "<frozen runpy>"},
           {"cells of a kernel", "/tmp/ipykernel_12/345.py", "<__array_function__ internals>"},
           {"cells of a hosted notebook", "<command-1203>", "<decorator-gen-12>"},
           {"consoles", "<input>", "<unknown>"},
           {"debuggers", "/home/u/debug/run.py", "/home/u/.vscode/extensions/ms/bundled/libs/debugpy/server/cli.py"},
           {"test files, rewritten or not", "/home/u/proj/tests/test_net.py",
            "/home/u/.venv/lib/python3.12/site-packages/_pytest/python.py"}}) {
    INFO(rule.what);
    CHECK(UserCode().python(std::string_view(rule.users)));
    CHECK_FALSE(UserCode().python(std::string_view(rule.not_users)));
  }
}

TEST_CASE("modules that a compiler generated at run time are never the user's") {
  CHECK_FALSE(UserCode().module("/scratch/triton/HASH/__triton_launcher.cpython-312-x86_64-linux-gnu.so"));
  CHECK(UserCode().module("/scratch/triton/HASH/launcher.so"));
}

TEST_CASE("the script that starts a package by its name is not the user's line") {
  const UserCode code({}, {"/home/u/env/bin", "/usr/bin"});
  const auto is_users = [&](std::string file, int line, std::string function = "<module>") {
    return code.python(PythonFrame{std::move(file), line, std::move(function)});
  };
  CHECK_FALSE(is_users("/home/u/env/bin/train", 8));
  CHECK_FALSE(is_users("/usr/bin/train", 8));
  CHECK_FALSE(is_users("/home/u/.local/bin/train", 8));
  CHECK(is_users("/home/u/bin/train", 8));         // the folder has no interpreter
  CHECK(is_users("/home/u/env/bin/train.py", 8));  // installers do not create scripts with such names
  CHECK(is_users("/home/u/env/bin/train", 80));    // the line is beyond the end of any generated script
  CHECK(is_users("/home/u/env/bin/train", 8, "main"));
  CHECK(UserCode({{"/home/u/env/bin/train", true}}, {"/home/u/env/bin"})
            .python(PythonFrame{"/home/u/env/bin/train", 8, "<module>"}));
}

TEST_CASE("user rules for files and folders: the most specific path, then the last rule") {
  const UserCode code({{"/p", false},
                       {"/p/mine", true},
                       {"/p/mine/vendored", false},
                       {"/p/mine/one.py", false},
                       {"/v/site-packages/lib", false},
                       {"/v/site-packages/lib", true}});
  for (const char* file : {"/p/mine/a.py", "/p/mine/vendored.py", "/q/a.py", "/v/site-packages/lib/a.py"}) {
    INFO(file);
    CHECK(code.python(std::string_view(file)));
  }
  for (const char* file : {"/p/a.py", "/p/mine/vendored/a.py", "/p/mine/one.py", "/v/site-packages/library/a.py"}) {
    INFO(file);
    CHECK_FALSE(code.python(std::string_view(file)));
  }
}

TEST_CASE("user rules for libraries and the sources in them") {
  const UserCode code({{"/p/libengine.so", false}, {"/v/site-packages/mine", true}, {"/p/vendored", false}});
  CHECK_FALSE(code.module("/p/libengine.so"));
  CHECK(code.module("/v/site-packages/mine/_C.so"));
  CHECK_FALSE(UserCode({{"/", true}}).module("/usr/lib/libcuda.so.1"));
  SourceStack stack = stack_of(inside_shared(), {native("/v/site-packages/mine/_C.so", "f", "_Z1fv", "/b/f.cc", 7),
                                                 native("/p/libengine.so", "run", "_Z3runv", "/p/run.cc", 5),
                                                 native(kExe, "v()", "_Z1vv", "/p/vendored/v.cc", 3),
                                                 native(kExe, "main", "main", kSource, 30)});
  mark_user_frames(stack, "", code);
  CHECK(find_true_line(stack, "").location.line == 7);
  stack.native.erase(stack.native.begin() + 3);
  mark_user_frames(stack, "", code);
  CHECK(find_true_line(stack, "").location.line == 30);
}

// While a later line of a %%time cell runs, the cell's frame still shows the first line.
TEST_CASE("a cell that begins with %%time") {
  const auto called = [](const char* file, int line, const char* function) {
    return PythonFrame{file, line, function};
  };
  const std::string ipython = "/v/site-packages/IPython/core/interactiveshell.py";
  const auto line_in = [&](const char* file, const char* magic) {
    SourceStack stack{{called(file, 3, "<module>"), called(ipython.c_str(), 2478, magic),
                       called("/tmp/ipykernel_12/345.py", 7, "<module>")},
                      {}};
    return true_line(stack).location;
  };
  for (const char* file : {"<timed exec>", "<timed eval>", "<magic-timeit>"}) {
    INFO(file);
    CHECK(line_in(file, "InteractiveShell.run_cell_magic").file == file);
    CHECK(line_in(file, "run_cell_magic").line == 3);
    CHECK(line_in(file, "InteractiveShell.run_line_magic").line == 7);
  }
}

TEST_CASE("a statement that timeit runs") {
  CHECK(true_line({{python("<timeit-src>", 6), python("/home/u/bench.py", 10)}, {}}).location.line == 10);
  CHECK(true_line({{python("<timeit-src>", 6), python("/usr/lib/python3.11/timeit.py", 178)}, {}}).user);
}

TEST_CASE("a file that a library wrote for itself is the user's only if nothing else is") {
  const PythonFrame made = python("/tmp/nn.sage_conv_SAGEConv_propagate_q9dx4sbc.py", 83);
  const PythonFrame library = python("/v/lib/python3.12/site-packages/torch_geometric/nn/conv/sage_conv.py", 139);
  CHECK(true_line({{made, library, python("/home/u/net.py", 14)}, {}}).location.line == 14);
  CHECK(true_line({{made, library, python("/tmp/x/net.py", 14)}, {}}).location.line == 14);
  CHECK(true_line({{made, library}, {}}).location.line == 83);
  CHECK(true_line({{made, library}, {}}).user);
  SourceStack said{{made, library, python("/home/u/net.py", 14)}, {}};
  mark_user_frames(said, "", UserCode({{made.file, true}}));
  CHECK(find_true_line(said, "").location.line == 83);
}

TEST_CASE("a script that was written below /tmp stays the user's") {
  for (const char* file : {"/tmp/x/main.py", "/tmp/repro.py", "/tmp/pytest-of-u/pytest-3/test_forward0/net.py",
                           "/tmp/tmpab12cd_3/main.py", "/tmp/train_resnet50.py"}) {
    INFO(file);
    CHECK(true_line({{python(file, 5), python("/home/u/train.py", 14)}, {}}).location.line == 5);
  }
}

TEST_CASE("the user's sources in folders with common names") {
  for (const char* file : {"/usr/src/app/step.cu", "/home/u/src/crt/reconstruct.cu"}) {
    INFO(file);
    CHECK_FALSE(is_library_source(file));
  }
  for (const char* file : {"/usr/src/debug/glibc-2.39/string/memcpy.c", kCrt.c_str()}) CHECK(is_library_source(file));
}

TEST_CASE("names that are not files") {
  CHECK(cell_name("<ipython-input-12-0a1b>") == "cell In[12]");
  CHECK(cell_name("/tmp/ipykernel_12/345.py") == "cell ipykernel_12/345.py");
  CHECK(cell_name("/home/u/ipykernel.py") == "");
  for (const char* file : {"<string>", "<stdin>", "<stdin>-1", "<python-input-0>", "<timed exec>", "<timeit-src>"}) {
    INFO(file);
    CHECK(why_no_source(file) != "");
  }
  CHECK(why_no_source("/home/u/app.pyz/__main__.py") == "code inside /home/u/app.pyz");
  CHECK(why_no_source("/home/u/train.py") == "");
}
