"use strict";
const HEIGHT = 26;
const BEYOND = 20;  // rows that are drawn above and below what is seen
const data = JSON.parse(document.getElementById("data").textContent);
const nodes = data.nodes;
const list = document.getElementById("list");
const space = document.getElementById("space");
const detail = document.getElementById("detail");
const search = document.getElementById("search");
const only = document.getElementById("only");

// -- the tree ------------------------------------------------------------------------------------

nodes.forEach((node, number) => {
  node.number = number;
  node.children = [];
  node.open = true;
  node.depth = node.u === undefined ? 0 : nodes[node.u].depth + 1;
  if (node.u !== undefined) nodes[node.u].children.push(node);
});
const alarming = node => node.a !== undefined;
let shown = [];  // the nodes that have a row now
let at = null;
let drawn = new Map();  // rows on the screen, by position

const wanted = () => {
  const text = search.value.trim().toLowerCase();
  const equals = text.indexOf("=");
  const [file, value] = equals > 0 ? [text.slice(0, equals), text.slice(equals + 1)] : ["", ""];
  const matches = node => {
    if (only.checked && !alarming(node)) return false;
    if (!text) return true;
    if (file) return (node.r || []).some(row => row[0].toLowerCase().includes(file) && row[1].toLowerCase().includes(value));
    return node.p.toLowerCase().includes(text);
  };
  return text || only.checked ? matches : null;
};

const arrange = () => {
  const matches = wanted();
  let found = nodes.length;
  if (matches === null) {
    shown = [];
    const add = node => {
      shown.push(node);
      if (node.open) node.children.forEach(add);
    };
    nodes.filter(node => node.u === undefined).forEach(add);
  } else {
    const kept = new Set();
    found = 0;
    for (const node of nodes) {
      if (!matches(node)) continue;
      found += 1;
      for (let above = node; above && !kept.has(above); above = nodes[above.u]) kept.add(above);
    }
    shown = nodes.filter(node => kept.has(node));
    const order = [];
    const add = node => {
      if (!kept.has(node)) return;
      order.push(node);
      node.children.forEach(add);
    };
    nodes.filter(node => node.u === undefined).forEach(add);
    shown = order;
  }
  shown.forEach((node, position) => { node.position = position; });
  space.style.height = `${shown.length * HEIGHT}px`;
  const all = `${nodes.length.toLocaleString("en")} cgroup${nodes.length === 1 ? "" : "s"}`;
  document.getElementById("count").textContent = matches === null ? all : `${found.toLocaleString("en")} of ${all}`;
  drawn.forEach(row => row.remove());
  drawn.clear();
  if (at === null || shown[at.position] !== at) select(shown[0] || null, false);
  draw();
};

// -- rows ----------------------------------------------------------------------------------------

const element = (tag, name, text) => {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text !== undefined) made.textContent = text;
  return made;
};

const amount = (value, unit) => {
  if (value === null || value === undefined) return "";
  if (unit === "count") return value.toLocaleString("en");
  if (unit === "cpus") return `${+value.toFixed(3)} CPU${value === 1 ? "" : "s"}`;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let step = 0;
  while (value >= 1024 && step < units.length - 1) { value /= 1024; step += 1; }
  return `${+value.toFixed(value < 10 && step ? 1 : 0)} ${units[step]}`;
};

// The limit that acts on a meter: [bytes or number, its node], or null.
const acting = meter => {
  if (meter[4] === null || meter[4] === undefined) return null;
  const there = (nodes[meter[4]].m || []).find(other => other[0] === meter[0]);
  return there && there[3] !== null ? [there[3], nodes[meter[4]], there[2]] : null;
};

const bar = (used, limit) => {
  const outer = element("div", "bar");
  const share = limit ? Math.min(1, (used || 0) / limit) : 0;
  const inner = element("i", share >= 0.98 ? "full" : share >= 0.9 ? "near" : "");
  inner.style.width = `${100 * share}%`;
  outer.append(inner);
  return outer;
};

