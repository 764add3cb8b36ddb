#include "analyse/site_keys.h"

#include <string_view>

#include "base/text.h"
#include "session/user_or_library.h"

namespace cudadiag::analyse {
namespace {

namespace site_key = wire::site_key;
using session::by_id;

std::vector<std::byte> build_id_of(const session::Module& module) {
  return base::bytes_of_hex(module.build_id).value_or(std::vector<std::byte>());
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
    modules_.push_back(site_key::of_module(module.path, build_id_of(module)));
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

site_key::Key SiteKeys::of_own_lines(std::uint32_t site) const {
  const session::Site* known = by_id(record_.sites, site);
  const auto* python = known == nullptr ? nullptr : by_id(record_.python_stacks, known->python);
  if (python == nullptr || python->truncated) return 0;
  site_key::Stack own_python, own_native;
  bool any = false;
  for (const session::RawPythonFrame& frame : python->frames) {
    const session::Code* code = by_id(record_.codes, frame.code);
    if (code == nullptr) return 0;
    if (!session::is_python_file_of_users(code->file) || session::is_made_at_run_time(code->file)) continue;
    own_python.add_python(key_by_id(codes_, frame.code), frame.offset);
    any = true;
  }
  const auto* native = by_id(record_.native_stacks, known->native);
  if (!any || (native != nullptr && native->truncated)) return 0;
  for (std::size_t i = 0; native != nullptr && i < native->frames.size(); ++i) {
    const session::RawNativeFrame& frame = native->frames[i];
    const session::Module* module = by_id(record_.modules, frame.module);
    if (module == nullptr || !session::is_module_of_users(module->path)) continue;
    own_native.add_native(key_by_id(modules_, frame.module), frame.address);
  }
  return site_key::of_site(known->kind, own_python.key(), own_native.key(), of_kernel(site));
}

site_key::Key SiteKeys::innermost_python(const session::Site& site) const {
  const auto* stack = by_id(record_.python_stacks, site.python);
  if (stack == nullptr) return 0;
  for (const session::RawPythonFrame& frame : stack->frames) {
    const session::Code* code = by_id(record_.codes, frame.code);
    if (code == nullptr) return 0;
    if (!session::is_python_file_of_users(code->file) || session::is_made_at_run_time(code->file)) continue;
    site_key::Stack own;
    own.add_python(
        site_key::of_code(base::file_name(code->file), code->qualified_name, code->first_line, code->line_table),
        frame.offset);
    return own.key();
  }
  return 0;
}

site_key::Key SiteKeys::innermost_native(const session::Site& site) const {
  const auto* stack = by_id(record_.native_stacks, site.native);
  if (stack == nullptr) return 0;
  for (const session::RawNativeFrame& frame : stack->frames) {
    const session::Module* module = by_id(record_.modules, frame.module);
    if (module == nullptr || !session::is_module_of_users(module->path)) continue;
    site_key::Stack own;
    own.add_native(site_key::of_module(base::file_name(module->path), build_id_of(*module)), frame.address);
    return own.key();
  }
  return 0;
}

site_key::Key SiteKeys::of_innermost(std::uint32_t site) const {
  const session::Site* known = by_id(record_.sites, site);
  if (known == nullptr) return 0;
  const site_key::Key python = innermost_python(*known), native = innermost_native(*known);
  return python == 0 && native == 0 ? 0 : site_key::of_site(known->kind, python, native, 0);
}

site_key::Key SiteKeys::of_kernel(std::uint32_t site) const {
  const std::string* name = session::kernel_at(record_, site);
  return name == nullptr ? 0 : site_key::of_function(*name);
}

}  // namespace cudadiag::analyse
