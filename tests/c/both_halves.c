/* A program in C that uses both halves of onward.h: its own density, and the library that samples it. Says what went
 * wrong and ends with 1 if anything did. */
#include <math.h>
#include <onward.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

static void expect(int holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "FAILED: %s (the library said: %s)\n", what, onward_message());
  ++failures;
}

/* Two independent normals, of sd 1 and 2, reported as x and its exponential. No density beyond 50. */
struct counts {
  int released, begun, ended;
};
static struct counts seen;

static int jet(void *data, const double *theta, const double *v, int order, double *out, char *message) {
  const double *sd = data;
  out[0] = 0;
  if (order >= 1) out[1] = 0;
  if (order == 2) out[2] = 0;
  if (fabs(theta[0]) > 50) {
    snprintf(message, ONWARD_MESSAGE_SIZE, "too far");
    return ONWARD_NO_DENSITY;
  }
  for (int i = 0; i < 2; ++i) {
    const double precision = 1 / (sd[i] * sd[i]);
    out[0] -= 0.5 * precision * theta[i] * theta[i];
    if (order >= 1) out[1] -= precision * theta[i] * v[i];
    if (order == 2) out[2] -= precision * v[i] * v[i];
  }
  return ONWARD_OK;
}

static int fails(void *data, const double *theta, const double *v, int order, double *out, char *message) {
  (void)data, (void)theta, (void)v, (void)order, (void)out;
  snprintf(message, ONWARD_MESSAGE_SIZE, "the instrument is broken");
  return ONWARD_FAILED;
}

static int constrain(void *data, const double *theta, double *out, char *message) {
  (void)data, (void)message;
  out[0] = theta[0];
  out[1] = theta[1];
  out[2] = exp(theta[1]);
  return ONWARD_OK;
}

static void release(void *data) {
  (void)data;
  ++seen.released;
}
static void begins(void) { ++seen.begun; }
static void ends(void) { ++seen.ended; }

static void sample_own_density(void) {
  static double sd[2] = {1, 2};
  static const size_t two = 2;
  static const onward_parameter parameters[] = {{"x", 1, &two}, {"e", 0, NULL}};
  const onward_density density = {.version = ONWARD_INTERFACE,
                                  .flags = ONWARD_THREAD_SAFE,
                                  .dimension = 2,
                                  .data = sd,
                                  .jet = jet,
                                  .constrain = constrain,
                                  .parameter_count = 2,
                                  .parameters = parameters,
                                  .release = release,
                                  .thread_begins = begins,
                                  .thread_ends = ends};
  onward_model *model = onward_model_from("normals", &density);
  expect(model != NULL, "a model is made from a density");
  if (model == NULL) return;
  expect(onward_model_dimension(model) == 2, "it has two dimensions");
  expect(strstr(onward_model_describe(model), "\"x\"") != NULL, "its description names x");

  const double theta[] = {1, 2}, v[] = {0, 1};
  double out[3];
  expect(onward_model_jet(model, theta, v, 2, out) == ONWARD_OK, "its jet is given");
  expect(out[0] == -1 && out[1] == -0.5 && out[2] == -0.25, "the jet is right");
  expect(onward_model_jet(model, theta, v, 3, out) == ONWARD_USAGE, "an order of 3 is refused");
  expect(onward_model_gradient(model, theta, out, out + 1) == ONWARD_USAGE, "there is no gradient");
  expect(seen.begun == 0, "the caller's own thread is not told of");

  onward_run *run = onward_run_start(
      model, "{\"sampler\": \"newton-line\", \"draws\": 2000, \"chains\": 2, \"threads\": 1, \"seed\": 1}", NULL);
  expect(run != NULL, "a run starts");
  onward_model_free(model); /* the run goes on all the same */
  expect(seen.released == 0, "the density is kept while the run needs it");
  if (run == NULL) return;
  expect(onward_run_wait(run, -1) == 0, "it ends well");
  onward_progress progress;
  onward_run_progress(run, &progress);
  expect(progress.chains_done == 2, "its progress says so");
  expect(onward_run_chains(run) == 2 && onward_run_draws(run, 1) == 2000 && onward_run_width(run) == 3,
         "there are 2 chains of 2,000 draws of 3 numbers");
  double *draws = malloc(2000 * 3 * sizeof *draws);
  expect(onward_run_values(run, 0, draws) == ONWARD_OK, "draws are read");
  double square = 0;
  int consistent = 1;
  for (int d = 0; d < 2000; ++d) {
    square += draws[3 * d + 1] * draws[3 * d + 1] / 2000;
    consistent = consistent && draws[3 * d + 2] == exp(draws[3 * d + 1]);
  }
  expect(square > 3 && square < 5, "the variance of the second is about 4");
  expect(consistent, "what constrain gives is reported");
  expect(onward_run_values(run, 2, draws) == ONWARD_USAGE, "there is no third chain");
  expect(strstr(onward_run_summary(run, 1000), "\"ess_bulk\"") != NULL, "the summary has effective sizes");
  expect(strstr(onward_run_table(run), "rhat") != NULL || strstr(onward_run_table(run), "R-hat") != NULL,
         "the table is printed");
  free(draws);
  onward_run_free(run);
  expect(seen.released == 1, "the density is released once");
  expect(seen.begun > 0 && seen.begun == seen.ended, "threads begin and end");
}

