# What the scripts that run rstan have in common: answer(TEXT) prints one line and ends the script; rstan is loaded, or
# answered to be missing. The first argument of a script is its folder for scratch files.
answer <- function(text) { cat(text, "\n", sep = ""); quit(save = "no") }
# Debian's BH package leaves boost where the system has it, but rstan asks for a folder within the package.
if (!nzchar(system.file("include", package = "BH")) && nzchar(system.file(package = "BH"))) {
  library_folder <- file.path(commandArgs(trailingOnly = TRUE)[1], "library")
  dir.create(file.path(library_folder, "BH", "include"), recursive = TRUE, showWarnings = FALSE)
  file.copy(list.files(system.file(package = "BH"), full.names = TRUE), file.path(library_folder, "BH"), recursive = TRUE)
  boost <- file.path(library_folder, "BH", "include", "boost")
  if (!file.exists(boost)) file.symlink("/usr/include/boost", boost)
  .libPaths(c(library_folder, .libPaths()))
}
if (!suppressWarnings(require(rstan, quietly = TRUE))) answer('{"missing": "r-cran-rstan is not installed"}')
