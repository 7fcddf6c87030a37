#pragma once
// The files of the page, as they were when the library was built.

#include <string_view>

namespace onward::report::assets {

extern const std::string_view html, css, js;
/// The charting library, uPlot; empty if it could not be had when the library was built.
extern const std::string_view chart_js, chart_css;

}  // namespace onward::report::assets
