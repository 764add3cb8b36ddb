// Recognises kernels by their names.
//
// In PyTorch and other frameworks, the names of kernels that raise a device-side assert if an index or a value is out of
// range contain certain words. The recorder puts markers around launches of these kernels. After an assert, the analysis
// suspects them first, although a name proves nothing.
#pragma once

#include <string_view>

namespace cudadiag::wire {

inline bool checks_its_data(std::string_view kernel) {
  for (const std::string_view word :
       {"ndex", "gather", "catter", "mbedding", "nll_loss", "NLLLoss", "ssert", "ultinomial", "bincount",
        "binary_cross_entropy", "one_hot", "ClassNLL", "MultiMargin", "MultiLabelMargin", "npool", "ernoulli",
        "take_put", "compute_cuda_kernel"}) {
    if (kernel.find(word) != kernel.npos) return true;
  }
  return false;
}

// Returns whether this is a kernel of NCCL, including those for sends and receives. The names differ between versions.
inline bool is_of_nccl(std::string_view kernel) {
  for (const std::string_view part : {"ncclDevKernel", "ncclKernel", "ncclSym"}) {
    if (kernel.find(part) != kernel.npos) return true;
  }
  return false;
}

// Returns whether the mangled name is that of a kernel of PyTorch or of one of NVIDIA's libraries. Templates that a program
// instantiates with its own code, such as those of CUTLASS and CUB, do not count.
inline bool is_of_library(std::string_view kernel) {
  for (const std::string_view part :
       {"2at6native", "cublas", "cudnn", "cusparse", "cufft", "_xmma_", "ncclDevKernel"}) {
    if (kernel.find(part) != kernel.npos) return true;
  }
  for (const std::string_view start : {"nvjet_", "ampere_", "volta_", "turing_"}) {
    if (kernel.starts_with(start)) return true;
  }
  return false;
}

}  // namespace cudadiag::wire
