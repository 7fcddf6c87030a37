# Onward beside brms with the same priors, written out in both: sleepstudy (slopes with correlation) and cbpp (binomial).
# Usage: Rscript bench/against_brms.R SCRATCH PATH/TO/onward [sleepstudy|cbpp]
# Prints mean and sd of every parameter that the table shows and of every level, and how many Monte Carlo standard errors
# lie between the two (that of a difference: the root of the sum of squares). Both are long runs, so that these are small.
words <- commandArgs(trailingOnly = TRUE)
scratch <- words[1]; onward <- words[2]; which <- if (length(words) > 2) words[3] else c("sleepstudy", "cbpp")
dir.create(scratch, showWarnings = FALSE, recursive = TRUE)
source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))), "rstan_setup.R"))
suppressPackageStartupMessages({ library(lme4); library(brms) })
options(mc.cores = 2, width = 110)

cases <- list(
  sleepstudy = list(
    formula = Reaction ~ Days + (Days | Subject), family = gaussian(), here = "gaussian", data = sleepstudy,
    brms = c(prior(normal(0, 50), class = b), prior(normal(300, 100), class = Intercept),
             prior(student_t(3, 0, 50), class = sd), prior(lkj(1), class = cor), prior(student_t(3, 0, 50), class = sigma)),
    priors = c("b ~ normal(0, 50)", "Intercept ~ normal(300, 100)", "sd ~ half_t(3, 50)", "cor ~ lkj(1)",
               "sigma ~ student_t(3, 0, 50)"),
    draws = 40000),
  cbpp = list(
    formula = incidence | trials(size) ~ period + (1 | herd), family = binomial(), here = "binomial", data = cbpp,
    brms = c(prior(normal(0, 2), class = b), prior(normal(0, 5), class = Intercept), prior(student_t(3, 0, 2), class = sd)),
    priors = c("b ~ normal(0, 2)", "Intercept ~ normal(0, 5)", "sd ~ half_t(3, 2)"),
    draws = 40000))

# What brms calls a parameter of ours.
to_brms <- function(name) {
  name <- sub("^\\(Intercept\\)$", "b_Intercept", name)
  name <- sub("^sd\\((\\w+)\\)(\\w+)$", "sd_\\1__\\2", name)
  name <- sub("^cor\\((\\w+)\\)(\\w+)\\.(\\w+)$", "cor_\\1__\\2__\\3", name)
  name <- sub("^r\\((\\w+)\\)(\\w+)\\[(\\w+)\\]$", "r_\\1[\\3,\\2]", name)
  ifelse(grepl("^(b_|sd_|cor_|r_|sigma$)", name), name, paste0("b_", name))
}

read_onward <- function(folder, names) {
  files <- list.files(folder, "^chain-[0-9]+\\.csv$", full.names = TRUE)
  chains <- lapply(files, function(f) {
    lines <- readLines(f)
    as.matrix(read.csv(text = lines[!startsWith(lines, "#") & nzchar(lines)], check.names = FALSE))
  })
  columns <- which(!grepl("__$", colnames(chains[[1]])))
  stopifnot(length(columns) == length(names))
  found <- array(0, c(nrow(chains[[1]]), length(chains), length(names)), list(NULL, NULL, names))
  for (c in seq_along(chains)) found[, c, ] <- chains[[c]][, columns]
  posterior::as_draws_array(found)
}

described <- function(draws) {
  as.data.frame(posterior::summarise_draws(draws, "mean", "sd", "mcse_mean", "mcse_sd", "rhat", "ess_bulk"))
}

for (name in which) {
  case <- cases[[name]]
  file <- file.path(scratch, paste0(name, ".csv")); out <- file.path(scratch, paste0("run-", name))
  write.csv(case$data, file, row.names = FALSE)
  typed <- c("glm", "--data", file, "--formula", deparse(case$formula), "--family", case$here, "--draws", case$draws,
             "--seed", 1, "--out", out, "--force", "--quiet", "--json", rbind("--prior", case$priors))
  said <- jsonlite::fromJSON(paste(system2(onward, shQuote(typed), stdout = TRUE), collapse = "\n"))
  names <- to_brms(said$parameters$name)
  ours <- described(read_onward(out, names))
  m <- brm(case$formula, case$data, family = case$family, prior = case$brms, chains = 4, iter = 12000, warmup = 2000,
           seed = 1, refresh = 0, silent = 2, backend = "rstan", control = list(adapt_delta = 0.95))
  theirs <- described(posterior::subset_draws(posterior::as_draws_array(m), variable = names))
  theirs <- theirs[match(names, theirs$variable), ]
  table <- data.frame(name = names, onward = ours$mean, brms = theirs$mean,
                      mean_off = (ours$mean - theirs$mean) / sqrt(ours$mcse_mean^2 + theirs$mcse_mean^2),
                      sd_onward = ours$sd, sd_brms = theirs$sd,
                      sd_off = (ours$sd - theirs$sd) / sqrt(ours$mcse_sd^2 + theirs$mcse_sd^2))
  cat(sprintf("\n%s: 4 chains of %d draws here (least ESS %.0f), 4 of 10000 by brms (least ESS %.0f)\n", name, case$draws,
              min(ours$ess_bulk), min(theirs$ess_bulk)))
  main <- !grepl("^r_", names)
  print(table[main, ], digits = 4, row.names = FALSE)
  off <- abs(c(table$mean_off, table$sd_off))
  cat(sprintf("of the %d levels: means off by at most %.2f, sds by at most %.2f standard errors\n", sum(!main),
              max(abs(table$mean_off[!main])), max(abs(table$sd_off[!main]))))
  cat(sprintf("in all: largest %.2f of %d; root mean square %.2f (1 is what chance gives)\n", max(off), length(off),
              sqrt(mean(off^2))))
}
