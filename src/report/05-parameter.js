// One parameter closely, and several against each other.

/** Where the points of a trace are, counted in draws. */
function traceX(run) {
  const at = numbers(run.trace.at);
  if (!run.trace.extremes) return Array.from(at, (i) => i + 1);
  const x = [];
  for (let i = 0; i < at.length; ++i) {
    const next = i + 1 < at.length ? at[i + 1] : run.draws;
    x.push(at[i] + 1, (at[i] + next) / 2 + 1);
  }
  return x;
}

/** Values of all chains one after the other, as a series for each chain. */
function byChain(values, chains, more) {
  const length = values.length / chains;
  return count(chains).map((c) => ({label: `chain ${c + 1}`, y: values.subarray(c * length, (c + 1) * length), colour: chainColour(c), ...more}));
}

const rowShown = () => theRun().parameters[chosen];

function tracePicture() {
  const run = theRun(), row = rowShown();
  return {x: traceX(run), series: byChain(numbers(row.trace), run.chains, {width: 1}), xLabel: "draw", yLabel: "",
    label: `Trace of ${row.name}: ${run.chains} chains around ${brief(row.mean)} with standard deviation ${brief(row.sd)}, R-hat ${brief(row.rhat)}.`};
}

function rankPicture() {
  const run = theRun(), row = rowShown();
  if (run.chains < 2) return {words: "Ranks compare chains, and there is only one."};
  if (!row.ranks) return {words: "There are too few draws, or some are not finite."};
  const counts = numbers(row.ranks), bins = counts.length / run.chains;
  const expected = run.draws / bins;
  const room = 2.58 * Math.sqrt(expected * (1 - 1 / bins) * (1 - 1 / run.chains));
  const series = byChain(counts, run.chains).map((s) => ({...s, y: [...s.y, s.y[bins - 1]], paths: stepped(), width: 1.6}));
  const flat = (y) => Array(bins + 1).fill(y);
  const top = Math.max(...counts, expected + room);
  return {x: count(bins + 1, 0, 100 / bins), series: [{y: flat(expected + room), colour: "transparent", width: 0}, {y: flat(Math.max(0, expected - room)), colour: "transparent", width: 0}, ...series],
    bands: [{series: [1, 2], fill: colour("band")}], xLabel: "rank among all draws, in percent", yRange: [0, top * 1.06], marks: (u) => lineAt(u, {y: expected, colour: colour("muted"), width: 1, dash: [4, 4]}),
    label: `Ranks of ${row.name} by chain: counts from ${Math.min(...counts)} to ${Math.max(...counts)} where ${brief(expected)} are expected.`};
}

function densityPicture() {
  const run = theRun(), row = rowShown();
  if (!row.density) return {words: `All draws of ${row.name} are equal, or not finite.`};
  const {x0, dx, n} = row.density, y = numbers(row.density.y);
  const x = count(n, x0, dx), pooled = y.subarray(0, n);
  const inside = Array.from(pooled, (v, i) => (x[i] >= row.q5 - dx / 2 && x[i] <= row.q95 + dx / 2 ? v : null));
  const chains = count(y.length / n - 1).map((c) => ({label: "", y: y.subarray((c + 1) * n, (c + 2) * n), colour: chainColour(c, 0.75), width: 1}));
  const other = report.runs.length === 2 ? report.runs[1 - current].parameters.find((r) => r.name === row.name) : null;
  const series = [{y: inside, colour: "transparent", width: 0, fill: colour("band")}, ...chains, {label: "all", y: pooled, colour: colour("ink"), width: 2}];
  if (other && other.density) {
    const there = numbers(other.density.y), d = other.density;
    series.push({label: report.runs[1 - current].name, colour: colour("c1"), width: 2, dash: [6, 4], y: x.map((at) => {
      const place = (at - d.x0) / d.dx, i = Math.floor(place);
      return i < 0 || i + 1 >= d.n ? 0 : there[i] + (place - i) * (there[i + 1] - there[i]);
    })});
  }
  return {x, series, yHidden: true, xLabel: row.name, marks: (u) => { lineAt(u, {x: row.mean, colour: colour("ink"), width: 1.2, dash: [3, 3]}); }, yRange: [0, Math.max(...y) * 1.05],
    caption: `Mean ${brief(row.mean)} (dashed), median ${brief(row.q50)}; nine in ten draws lie between ${brief(row.q5)} and ${brief(row.q95)} (shaded).${chains.length ? " Thin lines are single chains, which should lie upon each other." : ""}${other ? " The dashed curve is the other run." : ""}`,
    label: `Density of ${row.name}: mean ${brief(row.mean)}, 90% interval ${brief(row.q5)} to ${brief(row.q95)}.`};
}

