# Drops the relocations of LLVM's tables of scheduling classes, which are the names of the classes, and moves the tables to read-only data.
# cmake -DOBJCOPY=<objcopy> -DOBJDUMP=<objdump> -DOBJECT=<object file> -P unnamed.cmake
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND ${OBJDUMP} -h ${OBJECT} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "\\.data\\.rel\\.ro\\.[A-Za-z0-9_]+SchedClassesE" sections "${text}")
set(options "")
foreach(section IN LISTS sections)
  list(APPEND options --remove-relocations=${section}
    --rename-section ${section}=.rodata${section},alloc,load,readonly,data,contents)
endforeach()
execute_process(COMMAND ${OBJCOPY} ${options} ${OBJECT} COMMAND_ERROR_IS_FATAL ANY)