static void sample_by_specification(void) {
  onward_model *model = onward_model_build("{\"name\": \"funnel\", \"dim\": 3}", NULL, 0, NULL, 0);
  expect(model != NULL, "a built-in model is made");
  onward_run *run = onward_run_start(model, "{\"draws\": 10000000, \"chains\": 1, \"sampler\": \"rwm\"}", "{}");
  expect(onward_run_wait(run, 0.2) == 1, "a long run goes on");
  expect(onward_run_values(run, 0, NULL) == ONWARD_USAGE, "its draws are not there yet");
  onward_run_stop(run);
  expect(onward_run_wait(run, -1) == 0, "it can be stopped");
  expect(strstr(onward_run_summary(run, 1000), "\"interrupted\"") != NULL, "and says so");
  onward_run_free(run);
  run = onward_run_start(model, "{\"draws\": 10000000}", NULL);
  onward_run_free(run); /* while it goes on */

  expect(onward_run_start(model, "{\"drawz\": 1}", NULL) == NULL && onward_code() == ONWARD_USAGE &&
             strstr(onward_message(), "draws") != NULL,
         "an unknown setting is refused, with the nearest");
  expect(onward_run_start(model, "{\"draws\": ", NULL) == NULL, "so is text that is no JSON");
  onward_model_free(model);
  expect(onward_model_build("{\"name\": \"funel\"}", NULL, 0, NULL, 0) == NULL && onward_code() == ONWARD_USAGE &&
             strstr(onward_message(), "funnel") != NULL,
         "an unknown model is refused, with the nearest");
}

static void fit_table(void) {
  enum { rows = 40 };
  float x[rows];
  double y[rows];
  int8_t group[rows];
  for (int i = 0; i < rows; ++i) {
    x[i] = (float)i / rows;
    y[i] = 1 + 2 * x[i] + 0.1 * sin(i * i);
    group[i] = (int8_t)(i % 3);
  }
  const char *levels[] = {"a", "b", "c"};
  const onward_column columns[] = {{"x", "<f4", rows, sizeof *x, x, 0, NULL},
                                   {"y", "<f8", rows, sizeof *y, y, 0, NULL},
                                   {"g", "|i1", rows, 1, group, 3, levels}};
  onward_model *model = onward_model_build(
      "{\"name\": \"glm\", \"data\": \"memory:table\", \"formula\": \"y ~ x + g\", \"family\": \"gaussian\"}", NULL, 0,
      columns, 3);
  expect(model != NULL, "a regression is made from columns in memory");
  if (model == NULL) return;
  onward_run *run = onward_run_start(model, "{\"draws\": 500, \"seed\": 1}", NULL);
  expect(run != NULL && onward_run_wait(run, -1) == 0, "it is sampled");
  expect(onward_run_loo(run, 0) != NULL && strstr(onward_run_loo(run, 0), "elpd_loo") != NULL, "it is cross-validated");
  onward_predictions *predictions = onward_run_predict(run, "{\"probabilities\": [0.5]}", columns, 3);
  expect(predictions != NULL, "it predicts");
  double summaries[rows * 3];
  expect(onward_predictions_values(predictions, summaries, NULL) == ONWARD_OK, "predictions are read");
  expect(fabs(summaries[3 * 20] - 2) < 0.2, "the fit is near the data");
  onward_predictions_free(predictions);
  expect(onward_run_predict(run, "{\"what\": \"guess\"}", columns, 3) == NULL, "an unknown kind is refused");
  onward_run_free(run);
  onward_model_free(model);
  expect(strcmp(onward_formula_variables("log(y) ~ a*b + (1|g)"), "[\"y\",\"a\",\"b\",\"g\"]") == 0,
         "the variables of a formula are told");
}

static void meet_errors(void) {
  onward_density density = {.version = ONWARD_INTERFACE, .dimension = 1, .jet = fails, .release = release};
  seen.released = 0;
  onward_model *model = onward_model_from("broken", &density);
  onward_run *run = onward_run_start(model, "{\"draws\": 10}", NULL);
  expect(run != NULL && onward_run_wait(run, -1) == -ONWARD_FAILED, "a model that fails ends the run");
  expect(strstr(onward_message(), "the instrument is broken") != NULL, "with its own words");
  expect(onward_run_summary(run, 10) == NULL, "and there is no summary");
  onward_run_free(run);
  onward_model_free(model);
  expect(seen.released == 1, "it is released");
  density.version = 99;
  expect(onward_model_from("new", &density) == NULL && strstr(onward_message(), "99") != NULL,
         "another version is refused");
  expect(seen.released == 2, "and released as well");
}

int main(void) {
  sample_own_density();
  sample_by_specification();
  fit_table();
  meet_errors();
  if (failures == 0) printf("onward %s: all is well\n", onward_version());
  return failures != 0;
}
