// Tests failures that users reported: each text from a log must give the right cause. The comment above each test case
// lists the users' reports.
#include <doctest/doctest.h>

#include "unit/causes/failed_case.h"

using namespace cudadiag::causes;

namespace {

struct LoggedAssertion {
  const char *thread, *file, *function, *condition, *cause;
};

constexpr LoggedAssertion kLogged[] = {
    {"milesial/Pytorch-UNet#375", "../aten/src/ATen/native/cuda/NLLLoss2d.cu", "nll_loss2d_forward_kernel",
     "t >= 0 && t < n_classes", "label-out-of-range"},
    {"modelscope/ms-swift#3267", "../aten/src/ATen/native/cuda/Loss.cu", "nll_loss_forward_reduce_cuda_kernel_2d",
     "t >= 0 && t < n_classes", "label-out-of-range"},
    {"joe-siyuan-qiao/DetectoRS#13", "/pytorch/aten/src/THCUNN/SpatialClassNLLCriterion.cu",
     "void cunn_SpatialClassNLLCriterion_updateOutput_kernel(T *, T *, T *, long *, T *, int, int, int, int, int, "
     "long) "
     "[with T = float, AccumT = float]",
     "t >= 0 && t < n_classes", "label-out-of-range"},
    {"isht7/pytorch-deeplab-resnet#19",
     "/opt/conda/conda-bld/pytorch_1503966894950/work/torch/lib/THCUNN/SpatialClassNLLCriterion.cu", "",
     "t >= 0 && t < n_classes", "label-out-of-range"},
    {"kvcache-ai/ktransformers#465", "/pytorch/aten/src/ATen/native/cuda/TensorCompare.cu", "_assert_async_cuda_kernel",
     "probability tensor contains either `inf`, `nan` or element < 0", "bad-probabilities"},
    {"cindyxinyiwang/deep-latent-sequence-model#2", "/pytorch/aten/src/THC/THCTensorRandom.cuh",
     "void sampleMultinomialOnce(long *, long, int, T *, T *, int, int) [with T = float, AccT = float]",
     "THCNumerics<T>::ge(val, zero)", "bad-probabilities"},
    {"WENGSYX/CMIVQA_Baseline#16", "/opt/conda/conda-bld/pytorch_1695392067780/work/aten/src/ATen/native/cuda/Loss.cu",
     "operator()", "input_val >= zero && input_val <= one", "bce-input-outside-0-1"},
    {"facebookresearch/pytorch_GAN_zoo#82", "/pytorch/aten/src/THCUNN/BCECriterion.cu", "",
     "input >= 0. && input <= 1.", "bce-input-outside-0-1"},
    {"bubbliiiing/yolox-pytorch#121", "/tmp/pip-req-build-p5q91txh/aten/src/THCUNN/BCECriterion.cu", "",
     "*input >= 0. && *input <= 1.", "bce-input-outside-0-1"},
    {"huggingface/transformers#8077", "/opt/conda/conda-bld/pytorch_1591914886554/work/aten/src/THC/THCTensorIndex.cu",
     "indexSelectLargeIndex", "srcIndex < srcSelectDimSize", "index-out-of-range"},
    {"inclusionAI/dInfer#22", "/pytorch/aten/src/ATen/native/cuda/IndexKernelUtils.cu", "vectorized_gather_kernel",
     "ind >=0 && ind < ind_dim_size && \"vectorized gather kernel index out of bounds\"", "index-out-of-range"},
    {"jwyang/faster-rcnn.pytorch#115", "/pytorch/torch/lib/THC/THCTensorScatterGather.cu",
     "void THCudaTensor_gatherKernel(TensorInfo<Real, IndexType>, int, IndexType) [with Real = float, Dims = 3]",
     "indexValue >= 0 && indexValue < src.sizes[dim]", "index-out-of-range"},
    {"pytorch/torchtitan#1640", "/tmp/torchinductor_danvm/k4/ck46uf2tjbfns332dtzd3q3m2mgw2hoguozdpq5bvqyjhntqiu23.py",
     "unknown", "index out of bounds: 0 <= tmp4 < 1 + ks0", "index-out-of-range"},
};

Failed illegal_access_over(std::vector<std::int64_t> shape, const char* kernel) {
  Failed failed = gpu_error(700, kernel);
  failed.report.torch = "2.11.0";
  Argument tensor;
  tensor.name = "x";
  tensor.dtype = "float32";
  tensor.shape = std::move(shape);
  failed.finding.arguments = {tensor};
  return failed;
}

Failed refused_in_pytorch(const char* kernel, Dim3 grid) {
  Failed failed = refused_launch(9, grid, {32, 4, 1});
  failed.finding.launch->kernel = kernel;
  failed.report.torch = "2.9.0";
  return failed;
}

}  // namespace

