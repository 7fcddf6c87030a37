# Makes data/loo_log_likelihood.csv, data/loo_points.csv and data/loo_totals.csv: log likelihoods of many kinds,
# and what R's loo package says of them.
# Run by hand in this folder, when a case is added:  Rscript make_loo_reference.R   (Debian: r-cran-loo)
suppressMessages(library(loo))
stopifnot(packageVersion("loo") >= "2.5", packageVersion("loo") < "2.6")
set.seed(20261118)

chains <- 4
draws <- 250
ar1 <- function(rho) {
  x <- numeric(draws)
  x[1] <- rnorm(1)
  for (t in 2:draws) x[t] <- rho * x[t - 1] + sqrt(1 - rho^2) * rnorm(1)
  x
}
by_chain <- function(f) as.vector(sapply(seq_len(chains), f))

# Some are those of a normal with unknown mean, ever further out: k grows. Others are extreme in some way.
mean_of_draw <- by_chain(function(c) ar1(0.3))
slow <- by_chain(function(c) ar1(0.97))
column <- list()
for (z in c(0, 0.5, 1, 1.5, 2, 3, 4, 6)) column <- c(column, list(dnorm(z, 0.5 * mean_of_draw, 1, log = TRUE)))
for (z in c(0, 1, 3)) column <- c(column, list(dnorm(z, 0.3 * slow, 0.5, log = TRUE)))
for (k in c(0.3, 0.6, 0.8, 1.2)) column <- c(column, list(-k * rexp(chains * draws))) # weights with a Pareto tail
column <- c(column, list(
  rep(-1.25, chains * draws),                                     # the same at all draws
  ifelse(seq_len(chains * draws) %% 2 == 0, -1, -2),              # two values: the tail is all the same
  round(-rexp(chains * draws), 1),                                # ties
  -5000 + mean_of_draw,                                           # likelihoods too small for a double
  -60 + 3 * mean_of_draw,
  3 + 0.05 * mean_of_draw,                                        # a density above 1, hardly moving
  by_chain(function(c) 0.2 * rnorm(draws) + 0.3 * c),             # chains that do not meet
  by_chain(function(c) -abs(ar1(-0.6))),                          # antithetic
  -rt(chains * draws, 4)^2 / 4
))
# What is stored is what is judged.
text <- sapply(column, function(x) sprintf("%.4f", x))
writeLines(apply(text, 2, paste, collapse = ","), "data/loo_log_likelihood.csv")
log_lik <- apply(text, 2, as.numeric)
likelihood <- exp(sweep(log_lik, 2, apply(log_lik, 2, max))) # efficiency does not depend on the scale

r_eff <- relative_eff(likelihood, chain_id = rep(seq_len(chains), each = draws))
stopifnot(!anyNA(r_eff))
result <- suppressWarnings(loo(log_lik, r_eff = r_eff, save_psis = TRUE))
criterion <- suppressWarnings(waic(log_lik))
# loo's own Monte Carlo error is NaN where a likelihood is 0 as a double; there it is taken at a scale where it is not.
scaled <- log_lik
scaled[, colMeans(log_lik) < -700] <- scaled[, colMeans(log_lik) < -700] + 5000
mcse <- suppressWarnings(loo(scaled, r_eff = r_eff))$pointwise[, "mcse_elpd_loo"]

number <- function(x) sprintf("%.12g", x)
points <- data.frame(r_eff = number(r_eff), elpd = number(result$pointwise[, "elpd_loo"]),
                     mcse = number(mcse), p = number(result$pointwise[, "p_loo"]),
                     k = number(result$diagnostics$pareto_k), n_eff = number(result$diagnostics$n_eff),
                     waic_elpd = number(criterion$pointwise[, "elpd_waic"]),
                     waic_p = number(criterion$pointwise[, "p_waic"]))
write.csv(points, "data/loo_points.csv", row.names = FALSE, quote = FALSE)

# Three models of eight observations each, to compare.
model <- function(columns) suppressWarnings(loo(log_lik[, columns], r_eff = r_eff[columns]))
compared <- loo_compare(list("0" = model(1:8), "1" = model(9:16), "2" = model(c(1:4, 20:23))))
totals <- rbind(
  data.frame(what = rownames(result$estimates), value = number(result$estimates[, 1]),
             se = number(result$estimates[, 2])),
  data.frame(what = rownames(criterion$estimates), value = number(criterion$estimates[, 1]),
             se = number(criterion$estimates[, 2])),
  data.frame(what = paste0("k_class_", 1:4), value = number(pareto_k_table(result)[, "Count"]),
             se = number(pareto_k_table(result)[, "Min. n_eff"])),
  data.frame(what = paste0("model_", rownames(compared)), value = number(compared[, "elpd_diff"]),
             se = number(compared[, "se_diff"])))
write.csv(totals, "data/loo_totals.csv", row.names = FALSE, quote = FALSE)
