#include "replay/player.h"

#include <cuda.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>

#include "base/files.h"
#include "base/text.h"

namespace cudadiag::replay {

namespace {

// Returns whether the replay allocates device memory for the block. Variables and host memory need no allocation.
bool takes_device_memory(const Block& block) { return block.variable.empty() && !block.is_of_host(); }

}  // namespace

std::vector<Range> granules(const std::vector<Block>& blocks, const std::vector<bool>& wanted, std::uint64_t granule) {
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (!wanted[i] || !takes_device_memory(blocks[i])) continue;
    ranges.push_back({blocks[i].address / granule * granule, (blocks[i].end() + granule - 1) / granule * granule});
  }
  std::ranges::sort(ranges, {}, &Range::begin);
  std::vector<Range> merged;
  for (const Range& range : ranges) {
    if (!merged.empty() && range.begin <= merged.back().end) {
      merged.back().end = std::max(merged.back().end, range.end);
    } else {
      merged.push_back(range);
    }
  }
  return merged;
}

Placement::Placement(const std::vector<Block>& blocks)
    : blocks_(&blocks), by_address_(blocks.size()), now_(blocks.size()) {
  std::iota(by_address_.begin(), by_address_.end(), std::size_t{0});
  const auto address_of = [&](std::size_t i) { return blocks[i].address; };
  std::ranges::stable_sort(by_address_, {}, address_of);
  for (std::size_t i = 0; i < blocks.size(); ++i) now_[i] = blocks[i].address;
}

bool Placement::moves() const {
  for (std::size_t i = 0; i < now_.size(); ++i) {
    if (now_[i] && *now_[i] != (*blocks_)[i].address) return true;
  }
  return false;
}

std::uint64_t Placement::rewritten(std::uint64_t word) const {
  const auto address_of = [&](std::size_t i) { return (*blocks_)[i].address; };
  const auto after = std::ranges::upper_bound(by_address_, word, {}, address_of);
  if (after == by_address_.begin()) return word;
  // Blocks rarely overlap, so this checks only the last block that begins at or before `word`.
  const std::size_t i = *(after - 1);
  const Block& block = (*blocks_)[i];
  if (word - block.address > block.bytes || !now_[i]) return word;
  return word - block.address + *now_[i];
}

std::size_t Placement::rewrite(std::span<std::byte> bytes) const {
  std::size_t changed = 0;
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= bytes.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    const std::uint64_t now = rewritten(word);
    if (now == word) continue;
    std::memcpy(bytes.data() + at, &now, sizeof now);
    ++changed;
  }
  return changed;
}

namespace {

// Converts the address of a function of the driver to the type of the function.
struct DriverFunction {
  void* address;
  template <typename Function>
  operator Function*() const {
    return reinterpret_cast<Function*>(address);
  }
};

// The driver functions that a replay calls, looked up at run time. Only the child process that repeats the launch loads
// the driver. The comment after each function gives the first CUDA release that has it.
class Driver {
 public:
  // Returns a clause that says what is missing; empty if no required function is missing.
  const std::string& lacking() const { return lacking_; }

  bool can_map() const {
    return mem_address_reserve && mem_address_free && mem_create && mem_map && mem_set_access && mem_get_granularity;
  }

 private:
  void* load() {
    void* library = ::dlopen("libcuda.so.1", RTLD_NOW);
    const char* why = library == nullptr ? ::dlerror() : "";
    lacking_ = why == nullptr ? "no driver" : why;
    return library;
  }
  DriverFunction optional(const char* name) const { return {library_ == nullptr ? nullptr : ::dlsym(library_, name)}; }
  DriverFunction needed(const char* name) {
    const DriverFunction function = optional(name);
    if (function.address == nullptr && lacking_.empty()) lacking_ = std::string("the driver has no ") + name;
    return function;
  }

  std::string lacking_;
  void* const library_ = load();

