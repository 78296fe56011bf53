// Charts by uPlot, made anew when the theme or the width changes; those over time share one range
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

function axis(more) {
  return Object.assign({
    stroke: cssVariable("--soft"),
    font: "12px system-ui, sans-serif",
    labelFont: "12px system-ui, sans-serif",
    grid: { stroke: cssVariable("--line"), width: 1 },
    ticks: { stroke: cssVariable("--line"), width: 1, size: 4 },
  }, more);
}

const timeAxis = () => axis({
  incrs: TIME_STEPS,
  space: 70,
  values: (chart, splits, at, space, step) => splits.map((split) => clock(split, step)),
});

// Makes the chart of `options()` and `data()` in `host`, and again when the theme changes.
function chart(host, options, data) {
  let made = null;
  const make = () => {
    if (made) made.destroy();
    const width = Math.max(host.clientWidth, 200);
    made = new uPlot(Object.assign({ width, height: 210 }, options()), data(), host);
    host.chart = made;
  };
  onTheme(make);
  new ResizeObserver(() => {
    const width = Math.max(host.clientWidth, 200);
    if (Math.abs(width - made.width) > 1) made.setSize({ width, height: made.height });
  }).observe(host);
  return { remake: make, get: () => made };
}

const overTime = () => ({
  cursor: { sync: { key: "time" }, drag: { x: true, y: false, setScale: false } },
  scales: { x: { time: false, range: () => [timeRange.begin, timeRange.end] } },
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
});

function followTime(holder) {
  timeRange.listeners.push(() => {
    const made = holder.get();
    made.setScale("x", { min: timeRange.begin, max: timeRange.end });
  });
  return holder;
}

// What stands in a legend while no cursor is in the chart.
function mean(values) {
  const known = values.filter(isNumber);
  return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
}

// Means over windows: each holds until the next.
const steps = uPlot.paths.stepped({ align: 1 });

// The states of one run, one upon the other, as shares of the pool. `source` gives the series.
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
    const values = source()[state.name];
    const slots = at === null || at === undefined ? mean(values)
                                                  : values[Math.min(at, values.length - 1)];
    return percent(slots / poolSlots) + " %";
  };
  const options = () => Object.assign(overTime(), {
    scales: Object.assign(overTime().scales, { y: { range: [0, 1] } }),
    axes: [timeAxis(), axis({ values: (u, splits) => splits.map((s) => Math.round(s * 100) + " %"),
                              size: 64 })],
    series: [{ label: "at", value: (u, v) => (v === null ? "mean" : clock(v, 1)) },
             ...order.map((i) => ({
               label: STATES[i].name,
               fill: (u) => statePattern(u.ctx, STATES[i]),
               stroke: colour(STATES[i]),
               width: 0,
               paths: steps,
               points: { show: false },
               value: valueOf(STATES[i]),
             }))],
  });
  return followTime(chart(host, options, data));
}

// lines: {label, values(), of: COMPARED}; x(): ascending numbers, one more than values where each
// value holds for a stretch of time.
function timeLines(host, x, lines, unit) {
  const data = () => [x(), ...lines.map((line) => {
    const values = line.values();
    return [...values, values[values.length - 1]];
  })];
  const options = () => Object.assign(overTime(), {
    height: 170,
    axes: [timeAxis(), axis({ size: 64, values: (u, splits) => splits.map(unit.axis) })],
    series: [{ label: "at", value: (u, v) => (v === null ? "mean" : clock(v, 1)) },
             ...lines.map((line) => ({
               label: line.label,
               stroke: colour(line.of),
               fill: line.filled ? colour(line.of) + "30" : null,
               dash: line.of.dash,
               width: 1.6,
               paths: steps,
               points: { show: false },
               value: (u, v) => unit.value(v === null || v === undefined ? mean(line.values())
                                                                         : v),
             }))],
  });
  return followTime(chart(host, options, data));
}
