# What the scripts of the worked examples have in common: lme4, and brms where it is installed. The first argument of a
# script is a folder for scratch files.
words <- commandArgs(trailingOnly = TRUE)
if (length(words) < 1) stop("give a folder for scratch files, as in: Rscript docs/examples/sleepstudy.R /tmp/scratch")
scratch <- words[1]
dir.create(scratch, showWarnings = FALSE, recursive = TRUE)
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE)))
source(file.path(here, "..", "..", "bench", "rstan_setup.R"))
suppressPackageStartupMessages({ library(lme4); library(brms) })
options(mc.cores = 2, width = 110)

# Fits by brms, and says how long compiling and sampling took: the second is that of the slowest chain.
fit_brms <- function(...) {
  began <- proc.time()[["elapsed"]]
  m <- brm(..., seed = 1, refresh = 0, silent = 2, backend = "rstan")
  times <- rowSums(rstan::get_elapsed_time(m$fit))
  cat(sprintf("brms: %.0f s in all, of which %.1f s sampling (the slowest chain)\n",
              proc.time()[["elapsed"]] - began, max(times)))
  m
}

# Population-level effects, standard deviations, correlations and the family's own parameters of a brmsfit.
figures <- function(m) {
  all <- posterior::as_draws_array(m)
  keep <- grep("^(b_|sd_|cor_|sigma$|shape$)", posterior::variables(all), value = TRUE)
  found <- posterior::summarise_draws(posterior::subset_draws(all, variable = keep), "mean", "sd",
                                      ~quantile(.x, c(0.05, 0.95)), "rhat", "ess_bulk")
  print(as.data.frame(found), digits = 3, row.names = FALSE)
}