 public:
  CUresult (*init)(unsigned) = needed("cuInit");                                                        // 2.0
  CUresult (*device_get)(CUdevice*, int) = needed("cuDeviceGet");                                       // 2.0
  CUresult (*device_get_by_bus)(CUdevice*, const char*) = needed("cuDeviceGetByPCIBusId");              // 4.1
  CUresult (*device_get_bus)(char*, int, CUdevice) = needed("cuDeviceGetPCIBusId");                     // 4.1
  CUresult (*primary_ctx_retain)(CUcontext*, CUdevice) = needed("cuDevicePrimaryCtxRetain");            // 7.0
  CUresult (*ctx_set_current)(CUcontext) = needed("cuCtxSetCurrent");                                   // 4.0
  CUresult (*ctx_set_limit)(CUlimit, std::size_t) = needed("cuCtxSetLimit");                            // 3.1
  CUresult (*ctx_synchronize)() = needed("cuCtxSynchronize");                                           // 2.0
  CUresult (*mem_get_info)(std::size_t*, std::size_t*) = needed("cuMemGetInfo_v2");                     // 3.2
  CUresult (*mem_alloc)(CUdeviceptr*, std::size_t) = needed("cuMemAlloc_v2");                           // 3.2
  CUresult (*mem_host_register)(void*, std::size_t, unsigned) = needed("cuMemHostRegister_v2");         // 6.5
  CUresult (*memset_d8)(CUdeviceptr, unsigned char, std::size_t) = needed("cuMemsetD8_v2");             // 3.2
  CUresult (*memcpy_htod)(CUdeviceptr, const void*, std::size_t) = needed("cuMemcpyHtoD_v2");           // 3.2
  CUresult (*memcpy_dtoh)(void*, CUdeviceptr, std::size_t) = needed("cuMemcpyDtoH_v2");                 // 3.2
  CUresult (*module_load_data)(CUmodule*, const void*) = needed("cuModuleLoadData");                    // 2.0
  CUresult (*module_get_function)(CUfunction*, CUmodule, const char*) = needed("cuModuleGetFunction");  // 2.0
  CUresult (*module_get_global)(CUdeviceptr*, std::size_t*, CUmodule,
                                const char*) = needed("cuModuleGetGlobal_v2");                           // 3.2
  CUresult (*func_set_attribute)(CUfunction, CUfunction_attribute, int) = needed("cuFuncSetAttribute");  // 9.0
  CUresult (*launch_kernel)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                            void**, void**) = needed("cuLaunchKernel");  // 4.0
  // Optional. Without these, a replay ignores launch attributes, or all memory gets new addresses.
  CUresult (*launch_kernel_ex)(const CUlaunchConfig*, CUfunction, void**,
                               void**) = optional("cuLaunchKernelEx");  // 11.8
  CUresult (*mem_address_reserve)(CUdeviceptr*, std::size_t, std::size_t, CUdeviceptr,
                                  unsigned long long) = optional("cuMemAddressReserve");  // 10.2
  CUresult (*mem_address_free)(CUdeviceptr, std::size_t) = optional("cuMemAddressFree");  // 10.2
  CUresult (*mem_create)(CUmemGenericAllocationHandle*, std::size_t, const CUmemAllocationProp*,
                         unsigned long long) = optional("cuMemCreate");  // 10.2
  CUresult (*mem_map)(CUdeviceptr, std::size_t, std::size_t, CUmemGenericAllocationHandle,
                      unsigned long long) = optional("cuMemMap");  // 10.2
  CUresult (*mem_set_access)(CUdeviceptr, std::size_t, const CUmemAccessDesc*,
                             std::size_t) = optional("cuMemSetAccess");  // 10.2
  CUresult (*mem_get_granularity)(std::size_t*, const CUmemAllocationProp*, CUmemAllocationGranularity_flags) =
      optional("cuMemGetAllocationGranularity");  // 10.2

  CUresult (*coredump_set_attribute_global)(CUcoredumpSettings, void*,
                                            std::size_t*) = optional("cuCoredumpSetAttributeGlobal");  // 12.1
};

constexpr std::size_t kPiece = std::size_t{8} << 20;
// The driver rounds a requested address up to a multiple of this (measured with driver 580).
constexpr std::uint64_t kReservation = std::uint64_t{32} << 20;

// Returns whether the range is in one of `ranges`, which are sorted and do not overlap.
bool is_in(const std::vector<Range>& ranges, const Range& range) {
  const auto next = std::ranges::upper_bound(ranges, range.begin, {}, &Range::begin);
  return next != ranges.begin() && range.end <= std::prev(next)->end;
}

