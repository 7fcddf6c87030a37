# What the component onward::net links to; read when Onward is built and by those who use it installed.
# Sets ONWARD_NET_MISSING to what to say if it is not there.
# oneDNN's own package file brings OpenMP's compiler flags along, with which Eigen would start threads too.
set(ONWARD_NET_MISSING "")
find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
find_library(DNNL_LIBRARY dnnl)
if(NOT DNNL_INCLUDE_DIR OR NOT DNNL_LIBRARY)
  set(ONWARD_NET_MISSING "oneDNN, which computes the layers of networks, was not found: install libdnnl-dev")
elseif(NOT TARGET onward::dnnl)
  add_library(onward::dnnl UNKNOWN IMPORTED)
  set_target_properties(onward::dnnl PROPERTIES
    IMPORTED_LOCATION ${DNNL_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${DNNL_INCLUDE_DIR})
endif()
