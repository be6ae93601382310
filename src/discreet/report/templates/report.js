"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const get = (id) => document.getElementById(id);
  const SHOWN = 20, MATCHES = 8, CHIPS = 8;
  const dots = [...document.querySelectorAll("#map .dot")];
  const cards = [];
  for (const card of document.querySelectorAll(".card")) cards[Number(card.dataset.topic)] = card;
  const rows = [...document.querySelectorAll("[data-pick]")];
  const map = get("map"), search = get("search"), slider = get("lambda"), choose = get("choose");
  // A word is found however it is written: in capitals or not, with or without accents.
  const plain = (text) => text.toLocaleLowerCase().normalize("NFD").replace(/[\u0300-\u036f]/g, "");
  const written = data.words.map(plain);
  let current = -1, sought = -1, asked = null;

  const make = (tag, className, text) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const draw = (tag, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };
  const percent = (share) => {
    const value = 100 * share;
    if (value > 0 && value < 0.001) return "<0.001\u202f%";
    return value.toFixed(value < 0.1 ? 3 : value < 10 ? 2 : 1) + "\u202f%";
  };

  function chart(p, reach, longest, solid, overall) {
    const at = (value) => (100 * Math.max(0, value)) / longest;
    const svg = draw("svg", { class: "chart", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" });
    svg.append(draw("rect", { class: "bar " + (solid ? "solid" : "hollow"), x: 0, y: 0.5, width: at(p), height: 5.6 }));
    if (overall !== null) svg.append(draw("rect", { class: "overall", x: 0, y: 7.2, width: at(overall), height: 2 }));
    if (reach > 0) {
      const low = at(p - reach), high = at(p + reach);
      const caps = low > 0 ? `M${low} 1.6V5` : "";
      svg.append(draw("path", { class: "whisker", d: `M${low} 3.3H${high}M${high} 1.6V5${caps}` }));
    }
    return svg;
  }

  // Relevance as in Sievert and Shirley (2014); at 1 it is the order of the probabilities.
  function ordered(topic) {
    const lambda = slider ? Number(slider.value) : 1;
    const rows = topic.words.map((word, i) => {
      const p = topic.p[i], noise = topic.noise ? topic.noise[i] : 0;
      const weight = data.weight ? data.weight[word] : 1;
      const logarithm = Math.log(Math.max(p, 1e-300));
      return { word, p, i, reach: data.deviations * noise, relevance: logarithm - (1 - lambda) * Math.log(weight) };
    });
    return rows.sort((a, b) => b.relevance - a.relevance || a.i - b.i).slice(0, SHOWN);
  }

  function listWords() {
    const topic = data.topics[current];
    const rows = ordered(topic);
    if (sought >= 0 && !rows.some((row) => row.word === sought)) {
      const i = topic.words.indexOf(sought);
      if (i >= 0) rows.push({ word: sought, p: topic.p[i], i, reach: topic.noise ? data.deviations * topic.noise[i] : 0 });
    }
    const overall = (word) => (data.weight ? data.weight[word] : null);
    const longest = Math.max(1e-12, ...rows.map((row) => Math.max(row.p + row.reach, overall(row.word) || 0)));
    get("words").replaceChildren(...rows.map((row) => {
      const solid = !topic.noise || row.p > row.reach;
      const item = make("li", (solid ? "solid" : "hollow") + (row.word === sought ? " sought" : ""));
      const button = make("button", "term");
      button.type = "button";
      button.title = "Show the topics of this word";
      button.append(make("bdi", "", data.words[row.word]));
      button.addEventListener("click", () => { search.value = data.words[row.word]; find(); });
      const value = make("span", "value", percent(row.p));
      const spoken = (row.reach > 0 ? " plus or minus " + percent(row.reach) : "") + (solid ? "" : ", may be noise alone") +
        (data.weight ? `; ${percent(data.weight[row.word])} over all topics` : "");
      value.append(make("span", "hidden", spoken));
      item.append(button, chart(row.p, row.reach, longest, solid, overall(row.word)), value);
      return item;
    }));
    get("axis").textContent = `The longest bar or whisker ends at ${percent(longest)}. ` +
      `${Math.min(rows.length, SHOWN)} of ${data.total.toLocaleString("en")} words are shown.`;
  }

  // The name of a circle that has no place for it is shown while it is pointed at, or focused.
  function call(number) {
    const names = number < 0 ? [] : [...dots[number].querySelectorAll(".name")], called = get("called");
    const seen = names.some((one) => getComputedStyle(one).display !== "none");
    called.textContent = names.length && !seen ? names[0].textContent : "";
    if (names.length) for (const at of ["x", "y"]) called.setAttribute(at, names[0].getAttribute(at));
  }

  function select(number, focus) {
    current = (number + data.topics.length) % data.topics.length;
    const card = cards[current];
    dots.forEach((dot, i) => {
      if (i === current) dot.setAttribute("aria-current", "true"); else dot.removeAttribute("aria-current");
      dot.tabIndex = i === current ? 0 : -1;
    });
    cards.forEach((other, i) => other.classList.toggle("chosen", i === current));
    choose.value = String(current);
    for (const row of rows) row.classList.toggle("chosen", Number(row.dataset.pick) === current);
    const row = rows.find((one) => Number(one.dataset.pick) === current);
    row.parentNode.scrollTop = row.offsetTop - row.parentNode.offsetTop - 60;
    get("chosen").textContent = `Topic ${current + 1}: ${data.topics[current].name}`;
    get("about").textContent = card.querySelector("header p").textContent;
    listWords();
    const fold = card.closest("details");
    if (fold && asked) fold.open = true;
    if (focus) dots[current].focus();
  }

  function show(word) {
    sought = word;
    map.classList.toggle("searching", word >= 0);
    for (const dot of dots) { dot.classList.remove("holds"); dot.querySelector(".disc").style.fillOpacity = ""; }
    if (word >= 0) {
      const row = data.index[word];
      for (let i = 0; i < row.length; i += 2) {
        if (row[i] < 0) continue;
        dots[row[i]].classList.add("holds");
        dots[row[i]].querySelector(".disc").style.fillOpacity = String(0.15 + (0.85 * row[i + 1]) / row[1]);
      }
    }
    listWords();
  }

  function hit(word) {
    const box = make("div", "hit");
    box.append(make("bdi", "term", data.words[word]));
    const row = data.index[word];
    let solid = 0;
    for (let i = 0; i < row.length; i += 2) if (row[i] >= 0) solid += 1;
    // Topics that may hold the word by noise alone are told only where no topic holds it for sure.
    for (let i = 0, chips = 0; i < row.length && chips < CHIPS; i += 2) {
      if (solid > 0 && row[i] < 0) continue;
      if (solid === 0 && chips === 2) break;
      const topic = row[i] < 0 ? -1 - row[i] : row[i];
      const chip = make("button", "chip" + (row[i] < 0 ? " hollow" : ""), `Topic ${topic + 1} · ${percent(row[i + 1])}`);
      chip.type = "button";
      chip.title = data.topics[topic].name;
      if (row[i] < 0) chip.append(" (may be noise)");
      chip.addEventListener("click", () => { select(topic); show(word); });
      box.append(chip);
      chips += 1;
    }
    if (solid > CHIPS) box.append(make("span", "small muted", `and ${solid - CHIPS} more`));
    return box;
  }

  function find() {
    const typed = search.value.trim(), query = plain(typed);
    const hits = get("hits"), found = get("found");
    if (!typed) { hits.replaceChildren(); found.textContent = ""; show(-1); return; }
    const rank = (word) => (data.words[word] === typed ? 0 : written[word] === query ? 1 : written[word].startsWith(query) ? 2 : 3);
    const matches = [];
    for (let word = 0; word < written.length; word += 1) if (written[word].includes(query)) matches.push(word);
    matches.sort((a, b) => rank(a) - rank(b) || written[a].length - written[b].length || a - b);
    hits.replaceChildren(...matches.slice(0, MATCHES).map(hit));
    if (matches.length === 0) found.textContent = `No listed word contains “${typed}”. It may still be among the ${data.total.toLocaleString("en")} words of the release.`;
    else found.textContent = matches.length > MATCHES ? `${MATCHES} of ${matches.length} matching words` : matches.length === 1 ? "1 matching word" : `${matches.length} matching words`;
    show(matches.length > 0 ? matches[0] : -1);
  }

  const moves = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  dots.forEach((dot, i) => {
    dot.addEventListener("click", (event) => { event.preventDefault(); select(i); });
    for (const event of ["mouseenter", "focus"]) dot.addEventListener(event, () => call(i));
    for (const event of ["mouseleave", "blur"]) dot.addEventListener(event, () => call(-1));
    dot.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      if (event.key in moves) { event.preventDefault(); select(i + moves[event.key], true); }
      else if (event.key === "Home") { event.preventDefault(); select(0, true); }
      else if (event.key === "End") { event.preventDefault(); select(dots.length - 1, true); }
      else if (event.key === " ") { event.preventDefault(); select(i); }
    });
  });
  cards.forEach((card, i) => {
    const name = card.querySelector("h3 > span:last-child"), button = make("button");
    button.type = "button";
    button.append(...name.childNodes);
    name.append(button);
    button.addEventListener("click", () => { select(i); get("detail").scrollIntoView({ block: "nearest" }); });
  });
  for (const row of rows) row.querySelector("a").addEventListener("click", (event) => {
    event.preventDefault();
    select(Number(row.dataset.pick));
    get("detail").scrollIntoView({ block: "nearest" });
  });
  choose.addEventListener("change", () => select(Number(choose.value)));
  get("previous").addEventListener("click", () => select(current - 1));
  get("next").addEventListener("click", () => select(current + 1));
  search.addEventListener("input", find);
  search.addEventListener("keydown", (event) => { if (event.key === "Escape") { search.value = ""; find(); } });
  if (slider) slider.addEventListener("input", () => { get("lambda-value").textContent = Number(slider.value).toFixed(2); listWords(); });

  // Files for the reader: made here, from what stands on the page.
  const STYLED = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "paint-order",
    "font-family", "font-size", "font-weight", "text-anchor", "visibility", "display"];
  function save(content, type, name) {
    const link = make("a");
    link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
  function drawing(svg) {
    const copy = svg.cloneNode(true), [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
    const from = [svg, ...svg.querySelectorAll("*")], to = [copy, ...copy.querySelectorAll("*")];
    from.forEach((element, i) => {
      const style = getComputedStyle(element);
      for (const name of STYLED) to[i].setAttribute(name, style.getPropertyValue(name));
      for (const name of ["class", "style", "href"]) to[i].removeAttribute(name);
    });
    const page = draw("rect", { width, height, fill: getComputedStyle(document.body).backgroundColor });
    copy.prepend(page);
    for (const [name, value] of [["xmlns", "http://www.w3.org/2000/svg"], ["width", width], ["height", height]]) copy.setAttribute(name, value);
    return { text: new XMLSerializer().serializeToString(copy), width, height };
  }
  function picture({ text, width, height }) {
    const image = new Image(), canvas = make("canvas");
    canvas.width = 2 * width;
    canvas.height = 2 * height;
    image.onload = () => {
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => save(blob, "image/png", "topics.png"));
    };
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
  }
  function table() {
    // A spreadsheet would run a cell that begins like a formula, behind blanks and marks that it strips, or in other signs.
    const formula = (text) => {
      const first = [...text].find((letter) => !/[\p{C}\p{Z}]/u.test(letter)) || "";
      return /^[\t\r\n]/.test(text) || /^[=+\-@\u2212]/.test(first.normalize("NFKC"));
    };
    const cell = (value) => {
      const text = String(value), safe = typeof value === "string" && formula(text) ? "'" + text : text;
      return /[",\n\r]/.test(safe) ? '"' + safe.replaceAll('"', '""') + '"' : safe;
    };
    const rows = [["topic", "name", "rank", "word", "probability", "noise", "over_all_topics"]];
    data.topics.forEach((topic, number) => topic.words.forEach((word, i) => rows.push([number + 1, topic.name, i + 1, data.words[word],
      topic.p[i], topic.noise ? topic.noise[i] : "", data.weight ? data.weight[word] : ""])));
    return rows.map((row) => row.map(cell).join(",") + "\r\n").join("");
  }
  const saves = {
    csv: () => save("\ufeff" + table(), "text/csv", "topics.csv"),
    svg: () => save(drawing(map).text, "image/svg+xml", "topics.svg"),
    png: () => picture(drawing(map)),
  };
  for (const button of document.querySelectorAll("[data-save]")) button.addEventListener("click", saves[button.dataset.save]);

  for (const element of document.querySelectorAll(".script")) element.removeAttribute("hidden");
  // A phone shows first what is read first; paper shows all.
  const briefs = [...document.querySelectorAll(".brief")];
  if (window.matchMedia("(max-width: 40rem)").matches) for (const fold of briefs) fold.open = false;
  window.addEventListener("beforeprint", () => { for (const fold of briefs) fold.open = true; });
  asked = /^#topic-(\d+)$/.exec(window.location.hash);
  const first = dots.map((dot) => Number(dot.querySelector(".disc").getAttribute("r")));
  select(asked && Number(asked[1]) < dots.length ? Number(asked[1]) : first.indexOf(Math.max(...first)));
})();
