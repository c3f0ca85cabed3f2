# Looks for libclang, once for everything that uses it: SCALY_CLANG_INCLUDE and SCALY_CLANG_LIBRARY, false where it is missing.
find_program(SCALY_LLVM_CONFIG NAMES llvm-config-19 llvm-config DOC "The llvm-config of the LLVM to use")
if(SCALY_LLVM_CONFIG)
  execute_process(COMMAND ${SCALY_LLVM_CONFIG} --includedir OUTPUT_VARIABLE include OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${SCALY_LLVM_CONFIG} --libdir OUTPUT_VARIABLE library OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
find_path(SCALY_CLANG_INCLUDE clang-c/Index.h HINTS ${include})
find_library(SCALY_CLANG_LIBRARY NAMES clang clang-19 HINTS ${library})
