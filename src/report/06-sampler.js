// How the run went: log density, acceptance, and warm-up where its files tell of it.

function addSampler() {
  const host = make("div", {class: "grid"});
  const tableHost = make("div");
  const legendHost = make("div");
  function fill() {
    const run = theRun(), pictures = [];
    if (run.log_density) pictures.push(figure("Log density", "Of what is sampled, draw by draw. A slow climb at the beginning means that warm-up was too short.", () => {
      const values = numbers(run.log_density);
      return {x: traceX(run), series: byChain(values, run.chains, {width: 1}), xLabel: "draw", label: `Log density of the draws, from ${brief(rangeOf(values)[0])} to ${brief(rangeOf(values)[1])}.`};
    }, {full: true}));
    if (run.acceptance) pictures.push(figure("Acceptance", "Mean acceptance probability over the draws, in fifty pieces. It should stay level.", () => {
      const values = numbers(run.acceptance.values), n = run.acceptance.pieces;
      return {x: count(n, run.draws / n / 2, run.draws / n), series: byChain(values, run.chains, {width: 1.5}), xLabel: "draw", yRange: [0, 1], label: `Acceptance between ${brief(rangeOf(values)[0], 2)} and ${brief(rangeOf(values)[1], 2)}.`};
    }));
    if (run.warmup) {
      const chains = run.warmup.map((chain) => ({steps: numbers(chain.steps), size: numbers(chain.step_size), acceptance: numbers(chain.acceptance)})).filter((chain) => chain.steps.length);
      const x = Array.from(chains[0].steps);
      const series = (field) => chains.map((chain, c) => ({label: `chain ${c + 1}`, y: chain[field].length === x.length ? chain[field] : count(x.length).map((i) => chain[field][i] ?? null), colour: chainColour(c), width: 1.4}));
      pictures.push(figure("Step size in warm-up", "Warm-up looks for the step size with the acceptance that is aimed at. It should settle before draws are kept.", () =>
        ({x, series: series("size"), log: true, xLabel: "step of warm-up", label: `Step size in warm-up, at the end ${brief(chains[0].size[chains[0].size.length - 1], 3)} in chain 1.`})));
      const aim = (run.run.settings || {}).target_acceptance;
      pictures.push(figure("Acceptance in warm-up", `Mean acceptance between the places where the step size was noted.${isNumber(aim) ? ` The dashed line, ${brief(aim)}, is what is aimed at.` : ""}`, () =>
        ({x, series: series("acceptance"), yRange: [0, 1], xLabel: "step of warm-up", marks: (u) => isNumber(aim) && lineAt(u, {y: aim, colour: colour("muted"), dash: [4, 4]}), label: "Acceptance in warm-up."})));
    }
    host.replaceChildren(...pictures.map((picture) => picture.element));
    legendHost.replaceChildren(chainLegend(run));
    const summary = run.summary, rows = [];
    if (Array.isArray(summary.acceptance)) summary.acceptance.forEach((acceptance, c) =>
      rows.push([`chain ${c + 1}`, brief(acceptance, 3), Array.isArray(summary.step_size) ? brief(summary.step_size[c], 3) : "\u2013"]));
    const counts = [];
    if (isNumber(summary.jets) && summary.jets) counts.push(`${summary.jets.toLocaleString("en")} jets`);
    if (isNumber(summary.gradients) && summary.gradients) counts.push(`${summary.gradients.toLocaleString("en")} gradients`);
    if (isNumber(summary.nonfinite) && summary.nonfinite) counts.push(`${summary.nonfinite.toLocaleString("en")} of them without a density`);
    if (isNumber(summary.steps_per_second)) counts.push(`${brief(summary.steps_per_second, 3)} steps a second`);
    tableHost.replaceChildren(rows.length ? dataTable("Acceptance while sampling, and the step size that warm-up found", ["", "acceptance", "step size"], rows, true) : "",
      counts.length ? make("p", {class: "hint"}, counts.join(", ") + ".") : "",
      run.warmup ? "" : make("p", {class: "hint"}, "This run has no record of its warm-up: its sampler does not adapt, or an older version made it."));
  }
  main.append(section("sampler", "How the run went", "", legendHost, host, tableHost));
  whenRunChanges.push(fill);
  fill();
}
