# A room is a folder of src/. Rooms depend only on rooms to their left in this list (docs/architecture.md);
# tests/cli/room_order_test.py holds the includes against it.
set(ASMEVO_ROOMS support object isa program dispatch emulator timing device verify optimize agent report cli)

# asmevo_room(NAME [LIBS ...]): a static library asmevo_NAME of every .cpp below the current folder, linked with all rooms
# to its left.
function(asmevo_room NAME)
  cmake_parse_arguments(ROOM "" "" "LIBS;EXCLUDE" ${ARGN})
  file(GLOB_RECURSE SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  foreach(PATTERN IN LISTS ROOM_EXCLUDE)
    list(FILTER SOURCES EXCLUDE REGEX ${PATTERN})
  endforeach()
  if(NOT SOURCES)
    message(FATAL_ERROR "room ${NAME} has no source")
  endif()
  add_library(asmevo_${NAME} STATIC ${SOURCES})
  target_link_libraries(asmevo_${NAME} PUBLIC asmevo_options ${ROOM_LIBS})
  foreach(LEFT IN LISTS ASMEVO_ROOMS)
    if(LEFT STREQUAL NAME)
      break()
    endif()
    if(TARGET asmevo_${LEFT})
      target_link_libraries(asmevo_${NAME} PUBLIC asmevo_${LEFT})
    endif()
  endforeach()
endfunction()
