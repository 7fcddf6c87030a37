// What a model says of its data: effects, checks and cross-validation of regressions, predictions of networks.

function bandedLines(x, lines, more) {
  const series = [], bands = [];
  lines.forEach((line, k) => {
    const at = series.length + 1;
    series.push({y: line.high, colour: "transparent", width: 0}, {y: line.low, colour: "transparent", width: 0}, {label: line.label || "mean", y: line.middle, colour: chainColour(k), width: 2});
    bands.push({series: [at, at + 1], fill: chainColour(k, 0.16)});
  });
  return {x, series, bands, ...more};
}

function effectFigure(effect, regression) {
  const lines = effect.lines.map((line) => ({label: line.label, middle: numbers(line.middle), low: numbers(line.low), high: numbers(line.high)}));
  const told = `${effect.held ? `Held: ${effect.held}. ` : ""}${effect.left_out ? `${counted(effect.left_out, "more line")} left out.` : ""}`;
  const last = lines[0].middle.length - 1;
  const label = `Expected ${regression.response} over ${effect.variable}: from ${brief(lines[0].middle[0])} to ${brief(lines[0].middle[last])}.`;
  const picture = figure(effect.term, told, () => {
    if (effect.places) return bandedLines(Array.from(numbers(effect.places)), lines, {xLabel: effect.variable, label});
    const n = effect.levels.length, shift = (k) => (k - (lines.length - 1) / 2) * Math.min(0.14, 0.6 / lines.length);
    const x = [...new Set(lines.flatMap((_, k) => count(n).map((i) => i + shift(k))))].sort((a, b) => a - b);
    const series = lines.map((line, k) => ({label: line.label || "mean", only: true, points: 8, colour: chainColour(k), y: x.map((at) => {
      const i = Math.round(at - shift(k));
      return Math.abs(at - shift(k) - i) < 1e-9 ? line.middle[i] : null;
    })}));
    return {x, series, xLabel: effect.variable, xRange: [-0.6, n - 0.4], yRange: padded(rangeOf(...lines.flatMap((line) => [line.low, line.high]))), xSplits: count(n), xValues: (i) => effect.levels[Math.round(i)] ?? "",
      marks: (u) => lines.forEach((line, k) => count(n).forEach((i) => stem(u, i + shift(k), line.low[i], line.high[i], chainColour(k)))), label};
  }, {height: 240});
  if (lines.length > 1) picture.element.append(legend(lines.map((line, k) => [line.label, `c${k}`])));
  return picture;
}

function checkFigure(check, response) {
  if (check.bars) {
    const {at, width, observed, q5, q50, q95} = check.bars;
    const label = `Shares of values of ${response} in the data, and in data that the model makes up.`;
    return figure("The data, and data that the model makes up", `Bars are the data; points and lines are the medians and 90% intervals of ${check.replicates.toLocaleString("en")} data sets that the model made up. Bars should end within the lines.`, () =>
      ({x: at, series: [{label: "data", y: observed, colour: colour("c0"), fill: colour("c0", 0.35), paths: bars(0.8), width: 1}, {label: "made up", y: q50, colour: colour("c1"), only: true, points: 6}],
        xLabel: response, yLabel: "share of rows", xRange: [at[0] - width * 0.7, at[at.length - 1] + width * 0.7], yRange: [0, 1.08 * Math.max(...observed, ...q95)],
        ...(check.classes ? {xSplits: at, xValues: (i) => check.classes[Math.round(i)] ?? ""} : {}), marks: (u) => at.forEach((x, i) => stem(u, x, q5[i], q95[i], colour("c1"))), label}), {height: 260, full: true});
  }
  if (!check.curves) return null;
  return figure("The data, and data that the model makes up", "The thick line is the density of the data; thin ones are data sets that the model made up. The thick line should look like one of them.", () => {
    const {x0, dx, n} = check.curves, y = numbers(check.curves.y), sets = y.length / n - 1;  // all together come first
    const thin = count(sets - 1).map((s) => ({label: "", y: y.subarray((s + 2) * n, (s + 3) * n), colour: colour("c1", 0.3), width: 1}));
    return {x: count(n, x0, dx), series: [...thin, {label: "data", y: y.subarray(n, 2 * n), colour: colour("c0"), width: 2.6}], xLabel: response, yHidden: true, label: `Density of ${response} in the data and in made-up data.`};
  }, {height: 260, full: true});
}

