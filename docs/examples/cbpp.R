# A disease of cattle in 15 herds, by lme4 and by brms. Usage: Rscript docs/examples/cbpp.R SCRATCH
source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))), "setup.R"))
cbpp$obs <- seq_len(nrow(cbpp))
print(summary(glmer(cbind(incidence, size - incidence) ~ period + (1 | herd), cbpp, family = binomial)), correlation = FALSE)
print(summary(glmer(cbind(incidence, size - incidence) ~ period + (1 | herd) + (1 | obs), cbpp, family = binomial)),
      correlation = FALSE)
m1 <- fit_brms(incidence | trials(size) ~ period + (1 | herd), cbpp, family = binomial())
figures(m1)
m2 <- fit_brms(incidence | trials(size) ~ period + (1 | herd) + (1 | obs), cbpp, family = binomial())
figures(m2)
print(loo_compare(loo(m1), loo(m2)))