TEST_CASE("assertions quoted from logs") {
  for (const LoggedAssertion& logged : kLogged) {
    CAPTURE(logged.thread);
    Failed failed = gpu_error(710, "");
    failed.finding.device->message = logged.condition;
    failed.finding.device->file = logged.file;
    failed.finding.device->function = logged.function;
    const auto cause = explain(failed);
    REQUIRE(cause);
    CHECK(cause->id == logged.cause);
    CHECK(cause->certain);
  }
}

// microsoft/onnxruntime#28107, pytorch/pytorch#68418, flagos-ai/FlagGems#4153, pytorch/pytorch#189082
TEST_CASE("illegal accesses in tensors of more than 2**31 elements") {
  CHECK(id_of(illegal_access_over({262144, 8960}, "_GatherKernel<float>(long)")) == "index-overflow-32");
  CHECK(id_of(illegal_access_over({190, 64, 64, 2933}, "max_pool_forward_nchw<float>()")) == "index-overflow-32");
  CHECK(id_of(illegal_access_over({24901, 8, 128, 128}, "_index_jit_function")) == "index-overflow-32");
  CHECK(id_of(illegal_access_over(
            {1, 2100, 1024, 1024},
            "void at::native::(anonymous namespace)::atomic_adaptive_average_gradinput<float>()")) == "known-bug");
}

// facebookresearch/xformers#845, pytorch/pytorch#146704, pytorch/pytorch#164048
TEST_CASE("invalid configuration argument after batches or rows grew") {
  CHECK(id_of(refused_in_pytorch("efficient_attention_kernel<float>()", {1, 16, 65536})) == "grid-too-large");
  CHECK(id_of(refused_in_pytorch("fmha_cutlassF_f16_aligned_64x64_rf_sm80()", {1, 8, 65536})) == "known-bug");
  CHECK(id_of(refused_in_pytorch("void at::native::vectorized_gather_kernel<16, long>()", {2, 132066, 1})) ==
        "known-bug");
}

// pytorch/pytorch#17357: "cuda runtime error (3) : initialization error" in a child of multiprocessing
TEST_CASE("initialization error in a forked worker") {
  Failed failed = refused_call(3, "cudaSetDevice");
  failed.forked_from = 100;
  CHECK(id_of(failed) == "cuda-after-fork");
}

// nagadomi/nunif#702; tatsu-lab/stanford_alpaca#67; ingowald/cudaKDTree#18; LibreYOLO/libreyolo#681
TEST_CASE("refused calls") {
  CHECK(id_of(refused_call(35, "cudaGetDeviceCount")) == "driver-too-old");
  CHECK(id_of(refused_call(101, "cudaSetDevice")) == "invalid-device");
  CHECK(id_of(refused_call(209, "cudaLaunchKernel")) == "no-kernel-image");
  Failed pinning = refused_call(900, "cudaHostAlloc");
  pinning.finding.refused->breaks_other_threads_capture = true;
  CHECK(id_of(pinning) == "capture-by-another-thread");
}

// axolotl-ai-cloud/axolotl#1473, deepseek-ai/DeepEP#704
TEST_CASE("failures blamed on communication") {
  CHECK(id_of(gpu_error(700, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)")) ==
        "collective");
  CHECK(id_of(gpu_error(700, "ncclSymkDevKernel_AllReduce_LD_f32(ncclSymkDevWorkArgs4K)")) == "collective");
  Failed trap = gpu_error(719, "void deep_ep::intranode::notify_dispatch<8>(int const*)");
  trap.finding.device->exception = "Trap Instruction";
  CHECK(id_of(trap) == "trap");
}