const pValue = (p) => (p < 0.001 ? "p < 0.001" : p > 0.999 ? "p > 0.999" : `p = ${p.toFixed(3)}`);
const statisticFigure = (s) => figure(s.name, s.low === s.high ? `It is ${brief(s.observed)} in the data and in all that is made up.` : `In the data ${brief(s.observed)} (line); made up ${brief(s.q5)} to ${brief(s.q95)}. ${pValue(s.p)}.`, () => {
  const n = s.counts.length, width = (s.high - s.low) / n || 1;
  return {x: count(n, s.low + width / 2, width), series: [{label: "data sets", y: s.counts, colour: colour("c1"), fill: colour("c1", 0.35), paths: bars(1), width: 1}], yHidden: true,
    xRange: padded([s.low, s.high], 0.06), marks: (u) => lineAt(u, {x: s.observed, colour: colour("c0"), width: 2.5}), label: `The ${s.name} of the data is ${brief(s.observed)}; p ${s.p.toFixed(3)}.`};
}, {height: 150});

function looPart(loo) {
  const k = numbers(loo.k), row = Array.from(numbers(loo.row)), high = (x) => x > 0.7;
  return [make("p", {}, loo.words),
    dataTable("Leave-one-out cross-validation", ["", "estimate", "standard error"], [["elpd_loo", loo.elpd], ["p_loo", loo.p], ["looic", loo.looic]].map(([name, e]) => [name, fixed(e.value, 1), fixed(e.se, 1)]), true),
    figure("Pareto k of each observation", `How much the fit leans on single rows: above 0.7 (the line) leaving a row out cannot be told from these draws.${loo.shown < loo.observations ? ` ${counted(loo.shown, "row")} of ${loo.observations.toLocaleString("en")} are shown, those with the highest k among them.` : ""}`, () =>
      ({x: row, series: [{label: "k", only: true, points: 4, colour: colour("c0", 0.8), y: Array.from(k, (x) => (high(x) ? null : x))}, {label: "k", only: true, points: 7, colour: colour("bad"), y: Array.from(k, (x) => (high(x) ? Math.min(x, 3) : null))}],
        xLabel: "row of the data", yRange: [Math.min(0, ...k) - 0.05, Math.min(3.1, Math.max(1, ...k) + 0.1)], marks: (u) => lineAt(u, {y: 0.7, colour: colour("bad"), width: 1.2, dash: [4, 4]}), label: `Pareto k: ${loo.counts[0]} good, ${loo.counts[1]} ok, ${loo.counts[2]} bad, ${loo.counts[3]} very bad.`}), {full: true, height: 200}).element];
}

function regressionParts(run) {
  const regression = run.regression, parts = [];
  if (regression.effects.length) parts.push(["effects", "Conditional effects", `The expected ${regression.response} over each predictor, with ${brief(100 * regression.interval)}% intervals. The other predictors are held at their means or first levels, and groups count for nothing.`,
    make("div", {class: "grid"}, regression.effects.map((effect) => effectFigure(effect, regression).element))]);
  if (regression.check) {
    const picture = checkFigure(regression.check, regression.response);
    parts.push(["check", "Predictive checks", `Data sets that the fitted model makes up for the same ${counted(regression.check.rows, "row")}, beside the real one.`,
      make("div", {class: "grid"}, picture ? picture.element : ""), make("div", {class: "grid three"}, regression.check.statistics.map((s) => statisticFigure(s).element)),
      make("p", {class: "hint"}, "p is the share of made-up data sets whose statistic is above that of the data. Near 0 or 1, the model does not account for it."), ...regression.check.notes.map((note) => make("p", {class: "note"}, note))]);
  }
  if (regression.loo) parts.push(["loo", "Cross-validation", "How well each row would be predicted by a fit without it. Differences of elpd_loo compare models of the same data; higher is better.", ...looPart(regression.loo)]);
  for (const words of regression.left_out) parts.push(["", "", "", make("p", {class: "note"}, `Left out. ${words}`)]);
  return parts;
}

