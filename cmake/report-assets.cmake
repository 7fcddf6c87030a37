# The files of the report's page as C++ strings, in ONWARD_REPORT_ASSETS, with the charting library uPlot from npm.
# It is installed into the build folder once, in the version that src/report/package-lock.json has. Where npm or the
# network is missing the build goes on: pages have no charts then, and say so.
set(ONWARD_NPM_DIR ${CMAKE_BINARY_DIR}/npm)
set(ONWARD_CHART_DIR ${ONWARD_NPM_DIR}/node_modules/uplot/dist)
set(lock ${CMAKE_CURRENT_SOURCE_DIR}/src/report/package-lock.json)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${lock})
file(SHA256 ${lock} wanted)
set(installed "")
if(EXISTS ${ONWARD_NPM_DIR}/installed AND EXISTS ${ONWARD_CHART_DIR}/uPlot.iife.min.js)
  file(READ ${ONWARD_NPM_DIR}/installed installed)
endif()
if(NOT installed STREQUAL wanted)
  find_program(ONWARD_NPM npm)
  if(ONWARD_NPM)
    file(MAKE_DIRECTORY ${ONWARD_NPM_DIR})
    file(COPY src/report/package.json ${lock} DESTINATION ${ONWARD_NPM_DIR})
    execute_process(COMMAND ${ONWARD_NPM} ci --ignore-scripts --no-audit --no-fund --prefer-offline
        --fetch-retries=0
      WORKING_DIRECTORY ${ONWARD_NPM_DIR} TIMEOUT 120 RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE said)
    if(result EQUAL 0)
      file(WRITE ${ONWARD_NPM_DIR}/installed ${wanted})
    else()
      message(STATUS "npm could not install uPlot: ${said}")
    endif()
  endif()
endif()

set(ONWARD_CHART_FILES "")
if(EXISTS ${ONWARD_NPM_DIR}/installed AND EXISTS ${ONWARD_CHART_DIR}/uPlot.iife.min.js)
  set(ONWARD_CHART_FILES ${ONWARD_CHART_DIR}/uPlot.iife.min.js ${ONWARD_CHART_DIR}/uPlot.min.css
    ${ONWARD_NPM_DIR}/node_modules/uplot/LICENSE)
elseif(ONWARD_NPM)
  message(WARNING "reports will have no charts: npm could not install uPlot. Configure again where the network is")
else()
  message(WARNING "reports will have no charts: npm, which brings uPlot, was not found. Install npm and configure again")
endif()

file(GLOB ONWARD_PAGE_FILES CONFIGURE_DEPENDS src/report/*.html src/report/*.css src/report/*.js)
set(ONWARD_REPORT_ASSETS ${CMAKE_BINARY_DIR}/report_assets.cpp)
add_custom_command(OUTPUT ${ONWARD_REPORT_ASSETS}
  COMMAND ${CMAKE_COMMAND} -DOUT=${ONWARD_REPORT_ASSETS} -DPAGE=${CMAKE_CURRENT_SOURCE_DIR}/src/report
    "-DCHART=${ONWARD_CHART_FILES}" -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/embed-report.cmake
  DEPENDS ${ONWARD_PAGE_FILES} ${ONWARD_CHART_FILES} cmake/embed-report.cmake
  COMMENT "Embedding the report's page" VERBATIM)
