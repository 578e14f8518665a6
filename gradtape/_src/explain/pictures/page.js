"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const by = (id) => document.getElementById(id);
const states = ["recorded", "path", "also", "break"]; // of a box; the later one counts
let scene, breaks = [], current = -1, matches = [], matched = -1, layered = false;

// All text goes in as text: none of it is ever read as HTML.
function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function lineId(file, line) {
  return `L${data.files.findIndex((f) => f.name === file)}-${line}`;
}

function show(index) {
  scene = data.calls[index];
  showSource();
  showGradients();
  showCosts(scene ? tree(scene.costs) : null);
  layered = Boolean(scene) && scene.groups.some((group) => group.layers.length);
  by("layers").hidden = !layered;
  showGraph();
  current = -1;
  search();
}

// -- the faults of all calls

function showFaults() {
  by("headline").textContent = data.headline;
  by("headline").classList.toggle("lacks", data.faults.length > 0);
  by("fault-list").replaceChildren(...data.faults.map((fault) => {
    const button = make("button", { type: "button", class: "fault" }, make("b", {}, fault.sources), `: the ${fault.of} is ${fault.what}`,
      ...(fault.line ? [", at ", make("b", {}, fault.place)] : []));
    button.addEventListener("click", () => {
      by("call").selectedIndex = fault.call;
      show(fault.call);
      const line = by(lineId(fault.file, fault.line));
      if (line) line.scrollIntoView({ block: "center" });
    });
    return make("li", {}, button, cause(fault), ...mend(fault));
  }));
}

function cause(d) {
  return make("p", {}, make("code", {}, d.code), ": ", ...marked(d.cause));
}

// Words with code in backticks.
function marked(words) {
  return words.split("`").map((part, i) => (i % 2 ? make("code", {}, part) : part));
}

// The fix or the advice of a reason, and a button that copies the code of a fix.
function mend(d) {
  if (!d.mend) return [];
  const said = d.mend.includes("\n") ? [make("pre", { tabindex: 0 }, ...inDiff(d.mend))] : marked(` ${d.mend}`);
  const box = make("div", { class: "mend" }, make("b", {}, `${d.label}:`), ...said);
  if (d.copy) {
    const button = make("button", { type: "button", class: "copy" }, "copy the fix");
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(d.copy);
        button.textContent = "copied";
      } catch { // such as on a page of a server without encryption
        getSelection().selectAllChildren(box.querySelector("pre, code"));
      }
    });
    box.append(" ", button);
  }
  return [box];
}

function inDiff(text) {
  return text.split("\n").flatMap((line, i) => {
    const kind = { "+": "added", "-": "removed" }[line[0]];
    return [i ? "\n" : "", kind ? make("span", { class: kind }, line) : line];
  });
}

// -- the source

function showSource() {
  const states = new Map((scene ? scene.lines : []).map(([file, line, state]) => [lineId(file, line), state]));
  const shown = new Set((scene ? scene.lines : []).map(([file]) => file));
  const files = data.files.filter((f) => f.name === data.script || shown.has(f.name));
  by("files").replaceChildren(...files.map((file) => {
    const lines = make("div", { class: "lines" });
    file.lines.forEach((text, i) => {
      const id = lineId(file.name, i + 1), state = states.get(id) || "", indent = text.search(/\S|$/) + 2;
      lines.append(make("span", { class: `line ${state}`, id, "data-state": state },
        make("span", { class: "number" }, String(i + 1)), make("span", { class: "text", style: `padding-left:${indent}ch;text-indent:-${indent}ch` }, ...inColours(text, file.coloured[i]))));
      if (["also", "break"].includes(state)) lines.append(...reasons(file.name, i + 1));
    });
    return make("div", { class: "file" }, make("h2", {}, file.name), lines);
  }));
  for (const entry of document.querySelectorAll(".legend .line"))
    entry.hidden = !document.querySelector(`#files .${entry.className.replace(" ", ".")}`);
  breaks = [...document.querySelectorAll("#files .line.break, #files .line.also")];
}

function inColours(text, parts) {
  const letters = [...text], written = (start, end) => letters.slice(start, end).join("");
  let at = 0;
  const pieces = parts.flatMap(([start, end, kind]) => {
    const before = written(at, start);
    at = end;
    return [before, make("span", { class: kind }, written(start, end))];
  });
  return [...pieces, written(at)];
}

