# Ratings of lecturers by students, by lme4. Usage: Rscript docs/examples/insteval.R SCRATCH
source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))), "setup.R"))
began <- proc.time()[["elapsed"]]
m <- lmer(y ~ service + (1 | s) + (1 | d) + (1 | dept), InstEval)
cat(sprintf("lme4: %.0f s\n", proc.time()[["elapsed"]] - began))
print(summary(m), correlation = FALSE)
