# What brms takes as priors when nobody says anything, for data with awkward units. Writes the table as CSV, so that
# `onward glm` can be asked the same. Usage: Rscript docs/examples/priors.R SCRATCH
suppressPackageStartupMessages(library(brms))
scratch <- commandArgs(trailingOnly = TRUE)[1]
dir.create(scratch, showWarnings = FALSE, recursive = TRUE)
set.seed(1)
n <- 200
awkward <- data.frame(year = sample(1990:2020, n, TRUE), income = round(exp(rnorm(n, 10.5, 0.6))),
                      length = signif(runif(n, 2e-6, 9e-6), 4), region = sample(c("north", "south", "west"), n, TRUE),
                      g = sample(letters[1:12], n, TRUE))
effect <- setNames(rnorm(12, 0, 0.5), letters[1:12])
eta <- 0.04 * (awkward$year - 2005) + 0.3 * (log(awkward$income) - 10.5) + effect[awkward$g]
awkward$price <- round(250000 + 40000 * eta + rnorm(n, 0, 30000))
awkward$sold <- rbinom(n, 1, plogis(eta))
awkward$visits <- rnbinom(n, mu = exp(1 + eta), size = 2)
awkward$days <- signif(rgamma(n, 3, 3 / exp(3 + eta)), 4)
write.csv(awkward, file.path(scratch, "awkward.csv"), row.names = FALSE)
right <- "year + income + length + region + (1 + year | g)"
for (case in list(list("price", gaussian()), list("sold", bernoulli()), list("visits", poisson()),
                  list("visits", negbinomial()), list("days", Gamma("log")))) {
  cat("\n", case[[1]], case[[2]]$family, "\n")
  p <- get_prior(as.formula(paste(case[[1]], "~", right)), awkward, family = case[[2]])
  print(as.data.frame(p)[, c("prior", "class", "coef", "group")], row.names = FALSE)
}
