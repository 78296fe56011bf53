// Overlays of a map: axes, marks, the bracket of the detailed part, the cursor.

const MAP_FONT = "12px system-ui, sans-serif";

function niceStep(range, most, steps) {
  return steps.find((step) => range / step <= most) || range;
}

function drawMapAxes(context, view, width) {
  context.font = MAP_FONT;
  context.fillStyle = cssVariable("--soft");
  context.strokeStyle = cssVariable("--line");
  context.textBaseline = "middle";
  context.textAlign = "right";
  const slots = mapState.high - mapState.low;
  const step = niceStep(slots, 6, [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4,
                                   1e5, 2e5, 5e5, 1e6, 2e6, 5e6]);
  for (let slot = Math.ceil(mapState.low / step) * step; slot <= mapState.high; slot += step) {
    context.fillText(count(slot), MAP_LEFT - 6, view.yOf(slot));
  }
  context.textAlign = "center";
  context.textBaseline = "top";
  const range = timeRange.end - timeRange.begin;
  const tick = niceStep(range, (width - MAP_LEFT) / 80, TIME_STEPS);
  for (let time = Math.ceil(timeRange.begin / tick) * tick; time <= timeRange.end; time += tick) {
    const x = view.xOf(time);
    const label = clock(time, tick);
    const rightmost = width - context.measureText(label).width / 2 - 1;
    context.fillText(label, Math.min(x, rightmost), MAP_HEIGHT - MAP_BOTTOM + 7);
    context.fillRect(x, MAP_HEIGHT - MAP_BOTTOM, 1, 4);
  }
  context.strokeRect(MAP_LEFT + 0.5, MAP_TOP + 0.5, width - MAP_LEFT - 1,
                     MAP_INNER - 1);
}

// Marks that would overlap are joined into one, in their middle.
function marksInSight(view, instants, width) {
  const size = Math.ceil((width - MAP_LEFT) / 9) + 1;
  const [many, sum] = [new Float64Array(size), new Float64Array(size)];
  for (const [us, count] of instants) {
    const x = view.xOf(us / 1e6);
    if (x < MAP_LEFT || x > width) continue;
    const bin = Math.floor((x - MAP_LEFT) / 9);
    many[bin] += count;
    sum[bin] += count * x;
  }
  return [...many.keys()].filter((bin) => many[bin] > 0)
      .map((bin) => ({ x: sum[bin] / many[bin], many: many[bin] }));
}

// The size of a sign shows the number of events.
function drawMapMarks(context, view, map, width) {
  context.textAlign = "center";
  context.textBaseline = "middle";
  MARKS.forEach((mark, kind) => {
    for (const { x, many } of marksInSight(view, map.instants[kind], width)) {
      context.font = Math.min(7 + 1.6 * Math.log2(many + 1), 13) + "px system-ui, sans-serif";
      context.fillStyle = cssVariable("--ink");
      context.fillText(mark.sign, x, 6 + kind * 10);
    }
  });
  drawEvents(context, view, map);
  drawBracket(context, view, map, width);
}

// More visible signs than this would hide the map.
const EVENTS_MAX = 600;

// Single events at their blocks, once blocks are tall enough to be distinguished.
function drawEvents(context, view, map) {
  if (!isDetailed(map, timeRange.begin, timeRange.end)) return;
  const tall = view.yOf(0) - view.yOf(map.unit);
  if (map.blocks > 0 && tall < 1) return;
  const inSight = ([us]) => us >= timeRange.begin * 1e6 && us <= timeRange.end * 1e6;
  if (map.instants.flat().filter(inSight).length > EVENTS_MAX) return;
  context.font = Math.min(Math.max(tall, 8), 13) + "px system-ui, sans-serif";
  const sign = (text, time, slot) => {
    const x = view.xOf(time / 1e6);
    const y = view.yOf(slot);
    if (x < MAP_LEFT || y < MAP_TOP || y > MAP_HEIGHT - MAP_BOTTOM) return;
    haloed(context, text, x, y, "--ink", 3);
  };
  const { at_us: at, place, mark } = map.detail.events;
  for (let i = 0; i < at.length; ++i) {
    sign(MARKS[mark[i]].sign, at[i], (place[i] + 0.5) * map.unit);
  }
  const { stay, begin_us: begin, length_us: length, place: first } = map.detail.segments;
  const { how, end_us: end } = map.detail.stays;
  for (let i = 0; i < stay.length; ++i) {
    const preempted = stay[i] >= 0 && (how[stay[i]] === 1 || how[stay[i]] === 2);
    if (preempted && begin[i] + length[i] >= end[stay[i]]) {
      sign(MARKS[0].sign, end[stay[i]], (first[i] + 0.5) * map.unit);
    }
  }
}

// The part with single blocks. An end that is out of sight has no tick.
function drawBracket(context, view, map, width) {
  const begin = view.xOf(map.detail.begin / 1e6);
  const end = Math.max(view.xOf(map.detail.end / 1e6), begin + 2);
  if (!hasDetail(map) || end < MAP_LEFT || begin > width) return;
  if (isDetailed(map, timeRange.begin, timeRange.end)) return;
  const [left, right] = [Math.max(begin, MAP_LEFT), Math.min(end, width)];
  context.strokeStyle = cssVariable("--accent");
  context.lineWidth = 3;
  context.beginPath();
  context.moveTo(left, MAP_TOP + (begin < left ? 1 : 8));
  context.lineTo(left, MAP_TOP + 1);
  context.lineTo(right, MAP_TOP + 1);
  context.lineTo(right, MAP_TOP + (end > right ? 1 : 8));
  context.stroke();
  context.lineWidth = 1;
  context.font = MAP_FONT;
  const text = "single " + placesOf(map);
  if (context.measureText(text).width > right - left - 12) return;
  haloed(context, text, (left + right) / 2, MAP_TOP + 12, "--accent", 4);
}

// A text upon a picture.
function haloed(context, text, x, y, colour, width) {
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.strokeStyle = cssVariable("--panel");
  context.lineWidth = width;
  context.strokeText(text, x, y);
  context.lineWidth = 1;
  context.fillStyle = cssVariable(colour);
  context.fillText(text, x, y);
}

// Marks the end of the run, after which no pool is drawn.
function drawMapEnd(context, view, map, width) {
  const x = Math.max(view.xOf(map.end_us / 1e6), MAP_LEFT);
  if (x >= width - 1) return;
  context.fillStyle = cssVariable("--line");
  context.fillRect(x, MAP_TOP, 1, MAP_INNER);
  if (width - x < 60) return;
  context.font = MAP_FONT;
  context.fillStyle = cssVariable("--soft");
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText("ended", (x + width) / 2, (MAP_TOP + MAP_HEIGHT - MAP_BOTTOM) / 2);
}

function drawMapCursor(context, view, width) {
  if (mapState.cursor === null) return;
  const x = view.xOf(mapState.cursor);
  if (x < MAP_LEFT || x > width) return;
  context.strokeStyle = cssVariable("--ink");
  context.setLineDash([3, 3]);
  context.beginPath();
  context.moveTo(x + 0.5, MAP_TOP);
  context.lineTo(x + 0.5, MAP_HEIGHT - MAP_BOTTOM);
  context.stroke();
  context.setLineDash([]);
}
