// Charts by uPlot, redrawn when the theme or the width changes; charts over time share one range
// and one cursor.

const TIME_STEPS = [1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01,
                    0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800,
                    3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];

// The range of time that all pictures show.
const timeRange = { begin: 0, end: 1, first: 0, last: 1, listeners: [] };

function setTimeRange(begin, end) {
  const least = (timeRange.last - timeRange.first) * 1e-6;
  const width = Math.min(Math.max(end - begin, least), timeRange.last - timeRange.first);
  begin = Math.min(Math.max(begin, timeRange.first), timeRange.last - width);
  timeRange.begin = begin;
  timeRange.end = begin + width;
  for (const listener of timeRange.listeners) listener();
}

const AXIS_FONT = "12px system-ui, sans-serif";

const axis = (more) => ({
  stroke: cssVariable("--soft"),
  font: AXIS_FONT,
  labelFont: AXIS_FONT,
  grid: { stroke: cssVariable("--line"), width: 1 },
  ticks: { stroke: cssVariable("--line"), width: 1, size: 4 },
  ...more,
});

// An axis of values: as wide as its widest label, but at least `least`, so that charts align.
function valueAxis(more, least = 64) {
  const context = document.createElement("canvas").getContext("2d");
  context.font = AXIS_FONT;
  const ticksAndGaps = 16;
  return axis({
    size: (u, labels) => Math.max(least, ...(labels || []).map(
        (label) => Math.ceil(context.measureText(label || "").width) + ticksAndGaps)),
    ...more,
  });
}

// The same with round numbers in one unit; if every value is 0, with no other mark.
function valuesAxis(text, more, least) {
  const told = (u, splits) => {
    const isEmpty = !u.data.slice(1).some((values) => values.some((value) => value > 0));
    return splits.map((split) => (isEmpty && split > 0 ? null : split));
  };
  const made = valueAxis({
    filter: told,
    values: (u, splits) => splits.map((split) =>
        (split === null ? "" : rounded(text(split, Math.max(...splits))))),
    ...more,
  }, least);
  made.grid.filter = made.ticks.filter = told;
  return made;
}

const X_AXIS_HEIGHT = 32;

const timeAxis = () => axis({
  size: X_AXIS_HEIGHT,
  incrs: TIME_STEPS,
  space: 70,
  values: (chart, splits, at, space, step) => splits.map((split) => clock(split, step)),
});

// Legends show lines with their dashes and areas with their textures, as charts do: each series has
// a background for its mark.
const legendMarks = (series) => ({
  width: (u, i) => (series[i].isArea ? 1 : 0),
  stroke: () => cssVariable("--faint"),
  fill: (u, i) => series[i].mark || "none",
});

// Makes the chart of `options()` and `data()` in `host`, and again when the theme changes.
function chart(host, options, data) {
  let made = null;
  const make = () => {
    if (made) made.destroy();
    const width = Math.max(host.clientWidth, 200);
    const shown = { width, height: 210, ...options() };
    shown.legend = { markers: legendMarks(shown.series), ...shown.legend };
    made = new uPlot(shown, data(), host);
    host.chart = made;
  };
  onTheme(make);
  // In a separate frame, because an element resized within an observer's turn is observed again.
  new ResizeObserver(() => requestAnimationFrame(() => {
    const width = Math.max(host.clientWidth, 200);
    if (Math.abs(width - made.width) > 1) made.setSize({ width, height: made.height });
  })).observe(host);
  return { remake: make, get: () => made };
}

// A chart over time, which shows the common range. `options()` has the scale of values as `y`.
function chartOverTime(host, options, data) {
  const holder = chart(host, () => {
    const { y, series, ...more } = options();
    return {
      cursor: { sync: { key: "time" }, drag: { x: true, y: false, setScale: false } },
      scales: { x: { time: false, range: () => [timeRange.begin, timeRange.end] }, y },
      hooks: {
        setSelect: [(u) => {
          if (u.select.width < 4) return;
          const begin = u.posToVal(u.select.left, "x");
          const end = u.posToVal(u.select.left + u.select.width, "x");
          u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
          setTimeRange(begin, end);
        }],
        ready: [(u) => u.over.addEventListener(
            "dblclick", () => setTimeRange(timeRange.first, timeRange.last))],
      },
      // What the legend tells first: the time under the cursor.
      series: [{ label: "time", value: (u, v) => (v === null ? "all, mean" : clock(v, 1)) },
               // Means over windows: each holds until the next.
               ...series.map((one) => ({ paths: uPlot.paths.stepped({ align: 1 }),
                                         points: { show: false }, ...one }))],
      ...more,
    };
  }, data);
  timeRange.listeners.push(
      () => holder.get().setScale("x", { min: timeRange.begin, max: timeRange.end }));
  return holder;
}

// The legend's text while no cursor is in the chart: the mean over time of values, of which the
// i-th holds from times[i] to times[i + 1].
function meanOverTime(times, values) {
  let [sum, length] = [0, 0];
  values.forEach((value, i) => {
    if (!isNumber(value)) return;
    sum += value * (times[i + 1] - times[i]);
    length += times[i + 1] - times[i];
  });
  return length > 0 ? sum / length : null;
}

// The stacked states of one run, as shares of the pool. `source` gives the series.
function stackedChart(host, source, poolSlots) {
  // The first is drawn over by the next, down to what lies at the bottom.
  const order = STATES.map((state, i) => i).reverse();
  const data = () => {
    const series = source();
    const total = new Array(series.begin_s.length).fill(0);
    const tops = STATES.map((state) => series[state.name].map((slots, i) => {
      total[i] += slots;
      return total[i] / poolSlots;
    }));
    const closed = (values) => [...values, values[values.length - 1]];
    return [[...series.begin_s, series.end_s], ...order.map((i) => closed(tops[i]))];
  };
  const valueOf = (state) => (u, top, which, at) => {
    const series = source();
    const values = series[state.name];
    const slots = at === null || at === undefined
        ? meanOverTime([...series.begin_s, series.end_s], values)
        : values[Math.min(at, values.length - 1)];
    return percent(slots === null ? null : slots / poolSlots) + " %";
  };
  return chartOverTime(host, () => ({
    y: { range: [0, 1] },
    axes: [timeAxis(),
           valueAxis({ values: (u, splits) => splits.map((s) => Math.round(s * 100) + " %") })],
    series: order.map((i) => ({
      label: STATES[i].name,
      mark: stateBackground(STATES[i]),
      isArea: true,
      fill: (u) => statePattern(u.ctx, STATES[i]),
      stroke: colour(STATES[i]),
      width: 0,
      value: valueOf(STATES[i]),
    })),
  }), data);
}

// lines: {label, values(), mean(), of: COMPARED}; x(): ascending times; a value holds from its time
// to the next.
function timeLines(host, x, lines, unit) {
  return chartOverTime(host, () => ({
    height: 170,
    y: { range: (u, least, most) => [0, most > 0 ? most * 1.1 : 1] },  // areas are filled from 0
    axes: [timeAxis(), valuesAxis(unit.axis, { space: 26 })],
    series: lines.map((line) => ({
      label: line.label,
      stroke: colour(line.of),
      fill: line.filled ? areaColour(line.of) : null,
      mark: lineMark(line.of, line.filled),
      dash: line.of.dash,
      width: 1.6,
      value: (u, v) => unit.value(v === null || v === undefined ? line.mean() : v),
    })),
  }), () => [x(), ...lines.map((line) => line.values())]);
}
