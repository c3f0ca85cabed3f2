# Registers the checks of layers, exported symbols, bans and text as tests, and the one that proves they can fail.
set(checks ${PROJECT_SOURCE_DIR}/cmake/checks)

function(add_check name script)
  add_test(NAME check.${name} COMMAND ${CMAKE_COMMAND} ${ARGN} -P ${checks}/${script}.cmake)
  set_tests_properties(check.${name} PROPERTIES LABELS check ENVIRONMENT LC_ALL=C)
endfunction()

# GNU nm: LLVM's, which CMake names when clang compiles, prints something else.
find_program(SCALY_NM NAMES nm REQUIRED)
add_check(layers layers -DROOT=${PROJECT_SOURCE_DIR} -DLAYERS=${PROJECT_SOURCE_DIR}/cmake/layers.txt)
add_check(text text -DROOT=${PROJECT_SOURCE_DIR})
add_check(wrapped wrapped -DGOLDEN=${PROJECT_SOURCE_DIR}/cmake/symbols.txt -DHEADERS=${PROJECT_SOURCE_DIR}/include/scaly
  -DEXCEPTIONS=${PROJECT_SOURCE_DIR}/cmake/wrapped.txt)
add_check(planted planted -DCC=${CMAKE_C_COMPILER} -DNM=${SCALY_NM} -DWORK=${CMAKE_BINARY_DIR}/checks/planted
  -DBANS=${PROJECT_SOURCE_DIR}/cmake/bans.txt)

# A sanitizer adds symbols and data of its own.
if(NOT SCALY_SANITIZE)
  add_check(symbols symbols -DNM=${SCALY_NM} -DLIBRARY=$<TARGET_FILE:scaly> -DHEADERS=${PROJECT_SOURCE_DIR}/include/scaly
    -DGOLDEN=${PROJECT_SOURCE_DIR}/cmake/symbols.txt)
  set(objects $<TARGET_OBJECTS:scaly_objects>)
  if(TARGET scaly_llvm)
    add_check(symbols.llvm symbols -DNM=${SCALY_NM} -DLIBRARY=$<TARGET_FILE:scaly_llvm>
      -DGOLDEN=${PROJECT_SOURCE_DIR}/cmake/symbols-llvm.txt)
    # Its copies of the library's own objects, which CMake keeps under __, are checked already.
    list(APPEND objects $<FILTER:$<TARGET_OBJECTS:scaly_llvm>,EXCLUDE,/__/>)
  else()
    list(APPEND skip backends/llvm)
  endif()
  if(TARGET scaly_clang)
    add_check(symbols.clang symbols -DNM=${SCALY_NM} -DLIBRARY=$<TARGET_FILE:scaly_clang>
      -DGOLDEN=${PROJECT_SOURCE_DIR}/cmake/symbols-clang.txt)
    list(APPEND objects $<TARGET_OBJECTS:scaly_clang>)
  else()
    list(APPEND skip backends/clang)
  endif()
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/checks/objects.txt CONTENT "$<JOIN:${objects},\n>\n")
  list(JOIN skip "|" skip) # a pattern: a list would be taken apart on its way
  add_check(bans bans -DNM=${SCALY_NM} -DOBJECTS=${CMAKE_BINARY_DIR}/checks/objects.txt -DBANS=${PROJECT_SOURCE_DIR}/cmake/bans.txt "-DSKIP=${skip}")
endif()