const rowOf = node => {
  const row = element("div", `row${node === at ? " at" : ""}`);
  row.style.top = `${node.position * HEIGHT}px`;
  row.style.paddingLeft = `${0.4 + node.depth * 1.1}em`;
  row.setAttribute("role", "treeitem");
  row.setAttribute("aria-level", node.depth + 1);
  row.setAttribute("aria-selected", node === at);
  if (node.children.length) row.setAttribute("aria-expanded", node.open);
  const button = element("button", "", node.children.length ? (node.open ? "\u25be" : "\u25b8") : "");
  button.tabIndex = -1;
  button.onclick = event => { event.stopPropagation(); toggle(node); };
  row.append(button, element("span", "name", node.n));
  if (alarming(node)) row.append(element("span", "flag", node.a[0]));
  row.append(element("span", "procs", node.t ? `${node.t.toLocaleString("en")} proc.` : ""));
  const memory = (node.m || []).find(meter => meter[0] === "memory");
  const box = element("span", "meter");
  if (memory) {
    const limit = acting(memory);
    const said = [amount(memory[2], "bytes"), limit ? `of ${amount(limit[0], "bytes")}` : ""].filter(Boolean).join(" ");
    box.append(element("div", limit && limit[1] !== node ? "dim" : "", said), bar(memory[2], limit && limit[0]));
  }
  row.append(box);
  row.onclick = () => { select(node); list.focus(); };
  row.ondblclick = () => toggle(node);
  return row;
};

const draw = () => {
  const first = Math.max(0, Math.floor(list.scrollTop / HEIGHT) - BEYOND);
  const last = Math.min(shown.length, Math.ceil((list.scrollTop + list.clientHeight) / HEIGHT) + BEYOND);
  drawn.forEach((row, position) => {
    if (position < first || position >= last) { row.remove(); drawn.delete(position); }
  });
  const made = document.createDocumentFragment();
  for (let position = first; position < last; position += 1) {
    if (drawn.has(position)) continue;
    const row = rowOf(shown[position]);
    drawn.set(position, row);
    made.append(row);
  }
  space.append(made);
};

const redraw = node => {
  const old = drawn.get(node.position);
  if (old === undefined || shown[node.position] !== node) return;
  const row = rowOf(node);
  old.replaceWith(row);
  drawn.set(node.position, row);
};

const toggle = node => {
  if (!node.children.length) return;
  node.open = !node.open;
  arrange();
};

const select = (node, scroll = true) => {
  const before = at;
  at = node;
  if (before) redraw(before);
  if (!node) { detail.replaceChildren(element("p", "dim", "Nothing matches.")); return; }
  redraw(node);
  if (scroll) {
    const top = node.position * HEIGHT;
    if (top < list.scrollTop) list.scrollTop = top;
    if (top + HEIGHT > list.scrollTop + list.clientHeight) list.scrollTop = top + HEIGHT - list.clientHeight;
    draw();
  }
  show(node);
  history.replaceState(null, "", `#${encodeURIComponent(node.p)}`);
};

// Opens what is above a node, and goes there.
const reveal = node => {
  if (shown[node.position] !== node) {
    search.value = "";
    only.checked = false;
    for (let above = nodes[node.u]; above; above = nodes[above.u]) above.open = true;
    arrange();
  }
  select(node);
};

// -- what is known of one ------------------------------------------------------------------------

const link = node => {
  const made = element("a", "", node.p);
  made.href = `#${encodeURIComponent(node.p)}`;
  made.onclick = event => { event.preventDefault(); reveal(node); };
  return made;
};

const table = (head, rows) => {
  const made = element("table");
  const line = element("tr");
  head.forEach(text => line.append(element("th", "", text)));
  made.append(line, ...rows);
  return made;
};