// One box for each cause at a line, of whichever sources. The fix of a fault stands above, in the list.
function reasons(file, line) {
  const mains = [...data.faults, ...scene.sources.map((source) => source.diagnosis).filter(Boolean)], said = new Map();
  for (const d of [...mains, ...mains.flatMap((first) => first.also)])
    if (d.file === file && d.line === line && !said.has(`${d.code} ${d.op}`))
      said.set(`${d.code} ${d.op}`, make("div", { class: mains.includes(d) ? "why" : "why also" }, cause(d), ...(mains.includes(d) ? [] : mend(d))));
  return said.values();
}

// -- the gradients

function showGradients() {
  if (!scene) return by("gradients").replaceChildren(make("p", {}, "The script asked for no gradient."));
  by("gradients").replaceChildren(...scene.sources.map((source) => {
    const d = source.diagnosis;
    const box = make("div", { class: `gradient ${source.what ? "lacks" : ""}` },
      make("p", {}, make("code", {}, source.name), ` ${source.value} `,
        make("span", { class: "dim" }, source.what ? `the gradient is ${source.what}` : source.norm && `norm ${source.norm}`)));
    if (!d) return box;
    const where = make("a", { href: `#${lineId(d.file, d.line)}` }, d.place);
    box.append(make("p", {}, where, " ", make("code", {}, d.code)));
    return box;
  }));
  const more = scene.all_sources - scene.sources.length;
  if (more) by("gradients").append(make("p", { class: "dim" }, `… and ${more.toLocaleString("en")} more`));
}

// -- the tape

function showGraph() {
  const graph = by("graph");
  graph.replaceChildren(document.createElementNS("http://www.w3.org/2000/svg", "svg"));
  by("layers").setAttribute("aria-pressed", layered);
  if (!scene) return;
  scene.watched.forEach((w, k) => graph.append(
    make("div", { class: "group watched", "data-place": -1 - k }, w.name, make("span", { class: "dim" }, `  ${w.value}`))));
  let around = []; // the boxes of the layers that the last line stands in
  for (const group of layered ? scene.groups : byLine(scene.groups)) {
    const layers = layered ? group.layers : [];
    const same = layers.findIndex((name, depth) => !around[depth] || around[depth].dataset.layer !== name);
    around = around.slice(0, same < 0 ? layers.length : same);
    for (const name of layers.slice(around.length)) {
      const box = make("details", { class: "group layer", "data-layer": name }, make("summary", {}, name));
      (around.at(-1) || graph).append(box);
      around.push(box);
    }
    for (const box of around) setState(box, [box.dataset.state, group.state]);
    if (group.gap) (around.at(-1) || graph).append(leftOut(group.gap));
    (around.at(-1) || graph).append(lineBox(group));
  }
  for (const box of graph.querySelectorAll("details")) box.addEventListener("toggle", drawArcs);
  if (scene.left_out) graph.append(leftOut(scene.left_out));
  if (!scene.norms) graph.append(make("p", { class: "dim" }, "No norms of gradients are known: nothing flows, or the tape is in a function or too long."));
  by("ops").textContent = `${scene.ops.toLocaleString("en")} op${scene.ops === 1 ? "" : "s"}`;
  setFold(false);
}

function leftOut(lines) {
  return make("p", { class: "dim" }, `… ${lines.toLocaleString("en")} more lines`);
}

function setState(box, among) {
  box.dataset.state = states.findLast((state) => among.includes(state));
  box.classList.remove(...states);
  box.classList.add(box.dataset.state);
}

// What one line recorded in a row, whichever layers it called.
function byLine(groups) {
  const lines = [];
  for (const group of groups) {
    const last = lines.at(-1);
    if (!last || last.place !== group.place || last.file !== group.file) lines.push({ ...group, ops: [...group.ops] });
    else if (group.gap) lines.push({ ...group, ops: [...group.ops] });
    else {
      last.ops.push(...group.ops);
      last.more += group.more;
      last.state = states.findLast((state) => [last.state, group.state].includes(state));
    }
  }
  return lines;
}

function lineBox(group) {
  const names = group.ops.map((o) => o.op).join(" · ");
  const rows = group.ops.map((o) => make("tr", { "data-place": o.number }, ...["op", "value", "bytes", "kept", "norm"]
    .map((field) => make("td", {}, String(o[field])))));
  const head = make("tr", {}, ...["op", "result", "bytes", "kept", "gradient norm"].map((name) => make("th", {}, name)));
  const box = make("details", { class: "group" },
    make("summary", { title: group.source }, group.place, make("span", { class: "dim" }, `  ${group.source || names}`)),
    make("table", { class: "ops" }, head, ...rows));
  if (group.more) box.append(make("p", { class: "dim" }, `… ${group.more.toLocaleString("en")} more ops`));
  setState(box, [group.state]);
  for (const [event, lit] of [["mouseenter", true], ["mouseleave", false], ["focusin", true], ["focusout", false]])
    box.addEventListener(event, () => light(box, group, lit));
  return box;
}

