# A regression by rstan's NUTS, plain and on whitened (QR) parameters.
# Usage: rstan_glm.R FOLDER FAMILY ROWS COLUMNS CORES DRAWS; FOLDER has x.bin (column after column) and y.bin,
# doubles. Prints one line of JSON: means, sds, their standard errors, least ESS per second of sampling, seconds of warm-up.
source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))), "rstan_setup.R"))
words <- commandArgs(trailingOnly = TRUE)
folder <- words[1]; family <- words[2]; n <- as.integer(words[3]); p <- as.integer(words[4])
options(mc.cores = as.integer(words[5])); draws <- as.integer(words[6])
x <- matrix(readBin(file.path(folder, "x.bin"), "double", n * p), n, p)
y <- as.integer(readBin(file.path(folder, "y.bin"), "double", n))

code <- "
data {
  int<lower=0> n; int<lower=0> p; matrix[n, p] x; int y[n];
  matrix[p, p] back;   // from what is sampled to the coefficients
  int family;          // 0 bernoulli, 1 poisson, 2 negative binomial
}
parameters { real intercept; vector[p] theta; real<lower=0> phi[family == 2 ? 1 : 0]; }
transformed parameters { vector[p] beta = back * theta; }
model {
  intercept ~ normal(0, 10);
  beta ~ normal(0, 2.5);
  if (family == 0) y ~ bernoulli_logit_glm(x, intercept, theta);
  // With poisson_log_glm of rstan 2.21 chains end on tiny step sizes.
  if (family == 1) y ~ poisson_log(intercept + x * theta);
  if (family == 2) { phi[1] ~ student_t(3, 0, 2.5); y ~ neg_binomial_2_log_glm(x, intercept, theta, phi[1]); }
}"
store <- file.path(folder, "..", "rstan-model.rds")
model <- tryCatch({
  if (file.exists(store)) readRDS(store) else { m <- stan_model(model_code = code); saveRDS(m, store); m }
}, error = function(e) {
  message(conditionMessage(e))
  answer('{"missing": "rstan cannot compile a model"}')
})

number <- match(family, c("bernoulli", "poisson", "negative-binomial")) - 1
fit <- function(design, back, draws) {
  data <- list(n = n, p = p, x = design, y = y, back = back, family = number)
  run <- sampling(model, data = data, chains = 4, iter = 2 * draws, warmup = draws, seed = 1, refresh = 0, init = 0)
  keep <- c("intercept", paste0("beta[", seq_len(p), "]"), if (number == 2) "phi[1]")
  drawn <- extract(run, pars = keep, permuted = FALSE)
  found <- monitor(drawn, warmup = 0, print = FALSE)
  # MCSE_SD goes by the effective draws of the mean; NUTS's squares have fewer, so they are asked themselves.
  squares <- monitor(sweep(drawn, 3, found[, "mean"])^2, warmup = 0, print = FALSE)
  times <- get_elapsed_time(run)
  # Chains share the cores: their times add up and are divided among them.
  cores <- min(getOption("mc.cores"), 4)
  list(mean = found[, "mean"], sd = found[, "sd"], mcse = found[, "se_mean"], mcse_sd = squares[, "se_mean"] / (2 * found[, "sd"]),
       ess = min(found[, "Bulk_ESS"]),
       warmup = sum(times[, "warmup"]) / cores, sampling = sum(times[, "sample"]) / cores)
}
plain <- fit(x, diag(p), draws)
parts <- qr(x)
r <- qr.R(parts) / sqrt(n - 1)
# Means and sds are compared with these: quick enough for more draws.
white <- fit(qr.Q(parts) * sqrt(n - 1), solve(r), 4 * draws)
list_of <- function(v) paste0("[", paste(format(v, digits = 15), collapse = ","), "]")
json <- function(f) sprintf('{"mean":%s,"sd":%s,"mcse":%s,"mcse_sd":%s,"least_ess":%g,"warmup_seconds":%g,"sampling_seconds":%g}',
                            list_of(f$mean), list_of(f$sd), list_of(f$mcse), list_of(f$mcse_sd), f$ess, f$warmup, f$sampling)
answer(sprintf('{"plain":%s,"whitened":%s}', json(plain), json(white)))
