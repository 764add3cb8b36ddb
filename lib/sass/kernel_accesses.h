// How the code of a kernel uses the memory that the kernel's parameters point to.
#pragma once

#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

namespace cudadiag::sass {

// How an operation uses memory to which it receives a pointer.
enum class Mode : std::uint8_t {
  unknown,
  none,  // a kernel receives the address but does not access it
  read,
  write,   // may also read
  atomic,  // atomic operations do not race with each other
  // The kernel reads (near_read) or may write (near_write) at some offset from the address.
  near_read,
  near_write,
};

constexpr bool alters(Mode mode) { return mode == Mode::write || mode == Mode::atomic; }
constexpr bool is_near(Mode mode) { return mode == Mode::near_read || mode == Mode::near_write; }

// Kinds of memory access, and kinds of memory.
enum class AccessKind : std::uint8_t { load, store, atomic, copy };
enum class Space : std::uint8_t { global, shared, local, generic };

// Returns the alignment that an access of `bytes` bytes needs. Pass 0 for a bulk copy, whose size is in a register
// (CUDA C++ Programming Guide, asynchronous data copies).
constexpr std::uint32_t alignment_of(std::uint32_t bytes) { return bytes == 0 ? 16 : bytes; }

// The source of an address in the code: the parameter word at `offset` or, if `indexed`, an array of words there.
// `chosen`: all threads may use the same index, so perhaps only one element is used. `shifted`: every thread adds
// something to the word, probably not 0.
struct Origin {
  std::uint32_t offset = 0;
  bool indexed = false, chosen = false, shifted = false;
  auto operator<=>(const Origin&) const = default;
};

// One kind of access to global memory in the code.
struct CodeAccess {
  Mode mode = Mode::read;
  std::vector<Origin> origins;  // all sources that contribute to the address
  bool anywhere = false;        // the address may come from any parameter
  bool other = false;           // on another path, the address has no such source; known only of single instructions
  auto operator<=>(const CodeAccess&) const = default;
};

// A parameter word of a launch that may be a memory address. Words that are not listed are not addresses.
struct LiveWord {
  std::uint32_t offset = 0;
  std::uint32_t same = 0;  // offset of the first word with the same address
  auto operator<=>(const LiveWord&) const = default;
};
using LiveWords = std::vector<LiveWord>;  // sorted by offset; empty if nothing is known about the launch

// A bit for each of the first 32 words (of 4 bytes) of a launch's parameters. The bit is set if the word is 0, even if
// the word is half of a larger number.
using ZeroWords = std::uint32_t;

struct LaunchWords {
  LiveWords live;
  ZeroWords zeros = 0;
  auto operator<=>(const LaunchWords&) const = default;
};

// A use of a texture or surface whose handle is a parameter.
struct HandleUse {
  std::uint32_t parameter = 0;  // offset of the handle
  bool surface = false;
  Mode mode = Mode::read;
  auto operator<=>(const HandleUse&) const = default;
};

struct KernelAccesses {
  bool known = false;  // false if we could not follow the code
  std::set<CodeAccess> accesses;
  std::vector<std::uint32_t> parameters;  // sorted offsets where the parameters begin; empty if unknown
  bool writes_elsewhere = false;          // writes through an address that does not come from a parameter
  std::set<HandleUse> handles{};          // known uses of textures and surfaces

  // Returns how the code uses the memory to which the word at `parameter` points. Returns unknown if it is unclear
  // through which word, or through which element of an array, the code writes. If `live` is not empty, ignores words
  // that it does not list, and words that repeat an address.
  Mode mode(std::uint32_t parameter, const LiveWords& live = {}) const;
};

// The location of a kernel's parameters in constant bank 0, in bytes.
struct ParameterBank {
  std::uint32_t offset = 0, size = 0;
};

// Whether functions in other files, and functions called through pointers, may change memory to which they receive
// pointers.
enum class Calls { anything, harmless };

// In the text of code, this modifier marks an instruction with an immediate that is known only once the code is loaded,
// such as the address of a variable: "MOV.RELOCATED R2, 0x0". The disassembler prints 0 for it.
inline constexpr std::string_view kRelocated = "RELOCATED";

// Finds which parameters a kernel's machine code uses as addresses of global memory. Reads nvdisasm's text, and follows
// each parameter from the constant bank through registers to the instructions that access memory.
//
// Where paths meet, the possible origins of a register are merged, so no origin of an address is missed. An address
// loaded from memory has no origin, so accesses through it are missed.
//
// The tensor memory accelerator (sm_90 and later) receives the address of a descriptor. The first 8 bytes of the
// descriptor are the address of the memory. Constant bank 0 contains its own address and the address of the parameters.
// Code adds the offset of a descriptor to one of these addresses. The accelerator's access is then attributed to the
// parameter word at that offset.
//
// `zeros` are the words of the launch's parameters to treat as zero. The result is unknown if the text is empty or too
// long.
KernelAccesses read_sass(std::string_view text, ParameterBank bank, Calls calls = Calls::anything, ZeroWords zeros = 0);

}  // namespace cudadiag::sass
