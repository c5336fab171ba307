// Light or dark: the system decides until the user does. Runs before the page is drawn, so that nothing flashes.

const root = document.documentElement;
const system = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);

const chosen = localStorage.getItem("theme");
if (chosen === "dark" || chosen === "light") root.dataset.theme = chosen;

export function startTheme(button) {
  const show = () => button.setAttribute("aria-pressed", String(isDark()));
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    localStorage.setItem("theme", root.dataset.theme);
    show();
  });
  system.addEventListener("change", show);
  show();
}
