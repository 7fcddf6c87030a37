# What the component onward::plot links to; read when Onward is built and by those who use it installed.
# Sets ONWARD_PLOT_MISSING to what to say if it is not there.
set(ONWARD_PLOT_MISSING "")
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND AND NOT TARGET PkgConfig::cairo)
  pkg_check_modules(cairo QUIET IMPORTED_TARGET cairo)
endif()
if(NOT TARGET PkgConfig::cairo)
  set(ONWARD_PLOT_MISSING "cairo, which draws the pictures, was not found: install pkg-config and libcairo2-dev")
endif()
