// Sections of a study: the figures of each row, and two rows side by side over time.

// The compared rows: indices of data.rows.
const compared = { rows: [0, 0], listeners: [] };

function compare(which, row) {
  compared.rows[which] = row;
  for (const listener of compared.listeners) listener();
}

function onCompared(show) {
  compared.listeners.push(show);
  show();
}

const labelOf = (data, which) => data.rows[compared.rows[which]].label;

function stateBar(metrics) {
  const canvas = element("canvas", { class: "states", width: 380, height: 32, role: "img",
      "aria-label": STATES.map((state) => state.name + " " + percent(metrics[state.name]) + " %")
          .join(", ") });
  onTheme(() => {
    const context = canvas.getContext("2d");
    let at = 0;
    for (const state of STATES) {
      const width = (metrics[state.name] || 0) * canvas.width;
      context.fillStyle = statePattern(context, state);
      context.fillRect(at, 0, width, canvas.height);
      at += width;
    }
  });
  return canvas;
}

const GLANCE = [
  ["used", "used %", percent], ["reserved", "reserved", percent],
  ["internal", "internal", percent], ["cached", "cached", percent], ["free", "free", percent],
  ["overhead", "overhead", percent], ["blocked_free", "blocked", percent],
  ["unplaceable_free", "no hole", percent], ["running", "batch", short],
  ["waiting", "queue", short], ["preemptions", "preempted", count],
  ["requests_rejected", "rejected", countOfMean],
  ["output_tokens_per_s", "tokens/s", short], ["goodput_per_s", "in limits/s", short],
  ["ttft_p50_s", "TTFT p50", span],
  ["ttft_p99_s", "p99", span],
];

const rejects = (data) => data.rows.some((row) => row.metrics.requests_rejected > 0);

// Leaves out columns that are without information for every row.
const glanceOf = (data) => GLANCE.filter(([name]) =>
    (name !== "goodput_per_s" || data.has_limits) &&
    (name !== "requests_rejected" || rejects(data)));

function glanceTable(data, marks) {
  const heads = [{ text: "" }, { text: "the pool, on average", class: "words" },
                 ...glanceOf(data).map(([, text]) => ({ text }))];
  return table(heads, data.rows.map((row) => [
    row.label + (row.error ? ": " + row.error : ""), stateBar(row.metrics),
    ...glanceOf(data).map(([name, , text]) => estimate(text, row.metrics, name))]), marks);
}

// The part of the runs that the means cover, and the rows with another part. Rows that served
// nothing have no means.
function coverage(data) {
  const known = data.rows.filter((row) => isNumber(row.covers_drain));
  const drained = known.filter((row) => row.covers_drain > 0);
  const why = ", as nothing arrived after the first admission";
  const seed = data.kind === "fragmentation" && data.seeds > 1 ? " (under the first seed)" : "";
  if (known.length && known.every((row) => row.covers_drain === 1)) {
    return "from the first admission to the last answer" + why + seed + ".";
  }
  const shown = drained.slice(0, 8).map((row) => row.label +
      (row.covers_drain < 1 ? " (some seeds)" : ""));
  if (drained.length > shown.length) shown.push((drained.length - shown.length) + " more rows");
  return "from the first admission to the last arrival" + (shown.length
      ? "; those of " + shown.join(", ") + " to the last answer" + why + seed : "") + ".";
}

function glanceSection(data) {
  const made = section("glance", "At a glance",
      "Shares of the pool in percent: time-weighted means " + coverage(data) + " Blocked: free, " +
      "while the head of the queue does not fit; no hole: the part that would be enough in " +
      "total." + (rejects(data) ? " Rejected: requests that can never fit." : "") +
      " TTFT: time to the first token." +
      overSeeds(data));
  const host = element("div");
  made.append(statesLegend(), host);
  onCompared(() => host.replaceChildren(glanceTable(data, chosenRows(data))));
  return made;
}

