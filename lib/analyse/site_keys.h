// The sites of a recorded process as other runs have them too (wire/rerun/site_key.h).
#pragma once

#include <cstdint>
#include <vector>

#include "session/process_record.h"
#include "wire/rerun/site_key.h"

namespace cudadiag::analyse {

class SiteKeys {
 public:
  // `record` must outlive this.
  explicit SiteKeys(const session::ProcessRecord& record);

  // 0 for a site that is not known.
  wire::site_key::Key of_site(std::uint32_t site) const;
  // Without the native stack: of a site inside the Python hook, which has none (lib/record/python_hook.h).
  wire::site_key::Key of_hooked_site(std::uint32_t site) const;
  // The key of the program's own lines on the way to this kernel, whatever libraries are between them. 0: there are
  // none, or not all of them are known.
  wire::site_key::Key of_own_lines(std::uint32_t site) const;
  // The key of the innermost of the program's own frames, Python or native, wherever its files are and whatever called
  // it. 0: it has none, or it is not known which.
  wire::site_key::Key of_innermost(std::uint32_t site) const;
  // The key of the kernel that is launched there; 0: none.
  wire::site_key::Key of_kernel(std::uint32_t site) const;

 private:
  wire::site_key::Key of(session::Site site) const;
  wire::site_key::Key innermost_python(const session::Site& site) const;
  wire::site_key::Key innermost_native(const session::Site& site) const;

  const session::ProcessRecord& record_;
  std::vector<wire::site_key::Key> codes_, modules_;  // by id - 1
};

}  // namespace cudadiag::analyse
