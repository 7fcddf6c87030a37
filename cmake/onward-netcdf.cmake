# netCDF and HDF5, whose own functions take compressed chunks; read when Onward is built and by those who use it
# installed. Gives the target onward::netcdf, or sets ONWARD_NETCDF_MISSING to what to say.
set(ONWARD_NETCDF_MISSING "")
if(NOT TARGET onward::netcdf)
  find_path(ONWARD_NETCDF_INCLUDE_DIR netcdf.h)
  find_library(ONWARD_NETCDF_LIBRARY netcdf)
  find_path(ONWARD_HDF5_INCLUDE_DIR hdf5.h PATH_SUFFIXES hdf5/serial)
  find_library(ONWARD_HDF5_LIBRARY NAMES hdf5_serial hdf5 PATH_SUFFIXES hdf5/serial)
  if(ONWARD_NETCDF_INCLUDE_DIR AND ONWARD_NETCDF_LIBRARY AND ONWARD_HDF5_INCLUDE_DIR AND ONWARD_HDF5_LIBRARY)
    add_library(onward::netcdf INTERFACE IMPORTED)
    target_include_directories(onward::netcdf SYSTEM INTERFACE
      ${ONWARD_NETCDF_INCLUDE_DIR} ${ONWARD_HDF5_INCLUDE_DIR})
    target_link_libraries(onward::netcdf INTERFACE ${ONWARD_NETCDF_LIBRARY} ${ONWARD_HDF5_LIBRARY})
  else()
    set(ONWARD_NETCDF_MISSING "netCDF, which keeps draws, was not found: install libnetcdf-dev")
  endif()
endif()