function light(box, group, lit) {
  const id = lineId(group.file, group.line), line = by(id);
  if (line) line.classList.toggle("match", lit);
  const own = new Set([...box.querySelectorAll("[data-place]")].map((row) => row.dataset.place));
  for (const arc of by("graph").querySelectorAll("path"))
    arc.classList.toggle("lit", lit && (own.has(arc.dataset.from) || own.has(arc.dataset.to)));
}

// An op's arc ends at its row, or at the outermost box around it that is folded.
function drawArcs() {
  const graph = by("graph"), svg = graph.querySelector("svg"), top = graph.getBoundingClientRect().top;
  const middle = new Map();
  for (const row of graph.querySelectorAll("[data-place]")) {
    let shown = row;
    for (let box = row.closest("details"); box; box = box.parentElement.closest("details"))
      if (!box.open) shown = box.querySelector("summary");
    const { top: y, height } = shown.getBoundingClientRect();
    middle.set(Number(row.dataset.place), y - top + height / 2);
  }
  const arcs = new Map();
  for (const op of scene.groups.flatMap((g) => g.ops)) for (const input of op.inputs) {
    const from = middle.get(input), to = middle.get(op.number);
    if (from === undefined || to === undefined || from === to) continue;
    const reach = Math.min(58, 10 + Math.abs(to - from) / 7);
    const arc = document.createElementNS("http://www.w3.org/2000/svg", "path");
    arc.setAttribute("d", `M64 ${from}C${64 - reach} ${from} ${64 - reach} ${to} 64 ${to}`);
    arc.dataset.from = input;
    arc.dataset.to = op.number;
    arcs.set(`${from}-${to}`, arc);
  }
  svg.setAttribute("height", graph.scrollHeight);
  svg.replaceChildren(...arcs.values());
}

function setFold(open) {
  for (const box of document.querySelectorAll("details.group")) box.open = open;
  by("fold").textContent = open ? "fold all" : "unfold all";
  by("fold").setAttribute("aria-pressed", open);
  if (scene) drawArcs();
}

// -- search and keys

function search() {
  const wanted = by("search").value.trim().toLowerCase();
  const places = [...document.querySelectorAll("#files .line, details.group")];
  const said = (p) => (p.matches(".layer") ? p.dataset.layer : p.textContent).toLowerCase();
  matches = wanted ? places.filter((p) => said(p).includes(wanted)) : [];
  for (const p of places) p.classList.toggle("match", matches.includes(p));
  matched = -1;
  by("found").textContent = wanted ? `${matches.length} found` : "";
}

function next(step, among, from) {
  return among.length ? (from + step + among.length) % among.length : -1;
}

function go(step) {
  if (current >= 0) breaks[current].classList.remove("current");
  current = next(step, breaks, current < 0 && step < 0 ? 0 : current);
  if (current < 0) return;
  breaks[current].classList.add("current");
  breaks[current].scrollIntoView({ block: "center" });
}

by("search").addEventListener("input", search);
by("search").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && matches.length) {
    matched = next(event.shiftKey ? -1 : 1, matches, matched);
    for (let box = matches[matched].parentElement.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
    matches[matched].scrollIntoView({ block: "center" });
  } else if (event.key === "Escape") {
    by("search").value = "";
    search();
    by("search").blur();
  }
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, dialog")) return;
  const actions = { j: () => go(1), k: () => go(-1), f: toggleFold, l: toggleLayers, "/": () => by("search").focus(), "?": () => by("help").showModal() };
  if (!actions[event.key]) return;
  event.preventDefault();
  actions[event.key]();
});

function toggleFold() {
  setFold(by("fold").getAttribute("aria-pressed") !== "true");
}

function toggleLayers() {
  if (by("layers").hidden) return;
  layered = !layered;
  showGraph();
  search();
}

by("fold").addEventListener("click", toggleFold);
by("layers").addEventListener("click", toggleLayers);
by("flame").addEventListener("keydown", moveInCosts);
by("help-button").addEventListener("click", () => by("help").showModal());
by("call").addEventListener("change", () => show(by("call").selectedIndex));
window.addEventListener("resize", () => scene && drawArcs());
showFaults();
data.calls.forEach((call) => {
  const lacks = call.sources.some((source) => source.what) ? "✗ " : "";
  by("call").append(make("option", {}, `${lacks}line ${call.line}: ${call.call}${call.times > 1 ? ` (${call.times} times)` : ""}`));
});
const first = data.faults.length ? data.faults[0].call : 0;
by("call").selectedIndex = first;
show(first);
