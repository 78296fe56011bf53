// Operates a page as a user would, and returns observations: tests run it in each page that they
// open (page_testing.py), and compare the observations with the data.

const pageErrors = [];
addEventListener("error", (event) => pageErrors.push(event.message));
addEventListener("unhandledrejection", (event) => pageErrors.push(String(event.reason)));

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Shares of a canvas' pixels by the state whose colour or texture they are nearest to.
function stateShares(canvas, box) {
  const context = canvas.getContext("2d");
  const image = context.getImageData(box.x, box.y, box.width, box.height).data;
  const known = STATES.flatMap((state) => [
    [state.name, channels(colour(state))], [state.name, lineColour(state)]]);
  const counts = {};
  const step = 4 * 3;  // a third of the pixels is enough
  let all = 0;
  for (let at = 0; at + 2 < image.length; at += step) {
    let best = null;
    for (const [name, rgb] of known) {
      const distance = Math.abs(rgb[0] - image[at]) + Math.abs(rgb[1] - image[at + 1]) +
          Math.abs(rgb[2] - image[at + 2]);
      if (!best || distance < best.distance) best = { name, distance };
    }
    counts[best.name] = (counts[best.name] || 0) + 1;
    ++all;
  }
  return Object.fromEntries(Object.entries(counts).map(([name, many]) => [name, many / all]));
}

function mapPixels(view) {
  const ratio = view.canvas.width / view.size().width;
  return stateShares(view.canvas, {
    x: Math.round(MAP_LEFT * ratio), y: Math.round(MAP_TOP * ratio),
    width: Math.round((view.size().width - MAP_LEFT) * ratio),
    height: Math.round((MAP_HEIGHT - MAP_TOP - MAP_BOTTOM) * ratio) });
}

const HELD = ["used", "reserved", "internal", "cached"];

// The share of the whole pool in each of these states at a time, according to single blocks.
function detailShares(map, us) {
  const { begin_us: begin, length_us: length } = map.detail.segments;
  const slots = [0, 0, 0, 0];
  for (let i = 0; i < begin.length; ++i) {
    if (us < begin[i] || us >= begin[i] + length[i]) continue;
    const fill = fillAt(map, i, us);
    slots[0] += fill.used - fill.out;
    slots[1] += fill.kept - fill.used;
    slots[2] += fill.out + (fill.cached ? 0 : fill.slots - fill.kept);
    slots[3] += fill.cached ? fill.slots : 0;
  }
  return slots.map((number) => number / map.pool_slots);
}

// The same according to a picture of the whole pool.
function overviewShares(map, column) {
  const slots = [0, 0, 0, 0];
  const edge = (row) => Math.ceil(row * map.pool_slots / map.rows);
  for (let row = 0; row < map.rows; ++row) {
    const cell = (column * map.rows + row) * 3;
    const [a, b] = [map.overview.cells[cell], map.overview.cells[cell + 1]];
    [a & 15, a >> 4, b & 15, b >> 4].forEach((fifteenths, state) => {
      slots[state] += fifteenths / 15 * (edge(row + 1) - edge(row));
    });
  }
  return slots.map((number) => number / map.pool_slots);
}

// If each row of the pictures is one block: the number of blocks, at the instants of all pictures,
// and the number of those for which single blocks show another kind of content.
function comparedKinds(map) {
  const { place, begin_us: begin, length_us: length, stay } = map.detail.segments;
  const seen = { blocks: 0, differ: 0 };
  map.overview.at.forEach((us, column) => {
    if (us < map.detail.begin || us >= map.detail.end) return;
    const kinds = new Array(map.blocks).fill("free");
    for (let i = 0; i < begin.length; ++i) {
      if (us < begin[i] || us >= begin[i] + length[i]) continue;
      kinds[place[i]] = stay[i] < 0 ? "cached" : "held";
    }
    kinds.forEach((kind, block) => {
      const [a, b] = map.overview.cells.slice((column * map.rows + block) * 3);
      const shown = b >> 4 ? "cached" : a > 0 || (b & 15) > 0 ? "held" : "free";
      ++seen.blocks;
      if (shown !== kind) ++seen.differ;
    });
  });
  return seen;
}

// Both over the part with single blocks: means at the instants of the pictures.
function comparedShares(map) {
  const { begin, end } = map.detail;
  const means = { detail: [0, 0, 0, 0], overview: [0, 0, 0, 0] };
  const columns = [...map.overview.at.keys()].filter(
      (column) => map.overview.at[column] >= begin && map.overview.at[column] < end);
  for (const column of columns) {
    const both = { detail: detailShares(map, map.overview.at[column]),
                   overview: overviewShares(map, column) };
    for (const [name, shares] of Object.entries(both)) {
      shares.forEach((share, state) => { means[name][state] += share / columns.length; });
    }
  }
  const named = (shares) => Object.fromEntries(HELD.map((name, i) => [name, shares[i]]));
  return { columns: columns.length, detail: named(means.detail), overview: named(means.overview) };
}

