// The page's memory map, decoded once, when it is first shown.

const MARKS = [
  { name: "preempted", means: "a request gave its slots back", sign: "✕" },
  { name: "copied", means: "a shared block was copied before a write, or a region for a fork",
    sign: "◆" },
  { name: "evicted", means: "a cached prefix was thrown away", sign: "▲" },
];
const ENDS = ["finished", "preempted, to be recomputed", "preempted, swapped to the host",
              "goes on"];

const readMaps = new Map();

function readMap(packed) {
  if (!readMaps.has(packed)) readMaps.set(packed, decodedMap(packed));
  return readMaps.get(packed);
}

function decodedMap(packed) {
  const map = Object.assign({}, packed);
  const overview = packed.overview;
  map.overview = {
    at: overview.at_us,
    cells: bytesOf(overview.cells),
    marks: MARKS.map((mark) => overview[mark.name]),
  };
  map.detail = {
    begin: packed.detail.begin_us,
    end: packed.detail.end_us,
    stays: unpackedAll(packed.detail.stays),
    segments: unpackedAll(packed.detail.segments),
    events: unpackedAll(packed.detail.events),
  };
  map.instants = MARKS.map((_, kind) => markInstants(map, kind));
  map.unit = map.blocks > 0 ? map.block_size : 1;  // slots to a place
  addContexts(map);
  return map;
}

// The times at which to draw marks of a kind, each with a count: single events at their own times.
// For other events only the count between two pictures is known.
function markInstants(map, kind) {
  const { at, marks } = map.overview;
  const single = singleMarks(map.detail, kind);
  const others = [...marks[kind]];
  for (const us of single) --others[Math.min(firstAfter(at, us - 1), at.length - 1)];
  return [...single.map((us) => [us, 1]),
          ...others.map((many, i) => [at[i], many]).filter(([, many]) => many > 0)];
}

function singleMarks(detail, kind) {
  const { at_us: at, mark } = detail.events;
  if (kind > 0) return Array.from(at).filter((_, i) => mark[i] === kind);
  // A group is preempted as one.
  const { request, end_us: end, how } = detail.stays;
  const preempted = new Map();
  for (let i = 0; i < how.length; ++i) {
    if (how[i] === 1 || how[i] === 2) preempted.set(request[i] + " " + end[i], end[i]);
  }
  return [...preempted.values()];
}

// For each stay, instants and the tokens in the cache then, both growing: where it began, got
// blocks, started to decode and ended. Block k of a table is taken when k blocks are full. Blocks
// of one instant belong to a chunk, and only the first gives the context; an existing block that is
// shared, copied or left to this holder gives none.
function addContexts(map) {
  const { stay, index, begin_us: begin } = map.detail.segments;
  const got = Array.from(map.detail.stays.end_us, () => []);
  for (let i = 0; i < stay.length; ++i) {
    if (stay[i] >= 0) got[stay[i]].push([begin[i], index[i] * map.unit]);
  }
  map.detail.contexts = got.map((blocks, i) => contextsOf(map.detail.stays, i, blocks));
}

function contextsOf(stays, i, blocks) {
  const us = [stays.begin_us[i]];
  const tokens = [stays.context_begin[i]];
  blocks.sort(([at, first], [at2, first2]) => at - at2 || first - first2);
  for (const phase of ["decode", "end"]) {
    const until = stays[phase + "_us"][i];
    const most = stays["context_" + phase][i];
    for (const [at, full] of blocks) {
      const isNew = us.at(-1) < at && at < until && tokens.at(-1) < full && full <= most;
      if (!isNew) continue;
      us.push(at);
      tokens.push(full);
    }
    us.push(until);
    tokens.push(most);
  }
  return { us, tokens };
}

// Whole tokens in the cache of the segment's holder at a time: exact where it began, got a block,
// started to decode and ended. Between these times, tokens of a chunk count from its end, and
// decoded tokens are spread evenly.
function contextAt(map, segment, time) {
  const stay = map.detail.segments.stay[segment];
  const { us, tokens } = map.detail.contexts[stay];
  const after = Math.min(Math.max(firstAfter(us, time), 1), us.length - 1);
  const [begin, end, from, to] = [us[after - 1], us[after], tokens[after - 1], tokens[after]];
  if (end <= begin) return to;
  if (time < map.detail.stays.decode_us[stay]) return from;
  const share = Math.min(Math.max((time - begin) / (end - begin), 0), 1);
  return from + Math.floor((to - from) * share);
}

// The segment's slots at a time, counted from its first slot: slots up to `out` have fallen out of
// the window, slots up to `used` hold tokens, slots up to `kept` will hold tokens.
function fillAt(map, segment, time) {
  const { stay, index, size } = map.detail.segments;
  const slots = size[segment] * map.unit;
  if (stay[segment] < 0) return { slots, out: 0, used: 0, kept: 0, cached: true };
  const from = index[segment] * map.unit;
  const within = (position) => Math.min(Math.max(position - from, 0), slots);
  const context = contextAt(map, segment, time);
  // The next token, at position `context`, sees the positions above context - window.
  const out = map.window > 0 ? within(context - map.window + 1) : 0;
  const used = within(context);
  const kept = Math.max(within(map.detail.stays.final[stay[segment]]), used);
  return { slots, out, used, kept, cached: false };
}