function compareBar(data) {
  const select = (which) => {
    const made = element("select", { id: "compare-" + which, onchange: (event) =>
        compare(which, Number(event.target.value)) },
      ...data.rows.map((row, i) => element("option", { value: i }, row.label)));
    onCompared(() => { made.value = compared.rows[which]; });
    return made;
  };
  return element("div", { class: "tools bar" },
      ...COMPARED.flatMap((of, which) => [element("label", { for: "compare-" + which },
          lineKey(of), of.name), select(which)]),
      element("button", { id: "whole", onclick: () =>
          setTimeRange(timeRange.first, timeRange.last) }, "whole run"),
      element("span", { class: "small" },
              "drag over a chart over time to zoom in all of them and in the maps; " +
              "double-click shows the whole run"));
}

// A figure for each compared row, side by side, in the places that `place` makes.
function comparedPair(data, place, draw) {
  return element("div", { class: "two" }, ...COMPARED.map((of, which) => {
    const name = element("span");
    onCompared(() => name.replaceChildren(labelOf(data, which)));
    return figure([lineKey(of), name], place(of), (host) => draw(host, which));
  }));
}

// The classes of rows in a table.
const chosenRows = (data) =>
    data.rows.map((row, i) => (compared.rows.includes(i) ? "chosen" : ""));

const ofFirstSeed = (data) => (data.seeds > 1 ? " Of the first seed alone." : "");

function statesSection(data) {
  const made = section("states", "The pool over time",
      "Each slot is in exactly one of six states. Numbers below a picture are time-weighted " +
      "means over the whole run, to its last answer, or values at the cursor." + ofFirstSeed(data));
  made.append(statesLegend(), comparedPair(data, () => element("div", { class: "plot" }),
      (host, which) => {
        const series = () => data.series[compared.rows[which]];
        compared.listeners.push(stackedChart(host, series, data.pool_slots).remake);
      }));
  return made;
}

const LINES = [
  { id: "blocked", title: "Blocked free slots", name: "blocked_free", share: true,
    note: "free or evictable, while the head of the queue does not fit" },
  { id: "unplaceable", title: "Unplaceable free slots", name: "unplaceable_free", share: true,
    note: "of these, enough in total but in no single hole" },
  { id: "batch", title: "Batch", name: "running", note: "requests that are being served" },
  { id: "queue", title: "Queue", name: "waiting", note: "requests that wait" },
];

// Two runs have different windows; this puts both on one set of times.
function alignedLines(data, name, scale) {
  const series = compared.rows.map((row) => data.series[row]);
  const times = [...new Set(series.flatMap((one) => [...one.begin_s, one.end_s]))].sort(
      (a, b) => a - b);
  const columns = series.map((one) => {
    let at = 0;
    return times.map((time) => {
      while (at + 1 < one.begin_s.length && one.begin_s[at + 1] <= time) ++at;
      return one.begin_s.length && time <= one.end_s ? one[name][at] * scale : null;
    });
  });
  const means = series.map((one) => {
    const mean = meanOverTime([...one.begin_s, one.end_s], one[name]);
    return mean === null ? null : mean * scale;
  });
  return { times, columns, means };
}

function linesChart(host, data, line) {
  const scale = line.share ? 100 / data.pool_slots : 1;
  let aligned = alignedLines(data, line.name, scale);
  const unit = line.share
      ? { axis: (v) => short(v) + " %", value: (v) => short(v) + " % of the pool" }
      : { axis: short, value: short };
  const holder = timeLines(host, () => aligned.times, COMPARED.map((of, which) => ({
    of,
    filled: which === 0,
    get label() { return of.name + " " + labelOf(data, which); },
    values: () => aligned.columns[which],
    mean: () => aligned.means[which],
  })), unit);
  compared.listeners.push(() => {
    aligned = alignedLines(data, line.name, scale);
    holder.remake();
  });
}

function linesSection(data) {
  const made = section("pressure", "What held requests up",
      "Paged pools have no unplaceable slots: a table joins any blocks." + ofFirstSeed(data));
  made.append(element("div", { class: "two" }, ...LINES.map((line) => figure(line.title,
      element("div", { class: "plot", id: "plot-" + line.id }),
      (host) => linesChart(host, data, line), line.note))));
  return made;
}
