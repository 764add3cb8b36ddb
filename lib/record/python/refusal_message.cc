#include "record/python/refusal_message.h"

#include "wire/error.h"

namespace cudadiag::record {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Removes a number such as "1,572,864,000" from the beginning of the text, and returns it.
std::uint64_t take_number(std::string_view& text) {
  std::uint64_t number = 0;
  while (!text.empty() && (is_digit(text.front()) || text.front() == ',')) {
    if (text.front() != ',') number = number * 10 + static_cast<std::uint64_t>(text.front() - '0');
    text.remove_prefix(1);
  }
  return number;
}

// Removes everything up to the end of `phrase`. Returns false if the text does not contain it.
bool skip_past(std::string_view& text, std::string_view phrase) {
  const std::size_t at = text.find(phrase);
  if (at == text.npos) return false;
  text.remove_prefix(at + phrase.size());
  return true;
}

// Reads "34359738368 bytes", "32.00GiB" or "24.69GiB (26508001280B)".
std::uint64_t take_size(std::string_view text) {
  const std::uint64_t whole = take_number(text);
  std::uint64_t hundredths = 0;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    for (std::uint64_t weight = 10; !text.empty() && is_digit(text.front()); weight /= 10, text.remove_prefix(1)) {
      hundredths += weight * static_cast<std::uint64_t>(text.front() - '0');
    }
  }
  constexpr std::string_view kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  int shift = 0;
  for (int i = 0; i < 5; ++i) {
    if (text.starts_with(kUnits[i])) shift = 10 * (i + 1);
  }
  if (shift != 0) text.remove_prefix(kUnits[0].size());
  if (text.starts_with(" (") && text.size() > 2 && is_digit(text[2])) {
    text.remove_prefix(2);
    const std::uint64_t exact = take_number(text);
    if (text.starts_with("B)")) return exact;
  }
  return (whole << shift) + (hundredths << shift) / 100;
}

RefusedRequest of_cupy(std::string_view message) {
  if (!skip_past(message, "Out of memory allocating ")) return {};
  const std::uint64_t bytes = take_number(message);
  if (!skip_past(message, "allocated so far: ")) return {};
  const std::uint64_t held = take_number(message);
  if (!skip_past(message, "limit set to: ")) return {};
  const std::uint64_t limit = take_number(message);
  return held + bytes > limit ? RefusedRequest{wire::error::kCuPyPool, bytes} : RefusedRequest{};
}

RefusedRequest of_jax(std::string_view message) {
  if (!message.starts_with("RESOURCE_EXHAUSTED: ")) return {};
  for (const std::string_view phrase : {"Out of memory while trying to allocate ", "Failed to allocate request for "}) {
    std::string_view rest = message;
    if (!skip_past(rest, phrase)) continue;
    const std::uint64_t bytes = take_size(rest);
    return bytes == 0 ? RefusedRequest{} : RefusedRequest{wire::error::kJaxPool, bytes};
  }
  return {};
}

}  // namespace

Refuser refuser_of(std::string_view module, std::string_view type) {
  if (module == "cupy.cuda.memory" && type == "OutOfMemoryError") return Refuser::cupy;
  // Older versions of JAX raise jaxlib.xla_extension.XlaRuntimeError.
  const bool of_xla = type == "JaxRuntimeError" || type == "XlaRuntimeError";
  return of_xla && module.starts_with("jax") ? Refuser::jax : Refuser::none;
}

RefusedRequest refused_request(Refuser refuser, std::string_view message) {
  switch (refuser) {
    case Refuser::none:
      return {};
    case Refuser::cupy:
      return of_cupy(message);
    case Refuser::jax:
      return of_jax(message);
  }
  return {};
}

}  // namespace cudadiag::record