class Player {
 public:
  Player(const LaunchFolder& folder, const PlayOrder& order, base::FileDescriptor answer)
      : folder_(folder),
        launch_(folder.launch()),
        order_(order),
        answer_(std::move(answer)),
        placement_(launch_.blocks),
        present_(launch_.blocks.size()) {}

  bool run() {
    if (!start() || !place() || !load() || !fill()) return false;
    say(fmt::format("placed {} of {}", placed_, placed_ + moved_));
    say(fmt::format("rewritten {}", rewritten_));
    say("launching");
    const CUresult issued = launch();
    if (issued != CUDA_SUCCESS) return say(fmt::format("refused {}", static_cast<int>(issued)));
    const CUresult result = driver_.ctx_synchronize();
    say(fmt::format("result {}", static_cast<int>(result)));
    return result != CUDA_SUCCESS || order_.outputs.empty() || keep_outputs();
  }

 private:
  bool say(const std::string& line) const { return base::write_all(answer_.get(), line + "\n"); }
  bool stop(const std::string& why) const {
    say("cannot " + base::printable(why));  // names from launch.json may contain line breaks
    return false;
  }
  bool done(CUresult result, const char* call) const {
    return result == CUDA_SUCCESS || stop(fmt::format("{} returned {}", call, static_cast<int>(result)));
  }

  bool start();
  bool choose_gpu();
  void arm_dump();
  void choose_blocks(std::uint64_t granule);
  bool place();
  std::vector<Range> reserved_granules(std::uint64_t granule) const;
  bool reserve(const Range& range) const;
  bool map(const Range& range) const;
  bool place_alone(std::size_t block);
  bool place_on_host(std::size_t block);
  bool load();
  bool fill();
  bool fill(std::size_t block);
  bool copy_in(const Block& block, std::uint64_t address, std::span<std::byte> bytes) const;
  CUresult launch();
  bool keep_outputs() const;

  const LaunchFolder& folder_;
  const SavedLaunch& launch_;
  const PlayOrder& order_;
  base::FileDescriptor answer_;
  Driver driver_;
  CUdevice device_ = 0;
  CUmemAllocationProp properties_{};
  Placement placement_;
  std::vector<bool> present_;  // by block: true if this process has the block
  std::size_t placed_ = 0, moved_ = 0, rewritten_ = 0;
  CUfunction function_ = nullptr;
  std::vector<std::byte> image_;
};

bool Player::start() {
  if (!driver_.lacking().empty()) return stop(driver_.lacking());
  if (!done(driver_.init(0), "cuInit") || !choose_gpu()) return false;
  if (!order_.dump.empty()) arm_dump();
  properties_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties_.location.id = device_;
  CUcontext context = nullptr;
  if (!done(driver_.primary_ctx_retain(&context, device_), "cuDevicePrimaryCtxRetain")) return false;
  return done(driver_.ctx_set_current(context), "cuCtxSetCurrent");
}

bool Player::choose_gpu() {
  const GpuChoice& gpu = order_.gpu;
  if (gpu.bus.empty()) {
    if (!done(driver_.device_get(&device_, gpu.device), "cuDeviceGet")) return false;
  } else if (driver_.device_get_by_bus(&device_, gpu.bus.c_str()) != CUDA_SUCCESS) {
    return stop("GPU " + gpu.bus + ", where the launch was saved, is not visible here; choose another with --device");
  }
  char bus[kLongestBus] = "";
  if (driver_.device_get_bus(bus, sizeof bus, device_) == CUDA_SUCCESS) say(fmt::format("gpu {}", bus));
  return true;
}

// Requests a small core dump, because only the failing instruction matters.
void Player::arm_dump() {
  const auto set = driver_.coredump_set_attribute_global;
  if (set == nullptr) return;
  std::string file = order_.dump.string();
  int left_out = CU_COREDUMP_SKIP_NONRELOCATED_ELF_IMAGES | CU_COREDUMP_SKIP_GLOBAL_MEMORY |
                 CU_COREDUMP_SKIP_SHARED_MEMORY | CU_COREDUMP_SKIP_LOCAL_MEMORY | CU_COREDUMP_SKIP_CONSTBANK_MEMORY;
  bool yes = true;
  std::size_t file_size = file.size() + 1, flags_size = sizeof left_out, yes_size = sizeof yes;
  if (set(CU_COREDUMP_FILE, file.data(), &file_size) == CUDA_SUCCESS &&
      set(CU_COREDUMP_GENERATION_FLAGS, &left_out, &flags_size) == CUDA_SUCCESS) {
    set(CU_COREDUMP_ENABLE_ON_EXCEPTION, &yes, &yes_size);
  }
}

