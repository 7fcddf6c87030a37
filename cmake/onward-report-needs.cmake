# What the component onward::report links to: nothing. The charting library that its pages carry is fetched when Onward
# is built (report-assets.cmake), and a page without it has no charts.
set(ONWARD_REPORT_MISSING "")