function networkParts(run) {
  const p = run.predictions, figures = [], scores = p.scores || {};
  const words = [["NLL", scores.nll], ["RMSE", scores.rmse], ["accuracy", scores.accuracy], ["ECE", scores.ece]].filter(([, x]) => isNumber(x)).map(([name, x]) => `${name} ${brief(x)}`).join(", ");
  if (p.curve) figures.push(figure(p.classes ? "Probability of the second class" : "Predictions", `The line is the mean over draws, the inner band nine in ten draws${numbers(p.curve.low_noise).length ? ", the outer band nine in ten new answers, noise included" : ""}. Points are the data.`, () => {
    const c = Object.fromEntries(Object.entries(p.curve).map(([name, text]) => [name, numbers(text)]));
    const noise = c.low_noise.length > 0;
    const xs = [...Array.from(c.x, (x, i) => ({x, i})), ...Array.from(c.data_x, (x, j) => ({x, j}))].sort((a, b) => a.x - b.x);
    // The curve is given at its own places only: between them it is interpolated, so that data in between do not break it.
    const on = (values) => xs.map(({x, i}) => {
      if (i !== undefined) return values[i];
      let k = 1;
      while (k < c.x.length - 1 && c.x[k] < x) ++k;
      if (x < c.x[0] || x > c.x[c.x.length - 1] || c.x.length < 2) return null;
      const share = (x - c.x[k - 1]) / (c.x[k] - c.x[k - 1] || 1);
      return values[k - 1] + share * (values[k] - values[k - 1]);
    });
    const clear = {colour: "transparent", width: 0};
    const series = [{...clear, y: on(noise ? c.high_noise : c.high)}, {...clear, y: on(noise ? c.low_noise : c.low)}, {...clear, y: on(c.high)}, {...clear, y: on(c.low)},
      {label: "mean", y: on(c.middle), colour: colour("c0"), width: 2.2}, {label: "data", only: true, points: 5, colour: colour("ink", 0.75), y: xs.map(({j}) => (j === undefined ? null : c.data_y[j]))}];
    return {x: xs.map(({x}) => x), series, bands: [{series: [1, 2], fill: colour("c0", 0.12)}, {series: [3, 4], fill: colour("c0", 0.24)}], xLabel: "x", yRange: padded(rangeOf(noise ? c.low_noise : c.low, noise ? c.high_noise : c.high, c.data_y)), label: "Predictions with bands, and the data."};
  }, {full: true, height: 320}));
  if (p.scatter) figures.push(figure("Answers beside predictions", "A point for each row, with the 90% band of draws. Points should lie about the line.", () => {
    const mean = numbers(p.scatter.mean), sd = numbers(p.scatter.sd), answers = numbers(p.scatter.answers);
    const order = count(mean.length).sort((a, b) => mean[a] - mean[b]), both = padded(rangeOf(mean, answers));
    return {x: order.map((i) => mean[i]), series: [{label: "answer", only: true, points: 4.5, colour: colour("c0", 0.7), y: order.map((i) => answers[i])}], xRange: both, yRange: both, xLabel: "predicted", yLabel: "answer",
      under: (u) => {}, marks: (u) => { const {ctx} = u; ctx.save(); ctx.strokeStyle = colour("muted"); ctx.beginPath(); ctx.moveTo(u.valToPos(both[0], "x", true), u.valToPos(both[0], "y", true)); ctx.lineTo(u.valToPos(both[1], "x", true), u.valToPos(both[1], "y", true)); ctx.stroke(); ctx.restore(); }, label: "Answers over predictions."};
  }, {height: 320}));
  if (p.calibration) figures.push(figure("Calibration", p.classes ? "How often the class that was thought most likely was right, over how likely it was thought. Larger points have more rows. Below the line the network is too sure of itself, above it not sure enough."
    : "How many answers lie in their central intervals, over the probability of those. Below the line the bands are too narrow. Predictive distributions are taken as normal here.", () => {
    const points = p.calibration, all = points.reduce((sum, point) => sum + point.rows, 0);
    return {x: points.map((point) => point.said), series: [{label: "right", y: points.map((point) => point.came), colour: colour("c0"), points: p.classes ? 0 : 6, width: 1.6}], xRange: [0, 1], yRange: [0, 1.03], xLabel: p.classes ? "probability that was said" : "probability of the interval", yLabel: p.classes ? "share that came" : "share inside",
      marks: (u) => { const {ctx} = u; ctx.save(); ctx.strokeStyle = colour("muted"); ctx.setLineDash([5, 5]); ctx.beginPath(); ctx.moveTo(u.valToPos(0, "x", true), u.valToPos(0, "y", true)); ctx.lineTo(u.valToPos(1, "x", true), u.valToPos(1, "y", true)); ctx.stroke(); ctx.setLineDash([]);
        if (p.classes) for (const point of points) { ctx.beginPath(); ctx.fillStyle = colour("c0", 0.75); ctx.arc(u.valToPos(point.said, "x", true), u.valToPos(point.came, "y", true), (3 + 12 * Math.sqrt(point.rows / all)) * devicePixelRatio, 0, 7); ctx.fill(); } ctx.restore(); },
      label: `Calibration: ${points.map((point) => `${brief(point.said, 2)} said, ${brief(point.came, 2)} came`).join("; ")}.`};
  }, {height: 320}));
  const whose = p.training ? "the rows that the network was fitted to, which flatters it" : "rows that the network was not fitted to";
  return [["predictions", "Predictions", `Of ${counted(p.rows, "row")}: ${whose}.${words ? ` ${words}.` : ""}`, make("div", {class: "grid"}, figures.map((each) => each.element))]];
}

/** These parts belong to one run each, and change with it. */
function addModel() {
  const host = make("div");
  const fill = () => {
    const run = theRun();
    const parts = [...(run.regression ? regressionParts(run) : []), ...(run.predictions ? networkParts(run) : [])];
    const before = sections.length;
    host.replaceChildren(...parts.map(([id, heading, hint, ...children]) => (id ? section(id, heading, hint, ...children) : make("section", {class: "card"}, ...children))));
    if (filled) sections.length = before;
    filled = true;
  };
  let filled = false;
  main.append(host);
  whenRunChanges.push(fill);
  fill();
}