function acfPicture() {
  const run = theRun(), row = rowShown();
  if (!row.acf) return {words: "There are too few draws, or some are not finite."};
  const values = numbers(row.acf), lags = row.lags;
  const small = 1.96 / Math.sqrt(run.draws);
  return {x: count(lags + 1), series: byChain(values, run.chains, {points: lags < 40 ? 4 : 0}), xLabel: "draws apart", yRange: [Math.min(-0.1, ...values), 1.02],
    marks: (u) => { for (const y of [small, -small]) lineAt(u, {y, colour: colour("muted"), width: 1, dash: [3, 4]}); lineAt(u, {y: 0, colour: colour("muted"), width: 1}); },
    label: `Autocorrelation of ${row.name}: ${brief(values[1], 2)} at lag 1 in chain 1.`};
}

function growthPicture() {
  const run = theRun(), row = rowShown();
  if (!row.growth || run.growth.length < 2) return {words: "There are too few draws to see them grow."};
  const values = numbers(row.growth), n = run.growth.length, x = run.growth.map((d) => d * run.chains);
  const wanted = 100 * run.chains;
  return {x, series: [{label: "bulk", y: values.subarray(0, n), colour: colour("c0"), points: 6, width: 1.8}, {label: "tail", y: values.subarray(n), colour: colour("c1"), points: 6, width: 1.8, dash: [6, 4]}],
    xLabel: "draws of all chains", yRange: [0, Math.max(...values.filter(isNumber), wanted) * 1.08], marks: (u) => lineAt(u, {y: wanted, colour: colour("bad"), width: 1.2, dash: [4, 4]}),
    label: `Effective draws of ${row.name} grew to ${brief(values[n - 1])} in the bulk and ${brief(values[2 * n - 1])} in the tails; ${wanted} are enough.`};
}

/** The least sure parameter is the one to look at first. */
function worst(run) {
  let least = Infinity, which = 0;
  for (const [row, i] of pictured(run)) {
    if (row.level) continue;
    const doubt = Math.min(row.ess_bulk ?? 0, row.ess_tail ?? 0) / (row.rhat > 1.01 ? 100 * (row.rhat - 1) : 1);
    if (doubt < least) { least = doubt; which = i; }
  }
  return which;
}

function addParameter() {
  const select = make("select", {id: "parameter-name", change: () => choose(Number(select.value))});
  const legendHost = make("div");
  const step = (by) => {
    const all = pictured(theRun()).map(([, i]) => i);
    choose(all[(all.indexOf(chosen) + by + all.length) % all.length]);
  };
  const pictures = [
    figure("Trace", "Each chain's draws in their order. Good chains look like noise around one level and cannot be told apart.", tracePicture, {full: true, height: 240}),
    figure("Ranks", "How often each chain's draws are among the lowest, ..., the highest of all. Chains that agree are about flat: independent draws stay within the band 99 times in 100, draws that remember each other a little less often.", rankPicture),
    figure("Marginal", "", densityPicture),
    figure("Autocorrelation", "How much a draw still tells of an earlier one. The sooner it falls to 0, the more each draw is worth.", acfPicture),
    figure("Effective draws as the run went on", "Bulk (solid) is about the centre, tail (dashed) about the 5% and 95% quantiles. Both should rise steadily and end above the red line.", growthPicture),
  ];
  const update = () => {
    select.value = String(chosen);
    for (const picture of pictures) picture.redraw();
  };
  const refill = () => {
    const run = theRun();
    select.replaceChildren(...pictured(run).map(([row, i]) => make("option", {value: i}, row.name)));
    legendHost.replaceChildren(chainLegend(run));
    if (!run.parameters[chosen] || !run.parameters[chosen].trace) chosen = worst(run);
  };
  const run = theRun(), left = run.parameters.length - pictured(run).length;
  main.append(section("parameter", "A parameter, closely", `At first this is the parameter that the draws know least well.${left > 0 ? ` ${counted(left, "parameter")} of the table have no pictures, to keep this page small.` : ""}`,
    make("div", {class: "controls"}, make("label", {for: "parameter-name"}, "Parameter"), select,
      make("button", {type: "button", click: () => step(-1), "aria-label": "previous parameter"}, "\u2190 previous"),
      make("button", {type: "button", click: () => step(1), "aria-label": "next parameter"}, "next \u2192")),
    legendHost, make("div", {class: "grid"}, pictures.map((picture) => picture.element))));
  whenParameterChanges.push(update);
  whenRunChanges.push(() => { refill(); choose(chosen); });
  refill();
  select.value = String(chosen);
}

