/* Neal's funnel as a plug-in in C, with its derivatives along a line written by hand:
 * w ~ N(0, 3^2), and given w each x[i] ~ N(0, exp(-w)).
 *
 *     cc -O2 -shared -fPIC funnel.c -lm -o funnel.so
 *     onward sample plugin:./funnel.so --data 10
 */
#include <math.h>
#include <onward.h>
#include <stdio.h>
#include <stdlib.h>

struct funnel {
  size_t width;
  onward_parameter parameters[2];
};

static int jet(void *data, const double *theta, const double *v, int order, double *out, char *message) {
  const size_t n = ((const struct funnel *)data)->width;
  (void)message;
  double squares = 0, products = 0, directions = 0;
  for (size_t i = 1; i <= n; ++i) {
    squares += theta[i] * theta[i];
    if (order >= 1) products += theta[i] * v[i];
    if (order == 2) directions += v[i] * v[i];
  }
  const double w = theta[0], scale = exp(w), half = 0.5 * (double)n;
  out[0] = -w * w / 18 + half * w - 0.5 * scale * squares;
  if (order >= 1) out[1] = -w * v[0] / 9 + half * v[0] - 0.5 * scale * (v[0] * squares + 2 * products);
  if (order == 2)
    out[2] = -v[0] * v[0] / 9 - 0.5 * scale * (v[0] * v[0] * squares + 4 * v[0] * products + 2 * directions);
  return ONWARD_OK;
}

static int gradient(void *data, const double *theta, double *value, double *out, char *message) {
  const size_t n = ((const struct funnel *)data)->width;
  const double scale = exp(theta[0]);
  double squares = 0;
  for (size_t i = 1; i <= n; ++i) {
    squares += theta[i] * theta[i];
    out[i] = -scale * theta[i];
  }
  out[0] = -theta[0] / 9 + 0.5 * (double)n - 0.5 * scale * squares;
  return jet(data, theta, NULL, 0, value, message);
}

int onward_plugin(const char *argument, onward_density *out, char *message) {
  char *end = NULL;
  const long width = *argument == '\0' ? 10 : strtol(argument, &end, 10);
  if (width < 1 || (end != NULL && *end != '\0')) {
    snprintf(message, ONWARD_MESSAGE_SIZE, "the data '%.100s' are no number of x: give one, such as 10", argument);
    return ONWARD_USAGE;
  }
  struct funnel *model = malloc(sizeof *model);
  if (model == NULL) return ONWARD_FAILED;
  model->width = (size_t)width;
  model->parameters[0] = (onward_parameter){"w", 0, NULL};
  model->parameters[1] = (onward_parameter){"x", 1, &model->width};
  *out = (onward_density){.version = ONWARD_INTERFACE,
                          .flags = ONWARD_THREAD_SAFE,
                          .dimension = model->width + 1,
                          .data = model,
                          .jet = jet,
                          .gradient = gradient,
                          .parameter_count = 2,
                          .parameters = model->parameters,
                          .release = free};
  return ONWARD_OK;
}
