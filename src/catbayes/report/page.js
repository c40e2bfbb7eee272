"use strict";
// The explorer: one column's categories as intervals. Names are data, and go in as text only.
(() => {
  const { columns, meaning } = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const STEP = 20;
  const LONGEST = 60;
  let limit = STEP;

  const number = (value) => {
    if (value === null) return "–";
    if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en");
    return value.toFixed(Math.abs(value) < 1 ? 3 : 2);
  };
  const make = (tag, name, text) => {
    const element = document.createElement(tag);
    if (name) element.className = name;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const counted = (count, noun, nouns = `${noun}s`) => `${count.toLocaleString("en")} ${count === 1 ? noun : nouns}`;
  const label = (name) => (name === null ? "(missing)" : name === "" ? "(empty)" : name);
  // Names of one beginning differ at their end, so the middle is left out.
  const shortened = (name) => (name.length > LONGEST ? `${name.slice(0, LONGEST / 2)}…${name.slice(-LONGEST / 2)}` : name);

  function chosen(column, values) {
    const wanted = at("search").value.trim().toLocaleLowerCase();
    const rare = at("rare").checked;
    const places = column.names.map((_, i) => i).filter((i) =>
      (!wanted || label(column.names[i]).toLocaleLowerCase().includes(wanted)) && (!rare || column.shrinkage[i] > 0.5));
    const shift = (i) => (values.raw_mean[i] === null ? 0 : Math.abs(values.raw_mean[i] - values.mean[i]));
    const keys = {
      mean: (i) => -values.mean[i], low: (i) => values.mean[i],
      count: (i) => -column.counts[i], shift: (i) => -shift(i),
    };
    const key = keys[at("order").value];
    return places.sort((a, b) => key(a) - key(b) || a - b);
  }

  // The range of the posteriors shown: one row that is 0 or 1 must not flatten the rest, and is drawn at the edge.
  function scale(shown, values, prior) {
    const all = [...prior.mean, ...shown.flatMap((i) => [values.lower[i], values.upper[i]])].filter((value) => value !== null);
    const low = all.reduce((a, b) => Math.min(a, b), Infinity);
    const high = all.reduce((a, b) => Math.max(a, b), -Infinity);
    const place = (value) => 2 + 96 * Math.min(Math.max((value - low) / (high - low || 1), 0), 1);  // room for a whole dot
    return { low, high, place };
  }

  function part(name, from, to) {
    const element = make("i", name);
    element.style.left = `${Math.min(from, to)}%`;
    if (to !== from) element.style.width = `${Math.abs(to - from)}%`;
    return element;
  }

  function line(column, values, prior, i, place) {
    const rare = column.shrinkage[i] > 0.5;
    const row = make("li", rare ? "line rare" : "line");
    const name = make("span", "name");
    name.append(make("bdi", "", shortened(label(column.names[i]))), make("span", "quiet", ` ${counted(column.counts[i], "row")}`));
    name.title = label(column.names[i]);
    const picture = make("span", "picture");
    picture.append(part("prior", place(prior.mean[0]), place(prior.mean[0])));
    picture.append(part("range", place(values.lower[i]), place(values.upper[i])));
    const raw = values.raw_mean[i];
    if (raw !== null) {
      picture.append(part("arrow", place(raw), place(values.mean[i])), part("ring", place(raw), place(raw)));
    }
    picture.append(part("dot", place(values.mean[i]), place(values.mean[i])));
    picture.title = `observed ${number(raw)}, posterior ${number(values.mean[i])}, 90 % interval from ${number(values.lower[i])} to ${number(values.upper[i])}; ${Math.round(100 * column.shrinkage[i])} % of it is the prior`;
    row.append(name, picture, make("span", "value", `${number(raw)} → ${number(values.mean[i])}`), make("span", "tag", rare ? "rare" : ""));
    return row;
  }

  function show() {
    const column = columns[at("column").value];
    const k = Number(at("class").value) || 0;
    const [values, prior] = [column.values[k], column.prior[k]];
    const places = chosen(column, values);
    const { low, high, place } = scale(places.slice(0, limit), values, prior);
    at("categories").replaceChildren(...places.slice(0, limit).map((i) => line(column, values, prior, i, place)));
    const ends = make("div");
    ends.append(make("span", "", number(low)), make("span", "", number(high)));
    at("axis").replaceChildren(ends);
    const cut = column.shown < column.categories ? `, of which the ${column.shown.toLocaleString("en")} most frequent are shown` : "";
    const found = places.length < column.shown ? ` ${places.length.toLocaleString("en")} found.` : "";
    const rarer = `${counted(column.rare, "category is", "categories are")} rarer than that`;
    at("about").textContent = `The ${meaning}, for ${counted(column.categories, "category", "categories")}${cut}. The prior weighs as much as `
      + `${column.strength}: ${rarer}. An unseen category has ${number(prior.mean[0])}.${found}`;
    at("more").hidden = places.length <= limit;
  }

  function restart() {
    limit = STEP;
    show();
  }

  function pick() {
    const { classes } = columns[at("column").value];
    at("class-label").hidden = classes.length < 2;
    at("class").replaceChildren(...classes.map((name, k) => {
      const option = make("option", "", name);
      option.value = k;
      return option;
    }));
    at("class").value = classes.length - 1;
    restart();
  }

  at("column").addEventListener("change", pick);
  for (const id of ["class", "order", "rare"]) at(id).addEventListener("change", restart);
  at("search").addEventListener("input", restart);
  at("more").addEventListener("click", () => { limit += STEP; show(); });
  pick();
})();
