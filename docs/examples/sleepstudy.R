# Reaction times after days with little sleep, by lme4 and by brms. Usage: Rscript docs/examples/sleepstudy.R SCRATCH
source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))), "setup.R"))
print(summary(lmer(Reaction ~ Days + (Days | Subject), sleepstudy)), correlation = FALSE)
m <- fit_brms(Reaction ~ Days + (Days | Subject), sleepstudy)
figures(m)
print(hypothesis(m, "Days > 7"))
print(predict(m, data.frame(Days = c(5, 5), Subject = c("308", "new")), allow_new_levels = TRUE,
              sample_new_levels = "gaussian", probs = c(0.05, 0.95)))
print(loo(m))
