// All points of a sweep.

const POINTS_SHOWN = 200;  // at first, because the layout of more is slow

function pointsSection(data) {
  const made = section("points", "All points",
      "Shares of the pool in percent: time-weighted means " + coverage(data) +
      (rejects(data) ? " Rejected: requests that can never fit." : "") +
      " TTFT: time to the first token. The " +
      "memory map of a point is on the page of recto fragmentation --report with its settings." +
      overSeeds(data));
  const host = element("div");
  const show = (limit) => host.replaceChildren(
      glanceTable(Object.assign({}, data, { rows: data.rows.slice(0, limit) })));
  made.append(statesLegend(), host);
  show(POINTS_SHOWN);
  if (data.rows.length > POINTS_SHOWN) {
    const more = element("button", { onclick: () => {
      show(data.rows.length);
      more.remove();
    } }, "show all " + data.rows.length);
    made.append(more);
  }
  return made;
}
