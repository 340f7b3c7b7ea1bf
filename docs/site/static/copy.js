// A button on each block that copies it: of a command with its output the command alone, of a session its statements.

const prompt = /^(?:\$|>>>|\.\.\.) ?/;

function wanted(text) {
  const lines = text.split("\n");
  if (!lines.some((line) => prompt.test(line))) return text.trimEnd();
  const kept = [];
  for (let goesOn = false, i = 0; i < lines.length; i += 1) {
    const typed = prompt.test(lines[i]);
    if (typed || goesOn) kept.push(lines[i].replace(prompt, ""));
    goesOn = (typed || goesOn) && lines[i].endsWith("\\");
  }
  return kept.join("\n");
}

for (const block of document.querySelectorAll(".highlight > pre")) {
  const button = document.createElement("button");
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(wanted(block.textContent));
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  block.parentElement.append(button);
}