function pointer(target, type, x, y, more) {
  const box = target.getBoundingClientRect();
  const options = Object.assign({ bubbles: true, cancelable: true, pointerId: 1,
                                  clientX: box.left + x, clientY: box.top + y }, more);
  const made = type === "wheel" ? new WheelEvent(type, options) : new PointerEvent(type, options);
  target.dispatchEvent(made);
}

async function tryMap(seen) {
  const hosts = [...document.querySelectorAll(".map-host")];
  const views = hosts.map((host) => host.view);
  seen.maps = views.map((view) => ({ label: view.label, pixels: mapPixels(view) }));
  seen.boxes = views.map((view) => {
    const box = view.canvas.getBoundingClientRect();
    return { x: box.left + scrollX + MAP_LEFT, y: box.top + scrollY + MAP_TOP,
             width: box.width - MAP_LEFT, height: box.height - MAP_TOP - MAP_BOTTOM };
  });
  const canvas = views[1].canvas;
  const width = () => timeRange.end - timeRange.begin;
  const whole = width();
  seen.wholeRange = whole;
  pointer(canvas, "wheel", 300, 200, { deltaY: -400 });
  await pause(60);
  seen.zoomedRange = width();
  const before = timeRange.begin;
  document.getElementById("map-next").click();
  seen.steppedBy = timeRange.begin - before;
  pointer(canvas, "pointerdown", 300, 200);
  pointer(canvas, "pointermove", 340, 200);
  pointer(canvas, "pointerup", 340, 200);
  seen.draggedBy = timeRange.begin - before - seen.steppedBy;
  pointer(canvas, "wheel", 300, 200, { deltaY: -400, shiftKey: true });
  seen.zoomedSlots = mapState.high - mapState.low;
  pointer(canvas, "dblclick", 300, 200);
  canvas.dispatchEvent(new MouseEvent("dblclick"));
  seen.rangeAfterDoubleClick = width();
  pointer(canvas, "pointermove", 300, 200);
  seen.wholeHint = views[1].hint.hidden ? null : views[1].hint.innerText;
  await tryDetail(seen, views);
}

async function tryDetail(seen, views) {
  document.getElementById("map-detail").click();
  await pause(60);
  seen.detailRange = timeRange.end - timeRange.begin;
  seen.detailPixels = views.map(mapPixels);
  seen.shares = views.map((view) => view.map() && comparedShares(view.map()));
  seen.kinds = views.map((view) => view.map().rows === view.map().blocks
      ? comparedKinds(view.map()) : null);
  seen.hovers = [];
  seen.hints = views.map((view) => {
    if (!view.map()) return null;
    const segments = view.map().detail.segments;
    // For a place that is held in the middle of the visible range.
    const middle = (timeRange.begin + timeRange.end) / 2 * 1e6;
    const held = segments.place.findIndex((place, i) => segments.stay[i] >= 0 &&
        segments.begin_us[i] <= middle && segments.begin_us[i] + segments.length_us[i] > middle);
    if (held < 0) return null;
    const slot = (segments.place[held] + 0.5) * view.map().unit;
    pointer(view.canvas, "pointermove", view.xOf(middle / 1e6), view.yOf(slot));
    seen.hovers.push({ us: mapState.cursor * 1e6, place: segments.place[held] });
    return view.hint.hidden ? null : view.hint.innerText;
  });
  document.getElementById("map-by-sequence").click();
  await pause(60);
  seen.colours = views.map((view) => new Set(view.canvas.getContext("2d").getImageData(
      MAP_LEFT, MAP_TOP, 400, 300).data.reduce((found, value, i, all) => {
    if (i % 4 === 0) found.push(value * 65536 + all[i + 1] * 256 + all[i + 2]);
    return found;
  }, [])).size);
  document.getElementById("map-by-state").click();
  document.getElementById("map-play").click();
  seen.plays = mapState.playing !== null;
  document.getElementById("map-play").click();
  showWholeRun();
  await pause(60);
}

function tryThemes(seen) {
  const button = document.getElementById("theme");
  seen.themes = [0, 1].map(() => {
    button.click();
    return getComputedStyle(document.body).backgroundColor;
  });
}

