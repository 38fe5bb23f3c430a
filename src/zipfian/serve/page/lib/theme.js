// Light or dark: what the system says, unless the reader chose.
const KEY = "zipfian.theme";
const system = matchMedia("(prefers-color-scheme: dark)");

export const theme = {
  get dark() {
    const chosen = localStorage.getItem(KEY);
    return chosen ? chosen === "dark" : system.matches;
  },
  toggle() {
    localStorage.setItem(KEY, this.dark ? "light" : "dark");
    apply();
  },
};

function apply() {
  document.documentElement.dataset.theme = theme.dark ? "dark" : "light";
}

system.addEventListener("change", apply);
apply();
