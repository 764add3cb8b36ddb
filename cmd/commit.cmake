# Writes FILE, a source file that defines kCommit, unless FILE is already up to date. kCommit is GIVEN or, if that is
# empty, the commit that git reports for SOURCE.
set(commit "${GIVEN}")
if(NOT commit)
  execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=10 --exclude=*
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT commit)
  set(commit unknown)
endif()
set(text "#include \"command_line.h\"\nconst char* const cudadiag::command::kCommit = \"${commit}\";\n")
if(EXISTS ${FILE})
  file(READ ${FILE} before)
endif()
if(NOT "${before}" STREQUAL "${text}")
  file(WRITE ${FILE} "${text}")
endif()
