// JupyterLab takes arrow keys and letters as commands for cells, also while a list or a
// radio button in an output has the focus. Inside a course view the keys belong to the view.
function render({ el }) {
  const own = () => {
    const view = el.closest(".course-view");
    if (!view) return requestAnimationFrame(own); // not in the page yet
    view.addEventListener("keydown", (event) => event.stopPropagation());
    el.classList.add("course-keys"); // an empty part would pass for one that is still being made
  };
  own();
}

export default { render };
