// Light and dark: the system's, unless one is chosen.

const KEY = "structgen-theme";

export function startTheme(): void {
  const radios = document.querySelectorAll<HTMLInputElement>("input[name=theme]");
  apply(stored());
  for (const radio of radios) {
    radio.checked = radio.value === stored();
    radio.addEventListener("change", () => {
      apply(radio.value);
      try {
        localStorage.setItem(KEY, radio.value);
      } catch {
        // Without storage the choice lasts as long as the page.
      }
    });
  }
}

function apply(theme: string): void {
  if (theme === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}

function stored(): string {
  try {
    return localStorage.getItem(KEY) ?? "auto";
  } catch {
    return "auto";
  }
}
