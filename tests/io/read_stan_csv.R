# Reads the chains of a run folder with rstan and compares them with a plain reading of the files.
# Run by hand (Debian: r-cran-rstan):  Rscript tests/io/read_stan_csv.R FOLDER
suppressMessages(library(rstan))
options(warn = 2) # a warning of rstan's is a failure

folder <- commandArgs(trailingOnly = TRUE)[1]
files <- sort(Sys.glob(file.path(folder, "chain-*.csv")))
stopifnot(length(files) >= 1)
fit <- read_stan_csv(files)

for (i in seq_along(files)) {
  plain <- read.csv(files[i], comment.char = "#", check.names = FALSE)
  parameters <- plain[!grepl("__$", names(plain))]
  ours <- as.array(fit)[, i, seq_along(parameters)]
  stopifnot(nrow(plain) > 0, all(ours == as.matrix(parameters)))
  sampler <- get_sampler_params(fit, inc_warmup = FALSE)[[i]]
  stopifnot(all(sampler[, "stepsize__"] == plain$stepsize__), all(sampler[, "divergent__"] == plain$divergent__))
}
# By name: rstan finds the entries of an array by counting columns.
named <- lapply(files, function(file) read.csv(file, comment.char = "#", check.names = FALSE))
for (name in setdiff(unique(sub("\\..*", "", names(parameters))), "lp__")) {
  drawn <- extract(fit, name, permuted = FALSE)
  for (entry in dimnames(drawn)[[3]]) {
    column <- gsub(",", ".", sub("\\]$", "", sub("\\[", ".", if (dim(drawn)[3] == 1 && name %in% names(plain)) name else entry)))
    stopifnot(sub("\\..*", "", column) == name)
    for (i in seq_along(files)) stopifnot(all(drawn[, i, entry] == named[[i]][[column]]))
  }
}
stopifnot(all(is.finite(get_elapsed_time(fit))))
print(fit, digits_summary = 3)
cat("rstan reads", length(files), "chains of", nrow(plain), "draws: ok\n")
