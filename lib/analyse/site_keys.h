// Identifies the call sites of a recorded process across runs (wire/site_key.h).
#pragma once

#include <cstdint>
#include <vector>

#include "session/process_record.h"
#include "wire/site_key.h"

namespace cudadiag::analyse {

class SiteKeys {
 public:
  // `record` must outlive this object.
  explicit SiteKeys(const session::ProcessRecord& record);

  // Returns 0 for an unknown site.
  wire::site_key::Key of_site(std::uint32_t site) const;
  // Like of_site(), but ignores the native stack. Sites of the Python hook have none (lib/record/python/hook_loader.h),
  // so this key also matches in a run with the hook.
  wire::site_key::Key of_hooked_site(std::uint32_t site) const;
  // Returns the key of the program's own lines that lead to this kernel, ignoring libraries between them. Returns 0 if
  // there are none, or some are unknown.
  wire::site_key::Key of_own_lines(std::uint32_t site) const;
  // Returns the key of the program's innermost own frame, Python or native, regardless of its callers and of where its
  // files are installed. Returns 0 if there is none or it is unknown.
  wire::site_key::Key of_innermost(std::uint32_t site) const;
  // Returns the key of the kernel that is launched at the site; 0 if there is none.
  wire::site_key::Key of_kernel(std::uint32_t site) const;

 private:
  wire::site_key::Key of(session::Site site) const;
  wire::site_key::Key innermost_python(const session::Site& site) const;
  wire::site_key::Key innermost_native(const session::Site& site) const;

  const session::ProcessRecord& record_;
  std::vector<wire::site_key::Key> codes_, modules_;  // by id - 1
};

}  // namespace cudadiag::analyse
