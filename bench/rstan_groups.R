# A logistic regression with two crossed groups by rstan's NUTS, effects not centred.
# Usage: rstan_groups.R FOLDER ROWS LEVELS_A LEVELS_B CORES DRAWS; FOLDER has x.bin (two columns), y.bin, a.bin and b.bin
# (levels from 1), doubles. Prints one line of JSON: means, sds and their standard errors of the parameters and of 20
# levels of each group, the least ESS over these, seconds of warm-up and of sampling.
source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))), "rstan_setup.R"))
words <- commandArgs(trailingOnly = TRUE)
folder <- words[1]; n <- as.integer(words[2]); levels_a <- as.integer(words[3]); levels_b <- as.integer(words[4])
options(mc.cores = as.integer(words[5])); draws <- as.integer(words[6])
read <- function(name, count) readBin(file.path(folder, name), "double", count)
code <- "
data {
  int n; matrix[n, 2] x; int y[n]; int levels_a; int levels_b;
  int<lower=1> a[n]; int<lower=1> b[n];
}
parameters {
  real intercept; vector[2] beta; real<lower=0> sd_a; real<lower=0> sd_b;
  vector[levels_a] za; vector[levels_b] zb;
}
transformed parameters { vector[levels_a] ra = sd_a * za; vector[levels_b] rb = sd_b * zb; }
model {
  intercept ~ normal(0, 10); beta ~ normal(0, 2.5);
  sd_a ~ student_t(3, 0, 2.5); sd_b ~ student_t(3, 0, 2.5);
  za ~ std_normal(); zb ~ std_normal();
  y ~ bernoulli_logit_glm(x, intercept + ra[a] + rb[b], beta);
}"
model <- tryCatch(stan_model(model_code = code), error = function(e) {
  message(conditionMessage(e))
  answer('{"missing": "rstan cannot compile a model"}')
})
data <- list(n = n, x = matrix(read("x.bin", 2 * n), n, 2), y = as.integer(read("y.bin", n)),
             levels_a = levels_a, levels_b = levels_b, a = as.integer(read("a.bin", n)), b = as.integer(read("b.bin", n)))
run <- sampling(model, data = data, chains = 4, iter = 2 * draws, warmup = draws, seed = 1, refresh = 0, init = 0)
shown <- function(name, levels) paste0(name, "[", floor((0:19) * levels / 20) + 1, "]")
keep <- c("intercept", "beta[1]", "beta[2]", "sd_a", "sd_b", shown("ra", levels_a), shown("rb", levels_b))
drawn <- extract(run, pars = keep, permuted = FALSE)
found <- monitor(drawn, warmup = 0, print = FALSE)
squares <- monitor(sweep(drawn, 3, found[, "mean"])^2, warmup = 0, print = FALSE)
times <- get_elapsed_time(run)
cores <- min(getOption("mc.cores"), 4)
list_of <- function(v) paste0("[", paste(format(v, digits = 15), collapse = ","), "]")
answer(sprintf('{"mean":%s,"sd":%s,"mcse":%s,"mcse_sd":%s,"least_ess":%g,"warmup_seconds":%g,"sampling_seconds":%g}',
               list_of(found[, "mean"]), list_of(found[, "sd"]), list_of(found[, "se_mean"]),
               list_of(squares[, "se_mean"] / (2 * found[, "sd"])), min(found[, "Bulk_ESS"]),
               sum(times[, "warmup"]) / cores, sum(times[, "sample"]) / cores))
