// Replays one saved kernel launch with only the CUDA driver API.
// Build: g++ -std=c++17 -I/usr/local/cuda/include replay.cc -o replay -lcuda
// Run it in this folder: ./replay [GPU]. It prints the error of the launch, if there is one.
#include <cuda.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

struct Block {
  std::uint64_t address, bytes;
  bool host;
  const char* variable;  // name in the module; null if the block is memory
  const char* file;      // null if its contents were not saved
  std::uint64_t from;    // offset of the contents in the block
  std::uint64_t saved;
  std::uint64_t now;  // the block's address in this process
};
struct Parameter {
  unsigned offset, bytes;
  const char* hex;
};
struct Attribute {
  unsigned id;
  const char* hex;
};
struct Value {
  unsigned id;
  std::uint64_t value;
};

// @tables@

static void check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  const char* name = "";
  cuGetErrorName(result, &name);
  std::printf("%s: %d %s\n", call, result, name);
  std::exit(1);
}
#define CHECK(call) check(call, #call)

static std::vector<unsigned char> bytes_of(const char* hex) {
  std::vector<unsigned char> bytes;
  for (; *hex != 0; hex += 2) {
    const char digits[3] = {hex[0], hex[1], 0};
    bytes.push_back(static_cast<unsigned char>(std::strtoul(digits, nullptr, 16)));
  }
  return bytes;
}

static std::vector<unsigned char> contents_of(const char* name) {
  std::vector<unsigned char> bytes;
  std::FILE* file = std::fopen(name, "rb");
  if (file == nullptr) std::perror(name), std::exit(125);
  std::fseek(file, 0, SEEK_END);
  bytes.resize(static_cast<std::size_t>(std::ftell(file)));
  std::rewind(file);
  if (std::fread(bytes.data(), 1, bytes.size(), file) != bytes.size()) std::perror(name), std::exit(125);
  std::fclose(file);
  return bytes;
}

// Rewrites pointers to blocks that could not be put at their old addresses.
static void rewrite(std::vector<unsigned char>& bytes) {
  for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t word;
    std::memcpy(&word, &bytes[at], 8);
    for (const Block& block : blocks) {
      if (block.now == block.address || word < block.address || word - block.address >= block.bytes) continue;
      word += block.now - block.address;
      std::memcpy(&bytes[at], &word, 8);
      break;
    }
  }
}

// `begin` is only a hint: returns false if the driver chooses a different address.
static bool reserve_at(std::uint64_t begin, std::uint64_t end) {
  CUdeviceptr reserved = 0;
  if (cuMemAddressReserve(&reserved, end - begin, 0, begin, 0) != CUDA_SUCCESS) return false;
  if (reserved != begin) cuMemAddressFree(reserved, end - begin);
  return reserved == begin;
}

static void map_at(std::uint64_t begin, std::uint64_t end, const CUmemAllocationProp& properties) {
  CUmemGenericAllocationHandle memory = 0;
  CHECK(cuMemCreate(&memory, end - begin, &properties, 0));
  CUmemAccessDesc access = {};
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CHECK(cuMemMap(begin, end - begin, 0, memory, 0));
  CHECK(cuMemSetAccess(begin, end - begin, &access, 1));
}

static bool is_of_device(const Block& block) { return !block.host && block.variable == nullptr; }

// Starting at `first`, collects the blocks that touch or overlap once they are rounded to multiples of `unit`. Sets
// `begin` and `end` to their range. Returns the index after the last of them.
static std::size_t neighbours(std::size_t first, std::size_t limit, std::uint64_t unit, std::uint64_t& begin,
                              std::uint64_t& end) {
  begin = end = 0;
  std::size_t next = first;
  for (; next < limit; ++next) {
    const Block& block = blocks[next];
    if (!is_of_device(block)) continue;
    const std::uint64_t block_begin = block.address / unit * unit;
    const std::uint64_t block_end = (block.address + block.bytes + unit - 1) / unit * unit;
    if (end == 0) begin = block_begin;
    if (end != 0 && block_begin > end) break;
    if (block_end > end) end = block_end;
  }
  return next;
}

