// For LD_PRELOAD: makes the recorder believe that the kernel or sandbox does not support MADV_WIPEONFORK. The simulated
// driver needs the option, and still gets it.
#include <dlfcn.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

extern "C" int madvise(void* address, size_t bytes, int advice) noexcept {
  Dl_info caller{};
  const bool known = dladdr(__builtin_return_address(0), &caller) != 0 && caller.dli_fname != nullptr;
  if (advice != MADV_WIPEONFORK || !known || std::strstr(caller.dli_fname, "libcudadiag_record") == nullptr) {
    return static_cast<int>(syscall(SYS_madvise, address, bytes, advice));
  }
  errno = EINVAL;
  return -1;
}
