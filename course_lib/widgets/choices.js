// Rows of choices: a fieldset each, named by what it is about, with a list for each question.
function render({ model, el }) {
  el.classList.add("course-choices");

  // `code` in backticks, the rest as it is.
  const words = (text) => text.split("`").map((part, i) => {
    if (i % 2 === 0) return part;
    const code = document.createElement("code");
    code.textContent = part;
    return code;
  });

  const select = (row, field) => {
    const list = document.createElement("select");
    for (const [value, text] of [["", model.get("nothing")], ...field.options]) {
      list.add(new Option(text.replaceAll("`", ""), value)); // a list has no room for markup
    }
    list.dataset.row = row.name;
    list.dataset.field = field.name;
    return list;
  };

  const draw = () => {
    el.replaceChildren(...model.get("rows").map((row) => {
      const set = document.createElement("fieldset");
      const legend = document.createElement("legend");
      legend.append(...words(row.says));
      set.append(legend, ...row.fields.map((field) => {
        const label = document.createElement("label");
        label.classList.toggle("course-long", field.options.some(([, text]) => text.length > 50));
        const asks = document.createElement("span");
        asks.append(...words(field.asks));
        label.append(asks, select(row, field));
        return label;
      }));
      return set;
    }));
    mark();
  };

  const mark = () => {
    const chosen = model.get("value");
    for (const list of el.querySelectorAll("select")) {
      list.value = chosen[list.dataset.row]?.[list.dataset.field] ?? "";
    }
  };

  el.addEventListener("change", ({ target }) => {
    const chosen = structuredClone(model.get("value"));
    chosen[target.dataset.row][target.dataset.field] = target.value || null;
    model.set("value", chosen);
    model.save_changes();
  });

  model.on("change:rows", draw);
  model.on("change:value", mark);
  draw();
}

export default { render };
