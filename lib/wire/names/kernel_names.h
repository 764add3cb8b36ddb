// Recognises kernels that raise a device-side assert if an index or a value is out of range. The names of these kernels
// in PyTorch and other frameworks contain certain words. The recorder puts markers around launches of these kernels.
// After an assert, the analysis suspects these kernels first, although a name proves nothing.
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

}  // namespace cudadiag::wire
