# Whole runs of rstan's NUTS, by its own defaults, on one of the models of bench/stan.
# Usage: rstan_posterior.R FOLDER MODEL CORES SEEDS PARAMETER...; FOLDER has data.R, as rstan reads it. Prints one line of
# JSON: lists with an entry for each seed 1 to SEEDS of seconds (warm-up and sampling, by the clock), processor seconds
# of the chains, the least bulk ESS over the parameters and the largest R-hat; and the last run's means and sds.
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE)))
source(file.path(here, "rstan_setup.R"))
words <- commandArgs(trailingOnly = TRUE)
folder <- words[1]; seeds <- as.integer(words[4]); keep <- words[-(1:4)]
options(mc.cores = as.integer(words[3]))
model <- tryCatch(stan_model(file.path(here, "stan", paste0(words[2], ".stan"))), error = function(e) {
  message(conditionMessage(e))
  answer('{"missing": "rstan cannot compile a model"}')
})
data <- read_rdump(file.path(folder, "data.R"))
seconds <- processor <- ess <- rhat <- numeric(0)
for (seed in seq_len(seeds)) {
  begin <- proc.time()[["elapsed"]]
  run <- sampling(model, data = data, seed = seed, refresh = 0)
  seconds <- c(seconds, proc.time()[["elapsed"]] - begin)
  processor <- c(processor, sum(get_elapsed_time(run)))
  found <- monitor(extract(run, pars = keep, permuted = FALSE), warmup = 0, print = FALSE)
  ess <- c(ess, min(found[, "Bulk_ESS"]))
  rhat <- c(rhat, max(found[, "Rhat"]))
}
list_of <- function(v) paste0("[", paste(format(v, digits = 10), collapse = ","), "]")
answer(sprintf('{"seconds":%s,"processor_seconds":%s,"min_ess":%s,"max_rhat":%s,"mean":%s,"sd":%s}', list_of(seconds),
               list_of(processor), list_of(ess), list_of(rhat), list_of(found[, "mean"]), list_of(found[, "sd"])))
