#include "record/python/python_stack.h"

#include <dlfcn.h>
#include <string.h>

#include <array>
#include <iterator>
#include <utility>

#include "record/libc_substitutes.h"
#include "wire/hash.h"

namespace cudadiag::record {

using wire::hash_bytes;
using wire::kHashSeed;
using wire::mix;
using namespace wire::python;

namespace {

constexpr char kOtherLayout[] =
    "Python stacks are off: this interpreter's frame layout differs from that of its CPython release";

const std::byte* pointer(const std::byte* object, std::size_t offset) {
  return read_field<const std::byte*>(object, static_cast<std::ptrdiff_t>(offset));
}

template <typename Function>
bool resolve(Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

std::size_t append_utf8(char* out, std::uint32_t point) {
  if (point < 0x80) {
    out[0] = static_cast<char>(point);
    return 1;
  }
  std::size_t bytes = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  const std::uint32_t lead = bytes == 2 ? 0xc0 : bytes == 3 ? 0xe0 : 0xf0;
  for (std::size_t i = bytes - 1; i > 0; --i, point >>= 6) out[i] = static_cast<char>(0x80 | (point & 0x3f));
  out[0] = static_cast<char>(lead | point);
  return bytes;
}

struct Text {
  const std::byte* data;
  std::size_t length;
  std::uint32_t kind;  // bytes per character
  bool is_compact, is_ascii;
};

inline Text text_of(const std::byte* string, const PythonLayout& layout) {
  const std::uint32_t state = read_field<std::uint32_t>(string, kStringState);
  // The fields, from the lowest bit on: interned (2 bits), kind (3), compact (1), ascii (1).
  const bool is_compact = (state >> 5 & 1) != 0, is_ascii = (state >> 6 & 1) != 0;
  return {string + (is_ascii ? layout.ascii_header : layout.compact_header),
          read_field<std::size_t>(string, kStringLength), state >> 2 & 7, is_compact, is_ascii};
}

// Returns the text of a compact string as UTF-8. Returns an empty text for other strings, which code objects never
// contain.
std::string_view read_string(const std::byte* string, const PythonLayout& layout, std::span<char> buffer) {
  const auto [data, length, kind, is_compact, is_ascii] = text_of(string, layout);
  if (!is_compact || (kind != 1 && kind != 2 && kind != 4)) return {};
  std::size_t used = 0;
  for (std::size_t i = 0; i < length && used + 4 <= buffer.size(); ++i) {
    const std::uint32_t point = kind == 1   ? read_field<std::uint8_t>(data, i)
                                : kind == 2 ? read_field<std::uint16_t>(data, i * 2)
                                            : read_field<std::uint32_t>(data, i * 4);
    // If a path is not valid UTF-8, Python stores each invalid byte as a character in this range (surrogateescape).
    if (point >= 0xdc80 && point <= 0xdcff) {
      buffer[used++] = static_cast<char>(point & 0xff);
    } else {
      used += append_utf8(buffer.data() + used, point);
    }
  }
  return {buffer.data(), used};
}

// Returns the last eight bytes of a text as a number. The last byte becomes the lowest, because the lowest byte
// influences the sum the most. For a text of fewer than eight bytes, the result includes earlier bytes of the same
// object.
std::uint64_t tail(const std::byte* data, std::size_t size) {
  return __builtin_bswap64(read_field<std::uint64_t>(data, static_cast<std::ptrdiff_t>(size) - 8));
}

[[gnu::always_inline]] inline std::uint64_t tail_of_string(const std::byte* string, const PythonLayout& layout) {
  const Text text = text_of(string, layout);
  return tail(text.data, text.is_ascii ? text.length : text.length * text.kind);
}

// Distinguishes code objects that occupy the same memory one after another. Their line tables, file names and function
// names may also have the same addresses, so the contents are hashed.
[[gnu::always_inline]] inline std::uint64_t identity(const std::byte* code, const PythonLayout& layout) {
  if (layout.code_version >= 0) return read_field<std::uint32_t>(code, layout.code_version);
  const std::byte* table = pointer(code, layout.code_line_table);
  const auto size = read_field<std::size_t>(table, kBytesSize);
  // The first word is the table's hash if the table was compiled in this process (3.10, 3.11). Otherwise, it is -1.
  return wire::sum_of(
      read_field<std::uint64_t>(table, kBytesHash), tail(table + kBytesData, size),
      tail(table + kBytesData, size < 8 ? size : 8), read_field<std::uint32_t>(code, layout.code_first_line),
      tail_of_string(pointer(code, layout.code_file), layout), tail_of_string(pointer(code, layout.code_name), layout));
}

}  // namespace

struct PythonStacks::Walk {
  std::size_t frames = 0;
  std::uint64_t sum = 0;
  bool truncated = false;

