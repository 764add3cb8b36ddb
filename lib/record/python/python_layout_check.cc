// The first walk over an interpreter's frames, which checks everything that it reads.
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "record/python/python_stack.h"

namespace cudadiag::record {

using namespace wire::python;

namespace {

// Reads memory with a system call, which fails if the memory is unreadable. Reads the memory directly if the system
// call is not permitted.
bool read_bytes(const std::byte* from, void* to, std::size_t size) {
  if (reinterpret_cast<std::uintptr_t>(from) < 4096) return false;
  iovec local{to, size}, remote{const_cast<std::byte*>(from), size};
  const ssize_t copied = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
  if (copied == static_cast<ssize_t>(size)) return true;
  if (copied >= 0 || errno == EFAULT) return false;
  memcpy(to, from, size);
  return true;
}

template <typename T>
bool read(const std::byte* object, std::size_t offset, T& value) {
  return read_bytes(object + offset, &value, sizeof value);
}

}  // namespace

bool PythonStacks::is_a(const std::byte* object, const std::byte* type) const {
  const std::byte* found = nullptr;
  return read(object, kObjectType, found) && found == type;
}

bool PythonStacks::is_code(const std::byte* code, std::uintptr_t instruction, bool calling) const {
  const PythonLayout& layout = *layout_;
  const std::byte *file = nullptr, *name = nullptr, *table = nullptr;
  if (!is_a(code, code_type_) || !read(code, layout.code_file, file) || !is_a(file, string_type_) ||
      !read(code, layout.code_name, name) || !is_a(name, string_type_) || !read(code, layout.code_line_table, table) ||
      !is_a(table, bytes_type_)) {
    return false;
  }
  std::size_t size = 0;
  if (layout.instruction_is_index) {
    const std::byte* bytecode = nullptr;
    if (!read(code, kIndexedBytecode, bytecode) || !is_a(bytecode, bytes_type_) || !read(bytecode, kBytesSize, size)) {
      return false;
    }
  } else {
    if (!read(code, kObjectSize, size)) return false;
    size *= 2;
    instruction -= reinterpret_cast<std::uintptr_t>(code) + layout.code_bytecode;
  }
  const auto offset = static_cast<std::intptr_t>(instruction);
  // In a frame that has not started, the current instruction is the one before the first.
  return offset >= (calling ? 2 : -2) && offset < static_cast<std::intptr_t>(size);
}

PythonStacks::Proof PythonStacks::prove(const std::byte* thread) const {
  const PythonLayout& layout = *layout_;
  const std::byte* frame = nullptr;
  if (!read(thread, layout.thread_frame, frame)) return Proof::refuted;
  if (layout.cframe_frame >= 0 && frame != nullptr &&
      !read(frame, static_cast<std::size_t>(layout.cframe_frame), frame)) {
    return Proof::refuted;
  }
  std::size_t codes = 0;
  for (std::size_t i = 0; frame != nullptr && i < kFrames; ++i) {
    unsigned char owner = 0;
    if (layout.frame_owner >= 0 &&
        (!read(frame, static_cast<std::size_t>(layout.frame_owner), owner) || owner > kLastOwner)) {
      return Proof::refuted;
    }
    if (owner < kFirstShimOwner) {
      const std::byte* code = nullptr;
      std::uintptr_t instruction = 0;
      if (!read(frame, layout.frame_code, code)) return Proof::refuted;
      if (layout.instruction_is_index) {
        int index = 0;
        if (!read(frame, layout.frame_instruction, index)) return Proof::refuted;
        instruction = static_cast<std::uintptr_t>(std::intptr_t{index} * layout.index_scale);
      } else if (!read(frame, layout.frame_instruction, instruction)) {
        return Proof::refuted;
      }
      if (!is_code(unmarked(code), instruction, codes == 0)) return Proof::refuted;
      ++codes;
    }
    if (!read(frame, layout.frame_previous, frame)) return Proof::refuted;
  }
  return codes > 0 ? Proof::holds : Proof::none_yet;
}

// Compares the layout with the table of offsets in CPython 3.13 and later.
bool PythonStacks::agrees_with_runtime() const {
  const auto* runtime = static_cast<const std::byte*>(dlsym(RTLD_DEFAULT, "_PyRuntime"));
  for (const OffsetTable& table : kOffsetTables) {
    if (table.minor != layout_->minor || runtime == nullptr) continue;
    const auto says = [&](std::size_t at, std::size_t offset) {
      std::uint64_t value = 0;
      return read(runtime, at, value) && value == offset;
    };
    char cookie[sizeof kOffsetCookie] = {};
    std::uint64_t version = 0;
    return read_bytes(runtime, cookie, sizeof kOffsetCookie - 1) && strcmp(cookie, kOffsetCookie) == 0 &&
           read(runtime, 8, version) && version >> 16 == (0x300u | static_cast<unsigned>(layout_->minor)) &&
           says(16, 0) &&  // the build is not free-threaded
           says(table.thread_state + 32, layout_->thread_frame) && says(table.frame + 8, layout_->frame_previous) &&
           says(table.frame + 16, layout_->frame_code) && says(table.frame + 24, layout_->frame_instruction) &&
           says(table.frame + 40, static_cast<std::size_t>(layout_->frame_owner)) &&
           says(table.code + 8, layout_->code_file) && says(table.code + 24, layout_->code_name) &&
           says(table.code + 32, layout_->code_line_table) && says(table.code + 40, layout_->code_first_line) &&
           says(table.code + 72, layout_->code_bytecode);
  }
  return true;
}

}  // namespace cudadiag::record
