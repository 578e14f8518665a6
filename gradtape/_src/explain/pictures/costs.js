// The FLOPs of a gradient call as a flame graph: the whole, its layers, their lines, their ops.

function tree(rows) {
  const whole = { name: "all", forward: 0, backward: 0, parts: new Map() };
  for (const row of rows) {
    const nowhere = row.op === "AddN" ? "sums of gradients" : "no line";
    let part = whole;
    for (const name of [null, ...row.layers, row.file ? `${row.file}:${row.line}` : nowhere, row.op]) {
      if (name && !part.parts.has(name)) part.parts.set(name, { name, forward: 0, backward: 0, parts: new Map(), whole: part });
      if (name) part = part.parts.get(name);
      part.forward += row.forward;
      part.backward += row.backward;
    }
  }
  return whole;
}

function flops(part) {
  return part.forward + part.backward;
}

// A part is as wide as the whole if it is chosen, and so are those that it is part of.
function showCosts(chosen) {
  by("costs").hidden = !chosen || !flops(chosen);
  if (by("costs").hidden) return;
  by("sums").replaceChildren(...["forward", "backward"].map((pass) =>
    make("span", { class: pass }, `${chosen[pass].toLocaleString("en")} ${pass}`)));
  const frames = [], around = [];
  for (let part = chosen.whole; part; part = part.whole) around.unshift(part);
  const frame = (part, left, width, depth) => {
    const said = `${part.name}: ${part.forward.toLocaleString("en")} FLOPs forward, ${part.backward.toLocaleString("en")} backward`;
    const box = make("button", { type: "button", class: "frame", title: said, "aria-label": said, "data-depth": depth,
      tabindex: frames.length ? -1 : 0, style: `left:${left}%;width:${width}%;top:${21 * depth}px;--share:${100 * part.forward / flops(part)}%` }, part.name);
    box.addEventListener("click", () => {
      showCosts(part);
      by("flame").querySelector(`[data-depth="${depth}"]`).focus();
    });
    frames.push(box);
  };
  const below = (part, left, width, depth) => {
    frame(part, left, width, depth);
    for (const inner of [...part.parts.values()].sort((a, b) => flops(b) - flops(a))) {
      const share = width * flops(inner) / flops(part);
      if (share > 0.2) below(inner, left, share, depth + 1);
      left += share;
    }
  };
  around.forEach((part, depth) => frame(part, 0, 100, depth));
  below(chosen, 0, 100, around.length);
  by("flame").replaceChildren(...frames);
  by("flame").style.height = `${21 * (1 + Math.max(...frames.map((box) => box.dataset.depth)))}px`;
}

// The arrow keys go to the next part of the same depth, to what a part belongs to, and to its own parts.
function moveInCosts(event) {
  const frames = [...by("flame").children], at = frames.indexOf(document.activeElement), depth = Number(frames[at].dataset.depth);
  const before = frames.slice(0, at).reverse(), after = frames.slice(at + 1);
  const ways = { ArrowLeft: [before, depth], ArrowRight: [after, depth], ArrowUp: [before, depth - 1], ArrowDown: [after, depth + 1] };
  if (!ways[event.key]) return;
  event.preventDefault();
  const [among, wanted] = ways[event.key], to = among.find((box) => Number(box.dataset.depth) === wanted);
  if (to) to.focus();
}