// ---- memory

// Chooses all blocks that were allocated when the launch was issued, because an access past the end of one block may
// reach the next block. If the GPU has too little memory for all blocks, chooses only the blocks that pointers lead to.
void Player::choose_blocks(std::uint64_t granule) {
  std::size_t free = 0, total = 0;
  driver_.mem_get_info(&free, &total);
  std::fill(present_.begin(), present_.end(), true);
  std::uint64_t wanted = 0;
  for (const Range& range : granules(launch_.blocks, present_, granule)) wanted += range.end - range.begin;
  if (wanted <= free / 10 * 9 && !order_.tight) return;
  for (std::size_t i = 0; i < present_.size(); ++i) present_[i] = launch_.blocks[i].reach != Reach::nothing;
  if (!order_.tight) say("only-reached");
}

bool Player::place() {
  std::size_t granule = std::size_t{2} << 20;
  const bool maps = driver_.can_map() && !order_.tight;
  if (maps) {
    const auto least = CU_MEM_ALLOC_GRANULARITY_MINIMUM;
    if (!done(driver_.mem_get_granularity(&granule, &properties_, least), "cuMemGetAllocationGranularity"))
      return false;
  }
  choose_blocks(granule);
  std::vector<bool> mapped(present_.size());
  // These must be the first allocations in this process, so that the old addresses are free.
  if (maps) {
    std::vector<Range> ranges = reserved_granules(granule);
    std::erase_if(ranges, [this](const Range& range) { return !map(range); });
    for (std::size_t i = 0; i < mapped.size(); ++i) {
      const Block& block = launch_.blocks[i];
      if (present_[i] && takes_device_memory(block) && is_in(ranges, {block.address, block.end()}))
        mapped[i] = true, ++placed_;
    }
  }
  for (std::size_t i = 0; i < mapped.size(); ++i) {
    const Block& block = launch_.blocks[i];
    if (!present_[i]) placement_.leave_out(i);
    if (!present_[i] || mapped[i] || !block.variable.empty()) continue;
    if (!(block.is_of_host() ? place_on_host(i) : place_alone(i))) return false;
  }
  return true;
}

// Reserves the granules of the blocks at their original addresses. Returns the granules that could be reserved.
std::vector<Range> Player::reserved_granules(std::uint64_t granule) const {
  std::vector<Range> around = granules(launch_.blocks, present_, kReservation);
  std::erase_if(around, [this](const Range& range) { return !reserve(range); });
  std::vector<Range> ranges = granules(launch_.blocks, present_, granule);
  std::erase_if(ranges, [&](const Range& range) { return !is_in(around, range) && !reserve(range); });
  return ranges;
}

// The driver treats the address as a hint. Returns false if the driver chooses a different one.
bool Player::reserve(const Range& range) const {
  const std::size_t size = range.end - range.begin;
  CUdeviceptr reserved = 0;
  if (driver_.mem_address_reserve(&reserved, size, 0, range.begin, 0) != CUDA_SUCCESS) return false;
  if (reserved != range.begin) driver_.mem_address_free(reserved, size);
  return reserved == range.begin;
}

bool Player::map(const Range& range) const {
  const std::size_t size = range.end - range.begin;
  CUmemGenericAllocationHandle memory = 0;
  if (driver_.mem_create(&memory, size, &properties_, 0) != CUDA_SUCCESS) return false;
  CUmemAccessDesc access{};
  access.location = properties_.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return driver_.mem_map(range.begin, size, 0, memory, 0) == CUDA_SUCCESS &&
         driver_.mem_set_access(range.begin, size, &access, 1) == CUDA_SUCCESS;
}

bool Player::place_alone(std::size_t index) {
  const Block& block = launch_.blocks[index];
  // The replay does not need this block, because no pointer leads to it.
  if (block.reach == Reach::nothing) return present_[index] = false, placement_.leave_out(index), true;
  CUdeviceptr address = 0;
  if (!done(driver_.mem_alloc(&address, block.bytes), "cuMemAlloc")) return false;
  placement_.put(index, address);
  address == block.address ? ++placed_ : ++moved_;
  say(fmt::format("block {} {:x}", index, address));
  return true;
}

