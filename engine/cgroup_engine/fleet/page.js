"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const map = document.getElementById("map");
const search = document.getElementById("search");
const colour = document.getElementById("colour");
const rows = [];
let rule = null;  // the number of the rule whose nodes are shown
let at = null;

const element = (tag, name, text) => {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text !== undefined) made.textContent = text;
  return made;
};
const count = number => number ? number.toLocaleString("en") : "";
const nodes = data.nodes.map(([name, rules, error, pods, facts]) => ({name, rules, error, pods, facts}));
document.getElementById("sums").textContent = ["nodes", "pods", "containers"].map(
  (noun, index) => `${data.sums[index].toLocaleString("en")} ${noun}`).join(", ");

data.findings.forEach((finding, number) => {
  const row = element("tr");
  const first = element("td", "", finding.rule);
  if (finding.text) first.append(element("div", "why", finding.text));
  (finding.reasons || []).forEach(reason => first.append(element("div", "why", `${reason.text} (${reason.nodes})`)));
  const {tightest, worst} = finding;
  row.append(first, ...[finding.nodes, finding.pods, finding.containers].map(each => element("td", "number", count(each))),
    element("td", "", finding.takesEffect),
    element("td", "", tightest ? `${tightest.value} (${tightest.for})` : ""),
    element("td", "", worst ? `${worst.from} to ${worst.to} (${worst.for})` : ""));
  row.onclick = () => { rule = rule === number ? null : number; arrange(); };
  document.querySelector("#findings tbody").append(row);
  rows.push(row);
});
if (!data.findings.length) document.getElementById("findings").replaceWith(element("p", "", "Nothing was found."));

[...new Set(nodes.flatMap(node => Object.keys(node.facts)))].forEach(fact => {
  const option = element("option", "", fact);
  option.value = fact;
  colour.append(option);
});

const matches = node => {
  if (rule !== null && !node.rules.includes(rule)) return false;
  return search.value.trim().toLowerCase().split(/\s+/).filter(Boolean).every(word => {
    const equals = word.indexOf("=");
    if (equals > 0) return String(node.facts[word.slice(0, equals)] || "").toLowerCase().includes(word.slice(equals + 1));
    return node.name.toLowerCase().includes(word);
  });
};

const most = Math.max(1, ...nodes.map(node => node.rules.length));
const shade = () => {
  if (colour.value === "count") return node => node.rules.length ? `hsl(${40 - 40 * node.rules.length / most} 80% 55%)` : "";
  const values = [...new Set(nodes.map(node => node.facts[colour.value] || ""))].sort();
  return node => `hsl(${Math.round(360 * values.indexOf(node.facts[colour.value] || "") / values.length)} 55% 55%)`;
};

const arrange = () => {
  rows.forEach((row, number) => row.classList.toggle("at", number === rule));
  const found = nodes.filter(matches);
  const tint = shade();
  document.getElementById("count").textContent =
    `${found.length.toLocaleString("en")} of ${nodes.length.toLocaleString("en")} nodes`;
  map.replaceChildren(...found.map(node => {
    const cell = element("button", `${node.error ? "broken" : ""}${node === at ? " at" : ""}`);
    cell.style.background = tint(node);
    cell.title = `${node.name}: ${node.error || `${node.rules.length} rules`}`;
    cell.setAttribute("role", "listitem");
    cell.setAttribute("aria-label", cell.title);
    cell.onclick = () => { at = node; show(node); arrange(); };
    return cell;
  }));
};

const show = node => {
  const facts = Object.entries(node.facts).map(([name, value]) => `${name} ${value}`);
  const parts = [element("h2", "", node.name), element("p", "dim", [`${node.pods} pods`, ...facts].join(", "))];
  if (node.error) parts.push(element("p", "", node.error));
  const list = element("ul");
  node.rules.forEach(number => {
    const item = element("li", "", data.findings[number].rule);
    if (data.findings[number].text) item.append(element("span", "why", ` ${data.findings[number].text}`));
    list.append(item);
  });
  parts.push(list);
  document.getElementById("node").replaceChildren(...parts);
};

search.oninput = arrange;
colour.onchange = arrange;
arrange();
document.body.dataset.drawn = "yes";
