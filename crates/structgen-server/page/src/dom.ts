// Elements are made by calls, never from markup, so that no text of a model or server is read as HTML.

type Child = Node | string | undefined | false;
type Properties = Record<string, string | number | boolean | undefined | ((event: Event) => void)>;

/** Makes an element. `on…` are listeners, `true` and `false` switch attributes, the rest are attributes. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  apply(element, properties, children);
  return element;
}

export function svg(tag: string, properties: Properties = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  apply(element, properties, children);
  return element;
}

function apply(element: Element, properties: Properties, children: Child[]): void {
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== undefined && value !== false) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child): child is Node | string => child !== undefined && child !== false));
}

/** The element of index.html with an id. */
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (!element) throw new Error(`index.html has no #${id}`);
  return element as T;
}

/** Runs a function once before the next frame, however often it is asked for. */
export function eachFrame(draw: () => void): () => void {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      draw();
    });
  };
}

/** Runs a function once nothing has asked for it any more for a while. */
export function afterPause(milliseconds: number, run: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(run, milliseconds);
  };
}

export function percent(probability: number): string {
  if (probability === 0) return "0%";
  if (probability > 0 && probability < 0.001) return "<0.1%";
  if (probability > 0.999 && probability < 1) return ">99.9%";
  return `${(probability * 100).toFixed(probability < 0.1 || (probability > 0.99 && probability < 1) ? 1 : 0)}%`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** A text with its spaces and line breaks made visible. */
export function visible(text: string): string {
  return text.replaceAll("\n", "↵").replaceAll("\r", "␍").replaceAll("\t", "⇥").replaceAll(" ", "·");
}

export async function copy(text: string, button: HTMLButtonElement): Promise<void> {
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "The browser refused";
  }
  setTimeout(() => (button.textContent = label), 1500);
}
