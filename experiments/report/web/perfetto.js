// A timeline of `recto simulate --timeline` in Perfetto's viewer: the one thing here that needs a
// network, and only when it is asked for. The file goes from this page to the viewer's window, by
// the viewer's own protocol (https://perfetto.dev/docs/visualization/deep-linking-to-perfetto-ui).

const PERFETTO = "https://ui.perfetto.dev";

const PERFETTO_SECONDS = 30;

// `tell` gets words for the reader. The viewer answers once it is loaded, which needs a network.
function sendToPerfetto(viewer, buffer, title, tell) {
  if (!viewer) {
    tell("The browser did not allow a new window. Open " + PERFETTO + " and drop the file there.");
    return;
  }
  const ask = setInterval(() => viewer.postMessage("PING", PERFETTO), 100);
  const end = () => {
    clearInterval(ask);
    clearTimeout(patience);
    removeEventListener("message", answer);
  };
  const patience = setTimeout(() => {
    end();
    tell(PERFETTO + " did not answer within " + PERFETTO_SECONDS + " s: is there a network?");
  }, PERFETTO_SECONDS * 1000);
  const answer = (event) => {
    if (event.origin !== PERFETTO || event.data !== "PONG") return;
    end();
    viewer.postMessage({ perfetto: { buffer, title } }, PERFETTO);
    tell(title + " is open in the other window.");
  };
  addEventListener("message", answer);
}

// The commands that write the timelines of the compared rows.
function timelineCommands(data) {
  const commands = [...new Set(compared.rows.map((row) => data.rows[row].timeline))];
  return commands.map((text) => element("pre", { class: "command" }, element("code", {}, text)));
}

function perfettoSection(data) {
  const made = section("timeline", "Request by request",
      "A timeline has a slice for each phase of each request, and the pool's states as counters.");
  const state = element("span", { class: "small", id: "perfetto-state", role: "status" },
                        "needs a network; the file stays in your browser");
  const tell = (text) => { state.textContent = text; };
  const file = element("input", { type: "file", id: "perfetto-file", accept: ".json",
                                  hidden: true, onchange: () => {
    const [chosen] = file.files;
    if (!chosen) return;
    const viewer = open(PERFETTO);
    tell("waiting for " + PERFETTO);
    chosen.arrayBuffer().then((buffer) => sendToPerfetto(viewer, buffer, chosen.name, tell));
  } });
  const commands = element("div");
  onCompared(() => commands.replaceChildren(...timelineCommands(data)));
  made.append(
      element("p", {}, "This writes one of a row that is compared, where the study was made:"),
      commands,
      element("p", {}, "Open it in ",
          element("a", { href: PERFETTO, target: "_blank", rel: "noopener" }, PERFETTO),
          ", by hand or from here:"),
      element("div", { class: "tools" }, file, element("button", { id: "perfetto",
          onclick: () => file.click() }, "open run.json in Perfetto"), state));
  return made;
}
