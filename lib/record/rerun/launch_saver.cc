#include "record/rerun/launch_saver.h"

#include <cupti.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "record/libc_substitutes.h"
#include "record/rerun/image_reader.h"

namespace cudadiag::record {

namespace format = wire::saved_launch;
using format::Missing;
using format::Reach;
using format::Record;

namespace {

// Writes a record of a saved launch's description (wire/saved_launch.h) to its file. The payload is `first`, followed
// by `after`. Ignores failed writes, because readers reject a truncated description.
void put(int file, wire::saved_launch::Record kind, std::span<const std::byte> first,
         std::span<const std::byte> after = {});

template <typename First, typename Second>
void put_pair(int file, wire::saved_launch::Record kind, First first, Second second) {
  std::array<std::byte, sizeof(Second) == 8 ? 16 : 8> payload{};
  memcpy(payload.data(), &first, sizeof first);
  memcpy(payload.data() + payload.size() - sizeof second, &second, sizeof second);
  put(file, kind, payload);
}

namespace format = wire::saved_launch;

bool write_all(int file, const void* data, std::size_t size) {
  const auto* bytes = static_cast<const std::byte*>(data);
  while (size > 0) {
    const ssize_t written = write(file, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

void put(int file, format::Record kind, std::span<const std::byte> first, std::span<const std::byte> after) {
  const std::size_t length = first.size() + after.size();
  std::array<std::byte, format::kRecordHead> head{};
  wire::store(head.data(), format::kKind, static_cast<std::uint32_t>(kind));
  wire::store(head.data(), format::kLength, static_cast<std::uint32_t>(length));
  const std::array<std::byte, 8> padding{};
  const iovec parts[] = {{head.data(), head.size()},
                         {const_cast<std::byte*>(first.data()), first.size()},
                         {const_cast<std::byte*>(after.data()), after.size()},
                         {const_cast<std::byte*>(padding.data()), (8 - length % 8) % 8}};
  // Ignores failed writes (see the header).
  if (writev(file, parts, 4) < 0) return;
}

std::span<const std::byte> bytes_of(const char* text) {
  return {reinterpret_cast<const std::byte*>(text), strnlen(text, PATH_MAX)};
}

std::array<std::byte, format::kBlockSize> encoded(const SavedMemory::Block& block, std::uint32_t number) {
  std::array<std::byte, format::kBlockSize> to{};
  wire::store(to.data(), format::kAddress, block.address);
  wire::store(to.data(), format::kBytes, block.bytes);
  wire::store(to.data(), format::kSavedFrom, block.from);
  wire::store(to.data(), format::kSavedBytes, block.saved);
  wire::store(to.data(), format::kNumber, number);
  wire::store(to.data(), format::kMemoryKind, static_cast<std::uint32_t>(block.kind));
  wire::store(to.data(), format::kReach, static_cast<std::uint32_t>(block.reach));
  wire::store(to.data(), format::kUnsaved, static_cast<std::uint32_t>(block.unsaved));
  return to;
}

template <std::size_t kSize>
using Bytes = std::array<std::byte, kSize>;

// Returns true if the attribute refers to an object of this process. All other attributes contain only numbers.
bool names_object(CUlaunchAttributeID id) {
  return id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT || id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT ||
         id == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE || id == CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW;
}

}  // namespace

// A launch, independent of the call that issues it.
struct LaunchSaver::Launched {
  const Call& call;
  bool cooperative;
  std::span<const CUlaunchAttribute> attributes;
};

// The contiguous parameters, in the driver's layout.
struct LaunchSaver::Parameters {
  static constexpr std::size_t kMostBytes = std::size_t{1} << 15;
  std::size_t size;
  ParameterLayout layout;
  alignas(8) std::byte bytes[kMostBytes];
};

LaunchSaver* LaunchSaver::make(const Sources& sources, const char* folder, std::uint64_t limit) {
  if (folder == nullptr || *folder == '\0' || !may_take_address_space(sizeof(LaunchSaver))) return nullptr;
  void* memory =
      mmap(nullptr, sizeof(LaunchSaver), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* saver = new (memory) LaunchSaver(sources);
  const int length = snprintf(saver->path_, sizeof saver->path_, "%s/%s%d", folder, format::kFolderPrefix, getpid());
  if (length < 0 || static_cast<std::size_t>(length) >= sizeof saver->path_) {
    munmap(memory, sizeof(LaunchSaver));
    return nullptr;
  }
  saver->api_.load();
  saver->images_.start(saver->api_);
  saver->limit_ = limit;
  return saver;
}

// Opens the folder for a new launch, and closes the files of the previous launch.
bool LaunchSaver::open_folder() {
  passed();
  if (mkdir(path_, 0700) != 0 && errno != EEXIST) return false;
  folder_ = open(path_, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder_ < 0) return false;
  description_ = openat(folder_, format::kDescription, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
  return description_ >= 0;
}

void LaunchSaver::missing(Missing what, std::uint64_t count) {
  put_pair(description_, Record::missing, static_cast<std::uint32_t>(what), count);
}

void LaunchSaver::give_up(const char* why) {
  if (!std::exchange(noted_, true)) sources_.interner.note("launch-not-saved", why);
}

// Tries both queries, because the program may have passed a CUkernel as a CUfunction. Each query rejects handles of the
// other type.
const char* LaunchSaver::name_of(CUfunction function) const {
  const DriverApi& driver = sources_.driver;
  const char* name = nullptr;
  if (driver.func_get_name != nullptr && driver.func_get_name(&name, function) == CUDA_SUCCESS) return name;
  const auto kernel = reinterpret_cast<CUkernel>(function);
  if (driver.kernel_get_name != nullptr && driver.kernel_get_name(&name, kernel) == CUDA_SUCCESS) return name;
  return nullptr;
}

void LaunchSaver::save(std::uint32_t id, const void* parameters, const Call& launch) {
  Launched launched = {launch, false, {}};
  launched.cooperative = id == CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel ||
                         id == CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz;
  if (id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx || id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz) {
    const CUlaunchConfig* config = static_cast<const cuLaunchKernelEx_params*>(parameters)->config;
    if (config != nullptr && config->attrs != nullptr) launched.attributes = {config->attrs, config->numAttrs};
  }
  save(launched);
}

void LaunchSaver::save_node(const NodeLaunch& node) {
  std::size_t size = node.size;
  void* const buffer[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, const_cast<std::byte*>(node.bytes),
                          CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  void* const none[] = {nullptr};
  Call call;
  call.function = node.function;
  memcpy(call.grid, node.grid, sizeof call.grid);
  memcpy(call.block, node.block, sizeof call.block);
  memcpy(call.cluster, node.cluster, sizeof call.cluster);
  call.shared_bytes = node.shared_bytes;
  if (node.parameters_unknown) {
    call.parameters = none;
  } else {
    call.extra = buffer;
  }
  save({call, false, {node.attributes, node.attribute_count}});
}

void LaunchSaver::save(const Launched& launched) {
  const Call& launch = launched.call;
  const Uncancelled uncancelled;
  const RelaxedCapture relaxed(sources_.driver);
  const char* kernel = name_of(launch.function);
  const bool too_many = ++saved_ > kMostSaved || bytes_ > kMostBytes * limit_;
  if (too_many || kernel == nullptr || !open_folder()) {
    give_up(too_many            ? "some launches were not saved: the rerun waited for more launches than it can save"
            : kernel == nullptr ? "a launch was not saved: the driver does not report the kernel's name"
                                : "a launch was not saved: its folder could not be created");
    return passed();
  }
  Bytes<format::kHeaderSize> header{};
  wire::store(header.data(), format::kHeaderMagic, format::kMagic);
  wire::store(header.data(), format::kHeaderVersion, format::kVersion);
  write_all(description_, header.data(), header.size());
  put(description_, Record::kernel, bytes_of(kernel));
  describe_launch(launched);
  const LoadedImages::Kernel loaded = images_.find(launch.function, kernel);
  CUdevice device = 0;
  sources_.driver.ctx_get_device(&device);
  describe_function(launch.function, loaded.kernel, device);
  describe_gpu(device);
  save_image(loaded);
  save_memory(launch, loaded);
}

void LaunchSaver::failed(CUresult result) {
  if (description_ < 0) return;
  const Uncancelled uncancelled;
  const auto code = static_cast<std::uint32_t>(result);
  put(description_, Record::failed, std::as_bytes(std::span(&code, 1)));
  passed();
}

void LaunchSaver::passed() {
  if (description_ >= 0) close(description_);
  if (folder_ >= 0) close(folder_);
  description_ = folder_ = -1;
}

// ---- the call

void LaunchSaver::describe_launch(const Launched& launched) {
  const Call& launch = launched.call;
  Bytes<format::kLaunchSize> payload{};
  memcpy(payload.data() + format::kGrid.offset, launch.grid, sizeof launch.grid);
  memcpy(payload.data() + format::kBlock.offset, launch.block, sizeof launch.block);
  memcpy(payload.data() + format::kCluster.offset, launch.cluster, sizeof launch.cluster);
  wire::store(payload.data(), format::kSharedBytes, launch.shared_bytes);
  wire::store(payload.data(), format::kLaunchFlags, launched.cooperative ? format::kCooperative : 0u);
  CUdevice device = 0;
  if (sources_.driver.ctx_get_device(&device) == CUDA_SUCCESS) {
    wire::store(payload.data(), format::kDevice, static_cast<std::uint32_t>(device));
  }
  put(description_, Record::launch, payload);
  describe_attributes(launched.attributes);
}

void LaunchSaver::describe_attributes(std::span<const CUlaunchAttribute> attributes) {
  constexpr std::size_t kMost = 64;
  for (const CUlaunchAttribute& attribute : attributes.first(std::min(attributes.size(), kMost))) {
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_IGNORE) continue;
    if (names_object(attribute.id)) {
      missing(Missing::attribute, attribute.id);
      continue;
    }
    Bytes<8> head{};
    memcpy(head.data(), &attribute.id, sizeof attribute.id);
    put(description_, Record::attribute, head, std::as_bytes(std::span(&attribute.value, 1)));
  }
}

void LaunchSaver::describe_function(CUfunction function, CUkernel kernel, CUdevice device) {
  // Saves only the attributes that a program can set.
  for (const CUfunction_attribute id :
       {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
        CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE}) {
    int value = 0;
    CUresult result = CUDA_ERROR_NOT_FOUND;
    if (kernel != nullptr && api_.kernel_get_attribute != nullptr) {
      result = api_.kernel_get_attribute(&value, id, kernel, device);
    } else if (kernel == nullptr && api_.func_get_attribute != nullptr) {
      result = api_.func_get_attribute(&value, id, function);
    }
    if (result == CUDA_SUCCESS) put_pair(description_, Record::function_value, static_cast<std::uint32_t>(id), value);
  }
  for (const CUlimit id : {CU_LIMIT_STACK_SIZE, CU_LIMIT_PRINTF_FIFO_SIZE, CU_LIMIT_MALLOC_HEAP_SIZE}) {
    std::size_t value = 0;
    if (api_.ctx_get_limit == nullptr || api_.ctx_get_limit(&value, id) != CUDA_SUCCESS) continue;
    put_pair(description_, Record::limit, static_cast<std::uint32_t>(id), std::uint64_t{value});
  }
}

void LaunchSaver::describe_gpu(CUdevice device) {
  const DriverApi& driver = sources_.driver;
  Bytes<16> payload{};
  int numbers[3] = {};
  if (driver.driver_get_version != nullptr) driver.driver_get_version(&numbers[0]);
  if (driver.device_get_attribute != nullptr) {
    driver.device_get_attribute(&numbers[1], CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    driver.device_get_attribute(&numbers[2], CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  }
  memcpy(payload.data(), numbers, sizeof numbers);
  char name[256] = "";
  if (driver.device_get_name != nullptr) driver.device_get_name(name, sizeof name - 1, device);
  put(description_, Record::gpu, payload, bytes_of(name));
}

// ---- code

void LaunchSaver::save_image(const LoadedImages::Kernel& kernel) {
  if (kernel.image == nullptr) return;
  ImageExtent extent = kernel.image->extent;
  // If the driver loaded the image from a file, reads that file, although it may have changed since then.
  void* mapped = MAP_FAILED;
  if (extent.begin == nullptr && kernel.image->file != nullptr) {
    const int file = open(kernel.image->file, O_RDONLY | O_CLOEXEC);
    struct stat status {};
    if (file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
      // Saves the file as it is. If it is text, the copy lacks the NUL that terminates text in memory.
      extent.size = static_cast<std::size_t>(status.st_size);
      mapped = mmap(nullptr, extent.size, PROT_READ, MAP_PRIVATE, file, 0);
      if (mapped != MAP_FAILED) extent.begin = static_cast<const std::byte*>(mapped);
    }
    if (file >= 0) close(file);
    if (extent.begin != nullptr) {
      const bool is_elf = extent.size > 4 && memcmp(extent.begin, "\177ELF", 4) == 0;
      extent.form = is_elf                               ? format::Image::cubin
                    : extent.begin[0] == std::byte{0x50} ? format::Image::fatbin
                                                         : format::Image::text;
    }
  }
  const int file = openat(folder_, format::kImage, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
  const bool written = extent.begin != nullptr && file >= 0 && write_all(file, extent.begin, extent.size);
  if (file >= 0) close(file);
  if (written) {
    put_pair(description_, Record::image, static_cast<std::uint32_t>(extent.form), std::uint64_t{extent.size});
  }
  if (mapped != MAP_FAILED) munmap(mapped, extent.size);
}

// ---- memory

void LaunchSaver::collect(const Call& launch, Parameters& to) const {
  to.layout = sources_.layouts.of(launch.function);
  if (launch.parameters == nullptr) {
    const ParameterBuffer buffer = parameter_buffer(launch.extra);
    if (buffer.bytes == nullptr) return;
    to.size = std::min(buffer.size, Parameters::kMostBytes);
    memcpy(to.bytes, buffer.bytes, to.size);
    return;
  }
  for (std::size_t i = 0; i < to.layout.count; ++i) {
    const std::size_t offset = to.layout.offset(i), size = to.layout.size(i);
    if (offset + size > Parameters::kMostBytes || launch.parameters[i] == nullptr) return;
    memcpy(to.bytes + offset, launch.parameters[i], size);
    to.size = std::max(to.size, offset + size);
  }
}

void LaunchSaver::save_memory(const Call& launch, const LoadedImages::Kernel& kernel) {
  const Scratch<Parameters> parameters;
  const Scratch<SavedMemory> memory;
  if (!parameters || !memory) return;
  collect(launch, *parameters);
  const ParameterLayout& layout = parameters->layout;
  if (layout.count == 0 && launch.parameters != nullptr) missing(Missing::parameters, 0);
  for (std::size_t i = 0; i < layout.count && layout.offset(i) + layout.size(i) <= parameters->size; ++i) {
    const std::uint32_t place[2] = {static_cast<std::uint32_t>(layout.offset(i)),
                                    static_cast<std::uint32_t>(layout.size(i))};
    put(description_, Record::parameter, std::as_bytes(std::span(place)),
        {parameters->bytes + layout.offset(i), layout.size(i)});
  }
  if (layout.count == 0 && parameters->size > 0) {
    const std::uint32_t place[2] = {0, static_cast<std::uint32_t>(parameters->size)};
    put(description_, Record::parameter, std::as_bytes(std::span(place)), {parameters->bytes, parameters->size});
  }
  memory->start(api_, sources_.allocations, folder_, limit_);
  memory->follow({parameters->bytes, parameters->size}, Reach::parameter);
  // Saves global variables first, because they are small and cannot be restored in any other way.
  save_globals(kernel, *memory);
  memory->save(Reach::parameter);
  memory->save(Reach::memory);
  bytes_ += limit_ - memory->left();
  std::uint32_t number = 0;
  for (const SavedMemory::Block& block : memory->blocks()) put(description_, Record::block, encoded(block, number++));
  const std::uint64_t dropped = wire::load(sources_.area.header(), wire::area::kDroppedAllocations);
  if (dropped > 0) missing(Missing::allocations, dropped);
}

void LaunchSaver::save_globals(const LoadedImages::Kernel& kernel, SavedMemory& memory) {
  const Scratch<NameList> names;
  if (kernel.image == nullptr || kernel.image->extent.begin == nullptr || !names) return missing(Missing::globals, 0);
  CUdevice device = 0;
  int major = 0, minor = 0;
  sources_.driver.ctx_get_device(&device);
  if (sources_.driver.device_get_attribute != nullptr) {
    sources_.driver.device_get_attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    sources_.driver.device_get_attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  }
  const bool listed = list_globals(kernel.image->extent, static_cast<std::uint32_t>(10 * major + minor), *names);
  if (!listed || names->cut) missing(Missing::globals, 0);
  auto number = static_cast<std::uint32_t>(memory.blocks().size());
  for (std::size_t at = 0; at < names->used; at += strlen(names->text + at) + 1) {
    const char* name = names->text + at;
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    CUresult result = CUDA_ERROR_NOT_FOUND;
    if (kernel.image->library != nullptr && api_.library_get_global != nullptr) {
      result = api_.library_get_global(&address, &bytes, kernel.image->library, name);
    } else if (kernel.image->module != nullptr && api_.module_get_global != nullptr) {
      result = api_.module_get_global(&address, &bytes, kernel.image->module, name);
    }
    // Skips a variable that the compiler has removed.
    if (result != CUDA_SUCCESS || bytes == 0) continue;
    put(description_, Record::global, encoded(memory.save_global(address, bytes, number), number), bytes_of(name));
    ++number;
  }
}

}  // namespace cudadiag::record
