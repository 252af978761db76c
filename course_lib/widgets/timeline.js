// A run as a grid: a row for each turn, a column for each kind of moment. It is one radio
// group: arrow keys move the choice, Tab leaves it. The lists beside it do the same.
function render({ model, el }) {
  const grid = document.createElement("table");
  grid.className = "course-timeline";
  grid.setAttribute("role", "presentation");
  el.classList.add("course-timeline-box");
  el.append(grid);

  const choose = (index) => {
    if (index === model.get("value")) return;
    model.set("value", index);
    model.save_changes();
    mark();
  };

  const radios = () => [...grid.querySelectorAll("[role=radio]")];

  const mark = () => {
    const list = radios();
    const chosen = list.find((radio) => radio.all.includes(model.get("value")));
    for (const radio of list) {
      radio.setAttribute("aria-checked", radio === chosen);
      radio.tabIndex = radio === (chosen || list[0]) ? 0 : -1;
    }
  };

  const draw = () => {
    const hadFocus = grid.contains(document.activeElement);
    const { name, columns, rows } = model.get("grid");
    grid.replaceChildren();
    const head = grid.createTHead().insertRow();
    head.insertCell();
    for (const text of columns) {
      const cell = document.createElement("th");
      cell.textContent = text;
      cell.scope = "col";
      head.append(cell);
    }
    const body = grid.createTBody();
    body.setAttribute("role", "radiogroup");
    body.setAttribute("aria-label", name);
    for (const { title, cells } of rows) {
      const row = body.insertRow();
      row.setAttribute("role", "presentation");
      const label = document.createElement("th");
      label.textContent = title;
      row.append(label);
      for (const cell of cells) {
        const box = row.insertCell();
        box.setAttribute("role", "presentation");
        if (!cell) continue;
        if (cell.line) {
          box.textContent = cell.line;
          continue;
        }
        const radio = document.createElement("button");
        radio.type = "button";
        radio.setAttribute("role", "radio");
        radio.setAttribute("aria-label", `${title}: ${cell.text}`);
        radio.title = cell.text;
        radio.textContent = cell.mark;
        radio.dataset.index = cell.index;
        radio.all = cell.all ?? [cell.index];
        box.append(radio);
      }
    }
    mark();
    if (hadFocus) grid.querySelector("[aria-checked=true]")?.focus();
  };

  grid.addEventListener("click", (event) => {
    const radio = event.target.closest("[role=radio]");
    if (radio) choose(Number(radio.dataset.index));
  });

  grid.addEventListener("keydown", (event) => {
    const list = radios();
    const at = list.indexOf(event.target);
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const to = event.key === "Home" ? 0 : event.key === "End" ? list.length - 1 : at + step;
    if (at < 0 || !list[to]) return;
    event.preventDefault();
    list[to].focus();
    choose(Number(list[to].dataset.index));
  });

  model.on("change:grid", draw);
  model.on("change:value", mark);
  draw();
}

export default { render };