bool Player::place_on_host(std::size_t index) {
  const Block& block = launch_.blocks[index];
  if (block.reach == Reach::nothing) return present_[index] = false, placement_.leave_out(index), true;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t begin = block.address / page * page;
  const std::size_t size = (block.end() + page - 1) / page * page - begin;
  constexpr int kProtection = PROT_READ | PROT_WRITE, kFlags = MAP_PRIVATE | MAP_ANONYMOUS;
  void* got = ::mmap(reinterpret_cast<void*>(begin), size, kProtection, kFlags, -1, 0);
  if (got == MAP_FAILED)
    return stop(fmt::format("mapping {} bytes of host memory failed: {}", size, std::strerror(errno)));
  if (!done(driver_.mem_host_register(got, size, CU_MEMHOSTREGISTER_DEVICEMAP), "cuMemHostRegister")) return false;
  const std::uint64_t address = reinterpret_cast<std::uint64_t>(got) + (block.address - begin);
  placement_.put(index, address);
  address == block.address ? ++placed_ : ++moved_;
  return true;
}

// ---- code

bool Player::load() {
  if (launch_.image_bytes == 0) return stop("the image with the kernel's code was not saved");
  const auto opened = folder_.open_file(wire::saved_launch::kImage, launch_.image_bytes);
  if (const auto* failure = std::get_if<base::Error>(&opened)) return stop(failure->what);
  const auto& file = std::get<base::FileDescriptor>(opened);
  image_.resize(launch_.image_bytes + 1);  // PTX text must end with a NUL
  for (std::size_t at = 0; at < launch_.image_bytes;) {
    const ssize_t got = ::read(file.get(), image_.data() + at, launch_.image_bytes - at);
    if (got <= 0) return stop("the image cannot be read");
    at += static_cast<std::size_t>(got);
  }
  for (const auto& [id, value] : launch_.limits) driver_.ctx_set_limit(static_cast<CUlimit>(id), value);
  CUmodule module = nullptr;
  if (!done(driver_.module_load_data(&module, image_.data()), "cuModuleLoadData") ||
      !done(driver_.module_get_function(&function_, module, launch_.kernel.c_str()), "cuModuleGetFunction")) {
    return false;
  }
  for (const auto& [id, value] : launch_.function_values) {
    driver_.func_set_attribute(function_, static_cast<CUfunction_attribute>(id), value);
  }
  for (std::size_t i = 0; i < launch_.blocks.size(); ++i) {
    const Block& block = launch_.blocks[i];
    if (block.variable.empty()) continue;
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    const CUresult result = driver_.module_get_global(&address, &bytes, module, block.variable.c_str());
    present_[i] = result == CUDA_SUCCESS && bytes == block.bytes;
    if (!present_[i]) return stop("the image does not contain this variable: " + block.variable);
    placement_.put(i, address);
  }
  return true;
}

// ---- contents

bool Player::fill() {
  for (std::size_t i = 0; i < launch_.blocks.size(); ++i) {
    if (present_[i] && launch_.blocks[i].contents && !fill(i)) return false;
  }
  return true;
}

bool Player::copy_in(const Block& block, std::uint64_t address, std::span<std::byte> bytes) const {
  if (!block.is_of_host()) return done(driver_.memcpy_htod(address, bytes.data(), bytes.size()), "cuMemcpyHtoD");
  std::memcpy(reinterpret_cast<void*>(address), bytes.data(), bytes.size());
  return true;
}

