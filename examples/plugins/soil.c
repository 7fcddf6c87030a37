#include "soil.h"

#include <math.h>

enum { LAYERS = 20, UPPER = 4, PER_HOUR = 12 }; /* layers of 5 cm, steps of 5 minutes */

static const int depths[SOIL_DEPTHS] = {0, 2, 5};
static const double share = 1e-6 * 300 / (0.05 * 0.05); /* of a difference that flows in a step, for 1 mm^2/s */

/* Conductances above each layer: the top one is half a layer from the surface, the others have the mean. */
static void conductances(const double *p, double *c) {
  for (int i = 0; i < LAYERS; ++i) {
    const double here = i < UPPER ? p[0] : p[1], above = i - 1 < UPPER ? p[0] : p[1];
    c[i] = i == 0 ? 2 * share * p[0] : share * 0.5 * (here + above);
  }
}

static double sun(int step) { return sin(2 * 3.14159265358979323846 * step / (24.0 * PER_HOUR)); }

int soil_run(const double *p, double *seen) {
  double c[LAYERS], t[LAYERS], flow[LAYERS + 1];
  if (!(p[0] > 0 && p[1] > 0 && share * (p[0] + p[1]) < 0.6 && 3 * share * p[0] < 1)) return 1;
  conductances(p, c);
  for (int i = 0; i < LAYERS; ++i) t[i] = p[2];
  flow[LAYERS] = 0; /* nothing passes the bottom */
  for (int step = 0; step < (24 + SOIL_HOURS) * PER_HOUR; ++step) {
    flow[0] = c[0] * (p[2] + p[3] * sun(step) - t[0]);
    for (int i = 1; i < LAYERS; ++i) flow[i] = c[i] * (t[i - 1] - t[i]);
    for (int i = 0; i < LAYERS; ++i) t[i] += flow[i] - flow[i + 1];
    const int hour = (step + 1) / PER_HOUR - 25;
    if ((step + 1) % PER_HOUR == 0 && hour >= 0)
      for (int k = 0; k < SOIL_DEPTHS; ++k) seen[hour * SOIL_DEPTHS + k] = t[depths[k]];
  }
  return 0;
}

int soil_run_tl(const double *p, const double *dp, double *seen, double *dseen) {
  double c[LAYERS], dc[LAYERS], t[LAYERS], dt[LAYERS], flow[LAYERS + 1], dflow[LAYERS + 1];
  if (!(p[0] > 0 && p[1] > 0 && share * (p[0] + p[1]) < 0.6 && 3 * share * p[0] < 1)) return 1;
  conductances(p, c);
  conductances(dp, dc); /* they are linear in p */
  for (int i = 0; i < LAYERS; ++i) {
    t[i] = p[2];
    dt[i] = dp[2];
  }
  flow[LAYERS] = dflow[LAYERS] = 0;
  for (int step = 0; step < (24 + SOIL_HOURS) * PER_HOUR; ++step) {
    const double warm = p[2] + p[3] * sun(step) - t[0], dwarm = dp[2] + dp[3] * sun(step) - dt[0];
    flow[0] = c[0] * warm;
    dflow[0] = dc[0] * warm + c[0] * dwarm;
    for (int i = 1; i < LAYERS; ++i) {
      flow[i] = c[i] * (t[i - 1] - t[i]);
      dflow[i] = dc[i] * (t[i - 1] - t[i]) + c[i] * (dt[i - 1] - dt[i]);
    }
    for (int i = 0; i < LAYERS; ++i) {
      t[i] += flow[i] - flow[i + 1];
      dt[i] += dflow[i] - dflow[i + 1];
    }
    const int hour = (step + 1) / PER_HOUR - 25;
    if ((step + 1) % PER_HOUR == 0 && hour >= 0)
      for (int k = 0; k < SOIL_DEPTHS; ++k) {
        seen[hour * SOIL_DEPTHS + k] = t[depths[k]];
        dseen[hour * SOIL_DEPTHS + k] = dt[depths[k]];
      }
  }
  return 0;
}