/** Draws of two parameters together, a point for each. */
function pairPicture(a, b) {
  return () => {
    const run = theRun(), x = numbers(run.parameters[a].joint), y = numbers(run.parameters[b].joint);
    const divergent = run.parameters[a].divergent && run.parameters[b].divergent ? [numbers(run.parameters[a].divergent), numbers(run.parameters[b].divergent)] : null;
    const order = count(x.length).filter((i) => isNumber(x[i]) && isNumber(y[i])).sort((i, j) => x[i] - x[j]);
    const each = run.joint;
    const series = count(run.chains).map((c) => ({label: "", only: true, points: 3.2, colour: chainColour(c, 0.55),
      y: order.map((i) => (Math.floor(i / each) === c ? y[i] : null))}));
    let sxy = 0, sxx = 0, syy = 0;
    const mean = (v) => order.reduce((sum, i) => sum + v[i], 0) / order.length;
    const mx = mean(x), my = mean(y);
    for (const i of order) { sxy += (x[i] - mx) * (y[i] - my); sxx += (x[i] - mx) ** 2; syy += (y[i] - my) ** 2; }
    const correlation = sxy / Math.sqrt(sxx * syy);
    return {x: order.map((i) => x[i]), series, xLabel: run.parameters[a].name, yLabel: run.parameters[b].name, xRange: padded(rangeOf(x, divergent ? divergent[0] : [])), yRange: padded(rangeOf(y, divergent ? divergent[1] : [])),
      marks: divergent ? (u) => triangles(u, divergent[0], divergent[1], colour("bad")) : undefined,
      caption: `Correlation ${brief(correlation, 2)}.${divergent ? " Triangles are divergent draws: where they gather, the step is too coarse." : ""}`, label: `${run.parameters[b].name} over ${run.parameters[a].name}: correlation ${brief(correlation, 2)}.${divergent ? ` ${counted(divergent[0].length, "divergent draw")} marked.` : ""}`};
  };
}

function addPairs() {
  const host = make("div", {class: "grid three"});
  const picks = [0, 1, 2].map((k) => make("select", {id: `pair-${k}`, "aria-label": `parameter ${k + 1} of the pairs`, change: () => draw()}));
  let drawn = [];
  function draw() {
    for (const chart of drawn) { if (chart.plot) chart.plot.destroy(); charts.splice(charts.indexOf(chart), 1); }
    const some = [...new Set(picks.map((pick) => pick.value).filter((value) => value !== ""))].map(Number);
    drawn = [];
    for (let i = 0; i < some.length; ++i) for (let j = i + 1; j < some.length; ++j)
      drawn.push(figure(`${theRun().parameters[some[i]].name}, ${theRun().parameters[some[j]].name}`, "", pairPicture(some[i], some[j]), {height: 260}));
    host.replaceChildren(...drawn.map((chart) => chart.element));
  }
  function refill() {
    const run = theRun(), all = pictured(run);
    const first = all.filter(([row]) => !row.level && row.sd > 0);
    // Where trouble is, and what goes with it: the least sure parameter beside the last ones, which are often scales.
    const wish = [worst(run), ...first.slice().reverse().map(([, i]) => i)];
    const start = [...new Set(wish)].slice(0, 3);
    picks.forEach((pick, k) => {
      pick.replaceChildren(make("option", {value: ""}, "none"), ...all.map(([row, i]) => make("option", {value: i}, row.name)));
      pick.value = start[k] === undefined ? "" : String(start[k]);
    });
    draw();
  }
  if (pictured(theRun()).length < 2) return;
  main.append(section("pairs", "Pairs", "Draws of two parameters together. Narrow ridges, bends and funnels are what makes sampling hard; chains in different places have not mixed.",
    make("div", {class: "controls"}, make("span", {}, "Parameters"), picks), host));
  whenRunChanges.push(refill);
  refill();
}