  [[gnu::always_inline]] void add(const std::byte* code, std::uintptr_t instruction, const PythonLayout& layout) {
    ++frames;
    sum = sum * wire::kSumFactor +
          wire::sum_of(reinterpret_cast<std::uint64_t>(code), instruction, identity(code, layout));
  }
};

struct PythonStacks::Frames {
  std::array<const std::byte*, kFrames> codes;
  std::array<std::uintptr_t, kFrames> instructions;  // byte offset, or address in the bytecode
};

bool PythonStacks::is_loaded() { return dlsym(RTLD_DEFAULT, "Py_GetVersion") != nullptr; }

bool PythonStacks::start(Interner& interner, const PythonHook& hook) {
  const char* (*version)() = nullptr;
  if (!resolve(version, "Py_GetVersion") || !resolve(this_thread_state_, "PyGILState_GetThisThreadState") ||
      !resolve(is_initialized_, "Py_IsInitialized") || !resolve(code_type_, "PyCode_Type") ||
      !resolve(string_type_, "PyUnicode_Type") || !resolve(bytes_type_, "PyBytes_Type")) {
    return false;
  }
  resolve(newest_interpreter_, "PyInterpreterState_Head");
  resolve(main_interpreter_, "PyInterpreterState_Main");
  interner_ = &interner;
  hook_ = &hook;
  interpreter_ = reinterpret_cast<std::uintptr_t>(version);
  const char* text = version();
  const char* name_end = strchr(text, ' ');
  interner.property("python", {text, name_end ? static_cast<std::size_t>(name_end - text) : strlen(text)});
  if (strstr(text, "free-threading") != nullptr) {
    give_up("Python stacks are off: free-threaded builds of CPython keep bytecode per thread");
    return false;
  }
  for (const PythonLayout& layout : kPythonLayouts) {
    if (strncmp(text, "3.", 2) == 0 && leading_number(text + 2) == layout.minor) layout_ = &layout;
  }
  if (layout_ == nullptr) {
    give_up("Python stacks are off: cudadiag supports only CPython 3.9 to 3.14");
  } else if (!agrees_with_runtime()) {
    give_up(kOtherLayout);
  } else {
    trust_.store(Trust::unproven, std::memory_order_release);
  }
  return trust_.load(std::memory_order_relaxed) != Trust::none;
}

void PythonStacks::adopt(const PythonStacks& parent, Interner& interner, const PythonHook& hook) {
  interner_ = &interner;
  hook_ = &hook;
  layout_ = parent.layout_;
  interpreter_ = parent.interpreter_;
  this_thread_state_ = parent.this_thread_state_;
  is_initialized_ = parent.is_initialized_;
  newest_interpreter_ = parent.newest_interpreter_;
  main_interpreter_ = parent.main_interpreter_;
  code_type_ = parent.code_type_;
  string_type_ = parent.string_type_;
  bytes_type_ = parent.bytes_type_;
  trust_.store(parent.trust_.load());
}

// Changes nothing that a walk uses, because other threads may be in the middle of a walk.
void PythonStacks::give_up(const char* why) {
  trust_.store(Trust::none, std::memory_order_relaxed);
  interner_->note("python-stacks-off", why);
}

std::uint32_t PythonStacks::current() {
  const Trust trust = trust_.load(std::memory_order_acquire);
  if (trust == Trust::none || is_initialized_() == 0) return 0;
  const std::byte* thread = this_thread_state_();
  if (thread == nullptr) return 0;
  if (trust == Trust::unproven) {
    switch (prove(thread)) {
      case Proof::none_yet:
        return 0;
      case Proof::refuted:
        give_up(kOtherLayout);
        return 0;
      case Proof::holds:
        Trust expected = Trust::unproven;  // another thread may have given up
        trust_.compare_exchange_strong(expected, Trust::proven, std::memory_order_relaxed);
    }
  }
  if (are_several()) {
    give_up(
        "Python stacks are off: before CPython 3.12, cudadiag cannot tell the stacks of several interpreters apart");
    return 0;
  }
  const std::byte* frame = innermost(thread);
  Walk found;
  Frames frames;
  const auto keep = [&](std::size_t at, const std::byte* code, std::uintptr_t instruction) {
    frames.codes[at] = code;
    frames.instructions[at] = instruction;
  };
  if (frame == nullptr || !walk(frame, found, keep)) return 0;
  return find_or_intern(found, frames);
}

std::uint32_t PythonStacks::find_or_intern(const Walk& walk, const Frames& found) {
  if (walk.frames == 0) return 0;
  const std::uint64_t key = mix(kHashSeed, walk.sum);
  if (const std::uint32_t id = interner_->find_python_stack(key)) return id;
  return intern(key, walk, found);
}

std::uint32_t PythonStacks::of_traceback(std::span<const TracedFrame> traced) {
  const Trust trust = trust_.load(std::memory_order_acquire);
  if (trust == Trust::none) return 0;
  Walk found;
  Frames frames;
  for (const TracedFrame& frame : traced.first(traced.size() < kFrames ? traced.size() : kFrames)) {
    const auto* code = static_cast<const std::byte*>(frame.code);
    const std::uintptr_t start =
        layout_->instruction_is_index ? 0 : reinterpret_cast<std::uintptr_t>(code) + layout_->code_bytecode;
    const std::uintptr_t instruction = start + static_cast<std::uintptr_t>(std::intptr_t{frame.offset});
    if (trust == Trust::unproven && !is_code(code, instruction, false)) return 0;
    frames.codes[found.frames] = code;
    frames.instructions[found.frames] = instruction;
    found.add(code, instruction, *layout_);
  }
  return find_or_intern(found, frames);
}

bool PythonStacks::are_several() const {
  return layout_->minor < 12 && newest_interpreter_ != nullptr && main_interpreter_ != nullptr &&
         newest_interpreter_() != main_interpreter_();
}

bool PythonStacks::fingerprint(std::uint64_t& sum) const {
  const Trust trust = trust_.load(std::memory_order_acquire);
  sum = 0;
  if (trust == Trust::unproven) return false;
  if (trust == Trust::none || is_initialized_() == 0) return true;
  const std::byte* thread = this_thread_state_();
  const std::byte* frame = thread == nullptr ? nullptr : innermost(thread);
  Walk found;
  const auto no_more = [](std::size_t, const std::byte*, std::uintptr_t) {};
  if (frame != nullptr && walk(frame, found, no_more) && found.frames > 0) sum = found.sum;
  return true;
}

const std::byte* PythonStacks::innermost(const std::byte* thread) const {
  const std::byte* frame = pointer(thread, layout_->thread_frame);
  if (layout_->cframe_frame < 0 || frame == nullptr) return frame;
  return pointer(frame, static_cast<std::size_t>(layout_->cframe_frame));
}

template <typename Visit>
bool PythonStacks::walk(const std::byte* frame, Walk& found, Visit visit) const {
  constexpr std::size_t kNewest = std::size(kPythonLayouts) - 1;
  // Instantiates the walk for each layout, so that all offsets are constants. The newest layout comes first.
  bool walked = false;
  const auto walk_by_each = [&]<std::size_t... i>(std::index_sequence<i...>) {
    const auto index = static_cast<std::size_t>(layout_ - kPythonLayouts);
    static_cast<void>(((index == kNewest - i && (walked = walk_by<kNewest - i>(frame, found, visit), true)) || ...));
  };
  walk_by_each(std::make_index_sequence<kNewest + 1>());
  return walked;
}

template <std::size_t kLayout, typename Visit>
bool PythonStacks::walk_by(const std::byte* frame, Walk& found, Visit visit) const {
  constexpr const PythonLayout& layout = kPythonLayouts[kLayout];
  Walk walk;  // stays in registers
  const bool hooked = hook_->asked();
  for (; frame != nullptr; frame = pointer(frame, layout.frame_previous)) {
    if (layout.frame_owner >= 0 && read_field<unsigned char>(frame, layout.frame_owner) >= kFirstShimOwner) {
      continue;
    }
    if (walk.frames == kFrames) {
      walk.truncated = true;
      break;
    }
    const std::byte* code = unmarked(pointer(frame, layout.frame_code));
    if (code == nullptr) return false;
    if (hooked && hook_->is_own_file(pointer(code, layout.code_file))) continue;
    const std::uintptr_t instruction =
        layout.instruction_is_index
            ? static_cast<std::uintptr_t>(read_field<int>(frame, layout.frame_instruction) * layout.index_scale)
            : read_field<std::uintptr_t>(frame, layout.frame_instruction);
    visit(walk.frames, code, instruction);
    walk.add(code, instruction, layout);
  }
  found = walk;
  return true;
}

std::uint32_t PythonStacks::intern(std::uint64_t key, const Walk& walk, const Frames& found) {
  std::array<PythonFrame, kFrames> frames;
  for (std::size_t i = 0; i < walk.frames; ++i) {
    const std::byte* code = found.codes[i];
    // If the layout is wrong, this pointer does not point to a code object.
    if (!looks_like_code(code)) {
      give_up(kOtherLayout);
      return 0;
    }
    std::uintptr_t offset = found.instructions[i];
    if (!layout_->instruction_is_index) {
      const std::uintptr_t start = reinterpret_cast<std::uintptr_t>(code) + layout_->code_bytecode;
      offset = offset < start ? 0 : offset - start;
    }
    frames[i] = {intern_code(code), static_cast<std::uint32_t>(offset)};
  }
  return interner_->python_stack(key, {frames.data(), walk.frames}, walk.truncated);
}

bool PythonStacks::looks_like_code(const std::byte* code) const {
  return pointer(code, kObjectType) == code_type_ &&
         pointer(pointer(code, layout_->code_file), kObjectType) == string_type_ &&
         pointer(pointer(code, layout_->code_name), kObjectType) == string_type_;
}

std::uint32_t PythonStacks::intern_code(const std::byte* code) {
  const std::byte* table = pointer(code, layout_->code_line_table);
  const auto first_line = read_field<std::uint32_t>(code, layout_->code_first_line);
  struct Names {
    std::array<char, 4096> file, name;
  };
  const Scratch<Names> names;
  if (!names) return 0;
  CodeObject object = {read_string(pointer(code, layout_->code_file), *layout_, names->file),
                       read_string(pointer(code, layout_->code_name), *layout_, names->name),
                       {reinterpret_cast<const char*>(table + kBytesData), read_field<std::size_t>(table, kBytesSize)},
                       first_line,
                       static_cast<std::uint32_t>(layout_->minor)};
  // Truncates the table, because its length is stored in 16 bits. Longer tables belong to generated code with thousands
  // of lines.
  object.line_table = object.line_table.substr(0, wire::intern::kLongestLineTable);
  std::uint64_t key = mix(hash_bytes(object.file.data(), object.file.size()), first_line);
  key = mix(key, hash_bytes(object.qualified_name.data(), object.qualified_name.size()));
  key = mix(key, hash_bytes(object.line_table.data(), object.line_table.size()));
  if (const std::uint32_t id = interner_->find_code(key)) return id;
  return interner_->code(key, object);
}

}  // namespace cudadiag::record
