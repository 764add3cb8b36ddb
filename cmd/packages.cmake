# Lists the installed files, and packs them as a tarball, .deb and .rpm. `./dev package` builds these and the wheel.
# The command expects the recorder in lib/cudadiag next to its own folder.
install(TARGETS cudadiag DESTINATION bin)
install(TARGETS cudadiag_record cudadiag_preload DESTINATION lib/cudadiag)
install(FILES LICENSE README.md CHANGELOG.md lib/python/cudadiag/SKILL.md DESTINATION share/doc/cudadiag)
foreach(section 1 5 7)
  file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/man/*.${section})
  install(FILES ${pages} DESTINATION share/man/man${section})
endforeach()

set(completions "")
foreach(shell bash zsh fish)
  set(file ${PROJECT_BINARY_DIR}/completions/cudadiag.${shell})
  add_custom_command(OUTPUT ${file} COMMAND cudadiag completion ${shell} > ${file} DEPENDS cudadiag)
  list(APPEND completions ${file})
endforeach()
set(schema ${PROJECT_BINARY_DIR}/report.schema.json)
add_custom_command(OUTPUT ${schema} COMMAND cudadiag report --schema > ${schema} DEPENDS cudadiag)
install(FILES ${schema} DESTINATION share/cudadiag)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/completions)
add_custom_target(completions ALL DEPENDS ${completions} ${schema})
install(FILES ${PROJECT_BINARY_DIR}/completions/cudadiag.bash
  DESTINATION share/bash-completion/completions RENAME cudadiag)
install(FILES ${PROJECT_BINARY_DIR}/completions/cudadiag.zsh DESTINATION share/zsh/site-functions RENAME _cudadiag)
install(FILES ${PROJECT_BINARY_DIR}/completions/cudadiag.fish DESTINATION share/fish/vendor_completions.d)

# The folder that third_party/licences.py writes: the licence texts of all linked libraries, and a list of these
# libraries.
set(CUDADIAG_LICENCES "" CACHE PATH "Folder with licence texts and sbom.json to install")
if(CUDADIAG_LICENCES)
  install(DIRECTORY ${CUDADIAG_LICENCES}/ DESTINATION share/doc/cudadiag/third_party)
endif()

set(CPACK_PACKAGE_VENDOR cudadiag)
set(CPACK_PACKAGE_CONTACT "cudadiag")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "names the operation and the source line of a CUDA failure")
set(CPACK_PACKAGE_FILE_NAME cudadiag-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
if(CMAKE_CROSSCOMPILING)
  # CPack defaults to the architecture of the build machine.
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
  set(CPACK_RPM_PACKAGE_ARCHITECTURE ${CMAKE_SYSTEM_PROCESSOR})
endif()
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.28)")
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE Apache-2.0)
set(CPACK_RPM_SPEC_MORE_DEFINE "%define _build_id_links none")
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr/share/man /usr/share/man/man1 /usr/share/man/man5
  /usr/share/man/man7 /usr/share/doc /usr/share/zsh /usr/share/zsh/site-functions /usr/share/fish
  /usr/share/fish/vendor_completions.d /usr/share/bash-completion /usr/share/bash-completion/completions)
include(CPack)