static void place_host(Block& block) {
  const std::uint64_t page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::uint64_t begin = block.address / page * page, end = (block.address + block.bytes + page - 1) / page * page;
  void* wanted = reinterpret_cast<void*>(begin);
  void* got = mmap(wanted, end - begin, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (got == MAP_FAILED) std::perror("mmap"), std::exit(125);
  CHECK(cuMemHostRegister(got, end - begin, CU_MEMHOSTREGISTER_DEVICEMAP));
  block.now = reinterpret_cast<std::uint64_t>(got) + (block.address - begin);
}

static void place_memory(int device) {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  std::size_t granule = 0;
  CHECK(cuMemGetAllocationGranularity(&granule, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  const std::uint64_t reservation = std::uint64_t{32} << 20;  // the driver rounds requested addresses up to this
  std::uint64_t begin, end;
  for (std::size_t first = 0; first < block_count;) {
    const std::size_t last = neighbours(first, block_count, reservation, begin, end);
    const bool granted = end != 0 && reserve_at(begin, end);
    for (std::size_t i = first; granted && i < last;) {
      i = neighbours(i, last, granule, begin, end);
      if (end != 0) map_at(begin, end, properties);
    }
    for (std::size_t i = first; i < last; ++i) {
      Block& block = blocks[i];
      if (!is_of_device(block)) continue;
      block.now = block.address;
      if (granted) continue;
      CUdeviceptr elsewhere = 0;
      CHECK(cuMemAlloc(&elsewhere, block.bytes));
      block.now = elsewhere;
      std::printf("the block at 0x%llx is now at 0x%llx\n", static_cast<unsigned long long>(block.address), elsewhere);
    }
    first = last;
  }
  for (std::size_t i = 0; i < block_count; ++i) {
    if (blocks[i].host) place_host(blocks[i]);
  }
}

static void make_context(int number, CUdevice& device) {
  CUcontext context = nullptr;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, number));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  for (std::size_t i = 0; i < limit_count; ++i) cuCtxSetLimit(static_cast<CUlimit>(limits[i].id), limits[i].value);
}

static CUfunction load_kernel(CUmodule& module) {
  std::vector<unsigned char> image = contents_of("image");
  image.push_back(0);  // PTX text must end with a NUL
  CUfunction function = nullptr;
  CHECK(cuModuleLoadData(&module, image.data()));
  CHECK(cuModuleGetFunction(&function, module, kernel));
  for (std::size_t i = 0; i < value_count; ++i) {
    cuFuncSetAttribute(function, static_cast<CUfunction_attribute>(values[i].id), static_cast<int>(values[i].value));
  }
  return function;
}

static void fill_memory(CUmodule module) {
  for (Block& block : blocks) {
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    if (block.variable == nullptr) continue;
    CHECK(cuModuleGetGlobal(&address, &bytes, module, block.variable));
    block.now = address;
  }
  for (const Block& block : blocks) {
    if (block.file == nullptr) continue;
    std::vector<unsigned char> bytes = contents_of(block.file);
    rewrite(bytes);
    if (block.host) {
      std::memcpy(reinterpret_cast<void*>(block.now + block.from), bytes.data(), bytes.size());
    } else {
      CHECK(cuMemcpyHtoD(block.now + block.from, bytes.data(), bytes.size()));
    }
  }
}

static std::vector<unsigned char> arguments_now() {
  std::vector<unsigned char> arguments;
  for (std::size_t i = 0; i < parameter_count; ++i) {
    const std::vector<unsigned char> bytes = bytes_of(parameters[i].hex);
    if (arguments.size() < parameters[i].offset + bytes.size()) arguments.resize(parameters[i].offset + bytes.size());
    std::memcpy(&arguments[parameters[i].offset], bytes.data(), bytes.size());
  }
  rewrite(arguments);
  return arguments;
}

static void launch(CUfunction function) {
  std::vector<unsigned char> arguments = arguments_now();
  std::size_t size = arguments.size();
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, arguments.data(), CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   CU_LAUNCH_PARAM_END};
  std::vector<CUlaunchAttribute> chosen(attribute_count);
  for (std::size_t i = 0; i < attribute_count; ++i) {
    chosen[i].id = static_cast<CUlaunchAttributeID>(attributes[i].id);
    const std::vector<unsigned char> bytes = bytes_of(attributes[i].hex);
    std::memcpy(&chosen[i].value, bytes.data(), sizeof chosen[i].value);
  }
  CUlaunchConfig config = {};
  config.gridDimX = grid[0], config.gridDimY = grid[1], config.gridDimZ = grid[2];
  config.blockDimX = block[0], config.blockDimY = block[1], config.blockDimZ = block[2];
  config.sharedMemBytes = shared_bytes;
  config.attrs = chosen.data();
  config.numAttrs = static_cast<unsigned>(chosen.size());
  CHECK(cuLaunchKernelEx(&config, function, nullptr, extra));
  CHECK(cuCtxSynchronize());
}

int main(int argc, char** argv) {
  CUdevice device = 0;
  CUmodule module = nullptr;
  make_context(argc > 1 ? std::atoi(argv[1]) : 0, device);
  place_memory(device);
  const CUfunction function = load_kernel(module);
  fill_memory(module);
  launch(function);
  std::printf("the launch did not fail\n");
  return 0;
}
