#include "launch/arena.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <utility>

#include "base/processes.h"
#include "wire/area.h"
#include "wire/clock.h"

namespace cudadiag::launch {

namespace {

// Replaces the magic number of an arena to which recorders must not add areas.
constexpr std::uint64_t kClosed = 0;

base::Error failed(const std::string& what, int error) {
  return {"cannot " + what + ": " + std::strerror(error), "the recording goes to the session folder instead"};
}

// Growing a file past RLIMIT_FSIZE raises SIGXFSZ. The arena therefore has only as many areas as fit below that limit.
std::size_t areas_that_fit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return wire::arena::kAreaCount;
  if (limit.rlim_cur <= wire::arena::kHeaderSize) return 0;
  return std::min<std::size_t>((limit.rlim_cur - wire::arena::kHeaderSize) / wire::area::kAreaSize,
                               wire::arena::kAreaCount);
}

std::uint32_t* event_word(std::byte* header) {
  return reinterpret_cast<std::uint32_t*>(header + wire::arena::kEvents.offset);
}

}  // namespace

bool fits_in_files() { return areas_that_fit() > 0; }

base::Result<Arena> Arena::create() {
  const std::size_t areas = areas_that_fit();
  if (areas == 0) return base::Error{"the file size limit leaves no room for the recording", "raise it (ulimit -f)"};
  base::FileDescriptor file(::memfd_create(wire::arena::kName, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.valid()) return failed("create a memory file", errno);
  const std::uint64_t size = wire::arena::kHeaderSize + areas * wire::area::kAreaSize;
  if (::ftruncate(file.get(), static_cast<off_t>(size)) != 0) return failed("size a memory file", errno);
  ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);

  void* memory = ::mmap(nullptr, wire::arena::kHeaderSize, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) return failed("map a memory file", errno);
  auto* header = static_cast<std::byte*>(memory);
  wire::store(header, wire::arena::kVersion, wire::area::kFormatVersion);
  wire::store(header, wire::arena::kAreas, static_cast<std::uint32_t>(areas));
  wire::store(header, wire::arena::kAreaBytes, wire::area::kAreaSize);
  wire::store(header, wire::arena::kReusedFrom, wire::arena::kKeptAreas);
  wire::store_release(header, wire::arena::kMagic, wire::arena::kMagicValue);
  return Arena(std::move(file), header, areas, wire::area::kAreaSize);
}

// The pid may have been reused, and the session's file may be forged. Accepts only a memfd of this user with the
// expected inode. The memfd must be sealed, so that no page can disappear, and its size must match its header.
base::Result<Arena> Arena::attach(const session::LivePlace& place) {
  const std::string path = "/proc/" + std::to_string(place.pid) + "/fd/" + std::to_string(place.descriptor);
  // Checks the link's target before opening it. Opening a terminal or a pipe could have side effects.
  char name[64] = "";
  const ssize_t length = ::readlink(path.c_str(), name, sizeof name - 1);
  if (length < 0 && errno == EACCES) {
    return base::Error{"the recording of process " + std::to_string(place.pid) + " belongs to another user",
                       "run this command as that user"};
  }
  const base::Error gone{"its cudadiag run, process " + std::to_string(place.pid) + ", has ended", ""};
  if (length < 0 || !std::string(name).starts_with(wire::arena::kLink)) return gone;
  base::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != ::geteuid() ||
      status.st_ino != place.inode) {
    return gone;
  }
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || size < wire::arena::kHeaderSize) return gone;
  void* memory = ::mmap(nullptr, wire::arena::kHeaderSize, PROT_READ, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) {
    return base::Error{std::string("its recording cannot be mapped: ") + std::strerror(errno), "free some memory"};
  }
  auto* header = static_cast<std::byte*>(memory);
  const std::uint64_t areas = wire::load(header, wire::arena::kAreas);
  const std::uint64_t bytes = wire::load(header, wire::arena::kAreaBytes);
  const std::uint64_t magic = wire::load_acquire(header, wire::arena::kMagic);
  const bool fits = (magic == wire::arena::kMagicValue || magic == kClosed) && areas <= wire::arena::kAreaCount &&
                    bytes >= wire::area::kHeaderSize && bytes % wire::area::kPage == 0 &&
                    areas <= (size - wire::arena::kHeaderSize) / bytes;
  const std::uint32_t version = wire::load(header, wire::arena::kVersion);
  Arena arena(std::move(file), header, areas, bytes);
  if (!fits) return gone;
  if (version != wire::area::kFormatVersion) {
    return base::Error{"the run is recorded in format version " + std::to_string(version) +
                           "; this cudadiag reads version " + std::to_string(wire::area::kFormatVersion),
                       "use the version of cudadiag that started it"};
  }
  return arena;
}

