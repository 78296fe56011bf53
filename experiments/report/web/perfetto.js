// A timeline of `recto simulate --timeline` in Perfetto's viewer: the one thing here that needs a
// network, and only when it is asked for. The file goes from this page to the viewer's window, by
// the viewer's own protocol (https://perfetto.dev/docs/visualization/deep-linking-to-perfetto-ui).

const PERFETTO = "https://ui.perfetto.dev";

function sendToPerfetto(viewer, buffer, title) {
  const ask = setInterval(() => viewer.postMessage("PING", PERFETTO), 100);
  const answer = (event) => {
    if (event.origin !== PERFETTO || event.data !== "PONG") return;
    clearInterval(ask);
    removeEventListener("message", answer);
    viewer.postMessage({ perfetto: { buffer, title } }, PERFETTO);
  };
  addEventListener("message", answer);
}

function perfettoSection() {
  const made = section("timeline", "Request by request",
      "A timeline has a slice for each phase of each request, and the pool's states as counters.");
  const file = element("input", { type: "file", accept: ".json", hidden: true, onchange: () => {
    const [chosen] = file.files;
    if (!chosen) return;
    const viewer = open(PERFETTO);
    chosen.arrayBuffer().then((buffer) => sendToPerfetto(viewer, buffer, chosen.name));
  } });
  made.append(
      element("p", {}, "Write one with ", element("code", {},
          "recto simulate [the settings below] --timeline run.json"), ", then open it in ",
          element("a", { href: PERFETTO, rel: "noopener" }, "Perfetto"), ":"),
      element("div", { class: "tools" }, file, element("button", { id: "perfetto",
          onclick: () => file.click() }, "open run.json in Perfetto"),
          element("span", { class: "small" }, "needs a network; the file stays in your browser")));
  return made;
}
