# Writes the flags of an exported module's recipe, for the compiler in use, where a response file has them.
#   cmake -DSOURCE=f.c -DFLAGS=f.flags -DCOMPILER=GNU -P scaly-flags.cmake
file(STRINGS ${SOURCE} lines LIMIT_COUNT 40 REGEX "^ \\* (gcc|clang) ")
set(name gcc)
if(COMPILER MATCHES "Clang")
  set(name clang)
endif()
set(flags "")
foreach(line IN LISTS lines)
  if(line MATCHES "^ \\* ${name} (.*) -c ")
    set(flags "${CMAKE_MATCH_1}")
  endif()
endforeach()
file(CONFIGURE OUTPUT ${FLAGS} CONTENT "${flags}\n" @ONLY) # leaves a file with the same content alone
