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
    const followed = run.trajectories;
    if (followed && followed.energy && followed.change) pictures.push(figure("Energy", "How energies spread about their mean (solid), and how far they move from one draw to the next (dashed). The dashed curve should be about as wide: if it is much narrower, chains reach the tails only slowly.", () => {
      const at = ({x0, dx, n, y}) => { const values = numbers(y); return (x) => { const place = (x - x0) / dx, i = Math.floor(place); return i < 0 || i + 1 >= n ? 0 : values[i] + (place - i) * (values[i + 1] - values[i]); }; };
      const ends = [followed.energy, followed.change].flatMap(({x0, dx, n}) => [x0, x0 + (n - 1) * dx]);
      const low = Math.min(...ends), x = count(256, low, (Math.max(...ends) - low) / 255);
      return {x, yHidden: true, xLabel: "energy", series: [{label: "energies", y: x.map(at(followed.energy)), colour: colour("c0"), width: 2}, {label: "changes", y: x.map(at(followed.change)), colour: colour("c1"), width: 2, dash: [6, 4]}],
        label: `Densities of the energy and of its changes from draw to draw; least E-BFMI ${brief(Math.min(...followed.e_bfmi.filter(isNumber)), 2)}.`};
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
    const sum = (values) => values.reduce((total, value) => total + value, 0);
    const trajectories = followed ? [
      dataTable("Trajectories: how many diverged or were as long as is allowed, how many steps each took, and how freely the energy moved (E-BFMI, which should be above 0.3)",
        ["", "divergent", "longest", "steps", "E-BFMI"], followed.draws.map((draws, c) => [`chain ${c + 1}`, String(followed.divergent[c]), String(followed.max_depth_reached[c]), brief(followed.leapfrogs[c] / Math.max(draws, 1), 3), brief(followed.e_bfmi[c], 2)]), true),
      make("p", {class: "hint"}, sum(followed.divergent) ? `${counted(sum(followed.divergent), "draw")} of ${sum(followed.draws).toLocaleString("en")} came from trajectories that diverged; triangles mark them in the pairs.` : "No trajectory diverged.")] : [];
    tableHost.replaceChildren(...trajectories, rows.length ? dataTable("Acceptance while sampling, and the step size that warm-up found", ["", "acceptance", "step size"], rows, true) : "",
      counts.length ? make("p", {class: "hint"}, counts.join(", ") + ".") : "",
      run.warmup ? "" : make("p", {class: "hint"}, "This run has no record of its warm-up: its sampler does not adapt, or an older version made it."));
  }
  main.append(section("sampler", "How the run went", "", legendHost, host, tableHost));
  whenRunChanges.push(fill);
  fill();
}
