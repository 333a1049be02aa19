"use strict";
(() => {
  const main = document.querySelector("main");
  const sections = [...document.querySelectorAll("section")];
  const cards = [...document.querySelectorAll("nav a")];
  const rows = sections.map((section) => [...section.querySelectorAll("li")]);
  const row = (id) => document.getElementById(id);
  const stageOf = (line) => line.id.charCodeAt(0) - 97;
  const placeOf = (line) => Number(line.id.slice(1));
  const depthOf = (line) => Number(line.firstElementChild.style.getPropertyValue("--d") || 0);

  // Links to the next stage are in the page, one as an arrow and more than one as data; those to the stage before, and from operands to users, follow.
  const before = new Map(), users = new Map();
  const note = (map, key, value) => map.has(key) ? map.get(key).push(value) : map.set(key, [value]);
  const next = (id) => {
    const line = row(id), arrow = line.lastElementChild.lastElementChild;
    if (line.dataset.n) return line.dataset.n.split(" ");
    return arrow && arrow.hash.charCodeAt(1) > line.id.charCodeAt(0) ? [arrow.hash.slice(1)] : [];
  };
  const named = (line) => {
    const names = [...line.firstElementChild.querySelectorAll("a")].map((link) => link.hash.slice(1));
    // Constants may stand there as literals.
    return line.dataset.c ? [...names, ...line.dataset.c.split(" ")] : names;
  };
  for (const line of rows.flat()) {
    next(line.id).forEach((to) => note(before, to, line.id));
    new Set(named(line)).forEach((operand) => note(users, operand, line.id));
  }

  // The operation whose body a line is of.
  const around = (id) => {
    const depth = depthOf(row(id)), own = rows[stageOf(row(id))];
    for (let at = placeOf(row(id)) - 1; depth > 0 && at >= 0; at--) {
      if (depthOf(own[at]) < depth && own[at].matches(".n, .k")) return [own[at].id];
    }
    return [];
  };
  // The lines of another stage that compute the same; or else, those of what a line is a part of: the operation around it,
  // and the lines that use it.
  const step = (links) => (id, alone = true) => {
    const seen = new Set([id]);
    for (let edge = [id], direct = true; edge.length && seen.size < 2000; direct = false) {
      const found = [...new Set(edge.flatMap(links))];
      if (found.length || !alone) return { direct, found };
      edge = [...new Set(edge.flatMap((at) => [...around(at), ...(users.get(at) || [])]))].filter((at) => !seen.has(at));
      edge.forEach((at) => seen.add(at));
    }
    return { direct: true, found: [] };
  };
  const onwards = step(next), backwards = step((id) => before.get(id) || []);

  // The lines of all other stages that are reached, and whether they compute the same.
  const related = (id) => {
    const all = new Map();
    for (const links of [onwards, backwards]) {
      let edge = new Map([[id, true]]);
      while (edge.size) {
        const reached = new Map();
        for (const [at, same] of edge) {
          // Of a few lines it is of interest what they are a part of.
          const { direct, found } = links(at, edge.size < 64);
          found.forEach((to) => reached.set(to, reached.get(to) || (same && direct)));
        }
        reached.forEach((same, to) => all.set(to, same));
        edge = reached;
      }
    }
    return all;
  };

  const clear = (...classes) => classes.forEach((name) => {
    document.querySelectorAll("li." + name).forEach((line) => line.classList.remove(name));
  });

  // Brings lines into the view of their stages: all is measured before anything moves.
  const reveal = (lines, smooth) => {
    const moves = lines.map((line) => {
      const section = sections[stageOf(line)];
      const top = line.getBoundingClientRect().top - section.getBoundingClientRect().top;
      return [section, top, section.clientHeight];
    });
    for (const [section, top, height] of moves) {
      if (top < 90 || top > height - 60) {
        section.scrollBy({ top: top - height / 3, behavior: smooth ? "smooth" : "auto" });
      }
    }
  };
  // Brings a stage into view, with the stages beside it where there is room.
  const show = (stage, smooth) => {
    const section = sections[stage];
    const left = section.offsetLeft - main.offsetLeft, width = section.offsetWidth;
    const beside = Math.max(0, Math.min(width, (main.clientWidth - width) / 2));
    if (left - beside < main.scrollLeft || left + width + beside > main.scrollLeft + main.clientWidth + 1) {
      main.scrollTo({ left: left - beside, behavior: smooth ? "smooth" : "auto" });
    }
    cards.forEach((card, at) => card.classList.toggle("current", at === stage));
  };

  // The line that the Tab key goes to.
  let entry = rows[0][0];
  const choose = (line, smooth = true) => {
    clear("chosen", "linked", "far", "operand", "hovered");
    line.classList.add("chosen");
    const first = new Map();
    for (const [id, same] of related(line.id)) {
      const other = row(id), stage = stageOf(other);
      other.classList.add(same ? "linked" : "far");
      if (!first.has(stage) || placeOf(other) < placeOf(first.get(stage))) first.set(stage, other);
    }
    for (const id of [...named(line), ...(users.get(line.id) || [])]) {
      if (id !== line.id) row(id).classList.add("operand");
    }
    reveal([...first.values(), line], smooth);
    show(stageOf(line), smooth);
    entry.tabIndex = -1;
    entry = line;
    entry.tabIndex = 0;
    document.body.dataset.chosen = line.id;
    if (location.hash !== "#" + line.id) history.replaceState(null, "", "#" + line.id);
  };
  const leave = () => {
    clear("chosen", "linked", "far", "operand", "hovered");
    delete document.body.dataset.chosen;
    history.replaceState(null, "", location.pathname + location.search);
  };

  const visit = (smooth) => {
    const target = location.hash.length > 1 && row(decodeURIComponent(location.hash.slice(1)));
    if (target && target.matches("li")) choose(target, smooth);
    else if (target && sections.includes(target)) show(sections.indexOf(target), smooth);
  };

  main.addEventListener("click", (event) => {
    const link = event.target.closest("a");
    const line = link ? row(link.hash.slice(1)) : event.target.closest("li");
    if (!line || event.target.closest("summary, pre")) return;
    if (link) event.preventDefault();
    choose(line);
    line.focus({ preventScroll: true });
  });
  main.addEventListener("mouseover", (event) => {
    clear("hovered");
    const line = event.target.closest("li");
    if (line) [...onwards(line.id).found, ...backwards(line.id).found].forEach((id) => row(id).classList.add("hovered"));
  });
  main.addEventListener("mouseleave", () => clear("hovered"));
  cards.forEach((card, stage) => card.addEventListener("click", (event) => {
    event.preventDefault();
    show(stage, true);
  }));

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("summary, nav")) return;
    const line = document.activeElement.closest("li") || row(document.body.dataset.chosen || rows[0][0].id);
    const own = rows[stageOf(line)];
    const to = (other) => {
      if (!other) return;
      event.preventDefault();
      choose(other);
      other.focus({ preventScroll: true });
    };
    const beside = (links, offset) => {
      const linked = links(line.id).found.map(row).sort((a, b) => placeOf(a) - placeOf(b))[0];
      const stage = rows[stageOf(line) + offset];
      return linked || (stage && stage[Math.min(placeOf(line), stage.length - 1)]);
    };
    switch (event.key) {
      case "ArrowDown": return to(own[placeOf(line) + 1]);
      case "ArrowUp": return to(own[placeOf(line) - 1]);
      case "ArrowRight": return to(beside(onwards, 1));
      case "ArrowLeft": return to(beside(backwards, -1));
      case "Home": return to(own[0]);
      case "End": return to(own[own.length - 1]);
      case "Escape": return leave();
      default: if (/^[1-9]$/.test(event.key) && rows[event.key - 1]) return to(rows[event.key - 1][0]);
    }
  });

  rows.flat().forEach((line) => { line.tabIndex = -1; });
  entry.tabIndex = 0;
  window.addEventListener("hashchange", () => visit(true));
  cards[0].classList.add("current");
  visit(false);
  document.body.dataset.lines = String(rows.flat().length);
})();
