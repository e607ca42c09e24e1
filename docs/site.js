// Tables that scroll sideways can be focused, so that the arrow keys scroll them.
addEventListener("load", () => {
  for (const table of document.querySelectorAll(".md-typeset__scrollwrap")) table.tabIndex = 0;
});