// Holes in the file become zeros. If `order_.without` contains the block, the whole block becomes zeros.
bool Player::fill(std::size_t index) {
  const Block& block = launch_.blocks[index];
  const Contents& contents = *block.contents;
  const std::uint64_t address = *placement_.of(index) + contents.from;
  if (!block.is_of_host() && !done(driver_.memset_d8(address, 0, contents.bytes), "cuMemsetD8")) return false;
  if (std::ranges::find(order_.without, index) != order_.without.end()) return true;
  const auto opened = folder_.open_file(contents.file, contents.bytes);
  if (const auto* failure = std::get_if<base::Error>(&opened)) return stop(failure->what);
  const auto& file = std::get<base::FileDescriptor>(opened);
  const bool moves = placement_.moves();
  std::vector<std::byte> piece(std::min<std::uint64_t>(kPiece, contents.bytes));
  for (std::uint64_t at = 0; at < contents.bytes;) {
    const off_t data = ::lseek(file.get(), static_cast<off_t>(at), SEEK_DATA);
    if (data < 0 && errno == ENXIO) break;
    // Pointers begin on word boundaries, so pieces must begin there, too.
    if (data > 0) at = std::max(at, static_cast<std::uint64_t>(data) & ~std::uint64_t{7});
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), contents.bytes - at));
    const ssize_t got = ::pread(file.get(), piece.data(), size, static_cast<off_t>(at));
    if (got <= 0) return stop(contents.file + " cannot be read");
    const std::span<std::byte> bytes(piece.data(), static_cast<std::size_t>(got));
    if (moves) rewritten_ += placement_.rewrite(bytes);
    if (!copy_in(block, address + at, bytes)) return false;
    at += bytes.size();
  }
  return true;
}

// ---- the launch

CUresult Player::launch() {
  std::vector<std::byte> arguments;
  for (const Parameter& parameter : launch_.parameters) {
    arguments.resize(std::max(arguments.size(), parameter.offset + parameter.bytes.size()));
    std::memcpy(arguments.data() + parameter.offset, parameter.bytes.data(), parameter.bytes.size());
  }
  placement_.rewrite(arguments);
  std::size_t size = arguments.size();
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, arguments.data(), CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   CU_LAUNCH_PARAM_END};
  void** given = arguments.empty() ? nullptr : extra;
  const Dim3 &grid = launch_.grid, &block = launch_.block;
  std::vector<CUlaunchAttribute> attributes;
  for (const Attribute& saved : launch_.attributes) {
    CUlaunchAttribute attribute{};
    attribute.id = static_cast<CUlaunchAttributeID>(saved.id);
    std::memcpy(&attribute.value, saved.value.data(), std::min(sizeof attribute.value, saved.value.size()));
    attributes.push_back(attribute);
  }
  if (launch_.cooperative) {
    CUlaunchAttribute cooperative{};
    cooperative.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    cooperative.value.cooperative = 1;
    attributes.push_back(cooperative);
  }
  if (attributes.empty() || driver_.launch_kernel_ex == nullptr) {
    return driver_.launch_kernel(function_, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                                 launch_.shared_bytes, nullptr, nullptr, given);
  }
  CUlaunchConfig config{};
  config.gridDimX = grid[0], config.gridDimY = grid[1], config.gridDimZ = grid[2];
  config.blockDimX = block[0], config.blockDimY = block[1], config.blockDimZ = block[2];
  config.sharedMemBytes = launch_.shared_bytes;
  config.attrs = attributes.data();
  config.numAttrs = static_cast<unsigned>(attributes.size());
  return driver_.launch_kernel_ex(&config, function_, nullptr, given);
}

// For each block whose contents were saved, writes a file "memory-INDEX". INDEX is the block's index in launch.json.
bool Player::keep_outputs() const {
  std::vector<char> piece(kPiece);
  for (std::size_t i = 0; i < launch_.blocks.size(); ++i) {
    const Block& block = launch_.blocks[i];
    if (!present_[i] || !block.contents) continue;
    const std::filesystem::path path = order_.outputs / (wire::saved_launch::kMemoryPrefix + std::to_string(i));
    const base::FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    for (std::uint64_t at = 0; at < block.contents->bytes;) {
      const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), block.contents->bytes - at));
      const std::uint64_t address = *placement_.of(i) + block.contents->from + at;
      if (block.is_of_host()) {
        std::memcpy(piece.data(), reinterpret_cast<const void*>(address), size);
      } else if (!done(driver_.memcpy_dtoh(piece.data(), address, size), "cuMemcpyDtoH")) {
        return false;
      }
      if (!base::write_all(file.get(), {piece.data(), size})) return stop("the results could not be written");
      at += size;
    }
  }
  return say("outputs");
}

}  // namespace

int play(const LaunchFolder& folder, const PlayOrder& order, const std::filesystem::path& answer) {
  base::FileDescriptor file(::open(answer.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file.valid()) return 1;
  return Player(folder, order, std::move(file)).run() ? 0 : 1;
}

}  // namespace cudadiag::replay
