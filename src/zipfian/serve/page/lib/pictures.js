// Pictures that were dropped or pasted: kept in this browser, under a name that stands in the address.
import { Problem } from "./api.js";

const MOST = 40; // pictures that are kept
let opened;

function store() {
  opened ??= new Promise((resolve, reject) => {
    const request = indexedDB.open("zipfian", 1);
    request.onupgradeneeded = () => request.result.createObjectStore("pictures");
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  return opened;
}

async function within(mode, work) {
  const pictures = (await store()).transaction("pictures", mode).objectStore("pictures");
  return new Promise((resolve, reject) => {
    const request = work(pictures);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** Keep a picture; its name begins with the time, so that the oldest sort first. */
export async function keep(blob) {
  if (!blob.type.startsWith("image/")) throw new Problem(`This is no picture: ${blob.name ?? blob.type ?? "unknown"}.`);
  const name = Date.now().toString(36) + crypto.getRandomValues(new Uint32Array(1))[0].toString(36);
  await within("readwrite", (pictures) => pictures.put(blob, name));
  const names = await within("readonly", (pictures) => pictures.getAllKeys());
  for (const old of names.slice(0, Math.max(0, names.length - MOST))) await within("readwrite", (p) => p.delete(old));
  return name;
}

export async function load(name) {
  const blob = await within("readonly", (pictures) => pictures.get(name));
  if (!blob) throw new Problem("The picture of this address was kept in another browser, or has been cleared. Drop it here again.");
  return blob;
}

const addresses = new Map();

/** An address for <img>, as long as the page is open. */
export async function addressOf(name) {
  if (!addresses.has(name)) addresses.set(name, URL.createObjectURL(await load(name)));
  return addresses.get(name);
}

/** The first picture in what was dropped or pasted. */
export const pictureIn = (data) => [...(data?.files ?? [])].find((file) => file.type.startsWith("image/"));
