#pragma once
// A netCDF file as xarray reads it.

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace onward::testing {

/// What tests/io/read_netcdf.py says, in which every warning is an error.
inline nlohmann::json by_xarray(const std::filesystem::path& file) {
  // Debian's packages belong to Debian's Python, which need not be the first one in PATH.
  for (const char* python : {"python3", "/usr/bin/python3"}) {
    const std::string probe = std::string(python) + " -c 'import xarray, netCDF4' 2>/dev/null";
    if (std::system(probe.c_str()) != 0) continue;
    const std::string command =
        std::string(python) + " -W error " ONWARD_TEST_DATA "/io/read_netcdf.py '" + file.string() + "'";
    FILE* const pipe = ::popen(command.c_str(), "r");
    std::string text;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
    EXPECT_EQ(::pclose(pipe), 0) << command;
    return nlohmann::json::parse(text);
  }
  ADD_FAILURE() << "no Python with xarray and netCDF4 (Debian: python3-xarray, python3-netcdf4)";
  return {};
}

}  // namespace onward::testing