const show = node => {
  const parts = [element("h2", "", node.p)];
  (node.a || []).forEach(text => parts.push(element("div", "alarm", text)));
  const notes = [...(node.t === undefined ? [] : [`${node.t.toLocaleString("en")} processes`]), ...(node.o || [])];
  if (notes.length) parts.push(element("div", "dim", notes.join(", ")));
  const meters = (node.m || []).map(meter => {
    const line = element("tr");
    const limit = acting(meter);
    const cells = [element("td", "", meter[0]), element("td", "", amount(meter[2], meter[1])),
      element("td", "", meter[3] === null ? "none here" : amount(meter[3], meter[1])), element("td"), element("td", "wide")];
    if (limit && limit[1] !== node) {
      cells[3].append(`${amount(limit[0], meter[1])} of `, link(limit[1]));
      if (limit[2] !== null && meter[1] !== "cpus") cells[3].append(` (${amount(limit[2], meter[1])} used there)`);
    } else if (limit) cells[3].append("its own");
    if (limit && limit[2] !== null && meter[1] !== "cpus") cells[4].append(bar(limit[2], limit[0]));
    line.append(...cells);
    return line;
  });
  if (meters.length) parts.push(table(["resource", "used", "limit", "what acts", ""], meters));
  const known = (node.r || []).some(row => row[3]);
  const differing = (node.r || []).some(row => row[5]);
  const rows = (node.r || []).map(([file, text, should, why, source, differs]) => {
    const line = element("tr", differs ? "differs" : "");
    const value = element("td");
    value.append(element("pre", "", text.replace(/\n$/, "")));
    line.append(element("td", "", file), value);
    if (differing) {
      const wish = element("td");
      wish.append(element("pre", "", differs ? should.replace(/\n$/, "") : ""));
      line.append(wish);
    }
    if (known) {
      const reason = element("td", "why", why);
      if (source) reason.title = source;
      line.append(reason);
    }
    return line;
  });
  if (rows.length) parts.push(table(["file", "value", ...(differing ? ["wanted"] : []), ...(known ? ["why"] : [])], rows));
  if (node.u === undefined && data.facts.length) {
    parts.push(table(["about", ""], data.facts.map(([name, text]) => {
      const line = element("tr");
      line.append(element("td", "", name), element("td", "", text));
      return line;
    })));
  }
  detail.replaceChildren(...parts);
  detail.scrollTop = 0;
};

// -- the keyboard --------------------------------------------------------------------------------

const by = steps => select(shown[Math.max(0, Math.min(shown.length - 1, (at ? at.position : 0) + steps))] || null);
const page = () => Math.max(1, Math.floor(list.clientHeight / HEIGHT) - 1);
const nextAlarm = step => {
  for (let position = (at ? at.position : 0) + step; position >= 0 && position < shown.length; position += step) {
    if (alarming(shown[position])) { select(shown[position]); return; }
  }
};
const keys = {
  ArrowDown: () => by(1),
  ArrowUp: () => by(-1),
  PageDown: () => by(page()),
  PageUp: () => by(-page()),
  Home: () => by(-shown.length),
  End: () => by(shown.length),
  ArrowRight: () => {
    if (at && at.children.length && !at.open) toggle(at);
    else if (at && at.children.length && shown[at.position + 1] && shown[at.position + 1].u === at.number) by(1);
  },
  ArrowLeft: () => {
    if (at && at.children.length && at.open && wanted() === null) toggle(at);
    else if (at && at.u !== undefined) reveal(nodes[at.u]);
  },
  n: () => nextAlarm(1),
  p: () => nextAlarm(-1),
  b: () => {
    const limit = at && (at.m || []).map(acting).find(found => found && found[1] !== at);
    if (limit) reveal(limit[1]);
  },
  "/": () => search.focus(),
  "?": () => document.getElementById("help").showModal(),
};
document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.altKey || event.metaKey || document.getElementById("help").open) return;
  if (event.target === search) {
    if (event.key === "Escape" || event.key === "Enter" || event.key === "ArrowDown") { list.focus(); event.preventDefault(); }
    return;
  }
  const does = keys[event.key];
  if (does) { does(); event.preventDefault(); }
});
document.getElementById("help-button").onclick = keys["?"];
search.oninput = arrange;
only.onchange = arrange;
list.onscroll = draw;
window.onresize = draw;


const follow = asked => {
  const there = nodes.find(node => node.p === decodeURIComponent(asked.slice(1)));
  if (there) reveal(there);
};
window.onhashchange = () => follow(location.hash);
const asked = location.hash;
arrange();
follow(asked);
list.focus();
document.body.dataset.drawn = "yes";
