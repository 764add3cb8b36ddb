#include "record/output/module_images.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/libc_substitutes.h"
#include "wire/hash.h"

namespace cudadiag::record {

namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;
// Images of up to kSmall bytes cost little: hashing and writing one takes a fraction of the time that the driver takes
// to load it.
constexpr std::uint64_t kSmall = std::uint64_t{1} << 20, kMostOfSmall = std::uint64_t{32} << 20;

}  // namespace

void ModuleImages::attach(Interner& interner, const char* folder, Keep keep) {
  interner_ = &interner;
  keep_ = keep;
  if (folder == nullptr || *folder == '\0') return;
  const int length = snprintf(folder_, sizeof folder_, "%s/modules", folder);
  const bool fits = length > 0 && static_cast<std::size_t>(length) + 64 < sizeof folder_;
  if (!fits || (mkdir(folder_, 0700) != 0 && access(folder_, W_OK) != 0)) folder_[0] = '\0';
}

void ModuleImages::give_up(const char* why) {
  if (keep_ == Keep::all && !noted_.exchange(true)) interner_->note("modules-not-kept", why);
}

void ModuleImages::save(std::span<const std::byte> image) {
  if (folder_[0] == '\0' || image.empty() || (keep_ == Keep::small && image.size() > kSmall)) return;
  const Uncancelled uncancelled;
  // A write beyond RLIMIT_FSIZE would kill the program with SIGXFSZ.
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < image.size()) {
    return give_up("device code over the file size limit was not kept, so the memory use of its kernels is unknown");
  }
  const std::uint64_t hash = wire::hash_bytes(reinterpret_cast<const char*>(image.data()), image.size());
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%.*s/%016llx.cubin", PATH_MAX - 64, folder_, static_cast<unsigned long long>(hash));
  // An image that has already been saved does not count towards the limit.
  if (access(path, F_OK) == 0) return;
  if (bytes_.fetch_add(image.size()) + image.size() > (keep_ == Keep::all ? kMostBytes : kMostOfSmall)) {
    bytes_.fetch_sub(image.size());
    return give_up("device code beyond 1 GiB was not kept, so the memory use of its kernels is unknown");
  }
  if (write(image, hash, path)) return;
  bytes_.fetch_sub(image.size());
  give_up("device code could not be kept, so the memory use of its kernels is unknown");
}

bool ModuleImages::write(std::span<const std::byte> image, std::uint64_t hash, const char* path) const {
  char draft[PATH_MAX];
  snprintf(draft, sizeof draft, "%.*s/%016llx.%ld", PATH_MAX - 64, folder_, static_cast<unsigned long long>(hash),
           syscall(SYS_gettid));
  const int file = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return false;
  std::size_t done = 0;
  while (done < image.size()) {
    const ssize_t written = ::write(file, image.data() + done, image.size() - done);
    if (written <= 0) break;
    done += static_cast<std::size_t>(written);
  }
  close(file);
  // Gives the file its final name only when it is complete, because another process may read it.
  if (done == image.size() && rename(draft, path) == 0) return true;
  unlink(draft);
  return false;
}

}  // namespace cudadiag::record
