// Tests lines and inlined functions in a cubin that nvcc 13.0 linked (data/gpucore/inlined), and in the sample dump.
// The cubin is relocated here, as the driver would do.
#include <doctest/doctest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "evidence/device_code.h"
#include "unit/evidence/sample_dump.h"

using namespace cudadiag::evidence;

namespace {

struct LoadedCubin {
  std::string bytes;
  std::map<std::string, std::uint64_t> kernels;  // by name
};

Bytes view(const std::string& bytes) { return {bytes.data(), bytes.size()}; }

void put(std::string& bytes, std::uint64_t offset, std::uint64_t value) {
  REQUIRE(offset + sizeof value <= bytes.size());
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

// Gives every kernel an address and relocates the line table, as the driver does when it loads functions.
LoadedCubin load(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  LoadedCubin cubin;
  cubin.bytes.assign(std::istreambuf_iterator<char>(in), {});
  const auto elf = ElfImage::read(view(cubin.bytes));
  REQUIRE(elf);
  const Section symbols = *elf->named(".symtab");
  const Bytes names = elf->contents(elf->section(symbols.link));
  std::map<std::uint64_t, std::uint64_t> addresses;  // by symbol index
  for (std::uint64_t i = 0; i < symbols.size / 24; ++i) {
    const Bytes symbol = elf->contents(symbols).slice(i * 24, 24);
    if (symbol.u8(4) != 0x12) continue;
    addresses[i] = 0x7f0000000000 + 0x1000 * (addresses.size() + 1);
    cubin.kernels[std::string(names.text(symbol.u32(0)))] = addresses[i];
  }
  const Section relocations = *elf->named(".rela.debug_line");
  const Section lines = *elf->named(".debug_line");
  std::string placed = cubin.bytes;
  for (const auto& [symbol, address] : addresses) put(placed, symbols.offset + symbol * 24 + 8, address);
  for (std::uint64_t i = 0; i < relocations.size / 24; ++i) {
    const Bytes relocation = elf->contents(relocations).slice(i * 24, 24);
    put(placed, lines.offset + relocation.u64(0), addresses.at(relocation.u64(8) >> 32));
  }
  cubin.bytes = placed;
  return cubin;
}

std::string written(const LineChain& chain) {
  std::ostringstream text;
  for (const LineFrame& frame : chain) {
    text << frame.folder << '/' << frame.file << ':' << frame.line << ' ' << frame.inlined.value_or("") << '\n';
  }
  return text.str();
}

std::string lines_at(const std::string& cubin, std::uint64_t pc) {
  Budget budget(1 << 20);
  const std::uint64_t addresses[] = {pc};
  return written(DeviceCode({view(cubin)}, budget).lines_at(addresses).front());
}

}  // namespace

TEST_CASE("each kernel of a linked cubin has its lines and inline chains") {
  const LoadedCubin cubin = load(TEST_DATA "/gpucore/inlined/inlined.cubin");
  const auto at = [&cubin](const char* kernel, std::uint64_t offset) {
    return lines_at(cubin.bytes, cubin.kernels.at(kernel) + offset);
  };
  CHECK(at("_Z11first_plainPi", 0x50) == "/src/first.cu:5 \n");
  CHECK(at("_Z14first_inliningPil", 0x10) == "/src/first.cu:9 \n");
  CHECK(at("_Z14first_inliningPil", 0x20) ==
        "/src/leaf.cuh:2 _ZN38_INTERNAL_417be55c_8_first_cu_063ffdae4leafEPil\n"
        "/src/first.cu:7 _Z12first_middlePil\n"
        "/src/first.cu:10 \n");
  CHECK(at("_Z14first_inliningPil", 0xb0) == "/src/first.cu:11 \n");
  // The second unit's names follow the first unit's names in the same table.
  CHECK(at("_Z15second_inliningPil", 0x70) ==
        "/src/leaf.cuh:2 _ZN39_INTERNAL_2e97d7d1_9_second_cu_0f008dd84leafEPil\n"
        "/src/second.cu:3 _Z13second_middlePil\n"
        "/src/second.cu:10 \n");
  // The call rows of the unit's second kernel are numbered from 1 again.
  CHECK(at("_Z13second_directPil", 0x40) ==
        "/src/leaf.cuh:2 _ZN39_INTERNAL_2e97d7d1_9_second_cu_0f008dd84leafEPil\n"
        "/src/second.cu:6 \n");
  CHECK(at("_Z13second_directPil", 0x180).empty());
}

TEST_CASE("functions that the driver has not loaded own no address") {
  const std::string cubin = sample_cubin();
  Budget budget(1 << 20);
  const DeviceCode code({view(cubin)}, budget);
  CHECK(code.function_at(0) == nullptr);
  CHECK(code.function_at(0x10) == nullptr);
  REQUIRE(code.function_at(kKernelAddress));
  CHECK(code.function_at(kKernelAddress)->name == "_Z6kernelPi");
  REQUIRE(code.function_at(kErrorPc));
  CHECK(code.function_at(kErrorPc)->name == "_Z4deepPi");
  CHECK(code.kernel_at(kErrorPc)->name == "_Z6kernelPi");
  CHECK(code.function_at(kDeepAddress + 0x40)->name == "_Z6kernelPi");
  CHECK(code.function_at(kKernelAddress + 0x100) == nullptr);
  CHECK(budget.damaged() == 0);
}

TEST_CASE("an invalid line table costs only its lines") {
  const std::string good = sample_lines();
  const std::uint64_t addresses[] = {kErrorPc};
  const auto found = [&addresses](const std::string& lines, std::uint64_t damaged) {
    Budget budget(1 << 20);
    const bool any = !chains_at(addresses, view(lines), {}, budget).front().empty();
    CHECK(budget.damaged() == damaged);
    return any;
  };
  CHECK(found(good, 0));
  CHECK(found(good + good, 0));
  const auto changed = [&good](std::size_t offset, char byte) {
    std::string lines = good;
    lines[offset] = byte;
    return lines;
  };
  CHECK_FALSE(found(changed(4, 5), 1));     // a unit of a future version
  CHECK(found(changed(4, 5) + good, 1));    // a unit of a future version, followed by a valid unit
  CHECK_FALSE(found(changed(1, 0x7f), 1));  // a unit longer than its section
  CHECK_FALSE(found(changed(8, 0x7f), 1));  // a header longer than its unit
  CHECK_FALSE(found(changed(13, 0), 1));    // line_range is 0, so using it would divide by zero
  CHECK_FALSE(found(changed(14, 0), 1));    // the number of opcodes is 0
  CHECK_FALSE(found(good.substr(0, good.size() / 2), 1));
}

TEST_CASE("a call that comes after what it inlines ends the chain") {
  std::string lines = sample_lines();
  const std::size_t call = lines.find(std::string("\x90\x06", 2));
  REQUIRE(call != std::string::npos);
  for (const char context : {'\x07', '\x08', '\x7f'}) {
    lines[call + 1] = context;
    Budget budget(1 << 20);
    const std::uint64_t addresses[] = {kErrorPc};
    CHECK(chains_at(addresses, view(lines), {}, budget).front().size() == 1);
  }
}