// Simulates the viewer: its requests, the data sent to it, and the messages to the reader.
async function tryPerfetto(seen) {
  const told = [];
  const tell = (text) => told.push(text);
  const sent = [];
  const viewer = { postMessage: (message, to) => sent.push([message, to]) };
  sendToPerfetto(viewer, new ArrayBuffer(3), "run.json", tell);
  await pause(250);
  const asked = sent.length;
  const answer = (origin) => dispatchEvent(new MessageEvent("message", { origin, data: "PONG" }));
  answer("https://elsewhere.example");
  const sentElsewhere = sent.length - asked;
  answer(PERFETTO);
  const [message, to] = sent[sent.length - 1];
  await pause(250);
  seen.perfetto = { asked, first: sent[0], sentElsewhere, to, title: message.perfetto.title,
                    bytes: message.perfetto.buffer.byteLength, goesOn: sent.length - asked > 1 };
  sendToPerfetto(null, new ArrayBuffer(3), "run.json", tell);
  const wait = window.setTimeout;
  window.setTimeout = (work, ms) => wait(work, ms / 1000 / PERFETTO_SECONDS);
  sendToPerfetto(viewer, new ArrayBuffer(3), "run.json", tell);
  window.setTimeout = wait;
  await pause(100);
  seen.perfetto.told = told;
  const all = (selector) => [...document.querySelectorAll("#timeline " + selector)];
  seen.perfetto.rows = compared.rows;
  seen.perfetto.commands = all("pre code").map((code) => code.textContent);
  seen.perfetto.links = all("a").map((link) => [link.textContent, link.href]);
}

// A row without a map beside one with a map, and a drag where the map would be.
async function seenWithoutMap(row) {
  compare(1, row);
  await pause(100);
  const [whole, view] = [...document.querySelectorAll(".map-host")].map((host) => host.view);
  const before = mapPixels(whole);
  pointer(view.canvas, "pointerdown", 300, 200);
  pointer(view.canvas, "pointermove", 305, 205);
  pointer(view.canvas, "pointerup", 305, 205);
  view.pan({ low: mapState.low, high: mapState.high, time: { ...timeRange } }, 5, 5);
  await pause(100);
  return { told: view.missing.innerText, canvasHidden: view.canvas.hidden,
           right: view.missing.getBoundingClientRect().right,
           columnRight: view.host.getBoundingClientRect().right,
           low: mapState.low, high: mapState.high, pixelsBefore: before, pixels: mapPixels(whole) };
}

// Near the right edge, where only the longest run continues; and a drag that the browser cancels.
async function seenAtTheEnd() {
  const seen = { opaque: [], hints: [] };
  await pause(100);
  const views = [...document.querySelectorAll(".map-host")].map((host) => host.view);
  for (const view of views) {
    const ratio = view.canvas.width / view.size().width;
    const x = view.size().width - 12;
    const at = [x, MAP_TOP + 20].map((part) => Math.round(part * ratio));
    seen.opaque.push(view.canvas.getContext("2d").getImageData(...at, 1, 1).data[3] === 255);
    pointer(view.canvas, "pointermove", x, MAP_TOP + 20);
    seen.hints.push(view.hint.innerText);
  }
  const canvas = views[0].canvas;
  zoomBy(0.5);
  seen.rangeBefore = { ...timeRange, listeners: null };
  pointer(canvas, "pointerdown", 300, 200);
  pointer(canvas, "pointercancel", 300, 200);
  pointer(canvas, "pointermove", 340, 200);
  seen.rangeAfterCancel = { ...timeRange, listeners: null };
  return seen;
}

function inkOfCharts(seen) {
  seen.charts = [...document.querySelectorAll(".plot .u-wrap canvas")].map((canvas) => {
    const { width, height } = canvas;
    const image = canvas.getContext("2d").getImageData(0, 0, width, height).data;
    return image.filter((value, at) => at % 4 === 3 && value > 0).length;
  });
}

// The share of pixels in a box of a screenshot that are near one of the colours.
async function shareOfScreenshot(png, { x, y, width, height }, colours) {
  const image = element("img", { src: "data:image/png;base64," + png });
  await image.decode();
  const context = element("canvas", { width, height }).getContext("2d");
  context.drawImage(image, -Math.round(x), -Math.round(y));
  const pixels = context.getImageData(2, 2, width - 4, height - 4).data;
  let near = 0;
  for (let at = 0; at < pixels.length; at += 4) {
    const isNear = (colour) => colour.every((c, i) => Math.abs(c - pixels[at + i]) <= 26);
    near += colours.some(isNear) ? 4 : 0;
  }
  return near / pixels.length;
}

async function selftest() {
  const seen = { errors: pageErrors };
  await pause(200);
  inkOfCharts(seen);
  if (document.querySelector(".map-host")) {
    await tryMap(seen);
    await tryPerfetto(seen);
  }
  tryThemes(seen);
  return seen;
}
