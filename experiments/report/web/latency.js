// Latency distributions: all requests of a run, from the quickest to the slowest.

const LATENCIES = [
  { name: "queueing", title: "Waiting for admission", p50: "queueing_p50_s",
    p99: "queueing_p99_s" },
  { name: "ttft", title: "Time to first token", p50: "ttft_p50_s", p99: "ttft_p99_s" },
  { name: "tpot", title: "Time per further token", p50: "tpot_p50_s", p99: "tpot_p99_s" },
  { name: "end_to_end", title: "End to end", p50: "latency_p50_s", p99: "latency_p99_s" },
];

// Marks of time, each about ten times the one before.
const DECADES = [1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1, 10, 60, 600, 3600, 36000, 360000];

// Marks of a logarithmic axis: at least two, because one mark shows no scale.
function timeMarks(least, most) {
  const within = (marks) => marks.filter((mark) => mark >= least && mark <= most);
  const decades = within(DECADES);
  return decades.length > 2 ? decades : within(TIME_STEPS);
}

const timeMark = (seconds) => (seconds < 60 ? rounded(span(seconds))
    : seconds < 3600 ? seconds / 60 + " min" : seconds / 3600 + " h");

const LEAST_S = 1e-4;  // smaller times are drawn here, because the axis has no zero

function latencyChart(host, data, latency) {
  const shown = (row) => data.latency[row][latency.name];
  const drawn = (row) => {
    const values = shown(row);
    if (!values.length) return data.quantiles_per_mille.map(() => null);
    return values.map((value) => Math.max(value, LEAST_S));
  };
  const others = () => data.rows.map((row, i) => i).filter((i) => !compared.rows.includes(i));
  const columns = () => [...others(), ...compared.rows];
  const options = () => ({
    height: 230,
    cursor: { sync: { key: "share" }, drag: { x: false, y: false } },
    scales: { x: { time: false, range: [0, 100] },
              y: { distr: 3, range: (u, least, most) => [least / 1.3, most * 1.3] } },
    axes: [axis({ values: (u, splits) => splits.map((split) => split + " %"), space: 60,
                  size: X_AXIS_HEIGHT }),
           valueAxis({ splits: (u, i, least, most) => timeMarks(least, most),
                       filter: (u, splits) => splits,
                       values: (u, splits) => splits.map(timeMark) })],
    series: [
      { label: "of requests", value: (u, v) => (v === null ? "50 %" : short(v) + " %") },
      ...others().map(() => ({ stroke: cssVariable("--faint"), width: 1,
                               points: { show: false } })),
      ...COMPARED.map((of, which) => ({
        label: of.name + " " + labelOf(data, which),
        stroke: colour(of),
        dash: of.dash,
        mark: lineMark(of, false),
        width: 2,
        points: { show: false },
        value: (u, v, series, at) => {
          const values = shown(compared.rows[which]);
          const middle = data.quantiles_per_mille.indexOf(500);
          return values.length ? span(values[at === null || at === undefined ? middle : at]) : "–";
        },
      })),
    ],
  });
  const hideOthers = () => {
    const rows = host.querySelectorAll(".u-legend .u-series");
    others().forEach((row, i) => { rows[i + 1].style.display = "none"; });
  };
  const holder = chart(host, options, () => [data.quantiles_per_mille.map((q) => q / 10),
                                             ...columns().map(drawn)]);
  onTheme(hideOthers);
  compared.listeners.push(() => {
    holder.remake();
    hideOthers();
  });
}

function latencySection(data) {
  const made = section("latency", "Latency distributions",
      "Read: this percentage of the finished requests took no longer. " +
      "Thin lines are the rows that are not compared." +
      (data.seeds > 1 ? " Curves are of the first seed." + overSeeds(data) : ""));
  made.append(element("div", { class: "two" }, ...LATENCIES.map((latency) => figure(latency.title,
      element("div", { class: "plot", id: "plot-" + latency.name }),
      (host) => latencyChart(host, data, latency)))));
  const heads = [{ text: "" }, ...LATENCIES.flatMap((latency) => [
    { text: latency.title + ", median" }, { text: "p99" }])];
  const host = element("div");
  made.append(host);
  onCompared(() => host.replaceChildren(table(heads, data.rows.map((row) => [row.label,
    ...LATENCIES.flatMap((latency) => [estimate(span, row.metrics, latency.p50),
                                       estimate(span, row.metrics, latency.p99)])]),
    chosenRows(data))));
  return made;
}
