// Marks the recorder and the preload library with their version.
#include "wire/library_mark.h"

namespace {

[[gnu::section(CUDADIAG_MARK_SECTION), gnu::used]] constexpr cudadiag::wire::LibraryMark kMark =
    cudadiag::wire::library_mark(CUDADIAG_VERSION);

}  // namespace