// Whether single blocks are known for the whole run within this range of time (in seconds).
function isDetailed(map, begin, end) {
  return hasDetail(map) && begin * 1e6 >= map.detail.begin - 1 &&
      Math.min(end * 1e6, map.end_us) <= map.detail.end + 1;
}

// Describes the content of a slot at a time (in seconds), for a hover.
function whatIsAt(map, time, slot) {
  const us = time * 1e6;
  if (us > map.end_us) return ["the run has ended"];
  const place = map.blocks > 0 ? Math.floor(slot / map.block_size) : Math.floor(slot);
  const lines = map.blocks > 0 ? ["block " + count(place)] : ["slot " + count(place)];
  if (map.blocks > 0 && (place < map.null_blocks || place >= map.blocks)) {
    return [...lines, "overhead: can never hold a token"];
  }
  if (us < map.detail.begin || us > map.detail.end) return [...lines, ...overviewAt(map, us, slot)];
  const found = segmentAt(map, us, place);
  if (found < 0) return [...lines, "free"];
  const segments = map.detail.segments;
  const fill = fillAt(map, found, us);
  if (fill.cached) return [...lines, "cached: no holder, content known"];
  const i = segments.stay[found];
  const stays = map.detail.stays;
  const name = "request " + stays.request[i] + (stays.member[i] > 0 ? ", member " +
      stays.member[i] : "");
  const last = map.blocks > 0 ? "entry " + segments.index[found] + " of its table"
                              : "region of " + count(fill.slots) + " slots";
  return [...lines, name + ", " + last,
          "about " + count(fill.used - fill.out) + " of " + count(fill.slots) +
              " slots hold tokens" + (map.window > 0 ? " in the window" : ""),
          "context about " + count(contextAt(map, found, us)) + " of " + count(stays.final[i]),
          segments.references[found] > 1 ? "references: up to " + segments.references[found]
                                         : "references: 1",
          "held from " + clock(stays.begin_us[i] / 1e6, 0.05) + " to " +
              clock(stays.end_us[i] / 1e6, 0.05) + ": " + ENDS[stays.how[i]]];
}

function segmentAt(map, us, place) {
  const { place: first, size, begin_us: begin, length_us: length } = map.detail.segments;
  for (let i = 0; i < first.length; ++i) {
    if (begin[i] > us) break;  // they are in order of their begin
    if (us < begin[i] + length[i] && place >= first[i] && place < first[i] + size[i]) return i;
  }
  return -1;
}

function columnAt(map, us) { return firstAfter(map.overview.at, us) - 1; }

// The number of instants that are not after `us`; instants are ascending.
function firstAfter(at, us) {
  let low = 0;
  let high = at.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at[middle] <= us) low = middle + 1;
    else high = middle;
  }
  return low;
}

function overviewAt(map, us, slot) {
  const column = columnAt(map, us);
  if (column < 0) return ["free"];
  const row = Math.min(Math.floor(slot * map.rows / map.pool_slots), map.rows - 1);
  const cell = (column * map.rows + row) * 3;
  const [a, b] = [map.overview.cells[cell], map.overview.cells[cell + 1]];
  const shares = { used: a & 15, reserved: a >> 4, internal: b & 15, cached: b >> 4 };
  const words = Object.entries(shares).filter(([, share]) => share > 0)
      .map(([name, share]) => name + " " + Math.round(share / 15 * 100) + " %");
  return ["about " + count(map.pool_slots / map.rows) + " slots around it: " +
          (words.join(", ") || "free"), knownSingly(map)];
}

const placesOf = (map) => (map.blocks > 0 ? "blocks" : "regions");

// A run may end before the part with single blocks begins.
const hasDetail = (map) => map !== null && map.detail.end > map.detail.begin;

const detailSpan = (map) => "from " + clock(map.detail.begin / 1e6, 1) + " to " +
    clock(map.detail.end / 1e6, 1);

const knownSingly = (map) => (hasDetail(map)
    ? "single " + placesOf(map) + " were recorded " + detailSpan(map) + " only (the bracket)"
    : "no single " + placesOf(map) + " were recorded in this run");

// The resolution at which a map shows this range of time, and where it would show more.
function resolutionOf(map, begin, end) {
  if (isDetailed(map, begin, end)) {
    return "Drawn here: every single " + (map.blocks > 0 ? "block" : "region") +
        ", and each change at its time.";
  }
  const apart = map.end_us / 1e6 / map.overview.at.length;
  return "Drawn here: a picture of the pool every " + span(apart) + ", in which a row stands for " +
      count(map.pool_slots / map.rows) + " slots and has their states in proportion; " +
      knownSingly(map) + ", " + whyNotAll(map) + ".";
}

function whyNotAll(map) {
  if (!hasDetail(map)) return "because the run ends before the recorded part";
  return map.begin_is_chosen && map.detail.end >= map.end_us
      ? "as this page was made with --map-from-s"
      : "as all of them would make this page too large";
}