session::LivePlace Arena::place() const {
  struct stat status {};
  ::fstat(file_.get(), &status);
  return {static_cast<std::uint32_t>(::getpid()), file_.get(), status.st_ino};
}

void Arena::stamp_clock(std::size_t area) const {
  const LiveArea live(*this, area);
  if (live.bytes().empty() || wire::load_acquire(live.bytes().data(), wire::area::kState) !=
                                  static_cast<std::uint32_t>(wire::area::State::recording)) {
    return;
  }
  const auto now = wire::ClockReading::now();
  const std::uint64_t fields[] = {now.ticks, now.nanoseconds};
  static_assert(wire::area::kClockNanosecondsLast.offset == wire::area::kClockTicksLast.offset + 8);
  // Ignores a failed write, because readers can do without these clock times.
  [[maybe_unused]] const ssize_t written = ::pwrite(
      file_.get(), fields, sizeof fields, static_cast<off_t>(begin(area) + wire::area::kClockTicksLast.offset));
}

Arena::Arena(Arena&& other) noexcept
    : file_(std::move(other.file_)),
      header_(std::exchange(other.header_, nullptr)),
      areas_(other.areas_),
      area_bytes_(other.area_bytes_) {}

Arena::~Arena() {
  if (header_ != nullptr) ::munmap(header_, wire::arena::kHeaderSize);
}

std::string Arena::path() const { return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file_.get()); }

std::size_t Arena::claimed() const {
  return std::min<std::size_t>(wire::load_acquire(header_, wire::arena::kClaimed), areas_);
}

std::size_t Arena::turned_away() const { return wire::load_acquire(header_, wire::arena::kClaimed) - claimed(); }

void Arena::close_to_others() const { wire::store_release(header_, wire::arena::kMagic, kClosed); }

void Arena::keep_areas() const { wire::store(header_, wire::arena::kReusedFrom, std::uint32_t{0}); }

std::size_t Arena::forgotten() const { return wire::load_acquire(header_, wire::arena::kForgotten); }

session::Unrecorded Arena::unrecorded() const {
  const std::uint32_t processes = wire::load_acquire(header_, wire::arena::kUnrecorded);
  const std::uint32_t why = wire::load_acquire(header_, wire::arena::kUnrecordedWhy);
  return {processes, wire::unrecorded::what_of(why), wire::unrecorded::error_of(why)};
}

std::uint64_t Arena::begin(std::size_t area) const { return wire::arena::kHeaderSize + area * area_bytes_; }

std::uint32_t Arena::events() const { return wire::load_acquire(header_, wire::arena::kEvents); }

std::uint32_t Arena::wait_for_event(std::uint32_t seen, int milliseconds) const {
  const std::timespec patience{milliseconds / 1000, (milliseconds % 1000) * 1'000'000L};
  // FUTEX_PRIVATE would not work here: the waker is another process.
  ::syscall(SYS_futex, event_word(header_), FUTEX_WAIT, seen, &patience, nullptr, 0);
  return events();
}

void Arena::wake() {
  wire::atomic(header_, wire::arena::kEvents).fetch_add(1, std::memory_order_release);
  ::syscall(SYS_futex, event_word(header_), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

LiveArea::LiveArea(const Arena& arena, std::size_t area) {
  const std::size_t size = arena.end(area) - arena.begin(area);
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, arena.file(), static_cast<off_t>(arena.begin(area)));
  if (memory == MAP_FAILED) return;
  data_ = static_cast<std::byte*>(memory);
  size_ = size;
}

LiveArea::~LiveArea() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

namespace {

// Checks at this interval even without a wake-up. The target can write to the arena's header and so suppress a wake-up.
constexpr int kPatienceMilliseconds = 500;

}  // namespace

Watcher::Watcher(Arena& arena, SignalRelay& relay) : arena_(arena), seen_(arena.events()) {
  thread_ = base::optional_thread([this, &relay] {
    while (!stopping_.load(std::memory_order_acquire)) {
      const std::uint32_t now = arena_.wait_for_event(seen_, kPatienceMilliseconds);
      if (now == seen_ || stopping_.load(std::memory_order_acquire)) continue;
      seen_ = now;
      frozen_.store(true, std::memory_order_release);
      relay.wake();
    }
  });
}

Watcher::~Watcher() {
  stopping_.store(true, std::memory_order_release);
  arena_.wake();
  if (thread_.joinable()) thread_.join();
}

bool Watcher::take_freeze() {
  if (thread_.joinable()) return frozen_.exchange(false, std::memory_order_acq_rel);
  const std::uint32_t now = arena_.events();
  return std::exchange(seen_, now) != now;
}

}  // namespace cudadiag::launch
