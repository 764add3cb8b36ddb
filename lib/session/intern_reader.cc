#include "session/intern_reader.h"

#include <utility>

#include "wire/bytes.h"
#include "wire/intern.h"

namespace cudadiag::session {
namespace {

using wire::intern::Tag;

template <typename T>
T number(std::span<const std::byte> payload, std::size_t offset) {
  T value;
  std::memcpy(&value, payload.data() + offset, sizeof value);
  return value;
}

std::string text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string hex(std::span<const std::byte> bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (const std::byte b : bytes) {
    out += digits[std::to_integer<unsigned>(b) >> 4];
    out += digits[std::to_integer<unsigned>(b) & 15];
  }
  return out;
}

class HeapReader {
 public:
  HeapReader(std::span<const std::byte> heap, ProcessRecord& record) : heap_(heap), record_(record) {}

  InternStrings read() {
    while (!heap_.empty()) {
      if (heap_.size() < wire::intern::kHeaderSize) return give_up();
      const std::uint32_t size = wire::load(heap_.data(), wire::intern::kSize);
      if (size < wire::intern::kHeaderSize || size % 8 != 0 || size > heap_.size()) return give_up();
      const auto tag = static_cast<Tag>(wire::load(heap_.data(), wire::intern::kTag));
      const std::uint16_t count = wire::load(heap_.data(), wire::intern::kCount);
      entry(tag, count, heap_.subspan(wire::intern::kHeaderSize, size - wire::intern::kHeaderSize));
      heap_ = heap_.subspan(size);
    }
    return std::move(strings_);
  }

 private:
  // Without a size that makes sense there is no next entry to be found.
  InternStrings give_up() {
    ++record_.damaged;
    return std::move(strings_);
  }

  // Ids are dense: an entry that makes no sense still takes its place in its table, empty.
  void entry(Tag tag, std::uint16_t count, std::span<const std::byte> payload) {
    switch (tag) {
      case Tag::string:
        return read_string(count, payload);
      case Tag::module:
        return read_module(count, payload);
      case Tag::function:
        return read_function(payload);
      case Tag::code:
        return read_code(count, payload);
      case Tag::python:
        return read_python(count, payload);
      case Tag::native:
        return read_native(count, payload);
      case Tag::site:
        return read_site(payload);
      case Tag::note:
        return read_note(payload);
      case Tag::property:
        return read_property(payload);
    }
    ++record_.damaged;
  }

  bool has(std::span<const std::byte> payload, std::size_t bytes) {
    if (payload.size() >= bytes) return true;
    ++record_.damaged;
    return false;
  }

  std::string string(std::uint32_t id) {
    std::string out;
    if (!strings_.copy(id, out) && id != 0) ++record_.damaged;
    return out;
  }

  template <typename T>
  std::uint32_t reference(const std::vector<T>& table, std::uint32_t id) {
    if (id <= table.size()) return id;
    ++record_.damaged;
    return 0;
  }

  void read_string(std::uint16_t count, std::span<const std::byte> payload) {
    strings_.add(has(payload, count) ? text(payload.first(count)) : std::string());
  }

  void read_module(std::uint16_t count, std::span<const std::byte> payload) {
    Module& module = record_.modules.emplace_back();
    if (!has(payload, 32u + count)) return;
    module.bias = number<std::uint64_t>(payload, 0);
    module.begin = number<std::uint64_t>(payload, 8);
    module.end = number<std::uint64_t>(payload, 16);
    module.path = string(number<std::uint32_t>(payload, 24));
    module.build_id = hex(payload.subspan(32, count));
  }

  void read_function(std::span<const std::byte> payload) {
    std::string& function = record_.functions.emplace_back();
    if (has(payload, 4)) function = string(number<std::uint32_t>(payload, 0));
  }

  void read_code(std::uint16_t count, std::span<const std::byte> payload) {
    Code& code = record_.codes.emplace_back();
    if (!has(payload, 16u + count)) return;
    code.file = string(number<std::uint32_t>(payload, 0));
    code.qualified_name = string(number<std::uint32_t>(payload, 4));
    code.first_line = number<std::uint32_t>(payload, 8);
    code.python_minor = number<std::uint32_t>(payload, 12);
    code.line_table = text(payload.subspan(16, count));
  }

  void read_python(std::uint16_t count, std::span<const std::byte> payload) {
    auto& stack = record_.python_stacks.emplace_back();
    const std::size_t frames = count & ~wire::intern::kTruncated;
    stack.truncated = (count & wire::intern::kTruncated) != 0;
    if (!has(payload, 8 * frames)) return;
    for (std::size_t i = 0; i < frames; ++i) {
      stack.frames.push_back(
          {reference(record_.codes, number<std::uint32_t>(payload, 8 * i)), number<std::uint32_t>(payload, 8 * i + 4)});
    }
  }

  void read_native(std::uint16_t count, std::span<const std::byte> payload) {
    auto& stack = record_.native_stacks.emplace_back();
    const std::size_t frames = count & ~wire::intern::kTruncated;
    stack.truncated = (count & wire::intern::kTruncated) != 0;
    if (!has(payload, 16 * frames)) return;
    for (std::size_t i = 0; i < frames; ++i) {
      stack.frames.push_back({reference(record_.modules, number<std::uint32_t>(payload, 16 * i)),
                              number<std::uint64_t>(payload, 16 * i + 8)});
    }
  }

  void read_site(std::span<const std::byte> payload) {
    Site& site = record_.sites.emplace_back();
    if (!has(payload, 16)) return;
    site.python = reference(record_.python_stacks, number<std::uint32_t>(payload, 0));
    site.native = reference(record_.native_stacks, number<std::uint32_t>(payload, 4));
    site.function = reference(record_.functions, number<std::uint32_t>(payload, 8));
    const auto kind_and_thread = number<std::uint32_t>(payload, 12);
    site.kind = static_cast<wire::operation::Kind>(kind_and_thread & 0xff);
    site.thread = static_cast<std::uint16_t>(kind_and_thread >> 16);
  }

  void read_note(std::span<const std::byte> payload) {
    if (!has(payload, 8)) return;
    std::string code = string(number<std::uint32_t>(payload, 0));
    record_.notes.push_back({std::move(code), string(number<std::uint32_t>(payload, 4))});
  }

  void read_property(std::span<const std::byte> payload) {
    if (!has(payload, 8)) return;
    std::string key = string(number<std::uint32_t>(payload, 0));
    record_.properties[std::move(key)] = string(number<std::uint32_t>(payload, 4));
  }

  std::span<const std::byte> heap_;
  ProcessRecord& record_;
  InternStrings strings_;
};

}  // namespace

bool InternStrings::copy(std::uint32_t id, std::string& out) {
  if (id == 0 || id > strings_.size()) return false;
  const std::string& text = strings_[id - 1];
  if (copied_ + text.size() > kBudget) return false;
  copied_ += text.size();
  out = text;
  return true;
}

InternStrings read_intern_heap(std::span<const std::byte> heap, ProcessRecord& record) {
  return HeapReader(heap, record).read();
}

}  // namespace cudadiag::session
