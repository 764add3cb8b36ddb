#include "analyse/site_keys.h"

#include <charconv>

#include "session/library_paths.h"

namespace cudadiag::analyse {
namespace {

namespace site_key = wire::site_key;
using session::by_id;

std::vector<std::byte> bytes_of_hex(const std::string& text) {
  std::vector<std::byte> bytes;
  for (std::size_t at = 0; at + 1 < text.size(); at += 2) {
    unsigned value = 0;
    std::from_chars(text.data() + at, text.data() + at + 2, value, 16);
    bytes.push_back(static_cast<std::byte>(value));
  }
  return bytes;
}

site_key::Key key_by_id(const std::vector<site_key::Key>& keys, std::uint32_t id) {
  return id == 0 || id > keys.size() ? 0 : keys[id - 1];
}

}  // namespace

SiteKeys::SiteKeys(const session::ProcessRecord& record) : record_(record) {
  for (const session::Code& code : record.codes) {
    codes_.push_back(site_key::of_code(code.file, code.qualified_name, code.first_line, code.line_table));
  }
  for (const session::Module& module : record.modules) {
    modules_.push_back(site_key::of_module(module.path, bytes_of_hex(module.build_id)));
  }
}

site_key::Key SiteKeys::of(session::Site site) const {
  site_key::Key python = 0, native = 0, function = 0;
  if (const auto* stack = by_id(record_.python_stacks, site.python)) {
    site_key::Stack frames;
    for (const session::RawPythonFrame& frame : stack->frames) {
      frames.add_python(key_by_id(codes_, frame.code), frame.offset);
    }
    python = frames.key();
  }
  if (const auto* stack = by_id(record_.native_stacks, site.native)) {
    site_key::Stack frames;
    for (const session::RawNativeFrame& frame : stack->frames) {
      frames.add_native(key_by_id(modules_, frame.module), frame.address);
    }
    native = frames.key();
  }
  if (const auto* name = by_id(record_.functions, site.function)) function = site_key::of_function(*name);
  return site_key::of_site(site.kind, python, native, function);
}

site_key::Key SiteKeys::of_site(std::uint32_t site) const {
  const session::Site* known = by_id(record_.sites, site);
  return known == nullptr ? 0 : of(*known);
}

site_key::Key SiteKeys::of_hooked_site(std::uint32_t site) const {
  const session::Site* known = by_id(record_.sites, site);
  if (known == nullptr) return 0;
  session::Site hooked = *known;
  hooked.native = 0;
  return of(hooked);
}

SiteKeys::Own SiteKeys::own_python(const session::Site& site) const {
  const auto* stack = by_id(record_.python_stacks, site.python);
  if (stack == nullptr) return {};
  Own own;
  own.whole = !stack->truncated;
  site_key::Stack frames;
  for (const session::RawPythonFrame& frame : stack->frames) {
    const session::Code* code = by_id(record_.codes, frame.code);
    own.whole = own.whole && code != nullptr;
    if (code == nullptr || !session::is_python_file_of_users(code->file) || session::is_made_at_run_time(code->file))
      continue;
    frames.add_python(key_by_id(codes_, frame.code), frame.offset);
    own.any = true;
  }
  own.key = frames.key();
  return own;
}

SiteKeys::Own SiteKeys::own_native(const session::Site& site) const {
  const auto* stack = by_id(record_.native_stacks, site.native);
  Own own;
  site_key::Stack frames;
  if (stack != nullptr) {
    own.whole = !stack->truncated;
    for (const session::RawNativeFrame& frame : stack->frames) {
      const session::Module* module = by_id(record_.modules, frame.module);
      if (module == nullptr || !session::is_module_of_users(module->path)) continue;
      frames.add_native(key_by_id(modules_, frame.module), frame.address);
      own.any = true;
    }
  }
  own.key = frames.key();
  return own;
}

site_key::Key SiteKeys::of_own_lines(std::uint32_t site) const {
  const session::Site* known = by_id(record_.sites, site);
  if (known == nullptr) return 0;
  const Own python = own_python(*known), native = own_native(*known);
  if (!python.any || !python.whole || !native.whole) return 0;
  return site_key::of_site(known->kind, python.key, native.key, of_kernel(site));
}

site_key::Key SiteKeys::of_lines(std::uint32_t site) const {
  const session::Site* known = by_id(record_.sites, site);
  if (known == nullptr) return 0;
  const Own python = own_python(*known), native = own_native(*known);
  if ((python.any || native.any) && python.whole && native.whole) {
    return site_key::of_site(known->kind, python.key, native.key, 0);
  }
  session::Site lines = *known;
  lines.function = 0;
  return of(lines);
}

site_key::Key SiteKeys::of_kernel(std::uint32_t site) const {
  const session::Site* known = by_id(record_.sites, site);
  const std::string* name = known == nullptr ? nullptr : by_id(record_.functions, known->function);
  return name == nullptr ? 0 : site_key::of_function(*name);
}

}  // namespace cudadiag::analyse
