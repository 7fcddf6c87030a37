// Two runs of one model.

function addComparison() {
  const comparison = report.comparison;
  if (!comparison) return;
  const [one, other] = report.runs.map((run) => run.name);
  const rows = comparison.rows.slice().sort((a, b) => Math.abs(b.z ?? 0) - Math.abs(a.z ?? 0));
  const shown = rows.slice(0, 12);
  const z = figure("Differences of means, in Monte Carlo standard errors", "A point for each parameter. If the runs agree, about one in twenty is beyond two, and none beyond four.", () => {
    const values = comparison.rows.map((row) => row.z);
    return {x: count(values.length, 1), series: [{label: "z", only: true, points: 5, colour: colour("c0", 0.8), y: values.map((v) => (Math.abs(v) > 4 ? null : v))}, {label: "z", only: true, points: 8, colour: colour("bad"), y: values.map((v) => (Math.abs(v) > 4 ? v : null))}],
      xLabel: "parameter", yRange: padded(rangeOf(values, [-4.5, 4.5])), marks: (u) => { for (const y of [-4, 4]) lineAt(u, {y, colour: colour("bad"), width: 1.2, dash: [4, 4]}); lineAt(u, {y: 0, colour: colour("muted"), width: 1}); }, label: comparison.words};
  }, {full: true});
  main.append(section("comparison", "The two runs compared", "", make("p", {}, make("b", {}, comparison.words)), make("div", {class: "grid"}, z.element),
    dataTable(shown.length < rows.length ? `The ${shown.length} parameters that differ most, of ${rows.length}` : "All parameters, those that differ most first",
      ["name", one, other, "in mcse", "in sd", "sd ratio", "ESS ratio"], shown.map((row) => [row.name, brief(row.one), brief(row.other), brief(row.z, 2), brief(row.shift, 2), brief(row.sd_ratio, 3), brief(row.ess_ratio, 3)])),
    comparison.settings.length ? make("details", {open: comparison.settings.length < 12}, make("summary", {}, "What was set otherwise"), dataTable("", ["", one, other], comparison.settings.map((entry) => [entry.field, entry.one, entry.other])))
      : make("p", {class: "hint"}, "All settings are the same.")));
}

function addRunSwitch() {
  if (report.runs.length < 2) return;
  const select = make("select", {id: "run", change: () => { current = Number(select.value); for (const listener of whenRunChanges) listener(); }},
    report.runs.map((run, i) => make("option", {value: i}, run.name)));
  document.getElementById("tools").append(make("label", {for: "run", class: "hidden"}, "Pictures of the run"), select);
}
