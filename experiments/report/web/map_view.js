// Memory maps on the page: two of them on one clock, with zoom, pan, play, step and hover.

const MAP_HEIGHT = 420;
const MAP_LEFT = 58;   // room for numbers of slots
const MAP_TOP = 34;    // room for marks
const MAP_BOTTOM = 24;
const MAP_INNER = MAP_HEIGHT - MAP_TOP - MAP_BOTTOM;

// The state that both maps share, besides the range of time.
const mapState = { low: 0, high: 1, by: "state", cursor: null, playing: null, listeners: [] };

function changeMap(changes) {
  Object.assign(mapState, changes);
  for (const listener of mapState.listeners) listener();
}

class MapView {
  // `map` returns the map to show, or null.
  constructor(host, map) {
    this.host = host;
    this.map = map;
    this.canvas = element("canvas", { class: "map", tabindex: 0, role: "img",
                                      "aria-label": "memory map" });
    this.hint = element("div", { class: "hint", hidden: true });
    this.missing = element("p", { class: "missing", hidden: true });
    this.resolution = element("p", { class: "small resolution" });
    host.append(this.canvas, this.hint, this.missing, this.resolution);
    host.view = this;
    this.pointer = null;  // its position, while it is in the picture
    this.listen();
    this.redraw = this.onceAFrame(() => this.draw());
    timeRange.listeners.push(() => this.moveUnderPointer());
    mapState.listeners.push(() => this.redraw());
    onTheme(() => this.draw());
    new ResizeObserver(() => this.redraw()).observe(host);
  }

  onceAFrame(work) {
    let waits = false;
    return () => {
      if (waits) return;
      waits = true;
      requestAnimationFrame(() => {
        waits = false;
        work();
      });
    };
  }

  size() {
    return { width: Math.max(this.host.clientWidth, 240), height: MAP_HEIGHT };
  }

  // Conversions between pixels of the canvas and times and slots.
  timeOf(x) {
    const inner = this.size().width - MAP_LEFT;
    return timeRange.begin + (x - MAP_LEFT) / inner * (timeRange.end - timeRange.begin);
  }

  xOf(time) {
    const inner = this.size().width - MAP_LEFT;
    return MAP_LEFT + (time - timeRange.begin) / (timeRange.end - timeRange.begin) * inner;
  }

  slotOf(y) {
    return mapState.high - (y - MAP_TOP) / MAP_INNER * (mapState.high - mapState.low);
  }

  yOf(slot) {
    return MAP_TOP + (mapState.high - slot) / (mapState.high - mapState.low) * MAP_INNER;
  }

  draw() {
    const map = this.map();
    this.canvas.hidden = !map;
    this.missing.hidden = Boolean(map);
    this.resolution.replaceChildren(map ? resolutionOf(map, timeRange.begin, timeRange.end) : "");
    if (!map) {
      this.tellMissing();
      return;
    }
    const { width, height } = this.size();
    const ratio = Math.min(devicePixelRatio || 1, 2);
    const pixels = { width: Math.round(width * ratio), height: Math.round(height * ratio) };
    if (this.canvas.width !== pixels.width || this.canvas.height !== pixels.height) {
      Object.assign(this.canvas, pixels);
      this.image = null;
    }
    this.canvas.style.width = width + "px";
    this.canvas.style.height = height + "px";
    const context = this.canvas.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    const view = { begin: timeRange.begin, end: timeRange.end, low: mapState.low,
                   high: mapState.high, by: mapState.by };
    this.image ||= context.createImageData(Math.round((width - MAP_LEFT) * ratio),
                                           Math.round(MAP_INNER * ratio));
    context.putImageData(rasterise(map, view, this.image), Math.round(MAP_LEFT * ratio),
                         Math.round(MAP_TOP * ratio));
    context.scale(ratio, ratio);
    drawMapAxes(context, this, width);
    drawMapMarks(context, this, map, width);
    drawMapEnd(context, this, map, width);
    drawMapCursor(context, this, width);
    this.tellPlace();
  }

  // A page has only the requested maps, so the text names both rows.
  tellMissing() {
    const maps = [...new Set(this.labels)].join(",");
    this.hint.hidden = true;
    this.missing.replaceChildren(
        "No map was made of this row. For a page with this one and the other, run the study with ",
        element("code", {}, "--maps '" + maps + "'"));
  }

  listen() {
    const canvas = this.canvas;
    let grabbed = null;
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const factor = Math.exp(event.deltaY * 0.0016);
      if (event.shiftKey) this.zoomSlots(this.slotOf(event.offsetY), factor);
      else this.zoomTime(this.timeOf(event.offsetX), factor);
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      grabbed = { x: event.offsetX, y: event.offsetY, time: { ...timeRange }, ...mapState };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      this.hover(event.offsetX, event.offsetY);
      if (grabbed) this.pan(grabbed, event.offsetX - grabbed.x, event.offsetY - grabbed.y);
    });
    for (const over of ["pointerup", "pointercancel", "lostpointercapture"]) {
      canvas.addEventListener(over, () => { grabbed = null; });
    }
    canvas.addEventListener("pointerleave", () => {
      this.pointer = null;
      changeMap({ cursor: null });
    });
    canvas.addEventListener("dblclick", () => showWholeRun());
    canvas.addEventListener("keydown", (event) => moveByKey(event));
  }

  zoomTime(at, factor) {
    setTimeRange(at - (at - timeRange.begin) * factor, at + (timeRange.end - at) * factor);
  }

  zoomSlots(at, factor) {
    const low = Math.max(at - (at - mapState.low) * factor, 0);
    const high = Math.min(at + (mapState.high - at) * factor, mapState.pool);
    if (high - low >= 8) changeMap({ low, high });
  }

  pan(from, dx, dy) {
    const { width } = this.size();
    const seconds = dx / (width - MAP_LEFT) * (from.time.end - from.time.begin);
    setTimeRange(from.time.begin - seconds, from.time.end - seconds);
    const span = from.high - from.low;
    const slots = dy / MAP_INNER * span;
    const low = Math.min(Math.max(from.low + slots, 0), mapState.pool - span);
    changeMap({ low, high: low + span });
  }

  hover(x, y) {
    const inside = this.map() && x >= MAP_LEFT && y >= MAP_TOP && y < MAP_HEIGHT - MAP_BOTTOM;
    this.pointer = inside ? { x, y } : null;
    changeMap({ cursor: inside ? this.timeOf(x) : null });
    this.tellPlace();
  }

  moveUnderPointer() {
    if (this.pointer) mapState.cursor = this.timeOf(this.pointer.x);
    this.redraw();
  }

  tellPlace() {
    const map = this.map();
    this.hint.hidden = !map || !this.pointer;
    if (this.hint.hidden) return;
    const { x, y } = this.pointer;
    const time = this.timeOf(x);
    const words = ["at " + clock(time, 0.05), ...whatIsAt(map, time, this.slotOf(y))];
    this.hint.replaceChildren(...words.map((line) => element("div", {}, line)));
    const { width } = this.size();
    this.hint.style.left = Math.max(Math.min(x + 14, width - 290), 0) + "px";
    this.hint.style.top = y + 14 + "px";
  }
}

function showWholeRun() {
  setTimeRange(timeRange.first, timeRange.last);
  changeMap({ low: 0, high: mapState.pool });
}
