// The memory map's section: the compared rows, controls, keys.

const KEYS = {
  ArrowLeft: () => stepBy(-0.1), ArrowRight: () => stepBy(0.1),
  PageUp: () => stepBy(-1), PageDown: () => stepBy(1),
  "+": () => zoomBy(0.7), "-": () => zoomBy(1 / 0.7), Home: () => showWholeRun(),
};

function moveByKey(event) {
  if (!(event.key in KEYS)) return;
  KEYS[event.key]();
  event.preventDefault();
}

function zoomBy(factor) {
  const middle = (timeRange.begin + timeRange.end) / 2;
  const half = (timeRange.end - timeRange.begin) / 2 * factor;
  setTimeRange(middle - half, middle + half);
}

function stepBy(share) {
  const width = timeRange.end - timeRange.begin;
  setTimeRange(timeRange.begin + share * width, timeRange.end + share * width);
}

// Moves a screen in ten seconds, until the run ends.
function play() {
  if (mapState.playing) {
    cancelAnimationFrame(mapState.playing);
    changeMap({ playing: null });
    return;
  }
  if (timeRange.end >= timeRange.last) {
    const width = Math.min(timeRange.end - timeRange.begin, timeRange.last / 20);
    setTimeRange(timeRange.first, timeRange.first + width);
  }
  let before = performance.now();
  const frame = (now) => {
    stepBy((now - before) / 10000);
    before = now;
    if (timeRange.end >= timeRange.last) changeMap({ playing: null });
    else mapState.playing = requestAnimationFrame(frame);
  };
  changeMap({ playing: requestAnimationFrame(frame) });
}

// Shows the part where all of these maps have single blocks, or else the first map's part.
function showDetail(maps) {
  const told = maps.filter(hasDetail);
  const begin = (some) => Math.max(...some.map((map) => map.detail.begin)) / 1e6;
  const end = (some) => Math.min(...some.map((map) => map.detail.end)) / 1e6;
  const shown = end(told) > begin(told) ? told : told.slice(0, 1);
  if (shown.length) setTimeRange(begin(shown), end(shown));
}

function mapControls(shownMaps) {
  const button = (id, text, title, onclick) => element("button", { id, title, onclick }, text);
  const playButton = button("map-play", "▶ play", "a screen in ten seconds", play);
  mapState.listeners.push(() => {
    playButton.textContent = mapState.playing ? "❚❚ pause" : "▶ play";
  });
  const by = ["state", "sequence"].map((name) => {
    const made = button("map-by-" + name, "by " + name, "colours", () => changeMap({ by: name }));
    const show = () => made.setAttribute("aria-pressed", mapState.by === name);
    mapState.listeners.push(show);
    show();
    return made;
  });
  const detail = button("map-detail", "block by block", "where every single block is known",
                        () => showDetail(shownMaps()));
  onCompared(() => { detail.disabled = !shownMaps().some(hasDetail); });
  return element("div", { class: "tools map-tools" }, ...by,
      button("map-in", "+", "zoom in", () => zoomBy(0.5)),
      button("map-out", "–", "zoom out", () => zoomBy(2)),
      button("map-back", "◀ step", "a tenth of the screen back", () => stepBy(-0.1)),
      playButton,
      button("map-next", "step ▶", "a tenth of the screen on", () => stepBy(0.1)),
      detail,
      button("map-whole", "whole run", "the whole run", showWholeRun));
}

// The legend of colours by sequence.
function ownersLegend() {
  const made = element("div", { class: "small", id: "map-owners" },
      "By sequence: used slots have their request's colour; after " + OWNER_COLOURS +
      " requests, colours repeat. Hover over a single block to see its request.");
  const show = () => { made.hidden = mapState.by !== "sequence"; };
  mapState.listeners.push(show);
  show();
  return made;
}

function marksLegend() {
  return element("div", { class: "legend" }, ...MARKS.map((mark) => element("span", {},
      element("b", {}, mark.sign), mark.name, element("span", { class: "small" }, mark.means))));
}

function mapSection(data) {
  const made = section("map", "The memory map",
      "The whole pool, slot by slot upwards, over time from left to right. The bracket is the " +
      "part in which every single block is recorded.");
  made.append(element("p", { class: "note screen" },
      "Wheel: zoom; with Shift: zoom into slots; drag: move; double-click: everything. " +
      "Hover to see what a place holds."));
  const mapOf = (which) => () => {
    const found = data.maps.find((one) => one.row === compared.rows[which]);
    return found ? readMap(found.map) : null;
  };
  if (data.manager === "production") {
    made.append(element("p", { class: "note", id: "map-manager" },
        "The study ran under --manager production: its maps show the blocks of the production " +
        "block manager, read from its block tables and its pool after every event."));
  }
  mapState.pool = data.pool_slots;
  mapState.high = data.pool_slots;
  const shownMaps = () => [0, 1].map((which) => mapOf(which)()).filter((map) => map);
  made.append(statesLegend(), marksLegend(), mapControls(shownMaps), ownersLegend(),
      comparedPair(data, (of) => element("div", { class: "map-host", id: "map-" + of.name }),
          (host, which) => {
            const view = new MapView(host, mapOf(which));
            onCompared(() => {
              view.label = labelOf(data, which);
              view.labels = [0, 1].map((one) => labelOf(data, one));
              view.redraw();
            });
          }));
  made.append(markCounts(data, mapOf));
  return made;
}

// Numbers beside the picture.
function markCounts(data, mapOf) {
  const host = element("div");
  onCompared(() => {
    const rows = COMPARED.map((of, which) => {
      const map = mapOf(which)();
      if (!map) return [labelOf(data, which), ...MARKS.map(() => "–"), "–", "–"];
      const sums = map.overview.marks.map((counts) => counts.reduce((a, b) => a + b, 0));
      return [labelOf(data, which), ...sums.map(count),
              count(map.blocks || map.pool_slots) + (map.blocks ? " blocks" : " slots"),
              hasDetail(map) ? detailSpan(map) : "none: the run has ended by then"];
    });
    host.replaceChildren(table([{ text: "" }, ...MARKS.map((mark) => ({ text: mark.name })),
      { text: "the pool has" }, { text: "recorded block by block" }], rows));
  });
  return host;
}
