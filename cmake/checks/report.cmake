# Collects the problems that a check finds and fails when there are any.
function(problem text)
  message(NOTICE "${text}")
  set_property(GLOBAL APPEND PROPERTY problems x)
endfunction()

function(finish check)
  get_property(problems GLOBAL PROPERTY problems)
  list(LENGTH problems count)
  if(count GREATER 0)
    message(FATAL_ERROR "${check}: ${count} problem(s)")
  endif()
endfunction()
